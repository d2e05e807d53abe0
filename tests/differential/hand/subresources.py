"""Deletions, evictions, bindings, tokens, scales, namespaces, approvals, reviews, roles, users."""
import json

from corpus import APPLY, MERGE, PATCH, STRATEGIC, Scenario
from hand.ground import CORE, APPS, MAPS, DRY, YAML, RBAC
from objects import POD, SELECTOR, TEMPLATE, REQUEST


def deletions():
    s = Scenario("delete")
    bodies = {
        "grace": {"gracePeriodSeconds": -1}, "grace-type": {"gracePeriodSeconds": "x"}, "both": {"orphanDependents": True, "propagationPolicy": "Orphan"}, "policy": {"propagationPolicy": "Bogus"}, "policy-empty": {"propagationPolicy": ""}, "orphan": {"orphanDependents": True, "dryRun": ["All"]},
        "dry": {"dryRun": ["Some"]}, "dry-two": {"dryRun": ["All", "All"]}, "dry-type": {"dryRun": "All"}, "kind": {"kind": "Bogus", "apiVersion": "v1"}, "version": {"kind": "DeleteOptions", "apiVersion": "apps/v1", "dryRun": ["All"]}, "version-meta": {"kind": "DeleteOptions", "apiVersion": "meta.k8s.io/v1", "dryRun": ["All"]},
        "version-bogus": {"kind": "DeleteOptions", "apiVersion": "bogus/v1", "dryRun": ["All"]}, "unknown": {"bogus": 1, "dryRun": ["All"]}, "list": [], "uid-empty": {"preconditions": {"uid": ""}, "dryRun": ["All"]}, "preconditions-type": {"preconditions": "x"},
        "store": {"ignoreStoreReadErrorWithClusterBreakingPotential": True}, "store-false": {"ignoreStoreReadErrorWithClusterBreakingPotential": False, "dryRun": ["All"]}, "kind-alone": {"kind": "DeleteOptions", "dryRun": ["All"]}, "scalar": 1,
    }
    for name, body in bodies.items():
        s.ask(name, "DELETE", MAPS + "/three", json.dumps(body))
        s.ask(name + "-collection", "DELETE", MAPS + "?labelSelector=none", json.dumps(body))
        s.ask(name + "-yaml", "DELETE", MAPS + "/absent", json.dumps(body), YAML)
    for query in ("gracePeriodSeconds=-1&dryRun=All", "gracePeriodSeconds=x", "propagationPolicy=Bogus", "propagationPolicy=", "orphanDependents=true&propagationPolicy=Orphan", "orphanDependents=maybe", "dryRun=Some", "gracePeriodSeconds=1&gracePeriodSeconds=2&dryRun=All", "preconditions.uid=x", "dryRun=All&propagationPolicy=Foreground",
                  "dryRun=All&propagationPolicy=Background", "dryRun=All&orphanDependents=false", "ignoreStoreReadErrorWithClusterBreakingPotential=true", "ignoreStoreReadErrorWithClusterBreakingPotential=maybe"):
        s.ask(f"?{query}", "DELETE", f"{MAPS}/two?{query}")
        s.ask(f"collection?{query}", "DELETE", f"{MAPS}?labelSelector=none&{query}")
    s.ask("garbage", "DELETE", MAPS + "/two", "{")
    s.ask("collection-field", "DELETE", MAPS + "?fieldSelector=bogus%3D1")
    s.ask("collection-label", "DELETE", MAPS + "?labelSelector=!!")
    s.ask("collection-namespaces", "DELETE", "/api/v1/namespaces")
    s.ask("collection-services", "DELETE", CORE + "/services?dryRun=All&labelSelector=none")
    s.ask("collection-absent", "DELETE", "/api/v1/namespaces/absent/configmaps")
    s.ask("collection-name", "DELETE", MAPS + "?fieldSelector=metadata.name%3Dabsent")
    s.ask("pod-grace", "DELETE", CORE + "/pods/pod?gracePeriodSeconds=5&dryRun=All")
    s.ask("pod-foreground", "DELETE", CORE + "/pods/pod?propagationPolicy=Foreground&dryRun=All")
    s.ask("reviews", "DELETE", "/apis/authorization.k8s.io/v1/subjectaccessreviews/x")
    return s


