# auth can-i, auth whoami, auth reconcile, create token, --as and --token.
N=auth
k create namespace $N >/dev/null
k create configmap here -n $N --from-literal=a=1 >/dev/null
k create serviceaccount robot -n $N >/dev/null

# kubectl as the user of a bearer token, without the administrator's certificate.
as_token() {
    local config
    config=$(file token.kubeconfig <<YAML
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "$SERVER_URL", certificate-authority: "$SERVER_CA"}}]
users: [{name: u, user: {token: "$1"}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
YAML
)
    k --kubeconfig "$config" "${@:2}"
}

soon "every namespace has a default account" '^serviceaccount/default$' k get serviceaccount default -n $N -o name

## The administrator
prints "can-i as administrator" yes k auth can-i create deployments -n $N
prints "can-i '*' '*'" yes k auth can-i '*' '*' --all-namespaces
prints "can-i on a subresource" yes k auth can-i get pods --subresource=log -n $N
says "can-i --list" '^\*\.\* +\[\] +\[\] +\[\*\]' k auth can-i --list -n $N
prints "can-i on a URL" yes k auth can-i get /healthz
says "whoami" '^Username +\S+\n(.*\n)*Groups +\[.*system:masters.*system:authenticated.*\]' k auth whoami
prints "whoami -o json" SelfSubjectReview eval 'k auth whoami -o json | jq -r .kind'

## Anonymous
anonymous() {
    curl -sk --max-time 5 -o /dev/null -w '%{http_code}' "$SERVER_URL$1"
}
for path in /healthz /livez /readyz /version; do
    prints "anonymous reads $path" 200 anonymous $path
done
for path in /api /apis /openapi/v3 /metrics /api/v1/namespaces /api/v1/namespaces/default/secrets; do
    prints "anonymous does not read $path" 403 anonymous $path
done

## --as
prints "can-i --as: no" no eval 'k auth can-i list configmaps -n $N --as=alice; true'
check "can-i exits 1 when not" eval '! k auth can-i list configmaps -n $N --as=alice >/dev/null'
says "whoami --as" '^Username +alice\n(.*\n)*Groups +\[g1 g2 system:authenticated\]' k auth whoami --as=alice --as-group=g1 --as-group=g2
says "whoami --as-uid" 'UID +u-1' k auth whoami --as=alice --as-uid=u-1
refused "get --as without a role" \
    'Error from server \(Forbidden\): configmaps is forbidden: User "alice" cannot list resource "configmaps" in API group "" in the namespace "auth"' \
    k get configmaps -n $N --as=alice
refused "get one --as without a role" \
    'Error from server \(Forbidden\): configmaps "here" is forbidden: User "alice" cannot get resource "configmaps" in API group "" in the namespace "auth"' \
    k get configmap here -n $N --as=alice
refused "get of a cluster resource --as without a role" \
    'nodes is forbidden: User "alice" cannot list resource "nodes" in API group "" at the cluster scope' k get nodes --as=alice
prints "create role" "role.rbac.authorization.k8s.io/reader created" k create role reader -n $N --verb=get,list,watch --resource=configmaps
prints "create rolebinding" "rolebinding.rbac.authorization.k8s.io/readers created" \
    k create rolebinding readers -n $N --role=reader --user=alice --group=readers --serviceaccount=$N:robot
soon "can-i --as: yes" '^yes$' k auth can-i list configmaps -n $N --as=alice
prints "get --as with a role" configmap/here k get configmap here -n $N -o name --as=alice
prints "get --as-group with a role" configmap/here k get configmap here -n $N -o name --as=somebody --as-group=readers
prints "get --as a service account" configmap/here k get configmap here -n $N -o name --as=system:serviceaccount:$N:robot
refused "the role does not reach further" 'Forbidden' k delete configmap here -n $N --as=alice
refused "the role does not reach into other namespaces" 'Forbidden' k get configmaps -n default --as=alice
says "can-i --list --as" '^configmaps +\[\] +\[\] +\[get list watch\]' k auth can-i --list -n $N --as=alice
prints "can-i on one name" no eval 'k auth can-i get secret/other -n $N --as=alice; true'
refused "escalation is refused" \
    'user "alice" \(groups=\["system:authenticated"\]\) is attempting to grant RBAC permissions not currently held' eval \
    'k create role maker -n $N --verb=create,update,get,list --resource=roles,rolebindings >/dev/null
     k create rolebinding makers -n $N --role=maker --user=alice >/dev/null
     sleep 0.3
     k create role more -n $N --verb=delete --resource=secrets --as=alice'
check "granting what one has is allowed" k create role same -n $N --verb=get --resource=configmaps --as=alice
refused "binding a role one does not hold is refused" 'attempting to grant RBAC permissions not currently held' \
    k create rolebinding up -n $N --clusterrole=admin --user=alice --as=alice

