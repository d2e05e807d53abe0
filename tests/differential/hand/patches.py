"""The three patches, apply, and managedFields that clients send."""
import json

from corpus import APPLY, MERGE, PATCH, STRATEGIC, Scenario
from hand.ground import APPS, MAPS, DRY, deployment


def json_patches():
    s = Scenario("json-patch")
    forms = {
        "empty": [], "add": [{"op": "add", "path": "/data/b", "value": "1"}], "add-deep": [{"op": "add", "path": "/x/y/z", "value": 1}], "remove-absent": [{"op": "remove", "path": "/data/zz"}],
        "replace-absent": [{"op": "replace", "path": "/data/zz", "value": "1"}], "move": [{"op": "move", "from": "/data/a", "path": "/data/b"}], "move-absent": [{"op": "move", "from": "/data/zz", "path": "/data/b"}],
        "copy": [{"op": "copy", "from": "/data/a", "path": "/data/b"}], "test": [{"op": "test", "path": "/data/a", "value": "1"}], "test-not": [{"op": "test", "path": "/data/a", "value": "2"}],
        "test-null": [{"op": "test", "path": "/data/zz", "value": None}], "test-missing": [{"op": "test", "path": "/data/zz"}], "no-op": [{"path": "/data"}], "bad-op": [{"op": "bogus", "path": "/data"}], "no-path": [{"op": "add", "value": 1}],
        "root": [{"op": "replace", "path": "", "value": {"metadata": {"name": "one"}}}], "root-add": [{"op": "add", "path": "", "value": {}}], "root-remove": [{"op": "remove", "path": ""}], "no-slash": [{"op": "add", "path": "data/b", "value": "1"}],
        "tilde": [{"op": "add", "path": "/metadata/annotations", "value": {}}, {"op": "add", "path": "/metadata/annotations/a~1b", "value": "1"}], "bad-tilde": [{"op": "add", "path": "/data/a~2", "value": "1"}],
        "index": [{"op": "add", "path": "/metadata/finalizers", "value": ["a/b"]}, {"op": "add", "path": "/metadata/finalizers/5", "value": "c/d"}], "minus": [{"op": "add", "path": "/metadata/finalizers", "value": []}, {"op": "add", "path": "/metadata/finalizers/-", "value": "c/d"}],
        "negative": [{"op": "add", "path": "/metadata/finalizers", "value": ["a/b"]}, {"op": "remove", "path": "/metadata/finalizers/-1"}], "leading": [{"op": "add", "path": "/metadata/finalizers", "value": ["a/b"]}, {"op": "remove", "path": "/metadata/finalizers/00"}],
        "value-missing": [{"op": "add", "path": "/data/b"}], "into-string": [{"op": "add", "path": "/data/a/b", "value": 1}], "move-inside": [{"op": "move", "from": "/data", "path": "/data/x"}], "kind": [{"op": "replace", "path": "/kind", "value": "Secret"}],
        "name": [{"op": "replace", "path": "/metadata/name", "value": "x"}], "type": [{"op": "replace", "path": "/data", "value": "x"}], "extra": [{"op": "add", "path": "/data/b", "value": "1", "x": 1}], "op-case": [{"op": "ADD", "path": "/data/b", "value": "1"}],
        "not-list": {"op": "add"}, "strings": ["x"], "null-item": [None], "number-path": [{"op": "add", "path": 1, "value": 1}], "uid": [{"op": "replace", "path": "/metadata/uid", "value": "x"}],
        "status": [{"op": "add", "path": "/status", "value": {}}], "managed": [{"op": "replace", "path": "/metadata/managedFields", "value": []}], "managed-one": [{"op": "replace", "path": "/metadata/managedFields", "value": [{}]}],
    }
    for name, patch in forms.items():
        s.ask(name, "PATCH", MAPS + "/one" + DRY, patch, PATCH)
        s.ask(name + "-deployment", "PATCH", APPS + "/deployments/web" + DRY, patch, PATCH)
    s.ask("many", "PATCH", MAPS + "/one" + DRY, [{"op": "test", "path": "/data/a", "value": "1"}] * 10001, PATCH)
    s.ask("most", "PATCH", MAPS + "/one" + DRY, [{"op": "test", "path": "/data/a", "value": "1"}] * 10000, PATCH)
    s.ask("grow", "PATCH", MAPS + "/one" + DRY, [{"op": "add", "path": "/data/x", "value": "x" * 1000}] + [{"op": "copy", "from": "/data", "path": f"/data/c{i}"} for i in range(20)], PATCH)
    s.ask("garbage", "PATCH", MAPS + "/one" + DRY, "{", PATCH)
    s.ask("nothing", "PATCH", MAPS + "/one" + DRY, b"", PATCH)
    s.ask("text", "PATCH", MAPS + "/one" + DRY, '"x"', PATCH)
    s.ask("absent", "PATCH", MAPS + "/absent" + DRY, forms["add"], PATCH)
    return s


