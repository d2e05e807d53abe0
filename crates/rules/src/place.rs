//! Paths of the rules, resolved against the type that they speak of: which steps are pointers, what an absent field is.

use std::sync::LazyLock;

pub(super) use pawl_meta::read::is_zero;
use pawl_schema::{Scalar, TypeKind, TypeRef};
use serde_json::{Map, Value};

use super::at::At;

/// What stands for a plain struct that the client left out.
pub(super) static EMPTY: LazyLock<Map<String, Value>> = LazyLock::new(Map::new);

/// A place relative to the object of a block.
pub(super) struct Place {
    /// As it is written.
    pub text: &'static str,
    pub steps: Box<[PathStep]>,
    /// Whether what stands there is behind a pointer: a zero value is then a value.
    pub pointer: bool,
    /// The type of what stands there.
    pub of: TypeRef<'static>,
    /// What Go has there when nobody set it.
    pub zero: Value,
    is_struct: bool,
}

/// Is shown a value, what stood there before, and where that is.
pub(super) type Visitor<'f, 'v> = dyn FnMut(Option<&'v Value>, Option<&'v Value>, &At<'_>) + 'f;

pub(super) enum PathStep {
    Field {
        name: &'static str,
        pointer: bool,
    },
    /// An entry of a map.
    Key(&'static str),
    /// Every item of a list.
    Each,
}

impl Place {
    /// Reads `a.b`, `a[].b`, `a.b[key]`; `.` is the object itself.
    pub fn parse(root: TypeRef<'static>, text: &'static str) -> Result<Self, String> {
        let wrong = || format!("no such path: {text}");
        let (mut steps, mut of, mut pointer) = (Vec::new(), root, false);
        let mut rest = if text == "." { "" } else { text };
        while !rest.is_empty() {
            if let Some(inner) = rest.strip_prefix('[') {
                let (key, after) = inner.split_once(']').ok_or_else(wrong)?;
                match (of.kind(), key) {
                    (TypeKind::List(item), "") => {
                        of = item;
                        steps.push(PathStep::Each);
                    }
                    (TypeKind::Map(value), key) if !key.is_empty() => {
                        of = value;
                        steps.push(PathStep::Key(key));
                    }
                    _ => return Err(wrong()),
                }
                pointer = false;
                rest = after.strip_prefix('.').unwrap_or(after);
                continue;
            }
            let end = rest.find(['.', '[']).unwrap_or(rest.len());
            let (name, after) = rest.split_at(end);
            let field = of.object().and_then(|object| object.field(name)).ok_or_else(wrong)?;
            (of, pointer) = (field.of(), field.pointer);
            steps.push(PathStep::Field { name, pointer });
            rest = after.strip_prefix('.').unwrap_or(after);
        }
        Ok(Self { text, steps: steps.into(), pointer, of, zero: zero(of), is_struct: of.object().is_some() })
    }

    pub fn is_self(&self) -> bool {
        self.steps.is_empty()
    }

    /// The field of the object itself that the path begins with.
    pub fn first_field(&self) -> Option<&'static str> {
        match self.steps.first() {
            Some(PathStep::Field { name, .. }) => Some(name),
            _ => None,
        }
    }

    /// What stands there; a path with `[]` has no single value.
    pub fn get<'v>(&self, object: &'v Map<String, Value>) -> Option<&'v Value> {
        let (first, rest) = self.steps.split_first()?;
        let PathStep::Field { name, .. } = first else { return None };
        rest.iter().try_fold(object.get(*name)?, |value, step| match step {
            PathStep::Field { name, .. } | PathStep::Key(name) => value.get(*name),
            PathStep::Each => None,
        })
    }

    /// Whether a value at this place counts as set.
    pub fn is_set(&self, value: Option<&Value>) -> bool {
        value.is_some_and(|value| match value {
            _ if self.pointer => !value.is_null(),
            Value::Object(fields) if self.is_struct => !fields.values().all(is_zero),
            _ => !is_zero(value),
        })
    }

    /// Calls back for every value at the place, absent ones included, together with its counterpart in the old object.
    /// Nothing is visited behind an absent pointer.
    pub fn visit<'v>(
        &'v self,
        object: &'v Map<String, Value>,
        old: Option<&'v Map<String, Value>>,
        at: &At<'_>,
        f: &mut Visitor<'_, 'v>,
    ) {
        let Some((PathStep::Field { name, pointer }, rest)) = self.steps.split_first() else { return };
        walk(rest, *pointer, object.get(*name), old.and_then(|old| old.get(*name)), &at.field(name), f);
    }
}

fn walk<'v>(
    steps: &'v [PathStep],
    pointer: bool,
    value: Option<&'v Value>,
    old: Option<&'v Value>,
    at: &At<'_>,
    f: &mut Visitor<'_, 'v>,
) {
    let Some((step, rest)) = steps.split_first() else { return f(value, old, at) };
    let value = value.filter(|value| !value.is_null());
    if value.is_none() && pointer {
        return;
    }
    let inside = |of: Option<&'v Value>, name: &str| of.and_then(|of| of.get(name));
    match step {
        PathStep::Field { name, pointer } => {
            walk(rest, *pointer, inside(value, name), inside(old, name), &at.field(name), f);
        }
        PathStep::Key(key) => walk(rest, false, inside(value, key), inside(old, key), &at.key(key), f),
        PathStep::Each => {
            for (index, item) in value.and_then(Value::as_array).into_iter().flatten().enumerate() {
                let before = old.and_then(|old| old.get(index));
                walk(rest, false, Some(item), before, &at.index(index), f);
            }
        }
    }
}

fn zero(of: TypeRef<'_>) -> Value {
    match of.kind() {
        TypeKind::Scalar(Scalar::String | Scalar::Bytes) => Value::from(""),
        TypeKind::Scalar(Scalar::Bool) => Value::from(false),
        TypeKind::Scalar(Scalar::Time | Scalar::MicroTime) => Value::Null,
        TypeKind::Scalar(Scalar::Quantity) => Value::from("0"),
        TypeKind::Scalar(Scalar::Duration) => Value::from("0s"),
        TypeKind::Scalar(_) => Value::from(0),
        _ => Value::Null,
    }
}
