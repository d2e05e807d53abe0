"""The requests that are made of the table of kinds: every write path, mode and content type, for each kind.

A scenario is a name and requests that are asked in order. `@rv@` and `@uid@` in a body stand for the version and the uid of the
object that was answered last. Ids are `scenario/step`.
"""
import copy
import json

import message
from objects import DRY, KINDS
from wire import Request

MERGE, STRATEGIC = "application/merge-patch+json", "application/strategic-merge-patch+json"
PATCH, APPLY = "application/json-patch+json", "application/apply-patch+yaml"
PROTOBUF = "application/vnd.kubernetes.protobuf"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
PARTIAL = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
PARTIALS = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
MODES = ("Strict", "Warn", "Ignore")


class Scenario:
    def __init__(self, name):
        self.name, self.steps = name, []

    def ask(self, step, method, path, body=None, kind=None, **more):
        self.steps.append(Request(f"{self.name}/{step}", method, path, body, kind, **more))


def scenarios():
    """Namespaces first, then the life of an object of each kind, then its values on creation and on update."""
    spaces = Scenario("spaces")
    for kind in KINDS:
        if kind.namespaced:
            spaces.ask(kind.space, "POST", "/api/v1/namespaces", {"metadata": {"name": kind.space}})
    yield spaces
    for kind in KINDS:
        yield life(kind)
    for kind in DRY:
        s = Scenario(kind.id)
        creates(s, kind, kind.path(), kind.object(fit(kind, "y")))
        yield s
    for kind in KINDS + DRY:
        yield bad_values(kind)
    for kind in KINDS:
        yield changes(kind)


def life(kind):
    """An object of a kind, from its creation to its end."""
    s = Scenario(kind.id)
    all, name = kind.path(kind.space), fit(kind, "x")
    one = f"{all}/{name}"
    body = kind.object(name)
    s.ask("create", "POST", all, body)
    s.ask("again", "POST", all, body)
    creates(s, kind, all, body)
    reads(s, all, one, name)
    updates(s, kind, all, one, body)
    patches(s, kind, one)
    applies(s, kind, all, one)
    if kind.status is not None:
        statuses(s, kind, one, body)
    ends(s, all, one)
    return s


def fit(kind, name):
    """Some kinds have names of a form of their own."""
    return {"CustomResourceDefinition": "things.g.example.com", "APIService": "v1.g.example.com", "IPAddress": f"10.0.0.{ord(name[0])}", "FlowSchema": f"d-{name}", "PriorityLevelConfiguration": f"d-{name}"}.get(
        kind.kind, f"{name}.example.com" if kind.kind.startswith(("Mutating", "Validating")) else name)


def creates(s, kind, all, body):
    type_name = proto(kind)
    dry = all + "?dryRun=All"
    other = named(body, fit(kind, "y"))
    s.ask("create-dry", "POST", dry, other)
    s.ask("create-table", "POST", dry, other, headers={"Accept": TABLE})
    s.ask("create-partial", "POST", dry, other, headers={"Accept": PARTIAL})
    s.ask("create-yaml", "POST", dry, yaml(other), "application/yaml")
    s.ask("create-protobuf", "POST", dry, message.envelope(type_name, other), PROTOBUF)
    s.ask("create-answer-yaml", "POST", dry, other, headers={"Accept": "application/yaml"}, compare="head")
    for mode in MODES:
        wrong = {**other, "bogus": 1, "metadata": {**other["metadata"], "bogus": {"a": 1}}}
        s.ask(f"create-unknown-{mode}", "POST", f"{dry}&fieldValidation={mode}", wrong)
        text = json.dumps(other)[:-1] + ', "metadata": %s, "kind": "%s"}' % (json.dumps(other["metadata"]), kind.kind)
        s.ask(f"create-twice-{mode}", "POST", f"{dry}&fieldValidation={mode}", text)
        s.ask(f"create-yaml-{mode}", "POST", f"{dry}&fieldValidation={mode}", yaml(other) + "bogus: 1\nkind: %s\n" % kind.kind, "application/yaml")
    s.ask("create-empty", "POST", dry, {"apiVersion": kind.group_version, "kind": kind.kind})
    s.ask("create-bare", "POST", dry, {"metadata": {"name": fit(kind, "y")}})
    s.ask("create-generated", "POST", dry, {**other, "metadata": {"generateName": "g-"}}, compare="code")
    s.ask("create-name", "POST", dry, named(other, "Bad_Name"))
    s.ask("create-long", "POST", dry, named(other, "n" * 260))
    s.ask("create-kind", "POST", dry, {**other, "kind": "Other"})
    s.ask("create-version", "POST", dry, {**other, "apiVersion": "example.com/v1"})
    s.ask("create-types", "POST", dry, {**other, "metadata": {"name": 7}})
    s.ask("create-labels", "POST", dry, meta(other, labels={"bad key": "v"}))
    s.ask("create-metadata", "POST", dry, meta(other, finalizers=["bad"], ownerReferences=[{"apiVersion": "v1", "kind": "Pod", "name": "", "uid": ""}],
                                               annotations={"/": "x"}))
    s.ask("create-space", "POST", dry, meta(other, namespace="elsewhere"))
    s.ask("create-managed", "POST", dry, meta(other, managedFields=[{"manager": "m", "operation": "Update", "apiVersion": "example.com/v9",
          "fieldsType": "FieldsV1", "fieldsV1": {"f:metadata": {}}, "time": "2020-01-01T00:00:00Z"}]))


