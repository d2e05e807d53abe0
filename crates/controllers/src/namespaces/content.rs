//! What is in a namespace, as far as its end is concerned.

use std::ops::Bound;
use std::sync::Arc;

use pawl_kinds::Resource;
use pawl_meta::object::{Meta, Object};
use pawl_registry::{Served, State, Table};
use serde_json::Value;

use crate::feed::each_place;

/// One object in a namespace.
#[derive(Clone, Debug)]
pub struct Thing {
    pub served: Arc<Served>,
    pub name: String,
    pub uid: String,
    pub deleting: bool,
    pub liens: Vec<String>,
    pub finalizers: Vec<String>,
    /// What a pod needs as long as it is there: plural and name of objects in its namespace.
    pub uses: Vec<(&'static str, String)>,
}

impl Thing {
    pub fn is_pod(&self) -> bool {
        let facts = &self.served.resource.facts;
        facts.group.is_empty() && facts.plural == "pods"
    }

    pub fn is_held(&self) -> bool {
        !self.deleting && !self.liens.is_empty()
    }

    pub fn is_free(&self) -> bool {
        !self.deleting && self.liens.is_empty()
    }
}

#[derive(Default)]
pub struct Content {
    pub things: Vec<Thing>,
    /// Objects that cannot be read.
    pub unreadable: Vec<Unreadable>,
}

pub struct Unreadable {
    pub served: Arc<Served>,
    pub name: String,
}

/// What goes with its namespace: everything in it that is stored and can be deleted.
pub fn is_content(resource: &Resource) -> bool {
    let facts = &resource.facts;
    facts.namespaced && !facts.is_virtual && facts.verbs.iter().any(|verb| verb == "delete")
}

impl Content {
    /// Everything in a namespace, as the caches have it. Liens count only where they hold.
    pub fn of(table: &Table, namespace: &str, liens_hold: bool) -> Self {
        let mut content = Self::default();
        let prefix = format!("{namespace}/");
        for served in each_place(table).into_iter().filter(|s| is_content(&s.resource)) {
            let objects = served.stored.cache.objects();
            let from: Arc<str> = prefix.as_str().into();
            let entries = objects.range::<_, Arc<str>>((Bound::Included(from), Bound::Unbounded));
            for (_, entry) in entries.take_while(|(key, _)| key.starts_with(&prefix)) {
                let name = entry.name().to_owned();
                match &entry.state {
                    State::Readable(readable) => {
                        let object = readable.object(entry.revision);
                        let mut thing = thing(Arc::clone(&served), name, &object);
                        if !liens_hold {
                            thing.liens.clear();
                        }
                        content.things.push(thing);
                    }
                    State::Unreadable(_) | State::Away(_) => {
                        content.unreadable.push(Unreadable { served: Arc::clone(&served), name });
                    }
                }
            }
        }
        content
    }
}

fn thing(served: Arc<Served>, name: String, object: &Object) -> Thing {
    let strings = |field: &str| object.meta_strings(field).into_iter().map(str::to_owned).collect();
    let mut thing = Thing {
        served,
        name,
        uid: object.uid().to_owned(),
        deleting: object.is_deleting(),
        liens: strings("liens"),
        finalizers: strings("finalizers"),
        uses: Vec::new(),
    };
    if thing.is_pod() {
        thing.uses = uses(object);
    }
    thing
}

/// What a pod uses of its namespace.
fn uses(pod: &Object) -> Vec<(&'static str, String)> {
    const SECRETS: &str = "secrets";
    const CONFIG_MAPS: &str = "configmaps";
    let mut used: Vec<(&'static str, String)> = Vec::new();
    let spec = pod.get("spec").unwrap_or(&Value::Null);
    let mut add = |plural: &'static str, value: Option<&Value>| {
        if let Some(name) = value.and_then(Value::as_str).filter(|name| !name.is_empty()) {
            used.push((plural, name.to_owned()));
        }
    };
    let list = |value: &'_ Value, field: &str| value.get(field).and_then(Value::as_array).cloned().unwrap_or_default();
    add("serviceaccounts", spec.get("serviceAccountName"));
    for secret in list(spec, "imagePullSecrets") {
        add(SECRETS, secret.get("name"));
    }
    for claim in list(spec, "resourceClaims") {
        add("resourceclaims", claim.get("resourceClaimName"));
    }
    for volume in list(spec, "volumes") {
        add(SECRETS, volume.pointer("/secret/secretName"));
        add(CONFIG_MAPS, volume.pointer("/configMap/name"));
        add("persistentvolumeclaims", volume.pointer("/persistentVolumeClaim/claimName"));
        add(SECRETS, volume.pointer("/csi/nodePublishSecretRef/name"));
        if volume.get("ephemeral").is_some() {
            let name = volume.get("name").and_then(Value::as_str).unwrap_or_default();
            add("persistentvolumeclaims", Some(&Value::from(format!("{}-{name}", pod.name()))));
        }
        for source in volume.get("projected").map(|p| list(p, "sources")).unwrap_or_default() {
            add(SECRETS, source.pointer("/secret/name"));
            add(CONFIG_MAPS, source.pointer("/configMap/name"));
        }
    }
    for group in ["initContainers", "containers", "ephemeralContainers"] {
        for container in list(spec, group) {
            for variable in list(&container, "env") {
                add(SECRETS, variable.pointer("/valueFrom/secretKeyRef/name"));
                add(CONFIG_MAPS, variable.pointer("/valueFrom/configMapKeyRef/name"));
            }
            for source in list(&container, "envFrom") {
                add(SECRETS, source.pointer("/secretRef/name"));
                add(CONFIG_MAPS, source.pointer("/configMapRef/name"));
            }
        }
    }
    used
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_pod_uses_what_it_names() {
        let pod = json!({"metadata": {"name": "p"}, "spec": {
            "serviceAccountName": "account",
            "imagePullSecrets": [{"name": "pull"}],
            "volumes": [
                {"name": "a", "secret": {"secretName": "secret"}},
                {"name": "b", "configMap": {"name": "map"}},
                {"name": "c", "persistentVolumeClaim": {"claimName": "claim"}},
                {"name": "d", "ephemeral": {}},
                {"name": "e", "projected": {"sources": [{"secret": {"name": "projected"}}]}},
                {"name": "f", "emptyDir": {}}],
            "containers": [{"env": [{"name": "X", "value": "y"},
                    {"name": "Y", "valueFrom": {"secretKeyRef": {"name": "key", "key": "k"}}}],
                "envFrom": [{"configMapRef": {"name": "all"}}]}]}});
        let got: Vec<String> =
            uses(pod.as_object().unwrap()).into_iter().map(|(plural, name)| format!("{plural}/{name}")).collect();
        assert_eq!(
            got,
            [
                "serviceaccounts/account",
                "secrets/pull",
                "secrets/secret",
                "configmaps/map",
                "persistentvolumeclaims/claim",
                "persistentvolumeclaims/p-d",
                "secrets/projected",
                "secrets/key",
                "configmaps/all"
            ]
        );
    }
}
