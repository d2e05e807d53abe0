"""Requests written by hand: the forms and corners that a table of kinds does not reach.

All of them live in the namespace `d-hand`. Scenarios are named after what they are about.
"""
import json

import message
from corpus import APPLY, MERGE, MODES, PARTIAL, PARTIALS, PATCH, PROTOBUF, STRATEGIC, TABLE, Scenario
from objects import POD, SELECTOR, TEMPLATE

CORE = "/api/v1/namespaces/d-hand"
APPS = "/apis/apps/v1/namespaces/d-hand"
MAPS = CORE + "/configmaps"
DRY = "?dryRun=All"
YAML = "application/yaml"
RBAC = "/apis/rbac.authorization.k8s.io/v1"


def scenarios():
    yield from (make() for make in (
        space, numbers, yaml_forms, json_forms, media_types, accepts, metadata, parameters, json_patches, merge_patches, strategic_patches,
        apply_forms, managed_fields, selectors, event_selectors, continues, list_options, deletions, evictions, bindings, tokens, scales,
        namespaces, approvals, reviews, roles, paths, old_paths, protobuf_forms, warnings, secrets, services, pods, status_writes, nodes, claims,
        kinds_in_other_case, nulls, duplicates, big, users, watches, discovery,
    ))


def space():
    s = Scenario("hand-space")
    s.ask("make", "POST", "/api/v1/namespaces", {"metadata": {"name": "d-hand"}})
    for name in ("one", "two", "three"):
        s.ask(f"map-{name}", "POST", MAPS, {"metadata": {"name": name, "labels": {"app": name}}, "data": {"a": "1"}})
    s.ask("deployment", "POST", APPS + "/deployments", deployment("web"))
    s.ask("pod", "POST", CORE + "/pods", {"metadata": {"name": "pod"}, "spec": POD})
    s.ask("account", "POST", CORE + "/serviceaccounts", {"metadata": {"name": "builder"}})
    return s


def deployment(name, **spec):
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name},
            "spec": {"replicas": 1, "selector": SELECTOR, "template": TEMPLATE, **spec}}


