use super::*;
use crate::Decision;

/// Allows exactly the listed requests: `verb group/resource/subresource namespace name`, and notes what was asked.
struct Listed {
    allowed: Vec<&'static str>,
    asked: Mutex<Vec<String>>,
}

impl Authorizer for Listed {
    fn authorize(&self, a: &Attributes<'_>) -> Decision {
        let text = format!("{} {}/{}/{} {} {}", a.verb, a.api_group, a.resource, a.subresource, a.namespace, a.name);
        self.asked.lock().unwrap().push(text.clone());
        let reason = String::new();
        if self.allowed.contains(&text.as_str()) { Decision::Allow { reason } } else { Decision::NoOpinion { reason } }
    }
}

fn listed(allowed: &[&'static str]) -> Listed {
    Listed { allowed: allowed.to_vec(), asked: Mutex::default() }
}

fn headers(list: &[(&'static str, &'static str)]) -> Result<Option<User>, String> {
    wanted(list.iter().map(|(name, value)| (*name, value.as_bytes()))).map_err(|e| e.message)
}

fn check(requestor: &User, wanted: &User, allowed: &[&'static str], expect: Result<(&[&str], &str), &str>) {
    let asked = Attributes { namespace: "ns", ..Attributes::resource(requestor, "list", "", "configmaps") };
    let got = Impersonation::new().check(&listed(allowed), &asked, wanted);
    match (got, expect) {
        (Ok(got), Ok((groups, constraint))) => {
            assert_eq!((got.user.groups.as_slice(), got.constraint), (&owned(groups)[..], constraint));
        }
        (Err(got), Err(expect)) => assert_eq!(got.message, expect),
        (got, expect) => panic!("{got:?} instead of {expect:?}"),
    }
}

fn owned(list: &[&str]) -> Vec<String> {
    list.iter().map(|s| (*s).to_owned()).collect()
}

#[test]
fn headers_name_a_user() {
    assert_eq!(headers(&[("accept", "x")]), Ok(None));
    assert_eq!(headers(&[("impersonate-user", "")]), Ok(None));
    let all = headers(&[
        ("impersonate-user", "carol"),
        ("impersonate-group", "devs"),
        ("impersonate-group", "ops"),
        ("impersonate-uid", "u-1"),
        ("impersonate-extra-scopes", "view"),
        ("impersonate-extra-scopes", "edit"),
        ("impersonate-extra-example.com%2fkey", "v"),
        ("impersonate-extra-bad%2", "v"),
    ]);
    let user = all.unwrap().unwrap();
    assert_eq!((user.name.as_str(), user.uid.as_str(), user.groups), ("carol", "u-1", owned(&["devs", "ops"])));
    assert_eq!(user.extra["scopes"], owned(&["view", "edit"]));
    assert_eq!(user.extra["example.com/key"], owned(&["v"]));
    assert_eq!(user.extra["bad%2"], owned(&["v"]));
}

#[test]
fn headers_without_a_user_are_refused() {
    let check = |list: &[(&'static str, &'static str)], printed: &str| {
        assert_eq!(headers(list), Err(format!("requested {printed} without impersonating a user name")));
    };
    check(
        &[("impersonate-group", "devs")],
        r#"&user.DefaultInfo{Name:"", UID:"", Groups:[]string{"devs"}, Extra:map[string][]string(nil)}"#,
    );
    check(
        &[("impersonate-uid", "u"), ("impersonate-extra-a", "b")],
        r#"&user.DefaultInfo{Name:"", UID:"u", Groups:[]string(nil), Extra:map[string][]string{"a":[]string{"b"}}}"#,
    );
}

#[test]
fn the_first_refusal_is_the_answer() {
    let alice = User::named("alice");
    let refused = |mode: &str| {
        format!(
            "configmaps is forbidden: User \"alice\" cannot impersonate-on:{mode}:list resource \"configmaps\" \
             in API group \"\" in the namespace \"ns\""
        )
    };
    check(&alice, &User::named("admin"), &[], Err(&refused("user-info")));
    check(&alice, &User::named("system:serviceaccount:x:y"), &[], Err(&refused("serviceaccount")));
    check(&alice, &User::named("system:node:n"), &[], Err(&refused("arbitrary-node")));
    let groups = User::named("system:serviceaccount:x:y").with_groups(["g"]);
    let old = r#"serviceaccounts "y" is forbidden: User "alice" cannot impersonate resource "serviceaccounts" in API group "" in the namespace "x""#;
    check(&alice, &groups, &[], Err(old));
}

#[test]
fn the_old_mode_asks_for_each_part() {
    let admin = User::named("admin");
    check(&admin, &User::named("carol"), &["impersonate /users/  carol"], Ok((&["system:authenticated"], "")));
    check(
        &admin,
        &User::named("system:serviceaccount:ns1:sa"),
        &["impersonate /serviceaccounts/ ns1 sa"],
        Ok((&["system:serviceaccounts", "system:serviceaccounts:ns1", "system:authenticated"], "")),
    );
    check(
        &admin,
        &User::named("system:anonymous"),
        &["impersonate /users/  system:anonymous"],
        Ok((&["system:unauthenticated"], "")),
    );
    let mut user = User::named("carol").with_groups(["system:masters"]);
    user.uid = "u".to_owned();
    user.extra.insert("scopes".to_owned(), owned(&["view"]));
    let all = [
        "impersonate /users/  carol",
        "impersonate authentication.k8s.io/uids/  u",
        "impersonate /groups/  system:masters",
        "impersonate authentication.k8s.io/userextras/scopes  view",
    ];
    check(&admin, &user, &all, Ok((&["system:masters", "system:authenticated"], "")));
}

#[test]
fn constrained_modes_take_two_permissions() {
    let bob = User::named("bob");
    let both =
        ["impersonate-on:user-info:list /configmaps/ ns ", "impersonate:user-info authentication.k8s.io/users/  carol"];
    check(&bob, &User::named("carol"), &both, Ok((&["system:authenticated"], "impersonate:user-info")));
    let denied = r#"users.authentication.k8s.io "carol" is forbidden: User "bob" cannot impersonate:user-info resource "users" in API group "authentication.k8s.io" at the cluster scope"#;
    check(&bob, &User::named("carol"), &both[..1], Err(denied));
    let masters = r#"groups.authentication.k8s.io "system:masters" is forbidden: User "bob" cannot impersonate:user-info resource "groups" in API group "authentication.k8s.io" at the cluster scope: impersonating the system:masters group is not allowed"#;
    check(&bob, &User::named("carol").with_groups(["system:masters"]), &both, Err(masters));
    let many = User::named("carol").with_groups(["a", "b", "c", "d"]);
    let star = [both[0], both[1], "impersonate:user-info authentication.k8s.io/groups/  *"];
    check(&bob, &many, &star, Ok((&["a", "b", "c", "d", "system:authenticated"], "impersonate:user-info")));
}

#[test]
fn an_account_may_act_as_the_node_it_runs_on() {
    let mut monitor = User::named("system:serviceaccount:kube-system:monitor");
    monitor.extra.insert(names::NODE_NAME.to_owned(), owned(&["n1"]));
    let allowed = [
        "impersonate-on:associated-node:list /configmaps/ ns ",
        "impersonate:associated-node authentication.k8s.io/nodes/  *",
    ];
    let groups: &[&str] = &["system:nodes", "system:authenticated"];
    check(&monitor, &User::named("system:node:n1"), &allowed, Ok((groups, "impersonate:associated-node")));
    let other = "configmaps is forbidden: User \"system:serviceaccount:kube-system:monitor\" cannot \
                 impersonate-on:arbitrary-node:list resource \"configmaps\" in API group \"\" in the namespace \"ns\"";
    check(&monitor, &User::named("system:node:n2"), &allowed, Err(other));
}

#[test]
fn the_last_mode_is_tried_first() {
    let alice = User::named("alice");
    let authorizer = listed(&["impersonate /users/  bob"]);
    let asked = Attributes::resource(&alice, "list", "", "configmaps");
    let impersonation = Impersonation::new();
    impersonation.check(&authorizer, &asked, &User::named("bob")).unwrap();
    authorizer.asked.lock().unwrap().clear();
    impersonation.check(&authorizer, &asked, &User::named("bob")).unwrap();
    assert_eq!(authorizer.asked.lock().unwrap().len(), 1);
    let denied = impersonation.check(&authorizer, &asked, &User::named("carol")).unwrap_err();
    assert!(denied.message.starts_with("users \"carol\" is forbidden: User \"alice\" cannot impersonate resource"));
}

#[test]
fn keys_of_extra_are_checked_in_constrained_modes() {
    let check = |key: &str, values: &[&str], expect: Option<&str>| {
        let got = extra_error(key, &owned(values));
        assert_eq!(got.as_deref(), expect, "{key}");
    };
    check("acme.io/foo", &["x"], None);
    check("", &["x"], Some("impersonating the empty string key in extra is not allowed"));
    check(
        "scopes",
        &["x"],
        Some(
            "impersonating an invalid key in extra is not allowed: extra.key: Invalid value: \"scopes\": \
             must be a domain-prefixed path (such as \"acme.io/foo\")",
        ),
    );
    check("acme.io/Foo", &["x"], Some("impersonating a non-lowercase key in extra is not allowed: \"acme.io/Foo\""));
    check("acme.io/foo", &[""], Some("impersonating the empty string value in extra is not allowed"));
}
