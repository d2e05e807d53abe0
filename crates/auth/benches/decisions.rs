//! How long a decision takes with a thousand bindings. `cargo bench --package pawl-auth` prints it; nothing is asserted.
#![allow(clippy::restriction, reason = "a benchmark prints")]

use std::hint::black_box;
use std::time::Instant;

use pawl_auth::rbac::{Index, Kind};
use pawl_auth::{Attributes, Authorizer, User};
use serde_json::json;

const BINDINGS: usize = 1000;
const DECISIONS: u32 = 200_000;

fn main() {
    let index = Index::new();
    for i in 0..BINDINGS {
        let (name, namespace) = (format!("role-{i}"), format!("ns-{}", i % 50));
        let rules =
            json!([{"apiGroups": ["", "apps"], "resources": ["pods", "deployments"], "verbs": ["get", "list"]}]);
        let role = json!({"metadata": {"name": name, "namespace": namespace}, "rules": rules});
        let subjects =
            json!([{"kind": "User", "name": format!("user-{}", i % 100)}, {"kind": "Group", "name": "everybody"}]);
        let binding = json!({"metadata": {"name": name, "namespace": namespace},
            "roleRef": {"kind": "Role", "name": name}, "subjects": subjects});
        index.apply(Kind::Role, None, Some(&role));
        index.apply(Kind::RoleBinding, None, Some(&binding));
    }
    let user = User::named("user-7").with_groups(["everybody", "system:authenticated"]);
    for (what, verb) in [("allowed", "list"), ("refused", "delete")] {
        let asked = Attributes { namespace: "ns-7", ..Attributes::resource(&user, verb, "", "pods") };
        let began = Instant::now();
        for _ in 0..DECISIONS {
            black_box(index.authorize(black_box(&asked)));
        }
        println!("{what}, {BINDINGS} bindings: {:.2} µs", began.elapsed().as_secs_f64() * 1e6 / f64::from(DECISIONS));
    }
}
