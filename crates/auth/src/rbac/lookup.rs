//! Rules arranged so that whether one of them holds is found by looking a few of them up, never by reading all.
//!
//! Takes as much memory as the rules are long: nothing is multiplied out.

use std::collections::HashMap;

use super::rule::{Rule, path_covers};

/// Rules, each with what it stands for; earlier ones win.
pub(super) struct Lookup<T> {
    rules: Vec<(Sorted, T)>,
    /// Rules on objects of every name, by the resource as they write it.
    by_resource: HashMap<String, Vec<usize>>,
    /// Rules on named objects, by the name: names differ where resources do not.
    by_name: HashMap<String, Vec<usize>>,
    by_path: HashMap<String, Vec<usize>>,
    /// Paths that end in a star, and their rules.
    by_prefix: Vec<(String, usize)>,
}

/// The lists of a rule on resources, sorted.
struct Sorted {
    verbs: Vec<String>,
    groups: Vec<String>,
    resources: Vec<String>,
}

/// One verb on one thing.
#[derive(Clone, Copy)]
pub(super) enum Permission<'a> {
    Resource {
        verb: &'a str,
        group: &'a str,
        /// The ways in which a rule may write the resource: `pods/log`, `*/log`, `*`.
        resources: [Option<&'a str>; 3],
        name: Option<&'a str>,
    },
    Path {
        verb: &'a str,
        path: &'a str,
    },
}

impl<T> Default for Lookup<T> {
    fn default() -> Self {
        Self {
            rules: Vec::new(),
            by_resource: HashMap::new(),
            by_name: HashMap::new(),
            by_path: HashMap::new(),
            by_prefix: Vec::new(),
        }
    }
}

impl<T> Lookup<T> {
    pub fn add(&mut self, rule: &Rule, stands_for: T) {
        let at = self.rules.len();
        let (keys, map) = match rule.resource_names.is_empty() {
            true => (&rule.resources, &mut self.by_resource),
            false => (&rule.resource_names, &mut self.by_name),
        };
        for key in keys {
            note(map, key, at);
        }
        for url in &rule.non_resource_urls {
            if url.ends_with('*') {
                self.by_prefix.push((url.clone(), at));
            } else {
                note(&mut self.by_path, url, at);
            }
        }
        self.rules.push((Sorted::new(rule), stands_for));
    }

    /// What the first rule stands for that gives the permission. `looked_at` grows by the rules that were looked at.
    pub fn find(&self, wanted: &Permission<'_>, looked_at: &mut usize) -> Option<&T> {
        match wanted {
            Permission::Resource { verb, group, resources, name } => {
                let by_name = name.and_then(|name| self.by_name.get(name));
                let by_resource = resources.iter().flatten().filter_map(|key| self.by_resource.get(*key));
                let lists = by_resource.chain(by_name);
                let gives = |rule: &Sorted| {
                    has(&rule.verbs, verb)
                        && has(&rule.groups, group)
                        && resources.iter().flatten().any(|key| contains(&rule.resources, key))
                };
                lists.filter_map(|list| self.first(list.iter().copied(), gives, looked_at)).min_by_key(|(at, _)| *at)
            }
            Permission::Path { verb, path } => {
                let exact = self.by_path.get(*path).into_iter().flatten().copied();
                let prefixes = self.by_prefix.iter().filter(|(url, _)| path_covers(url, path)).map(|(_, at)| *at);
                *looked_at += self.by_prefix.len();
                let gives = |rule: &Sorted| has(&rule.verbs, verb);
                let exact = self.first(exact, gives, looked_at);
                exact.into_iter().chain(self.first(prefixes, gives, looked_at)).min_by_key(|(at, _)| *at)
            }
        }
        .map(|(_, found)| found)
    }

