//! The managers of an object: who owns which fields, as metadata.managedFields says it.

use std::borrow::Cow;
use std::cmp::Ordering;

use serde_json::{Map, Value};

use pawl_meta::object::{Meta, Object};
use pawl_meta::{go, time};

use crate::path::Element;
use crate::set::FieldSet;
use crate::typed::Writer;
use crate::value;

/// More managers that wrote by update than these are merged into one.
const MAX_UPDATERS: usize = 10;
const ANCIENT: &str = "ancient-changes";

/// How a manager came to own its fields. The order is that of the entries on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    Apply,
    Update,
}

impl Operation {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Apply => "Apply",
            Self::Update => "Update",
        }
    }
}

/// One entry of managedFields.
#[derive(Clone, Debug)]
pub(crate) struct Manager<'a> {
    pub(crate) name: Cow<'a, str>,
    pub(crate) operation: Operation,
    pub(crate) version: Cow<'a, str>,
    pub(crate) subresource: Cow<'a, str>,
    pub(crate) time: Option<Cow<'a, str>>,
    pub(crate) fields: FieldSet<'a>,
}

impl<'a> Manager<'a> {
    pub(crate) fn new(writer: &Writer<'a>, operation: Operation, fields: FieldSet<'a>) -> Self {
        let name = if writer.manager.is_empty() { "unknown" } else { writer.manager };
        Self {
            name: Cow::Borrowed(name),
            operation,
            version: Cow::Borrowed(writer.api_version),
            subresource: Cow::Borrowed(writer.subresource),
            time: None,
            fields,
        }
    }

    /// Whether two entries are of the same manager. An applier is the same in every version.
    pub(crate) fn is(&self, other: &Manager<'_>) -> bool {
        self.operation == other.operation
            && self.name == other.name
            && self.subresource == other.subresource
            && (self.operation == Operation::Apply || self.version == other.version)
    }

    pub(crate) fn order(&self, other: &Manager<'_>) -> Ordering {
        (&self.name, self.operation, &self.version, &self.subresource).cmp(&(
            &other.name,
            other.operation,
            &other.version,
            &other.subresource,
        ))
    }

    fn order_by_time(&self, other: &Manager<'_>) -> Ordering {
        match (self.time.as_deref(), other.time.as_deref()) {
            // The form in which times are kept sorts as text.
            (Some(a), Some(b)) if a.len() == b.len() && a.ends_with('Z') && b.ends_with('Z') => a.cmp(b),
            (a, b) => a.and_then(time::parse).unwrap_or(0).cmp(&b.and_then(time::parse).unwrap_or(0)),
        }
    }

    fn decode(entry: &'a Value, index: usize) -> Result<Self, String> {
        let text = |field: &str| entry.get(field).and_then(Value::as_str).unwrap_or_default();
        let operation = match text("operation") {
            "Apply" => Operation::Apply,
            "Update" => Operation::Update,
            _ => return Err("operation must be `Apply` or `Update`".to_owned()),
        };
        let version = text("apiVersion");
        if version.is_empty() {
            return Err("apiVersion must not be empty".to_owned());
        }
        match text("fieldsType") {
            "FieldsV1" => {}
            "" => return Err(format!("missing fieldsType in managed fields entry {index}")),
            other => return Err(format!("invalid fieldsType {} in managed fields entry {index}", go::quote(other))),
        }
        let fields = match entry.get("fieldsV1") {
            None | Some(Value::Null) => FieldSet::new(),
            Some(fields) => FieldSet::from_fields_v1(fields).map_err(|error| {
                format!("error decoding versioned set from {}: error decoding set: {error}", go::print_map(entry))
            })?,
        };
        Ok(Self {
            name: Cow::Borrowed(text("manager")),
            operation,
            version: Cow::Borrowed(version),
            subresource: Cow::Borrowed(text("subresource")),
            time: entry.get("time").and_then(Value::as_str).map(Cow::Borrowed),
            fields,
        })
    }

    fn encode(&self) -> Value {
        let text = |text: &str| Value::String(text.to_owned());
        let mut entry = Map::new();
        entry.insert("apiVersion".to_owned(), text(&self.version));
        entry.insert("fieldsType".to_owned(), text("FieldsV1"));
        entry.insert("fieldsV1".to_owned(), self.fields.to_fields_v1());
        if !self.name.is_empty() {
            entry.insert("manager".to_owned(), text(&self.name));
        }
        entry.insert("operation".to_owned(), text(self.operation.as_str()));
        if !self.subresource.is_empty() {
            entry.insert("subresource".to_owned(), text(&self.subresource));
        }
        if let Some(time) = &self.time {
            entry.insert("time".to_owned(), text(time));
        }
        Value::Object(entry)
    }
}

/// All managers of an object.
#[derive(Clone, Debug, Default)]
pub(crate) struct Managers<'a>(pub(crate) Vec<Manager<'a>>);

impl<'a> Managers<'a> {
    /// Reads managedFields; an absent list is an empty one.
    pub(crate) fn decode(entries: Option<&'a Value>) -> Result<Self, String> {
        let mut managers = Self::default();
        for (i, entry) in entries.and_then(Value::as_array).into_iter().flatten().enumerate() {
            let manager = Manager::decode(entry, i)?;
            match managers.0.iter_mut().find(|other| other.is(&manager)) {
                Some(other) => *other = manager,
                None => managers.0.push(manager),
            }
        }
        Ok(managers)
    }

