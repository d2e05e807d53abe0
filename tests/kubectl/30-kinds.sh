# Every built-in kind: an object of each is created, read in every form, described and explained;
# every generator of `kubectl create`; scale, set, rollout, expose, autoscale, nodes, certificates.
N=kinds
k create namespace $N >/dev/null
# Pods wait for their account.
k wait serviceaccount/default -n $N --for=create --timeout=5s >/dev/null
sample() {
    k get "$1" "${3:-sample}" -n $N -o "jsonpath=$2"
}

## api-versions and api-resources
for version in admissionregistration.k8s.io/v1 apiextensions.k8s.io/v1 apiregistration.k8s.io/v1 apps/v1 \
    authentication.k8s.io/v1 authorization.k8s.io/v1 autoscaling/v1 autoscaling/v2 batch/v1 certificates.k8s.io/v1 \
    coordination.k8s.io/v1 discovery.k8s.io/v1 events.k8s.io/v1 flowcontrol.apiserver.k8s.io/v1 networking.k8s.io/v1 \
    node.k8s.io/v1 policy/v1 rbac.authorization.k8s.io/v1 resource.k8s.io/v1 scheduling.k8s.io/v1 storage.k8s.io/v1 v1; do
    says "api-versions lists $version" "^${version//./\\.}\$" k api-versions
done
says "api-resources --api-group=apps" '^deployments +deploy +apps/v1 +true +Deployment$' k api-resources --api-group=apps
says "api-resources --categories=all" '^deployments' k api-resources --categories=all

## What is there from the start
for name in default kube-system kube-public kube-node-lease; do
    prints "namespace $name" namespace/$name k get ns $name -o name
done
says "service kubernetes" '^kubernetes +ClusterIP +10\.0\.0\.1 +<none> +443/TCP' k get service kubernetes -n default
says "endpoints kubernetes" '^kubernetes +\d+\.\d+\.\d+\.\d+:\d+ ' k get endpoints kubernetes -n default
says "endpoint slice kubernetes" '^kubernetes +IPv4 +\d+ ' k get endpointslice kubernetes -n default
says "service CIDR kubernetes" '^kubernetes +10\.0\.0\.0/24 ' k get servicecidr kubernetes
says "IP address of kubernetes" 'services/default/kubernetes' k get ipaddress 10.0.0.1
says "configmap extension-apiserver-authentication" '^extension-apiserver-authentication ' \
    k get cm extension-apiserver-authentication -n kube-system
says "priority classes" '^system-cluster-critical +2000000000 (.*\n)*system-node-critical +2000001000 ' k get priorityclasses
says "flow schemas" '^catch-all +catch-all +10000 ' k get flowschemas
says "priority levels" '^exempt +Exempt ' k get prioritylevelconfigurations

## One object of every kind
refused "nothing is there before" NotFound k get deployment sample -n $N
says "create a sample of every kind" 'deployment.apps/sample created(.*\n)*flowschema.flowcontrol.apiserver.k8s.io/sample created' \
    k create -f "$MANIFESTS/every-kind.yaml"
check "apply the samples on the server" k apply --server-side --force-conflicts -f "$MANIFESTS/every-kind.yaml"
says "apply them again" 'deployment.apps/sample serverside-applied' k apply --server-side -f "$MANIFESTS/every-kind.yaml"
check "diff of the samples" k diff --server-side -f "$MANIFESTS/every-kind.yaml"
says "client-side apply over them" 'deployment.apps/sample configured' k apply -f "$MANIFESTS/every-kind.yaml"
says "client-side apply again changes nothing" 'deployment.apps/sample unchanged' k apply -f "$MANIFESTS/every-kind.yaml"
# But for Jobs: their selector is made by the server and must be in a replacement.
perl -0777 -pe 's/apiVersion: batch\/v1\nkind: Job\n.*?\n---\n//s' "$MANIFESTS/every-kind.yaml" >"$WORK/replacements.yaml"
says "replace them all" 'flowschema.flowcontrol.apiserver.k8s.io/sample replaced' k replace -f "$WORK/replacements.yaml"

