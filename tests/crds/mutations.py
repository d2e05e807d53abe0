"""Ways to break a definition, or to change it so that it stays good: each takes one that others wrote and changes one thing.

Where it is changed is decided by a hash of the definition's and the mutation's name, so that a run breaks what the recording broke. A
mutation that finds no place for itself says so by returning False.
"""
import copy
import hashlib

MUTATIONS = {}
ABSENT = object()


def mutation(function):
    MUTATIONS[function.__name__.replace("_", "-")] = function
    return function


def mutate(definition, name):
    """A changed copy, or nothing."""
    changed = copy.deepcopy(definition)
    it = Definition(changed, f"{changed['metadata']['name']} {name}")
    return None if MUTATIONS[name](it) is False else changed


class Definition:
    def __init__(self, value, seed):
        self.value, self.seed, self.asked = value, seed, 0
        self.spec = value["spec"]
        self.versions = self.spec["versions"]

    def pick(self, items):
        """One of them, always the same."""
        items = list(items)
        if not items:
            return None
        self.asked += 1
        number = hashlib.sha256(f"{self.seed} {self.asked}".encode()).digest()
        return items[int.from_bytes(number[:6], "big") % len(items)]

    def version(self):
        return self.pick(self.versions)

    def root(self):
        return self.pick(schema for schema in map(schema_of, self.versions) if schema is not None)

    def nodes(self, kind=None, below=1, where=lambda node: True):
        """Schemas of values, with the schema they are in, that are at least so deep."""
        found = []
        for version in self.versions:
            schema = schema_of(version)
            if schema is not None:
                walk(schema, None, 0, found)
        return [node for node, depth in found if depth >= below and (kind is None or node.get("type") == kind) and where(node)]

    def node(self, kind=None, below=1, where=lambda node: True):
        return self.pick(self.nodes(kind, below, where))


def schema_of(version):
    schema = version.get("schema")
    schema = schema.get("openAPIV3Schema") if isinstance(schema, dict) else None
    return schema if isinstance(schema, dict) else None


def walk(node, name, depth, found):
    """Not below metadata of the root, where little is allowed."""
    found.append((node, depth))
    for key, child in (node.get("properties") or {}).items():
        if isinstance(child, dict) and not (depth == 0 and key in ("metadata", "apiVersion", "kind")):
            walk(child, key, depth + 1, found)
    for key in ("items", "additionalProperties"):
        if isinstance(node.get(key), dict):
            walk(node[key], name, depth + 1, found)


def put(name, values, kind=None, below=1, where=lambda node: True):
    """A mutation that gives a schema of a kind a keyword, one value or another."""
    def apply(it):
        node = it.node(kind, below, where)
        if node is None:
            return False
        key, value = it.pick(values)
        if value is ABSENT:
            node.pop(key, None)
        else:
            node[key] = copy.deepcopy(value)
    MUTATIONS[name] = apply


def plain(node):
    return "default" not in node and "enum" not in node


