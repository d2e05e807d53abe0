"""Media types, what is accepted, parameters, metadata."""
import json

from corpus import APPLY, MERGE, PATCH, STRATEGIC, TABLE, Scenario
from hand.ground import CORE, APPS, MAPS, DRY, owner


def media_types():
    s = Scenario("media")
    body = {"metadata": {"name": "m"}}
    for kind in ("application/json", "Application/JSON", "APPLICATION/JSON; charset=utf-8", "application/json;charset=UTF-8", "application/json; charset=latin1", "text/json", "text/plain", "", "*/*", "application/yaml",
                 "Application/Yaml", "application/x-yaml", "text/yaml", "application/merge-patch+json", "application/json, application/yaml", "application/json;", "application/json;x", "json", "application/",
                 "application/vnd.kubernetes.protobuf", "application/cbor", "multipart/form-data", "application/x-www-form-urlencoded"):
        s.ask(f"post={kind}".replace(" ", "_"), "POST", MAPS + DRY, json.dumps(body), headers={"Content-Type": kind})
    for kind in ("application/merge-patch+json", "Application/Merge-Patch+JSON", "application/merge-patch+json; charset=utf-8", "application/json", "application/yaml", "", "application/patch+json", "application/apply-patch+yaml",
                 "Application/Apply-Patch+YAML", "application/strategic-merge-patch+json;x=1", "APPLICATION/STRATEGIC-MERGE-PATCH+JSON", "application/apply-patch+cbor", "application/merge-patch+yaml", "text/plain"):
        s.ask(f"patch={kind}".replace(" ", "_"), "PATCH", MAPS + "/one" + DRY, '{"data":{"m":"1"}}', headers={"Content-Type": kind})
        s.ask(f"patch-status={kind}".replace(" ", "_"), "PATCH", APPS + "/deployments/web/status" + DRY, '{"status":{}}', headers={"Content-Type": kind})
        s.ask(f"put={kind}".replace(" ", "_"), "PUT", MAPS + "/one" + DRY, '{"metadata":{"name":"one"}}', headers={"Content-Type": kind})
        s.ask(f"delete={kind}".replace(" ", "_"), "DELETE", MAPS + "/one", '{"dryRun":["All"]}', headers={"Content-Type": kind})
    s.ask("patch-none", "PATCH", MAPS + "/one" + DRY, b"")
    s.ask("post-none", "POST", MAPS + DRY)
    s.ask("put-none", "PUT", MAPS + "/one" + DRY)
    return s


def accepts():
    s = Scenario("accept")
    table = "application/json;as=Table;v=v1;g=meta.k8s.io"
    for accept in ("application/json", "APPLICATION/JSON", "application/yaml", "text/html", "*/*", "application/*", "text/*", "", "application/json;q=0.1, application/yaml", "application/vnd.kubernetes.protobuf", "image/png",
                   "image/png, application/json", "application/json;pretty=1", "application/json;as=Table", "application/json;as=Table;v=v1", "application/json;as=Table;v=v1beta1;g=meta.k8s.io", "application/json;as=Table;v=v2;g=meta.k8s.io",
                   "application/json;AS=Table;V=v1;G=meta.k8s.io", "application/json;as=table;v=v1;g=meta.k8s.io", table + ", application/json", "application/json;as=Bogus;v=v1;g=meta.k8s.io", "application/yaml;as=Table;v=v1;g=meta.k8s.io",
                   "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io", "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io", "application/json;as=Table;v=v1;g=meta.k8s.io;stream=watch", "application/json;stream=watch",
                   "application/vnd.kubernetes.protobuf;as=Table;v=v1;g=meta.k8s.io", "application/json;as=Table;v=v1;g=example.com", "application/cbor", "application/json; profile=x", "application/json;as=", ";", "application"):
        name = accept.replace(" ", "_") or "empty"
        how = "head" if "yaml" in accept else "all"                    # the text of YAML is not evened out
        s.ask(f"get={name}", "GET", MAPS + "/one", headers={"Accept": accept}, compare=how)
        s.ask(f"list={name}", "GET", MAPS + "?labelSelector=app%3Done", headers={"Accept": accept}, compare=how)
        s.ask(f"absent={name}", "GET", MAPS + "/absent", headers={"Accept": accept}, compare=how)
    for path in ("/version", "/api", "/apis", "/apis/apps", "/apis/apps/v1", "/api/v1"):
        s.ask(f"{path}-table", "GET", path, headers={"Accept": TABLE}, compare="head")
        s.ask(f"{path}-yaml", "GET", path, headers={"Accept": "application/yaml"}, compare="head")
        s.ask(f"{path}-html", "GET", path, headers={"Accept": "text/html"}, compare="head")
    for what in ("Table", "PartialObjectMetadata", "PartialObjectMetadataList"):
        as_ = {"Accept": f"application/json;as={what};v=v1;g=meta.k8s.io"}
        s.ask(f"scale-{what}", "GET", APPS + "/deployments/web/scale", headers=as_)
        s.ask(f"token-{what}", "POST", CORE + "/serviceaccounts/builder/token", {"spec": {"audiences": ["a"]}}, headers=as_)
        s.ask(f"review-{what}", "POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", {"spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}}}, headers=as_)
        s.ask(f"whoami-{what}", "POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", {}, headers=as_)
        s.ask(f"rules-{what}", "POST", "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", {"spec": {"namespace": "default"}}, headers=as_)
        s.ask(f"tokenreview-{what}", "POST", "/apis/authentication.k8s.io/v1/tokenreviews", {"spec": {"token": "x"}}, headers=as_)
        s.ask(f"binding-{what}", "POST", CORE + "/pods/absent/binding", {"target": {"name": "n"}}, headers=as_)
        s.ask(f"eviction-{what}", "POST", CORE + "/pods/absent/eviction", {"metadata": {"name": "absent"}}, headers=as_)
        s.ask(f"delete-{what}", "DELETE", MAPS + "/one" + DRY, headers=as_)
        s.ask(f"collection-{what}", "DELETE", MAPS + DRY + "&labelSelector=app", headers=as_)
        s.ask(f"patch-{what}", "PATCH", MAPS + "/one" + DRY, {"data": {"b": "1"}}, MERGE, headers=as_)
        s.ask(f"status-{what}", "GET", APPS + "/deployments/web/status", headers=as_)
        s.ask(f"component-{what}", "GET", "/api/v1/componentstatuses/absent", headers=as_)
    for include in ("None", "Metadata", "Object", "Bogus", ""):
        s.ask(f"include-{include}", "GET", MAPS + f"/one?includeObject={include}", headers={"Accept": TABLE})
    return s

def parameters():
    s = Scenario("parameters")
    body = {"metadata": {"name": "p"}}
    for query in ("dryRun=", "dryRun=all", "dryRun=All&dryRun=All", "dryRun=All&dryRun=Some", "dryRun=Some", "fieldValidation=", "fieldValidation=strict", "fieldValidation=Strict&fieldValidation=Warn&dryRun=All",
                  "fieldManager=a%2Fb&dryRun=All", "fieldManager=&dryRun=All", "bogus=1&dryRun=All", "pretty=true&dryRun=All", "timeout=1s&dryRun=All", "timeout=bogus&dryRun=All", "timeout=-1s&dryRun=All", "force=true&dryRun=All", "timeout=0&dryRun=All"):
        s.ask(f"post?{query}", "POST", f"{MAPS}?{query}", body)
        s.ask(f"put?{query}", "PUT", f"{MAPS}/one?{query}", {"metadata": {"name": "one"}, "data": {"a": "1"}})
        s.ask(f"merge?{query}", "PATCH", f"{MAPS}/one?{query}", {"data": {"a": "1"}}, MERGE)
        s.ask(f"apply?{query}", "PATCH", f"{MAPS}/one?{query}", {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}}, APPLY)
        s.ask(f"delete?{query}", "DELETE", f"{MAPS}/never?{query}")
    for query in ("force=true", "force=false", "force=bogus", "force=", "force=1"):
        for kind, what in ((MERGE, "merge"), (PATCH, "json"), (STRATEGIC, "strategic"), (APPLY, "apply")):
            text = "[]" if kind == PATCH else {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}}
            s.ask(f"{what}?{query}", "PATCH", f"{MAPS}/one?dryRun=All&fieldManager=f&{query}", text, kind)
    return s


