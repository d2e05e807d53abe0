"""Forms of bodies: numbers, YAML, JSON, duplicates, nulls, letters of another case, sizes."""
import json

from corpus import APPLY, MERGE, MODES, PATCH, STRATEGIC, Scenario
from hand.ground import CORE, APPS, MAPS, DRY, YAML, deployment
from objects import POD


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