def reads(s, all, one, name):
    s.ask("get", "GET", one)
    s.ask("get-table", "GET", one, headers={"Accept": TABLE})
    s.ask("get-partial", "GET", one, headers={"Accept": PARTIAL})
    s.ask("get-absent", "GET", one + "-absent")
    s.ask("list", "GET", all + "?labelSelector=d%3D1")
    s.ask("list-table", "GET", all + "?labelSelector=d%3D1", headers={"Accept": TABLE})
    s.ask("list-partial", "GET", all + "?labelSelector=d%3D1", headers={"Accept": PARTIALS})
    s.ask("list-name", "GET", f"{all}?fieldSelector=metadata.name%3D{name}", headers={"Accept": PARTIALS})
    s.ask("list-field", "GET", all + "?fieldSelector=spec.bogus%3D1")


def updates(s, kind, all, one, body):
    s.ask("put-same", "PUT", one, body)
    s.ask("put-version", "PUT", one, meta(body, resourceVersion="1"))
    s.ask("put-changed", "PUT", one + "?fieldManager=other", merged(body, kind.patch))
    s.ask("put-spec", "PUT", one + "?dryRun=All", {k: v for k, v in body.items() if k in ("apiVersion", "kind", "metadata")})
    s.ask("put-other-name", "PUT", one, named(body, "other"))
    s.ask("put-absent", "PUT", one + "-absent?dryRun=All", named(body, body["metadata"]["name"] + "-absent"))
    s.ask("put-uid", "PUT", one, meta(body, uid="00000000-0000-0000-0000-000000000001"))
    s.ask("put-yaml", "PUT", one + "?dryRun=All", yaml(body), "application/yaml")
    s.ask("put-protobuf", "PUT", one + "?dryRun=All", message.envelope(proto(kind), body), PROTOBUF)
    for mode in MODES:
        s.ask(f"put-unknown-{mode}", "PUT", f"{one}?dryRun=All&fieldValidation={mode}", {**body, "bogus": 1})


def patches(s, kind, one):
    s.ask("merge", "PATCH", one, kind.patch, MERGE)
    s.ask("merge-nothing", "PATCH", one, {}, MERGE)
    s.ask("strategic", "PATCH", one + "?dryRun=All", kind.patch, STRATEGIC)
    s.ask("json", "PATCH", one, [{"op": "add", "path": "/metadata/annotations", "value": {"j": "1"}}], PATCH)
    s.ask("json-test", "PATCH", one, [{"op": "test", "path": "/metadata/name", "value": "other"}], PATCH)
    s.ask("merge-absent", "PATCH", one + "-absent", kind.patch, MERGE)
    s.ask("merge-name", "PATCH", one, {"metadata": {"name": "other"}}, MERGE)
    s.ask("merge-version", "PATCH", one, {"metadata": {"resourceVersion": "1"}}, MERGE)
    s.ask("merge-type", "PATCH", one, {"metadata": {"labels": 1}}, MERGE)
    for mode in MODES:
        query = f"{one}?dryRun=All&fieldValidation={mode}"
        s.ask(f"merge-unknown-{mode}", "PATCH", query, '{"bogus": 1, "metadata": {"labels": {"q": "1"}, "labels": {"q": "1"}}}', MERGE)
        s.ask(f"strategic-unknown-{mode}", "PATCH", query, {"bogus": 1, "metadata": {"labels": {"q": "1"}}}, STRATEGIC)
        s.ask(f"json-unknown-{mode}", "PATCH", query, [{"op": "add", "path": "/bogus", "value": 1}], PATCH)


