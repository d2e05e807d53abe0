"""What single kinds do: warnings, secrets, services, pods, status, nodes, claims; discovery."""
import json

from corpus import APPLY, MERGE, STRATEGIC, Scenario
from hand.ground import CORE, APPS, MAPS, DRY, deployment, owner
from objects import POD


def warnings():
    s = Scenario("warnings")
    for count, length in ((5, 10), (30, 100), (50, 200), (120, 300), (3, 2000), (10, 1000), (3, 1300), (17, 300)):
        body = {"metadata": {"name": "w"}, **{f"b{i:03}" + "x" * length: 1 for i in range(count)}}
        s.ask(f"{count}-of-{length}", "POST", MAPS + DRY, body)
        s.ask(f"{count}-of-{length}-merge", "PATCH", MAPS + "/one" + DRY, {k: v for k, v in body.items() if k != "metadata"}, MERGE)
    for name, key in {"quote": 'a"b', "backslash": "a\\b", "newline": "a\nb", "umlaut": "ü", "emoji": "😀", "control": "a\x01b", "tab": "a\tb", "delete": "a\x7fb", "nbsp": "a\u00a0b", "dot": "a.b", "space": "a b", "bracket": "a[0]", "bidi": "a\u202eb", "empty": ""}.items():
        s.ask(f"key-{name}", "POST", MAPS + DRY, {"metadata": {"name": "w"}, key: 1})
        s.ask(f"key-{name}-Strict", "POST", MAPS + DRY + "&fieldValidation=Strict", {"metadata": {"name": "w"}, key: 1})
        s.ask(f"duplicate-{name}", "POST", MAPS + DRY, '{"metadata":{"name":"w"},"data":{%s:"1",%s:"2"}}' % (json.dumps(key), json.dumps(key)))
    for name, spec in {"affinity": {"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "preference": {}}]}}}, "beta-label": {"nodeSelector": {"beta.kubernetes.io/os": "linux"}}, "ports": {"containers": [{"name": "c", "image": "i", "ports": [{"containerPort": 80}, {"containerPort": 80}]}]},
                       "env": {"containers": [{"name": "c", "image": "i", "env": [{"name": "A"}, {"name": "A"}]}]}, "seccomp": {"securityContext": {"seccompProfile": {"type": "Unconfined"}}}, "host-alias": {"hostAliases": [{"ip": "192.0.2.1", "hostnames": ["a"]}, {"ip": "192.0.2.1", "hostnames": ["b"]}]},
                       "pull": {"imagePullSecrets": [{}]}, "volume": {"volumes": [{"name": "v", "glusterfs": {"endpoints": "e", "path": "p"}}]}, "storage": {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"memory": "1500m"}}}]}, "service-account": {"serviceAccount": "x"}, "host-port": {"hostNetwork": True, "containers": [{"name": "c", "image": "i", "ports": [{"containerPort": 80, "hostPort": 80}]}]},
                       "host-ip": {"hostNetwork": True, "containers": [{"name": "c", "image": "i", "ports": [{"containerPort": 80, "hostIP": "010.0.0.1"}]}]}, "topology": {"topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "k", "whenUnsatisfiable": "DoNotSchedule"}]}}.items():
        s.ask("pod-" + name, "POST", CORE + "/pods" + DRY, {"metadata": {"name": "w"}, "spec": {**POD, **spec}})
        s.ask("deployment-" + name, "POST", APPS + "/deployments" + DRY, deployment("w", template={"metadata": {"labels": {"a": "b"}}, "spec": {**POD, **spec}}))
    return s


def secrets():
    s = Scenario("secrets-by-hand")
    for kind, data in (("kubernetes.io/tls", {}), ("kubernetes.io/tls", {"tls.crt": "", "tls.key": ""}), ("kubernetes.io/dockerconfigjson", {}), ("kubernetes.io/dockerconfigjson", {".dockerconfigjson": "eA=="}), ("kubernetes.io/dockercfg", {".dockercfg": "e30="}), ("kubernetes.io/basic-auth", {}), ("kubernetes.io/ssh-auth", {}),
                       ("kubernetes.io/service-account-token", {}), ("bootstrap.kubernetes.io/token", {}), ("Bogus type", {}), ("x" * 300, {})):
        s.ask(f"{kind[:40]}-{len(data)}-{len(str(data))}".replace(" ", "_"), "POST", CORE + "/secrets" + DRY, {"metadata": {"name": "s"}, "type": kind, "data": data})
    s.ask("both", "POST", CORE + "/secrets" + DRY, {"metadata": {"name": "s"}, "data": {"a": "MQ=="}, "stringData": {"a": "2"}})
    s.ask("immutable", "POST", CORE + "/secrets", {"metadata": {"name": "im"}, "data": {"a": "MQ=="}, "immutable": True})
    s.ask("immutable-data", "PATCH", CORE + "/secrets/im", {"data": {"a": "Mg=="}}, MERGE)
    s.ask("immutable-flag", "PATCH", CORE + "/secrets/im", {"immutable": False}, MERGE)
    s.ask("immutable-string", "PATCH", CORE + "/secrets/im", {"stringData": {"a": "2"}}, MERGE)
    s.ask("type", "PATCH", CORE + "/secrets/im", {"type": "other"}, MERGE)
    s.ask("apply-string", "PATCH", CORE + "/secrets/ap?fieldManager=m", {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "ap"}, "stringData": {"a": "1"}}, APPLY)
    s.ask("apply-string-again", "PATCH", CORE + "/secrets/ap?fieldManager=m", {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "ap"}, "stringData": {"b": "1"}}, APPLY)
    return s


