//! Resources: what is served under which name, and what is particular about it. Built-in ones come from `facts/resources.json`.

use std::sync::OnceLock;

use pawl_meta::{GroupKind, GroupResource, GroupVersion, GroupVersionKind, names};
use pawl_schema::Type;
use serde::Deserialize;

use crate::{facts, types};

/// A resource in one of its versions.
#[derive(Clone, Debug)]
pub struct Resource {
    pub facts: Facts,
    /// What its objects are.
    pub object_type: Type,
}

/// What the facts say of a resource.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Facts {
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
    /// A PUT of a name that does not exist creates it.
    pub put_creates: bool,
    /// A PUT without resourceVersion is accepted.
    pub unconditional: bool,
    /// The fields whose change counts up `metadata.generation`; none: it has no generation.
    pub generation: Vec<String>,
    /// A new object has no generation yet: the first change makes the first.
    pub generation_later: bool,
    /// The fields that only `/status` may change.
    pub status: Vec<String>,
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
    /// It is listed and cannot be created: why.
    pub refused: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Subresource {
    pub name: String,
    pub kind: String,
    pub group: String,
    pub version: String,
    pub verbs: Vec<String>,
    #[serde(rename = "type")]
    pub type_name: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NameRule {
    #[default]
    Dns1123Subdomain,
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
        format!("{}List", self.facts.kind)
    }

    pub fn subresource(&self, name: &str) -> Option<&Subresource> {
        self.facts.sub.iter().find(|s| s.name == name)
    }
}

/// Every built-in resource, in the order of discovery.
pub fn builtin() -> &'static [Resource] {
    static RESOURCES: OnceLock<Vec<Resource>> = OnceLock::new();
    RESOURCES.get_or_init(|| {
        let schema = types::schema();
        parse()
            .unwrap_or_default()
            .into_iter()
            .filter_map(|facts| Some(Resource { object_type: Type::named(schema, &facts.type_name)?, facts }))
            .collect()
    })
}

/// What in the facts about resources makes no sense.
pub(crate) fn problem() -> Option<String> {
    match parse() {
        Err(error) => Some(format!("resources: {error}")),
        Ok(facts) => facts
            .iter()
            .find(|facts| types::schema().named(&facts.type_name).is_none())
            .map(|facts| format!("{}: no such type: {}", facts.plural, facts.type_name)),
    }
}

fn parse() -> serde_json::Result<Vec<Facts>> {
    let lists = facts::text().resources.iter().map(|list| serde_json::from_str::<Vec<Facts>>(list));
    lists.collect::<serde_json::Result<Vec<_>>>().map(|lists| lists.into_iter().flatten().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_resource_has_its_type() {
        assert_eq!(parse().unwrap().len(), builtin().len());
        assert!(builtin().iter().any(|r| r.facts.plural == "configmaps" && r.facts.namespaced));
    }
}
