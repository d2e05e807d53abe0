//! The table of resources seen by group and version.

use std::collections::HashMap;

use pawl_kinds::Resource;

use crate::names;

/// A group with its versions, the preferred one first.
pub(crate) struct Group<'r> {
    pub name: &'r str,
    pub versions: Vec<Version<'r>>,
}

pub(crate) struct Version<'r> {
    pub group: &'r str,
    pub name: &'r str,
    pub resources: Vec<&'r Resource>,
}

impl Version<'_> {
    /// Whether it has resources that no user defined.
    pub fn is_builtin(&self) -> bool {
        self.resources.iter().any(|r| !names::is_custom(r))
    }
}

/// The groups of a table in the order of their first resource; the core group's name is empty.
pub(crate) fn groups<'r>(resources: &[&'r Resource]) -> Vec<Group<'r>> {
    let mut groups: Vec<Group<'r>> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    for &resource in resources {
        let (group, version) = (resource.facts.group.as_str(), resource.facts.version.as_str());
        let at = *places.entry(group).or_insert_with(|| {
            groups.push(Group { name: group, versions: Vec::new() });
            groups.len() - 1
        });
        let Some(versions) = groups.get_mut(at).map(|g| &mut g.versions) else { continue };
        match versions.iter_mut().find(|v| v.name == version) {
            Some(known) => known.resources.push(resource),
            None => versions.push(Version { group, name: version, resources: vec![resource] }),
        }
    }
    groups
}

/// The resources of one group version, in the table's order.
pub(crate) fn of_version<'r>(resources: &[&'r Resource], group: &str, version: &str) -> Vec<&'r Resource> {
    resources.iter().copied().filter(|r| r.facts.group == group && r.facts.version == version).collect()
}

/// `v1`, `apps/v1`
pub(crate) fn group_version(group: &str, version: &str) -> String {
    if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") }
}
