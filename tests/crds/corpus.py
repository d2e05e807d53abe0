"""The questions: a definition as it was published, broken in some way, changed in some way, and the manifests of its kind."""
import copy
import json
import re

import packages
from mutations import MUTATIONS, mutate, schema_of
from spoiling import spoil, tighten
from wire import Request

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
# Definitions up to this size, in bytes, are also broken; each in so many ways, and every so many-th also in an update.
SMALL, WAYS, EVERY = 200_000, 3, 2
NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


# Updates begin with another way than what is broken.
CHANGED = 59
MODES = ("Strict", "Warn")
WORDS = (*MODES, "spoiled", "made", "put", "merge", "apply", "tightened", "same", "else", "reapply")
# Every so many-th manifest is created, not only tried.
KEPT = 4


class Corpus:
    def __init__(self):
        self.definitions, self.samples = packages.load()
        self.wanted = lambda id: True
        # Of every kind, the manifest whose definition becomes stricter.
        self.first = {}
        for sample in self.samples:
            if not int(sample.digest, 16) % KEPT:
                self.first.setdefault((sample.value["apiVersion"].split("/")[0], sample.value["kind"]), sample.digest)
        self.small = [document for document in self.definitions if len(document.text) <= SMALL]

    def keep(self, wanted):
        """Only what is wanted stays, with the definitions that it needs."""
        self.samples = [sample for sample in self.samples if any(wanted(f"{id_of(sample)}/{word}") for word in WORDS)]
        kinds = {(sample.value["apiVersion"].split("/")[0], sample.value["kind"]) for sample in self.samples}
        names = {name for word in ("strict", "published", "status") for name in self.names() if wanted(f"{word}/{name}")}
        names |= {name for name, way, _ in self.mutated(1, CHANGED, EVERY) if wanted(f"changed/{name}/{way}")}
        self.wanted = wanted
        self.definitions = [document for document in self.definitions
                            if document.value["metadata"]["name"] in names or (document.value["spec"]["group"], document.value["spec"]["names"]["kind"]) in kinds]

    def names(self):
        return [document.value["metadata"]["name"] for document in self.definitions]

    def broken(self):
        """Before anything is there."""
        for name, way, value in self.mutated(WAYS, 0, 1):
            yield Request(f"broken/{name}/{way}", "POST", f"{DEFINITIONS}?dryRun=All&fieldValidation=Warn", value)

    def published(self):
        for document in self.definitions:
            name = document.value["metadata"]["name"]
            if len(document.text) <= SMALL:
                yield Request(f"strict/{name}", "POST", f"{DEFINITIONS}?dryRun=All&fieldValidation=Strict", document.text, kind_of(document.text))
            yield read_by_client(Request(f"published/{name}", "POST", DEFINITIONS, document.text, kind_of(document.text)), document.value)

    def established(self):
        for document in self.definitions:
            name = document.value["metadata"]["name"]
            yield Request(f"status/{name}", "GET", f"{DEFINITIONS}/{name}")

    def changed(self, version_of):
        """Updates of what is there."""
        for name, way, value in self.mutated(1, CHANGED, EVERY):
            if not self.wanted(f"changed/{name}/{way}"):
                continue
            request = Request(f"changed/{name}/{way}", "PUT", f"{DEFINITIONS}/{name}?dryRun=All&fieldValidation=Warn", value)
            yield versioned(request, value, version_of(f"{DEFINITIONS}/{name}"))

    def mutated(self, ways, offset, every):
        """Every way in turn; one that does not fit gives its place to the next."""
        order = list(MUTATIONS)
        at = offset
        for document in self.small[::every]:
            name, done = document.value["metadata"]["name"], 0
            for step in range(len(order)):
                way = order[(at + step) % len(order)]
                value = mutate(document.value, way)
                if value is not None:
                    yield name, way, value
                    done += 1
                if done == ways:
                    break
            at += step + 1

    def unconverted(self):
        """Nobody answers a webhook here: kinds that would be converted by one are not converted."""
        for document in self.definitions:
            if (document.value["spec"].get("conversion") or {}).get("strategy") == "Webhook":
                name = document.value["metadata"]["name"]
                body = {"spec": {"conversion": {"strategy": "None", "webhook": None}}}
                yield Request(f"unconverted/{name}", "PATCH", f"{DEFINITIONS}/{name}", body, "application/merge-patch+json")

    def namespaces(self):
        return sorted({namespace_of(sample.value) for sample in self.samples})

    def instances(self):
        """Manifests as they are, and with one thing spoiled."""
        for sample, place in self.placed():
            for mode in MODES:
                yield Request(f"{id_of(sample)}/{mode}", "POST", f"{place}?dryRun=All&fieldValidation={mode}", sample.text, kind_of(sample.text))
            body = spoil(nameable(sample), f"create {sample.digest}")
            yield Request(f"{id_of(sample)}/spoiled", "POST", f"{place}?dryRun=All&fieldValidation=Warn", body)

    def kept(self, version_of):
        """Some manifests are created under names of their own, and changed by update, merge and apply. `version_of` says which resource
        version the object at a path has."""
        for sample, place in self.placed():
            if int(sample.digest, 16) % KEPT:
                continue
            id, body = id_of(sample), nameable(sample)
            yield Request(f"{id}/made", "POST", place, body)
            there = f"{place}/{body['metadata']['name']}?dryRun=All"
            for way in ("put", "merge", "apply"):
                changed = spoil(body, f"{way} {sample.digest}")
                if way == "put":
                    request = Request(f"{id}/{way}", "PUT", f"{there}&fieldValidation=Warn", changed)
                    yield versioned(request, changed, version_of(there.split("?")[0]))
                elif way == "merge":
                    changed.pop("metadata")
                    yield Request(f"{id}/{way}", "PATCH", f"{there}&fieldValidation=Strict", changed, "application/merge-patch+json")
                else:
                    yield Request(f"{id}/{way}", "PATCH", f"{there}&fieldManager=me&force=true", changed, "application/apply-patch+yaml")

    def tightened(self, version_of, settle):
        """Of what was created, an object of every kind: its definition becomes stricter about something that it has, and it is changed.
        `settle` waits until the definition is obeyed."""
        kinds = {(document.value["spec"]["group"], document.value["spec"]["names"]["kind"]): document.value for document in self.definitions if len(document.text) <= SMALL}
        for sample, place in self.placed():
            group, version = sample.value["apiVersion"].split("/")
            definition = copy.deepcopy(kinds.get((group, sample.value["kind"])))
            if definition is None or self.first.get((group, sample.value["kind"])) != sample.digest:
                continue
            body, id = nameable(sample), id_of(sample)
            if version_of(f"{place}/{body['metadata']['name']}") is None:
                continue
            definition["spec"].pop("conversion", None)
            schema = schema_of(next(one for one in definition["spec"]["versions"] if one["name"] == version))
            if schema is None or not tighten(schema, body, f"tighten {sample.digest}"):
                continue
            there = f"{DEFINITIONS}/{definition['metadata']['name']}"
            yield versioned(Request(f"{id}/tightened", "PUT", there, definition), definition, version_of(there))
            body["metadata"]["name"] += "-more"
            settle(place, body)
            body["metadata"]["name"] = f"x-{sample.digest}"
            there = f"{place}/{body['metadata']['name']}"
            body["metadata"]["labels"] = {"more": "x"}
            for way, changed in (("same", body), ("else", spoil(body, f"else {sample.digest}"))):
                yield versioned(Request(f"{id}/{way}", "PUT", f"{there}?dryRun=All", changed), changed, version_of(there))
            yield Request(f"{id}/reapply", "PATCH", f"{there}?dryRun=All&fieldManager=me&force=true", body, "application/apply-patch+yaml")

    def placed(self):
        """Every manifest with the path of its collection."""
        kinds = {}
        for document in self.definitions:
            spec = document.value["spec"]
            for version in spec["versions"]:
                where = f"/apis/{spec['group']}/{version['name']}", spec["names"]["plural"], spec.get("scope") == "Namespaced"
                kinds.setdefault((f"{spec['group']}/{version['name']}", spec["names"]["kind"]), where)
        for sample in self.samples:
            begin, plural, namespaced = kinds[sample.value["apiVersion"], sample.value["kind"]]
            space = f"/namespaces/{namespace_of(sample.value)}" if namespaced else ""
            yield sample, f"{begin}{space}/{plural}"


