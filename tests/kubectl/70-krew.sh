# The manifest for krew, filled in by deploy/krew: what krew asks of one, and what is refused before krew sees it.
mkdir -p "$WORK/krew"
cp "$PAWL_BIN" "$WORK/krew/pawl"
tar -czf "$WORK/pawl.tar.gz" -C "$WORK/krew" pawl -C "$REPOSITORY" LICENSE
tar -czf "$WORK/bare.tar.gz" -C "$WORK/krew" pawl
HERE=https://example.com/pawl
fill() {
    "$REPOSITORY/deploy/krew" "$@" >"$WORK/pawl.yaml" && cat "$WORK/pawl.yaml"
}
field() {
    jq -r "$1" "$WORK/pawl.yaml"
}
check "it is filled in" fill v0.1.0 $HERE "linux/amd64=$WORK/pawl.tar.gz=$HERE/amd64.tar.gz" "darwin/arm64=$WORK/pawl.tar.gz=$HERE/arm64.tar.gz"
prints "its kind" "krew.googlecontainertools.github.com/v1alpha2 Plugin pawl" field '"\(.apiVersion) \(.kind) \(.metadata.name)"'
says "its version begins with v" '^v0\.1\.0$' field .spec.version
says "what it is for fits into a line" '^[^\n]{10,60}$' field .spec.shortDescription
prints "its platforms" "linux/amd64 darwin/arm64" field '[.spec.platforms[].selector.matchLabels | "\(.os)/\(.arch)"] | join(" ")'
prints "the hash is that of the archive" "$(sha256sum "$WORK/pawl.tar.gz" | cut -d' ' -f1)" field '.spec.platforms[1].sha256'
prints "the address is the one that was given" "$HERE/arm64.tar.gz" field '.spec.platforms[1].uri'
check "every file that it names is in the archive, and so is the binary" eval \
    'for file in $(field ".spec.platforms[0] | .files[].from, .bin"); do tar -tzf "$WORK/pawl.tar.gz" "$file"; done'
refused "a version without its v" 'v1\.2\.3' fill 0.1.0 $HERE "linux/amd64=$WORK/pawl.tar.gz=$HERE/x"
refused "an address that is none" 'is no https address' fill v0.1.0 $HERE "linux/amd64=$WORK/pawl.tar.gz=/tmp/x"
refused "a platform that is none" 'OS/ARCH' fill v0.1.0 $HERE "linux=$WORK/pawl.tar.gz=$HERE/x"
refused "an archive without the licence" 'no file named LICENSE' fill v0.1.0 $HERE "linux/amd64=$WORK/bare.tar.gz=$HERE/x"
refused "no archive" 'No such file' fill v0.1.0 $HERE "linux/amd64=$WORK/none=$HERE/x"
refused "too few words" 'OS/ARCH=ARCHIVE=ADDRESS' fill v0.1.0
