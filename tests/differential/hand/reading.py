"""Selectors, lists, tokens that continue them, watches."""
import base64

from corpus import MERGE, PARTIAL, PARTIALS, TABLE, Scenario
from hand.ground import CORE, MAPS
from objects import POD, TEMPLATE


SELECTABLE = {
    "pods": ("spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName", "spec.hostNetwork", "status.phase", "status.podIP", "status.podIPs", "status.nominatedNodeName"),
    "nodes": ("spec.unschedulable",), "namespaces": ("status.phase", "name"), "secrets": ("type",), "services": ("spec.clusterIP", "spec.type"), "replicationcontrollers": ("status.replicas",),
    "events": ("involvedObject.kind", "involvedObject.namespace", "involvedObject.name", "involvedObject.uid", "involvedObject.apiVersion", "involvedObject.resourceVersion", "involvedObject.fieldPath", "reason", "reportingComponent", "source", "type"),
    "apps/v1 deployments": ("spec.replicas",), "batch/v1 jobs": ("status.successful",), "certificates.k8s.io/v1 certificatesigningrequests": ("spec.signerName",),
    "resource.k8s.io/v1 resourceslices": ("spec.nodeName", "spec.driver"), "events.k8s.io/v1 events": ("reason", "regarding.kind", "regarding.namespace", "regarding.name", "reportingController", "type"),
    "apps/v1 replicasets": ("status.replicas",), "persistentvolumes": ("status.phase",), "configmaps": ("data.a",), "networking.k8s.io/v1 ipaddresses": ("spec.parentRef",),
}
VALUES = ("", "true", "false", "0", "1", "bogus")
MEANT = {"spec.nodeName": "n1", "spec.restartPolicy": "Always", "spec.schedulerName": "default-scheduler", "spec.serviceAccountName": "default", "status.phase": "Pending", "status.podIP": "192.0.2.1", "status.podIPs": "2001:db8::1",
         "status.nominatedNodeName": "n2", "type": "Opaque", "spec.clusterIP": "None", "spec.type": "ClusterIP", "spec.signerName": "example.com/s", "spec.driver": "d.example.com", "name": "d-hand"}


def selectors():
    s = Scenario("selectors")
    s.ask("node", "POST", "/api/v1/nodes", {"metadata": {"name": "s-plain"}})
    s.ask("node-off", "POST", "/api/v1/nodes", {"metadata": {"name": "s-off"}, "spec": {"unschedulable": True}})
    s.ask("pod-bound", "POST", CORE + "/pods", {"metadata": {"name": "s-bound"}, "spec": {**POD, "nodeName": "n1", "restartPolicy": "Never", "hostNetwork": True}})
    s.ask("pod-ip", "PATCH", CORE + "/pods/s-bound/status", {"status": {"phase": "Running", "podIP": "192.0.2.1", "podIPs": [{"ip": "192.0.2.1"}, {"ip": "2001:db8::1"}], "nominatedNodeName": "n2"}}, MERGE)
    s.ask("secret", "POST", CORE + "/secrets", {"metadata": {"name": "s-s"}})
    s.ask("service", "POST", CORE + "/services", {"metadata": {"name": "s-s"}, "spec": {"clusterIP": "None", "ports": [{"port": 1}]}})
    s.ask("controller", "POST", CORE + "/replicationcontrollers", {"metadata": {"name": "s-rc"}, "spec": {"selector": {"a": "b"}, "template": TEMPLATE}})
    s.ask("job", "POST", "/apis/batch/v1/namespaces/d-hand/jobs", {"metadata": {"name": "s-job"}, "spec": {"template": {"spec": {**POD, "restartPolicy": "Never"}}}})
    s.ask("slice", "POST", "/apis/resource.k8s.io/v1/resourceslices", {"metadata": {"name": "s-slice"}, "spec": {"driver": "d.example.com", "allNodes": True, "pool": {"name": "p", "resourceSliceCount": 1}}})
    for where, fields in SELECTABLE.items():
        group, _, plural = where.rpartition(" ")
        root = f"/apis/{group}" if group else "/api/v1"
        path = f"{root}/{plural}" if plural in ("nodes", "namespaces", "certificatesigningrequests", "resourceslices", "persistentvolumes", "ipaddresses") else f"{root}/namespaces/d-hand/{plural}"
        for field in fields:
            for value in (*VALUES, MEANT.get(field, "R")):
                for sign, what in (("%3D", "="), ("!%3D", "!=")):
                    if what == "=" or value in ("", "true", "0"):
                        s.ask(f"{group and group + '.'}{plural}:{field}{what}{value}", "GET", f"{path}?fieldSelector={field}{sign}{value}" + ("&labelSelector=!kubernetes.io/metadata.name" if plural == "nodes" else ""),
                              headers={"Accept": PARTIALS})
    for text in ("metadata.name", "metadata.name=", "=x", "a=b=c", "metadata.name==one", "metadata.name=one,metadata.namespace=d-hand", "metadata.name=one,", ",", "metadata.name!=one", "metadata.name in (a)", "metadata.name=a\\,b", "metadata.name=a\\", "metadata.uid=x", "metadata.labels.a=b",
                 "metadata.name=one,metadata.name=two", "metadata.namespace=other", "metadata.namespace!=d-hand", "Metadata.name=one", " metadata.name = one ", "metadata.name=one;x", "metadata.generation=1"):
        s.ask("form:" + text.replace(" ", "_"), "GET", MAPS + "?fieldSelector=" + text.replace("%", "%25").replace(" ", "%20").replace("=", "%3D").replace(",", "%2C").replace("\\", "%5C").replace(";", "%3B"), headers={"Accept": PARTIALS})
    for text in ("app", "!app", "app=one", "app==one", "app!=one", "app in (one,two)", "app notin (one)", "app in ()", "app in one", "app>1", "app<1", "app>x", "app=", "=one", "app,", ",", "a b", "app=a b", "app=one,app=two", "app in (one", "/x=y", "a/b/c=d", "app=" + "x" * 64, "app=!", "!", "app==", "(app)", "app in (one,)", "app=one\x00"):
        s.ask("label:" + text.replace(" ", "_").replace("\0", "NUL"), "GET", MAPS + "?labelSelector=" + text.replace(" ", "%20").replace("=", "%3D").replace(",", "%2C").replace("<", "%3C").replace(">", "%3E").replace("\0", "%00"), headers={"Accept": PARTIALS})
    return s


