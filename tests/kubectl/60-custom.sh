# Custom resources by kubectl: every verb on objects whose kind, schema, columns, rules and versions came with a definition.
N=custom
k create namespace $N >/dev/null
check "a definition of two versions" k apply --server-side -f "$MANIFESTS/gadgets.yaml"
says "wait --for=condition=Established" 'condition met' k wait crd/gadgets.shop.example.com --for=condition=Established --timeout=30s
prints "its stored version" '["v1"]' k get crd gadgets.shop.example.com -o 'jsonpath={.status.storedVersions}'
# kubectl asks again what is served, which it keeps on disk otherwise.
refresh() {
    k api-resources "$@"
}
says "api-resources shows it with its short names" '^gadgets +gd,gdg +shop\.example\.com/v1 +true +Gadget$' refresh
says "api-resources -o wide shows verbs and categories" \
    '^gadgets .* Gadget +delete,deletecollection,get,list,patch,create,update,watch +all,shop$' refresh -o wide
says "api-versions" '^shop\.example\.com/v1\nshop\.example\.com/v1beta1$' k api-versions
says "get of none" '^No resources found in custom namespace' k get gadgets -n $N

# gadget NAME SPEC [VERSION]: a manifest, its spec in flow style
gadget() {
    printf 'apiVersion: shop.example.com/%s\nkind: Gadget\nmetadata: {name: %s, labels: {set: %s}}\nspec: {%s}\n' \
        "${3:-v1}" "$1" "${SET:-none}" "$2"
}
field() {
    k get gadget "$1" -n $N -o "jsonpath={$2}"
}

## create, apply, validation
prints "create" "gadget.shop.example.com/made created" k create -n $N -f "$(gadget made 'size: 1' | file made.yaml)"
prints "defaults are filled in" '100 red' field made '.spec.limit} {.spec.color'
prints "generation" 1 field made .metadata.generation
refused "create twice" 'Error from server \(AlreadyExists\): .*gadgets\.shop\.example\.com "made" already exists' k create -n $N -f "$WORK/made.yaml"
prints "apply creates" "gadget.shop.example.com/a created" k apply -n $N -f "$(gadget a 'size: 3, parts: [{name: x, weight: 1}, {name: z}]' | file ga.yaml)"
prints "apply again changes nothing" "gadget.shop.example.com/a unchanged" k apply -n $N -f "$WORK/ga.yaml"
prints "apply updates and removes" "gadget.shop.example.com/a configured" k apply -n $N -f "$(gadget a 'size: 4, parts: [{name: x, weight: 2}]' | file ga2.yaml)"
prints "what was removed" '4 [{"name":"x","weight":2}]' field a '.spec.size} {.spec.parts'
prints "a change of the spec counts" 2 field a .metadata.generation
prints "apply --dry-run=server" "gadget.shop.example.com/a configured (server dry run)" k apply --dry-run=server -n $N -f "$WORK/ga.yaml"
prints "a dry run changes nothing" 4 field a .spec.size
refused "a wrong type" 'spec\.size: Invalid value: "string": spec\.size in body must be of type integer: "string"' \
    k apply -n $N --validate=false -f "$(gadget bad 'size: many' | file bad.yaml)"
refused "a missing field" 'spec\.size: Required value' k apply -n $N --validate=false -f "$(gadget bad 'color: red' | file bad2.yaml)"
refused "a value that is none of the enum" 'spec\.color: Unsupported value: "pink": supported values: "red", "green", "blue"' \
    k apply -n $N -f "$(gadget bad 'size: 1, color: pink' | file bad3.yaml)"
refused "a rule with its own message" 'spec\.size: Invalid value: size 7 is more than the limit 5$' \
    k apply -n $N -f "$(gadget bad 'size: 7, limit: 5' | file bad4.yaml)"
refused "a transition rule with its reason" 'spec\.color: Forbidden: color is immutable' \
    k apply -n $N -f "$(gadget a 'size: 4, color: blue' | file ga3.yaml)"