def evictions():
    s = Scenario("eviction")
    s.ask("pod", "POST", CORE + "/pods", {"metadata": {"name": "e", "labels": {"e": "1"}}, "spec": {**POD, "nodeName": "n1"}})
    there = CORE + "/pods/e/eviction"
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "e", "namespace": "d-hand"}}
    for name, body in {
        "dry": {**eviction, "deleteOptions": {"dryRun": ["All"]}}, "other": {**eviction, "metadata": {"name": "zz"}}, "nameless": {**eviction, "metadata": {}, "deleteOptions": {"dryRun": ["All"]}}, "beta": {**eviction, "apiVersion": "policy/v1beta1", "deleteOptions": {"dryRun": ["All"]}},
        "kind": {**eviction, "kind": "Pod"}, "unknown": {**eviction, "bogus": 1, "deleteOptions": {"dryRun": ["All"], "bogus": 1}}, "grace": {**eviction, "deleteOptions": {"gracePeriodSeconds": -1}}, "uid": {**eviction, "deleteOptions": {"preconditions": {"uid": "x"}}},
        "space": {**eviction, "metadata": {"name": "e", "namespace": "x"}}, "version": {**eviction, "deleteOptions": {"preconditions": {"resourceVersion": "1"}}}, "dry-bad": {**eviction, "deleteOptions": {"dryRun": ["x"]}}, "policy": {**eviction, "deleteOptions": {"propagationPolicy": "x"}},
    }.items():
        s.ask(name, "POST", there, body)
        s.ask(name + "-query", "POST", there + "?dryRun=All&fieldValidation=Strict", body)
    s.ask("absent", "POST", CORE + "/pods/absent/eviction", {**eviction, "metadata": {"name": "absent"}})
    s.ask("get", "GET", there)
    s.ask("budget", "POST", "/apis/policy/v1/namespaces/d-hand/poddisruptionbudgets", {"metadata": {"name": "b"}, "spec": {"minAvailable": 1, "selector": {"matchLabels": {"e": "1"}}}})
    s.ask("refused", "POST", there, eviction)
    s.ask("running", "PATCH", CORE + "/pods/e/status", {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}, MERGE)
    s.ask("refused-running", "POST", there, eviction)
    s.ask("refused-dry", "POST", there + DRY, eviction)
    s.ask("observed", "PATCH", "/apis/policy/v1/namespaces/d-hand/poddisruptionbudgets/b/status", {"status": {"observedGeneration": 1, "disruptionsAllowed": 0, "currentHealthy": 1, "desiredHealthy": 1, "expectedPods": 1, "conditions": []}}, MERGE)
    s.ask("refused-observed", "POST", there, eviction)
    s.ask("allowed", "PATCH", "/apis/policy/v1/namespaces/d-hand/poddisruptionbudgets/b/status", {"status": {"disruptionsAllowed": 1}}, MERGE)
    s.ask("done-dry", "POST", there + DRY, eviction)
    s.ask("done", "POST", there, eviction)
    s.ask("again", "POST", there, eviction)
    s.ask("budget-after", "GET", "/apis/policy/v1/namespaces/d-hand/poddisruptionbudgets/b")
    s.ask("pod-after", "GET", CORE + "/pods/e")
    return s