def services():
    s = Scenario("services-by-hand")
    port = [{"port": 80}]
    for name, spec in {"plain": {"ports": port}, "none": {}, "node-port": {"type": "NodePort", "ports": [{"port": 80, "nodePort": 30123}]}, "node-port-out": {"type": "NodePort", "ports": [{"port": 80, "nodePort": 80}]}, "balancer": {"type": "LoadBalancer", "ports": port, "loadBalancerSourceRanges": ["x"]}, "external": {"type": "ExternalName"},
                       "external-good": {"type": "ExternalName", "externalName": "x.example.com"}, "external-bad": {"type": "ExternalName", "externalName": "X_"}, "ip": {"ports": port, "clusterIP": "10.0.0.77"}, "ip-out": {"ports": port, "clusterIP": "192.0.2.1"}, "ip-bad": {"ports": port, "clusterIP": "x"}, "ips": {"ports": port, "clusterIPs": ["10.0.0.78"]},
                       "type": {"type": "Bogus", "ports": port}, "ports-unnamed": {"ports": [{"port": 80}, {"port": 81}]}, "ports-twice": {"ports": [{"port": 80, "name": "a"}, {"port": 80, "name": "b"}]}, "affinity": {"ports": port, "sessionAffinity": "ClientIP"}, "affinity-bad": {"ports": port, "sessionAffinity": "x"},
                       "external-ips": {"ports": port, "externalIPs": ["127.0.0.1"]}, "policy": {"ports": port, "externalTrafficPolicy": "Local"}, "family": {"ports": port, "ipFamilies": ["IPv6"]}, "family-policy": {"ports": port, "ipFamilyPolicy": "RequireDualStack"}, "target": {"ports": [{"port": 80, "targetPort": "Bad_Name"}]},
                       "protocol": {"ports": [{"port": 80, "protocol": "X"}]}, "health": {"ports": port, "healthCheckNodePort": 30000}, "leading": {"ports": port, "clusterIP": "010.000.000.079"}, "headless-external": {"clusterIP": "None"}}.items():
        s.ask(name, "POST", CORE + "/services" + DRY, {"metadata": {"name": "s"}, "spec": spec})
    s.ask("make", "POST", CORE + "/services", {"metadata": {"name": "sv"}, "spec": {"ports": port, "clusterIP": "10.0.0.80"}})
    for name, patch in {"ip": {"clusterIP": "10.0.0.81"}, "ip-none": {"clusterIP": "None"}, "ip-null": {"clusterIP": None}, "external": {"type": "ExternalName", "externalName": "x.example.com"}, "node-port": {"type": "NodePort"}, "ips": {"clusterIPs": ["10.0.0.81"]}, "class": {"loadBalancerClass": "x"}}.items():
        s.ask("patch-" + name, "PATCH", CORE + "/services/sv" + DRY, {"spec": patch}, MERGE)
    s.ask("kubernetes", "GET", "/api/v1/namespaces/default/services/kubernetes")
    s.ask("kubernetes-endpoints", "GET", "/api/v1/namespaces/default/endpoints/kubernetes")
    s.ask("kubernetes-slices", "GET", "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes")
    return s