## Default roles
says "the default cluster roles" '^cluster-admin +' k get clusterrole cluster-admin admin edit view
check "bind view" k create rolebinding viewers -n $N --clusterrole=view --user=victor
soon "view reads" '^yes$' k auth can-i get deployments.apps -n $N --as=victor
prints "view does not read secrets" no eval 'k auth can-i get secrets -n $N --as=victor; true'
prints "view does not write" no eval 'k auth can-i create deployments.apps -n $N --as=victor; true'
check "bind edit" k create rolebinding editors -n $N --clusterrole=edit --user=edith
soon "edit writes" '^yes$' k auth can-i create deployments.apps -n $N --as=edith
prints "edit does not ignore liens" no eval 'k auth can-i ignore-liens secrets -n $N --as=edith; true'
prints "edit does not write roles" no eval 'k auth can-i create roles -n $N --as=edith; true'
check "bind admin" k create rolebinding admins -n $N --clusterrole=admin --user=adam
soon "admin writes roles" '^yes$' k auth can-i create roles -n $N --as=adam
prints "admin does not ignore liens" no eval 'k auth can-i ignore-liens secrets -n $N --as=adam; true'
prints "the administrator ignores liens" yes k auth can-i ignore-liens secrets -n $N

## Tokens
says "whoami with a static token" '^Username +alice' as_token alice-token auth whoami
prints "get with a static token" configmap/here as_token alice-token get configmap here -n $N -o name
refused "get with an unknown token" 'You must be logged in to the server|Unauthorized' as_token wrong get configmap here -n $N
says "create token" '^[\w-]+\.[\w-]+\.[\w-]+$' k create token robot -n $N
ROBOT=$(k create token robot -n $N 2>/dev/null)
says "whoami with it" "^Username +system:serviceaccount:$N:robot\n(.*\n)*Groups +\[system:serviceaccounts system:serviceaccounts:$N system:authenticated\]" \
    as_token "$ROBOT" auth whoami
prints "get with it" configmap/here as_token "$ROBOT" get configmap here -n $N -o name
refused "it may no more than its role" Forbidden as_token "$ROBOT" delete configmap here -n $N
claims() {
    k create token "$@" | python3 -c '
import base64, json, sys
part = sys.stdin.read().split(".")[1]
print(json.dumps(json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))))'
}
says "create token --duration" '^600$' eval 'claims robot -n $N --duration=10m | jq ".exp - .iat"'
says "create token --audience" '^\["one","two"\]$' eval 'claims robot -n $N --audience=one --audience=two | jq -c .aud'
refused "a token for another audience does not open" 'You must be logged in|Unauthorized' eval \
    'as_token "$(k create token robot -n $N --audience=elsewhere)" get configmap here -n $N'
says "create token --bound-object-kind" '^"holder"$' eval \
    'k create secret generic holder -n $N >/dev/null
     claims robot -n $N --bound-object-kind Secret --bound-object-name holder | jq ".[\"kubernetes.io\"].secret.name"'
refused "a bound token ends with its object" 'You must be logged in|Unauthorized' eval \
    't=$(k create token robot -n $N --bound-object-kind Secret --bound-object-name holder)
     k delete secret holder -n $N >/dev/null; as_token "$t" get configmap here -n $N'
says "create token -o yaml" '^kind: TokenRequest$' k create token robot -n $N -o yaml
refused "create token of an absent account" 'serviceaccounts "nobody" not found' k create token nobody -n $N
refused "create token that is too short" 'may not specify a duration less than 10 minutes' k create token robot -n $N --duration=1m
refused "a token ends with its account" 'You must be logged in|Unauthorized' eval \
    'k create serviceaccount brief -n $N >/dev/null; t=$(k create token brief -n $N)
     k delete serviceaccount brief -n $N >/dev/null; as_token "$t" auth whoami'

## Impersonation is a right
refused "impersonation without the right" 'users "bob" is forbidden|cannot impersonate' \
    as_token alice-token get configmaps -n $N --as=bob

## auth reconcile
cat >"$WORK/rbac.yaml" <<'YAML'
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: reconciled, namespace: auth}
rules: [{apiGroups: [""], resources: [pods], verbs: [get, list]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: reconciled, namespace: auth}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: reconciled}
subjects: [{kind: User, name: rita, apiGroup: rbac.authorization.k8s.io}]
YAML
says "auth reconcile" 'role.rbac.authorization.k8s.io/reconciled reconciled(.*\n)*rolebinding.rbac.authorization.k8s.io/reconciled reconciled' \
    k auth reconcile -f "$WORK/rbac.yaml"
sed -i 's/\[get, list\]/[get, list, watch]/' "$WORK/rbac.yaml"
says "auth reconcile adds rules" 'reconciled' k auth reconcile -f "$WORK/rbac.yaml"
soon "the rule holds" '^yes$' k auth can-i watch pods -n $N --as=rita
k delete ns $N --wait=false >/dev/null