    /// Whether one rule gives all of a rule on resources.
    pub fn has_whole(&self, wanted: &Rule, looked_at: &mut usize) -> bool {
        let Some(resource) = wanted.resources.first().filter(|_| wanted.non_resource_urls.is_empty()) else {
            return false;
        };
        let keys = ["*", resource].into_iter().filter_map(|key| self.by_resource.get(key));
        let size = wanted.verbs.len() + wanted.api_groups.len() + wanted.resources.len();
        for at in keys.flatten() {
            *looked_at += 1;
            let Some((rule, _)) = self.rules.get(*at) else { continue };
            if !wanted.verbs.first().is_some_and(|verb| has(&rule.verbs, verb)) {
                continue;
            }
            *looked_at += size;
            if wanted.verbs.iter().all(|verb| has(&rule.verbs, verb))
                && wanted.api_groups.iter().all(|group| has(&rule.groups, group))
                && wanted.resources.iter().all(|resource| has(&rule.resources, resource))
            {
                return true;
            }
        }
        false
    }

    fn first(
        &self,
        candidates: impl Iterator<Item = usize>,
        gives: impl Fn(&Sorted) -> bool,
        looked_at: &mut usize,
    ) -> Option<(usize, &T)> {
        for at in candidates {
            *looked_at += 1;
            if let Some((rule, stands_for)) = self.rules.get(at)
                && gives(rule)
            {
                return Some((at, stands_for));
            }
        }
        None
    }
}

impl Sorted {
    fn new(rule: &Rule) -> Self {
        let sorted = |list: &[String]| {
            let mut list = list.to_vec();
            list.sort_unstable();
            list.dedup();
            list
        };
        Self { verbs: sorted(&rule.verbs), groups: sorted(&rule.api_groups), resources: sorted(&rule.resources) }
    }
}

/// Notes a rule under a key, once: a rule may name the same thing many times.
fn note(map: &mut HashMap<String, Vec<usize>>, key: &str, rule: usize) {
    match map.get_mut(key) {
        Some(rules) if rules.last() == Some(&rule) => {}
        Some(rules) => rules.push(rule),
        None => {
            map.insert(key.to_owned(), vec![rule]);
        }
    }
}

fn contains(list: &[String], wanted: &str) -> bool {
    list.binary_search_by(|item| item.as_str().cmp(wanted)).is_ok()
}

fn has(list: &[String], wanted: &str) -> bool {
    contains(list, wanted) || contains(list, "*")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// How many rules are looked at to find each of so many permissions among as many rules.
    fn looked_at(count: usize, rule: impl Fn(usize) -> serde_json::Value) -> usize {
        let rules: Vec<Rule> = (0..count).map(|i| Rule::from_value(&rule(i))).collect();
        let mut lookup = Lookup::default();
        rules.iter().for_each(|rule| lookup.add(rule, ()));
        let mut looked_at = 0;
        for rule in &rules {
            let permission = match (&rule.resources[..], &rule.non_resource_urls[..]) {
                ([resource], _) => Permission::Resource {
                    verb: &rule.verbs[0],
                    group: &rule.api_groups[0],
                    resources: [Some("*"), Some(resource), None],
                    name: rule.resource_names.first().map(String::as_str),
                },
                (_, [path]) => Permission::Path { verb: &rule.verbs[0], path },
                _ => panic!("{rule:?}"),
            };
            assert!(lookup.find(&permission, &mut looked_at).is_some());
        }
        looked_at
    }

    #[test]
    fn twice_the_rules_are_twice_the_work() {
        let by_name =
            |i| json!({"verbs": ["get"], "apiGroups": [""], "resources": ["pods"], "resourceNames": [format!("n{i}")]});
        let by_resource = |i| json!({"verbs": ["get"], "apiGroups": [""], "resources": [format!("r{i}")]});
        let by_path = |i| json!({"verbs": ["get"], "nonResourceURLs": [format!("/p{i}")]});
        assert_eq!(looked_at(2000, by_name), 2 * looked_at(1000, by_name));
        assert_eq!(looked_at(2000, by_resource), 2 * looked_at(1000, by_resource));
        assert_eq!(looked_at(2000, by_path), 2 * looked_at(1000, by_path));
    }
}
