//! How long one decision takes with a thousand bindings, beside the bootstrap roles. Prints nanoseconds per decision.
#![allow(clippy::print_stdout, reason = "printing is what it is for")]
#![allow(clippy::indexing_slicing, reason = "a field of JSON that is not there is null")]

use std::hint::black_box;
use std::time::Instant;

use pawl_auth::rbac::{Index, Kind, bootstrap};
use pawl_auth::{Attributes, Authorizer, User, names};
use serde_json::json;

const BINDINGS: usize = 1000;

fn index(one_group: bool) -> Index {
    let index = Index::new();
    for object in bootstrap::objects(|_| false) {
        let resource = format!("{}s", object["kind"].as_str().unwrap_or_default().to_lowercase());
        if let Some(kind) = Kind::of_resource(&resource) {
            index.apply(kind, None, Some(&object));
        }
    }
    for i in 0..BINDINGS {
        let role = json!({
            "metadata": {"name": format!("role-{i}")},
            "rules": [
                {"verbs": ["get", "list", "watch"], "apiGroups": ["", "apps"], "resources": ["pods", "deployments"]},
                {"verbs": ["create", "update", "patch", "delete"], "apiGroups": [""], "resources": ["configmaps"]},
            ],
        });
        let subject = if one_group { "everybody".to_owned() } else { format!("group-{i}") };
        let binding = json!({
            "metadata": {"name": format!("binding-{i}")},
            "roleRef": {"kind": "ClusterRole", "name": format!("role-{i}")},
            "subjects": [{"kind": "Group", "name": subject}, {"kind": "User", "name": format!("user-{i}")}],
        });
        index.apply(Kind::ClusterRole, None, Some(&role));
        index.apply(Kind::ClusterRoleBinding, None, Some(&binding));
    }
    index
}

fn measure(title: &str, index: &Index, user: &User, resource: &str) {
    const ROUNDS: u32 = 200_000;
    let asked = Attributes { namespace: "ns", name: "n", ..Attributes::resource(user, "get", "", resource) };
    let allowed = index.authorize(&asked).is_allowed();
    let start = Instant::now();
    for _ in 0..ROUNDS {
        black_box(index.authorize(black_box(&asked)));
    }
    let each = start.elapsed().as_nanos() / u128::from(ROUNDS);
    println!("{title:<48} {} {each:>7} ns", if allowed { "allowed" } else { "denied " });
}

fn main() {
    let spread = index(false);
    let user = User::named("user-500").with_groups(["group-7", "group-8", "group-9", names::AUTHENTICATED]);
    measure("a thousand subjects, user in four groups", &spread, &user, "pods");
    measure("a thousand subjects, user in four groups", &spread, &user, "secrets");
    measure("a thousand subjects, unknown user", &spread, &User::named("nobody"), "secrets");
    let crowded = index(true);
    let user = User::named("x").with_groups(["everybody", names::AUTHENTICATED]);
    measure("a thousand bindings of one group", &crowded, &user, "pods");
    measure("a thousand bindings of one group", &crowded, &user, "secrets");
    let asked = Attributes::resource(&user, "get", "", "secrets");
    let role = json!({"metadata": {"name": "role-7"}, "rules": []});
    let start = Instant::now();
    crowded.apply(Kind::ClusterRole, None, Some(&role));
    let applied = start.elapsed().as_micros();
    black_box(crowded.authorize(&asked));
    println!(
        "a role of theirs changes: {applied} us, and the next decision {} us",
        start.elapsed().as_micros() - applied
    );
}