# ---------------------------------------------------------------- bodies
def numbers():
    s = Scenario("numbers")
    template = json.dumps(deployment("n")).replace('"replicas": 1', '"replicas": %s')
    for form in ("1.0", "1e3", "1E2", "-0", "0", "-1", "1.5", "2147483647", "2147483648", "3000000000", "1e10", "9223372036854775808", "1e400", '"1"', "null",
                 "true", "01", "+1", "1.", ".5", "0x10", "1_000", "-0.0", "1e-1", "10e-1", "NaN", "Infinity"):
        s.ask(f"int32 {form}".replace(" ", "="), "POST", APPS + "/deployments" + DRY, template % form)
        s.ask(f"yaml-int32={form}".replace(" ", "="), "POST", APPS + "/deployments" + DRY, template % form, YAML)
        s.ask(f"merge={form}", "PATCH", APPS + "/deployments/web" + DRY, '{"spec":{"replicas":%s}}' % form, MERGE)
        s.ask(f"strategic={form}", "PATCH", APPS + "/deployments/web" + DRY, '{"spec":{"replicas":%s}}' % form, STRATEGIC)
        s.ask(f"json={form}", "PATCH", APPS + "/deployments/web" + DRY, '[{"op":"replace","path":"/spec/replicas","value":%s}]' % form, PATCH)
        s.ask(f"apply={form}", "PATCH", APPS + "/deployments/web" + DRY + "&fieldManager=n&force=true",
              '{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web"},"spec":{"replicas":%s}}' % form, APPLY)
    pod = json.dumps({"metadata": {"name": "n"}, "spec": {**POD, "terminationGracePeriodSeconds": 77, "priority": 0}})
    for form in ("1.0", "1e3", "9223372036854775807", "9223372036854775808", "1e18", "1e19", "-1", "1.5", "-9223372036854775808"):
        s.ask(f"int64={form}", "POST", CORE + "/pods" + DRY, pod.replace("77", form))
        s.ask(f"yaml-int64={form}", "POST", CORE + "/pods" + DRY, pod.replace("77", form), YAML)
    for form in ("1", "1.5", "1.0", '"50%"', '"1.5"', "-1", "true", "3000000000", "1e1"):
        s.ask(f"int-or-string={form}", "POST", APPS + "/deployments" + DRY, json.dumps(deployment("n", strategy={"rollingUpdate": {"maxSurge": 77}})).replace("77", form))
    for form in ("1", "1.5", "100m", "1e3", "1Ki", "1.5Gi", "-1", "0.0001", "1E3", "12345678901234567890", "", "1 ", "abc", "1e", "1m", "0x1", "1.", ".5", "+1", "1n", "1k", "1Kii"):
        for quote in ('"%s"' % form, form):
            s.ask(f"quantity={quote}".replace(" ", "_"), "POST", CORE + "/pods" + DRY,
                  json.dumps({"metadata": {"name": "n"}, "spec": {"containers": [{"name": "c", "image": "i", "resources": {"limits": {"cpu": 77}}}]}}).replace("77", quote))
    for form in ("1", "1.0", "true", "null", "[]", "{}", '"\\u0000"', '"\\ud800"', '"é"'):
        s.ask(f"string={form}", "POST", MAPS + DRY, '{"metadata":{"name":"n"},"data":{"a":%s}}' % form)
    for form in ('"2020-01-01T00:00:00Z"', '"2020-01-01T00:00:00+02:00"', '"2020-01-01T00:00:00.123456789Z"', '"2020-01-01"', '""', "null", "1", '"0000-01-01T00:00:00Z"',
                 '"2020-01-01T00:00:00z"', '"2020-13-01T00:00:00Z"', '"9999-12-31T23:59:59Z"', '"2020-01-01t00:00:00Z"', '"2020-01-01T24:00:00Z"', '"2020-01-01T00:00:60Z"'):
        s.ask(f"micro={form}", "POST", "/apis/coordination.k8s.io/v1/namespaces/d-hand/leases" + DRY, '{"metadata":{"name":"n"},"spec":{"renewTime":%s}}' % form)
        s.ask(f"time={form}", "POST", CORE + "/events" + DRY, '{"metadata":{"name":"n"},"involvedObject":{"namespace":"d-hand"},"firstTimestamp":%s}' % form)
    for form in ('"MQ=="', '"MQ"', '"M Q=="', '"!"', "1", "null", "[1]", '""', '"MQ\\n=="', '"__8="'):
        s.ask(f"bytes={form}".replace(" ", "_"), "POST", CORE + "/secrets" + DRY, '{"metadata":{"name":"n"},"data":{"a":%s}}' % form)
    for form in ("true", "false", '"true"', "1", "0", "null", "yes"):
        s.ask(f"bool={form}", "POST", MAPS + DRY, '{"metadata":{"name":"n"},"immutable":%s}' % form)
        s.ask(f"yaml-bool={form}", "POST", MAPS + DRY, "metadata: {name: n}\nimmutable: %s\n" % form, YAML)
    return s


