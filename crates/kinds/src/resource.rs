//! Resources: what is served under which name, and what is particular about it. Built-in ones come from `facts/resources.json`.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use pawl_meta::object::{self, Object};
use pawl_meta::{GroupKind, GroupResource, GroupVersion, GroupVersionKind, names};
use pawl_schema::{Type, TypeRef};
use serde::Deserialize;

use crate::{Behaviour, facts};

/// A resource in one of its versions.
#[derive(Clone, Debug)]
pub struct Resource {
    pub facts: ResourceFacts,
    /// What its kind does.
    pub behaviour: Arc<dyn Behaviour>,
}

/// Objects that cannot be stored, though nothing is wrong with them.
#[derive(Clone, Debug, Hash, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Refused {
    /// The field that they have.
    pub when: String,
    pub why: String,
}

/// What is said of a resource: plain data, whoever says it.
#[derive(Clone, Debug, Hash, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ResourceFacts {
    pub group: String,
    pub version: String,
    pub kind: String,
    pub plural: String,
    pub singular: String,
    pub short: Vec<String>,
    pub categories: Vec<String>,
    pub namespaced: bool,
    pub verbs: Vec<String>,
    /// The name of its type.
    #[serde(rename = "type")]
    pub type_name: String,
    /// The storage prefix below `/registry/`.
    pub key: String,
    /// The version in which it is stored, when that is another one.
    pub storage: Option<String>,
    /// What its names may look like.
    pub name: NameRule,
    /// Fields that selectors may use, beyond name and namespace.
    pub select: Vec<String>,
    /// Where the value of such a field comes from, where that is not the path that is its name: paths with `|` between them, of
    /// which the first that has a value counts, and `=` before a value that stands for nothing.
    pub select_from: BTreeMap<String, String>,
    /// What upstream says of a field that cannot be selected by, where it has words of its own: `%q` and `%s` are the field.
    pub select_refusal: Option<String>,
    /// A PUT of a name that does not exist creates it.
    pub put_creates: bool,
    /// A PUT without resourceVersion is accepted.
    pub unconditional: bool,
    /// Whose change counts up `metadata.generation`.
    pub generation: Generation,
    /// A new object has no generation yet: the first change makes the first.
    pub generation_later: bool,
    /// The fields that only `/status` may change.
    pub status: Vec<String>,
    /// What of its metadata a write to `/status` leaves as it was; `*` is all of it. Liens stay in any case.
    pub status_keeps: Vec<String>,
    /// Fields that nobody comes to own by a write to the resource itself.
    pub unowned: Vec<String>,
    /// The status given on creation is kept.
    pub status_on_create: bool,
    pub graceful: Option<String>,
    pub deferred: bool,
    /// Who deletes it without a word about its dependents leaves them behind.
    pub orphans: bool,
    /// What is said to somebody who does so.
    pub orphans_warning: Option<String>,
    /// Upstream stores it as JSON, in which an empty list stays one.
    pub stored_as_json: bool,
    /// Its addresses and ports are given out by the server.
    pub allocates: bool,
    /// A deletion answers with the object that is gone, not with a Status.
    pub returns_deleted: bool,
    pub hash: Option<String>,
    pub sub: Vec<Subresource>,
    /// Answered without being stored.
    #[serde(rename = "virtual")]
    pub is_virtual: bool,
    pub warning: Option<String>,
    /// What is not served yet of it.
    pub refused: Option<Refused>,
    /// The finalizer that the first request for its deletion adds: what belongs to it goes first.
    pub cleanup: Option<String>,
    /// Its objects go by themselves after a while.
    pub expires: bool,
    /// It is served only where this feature gate is on.
    pub gate: Option<String>,
    /// Where `/scale` finds its numbers.
    pub scale: ScalePaths,
    /// The name under which OpenAPI publishes its type; `None` where users defined it.
    #[serde(skip)]
    pub openapi_name: Option<String>,
    /// The kind of its lists, where it is not the usual one.
    #[serde(skip)]
    pub list: Option<String>,
    /// Users defined it. Items of its lists name their kind and version, as upstream's do.
    #[serde(skip)]
    pub custom: bool,
    /// Why it cannot be asked for in this version.
    #[serde(skip)]
    pub unconverted: Option<String>,
    /// What is said to who would create one, when that is over.
    #[serde(skip)]
    pub closed: Option<String>,
    /// Finalizers need be neither standard nor qualified names.
    #[serde(skip)]
    pub plain_finalizers: bool,
    /// The group that errors name, where it is not the resource's.
    #[serde(skip)]
    pub error_group: Option<String>,
    /// The kind that errors name, where it is not the resource's.
    #[serde(skip)]
    pub error_kind: Option<String>,
}