def event_selectors():
    s = Scenario("event-selectors")
    about = {"involvedObject": {"kind": "Pod", "namespace": "d-hand", "name": "p", "uid": "u", "apiVersion": "v1", "resourceVersion": "7", "fieldPath": "spec"}, "reason": "R", "type": "Normal"}
    s.ask("source", "POST", CORE + "/events", {"metadata": {"name": "e1"}, **about, "source": {"component": "c"}})
    s.ask("reporting", "POST", CORE + "/events", {"metadata": {"name": "e2"}, **about, "reportingComponent": "rc", "reportingInstance": "i", "eventTime": "2020-01-01T00:00:00.000000Z", "action": "A"})
    s.ask("neither", "POST", CORE + "/events", {"metadata": {"name": "e3"}, "involvedObject": {"namespace": "d-hand"}})
    for field, values in {"source": ("c", "rc", "", "x"), "reportingComponent": ("rc", "", "c"), "involvedObject.uid": ("u", ""), "involvedObject.apiVersion": ("v1", ""), "involvedObject.resourceVersion": ("7", ""), "involvedObject.fieldPath": ("spec", ""),
                          "involvedObject.kind": ("Pod", ""), "involvedObject.name": ("p", ""), "involvedObject.namespace": ("d-hand", ""), "reason": ("R", ""), "type": ("Normal", "")}.items():
        for value in values:
            for sign in ("%3D", "!%3D"):
                s.ask(f"{field}{sign[:-2]}={value}", "GET", f"{CORE}/events?fieldSelector={field}{sign}{value}", headers={"Accept": PARTIALS})
    for field, values in {"reportingController": ("c", "rc", ""), "regarding.kind": ("Pod", ""), "regarding.name": ("p",), "regarding.uid": ("u",), "regarding.apiVersion": ("v1",), "regarding.resourceVersion": ("7",), "regarding.fieldPath": ("spec",), "source": ("c",), "involvedObject.kind": ("Pod",), "type": ("Normal", "")}.items():
        for value in values:
            s.ask(f"events.k8s.io:{field}={value}", "GET", f"/apis/events.k8s.io/v1/namespaces/d-hand/events?fieldSelector={field}%3D{value}", headers={"Accept": PARTIALS})
    return s


def continues():
    s = Scenario("continue")
    def token(text):
        return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")
    for name, text in {
        "garbage": "garbage", "percent": "%21%21", "empty-json": token("{}"), "not-json": token("x"), "version": token('{"v":"v1","rv":1,"start":"a"}'), "meta": token('{"v":"meta.k8s.io/v1","rv":1,"start":"one\\u0000"}'),
        "no-start": token('{"v":"meta.k8s.io/v1","rv":1}'), "no-rv": token('{"v":"meta.k8s.io/v1","start":"one"}'), "dots": token('{"v":"meta.k8s.io/v1","rv":1,"start":"../x"}'), "slash": token('{"v":"meta.k8s.io/v1","rv":1,"start":"/x"}'),
        "future": token('{"v":"meta.k8s.io/v1","rv":999999999,"start":"one"}'), "negative": token('{"v":"meta.k8s.io/v1","rv":-1,"start":"d-hand/one\\u0000"}'), "zero": token('{"v":"meta.k8s.io/v1","rv":0,"start":"one"}'), "padded": token("{}") + "==", "list": token("[]"), "number": token("1"),
        "rv-string": token('{"v":"meta.k8s.io/v1","rv":"1","start":"one"}'), "minus-start": token('{"v":"meta.k8s.io/v1","rv":-1,"start":"one"}'),
    }.items():
        s.ask(name, "GET", f"{MAPS}?limit=1&continue={text}", headers={"Accept": PARTIALS})
        s.ask(name + "-all", "GET", f"/api/v1/configmaps?limit=1&continue={text}", headers={"Accept": PARTIALS}, compare="head")
        s.ask(name + "-collection", "DELETE", f"{MAPS}?dryRun=All&labelSelector=none&continue={text}")
    s.ask("with-version", "GET", f"{MAPS}?continue={token('{}')}&resourceVersion=5")
    s.ask("with-match", "GET", f"{MAPS}?continue={token('{}')}&resourceVersion=5&resourceVersionMatch=Exact")
    return s