# ---------------------------------------------------------------- keywords of schemas
put("type-unknown", [("type", "strng"), ("type", "String"), ("type", "null"), ("type", ""), ("type", "map")])
put("type-missing", [("type", ABSENT)])
put("type-swapped", [("type", "integer"), ("type", "boolean"), ("type", "number"), ("type", "array"), ("type", "object")], "string")
put("type-of-object", [("type", "string"), ("type", "array"), ("type", "integer")], "object")
put("format-unknown", [("format", "made-up"), ("format", "uint7"), ("format", "email2")], "string")
put("format-known", [("format", "date-time"), ("format", "ipv4"), ("format", "byte"), ("format", "uuid"), ("format", "duration")], "string", where=plain)
put("format-of-number", [("format", "int16"), ("format", "uint8"), ("format", "float16"), ("format", "date")], "integer")
put("pattern-broken", [("pattern", text) for text in ("([a-z", "a**", "[z-a]", "\\p{Nope}", "a{2,1}", "[[:nope:]]", "(?P<n>a)(?P<n>b)", ")", "*a", "a|*", "[a", "(?i", "a{1,2}{3}{4}**", "x\\", "[\\d-z]", "(?P<1 >a)")], "string")
put("pattern-not-of-go", [("pattern", text) for text in ("^(?!x).*$", "(?<=a)b", "(a)\\1", "a{1001}", "\\Z", "(?>a)", "a++", "\\8", "\\c", "\\x{110000}", "(?#a)", "(?z)a", "\\h", "(a{500}){500}", "(?<n", "\\u0041")], "string")
put("pattern-good", [("pattern", text) for text in ("^[a-z]{1,5}$", "\\d+\\pL", "(?i)abc", "[[:alpha:]]+", "\\ a", "[]a]", "[^]a]", "a{,3}", "\\Qa*\\E", "(?P<n>a)(?<m>b)", "\\x{41}\\101", "[a-\\d]", "[\\-\\ ]", "(?s-m:a.)", "\\pN\\PL", "{a}")], "string", where=plain)
put("default-of-another-type", [("default", 7), ("default", True), ("default", ["a"]), ("default", {"a": "b"}), ("default", 1.5)], "string", 2)
put("default-good", [("default", "given"), ("default", "")], "string", 2, plain)
put("default-of-number", [("default", "1"), ("default", 1.5), ("default", -1), ("default", 10**12), ("default", True)], "integer", 2)
put("default-of-boolean", [("default", "true"), ("default", 1), ("default", False)], "boolean", 2)
put("default-of-list", [("default", []), ("default", [None]), ("default", ["a", 1]), ("default", {}), ("default", [{}, {}])], "array", 2)
put("default-of-object", [("default", {}), ("default", {"notThere": 1}), ("default", []), ("default", "x")], "object", 2)
put("default-null", [("default", None)], below=2)
put("default-not-of-enum", [("default", "no-such-value"), ("default", 3)], where=lambda node: node.get("enum"), below=2)
put("default-against-pattern", [("default", "~~~~"), ("default", "")], where=lambda node: node.get("pattern"), below=2)
put("numbers-wrong", [("multipleOf", 0), ("multipleOf", -1), ("minimum", 10), ("maximum", -10), ("exclusiveMinimum", True), ("exclusiveMaximum", True)], "integer")
put("numbers-of-another-type", [("minimum", "1"), ("maximum", True), ("exclusiveMinimum", 5), ("multipleOf", "2")], "integer")
put("lengths-wrong", [("minLength", -1), ("maxLength", -1), ("minLength", 5000000000), ("maxLength", 2.5), ("maxLength", "5")], "string")
put("items-counted-wrong", [("minItems", -1), ("maxItems", -2), ("maxItems", 1.5), ("minItems", "1")], "array")
put("properties-counted-wrong", [("minProperties", -1), ("maxProperties", -2), ("maxProperties", "3")], "object")
put("unique-items", [("uniqueItems", True), ("uniqueItems", False), ("uniqueItems", "true")], "array")
put("items-missing", [("items", ABSENT)], "array")
put("items-wrong", [("items", [{"type": "string"}]), ("items", "string"), ("items", {}), ("items", True)], "array")
put("additional-items", [("additionalItems", True), ("additionalItems", {"type": "string"}), ("additionalItems", False)], "array")
put("additional-properties", [("additionalProperties", True), ("additionalProperties", False), ("additionalProperties", {"type": "string"}), ("additionalProperties", {})], "object")
put("additional-properties-wrong", [("additionalProperties", "yes"), ("additionalProperties", []), ("additionalProperties", 1)], "object")
put("properties-wrong", [("properties", []), ("properties", "x"), ("properties", {"a": "string"}), ("properties", {"a": None}), ("properties", {"a": []})], "object")
put("property-names", [("properties", {"": {"type": "string"}}), ("properties", {"a b": {"type": "string"}}), ("properties", {"$x": {"type": "string"}}),
                       ("properties", {"a.b/c": {"type": "string"}}), ("properties", {"ключ": {"type": "string"}})], "object", where=lambda node: "required" not in node)
put("required-unknown", [("required", ["notThere"]), ("required", []), ("required", ["a", "a"]), ("required", "a"), ("required", [1])], "object")
put("forbidden-keyword", [("$ref", "#/definitions/a"), ("definitions", {"a": {"type": "string"}}), ("dependencies", {"a": ["b"]}), ("id", "some"),
                          ("patternProperties", {"^a": {"type": "string"}}), ("$schema", "http://json-schema.org/draft-04/schema#"), ("$schema", "here"),
                          ("definitions", {}), ("dependencies", {}), ("patternProperties", {}), ("$ref", "")])
put("unknown-keyword", [("deprecated", True), ("const", 1), ("readOnly", True), ("examples", ["a"]), ("if", {}), ("discriminator", {}), ("xml", {}), ("Type", "string")])
put("harmless-keyword", [("title", "a title"), ("example", {"a": 1}), ("externalDocs", {"url": "here", "description": "there"}), ("description", ""), ("nullable", True)])
put("text-wrong", [("description", 5), ("title", True), ("externalDocs", "here"), ("format", 3), ("nullable", "yes"), ("pattern", 1)])
put("enum-wrong", [("enum", []), ("enum", ["a", "a"]), ("enum", [1, "a", None]), ("enum", "a"), ("enum", {}), ("enum", [[1], {"a": 1}])], "string")
put("nullable", [("nullable", True)], where=lambda node: "default" in node or "enum" in node)
put("branches", [("allOf", [{"type": "string"}]), ("anyOf", [{"description": "x"}]), ("oneOf", [{"default": "x"}]), ("not", {"nullable": True}), ("anyOf", []),
                 ("allOf", [{"additionalProperties": {"type": "string"}}]), ("not", {"title": "x"}), ("anyOf", [{"minLength": 1}, {"maxLength": 0}]),
                 ("oneOf", [{"x-kubernetes-preserve-unknown-fields": True}]), ("not", {"format": "x", "pattern": "("}), ("allOf", {}), ("not", [])], "string")
