# get with every output, create, replace, delete, wait, watch and discovery, on Namespaces,
# ConfigMaps and Secrets.
N=basics

## Discovery
says "version" 'Server Version: v1\.36\.\d+\+pawl\.' k version
says "api-versions lists v1" '^v1$' k api-versions
says "api-resources: configmaps" '^configmaps +cm +v1 +true +ConfigMap$' k api-resources
says "api-resources: namespaces" '^namespaces +ns +v1 +false +Namespace$' k api-resources
says "api-resources: secrets" '^secrets +v1 +true +Secret$' k api-resources
silent "api-resources --namespaced=true" '^namespaces' k api-resources --namespaced=true
says "api-resources --namespaced=false" '^namespaces' k api-resources --namespaced=false
says "api-resources -o name" '^configmaps$' k api-resources -o name
says "api-resources -o wide lists the verbs" \
    '^configmaps +cm +v1 +true +ConfigMap +create,delete,deletecollection,get,list,patch,update,watch' k api-resources -o wide
says "api-resources --verbs" '^configmaps$' k api-resources --verbs=list,watch,deletecollection -o name
says "api-resources --sort-by=kind" 'ConfigMap' k api-resources --sort-by=kind
says "cluster-info" 'Kubernetes control plane is running at' k cluster-info
prints "get --raw /readyz" "ok" k get --raw /readyz
says "get --raw of a list" '"kind":"ConfigMapList"' k get --raw /api/v1/namespaces/default/configmaps

## Namespaces
prints "create namespace" "namespace/$N created" k create namespace $N
prints "a namespace is active" Active k get namespace $N -o 'jsonpath={.status.phase}'
prints "a namespace has its label" $N k get namespace $N -o 'jsonpath={.metadata.labels.kubernetes\.io/metadata\.name}'
prints "a namespace has its finalizer" kubernetes k get namespace $N -o 'jsonpath={.spec.finalizers[0]}'
says "get namespaces" "^NAME +STATUS +AGE\n(.*\n)*$N +Active +\d+s" k get namespaces
says "get ns default" '^default +Active' k get ns default
refused "create namespace twice" 'Error from server \(AlreadyExists\): namespaces "basics" already exists' k create namespace $N
refused "create namespace Not_Valid" 'Invalid value: "Not_Valid"' k create namespace Not_Valid

## create
prints "create configmap --from-literal" "configmap/lit created" \
    k create configmap lit -n $N --from-literal=a=1 --from-literal=b=two
prints "create configmap --from-file" "configmap/fil created" \
    k create configmap fil -n $N --from-file=conf="$(printf 'x=1\ny=2\n' | file conf.ini)"
prints "create configmap --from-env-file" "configmap/env created" \
    k create configmap env -n $N --from-env-file="$(printf 'K1=V1\nK2=V2\n' | file some.env)"
head -c 64 /dev/urandom >"$WORK/blob.bin"
prints "create configmap with binary data" "configmap/bin created" \
    k create configmap bin -n $N --from-file="$WORK/blob.bin"
prints "binary data comes back" "$(base64 -w0 "$WORK/blob.bin")" \
    k get configmap bin -n $N -o 'jsonpath={.binaryData.blob\.bin}'
says "create configmap --append-hash" '^configmap/hash-[a-z0-9]{10} created' \
    k create configmap hash -n $N --from-literal=a=1 --append-hash
prints "create secret generic" "secret/gen created" \
    k create secret generic gen -n $N --from-literal=password=s3cret --from-literal=user=me
prints "create secret docker-registry" "secret/reg created" \
    k create secret docker-registry reg -n $N --docker-server=example.com --docker-username=u --docker-password=p
says "create secret tls" 'secret/tls created' eval \
    'openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=t -days 2 \
        -keyout "$WORK/t.key" -out "$WORK/t.crt" 2>/dev/null &&
     k create secret tls tls -n $N --cert="$WORK/t.crt" --key="$WORK/t.key"'