def list_options():
    s = Scenario("list")
    for query in ("limit=-1", "limit=abc", "limit=1", "limit=0", "limit=99999999999999999999", "resourceVersion=abc", "resourceVersion=-1", "resourceVersion=0", "resourceVersionMatch=Exact", "resourceVersion=0&resourceVersionMatch=Exact", "resourceVersion=0&resourceVersionMatch=NotOlderThan",
                  "resourceVersionMatch=Bogus", "resourceVersion=1&resourceVersionMatch=Bogus", "resourceVersion=99999999", "resourceVersion=999999999&resourceVersionMatch=Exact&timeoutSeconds=1", "resourceVersion=1&resourceVersionMatch=Exact", "watch=maybe&timeoutSeconds=1&resourceVersion=0&labelSelector=none", "watch=false", "watch=0", "sendInitialEvents=true", "sendInitialEvents=maybe",
                  "allowWatchBookmarks=maybe", "timeoutSeconds=abc", "timeoutSeconds=-1", "labelSelector=", "fieldSelector=", "labelSelector=a&labelSelector=b", "bogus=1", "pretty=maybe", "limit=1&limit=2", "shardSelector=x", "resourceVersion=1&limit=1", "resourceVersion=", "includeUninitialized=true"):
        if "99999999" in query and "Exact" not in query:
            continue                                                   # waits for a version that never comes
        s.ask(f"?{query}", "GET", f"{MAPS}?{query}", headers={"Accept": PARTIALS})
    for query in ("resourceVersion=abc", "resourceVersion=0", "resourceVersion=1", "export=true", "bogus=1", "pretty=true", "resourceVersion=-5", "resourceVersionMatch=Exact"):
        s.ask(f"get?{query}", "GET", f"{MAPS}/one?{query}", headers={"Accept": PARTIAL})
    for path in ("/api/v1/namespaces/absent/configmaps", "/api/v1/configmaps?fieldSelector=metadata.namespace%3Dd-hand", "/api/v1/namespaces/d-hand/bogus", "/apis/bogus/v1/x", "/apis/apps/v2/deployments", "/api/v2", "/apis/apps/v1/namespaces/d-hand/deployments/web/bogus",
                 "/api/v1/namespaces/d-hand/configmaps/one/status", "/api/v1/namespaces/d-hand/pods/pod/log", "/api/v1/namespaces/d-hand/pods/absent/log", "/api/v1/namespaces/d-hand/pods/pod/exec", "/api/v1/namespaces/d-hand/pods/pod/attach", "/api/v1/namespaces/d-hand/pods/pod/portforward",
                 "/api/v1/namespaces/d-hand/pods/pod/proxy", "/api/v1/namespaces/d-hand/services/absent/proxy/x", "/api/v1/nodes/absent/proxy/x", "/api/v1/componentstatuses", "/api/v1/componentstatuses/scheduler", "/api/v1/bindings"):
        s.ask(f"path:{path}", "GET", path, headers={"Accept": PARTIALS} if path.endswith("configmaps") else None, compare="head" if "componentstatuses" in path else "all")
    return s


def watches():
    s = Scenario("watch")
    for query in ("watch=1&timeoutSeconds=1&resourceVersion=abc", "watch=1&timeoutSeconds=1&resourceVersionMatch=Exact&resourceVersion=1", "watch=1&timeoutSeconds=1&continue=x", "watch=1&timeoutSeconds=1&resourceVersion=0&limit=1&fieldSelector=metadata.name%3Dabsent", "watch=1&timeoutSeconds=1&sendInitialEvents=true",
                  "watch=1&timeoutSeconds=1&sendInitialEvents=true&resourceVersionMatch=Exact", "watch=1&timeoutSeconds=1&sendInitialEvents=false", "watch=1&timeoutSeconds=1&resourceVersion=0&fieldSelector=metadata.name%3Dabsent", "watch=1&timeoutSeconds=1&fieldSelector=bogus%3D1",
                  "watch=1&timeoutSeconds=1&labelSelector=%21%21", "watch=1&timeoutSeconds=1&resourceVersionMatch=NotOlderThan"):
        s.ask(f"?{query}", "GET", f"{MAPS}?{query}")
    s.ask("old", "GET", "/api/v1/watch/namespaces/d-hand/configmaps/absent?timeoutSeconds=1&resourceVersion=0")
    s.ask("table", "GET", f"{MAPS}?watch=1&timeoutSeconds=1&resourceVersion=0&fieldSelector=metadata.name%3Dabsent", headers={"Accept": TABLE})
    s.ask("html", "GET", f"{MAPS}?watch=1&timeoutSeconds=1", headers={"Accept": "text/html"})
    return s
