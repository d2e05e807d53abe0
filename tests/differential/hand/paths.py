"""Paths and methods, old paths, protobuf."""
import message
from corpus import MERGE, PROTOBUF, Scenario
from hand.ground import CORE, APPS, MAPS, DRY


def paths():
    s = Scenario("paths")
    for method in ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "BOGUS"):
        for path in ("/", "/api", "/api/", "/api/v1", "/api/v1/", "/apis", "/apis/", "/apis/apps", "/apis/apps/", "/apis/apps/v1", "/bogus", "/api/v1/namespaces/d-hand", "/api/v1/namespaces/d-hand/", MAPS + "/", MAPS + "/one/", MAPS + "/one/x/y", "/api/v1//configmaps", "/version", "/version/", "/healthz", "/openapi/v2", "/openapi/v3",
                     "/api/v1/namespaces/d-hand/configmaps/one/status", "/api/v1/configmaps/one", "/api/v1/namespaces/d-hand/nodes", "/apis/apps/v1/namespaces/d-hand/deployments/web/scale/x", "/api/v1/namespaces/d-hand/pods/pod/binding", "/api/v1/nodes/x/y/z", "/api/v1/namespaces/d-hand/status", "/api/v1/namespaces/d-hand/finalize"):
            if method in ("DELETE", "PUT", "PATCH") and path in ("/api/v1/namespaces/d-hand", "/api/v1/namespaces/d-hand/", MAPS + "/", "/api/v1//configmaps"):
                continue
            body = {} if method in ("POST", "PUT", "PATCH") else None
            s.ask(f"{method}:{path}", method, path, body, MERGE if method == "PATCH" else None, compare="head")
    for path in ("/api/v1/namespaces/d-hand/configmaps/%2e%2e", "/api/v1/namespaces/d-hand/configmaps/a%2fb", "/api/v1/namespaces/d-hand/configmaps/%00", "/api/v1/namespaces/d-hand/configmaps/a%20b", "/api/v1/namespaces/d-hand/configmaps/%zz", "/api/v1/namespaces/D_H/configmaps", "/api/v1/namespaces/d-hand/configmaps/ONE",
                 "/api/v1/./nodes", "/api/v1/x/../nodes", "/api//v1/nodes", "//api/v1/nodes", "/api/v1/namespaces/d-hand/configmaps;x", "/api/v1/namespaces/d-hand/configmaps?a;b", "/api/v1/namespaces/d-hand/configmaps?%zz=1"):
        s.ask(f"form:{path}", "GET", path, compare="head")
    return s


def old_paths():
    s = Scenario("old")
    for path in ("/api/v1/proxy/namespaces/d-hand/pods/pod", "/api/v1/proxy/nodes/n", "/api/v1/proxy/namespaces/d-hand/services/x/y", "/api/v1/redirect/nodes/n", "/api/v1/watch/pods", "/api/v1/watch/namespaces/d-hand/pods/absent", "/apis/apps/v1/watch/deployments", "/api/v1/watch/bogus", "/apis/apps/v1/proxy/x", "/api/v1/watch", "/api/v1/proxy"):
        for user in ("admin", "alice"):
            for method in ("GET", "POST", "DELETE"):
                s.ask(f"{method}:{path}:{user}", method, path + "?timeoutSeconds=1&resourceVersion=0", {} if method == "POST" else None, user=user, compare="head")
    return s


def protobuf_forms():
    s = Scenario("protobuf")
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "pb"}, "data": {"a": "1"}}
    good = message.envelope("core.v1.ConfigMap", body)
    raw = message.message("core.v1.ConfigMap", body)
    for name, data in {
        "good": good, "no-magic": good[4:], "magic": message.MAGIC, "empty": b"", "cut": good[:-3], "garbage": message.MAGIC + b"\xff\xff\xff", "json": b"{}", "no-type": message.MAGIC + message.piece(2, raw), "no-kind": message.envelope("core.v1.ConfigMap", {**body, "kind": ""}),
        "other-kind": message.envelope("core.v1.ConfigMap", {**body, "kind": "Secret"}), "other-version": message.envelope("core.v1.ConfigMap", {**body, "apiVersion": "apps/v1"}), "unknown-version": message.envelope("core.v1.ConfigMap", {**body, "apiVersion": "x/v1"}),
        "raw-cut": message.MAGIC + message.piece(1, message.piece(1, b"v1") + message.piece(2, b"ConfigMap")) + message.piece(2, raw[:-2]), "encoding": good + message.piece(3, b"gzip"), "type": good + message.piece(4, b"application/json"), "bad-wire": message.MAGIC + b"\x0b\x0c",
        "raw-none": message.MAGIC + message.piece(1, message.piece(1, b"v1") + message.piece(2, b"ConfigMap")), "kind-only": message.MAGIC + message.piece(1, message.piece(2, b"ConfigMap")) + message.piece(2, raw),
    }.items():
        s.ask(name, "POST", MAPS + DRY, data, PROTOBUF)
        s.ask(name + "-put", "PUT", MAPS + "/one" + DRY, data.replace(b"\x02pb", b"\x03one") if name != "good" else message.envelope("core.v1.ConfigMap", {**body, "metadata": {"name": "one"}}), PROTOBUF)
    for name, accept in (("json", "application/json"), ("both", "application/vnd.kubernetes.protobuf, application/json"), ("protobuf", PROTOBUF)):
        s.ask("accept-" + name, "POST", MAPS + DRY, good, PROTOBUF, headers={"Accept": accept})
        s.ask("error-" + name, "POST", MAPS + DRY, message.envelope("core.v1.ConfigMap", {**body, "metadata": {"name": "B_"}}), PROTOBUF, headers={"Accept": accept}, compare="head" if name == "protobuf" else "all")
    options = message.MAGIC + message.piece(1, message.piece(1, b"v1") + message.piece(2, b"DeleteOptions")) + message.piece(2, message.message("meta.v1.DeleteOptions", {"dryRun": ["All"]}))
    s.ask("delete", "DELETE", MAPS + "/one", options, PROTOBUF)
    s.ask("delete-collection", "DELETE", MAPS + "?labelSelector=none", options, PROTOBUF)
    s.ask("eviction", "POST", CORE + "/pods/absent/eviction", message.envelope("policy.v1.Eviction", {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "absent"}}), PROTOBUF)
    s.ask("scale", "PUT", APPS + "/deployments/web/scale" + DRY, message.envelope("autoscaling.v1.Scale", {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "web", "namespace": "d-hand"}, "spec": {"replicas": 2}}), PROTOBUF)
    s.ask("patch", "PATCH", MAPS + "/one", good, PROTOBUF)
    return s
