//! Feature gates are switches: what is stored stays, and means what the gate says now.

use bytes::Bytes;
use http::Request;
use http::header::CONTENT_TYPE;
use pawl_testing::{Client, Running};
use serde_json::{Value, json};

const CONFIG_MAPS: &str = "/api/v1/namespaces/n/configmaps";

async fn create(client: &Client, name: &str, liens: Value) -> pawl_testing::Answer {
    client.post(CONFIG_MAPS, &json!({"metadata": {"name": name, "liens": liens}})).await.unwrap()
}

async fn set_liens(client: &Client, name: &str, liens: Value) -> pawl_testing::Answer {
    client.merge(&format!("{CONFIG_MAPS}/{name}"), &json!({"metadata": {"liens": liens}})).await.unwrap()
}

async fn delete(client: &Client, name: &str) -> u16 {
    client.delete(&format!("{CONFIG_MAPS}/{name}")).await.unwrap().code
}

#[tokio::test(flavor = "multi_thread")]
async fn liens_that_are_stored_hold_when_the_gate_is_on() {
    let running = Running::start(&[], &[]).await;
    for name in ["a", "b", "c"] {
        create(&running.admin, name, json!(["example.com/1", "example.com/2"])).await.expect(201);
    }
    create(&running.admin, "free", json!([])).await.expect(201);
    assert_eq!(delete(&running.admin, "a").await, 409);

    let running = running.restart(&["--feature-gates=InUseProtection=false"]).await;
    let admin = &running.admin;
    let refused = "metadata.liens: Forbidden: may not be set when the feature gate InUseProtection is off";
    for answer in [
        create(admin, "new", json!(["example.com/1"])).await,
        set_liens(admin, "free", json!(["example.com/1"])).await,
        set_liens(admin, "b", json!(["example.com/1", "example.com/2", "example.com/3"])).await,
    ] {
        assert!(answer.expect(422)["message"].as_str().unwrap().contains(refused), "{answer:?}");
    }
    // What is there may stay and may go, and an update that changes something else is nobody's business.
    let patch = json!({"data": {"k": "v"}, "metadata": {"liens": ["example.com/1", "example.com/2"]}});
    let kept = admin.merge(&format!("{CONFIG_MAPS}/b"), &patch).await.unwrap().expect(200);
    assert_eq!(kept["metadata"]["liens"], patch["metadata"]["liens"]);
    set_liens(admin, "c", json!(["example.com/2"])).await.expect(200);
    assert_eq!(delete(admin, "a").await, 200);

    let running = running.restart(&["--feature-gates=InUseProtection=true"]).await;
    let admin = &running.admin;
    let stored = admin.get(&format!("{CONFIG_MAPS}/c")).await.unwrap().expect(200);
    assert_eq!(stored["metadata"]["liens"], json!(["example.com/2"]));
    assert_eq!((delete(admin, "b").await, delete(admin, "c").await), (409, 409));
    set_liens(admin, "free", json!(["example.com/1"])).await.expect(200);
    assert_eq!(delete(admin, "free").await, 409);
    running.stop().await;
}

/// With the gate off the parameter is not even looked at, whatever it says, on every kind of write.
#[tokio::test(flavor = "multi_thread")]
async fn without_field_validation_the_parameter_is_ignored() {
    for gate in ["ServerSideFieldValidation", "UnknownFieldValidation"] {
        let running = Running::start(&[&format!("--feature-gates={gate}=false")], &[]).await;
        for (i, directive) in
            ["", "?fieldValidation=Strict", "?fieldValidation=Warn", "?fieldValidation=Bogus"].into_iter().enumerate()
        {
            check_ignored(&running.admin, &format!("x{i}"), directive).await;
        }
        running.stop().await;
    }
    let running = Running::start(&[], &[]).await;
    let wrong = json!({"metadata": {"name": "x"}, "bogus": 1});
    let answer = running.admin.post(&format!("{CONFIG_MAPS}?fieldValidation=Strict"), &wrong).await.unwrap();
    assert!(answer.expect(400)["message"].as_str().unwrap().contains("unknown field \"bogus\""));
    let answer = running.admin.post(CONFIG_MAPS, &wrong).await.unwrap();
    assert_eq!((answer.code, answer.warnings()), (201, vec![r#"299 - "unknown field \"bogus\"""#]));
    running.stop().await;
}

async fn check_ignored(client: &Client, name: &str, directive: &str) {
    let path = format!("{CONFIG_MAPS}/{name}{directive}");
    let body = |value: &str| {
        let text = format!(r#"{{"metadata":{{"name":"{name}"}},"bogus":1,"data":{{"a":"first","a":"{value}"}}}}"#);
        Bytes::from(text)
    };
    let json = "application/json";
    let post = Request::post(format!("{CONFIG_MAPS}{directive}")).header(CONTENT_TYPE, json);
    let created = client.send(post, body("created")).await.unwrap();
    let updated = client.send(Request::put(&path).header(CONTENT_TYPE, json), body("updated")).await.unwrap();
    let merge = Request::patch(&path).header(CONTENT_TYPE, "application/merge-patch+json");
    let patched = client.send(merge, body("patched")).await.unwrap();
    for (answer, code, value) in [(created, 201, "created"), (updated, 200, "updated"), (patched, 200, "patched")] {
        let object = answer.expect(code);
        assert_eq!((&object["data"]["a"], &object["bogus"]), (&json!(value), &Value::Null), "{directive}");
        assert_eq!(answer.warnings(), Vec::<&str>::new(), "{directive}");
    }
}

/// What is not done is not advertised: kubectl leaves its own check to a server that says it has one.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_gate_takes_away_is_not_advertised() {
    let parameters = ["fieldValidation", "ignoreLiens"];
    let documents = ["/openapi/v2", "/openapi/v3/api/v1", "/openapi/v3/apis/apps/v1"];
    let mut hashes = Vec::new();
    for (gates, said) in [
        ("", [true, true]),
        ("ServerSideFieldValidation=false", [false, true]),
        ("InUseProtection=false", [true, false]),
    ] {
        let running = Running::start(&[&format!("--feature-gates={gates}")], &[]).await;
        for document in documents {
            let text = running.admin.get(document).await.unwrap().expect(200).to_string();
            assert_eq!(
                parameters.map(|name| text.contains(&format!("\"name\":\"{name}\""))),
                said,
                "{gates} {document}"
            );
        }
        hashes.push(running.admin.get("/openapi/v3").await.unwrap().expect(200).to_string());
        running.stop().await;
    }
    hashes.dedup();
    assert_eq!(hashes.len(), 3, "a document that changes has another hash");
}
