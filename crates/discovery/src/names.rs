//! Under which names types are published, and which kinds they are.
//!
//! A built-in type goes by upstream's name (`io.k8s.api.core.v1.Pod`), a custom one by its reversed group, its version and
//! its kind (`com.example.v1.Widget`).

use std::borrow::Cow;
use std::collections::HashMap;

use pawl_kinds::{Kinds, Resource, Subresource};
use pawl_schema::{TypeKind, TypeRef};

use crate::definition::Kind;
use crate::table;

pub(crate) const API_GROUP: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.APIGroup";
pub(crate) const API_GROUP_LIST: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.APIGroupList";
pub(crate) const API_RESOURCE_LIST: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.APIResourceList";
pub(crate) const API_VERSIONS: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.APIVersions";
pub(crate) const DELETE_OPTIONS: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions";
pub(crate) const LIST_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta";
pub(crate) const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
pub(crate) const PATCH: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.Patch";
pub(crate) const STATUS: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.Status";
pub(crate) const VERSION_INFO: &str = "io.k8s.apimachinery.pkg.version.Info";
pub(crate) const WATCH_EVENT: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.WatchEvent";

/// What a published name stands for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Source<'r> {
    /// A built-in type.
    Builtin(TypeRef<'static>),
    /// The objects of a custom resource.
    Custom(&'r Resource),
    /// The list of a custom resource.
    CustomList(&'r Resource),
}

/// The names of everything that a table can publish.
pub(crate) struct Names<'r> {
    builtin: &'static Kinds,
    sources: HashMap<Cow<'static, str>, Source<'r>>,
    /// Built-in types that are no objects (times, quantities, raw values), which nodes do not name.
    plain: HashMap<TypeRef<'static>, &'static str>,
    kinds: HashMap<Cow<'static, str>, Vec<Kind<'r>>>,
}

impl<'r> Names<'r> {
    pub fn new(builtin: &'static Kinds, resources: &[&'r Resource]) -> Self {
        let mut names = Self { builtin, sources: HashMap::new(), plain: HashMap::new(), kinds: HashMap::new() };
        for (type_name, of) in builtin.schema().types() {
            let Some(name) = builtin.openapi_name(type_name) else { continue };
            names.sources.insert(Cow::Borrowed(name), Source::Builtin(of));
            if of.object().is_none() {
                names.plain.insert(of, name);
            }
        }
        for &resource in resources {
            names.add(resource);
        }
        for (name, kind) in [
            (API_GROUP, "APIGroup"),
            (API_GROUP_LIST, "APIGroupList"),
            (API_RESOURCE_LIST, "APIResourceList"),
            (API_VERSIONS, "APIVersions"),
            (STATUS, "Status"),
        ] {
            names.add_kind(Cow::Borrowed(name), Kind { group: "", kind: Cow::Borrowed(kind), version: "v1" });
        }
        // These belong to every group version that is built in.
        let groups = table::groups(resources);
        for (name, kind) in [(DELETE_OPTIONS, "DeleteOptions"), (WATCH_EVENT, "WatchEvent")] {
            for version in groups.iter().flat_map(|g| &g.versions).filter(|v| v.is_builtin()) {
                let kind = Kind { group: version.group, kind: Cow::Borrowed(kind), version: version.name };
                names.add_kind(Cow::Borrowed(name), kind);
            }
        }
        for kinds in names.kinds.values_mut() {
            kinds.sort_by(|a, b| (a.group, a.version, &a.kind).cmp(&(b.group, b.version, &b.kind)));
        }
        names
    }

    /// The built-in types, whose names and descriptions are upstream's.
    pub fn builtin(&self) -> &'static Kinds {
        self.builtin
    }

    pub fn source(&self, name: &str) -> Option<Source<'r>> {
        self.sources.get(name).copied()
    }

    /// The kinds that a published type is.
    pub fn kinds(&self, name: &str) -> &[Kind<'r>] {
        self.kinds.get(name).map(Vec::as_slice).unwrap_or_default()
    }

    /// Whether a type is built in.
    pub fn is_builtin(&self, of: TypeRef<'_>) -> bool {
        std::ptr::eq(of.schema(), &**self.builtin.schema())
    }

    /// The name of a built-in type, where it has one.
    pub fn published(&self, of: TypeRef<'_>) -> Option<&'static str> {
        if !self.is_builtin(of) {
            return None;
        }
        match of.kind() {
            TypeKind::Object(object) => self.builtin.openapi_name(object.name()),
            _ => self.plain.get(&of).copied(),
        }
    }

    /// The name of a resource's objects.
    pub fn of_resource(&self, resource: &Resource) -> Cow<'static, str> {
        match self.builtin.openapi_name(&resource.facts.type_name) {
            Some(name) => Cow::Borrowed(name),
            None => Cow::Owned(custom(resource, &resource.facts.kind)),
        }
    }

    /// The name of a resource's lists.
    pub fn of_list(&self, resource: &Resource) -> Cow<'static, str> {
        match is_custom(resource) {
            true => Cow::Owned(custom(resource, &resource.list_kind())),
            false => Cow::Owned(format!("{}List", self.of_resource(resource))),
        }
    }

    fn add(&mut self, resource: &'r Resource) {
        let facts = &resource.facts;
        let (name, list) = (self.of_resource(resource), self.of_list(resource));
        if is_custom(resource) {
            self.sources.insert(name.clone(), Source::Custom(resource));
            self.sources.insert(list.clone(), Source::CustomList(resource));
        }
        let kind = |kind| Kind { group: &facts.group, kind, version: &facts.version };
        self.add_kind(name, kind(Cow::Borrowed(&*facts.kind)));
        self.add_kind(list, kind(Cow::Owned(resource.list_kind())));
        for sub in &facts.sub {
            if let Some(name) = sub.type_name.as_deref().and_then(|name| self.builtin.openapi_name(name)) {
                let (group, version) = of_subresource(resource, sub);
                self.add_kind(Cow::Borrowed(name), Kind { group, kind: Cow::Borrowed(&*sub.kind), version });
            }
        }
    }

    fn add_kind(&mut self, name: Cow<'static, str>, kind: Kind<'r>) {
        let kinds = self.kinds.entry(name).or_default();
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
}

/// The group and version of what a subresource answers with: those of its resource unless it names others.
pub(crate) fn of_subresource<'r>(resource: &'r Resource, sub: &'r Subresource) -> (&'r str, &'r str) {
    if sub.version.is_empty() { (&resource.facts.group, &resource.facts.version) } else { (&sub.group, &sub.version) }
}

/// Whether a resource was defined by a user.
pub(crate) fn is_custom(resource: &Resource) -> bool {
    resource.facts.openapi_name.is_none()
}

fn custom(resource: &Resource, kind: &str) -> String {
    let mut parts: Vec<&str> = resource.facts.group.rsplit('.').collect();
    parts.extend([resource.facts.version.as_str(), kind]);
    parts.join(".")
}
