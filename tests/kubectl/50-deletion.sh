# Liens, finalizers, cascading deletion, and namespaces that go away with all that is in them.
N=deletion
k create namespace $N >/dev/null
k wait serviceaccount/default -n $N --for=create --timeout=5s >/dev/null

exists() {
    k get "$1" "$2" -n $N -o name
}
# made NAME [OWNER [true|false]]: a ConfigMap, owned by another (and blocking its deletion or not)
made() {
    local owners='[]'
    if [ -n "${2:-}" ]; then
        owners=$(k get cm "$2" -n $N -o json |
            jq -c "[{apiVersion, kind, name: .metadata.name, uid: .metadata.uid, blockOwnerDeletion: ${3:-false}}]")
    fi
    echo "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"$1\",\"ownerReferences\":$owners}}" |
        k create -n $N -f - >/dev/null
}
finalizers() {
    k patch cm "$1" -n $N --type=merge -p "{\"metadata\":{\"finalizers\":$2}}"
}
liens() {
    k patch "$1" "$2" -n "${4:-$N}" --type=merge -p "{\"metadata\":{\"liens\":$3}}"
}

## A held Secret
k create secret generic held -n $N --from-literal=a=1 >/dev/null
prints "put a lien on a secret" "secret/held patched" liens secret held '["example.com/mounted"]'
prints "the lien is there" '["example.com/mounted"]' k get secret held -n $N -o 'jsonpath={.metadata.liens}'
refused "delete of a held secret" 'Error from server \(Conflict\): .*example\.com/mounted' k delete secret held -n $N --timeout=5s
prints "nothing about it changed" "" k get secret held -n $N -o 'jsonpath={.metadata.deletionTimestamp}'
refused "delete --now of a held secret" Conflict k delete secret held -n $N --now --timeout=5s
refused "delete --force of a held secret" Conflict k delete secret held -n $N --force --timeout=5s
refused "delete --cascade=orphan of a held secret" Conflict k delete secret held -n $N --cascade=orphan --timeout=5s
refused "delete --dry-run=server of a held secret" Conflict k delete secret held -n $N --dry-run=server
k create secret generic free -n $N >/dev/null
refused "delete --all names what was held" 'example\.com/mounted' k delete secret --all -n $N --timeout=5s
prints "what was held is there" secret/held exists secret held
refused "what was free is gone" NotFound exists secret free
says "replace by a client that does not know liens keeps them" 'secret/held replaced' eval \
    'k get secret held -n $N -o json | jq "del(.metadata.liens)" | k replace -f -'
prints "they are kept" '["example.com/mounted"]' k get secret held -n $N -o 'jsonpath={.metadata.liens}'
says "describe works" 'Name: +held' k describe secret held -n $N
refused "a lien must be a namespaced key" 'metadata\.liens' liens secret held '["plain"]'
refused "a lien stands once" 'metadata\.liens' liens secret held '["example.com/a","example.com/a"]'
refused "ignoreLiens is a right" 'Forbidden|forbidden' eval \
    'k create rolebinding edith -n $N --clusterrole=edit --user=edith >/dev/null; sleep 0.3
     echo "{\"apiVersion\":\"v1\",\"kind\":\"DeleteOptions\",\"ignoreLiens\":true}" >"$WORK/ignore.json"
     k delete --raw "/api/v1/namespaces/$N/secrets/held" -f "$WORK/ignore.json" --as=edith'
prints "still there" secret/held exists secret held
prints "release it" "secret/held patched" k patch secret held -n $N -p '{"metadata":{"liens":[]}}' --type=merge
says "now it can be deleted" 'secret "held" deleted' k delete secret held -n $N
check "a held secret for ignoreLiens" eval 'k create secret generic held2 -n $N >/dev/null && liens secret held2 "[\"example.com/x\"]"'
check "the administrator may ignore liens" eval \
    'echo "{\"apiVersion\":\"v1\",\"kind\":\"DeleteOptions\",\"ignoreLiens\":true}" >"$WORK/ignore.json"
     k delete --raw "/api/v1/namespaces/$N/secrets/held2" -f "$WORK/ignore.json"'