def pods():
    s = Scenario("pods-by-hand")
    container = POD["containers"][0]
    for name, spec in {"none": {}, "no-containers": {"containers": []}, "policy": {"restartPolicy": "x"}, "dns": {"dnsPolicy": "None"}, "twice": {"containers": [container, container]}, "image": {"containers": [{"name": "c"}]}, "image-space": {"containers": [{"name": "c", "image": " i"}]}, "name": {"containers": [{"name": "C_", "image": "i"}]},
                       "mount": {"containers": [{**container, "volumeMounts": [{"name": "v", "mountPath": "/x"}]}]}, "volume": {"volumes": [{"name": "v"}]}, "volume-two": {"volumes": [{"name": "v", "emptyDir": {}, "hostPath": {"path": "/x"}}]}, "request": {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}}]},
                       "resource": {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"bogus": "2"}}}]}, "probe": {"containers": [{**container, "livenessProbe": {}}]}, "probe-two": {"containers": [{**container, "livenessProbe": {"exec": {"command": ["x"]}, "tcpSocket": {"port": 1}}}]}, "port": {"containers": [{"name": "c", "image": "i", "ports": [{"containerPort": 0}]}]},
                       "host-port": {"containers": [{"name": "c", "image": "i", "ports": [{"containerPort": 80, "hostPort": 90}]}], "hostNetwork": True}, "deadline": {"activeDeadlineSeconds": 0}, "grace": {"terminationGracePeriodSeconds": -5}, "priority": {"priorityClassName": "absent"}, "priority-value": {"priority": 5}, "toleration": {"tolerations": [{"operator": "Exists", "value": "x"}]},
                       "init": {"initContainers": [{**container}]}, "ephemeral": {"ephemeralContainers": [{"name": "e", "image": "i"}]}, "privileged": {"containers": [{**container, "securityContext": {"privileged": True}}]}, "user": {"securityContext": {"runAsUser": -1}}, "node-selector": {"nodeSelector": {"a b": "c"}}, "hostname": {"hostname": "H_"}, "runtime": {"runtimeClassName": "absent"},
                       "account": {"serviceAccountName": "absent"}, "gate": {"schedulingGates": [{"name": "x"}]}, "overhead": {"overhead": {"cpu": "1"}}, "env": {"containers": [{**container, "env": [{"name": "", "value": "x"}]}]}, "env-from": {"containers": [{**container, "env": [{"name": "A", "valueFrom": {}}]}]}, "lifecycle": {"containers": [{**container, "lifecycle": {"preStop": {}}}]}, "os": {"os": {"name": "x"}}}.items():
        s.ask(name, "POST", CORE + "/pods" + DRY, {"metadata": {"name": "p"}, "spec": {**POD, **spec} if name != "none" else {}})
    for name, patch in {"image": {"containers": [{"name": "c", "image": "j"}]}, "name": {"containers": [{"name": "d", "image": "i"}]}, "node": {"nodeName": "x"}, "deadline": {"activeDeadlineSeconds": 7}, "toleration": {"tolerations": [{"key": "k", "operator": "Exists"}]}, "grace": {"terminationGracePeriodSeconds": 1}, "resources": {"containers": [{"name": "c", "resources": {"limits": {"cpu": "2"}}}]},
                        "ephemeral": {"ephemeralContainers": [{"name": "e", "image": "i"}]}}.items():
        for sub in ("", "/ephemeralcontainers", "/resize", "/status"):
            s.ask(f"patch-{name}{sub}", "PATCH", CORE + "/pods/pod" + sub + DRY, {"spec": patch}, STRATEGIC)
    s.ask("ephemeral-get", "GET", CORE + "/pods/pod/ephemeralcontainers")
    s.ask("resize-get", "GET", CORE + "/pods/pod/resize")
    s.ask("status-phase", "PATCH", CORE + "/pods/pod/status" + DRY, {"status": {"phase": "Bogus"}}, MERGE)
    s.ask("status-restart", "PATCH", CORE + "/pods/pod/status" + DRY, {"status": {"containerStatuses": [{"name": "zz", "image": "i", "imageID": "i", "ready": False, "restartCount": -1}]}}, MERGE)
    s.ask("status-ip", "PATCH", CORE + "/pods/pod/status" + DRY, {"status": {"podIP": "x", "podIPs": [{"ip": "y"}]}}, MERGE)
    s.ask("annotation", "PATCH", CORE + "/pods/pod" + DRY, {"metadata": {"annotations": {"kubernetes.io/config.mirror": "x"}}}, MERGE)
    s.ask("exec-post", "POST", CORE + "/pods/pod/exec")
    s.ask("exec-command", "POST", CORE + "/pods/pod/exec?command=x&container=zz&stdout=1")
    s.ask("log-bad", "GET", CORE + "/pods/pod/log?tailLines=-1")
    s.ask("log-container", "GET", CORE + "/pods/pod/log?container=zz")
    s.ask("attach-container", "POST", CORE + "/pods/pod/attach?container=zz")
    return s


