//! A second implementation of validation, slow and plain: it reads the schema as it is written and only says yes or no.

use serde_json::{Map, Value};

fn flag(schema: &Value, name: &str) -> bool {
    schema[name].as_bool().unwrap_or(false)
}

fn keys(schema: &Value) -> Option<Vec<&str>> {
    (schema["x-kubernetes-list-type"] == "map").then(|| {
        schema["x-kubernetes-list-map-keys"].as_array().unwrap().iter().map(|key| key.as_str().unwrap()).collect()
    })
}

pub fn equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.keys().all(|name| b.contains_key(name) && equal(&a[name], &b[name]))
        }
        _ => a == b,
    }
}

/// The schema of a member, if it has one.
fn member<'s>(schema: &'s Value, name: &str) -> Option<&'s Value> {
    let property = schema["properties"].get(name);
    property.or_else(|| schema.get("additionalProperties").filter(|schema| schema.is_object()))
}

/// The old item of every new one.
fn pairs<'o>(schema: &Value, new: &[Value], old: &'o Value) -> Vec<Option<&'o Value>> {
    let (Some(keys), Some(old)) = (keys(schema), old.as_array()) else {
        return vec![None; new.len()];
    };
    let mut left: Vec<&Value> = old.iter().collect();
    let is_key = |value: &Value| value.is_string() || value.is_number() || value.is_boolean();
    let matches = |a: &Value, b: &Value| {
        keys.iter().all(|key| {
            let (a, b) = (a.get(key), b.get(key));
            a.is_some_and(is_key) && b.is_some_and(is_key) && equal(a.unwrap(), b.unwrap())
        })
    };
    new.iter().map(|item| left.iter().position(|old| matches(item, old)).map(|at| left.remove(at))).collect()
}

/// Whether a value is what it was; lists with keys may come in another order.
pub fn same(schema: &Value, new: &Value, old: &Value) -> bool {
    let nothing = Value::Null;
    match (new, old) {
        (Value::Array(new), Value::Array(items)) => {
            let item = schema.get("items").unwrap_or(&nothing);
            let in_place = new.iter().zip(items).all(|(new, old)| same(item, new, old));
            let by_key = keys(schema).is_some()
                && new
                    .iter()
                    .zip(pairs(schema, new, old))
                    .all(|(new, old)| old.is_some_and(|old| same(item, new, old)));
            new.len() == items.len() && (in_place || by_key)
        }
        (Value::Object(new), Value::Object(old)) => {
            new.len() == old.len()
                && new.iter().all(|(name, new)| {
                    let below = member(schema, name).unwrap_or(&nothing);
                    old.get(name).is_some_and(|old| same(below, new, old))
                })
        }
        _ => equal(new, old),
    }
}

/// Whether a value fits a schema; what equals its old value is let pass.
pub fn fits(schema: &Value, new: &Value, old: Option<&Value>) -> bool {
    if old.is_some_and(|old| same(schema, new, old)) {
        return true;
    }
    if new.is_null() {
        let has_type = schema.get("type").is_some() || flag(schema, "x-kubernetes-int-or-string");
        return (!has_type || flag(schema, "nullable")) && schema.get("enum").is_none();
    }
    fits_type(schema, new) && fits_limits(schema, new) && fits_composition(schema, new) && fits_below(schema, new, old)
}

fn fits_type(schema: &Value, value: &Value) -> bool {
    if flag(schema, "x-kubernetes-int-or-string") {
        return value.is_string() || value.is_i64();
    }
    match schema["type"].as_str() {
        None => true,
        Some("string") => value.is_string(),
        Some("integer") => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        Some("number") => value.is_number(),
        Some("boolean") => value.is_boolean(),
        Some("array") => value.is_array(),
        Some("object") => value.is_object(),
        Some(other) => panic!("{other}"),
    }
}

