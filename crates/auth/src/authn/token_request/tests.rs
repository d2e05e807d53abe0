use super::*;

pub(in crate::authn) fn issuer() -> TokenIssuer {
    TokenIssuer {
        issuer: "https://issuer".to_owned(),
        key: SigningKey::from_pem(include_str!("../../../tests/keys/ec256.p8.pem")).unwrap(),
        audiences: vec!["api".to_owned()],
        max_seconds: 7200,
        extend: true,
    }
}

pub(in crate::authn) fn account() -> Value {
    json!({"metadata": {"name": "sa", "namespace": "ns", "uid": "sa-uid"}})
}

pub(in crate::authn) fn issue(
    request: Value,
    bound: Option<&Value>,
    node: Option<&Value>,
    now: i64,
) -> Result<Issued, Status> {
    issuer().issue_at(&request, &account(), bound, node, now, "id-1".to_owned())
}

fn claims(issued: &Issued) -> Value {
    let token = issued.object["status"]["token"].as_str().unwrap();
    let payload = token.split('.').nth(1).unwrap();
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(payload).unwrap()).unwrap()
}

fn pod(account: &str) -> Value {
    json!({
        "metadata": {"name": "p", "namespace": "ns", "uid": "p-uid"},
        "spec": {"serviceAccountName": account, "nodeName": "n"},
    })
}

#[test]
fn claims_are_upstreams() {
    let issued = issue(json!({"kind": "TokenRequest", "spec": {"audiences": ["a", "b"]}}), None, None, 1000).unwrap();
    assert_eq!(
        claims(&issued),
        json!({
            "aud": ["a", "b"],
            "exp": 4600,
            "iat": 1000,
            "iss": "https://issuer",
            "jti": "id-1",
            "kubernetes.io": {"namespace": "ns", "serviceaccount": {"name": "sa", "uid": "sa-uid"}},
            "nbf": 1000,
            "sub": "system:serviceaccount:ns:sa",
        })
    );
    assert_eq!(issued.credential_id, "JTI=id-1");
    assert_eq!(
        issued.object["spec"],
        json!({"audiences": ["a", "b"], "expirationSeconds": 3600, "boundObjectRef": null})
    );
    assert_eq!(issued.object["status"]["expirationTimestamp"], "1970-01-01T01:16:40Z");
    let metadata = &issued.object["metadata"];
    assert_eq!((&metadata["name"], &metadata["uid"]), (&json!("sa"), &json!("sa-uid")));
}

#[test]
fn tokens_of_pods_tell_their_node_and_live_longer() {
    let bound = json!({"kind": "Pod", "apiVersion": "v1", "name": "p"});
    let request = json!({"spec": {"boundObjectRef": bound, "expirationSeconds": 3607}});
    let issued = issue(request.clone(), Some(&pod("sa")), None, 0).unwrap();
    let got = claims(&issued);
    assert_eq!(got["kubernetes.io"]["pod"], json!({"name": "p", "uid": "p-uid"}));
    assert_eq!(got["kubernetes.io"]["node"], json!({"name": "n"}));
    assert_eq!((&got["exp"], &got["kubernetes.io"]["warnafter"]), (&json!(31_536_000), &json!(3607)));
    assert_eq!(issued.object["status"]["expirationTimestamp"], "1970-01-01T01:00:07Z");
    let other = issue(request, Some(&pod("other")), None, 0).unwrap_err();
    assert_eq!(
        (other.code, other.message.as_str()),
        (400, "cannot bind token for serviceaccount \"sa\" to pod running with different serviceaccount name.")
    );
}

#[test]
fn bad_requests_are_refused() {
    let refuse = |request: Value, code: u16, message: &str| {
        let status = issue(request, Some(&pod("sa")), None, 0).unwrap_err();
        assert_eq!((status.code, status.message.as_str()), (code, message));
    };
    refuse(
        json!({"spec": {"expirationSeconds": 599}}),
        422,
        "TokenRequest.authentication.k8s.io \"\" is invalid: spec.expirationSeconds: Invalid value: 599: may not specify a duration less than 10 minutes",
    );
    refuse(
        json!({"metadata": {"name": "x"}}),
        422,
        "TokenRequest.authentication.k8s.io \"sa\" is invalid: metadata.name: Invalid value: \"x\": must match the service account name if specified",
    );
    refuse(
        json!({"metadata": {"uid": "x"}}),
        409,
        "Operation cannot be fulfilled on TokenRequest.authentication.k8s.io \"sa\": the UID in the token request (x) does not match the UID of the service account (sa-uid)",
    );
    refuse(
        json!({"spec": {"boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "p", "uid": "x"}}}),
        409,
        "Operation cannot be fulfilled on Pod \"p\": the UID in the bound object reference (x) does not match the UID in record. The object might have been deleted and then recreated",
    );
    refuse(
        json!({"spec": {"boundObjectRef": {"kind": "Job", "apiVersion": "batch/v1", "name": "p"}}}),
        400,
        "cannot bind token to object of type batch/v1, Kind=Job",
    );
}

#[test]
fn a_token_is_never_issued_unbound_when_it_should_be_bound() {
    let request = json!({"spec": {"boundObjectRef": {"kind": "Secret", "apiVersion": "v1", "name": "s"}}});
    assert_eq!(issue(request, None, None, 0).unwrap_err().message, "secrets \"s\" not found");
}

#[test]
fn long_requests_are_shortened_with_a_warning() {
    let issued = issue(json!({"spec": {"expirationSeconds": 9000}}), None, None, 0).unwrap();
    assert_eq!(issued.warnings, ["requested expiration of 9000 seconds shortened to 7200 seconds"]);
    assert_eq!(claims(&issued)["exp"], 7200);
}

#[test]
fn ids_are_uuids() {
    let (one, two) = (random_uuid().unwrap(), random_uuid().unwrap());
    assert_eq!((one.len(), &one[14..15]), (36, "4"));
    assert_ne!(one, two);
}
