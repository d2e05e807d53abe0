"""Asking a server, and making its answers comparable with another server's."""
import datetime
import hashlib
import http.client
import json
import re
import ssl
import urllib.parse

http.client._MAXHEADERS = 2000
UUID = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")
STAMP = re.compile(r"\b(\d{4}-\d\d-\d\d)[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z| \+0000 UTC)")
JWT = re.compile(r"\beyJ[\w-]+\.[\w-]+\.[\w-]+")
VERSION = re.compile(r"((?:[Rr]esource ?[Vv]ersion(?: in object meta| in precondition)?: |, current: |ResourceVersion in record \(|"
                     r"resourceVersion\\*\"?:\\*\"?|too old resource version: \d+ \())(\d{2,9})\b")
# Whole objects in messages: the order of their fields and entries is nobody's promise.
DUMP = re.compile(r'(?<=Invalid value: )"\{.*\}": ', re.DOTALL)
TODAY = datetime.datetime.now(datetime.timezone.utc).date()
USERS = {"alice": "alice-token", "bob": "bob-token"}


class Request:
    """What is sent. `body` is bytes, a text, or something that becomes JSON."""

    def __init__(self, id, method, path, body=None, kind=None, headers=None, user="admin", compare="all"):
        self.id, self.method, self.path, self.user, self.compare = id, method, path, user, compare
        self.headers = {"Accept": "application/json", "User-Agent": "differential/1", **(headers or {})}
        if body is not None:
            self.headers.setdefault("Content-Type", kind or "application/json")
            if not isinstance(body, (bytes, str)):
                body = json.dumps(body, separators=(",", ":"))
        self.body = body.encode() if isinstance(body, str) else body

    def mark(self):
        """Changes when what is asked changes: an answer belongs to one question."""
        what = json.dumps([self.method, self.path, sorted(self.headers.items()), self.user]).encode() + (self.body or b"")
        return hashlib.sha256(what).hexdigest()[:6]


class Client:
    def __init__(self, url, token):
        address = urllib.parse.urlparse(url)
        self.host, self.port, self.token = address.hostname, address.port, token
        self.trust = ssl._create_unverified_context()
        self.connection = None

    def ask(self, request):
        """The code, the headers and the body, as they came."""
        for attempt in (1, 2):
            try:
                return self.once(request)
            except (http.client.HTTPException, OSError) as error:
                self.connection = None
                if attempt == 2:
                    return 0, {}, str(error).encode()

    def once(self, request):
        if self.connection is None:
            self.connection = http.client.HTTPSConnection(self.host, self.port, context=self.trust, timeout=60)
        connection = self.connection
        connection.putrequest(request.method, request.path, skip_accept_encoding=True)
        headers = dict(request.headers)
        if request.user != "anonymous":
            headers.setdefault("Authorization", "Bearer " + USERS.get(request.user, self.token))
        for name, value in headers.items():
            for one in value if isinstance(value, list) else [value]:
                connection.putheader(name, one)
        if request.body is not None:
            connection.putheader("Content-Length", str(len(request.body)))
        connection.endheaders(request.body)
        response = connection.getresponse()
        data = response.read()
        if response.will_close:
            connection.close()
            self.connection = None
        return response.status, response.headers, data


class Evener:
    """Evens out what differs between two runs. One per scenario: of a version it is told whether it came up in it before."""

    def __init__(self, client):
        self.port = client.port
        self.versions = set()

    def answer(self, code, headers, data):
        """A dictionary that is equal where two servers say the same."""
        out = {"code": code}
        kind = headers.get("Content-Type") if headers else None
        if kind and kind != "application/json":
            out["type"] = kind
        warnings = (headers.get_all("Warning") or []) if headers else []
        if warnings:
            out["warnings"] = [self.text(w.encode("latin-1").decode("utf-8", "replace")) for w in warnings]
        body = parse(data)
        if isinstance(body, dict) and body.get("kind") == "Status" and "status" in body:
            return {**out, **self.status(body)}
        if isinstance(body, bytes):
            out["body"] = {"bytes": "some"}
        elif body is not None:
            out["body"] = self.even(body)
        return out

    def status(self, body):
        out = {}
        for key in ("reason", "message"):
            if body.get(key):
                out[key] = self.text(body[key])
        if body.get("status") != "Failure":
            out["status"] = body.get("status")
        details = self.even(body.get("details") or {})
        causes = details.pop("causes", None)
        # What strict decoding found is also told as causes here, which upstream does not do (docs/differences.md).
        if causes and "strict decoding error" not in body.get("message", ""):
            out["causes"] = [self.cause(c, body.get("message", "")) for c in causes]
        if details:
            out["details"] = " ".join(f"{k}={v}" for k, v in sorted(details.items()))
        return out

    def cause(self, cause, message):
        """Its text only where the message does not have it."""
        text = cause.get("message", "")
        return "|".join([cause.get("reason", ""), cause.get("field", ""), "" if text in message else self.text(text)])

    def even(self, value, key=""):
        if isinstance(value, str):
            if key == "resourceVersion" and value.isdigit() and value != "0":
                seen = value in self.versions
                self.versions.add(value)
                return "<same>" if seen else "<new>"
            return self.text(value)
        if isinstance(value, list):
            if key == "managedFields":
                return sorted((self.even(item) for item in value), key=lambda item: json.dumps(item, sort_keys=True))
            return [self.even(item) for item in value]
        if not isinstance(value, dict):
            return "<port>" if value == self.port else value
        out = {}
        listed = "items" in value or "rows" in value
        for name, item in value.items():
            if name == "metadata" and listed and isinstance(item, dict):
                item = {k: "<some>" if k in ("resourceVersion", "continue") and v else v for k, v in item.items()}
            if name == "columnDefinitions":                            # descriptions are prose
                item = [{k: v for k, v in column.items() if k != "description"} for column in item]
            if name == "cells":
                item = ["<age>" if isinstance(c, str) and re.fullmatch(r"(\d+[smhdy])+", c) else c for c in item]
            if name == "nodePort" and isinstance(item, int) and item >= 30000:
                item = "<port>"
            if name == "clusterIP" and item != "None":
                item = "<ip>"
            if name == "clusterIPs" and item != ["None"]:
                item = ["<ip>"]
            out[UUID.sub("<uid>", name)] = self.even(item, name)
        return out

    def text(self, text):
        text = JWT.sub("<token>", UUID.sub("<uid>", text)).replace(f":{self.port}", ":<port>")
        text = DUMP.sub('"<object>": ', text)
        text = VERSION.sub(lambda m: m.group(1) + "<rv>", text)
        return STAMP.sub(near, text)


def near(match):
    """Times of this run are evened out, times that the corpus gave are not."""
    try:
        day = datetime.date.fromisoformat(match.group(1))
    except ValueError:
        return match.group(0)
    return "<time>" if abs((day - TODAY).days) <= 400 else match.group(0)


def parse(data):
    if not data:
        return None
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return data
    if text.startswith("k8s\0"):
        return data
    try:
        return json.loads(text)
    except ValueError:
        lines = [line for line in text.splitlines() if line.strip()]
        try:
            return [json.loads(line) for line in lines]               # a stream
        except ValueError:
            return text
