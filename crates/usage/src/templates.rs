//! The templates by which a class names a Secret, with what volumes, claims and snapshots put in their place.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::{Target, Used};

/// Where a class names the Secret that provisions and deletes its volumes: name and namespace. The first pair that is there
/// counts; the second is for all purposes that have no pair of their own, the third how it was written before.
pub const PROVISIONER: [(&str, &str); 3] = [
    ("csi.storage.k8s.io/provisioner-secret-name", "csi.storage.k8s.io/provisioner-secret-namespace"),
    ("csiProvisionerSecretName", "csiProvisionerSecretNamespace"),
    ("csi.storage.k8s.io/secret-name", "csi.storage.k8s.io/secret-namespace"),
];
/// The same of what makes and deletes snapshots.
pub const SNAPSHOTTER: [(&str, &str); 2] = [
    ("csi.storage.k8s.io/snapshotter-secret-name", "csi.storage.k8s.io/snapshotter-secret-namespace"),
    ("csiSnapshotterSecretName", "csiSnapshotterSecretNamespace"),
];

/// How a class names a Secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    name: Box<str>,
    namespace: Box<str>,
}

/// What is put into a template.
#[derive(Debug, Default)]
pub struct Variables<'a> {
    /// `pv.name` and the like: in names and in namespaces.
    pub everywhere: Vec<(&'static str, &'a str)>,
    /// In names only.
    pub in_names: Vec<(&'static str, &'a str)>,
    /// `pvc.annotations['…']`, where they are known: in names only.
    pub annotations: Option<&'a BTreeMap<Box<str>, Box<str>>>,
}

const ANNOTATIONS: &str = "pvc.annotations['";

impl Template {
    /// The template in the parameters of a class; without both halves there is none.
    pub fn of(class: &pawl_meta::object::Object, keys: &[(&str, &str)]) -> Option<Self> {
        let parameters = class.get("parameters")?;
        let text = |key: &str| parameters.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
        let pair = |(name, namespace): &(&str, &str)| Some((text(name)?, text(namespace)?));
        let (name, namespace) = keys.iter().find_map(pair)?;
        Some(Self { name: name.into(), namespace: namespace.into() })
    }

    /// Whether it takes something from a claim that nothing but the claim knows.
    pub fn asks_claim(&self) -> bool {
        self.name.contains(ANNOTATIONS)
    }

    /// The Secret that is meant; nothing while something is missing.
    pub fn resolve(&self, variables: &Variables<'_>) -> Option<Target> {
        let find = |list: &[(&'static str, &'_ str)], name: &str| {
            let (_, value) = list.iter().find(|(known, value)| *known == name && !value.is_empty())?;
            Some((*value).to_owned())
        };
        let name = expand(&self.name, |variable| {
            let annotation = || {
                let key = variable.strip_prefix(ANNOTATIONS)?.strip_suffix("']")?;
                Some(variables.annotations?.get(key)?.to_string())
            };
            find(&variables.everywhere, variable).or_else(|| find(&variables.in_names, variable)).or_else(annotation)
        })?;
        let namespace = expand(&self.namespace, |variable| find(&variables.everywhere, variable))?;
        Some(Target::new(Used::Secret, &namespace, &name))
    }
}

/// Puts values in the place of `${…}`; nothing when one is not known.
fn expand(template: &str, value: impl Fn(&str) -> Option<String>) -> Option<String> {
    let (mut out, mut rest) = (String::with_capacity(template.len()), template);
    while let Some((before, after)) = rest.split_once("${") {
        let (variable, after) = after.split_once('}')?;
        out.push_str(before);
        out.push_str(&value(variable)?);
        rest = after;
    }
    out.push_str(rest);
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(name: &str, namespace: &str, expect: Option<&str>) {
        let class = json!({"parameters": {"csi.storage.k8s.io/provisioner-secret-name": name,
            "csi.storage.k8s.io/provisioner-secret-namespace": namespace}});
        let template = Template::of(class.as_object().unwrap(), &PROVISIONER).unwrap();
        let annotations = BTreeMap::from([("example.com/key".into(), "noted".into())]);
        let variables = Variables {
            everywhere: vec![("pv.name", "pv-1"), ("pvc.namespace", "ns")],
            in_names: vec![("pvc.name", "data")],
            annotations: Some(&annotations),
        };
        let resolved = template.resolve(&variables).map(|target| target.key.to_string());
        assert_eq!(resolved.as_deref(), expect, "{name} in {namespace}");
    }

    #[test]
    fn templates_are_resolved() {
        check("plain", "default", Some("default/plain"));
        check("${pv.name}", "${pvc.namespace}", Some("ns/pv-1"));
        check("a-${pvc.name}-${pvc.namespace}-z", "${pv.name}", Some("pv-1/a-data-ns-z"));
        check("${pvc.annotations['example.com/key']}", "x", Some("x/noted"));
        check("${pvc.annotations['example.com/other']}", "x", None);
        check("plain", "${pvc.name}", None);
        check("plain", "${pvc.annotations['example.com/key']}", None);
        check("${unknown}", "x", None);
        check("${pv.name", "x", None);
    }

    #[test]
    fn keys_of_before_count_too() {
        let of = |parameters: Value| {
            let class = json!({"parameters": parameters});
            let template = Template::of(class.as_object().unwrap(), &PROVISIONER)?;
            Some(template.resolve(&Variables::default())?.key.to_string())
        };
        let old = json!({"csiProvisionerSecretName": "old", "csiProvisionerSecretNamespace": "n"});
        assert_eq!(of(old).as_deref(), Some("n/old"));
        let all = json!({"csi.storage.k8s.io/secret-name": "all", "csi.storage.k8s.io/secret-namespace": "n"});
        assert_eq!(of(all).as_deref(), Some("n/all"));
        assert_eq!(of(json!({"csi.storage.k8s.io/provisioner-secret-name": "half"})), None);
        assert_eq!(of(json!({})), None);
    }
}
