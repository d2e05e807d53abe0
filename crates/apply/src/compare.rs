//! What changed between two objects, field by field.
//!
//! What every write may change on its own and nobody owns (the kind, the name, the version of the object and
//! managedFields themselves) is not compared.

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::path::Element;
use crate::set::FieldSet;
use crate::typed::{At, Form, ListForm, MapEntry, MapForm};
use crate::value::same;
use crate::zero::{Unset, is_zero, unset};

/// The fields that an object has and another has not, or has with another value.
#[derive(Debug, Default)]
pub(crate) struct Comparison<'a> {
    pub(crate) added: FieldSet<'a>,
    pub(crate) modified: FieldSet<'a>,
    pub(crate) removed: FieldSet<'a>,
}

impl<'a> Comparison<'a> {
    pub(crate) fn is_empty(&self) -> bool {
        self.added.is_empty() && self.modified.is_empty() && self.removed.is_empty()
    }

    /// Leaves out some fields with everything below them.
    pub(crate) fn without(mut self, fields: &FieldSet<'_>) -> Self {
        if !fields.is_empty() {
            self.added.subtract_recursively(fields);
            self.modified.subtract_recursively(fields);
            self.removed.subtract_recursively(fields);
        }
        self
    }

    pub(crate) fn into_change(self) -> OwnershipChange<'a> {
        let mut set = self.modified;
        set.extend(self.added);
        OwnershipChange { set, removed: self.removed }
    }
}

/// What a write does to the owners of fields.
#[derive(Debug)]
pub(crate) struct OwnershipChange<'a> {
    /// The fields that have a new value.
    pub(crate) set: FieldSet<'a>,
    pub(crate) removed: FieldSet<'a>,
}

/// What a write changed. Without an old object, what a creator added to an object that nobody had written.
pub(crate) fn compare<'a>(
    at: At<'a>,
    old: Option<&'a Map<String, Value>>,
    new: &'a Map<String, Value>,
) -> Result<Comparison<'a>, String> {
    let mut found = Comparison::default();
    if let Form::Map(form) = at.form(&Value::Null) {
        let old = old.map_or(OldMap::Unset, OldMap::Map);
        compare_maps(form, Level::Object, old, Some(new), &mut found)?;
    }
    Ok(found)
}

/// Whether a field of an object belongs to nobody. These are never part of a set.
pub(crate) fn is_unowned(in_metadata: bool, name: &str) -> bool {
    if in_metadata {
        matches!(
            name,
            "name"
                | "namespace"
                | "creationTimestamp"
                | "selfLink"
                | "uid"
                | "clusterName"
                | "generation"
                | "managedFields"
                | "resourceVersion"
        )
    } else {
        matches!(name, "apiVersion" | "kind")
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Object,
    Metadata,
    Below,
}

#[derive(Clone, Copy)]
enum Old<'a> {
    Absent,
    Unset,
    Value(&'a Value),
}

#[derive(Clone, Copy)]
enum OldMap<'a> {
    Absent,
    Unset,
    Map(&'a Map<String, Value>),
}

/// What became of a value as a whole.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mark {
    None,
    Added,
    Modified,
    Removed,
}

static NULL: Value = Value::Null;

impl<'a> Comparison<'a> {
    fn put(&mut self, element: impl FnOnce() -> Element<'a>, mark: Mark, below: Self) {
        if mark == Mark::None && below.is_empty() {
            return;
        }
        let element = element();
        let parts = [
            (&mut self.added, below.added, Mark::Added),
            (&mut self.modified, below.modified, Mark::Modified),
            (&mut self.removed, below.removed, Mark::Removed),
        ];
        for (set, below, kind) in parts {
            if mark == kind || !below.is_empty() {
                set.put(element.clone(), mark == kind, below);
            }
        }
    }
}

