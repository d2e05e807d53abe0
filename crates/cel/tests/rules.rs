//! Rules in schemas: what they are estimated to cost, how they are refused, how they end and what they cost then.
//!
//! The numbers and texts are what a Kubernetes server answers.

#![allow(clippy::restriction, reason = "a test stops at what it does not expect, and prints")]

use pawl_cel::Bindings;
use pawl_cel::k8s::rules::{Rule, RuleEnv, RuleVerdict, excess, rule_excess};
use pawl_cel::k8s::{CALL_COST_LIMIT, schema};
use pawl_cel::value::Val;
use serde_json::{Value, json};

/// The schema that estimates are made for.
fn estimated() -> RuleEnv {
    let text = |max: u64| json!({"type": "string", "maxLength": max});
    let list = |items: Value, max: u64| json!({"type": "array", "maxItems": max, "items": items});
    let format = |format: &str| json!({"type": "string", "format": format});
    let int = || json!({"type": "integer"});
    let string = || json!({"type": "string"});
    let object = json!({"type": "object", "properties": {"name": text(10), "v": int()}});
    let schema = json!({"type": "object", "properties": {
        "replicas": int(), "maxReplicas": int(),
        "name": string(), "short": text(10), "enum": {"type": "string", "enum": ["a", "bbbb"]},
        "ios": {"x-kubernetes-int-or-string": true}, "num": {"type": "number"}, "b": {"type": "boolean"},
        "list": list(int(), 10), "ulist": {"type": "array", "items": int()},
        "strs": list(text(10), 10), "ustrs": {"type": "array", "items": string()},
        "objs": list(object, 100),
        "m": {"type": "object", "maxProperties": 5, "additionalProperties": text(20)},
        "um": {"type": "object", "additionalProperties": text(20)},
        "date": format("date"), "dt": format("date-time"), "dur": format("duration"), "by": format("byte"),
        "namespace": string(), "x-y": string(), "in": string(),
        "pres": {"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {"k": int()}},
        "anyf": {"x-kubernetes-preserve-unknown-fields": true},
    }});
    RuleEnv::new(schema::decl_type(&schema, true, "self").unwrap())
}

const ESTIMATES: &[(&str, u64)] = &[
    ("self.replicas <= self.maxReplicas", 5),
    ("self.name == 'a'", 3),
    ("self.name == self.short", 8),
    ("self.name.matches('^[a-z]+$')", 629148),
    ("self.list.all(x, x > 0)", 53),
    ("self.ulist.all(x, x > 0)", 7864318),
    ("self.objs.all(x, x.name.size() < 10 && x.name.matches('^[a-z]+$'))", 1903),
    ("self.objs.all(x, self.objs.exists_one(y, y.name == x.name))", 100703),
    ("self.m.all(k, self.m[k] == 'a')", 43),
    ("has(self.name) && self.name.contains('abc')", 314576),
    ("self.enum in ['a','b']", 14),
    ("self.short.startsWith('abc')", 3),
    ("self.strs.join(',').size() < 100", 45),
    ("self.dur > duration('1h')", 4),
    ("self.dt < timestamp('2020-01-01T00:00:00Z')", 4),
    ("self.list.filter(x, x > 1).size() > 0", 165),
    ("self.list + [1] == [1,2]", 24),
    ("self.ios == 'a' || self.ios == 5", 6),
    ("self.m.exists(k, v, v == 'x')", 33),
    ("self.m.transformList(k, v, v).size() > 0", 80),
    ("self.?name.orValue('x') == 'x'", 4),
    ("quantity('1Gi').isGreaterThan(quantity('1Mi'))", 3),
    ("isIP(self.short)", 6),
    ("self.short.find('[0-9]+') == '1'", 13),
    ("self.short + 'abc' == 'x'", 8),
    ("self.list.distinct().size() == 1", 215),
    ("self.list.sort()[0] == 1", 214),
    ("self.metadata.name == 'a'", 4),
    ("self.__namespace__ == 'x'", 3),
    ("self.x__dash__y == 'a'", 3),
    ("self.__in__ == 'a'", 3),
    ("self.objs[0].name == 'a'", 5),
    ("self.m['a'] == 'b'", 4),
    ("self.list.exists(x, self.list.exists(y, x == y))", 673),
    ("self.namespace == 'x'", 3),
    ("self.replicas > 1.5", 3),
    ("[1,2].reverse() == [2,1]", 34),
    ("b'a' == self.by", 3),
];

const ESTIMATES_WITH_OLD_SELF: &[(&str, u64)] =
    &[("oldSelf.replicas == self.replicas", 4), ("self.replicas == oldSelf.replicas ? true : self.num > 1.0", 7)];

#[test]
fn estimates_agree() {
    let env = estimated();
    let mut wrong = Vec::new();
    for (rules, old_self) in [(ESTIMATES, false), (ESTIMATES_WITH_OLD_SELF, true)] {
        for (text, cost) in rules {
            let rule = env.rule(text, false).unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!((rule.max_cardinality, rule.uses_old_self), (1_048_576, old_self), "{text}");
            if rule.max_cost != *cost {
                wrong.push(format!("{text}: {} instead of {cost}", rule.max_cost));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// A rule and what is found in it: columns and messages.
type Refusal = (&'static str, &'static [(usize, &'static str)]);

const REFUSALS: &[Refusal] = &[
    ("self.replicas == 'a'", &[(15, "found no matching overload for '_==_' applied to '(int, string)'")]),
    ("self.replicas > 'a'", &[(15, "found no matching overload for '_>_' applied to '(int, string)'")]),
    (
        "self.replicas ==",
        &[(
            17,
            "Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}",
        )],
    ),
    ("self.name.foo()", &[(14, "undeclared reference to 'foo' (in container '')")]),
    ("[1, 'a'].size() > 0", &[(5, "expected type 'int' but found 'string'")]),
    ("self.pres.z == 1", &[(10, "undefined field 'z'")]),
    ("self.anyf == 1", &[(5, "undefined field 'anyf'")]),
    ("self.name.matches('[')", &[(19, "invalid matches argument")]),
    ("duration('x') > self.dur", &[(10, "invalid duration argument")]),
    ("timestamp('x') > self.dt", &[(11, "invalid timestamp argument")]),
    (
        "self.replicas.all(x, true)",
        &[(5, "expression of type 'int' cannot be range of a comprehension (must be list, map, or dynamic)")],
    ),
    ("self.list.all(x, y)", &[(18, "undeclared reference to 'y' (in container '')")]),
    ("self.num == 1", &[(10, "found no matching overload for '_==_' applied to '(double, int)'")]),
    ("1 + 1.0 == 2.0", &[(3, "found no matching overload for '_+_' applied to '(int, double)'")]),
    ("self.list == self.strs", &[(11, "found no matching overload for '_==_' applied to '(list(int), list(string))'")]),
    ("'abc'.reverse() == 'cba'", &[(14, "found no matching overload for 'reverse' applied to 'string.()'")]),
    (
        "cel.bind(x, 1, x == 1)",
        &[
            (1, "undeclared reference to 'cel' (in container '')"),
            (9, "undeclared reference to 'bind' (in container '')"),
            (10, "undeclared reference to 'x' (in container '')"),
            (16, "undeclared reference to 'x' (in container '')"),
        ],
    ),
    (
        "authorizer.group('').resource('pods').check('get').allowed()",
        &[(1, "undeclared reference to 'authorizer' (in container '')")],
    ),
    (
        "self.has(x)",
        &[
            (9, "undeclared reference to 'has' (in container '')"),
            (10, "undeclared reference to 'x' (in container '')"),
        ],
    ),
    ("has(self)", &[(5, "invalid argument to has() macro")]),
    ("self.name == null", &[(11, "found no matching overload for '_==_' applied to '(string, null)'")]),
    ("self.`x-y` == 'a'", &[(6, "unsupported syntax: '`'")]),
];

/// The message of a refusal, laid out as clients read it.
fn laid_out(rule: &str, findings: &[(usize, &str)]) -> String {
    let shown = |(column, message): &(usize, &str)| {
        format!("ERROR: <input>:1:{column}: {message}\n | {rule}\n | {}^", ".".repeat(column - 1))
    };
    format!("compilation failed: {}", findings.iter().map(shown).collect::<Vec<_>>().join("\n"))
}

#[test]
fn refusals_agree() {
    let env = estimated();
    for (rule, findings) in REFUSALS {
        let error = env.rule(rule, false).expect_err(rule);
        assert_eq!(error.to_string(), laid_out(rule, findings), "{rule}");
    }
    let error = env.rule("self.replicas", false).unwrap_err();
    assert_eq!(error.to_string(), "cel expression must evaluate to a bool");
}

enum End {
    Holds,
    Fails,
    NoOverload,
    Error(&'static str),
}

use End::{Error, Fails, Holds, NoOverload};

/// Rules, what they cost when run, and how they end.
const RUNS: &[(&str, u64, End)] = &[
    ("self.i >= self.j", 5, Holds),
    ("self.i == 3", 3, Holds),
    ("self.s == 'hello world'", 4, Holds),
    ("self.s.contains('wor')", 4, Holds),
    ("self.s.startsWith('hel')", 4, Holds),
    ("self.list.all(x, x > 0)", 18, Holds),
    ("self.list.map(x, x * 2) == [2,4,6]", 46, Holds),
    ("self.list.filter(x, x > 1).size() == 2", 37, Holds),
    ("self.list.exists_one(x, x == 2)", 12, Holds),
    ("!has(self.opt)", 2, Holds),
    ("!has(self.nul)", 2, Holds),
    ("self.m.all(k, self.m[k] != 'z')", 17, Holds),
    ("'a' in self.m", 3, Holds),
    ("3 in self.list", 5, Holds),
    ("self.strs.isSorted()", 2, Holds),
    ("self.set == [1,2,3]", 3, Holds),
    ("self.set + [3,4] == [3,1,2,4]", 4, Holds),
    ("self.d == timestamp('2020-01-02T00:00:00Z')", 3, Holds),
    ("self.by == b'hi'", 3, Holds),
    ("self.s + 'x' == 'hello worldx'", 6, Holds),
    ("self.s.size() == 11", 4, Holds),
    ("self.i > 1 || self.j < 5", 3, Holds),
    ("self.i > 1 ? self.j == 0 : false", 6, Holds),
    ("[1,2,3].all(x, x in self.list)", 28, Holds),
    ("type(self.ios) == string && self.ios == '50%'", 7, Holds),
    ("self.?opt.orValue(7) == 7", 2, Holds),
    ("optional.of(self.i).hasValue()", 4, Holds),
    ("self.s.split(' ').size() == 2", 7, Holds),
    ("self.strs.join('-') == 'a-bb-ccc'", 5, Holds),
    ("self.s.upperAscii() == 'HELLO WORLD'", 6, Holds),
    ("quantity('1Gi').compareTo(quantity('1Mi')) == 1", 4, Holds),
    ("ip('10.0.0.1').family() == 4", 3, Holds),
    ("cidr('10.0.0.0/8').containsIP('10.1.1.1')", 3, Holds),
    ("url('https://a.b:80/c?d=e').getHost() == 'a.b:80'", 4, Holds),
    ("!format.dns1123Label().validate('abc').hasValue()", 11, Holds),
    ("self.list.sort() == [1,2,3]", 32, Holds),
    ("self.list.transformMap(i, v, v * 2) == {0: 2, 1: 4, 2: 6}", 19, Holds),
    ("dyn(self.i) == 3", 4, Holds),
    ("double(self.i) == 3.0", 4, Holds),
    ("self.s == 'x'", 3, Fails),
    ("self.opt > 1", 3, Error("no such key: opt")),
    ("self.i / self.j == 1", 6, Error("division by zero")),
    ("self.ios > 5", 3, NoOverload),
    ("self.i + 9223372036854775807 > 0", 4, Error("integer overflow")),
    ("self.m['zz'] == 'x'", 4, Error("no such key: zz")),
    ("self.list.max() == 9", 6, Fails),
    ("[].max() == 1", 1, Error("max called on empty list")),
    (
        "ip('x').family() == 4",
        3,
        Error(r#"IP Address "x" parse error during conversion from string: ParseAddr("x"): unable to parse IP"#),
    ),
    ("semver('v1').major() == 1", 3, Error("No Major.Minor.Patch elements found")),
    ("self.list.all(x, self.list.all(y, self.list.all(z, true))) && self.opt == 1", 159, Error("no such key: opt")),
];

#[test]
fn runs_agree() {
    let int = || json!({"type": "integer"});
    let schema = json!({"type": "object", "properties": {
        "i": int(), "j": int(), "opt": int(), "s": {"type": "string"}, "n": {"type": "number"},
        "ios": {"x-kubernetes-int-or-string": true}, "nul": {"type": "string", "nullable": true},
        "list": {"type": "array", "maxItems": 100, "items": int()},
        "strs": {"type": "array", "maxItems": 100, "items": {"type": "string"}},
        "m": {"type": "object", "additionalProperties": {"type": "string", "maxLength": 20}},
        "set": {"type": "array", "items": int(), "x-kubernetes-list-type": "set"},
        "d": {"type": "string", "format": "date"}, "dur": {"type": "string", "format": "duration"},
        "by": {"type": "string", "format": "byte"},
    }});
    let object = json!({
        "i": 3, "j": 0, "s": "hello world", "n": 1.5, "ios": "50%", "nul": null, "list": [1, 2, 3],
        "strs": ["a", "bb", "ccc"], "m": {"a": "x", "b": "y"}, "set": [3, 1, 2], "d": "2020-01-02", "dur": "90s",
        "by": "aGk=",
    });
    let env = RuleEnv::new(schema::decl_type(&schema, false, "self").unwrap());
    let mut wrong = Vec::new();
    for (text, cost, end) in RUNS {
        let rule: Rule = env.rule(text, false).unwrap_or_else(|error| panic!("{text}: {error}"));
        let bindings = Bindings::new().with("self", Val::from_json(&object, env.decl()).unwrap());
        let expected = match end {
            Holds => RuleVerdict::Passed,
            Fails => RuleVerdict::Failed { detail: format!("failed rule: {text}") },
            Error(error) => RuleVerdict::Undecided { detail: format!("{error} evaluating rule: {text}") },
            NoOverload => RuleVerdict::Undecided {
                detail: format!(
                    "'no such overload': call arguments did not match a supported operator, function or macro signature for rule: {text}"
                ),
            },
        };
        let found = rule.decide(&bindings, CALL_COST_LIMIT, text, None);
        if found != (expected.clone(), *cost) {
            wrong.push(format!("{text}: {found:?} instead of {expected:?} at {cost}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// What is said of rules below `spec`, which has an integer `a` and a list of strings `l`.
#[test]
fn details_of_refused_schemas_agree() {
    let schema = json!({"type": "object", "properties": {
        "a": {"type": "integer"},
        "l": {"type": "array", "items": {"type": "string"}},
    }});
    let env = RuleEnv::new(schema::decl_type(&schema, false, "self").unwrap());
    let advice = "(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)";
    let check = |rule: &str, factor: Option<&str>| {
        let expected =
            factor.map(|factor| format!("estimated rule cost exceeds budget by factor of {factor} {advice}"));
        assert_eq!(rule_excess(env.rule(rule, false).unwrap().max_cost, 1), expected, "{rule}");
    };
    check("self.l.all(x, self.l.all(y, x == y))", Some("more than 100x"));
    check("self.l.all(x, x.matches('abc'))", Some("more than 100x"));
    check("self.l.all(x, x.size() < 100000) && self.l.all(x, x.size() > 0)", Some("1.258291x"));
    check("self.l.all(x, x.size() > 0)", None);

    let total = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema";
    assert_eq!(excess(total, 250, 100), Some(format!("{total} exceeds budget by factor of 2.5x {advice}")));
    let refused = |rule: &str| env.rule(rule, false).unwrap_err().to_string();
    assert_eq!(refused("self.z == 1"), laid_out("self.z == 1", &[(5, "undefined field 'z'")]));
    assert_eq!(refused("self.a"), "cel expression must evaluate to a bool");
    assert!(
        refused("self.a ==")
            .starts_with("compilation failed: ERROR: <input>:1:10: Syntax error: mismatched input '<EOF>'")
    );
    assert_eq!(env.message("self.a", false).unwrap_err().to_string(), "messageExpression must evaluate to a string");
}

#[test]
fn optional_old_self_is_optional() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "integer"}}});
    let env = RuleEnv::new(schema::decl_type(&schema, false, "self").unwrap());
    let rule = env.rule("oldSelf.hasValue() ? self.a >= oldSelf.value().a : self.a == 1", true).unwrap();
    assert!(rule.uses_old_self);
    let (new, old) = (json!({"a": 1}), json!({"a": 2}));
    let bound = |old: Val<'static>| Bindings::new().with("oldSelf", old);
    let decide = |bindings: Bindings<'_>| rule.decide(&bindings, CALL_COST_LIMIT, "rule", Some("message")).0;
    let with_self = |bindings: Bindings<'static>| -> RuleVerdict {
        let new: &'static Value = Box::leak(Box::new(new.clone()));
        let decl = Box::leak(Box::new(env.decl().clone()));
        decide(bindings.with("self", Val::from_json(new, decl).unwrap()))
    };
    assert_eq!(with_self(bound(Val::Optional(None))), RuleVerdict::Passed);
    let old: &'static Value = Box::leak(Box::new(old));
    let decl = Box::leak(Box::new(env.decl().clone()));
    let old = Val::some(Val::from_json(old, decl).unwrap());
    assert_eq!(with_self(bound(old)), RuleVerdict::Failed { detail: "message".to_owned() });
}

#[test]
fn too_expensive_rules_stop_everything() {
    let schema = json!({"type": "array", "items": {"type": "integer"}});
    let env = RuleEnv::new(schema::decl_type(&schema, false, "self").unwrap());
    let data = Value::from((0..2000).collect::<Vec<i64>>());
    let rule = env.rule("self.all(x, self.all(y, x + y >= 0))", false).unwrap();
    let bindings = Bindings::new().with("self", Val::from_json(&data, env.decl()).unwrap());
    let (verdict, cost) = rule.decide(&bindings, CALL_COST_LIMIT, "the rule", None);
    let detail = "'operation cancelled: actual cost limit exceeded': no further validation rules will be run due to call cost exceeds limit for rule: the rule";
    assert_eq!(verdict, RuleVerdict::TooExpensive { detail: detail.to_owned() });
    assert!(cost > CALL_COST_LIMIT && cost < CALL_COST_LIMIT + 100);
}