/// Whose change counts up `metadata.generation`.
#[derive(Clone, Debug, Hash, Default, PartialEq, Eq, Deserialize)]
#[serde(from = "Vec<String>")]
pub enum Generation {
    /// Objects have no generation.
    #[default]
    None,
    /// What stands at these paths.
    Fields(Vec<String>),
    /// Every top-level field but these and the metadata.
    AllBut(Vec<String>),
}

impl From<Vec<String>> for Generation {
    fn from(fields: Vec<String>) -> Self {
        if fields.is_empty() { Self::None } else { Self::Fields(fields) }
    }
}

impl Generation {
    /// Whether a change counts.
    pub fn counts(&self, new: &Object, old: &Object) -> bool {
        match self {
            Self::None => false,
            Self::Fields(paths) => paths.iter().any(|path| object::at(new, path) != object::at(old, path)),
            Self::AllBut(fields) => {
                let counts = |name: &&String| *name != "metadata" && !fields.contains(name);
                let changed = |name: &String| new.get(name) != old.get(name);
                new.keys().chain(old.keys()).filter(counts).any(changed)
            }
        }
    }
}

/// Where `/scale` finds its numbers.
#[derive(Clone, Debug, Hash, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ScalePaths {
    pub spec_replicas: String,
    pub status_replicas: String,
    /// A label selector, or a text that is one already.
    pub selector: Option<String>,
}

impl Default for ScalePaths {
    fn default() -> Self {
        let [spec_replicas, status_replicas, selector] =
            ["spec.replicas", "status.replicas", "spec.selector"].map(str::to_owned);
        Self { spec_replicas, status_replicas, selector: Some(selector) }
    }
}

#[derive(Clone, Debug, Hash, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Subresource {
    pub name: String,
    pub kind: String,
    pub group: String,
    pub version: String,
    pub verbs: Vec<String>,
    #[serde(rename = "type")]
    pub type_name: Option<String>,
    /// Discovery does not mention it.
    #[serde(skip)]
    pub hidden: bool,
    /// Fields that nobody comes to own through it, beside those that it does not change.
    pub unowned: Vec<String>,
    /// The top-level fields that it may change, where that is not the status.
    #[serde(skip)]
    pub owns: Option<Vec<String>>,
}

#[derive(Clone, Copy, Debug, Hash, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NameRule {
    #[default]
    Dns1123Subdomain,
    /// The same, where upstream checks it by its declared format, and counts in other words.
    LongName,
    Dns1123Label,
    Dns1035Label,
    PathSegment,
    Ip,
}

impl NameRule {
    /// What is wrong with a name; `prefix` is for `generateName`, where the end may still come.
    pub fn check(self, name: &str, prefix: bool) -> Vec<String> {
        // A trailing dash of a prefix is followed by the generated part; upstream takes it and what is before it for a letter.
        let masked;
        let name = match name.strip_suffix('-').filter(|_| prefix && name.len() > 1 && self != Self::PathSegment) {
            Some(rest) => {
                let end = rest.char_indices().next_back().map_or(0, |(at, _)| at);
                masked = format!("{}a", rest.get(..end).unwrap_or_default());
                &masked
            }
            None => name,
        };
        match self {
            Self::Dns1123Subdomain => names::dns1123_subdomain(name),
            Self::LongName => {
                let wrong = names::dns1123_subdomain(name).into_iter();
                wrong.map(|text| text.replace("no more than 253 characters", "no more than 253 bytes")).collect()
            }
            Self::Dns1123Label => names::dns1123_label(name),
            Self::Dns1035Label => names::dns1035_label(name),
            Self::PathSegment if prefix => names::path_segment_prefix(name),
            Self::PathSegment => names::path_segment(name),
            Self::Ip => match name.parse::<std::net::IpAddr>() {
                Ok(address) if address.to_string() == name => Vec::new(),
                Ok(_) => vec!["must be in canonical form".to_owned()],
                Err(_) => vec!["must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)".to_owned()],
            },
        }
    }
}