def versioned(request, value, version):
    """The request as it is sent: of what is there. The mark of a question does not depend on it."""
    value = copy.deepcopy(value)
    if isinstance(value.get("metadata"), dict):
        value["metadata"]["resourceVersion"] = version or "1"
    request.sent = json.dumps(value).encode()
    return request


def read_by_client(request, value):
    """The request as kubectl sends it, which reads YAML itself. The mark of a question does not depend on it."""
    request.sent, request.sent_kind = json.dumps(value).encode(), "application/json"
    return request


def nameable(sample):
    """The manifest as one that may be created, whatever else there is."""
    body = copy.deepcopy(sample.value)
    metadata = body.get("metadata") if isinstance(body.get("metadata"), dict) else {}
    body["metadata"] = {key: metadata[key] for key in ("namespace", "labels", "annotations", "finalizers") if key in metadata}
    body["metadata"]["name"] = f"x-{sample.digest}"
    return body


def id_of(sample):
    return f"sample/{sample.project}/{sample.value['kind']}-{sample.digest}"


def kind_of(text):
    return "application/json" if text.startswith("{") else "application/yaml"


def namespace_of(value):
    metadata = value.get("metadata")
    namespace = metadata.get("namespace") if isinstance(metadata, dict) else None
    return namespace if isinstance(namespace, str) and NAMESPACE.fullmatch(namespace) else "default"