refused "a duplicate key of a list" 'spec\.parts\[1\]: Duplicate value: \{"name":"x"\}' \
    k create -n $N -f "$(gadget bad 'size: 1, parts: [{name: x}, {name: x}]' | file bad5.yaml)"
refused "create --validate=strict names an unknown field" 'strict decoding error: unknown field "spec\.colour"' \
    k create --validate=strict -n $N -f "$(gadget strict 'size: 1, colour: red' | file strict.yaml)"
says "create --validate=warn warns of it" 'Warning: unknown field "spec\.colour"' k create --validate=warn -n $N -f "$WORK/strict.yaml"
silent "create --validate=ignore is quiet" Warning eval 'sed s/strict/ignored/ "$WORK/strict.yaml" | k create --validate=ignore -n $N -f -'
prints "an unknown field is not stored" "" field ignored .spec.colour
check "delete both" k delete gd strict ignored -n $N

## Server-side apply, by the schema
prints "apply --server-side creates" "gadget.shop.example.com/ssa serverside-applied" \
    k apply --server-side -n $N -f "$(gadget ssa 'size: 2, parts: [{name: x, weight: 1}]' | file gs.yaml)"
prints "another adds to the list" "gadget.shop.example.com/ssa serverside-applied" \
    k apply --server-side --field-manager=other -n $N -f "$(gadget ssa 'size: 2, parts: [{name: z, weight: 9}]' | file gs2.yaml)"
prints "both parts are there" '[{"name":"x","weight":1},{"name":"z","weight":9}]' field ssa .spec.parts
refused "a conflict names the field by its key" 'conflict with "other"(.*\n)*.*\.spec\.parts\[name="z"\]\.weight' \
    k apply --server-side -n $N -f "$(gadget ssa 'size: 2, parts: [{name: x, weight: 1}, {name: z, weight: 8}]' | file gs3.yaml)"
prints "--force-conflicts takes over" "gadget.shop.example.com/ssa serverside-applied" k apply --server-side --force-conflicts -n $N -f "$WORK/gs3.yaml"
prints "the value taken over" 8 field ssa '.spec.parts[1].weight'
prints "what is given up goes" "gadget.shop.example.com/ssa serverside-applied" k apply --server-side -n $N -f "$WORK/gs.yaml"
prints "what the other still applies stays" '[{"name":"x","weight":1},{"name":"z"}]' field ssa .spec.parts
refused "a field that the schema does not name" '\.spec\.colour: field not declared in schema' k apply --server-side -n $N -f "$WORK/strict.yaml"

## get, columns, selectors, names
says "get prints the columns of the definition" '^NAME +SIZE +READY +AGE\na +4 +\d+s\n' k get gadgets -n $N
says "get -o wide prints those of lower priority too" '^NAME +SIZE +READY +COLOR +AGE\na +4 +red +\d+s\n' k get gadgets -n $N -o wide
says "get -o wide --show-labels" '^NAME +SIZE +READY +COLOR +AGE +LABELS\na .* set=none$' k get gadgets a -n $N -o wide --show-labels
prints "get by short name" gadget.shop.example.com/a k get gd a -n $N -o name
prints "get by the other short name" gadget.shop.example.com/a k get gdg a -n $N -o name
prints "get by kind" gadget.shop.example.com/a k get Gadget a -n $N -o name
prints "get by full name" gadget.shop.example.com/a k get gadgets.v1.shop.example.com a -n $N -o name
says "get by category" '^gadget\.shop\.example\.com/a$' k get shop -n $N -o name
says "get all" '^gadget\.shop\.example\.com/a +4 ' k get all -n $N
says "get --sort-by" '^NAME(.*\n)+?made .*\n(.*\n)*?a ' k get gd -n $N --sort-by=.spec.size
says "get -o custom-columns" '^NAME +SIZE\na +4$' k get gd a -n $N -o custom-columns=NAME:.metadata.name,SIZE:.spec.size
prints "a field selector on a selectable field" gadget.shop.example.com/blue eval \
    'gadget blue "size: 1, color: blue" | k create -n $N -f - >/dev/null && k get gd -n $N --field-selector spec.color=blue -o name'
