//! Which secrets a pod uses, and which of them its account does not list.

use std::collections::HashSet;

use pawl_meta::object::{Meta, Object};

use pawl_meta::read;

/// Volumes whose secret is named by `secretRef`.
const WITH_SECRET_REF: [&str; 7] = ["cephfs", "cinder", "flexVolume", "iscsi", "rbd", "scaleIO", "storageos"];

/// Whether a pod uses any secret at all.
pub fn any(pod: &Object) -> bool {
    let Some(spec) = read::map(pod, "spec") else { return false };
    let pulls = read::each(spec, "imagePullSecrets").map(|reference| read::text(reference, "name"));
    let containers = ["initContainers", "containers", "ephemeralContainers"].into_iter();
    let containers = containers.flat_map(|list| read::each(spec, list)).flat_map(used_by_container);
    let volumes = read::each(spec, "volumes").flat_map(used_by_volume);
    pulls.chain(containers.map(|used| used.secret)).chain(volumes).any(|name| !name.is_empty())
}

/// Refuses a new pod that uses a secret, by volume, environment or pull secret, that its account does not list.
pub fn limit(account: &Object, pod: &Object) -> Result<(), String> {
    let Some(spec) = read::map(pod, "spec") else { return Ok(()) };
    let listed = names(account, "secrets");
    for volume in read::each(spec, "volumes").filter_map(|volume| read::map(volume, "secret")) {
        let name = read::text(volume, "secretName");
        if !listed.contains(name) {
            return Err(format!("volume with secret.secretName=\"{name}\" {}", not_listed(account, "secret")));
        }
    }
    limit_containers(account, &listed, spec, "initContainers", "init container")?;
    limit_containers(account, &listed, spec, "containers", "container")?;
    let pulls = names(account, "imagePullSecrets");
    for (at, reference) in read::each(spec, "imagePullSecrets").enumerate() {
        let name = read::text(reference, "name");
        if !pulls.contains(name) {
            return Err(format!("imagePullSecrets[{at}].name=\"{name}\" {}", not_listed(account, "imagePullSecret")));
        }
    }
    Ok(())
}

/// Refuses ephemeral containers that use a secret that the account does not list.
pub fn limit_ephemeral(account: &Object, pod: &Object) -> Result<(), String> {
    let Some(spec) = read::map(pod, "spec") else { return Ok(()) };
    limit_containers(account, &names(account, "secrets"), spec, "ephemeralContainers", "ephemeral container")
}

fn limit_containers(
    account: &Object,
    listed: &HashSet<&str>,
    spec: &Object,
    list: &str,
    called: &str,
) -> Result<(), String> {
    for container in read::each(spec, list) {
        if let Some(used) = used_by_container(container).find(|used| !listed.contains(used.secret)) {
            let container = read::text(container, "name");
            let by = match used.variable {
                Some(variable) => format!("envVar {variable}"),
                None => "envFrom".to_owned(),
            };
            let (secret, why) = (used.secret, not_listed(account, "secret"));
            return Err(format!("{called} {container} with {by} referencing secret.secretName=\"{secret}\" {why}"));
        }
    }
    Ok(())
}

fn not_listed(account: &Object, what: &str) -> String {
    format!("is not allowed because service account {} does not reference that {what}", account.name())
}

fn names<'a>(account: &'a Object, field: &str) -> HashSet<&'a str> {
    read::each(account, field).map(|reference| read::text(reference, "name")).collect()
}

/// A secret in a container's environment: one variable, or all of its keys.
struct Used<'a> {
    variable: Option<&'a str>,
    secret: &'a str,
}

fn used_by_container(container: &Object) -> impl Iterator<Item = Used<'_>> {
    let variables = read::each(container, "env").filter_map(|variable| {
        let key = read::map(read::map(variable, "valueFrom")?, "secretKeyRef")?;
        Some(Used { variable: Some(read::text(variable, "name")), secret: read::text(key, "name") })
    });
    let whole = read::each(container, "envFrom").filter_map(|source| {
        Some(Used { variable: None, secret: read::text(read::map(source, "secretRef")?, "name") })
    });
    variables.chain(whole)
}

fn used_by_volume(volume: &Object) -> impl Iterator<Item = &str> {
    let referred = WITH_SECRET_REF.into_iter().filter_map(|kind| read::map(volume, kind));
    let referred = referred.map(|source| read::deep_text(source, "secretRef", "name"));
    let projected = read::map(volume, "projected").into_iter().flat_map(|source| read::each(source, "sources"));
    let projected = projected.map(|source| read::deep_text(source, "secret", "name"));
    let own = [
        read::deep_text(volume, "secret", "secretName"),
        read::deep_text(volume, "azureFile", "secretName"),
        read::map(volume, "csi").map(|csi| read::deep_text(csi, "nodePublishSecretRef", "name")).unwrap_or_default(),
    ];
    referred.chain(projected).chain(own)
}