fn fits_limits(schema: &Value, value: &Value) -> bool {
    let limit = |name: &str| schema[name].as_f64();
    let within = |size: usize, min: &str, max: &str| {
        limit(min).is_none_or(|min| size as f64 >= min) && limit(max).is_none_or(|max| size as f64 <= max)
    };
    let allowed = schema["enum"].as_array().is_none_or(|list| list.iter().any(|one| equal(one, value)));
    allowed
        && match value {
            Value::String(text) => {
                let pattern = schema["pattern"].as_str().map(|pattern| regex::Regex::new(pattern).unwrap());
                within(text.chars().count(), "minLength", "maxLength")
                    && pattern.is_none_or(|pattern| pattern.is_match(text))
            }
            Value::Number(number) => {
                let number = number.as_f64().unwrap();
                limit("minimum").is_none_or(|min| number > min || (number == min && !flag(schema, "exclusiveMinimum")))
                    && limit("maximum")
                        .is_none_or(|max| number < max || (number == max && !flag(schema, "exclusiveMaximum")))
                    && limit("multipleOf").is_none_or(|factor| (number / factor).fract() == 0.0)
            }
            Value::Array(items) => within(items.len(), "minItems", "maxItems"),
            Value::Object(members) => {
                let required = schema["required"].as_array();
                within(members.len(), "minProperties", "maxProperties")
                    && required
                        .is_none_or(|names| names.iter().all(|name| members.contains_key(name.as_str().unwrap())))
            }
            _ => true,
        }
}

fn fits_composition(schema: &Value, value: &Value) -> bool {
    let fitting = |name: &str| -> Option<(usize, usize)> {
        let list = schema[name].as_array()?;
        Some((list.iter().filter(|schema| fits(schema, value, None)).count(), list.len()))
    };
    fitting("allOf").is_none_or(|(fitting, all)| fitting == all)
        && fitting("anyOf").is_none_or(|(fitting, _)| fitting > 0)
        && fitting("oneOf").is_none_or(|(fitting, _)| fitting == 1)
        && schema.get("not").is_none_or(|not| !fits(not, value, None))
}

fn fits_below(schema: &Value, new: &Value, old: Option<&Value>) -> bool {
    match new {
        Value::Array(items) => {
            let Some(item) = schema.get("items") else { return true };
            let old = old.map_or_else(|| vec![None; items.len()], |old| pairs(schema, items, old));
            items.iter().zip(old).all(|(new, old)| fits(item, new, old))
        }
        Value::Object(members) => {
            let old = old.filter(|_| schema["x-kubernetes-map-type"] != "atomic");
            members.iter().all(|(name, new)| {
                member(schema, name).is_none_or(|below| fits(below, new, old.and_then(|old| old.get(name))))
            })
        }
        _ => true,
    }
}

/// Whether no list holds something twice; `old` where a set that did not change is let pass.
pub fn has_no_repeats(schema: &Value, new: &Value, old: Option<&Value>) -> bool {
    let is_unchanged = old.is_some_and(|old| same(schema, new, old));
    match new {
        Value::Array(items) => {
            let is_set = schema["x-kubernetes-list-type"] == "set";
            let repeats = |items: &[Value]| items.iter().enumerate().any(|(at, item)| items[..at].contains(item));
            let keys_of = |item: &Value| -> Value {
                let keys = keys(schema).unwrap_or_default();
                let given = keys.iter().filter_map(|key| Some((key.to_string(), item.get(key)?.clone())));
                Value::Object(given.collect::<Map<_, _>>())
            };
            if is_set && repeats(items) && !is_unchanged {
                return false;
            }
            if keys(schema).is_some() {
                if items.iter().any(|item| !item.is_object() && !item.is_null()) {
                    if !is_unchanged {
                        return false;
                    }
                } else if repeats(&items.iter().map(keys_of).collect::<Vec<_>>()) {
                    return false;
                }
            }
            let Some(item) = schema.get("items") else { return true };
            let olds = old.map_or_else(|| vec![None; items.len()], |old| pairs(schema, items, old));
            // Items for which nothing goes with them are as unchanged as their list.
            items.iter().zip(olds).all(|(new, old)| has_no_repeats(item, new, old.or(is_unchanged.then_some(new))))
        }
        Value::Object(members) => members.iter().all(|(name, new)| {
            let atomic = schema["x-kubernetes-map-type"] == "atomic";
            let old = match old.filter(|_| !atomic).and_then(|old| old.get(name)) {
                Some(old) => Some(old),
                None => is_unchanged.then_some(new),
            };
            member(schema, name).is_none_or(|below| has_no_repeats(below, new, old))
        }),
        _ => true,
    }
}
