//! What all bindings of one subject in one namespace allow together, keyed by resource: a decision does not take longer the
//! more bindings there are.

use std::collections::HashMap;
use std::sync::Arc;

use super::super::rule::{Rule, path_covers};
use super::Binding;
use crate::Attributes;

/// A rule that spells out more permissions than this is kept whole.
const MOST_GRANTS: usize = 4096;

/// Made once from the bindings of a subject, and thrown away when one of them or of their roles changes.
#[derive(Default)]
pub(super) struct Table {
    /// By the resource as rules write it: `pods`, `pods/log`, `*/scale`, `*`.
    resources: HashMap<String, Grants>,
    /// Verb and path.
    paths: Vec<(String, String, Arc<Binding>)>,
    whole: Vec<(Rule, Arc<Binding>)>,
    /// Roles that the bindings refer to and that are not there.
    pub missing: Vec<String>,
}

#[derive(Default)]
struct Grants {
    /// On objects of every name.
    any: Vec<Grant>,
    named: HashMap<String, Vec<Grant>>,
}

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

    fn resources(&self) -> impl Iterator<Item = &str> {
        let own = self.with_subresource.as_ref().map_or(self.asked.resource, |(own, _)| own);
        ["*", own].into_iter().chain(self.with_subresource.as_ref().map(|(_, every)| every.as_str()))
    }
}

impl Table {
    /// Takes in what a binding gives; of several that give the same, the first one stays.
    pub fn add(&mut self, rules: &[Rule], binding: &Arc<Binding>) {
        for rule in rules {
            if permissions(rule) > MOST_GRANTS {
                self.whole.push((rule.clone(), Arc::clone(binding)));
                continue;
            }
            for resource in &rule.resources {
                let grants = self.resources.entry(resource.clone()).or_default();
                if rule.resource_names.is_empty() {
                    add_all(&mut grants.any, rule, binding);
                }
                for name in &rule.resource_names {
                    add_all(grants.named.entry(name.clone()).or_default(), rule, binding);
                }
            }
            for verb in &rule.verbs {
                for url in &rule.non_resource_urls {
                    if !self.paths.iter().any(|(v, u, _)| v == verb && u == url) {
                        self.paths.push((verb.clone(), url.clone(), Arc::clone(binding)));
                    }
                }
            }
        }
    }

    /// A binding that allows the request.
    pub fn allowing(&self, wanted: &Wanted<'_>) -> Option<&Binding> {
        let asked = wanted.asked;
        let listed = if asked.is_resource {
            wanted.resources().find_map(|resource| {
                let grants = self.resources.get(resource)?;
                let named = || grants.named.get(asked.name).and_then(|grants| first(grants, asked));
                first(&grants.any, asked).or_else(named)
            })
        } else {
            let allows = |verb: &str, url: &str| (verb == asked.verb || verb == "*") && path_covers(url, asked.path);
            self.paths.iter().find(|(verb, url, _)| allows(verb, url)).map(|(_, _, binding)| binding)
        };
        let whole = || self.whole.iter().find(|(rule, _)| rule.allows(asked)).map(|(_, binding)| binding);
        listed.or_else(whole).map(AsRef::as_ref)
    }
}

fn permissions(rule: &Rule) -> usize {
    let product = |lists: &[&Vec<String>]| lists.iter().fold(1_usize, |size, list| size.saturating_mul(list.len()));
    let names = rule.resource_names.len().max(1);
    let resources = product(&[&rule.verbs, &rule.api_groups, &rule.resources]).saturating_mul(names);
    resources.saturating_add(product(&[&rule.verbs, &rule.non_resource_urls]))
}

fn add_all(grants: &mut Vec<Grant>, rule: &Rule, binding: &Arc<Binding>) {
    for verb in &rule.verbs {
        for group in &rule.api_groups {
            if !grants.iter().any(|g| g.verb == *verb && g.group == *group) {
                grants.push(Grant { verb: verb.clone(), group: group.clone(), binding: Arc::clone(binding) });
            }
        }
    }
}

fn first<'t>(grants: &'t [Grant], asked: &Attributes<'_>) -> Option<&'t Arc<Binding>> {
    let matches =
        |g: &&Grant| (g.verb == asked.verb || g.verb == "*") && (g.group == asked.api_group || g.group == "*");
    grants.iter().find(matches).map(|g| &g.binding)
}
