//! The volume with a token, the cluster's certificate authority and the namespace, and where containers find it.

use pawl_meta::object::Object;
use rand::Rng;
use serde_json::{Value, json};

use pawl_meta::read;

const PREFIX: &str = "kube-api-access-";
const PATH: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
/// An hour and a little: that little tells tokens mounted by default from those that were asked for.
const EXPIRATION_SECONDS: i64 = 60 * 60 + 7;

/// Mounts the token in every container that has nothing at its place.
pub fn mount(spec: &mut Object) {
    let existing = read::each(spec, "volumes").find(|volume| read::text(volume, "name").starts_with(PREFIX));
    let existing = existing.map(|volume| read::text(volume, "name").to_owned());
    let is_new = existing.is_none();
    let name = existing.unwrap_or_else(generated_name);
    let mut needed = false;
    for list in ["initContainers", "containers"] {
        let containers = spec.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten();
        for container in containers.filter_map(Value::as_object_mut) {
            if read::each(container, "volumeMounts").any(|mount| read::text(mount, "mountPath") == PATH) {
                continue;
            }
            if let Some(mounts) = read::list_mut(container, "volumeMounts") {
                mounts.push(json!({"name": name, "readOnly": true, "mountPath": PATH}));
                needed = true;
            }
        }
    }
    if needed
        && is_new
        && let Some(volumes) = read::list_mut(spec, "volumes")
    {
        volumes.push(volume(&name));
    }
}

/// Whether a volume of the pod projects a token.
pub fn is_projected(pod: &Object) -> bool {
    let volumes = read::map(pod, "spec").into_iter().flat_map(|spec| read::each(spec, "volumes"));
    let mut sources =
        volumes.filter_map(|volume| read::map(volume, "projected")).flat_map(|p| read::each(p, "sources"));
    sources.any(|source| read::present(source, "serviceAccountToken"))
}

fn volume(name: &str) -> Value {
    json!({
        "name": name,
        "projected": {
            "defaultMode": 0o644,
            "sources": [
                {"serviceAccountToken": {"expirationSeconds": EXPIRATION_SECONDS, "path": "token"}},
                {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
                {"downwardAPI": {"items": [
                    {"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}},
                ]}},
            ],
        },
    })
}

/// Five letters and digits that make no words and no confusion.
fn generated_name() -> String {
    const ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
    let mut random = rand::rng();
    let suffix = (0..5).filter_map(|_| ALPHABET.get(random.random_range(0..ALPHABET.len())));
    PREFIX.chars().chain(suffix.map(|byte| char::from(*byte))).collect()
}
