# apply in all its forms, validation, edit, patch, diff, label and annotate, on Namespaces,
# ConfigMaps and Secrets.
N=apply
k create namespace $N >/dev/null

# A ConfigMap manifest: conf NAME [KEY=VALUE…]
conf() {
    local pair
    printf 'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: %s\n  labels: {set: %s}\ndata:\n' "$1" "${SET:-none}"
    for pair in "${@:2}"; do printf '  %s: "%s"\n' "${pair%%=*}" "${pair#*=}"; done
}

value() {
    k get cm "$1" -n $N -o "jsonpath={.data.$2}"
}

## Client-side apply
prints "apply creates" "configmap/a created" k apply -n $N -f "$(conf a w=2 x=1 | file a.yaml)"
says "apply notes what it applied" '"w":"2","x":"1"' \
    k get cm a -n $N -o 'jsonpath={.metadata.annotations.kubectl\.kubernetes\.io/last-applied-configuration}'
prints "apply again changes nothing" "configmap/a unchanged" k apply -n $N -f "$WORK/a.yaml"
k patch cm a -n $N --type=merge -p '{"data":{"other":"kept"}}' >/dev/null
prints "apply updates and removes" "configmap/a configured" k apply -n $N -f "$(conf a x=9 z=3 | file a2.yaml)"
prints "the changed value" 9 value a x
prints "the value given up" "" value a w
prints "the value of another writer" kept value a other
prints "apply of a directory" $'configmap/d1 created\nconfigmap/d2 created' eval \
    'mkdir -p "$WORK/dir" && conf d1 a=1 >"$WORK/dir/d1.yaml" && conf d2 a=1 >"$WORK/dir/d2.yaml" && k apply -n $N -f "$WORK/dir"'
printf 'resources: [a.yaml]\nnamePrefix: kust-\n' >"$WORK/kustomization.yaml"
prints "apply -k" "configmap/kust-a created" k apply -n $N -k "$WORK"
prints "apply --dry-run=client" "configmap/a configured (dry run)" k apply -n $N --dry-run=client -f "$WORK/a.yaml"
prints "apply --dry-run=server" "configmap/a configured (server dry run)" k apply -n $N --dry-run=server -f "$WORK/a.yaml"
prints "a dry run changes nothing" 9 value a x
says "apply -o yaml" 'resourceVersion' k apply -n $N -o yaml -f "$WORK/a2.yaml"
says "apply to what create made warns" 'missing the kubectl.kubernetes.io/last-applied-configuration annotation' eval \
    'k create configmap made -n $N --from-literal=x=0 >/dev/null && conf made x=1 | k apply -n $N -f -'
prints "apply view-last-applied" "9" eval "k apply view-last-applied cm/a -n $N -o json | jq -r .data.x"
prints "apply set-last-applied" "configmap/a configured" k apply set-last-applied -n $N -f "$WORK/a.yaml"
prints "apply of a namespace" "namespace/$N-two created" k apply -f "$(file ns.yaml <<'YAML'
apiVersion: v1
kind: Namespace
metadata: {name: apply-two, labels: {team: one}}
YAML
)"
prints "apply of a namespace again" "namespace/$N-two unchanged" k apply -f "$WORK/ns.yaml"
prints "apply of a secret" "secret/s created" k apply -n $N -f "$(file s.yaml <<'YAML'
apiVersion: v1
kind: Secret
metadata: {name: s}
stringData: {pw: one}
YAML
)"
sed 's/one/two/' "$WORK/s.yaml" >"$WORK/s2.yaml"
prints "apply of a changed stringData" "secret/s configured" k apply -n $N -f "$WORK/s2.yaml"
prints "the secret changed" two k get secret s -n $N -o 'go-template={{.data.pw | base64decode}}'
prints "apply --force with a changed immutable secret" "secret/im created" k apply -n $N -f "$(file im.yaml <<'YAML'
apiVersion: v1
kind: Secret
metadata: {name: im}
immutable: true
data: {pw: YQ==}
YAML
)"
sed 's/YQ==/Yg==/' "$WORK/im.yaml" >"$WORK/im2.yaml"
refused "apply refused by an immutable secret" 'field is immutable when `immutable` is set' k apply -n $N -f "$WORK/im2.yaml"
says "apply --force replaces it" 'secret/im (configured|created)' k apply --force -n $N -f "$WORK/im2.yaml"