def applies(s, kind, all, one):
    name = fit(kind, "z")
    there = f"{all}/{name}"
    s.ask("apply", "PATCH", there + "?fieldManager=m", kind.object(name), APPLY)
    s.ask("apply-again", "PATCH", there + "?fieldManager=m", kind.object(name), APPLY)
    s.ask("apply-less", "PATCH", there + "?fieldManager=m", meta(kind.object(name), labels=None), APPLY)
    s.ask("apply-conflict", "PATCH", there + "?fieldManager=n", merged(kind.object(name), kind.patch), APPLY)
    s.ask("apply-force", "PATCH", there + "?fieldManager=n&force=true", merged(kind.object(name), kind.patch), APPLY)
    s.ask("apply-manager", "PATCH", there, kind.object(name), APPLY)
    s.ask("apply-unknown", "PATCH", there + "?fieldManager=m", {**kind.object(name), "bogus": 1}, APPLY)
    s.ask("apply-nameless", "PATCH", there + "?fieldManager=m&dryRun=All", meta(kind.object(name), name=None), APPLY)
    s.ask("apply-bare", "PATCH", there + "?fieldManager=m", {"metadata": {"name": name}}, APPLY)
    s.ask("apply-to-other", "PATCH", one + "?fieldManager=m&force=true", named(kind.object(name), one.rsplit("/", 1)[1]), APPLY)


def statuses(s, kind, one, body):
    there = one + "/status"
    status = {"apiVersion": kind.group_version, "kind": kind.kind, "metadata": {"name": body["metadata"]["name"]}, "status": kind.status}
    s.ask("status-get", "GET", there)
    s.ask("status-put", "PUT", there + "?dryRun=All&fieldManager=s", meta({**body, "status": kind.status}, resourceVersion="@rv@"))
    s.ask("status-put-unversioned", "PUT", there + "?dryRun=All", {**body, "status": kind.status})
    s.ask("status-put-alone", "PUT", there + "?dryRun=All", meta(status, resourceVersion="@rv@"))
    s.ask("status-labels", "PATCH", there + "?dryRun=All", {"metadata": {"labels": {"v": "1"}, "annotations": {"v": "1"}}}, MERGE)
    s.ask("status-finalizers", "PATCH", there + "?dryRun=All", {"metadata": {"finalizers": ["example.com/f"]}}, MERGE)
    s.ask("status-merge", "PATCH", there + "?fieldManager=s", {"status": kind.status}, MERGE)
    s.ask("status-strategic", "PATCH", there, {"status": kind.status}, STRATEGIC)
    s.ask("status-json", "PATCH", there + "?dryRun=All", [{"op": "replace", "path": "/status", "value": {}}], PATCH)
    s.ask("status-apply", "PATCH", there + "?fieldManager=a&force=true", status, APPLY)
    s.ask("status-spec", "PATCH", there, kind.patch, MERGE)
    s.ask("status-owner", "PATCH", there + "?dryRun=All", {"metadata": {"ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "o",
          "uid": "00000000-0000-0000-0000-000000000002"}]}}, MERGE)
    for mode in MODES:
        s.ask(f"status-unknown-{mode}", "PATCH", f"{there}?dryRun=All&fieldValidation={mode}", {"status": {"bogus": 1}}, MERGE)
    s.ask("status-type", "PATCH", there, {"status": "x"}, MERGE)
    s.ask("status-create", "POST", there, status)
    s.ask("status-delete", "DELETE", there)


def ends(s, all, one):
    s.ask("delete-uid", "DELETE", one, {"preconditions": {"uid": "00000000-0000-0000-0000-000000000001"}})
    s.ask("delete-version", "DELETE", one, {"preconditions": {"resourceVersion": "1"}})
    s.ask("delete-policy", "DELETE", one + "?propagationPolicy=Bogus")
    s.ask("delete-options", "DELETE", one, {"kind": "DeleteOptions", "apiVersion": "v1", "bogus": 1, "dryRun": ["Some"]})
    s.ask("delete-dry", "DELETE", one + "?dryRun=All")
    s.ask("delete-orphan", "DELETE", one + "?propagationPolicy=Orphan")
    s.ask("delete-finalizers", "PATCH", one, {"metadata": {"finalizers": None}}, MERGE)
    s.ask("delete", "DELETE", one + "?gracePeriodSeconds=0")
    s.ask("delete-again", "DELETE", one)
    s.ask("collection-dry", "DELETE", all + "?labelSelector=d%3D1&dryRun=All")
    s.ask("collection", "DELETE", all + "?labelSelector=d%3D1")
    s.ask("collection-empty", "DELETE", all + "?labelSelector=d%3D1")