impl Resource {
    pub fn group_version(&self) -> GroupVersion {
        GroupVersion::new(self.facts.group.clone(), self.facts.version.clone())
    }

    pub fn group_version_kind(&self) -> GroupVersionKind {
        self.group_version().with_kind(self.facts.kind.clone())
    }

    pub fn group_resource(&self) -> GroupResource {
        GroupResource::new(self.facts.group.clone(), self.facts.plural.clone())
    }

    pub fn group_kind(&self) -> GroupKind {
        GroupKind { group: self.facts.group.clone(), kind: self.facts.kind.clone() }
    }

    pub fn list_kind(&self) -> String {
        self.facts.list.clone().unwrap_or_else(|| format!("{}List", self.facts.kind))
    }

    pub fn subresource(&self, name: &str) -> Option<&Subresource> {
        self.facts.sub.iter().find(|s| s.name == name)
    }

    /// The top-level fields that a subresource may change, where that is not the status.
    pub fn owned_fields(&self, subresource: &str) -> Option<&[String]> {
        self.subresource(subresource)?.owns.as_deref()
    }

    /// The kind as errors name it: here and there not the object's own.
    pub fn error_kind(&self) -> GroupKind {
        let facts = &self.facts;
        GroupKind {
            group: facts.error_group.as_ref().unwrap_or(&facts.group).clone(),
            kind: facts.error_kind.as_ref().unwrap_or(&facts.kind).clone(),
        }
    }

    /// What its objects are.
    pub fn object_type(&self) -> &Type {
        self.behaviour.object_type()
    }

    /// The type of objects as they are stored.
    pub fn stored_type(&self) -> TypeRef<'_> {
        let stored = self.behaviour.forms().and_then(|forms| forms.type_of(forms.stored()));
        stored.unwrap_or(self.object_type().as_ref())
    }
}

/// What the facts say of every built-in resource, or what in them makes no sense.
pub(crate) fn load() -> Result<&'static [ResourceFacts], String> {
    static FACTS: OnceLock<Result<Vec<ResourceFacts>, String>> = OnceLock::new();
    let read = || parse().map_err(|error| format!("resources: {error}"));
    FACTS.get_or_init(read).as_deref().map_err(Clone::clone)
}

fn parse() -> serde_json::Result<Vec<ResourceFacts>> {
    let lists = facts::text().resources.iter().map(|list| serde_json::from_str::<Vec<ResourceFacts>>(list));
    lists.collect::<serde_json::Result<Vec<_>>>().map(|lists| lists.into_iter().flatten().collect())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn generation_counts_what_it_is_told_to() {
        let check = |generation: Generation, new: Value, expect: bool| {
            let old = json!({"metadata": {"a": 1}, "spec": {"b": 1}, "status": {"c": 1}});
            let counts = generation.counts(new.as_object().unwrap(), old.as_object().unwrap());
            assert_eq!(counts, expect, "{generation:?} {new}");
        };
        let (spec, but_status) = (Generation::Fields(vec!["spec".into()]), Generation::AllBut(vec!["status".into()]));
        let status = json!({"metadata": {"a": 2}, "spec": {"b": 1}, "status": {"c": 2}});
        let gone = json!({"metadata": {"a": 1}, "status": {"c": 1}});
        let more = json!({"metadata": {"a": 1}, "spec": {"b": 1}, "status": {"c": 1}, "data": 1});
        check(spec.clone(), status.clone(), false);
        check(but_status.clone(), status.clone(), false);
        check(Generation::AllBut(Vec::new()), status.clone(), true);
        check(Generation::None, gone.clone(), false);
        check(spec.clone(), gone.clone(), true);
        check(but_status.clone(), gone, true);
        check(spec, more.clone(), false);
        check(but_status, more, true);
    }
}