prints "and what it does not select" $'gadget.shop.example.com/a\ngadget.shop.example.com/made\ngadget.shop.example.com/ssa' \
    k get gd -n $N --field-selector 'spec.color!=blue' -o name
refused "a field that cannot be selected" 'field label not supported: spec\.size' k get gd -n $N --field-selector spec.size=1
says "get -A" "^$N +a " k get gd -A
says "describe" '^Name: +a\n(.*\n)*Kind: +Gadget\n(.*\n)*  Size: +4\n' k describe gd a -n $N
refused "get of what is absent" 'gadgets\.shop\.example\.com "absent" not found' k get gd absent -n $N

## explain
says "explain" '^GROUP: +shop\.example\.com\nKIND: +Gadget\nVERSION: +v1\n\nDESCRIPTION:\n +A gadget is sold by the shop\.' k explain gadget
says "explain of a field" '^FIELD: size <integer>\n+DESCRIPTION:\n +How many parts it has\.' k explain gadget.spec.size
says "explain of a nested field" '^FIELD: weight <integer>\n(.*\n)*.*Its weight in grams\.' k explain gadget.spec.parts.weight
says "explain shows what is required and the enum" '^  color\t<string>\n +enum: red, green, blue\n(.*\n)*  size\t<integer> -required-' k explain gd.spec
says "explain --recursive" '^  spec\t<Object> -required-\n(.*\n)*    parts\t<\[\]Object>\n      name\t<string> -required-\n      weight\t<integer>\n' \
    k explain gadget --recursive
says "explain of the other version" '^VERSION: +v1beta1\n' k explain gadget --api-version=shop.example.com/v1beta1
says "explain of the other version --recursive" '^VERSION: +v1beta1\n(.*\n)*      weight\t<integer>' \
    k explain gadget --api-version=shop.example.com/v1beta1 --recursive
refused "explain of no field" 'field "absent" does not exist' k explain gadget.spec.absent

## Versions
says "the deprecated version warns" 'Warning: shop\.example\.com/v1beta1 Gadget is deprecated; use v1' k get gadgets.v1beta1.shop.example.com a -n $N
silent "the other one does not" Warning k get gadgets.v1.shop.example.com a -n $N
says "create in the deprecated version warns" 'Warning: shop\.example\.com/v1beta1 Gadget is deprecated' \
    k create -n $N -f "$(gadget older 'size: 5' v1beta1 | file older.yaml)"
prints "and it is there in both" 'shop.example.com/v1 shop.example.com/v1beta1' eval \
    'echo "$(field older .apiVersion) $(k get gadgets.v1beta1.shop.example.com older -n $N -o "jsonpath={.apiVersion}" 2>/dev/null)"'
check "delete it" k delete gd older -n $N

## patch, label, annotate, edit, replace, diff
prints "patch --type=merge" "gadget.shop.example.com/a patched" k patch gd a -n $N --type=merge -p '{"spec":{"note":"merged"}}'
prints "patch --type=json" "gadget.shop.example.com/a patched" k patch gd a -n $N --type=json -p '[{"op":"replace","path":"/spec/note","value":"json"}]'
prints "the patched field" json field a .spec.note
refused "a strategic merge patch" 'strategic-merge-patch\+json is not supported by shop\.example\.com/v1, Kind=Gadget: .* accepted media types include: application/json-patch\+json, application/merge-patch\+json, application/apply-patch\+yaml' \
    k patch gd a -n $N --type=strategic -p '{"spec":{"note":"s"}}'