refused "it is gone" NotFound exists secret held2
prints "client-side apply adds a lien" "configmap/lien created" k apply -n $N -f "$(file lien.yaml <<'YAML'
apiVersion: v1
kind: ConfigMap
metadata: {name: lien, liens: [example.com/applied]}
YAML
)"
refused "what was applied holds" Conflict k delete cm lien -n $N --timeout=5s
check "client-side apply removes it" eval 'sed "s/, liens: .*}/}/" "$WORK/lien.yaml" | k apply -n $N -f -'
says "it holds no more" 'configmap "lien" deleted' k delete cm lien -n $N
prints "server-side apply adds a lien" "configmap/lien serverside-applied" k apply --server-side -n $N -f "$WORK/lien.yaml"
refused "what was applied on the server holds" Conflict k delete cm lien -n $N --timeout=5s
check "server-side apply removes it" eval 'sed "s/, liens: .*}/}/" "$WORK/lien.yaml" | k apply --server-side -n $N -f -'
says "it holds no more either" 'configmap "lien" deleted' k delete cm lien -n $N

## Finalizers
made final
finalizers final '["example.com/wait"]' >/dev/null
says "delete with a finalizer" 'configmap "final" deleted' k delete cm final -n $N --wait=false
says "it is being deleted" '^20\d\d-' k get cm final -n $N -o 'jsonpath={.metadata.deletionTimestamp}'
refused "delete waits for it" 'timed out waiting for the condition' k delete cm final -n $N --timeout=1s
refused "no lien on what is being deleted" 'metadata\.liens' liens cm final '["example.com/late"]'
check "the last finalizer goes" finalizers final null
refused "and so does it" NotFound exists cm final

## --cascade
made owner-b && made dependent-b owner-b
says "delete --cascade=background" 'configmap "owner-b" deleted' k delete cm owner-b -n $N --cascade=background
check "the dependent follows" k wait cm/dependent-b -n $N --for=delete --timeout=10s
made owner-f && made dependent-f owner-f true
finalizers dependent-f '["example.com/wait"]' >/dev/null
says "delete --cascade=foreground" 'configmap "owner-f" deleted' k delete cm owner-f -n $N --cascade=foreground --wait=false
prints "the owner waits" '["foregroundDeletion"]' k get cm owner-f -n $N -o 'jsonpath={.metadata.finalizers}'
soon "the dependent is being deleted" '^20\d\d-' k get cm dependent-f -n $N -o 'jsonpath={.metadata.deletionTimestamp}'
check "the dependent is let go" finalizers dependent-f null
check "then the owner goes" k wait cm/owner-f -n $N --for=delete --timeout=10s
made owner-o && made dependent-o owner-o
says "delete --cascade=orphan" 'configmap "owner-o" deleted' k delete cm owner-o -n $N --cascade=orphan --timeout=15s
soon "the dependent has no owner" '^$' k get cm dependent-o -n $N -o 'jsonpath={.metadata.ownerReferences}'
prints "the dependent stays" configmap/dependent-o exists cm dependent-o
made owner-l && made dependent-l owner-l
liens cm dependent-l '["example.com/held"]' >/dev/null
says "background deletion of the owner of a held dependent" 'configmap "owner-l" deleted' k delete cm owner-l -n $N --timeout=10s
sleep 1
prints "the held dependent stays" configmap/dependent-l exists cm dependent-l
check "it is released" liens cm dependent-l '[]'
check "then it is collected" k wait cm/dependent-l -n $N --for=delete --timeout=20s
check "a deployment with its replica set" eval \
    'k create deployment web -n $N --image=x >/dev/null && k create -f - <<YAML
apiVersion: apps/v1
kind: ReplicaSet
metadata:
  name: web-1
  namespace: $N
  ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: web, uid: "$(k get deployment web -n $N -o "jsonpath={.metadata.uid}")", controller: true, blockOwnerDeletion: true}]
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: x, image: x}]}
YAML'
says "delete the deployment" 'deployment.apps "web" deleted' k delete deployment web -n $N
check "its replica set follows" k wait rs/web-1 -n $N --for=delete --timeout=10s

