//! Whether rules take in other rules, and what is missing if not.

use super::Rule;
use super::rule::path_covers;

/// How many single permissions a check looks at before it gives up. The largest roles in use have some thousands.
const MOST_PERMISSIONS: usize = 250_000;

/// The single permissions (one verb on one resource, name or path) among `wanted` that no rule of `held` covers, in the
/// order in which they were found. Upstream's reading: each must be covered by one rule as a whole.
pub fn missing(held: &[Rule], wanted: &[Rule]) -> Result<Vec<Rule>, TooLarge> {
    let mut missing = Vec::new();
    let mut seen = 0_usize;
    for rule in wanted {
        if held.iter().any(|h| h.covers(rule)) {
            continue;
        }
        for permission in breakdown(rule) {
            seen += 1;
            if seen > MOST_PERMISSIONS {
                return Err(TooLarge);
            }
            if !held.iter().any(|h| h.covers(&permission)) {
                missing.push(permission);
            }
        }
    }
    Ok(missing)
}

/// A set of rules that spells out so many permissions that checking them one by one would hold up everybody else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the rules spell out more than {MOST_PERMISSIONS} permissions, too many to check")]
pub struct TooLarge;

/// A rule as single permissions, made one at a time.
pub fn breakdown(rule: &Rule) -> impl Iterator<Item = Rule> {
    let one = |text: &String| vec![text.clone()];
    let named = move |group, resource, verb, name: Option<&String>| Rule {
        api_groups: one(group),
        resources: one(resource),
        verbs: one(verb),
        resource_names: name.map(one).unwrap_or_default(),
        ..Rule::default()
    };
    let names = move || {
        let unnamed = if rule.resource_names.is_empty() { Some(None) } else { None };
        unnamed.into_iter().chain(rule.resource_names.iter().map(Some))
    };
    let resources = rule.api_groups.iter().flat_map(move |group| {
        rule.resources.iter().flat_map(move |resource| {
            rule.verbs.iter().flat_map(move |verb| names().map(move |name| named(group, resource, verb, name)))
        })
    });
    let paths = rule.non_resource_urls.iter().flat_map(move |url| {
        let each = move |verb| Rule { non_resource_urls: one(url), verbs: one(verb), ..Rule::default() };
        rule.verbs.iter().map(each)
    });
    resources.chain(paths)
}

/// Puts together what differs only in its verbs; the order of first appearance stays.
pub fn compacted(rules: Vec<Rule>) -> Vec<Rule> {
    let mut out: Vec<Rule> = Vec::new();
    for rule in rules {
        let simple = rule.non_resource_urls.is_empty();
        let same = |other: &&mut Rule| {
            other.non_resource_urls.is_empty()
                && other.api_groups == rule.api_groups
                && other.resources == rule.resources
                && other.resource_names == rule.resource_names
        };
        // Permissions come in order of their resource, so a match is the last one or a few before it.
        match out.iter_mut().rev().find(same).filter(|_| simple) {
            Some(other) => other.verbs.extend(rule.verbs),
            None => out.push(rule),
        }
    }
    out
}

impl Rule {
    /// Whether this rule takes in all of another; a rule of several permissions may still be covered by several.
    fn covers(&self, permission: &Rule) -> bool {
        has_all_or_star(&self.verbs, &permission.verbs)
            && has_all_or_star(&self.api_groups, &permission.api_groups)
            && self.covers_resources(&permission.resources)
            && self.covers_names(&permission.resource_names)
            && permission.non_resource_urls.iter().all(|path| self.covers_path(path))
    }

    fn covers_resources(&self, resources: &[String]) -> bool {
        let has = |wanted: &str| self.resources.iter().any(|r| r == wanted);
        has("*")
            || resources.iter().all(|resource| {
                has(resource)
                    || resource.split_once('/').is_some_and(|(_, subresource)| {
                        self.resources.iter().any(|r| r.strip_prefix("*/") == Some(subresource))
                    })
            })
    }

    fn covers_names(&self, names: &[String]) -> bool {
        self.resource_names.is_empty() || !names.is_empty() && has_all(&self.resource_names, names)
    }

    fn covers_path(&self, path: &str) -> bool {
        self.non_resource_urls.iter().any(|own| path_covers(own, path))
    }
}

fn has_all_or_star(list: &[String], wanted: &[String]) -> bool {
    list.iter().any(|item| item == "*") || has_all(list, wanted)
}

fn has_all(list: &[String], wanted: &[String]) -> bool {
    wanted.iter().all(|item| list.contains(item))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn rules(value: Value) -> Vec<Rule> {
        value.as_array().unwrap().iter().map(Rule::from_value).collect()
    }

    fn check(held: Value, wanted: Value, expect: &[&str]) {
        let missing = missing(&rules(held), &rules(wanted)).unwrap();
        let got: Vec<String> = compacted(missing).iter().map(Rule::compact).collect();
        assert_eq!(got, expect);
    }

    fn on(groups: &[&str], resources: &[&str], verbs: &[&str]) -> Value {
        json!({"apiGroups": groups, "resources": resources, "verbs": verbs})
    }

    #[test]
    fn what_is_held_is_not_missing() {
        check(json!([on(&[""], &["pods"], &["get"])]), json!([on(&[""], &["pods"], &["get"])]), &[]);
        check(json!([on(&["*"], &["*"], &["*"])]), json!([on(&["a", "b"], &["x/y"], &["get"])]), &[]);
        check(json!([on(&[""], &["*/scale"], &["get"])]), json!([on(&[""], &["pods/scale"], &["get"])]), &[]);
        let two = json!([on(&[""], &["pods"], &["get"]), on(&[""], &["pods"], &["list"])]);
        check(two, json!([on(&[""], &["pods"], &["get", "list"])]), &[]);
        check(
            json!([{"nonResourceURLs": ["/a/*"], "verbs": ["get"]}]),
            json!([{"nonResourceURLs": ["/a/b"], "verbs": ["get"]}]),
            &[],
        );
    }

    #[test]
    fn what_is_missing_is_said_compactly() {
        check(
            json!([on(&[""], &["pods"], &["get"])]),
            json!([on(&[""], &["pods", "secrets"], &["get", "list"])]),
            &[
                r#"{APIGroups:[""], Resources:["pods"], Verbs:["list"]}"#,
                r#"{APIGroups:[""], Resources:["secrets"], Verbs:["get" "list"]}"#,
            ],
        );
        check(
            json!([{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"], "resourceNames": ["a"]}]),
            json!([on(&[""], &["pods"], &["get"])]),
            &[r#"{APIGroups:[""], Resources:["pods"], Verbs:["get"]}"#],
        );
        check(
            json!([]),
            json!([{"nonResourceURLs": ["/a"], "verbs": ["get", "post"]}]),
            &[r#"{NonResourceURLs:["/a"], Verbs:["get"]}"#, r#"{NonResourceURLs:["/a"], Verbs:["post"]}"#],
        );
        check(
            json!([on(&[""], &["pods"], &["*"])]),
            json!([on(&["*"], &["pods"], &["get"])]),
            &[r#"{APIGroups:["*"], Resources:["pods"], Verbs:["get"]}"#],
        );
    }

    #[test]
    fn a_rule_that_explodes_is_refused() {
        let many: Vec<String> = (0..1000).map(|i| i.to_string()).collect();
        let rule = Rule { verbs: many.clone(), api_groups: many.clone(), resources: many, ..Rule::default() };
        assert_eq!(missing(&[], std::slice::from_ref(&rule)), Err(TooLarge));
        assert_eq!(missing(&[Rule::every_resource()], &[rule]), Ok(Vec::new()));
    }
}
