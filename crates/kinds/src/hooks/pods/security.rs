//! Privileges, namespaces of the host, kernel settings, and what each operating system has no word for.

use std::collections::BTreeSet;

use pawl_meta::object::Object;
use pawl_meta::read;
use pawl_rules::{Check, Errors, FieldPath};
use serde_json::Value;

use super::{all_containers, enclosing_spec};
use crate::hooks::shown;

/// An unmasked /proc needs a user namespace of its own.
pub fn container_proc_mount(cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let own_users = enclosing_spec(cx).is_some_and(|spec| spec.get("hostUsers") == Some(&Value::Bool(false)));
    if read::text(object, "procMount") == "Unmasked" && !own_users {
        errors.invalid(&path.child("procMount"), "Unmasked", "`hostUsers` must be false to use `Unmasked`");
    }
}

/// What has all privileges cannot be kept from gaining more.
pub fn container_privileges(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    if object.get("allowPrivilegeEscalation") != Some(&Value::Bool(false)) {
        return;
    }
    if read::truth(object, "privileged") {
        let detail = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true";
        errors.invalid_shown(path, shown("core.v1.SecurityContext", object), detail);
    }
    let added =
        read::map(object, "capabilities").map(|capabilities| read::texts(capabilities, "add")).unwrap_or_default();
    for _ in added.iter().filter(|capability| **capability == "CAP_SYS_ADMIN") {
        let detail = "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN";
        errors.invalid_shown(path, shown("core.v1.SecurityContext", object), detail);
    }
}

/// Containers share processes among themselves or with the host, not both. The object is the security context.
pub fn pod_shared_processes(cx: &Check<'_>, _object: &Object, path: &FieldPath, errors: &mut Errors) {
    let Some(spec) = enclosing_spec(cx) else { return };
    if read::truth(spec, "shareProcessNamespace") && read::truth(spec, "hostPID") {
        let detail = "ShareProcessNamespace and HostPID cannot both be enabled";
        errors.invalid(&path.child("shareProcessNamespace"), true, detail);
    }
}

/// Kernel settings have a well-formed name, stand once, and belong to a namespace that is the pod's.
pub fn pod_sysctls(cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let host = |field: &str| enclosing_spec(cx).is_some_and(|spec| read::truth(spec, field));
    let mut seen = BTreeSet::new();
    for (index, sysctl) in read::objects(object, "sysctls") {
        let at = path.child("sysctls").index(index).child("name");
        let name = read::text(sysctl, "name");
        if name.is_empty() {
            errors.required(&at, "");
        } else if !is_sysctl(name) {
            let pattern = r"^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$";
            errors.invalid(&at, name, format!("must have at most 253 characters and match regex {pattern}"));
        } else if seen.contains(name) {
            errors.duplicate(&at, name);
        }
        match sysctl_namespace(name) {
            "net" if host("hostNetwork") => {
                errors.invalid(&at, name, "may not be specified when 'hostNetwork' is true")
            }
            "ipc" if host("hostIPC") => errors.invalid(&at, name, "may not be specified when 'hostIPC' is true"),
            _ => {}
        }
        seen.insert(name);
    }
}

fn is_sysctl(name: &str) -> bool {
    let edge = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'_');
    let segment = |part: &str| edge(part.bytes().next()) && edge(part.bytes().last()) && part.bytes().all(inner);
    name.len() <= 253 && name.split(['.', '/']).all(segment)
}

fn sysctl_namespace(name: &str) -> &'static str {
    let dotted = name.replace('/', ".");
    if dotted.starts_with("net.") {
        "net"
    } else if matches!(dotted.as_str(), "kernel.sem")
        || ["kernel.shm", "kernel.msg", "fs.mqueue."].iter().any(|prefix| dotted.starts_with(prefix))
    {
        "ipc"
    } else {
        ""
    }
}

/// The name of a local AppArmor profile has no blanks around it and is not empty.
pub fn app_armor_local_profile(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    if read::text(object, "type") != "Localhost" {
        return;
    }
    let Some(name) = object.get("localhostProfile").and_then(Value::as_str) else { return };
    let at = path.child("localhostProfile");
    if name.trim() != name {
        errors.invalid(&at, name, "must not be padded with whitespace");
    } else if name.is_empty() {
        errors.required(&at, "must be set when AppArmor type is Localhost");
    }
}

/// How a container of Windows runs.
pub fn windows_options(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    if let Some(spec) = object.get("gmsaCredentialSpec").and_then(Value::as_str) {
        let at = path.child("gmsaCredentialSpec");
        if spec.is_empty() {
            errors.invalid(&at, spec, "gmsaCredentialSpec cannot be an empty string");
        } else if spec.len() > 64 * 1024 {
            errors.invalid(&at, spec, "gmsaCredentialSpec size must be under 64 KiB");
        }
    }
    if let Some(name) = object.get("runAsUserName").and_then(Value::as_str) {
        for detail in windows_user(name) {
            errors.invalid(&path.child("runAsUserName"), name, detail);
        }
    }
}

