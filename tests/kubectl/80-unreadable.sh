# What cannot be read: the proposal's two stories (KEP-3926), a lost key and a namespace that cannot end. The server is started
# again with keys for Secrets, which change while it runs.
N=story
KEYS=$SERVER_DIR/keys.yaml
STORED=/api/v1/namespaces/$N/secrets

# keyed NAME…: these keys, the first of which seals. Half a file is never there.
keyed() {
    local name list=
    for name in "$@"; do
        list+="{name: $name, secret: $(printf '%-32s' "$name" | base64)}, "
    done
    cat >"$KEYS.new" <<YAML
apiVersion: apiserver.config.k8s.io/v1
kind: EncryptionConfiguration
resources:
- resources: [secrets]
  providers: [{aesgcm: {keys: [${list%, }]}}, {identity: {}}]
YAML
    mv "$KEYS.new" "$KEYS"
}
# taken: the server says which configuration it uses, by its hash.
taken() {
    k get --raw /metrics | grep 'last_config_info{.*'"$(sha256sum "$KEYS" | cut -d' ' -f1)"
}
# purged NAMESPACE NAME [query]: deletes a secret without reading it
purged() {
    k delete --raw "/api/v1/namespaces/$1/secrets/$2${3:-}" -f "$WORK/unread.json" "${@:4}"
}
unreadable() {
    k get unreadableobjects --no-headers -o custom-columns=A:.spec.namespace,B:.spec.name,C:.spec.reason,D:.spec.key
}
# restored NAME: brings a secret back that was removed unread
restored() {
    local kept
    kept=$(k get quarantinedobjects -o 'jsonpath={range .items[*]}{.metadata.name}{"\n"}{end}' | grep "^secrets:$N:$1:")
    k create --raw "/apis/storage.pawl.dev/v1/quarantinedobjects/$kept/restore" -f /dev/null
}
value() {
    k get secret "$1" -n $N -o 'jsonpath={.data.a}'
}
printf '%s' '{"apiVersion":"v1","kind":"DeleteOptions","ignoreStoreReadErrorWithClusterBreakingPotential":true}' \
    >"$WORK/unread.json"

keyed first
stop_server
start_server --encryption-provider-config "$KEYS" --encryption-provider-config-automatic-reload
k create namespace $N >/dev/null
for name in one two; do k create secret generic $name -n $N --from-literal=a=$name >/dev/null; done

## Story 1: "I accidentally removed my encryption key but only a few resources were encrypted with it."
keyed second first
soon "another key seals" last_config_info taken
k create secret generic three -n $N --from-literal=a=three >/dev/null
k get secrets -n $N --watch-only >"$WORK/watch.out" 2>&1 &
WATCHING=$!
keyed second
soon "the first key is lost" last_config_info taken
soon "a secret that it sealed is named" 'StorageReadError.*Key: /secrets/story/one' eval '! k get secret one -n $N 2>&1'
refused "a list names all of them" '(?s)/registry/secrets/story/one.*/registry/secrets/story/two' k get secrets -n $N
refused "a list of all namespaces too" StorageReadError k get secrets -A
refused "a list by label too" StorageReadError k get secrets -n $N -l a=b
prints "what the other key sealed is there" dGhyZWU= value three
check "other namespaces are there" k get secrets -n default
check "an open watch has ended" timeout 15 tail --pid=$WATCHING -f /dev/null
prints "which resources fail is one question" $'story   one   no key   first\nstory   two   no key   first' unreadable
says "an event says so" 'StorageReadError' k get events -n $N
refused "the name is taken" 'already exists' k create secret generic one -n $N
refused "a plain delete is refused" StorageReadError k delete secret one -n $N
refused "so is one of all" StorageReadError k delete secret --all -n $N
prints "and nothing was deleted" dGhyZWU= value three
k create rolebinding edith -n $N --clusterrole=admin --user=edith >/dev/null
soon "an admin of the namespace is there" yes k auth can-i delete secrets -n $N --as=edith
refused "who may delete may not therefore delete unread" 'unsafe-delete-ignore-read-errors' purged $N one '' --as=edith
refused "nor list what cannot be read" Forbidden k get unreadableobjects --as=edith
check "a dry run" purged $N one '?dryRun=All'
refused "it is still there" StorageReadError k get secret one -n $N
refused "what is readable is not deleted so" 'exclusively used to delete corrupt object' purged $N three
says "the administrator removes it" 'Success' purged $N one
refused "it is gone" NotFound k get secret one -n $N
says "he makes it anew" 'secret/one created' k create secret generic one -n $N --from-literal=a=new
says "and removes the other" 'Success' purged $N two
prints "nothing is left that cannot be read" "" unreadable
says "lists work again" '(?s)^one.*^three' k get secrets -n $N --no-headers
says "what was removed is kept" 'secrets:story:two:' k get quarantinedobjects

## The key is found again
keyed second first
soon "both keys are in use" last_config_info taken
refused "what was made anew is not overwritten" 'is there already' restored one
check "what was removed is brought back" restored two
soon "as it was" '^dHdv$' value two
check "all of it can be deleted" k delete secret --all -n $N

## Story 2: "I would like to remove a namespace I no longer need."
k create namespace doomed >/dev/null
keyed first second
soon "the first key seals again" last_config_info taken
k create secret generic x -n doomed >/dev/null
k create configmap y -n doomed >/dev/null
keyed second
soon "the first key is lost again" last_config_info taken
soon "its secret cannot be read" 'StorageReadError' eval '! k get secret x -n doomed 2>&1'
says "delete the namespace" 'namespace "doomed" deleted' k delete namespace doomed --wait=false
soon "it says what blocks it" 'secrets that cannot be read: \\"x\\"' k get namespace doomed -o 'jsonpath={.status.conditions}'
soon "what can be read is gone" 'NotFound' eval '! k get configmap y -n doomed 2>&1'
refused "it does not end" 'timed out' k wait namespace/doomed --for=delete --timeout=1s
says "the administrator removes what blocks it" 'Success' purged doomed x
check "and the namespace ends" k wait namespace/doomed --for=delete --timeout=15s
prints "nothing is left" "" unreadable
