# One line per check: `ok   topic: what` or `FAIL topic: what`, with the command and what it said.
#
#   check   WHAT COMMAND…             it succeeds
#   prints  WHAT TEXT COMMAND…        it succeeds and its standard output is exactly TEXT
#   says    WHAT REGEX COMMAND…       it succeeds and what it writes matches
#   silent  WHAT REGEX COMMAND…       it succeeds and what it writes does not match
#   refused WHAT REGEX COMMAND…       it fails and what it writes matches
#   soon    WHAT REGEX COMMAND…       within 15 s it says so
#
# REGEX is a Perl one over the whole text (`.` does not cross lines, `^` and `$` are at lines).

PASSED=0
FAILED=0
FAILURES=()
TOPIC=

passed() {
    PASSED=$((PASSED + 1))
    echo "ok   $TOPIC: $1"
}

failed() {
    FAILED=$((FAILED + 1))
    FAILURES+=("$TOPIC: $1")
    echo "FAIL $TOPIC: $1"
    shift
    printf '%s\n' "$@" | head -c 3000 | sed 's/^/       | /'
}

# Runs a command; keeps STDOUT, STDERR and CODE.
attempt() {
    local out err
    out=$(mktemp "$SERVER_DIR/out.XXXXXX")
    err=$(mktemp "$SERVER_DIR/err.XXXXXX")
    CODE=0
    "$@" >"$out" 2>"$err" </dev/null || CODE=$?
    STDOUT=$(tr -d '\0' <"$out")
    STDERR=$(tr -d '\0' <"$err")
    rm -f "$out" "$err"
}

matches() {
    printf '%s\n' "$2" | PATTERN=$1 perl -0777 -ne 'exit(m/$ENV{PATTERN}/m ? 0 : 1)'
}

report() {
    failed "$1" "\$ ${*:3}" "wanted: $2" "exit $CODE" "$STDERR" "$STDOUT"
}

check() {
    attempt "${@:2}"
    if [ "$CODE" = 0 ]; then passed "$1"; else report "$1" success "${@:2}"; fi
}

prints() {
    attempt "${@:3}"
    if [ "$CODE" = 0 ] && [ "$STDOUT" = "$2" ]; then passed "$1"; else report "$1" "$2" "${@:3}"; fi
}

says() {
    attempt "${@:3}"
    if [ "$CODE" = 0 ] && matches "$2" "$STDOUT"$'\n'"$STDERR"; then
        passed "$1"
    else
        report "$1" "$2" "${@:3}"
    fi
}

silent() {
    attempt "${@:3}"
    if [ "$CODE" = 0 ] && ! matches "$2" "$STDOUT"$'\n'"$STDERR"; then
        passed "$1"
    else
        report "$1" "success without $2" "${@:3}"
    fi
}

refused() {
    attempt "${@:3}"
    if [ "$CODE" != 0 ] && [ "$CODE" != 124 ] && matches "$2" "$STDOUT"$'\n'"$STDERR"; then
        passed "$1"
    else
        report "$1" "a failure with $2" "${@:3}"
    fi
}

soon() {
    local end=$((SECONDS + 15))
    while :; do
        attempt "${@:3}"
        if [ "$CODE" = 0 ] && matches "$2" "$STDOUT"$'\n'"$STDERR"; then
            passed "$1"
            return
        fi
        [ "$SECONDS" -lt "$end" ] || break
        sleep 0.1
    done
    report "$1" "within 15 s: $2" "${@:3}"
}

# Prints the totals; fails when a check did, or when nothing was checked.
totals() {
    local failure
    if [ "$FAILED" != 0 ]; then
        echo
        for failure in "${FAILURES[@]}"; do echo "FAIL $failure"; done
    fi
    echo "$PASSED passed, $FAILED failed"
    [ "$FAILED" = 0 ] && [ "$PASSED" != 0 ]
}