## Pods and claims
k run loose -n $N --image=x >/dev/null
says "a pod without a node goes at once" 'pod "loose" (force )?deleted' k delete pod loose -n $N --timeout=5s
check "a claim in use" eval 'k create -n $N -f - <<YAML
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: claim}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: Pod
metadata: {name: user}
spec:
  nodeName: somewhere
  containers: [{name: main, image: x, volumeMounts: [{name: v, mountPath: /v}]}]
  volumes: [{name: v, persistentVolumeClaim: {claimName: claim}}]
YAML'
prints "a claim is protected" '["kubernetes.io/pvc-protection"]' k get pvc claim -n $N -o 'jsonpath={.metadata.finalizers}'
check "delete the claim" k delete pvc claim -n $N --wait=false
sleep 1
says "a claim in use stays" '^claim +Terminating' k get pvc claim -n $N
check "delete its pod" k delete pod user -n $N --grace-period=0 --force
check "then the claim goes" k wait pvc/claim -n $N --for=delete --timeout=10s

## Namespaces
full_namespace() {
    k create namespace "$1" >/dev/null
    k wait serviceaccount/default -n "$1" --for=create --timeout=5s >/dev/null
    k create -n "$1" -f - <<'YAML' >/dev/null
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: claim}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: x, image: x}]}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{port: 80}]}
---
apiVersion: v1
kind: Pod
metadata: {name: user}
spec:
  containers: [{name: main, image: x, volumeMounts: [{name: v, mountPath: /v}]}]
  volumes: [{name: v, persistentVolumeClaim: {claimName: claim}}]
---
apiVersion: v1
kind: Secret
metadata: {name: plain}
---
apiVersion: v1
kind: Secret
metadata: {name: held}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: final}
YAML
}
check "a namespace with something of each" full_namespace full
says "delete ns with a claim and its pod" 'namespace "full" deleted' k delete ns full --timeout=15s
refused "it is gone, and all in it" NotFound k get ns full
check "a namespace with a finalizer inside" eval \
    'full_namespace waits && k patch cm final -n waits --type=merge -p "{\"metadata\":{\"finalizers\":[\"example.com/wait\"]}}"'
check "delete ns with a finalizer inside" k delete ns waits --wait=false
soon "the namespace says what remains" 'configmaps\. has 1 resource instances' k get ns waits -o yaml
says "and which finalizer" 'example\.com/wait in 1 resource instances' k get ns waits -o json
says "it is terminating" '^waits +Terminating' k get ns waits
refused "nothing is created in it" 'because it is being terminated' k create configmap late -n waits
check "the finalizer goes" k patch cm final -n waits --type=merge -p '{"metadata":{"finalizers":null}}'
check "and so does the namespace" k wait ns/waits --for=delete --timeout=15s
check "a namespace with a held secret inside" eval \
    'full_namespace holds && liens secret held "[\"example.com/mounted\"]" holds'
check "delete ns with a held secret inside" k delete ns holds --wait=false
soon "what is free goes first" '\A\s*secret/held\s*\z' eval 'k get secrets,deployments,services,pvc -n holds -o name | sort'
check "the secret is released" liens secret held '[]' holds
check "then the namespace goes" k wait ns/holds --for=delete --timeout=15s
check "a namespace with a lien" eval \
    'k create namespace lien-ns >/dev/null && k patch ns lien-ns --type=merge -p "{\"metadata\":{\"liens\":[\"example.com/keep\"]}}"'
refused "delete ns with a lien on it" 'Conflict.*example\.com/keep' k delete ns lien-ns --timeout=5s
prints "it is active" Active k get ns lien-ns -o 'jsonpath={.status.phase}'
check "it is released" k patch ns lien-ns --type=merge -p '{"metadata":{"liens":null}}'
says "then it can be deleted" 'namespace "lien-ns" deleted' k delete ns lien-ns --timeout=15s
refused "the default namespace stays" Forbidden k delete ns default
says "delete ns at the end" "namespace \"$N\" deleted" k delete ns $N --timeout=15s
