//! Who may do what from the start: every resource, role and verb, computed from the bootstrap roles and compared with
//! `tests/matrix.txt`. A change of the file is a change of who may do what: look at every line. Run with
//! `PAWL_UPDATE=1` to write it anew.
//!
//! Not covered: names of objects (`resourceNames`), roles of the server's own controllers, and other namespaces.
#![allow(clippy::restriction, reason = "a test may fail")]

use std::fmt::Write;
use std::sync::Arc;

use pawl_auth::modes::{Chain, Mode};
use pawl_auth::rbac::{Index, Kind, bootstrap};
use pawl_auth::{Attributes, Authorizer, User, names};
use serde_json::{Value, json};

const RESOURCES: &str = include_str!("../../kinds/facts/resources.json");

/// A letter for each verb, in the order of a cell.
const VERBS: [(char, &str); 13] = [
    ('g', "get"),
    ('l', "list"),
    ('w', "watch"),
    ('c', "create"),
    ('u', "update"),
    ('p', "patch"),
    ('d', "delete"),
    ('D', "deletecollection"),
    ('i', "impersonate"),
    ('b', "bind"),
    ('e', "escalate"),
    ('x', "unsafe-delete-ignore-read-errors"),
    ('n', "ignore-liens"),
];

const PATHS: [&str; 16] = [
    "/",
    "/api",
    "/api/v1",
    "/apis",
    "/apis/apps",
    "/healthz",
    "/healthz/etcd",
    "/livez",
    "/readyz",
    "/version",
    "/openapi/v2",
    "/openapi/v3",
    "/metrics",
    "/logs",
    "/.well-known/openid-configuration",
    "/openid/v1/jwks",
];

/// Below the objects of these `usedby` says who uses them.
const USED: [(&str, &str); 6] = [
    ("", "configmaps"),
    ("", "persistentvolumeclaims"),
    ("", "secrets"),
    ("", "serviceaccounts"),
    ("scheduling.k8s.io", "priorityclasses"),
    ("storage.k8s.io", "storageclasses"),
];