def merge_patches():
    s = Scenario("merge-patch")
    for name, patch in {"empty": {}, "null": None, "list": [], "string": "x", "kind": {"kind": "Secret"}, "version": {"apiVersion": "v2"}, "kind-null": {"kind": None}, "data-null": {"data": None}, "all-null": {"metadata": None},
                        "data-list": {"data": ["a"]}, "deep": {"data": {"a": {"b": None}}}, "uid": {"metadata": {"uid": "x"}}, "uid-null": {"metadata": {"uid": None}}, "creation": {"metadata": {"creationTimestamp": None}},
                        "managed": {"metadata": {"managedFields": None}}, "managed-empty": {"metadata": {"managedFields": []}}, "managed-one": {"metadata": {"managedFields": [{}]}}, "space": {"metadata": {"namespace": "x"}}, "number": {"data": {"a": 1}},
                        "immutable": {"immutable": True}, "generate": {"metadata": {"generateName": "x"}}, "status": {"status": {"a": 1}}}.items():
        for kind, what in ((MERGE, "merge"), (STRATEGIC, "strategic")):
            s.ask(f"{what}-{name}", "PATCH", MAPS + "/one" + DRY, json.dumps(patch), kind)
            s.ask(f"{what}-{name}-deployment", "PATCH", APPS + "/deployments/web" + DRY, json.dumps(patch), kind)
    for kind, what in ((MERGE, "merge"), (STRATEGIC, "strategic")):
        s.ask(f"{what}-garbage", "PATCH", MAPS + "/one", "{", kind)
        s.ask(f"{what}-nothing", "PATCH", MAPS + "/one", b"", kind)
        s.ask(f"{what}-yaml", "PATCH", MAPS + "/one" + DRY, "data: {a: b}", kind)
        s.ask(f"{what}-two", "PATCH", MAPS + "/one" + DRY, '{"data":{"a":"2"}}{"data":{"a":"3"}}', kind)
        s.ask(f"{what}-bom", "PATCH", MAPS + "/one" + DRY, '\ufeff{"data":{"a":"2"}}', kind)
    return s