## --prune
SET=pruned conf p1 a=1 >"$WORK/p1.yaml"
SET=pruned conf p2 a=1 >"$WORK/p2.yaml"
check "apply what is pruned next" k apply -n $N -f "$WORK/p1.yaml" -f "$WORK/p2.yaml"
says "apply --prune" 'configmap/p1 unchanged\nconfigmap/p2 pruned' \
    k apply -n $N --prune -l set=pruned --prune-allowlist=core/v1/ConfigMap -f "$WORK/p1.yaml"
prints "what was pruned is gone" configmap/p1 k get cm -n $N -l set=pruned -o name
says "apply --prune over the default kinds" 'configmap/p3 created\n(.*\n)*configmap/p1 pruned' eval \
    'SET=pruned conf p3 a=1 | k apply -n $N --prune -l set=pruned -f -'
applyset() {
    KUBECTL_APPLYSET=true k apply -n $N --prune --applyset=configmaps/parent "$@"
}
SET=set conf q1 a=1 >"$WORK/q1.yaml"
SET=set conf q2 a=1 >"$WORK/q2.yaml"
says "apply --applyset" 'configmap/q1 created\nconfigmap/q2 created' \
    applyset -f "$WORK/q1.yaml" -f "$WORK/q2.yaml"
says "apply --applyset prunes" 'configmap/q2 pruned' applyset -f "$WORK/q1.yaml"

## Server-side apply
prints "apply --server-side creates" "configmap/ssa serverside-applied" \
    k apply --server-side -n $N -f "$(conf ssa w=2 x=1 | file ssa.yaml)"
prints "it is owned" "kubectl Apply" \
    k get cm ssa -n $N --show-managed-fields -o 'jsonpath={.metadata.managedFields[0].manager} {.metadata.managedFields[0].operation}'
prints "apply --server-side again" "configmap/ssa serverside-applied" k apply --server-side -n $N -f "$WORK/ssa.yaml"
prints "apply --server-side without a change keeps the version" yes eval \
    'a=$(k get cm ssa -n $N -o "jsonpath={.metadata.resourceVersion}")
     k apply --server-side -n $N -f "$WORK/ssa.yaml" >/dev/null
     b=$(k get cm ssa -n $N -o "jsonpath={.metadata.resourceVersion}"); [ -n "$a" ] && [ "$a" = "$b" ] && echo yes'
refused "a conflict is named" 'Apply failed with 1 conflict: conflict with "kubectl"(.*\n)*.*\.data\.x' \
    k apply --server-side --field-manager=other -n $N -f "$(conf ssa x=5 | file ssa5.yaml)"
prints "--force-conflicts takes over" "configmap/ssa serverside-applied" \
    k apply --server-side --field-manager=other --force-conflicts -n $N -f "$WORK/ssa5.yaml"
prints "the value taken over" 5 value ssa x
prints "what was not in conflict stays" 2 value ssa w
prints "fields given up are removed" "configmap/ssa serverside-applied" \
    k apply --server-side --force-conflicts -n $N -f "$(conf ssa x=5 | file ssa6.yaml)"
prints "the field given up" "" value ssa w
prints "--server-side --dry-run=server" "configmap/ssa serverside-applied (server dry run)" \
    k apply --server-side --dry-run=server -n $N -f "$WORK/ssa6.yaml"
prints "from client-side to server-side" "configmap/d1 serverside-applied" \
    k apply --server-side -n $N -f "$WORK/dir/d1.yaml"
prints "from client-side to server-side removes" "configmap/d1 serverside-applied" \
    k apply --server-side -n $N -f "$(conf d1 b=2 | file d1b.yaml)"
prints "the field of client-side apply is gone" "" value d1 a

## --validate
(conf bad x=1 && printf 'datum: {a: b}\n') >"$WORK/bad.yaml"
refused "--validate=strict names an unknown field" 'strict decoding error: unknown field "datum"' \
    k apply --validate=strict -n $N -f "$WORK/bad.yaml"
