use super::*;
use crate::Policy;

fn record(level: &str, attributes: &Attributes<'_>) -> Option<Record> {
    let rules = json!([{"level": level}]);
    let document =
        json!({"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "rules": rules, "omitManagedFields": true});
    let verdict = Policy::from_value(&document).unwrap().evaluate(attributes);
    let request = Request {
        audit_id: "id",
        uri: "/api/v1/namespaces/ns/secrets?x=y",
        user_agent: "kubectl",
        source_ips: vec!["10.0.0.1".parse().unwrap()],
        received: "2024-01-02T03:04:05.000006Z".to_owned(),
    };
    Record::start(verdict, attributes, request)
}

fn secret() -> Value {
    json!({"kind": "Secret", "metadata": {"name": "s", "managedFields": [{}]}, "data": {"k": "djE="}})
}

fn read(record: &mut Record, stage: Stage) -> Value {
    serde_json::from_str(&record.line(stage).unwrap()).unwrap()
}

#[test]
fn a_record_tells_who_did_what() {
    let user = User::named("alice").with_groups(["devs"]);
    let asked =
        Attributes { namespace: "ns", api_version: "v1", ..Attributes::resource(&user, "create", "", "secrets") };
    let mut record = record("Metadata", &asked).unwrap();
    record.impersonated(&User::named("bob"), "impersonate:user-info");
    record.annotate(crate::annotations::DECISION, "allow");
    record.annotate(crate::annotations::DECISION, "forbid");
    record.request_object(&secret());
    record.response(201, Some(&secret()));
    let got = read(&mut record, Stage::RequestReceived);
    assert_eq!(
        got,
        json!({
            "kind": "Event",
            "apiVersion": "audit.k8s.io/v1",
            "level": "Metadata",
            "auditID": "id",
            "stage": "RequestReceived",
            "requestURI": "/api/v1/namespaces/ns/secrets?x=y",
            "verb": "create",
            "user": {"username": "alice", "groups": ["devs"]},
            "impersonatedUser": {"username": "bob"},
            "authenticationMetadata": {"impersonationConstraint": "impersonate:user-info"},
            "sourceIPs": ["10.0.0.1"],
            "userAgent": "kubectl",
            "objectRef": {"resource": "secrets", "namespace": "ns", "name": "s", "apiVersion": "v1"},
            "responseStatus": {"metadata": {}, "code": 201},
            "requestReceivedTimestamp": "2024-01-02T03:04:05.000006Z",
            "stageTimestamp": "2024-01-02T03:04:05.000006Z",
            "annotations": {"authorization.k8s.io/decision": "allow"},
        })
    );
    let line = record.line(Stage::ResponseComplete).unwrap();
    assert!(
        line.starts_with(
            r#"{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Metadata","auditID":"id","stage":"#
        )
    );
    assert!(line.ends_with("}\n"));
}

#[test]
fn bodies_are_shown_only_at_their_levels() {
    let user = User::named("alice");
    let asked = Attributes::resource(&user, "create", "", "secrets");
    let check = |level: &str, request: bool, response: bool| {
        let mut record = record(level, &asked).unwrap();
        record.request_object(&secret());
        record.response(201, Some(&secret()));
        let got = read(&mut record, Stage::ResponseComplete);
        assert_eq!((got.get("requestObject").is_some(), got.get("responseObject").is_some()), (request, response));
        assert_eq!(got.to_string().contains("djE="), request || response);
        assert!(!got.to_string().contains("managedFields"));
    };
    check("Metadata", false, false);
    check("Request", true, false);
    check("RequestResponse", true, true);
    assert!(record("None", &asked).is_none());
}

#[test]
fn a_status_is_told_without_its_body() {
    let user = User::named("alice");
    let mut record = record("Metadata", &Attributes::path(&user, "get", "/x")).unwrap();
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {"continue": "c"}, "status": "Failure",
        "message": "no", "reason": "Forbidden", "details": {}, "code": 403,
    });
    record.response(403, Some(&status));
    let got = read(&mut record, Stage::ResponseComplete);
    assert_eq!(
        got["responseStatus"],
        json!({"metadata": {}, "status": "Failure", "message": "no", "reason": "Forbidden", "details": {}, "code": 403})
    );
    assert!(got.get("objectRef").is_none());
    record.response_text(200, "Success", "", "Connection closed early");
    let got = read(&mut record, Stage::ResponseComplete);
    let closed = json!({"metadata": {}, "status": "Success", "message": "Connection closed early", "code": 200});
    assert_eq!(got["responseStatus"], closed);
}

#[test]
fn lists_and_tables_lose_managed_fields_too() {
    let with = || json!({"metadata": {"managedFields": []}});
    let mut list = json!({"items": [with()], "rows": [{"object": with()}]});
    drop_managed_fields(&mut list);
    assert_eq!(list, json!({"items": [{"metadata": {}}], "rows": [{"object": {"metadata": {}}}]}));
}

#[test]
fn sources_are_listed_as_upstream_does() {
    let peer: IpAddr = "10.0.0.9".parse().unwrap();
    let check = |forwarded: Option<&str>, real: Option<&str>, expect: &[&str]| {
        let got: Vec<String> = source_ips(forwarded, real, Some(peer)).iter().map(IpAddr::to_string).collect();
        assert_eq!(got, expect);
    };
    check(None, None, &["10.0.0.9"]);
    check(Some("1.1.1.1, junk, 2.2.2.2"), Some("1.1.1.1"), &["1.1.1.1", "2.2.2.2", "10.0.0.9"]);
    check(Some("10.0.0.9"), None, &["10.0.0.9"]);
    check(None, Some("3.3.3.3"), &["3.3.3.3", "10.0.0.9"]);
}

#[test]
fn long_names_of_clients_are_cut() {
    let long = "ä".repeat(600);
    let cut = cut(&long);
    assert_eq!((cut.len(), cut.ends_with("...TRUNCATED")), (1024 + 12, true));
}