put("branches-of-objects", [("anyOf", [{"required": ["notThere"]}]), ("oneOf", [{"properties": {"notThere": {"minimum": 1}}}]),
                            ("not", {"properties": {"notThere": {"pattern": "["}}}), ("allOf", [{"properties": {"a": {"type": "string"}}}]),
                            ("anyOf", [{"x-kubernetes-validations": [{"rule": "true"}]}]), ("allOf", [{"allOf": [{"uniqueItems": True}]}]),
                            ("oneOf", [{"additionalProperties": True}]), ("not", {"x-kubernetes-list-type": "set"})], "object")
put("int-or-string", [("x-kubernetes-int-or-string", True), ("x-kubernetes-int-or-string", False), ("x-kubernetes-int-or-string", "yes")])
put("embedded-resource", [("x-kubernetes-embedded-resource", True), ("x-kubernetes-embedded-resource", False)])
put("preserve-unknown", [("x-kubernetes-preserve-unknown-fields", True), ("x-kubernetes-preserve-unknown-fields", False), ("x-kubernetes-preserve-unknown-fields", 1)])
put("list-type", [("x-kubernetes-list-type", "bag"), ("x-kubernetes-list-type", "map"), ("x-kubernetes-list-type", "set"), ("x-kubernetes-list-type", "atomic"), ("x-kubernetes-list-type", "")], "array")
put("list-type-elsewhere", [("x-kubernetes-list-type", "atomic"), ("x-kubernetes-list-type", "set"), ("x-kubernetes-list-map-keys", ["a"])], where=lambda node: node.get("type") != "array")
put("list-keys", [("x-kubernetes-list-map-keys", ["notThere"]), ("x-kubernetes-list-map-keys", []), ("x-kubernetes-list-map-keys", ["name", "name"]), ("x-kubernetes-list-map-keys", ABSENT),
                  ("x-kubernetes-list-map-keys", "name")], "array", where=lambda node: "x-kubernetes-list-map-keys" in node)
put("list-keys-new", [("x-kubernetes-list-map-keys", ["name"])], "array", where=lambda node: "x-kubernetes-list-map-keys" not in node)
put("map-type", [("x-kubernetes-map-type", "weird"), ("x-kubernetes-map-type", "atomic"), ("x-kubernetes-map-type", "granular")])


@mutation
def list_map_of_optional_keys(it):
    node = it.node("array", where=lambda node: isinstance(node.get("items"), dict) and node["items"].get("properties") and "x-kubernetes-list-type" not in node)
    if node is None:
        return False
    key = it.pick(sorted(node["items"]["properties"]))
    node["x-kubernetes-list-type"] = "map"
    node["x-kubernetes-list-map-keys"] = [key]
    if it.pick((True, False)):
        node["items"]["required"] = [key]


@mutation
def keys_no_longer_required(it):
    node = it.node("array", where=lambda node: node.get("x-kubernetes-list-map-keys") and isinstance(node.get("items"), dict))
    if node is None:
        return False
    node["items"].pop("required", None)


@mutation
def property_renamed(it):
    node = it.node("object", where=lambda node: node.get("properties"))
    if node is None:
        return False
    name = it.pick(sorted(node["properties"]))
    node["properties"][name + "Renamed"] = node["properties"].pop(name)


@mutation
def default_that_lacks(it):
    node = it.node("object", 2, lambda node: node.get("required") and node.get("properties"))
    if node is None:
        return False
    node["default"] = {}


@mutation
def default_below_default(it):
    node = it.node("object", 2, lambda node: node.get("properties"))
    if node is None:
        return False
    name = it.pick(sorted(node["properties"]))
    node["default"] = {name: it.pick(("x", 1, None, {}, [], True))}


@mutation
def several_at_once(it):
    for _ in range(4):
        node = it.node()
        if node is None:
            return False
        key, value = it.pick([("type", "strng"), ("uniqueItems", True), ("pattern", "("), ("$ref", "x"), ("default", {"a": 1}), ("x-kubernetes-list-type", "bag"),
                              ("x-kubernetes-map-type", "weird"), ("format", "made-up"), ("minLength", -3), ("x-kubernetes-int-or-string", True)])
        node[key] = value


KEYWORDS = ("type", "format", "pattern", "default", "enum", "minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "uniqueItems", "multipleOf",
            "items", "properties", "additionalProperties", "required", "nullable", "anyOf", "oneOf", "allOf", "not", "x-kubernetes-int-or-string",
            "x-kubernetes-embedded-resource", "x-kubernetes-preserve-unknown-fields", "x-kubernetes-list-type", "x-kubernetes-list-map-keys",
            "x-kubernetes-map-type", "x-kubernetes-validations", "example", "title", "description", "externalDocs", "$ref", "id")
VALUES = (None, True, False, 0, -1, 1, 2.5, 10**19, "", "a", "object", "string", "array", "atomic", "map", [], ["a"], [1], [None], [{}], {}, {"a": 1}, {"a": {}},
          {"type": "string"}, [{"type": "string"}], {"a": {"type": "string"}}, [{"rule": "true"}], "(")


