use serde_json::{Value, json};

use super::*;

fn object() -> Value {
    json!({
        "spec": {
            "a": "x", "n": 3, "f": 1.5, "t": true, "null": null,
            "l": [{"k": "a", "v": 1}, {"k": "b", "v": 2}, {"k": "c", "v": 3, "extra": 1}],
            "dotted.name": "d",
            "deep": {"a": {"a": "y"}},
        },
    })
}

#[track_caller]
fn check(path: &str, expected: Option<Value>) {
    let found = JsonPath::parse(path).unwrap_or_else(|| panic!("{path} is no path"));
    assert_eq!(found.first(&object()).map(Cow::into_owned), expected, "{path}");
}

#[test]
fn fields_and_indexes() {
    check(".spec.a", Some(json!("x")));
    check("$.spec.a", Some(json!("x")));
    check(".spec.nothing", None);
    check(".spec.a.b", None);
    check(".spec.null", Some(Value::Null));
    check(".spec.dotted\\.name", Some(json!("d")));
    check(".spec['dotted\\.name']", Some(json!("d")));
    check(".spec['a']", Some(json!("x")));
    check(".spec.l[1].k", Some(json!("b")));
    check(".spec.l[-1].k", Some(json!("c")));
    check(".spec.l[7].k", None);
    check(".spec.l[1:].k", Some(json!("b")));
    check(".spec.l[0:0].k", None);
    check(".spec.l[::2].v", Some(json!(1)));
    check(".spec.l[].k", Some(json!("a")));
    check(".spec.l[1,0].k", Some(json!("b")));
    check(".spec.l[*].k", Some(json!("a")));
    check(".", None);
}

#[test]
fn filters_compare_values_of_a_kind() {
    check(".spec.l[?(@.k==\"b\")].v", Some(json!(2)));
    check(".spec.l[?(@.k=='b')].v", Some(json!(2)));
    check(".spec.l[?(@.v>1)].k", Some(json!("b")));
    check(".spec.l[?(@.v>=3)].k", Some(json!("c")));
    check(".spec.l[?(@.k!='a')].k", Some(json!("b")));
    check(".spec.l[?(@.extra)].k", Some(json!("c")));
    check(".spec.l[?(@.k==1)].v", None);
    check(".spec.l[?(@.v==1.0)].v", None);
    check(".spec.a[?(@.k)]", None);
    check(".spec.l[?(@.k==')')].v", None);
}

#[test]
fn descent_finds_the_outermost_first() {
    check(".spec.deep..a", Some(json!({"a": "y"})));
    check("..v", Some(json!(1)));
    check(".spec.*", Some(json!("x")));
}

#[test]
fn what_is_no_path_is_refused() {
    for path in [".a[", ".a[x]", ".a[1:2:3:4]", "..a.....b", ".a[?(@.b]", ".a[?(@.b==\"x)]", ".a[+1]", "#"] {
        assert_eq!(JsonPath::parse(path), None, "{path}");
    }
}

#[test]
fn an_explosion_finds_nothing() {
    let mut nested = json!({"x": 1});
    for _ in 0..200 {
        nested = json!({"x": nested});
    }
    let path = JsonPath::parse(&"..x".repeat(40)).expect("a path");
    assert_eq!(path.first(&nested), None);
    let path = JsonPath::parse(&format!(".l{}", "[0,0,0,0]".repeat(100))).expect("a path");
    assert_eq!(path.first(&json!({"l": [[[[[[[[[[1]]]]]]]]]]})), None);
}

#[test]
fn only_one_value_selects() {
    let path = JsonPath::parse(".spec.l[*].k").expect("a path");
    assert_eq!(path.only(&object()), None);
    let path = JsonPath::parse(".spec.a").expect("a path");
    assert_eq!(path.only(&object()).as_deref(), Some(&json!("x")));
}
