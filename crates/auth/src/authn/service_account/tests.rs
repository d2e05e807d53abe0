use serde_json::{Value, json};

use super::*;
use crate::authn::public_keys;
use crate::authn::token_request::tests::issue;

const NOW: i64 = 1_000_000;

/// Kind, name, uid and time of deletion.
type Entry = (BoundKind, &'static str, &'static str, Option<i64>);

struct Known(Vec<Entry>);

impl Objects for Known {
    fn find(&self, kind: BoundKind, _: &str, name: &str) -> Option<BoundObject> {
        let (_, _, uid, deleted_at) = self.0.iter().find(|(k, n, ..)| *k == kind && *n == name)?;
        Some(BoundObject { uid: (*uid).to_owned(), deleted_at: *deleted_at })
    }
}

fn tokens(objects: Vec<Entry>) -> ServiceAccountTokens {
    let keys = public_keys(include_str!("../../../tests/keys/ec256.crt.pem")).unwrap();
    let known = Arc::new(Known(objects));
    ServiceAccountTokens::new(vec!["https://issuer".to_owned()], keys, vec!["api".to_owned()], known)
}

fn account() -> Entry {
    (BoundKind::ServiceAccount, "sa", "sa-uid", None)
}

fn token(request: Value, bound: Option<&Value>) -> String {
    issue(request, bound, None, NOW).unwrap().object["status"]["token"].as_str().unwrap().to_owned()
}

fn said(outcome: Outcome) -> String {
    match outcome {
        Outcome::Known(identity) => identity.user.name.clone(),
        Outcome::NotMine => "not mine".to_owned(),
        Outcome::Refused(why) => why,
    }
}

#[test]
fn a_token_names_its_account() {
    let tokens = tokens(vec![account()]);
    let token = token(json!({}), None);
    for _ in 0..2 {
        let Outcome::Known(identity) = tokens.check(&token, &[], NOW) else { panic!("not known") };
        assert_eq!(identity.user.name, "system:serviceaccount:ns:sa");
        assert_eq!(identity.user.uid, "sa-uid");
        assert_eq!(identity.user.groups, ["system:serviceaccounts", "system:serviceaccounts:ns"]);
        assert_eq!(identity.user.extra[names::CREDENTIAL_ID], ["JTI=id-1"]);
        assert_eq!(identity.audiences, ["api"]);
    }
    assert_eq!(tokens.verified.read().unwrap().len(), 1);
}

#[test]
fn times_are_checked_also_for_known_tokens() {
    let tokens = tokens(vec![account()]);
    let token = token(json!({}), None);
    let check = |now: i64, expect: &str| assert_eq!(said(tokens.check(&token, &[], now)), expect);
    check(NOW, "system:serviceaccount:ns:sa");
    check(NOW + 3660, "system:serviceaccount:ns:sa");
    check(NOW + 3661, "service account token has expired");
    check(NOW - 60, "system:serviceaccount:ns:sa");
    check(NOW - 61, "service account token is not valid yet");
}

#[test]
fn audiences_are_checked() {
    let tokens = tokens(vec![account()]);
    let other = token(json!({"spec": {"audiences": ["vault"]}}), None);
    let refused = r#"token audiences ["vault"] is invalid for the target audiences ["api"]"#;
    assert_eq!(said(tokens.check(&other, &[], NOW)), refused);
    assert_eq!(said(tokens.check(&other, &["vault".to_owned()], NOW)), "system:serviceaccount:ns:sa");
}

#[test]
fn bound_objects_must_be_there() {
    let pod = json!({"metadata": {"name": "p", "uid": "p-uid"}, "spec": {"serviceAccountName": "sa", "nodeName": "n"}});
    let token =
        token(json!({"spec": {"boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "p"}}}), Some(&pod));
    let check = |objects, expect: &str| assert_eq!(said(tokens(objects).check(&token, &[], NOW)), expect);
    check(vec![account(), (BoundKind::Pod, "p", "p-uid", None)], "system:serviceaccount:ns:sa");
    check(vec![], "serviceaccounts \"sa\" not found");
    check(
        vec![(BoundKind::ServiceAccount, "sa", "new", None)],
        "service account UID (new) does not match claim (sa-uid)",
    );
    check(vec![account()], "service account token has been invalidated");
    check(
        vec![account(), (BoundKind::Pod, "p", "new", None)],
        "pod UID (new) does not match service account pod ref claim (p-uid)",
    );
    check(vec![account(), (BoundKind::Pod, "p", "p-uid", Some(NOW - 60))], "system:serviceaccount:ns:sa");
    check(
        vec![account(), (BoundKind::Pod, "p", "p-uid", Some(NOW - 61))],
        "service account token has been invalidated",
    );
    let known = tokens(vec![account(), (BoundKind::Pod, "p", "p-uid", None)]).check(&token, &[], NOW);
    let Outcome::Known(identity) = known else { panic!("not known") };
    let extra: Vec<&str> = identity.user.extra.keys().map(String::as_str).collect();
    assert_eq!(extra, [names::CREDENTIAL_ID, names::NODE_NAME, names::POD_NAME, names::POD_UID]);
}

#[test]
fn forged_tokens_are_refused() {
    let tokens = tokens(vec![account()]);
    let token = token(json!({}), None);
    let parts: Vec<&str> = token.split('.').collect();
    let part = |value: Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let check = |header: &str, payload: &str, signature: &str, expect: &str| {
        let forged = format!("{header}.{payload}.{signature}");
        assert_eq!(said(tokens.check(&forged, &[], NOW)), expect, "{forged}");
    };
    let wrong = "go-jose/go-jose: error in cryptographic primitive";
    let payload = part(json!({"iss": "https://issuer", "sub": "system:serviceaccount:kube-system:root"}));
    check(parts[0], &payload, parts[2], wrong);
    check(&part(json!({"alg": "none"})), parts[1], "", wrong);
    check(&part(json!({"alg": "HS256"})), parts[1], parts[2], wrong);
    check(&part(json!({"alg": "ES256", "crit": ["exp"]})), parts[1], parts[2], wrong);
    check(&part(json!({"alg": "ES256", "kid": "other"})), parts[1], parts[2], "invalid signature, no keys found");
    check(parts[0], &part(json!({"iss": "kubernetes/serviceaccount"})), parts[2], "not mine");
    check(parts[0], "!", parts[2], "not mine");
    for junk in ["", ".", "..", "...", "a.b", "a.b.c.d"] {
        assert_eq!(said(tokens.check(junk, &[], NOW)), "not mine", "{junk}");
    }
}
