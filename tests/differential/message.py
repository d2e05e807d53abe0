"""Objects as protobuf, by the table of types that the server itself is made from (crates/kinds/facts/types.facts).

Only what the corpus needs: fields are written in the table's order, and a value that does not fit its field is an error.
"""
import base64
import datetime
import json
import pathlib
import struct

TYPES = pathlib.Path(__file__).resolve().parents[2] / "crates/kinds/facts/types.facts"
MAGIC = b"k8s\0"


def load():
    types, fields = {}, None
    for line in TYPES.read_text().splitlines():
        words = line.split()
        if line.startswith("type "):
            fields = types[words[1]] = {}
        elif line.startswith("  ") and len(words) > 2 and fields is not None:
            key = ("inline", words[2]) if words[0] == "inline" else words[0]
            fields[key] = (words[1], words[2])
    return types


KNOWN = load()


def envelope(type_name, document, unknown_field=False):
    """What a client sends: the magic, and an Unknown with type and bytes."""
    raw = message(type_name, document) + (piece(15000, b"x") if unknown_field else b"")
    about = piece(1, document.get("apiVersion", "").encode()) + piece(2, document.get("kind", "").encode())
    return MAGIC + piece(1, about) + piece(2, raw)


def message(type_name, value):
    out = b""
    for key, (number, kind) in KNOWN[type_name].items():
        if isinstance(key, tuple):                                     # an inline struct: a message of its own, or nothing
            if number != "-":
                inner = message(kind.lstrip("*"), value)
                out += piece(int(number), inner) if inner or not kind.startswith("*") else b""
        elif value.get(key) is not None:
            out += field(int(number), kind, value[key])
    return out


def field(number, kind, value):
    kind = kind.lstrip("*")
    if kind.startswith("[]"):
        return b"".join(field(number, kind[2:], item) for item in value)
    if kind.startswith("map[string]"):
        return b"".join(piece(number, piece(1, k.encode()) + field(2, kind[11:], v)) for k, v in sorted(value.items()))
    name, _, alias = kind.partition(":")
    if alias in KNOWN and "items" in KNOWN[alias]:                     # a list that is a message
        return piece(number, b"".join(piece(1, item.encode()) for item in value))
    if name == "string":
        return piece(number, value.encode())
    if name == "bytes":
        return piece(number, base64.b64decode(value))
    if name == "bool":
        return varint(number << 3) + varint(int(value))
    if name in ("int32", "int64"):
        return varint(number << 3) + varint(value & (2**64 - 1))
    if name == "float64":
        return varint(number << 3 | 1) + struct.pack("<d", value)
    return piece(number, special(name, value) if name in SPECIAL else message(name, value))


def special(name, value):
    return SPECIAL[name](value)


def time(value):
    head, _, fraction = value.rstrip("Z").partition(".")
    seconds = int(datetime.datetime.fromisoformat(head + "+00:00").timestamp())
    return varint(1 << 3) + varint(seconds) + varint(2 << 3) + varint(int((fraction or "0").ljust(9, "0")))


def int_or_string(value):
    if isinstance(value, str):
        return varint(1 << 3) + varint(1) + piece(3, value.encode())
    return varint(1 << 3) + varint(0) + varint(2 << 3) + varint(value & (2**64 - 1))


def raw(value):
    return piece(1, json.dumps(value).encode())


SPECIAL = {
    "meta.v1.Time": time, "meta.v1.MicroTime": time, "util.intstr.IntOrString": int_or_string, "runtime.RawExtension": raw,
    "meta.v1.FieldsV1": raw, "api.resource.Quantity": lambda value: piece(1, str(value).encode()),
}


def piece(number, data):
    return varint(number << 3 | 2) + varint(len(data)) + data


def varint(n):
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    out.append(n)
    return bytes(out)