def anything(it):
    """Any keyword with any value, anywhere."""
    node = it.node(below=0)
    if node is None:
        return False
    node[it.pick(KEYWORDS)] = copy.deepcopy(it.pick(VALUES))


for number in range(1, 5):
    MUTATIONS[f"anything-{number}"] = anything


# ---------------------------------------------------------------- the root
@mutation
def root_metadata(it):
    root = it.root()
    if root is None:
        return False
    root.setdefault("properties", {})["metadata"] = copy.deepcopy(it.pick([
        {"type": "string"}, {"type": "object", "properties": {"labels": {"type": "object", "maxProperties": 1}}}, {"type": "object", "default": {}},
        {"type": "object", "properties": {"name": {"type": "string", "pattern": "^a"}}}, {"type": "object", "required": ["name"]}, {"type": "object", "nullable": True},
        {"type": "object", "properties": {"name": {"type": "string", "default": "a"}}}, {"type": "object", "properties": {"name": {"type": "integer"}}},
        {"type": "object", "properties": {"generateName": {"type": "string", "maxLength": 5}}}, {"type": "object", "additionalProperties": {"type": "string"}},
        {"type": "object", "x-kubernetes-preserve-unknown-fields": True}, {"type": "object", "x-kubernetes-validations": [{"rule": "true"}]}, {"type": "object", "anyOf": [{"required": ["name"]}]},
        {"type": "object", "properties": {"name": {"type": "string", "nullable": True}}}, {"type": "object", "maxProperties": 3}, {"description": "no type"}]))


@mutation
def root_type_meta(it):
    root = it.root()
    if root is None:
        return False
    root.setdefault("properties", {})[it.pick(("apiVersion", "kind"))] = copy.deepcopy(it.pick([
        {"type": "integer"}, {"type": "string", "default": "a"}, {"type": "string", "enum": ["a"]}, {"type": "string", "nullable": True}, {}, {"type": "object"}]))


@mutation
def root_keyword(it):
    root = it.root()
    if root is None:
        return False
    key, value = it.pick([("type", "array"), ("type", None), ("nullable", True), ("additionalProperties", {"type": "string"}), ("x-kubernetes-preserve-unknown-fields", True),
                          ("x-kubernetes-int-or-string", True), ("x-kubernetes-embedded-resource", True), ("default", {}), ("x-kubernetes-list-type", "atomic"),
                          ("x-kubernetes-map-type", "atomic"), ("required", ["metadata"]), ("required", ["spec", "status"]), ("maxProperties", 5), ("$ref", "x"), ("properties", None),
                          ("not", {"required": ["spec"]}), ("anyOf", [{"required": ["spec"]}])])
    if value is None:
        root.pop(key, None)
    else:
        root[key] = copy.deepcopy(value)


# ---------------------------------------------------------------- rules
def rule(name, rules, kind=None, below=1, where=lambda node: True, **more):
    """A mutation that adds a rule to a schema. NAME stands for the name of one of its properties."""
    def apply(it):
        node = it.node(kind, below, where)
        if node is None:
            return False
        names = [name for name in sorted(node.get("properties") or {}) if name.isalnum() and name not in RESERVED] or ["notThere"]
        one = it.pick(rules)
        one = {"rule": one} if isinstance(one, str) else dict(one)
        chosen = it.pick(names)
        for key, text in one.items():
            if isinstance(text, str):
                one[key] = text.replace("NAME", chosen)
        node["x-kubernetes-validations"] = [*(node.get("x-kubernetes-validations") or []), {**one, **more}]
    MUTATIONS[name] = apply


RESERVED = {"namespace", "true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if", "import", "let", "loop", "package", "return", "var", "void", "while", "self"}
named = lambda node: any(name.isalnum() for name in node.get("properties") or {})
rule("rule-mistyped", ["self.NAME ==", "self..NAME", "has(self.NAME", "self.NAME = 1", "'a", "self.NAME and true", "1 +", "", "  ", "self.[0]", "\\"], "object", where=named)
rule("rule-of-no-field", ["self.notThere == 'a'", "has(self.notThere)", "self.notThere.deeper > 1", "other == 1", "self.NAME.notThere == 1"], "object", where=named)
rule("rule-no-bool", ["self.NAME", "'text'", "1 + 1", "self", "[true]", "{'a': true}", "size(self)", "null", "1.0", "oldSelf"], "object", where=named)
rule("rule-of-no-function", ["self.NAME.nope()", "nope(self)", "self.size() > 0 && nope", "matches(self, 'a', 'b')", "self.startsWith('a')", "duration(1) == 1", "size() > 1"], "object", where=named)
rule("rule-of-wrong-types", ["self.NAME == 1 && self.NAME == 'a'", "self + 1 == 2", "!self", "self > 1", "'a' < 1", "1 in 'a'", "true ? 1 : 'a'", "1 == 1.0", "size(1) > 0", "-'a' == 'b'"], "object", where=named)
rule("rule-of-text", ["self.size() > 0", "self.matches('^[a-z]+$')", "self == 'a' || self.startsWith('b')", "self.matches('(')", "self > 1", "self.contains(1)", "self.split(',').all(x, x != '')",
                      "isURL(self) && url(self).getScheme() == 'https'", "quantity(self).isGreaterThan(quantity('1'))", "duration(self) > duration('1s')", "self.format() == 'a'", "self.lowerAscii() == self",
                      "ip(self).family() == 4", "cidr(self).prefixLength() > 8", "semver(self).major() > 1", "format.dns1123Label().validate(self).hasValue()", "self.charAt(0) == 'a'", "string(self) == self",
                      "self.replace('a', 'b').indexOf('c') < 0", "timestamp(self) > timestamp('2020-01-01T00:00:00Z')", "self.find('[a-z]+') == self", "'a,b'.split(',').isSorted()"], "string")