def strategic_patches():
    s = Scenario("strategic")
    def inside(spec):
        return {"spec": {"template": {"spec": spec}}}
    for name, patch in {
        "merge": inside({"containers": [{"name": "c", "image": "j"}]}), "add": inside({"containers": [{"name": "d", "image": "j"}]}), "delete": inside({"containers": [{"name": "c", "$patch": "delete"}]}),
        "delete-absent": inside({"containers": [{"name": "zz", "$patch": "delete"}]}), "replace": inside({"containers": [{"$patch": "replace"}, {"name": "d", "image": "j"}]}), "replace-map": {"spec": {"strategy": {"$patch": "replace", "type": "Recreate"}}},
        "retain": {"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}}, "retain-bad": {"spec": {"strategy": {"$retainKeys": ["type"], "rollingUpdate": {}}}}, "retain-type": {"spec": {"strategy": {"$retainKeys": "x"}}},
        "no-key": inside({"containers": [{"image": "j"}]}), "bad-directive": inside({"containers": [{"name": "c", "$patch": "bogus"}]}), "directive-map": {"spec": {"$patch": "bogus"}}, "order": inside({"$setElementOrder/containers": [{"name": "d"}, {"name": "c"}], "containers": [{"name": "d", "image": "i"}]}),
        "order-missing": inside({"$setElementOrder/containers": [{"name": "d"}], "containers": [{"name": "e", "image": "i"}]}), "delete-primitive": {"metadata": {"$deleteFromPrimitiveList/finalizers": ["a/b"]}},
        "finalizers": {"metadata": {"finalizers": ["a/b"]}}, "delete-root": {"$patch": "delete"}, "replace-root": {"$patch": "replace", "metadata": {"name": "web"}}, "env": inside({"containers": [{"name": "c", "env": [{"name": "A", "value": "1"}]}]}),
        "ports": inside({"containers": [{"name": "c", "ports": [{"containerPort": 80, "protocol": "UDP"}]}]}), "empty-list": inside({"containers": []}), "string-list": inside({"containers": "x"}), "scalar-items": inside({"containers": ["x"]}),
        "replicas-type": {"spec": {"replicas": "x"}}, "selector": {"spec": {"selector": {"matchLabels": {"z": "z"}}}}, "unknown": {"spec": {"bogus": 1}}, "tolerations": inside({"tolerations": [{"key": "a"}]}), "volumes": inside({"volumes": [{"name": "v", "emptyDir": {}}]}),
        "retain-list": inside({"volumes": [{"name": "v", "$retainKeys": ["name", "emptyDir"], "emptyDir": {}}]}), "order-type": inside({"$setElementOrder/containers": "x"}), "unknown-directive": {"$bogus": 1}, "key-type": inside({"containers": [{"name": 5}]}),
    }.items():
        s.ask(name, "PATCH", APPS + "/deployments/web" + DRY, patch, STRATEGIC)
        s.ask(name + "-Strict", "PATCH", APPS + "/deployments/web" + DRY + "&fieldValidation=Strict", patch, STRATEGIC)
    return s


def apply_forms():
    s = Scenario("apply")
    base = {"apiVersion": "v1", "kind": "ConfigMap"}
    forms = {
        "name-missing": {**base, "metadata": {}}, "metadata-missing": base, "name-other": {**base, "metadata": {"name": "zz"}}, "version-missing": {"kind": "ConfigMap", "metadata": {"name": "ap"}}, "kind-missing": {"apiVersion": "v1", "metadata": {"name": "ap"}},
        "kind-other": {**base, "kind": "Secret", "metadata": {"name": "ap"}}, "version-other": {**base, "apiVersion": "apps/v1", "metadata": {"name": "ap"}}, "managed": {**base, "metadata": {"name": "ap", "managedFields": [{"manager": "x"}]}},
        "managed-empty": {**base, "metadata": {"name": "ap", "managedFields": []}}, "version": {**base, "metadata": {"name": "ap", "resourceVersion": "1"}}, "uid": {**base, "metadata": {"name": "ap", "uid": "x"}}, "space": {**base, "metadata": {"name": "ap", "namespace": "x"}},
        "null-data": {**base, "metadata": {"name": "ap"}, "data": None}, "null-value": {**base, "metadata": {"name": "ap"}, "data": {"a": None}}, "type": {**base, "metadata": {"name": "ap"}, "data": []}, "number": {**base, "metadata": {"name": "ap"}, "data": {"a": 1}},
        "bogus": {**base, "metadata": {"name": "ap"}, "bogus": 1}, "bogus-deep": {**base, "metadata": {"name": "ap", "bogus": 1}}, "generate": {**base, "metadata": {"generateName": "ap"}}, "liens-like": {**base, "metadata": {"name": "ap", "finalizers": ["a/b", "a/b"]}},
        "name-number": {**base, "metadata": {"name": 7}}, "name-null": {**base, "metadata": {"name": None}}, "metadata-null": {**base, "metadata": None}, "metadata-list": {**base, "metadata": []}, "creation": {**base, "metadata": {"name": "ap", "creationTimestamp": None}},
    }
    for name, body in forms.items():
        s.ask(name, "PATCH", MAPS + "/ap" + DRY + "&fieldManager=m", body, APPLY)
        s.ask(name + "-there", "PATCH", MAPS + "/one" + DRY + "&fieldManager=m", json.loads(json.dumps(body).replace('"ap"', '"one"')), APPLY)
    lists = {
        "duplicate-key": [{"name": "c", "image": "i"}, {"name": "c", "image": "j"}], "no-key": [{"image": "i"}], "null-item": [None], "port-twice": [{"name": "c", "image": "i", "ports": [{"containerPort": 80}, {"containerPort": 80}]}],
        "port-default": [{"name": "c", "image": "i", "ports": [{"containerPort": 80}]}], "env-twice": [{"name": "c", "image": "i", "env": [{"name": "A"}, {"name": "A"}]}],
    }
    for name, containers in lists.items():
        s.ask("list-" + name, "PATCH", APPS + "/deployments/al" + DRY + "&fieldManager=m", deployment("al", template={"metadata": {"labels": {"a": "b"}}, "spec": {"containers": containers}}), APPLY)
    for what in ("garbage: [", "{", "", "x", "- a", "null"):
        s.ask("text=" + what.replace(" ", "_"), "PATCH", MAPS + "/ap" + DRY + "&fieldManager=m", what, APPLY)
    s.ask("scale", "PATCH", APPS + "/deployments/web/scale?fieldManager=sc&force=true" + "&dryRun=All", {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "web", "namespace": "d-hand"}, "spec": {"replicas": 4}}, APPLY)
    s.ask("scale-conflict", "PATCH", APPS + "/deployments/web/scale?fieldManager=sc" + "&dryRun=All", {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "web"}, "spec": {"replicas": 4}}, APPLY)
    s.ask("status-absent", "PATCH", APPS + "/deployments/absent/status?fieldManager=sc", {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "absent"}}, APPLY)
    return s