def bad_values(kind):
    """Each value of the object in turn: missing, of another type, and wrong."""
    s = Scenario(kind.id + ".fields")
    path = kind.path(kind.space) + "?dryRun=All"
    base = named(kind.object("f"), fit(kind, "f"))
    for place in places(kind.body):
        label = ".".join(map(str, place))
        s.ask(f"{label}-gone", "POST", path, changed(base, place, None))
        value = at(kind.body, place)
        for what, bad in wrong(value):
            s.ask(f"{label}-{what}", "POST", path, changed(base, place, bad))
    return s


def changes(kind):
    """Each value of an object that is there changed in turn, and each of its status."""
    s = Scenario(kind.id + ".updates")
    all, name = kind.path(kind.space), fit(kind, "u")
    one = f"{all}/{name}"
    base = kind.object(name)
    # Upstream itself writes the status of a FlowSchema, when it likes.
    version = {} if kind.kind == "FlowSchema" else {"resourceVersion": "@rv@"}
    s.ask("make", "POST", all, base, compare="code")
    for place in places(kind.body):
        for what, other in others(at(kind.body, place)):
            s.ask(f"{'.'.join(map(str, place))}-{what}", "PUT", one + "?dryRun=All", meta(changed(base, place, other), **version))
    if kind.status is not None:
        full = {**base, "status": kind.status}
        s.ask("status", "PATCH", one + "/status", {"status": kind.status}, MERGE, compare="code")
        for place in places({"status": kind.status}):
            for what, other in others(at(full, place)):
                s.ask(f"{'.'.join(map(str, place))}-{what}", "PUT", one + "/status?dryRun=All", meta(changed(full, place, other), **version))
    s.ask("end", "DELETE", one + "?gracePeriodSeconds=0", compare="code")
    return s


def others(value):
    if isinstance(value, bool):
        return [("gone", None), ("other", not value)]
    if isinstance(value, int):
        return [("other", value + 1), ("low", -1)]
    if isinstance(value, str):
        return [("gone", None), ("other", value + "x")]
    return [("twice", value + value), ("empty", [])] if isinstance(value, list) else [("empty", {})]


def places(value, here=()):
    """Paths of everything inside, a parent before what it holds; the inside of pods only once (for pods)."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield here + (key,)
        if key != "template" and key != "jobTemplate":
            yield from places(item, here + (key,))


def wrong(value):
    if isinstance(value, bool):
        return [("type", "yes")]
    if isinstance(value, int):
        return [("low", -1), ("type", "x"), ("high", 2**31)]
    if isinstance(value, str):
        return [("bad", "!Bad value!"), ("empty", ""), ("type", 5)]
    return [("type", "x"), ("null", None)] if isinstance(value, list) else [("type", [])]


def at(value, place):
    for key in place:
        value = value[key]
    return value


def changed(base, place, value):
    out = copy.deepcopy(base)
    inner = at(out, place[:-1])
    if value is None and isinstance(inner, dict):
        del inner[place[-1]]
    else:
        inner[place[-1]] = value
    return out


def named(body, name):
    return meta(body, name=name)


def meta(body, **fields):
    kept = {**body["metadata"], **fields}
    return {**body, "metadata": {k: v for k, v in kept.items() if v is not None}}


def merged(value, patch):
    """What a merge patch makes of a value."""
    if not isinstance(value, dict) or not isinstance(patch, dict):
        return patch
    out = {k: v for k, v in value.items() if k not in patch}
    return {**out, **{k: merged(value.get(k), v) for k, v in patch.items() if v is not None}}


def yaml(value):
    """Block style on the outside, JSON inside: both are YAML."""
    return "".join(f"{key}: {json.dumps(item)}\n" for key, item in value.items())


def proto(kind):
    group = kind.group_version.split("/")[0].split(".")[0] if "/" in kind.group_version else "core"
    return f"{group}.{kind.group_version.split('/')[-1]}.{kind.kind}"