prints "a TLS secret has its type" kubernetes.io/tls k get secret tls -n $N -o 'jsonpath={.type}'
prints "create -f of several documents" $'configmap/one created\nsecret/two created' k create -f "$(file several.yaml <<'YAML'
apiVersion: v1
kind: ConfigMap
metadata:
  name: one
  namespace: basics
  labels: {app: web, tier: front}
  annotations: {note: "first"}
data:
  port: "80"
  motd: |
    hello
    world
---
apiVersion: v1
kind: Secret
metadata:
  name: two
  namespace: basics
  labels: {app: web, tier: back}
type: Opaque
stringData:
  token: abc
data:
  raw: AAEC
YAML
)"
prints "stringData becomes data" YWJj k get secret two -n $N -o 'jsonpath={.data.token}'
prints "stringData is not kept" "" k get secret two -n $N -o 'jsonpath={.stringData}'
prints "create -f of JSON" "configmap/js created" k create -f "$(file js.json <<'JSON'
{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "js", "namespace": "basics"}, "data": {"a": "b"}}
JSON
)"
prints "create -f of a List" $'configmap/l1 created\nconfigmap/l2 created' k create -f "$(file list.yaml <<'YAML'
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: l1, namespace: basics}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: l2, namespace: basics}}
YAML
)"
refused "create -f twice" 'Error from server \(AlreadyExists\): error when creating ".*js\.json": configmaps "js" already exists' \
    k create -f "$WORK/js.json"
says "create with generateName" '^configmap/gen-[a-z0-9]{5}\n' k create -n $N -o name -f "$(file gen.yaml <<'YAML'
apiVersion: v1
kind: ConfigMap
metadata: {generateName: gen-}
YAML
)"
prints "create --dry-run=client" "configmap/dry created (dry run)" k create configmap dry -n $N --dry-run=client
prints "create --dry-run=server" "configmap/dry created (server dry run)" k create configmap dry -n $N --dry-run=server
refused "a dry run stores nothing" 'Error from server \(NotFound\): configmaps "dry" not found' k get configmap dry -n $N
says "create --save-config" 'last-applied-configuration' \
    k create configmap saved -n $N --from-literal=a=1 --save-config -o yaml
refused "create in a namespace that is absent" 'Error from server \(NotFound\): namespaces "absent" not found|namespaces "absent" not found' \
    k create configmap x -n absent
refused "create with a bad key" 'Invalid value: "not a key"' k create -n $N -f "$(file badkey.yaml <<'YAML'
apiVersion: v1
kind: ConfigMap
metadata: {name: badkey}
data: {"not a key": x}
YAML
)"
refused "create of an unknown kind" 'no matches for kind "Nothing" in version "v1"' k create -f "$(file nothing.yaml <<'YAML'
apiVersion: v1
kind: Nothing
metadata: {name: x}
YAML
)"
refused "create with an unknown field" 'strict decoding error: unknown field "datum"' k create -n $N -f "$(file datum.yaml <<'YAML'
apiVersion: v1
kind: ConfigMap
metadata: {name: datum}
datum: {a: b}
YAML
)"
says "create --raw" '"name":"raw1"' k create --raw /api/v1/namespaces/$N/configmaps -f "$(file raw1.json <<'JSON'
{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "raw1"}}
JSON
)"

## get: every output
says "get configmaps" '^NAME +DATA +AGE\n(.*\n)*lit +2 +\d+s' k get configmaps -n $N
says "get secrets" '^NAME +TYPE +DATA +AGE\n(.*\n)*gen +Opaque +2 +\d+s' k get secrets -n $N
says "get one" '^NAME +DATA +AGE\nlit +2 +\d+s\n' k get cm lit -n $N
says "get -o wide" '^NAME +DATA +AGE\nlit +2 ' k get cm lit -n $N -o wide
says "get --no-headers" '^lit +2 +\d+s\n\n*$' k get cm lit -n $N --no-headers
says "get --show-labels" '^NAME +DATA +AGE +LABELS\none +2 +\d+s +app=web,tier=front' k get cm one -n $N --show-labels
says "get -L" '^NAME +DATA +AGE +TIER\none +2 +\d+s +front' k get cm one -n $N -L tier
says "get -o yaml" '^apiVersion: v1\ndata:\n  a: "1"\n  b: two\nkind: ConfigMap\nmetadata:\n  creationTimestamp: "[0-9TZ:-]+"\n  name: lit\n  namespace: basics\n  resourceVersion: "\d+"\n  uid: [0-9a-f-]{36}\n' \
    k get cm lit -n $N -o yaml