def yaml_forms():
    s = Scenario("yaml")
    plain = "metadata:\n  name: yy\n"
    forms = {
        "plain": plain + "data: {a: b}\n", "bom": "\ufeff" + plain, "comment": "# c\n" + plain, "document": "---\n" + plain, "two": plain + "---\n" + plain,
        "end": plain + "...\n", "directive": "%YAML 1.1\n---\n" + plain, "tabs": "metadata:\n\tname: yy\n", "empty": "", "blank": "\n\n", "null": "null\n", "scalar": "x\n",
        "list": "- a\n", "null-key": plain + "data:\n  null: b\n", "tilde-key": plain + "data:\n  ~: b\n", "empty-key": plain + "data:\n  : b\n", "number-key": plain + "data:\n  1: b\n",
        "float-key": plain + "data:\n  1.5: b\n", "bool-key": plain + "data:\n  true: b\n", "yes-key": plain + "data:\n  yes: b\n", "map-key": plain + "data:\n  {a: b}: c\n",
        "list-key": plain + "data:\n  ? [a]\n  : c\n", "date-key": plain + "data:\n  2020-01-01: c\n", "null-value": plain + "data:\n  a:\n", "yes-value": plain + "data:\n  a: yes\n",
        "on-value": plain + "data:\n  a: on\n", "number-value": plain + "data:\n  a: 1\n", "date-value": plain + "data:\n  a: 2020-01-01\n", "quoted": plain + "data:\n  'a': \"b\\n\"\n",
        "block": plain + "data:\n  a: |\n    x\n    y\n", "folded": plain + "data:\n  a: >-\n    x\n    y\n", "anchor": plain + "data: &d {a: b}\nbinaryData: {}\n",
        "alias": "metadata:\n  name: yy\n  labels: &l {a: b}\n  annotations: *l\n", "merge-key": "metadata:\n  name: yy\n  labels: &l {a: b}\n  annotations: {<<: *l, c: d}\n",
        "no-alias": plain + "data: *x\n", "binary": plain + "data:\n  a: !!binary aGk=\n", "tag": plain + "data:\n  a: !!str 1\n", "own-tag": plain + "data:\n  a: !x 1\n",
        "int-tag": plain + "data:\n  a: !!int '1'\n", "float-tag": plain + "data:\n  a: !!float 1\n", "hex": plain + "data:\n  a: 0x10\n", "octal": plain + "data:\n  a: 010\n",
        "inf": plain + "data:\n  a: .inf\n", "nan": plain + "data:\n  a: .nan\n", "sexagesimal": plain + "data:\n  a: 1:30\n", "underscore": plain + "data:\n  a: 1_000\n",
        "twice": plain + "data: {a: b, a: c}\n", "twice-thrice": plain + "data:\n  a: b\n  a: c\n  a: d\n", "twice-number": plain + "data:\n  1: b\n  1: c\n", "unclosed": "{metadata: {name: yy}",
        "bad-indent": "metadata:\n   name: yy\n  labels: {}\n", "json": json.dumps({"metadata": {"name": "yy"}}), "control": plain + "data:\n  a: \"\x01\"\n", "cr": plain.replace("\n", "\r\n"),
        "nul": plain + "data: {a: \"\0\"}\n", "latin": b"metadata:\n  name: yy\ndata:\n  a: \xff\n", "utf16": plain.encode("utf-16"), "deep": plain + "data: " + "{a: " * 50 + "1" + "}" * 50 + "\n",
        "kind": "kind: ConfigMap\napiVersion: v1\n" + plain, "other-kind": "kind: Secret\napiVersion: v1\n" + plain, "long-key": plain + "data:\n  ? " + "k" * 1100 + "\n  : v\n",
    }
    for name, text in forms.items():
        for mode in ("Strict", "Warn"):
            s.ask(f"{name}-{mode}", "POST", f"{MAPS}{DRY}&fieldValidation={mode}", text, YAML)
    for name in ("plain", "bom", "two", "empty", "null-key", "number-key", "twice", "alias", "scalar", "list", "date-value"):
        body = forms[name] if name in ("empty", "scalar", "list") else "apiVersion: v1\nkind: ConfigMap\n" + forms[name].lstrip("\ufeff")
        s.ask(f"apply-{name}", "PATCH", MAPS + "/yy" + DRY + "&fieldManager=y", ("\ufeff" if name == "bom" else "") + body, APPLY)
    floats = {"whole": "1.0", "exponent": "1e3", "plus": "+1", "dot": "1.", "hex": "0x10", "octal": "0o10", "old-octal": "010", "underscore": "1_0", "negative-zero": "-0.0", "big": "1e10",
              "quoted": "'1'", "null": "", "binary": "0b11"}
    for name, form in floats.items():
        body = "metadata: {name: yy}\nspec:\n  replicas: %s\n  selector: {matchLabels: {a: b}}\n  template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}\n" % form
        s.ask(f"replicas-{name}", "POST", APPS + "/deployments" + DRY, body, YAML)
    return s