def metadata():
    s = Scenario("metadata")
    forms = {
        "nothing": {}, "both": {"name": "a", "generateName": "b"}, "generate-bad": {"generateName": "B_"}, "version": {"name": "a", "resourceVersion": "5"}, "version-word": {"name": "a", "resourceVersion": "x"},
        "uid": {"name": "a", "uid": "x"}, "generation": {"name": "a", "generation": 7}, "deletion": {"name": "a", "deletionTimestamp": "2020-01-01T00:00:00Z"}, "grace": {"name": "a", "deletionGracePeriodSeconds": 5},
        "creation": {"name": "a", "creationTimestamp": "2020-01-01T00:00:00Z"}, "self-link": {"name": "a", "selfLink": "/x"}, "cluster": {"name": "a", "clusterName": "c"}, "space": {"name": "a", "namespace": "d-hand"},
        "space-other": {"name": "a", "namespace": "default"}, "name-slash": {"name": "a/b"}, "name-percent": {"name": "a%b"}, "name-dot": {"name": "."}, "name-dots": {"name": ".."}, "name-upper": {"name": "A"},
        "label-empty": {"name": "a", "labels": {"": "x"}}, "label-slash": {"name": "a", "labels": {"a/b/c": "x"}}, "annotation": {"name": "a", "annotations": {"A_B.c": "x"}},
        "finalizer-twice": {"name": "a", "finalizers": ["a/b", "a/b"]}, "finalizer-empty": {"name": "a", "finalizers": [""]}, "both-finalizers": {"name": "a", "finalizers": ["orphan", "foregroundDeletion"]},
        "owner-two": {"name": "a", "ownerReferences": [owner("x", controller=True), owner("y", controller=True)]}, "owner-twice": {"name": "a", "ownerReferences": [owner("x"), owner("x")]},
        "owner-event": {"name": "a", "ownerReferences": [{**owner("x"), "kind": "Event"}]}, "owner-version": {"name": "a", "ownerReferences": [{**owner("x"), "apiVersion": "a/b/c"}]},
        "owner-block": {"name": "a", "ownerReferences": [owner("x", blockOwnerDeletion=True)]},
    }
    for name, about in forms.items():
        s.ask(name, "POST", MAPS + DRY, {"metadata": about}, compare="code" if "generateName" in about else "all")
        s.ask(name + "-put", "PUT", MAPS + "/one" + DRY, {"metadata": {**about, "name": "one"}, "data": {"a": "1"}})
        s.ask(name + "-merge", "PATCH", MAPS + "/one" + DRY, {"metadata": {k: v for k, v in about.items() if k != "name"}}, MERGE)
        s.ask(name + "-put-absent", "PUT", "/apis/coordination.k8s.io/v1/namespaces/d-hand/leases/a" + DRY, {"metadata": about})
    return s