says "get -o yaml of a block of text" 'motd: \|\n    hello\n    world\n' k get cm one -n $N -o yaml
says "get -o json" '"kind": "ConfigMap",' k get cm lit -n $N -o json
says "get -o json of a list" '"kind": "List"' k get cm -n $N -o json
prints "get -o name" configmap/lit k get cm lit -n $N -o name
prints "get -o jsonpath" "1 two" k get cm lit -n $N -o 'jsonpath={.data.a} {.data.b}'
prints "get -o jsonpath over a list" "l1 l2 " k get cm l1 l2 -n $N -o 'jsonpath={range .items[*]}{.metadata.name} {end}'
prints "get -o jsonpath-file" lit k get cm lit -n $N -o "jsonpath-file=$(echo '{.metadata.name}' | file name.jsonpath)"
says "get -o custom-columns" '^WHO +A\nlit +1\n' k get cm lit -n $N -o custom-columns=WHO:.metadata.name,A:.data.a
says "get -o custom-columns-file" '^WHO +A\n.*metadata.name.*|^WHO +A\nlit +1' \
    k get cm lit -n $N -o "custom-columns-file=$(printf 'WHO A\n.metadata.name .data.a\n' | file columns.txt)"
prints "get -o go-template" "lit=1" k get cm lit -n $N -o 'go-template={{.metadata.name}}={{.data.a}}'
prints "get -o go-template over a list" "l1,l2," k get cm l1 l2 -n $N -o 'go-template={{range .items}}{{.metadata.name}},{{end}}'
prints "get secret through base64decode" s3cret k get secret gen -n $N -o 'go-template={{.data.password | base64decode}}'
prints "get -l" $'configmap/one' k get cm -n $N -l app=web -o name
prints "get -l over two kinds" $'configmap/one\nsecret/two' k get cm,secret -n $N -l 'app in (web),tier' -o name
prints "get -l with !=" "" k get cm -n $N -l 'app=web,tier!=front' -o name
prints "get --field-selector" configmap/lit k get cm -n $N --field-selector metadata.name=lit -o name
prints "get secrets by type" secret/tls k get secret -n $N --field-selector type=kubernetes.io/tls -o name
refused "get by a field that is no selector" '"data.a" is not a known field selector: only "metadata.name", "metadata.namespace"' k get cm -n $N --field-selector data.a=1
says "get -A" "^NAMESPACE +NAME +DATA +AGE\n(.*\n)*$N +lit +2" k get cm -A
prints "get --sort-by" $'configmap/lit\nconfigmap/fil\nconfigmap/env' \
    eval 'k get cm -n $N --sort-by=.metadata.creationTimestamp -o name | grep -E "lit|fil|env" | sort -r'
prints "get kind/name kind/name" $'configmap/one\nsecret/two' k get configmap/one secret/two -n $N -o name
prints "get -f" $'configmap/one\nsecret/two' k get -f "$WORK/several.yaml" -o name
says "get --show-managed-fields" 'manager: kubectl-create\n *operation: Update' k get cm lit -n $N -o yaml --show-managed-fields
silent "managedFields are hidden" managedFields k get cm lit -n $N -o yaml
refused "get what is absent" 'Error from server \(NotFound\): configmaps "no" not found' k get cm no -n $N
prints "get --ignore-not-found" "" k get cm no -n $N --ignore-not-found
refused "get of an unknown resource" "the server doesn't have a resource type \"nothings\"" k get nothings
says "get where nothing is" 'No resources found in' k get cm -n $N -l none=such
says "get configmaps.v1." '^lit ' k get configmaps.v1. lit -n $N
says "get with gzip off" '^lit ' k get cm lit -n $N --disable-compression
says "describe configmap" 'Name: +one\nNamespace: +basics\nLabels: +app=web\n +tier=front\nAnnotations: +note: first\n\nData\n====\n' k describe cm one -n $N
says "describe secret hides values" 'password: +6 bytes' k describe secret gen -n $N
says "describe namespace" 'Status: +Active' k describe ns $N