def json_forms():
    s = Scenario("json")
    plain = '{"metadata":{"name":"j"}}'
    forms = {
        "bom": "\ufeff" + plain, "empty": "", "blank": "  \n", "null": "null", "true": "true", "string": '"x"', "number": "1", "list": "[]", "list-of-one": "[%s]" % plain, "two": plain + plain,
        "trailing": plain + " x", "trailing-comma": '{"metadata":{"name":"j"},}', "comment": "/* c */" + plain, "single": "{'metadata':{}}", "unclosed": '{"metadata":{"name":"j"}',
        "control": '{"metadata":{"name":"j"},"data":{"a":"\x01"}}', "escape": '{"metadata":{"name":"j"},"data":{"a":"\\x"}}', "lone-surrogate": '{"metadata":{"name":"j"},"data":{"a":"\\ud83d"}}',
        "pair": '{"metadata":{"name":"j"},"data":{"a":"\\ud83d\\ude00"}}', "latin": b'{"metadata":{"name":"j"},"data":{"a":"\xff"}}', "empty-key": '{"metadata":{"name":"j"},"":1}',
        "case-key": '{"Metadata":{"name":"j"}}', "case-kind": '{"Kind":"ConfigMap","metadata":{"name":"j"}}', "null-meta": '{"metadata":null}', "null-name": '{"metadata":{"name":null}}',
        "null-data": '{"metadata":{"name":"j"},"data":null}', "null-value": '{"metadata":{"name":"j"},"data":{"a":null}}', "null-binary": '{"metadata":{"name":"j"},"binaryData":{"a":null}}',
        "meta-string": '{"metadata":"x"}', "meta-list": '{"metadata":[]}', "data-list": '{"metadata":{"name":"j"},"data":[]}', "kind-number": '{"kind":1,"metadata":{"name":"j"}}',
        "kind-null": '{"kind":null,"apiVersion":null,"metadata":{"name":"j"}}', "kind-alone": '{"kind":"ConfigMap","metadata":{"name":"j"}}', "version-alone": '{"apiVersion":"v1","metadata":{"name":"j"}}',
        "version-other": '{"kind":"ConfigMap","apiVersion":"v2","metadata":{"name":"j"}}', "version-core": '{"kind":"ConfigMap","apiVersion":"core/v1","metadata":{"name":"j"}}',
        "version-slashes": '{"kind":"ConfigMap","apiVersion":"a/b/c","metadata":{"name":"j"}}', "kind-list": '{"kind":"ConfigMapList","apiVersion":"v1","items":[%s]}' % plain,
        "kind-lower": '{"kind":"configmap","apiVersion":"v1","metadata":{"name":"j"}}', "kind-status": '{"kind":"Status","apiVersion":"v1"}', "kind-List": '{"kind":"List","apiVersion":"v1","items":[]}',
        "deep-350": "{" + '"data":{' * 349 + "}" * 350, "long-number": '{"metadata":{"name":"j","generation":%s}}' % ("9" * 400), "space-key": '{"metadata":{"name":"j"},"data":{" ":"x"}}',
        "form-feed": "\f" + plain, "nbsp": "\u00a0" + plain,
    }
    for name, text in forms.items():
        for mode in MODES:
            s.ask(f"{name}-{mode}", "POST", f"{MAPS}{DRY}&fieldValidation={mode}", text)
        s.ask(f"{name}-put", "PUT", f"{MAPS}/one{DRY}", text)
    return s


def duplicates():
    s = Scenario("duplicates")
    forms = {
        "thrice": '{"metadata":{"name":"d"},"data":{"a":"1","a":"2","a":"3"}}', "fields": '{"metadata":{"name":"d","name":"e","name":"f"}}', "mixed": '{"metadata":{"name":"d"},"x":1,"x":2,"data":{"a":"1"},"data":{"a":"1"}}',
        "labels": '{"metadata":{"name":"d","labels":{"a":"1","a":"1"},"labels":{"b":"1","b":"2"}}}', "escaped": '{"metadata":{"name":"d"},"data":{"a":"1","\\u0061":"2"}}',
        "case": '{"metadata":{"name":"d"},"data":{},"Data":{}}', "unknown-inside": '{"metadata":{"name":"d"},"x":{"a":1,"a":2}}',
        "managed": '{"metadata":{"name":"d","managedFields":[{"manager":"m","manager":"n"}]}}',
    }
    for name, text in forms.items():
        for mode in MODES:
            s.ask(f"{name}-{mode}", "POST", f"{MAPS}{DRY}&fieldValidation={mode}", text)
            s.ask(f"{name}-merge-{mode}", "PATCH", f"{MAPS}/one{DRY}&fieldValidation={mode}", text.replace('"name":"d"', '"name":"one"').replace('"e"', '"one"').replace('"f"', '"one"'), MERGE)
            s.ask(f"{name}-strategic-{mode}", "PATCH", f"{MAPS}/one{DRY}&fieldValidation={mode}", text.replace('"name":"d"', '"name":"one"').replace('"e"', '"one"').replace('"f"', '"one"'), STRATEGIC)
    text = json.dumps(deployment("d"))
    nested = text.replace('"image": "i"', '"image": "i", "image": "j", "imagge": 1, "env": [{"name": "A", "nmae": 1}, {"name": "A", "name": "B"}]')
    wrong = json.dumps(deployment("d")).replace('"replicas": 1', '"replicas": 1, ' + ", ".join(f'"bogus{i}": 1' for i in range(150)))
    for mode in MODES:
        s.ask(f"nested-{mode}", "POST", f"{APPS}/deployments{DRY}&fieldValidation={mode}", nested)
        s.ask(f"many-{mode}", "POST", f"{APPS}/deployments{DRY}&fieldValidation={mode}", wrong)
        s.ask(f"json-patch-{mode}", "PATCH", f"{MAPS}/one{DRY}&fieldValidation={mode}", '[{"op":"add","op":"add","path":"/data/b","value":"1"}]', PATCH)
        s.ask(f"json-patch-value-{mode}", "PATCH", f"{MAPS}/one{DRY}&fieldValidation={mode}", '[{"op":"add","path":"/data","value":{"b":"1","b":"2"}}]', PATCH)
        s.ask(f"json-patch-unknown-{mode}", "PATCH", f"{MAPS}/one{DRY}&fieldValidation={mode}", '[{"op":"add","path":"/data/b","value":"1","extra":1}]', PATCH)
        s.ask(f"apply-json-{mode}", "PATCH", f"{MAPS}/d{DRY}&fieldManager=m&fieldValidation={mode}", '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"d"},"data":{"a":"1","a":"2"}}', APPLY)
        s.ask(f"apply-kind-{mode}", "PATCH", f"{MAPS}/d{DRY}&fieldManager=m&fieldValidation={mode}", 'apiVersion: v1\nkind: ConfigMap\nkind: ConfigMap\nmetadata: {name: d}\n', APPLY)
    return s


