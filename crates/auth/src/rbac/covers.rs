//! Whether rules take in other rules, and what is missing if not.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::Rule;
use super::lookup::{Lookup, Permission};

/// How many single permissions a check looks at before it gives up. The largest roles in use have some thousands.
const MOST_PERMISSIONS: usize = 250_000;
/// How many rules it looks at for them: there may be many of the same resource.
const MOST_LOOKED_AT: usize = 4_000_000;

/// The single permissions (one verb on one resource, name or path) among `wanted` that no rule of `held` covers, in the
/// order in which they were found. Upstream's reading: each must be covered by one rule as a whole.
pub fn missing(held: &[Rule], wanted: &[Rule]) -> Result<Vec<Rule>, TooLarge> {
    let mut holds = Lookup::default();
    for rule in held {
        holds.add(rule, ());
    }
    let mut missing = Vec::new();
    let (mut permissions, mut looked_at) = (0_usize, 0_usize);
    for rule in wanted {
        if holds.has_whole(rule, &mut looked_at) {
            continue;
        }
        for single in breakdown(rule) {
            permissions += 1;
            let every = single.every();
            let is_held = holds.find(&single.permission(every.as_deref()), &mut looked_at).is_some();
            if permissions > MOST_PERMISSIONS || looked_at > MOST_LOOKED_AT {
                return Err(TooLarge);
            }
            if !is_held {
                missing.push(single.to_rule());
            }
        }
    }
    Ok(missing)
}

/// A set of rules that spells out so many permissions that checking them one by one would hold up everybody else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the rules spell out more than {MOST_PERMISSIONS} permissions, too many to check")]
pub struct TooLarge;

/// One verb on one resource, name or path, of a rule.
#[derive(Clone, Copy)]
enum Single<'r> {
    Resource { group: &'r str, resource: &'r str, verb: &'r str, name: Option<&'r str> },
    Path { path: &'r str, verb: &'r str },
}

/// A rule as single permissions, made one at a time.
fn breakdown(rule: &Rule) -> impl Iterator<Item = Single<'_>> {
    let names = move || {
        let unnamed = if rule.resource_names.is_empty() { Some(None) } else { None };
        unnamed.into_iter().chain(rule.resource_names.iter().map(|name| Some(name.as_str())))
    };
    let resources = rule.api_groups.iter().flat_map(move |group| {
        rule.resources.iter().flat_map(move |resource| {
            rule.verbs
                .iter()
                .flat_map(move |verb| names().map(move |name| Single::Resource { group, resource, verb, name }))
        })
    });
    let paths = rule
        .non_resource_urls
        .iter()
        .flat_map(move |path| rule.verbs.iter().map(move |verb| Single::Path { path, verb }));
    resources.chain(paths)
}

impl<'r> Single<'r> {
    /// The subresource of every resource: `*/scale`.
    fn every(self) -> Option<String> {
        match self {
            Self::Resource { resource, .. } => {
                resource.split_once('/').map(|(_, subresource)| format!("*/{subresource}"))
            }
            Self::Path { .. } => None,
        }
    }

    fn permission<'a>(self, every: Option<&'a str>) -> Permission<'a>
    where
        'r: 'a,
    {
        match self {
            Self::Resource { group, resource, verb, name } => {
                Permission::Resource { verb, group, resources: [Some("*"), Some(resource), every], name }
            }
            Self::Path { path, verb } => Permission::Path { verb, path },
        }
    }

    fn to_rule(self) -> Rule {
        let one = |text: &str| vec![text.to_owned()];
        match self {
            Self::Resource { group, resource, verb, name } => Rule {
                api_groups: one(group),
                resources: one(resource),
                verbs: one(verb),
                resource_names: name.map(one).unwrap_or_default(),
                ..Rule::default()
            },
            Self::Path { path, verb } => Rule { non_resource_urls: one(path), verbs: one(verb), ..Rule::default() },
        }
    }
}

/// Puts together what differs only in its verbs; the order of first appearance stays.
pub fn compacted(rules: Vec<Rule>) -> Vec<Rule> {
    let mut out: Vec<Rule> = Vec::new();
    // By what may not differ: groups, resources and names.
    let mut places: HashMap<[Vec<String>; 3], usize> = HashMap::new();
    for rule in rules {
        if !rule.non_resource_urls.is_empty() {
            out.push(rule);
            continue;
        }
        let key = [rule.api_groups.clone(), rule.resources.clone(), rule.resource_names.clone()];
        match places.entry(key) {
            Entry::Occupied(place) => {
                if let Some(same) = out.get_mut(*place.get()) {
                    same.verbs.extend(rule.verbs);
                }
            }
            Entry::Vacant(place) => {
                place.insert(out.len());
                out.push(rule);
            }
        }
    }
    out
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
