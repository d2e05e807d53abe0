//! Where a value stands, what it is called there, and what stood there before.
//!
//! Places are linked on the stack and say nothing until they are asked: as long as nothing is wrong, nobody looks up the
//! old value or writes a path.

use std::cell::{Cell, OnceCell};
use std::time::{Duration, Instant};

use pawl_meta::object::Object;
use serde_json::Value;

use crate::changes::Changes;
use crate::equality;
use crate::node::Node;
use crate::view::View;

/// A value in its place.
pub(crate) struct Place<'p, 'v> {
    parent: Option<&'p Place<'p, 'v>>,
    step: PathStep<'p>,
    node: &'p Node,
    value: View<'v>,
    /// Below a composed schema, or where nothing goes with anything: no old value.
    is_apart: bool,
    /// Only asked of the outermost place; others find theirs through their parent.
    root: Option<View<'v>>,
    old: OnceCell<Option<View<'v>>>,
    /// Of a list with keys: the old item of every item.
    pairs: OnceCell<Vec<Option<&'v Value>>>,
    is_unchanged: OnceCell<bool>,
    clock: &'p Clock,
}

#[derive(Clone, Copy)]
pub(crate) enum PathStep<'p> {
    Root,
    /// A declared field.
    Field(&'p str),
    /// A key of a map.
    Key(&'p str),
    Index(usize),
}

/// What is known of comparing: how long it took, and what came of it where everything was compared beforehand.
#[derive(Default)]
pub(crate) struct Clock {
    spent: Cell<Duration>,
    changes: Option<Changes>,
}

impl Clock {
    /// Compares everything at once.
    pub fn comparing(node: &Node, new: &Object, old: &Object) -> Self {
        let mut clock = Self::default();
        let changes = clock.measure(|| Changes::between(node, new, old));
        clock.changes = Some(changes);
        clock
    }

    pub fn spent(&self) -> Duration {
        self.spent.get()
    }

    fn measure<T>(&self, work: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let done = work();
        self.spent.set(self.spent.get() + start.elapsed());
        done
    }
}

impl<'p, 'v> Place<'p, 'v> {
    pub fn root(node: &'p Node, value: View<'v>, old: Option<View<'v>>, clock: &'p Clock) -> Self {
        let is_apart = old.is_none();
        Self::new(None, PathStep::Root, node, value, is_apart, old, clock)
    }

    /// The place of a value inside this one.
    pub fn below(&'p self, step: PathStep<'p>, node: &'p Node, value: &'v Value) -> Place<'p, 'v> {
        Self::new(Some(self), step, node, value.into(), self.is_apart, None, self.clock)
    }

    /// The same place for a schema that is composed with the one that stands there: below it nothing has an old value.
    pub fn composed(&'p self, node: &'p Node) -> Place<'p, 'v> {
        Self::new(self.parent, self.step, node, self.value, true, None, self.clock)
    }

    fn new(
        parent: Option<&'p Place<'p, 'v>>,
        step: PathStep<'p>,
        node: &'p Node,
        value: View<'v>,
        is_apart: bool,
        root: Option<View<'v>>,
        clock: &'p Clock,
    ) -> Self {
        let (old, pairs, is_unchanged) = (OnceCell::new(), OnceCell::new(), OnceCell::new());
        Self { parent, step, node, value, is_apart, root, old, pairs, is_unchanged, clock }
    }

    pub fn node(&self) -> &'p Node {
        self.node
    }

    pub fn value(&self) -> View<'v> {
        self.value
    }

    /// The old value that goes with this one.
    pub fn old(&self) -> Option<View<'v>> {
        if self.is_apart {
            return None;
        }
        *self.old.get_or_init(|| {
            let Some(parent) = self.parent else { return self.root };
            match self.step {
                PathStep::Root => self.root,
                PathStep::Field(name) | PathStep::Key(name) => {
                    let is_unit = parent.node.is_atomic_map;
                    if is_unit { None } else { parent.old()?.get(name).map(View::from) }
                }
                PathStep::Index(index) => parent.pairs().get(index).copied().flatten().map(View::from),
            }
        })
    }

    fn pairs(&self) -> &[Option<&'v Value>] {
        self.pairs.get_or_init(|| {
            let lists = self.value.array().zip(self.old().and_then(View::array));
            match lists.zip(self.node.map_keys()) {
                Some(((new, old), keys)) => self.clock.measure(|| equality::pair(keys, new, old)),
                None => Vec::new(),
            }
        })
    }

    /// Whether the value is what it was. Where nothing goes with it, it is part of a larger value for which something
    /// does: whether that one is what it was.
    pub fn is_unchanged(&self) -> bool {
        *self.is_unchanged.get_or_init(|| match (self.old(), self.parent) {
            (Some(old), _) => match &self.clock.changes {
                Some(changes) => !changes.contains(self.value),
                None => {
                    let is_unchanged = self.clock.measure(|| equality::same(Some(self.node), self.value, old));
                    if !is_unchanged {
                        self.change_around();
                    }
                    is_unchanged
                }
            },
            (None, Some(parent)) if !self.is_apart => parent.is_unchanged(),
            _ => false,
        })
    }

    /// What holds a value that is not what it was is not what it was either: nobody has to compare that.
    fn change_around(&self) {
        let mut around = self.parent;
        while let Some(place) = around.filter(|place| place.is_unchanged.set(false).is_ok()) {
            around = place.parent;
        }
    }

    /// `spec.list[0].map.key`, as schema errors name it.
    pub fn name(&self) -> String {
        self.written(|name, key| name.extend([".", key]))
    }

    /// `spec.list[0].map[key]`, as all other errors name it.
    pub fn path(&self) -> String {
        self.written(|path, key| path.extend(["[", key, "]"]))
    }

    /// The way here, with keys of maps written in one way or the other.
    fn written(&self, key_of: fn(&mut String, &str)) -> String {
        let mut way = self.parent.map(|parent| parent.written(key_of)).unwrap_or_default();
        match self.step {
            PathStep::Root => {}
            PathStep::Field(field) => {
                if !way.is_empty() {
                    way.push('.');
                }
                way.push_str(field);
            }
            PathStep::Key(key) => key_of(&mut way, key),
            PathStep::Index(index) => way.push_str(&format!("[{index}]")),
        }
        way
    }

    /// `properties[spec].properties[list].items`: where in the schema this is said.
    pub fn schema_path(&self) -> String {
        let mut path = match self.parent {
            Some(parent) => parent.schema_path(),
            None => String::with_capacity(128),
        };
        if !path.is_empty() {
            path.push('.');
        }
        match self.step {
            PathStep::Root => {}
            PathStep::Field(field) => path.extend(["properties[", field, "]"]),
            PathStep::Key(_) => path.push_str("additionalProperties"),
            PathStep::Index(_) => path.push_str("items"),
        }
        path
    }
}
