//! What is in a namespace, as far as its end is concerned.

use std::ops::Bound;
use std::sync::Arc;

use pawl_kinds::Resource;
use pawl_meta::object::{Meta, Object};
use pawl_registry::{Readability, Registry, Served, Table};
use pawl_usage::{Protection, Target, Used, User, Uses, Who};

use crate::informer::each_place;

/// One object in a namespace.
#[derive(Clone, Debug)]
pub struct Remaining {
    pub served: Arc<Served>,
    pub name: String,
    pub uid: String,
    pub deleting: bool,
    pub liens: Vec<String>,
    pub finalizers: Vec<String>,
    /// Itself, as what others use.
    pub target: Option<Target>,
    /// What a pod needs as long as it is there.
    pub uses: Arc<Uses>,
    /// It may not go while somebody uses it, and somebody does.
    pub in_use: bool,
    /// Who uses it and is on its way out by itself: that is waited for.
    pub awaits: Option<Who>,
}

impl Remaining {
    /// What an object is for the end of its namespace.
    fn of(registry: &Registry, served: Arc<Served>, name: String, object: &Object) -> Self {
        let strings = |field: &str| object.meta_strings(field).into_iter().map(str::to_owned).collect();
        let facts = &served.resource.facts;
        let used = Used::of(&facts.group, &facts.plural);
        let target = used.map(|used| Target::new(used, object.namespace(), &name));
        let mut remaining = Self {
            name,
            uid: object.uid().to_owned(),
            deleting: object.is_deleting(),
            liens: strings("liens"),
            finalizers: strings("finalizers"),
            target,
            uses: Arc::default(),
            in_use: false,
            awaits: None,
            served,
        };
        if remaining.is_pod() {
            remaining.uses = Uses::of(User::Pod, object);
        }
        if !registry.liens_hold() {
            remaining.liens.clear();
        } else if let Some(target) = &remaining.target
            && Protection::of(target.used).is_some_and(|protection| protection.is_wanted(object))
        {
            remaining.in_use = registry.usage().keeps(target.used) && registry.usage().is_used(target);
            remaining.awaits = registry.user_going(target).filter(|_| remaining.is_held());
        }
        remaining
    }

    pub fn is_pod(&self) -> bool {
        let facts = &self.served.resource.facts;
        facts.group.is_empty() && facts.plural == "pods"
    }

    pub fn is_held(&self) -> bool {
        !self.deleting && (self.in_use || !self.liens.is_empty())
    }

    pub fn is_free(&self) -> bool {
        !self.deleting && !self.is_held()
    }
}

#[derive(Default)]
pub struct Content {
    pub objects: Vec<Remaining>,
    /// Objects that cannot be read.
    pub unreadable: Vec<Unreadable>,
    /// Definitions that cannot be read and are not served: of what may be stored of them nothing is known.
    pub unknown: Vec<String>,
}

pub struct Unreadable {
    pub served: Arc<Served>,
    pub name: String,
}

/// What goes with its namespace: everything in it that is stored and can be deleted.
pub fn is_content(resource: &Resource) -> bool {
    let facts = &resource.facts;
    facts.namespaced && !facts.is_virtual && facts.verbs.iter().any(|verb| verb == "delete")
}

impl Content {
    /// Everything in a namespace, as the caches have it. Liens count only where they hold.
    pub fn of(registry: &Registry, namespace: &str) -> Self {
        let table = registry.table();
        let mut content = Self { unknown: unknown_definitions(&table), ..Self::default() };
        let prefix = format!("{namespace}/");
        for served in each_place(&table).into_iter().filter(|s| is_content(&s.resource)) {
            let objects = served.stored.cache.objects();
            let from: Arc<str> = prefix.as_str().into();
            let entries = objects.range::<_, Arc<str>>((Bound::Included(from), Bound::Unbounded));
            for (_, entry) in entries.take_while(|(key, _)| key.starts_with(&prefix)) {
                let name = entry.name().to_owned();
                match &entry.state {
                    Readability::Readable(readable) => {
                        let object = readable.object(entry.revision);
                        content.objects.push(Remaining::of(registry, Arc::clone(&served), name, &object));
                    }
                    Readability::Unreadable(_) | Readability::Away(_) => {
                        content.unreadable.push(Unreadable { served: Arc::clone(&served), name });
                    }
                }
            }
        }
        content
    }
}

fn unknown_definitions(table: &Table) -> Vec<String> {
    let Some(home) = table.preferred(pawl_custom::GROUP, pawl_custom::PLURAL) else { return Vec::new() };
    let is_served =
        |name: &str| name.split_once('.').is_some_and(|(plural, group)| table.preferred(group, plural).is_some());
    home.stored.cache.closed().keys().filter(|name| !is_served(name)).map(|name| name.to_string()).collect()
}