rule("rule-of-number", ["self > 0", "self >= 0 && self % 2 == 0", "self == 1.0", "self > 'a'", "self in [1, 2, 3]", "double(self) > 0.5", "self / 0 == 1", "math.greatest(self, 2) == 2", "[self].sum() > 1", "self == oldSelf", "self.size() > 1"], "integer")
rule("rule-of-list", ["self.all(x, x == x)", "self.exists_one(x, true)", "size(self) > 0", "self.all(x, self.all(y, x == y))", "self.all(x, self.all(y, self.all(z, x == y && y == z)))",
                      "self.map(x, x).size() > 0", "self.filter(x, true) == self", "self == oldSelf", "self.isSorted()", "self[0] == self[1]", "self.all(i, v, i >= 0)", "self.sum() > 1", "self.indexOf(1) > 0",
                      "self.exists(x, oldSelf.exists(y, x == y))", "self + self == self", "self.all(x)", "self.all(1, true)", "self.distinct().size() == self.size()", "self.flatten().size() > 1", "self.slice(0, 1).size() == 1"], "array")
rule("rule-of-map", ["self.all(k, self[k] != 'a')", "'a' in self", "self.size() < 10", "self.all(k, v, k != v)", "self.exists(k, k.startsWith('a'))", "self['a'] == 1", "self == oldSelf", "self.transformList(k, v, k).size() > 0", "self.a == 'b'", "has(self.a)"],
     "object", where=lambda node: isinstance(node.get("additionalProperties"), dict) and node["additionalProperties"].get("type"))
rule("rule-good", ["has(self.NAME)", "!has(self.NAME) || has(self.NAME)", "true", "self == self", "!has(oldSelf.NAME) || has(self.NAME)", "has(self.NAME) == has(oldSelf.NAME)", "type(self) == type(self)",
                   "[1, 2].exists(x, x == 1) && {'a': 1}.size() == 1", "cel.bind(x, has(self.NAME), x || !x)", "self.?NAME.hasValue()", "optional.of(1).orValue(2) == 1", "dyn(self) == self", "sets.contains([1], [1])",
                   "self.NAME == self.NAME", "[1, 2, 3].map(x, x * 2).all(y, y > 1)"], "object", where=named)
rule("rule-costly", ["self.all(x, self.all(y, self.all(z, string(x) == string(y) && string(y) == string(z))))", "self.all(x, self.exists(y, self.exists(z, x == y || y == z)))", "self.map(x, self.map(y, self.map(z, x))).size() > 0"],
     "array", where=lambda node: "maxItems" not in node)
rule("rule-costly-text", ["self.matches('" + "(a|b)*" * 40 + "')", "self.contains(self + self)", "self.split('').all(x, self.split('').all(y, x == y))", "self.replace('a', self).size() > 1"], "string", where=lambda node: "maxLength" not in node)
rule("message-wrong", [{"message": ""}, {"message": " "}, {"message": "two\nlines"}, {"message": "x" * 2049}, {"message": 5}, {"message": None}, {}], "object", rule="true")
rule("message-expression", [{"messageExpression": "'a' + 'b'"}, {"messageExpression": "1"}, {"messageExpression": "nope"}, {"messageExpression": ""}, {"messageExpression": " "}, {"messageExpression": "'a' +"}, {"messageExpression": "string(self.NAME)"},
                            {"messageExpression": "oldSelf == self ? 'a' : 'b'"}, {"messageExpression": "'a'", "message": "b"}, {"messageExpression": "self.NAME"}, {"messageExpression": "['a'].join(',')"}, {"messageExpression": "self"}],
     "object", where=named, rule="true")
rule("reason-wrong", [{"reason": "Nope"}, {"reason": ""}, {"reason": "FieldValueForbidden"}, {"reason": "FieldValueRequired"}, {"reason": "Invalid"}, {"reason": 1}], rule="true")
rule("field-path", [{"fieldPath": ".NAME"}, {"fieldPath": "NAME"}, {"fieldPath": ".notThere"}, {"fieldPath": ""}, {"fieldPath": " .NAME"}, {"fieldPath": ".NAME[0]"}, {"fieldPath": "['NAME']"}, {"fieldPath": ".NAME.deeper"},
                    {"fieldPath": "."}, {"fieldPath": ".NAME[*]"}, {"fieldPath": "[NAME]"}, {"fieldPath": "{.NAME}"}, {"fieldPath": ".NAME\n"}], "object", where=named, rule="true")