fn windows_user(name: &str) -> Vec<&'static str> {
    if name.is_empty() {
        return vec!["runAsUserName cannot be an empty string"];
    }
    if name.bytes().any(|byte| byte.is_ascii_control()) {
        return vec!["runAsUserName cannot contain control characters"];
    }
    let parts: Vec<&str> = name.split('\\').collect();
    let (domain, user) = match parts.as_slice() {
        [user] => (None, *user),
        [domain, user] => (Some(*domain), *user),
        _ => return vec!["runAsUserName cannot contain more than one backslash"],
    };
    let mut found = Vec::new();
    if domain.is_some_and(|domain| domain.len() >= 256) {
        found.push("runAsUserName's Domain length must be under 256 characters");
    }
    if domain.is_some_and(|domain| !is_net_bios(domain) && !is_windows_domain(domain)) {
        found.push("runAsUserName's Domain doesn't match the NetBios nor the DNS format");
    }
    if user.is_empty() {
        found.push("runAsUserName's User cannot be empty");
    } else if user.len() > 104 {
        found.push("runAsUserName's User length must not be longer than 104 characters");
    }
    if !user.is_empty() && user.bytes().all(|byte| matches!(byte, b'.' | b' ')) {
        found.push("runAsUserName's User cannot contain only periods or spaces");
    }
    if user.contains(['"', '/', '\\', ':', ';', '|', '=', ',', '+', '*', '?', '<', '>', '@', '[', ']']) {
        found.push("runAsUserName's User cannot contain the following characters: \"/\\:;|=,+*?<>@[]");
    }
    found
}

fn is_net_bios(domain: &str) -> bool {
    let count = domain.chars().count();
    (1..=15).contains(&count)
        && !domain.starts_with('.')
        && !domain.contains(['\\', '/', ':', '*', '?', '"', '<', '>', '|'])
}

fn is_windows_domain(domain: &str) -> bool {
    domain.split('.').all(|label| {
        let edge = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric());
        label.len() <= 63
            && edge(label.bytes().next())
            && edge(label.bytes().last())
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    })
}

/// Containers that are processes of a Windows host: all of a pod's or none, and on the host's network.
pub fn pod_host_process(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let of = |holder: &Object| {
        read::deep(holder, &["securityContext", "windowsOptions"])?.get("hostProcess").and_then(Value::as_bool)
    };
    let pod = of(object);
    let containers = all_containers(object, path);
    let mut processes = 0;
    for (container, place) in &containers {
        let own = of(container);
        if let (Some(pod), Some(own)) = (pod, own)
            && pod != own
        {
            let at = place.child("securityContext").child("windowsOptions").child("hostProcess");
            errors.invalid(
                &at,
                own,
                format!("pod hostProcess value must be identical if both are specified, was {pod}"),
            );
        }
        if own.or(pod) == Some(true) {
            processes += 1;
        }
    }
    if processes == 0 {
        return;
    }
    if processes != containers.len() {
        let detail = "If pod contains any hostProcess containers then all containers must be HostProcess containers";
        errors.invalid(path, "", detail);
    }
    if !read::truth(object, "hostNetwork") {
        let detail = "hostNetwork must be true if pod contains any hostProcess containers";
        errors.invalid(&path.child("hostNetwork"), false, detail);
    }
}

/// A pod with users of its own shares no other namespace with the host. The case of the paths is upstream's.
pub fn pod_host_users(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    if object.get("hostUsers") != Some(&Value::Bool(false)) {
        return;
    }
    for (field, shown) in [("hostNetwork", "hostNetwork"), ("hostPID", "HostPID"), ("hostIPC", "HostIPC")] {
        if read::truth(object, field) {
            errors.forbidden(&path.child(shown), "when `hostUsers` is false");
        }
    }
    for (container, place) in all_containers(object, path) {
        if !read::list(container, "volumeDevices").is_empty() {
            errors.forbidden(&place.child("volumeDevices"), "when `hostUsers` is false");
        }
    }
}

const NOT_FOR_WINDOWS_PODS: [&str; 11] = [
    "appArmorProfile",
    "seLinuxOptions",
    "seccompProfile",
    "fsGroup",
    "fsGroupChangePolicy",
    "sysctls",
    "runAsUser",
    "runAsGroup",
    "supplementalGroups",
    "supplementalGroupsPolicy",
    "seLinuxChangePolicy",
];

const NOT_FOR_WINDOWS_CONTAINERS: [&str; 10] = [
    "appArmorProfile",
    "seLinuxOptions",
    "seccompProfile",
    "capabilities",
    "readOnlyRootFilesystem",
    "privileged",
    "allowPrivilegeEscalation",
    "procMount",
    "runAsUser",
    "runAsGroup",
];

/// A pod that names its operating system sets nothing that the system has not.
pub fn pod_os(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    match read::map(object, "os").map(|os| read::text(os, "name")) {
        Some("linux") => {
            let detail = "windows options cannot be set for a linux pod";
            refuse_in_context(object, &["windowsOptions"], path, detail, errors);
            for (container, place) in all_containers(object, path) {
                refuse_in_context(container, &["windowsOptions"], &place, detail, errors);
            }
        }
        Some("windows") => {
            let detail = "cannot be set for a windows pod";
            refuse_in_context(object, &NOT_FOR_WINDOWS_PODS, path, detail, errors);
            for field in ["hostUsers", "hostPID", "hostIPC", "shareProcessNamespace"] {
                let set = matches!(object.get(field), Some(Value::Bool(true)))
                    || (matches!(field, "hostUsers" | "shareProcessNamespace") && read::present(object, field));
                if set {
                    errors.forbidden(&path.child(field), detail);
                }
            }
            for (container, place) in all_containers(object, path) {
                refuse_in_context(container, &NOT_FOR_WINDOWS_CONTAINERS, &place, detail, errors);
            }
        }
        _ => {}
    }
}

fn refuse_in_context(holder: &Object, fields: &[&str], at: &FieldPath, detail: &str, errors: &mut Errors) {
    let Some(context) = read::map(holder, "securityContext") else { return };
    for field in fields.iter().filter(|field| read::present(context, field)) {
        errors.forbidden(&at.child("securityContext").child(field), detail);
    }
}