/// Compares two values of which at least one is there.
fn compare_values<'a>(
    at: At<'a>,
    level: Level,
    old: Old<'a>,
    new: Option<&'a Value>,
    found: &mut Comparison<'a>,
) -> Result<Mark, String> {
    let leaf = || match (old, new) {
        (Old::Absent, _) => Mark::Added,
        (_, None) => Mark::Removed,
        (Old::Unset, Some(new)) if is_zero(at, new) => Mark::None,
        (Old::Value(old), Some(new)) if same(old, new) => Mark::None,
        _ => Mark::Modified,
    };
    let form = match (old, new) {
        (Old::Value(old), None) => at.form(old),
        (Old::Value(old), Some(new)) => {
            // Without a schema a value may change its kind: the entries of a map that goes are removed.
            let form = at.form(if new.is_null() { old } else { new });
            if let (Form::Scalar(_) | Form::List(_), Value::Object(map)) = (form, old)
                && let Form::Map(gone) = at.form(old)
                && !gone.atomic
            {
                compare_maps(gone, Level::Below, OldMap::Map(map), None, found)?;
            }
            form
        }
        (_, Some(new)) => at.form(new),
        (_, None) => return Ok(Mark::None),
    };
    match form {
        Form::Scalar(_) => return Ok(leaf()),
        Form::List(form) => {
            let list =
                |value: Option<&'a Value>| value.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
            let (old_items, new_items) = (list(if let Old::Value(old) = old { Some(old) } else { None }), list(new));
            if form.is_atomic() || (old_items.is_empty() && new_items.is_empty()) {
                return Ok(leaf());
            }
            compare_lists(form, old_items, new_items, found)?;
        }
        Form::Map(form) => {
            let new_map = new.and_then(Value::as_object);
            let old_map = match old {
                Old::Absent => OldMap::Absent,
                Old::Unset if at.is_struct() => OldMap::Unset,
                Old::Unset => OldMap::Absent,
                Old::Value(Value::Object(map)) => OldMap::Map(map),
                Old::Value(_) => OldMap::Absent,
            };
            let nothing_new = new_map.is_none_or(Map::is_empty);
            let nothing_old = match old_map {
                OldMap::Map(map) => map.is_empty(),
                OldMap::Absent | OldMap::Unset => true,
            };
            if form.atomic {
                return Ok(leaf());
            }
            if nothing_new && nothing_old {
                // An empty struct is what was there before anyone wrote.
                return Ok(if matches!(old_map, OldMap::Unset) { Mark::None } else { leaf() });
            }
            compare_maps(form, level, old_map, new_map, found)?;
        }
    }
    Ok(match (old, new) {
        (Old::Absent, _) => Mark::Added,
        (_, None) => Mark::Removed,
        // Where there is no schema, a leaf may have become a map.
        (Old::Value(old), Some(_)) if matches!(form, Form::Map(_)) && !matches!(at.form(old), Form::Map(_)) => {
            Mark::Modified
        }
        _ => Mark::None,
    })
}

fn compare_maps<'a>(
    form: MapForm<'a>,
    level: Level,
    old: OldMap<'a>,
    new: Option<&'a Map<String, Value>>,
    found: &mut Comparison<'a>,
) -> Result<(), String> {
    let skipped = |name: &str| level != Level::Below && is_unowned(level == Level::Metadata, name);
    let mut visit = |name: &'a str, entry: MapEntry<'a>, old: Old<'a>, new: Option<&'a Value>| {
        let metadata = level == Level::Object && name == "metadata";
        let mut below = Comparison::default();
        let mark =
            compare_values(entry.at, if metadata { Level::Metadata } else { Level::Below }, old, new, &mut below)?;
        found.put(|| Element::Field(Cow::Borrowed(name)), if metadata { Mark::None } else { mark }, below);
        Ok::<(), String>(())
    };
    for (name, value) in new.into_iter().flatten().filter(|(name, _)| !skipped(name)) {
        // Most values are leaves, and most of them have not changed.
        if let OldMap::Map(map) = old
            && !value.is_object()
            && !value.is_array()
            && map.get(name).is_some_and(|old| same(old, value))
        {
            continue;
        }
        let entry = form.entry_or_deduced(name);
        let old = match old {
            OldMap::Absent => Old::Absent,
            OldMap::Map(map) => map.get(name).map_or(Old::Absent, Old::Value),
            OldMap::Unset => match entry.field.map(|field| unset(field, entry.at)) {
                None | Some(Unset::Absent) => Old::Absent,
                Some(Unset::Null) => Old::Value(&NULL),
                Some(Unset::Zero) => Old::Unset,
            },
        };
        visit(name, entry, old, Some(value))?;
    }
    if let OldMap::Map(map) = old {
        for (name, value) in map {
            if !skipped(name) && new.is_none_or(|new| !new.contains_key(name)) {
                visit(name, form.entry_or_deduced(name), Old::Value(value), None)?;
            }
        }
    }
    Ok(())
}