# resource | a sample's name | the head of `get -o wide`
# A resource marked with ! is not described: kubectl 1.33 and before ask for a beta version of it,
# which 1.36 does not serve.
while IFS='|' read -r resource name head; do
    undescribed=
    case $resource in !*) undescribed=yes resource=${resource#!} ;; esac
    says "get $resource -o wide" "^${head// / +} *\$" k get "$resource" "$name" -n $N -o wide
    says "get $resource -o yaml" '^  uid: ' k get "$resource" "$name" -n $N -o yaml
    [ -n "$undescribed" ] || says "describe $resource" "^Name: +$name\$" k describe "$resource" "$name" -n $N
    says "explain $resource" '^KIND: +\w+(.*\n)*FIELDS:' k explain "${resource%%.*}"
    check "label $resource" k label "$resource" "$name" -n $N tested=yes --overwrite
done <<'TABLE'
configmaps|sample|NAME DATA AGE
secrets|sample|NAME TYPE DATA AGE
namespaces|kinds|NAME STATUS AGE
serviceaccounts|sample|NAME AGE
pods|sample|NAME READY STATUS RESTARTS AGE IP NODE NOMINATED NODE READINESS GATES
podtemplates|sample|NAME CONTAINERS IMAGES POD LABELS
replicationcontrollers|sample|NAME DESIRED CURRENT READY AGE CONTAINERS IMAGES SELECTOR
services|sample|NAME TYPE CLUSTER-IP EXTERNAL-IP PORT\(S\) AGE SELECTOR
endpoints|sample-by-hand|NAME ENDPOINTS AGE
persistentvolumeclaims|sample|NAME STATUS VOLUME CAPACITY ACCESS MODES STORAGECLASS VOLUMEATTRIBUTESCLASS AGE VOLUMEMODE
persistentvolumes|sample|NAME CAPACITY ACCESS MODES RECLAIM POLICY STATUS CLAIM STORAGECLASS VOLUMEATTRIBUTESCLASS REASON AGE VOLUMEMODE
nodes|sample|NAME STATUS ROLES AGE VERSION INTERNAL-IP EXTERNAL-IP OS-IMAGE KERNEL-VERSION CONTAINER-RUNTIME
limitranges|sample|NAME CREATED AT
resourcequotas|sample|NAME (REQUEST LIMIT AGE|AGE REQUEST LIMIT)
events|sample.1|LAST SEEN TYPE REASON OBJECT SUBOBJECT SOURCE MESSAGE FIRST SEEN COUNT NAME
events.events.k8s.io|sample.2|LAST SEEN TYPE REASON OBJECT SUBOBJECT SOURCE MESSAGE FIRST SEEN COUNT NAME
deployments|sample|NAME READY UP-TO-DATE AVAILABLE AGE CONTAINERS IMAGES SELECTOR
statefulsets|sample|NAME READY AGE CONTAINERS IMAGES
daemonsets|sample|NAME DESIRED CURRENT READY UP-TO-DATE AVAILABLE NODE SELECTOR AGE CONTAINERS IMAGES SELECTOR
replicasets|sample|NAME DESIRED CURRENT READY AGE CONTAINERS IMAGES SELECTOR
controllerrevisions|sample|NAME CONTROLLER REVISION AGE
jobs|sample|NAME STATUS COMPLETIONS DURATION AGE CONTAINERS IMAGES SELECTOR
cronjobs|sample|NAME SCHEDULE TIMEZONE SUSPEND ACTIVE LAST SCHEDULE AGE CONTAINERS IMAGES SELECTOR
horizontalpodautoscalers|sample|NAME REFERENCE TARGETS MINPODS MAXPODS REPLICAS AGE
horizontalpodautoscalers.v1.autoscaling|sample|NAME REFERENCE TARGETS MINPODS MAXPODS REPLICAS AGE
poddisruptionbudgets|sample|NAME MIN AVAILABLE MAX UNAVAILABLE ALLOWED DISRUPTIONS AGE
ingresses|sample|NAME CLASS HOSTS ADDRESS PORTS AGE
ingressclasses|sample|NAME CONTROLLER PARAMETERS AGE
networkpolicies|sample|NAME POD-SELECTOR AGE
!servicecidrs|sample|NAME CIDRS AGE
!ipaddresses|10.77.0.9|NAME PARENTREF
endpointslices|sample|NAME ADDRESSTYPE PORTS ENDPOINTS AGE
roles|sample|NAME CREATED AT
rolebindings|sample|NAME ROLE AGE USERS GROUPS SERVICEACCOUNTS
clusterroles|sample|NAME CREATED AT
clusterrolebindings|sample|NAME ROLE AGE USERS GROUPS SERVICEACCOUNTS
storageclasses|sample|NAME PROVISIONER RECLAIMPOLICY VOLUMEBINDINGMODE ALLOWVOLUMEEXPANSION AGE
csidrivers|disk.example.com|NAME ATTACHREQUIRED PODINFOONMOUNT STORAGECAPACITY TOKENREQUESTS REQUIRESREPUBLISH MODES( .*)? AGE
csinodes|sample|NAME DRIVERS AGE
csistoragecapacities|sample|NAME .*
volumeattachments|sample|NAME ATTACHER PV NODE ATTACHED AGE
!volumeattributesclasses|sample|NAME DRIVERNAME AGE
priorityclasses|sample|NAME VALUE GLOBAL-DEFAULT AGE PREEMPTIONPOLICY
runtimeclasses|sample|NAME HANDLER AGE
leases|sample|NAME HOLDER AGE
certificatesigningrequests|sample|NAME AGE SIGNERNAME REQUESTOR REQUESTEDDURATION CONDITION
validatingwebhookconfigurations|sample|NAME WEBHOOKS AGE
mutatingwebhookconfigurations|sample|NAME WEBHOOKS AGE
validatingadmissionpolicies|sample|NAME VALIDATIONS PARAMKIND AGE
validatingadmissionpolicybindings|sample|NAME POLICYNAME PARAMREF AGE
mutatingadmissionpolicies|sample|NAME .*
mutatingadmissionpolicybindings|sample|NAME .*
deviceclasses|sample|NAME AGE
resourceclaims|sample|NAME STATE AGE
resourceclaimtemplates|sample|NAME AGE
resourceslices|sample|NAME NODE DRIVER POOL AGE
flowschemas|sample|NAME PRIORITYLEVEL MATCHINGPRECEDENCE DISTINGUISHERMETHOD AGE MISSINGPL
prioritylevelconfigurations|sample|NAME TYPE NOMINALCONCURRENCYSHARES QUEUES HANDSIZE QUEUELENGTHLIMIT AGE
TABLE

# Nothing that can be listed is forgotten by the table above.
for resource in $(k api-resources --verbs=list -o name); do
    check "get $resource -A -o wide" k get "$resource" -A -o wide
done
says "get all" 'pod/sample (.*\n)*service/sample (.*\n)*deployment.apps/sample ' k get all -n $N
says "events" 'Tested +Pod/sample +a sample was tested' k events -n $N
says "events --for" 'Tested +Pod/sample' k events -n $N --for pod/sample

## explain
says "explain a field" '^FIELD: replicas <integer>' k explain deployment.spec.replicas
says "explain has descriptions" 'Number of desired pods' k explain deployment.spec.replicas
says "explain --recursive" '    containers\t<\[\]Container> -required-(.*\n)*      image\t<string>' k explain pods --recursive
says "explain --api-version" '^VERSION: +v1$' k explain hpa --api-version=autoscaling/v1
says "explain shows enums" 'Always' k explain pod.spec.containers.imagePullPolicy
says "explain metadata.liens" '^FIELD: liens <\[\]string>' k explain configmap.metadata.liens
says "explain --output=plaintext-openapiv2" 'RESOURCE: spec <Object>|FIELDS:' k explain deployment.spec --output=plaintext-openapiv2
refused "explain of an unknown field" 'field "nothing" does not exist' k explain pod.nothing

## Defaults and validation seen through kubectl
prints "a deployment's strategy is defaulted" RollingUpdate sample deployment '{.spec.strategy.type}'
prints "a pod's restart policy is defaulted" Always sample pod '{.spec.restartPolicy}'
prints "a pod has its QoS class" Burstable sample pod '{.status.qosClass}'
prints "a pod is pending" Pending sample pod '{.status.phase}'
says "a service has an address" '^10\.0\.0\.\d+$' sample service '{.spec.clusterIP}'
refused "a deployment without a selector" 'spec\.selector' k create -n $N --validate=ignore -f "$(file noselector.yaml <<'YAML'
apiVersion: apps/v1
kind: Deployment
metadata: {name: noselector}
spec:
  template:
    metadata: {labels: {app: x}}
    spec: {containers: [{name: main, image: x}]}
YAML
)"
refused "a pod without a container's image" 'spec\.containers\[0\]\.image' k create -n $N -f "$(file noimage.yaml <<'YAML'
apiVersion: v1
kind: Pod
metadata: {name: noimage}
spec: {containers: [{name: main}]}
YAML
)"
refused "a typo in a deployment" 'unknown field "spec\.replcias"' k create -n $N -f "$(file typo.yaml <<'YAML'
apiVersion: apps/v1
kind: Deployment
metadata: {name: typo}
spec:
  replcias: 3
  selector: {matchLabels: {app: x}}
  template:
    metadata: {labels: {app: x}}
    spec: {containers: [{name: main, image: x}]}
