//! Whatever a client sends: an answer, never a panic, and never somebody whom nobody vouched for.
#![allow(clippy::restriction, reason = "a test may fail")]

use std::sync::Arc;

use pawl_auth::authn::{
    Authentication, Authorities, BoundKind, BoundObject, ClientCertificates, Objects, PeerCertificates, Presented,
    ServiceAccountTokens, StaticTokens, public_keys, user_from_certificate,
};
use pawl_auth::modes::{Chain, Mode};
use pawl_auth::rbac::{Index, Kind, Rule, covers};
use pawl_auth::reviews::{AccessReview, review_access, review_token};
use pawl_auth::{Attributes, Authorizer, User, impersonation};
use proptest::prelude::*;
use serde_json::{Value, json};

struct Everything;

impl Objects for Everything {
    fn find(&self, _: BoundKind, _: &str, _: &str) -> Option<BoundObject> {
        Some(BoundObject { uid: String::new(), deleted_at: None })
    }
}

fn authentication() -> Authentication {
    let keys = public_keys(include_str!("keys/ec256.crt.pem")).unwrap();
    let audiences = vec!["api".to_owned()];
    let accounts = ServiceAccountTokens::new(vec!["i".to_owned()], keys, audiences.clone(), Arc::new(Everything));
    let tokens = StaticTokens::parse("f", "secret,alice,1\n").unwrap().with_audiences(audiences.clone());
    let authorities = Arc::new(Authorities::from_pem(include_str!("keys/ec256.crt.pem")).unwrap());
    let certificates = ClientCertificates(authorities);
    Authentication::new(vec![Box::new(certificates), Box::new(tokens), Box::new(accounts)], true, audiences)
}