fn compare_lists<'a>(
    form: ListForm<'a>,
    old: &'a [Value],
    new: &'a [Value],
    found: &mut Comparison<'a>,
) -> Result<(), String> {
    if old.len() == new.len() && old.iter().zip(new).all(|(old, new)| form.same_name(old, new)) {
        return compare_in_place(form, old, new, found);
    }
    let named = |items: &'a [Value]| {
        let mut named = Vec::with_capacity(items.len());
        for (i, item) in items.iter().enumerate() {
            named.push((form.element(item).map_err(|text| format!("element {i}: {text}"))?, item));
        }
        // Stable: items that repeat each other keep their order.
        named.sort_by(|(a, _), (b, _)| a.cmp(b));
        Ok::<_, String>(named)
    };
    let (old, new) = (named(old)?, named(new)?);
    let (mut old, mut new) = (Groups(old.as_slice()), Groups(new.as_slice()));
    loop {
        let element = match (old.first(), new.first()) {
            (None, None) => return Ok(()),
            (Some(element), None) | (None, Some(element)) => element.clone(),
            (Some(a), Some(b)) => a.min(b).clone(),
        };
        let (old, new) = (old.take(&element), new.take(&element));
        compare_items(form, element, old, new, found)?;
    }
}

/// Compares lists of the same items in the same order.
fn compare_in_place<'a>(
    form: ListForm<'a>,
    old: &'a [Value],
    new: &'a [Value],
    found: &mut Comparison<'a>,
) -> Result<(), String> {
    for (i, (old_item, new_item)) in old.iter().zip(new).enumerate().filter(|(_, (old, new))| !same(old, new)) {
        let repeated = new.iter().enumerate().any(|(j, other)| i != j && form.same_name(other, new_item));
        let mut below = Comparison::default();
        let mark = if repeated {
            Mark::Modified
        } else {
            compare_values(form.items, Level::Below, Old::Value(old_item), Some(new_item), &mut below)?
        };
        if mark != Mark::None || !below.is_empty() {
            let element = form.element(new_item)?;
            found.put(|| element, mark, below);
        }
    }
    Ok(())
}

/// Compares the items of one name: normally at most one on each side.
fn compare_items<'a>(
    form: ListForm<'a>,
    element: Element<'a>,
    old: &[(Element<'a>, &'a Value)],
    new: &[(Element<'a>, &'a Value)],
    found: &mut Comparison<'a>,
) -> Result<(), String> {
    let mut one = |old: Option<&'a Value>, new: Option<&'a Value>| {
        let mut below = Comparison::default();
        let mark = compare_values(form.items, Level::Below, old.map_or(Old::Absent, Old::Value), new, &mut below)?;
        found.put(|| element.clone(), mark, below);
        Ok::<(), String>(())
    };
    match (old, new) {
        ([] | [_], [] | [_]) => one(old.first().map(|(_, v)| *v), new.first().map(|(_, v)| *v))?,
        ([_, _, ..], [_, _, ..]) => {
            if old.len() != new.len() || !old.iter().zip(new).all(|((_, a), (_, b))| same(a, b)) {
                found.modified.put(element, true, FieldSet::new());
            }
        }
        ([_, _, ..], _) => {
            if let Some((_, new)) = new.first() {
                one(None, Some(new))?;
            }
            found.removed.put(element, true, FieldSet::new());
        }
        (_, _) => {
            if let Some((_, old)) = old.first() {
                one(Some(old), None)?;
            }
            found.added.put(element, true, FieldSet::new());
        }
    }
    Ok(())
}

/// Sorted items, taken group by group of the same name.
struct Groups<'s, 'a>(&'s [(Element<'a>, &'a Value)]);

impl<'s, 'a> Groups<'s, 'a> {
    fn first(&self) -> Option<&'s Element<'a>> {
        self.0.first().map(|(element, _)| element)
    }

    fn take(&mut self, element: &Element<'a>) -> &'s [(Element<'a>, &'a Value)] {
        let n = self.0.iter().take_while(|(next, _)| next == element).count();
        let (group, rest) = self.0.split_at(n);
        self.0 = rest;
        group
    }
}