YAML
)"
refused "a deployment's selector stays" 'field is immutable' \
    k patch deployment sample -n $N --type=merge -p '{"spec":{"selector":{"matchLabels":{"app":"other"}}}}'

## create: every generator
prints "create deployment" "deployment.apps/web created" \
    k create deployment web -n $N --image=registry.example/web:1 --replicas=2 --port=80
prints "create deployment of two images" "deployment.apps/two created" \
    k create deployment two -n $N --image=registry.example/a:1 --image=registry.example/b:1
prints "create job" "job.batch/once created" k create job once -n $N --image=registry.example/job:1 -- echo hi
prints "create cronjob" "cronjob.batch/hourly created" \
    k create cronjob hourly -n $N --image=registry.example/job:1 --schedule='0 * * * *' -- echo hi
prints "create job --from=cronjob" "job.batch/now created" k create job now -n $N --from=cronjob/hourly
prints "a job from a cronjob is owned by it" "CronJob hourly" \
    sample job '{.metadata.ownerReferences[0].kind} {.metadata.ownerReferences[0].name}' now
prints "create service clusterip" "service/cip created" k create service clusterip cip -n $N --tcp=80:8080
prints "create service nodeport" "service/np created" k create service nodeport np -n $N --tcp=80:8080
says "a node port is given" '^3\d{4}$' sample service '{.spec.ports[0].nodePort}' np
prints "create service nodeport --node-port" "service/np2 created" k create service nodeport np2 -n $N --tcp=80 --node-port=31234
refused "a node port is given once" 'provided port is already allocated' k create service nodeport np3 -n $N --tcp=80 --node-port=31234
prints "create service loadbalancer" "service/lb created" k create service loadbalancer lb -n $N --tcp=80:8080
prints "create service externalname" "service/en created" k create service externalname en -n $N --external-name example.com
prints "create service clusterip None" "service/headless created" k create service clusterip headless -n $N --clusterip=None
says "services in a table" "^np +NodePort +10\.0\.0\.\d+ +<none> +80:3\d{4}/TCP +" k get services -n $N
says "a load balancer waits" '^lb +LoadBalancer +10\.0\.0\.\d+ +<pending> +80:3\d{4}/TCP' k get service lb -n $N
says "an external name" '^en +ExternalName +<none> +example\.com +<none>' k get service en -n $N
prints "create role" "role.rbac.authorization.k8s.io/reader created" \
    k create role reader -n $N --verb=get,list,watch --resource=pods,pods/log