def nulls():
    s = Scenario("nulls")
    for name, path, text in (
        ("secret-data", CORE + "/secrets", '{"metadata":{"name":"n"},"data":{"a":null,"b":"MQ=="}}'), ("secret-string", CORE + "/secrets", '{"metadata":{"name":"n"},"stringData":{"a":null}}'),
        ("labels", MAPS, '{"metadata":{"name":"n","labels":{"a":null}}}'), ("finalizers", MAPS, '{"metadata":{"name":"n","finalizers":[null]}}'), ("owners", MAPS, '{"metadata":{"name":"n","ownerReferences":[null]}}'),
        ("containers", CORE + "/pods", '{"metadata":{"name":"n"},"spec":{"containers":[null]}}'), ("limits", CORE + "/pods", '{"metadata":{"name":"n"},"spec":{"containers":[{"name":"c","image":"i","resources":{"limits":{"cpu":null}}}]}}'),
        ("selector", CORE + "/pods", '{"metadata":{"name":"n"},"spec":{"nodeSelector":{"a":null},"containers":[{"name":"c","image":"i"}]}}'), ("rules", "/apis/rbac.authorization.k8s.io/v1/clusterroles", '{"metadata":{"name":"n"},"rules":[null]}'),
        ("verbs", "/apis/rbac.authorization.k8s.io/v1/clusterroles", '{"metadata":{"name":"n"},"rules":[{"verbs":[null],"apiGroups":[""],"resources":["x"]}]}'),
        ("creation", MAPS, '{"metadata":{"name":"n","creationTimestamp":null,"uid":null,"generation":null}}'), ("spec", APPS + "/deployments", '{"metadata":{"name":"n"},"spec":null}'),
    ):
        s.ask(name, "POST", path + DRY, text)
        s.ask(name + "-yaml", "POST", path + DRY, text, YAML)
        s.ask(name + "-apply", "PATCH", path + "/n" + DRY + "&fieldManager=n", text[:1] + '"apiVersion":"%s","kind":"%s",' % kind_of(path) + text[1:], APPLY)
    s.ask("merge-data", "PATCH", CORE + "/secrets/absent" + DRY, {"data": None}, MERGE)
    s.ask("merge-list", "PATCH", APPS + "/deployments/web" + DRY, {"spec": {"template": {"spec": {"containers": [None]}}}}, MERGE)
    s.ask("strategic-list", "PATCH", APPS + "/deployments/web" + DRY, {"spec": {"template": {"spec": {"containers": [None]}}}}, STRATEGIC)
    s.ask("strategic-null", "PATCH", APPS + "/deployments/web" + DRY, {"spec": {"template": {"spec": {"containers": None}}}}, STRATEGIC)
    s.ask("strategic-nothing", "PATCH", APPS + "/deployments/web" + DRY, "null", STRATEGIC)
    s.ask("merge-nothing", "PATCH", APPS + "/deployments/web" + DRY, "null", MERGE)
    s.ask("json-nothing", "PATCH", APPS + "/deployments/web" + DRY, "null", PATCH)
    return s


