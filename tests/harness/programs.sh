# Programs from Go modules, for the suites that source this. They are kept in PROGRAMS, below PAWL_TEST_CACHE (default ~/.cache/pawl-tests).
#
#   go_program NAME [flags…] PACKAGE    in the directory of the go.mod that pins it
#
# Go links anew whenever it is asked. Here a program is built once for its sources, and takes the place of another at once: suites that
# run side by side use the same.
PROGRAMS=${PAWL_TEST_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/pawl-tests}/bin

go_program() {
    local name=$1 sources fresh
    sources=$(shopt -s nullglob && { go version && echo "$*" && cat go.mod go.sum ./*.go; } | cksum)
    if [ -x "$PROGRAMS/$name" ] && [ "$(cat "$PROGRAMS/.$name.sources" 2>/dev/null)" = "$sources" ]; then
        return 0
    fi
    mkdir -p "$PROGRAMS"
    fresh=$PROGRAMS/.$name.$$
    go build -o "$fresh" "${@:2}" && mv "$fresh" "$PROGRAMS/$name" && echo "$sources" >"$PROGRAMS/.$name.sources"
}
