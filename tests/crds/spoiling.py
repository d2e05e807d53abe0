"""Ways to spoil a manifest: one place of it, which a hash decides on, gets another value, or its schema becomes stricter there."""
import copy
import hashlib

VALUES = ("", "a", "A b/ü", "x" * 5000, 0, -1, 1, 3.5, 10**12, True, False, None, [], ["a"], [None], [1, "a"], {}, {"a": "b"}, {"a": None}, [{}], [[]], "1", "true", "10s", "2020-01-01T00:00:00Z")


def spoil(value, seed):
    """A copy of an object that has one thing else below its top level, and what was done."""
    spoiled = copy.deepcopy(value)
    draw = Draw(seed)
    places = []
    for key, part in spoiled.items():
        if key not in ("apiVersion", "kind", "metadata"):
            collect(spoiled, key, part, places)
    if not places:
        spoiled["spec"] = draw.of(VALUES)
        return spoiled
    holder, key = draw.of(places)
    what = draw.of(range(10))
    if what < 4:
        holder[key] = copy.deepcopy(draw.of(VALUES))
    elif what < 6 and isinstance(holder, dict):
        del holder[key]
    elif what < 7 and isinstance(holder, dict):
        holder[key + "Unknown"] = holder[key]
    elif what < 8 and isinstance(holder[key], list) and holder[key]:
        holder[key] = holder[key] + copy.deepcopy(holder[key])
    elif what < 9 and isinstance(holder[key], str):
        holder[key] = draw.of((holder[key] + "\n", holder[key].upper(), holder[key] * 40, "-" + holder[key]))
    else:
        holder[key] = near(holder[key], draw)
    return spoiled


def tighten(schema, value, seed):
    """Whether a schema, which is changed, could be made stricter about some place of a value below its top level."""
    draw, found = Draw(seed), []
    for key, part in value.items():
        child = (schema.get("properties") or {}).get(key)
        if key not in ("apiVersion", "kind", "metadata", "status") and isinstance(child, dict):
            described(child, part, found)
    if not found:
        return False
    node = draw.of(found)
    keyword, never = draw.of(STRICTER["any"] + STRICTER.get(node["type"], ()))
    if keyword == "required" and not node.get("additionalProperties"):
        node.setdefault("properties", {})["neverThere"] = {"type": "string"}
    node.pop("default", None)
    node[keyword] = copy.deepcopy(never)
    return True


NEVER = [{"rule": "false", "message": "never"}]
STRICTER = {
    "any": (("x-kubernetes-validations", NEVER),),
    "string": (("pattern", "^never$"), ("maxLength", 0), ("enum", ["never"]), ("minLength", 1000), ("format", "ipv6")),
    "integer": (("maximum", -5), ("minimum", 10**7), ("enum", [-7]), ("multipleOf", 999983)),
    "array": (("maxItems", 0), ("minItems", 500)),
    "object": (("required", ["neverThere"]), ("maxProperties", 0), ("minProperties", 50), ("not", {}), ("anyOf", [{"required": ["neverThere"]}])),
    "boolean": (("enum", [False]),),
}


def described(schema, value, found):
    """Schemas of the parts of a value."""
    if schema.get("type"):
        found.append(schema)
    if isinstance(value, dict):
        for key, part in value.items():
            child = (schema.get("properties") or {}).get(key) or schema.get("additionalProperties")
            if isinstance(child, dict):
                described(child, part, found)
    elif isinstance(value, list) and isinstance(schema.get("items"), dict):
        for part in value:
            described(schema["items"], part, found)


def near(value, draw):
    """A value of the same type, where there is one."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        return draw.of((value + 1, -value, value * 100000, value + 0.5, 0))
    if isinstance(value, str):
        return draw.of(("", value + "x", value[:1], "other"))
    if isinstance(value, list):
        return draw.of(([], value[:1], value * 20, value[::-1]))
    if isinstance(value, dict):
        return draw.of(({}, {**value, "unknown": 1}, dict(list(value.items())[:1])))
    return draw.of(VALUES)


def collect(holder, key, value, places):
    places.append((holder, key))
    if isinstance(value, dict):
        for name, part in value.items():
            collect(value, name, part, places)
    elif isinstance(value, list):
        for index, part in enumerate(value):
            collect(value, index, part, places)


class Draw:
    def __init__(self, seed):
        self.seed, self.asked = seed, 0

    def of(self, items):
        self.asked += 1
        number = hashlib.sha256(f"{self.seed} {self.asked}".encode()).digest()
        return items[int.from_bytes(number[:6], "big") % len(items)]