def managed_fields():
    s = Scenario("managed")
    entry = {"manager": "m", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {"f:data": {"f:a": {}}}, "time": "2020-01-01T00:00:00Z"}
    forms = {
        "good": [entry], "version-unknown": [{**entry, "apiVersion": "example.com/v9"}], "version-group": [{**entry, "apiVersion": "apps/v1"}], "version-empty": [{**entry, "apiVersion": ""}], "version-garbage": [{**entry, "apiVersion": "a/b/c"}],
        "operation": [{**entry, "operation": "Delete"}], "operation-empty": [{**entry, "operation": ""}], "type": [{**entry, "fieldsType": "V2"}], "type-empty": [{**entry, "fieldsType": ""}], "fields-bad": [{**entry, "fieldsV1": {"x": {}}}],
        "fields-unknown": [{**entry, "fieldsV1": {"f:bogus": {}}}], "fields-null": [{**entry, "fieldsV1": None}], "fields-list": [{**entry, "fieldsV1": []}], "manager-long": [{**entry, "manager": "m" * 200}], "manager-empty": [{**entry, "manager": ""}], "subresource": [{**entry, "subresource": "x" * 300}],
        "twice": [entry, entry], "empty": [], "empty-entry": [{}], "two": [entry, {**entry, "manager": "n", "apiVersion": "example.com/v9"}], "time-none": [{k: v for k, v in entry.items() if k != "time"}], "key-bad": [{**entry, "fieldsV1": {"k:{x}": {}}}],
    }
    for name, entries in forms.items():
        about = {"metadata": {"name": "one", "managedFields": entries}, "data": {"a": "1"}}
        s.ask(name + "-post", "POST", MAPS + DRY, {**about, "metadata": {**about["metadata"], "name": "mf"}})
        s.ask(name + "-put", "PUT", MAPS + "/one" + DRY, about)
        s.ask(name + "-merge", "PATCH", MAPS + "/one" + DRY, {"metadata": {"managedFields": entries}}, MERGE)
        s.ask(name + "-json", "PATCH", MAPS + "/one" + DRY, [{"op": "replace", "path": "/metadata/managedFields", "value": entries}], PATCH)
    return s
