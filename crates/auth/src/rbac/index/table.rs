//! What all bindings of one subject in one namespace allow together, keyed by resource: a decision does not take longer the
//! more bindings there are.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::super::lookup::{Lookup, Permission};
use super::super::rule::{Rule, path_covers};
use super::Binding;
use crate::Attributes;

/// A rule that spells out more permissions than this is kept whole.
const MOST_GRANTS: usize = 4096;
/// When the rules of a subject have spelled out so many, all further ones are kept whole.
const MOST_GRANTS_IN_ALL: usize = 16_384;

/// Made once from the bindings of a subject, and thrown away when one of them or of their roles changes. Making it takes
/// as long as the rules are, whatever they multiply to.
#[derive(Default)]
pub(super) struct Table {
    /// By the resource as rules write it: `pods`, `pods/log`, `*/scale`, `*`.
    resources: HashMap<String, Grants>,
    /// Verb and path.
    paths: Vec<(String, String, Arc<Binding>)>,
    whole: Lookup<Arc<Binding>>,
    /// Roles that the bindings refer to and that are not there.
    missing: Vec<String>,
}

/// A binding, and the rules of its role where there is such a role.
pub(super) type Bound = (Arc<Binding>, Option<Arc<[Rule]>>);

#[derive(Default)]
struct Grants {
    /// On objects of every name.
    any: Vec<Grant>,
    named: HashMap<String, Vec<Grant>>,
}

/// A permission that is in the table: resource, name, verb and group.
type Listed<'r> = (&'r String, Option<&'r String>, &'r String, &'r String);

struct Grant {
    verb: String,
    group: String,
    binding: Arc<Binding>,
}

/// The resources that a rule may name for a request to match.
pub(super) struct Wanted<'a> {
    asked: &'a Attributes<'a>,
    /// `pods/log` and `*/log`, for a subresource.
    with_subresource: Option<(String, String)>,
}

impl<'a> Wanted<'a> {
    pub fn new(asked: &'a Attributes<'a>) -> Self {
        let Attributes { resource, subresource, .. } = asked;
        let with_subresource =
            (!subresource.is_empty()).then(|| (format!("{resource}/{subresource}"), format!("*/{subresource}")));
        Self { asked, with_subresource }
    }

    fn resources(&self) -> [Option<&str>; 3] {
        let own = self.with_subresource.as_ref().map_or(self.asked.resource, |(own, _)| own);
        [Some("*"), Some(own), self.with_subresource.as_ref().map(|(_, every)| every.as_str())]
    }

    fn permission(&self) -> Permission<'_> {
        let Attributes { verb, api_group: group, name, path, .. } = *self.asked;
        match self.asked.is_resource {
            true => Permission::Resource { verb, group, resources: self.resources(), name: Some(name) },
            false => Permission::Path { verb, path },
        }
    }
}

impl Table {
    /// Of several bindings that give the same, the first one stays.
    pub fn new(bound: &[Bound]) -> Self {
        let mut table = Self::default();
        let mut left = MOST_GRANTS_IN_ALL;
        let (mut listed, mut paths, mut whole) = (HashSet::new(), HashSet::new(), HashSet::new());
        for (binding, rules) in bound {
            let Some(rules) = rules else {
                table.missing.push(binding.missing_role());
                continue;
            };
            for rule in rules.iter() {
                let size = permissions(rule);
                if size > left.min(MOST_GRANTS) {
                    if whole.insert(rule) {
                        table.whole.add(rule, Arc::clone(binding));
                    }
                    continue;
                }
                left -= size;
                table.list(rule, binding, &mut listed);
                for verb in &rule.verbs {
                    for url in rule.non_resource_urls.iter().filter(|url| paths.insert((verb, *url))) {
                        table.paths.push((verb.clone(), url.clone(), Arc::clone(binding)));
                    }
                }
            }
        }
        table
    }

    fn list<'r>(&mut self, rule: &'r Rule, binding: &Arc<Binding>, listed: &mut HashSet<Listed<'r>>) {
        for resource in &rule.resources {
            let grants = self.resources.entry(resource.clone()).or_default();
            let unnamed = if rule.resource_names.is_empty() { Some(None) } else { None };
            for name in unnamed.into_iter().chain(rule.resource_names.iter().map(Some)) {
                let list = match name {
                    None => &mut grants.any,
                    Some(name) => grants.named.entry(name.clone()).or_default(),
                };
                for verb in &rule.verbs {
                    for group in &rule.api_groups {
                        if listed.insert((resource, name, verb, group)) {
                            let binding = Arc::clone(binding);
                            list.push(Grant { verb: verb.clone(), group: group.clone(), binding });
                        }
                    }
                }
            }
        }
    }

    /// Roles that bindings refer to and that are not there.
    pub fn missing(&self) -> impl Iterator<Item = &str> {
        self.missing.iter().map(String::as_str)
    }

    /// A binding that allows the request.
    pub fn allowing(&self, wanted: &Wanted<'_>) -> Option<&Binding> {
        let asked = wanted.asked;
        let listed = if asked.is_resource {
            wanted.resources().into_iter().flatten().find_map(|resource| {
                let grants = self.resources.get(resource)?;
                let named = || grants.named.get(asked.name).and_then(|grants| first(grants, asked));
                first(&grants.any, asked).or_else(named)
            })
        } else {
            let allows = |verb: &str, url: &str| (verb == asked.verb || verb == "*") && path_covers(url, asked.path);
            self.paths.iter().find(|(verb, url, _)| allows(verb, url)).map(|(_, _, binding)| binding)
        };
        let whole = || self.whole.find(&wanted.permission(), &mut 0);
        listed.or_else(whole).map(AsRef::as_ref)
    }
}

fn permissions(rule: &Rule) -> usize {
    let product = |lists: &[&Vec<String>]| lists.iter().fold(1_usize, |size, list| size.saturating_mul(list.len()));
    let names = rule.resource_names.len().max(1);
    let resources = product(&[&rule.verbs, &rule.api_groups, &rule.resources]).saturating_mul(names);
    resources.saturating_add(product(&[&rule.verbs, &rule.non_resource_urls]))
}

fn first<'t>(grants: &'t [Grant], asked: &Attributes<'_>) -> Option<&'t Arc<Binding>> {
    let matches =
        |g: &&Grant| (g.verb == asked.verb || g.verb == "*") && (g.group == asked.api_group || g.group == "*");
    grants.iter().find(matches).map(|g| &g.binding)
}
