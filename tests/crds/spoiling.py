"""Ways to spoil a manifest: one place of it, which a hash decides on, gets another value."""
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