refused "--validate=true is strict" 'unknown field "datum"' k apply --validate=true -n $N -f "$WORK/bad.yaml"
says "--validate=warn warns" 'Warning: unknown field "datum"\n?(.*\n)*|configmap/bad created' \
    k apply --validate=warn -n $N -f "$WORK/bad.yaml"
says "--validate=warn warns on create" 'Warning: unknown field "datum"' eval \
    'sed s/bad/bad2/ "$WORK/bad.yaml" | k create --validate=warn -n $N -f -'
says "--validate=warn warns on replace" 'Warning: unknown field "datum"' k replace --validate=warn -n $N -f "$WORK/bad.yaml"
refused "--validate=strict on replace" 'strict decoding error: unknown field "datum"' \
    k replace --validate=strict -n $N -f "$WORK/bad.yaml"
silent "--validate=ignore is quiet" 'Warning' k replace --validate=ignore -n $N -f "$WORK/bad.yaml"
silent "--validate=false is quiet" 'Warning' k replace --validate=false -n $N -f "$WORK/bad.yaml"
prints "an unknown field is not stored" "" k get cm bad -n $N -o 'jsonpath={.datum}'
refused "--validate=strict names an unknown field of metadata" 'unknown field "metadata.bogus"' \
    k create --validate=strict -n $N -f "$(file bogus.yaml <<'YAML'
apiVersion: v1
kind: ConfigMap
metadata: {name: bogus, bogus: 1}
YAML
)"
refused "--server-side with an unknown field" '\.datum: field not declared in schema' \
    k apply --server-side -n $N -f "$WORK/bad.yaml"
refused "a wrong type is refused" 'cannot unmarshal|ReadString|expected string|strict decoding' \
    k create -n $N --validate=ignore -f "$(file wrongtype.yaml <<'YAML'
apiVersion: v1
kind: ConfigMap
metadata: {name: wrongtype}
data: {a: {b: c}}
YAML
)"

## edit
editor() {
    printf '#!/bin/sh\n%s\n' "$1" >"$WORK/editor"
    chmod +x "$WORK/editor"
}
edited() {
    editor "$1"
    KUBE_EDITOR=$WORK/editor k edit -n $N "${@:2}"
}
prints "edit" "configmap/a edited" edited 'sed -i "s/x: .*/x: \"edited\"/" "$1"' cm a
prints "edit changed it" edited value a x
says "edit without a change" 'Edit cancelled, no changes made' edited true cm a
prints "edit through EDITOR" "configmap/a edited" eval \
    'editor "sed -i \"s/x: .*/x: env/\" \"\$1\""; EDITOR=$WORK/editor k edit cm a -n $N'
says "edit -o json" '"x": "json"' edited 'sed -i "s/\"env\"/\"json\"/" "$1"' cm a -o json
prints "edit -o json changed it" json value a x
says "edit --output-patch" '"x":"patched"' edited 'sed -i "s/x: .*/x: patched/" "$1"' cm a --output-patch
says "edit of several" 'configmap/d1 edited\n.*configmap/d2 edited' edited 'sed -i "s/^  data:/  data:\n    new: one/" "$1"' cm d1 d2
refused "edit to something invalid" 'Invalid value|is invalid|was not valid|Edit cancelled|fields were not valid' \
    edited 'sed -i "s/^  x: .*/  not a key: x/" "$1"' cm a

## patch
prints "patch (strategic)" "configmap/a patched" k patch cm a -n $N -p '{"data":{"s":"1"}}'
prints "patch (strategic) changed it" 1 value a s
prints "patch --type=merge" "configmap/a patched" k patch cm a -n $N --type=merge -p '{"data":{"s":null,"m":"1"}}'
prints "patch --type=merge removed" "" value a s
prints "patch --type=json" "configmap/a patched" \
    k patch cm a -n $N --type=json -p '[{"op":"test","path":"/data/m","value":"1"},{"op":"replace","path":"/data/m","value":"2"}]'
prints "patch --type=json changed it" 2 value a m
refused "patch --type=json with a failing test" 'the server rejected our request due to an error in our request' \
    k patch cm a -n $N --type=json -p '[{"op":"test","path":"/data/m","value":"7"}]'