rule("old-self", [{"rule": "self == oldSelf"}, {"rule": "oldSelf.hasValue()", "optionalOldSelf": True}, {"rule": "oldSelf.orValue(self) == self", "optionalOldSelf": True}, {"rule": "true", "optionalOldSelf": True},
                  {"rule": "true", "optionalOldSelf": False}, {"rule": "oldSelf == self", "optionalOldSelf": True}, {"rule": "true", "optionalOldSelf": "yes"}])


@mutation
def old_self_below_list(it):
    node = it.node("array", where=lambda node: isinstance(node.get("items"), dict) and node["items"].get("type"))
    if node is None:
        return False
    node["items"]["x-kubernetes-validations"] = [{"rule": "self == oldSelf"}]


@mutation
def rules_wrong(it):
    node = it.node()
    if node is None:
        return False
    node["x-kubernetes-validations"] = it.pick([{}, "true", [None], [{}], ["true"], [{"rule": True}], [{"rule": "true"}, {"rule": "true"}], [{"rule": "true", "unknown": 1}], []])


@mutation
def rule_mistyped_there(it):
    """A rule that the authors wrote, with one character too many or too few."""
    nodes = [node for node in it.nodes(below=0) if node.get("x-kubernetes-validations")]
    node = it.pick(nodes)
    if node is None:
        return False
    one = it.pick(node["x-kubernetes-validations"])
    text = one["rule"]
    place = it.pick(range(len(text)))
    one["rule"] = it.pick((text[:place] + text[place + 1:], text[:place] + "(" + text[place:], text[:place] + "x" + text[place:], text.replace("self", "slef", 1)))


@mutation
def rule_at_the_root(it):
    root = it.root()
    if root is None:
        return False
    root["x-kubernetes-validations"] = [{"rule": it.pick(["self.metadata.name.size() < 10", "self.metadata.labels.size() < 3", "has(self.metadata.namespace)", "self.kind == 'a'", "self.apiVersion == 'a'",
                                                           "self.metadata.name == oldSelf.metadata.name", "has(self.spec)", "self.spec == oldSelf.spec", "self.metadata.generateName == ''", "has(self.status)",
                                                           "!has(self.spec) || self.spec == self.spec", "self.metadata == oldSelf.metadata"])}]


@mutation
def bounds_removed(it):
    """Rules whose cost was estimated by them become dearer."""
    changed = False
    for node in it.nodes(below=0):
        for key in ("maxItems", "maxLength", "maxProperties"):
            changed |= node.pop(key, None) is not None
    if not changed or not any(node.get("x-kubernetes-validations") for node in it.nodes(below=0)):
        return False


# ---------------------------------------------------------------- the rest of the definition
def in_spec(name, *changes):
    def apply(it):
        return it.pick(changes)(it)
    MUTATIONS[name] = apply


def set_at(*way):
    *way, key, value = way

    def apply(it):
        place = it.value
        for step in way:
            place = it.pick(place) if step == "*" else place.setdefault(step, {})
            if not isinstance(place, dict):
                if not isinstance(place, list):
                    return False
        if value is None:
            place.pop(key, None)
        else:
            place[key] = copy.deepcopy(value)
    return apply


names = lambda key, value: set_at("spec", "names", key, value)
version = lambda key, value: set_at("spec", "versions", "*", key, value)
in_spec("plural-wrong", names("plural", "Upper"), names("plural", ""), names("plural", "a_b"), names("plural", None), names("plural", "other"), names("plural", "a.b"), names("plural", "a" * 64))
in_spec("kind-wrong", names("kind", "lower"), names("kind", "With-Dash"), names("kind", ""), names("kind", "With.Dot"), names("kind", "K" * 64), names("kind", None), names("kind", "1Kind"), names("kind", "Ключ"))
in_spec("other-names-wrong", names("singular", "Upper"), names("singular", "a/b"), names("listKind", "lower-"), names("shortNames", ["UP"]), names("shortNames", ["a", "a"]), names("shortNames", [""]), names("categories", ["Up", ""]),
        names("categories", ["a b"]), names("shortNames", "a"), names("singular", 5), names("shortNames", ["a." + "b" * 70]), names("categories", ["all", "all"]))


@mutation
def list_kind_is_kind(it):
    it.spec["names"]["listKind"] = it.spec["names"]["kind"]


in_spec("group-wrong", set_at("spec", "group", "Bad_Group"), set_at("spec", "group", "nodots"), set_at("spec", "group", ""), set_at("spec", "group", "other.example.com"), set_at("spec", "group", "a..b"),
        set_at("spec", "group", None), set_at("spec", "group", "a" * 260 + ".com"), set_at("spec", "group", 3), set_at("spec", "group", "-a.b"))