def bindings():
    s = Scenario("binding")
    s.ask("pod", "POST", CORE + "/pods", {"metadata": {"name": "b"}, "spec": POD})
    there = CORE + "/pods/b/binding"
    for name, body in {
        "dry": {"target": {"kind": "Node", "name": "n"}}, "kind": {"target": {"kind": "Pod", "name": "n"}}, "nameless": {"target": {"kind": "Node"}}, "none": {}, "other": {"metadata": {"name": "zz"}, "target": {"name": "n"}}, "unknown": {"target": {"name": "n"}, "bogus": 1},
        "uid": {"metadata": {"name": "b", "uid": "x"}, "target": {"name": "n"}}, "space": {"metadata": {"name": "b", "namespace": "x"}, "target": {"name": "n"}}, "annotations": {"metadata": {"name": "b", "annotations": {"a": "1"}, "labels": {"l": "1"}}, "target": {"name": "n"}}, "type": {"target": "x"},
        "target-version": {"target": {"name": "n", "apiVersion": "x", "namespace": "y"}}, "bad-name": {"target": {"name": "N_"}},
    }.items():
        s.ask(name, "POST", there + DRY, body)
        s.ask(name + "-old", "POST", CORE + "/bindings" + DRY, {**body, "metadata": {"name": "b", **body.get("metadata", {})}})
    s.ask("done", "POST", there, {"metadata": {"name": "b"}, "target": {"kind": "Node", "name": "n"}})
    s.ask("again", "POST", there, {"metadata": {"name": "b"}, "target": {"kind": "Node", "name": "m"}})
    s.ask("after", "GET", CORE + "/pods/b")
    s.ask("absent", "POST", CORE + "/pods/absent/binding", {"metadata": {"name": "absent"}, "target": {"name": "n"}})
    s.ask("old-nameless", "POST", CORE + "/bindings", {"target": {"name": "n"}})
    return s