## --chunk-size
for ((i = 0; i < 25; i++)); do
    printf 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: chunk-%02d, labels: {chunk: "yes"}}\n---\n' $i
done >"$WORK/chunks.yaml"
check "create 25 for pages" k create -n $N -f "$WORK/chunks.yaml"
chunked() {
    k get cm -n $N -l chunk=yes --chunk-size="$1" -o name -v=6 2>"$WORK/requests.txt" | wc -l
    grep -cE 'GET.*(%2Fconfigmaps|/configmaps)\?' "$WORK/requests.txt"
}
prints "get --chunk-size=10 asks three times" $'25\n3' chunked 10
prints "get --chunk-size=25 asks once" $'25\n1' chunked 25
prints "get --chunk-size=0 asks once" $'25\n1' chunked 0
says "a table in chunks" '^NAME +DATA +AGE\nchunk-00 .*\n(.*\n){23}chunk-24 ' k get cm -n $N -l chunk=yes --chunk-size=7

## Watch
# Runs a watch in the background, gives it three changes, and prints what it saw.
watched() {
    local name=$1 tries pid
    shift
    timeout 20 "$KUBECTL" get cm -n $N "$@" >"$WORK/$name.txt" 2>"$WORK/$name.err" &
    pid=$!
    sleep 1
    k create configmap "$name" -n $N --from-literal=a=1 >/dev/null
    k label configmap "$name" -n $N seen=yes >/dev/null
    k delete configmap "$name" -n $N >/dev/null
    for tries in $(seq 1 50); do
        [ "$(grep -c "$name" "$WORK/$name.txt")" -lt 3 ] || break
        sleep 0.1
    done
    kill "$pid" 2>/dev/null
    wait "$pid" 2>/dev/null
    cat "$WORK/$name.txt" "$WORK/$name.err"
}
says "get -w shows each change" '^NAME +DATA +AGE\n(.*\n)*watch-a +1 +\d+s\nwatch-a +1 +\d+s\nwatch-a +1 +\d+s\n' watched watch-a -w
says "get -w --output-watch-events" '^ADDED +watch-b .*\nMODIFIED +watch-b .*\nDELETED +watch-b ' watched watch-b -w --output-watch-events
says "get --watch-only -o name" '^configmap/watch-c\nconfigmap/watch-c\nconfigmap/watch-c\n' watched watch-c --watch-only -o name
says "get -w by field selector" '^watch-d .*\nwatch-d .*\nwatch-d ' watched watch-d -w --field-selector metadata.name=watch-d
says "get -w -o json" '"name": "watch-e"' watched watch-e -w -o json --field-selector metadata.name=watch-e
says "get -w by label sees it come to match and go" '^MODIFIED +watch-f|^ADDED +watch-f .*\nDELETED +watch-f ' \
    watched watch-f --watch-only --output-watch-events -l seen=yes

## replace
k get cm js -n $N -o yaml 2>/dev/null | sed 's/^  a: b/  a: c/' >"$WORK/js.yaml"
prints "replace with what get gave" "configmap/js replaced" k replace -f "$WORK/js.yaml"
prints "replace changed it" c k get cm js -n $N -o 'jsonpath={.data.a}'
refused "replace with an old resourceVersion" \
    'Error from server \(Conflict\): error when replacing .*: Operation cannot be fulfilled on configmaps "js": the object has been modified; please apply your changes to the latest version and try again' \
    k replace -f "$WORK/js.yaml"