in_spec("scope-wrong", set_at("spec", "scope", "Clusterwide"), set_at("spec", "scope", ""), set_at("spec", "scope", None), set_at("spec", "scope", "namespaced"), set_at("spec", "scope", []))
in_spec("scope-other", set_at("spec", "scope", "Cluster"), set_at("spec", "scope", "Namespaced"))
in_spec("version-name-wrong", version("name", "1v"), version("name", "V1"), version("name", ""), version("name", None), version("name", "v1_2"), version("name", "a" * 64), version("name", 1), version("name", "v1.2"))
in_spec("version-flags", version("served", False), version("served", None), version("storage", None), version("served", "true"), version("storage", 1), version("storage", False), version("deprecated", True), version("deprecated", "a"))
in_spec("version-warning", version("deprecationWarning", "gone"), version("deprecationWarning", ""), version("deprecationWarning", "x" * 257), version("deprecationWarning", "a\nb"), version("deprecationWarning", "ключ"))
in_spec("schema-missing", version("schema", None), version("schema", {}), version("schema", {"openAPIV3Schema": {}}), version("schema", []), version("schema", {"openAPIV3Schema": []}), version("schema", {"openAPIV3Schema": {"type": "object"}}))
in_spec("unknown-field", set_at("spec", "unknown", 1), version("unknown", {}), names("unknown", []), set_at("unknown", "a"), set_at("metadata", "unknown", 1), version("schema", {"openAPIV3Schema": {"type": "object"}, "more": 1}))
in_spec("preserve-at-spec", set_at("spec", "preserveUnknownFields", True), set_at("spec", "preserveUnknownFields", False), set_at("spec", "preserveUnknownFields", "yes"))
in_spec("old-fields", set_at("spec", "validation", {"openAPIV3Schema": {"type": "object"}}), set_at("spec", "version", "v1"), set_at("spec", "subresources", {"status": {}}), set_at("spec", "additionalPrinterColumns", [{"name": "a", "type": "string", "jsonPath": ".spec"}]))
in_spec("metadata-wrong", set_at("metadata", "name", "other"), set_at("metadata", "name", "Upper.example.com"), set_at("metadata", "labels", {"a b": "c"}), set_at("metadata", "annotations", {"a b": "c"}), set_at("metadata", "name", ""),
        set_at("metadata", "finalizers", ["bad name"]), set_at("metadata", "labels", {"a": "x" * 64}), set_at("metadata", "namespace", "default"), set_at("metadata", "generateName", "a"), set_at("metadata", "labels", ["a"]))


@mutation
def two_storage_versions(it):
    other = copy.deepcopy(it.versions[0])
    other["name"] = it.pick(("v9", other["name"]))
    for one in (*it.versions, other):
        one["storage"] = True
    it.versions.append(other)


@mutation
def no_storage_version(it):
    for one in it.versions:
        one["storage"] = False


@mutation
def versions_wrong(it):
    it.spec["versions"] = it.pick(([], None, {}, [None], [{}], "v1", [it.versions[0]] * 2))


@mutation
def version_removed(it):
    if len(it.versions) < 2:
        return False
    gone = it.pick(it.versions)
    it.versions.remove(gone)


@mutation
def storage_moved(it):
    if len(it.versions) < 2:
        other = copy.deepcopy(it.versions[0])
        other["name"] = "v9alpha9"
        it.versions.append(other)
    for one in it.versions:
        one["storage"] = not one.get("storage")
    first = [one for one in it.versions if one["storage"]]
    for one in first[1:]:
        one["storage"] = False


def column(**more):
    one = {"name": "Extra", "type": "string", "jsonPath": ".spec.a", **more}
    one = {key: value for key, value in one.items() if value is not None}

    def apply(it):
        chosen = it.version()
        chosen["additionalPrinterColumns"] = [*(chosen.get("additionalPrinterColumns") or []), one]
    return apply


in_spec("column-path", *(column(jsonPath=path) for path in ("spec.a", "{.spec.a}", ".spec[", "", ".spec[?(@.a==\"b\")].c", ".spec.a[0]", "..a", ".spec['a']", "$.spec", ".spec.*", ".metadata.name", ".spec[?(@.a=]", ".a b", ".spec\\.x", ".", None, 3)))
in_spec("column-type", *(column(type=kind) for kind in ("strin", "", "Integer", "date", "number", None, "object", 1)))
in_spec("column-rest", column(name=""), column(name=None), column(format="nope"), column(format="int32", type="integer"), column(priority=-1), column(priority="1"), column(priority=1.5), column(description=1), column(format="date-time"), column(JSONPath=".a"))