def kind_of(path):
    last = path.rsplit("/", 1)[1]
    return {"secrets": ("v1", "Secret"), "configmaps": ("v1", "ConfigMap"), "pods": ("v1", "Pod"), "clusterroles": ("rbac.authorization.k8s.io/v1", "ClusterRole"),
            "deployments": ("apps/v1", "Deployment")}[last]


def kinds_in_other_case():
    s = Scenario("case")
    for kind in ("Configmap", "CONFIGMAP", "configMap", " ConfigMap"):
        s.ask(f"post-{kind}".replace(" ", "_"), "POST", MAPS + DRY, {"apiVersion": "v1", "kind": kind, "metadata": {"name": "c"}})
        s.ask(f"put-{kind}".replace(" ", "_"), "PUT", MAPS + "/one" + DRY, {"apiVersion": "v1", "kind": kind, "metadata": {"name": "one"}})
        s.ask(f"apply-{kind}".replace(" ", "_"), "PATCH", MAPS + "/one" + DRY + "&fieldManager=c", {"apiVersion": "v1", "kind": kind, "metadata": {"name": "one"}}, APPLY)
        s.ask(f"merge-{kind}".replace(" ", "_"), "PATCH", MAPS + "/one" + DRY, {"kind": kind}, MERGE)
    for body in ({"Kind": "ConfigMap", "ApiVersion": "v1", "metadata": {"name": "c"}}, {"KIND": "Secret", "metadata": {"name": "c"}}, {"kind": "ConfigMap", "Kind": "Secret", "metadata": {"name": "c"}},
                 {"apiversion": "v2", "metadata": {"name": "c"}}, {"Kind": "Secret", "apiVersion": "v1", "metadata": {"name": "c"}}):
        for mode in MODES:
            s.ask(f"keys-{'-'.join(body)}-{mode}", "POST", f"{MAPS}{DRY}&fieldValidation={mode}", body)
    s.ask("apply-keys", "PATCH", MAPS + "/c" + DRY + "&fieldManager=c", {"ApiVersion": "v1", "Kind": "ConfigMap", "metadata": {"name": "c"}}, APPLY)
    s.ask("path", "GET", CORE + "/ConfigMaps")
    s.ask("path-group", "GET", "/apis/Apps/v1/deployments")
    s.ask("delete-options", "DELETE", MAPS + "/absent", {"Kind": "DeleteOptions", "DryRun": ["All"]})
    s.ask("delete-kind", "DELETE", MAPS + "/absent", {"kind": "deleteoptions", "apiVersion": "v1"})
    return s


def big():
    s = Scenario("big")
    s.ask("annotations", "POST", MAPS + DRY, {"metadata": {"name": "b", "annotations": {"a": "x" * 262145}}})
    s.ask("data", "POST", MAPS + DRY, {"metadata": {"name": "b"}, "data": {"a": "x" * 1048577}})
    s.ask("label", "POST", MAPS + DRY, {"metadata": {"name": "b", "labels": {"a": "x" * 64}}})
    s.ask("label-key", "POST", MAPS + DRY, {"metadata": {"name": "b", "labels": {"x" * 64: "a"}}})
    s.ask("key", "POST", MAPS + DRY, {"metadata": {"name": "b"}, "data": {"x" * 254: "a"}})
    s.ask("key-form", "POST", MAPS + DRY, {"metadata": {"name": "b"}, "data": {"..": "a"}})
    s.ask("generate", "POST", MAPS + DRY, {"metadata": {"generateName": "g" * 300}}, compare="code")
    s.ask("manager", "POST", MAPS + DRY + "&fieldManager=" + "m" * 129, {"metadata": {"name": "b"}})
    s.ask("manager-form", "POST", MAPS + DRY + "&fieldManager=%01", {"metadata": {"name": "b"}})
    s.ask("finalizers", "POST", MAPS + DRY, {"metadata": {"name": "b", "finalizers": ["a/b", "kubernetes", "x y/z", "f" * 64 + "/g"]}})
    return s


# ---------------------------------------------------------------- headers
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


# ---------------------------------------------------------------- parameters, metadata
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


def owner(name, **more):
    return {"apiVersion": "v1", "kind": "Pod", "name": name, "uid": "00000000-0000-0000-0000-00000000000" + str(len(name)), **more}


# ---------------------------------------------------------------- patches
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


# ---------------------------------------------------------------- reading
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
    import base64
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


# ---------------------------------------------------------------- deletion and subresources
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
    from objects import REQUEST
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


# ---------------------------------------------------------------- paths
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


# ---------------------------------------------------------------- kinds
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
