# The controllers of things in use alone (KEP-2639): deployed by deploy/*.yaml on a server whose own are off, each with the
# token of its ServiceAccount and so with nothing but what its manifest grants; then undeployed.
N=in-use
DEPLOY=$REPOSITORY/deploy
CONTROLLERS=()
end_controllers() {
    local pid
    for pid in "${CONTROLLERS[@]}"; do
        kill -TERM "$pid" 2>/dev/null && wait "$pid" 2>/dev/null
    done
    CONTROLLERS=()
}
trap 'end_controllers; leave_server' EXIT
stop_server
start_server '--controllers=*,-secret-protection-controller,-configmap-protection-controller'
k create namespace $N >/dev/null
k wait serviceaccount/default -n $N --for=create --timeout=5s >/dev/null

# run_controller WHICH: what its Deployment would run, as its ServiceAccount.
run_controller() {
    local token port config=$WORK/$1.kubeconfig
    token=$(k create token "$1-controller" -n kube-system) || return 1
    port=$(free_port)
    k config --kubeconfig "$config" set-cluster c --server="$SERVER_URL" --certificate-authority="$SERVER_CA" >/dev/null
    k config --kubeconfig "$config" set-credentials u --token="$token" >/dev/null
    k config --kubeconfig "$config" set-context x --cluster=c --user=u >/dev/null
    k config --kubeconfig "$config" use-context x >/dev/null
    RUST_LOG=info "$PAWL_BIN" controller "$1" --kubeconfig "$config" --bind-address "127.0.0.1:$port" >>"$WORK/$1.log" 2>&1 &
    CONTROLLERS+=($!)
    ADDRESS[$1]=127.0.0.1:$port
}
declare -A ADDRESS
liens_of() {
    k get "$1" "$2" -n $N -o 'jsonpath={.metadata.liens}'
}

## Deployed
for which in secret configmap; do
    says "deploy/$which-protection.yaml applies" "deployment.apps/$which-protection-controller created" \
        k apply -f "$DEPLOY/$which-protection.yaml"
    says "and again" "deployment.apps/$which-protection-controller unchanged" k apply -f "$DEPLOY/$which-protection.yaml"
    soon "its ServiceAccount has a token" . k create token "$which-protection-controller" -n kube-system
done
# A definition of snapshots, so that what is granted for them is needed.
k apply -f "$(file snapshots.yaml <<'YAML'
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: volumesnapshotcontents.snapshot.storage.k8s.io
  annotations: {api-approved.kubernetes.io: "unapproved, for tests"}
spec:
  group: snapshot.storage.k8s.io
  scope: Cluster
  names: {plural: volumesnapshotcontents, kind: VolumeSnapshotContent}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
YAML
)" >/dev/null
k wait --for=condition=Established crd/volumesnapshotcontents.snapshot.storage.k8s.io --timeout=10s >/dev/null
k create secret generic db -n $N >/dev/null
k annotate secret db -n $N kubernetes.io/enable-secret-protection=yes >/dev/null
for name in volume snapshot; do
    k create secret generic $name -n $N >/dev/null
    k annotate secret $name -n $N kubernetes.io/enable-secret-protection=yes >/dev/null
done
k create configmap db -n $N >/dev/null
k annotate configmap db -n $N kubernetes.io/enable-configmap-protection=yes >/dev/null
check "the controller of Secrets runs as its ServiceAccount" run_controller secret-protection
check "the controller of ConfigMaps runs as its ServiceAccount" run_controller configmap-protection
for which in secret configmap; do
    soon "its Lease is held" . k get lease "$which-protection-controller" -n kube-system -o 'jsonpath={.spec.holderIdentity}'
    soon "it is healthy" '^ok$' curl -sf "http://${ADDRESS[$which-protection]}/healthz"
done
prints "what nobody uses has no lien" "" liens_of secret db
k apply -f "$(file users.yaml <<'YAML'
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: in-use}
spec:
  containers: [{name: c, image: i, envFrom: [{configMapRef: {name: db}}]}]
  volumes: [{name: v, secret: {secretName: db}}]
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: in-use}
spec:
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  csi: {driver: d.example.com, volumeHandle: h, nodeStageSecretRef: {name: volume, namespace: in-use}}
---
apiVersion: snapshot.storage.k8s.io/v1
kind: VolumeSnapshotContent
metadata:
  name: in-use
  annotations:
    snapshot.storage.kubernetes.io/deletion-secret-name: snapshot
    snapshot.storage.kubernetes.io/deletion-secret-namespace: in-use
YAML
)" >/dev/null
soon "a Pod's Secret has its lien" '^\["kubernetes.io/secret-protection"\]$' liens_of secret db
soon "a Pod's ConfigMap has its lien" '^\["kubernetes.io/configmap-protection"\]$' liens_of configmap db
soon "a volume's Secret has its lien" '^\["kubernetes.io/secret-protection"\]$' liens_of secret volume
soon "a snapshot's Secret has its lien" '^\["kubernetes.io/secret-protection"\]$' liens_of secret snapshot
refused "it cannot be deleted" 'Conflict.*kubernetes\.io/secret-protection' k delete secret db -n $N --timeout=5s
says "what was done is counted" 'secret_protection\{operation="add"\} 3' curl -sf "http://${ADDRESS[secret-protection]}/metrics"
check "the user goes" k delete pod web -n $N --grace-period=0 --force
soon "and so does the lien" '^$' liens_of secret db
soon "of the ConfigMap too" '^$' liens_of configmap db
says "now it can be deleted" 'secret "db" deleted' k delete secret db -n $N
# Everything that they asked for was granted.
for which in secret configmap; do
    silent "nothing was forbidden to it" '[Ff]orbidden|403' cat "$WORK/$which-protection.log"
done

## Undeployed
end_controllers
for which in secret configmap; do
    says "undeploy" "deployment.apps \"$which-protection-controller\" deleted" k delete -f "$DEPLOY/$which-protection.yaml"
done
refused "nothing of it is left" NotFound k get clusterrole secret-protection-controller
prints "but the liens" '["kubernetes.io/secret-protection"]' liens_of secret volume
says "which are released" '2 of \d+ secrets released from kubernetes.io/secret-protection' \
    "$PAWL_BIN" release-liens --controller=secret-protection
says "now the Secret can be deleted" 'secret "volume" deleted' k delete secret volume -n $N
k delete pv/in-use volumesnapshotcontent/in-use --wait=false >/dev/null
k delete namespace $N --wait=false >/dev/null
trap leave_server EXIT
stop_server
start_server