@mutation
def columns_wrong(it):
    it.version()["additionalPrinterColumns"] = it.pick(([], {}, [None], [{}], "a", [{"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}] * 2))


def scale(**more):
    one = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas", **more}
    one = {key: value for key, value in one.items() if value is not None}

    def apply(it):
        it.version()["subresources"] = {"status": {}, "scale": one}
    return apply


in_spec("scale-paths", *(scale(specReplicasPath=path) for path in (".status.replicas", "spec.replicas", "", None, ".spec", ".spec.items[0]", ".spec..a", ".spec['a']", 5, ".")), scale(),
        *(scale(statusReplicasPath=path) for path in (".spec.replicas", "status.replicas", "", None, ".status", ".status[0].a")), *(scale(labelSelectorPath=path) for path in (".foo", "", ".status.selector", ".spec.selector", "selector", ".metadata.labels")))


@mutation
def subresources_wrong(it):
    it.version()["subresources"] = it.pick(({}, {"status": None}, {"status": {"a": 1}}, [], {"scale": {}}, {"scale": None}, {"status": {}, "log": {}}, {"status": True}))


@mutation
def selectable_fields(it):
    chosen = it.version()
    schema = schema_of(chosen)
    if schema is None:
        return False
    found = []
    paths(schema, "", found)
    good = [path for path, kind in found if kind in ("string", "integer", "boolean")]
    other = [path for path, kind in found if kind in ("object", "array")]
    chosen["selectableFields"] = it.pick([[{"jsonPath": it.pick(good) or ".spec.a"}], [{"jsonPath": it.pick(other) or ".spec"}], [{"jsonPath": ".spec.notThere"}], [{"jsonPath": ".metadata.name"}], [{"jsonPath": ""}], [{}],
                                          [{"jsonPath": it.pick(good) or ".spec.a"}] * 2, [{"jsonPath": f".spec.a{n}"} for n in range(9)], [{"jsonPath": "spec.a"}], [{"jsonPath": ".spec.a[0]"}], [{"jsonPath": ".apiVersion"}], [{"jsonPath": "{.spec.a}"}],
                                          [{"jsonPath": path} for path in good[:8]], [{"jsonPath": path} for path in good[:9]], [{"jsonPath": ".spec['a']"}], {}, [None], [{"jsonPath": 1}], [{"jsonPath": ".."}]])


def paths(node, here, found):
    for key, child in (node.get("properties") or {}).items():
        if isinstance(child, dict) and key.isalnum() and (here or key not in ("metadata", "apiVersion", "kind")):
            found.append((f"{here}.{key}", child.get("type")))
            paths(child, f"{here}.{key}", found)


WEBHOOK = {"conversionReviewVersions": ["v1"], "clientConfig": {"service": {"namespace": "a", "name": "b"}}}


def conversion(value):
    return set_at("spec", "conversion", value)


def client(**config):
    return conversion({"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": config}})


in_spec("conversion-wrong", conversion({"strategy": "Webhook"}), conversion({"strategy": "Magic"}), conversion({}), conversion({"strategy": "None", "webhook": WEBHOOK}), conversion([]), conversion({"strategy": "Webhook", "webhook": {}}),
        conversion({"strategy": "Webhook", "webhook": {**WEBHOOK, "conversionReviewVersions": []}}), conversion({"strategy": "Webhook", "webhook": {**WEBHOOK, "conversionReviewVersions": ["v1", "v1"]}}),
        conversion({"strategy": "Webhook", "webhook": {**WEBHOOK, "conversionReviewVersions": ["v9"]}}), conversion({"strategy": "Webhook", "webhook": {**WEBHOOK, "conversionReviewVersions": ["V_1", "v1"]}}), conversion(None))
in_spec("conversion-client", client(), client(url="http://a.example"), client(url="https://a.example", service={"namespace": "a", "name": "b"}), client(url="https://u:p@a.example?a=b#c"), client(url="https://"), client(url="::"),
        client(service={"name": "b"}), client(service={"namespace": "a", "name": ""}), client(service={"namespace": "a", "name": "b", "port": 0}), client(service={"namespace": "a", "name": "b", "port": 70000}),
        client(service={"namespace": "a", "name": "b", "path": "no/slash"}), client(service={"namespace": "a", "name": "b", "path": "/a//b"}), client(service={"namespace": "a", "name": "b"}, caBundle="not base64!"),
        client(service={"namespace": "a", "name": "b"}, caBundle="YWJj"), client(service={"namespace": "a", "name": "b", "path": "/good/A_b"}), client(service=[]))


@mutation
def approval(it):
    """Groups of Kubernetes itself want a word of approval."""
    it.spec["group"] = it.pick(("things.k8s.io", "things.kubernetes.io", "k8s.io", "things.x-k8s.io"))
    it.value["metadata"]["name"] = f"{it.spec['names']['plural']}.{it.spec['group']}"
    annotations = it.value["metadata"].setdefault("annotations", {})
    annotations.pop("api-approved.kubernetes.io", None)
    word = it.pick((None, "", "unapproved, it is a try", "https://example.com/pull/1", "yes", "http:// a b"))
    if word is not None:
        annotations["api-approved.kubernetes.io"] = word


@mutation
def status_given(it):
    it.value["status"] = it.pick(({}, {"storedVersions": ["v0"]}, {"conditions": "a"}, {"acceptedNames": {"plural": "a", "kind": "B"}}, {"conditions": [], "storedVersions": []}, []))


@mutation
def another_kind(it):
    key, value = it.pick((("apiVersion", "apiextensions.k8s.io/v1beta1"), ("kind", "Pod"), ("apiVersion", ""), ("kind", ""), ("apiVersion", "apiextensions.k8s.io/v2"), ("kind", "customresourcedefinition")))
    it.value[key] = value


@mutation
def nothing(it):
    pass