def tokens():
    s = Scenario("token")
    there = CORE + "/serviceaccounts/builder/token"
    for name, body in {
        "plain": {"spec": {"audiences": ["a"], "expirationSeconds": 3600}}, "none": {}, "short": {"spec": {"expirationSeconds": 5}}, "long": {"spec": {"expirationSeconds": 1 << 33}}, "other": {"metadata": {"name": "zz"}, "spec": {}}, "space": {"metadata": {"namespace": "x"}, "spec": {}},
        "pod": {"spec": {"boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "absent"}}}, "pod-uid": {"spec": {"boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "pod", "uid": "x"}}}, "kind": {"spec": {"boundObjectRef": {"kind": "Bogus", "apiVersion": "v1", "name": "x"}}},
        "node": {"spec": {"boundObjectRef": {"kind": "Node", "apiVersion": "v1", "name": "absent"}}}, "secret": {"spec": {"boundObjectRef": {"kind": "Secret", "apiVersion": "v1", "name": "absent"}}}, "unknown": {"bogus": 1, "spec": {"bogus": 1}}, "wrong-kind": {"kind": "Pod", "apiVersion": "v1"},
        "type": {"spec": {"audiences": "x"}}, "pod-other": {"spec": {"boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "pod"}}}, "empty-audience": {"spec": {"audiences": [""]}},
    }.items():
        s.ask(name, "POST", there, body)
        s.ask(name + "-dry", "POST", there + DRY + "&fieldValidation=Strict", body)
    s.ask("absent", "POST", CORE + "/serviceaccounts/absent/token", {"spec": {}})
    s.ask("get", "GET", there)
    s.ask("put", "PUT", there, {})
    return s


def scales():
    s = Scenario("scale")
    s.ask("set", "POST", APPS + "/statefulsets", {"metadata": {"name": "sc"}, "spec": {"selector": SELECTOR, "template": TEMPLATE, "serviceName": "x"}})
    s.ask("replicaset", "POST", APPS + "/replicasets", {"metadata": {"name": "sc"}, "spec": {"selector": SELECTOR, "template": TEMPLATE}})
    s.ask("controller", "POST", CORE + "/replicationcontrollers", {"metadata": {"name": "sc"}, "spec": {"selector": {"a": "b"}, "template": TEMPLATE}})
    for where in (APPS + "/deployments/web", APPS + "/statefulsets/sc", APPS + "/replicasets/sc", CORE + "/replicationcontrollers/sc"):
        plural = where.split("/")[-2]
        there = where + "/scale"
        s.ask(f"{plural}-get", "GET", there)
        scale = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": where.rsplit("/", 1)[1], "namespace": "d-hand"}, "spec": {"replicas": 3}}
        for name, body in {
            "put": scale, "negative": {**scale, "spec": {"replicas": -1}}, "name": {**scale, "metadata": {"name": "zz"}}, "version": {**scale, "metadata": {**scale["metadata"], "resourceVersion": "1"}}, "kind": {**scale, "kind": "Deployment"}, "group": {**scale, "apiVersion": "apps/v1"},
            "unknown": {**scale, "bogus": 1}, "bare": {"spec": {"replicas": 2}}, "empty": {}, "type": {**scale, "spec": {"replicas": "x"}}, "beta": {**scale, "apiVersion": "extensions/v1beta1"}, "uid": {**scale, "metadata": {**scale["metadata"], "uid": "x"}}, "space": {**scale, "metadata": {"name": scale["metadata"]["name"], "namespace": "x"}},
            "status": {**scale, "status": {"replicas": 9, "selector": "x"}}, "labels": {**scale, "metadata": {**scale["metadata"], "labels": {"a": "1"}}},
        }.items():
            s.ask(f"{plural}-{name}", "PUT", there + DRY + "&fieldManager=sc", body)
        s.ask(f"{plural}-merge", "PATCH", there + DRY, {"spec": {"replicas": 4}}, MERGE)
        s.ask(f"{plural}-strategic", "PATCH", there + DRY, {"spec": {"replicas": 4}}, STRATEGIC)
        s.ask(f"{plural}-json", "PATCH", there + DRY, [{"op": "replace", "path": "/spec/replicas", "value": 4}], PATCH)
        s.ask(f"{plural}-merge-Strict", "PATCH", there + DRY + "&fieldValidation=Strict", {"spec": {"bogus": 4}}, MERGE)
        s.ask(f"{plural}-done", "PATCH", there + "?fieldManager=sc", {"spec": {"replicas": 4}}, MERGE)
        s.ask(f"{plural}-after", "GET", where)
        s.ask(f"{plural}-absent", "GET", where + "absent/scale")
        s.ask(f"{plural}-put-absent", "PUT", where + "absent/scale", {**scale, "metadata": {"name": scale["metadata"]["name"] + "absent"}})
    return s


def namespaces():
    s = Scenario("namespaces-by-hand")
    one = "/api/v1/namespaces/d-ns"
    s.ask("make", "POST", "/api/v1/namespaces", {"metadata": {"name": "d-ns", "labels": {"pod-security.kubernetes.io/enforce": "bogus"}}})
    s.ask("make-level", "POST", "/api/v1/namespaces", {"metadata": {"name": "d-ns", "labels": {"pod-security.kubernetes.io/enforce": "baseline"}}})
    s.ask("finalize", "PUT", one + "/finalize", {"metadata": {"name": "d-ns"}, "spec": {"finalizers": ["kubernetes", "example.com/x"]}})
    s.ask("finalize-bad", "PUT", one + "/finalize", {"metadata": {"name": "d-ns"}, "spec": {"finalizers": ["bogus"]}})
    s.ask("finalize-get", "GET", one + "/finalize")
    s.ask("spec", "PATCH", one, {"spec": {"finalizers": []}}, MERGE)
    s.ask("status", "PATCH", one + "/status", {"status": {"phase": "Terminating"}}, MERGE)
    s.ask("status-bad", "PATCH", one + "/status", {"status": {"phase": "Bogus"}}, MERGE)
    s.ask("status-back", "PATCH", one + "/status", {"status": {"phase": "Active"}}, MERGE)
    s.ask("delete", "DELETE", one)
    s.ask("create-inside", "POST", one + "/configmaps", {"metadata": {"name": "x"}})
    s.ask("create-inside-dry", "POST", one + "/configmaps" + DRY, {"metadata": {"name": "x"}})
    s.ask("delete-again", "DELETE", one)
    s.ask("make-again", "POST", "/api/v1/namespaces", {"metadata": {"name": "d-ns"}})
    s.ask("finalize-last", "PUT", one + "/finalize", {"metadata": {"name": "d-ns"}, "spec": {"finalizers": []}})
    s.ask("gone", "GET", one)
    for name in ("default", "kube-system", "kube-public", "kube-node-lease"):
        s.ask("delete-" + name, "DELETE", f"/api/v1/namespaces/{name}?dryRun=All")
    s.ask("create-absent", "POST", "/api/v1/namespaces/absent/configmaps", {"metadata": {"name": "x"}})
    s.ask("create-long", "POST", "/api/v1/namespaces" + DRY, {"metadata": {"name": "n" * 64}})
    s.ask("create-dot", "POST", "/api/v1/namespaces" + DRY, {"metadata": {"name": "a.b"}})
    return s


def approvals():
    s = Scenario("approval")
    all = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
    body = {"metadata": {"name": "ap"}, "spec": {"request": REQUEST, "signerName": "example.com/s", "usages": ["client auth"], "username": "someone", "groups": ["g"]}}
    s.ask("make", "POST", all, body)
    condition = {"type": "Approved", "status": "True", "reason": "R", "message": "m"}
    for name, status in {"bad-type": [{"type": "", "status": "True"}], "false": [{"type": "Approved", "status": "False"}], "both": [condition, {"type": "Denied", "status": "True"}], "twice": [condition, condition], "failed": [{"type": "Failed", "status": "True"}]}.items():
        s.ask(name, "PUT", all + "/ap/approval" + DRY, {**body, "status": {"conditions": status}})
        s.ask(name + "-status", "PUT", all + "/ap/status" + DRY, {**body, "status": {"conditions": status}})
    s.ask("get", "GET", all + "/ap/approval")
    s.ask("merge", "PATCH", all + "/ap/approval" + DRY, {"status": {"conditions": [condition]}}, MERGE)
    s.ask("certificate", "PATCH", all + "/ap/approval" + DRY, {"status": {"certificate": "eA=="}}, MERGE)
    s.ask("certificate-status", "PATCH", all + "/ap/status" + DRY, {"status": {"certificate": "eA=="}}, MERGE)
    s.ask("approve", "PUT", all + "/ap/approval", {**body, "status": {"conditions": [condition]}})
    s.ask("deny", "PATCH", all + "/ap/approval", {"status": {"conditions": [{"type": "Denied", "status": "True"}]}}, MERGE)
    s.ask("remove", "PATCH", all + "/ap/approval", {"status": {"conditions": []}}, MERGE)
    for name, spec in {"signer": {"signerName": "x"}, "signer-legacy": {"signerName": "kubernetes.io/legacy-unknown"}, "usages": {"usages": ["bogus"]}, "usages-none": {"usages": []}, "request": {"request": "eA=="}, "expiration": {"expirationSeconds": 5}, "kubelet": {"signerName": "kubernetes.io/kube-apiserver-client-kubelet"},
                       "client": {"signerName": "kubernetes.io/kube-apiserver-client"}}.items():
        s.ask("make-" + name, "POST", all + DRY, {"metadata": {"name": "aq"}, "spec": {**body["spec"], **spec}})
    return s


def reviews():
    s = Scenario("reviews")
    auth, who = "/apis/authorization.k8s.io/v1", "/apis/authentication.k8s.io/v1"
    resource = {"verb": "get", "resource": "pods", "namespace": "default"}
    for name, path, body in (
        ("self", "/selfsubjectaccessreviews", {"spec": {"resourceAttributes": resource}}), ("self-none", "/selfsubjectaccessreviews", {"spec": {}}), ("self-both", "/selfsubjectaccessreviews", {"spec": {"resourceAttributes": resource, "nonResourceAttributes": {"path": "/x", "verb": "get"}}}),
        ("self-path", "/selfsubjectaccessreviews", {"spec": {"nonResourceAttributes": {"path": "/x", "verb": "get"}}}), ("self-named", "/selfsubjectaccessreviews", {"metadata": {"name": "x"}, "spec": {"resourceAttributes": resource}}),
        ("self-space", "/selfsubjectaccessreviews", {"metadata": {"namespace": "x"}, "spec": {"resourceAttributes": resource}}), ("self-unknown", "/selfsubjectaccessreviews", {"spec": {"resourceAttributes": resource}, "bogus": 1}),
        ("self-field", "/selfsubjectaccessreviews", {"spec": {"resourceAttributes": {**resource, "fieldSelector": {"rawSelector": "a=b"}}}}), ("self-field-bad", "/selfsubjectaccessreviews", {"spec": {"resourceAttributes": {**resource, "fieldSelector": {"rawSelector": "a=b", "requirements": [{"key": "a", "operator": "In", "values": ["x"]}]}}}}),
        ("self-label", "/selfsubjectaccessreviews", {"spec": {"resourceAttributes": {**resource, "labelSelector": {"rawSelector": "((("}}}}), ("self-label-none", "/selfsubjectaccessreviews", {"spec": {"resourceAttributes": {**resource, "labelSelector": {}}}}),
        ("self-version", "/selfsubjectaccessreviews", {"apiVersion": "authorization.k8s.io/v1beta1", "kind": "SelfSubjectAccessReview", "spec": {"resourceAttributes": resource}}),
        ("subject", "/subjectaccessreviews", {"spec": {"user": "alice", "resourceAttributes": resource}}), ("subject-none", "/subjectaccessreviews", {"spec": {"resourceAttributes": resource}}), ("subject-group", "/subjectaccessreviews", {"spec": {"groups": ["system:masters"], "resourceAttributes": resource}}),
        ("subject-empty", "/subjectaccessreviews", {}), ("subject-extra", "/subjectaccessreviews", {"spec": {"user": "u", "extra": {"A": ["b"]}, "uid": "x", "nonResourceAttributes": {"path": "/healthz", "verb": "get"}}}),
        ("local", "/namespaces/default/localsubjectaccessreviews", {"spec": {"user": "alice", "resourceAttributes": resource}}), ("local-other", "/namespaces/default/localsubjectaccessreviews", {"spec": {"user": "alice", "resourceAttributes": {**resource, "namespace": "x"}}}),
        ("local-path", "/namespaces/default/localsubjectaccessreviews", {"spec": {"user": "alice", "nonResourceAttributes": {"path": "/", "verb": "get"}}}), ("local-space", "/namespaces/default/localsubjectaccessreviews", {"metadata": {"namespace": "x"}, "spec": {"user": "alice", "resourceAttributes": resource}}),
        ("rules", "/selfsubjectrulesreviews", {"spec": {"namespace": "default"}}), ("rules-none", "/selfsubjectrulesreviews", {"spec": {}}),
    ):
        s.ask(name, "POST", auth + path, body, compare="head" if name == "rules" else "all")
        s.ask(name + "-dry", "POST", auth + path + DRY + "&fieldValidation=Strict", body, compare="head" if name == "rules" else "all")
        s.ask(name + "-alice", "POST", auth + path, body, user="alice", compare="head" if name == "rules" else "all")
    for name, body in {"token": {"spec": {"token": "x"}}, "token-none": {"spec": {}}, "token-good": {"spec": {"token": "alice-token"}}, "token-audience": {"spec": {"token": "alice-token", "audiences": ["x"]}}, "token-named": {"metadata": {"name": "x"}, "spec": {"token": "x"}}, "token-type": {"spec": "x"}}.items():
        s.ask(name, "POST", who + "/tokenreviews", body)
        s.ask(name + "-dry", "POST", who + "/tokenreviews" + DRY, body)
    for user in ("admin", "alice", "anonymous"):
        s.ask("whoami-" + user, "POST", who + "/selfsubjectreviews", {}, user=user)
    s.ask("whoami-body", "POST", who + "/selfsubjectreviews", {"metadata": {"name": "x"}, "status": {"userInfo": {"username": "x"}}})
    s.ask("list", "GET", auth + "/subjectaccessreviews")
    s.ask("put", "PUT", auth + "/subjectaccessreviews/x", {})
    return s


def roles():
    s = Scenario("roles")
    spaced = RBAC + "/namespaces/d-hand"
    group = "rbac.authorization.k8s.io"
    bindings = {
        "absent": {"roleRef": {"apiGroup": group, "kind": "Role", "name": "absent"}}, "absent-cluster": {"roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "absent"}}, "kind": {"roleRef": {"apiGroup": group, "kind": "User", "name": "x"}}, "group": {"roleRef": {"apiGroup": "x", "kind": "ClusterRole", "name": "view"}},
        "none": {}, "nameless": {"roleRef": {"apiGroup": group, "kind": "ClusterRole"}}, "subject-kind": {"roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "view"}, "subjects": [{"kind": "Bogus", "name": "x"}]}, "bad-name": {"roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "a/b"}},
        "subject-space": {"roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "view"}, "subjects": [{"kind": "ServiceAccount", "name": "x"}]}, "subject-group": {"roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "view"}, "subjects": [{"kind": "User", "name": "x", "apiGroup": "bogus"}]},
        "subject-name": {"roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "view"}, "subjects": [{"kind": "User"}]}, "subject-account": {"roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "view"}, "subjects": [{"kind": "ServiceAccount", "name": "A_", "namespace": "B_"}]},
        "group-empty": {"roleRef": {"kind": "ClusterRole", "name": "view"}},
    }
    s.ask("alice-may", "POST", RBAC + "/clusterroles", {"metadata": {"name": "d-binder"}, "rules": [{"apiGroups": [group], "resources": ["*"], "verbs": ["create", "update", "patch", "get"]}]})
    s.ask("alice-binding", "POST", RBAC + "/clusterrolebindings", {"metadata": {"name": "d-binder"}, "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "d-binder"}, "subjects": [{"kind": "User", "name": "alice"}]})
    for name, body in bindings.items():
        for user in ("admin", "alice"):
            s.ask(f"binding-{name}-{user}", "POST", spaced + "/rolebindings" + DRY, {"metadata": {"name": "r"}, **body}, user=user)
            s.ask(f"cluster-{name}-{user}", "POST", RBAC + "/clusterrolebindings" + DRY, {"metadata": {"name": "r"}, **body}, user=user)
    rules = {
        "verbs": [{"apiGroups": [""], "resources": ["pods"]}], "resources": [{"apiGroups": [""], "verbs": ["get"]}], "groups": [{"resources": ["x"], "verbs": ["get"]}], "paths": [{"nonResourceURLs": ["/x"], "verbs": ["get"]}], "both": [{"nonResourceURLs": ["/x"], "apiGroups": [""], "resources": ["x"], "verbs": ["get"]}],
        "path-form": [{"nonResourceURLs": ["x"], "verbs": ["get"]}], "path-star": [{"nonResourceURLs": ["/a*b"], "verbs": ["get"]}], "escalate": [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}], "names": [{"apiGroups": [""], "resources": ["pods"], "resourceNames": ["a", "b"], "verbs": ["get", "list"]}], "empty": [],
    }
    for name, list_ in rules.items():
        for user in ("admin", "alice"):
            s.ask(f"role-{name}-{user}", "POST", spaced + "/roles" + DRY, {"metadata": {"name": "r"}, "rules": list_}, user=user)
            s.ask(f"clusterrole-{name}-{user}", "POST", RBAC + "/clusterroles" + DRY, {"metadata": {"name": "r"}, "rules": list_}, user=user)
    s.ask("aggregate", "POST", RBAC + "/clusterroles" + DRY, {"metadata": {"name": "r"}, "aggregationRule": {"clusterRoleSelectors": [{"matchExpressions": [{"key": "a", "operator": "Bogus"}]}]}})
    s.ask("aggregate-none", "POST", RBAC + "/clusterroles" + DRY, {"metadata": {"name": "r"}, "aggregationRule": {}})
    s.ask("aggregate-alice", "POST", RBAC + "/clusterroles" + DRY, {"metadata": {"name": "r"}, "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]}}, user="alice")
    s.ask("role-ref", "PATCH", RBAC + "/clusterrolebindings/d-binder" + DRY, {"roleRef": {"name": "view"}}, MERGE)
    s.ask("patch-alice", "PATCH", RBAC + "/clusterroles/d-binder" + DRY, {"rules": rules["escalate"]}, MERGE, user="alice")
    s.ask("apply-alice", "PATCH", RBAC + "/clusterroles/d-new" + DRY + "&fieldManager=a", {"apiVersion": group + "/v1", "kind": "ClusterRole", "metadata": {"name": "d-new"}, "rules": rules["escalate"]}, APPLY, user="alice")
    return s


def users():
    s = Scenario("users")
    for user in ("alice", "anonymous"):
        for name, method, path in (("list", "GET", MAPS), ("get", "GET", MAPS + "/one"), ("create", "POST", MAPS), ("delete", "DELETE", MAPS + "/one"), ("collection", "DELETE", MAPS), ("patch", "PATCH", MAPS + "/one"), ("watch", "GET", MAPS + "?watch=1"), ("cluster", "GET", "/api/v1/nodes"), ("group", "GET", APPS + "/deployments"),
                                   ("sub", "GET", APPS + "/deployments/web/scale"), ("proxy", "GET", CORE + "/pods/x/proxy/y"), ("path", "GET", "/metrics"), ("path-post", "POST", "/x/y"), ("bogus", "GET", "/api/v1/bogus"), ("absent", "GET", "/apis/bogus.example.com/v1/things/x"), ("version", "GET", "/version"), ("healthz", "GET", "/healthz"),
                                   ("options", "OPTIONS", MAPS), ("head", "HEAD", MAPS), ("trace", "TRACE", MAPS), ("all", "GET", "/api/v1/configmaps"), ("exec", "POST", CORE + "/pods/x/exec"), ("eviction", "POST", CORE + "/pods/x/eviction"), ("self", "POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"), ("api", "GET", "/api"), ("openapi", "GET", "/openapi/v2"), ("logs", "GET", "/logs")):
            body = {} if method in ("POST", "PATCH") else None
            s.ask(f"{user}-{name}", method, path, body, MERGE if method == "PATCH" else None, user=user, compare="head")
    for headers in ({"Impersonate-User": "bob"}, {"Impersonate-Group": "g"}, {"Impersonate-User": "bob", "Impersonate-Group": "system:masters"}, {"Impersonate-Uid": "1"}, {"Impersonate-User": "system:serviceaccount:default:x"}, {"Impersonate-User": "bob", "Impersonate-Extra-a": "b"}, {"Impersonate-User": ""}):
        name = "-".join(headers)
        s.ask(f"admin-as-{name}-{list(headers.values())[0]}", "POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", {}, headers=headers)
        s.ask(f"alice-as-{name}-{list(headers.values())[0]}", "GET", MAPS, user="alice", headers=headers)
    for value in ("Bearer bogus", "Bearer", "Bearer ", "Basic eDp5", "bogus", "bearer admin-token", "Bearer  admin-token", "Bearer a b"):
        s.ask(f"authorization={value}".replace(" ", "_"), "GET", MAPS + "/one", headers={"Authorization": value}, compare="head")
    return s
