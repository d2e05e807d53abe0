"""Asking a server all of the corpus, and what is kept of its answers."""
import hashlib
import json
import re
import sys
import time

from corpus import DEFINITIONS
from wire import Evener, Request

# Causes of which the text is kept; of more, only a hash.
KEPT = 4
CLIP = 150
# The type of a rule's subject has a name that is made up anew each time.
SELF = re.compile(r"\bselfType\d+")
# Paths of a decoding error come in the order of a map.
UNKNOWN = re.compile(r'(unknown field|duplicate field) "(?:[^"\\]|\\.)*"')


def ask(client, corpus, prefixes=()):
    """Every question with what is kept of its answer, and with the whole answer. Of some questions, those definitions are there that they need."""
    wanted = lambda id: not prefixes or any(id.startswith(prefix) for prefix in prefixes)
    if prefixes:
        corpus.keep(wanted)
    yield from each(client, corpus.broken(), wanted)
    yield from each(client, corpus.published(), wanted, lambda id: id.startswith("published/"))
    wait(client, corpus)
    yield from each(client, corpus.established(), wanted)
    version_of = lambda path: ((get(client, path) or {}).get("metadata") or {}).get("resourceVersion")
    yield from each(client, corpus.changed(version_of), wanted)
    list(each(client, corpus.unconverted(), lambda id: True))
    for name in corpus.namespaces():
        client.ask(Request("namespace", "POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}))
    wait(client, corpus)
    yield from each(client, corpus.instances(), wanted)
    yield from each(client, corpus.kept(version_of), wanted, lambda id: id.endswith("/made"))
    yield from each(client, corpus.tightened(version_of, lambda *what: settle(client, *what)), wanted, lambda id: id.endswith("/tightened"))


class Exact(Evener):
    def text(self, text):
        return SELF.sub("self", super().text(text))

    def cause(self, cause, message):
        return "|".join([cause.get("reason", ""), cause.get("field", ""), self.text(cause.get("message", ""))])


def each(client, requests, wanted, needed=lambda id: False):
    for request in requests:
        if not wanted(request.id) and not needed(request.id):
            continue
        mark = request.mark()
        request.body = getattr(request, "sent", request.body)
        if hasattr(request, "sent_kind"):
            request.headers["Content-Type"] = request.sent_kind
        whole = Exact(client).answer(*client.ask(request))
        if request.id.startswith("status/"):
            whole = about_status(whole)
        elif request.id.endswith("/tightened"):
            # Whether it is accepted; the status may by now tell of objects that do not fit.
            whole.pop("body", None)
        if wanted(request.id):
            yield request, mark, whole, kept(whole)


def get(client, path):
    try:
        return json.loads(client.ask(Request("get", "GET", path))[2])
    except ValueError:
        return None


def wait(client, corpus):
    """Until every definition was decided on, and every served version of those that are established answers."""
    end = time.monotonic() + 300
    for document in reversed(corpus.definitions):
        name = document.value["metadata"]["name"]
        while time.monotonic() < end:
            found = get(client, f"{DEFINITIONS}/{name}")
            if found["kind"] == "Status":
                break
            conditions = {c["type"]: c["status"] for c in (found.get("status") or {}).get("conditions") or []}
            if conditions.get("NamesAccepted") == "False" or conditions.get("Established") == "True":
                break
            time.sleep(0.1)
        else:
            sys.exit(f"{name} was not established")
    for document in corpus.definitions[-1:]:
        spec = document.value["spec"]
        version = next(version["name"] for version in spec["versions"] if version.get("served"))
        while time.monotonic() < end:
            if client.ask(Request("list", "GET", f"/apis/{spec['group']}/{version}/{spec['names']['plural']}"))[0] == 200:
                break
            time.sleep(0.1)


def settle(client, place, body):
    """Until an object is refused that was good before; not for long, since some stay good."""
    for _ in range(10):
        if client.ask(Request("try", "POST", f"{place}?dryRun=All", body))[0] != 201:
            break
        time.sleep(0.1)


def about_status(answer):
    status = (answer.get("body") or {}).get("status") or {}
    conditions = sorted(" ".join([c["type"], c["status"], c.get("reason", ""), c.get("message", "")]) for c in status.get("conditions") or [])
    return {"code": answer["code"], "conditions": conditions, "names": status.get("acceptedNames"), "stored": status.get("storedVersions")}


# ---------------------------------------------------------------- keeping
def kept(answer):
    """Short, but so that it can be told what differs: texts clipped, bodies as hashes of their parts."""
    out = {"code": answer["code"]}
    if "conditions" in answer:
        usual = [c for c in answer["conditions"] if c not in USUAL]
        out.update({key: value for key, value in (("conditions", usual), ("rest", digest([answer["names"], answer["stored"]]))) if value})
        return out
    if answer.get("reason") and answer["reason"] != REASONS.get(answer["code"]):
        out["reason"] = answer["reason"]
    causes = answer.get("causes") or []
    if len(causes) > 1 or answer["code"] == 422:
        # The message is made of them, in an order that comes from a map.
        texts = sorted(cause.removeprefix("FieldValue") for cause in whole_causes(answer))
        out["causes"] = [clip(text) for text in texts[:KEPT]] + ([f"{len(texts)} #{digest(texts)}"] if len(texts) > KEPT else [])
    elif answer.get("message"):
        out["message"] = clip(in_order(answer["message"]))
    if answer.get("warnings"):
        texts = sorted(in_order(text.removeprefix("299 - ")) for text in answer["warnings"])
        out["warnings"] = [clip(text) for text in texts[:KEPT]] + ([f"{len(texts)} #{digest(texts)}"] if len(texts) > KEPT else [])
    body = answer.get("body")
    if isinstance(body, dict):
        out["body"] = " ".join(digest(part)[:5] for part in parts(body).values())
    return out


REASONS = {400: "BadRequest", 403: "Forbidden", 404: "NotFound", 405: "MethodNotAllowed", 409: "Conflict", 415: "UnsupportedMediaType", 422: "Invalid"}
USUAL = ("Established True InitialNamesAccepted the initial names have been accepted", "NamesAccepted True NoConflicts no conflicts found")


def whole_causes(answer):
    return answer["causes"] if answer.get("causes") else [answer.get("message", "")]


PARTS = ("meta", "owned", "status", "rest")


def parts(body):
    """What PARTS names: metadata, managed fields, status, and the rest."""
    metadata = dict(body.get("metadata") or {})
    owned = metadata.pop("managedFields", None)
    for key in ("uid", "resourceVersion", "creationTimestamp"):
        metadata.pop(key, None)
    if metadata.get("generateName"):
        metadata["name"] = metadata.get("name", "")[:-5]
    rest = {key: value for key, value in body.items() if key not in ("metadata", "status")}
    status = body.get("status")
    if body.get("kind") == "CustomResourceDefinition" and isinstance(status, dict) and status.get("conditions"):
        # In the order of the controllers that were the first.
        status = {**status, "conditions": sorted(status["conditions"], key=lambda condition: condition["type"])}
    return dict(zip(PARTS, (metadata, owned, status, rest)))


def in_order(text):
    # Which errors it names, and how many, depends on the order of a map, too.
    if "typed patch object (" in text:
        text = text.split("): ")[0]
    found = [match.group(0) for match in UNKNOWN.finditer(text)]
    return UNKNOWN.sub("?", text) + " " + ", ".join(sorted(found)) if len(found) > 1 else text


def clip(text):
    return text if len(text) <= CLIP else f"{text[:CLIP - 20]}…#{digest(text)[:6]}"


def digest(value):
    return hashlib.sha256(json.dumps(value, sort_keys=True, ensure_ascii=False).encode()).hexdigest()[:8]