refused "a patch that breaks a rule" 'size 200 is more than the limit 100' k patch gd a -n $N --type=merge -p '{"spec":{"size":200}}'
prints "patch without a change" "gadget.shop.example.com/a patched (no change)" k patch gd a -n $N --type=merge -p '{"spec":{"note":"json"}}'
prints "label" "gadget.shop.example.com/a labeled" k label gd a -n $N seen=yes
prints "annotate" "gadget.shop.example.com/a annotated" k annotate gd a -n $N note=1
prints "get -l" gadget.shop.example.com/a k get gd -n $N -l seen=yes -o name
# edited COMMAND…: kubectl edit with an editor that is a sed script
edited() {
    printf '#!/bin/sh\nexec sed -i "%s" "$1"\n' "$1" >"$WORK/editor"
    chmod +x "$WORK/editor"
    # What was refused is kept there.
    TMPDIR=$WORK KUBE_EDITOR=$WORK/editor k edit "${@:2}"
}
prints "edit" "gadget.shop.example.com/a edited" edited 's/note: json/note: edited/' gd a -n $N
prints "what was edited" edited field a .spec.note
says "edit without a change" 'Edit cancelled, no changes made' edited 's/absent/x/' gd a -n $N
refused "edit that is refused" 'gadgets\.shop\.example\.com "a" is invalid' edited 's/color: red/color: pink/' gd a -n $N
says "the file that was edited says why" '^# \* spec\.color: Unsupported value: "pink"' cat "$WORK"/kubectl-edit-*.yaml
prints "edit --subresource=status" "gadget.shop.example.com/a edited" edited 's/^spec:/status: {size: 9}\nspec:/' gd a -n $N --subresource=status
prints "what was edited of the status" '9 edited' field a '.status.size} {.spec.note'
prints "replace with what get gave" "gadget.shop.example.com/a replaced" eval \
    'k get gd a -n $N -o json | jq ".spec.note = \"replaced\" | del(.metadata.annotations)" | k replace -f -'
refused "replace with an old version" 'Conflict' eval \
    'k get gd a -n $N -o json | jq ".metadata.resourceVersion = \"1\"" | k replace -f -'
compared() {
    k diff "$@"
    [ $? = 1 ]
}
says "diff" '^-  size: 4\n\+  size: 6$' compared -n $N -f "$(gadget a 'size: 6, parts: [{name: x, weight: 2}]' | file ga6.yaml)"
says "diff --server-side" '^-  size: 2\n\+  size: 12$' compared --server-side --force-conflicts -n $N -f "$(gadget ssa 'size: 12, parts: [{name: x, weight: 1}]' | file gs12.yaml)"
check "diff without a difference" eval 'k apply -n $N -f "$WORK/ga2.yaml" >/dev/null && k diff -n $N -f "$WORK/ga2.yaml"'

## status and scale
prints "patch --subresource=status" "gadget.shop.example.com/a patched" \
    k patch gd a -n $N --subresource=status --type=merge -p '{"spec":{"size":50},"status":{"size":3,"selector":"app=a","conditions":[{"type":"Ready","status":"False"}]}}'
prints "only the status changed" '4 3' field a '.spec.size} {.status.size'
prints "a patch of the object leaves the status" "gadget.shop.example.com/a patched (no change)" \
    k patch gd a -n $N --type=merge -p '{"status":{"size":77}}'
says "get --subresource=status" '"size": 3' k get gd a -n $N --subresource=status -o json
says "a column by a filter" '^a +4 +False ' k get gd a -n $N --no-headers
prints "get --subresource=scale" 'Scale 4 3 app=a' k get gd a -n $N --subresource=scale -o 'jsonpath={.kind} {.spec.replicas} {.status.replicas} {.status.selector}'
prints "scale" "gadget.shop.example.com/a scaled" k scale gd a -n $N --replicas=8
prints "scaled" 8 field a .spec.size
prints "scale --current-replicas" "gadget.shop.example.com/a scaled" k scale gd a -n $N --current-replicas=8 --replicas=4
refused "scale from another number" 'Expected replicas to be 8, was 4' k scale gd a -n $N --current-replicas=8 --replicas=1
refused "scale below zero" 'must be greater than or equal to 0|The --replicas=COUNT flag is required' k scale gd a -n $N --replicas=-2
refused "scale beyond what a rule allows" 'size 101 is more than the limit 100' k scale gd a -n $N --replicas=101
check "autoscale" k autoscale gadget.v1.shop.example.com/a -n $N --min=1 --max=5 --cpu-percent=50
prints "what is autoscaled" 'shop.example.com/v1 Gadget a' k get hpa a -n $N -o 'jsonpath={.spec.scaleTargetRef.apiVersion} {.spec.scaleTargetRef.kind} {.spec.scaleTargetRef.name}'