/// Tokens that look like one of ours: a header, claims with our issuer, some signature.
fn likely_token() -> impl Strategy<Value = String> {
    use base64::Engine;
    let part = |json: String| base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(json);
    let header = prop_oneof![
        Just(r#"{"alg":"ES256"}"#.to_owned()),
        Just(r#"{"alg":"none"}"#.to_owned()),
        Just(r#"{"alg":"RS256","kid":"x"}"#.to_owned()),
        any::<String>(),
    ];
    let claims = prop_oneof![
        Just(r#"{"iss":"i","sub":"system:serviceaccount:ns:sa","aud":"api"}"#.to_owned()),
        Just(r#"{"iss":"i","exp":1e300,"kubernetes.io":{"namespace":"ns"}}"#.to_owned()),
        Just(r#"{"iss":"i","aud":[1]}"#.to_owned()),
        any::<String>(),
    ];
    (header, claims, proptest::collection::vec(any::<u8>(), 0..100)).prop_map(move |(header, claims, signature)| {
        let signature = base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(signature);
        format!("{}.{}.{signature}", part(header), part(claims))
    })
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[a-z/*]{0,6}".prop_map(Value::from)
    ];
    leaf.prop_recursive(4, 32, 6, |inner| {
        let key = prop_oneof![
            Just("spec"),
            Just("metadata"),
            Just("name"),
            Just("namespace"),
            Just("token"),
            Just("rules"),
            Just("verbs"),
            Just("resources"),
            Just("apiGroups"),
            Just("subjects"),
            Just("roleRef"),
            Just("kind"),
            Just("user"),
            Just("groups"),
            Just("resourceAttributes"),
            Just("nonResourceAttributes"),
            Just("fieldSelector"),
            Just("labelSelector"),
            Just("rawSelector"),
            Just("requirements"),
            Just("operator"),
            Just("values"),
            Just("key"),
            Just("extra"),
        ];
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            proptest::collection::vec((key, inner), 0..6)
                .prop_map(|entries| Value::Object(entries.into_iter().map(|(k, v)| (k.to_owned(), v)).collect())),
        ]
    })
}

fn rule() -> impl Strategy<Value = Rule> {
    let some = |words: &'static [&'static str]| {
        proptest::collection::vec(proptest::sample::select(words).prop_map(str::to_owned), 0..3)
    };
    let things = (some(&["pods", "pods/log", "*/log", "*"]), some(&["a", "b"]), some(&["/a", "/a/*", "*"]));
    let rule = (some(&["get", "list", "*"]), some(&["", "apps", "*"]), things);
    rule.prop_map(|(verbs, api_groups, (resources, resource_names, non_resource_urls))| Rule {
        verbs,
        api_groups,
        resources,
        resource_names,
        non_resource_urls,
    })
}

proptest! {
    #[test]
    fn no_token_passes_that_nobody_issued(token in prop_oneof![any::<String>(), likely_token()]) {
        prop_assume!(token.trim() != "secret");
        prop_assert!(authentication().token(&token, &[]).is_err());
        let header = format!("Bearer {token}");
        if let Ok(identity) = authentication().request(&Presented { authorization: Some(&header), ..Presented::default() }) {
            prop_assert_eq!(identity.user, User::anonymous());
        }
    }

    #[test]
    fn headers_never_panic(authorization in any::<String>(), protocols in any::<String>(), name in any::<String>(), bytes in any::<Vec<u8>>()) {
        let certificates = PeerCertificates::new(&[bytes.clone().into()]);
        let presented = Presented {
            authorization: Some(&authorization),
            websocket_protocols: &[&protocols],
            certificate: certificates.as_ref(),
        };
        let _ = authentication().request(&presented);
        let _ = user_from_certificate(&bytes);
        let extra = format!("impersonate-extra-{name}");
        let user = impersonation::wanted([("impersonate-user", bytes.as_slice()), (extra.as_str(), bytes.as_slice())]);
        prop_assert!(user.is_err() == bytes.is_empty());
    }

    #[test]
    fn files_never_panic(text in any::<String>(), csv in "[a\",\r\n]{0,30}") {
        let _ = StaticTokens::parse("f", &text);
        let _ = StaticTokens::parse("f", &csv);
        let _ = public_keys(&text);
        let _ = public_keys(&format!("-----BEGIN PUBLIC KEY-----\n{text}\n-----END PUBLIC KEY-----\n"));
    }

    #[test]
    fn objects_never_panic(object in value()) {
        let chain = Chain::new(vec![Mode::Rbac], Arc::new(Index::new()));
        for kind in [Kind::Role, Kind::ClusterRole, Kind::RoleBinding, Kind::ClusterRoleBinding] {
            chain.index().apply(kind, None, Some(&object));
        }
        let user = User::named("a");
        let _ = chain.rules_for(&user, "ns");
        for kind in [AccessReview::Subject, AccessReview::Local, AccessReview::SelfSubject] {
            let _ = review_access(kind, &object, &user, "ns", &chain, &Value::to_string);
        }
        let _ = review_token(&object, &authentication());
    }

    /// Rules cover a request exactly when what covers them allows all that they allow.
    #[test]
    fn what_covers_a_rule_allows_what_it_allows(held in proptest::collection::vec(rule(), 0..4), wanted in rule()) {
        let user = User::named("a");
        if covers::missing(&held, std::slice::from_ref(&wanted)) == Ok(Vec::new()) {
            for verb in ["get", "list", "watch"] {
                for (group, resource, subresource) in [("", "pods", ""), ("apps", "pods", "log"), ("x", "y", "")] {
                    for name in ["", "a", "b", "c"] {
                        let asked = Attributes { subresource, name, ..Attributes::resource(&user, verb, group, resource) };
                        prop_assert!(!wanted.allows(&asked) || held.iter().any(|rule| rule.allows(&asked)));
                    }
                }
            }
        }
    }

    /// The index finds exactly what going through all rules finds.
    #[test]
    fn the_index_decides_like_its_rules(roles in proptest::collection::vec((rule(), any::<bool>(), any::<bool>()), 0..6)) {
        let index = Index::new();
        for (i, (rule, local, by_group)) in roles.iter().enumerate() {
            let namespace = if *local { "ns" } else { "" };
            let name = format!("r{i}");
            let role = json!({"metadata": {"name": name, "namespace": namespace}, "rules": [rule.to_value()]});
            let subject = if *by_group { json!({"kind": "Group", "name": "g"}) } else { json!({"kind": "User", "name": "u"}) };
            let binding = json!({
                "metadata": {"name": name, "namespace": namespace},
                "roleRef": {"kind": if *local { "Role" } else { "ClusterRole" }, "name": name},
                "subjects": [subject],
            });
            let kinds = if *local { (Kind::Role, Kind::RoleBinding) } else { (Kind::ClusterRole, Kind::ClusterRoleBinding) };
            index.apply(kinds.1, None, Some(&binding));
            index.apply(kinds.0, None, Some(&role));
        }
        let user = User::named("u").with_groups(["g"]);
        for namespace in ["ns", "other", ""] {
            let rules = index.rules_for(&user, namespace).rules;
            for verb in ["get", "list", "watch"] {
                for (group, resource, subresource) in [("", "pods", ""), ("apps", "pods", "log"), ("x", "y", "log"), ("", "log", "")] {
                    for name in ["", "a", "c"] {
                        let asked = Attributes::resource(&user, verb, group, resource);
                        let asked = Attributes { subresource, name, namespace, ..asked };
                        let expect = rules.iter().any(|rule| rule.allows(&asked));
                        prop_assert_eq!(index.authorize(&asked).is_allowed(), expect);
                    }
                }
                let asked = Attributes { namespace, ..Attributes::path(&user, verb, "/a/b") };
                prop_assert_eq!(index.authorize(&asked).is_allowed(), rules.iter().any(|rule| rule.allows(&asked)));
            }
        }
    }

    /// An index that has seen events in any order decides like one that was built from what is left.
    #[test]
    fn events_leave_no_trace(events in proptest::collection::vec((0..4_usize, 0..3_usize, any::<bool>()), 0..40)) {
        let names = ["a", "b", "c"];
        let object = |kind: usize, i: usize, flavour: bool| {
            let subject = if flavour { "u1" } else { "u2" };
            let verb = if flavour { "get" } else { "list" };
            json!({
                "metadata": {"name": names[i], "namespace": if kind.is_multiple_of(2) { "ns" } else { "" }},
                "rules": [{"verbs": [verb], "apiGroups": [""], "resources": ["pods"]}],
                "roleRef": {"kind": if kind.is_multiple_of(2) && i != 2 { "Role" } else { "ClusterRole" }, "name": names[(i + 1) % 3]},
                "subjects": [{"kind": "User", "name": subject}, {"kind": "Group", "name": "g"}],
            })
        };
        let kinds = [Kind::Role, Kind::ClusterRole, Kind::RoleBinding, Kind::ClusterRoleBinding];
        let followed = Index::new();
        let mut left: std::collections::BTreeMap<(usize, usize), Value> = std::collections::BTreeMap::new();
        for (kind, i, flavour) in events {
            let old = left.get(&(kind, i)).cloned();
            // Every other event on an object that is there removes it.
            let new = if old.is_some() && flavour { None } else { Some(object(kind, i, flavour)) };
            followed.apply(kinds[kind], old.as_ref(), new.as_ref());
            match new {
                Some(new) => left.insert((kind, i), new),
                None => left.remove(&(kind, i)),
            };
        }
        let built = Index::new();
        for ((kind, _), object) in &left {
            built.apply(kinds[*kind], None, Some(object));
        }
        for user in [User::named("u1"), User::named("u2"), User::named("u3").with_groups(["g"])] {
            for namespace in ["ns", ""] {
                for verb in ["get", "list"] {
                    let asked = Attributes { namespace, ..Attributes::resource(&user, verb, "", "pods") };
                    prop_assert_eq!(followed.authorize(&asked), built.authorize(&asked));
                }
                prop_assert_eq!(followed.rules_for(&user, namespace), built.rules_for(&user, namespace));
            }
        }
    }
}