fn subjects() -> [(&'static str, User); 6] {
    let known = |name: &str| User::named(name).with_groups([names::AUTHENTICATED]);
    let mut groups = names::service_account_groups("ns");
    groups.push(names::AUTHENTICATED.to_owned());
    let account = User::named(names::service_account("ns", "default")).with_groups(groups);
    [
        ("cluster-admin", known("cluster-admin")),
        ("admin", known("admin")),
        ("edit", known("edit")),
        ("view", known("view")),
        ("account", account),
        ("anonymous", User::anonymous()),
    ]
}

/// The rules of all roles that an aggregated role selects. The bootstrap roles select by labels alone.
fn gathered(roles: &[Value], role: &Value) -> Option<Vec<Value>> {
    let selectors = role["aggregationRule"]["clusterRoleSelectors"].as_array()?;
    let mut rules = Vec::new();
    for wanted in selectors.iter().map(|selector| selector["matchLabels"].as_object().unwrap()) {
        let selected = roles.iter().filter(|other| {
            let labels = &other["metadata"]["labels"];
            other["metadata"]["name"] != role["metadata"]["name"]
                && wanted.iter().all(|(key, value)| labels[key] == *value)
        });
        rules.extend(selected.flat_map(|other| other["rules"].as_array().into_iter().flatten().cloned()));
    }
    Some(rules)
}

/// The bootstrap objects, aggregated, and users bound to the four roles: one to the cluster, three to the namespace `ns`.
fn chain() -> Chain {
    let mut objects = bootstrap::objects(|_| false);
    loop {
        let roles: Vec<Value> = objects.iter().filter(|o| o["kind"] == "ClusterRole").cloned().collect();
        let changed = objects.iter_mut().filter_map(|object| {
            let rules = Value::Array(gathered(&roles, object)?);
            (object["rules"] != rules).then(|| object["rules"] = rules)
        });
        if changed.count() == 0 {
            break;
        }
    }
    for (role, namespace) in [("cluster-admin", ""), ("admin", "ns"), ("edit", "ns"), ("view", "ns")] {
        objects.push(json!({
            "kind": if namespace.is_empty() { "ClusterRoleBinding" } else { "RoleBinding" },
            "metadata": {"name": format!("test-{role}"), "namespace": namespace},
            "roleRef": {"kind": "ClusterRole", "name": role},
            "subjects": [{"kind": "User", "name": role}],
        }));
    }
    let index = Index::new();
    for object in &objects {
        let resource = format!("{}s", object["kind"].as_str().unwrap().to_lowercase());
        index.apply(Kind::of_resource(&resource).unwrap(), None, Some(object));
    }
    Chain::new(vec![Mode::Rbac], Arc::new(index))
}

/// Group, resource, subresource, and whether it is namespaced. What only impersonation asks about comes last.
fn resources() -> Vec<(String, String, String, bool)> {
    let text = |value: &Value, field: &str| value[field].as_str().unwrap_or_default().to_owned();
    let mut all = Vec::new();
    let facts: Vec<Value> = serde_json::from_str(RESOURCES).unwrap();
    for fact in &facts {
        let (group, plural) = (text(fact, "group"), text(fact, "plural"));
        let namespaced = fact["namespaced"] == true;
        all.push((group.clone(), plural.clone(), String::new(), namespaced));
        for subresource in fact["sub"].as_array().into_iter().flatten() {
            all.push((group.clone(), plural.clone(), text(subresource, "name"), namespaced));
        }
        let verbs = fact["verbs"].as_array().into_iter().flatten();
        let is_stored = fact["virtual"] != true && verbs.into_iter().any(|verb| verb == "get");
        let is_used = USED.contains(&(group.as_str(), plural.as_str()));
        let is_definition = plural == "customresourcedefinitions";
        for (name, is_there) in [("history", is_stored), ("usedby", is_used), ("invalidobjects", is_definition)] {
            if is_there {
                all.push((group.clone(), plural.clone(), name.to_owned(), namespaced));
            }
        }
    }
    for (group, resource) in
        [("", "users"), ("", "groups"), ("authentication.k8s.io", "uids"), ("authentication.k8s.io", "userextras")]
    {
        all.push((group.to_owned(), resource.to_owned(), String::new(), false));
    }
    // What the server says of its own store, and does with it.
    for (resource, subresource) in [
        ("encryptionchecks", ""),
        ("quarantinedobjects", ""),
        ("quarantinedobjects", "history"),
        ("quarantinedobjects", "restore"),
        ("rewrites", ""),
        ("snapshots", ""),
        ("unreadableobjects", ""),
        ("unreadableobjects", "history"),
    ] {
        all.push(("storage.pawl.dev".to_owned(), resource.to_owned(), subresource.to_owned(), false));
    }
    all.sort();
    all.dedup();
    all
}

fn matrix() -> String {
    let chain = chain();
    let subjects = subjects();
    let mut out = String::new();
    out.push_str("# What the bootstrap roles allow. Bound in the whole cluster: cluster-admin; in the namespace \"ns\": admin, edit, view.\n");
    out.push_str("# account: a service account of that namespace without any binding. anonymous: no credentials.\n");
    let legend: Vec<String> = VERBS.iter().map(|(letter, verb)| format!("{letter} {verb}")).collect();
    let _ = writeln!(out, "# {}\n", legend.join(", "));
    for (title, namespace) in [("in the namespace ns", "ns"), ("at the cluster scope", "")] {
        let _ = write!(out, "{title:<72}");
        let _ =
            writeln!(out, "{}", subjects.iter().map(|(name, _)| format!("{name:<14}")).collect::<String>().trim_end());
        for (group, resource, subresource, namespaced) in resources() {
            if !namespaced && !namespace.is_empty() {
                continue;
            }
            let mut name = if group.is_empty() { resource.clone() } else { format!("{resource}.{group}") };
            if !subresource.is_empty() {
                name = format!("{name}/{subresource}");
            }
            let mut line = format!("{name:<72}");
            for (_, user) in &subjects {
                let may = |verb: &str| {
                    let asked = Attributes::resource(user, verb, &group, &resource);
                    let asked = Attributes { subresource: &subresource, namespace, name: "object", ..asked };
                    chain.authorize(&asked).is_allowed()
                };
                let cell: String = VERBS.iter().map(|(letter, verb)| if may(verb) { *letter } else { '.' }).collect();
                let _ = write!(line, "{cell:<14}");
            }
            let _ = writeln!(out, "{}", line.trim_end());
        }
        out.push('\n');
    }
    let _ = writeln!(
        out,
        "{:<72}{}",
        "paths (get)",
        subjects.iter().map(|(name, _)| format!("{name:<14}")).collect::<String>().trim_end()
    );
    for path in PATHS {
        let mut line = format!("{path:<72}");
        for (_, user) in &subjects {
            let may = chain.authorize(&Attributes::path(user, "get", path)).is_allowed();
            let _ = write!(line, "{:<14}", if may { "yes" } else { "." });
        }
        let _ = writeln!(out, "{}", line.trim_end());
    }
    out
}

#[test]
fn the_matrix_is_as_written() {
    let path = std::env::var("CARGO_MANIFEST_DIR").unwrap() + "/tests/matrix.txt";
    let got = matrix();
    if std::env::var_os("PAWL_UPDATE").is_some() {
        std::fs::write(&path, &got).unwrap();
    }
    let expect = std::fs::read_to_string(path).unwrap_or_default();
    for (got, expect) in got.lines().zip(expect.lines()) {
        assert_eq!(got, expect);
    }
    assert_eq!(got.lines().count(), expect.lines().count());
}

#[test]
fn dangerous_verbs_are_for_cluster_admins() {
    let chain = chain();
    for (name, user) in subjects().iter().skip(1) {
        for verb in ["unsafe-delete-ignore-read-errors", "ignore-liens", "escalate", "bind"] {
            for (group, resource, subresource, _) in resources() {
                let asked = Attributes::resource(user, verb, &group, &resource);
                let asked = Attributes { subresource: &subresource, namespace: "ns", ..asked };
                assert!(!chain.authorize(&asked).is_allowed(), "{name} may {verb} {resource}");
            }
        }
    }
}

/// What upstream does not have is nobody's but the cluster's administrators', to read as to do.
#[test]
fn what_only_this_server_has_is_for_cluster_admins() {
    let chain = chain();
    let own = |group: &str, subresource: &str| {
        group == "storage.pawl.dev" || ["history", "usedby", "invalidobjects"].contains(&subresource)
    };
    let mut asked_about = 0;
    for (group, resource, subresource, _) in resources().iter().filter(|(group, _, sub, _)| own(group, sub)) {
        for (name, user) in &subjects() {
            for (_, verb) in VERBS {
                for namespace in ["", "ns"] {
                    let asked = Attributes::resource(user, verb, group, resource);
                    let asked = Attributes { subresource, namespace, name: "object", ..asked };
                    let may = chain.authorize(&asked).is_allowed();
                    assert_eq!(may, *name == "cluster-admin", "{name}: {verb} {resource}/{subresource}");
                }
            }
        }
        asked_about += 1;
    }
    assert!(asked_about > 60, "{asked_about}");
}
