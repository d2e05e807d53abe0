//! Conditions of lines: `has a.b`, `a.b == json`, `create`, joined by ` && `.

use std::cell::RefCell;
use std::collections::HashMap;

use pawl_meta::Errors;
use serde_json::{Map, Value};

use super::at::At;
use super::judge::{self, Report};
use super::place::{Place, is_zero};
use super::primitive::{Context, Primitive};

/// All of these hold.
pub(super) struct Condition(Vec<Term>);

struct Term {
    negated: bool,
    test: Test,
}

enum Test {
    Create,
    /// The object is the only item of its list.
    Alone,
    Kind(&'static str),
    Has(Source),
    Present(Source),
    OneOf(Source, Vec<Value>),
    Below(Source, i64),
    Above(Source, i64),
    Prefix(Source, &'static str),
    Either(Source, Source),
    Passes(Source, Primitive),
}

/// A place in the object, or at the same place of the object as it was.
struct Source {
    old: bool,
    place: Place,
}

/// What a condition or a primitive can see.
#[derive(Clone, Copy)]
pub(super) struct Scene<'f> {
    pub object: &'f Map<String, Value>,
    /// What stood at the same place before.
    pub old: Option<&'f Map<String, Value>>,
    /// The list that the object is an item of, and its place there.
    pub siblings: Option<(&'f Siblings<'f>, usize)>,
    pub update: bool,
    pub kind: &'f str,
}

/// The items of a list. Where a value stands first among them is found once for all.
pub(super) struct Siblings<'f> {
    pub all: &'f [Value],
    firsts: RefCell<HashMap<&'static str, HashMap<Value, usize>>>,
}

impl<'f> Siblings<'f> {
    pub fn new(all: &'f [Value]) -> Self {
        Self { all, firsts: RefCell::default() }
    }

    /// The first item that has this value at a place.
    pub fn first_with(&self, place: &Place, value: &Value) -> Option<usize> {
        let mut firsts = self.firsts.borrow_mut();
        let firsts = firsts.entry(place.text).or_insert_with(|| {
            let mut firsts = HashMap::new();
            for (index, item) in self.all.iter().enumerate() {
                if let Some(value) = item.as_object().and_then(|item| place.get(item)) {
                    firsts.entry(value.clone()).or_insert(index);
                }
            }
            firsts
        });
        firsts.get(value).copied()
    }
}

impl<'f> Scene<'f> {
    /// An object by itself.
    pub fn of(object: &'f Map<String, Value>) -> Self {
        Self { object, old: None, siblings: None, update: false, kind: "" }
    }
}

impl Condition {
    pub fn parse(cx: Context, text: &'static str) -> Result<Self, String> {
        text.split(" && ").map(|term| term_of(cx, term.trim())).collect::<Result<_, _>>().map(Self)
    }

    pub fn holds(&self, scene: Scene<'_>) -> bool {
        self.0.iter().all(|term| term.test.holds(scene) != term.negated)
    }
}

fn term_of(cx: Context, text: &'static str) -> Result<Term, String> {
    let (negated, text) = match text.strip_prefix('!') {
        Some(text) => (true, text),
        None => (false, text),
    };
    let source = |text: &'static str| -> Result<Source, String> {
        let (old, text) = match text.strip_prefix("old.") {
            Some(text) => (true, text),
            None => (false, text),
        };
        Ok(Source { old, place: Place::parse(cx.block, text)? })
    };
    let values = |text: &'static str| -> Result<Vec<Value>, String> {
        serde_json::from_str(&format!("[{text}]")).map_err(|_| format!("no values: {text}"))
    };
    let words: Vec<&'static str> = text.splitn(3, ' ').collect();
    let (turned, test) = match words.as_slice() {
        ["create"] => (false, Test::Create),
        ["update"] => (true, Test::Create),
        ["alone"] => (false, Test::Alone),
        ["has", path] => (false, Test::Has(source(path)?)),
        ["present", path] => (false, Test::Present(source(path)?)),
        ["prefix", path, text] => (false, Test::Prefix(source(path)?, text)),
        ["ok", path, rest] => {
            let of = source(path)?;
            let words: Vec<&'static str> = rest.split_whitespace().collect();
            let primitive = Primitive::parse(Context { of: of.place.of, ..cx }, &words)?;
            (false, Test::Passes(of, primitive))
        }
        ["root.kind", how @ ("==" | "!="), kind] => (*how == "!=", Test::Kind(kind.trim_matches('"'))),
        [path, how @ ("==" | "!=" | "in" | "notin"), literal] => {
            (matches!(*how, "!=" | "notin"), Test::OneOf(source(path)?, values(literal)?))
        }
        [path, "<", number] => (false, Test::Below(source(path)?, number.parse().map_err(|_| text)?)),
        [path, ">", number] => (false, Test::Above(source(path)?, number.parse().map_err(|_| text)?)),
        [one, "||", other] => (false, Test::Either(source(one)?, source(other)?)),
        _ => return Err(format!("no such condition: {text}")),
    };
    Ok(Term { negated: negated != turned, test })
}

impl Test {
    fn holds(&self, scene: Scene<'_>) -> bool {
        let number = |source: &Source| source.get(scene).and_then(Value::as_i64);
        match self {
            Self::Create => !scene.update,
            Self::Alone => scene.siblings.is_none_or(|(siblings, _)| siblings.all.len() == 1),
            Self::Kind(kind) => scene.kind == *kind,
            Self::Has(source) => source.place.is_set(source.get(scene)),
            Self::Present(source) => source.get(scene).is_some_and(|value| !value.is_null()),
            Self::OneOf(source, values) => {
                let value = source.get(scene).filter(|value| !value.is_null());
                values.iter().any(|wanted| match value {
                    Some(value) => value == wanted,
                    // An absent text is the empty one; other absent fields are zero unless they are pointers.
                    None => wanted == "" || (!source.place.pointer && is_zero(wanted)),
                })
            }
            Self::Below(source, limit) => number(source).is_some_and(|number| number < *limit),
            Self::Above(source, limit) => number(source).is_some_and(|number| number > *limit),
            Self::Prefix(source, start) => {
                source.get(scene).and_then(Value::as_str).is_some_and(|text| text.starts_with(start))
            }
            Self::Either(one, other) => {
                [one, other].iter().any(|source| source.get(scene).and_then(Value::as_bool) == Some(true))
            }
            Self::Passes(source, primitive) => match source.get(scene).filter(|value| !value.is_null()) {
                None => true,
                Some(value) => {
                    let mut found = Errors::new();
                    judge::judge(primitive, scene, value, source.place.of, &At::ROOT, &mut Report::new(&mut found));
                    found.is_empty()
                }
            },
        }
    }
}

impl Source {
    fn get<'f>(&self, scene: Scene<'f>) -> Option<&'f Value> {
        self.place.get(if self.old { scene.old? } else { scene.object })
    }
}