## wait
# later COMMAND…: runs the command in a second, and meanwhile what `--` is followed by
later() {
    local -a first=()
    while [ "$1" != -- ]; do first+=("$1") && shift; done
    shift
    (sleep 1 && "${first[@]}" >/dev/null) &
    "$@"
    local code=$?
    wait $!
    return $code
}
says "wait --for=condition" 'gadget\.shop\.example\.com/a condition met' \
    later k patch gd a -n $N --subresource=status --type=merge -p '{"status":{"conditions":[{"type":"Ready","status":"True"}]}}' -- \
    k wait gd/a -n $N --for=condition=Ready --timeout=20s
says "wait --for=condition=false" 'condition met' k wait gd/a -n $N --for=condition=Ready=true --timeout=5s
says "wait --for=jsonpath" 'condition met' later k patch gd a -n $N --type=merge -p '{"spec":{"note":"awaited"}}' -- \
    k wait gd/a -n $N --for=jsonpath='{.spec.note}'=awaited --timeout=20s
refused "wait for what does not come" 'timed out waiting for the condition' k wait gd/a -n $N --for=jsonpath='{.spec.note}'=never --timeout=1s
says "wait --for=create" 'gadget\.shop\.example\.com/born condition met' later eval 'gadget born "size: 1" | k create -n $N -f -' -- \
    k wait gd/born -n $N --for=create --timeout=20s
says "wait --for=delete" 'gadget\.shop\.example\.com/born condition met' later k delete gd born -n $N -- \
    k wait gd/born -n $N --for=delete --timeout=20s

## --prune
SET=pruned gadget p1 'size: 1' >"$WORK/p1.yaml"
SET=pruned gadget p2 'size: 1' >"$WORK/p2.yaml"
check "apply what is pruned next" k apply -n $N -f "$WORK/p1.yaml" -f "$WORK/p2.yaml"
says "apply --prune" 'gadget\.shop\.example\.com/p1 unchanged\ngadget\.shop\.example\.com/p2 pruned' \
    k apply -n $N --prune -l set=pruned --prune-allowlist=shop.example.com/v1/Gadget -f "$WORK/p1.yaml"
gadget_set() {
    KUBECTL_APPLYSET=true k apply -n $N --prune --applyset=secrets/gadgets "$@"
}
gadget q1 'size: 1' >"$WORK/q1.yaml"
gadget q2 'size: 1' >"$WORK/q2.yaml"
says "apply --applyset" 'gadget\.shop\.example\.com/q1 created\ngadget\.shop\.example\.com/q2 created' gadget_set -f "$WORK/q1.yaml" -f "$WORK/q2.yaml"
says "apply --applyset prunes" 'gadget\.shop\.example\.com/q2 pruned' gadget_set -f "$WORK/q1.yaml"
refused "what was pruned is gone" 'not found' k get gd q2 -n $N

## A watch across an edit of the schema
# The definition changes under a watch: it goes on, its objects are what they were, and what comes has the new default.
tightened() {
    local tries pid
    timeout 30 "$KUBECTL" get gd -n $N -l set=watched -w --output-watch-events --no-headers >"$WORK/across.txt" 2>&1 &
    pid=$!
    sleep 1
    SET=watched gadget w1 'size: 1' | k create -n $N -f - >/dev/null
    k patch crd gadgets.shop.example.com --type=json -p "$(for version in 0 1; do
        printf '{"op":"add","path":"/spec/versions/%s/schema/openAPIV3Schema/properties/spec/properties/grade","value":{"type":"string","default":"new"}}\n' $version
        printf '{"op":"replace","path":"/spec/versions/%s/schema/openAPIV3Schema/properties/spec/properties/note/maxLength","value":3}\n' $version
    done | jq -sc .)" >/dev/null || echo "no patch"
    SET=watched gadget w2 'size: 2' | k create -n $N -f - >/dev/null
    k delete gd w1 -n $N >/dev/null
    for tries in $(seq 1 100); do
        [ "$(grep -c '^[A-Z]* *w' "$WORK/across.txt")" -lt 3 ] || break
        sleep 0.1
    done
    kill "$pid" 2>/dev/null
    wait "$pid" 2>/dev/null
    cat "$WORK/across.txt"
}
says "a watch goes on across an edit of the schema" '\AADDED +w1 .*\nADDED +w2 .*\nDELETED +w1 .*\n\Z' tightened
soon "the new default is there" '^new$' field w2 .spec.grade
prints "also in what was stored before" new field made .spec.grade
says "explain knows the new field" '^FIELD: grade <string>' k explain gadget.spec.grade