prints "create clusterrole" "clusterrole.rbac.authorization.k8s.io/kinds-reader created" \
    k create clusterrole kinds-reader --verb=get --resource=nodes
prints "create clusterrole --non-resource-url" "clusterrole.rbac.authorization.k8s.io/kinds-url created" \
    k create clusterrole kinds-url --verb=get --non-resource-url=/logs/*
prints "create clusterrole --aggregation-rule" "clusterrole.rbac.authorization.k8s.io/kinds-sum created" \
    k create clusterrole kinds-sum --aggregation-rule=kinds-sum=yes
prints "create rolebinding" "rolebinding.rbac.authorization.k8s.io/readers created" \
    k create rolebinding readers -n $N --role=reader --user=carol --group=g --serviceaccount=$N:sample
prints "create clusterrolebinding" "clusterrolebinding.rbac.authorization.k8s.io/kinds-readers created" \
    k create clusterrolebinding kinds-readers --clusterrole=kinds-reader --user=carol
prints "create quota" "resourcequota/q created" k create quota q -n $N --hard=cpu=10,pods=50
prints "create quota --scopes" "resourcequota/qs created" k create quota qs -n $N --hard=pods=50 --scopes=BestEffort
prints "create poddisruptionbudget" "poddisruptionbudget.policy/pdb created" \
    k create poddisruptionbudget pdb -n $N --selector=app=web --min-available=50%
prints "create ingress" "ingress.networking.k8s.io/in created" \
    k create ingress in -n $N --class=sample --rule='a.example.com/x*=cip:80,tls=sample'
prints "create priorityclass" "priorityclass.scheduling.k8s.io/kinds-high created" \
    k create priorityclass kinds-high --value=100 --description=high
prints "create serviceaccount" "serviceaccount/robot created" k create serviceaccount robot -n $N
prints "create secret generic" "secret/gen created" k create secret generic gen -n $N --from-literal=a=b
prints "create configmap" "configmap/gen created" k create configmap gen -n $N --from-literal=a=b
prints "create namespace" "namespace/kinds-two created" k create namespace kinds-two
prints "run" "pod/ran created" k run ran -n $N --image=registry.example/web:1 --labels=app=ran --env=A=1 --port=80
prints "run --expose" $'service/seen created\npod/seen created' k run seen -n $N --image=registry.example/web:1 --port=80 --expose
says "run --dry-run=client -o yaml" '^kind: Pod$' k run dry -n $N --image=x --dry-run=client -o yaml
prints "expose deployment" "service/web exposed" k expose deployment web -n $N --port=80 --target-port=8080
prints "expose pod" "service/ran exposed" k expose pod ran -n $N
says "autoscale" 'horizontalpodautoscaler.autoscaling/web autoscaled' k autoscale deployment web -n $N --min=1 --max=3 --cpu-percent=50
says "an autoscaler in a table" '^web +Deployment/web +cpu: <unknown>/50% +1 +3 +0' k get hpa web -n $N

## scale
prints "scale deployment" "deployment.apps/web scaled" k scale deployment web -n $N --replicas=5
prints "scale changed it" 5 sample deployment '{.spec.replicas}' web
prints "scale --current-replicas" "deployment.apps/web scaled" k scale deployment web -n $N --current-replicas=5 --replicas=3
refused "scale with other --current-replicas" 'Expected replicas to be 5, was 3' k scale deployment web -n $N --current-replicas=5 --replicas=1
prints "scale statefulset" "statefulset.apps/sample scaled" k scale statefulset sample -n $N --replicas=2
prints "scale replicaset" "replicaset.apps/sample scaled" k scale rs sample -n $N --replicas=0
prints "scale replicationcontroller" "replicationcontroller/sample scaled" k scale rc sample -n $N --replicas=1
prints "scale -f" "deployment.apps/sample scaled" eval \
    'k get deployment sample -n $N -o yaml >"$WORK/sample.yaml"; k scale -f "$WORK/sample.yaml" --replicas=4'
says "get --subresource=scale" '^kind: Scale$' k get deployment web -n $N --subresource=scale -o yaml
says "get --subresource=scale as a table" '^NAME +DESIRED +AVAILABLE|^web ' k get deployment web -n $N --subresource=scale
says "patch --subresource=scale" 'scale.autoscaling/web patched' \
    k patch deployment web -n $N --subresource=scale --type=merge -p '{"spec":{"replicas":2}}'
prints "patch --subresource=scale changed it" 2 sample deployment '{.spec.replicas}' web
prints "patch --subresource=status" "deployment.apps/web patched" \
    k patch deployment web -n $N --subresource=status --type=merge -p '{"status":{"replicas":2,"readyReplicas":1,"updatedReplicas":2,"availableReplicas":1}}'
says "status in a table" '^web +1/2 +2 +1 +' k get deployment web -n $N
prints "a patch of spec through status changes nothing" 2 eval \
    'k patch deployment web -n $N --subresource=status --type=merge -p "{\"spec\":{\"replicas\":9}}" >/dev/null; sample deployment "{.spec.replicas}" web'
refused "scale what cannot be scaled" 'could not find the requested resource|NotFound' k scale configmap sample -n $N --replicas=1

## set
prints "set image" "deployment.apps/web image updated" k set image deployment/web -n $N web=registry.example/web:2
prints "set image changed it" registry.example/web:2 sample deployment '{.spec.template.spec.containers[0].image}' web
says "a change of spec raises the generation" '^[2-9]$' sample deployment '{.metadata.generation}' web
prints "set image of all" "deployment.apps/sample image updated" k set image deployment/sample -n $N '*=registry.example/all:1'
prints "set env" "deployment.apps/web env updated" k set env deployment/web -n $N A=1 B=2
says "set env --list" '^A=1$' k set env deployment/web -n $N --list
prints "set env removes" "deployment.apps/web env updated" k set env deployment/web -n $N A-
prints "set env --from" "deployment.apps/web env updated" k set env deployment/web -n $N --from=configmap/gen
prints "set resources" "deployment.apps/web resource requirements updated" \
    k set resources deployment/web -n $N --limits=cpu=200m,memory=512Mi --requests=cpu=100m,memory=256Mi
prints "set serviceaccount" "deployment.apps/web serviceaccount updated" k set serviceaccount deployment web robot -n $N
prints "set selector" "service/cip selector updated" k set selector service cip app=other -n $N
prints "set subject" "rolebinding.rbac.authorization.k8s.io/readers subjects updated" \
    k set subject rolebinding readers -n $N --user=dave

## rollout
prints "rollout pause" "deployment.apps/web paused" k rollout pause deployment/web -n $N
prints "rollout resume" "deployment.apps/web resumed" k rollout resume deployment/web -n $N
prints "rollout restart" "deployment.apps/web restarted" k rollout restart deployment/web -n $N
says "rollout status" 'Waiting for deployment' k rollout status deployment/web -n $N --watch=false
UID_OF_WEB=$(sample deployment '{.metadata.uid}' web)
for revision in 1 2; do
    cat <<YAML
apiVersion: apps/v1
kind: ReplicaSet
metadata:
  name: web-$revision
  namespace: $N
  labels: {app: web, pod-template-hash: "$revision"}
  annotations: {deployment.kubernetes.io/revision: "$revision", kubernetes.io/change-cause: "cause $revision"}
  ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: web, uid: "$UID_OF_WEB", controller: true}]
spec:
  replicas: 0
  selector: {matchLabels: {app: web, pod-template-hash: "$revision"}}
  template:
    metadata: {labels: {app: web, pod-template-hash: "$revision"}}
    spec: {containers: [{name: web, image: "registry.example/web:old$revision"}]}
---
YAML
done >"$WORK/revisions.yaml"
check "replica sets of a deployment" k create -f "$WORK/revisions.yaml"
says "rollout history" '^1 +cause 1\n2 +cause 2' k rollout history deployment/web -n $N
says "rollout history --revision" 'registry.example/web:old1' k rollout history deployment/web -n $N --revision=1
says "rollout undo" 'deployment.apps/web rolled back' k rollout undo deployment/web -n $N --to-revision=1
prints "rollout undo changed it" registry.example/web:old1 sample deployment '{.spec.template.spec.containers[0].image}' web
check "rollout history of a daemon set" k rollout history daemonset/sample -n $N
check "rollout history of a stateful set" k rollout history statefulset/sample -n $N
says "describe deployment" 'Replicas: +\d+ desired(.*\n)*  Containers:' k describe deployment web -n $N

## Pods and nodes
says "a pod in a table" '^sample +0/1 +Pending +0 +' k get pod sample -n $N
prints "logs of a pod without a node" "" k logs sample -n $N
refused "exec in a pod without a node" 'pod sample does not have a host assigned' k exec sample -n $N -- true
refused "attach to a pod without a node" 'pod sample does not have a host assigned|is not running|must be running' k attach sample -n $N --pod-running-timeout=1s
says "set image of a pod" 'pod/ran image updated' k set image pod/ran -n $N ran=registry.example/web:3
refused "other fields of a pod stay" 'pod updates may not change fields other than' \
    k patch pod ran -n $N -p '{"spec":{"hostNetwork":true}}'
says "pods by phase" 'pod/ran' k get pods -n $N --field-selector status.phase=Pending -o name
prints "debug adds an ephemeral container" 1 eval \
    'k debug ran -n $N --image=registry.example/debug:1 --profile=general -c dbg --attach=false >/dev/null 2>&1;
     sample pod "{.spec.ephemeralContainers[*].name}" ran | wc -w'
says "a node in a table" '^sample +(NotReady|Unknown|Ready)' k get nodes
prints "cordon" "node/sample cordoned" k cordon sample
says "a cordoned node" 'SchedulingDisabled' k get node sample
prints "uncordon" "node/sample uncordoned" k uncordon sample
prints "taint" "node/sample tainted" k taint node sample extra=yes:NoExecute
prints "taint is removed" "node/sample untainted" k taint node sample extra-
check "a pod on a node" k create -f "$(file onnode.yaml <<'YAML'
apiVersion: v1
kind: Pod
metadata: {name: onnode, namespace: kinds, labels: {app: onnode}}
spec: {nodeName: sample, containers: [{name: main, image: x}]}
YAML
)"
prints "pods by node" pod/onnode k get pods -n $N --field-selector spec.nodeName=sample -o name
says "drain evicts" 'pod/onnode evicted' k drain sample --force --grace-period=0 --ignore-daemonsets --timeout=10s
refused "an evicted pod is gone" NotFound k get pod onnode -n $N

## Certificates
prints "certificate approve" "certificatesigningrequest.certificates.k8s.io/sample approved" k certificate approve sample
says "an approved request" ' Approved$' k get csr sample
check "a second request" eval 'k get csr sample -o json | jq "{apiVersion, kind, metadata: {name: \"second\"}, spec: {request: .spec.request, signerName: .spec.signerName, usages: .spec.usages}}" | k create -f -'
prints "certificate deny" "certificatesigningrequest.certificates.k8s.io/second denied" k certificate deny second
says "a denied request" ' Denied$' k get csr second

## What is not served yet says so
refused "an apiservice" 'does not aggregate' k create --validate=ignore -f "$MANIFESTS/apiservice.yaml"

## Kinds that users define
says "a customresourcedefinition" 'customresourcedefinition.*created' k create -f "$MANIFESTS/customresourcedefinition.yaml"
says "it is established" 'condition met' k wait --for=condition=Established crd/widgets.example.com --timeout=30s
says "its objects are listed" 'No resources found' k get widgets.example.com
says "it goes" 'customresourcedefinition.* deleted' k delete crd widgets.example.com --timeout=30s

## delete of every kind
says "delete the samples" 'deployment.apps "sample"(.*\n)*flowschema.flowcontrol.apiserver.k8s.io "sample"' \
    k delete -f "$MANIFESTS/every-kind.yaml" --timeout=30s
k delete clusterrole kinds-reader kinds-url kinds-sum >/dev/null
k delete clusterrolebinding kinds-readers >/dev/null
k delete priorityclass kinds-high >/dev/null
k delete csr second >/dev/null
says "delete the namespace" "namespace \"$N\" deleted" k delete ns $N --timeout=25s
k delete ns kinds-two --wait=false >/dev/null