def status_writes():
    """What a write to /status may change besides the status."""
    s = Scenario("status")
    one = APPS + "/deployments/web/status"
    for name, about in {"labels": {"labels": {"x": "1"}}, "annotations": {"annotations": {"x": "1"}}, "finalizers": {"finalizers": ["a/b"]}, "owners": {"ownerReferences": [owner("x")]}, "generation": {"generation": 99}, "managed": {"managedFields": []}, "deletion": {"deletionTimestamp": "2020-01-01T00:00:00Z"}, "uid": {"uid": "x"}, "creation": {"creationTimestamp": "2020-01-01T00:00:00Z"},
                        "generate": {"generateName": "x"}, "self": {"selfLink": "x"}, "bad-label": {"labels": {"a b": "1"}}, "bad-finalizer": {"finalizers": ["x"]}}.items():
        for kind, what in ((MERGE, "merge"), (STRATEGIC, "strategic")):
            s.ask(f"{what}-{name}", "PATCH", one + DRY, {"metadata": about}, kind)
        s.ask(f"apply-{name}", "PATCH", one + DRY + "&fieldManager=st&force=true", {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", **about}, "status": {"replicas": 1}}, APPLY)
        s.ask(f"scale-{name}", "PATCH", APPS + "/deployments/web/scale" + DRY, {"metadata": about}, MERGE)
    s.ask("spec-apply", "PATCH", one + DRY + "&fieldManager=st", {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": {"replicas": 9}, "status": {"replicas": 1}}, APPLY)
    s.ask("status-in-create", "POST", APPS + "/deployments" + DRY, {**deployment("st"), "status": {"replicas": 7}})
    s.ask("status-in-put", "PUT", APPS + "/deployments/web" + DRY, {**deployment("web"), "status": {"replicas": 7}})
    s.ask("status-in-apply", "PATCH", APPS + "/deployments/st" + DRY + "&fieldManager=m", {**deployment("st"), "status": {"replicas": 7}}, APPLY)
    s.ask("spec-in-status", "PUT", one + DRY, {**deployment("web", replicas=9), "status": {"replicas": 1}})
    return s


def nodes():
    s = Scenario("nodes-by-hand")
    s.ask("make", "POST", "/api/v1/nodes", {"metadata": {"name": "d-node"}, "spec": {"podCIDRs": ["10.1.0.0/24", "10.2.0.0/24"]}})
    for name, spec in {"cidr": {"podCIDR": "x"}, "taint": {"taints": [{"key": "a b", "effect": "x"}]}, "taint-twice": {"taints": [{"key": "a", "effect": "NoSchedule"}, {"key": "a", "effect": "NoSchedule"}]}, "provider": {"providerID": "x"}}.items():
        s.ask(name, "POST", "/api/v1/nodes" + DRY, {"metadata": {"name": "n"}, "spec": spec})
        s.ask("patch-" + name, "PATCH", "/api/v1/nodes/d-node" + DRY, {"spec": spec}, MERGE)
    s.ask("status", "PATCH", "/api/v1/nodes/d-node/status" + DRY, {"status": {"addresses": [{"type": "Hostname", "address": "a"}, {"type": "Hostname", "address": "a"}], "capacity": {"cpu": "-1"}}}, STRATEGIC)
    s.ask("proxy", "GET", "/api/v1/nodes/d-node/proxy/x")
    return s


def claims():
    s = Scenario("claims-by-hand")
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    s.ask("make", "POST", CORE + "/persistentvolumeclaims", {"metadata": {"name": "c"}, "spec": claim})
    for name, spec in {"none": {}, "mode": {**claim, "accessModes": ["x"]}, "negative": {**claim, "resources": {"requests": {"storage": "-1"}}}, "source": {**claim, "dataSource": {"kind": "PersistentVolumeClaim", "name": "x"}}, "class": {**claim, "storageClassName": "A_"}, "volume-mode": {**claim, "volumeMode": "x"}, "sub": {**claim, "resources": {"requests": {"storage": "1500m"}}}}.items():
        s.ask(name, "POST", CORE + "/persistentvolumeclaims" + DRY, {"metadata": {"name": "d"}, "spec": spec})
        s.ask("put-" + name, "PUT", CORE + "/persistentvolumeclaims/c" + DRY, {"metadata": {"name": "c"}, "spec": spec})
    s.ask("grow", "PATCH", CORE + "/persistentvolumeclaims/c" + DRY, {"spec": {"resources": {"requests": {"storage": "2Gi"}}}}, MERGE)
    s.ask("shrink", "PATCH", CORE + "/persistentvolumeclaims/c" + DRY, {"spec": {"resources": {"requests": {"storage": "1Mi"}}}}, MERGE)
    s.ask("volume", "PATCH", CORE + "/persistentvolumeclaims/c" + DRY, {"spec": {"volumeName": "v"}}, MERGE)
    return s


def discovery():
    s = Scenario("discovery")
    for path in ("/apis/apps", "/apis/apps/v1", "/apis/batch/v1", "/apis/policy/v1", "/apis/autoscaling/v2", "/apis/rbac.authorization.k8s.io/v1", "/apis/storage.k8s.io/v1", "/apis/networking.k8s.io/v1", "/apis/authentication.k8s.io/v1", "/apis/authorization.k8s.io/v1", "/apis/resource.k8s.io/v1", "/apis/events.k8s.io/v1", "/apis/coordination.k8s.io/v1", "/apis/discovery.k8s.io/v1",
                 "/apis/flowcontrol.apiserver.k8s.io/v1", "/apis/admissionregistration.k8s.io/v1", "/apis/certificates.k8s.io/v1", "/apis/node.k8s.io/v1", "/apis/scheduling.k8s.io/v1", "/apis/apiextensions.k8s.io/v1", "/apis/apiregistration.k8s.io/v1", "/api/v1", "/api", "/apis"):
        s.ask(path, "GET", path)
    return s