## A schema that was tightened: what is there may stay as it is
prints "another field of what is now too long changes" "gadget.shop.example.com/a patched" k patch gd a -n $N --type=merge -p '{"spec":{"size":5}}'
prints "it is kept" awaited field a .spec.note
refused "a new value must be valid" 'spec\.note: Too long: may not be more than 3 bytes' k patch gd a -n $N --type=merge -p '{"spec":{"note":"longer"}}'
refused "a new object must be valid" 'spec\.note: Too long' k create -n $N -f "$(gadget long 'size: 1, note: longer' | file long.yaml)"
prints "a valid value is taken" "gadget.shop.example.com/a patched" k patch gd a -n $N --type=merge -p '{"spec":{"note":"ok"}}'

## A version that is no longer served
prints "stop to serve a version" "customresourcedefinition.apiextensions.k8s.io/gadgets.shop.example.com patched" \
    k patch crd gadgets.shop.example.com --type=json -p '[{"op":"replace","path":"/spec/versions/1/served","value":false}]'
soon "it is gone" 'could not find the requested resource|NotFound' eval 'k get --raw /apis/shop.example.com/v1beta1/gadgets 2>&1; true'
silent "api-versions does not list it" 'shop\.example\.com/v1beta1' k api-versions
prints "the objects are there" gadget.shop.example.com/a k get gd a -n $N -o name

## delete
says "delete" 'gadget\.shop\.example\.com "made" deleted' k delete gd made -n $N
check "an object with a finalizer" k patch gd a -n $N --type=merge -p '{"metadata":{"finalizers":["example.com/wait"]}}'
says "delete --wait=false" 'gadget\.shop\.example\.com "a" deleted' k delete gd a -n $N --wait=false
says "it is being deleted" '^20\d\d-' field a .metadata.deletionTimestamp
says "delete by label" 'gadget\.shop\.example\.com "q1" deleted' k delete gd -n $N -l set=none --field-selector metadata.name=q1
check "an owner" eval 'k create configmap owner -n $N >/dev/null && gadget owned "size: 1" | k create -n $N -f - >/dev/null &&
    k patch gd owned -n $N --type=merge -p "{\"metadata\":{\"ownerReferences\":[{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"name\":\"owner\",\"uid\":\"$(k get cm owner -n $N -o "jsonpath={.metadata.uid}")\"}]}}"'
check "delete the owner" k delete cm owner -n $N
check "what is owned follows" k wait gd/owned -n $N --for=delete --timeout=15s

## The definition goes, with what it defined
says "delete crd" 'customresourcedefinition.* "gadgets\.shop\.example\.com" deleted' k delete crd gadgets.shop.example.com --wait=false
soon "it waits for the object that is held" 'InstanceDeletionInProgress|customresourcecleanup' k get crd gadgets.shop.example.com -o json
soon "what is free goes first" '\Agadget\.shop\.example\.com/a\s*\z' k get gd -n $N -o name
refused "no new instances" 'create not allowed while custom resource definition is terminating' eval 'gadget late "size: 1" | k create -n $N -f - --validate=false'
check "the object is let go" k patch gd a -n $N --type=merge -p '{"metadata":{"finalizers":null}}'
check "then the definition goes" k wait crd/gadgets.shop.example.com --for=delete --timeout=30s
silent "discovery forgets it" gadgets refresh
refused "and so do requests" "the server doesn't have a resource type" k get gadgets -n $N
check "the namespace goes" k delete ns $N --timeout=20s
