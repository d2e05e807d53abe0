//! From steps and an object to the values there.

use std::borrow::Cow;
use std::cmp::Ordering;

use serde_json::Value;

use super::{End, Filter, LIMIT, Operator, PathStep, Slice};

type Found<'v> = Vec<Cow<'v, Value>>;

/// The path does not fit the object.
pub struct Misfit {
    /// Whether there was anything for the step that did not fit: a filter that only asks for something takes that.
    something: bool,
}

/// All values at the end of the steps.
pub fn all<'v>(steps: &[PathStep], object: &'v Value) -> Result<Found<'v>, Misfit> {
    walk(steps, vec![Cow::Borrowed(object)])
}

fn walk<'v>(steps: &[PathStep], mut at: Found<'v>) -> Result<Found<'v>, Misfit> {
    for step in steps {
        at = take(step, at)?;
        if at.len() > LIMIT {
            return Err(Misfit { something: true });
        }
    }
    Ok(at)
}

fn take<'v>(step: &PathStep, input: Found<'v>) -> Result<Found<'v>, Misfit> {
    let something = !input.is_empty();
    let mut found = Vec::new();
    match step {
        PathStep::Field(name) => found.extend(input.into_iter().filter_map(|value| member(value, name))),
        PathStep::Wildcard => input.into_iter().for_each(|value| found.extend(children(value))),
        PathStep::Recursive => descend(input, &mut found),
        PathStep::Constant(value) => found.extend(input.iter().map(|_| Cow::Owned(value.clone()))),
        PathStep::Word => return Err(Misfit { something }),
        PathStep::Union(alternatives) => {
            for steps in alternatives {
                found.extend(walk(steps, input.clone())?);
                if found.len() > LIMIT {
                    return Err(Misfit { something });
                }
            }
        }
        PathStep::Slice(slice) => {
            for value in input.into_iter().filter(|value| !value.is_null()) {
                let Some(range) = value.as_array().and_then(|items| bounds(*slice, items.len())) else {
                    return Err(Misfit { something });
                };
                let Some((start, end, step)) = range else { return Ok(found) };
                found.extend(children(value).skip(start).take(end - start).step_by(step));
            }
        }
        PathStep::Filter(filter) => {
            for value in input {
                if !value.is_array() {
                    return Err(Misfit { something });
                }
                for item in children(value) {
                    if passes(filter, &item)? {
                        found.push(item);
                    }
                }
            }
        }
    }
    Ok(found)
}

fn member<'v>(value: Cow<'v, Value>, name: &str) -> Option<Cow<'v, Value>> {
    match value {
        Cow::Borrowed(value) => value.as_object()?.get(name).map(Cow::Borrowed),
        Cow::Owned(Value::Object(mut map)) => map.remove(name).map(Cow::Owned),
        Cow::Owned(_) => None,
    }
}

/// What is directly in a value, in order. To Go a text is a list of bytes.
fn children<'v>(value: Cow<'v, Value>) -> Box<dyn Iterator<Item = Cow<'v, Value>> + 'v> {
    match value {
        Cow::Borrowed(Value::Object(map)) => Box::new(map.values().map(Cow::Borrowed)),
        Cow::Borrowed(Value::Array(items)) => Box::new(items.iter().map(Cow::Borrowed)),
        Cow::Borrowed(Value::String(text)) => Box::new(text.bytes().map(|byte| Cow::Owned(Value::from(byte)))),
        Cow::Owned(Value::Object(map)) => Box::new(map.into_iter().map(|(_, value)| Cow::Owned(value))),
        Cow::Owned(Value::Array(items)) => Box::new(items.into_iter().map(Cow::Owned)),
        Cow::Owned(Value::String(text)) => {
            Box::new(text.into_bytes().into_iter().map(|byte| Cow::Owned(Value::from(byte))))
        }
        _ => Box::new(std::iter::empty()),
    }
}

/// Every value that has something in it, outermost first.
fn descend<'v>(input: Found<'v>, found: &mut Found<'v>) {
    for value in input {
        // One more than allowed is enough to be refused.
        if found.len() > LIMIT {
            return;
        }
        let inside: Found<'v> = children(value.clone()).collect();
        if !inside.is_empty() {
            found.push(value);
            descend(inside, found);
        }
    }
}

/// Start, end and step within a list; `Some(None)` where nothing was asked for, `None` where it is outside of the list.
fn bounds(slice: Slice, len: usize) -> Option<Option<(usize, usize, usize)>> {
    let len = i64::try_from(len).ok()?;
    let from_end = |at: i64| if at < 0 { at.checked_add(len) } else { Some(at) };
    let given = slice.start.unwrap_or_default();
    let start = from_end(given)?;
    let end = match slice.end {
        End::Open => len,
        End::At(end) => from_end(end)?,
        End::Single => match given.checked_add(1)? {
            end if end <= 0 => end.checked_add(len)?,
            end => end,
        },
    };
    if start == end {
        return Some(None);
    }
    let inside = (0..len).contains(&start) && (0..=len).contains(&end) && start < end;
    let step = slice.step.unwrap_or(1);
    let whole = |at: i64| usize::try_from(at).ok();
    if inside && step > 0 { Some(Some((whole(start)?, whole(end)?, whole(step)?))) } else { None }
}

fn passes(filter: &Filter, item: &Value) -> Result<bool, Misfit> {
    let here = || vec![Cow::Borrowed(item)];
    let left = walk(&filter.left, here());
    let Some((operator, right)) = &filter.compare else {
        return Ok(match left {
            Ok(found) => !found.is_empty(),
            Err(misfit) => misfit.something,
        });
    };
    let left = left?;
    let misfit = || Misfit { something: true };
    let left = match left.as_slice() {
        [] => return Ok(false),
        [one] => one,
        _ => return Err(misfit()),
    };
    let right = walk(right, here())?;
    match right.as_slice() {
        [] => Ok(false),
        [one] => compare(left, *operator, one).ok_or_else(misfit),
        _ => Err(misfit()),
    }
}

/// Nothing for values that cannot be compared: those of different kinds, lists, objects and nulls.
fn compare(left: &Value, operator: Operator, right: &Value) -> Option<bool> {
    let (order, ordered) = match (left, right) {
        (Value::Bool(a), Value::Bool(b)) => (a.cmp(b), false),
        (Value::String(a), Value::String(b)) => (a.as_str().cmp(b), true),
        (Value::Number(a), Value::Number(b)) => match (a.as_i64(), b.as_i64()) {
            (Some(a), Some(b)) => (a.cmp(&b), true),
            (None, None) => (a.as_f64()?.partial_cmp(&b.as_f64()?)?, true),
            _ => return None,
        },
        _ => return None,
    };
    Some(match operator {
        Operator::Equal => order == Ordering::Equal,
        Operator::NotEqual => order != Ordering::Equal,
        _ if !ordered => return None,
        Operator::Less => order == Ordering::Less,
        Operator::LessOrEqual => order != Ordering::Greater,
        Operator::Greater => order == Ordering::Greater,
        Operator::GreaterOrEqual => order != Ordering::Less,
        Operator::Unknown => return None,
    })
}