    /// Writes managedFields: appliers first, then by time and name. `None` when nobody owns anything.
    pub(crate) fn encode(mut self) -> Option<Value> {
        if self.0.is_empty() {
            return None;
        }
        self.0.sort_by(|a, b| {
            a.operation
                .cmp(&b.operation)
                .then_with(|| a.order_by_time(b))
                .then_with(|| (&a.name, &a.version, &a.subresource).cmp(&(&b.name, &b.version, &b.subresource)))
        });
        Some(Value::Array(self.0.iter().map(Manager::encode).collect()))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn drop_idle(&mut self) {
        self.0.retain(|manager| !manager.fields.is_empty());
    }

    /// Merges the oldest updaters of a version into one until there are few enough of them.
    pub(crate) fn cap_updaters(&mut self) {
        let updaters = |managers: &[Manager<'_>]| managers.iter().filter(|m| m.operation == Operation::Update).count();
        let mut excess = updaters(&self.0).saturating_sub(MAX_UPDATERS);
        if excess == 0 {
            return;
        }
        let (mut updaters, mut rest): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.0).into_iter().partition(|m| m.operation == Operation::Update);
        updaters.sort_by(|a, b| a.order_by_time(b).then_with(|| a.order(b)));
        // The entry of each version that takes in the others.
        let mut kept: Vec<Manager<'a>> = Vec::with_capacity(updaters.len());
        for manager in updaters {
            match kept.iter_mut().find(|first| excess > 0 && first.version == manager.version) {
                Some(first) => {
                    first.name = Cow::Borrowed(ANCIENT);
                    first.subresource = Cow::Borrowed("");
                    first.time = manager.time;
                    first.fields.extend(manager.fields);
                    excess -= 1;
                }
                None => kept.push(manager),
            }
        }
        rest.extend(kept);
        self.0 = rest;
    }
}

/// Whether managedFields are valid, and if not, what upstream says of them.
pub fn validate_managed_fields(object: &Object) -> Result<(), String> {
    Managers::decode(of(object)).map(|_| ())
}

/// The managedFields of an object.
pub(crate) fn of(object: &Object) -> Option<&Value> {
    object.metadata().and_then(|metadata| metadata.get("managedFields"))
}

/// Whether a list of managedFields asks for all of them to be forgotten: `[]` or `[{}]`.
pub(crate) fn is_reset(entries: &Value) -> bool {
    const KNOWN: [&str; 7] = ["manager", "operation", "apiVersion", "time", "fieldsType", "fieldsV1", "subresource"];
    let unset = |value: &Value| value.is_null() || value.as_str() == Some("");
    match entries.as_array().map(Vec::as_slice) {
        Some([]) => true,
        Some([Value::Object(entry)]) => KNOWN.iter().all(|field| entry.get(*field).is_none_or(unset)),
        _ => false,
    }
}

/// Removes from a set what belongs to nobody.
pub(crate) fn strip(set: &mut FieldSet<'_>) {
    set.retain_nodes(|node| match &node.element {
        Element::Field(name) if crate::compare::is_unowned(false, name) => node.member = false,
        Element::Field(name) if name == "metadata" => {
            node.member = false;
            node.children.retain_nodes(|node| {
                if matches!(&node.element, Element::Field(name) if crate::compare::is_unowned(true, name)) {
                    node.member = false;
                }
            });
        }
        _ => {}
    });
}

/// How it was found out whether a write changes anything but times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compared {
    /// Who owns what differs, or nobody owns anything.
    OwnersDiffer,
    /// Who owns what is the same, and something else is not.
    Differ,
    Same,
}

/// Takes the old times back when a write changed nothing but times, so that nothing is written.
pub fn restore_times(old: &Object, new: &mut Object) -> Compared {
    let (Some(Value::Array(before)), Some(Value::Array(after))) = (of(old), of(new)) else {
        return Compared::OwnersDiffer;
    };
    let timeless = |a: &Value, b: &Value| match (a, b) {
        (Value::Object(a), Value::Object(b)) => {
            let same_but_time = |a: &Map<String, Value>, b: &Map<String, Value>| {
                a.iter().filter(|(key, _)| *key != "time").all(|(key, a)| b.get(key) == Some(a))
            };
            same_but_time(a, b) && same_but_time(b, a)
        }
        _ => a == b,
    };
    let only_times_of_owners =
        before.len() == after.len() && before != after && before.iter().zip(after).all(|(a, b)| timeless(a, b));
    if !only_times_of_owners {
        return Compared::OwnersDiffer;
    }
    if !same_apart_from_managers(old, new) {
        return Compared::Differ;
    }
    let before = Value::Array(before.clone());
    pawl_meta::object::metadata_mut(new).insert("managedFields".to_owned(), before);
    Compared::Same
}

/// Whether two objects are the same apart from their managedFields.
pub(crate) fn same_apart_from_managers(a: &Object, b: &Object) -> bool {
    let without = |object: &Object, except: &str| object.len() - usize::from(object.contains_key(except));
    let covers = |a: &Object, b: &Object, except: &str| {
        without(a, except) == without(b, except)
            && a.iter().filter(|(key, _)| *key != except).all(|(key, a)| b.get(key).is_some_and(|b| value::same(a, b)))
    };
    covers(a, b, "metadata")
        && match (a.metadata(), b.metadata()) {
            (Some(a), Some(b)) => covers(a, b, "managedFields"),
            (None, None) => true,
            _ => false,
        }
}