prints "replace without resourceVersion" "configmap/js replaced" k replace -f "$WORK/js.json"
refused "replace what is absent" '\(NotFound\): error when replacing' k replace -n $N -f "$(file absent.yaml <<'YAML'
apiVersion: v1
kind: ConfigMap
metadata: {name: absent}
YAML
)"
BEFORE=$(k get cm js -n $N -o 'jsonpath={.metadata.uid}' 2>/dev/null)
says "replace --force" 'configmap/js replaced' k replace --force -f "$WORK/js.json"
silent "replace --force made a new object" "^${BEFORE:-nothing}" k get cm js -n $N -o 'jsonpath={.metadata.uid}'
says "replace --dry-run=server" 'configmap/js replaced \(server dry run\)' k replace --dry-run=server -f "$WORK/js.json"
prints "create an immutable configmap" "configmap/fixed created" k create -n $N -f "$(file fixed.yaml <<'YAML'
apiVersion: v1
kind: ConfigMap
metadata: {name: fixed}
immutable: true
data: {a: "1"}
YAML
)"
refused "an immutable configmap stays" 'field is immutable when `immutable` is set' \
    k patch cm fixed -n $N --type=merge -p '{"data":{"a":"2"}}'

## wait
prints "wait --for=jsonpath" "configmap/lit condition met" \
    k wait cm/lit -n $N '--for=jsonpath={.data.a}=1' --timeout=5s
prints "wait --for=jsonpath on a phase" "namespace/$N condition met" \
    k wait ns/$N '--for=jsonpath={.status.phase}=Active' --timeout=5s
refused "wait gives up" 'timed out waiting for the condition' \
    k wait cm/lit -n $N '--for=jsonpath={.data.a}=never' --timeout=1s
waited() {
    (sleep 1 && "${@:2}") >/dev/null 2>&1 &
    eval "$1"
    local code=$?
    wait $!
    return $code
}
says "wait sees a change" 'configmap/lit condition met' waited \
    "k wait cm/lit -n $N '--for=jsonpath={.data.a}=2' --timeout=10s" \
    k patch cm lit -n $N --type=merge -p '{"data":{"a":"2"}}'
says "wait --for=delete" 'configmap/l2 condition met|configmap "l2" deleted' waited \
    "k wait cm/l2 -n $N --for=delete --timeout=10s && echo 'configmap/l2 condition met'" k delete cm l2 -n $N
says "wait --for=create" 'configmap/later condition met' waited \
    "k wait cm/later -n $N --for=create --timeout=10s" k create cm later -n $N

## delete
says "delete by name" '^configmap "l1" deleted' k delete cm l1 -n $N
refused "delete what is absent" 'Error from server \(NotFound\): configmaps "l1" not found' k delete cm l1 -n $N
prints "delete --ignore-not-found" "" k delete cm l1 -n $N --ignore-not-found
says "delete --dry-run=server" '^configmap "lit" deleted .*\(server dry run\)' k delete cm lit -n $N --dry-run=server
check "a dry run deletes nothing" k get cm lit -n $N
says "delete -f" 'configmap "one" deleted.*\nsecret "two" deleted' k delete -f "$WORK/several.yaml"
says "delete -l" '^configmap "chunk-00" deleted' k delete cm -n $N -l chunk=yes
prints "delete -l took all" "" k get cm -n $N -l chunk=yes -o name
says "delete several kinds" 'configmap "env" deleted.*\nsecret "gen" deleted' k delete configmap/env secret/gen -n $N
says "delete --now --wait=false" 'configmap "bin" deleted' k delete cm bin -n $N --now --wait=false
check "delete --raw" k delete --raw /api/v1/namespaces/$N/configmaps/raw1
says "delete --all" 'configmap "lit" deleted' k delete cm --all -n $N
prints "delete --all took all" "" k get cm -n $N -o name --field-selector metadata.name!=kube-root-ca.crt
says "delete namespace waits until it is gone" "namespace \"$N\" deleted" k delete ns $N --timeout=20s
refused "the namespace is gone" 'NotFound' k get ns $N