prints "patch without a change" "configmap/a patched (no change)" k patch cm a -n $N --type=merge -p '{"data":{"m":"2"}}'
prints "patch in YAML" "configmap/a patched" k patch cm a -n $N -p $'data:\n  yml: "1"'
prints "patch --patch-file" "configmap/a patched" k patch cm a -n $N --patch-file "$(printf 'data:\n  pf: "1"\n' | file pf.yaml)"
says "patch --dry-run=server" '^configmap/a patched' k patch cm a -n $N --dry-run=server -p '{"data":{"m":"9"}}'
prints "patch --dry-run=server changes nothing" 2 value a m
prints "patch -o jsonpath" 3 k patch cm a -n $N -p '{"data":{"m":"3"}}' -o 'jsonpath={.data.m}'
refused "patch to something invalid" 'Invalid value: "not a key"' k patch cm a -n $N -p '{"data":{"not a key":"9"}}'
refused "patch of what is absent" 'NotFound' k patch cm absent -n $N -p '{}'
refused "patch with an old resourceVersion" 'Conflict' k patch cm a -n $N --type=merge -p '{"metadata":{"resourceVersion":"1"},"data":{"m":"4"}}'
prints "strategic \$patch: replace" "configmap/d2 patched" k patch cm d2 -n $N -p '{"data":{"$patch":"replace","only":"1"}}'
prints "strategic \$patch: replace changed it" '{"only":"1"}' k get cm d2 -n $N -o 'jsonpath={.data}'

## diff
differs() {
    k diff "$@"
    [ $? = 1 ]
}
check "diff without a difference" eval 'k apply -n $N -f "$WORK/dir/d2.yaml" >/dev/null; k diff -n $N -f "$WORK/dir/d2.yaml"'
says "diff with a difference" '^-  a: "1"\n(.*\n)*\+  a: "2"|^\+  a: "2"' differs -n $N -f "$(conf d2 a=2 | file d2b.yaml)"
says "diff of what is absent" '^\+  name: fresh' differs -n $N -f "$(conf fresh a=2 | file fresh.yaml)"
says "diff --server-side" '^\+  x: "77"' differs --server-side --force-conflicts -n $N -f "$(conf ssa x=77 | file ssa77.yaml)"
says "diff masks secrets" '\*\*\* \(after\)' differs -n $N -f "$WORK/s.yaml"

## label, annotate
prints "label" "configmap/a labeled" k label cm a -n $N color=blue
prints "label without a change" "configmap/a not labeled" k label cm a -n $N color=blue
refused "label another value" "already has a value \(blue\), and --overwrite is false" k label cm a -n $N color=red
prints "label --overwrite" "configmap/a labeled" k label cm a -n $N color=red --overwrite
prints "label of several" $'configmap/d1 labeled\nconfigmap/d2 labeled' k label cm d1 d2 -n $N group=g
prints "label by selector" $'configmap/d1 labeled\nconfigmap/d2 labeled' k label cm -n $N -l group=g more=1
says "label --list" 'color=red' k label cm a -n $N --list
prints "remove a label" "configmap/a unlabeled" k label cm a -n $N color-
refused "a bad label value" 'Invalid value|invalid label value' k label cm a -n $N 'color=not/valid'
prints "label a namespace" "namespace/$N labeled" k label ns $N team=two
prints "annotate" "configmap/a annotated" k annotate cm a -n $N note='any text: "quoted"'
prints "the annotation" 'any text: "quoted"' k get cm a -n $N -o 'jsonpath={.metadata.annotations.note}'
prints "remove an annotation" "configmap/a annotated" k annotate cm a -n $N note-
prints "annotate --overwrite" "configmap/a annotated" k annotate cm a -n $N n=1 --overwrite
says "annotate --resource-version" 'Conflict|please apply your changes' eval \
    'k annotate cm a -n $N n=2 --overwrite --resource-version=1 2>&1; true'
prints "annotate -f" "configmap/d2 annotated" k annotate -n $N -f "$WORK/dir/d2.yaml" who=me

## delete -f of what was applied
says "delete -f of a directory" 'configmap "d1" deleted.*\nconfigmap "d2" deleted' k delete -n $N -f "$WORK/dir"
k delete ns $N $N-two --wait=false >/dev/null 2>&1
