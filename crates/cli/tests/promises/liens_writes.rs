//! Liens under every kind of write: who keeps them, who removes them, who owns them, and what a deletion says of them.

use bytes::Bytes;
use http::Request;
use http::header::CONTENT_TYPE;
use pawl_testing::{Answer, Client, Running};
use serde_json::{Value, json};

const CONFIG_MAPS: &str = "/api/v1/namespaces/n/configmaps";
const X: &str = "/api/v1/namespaces/n/configmaps/x";
const POD: &str = "/api/v1/namespaces/n/pods/p";
const WITHOUT_ACCOUNTS: &str = "--disable-admission-plugins=ServiceAccount";

/// A config map `x` with one lien.
async fn start() -> (Running, Value) {
    let running = Running::start(&[], &[]).await;
    let made = json!({"metadata": {"name": "x", "liens": ["example.com/a"]}, "data": {"k": "v"}});
    let object = running.admin.post(CONFIG_MAPS, &made).await.unwrap().expect(201);
    (running, object)
}

async fn liens(client: &Client, path: &str) -> Value {
    client.get(path).await.unwrap().expect(200)["metadata"]["liens"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_put_that_does_not_mention_liens_keeps_them_and_says_so() {
    let (running, mut object) = start().await;
    object["metadata"].as_object_mut().unwrap().remove("liens");
    object["data"]["k"] = json!("w");
    let answer = running.admin.put(X, &object).await.unwrap();
    assert_eq!(answer.expect(200)["metadata"]["liens"], json!(["example.com/a"]));
    assert!(answer.warnings().iter().any(|w| w.contains("metadata.liens")), "{:?}", answer.warnings());
    assert_eq!(liens(&running.admin, X).await, json!(["example.com/a"]));
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_put_with_an_empty_list_or_null_removes_liens() {
    for nothing in [json!([]), json!(null)] {
        let (running, mut object) = start().await;
        object["metadata"]["liens"] = nothing;
        let answer = running.admin.put(X, &object).await.unwrap();
        assert_eq!(answer.expect(200)["metadata"]["liens"], Value::Null);
        assert_eq!(answer.warnings(), Vec::<&str>::new());
        running.admin.delete(X).await.unwrap().expect(200);
        running.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_merge_patch_with_an_empty_list_removes_liens() {
    let (running, _) = start().await;
    running.admin.delete(X).await.unwrap().expect(409);
    running.admin.merge(X, &json!({"metadata": {"liens": []}})).await.unwrap().expect(200);
    assert_eq!(liens(&running.admin, X).await, Value::Null);
    running.admin.delete(X).await.unwrap().expect(200);
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_strategic_merge_patch_with_an_empty_list_removes_liens() {
    let (running, _) = start().await;
    let head = Request::patch(X).header(CONTENT_TYPE, "application/strategic-merge-patch+json");
    running.admin.send(head, Bytes::from(r#"{"metadata":{"liens":[]}}"#)).await.unwrap().expect(200);
    assert_eq!(liens(&running.admin, X).await, Value::Null);
    running.stop().await;
}

/// Only a clear yes deletes in spite of liens.
#[tokio::test(flavor = "multi_thread")]
async fn no_other_word_is_a_yes_that_ignores_liens() {
    let (running, _) = start().await;
    for query in
        ["ignoreLiens=maybe", "ignoreLiens=", "ignoreLiens", "ignoreLiens=true&ignoreLiens=false", "ignoreLiens=no"]
    {
        let status = running.admin.delete(&format!("{X}?{query}")).await.unwrap().expect(422);
        assert_eq!(status["details"]["causes"][0]["field"], "ignoreLiens", "{query}");
    }
    running.admin.delete(&format!("{X}?ignoreLiens=false")).await.unwrap().expect(409);
    running.admin.delete(&format!("{X}?ignoreLiens=true&ignoreLiens=1")).await.unwrap().expect(200);
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn with_the_gate_off_ignoring_liens_needs_no_verb() {
    let mut running = Running::start(&["--feature-gates=InUseProtection=false"], &["deleter"]).await;
    running.grant("deleter", &["delete"], "configmaps").await;
    running.admin.post(CONFIG_MAPS, &json!({"metadata": {"name": "x"}})).await.unwrap().expect(201);
    running.user("deleter").delete(&format!("{X}?ignoreLiens=true")).await.unwrap().expect(200);
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_below_an_object_never_touches_liens() {
    let running = Running::start(&[WITHOUT_ACCOUNTS], &[]).await;
    let admin = &running.admin;
    let spec = json!({"containers": [{"name": "c", "image": "i"}]});
    let pod = json!({"metadata": {"name": "p", "liens": ["example.com/a"]}, "spec": spec});
    let pod = admin.post("/api/v1/namespaces/n/pods", &pod).await.unwrap().expect(201);
    let kept = json!(["example.com/a"]);
    for liens in [json!([]), json!(null), json!(["example.com/b"])] {
        let status = json!({"message": liens.to_string()});
        let mut written = pod.clone();
        written["metadata"]["liens"] = liens.clone();
        written["metadata"].as_object_mut().unwrap().remove("resourceVersion");
        written["status"] = status.clone();
        let answer = admin.put(&format!("{POD}/status"), &written).await.unwrap().expect(200);
        assert_eq!((&answer["metadata"]["liens"], &answer["status"]["message"]), (&kept, &status["message"]));
        let patch = json!({"metadata": {"liens": liens}, "status": {"reason": liens.to_string()}});
        let answer = admin.merge(&format!("{POD}/status"), &patch).await.unwrap().expect(200);
        assert_eq!((&answer["metadata"]["liens"], &answer["status"]["reason"]), (&kept, &patch["status"]["reason"]));
        let owners = answer["metadata"]["managedFields"].as_array().unwrap();
        let below = owners.iter().filter(|owner| owner["subresource"] == "status");
        assert!(below.into_iter().all(|owner| owner["fieldsV1"]["f:metadata"].get("f:liens").is_none()), "{owners:?}");
    }
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_collection_goes_but_for_what_is_held_and_the_answer_names_it() {
    let running = Running::start(&[], &[]).await;
    for (name, liens) in [("a", json!([])), ("b", json!(["example.com/b"])), ("c", json!([])), ("d", json!(["x.y/d"]))]
    {
        let made = json!({"metadata": {"name": name, "liens": liens, "labels": {"mine": "yes"}}});
        running.admin.post(CONFIG_MAPS, &made).await.unwrap().expect(201);
    }
    let mine = format!("{CONFIG_MAPS}?labelSelector=mine");
    let status = running.admin.delete(&mine).await.unwrap().expect(409);
    assert_eq!(status["reason"], "Conflict");
    let causes = status["details"]["causes"].as_array().unwrap();
    let named: Vec<&str> = causes.iter().map(|c| c["field"].as_str().unwrap()).collect();
    assert_eq!(named, ["n/b", "n/d"], "{status}");
    assert!(causes[0]["message"].as_str().unwrap().contains("\"example.com/b\""), "{status}");
    let left = running.admin.get(&mine).await.unwrap().expect(200);
    let left: Vec<&Value> = left["items"].as_array().unwrap().iter().map(|o| &o["metadata"]["name"]).collect();
    assert_eq!(left, ["b", "d"]);
    running.admin.delete_with(&mine, &json!({"ignoreLiens": true})).await.unwrap().expect(200);
    assert_eq!(running.admin.get(&mine).await.unwrap().expect(200)["items"], json!([]));
    running.stop().await;
}

async fn evict(client: &Client, options: Value) -> Answer {
    let eviction = json!({"metadata": {"name": "p"}, "deleteOptions": options});
    client.post(&format!("{POD}/eviction"), &eviction).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_eviction_is_a_deletion_to_liens() {
    let mut running = Running::start(&[WITHOUT_ACCOUNTS], &["drainer"]).await;
    // All that there is below pods, and still no right to ignore what is on them.
    running.grant("drainer", &["create", "ignore-liens", "*"], "pods/eviction").await;
    let spec = json!({"containers": [{"name": "c", "image": "i"}]});
    let pod = json!({"metadata": {"name": "p", "liens": ["example.com/a"]}, "spec": spec});
    running.admin.post("/api/v1/namespaces/n/pods", &pod).await.unwrap().expect(201);
    let drainer = running.user("drainer");
    let status = evict(&drainer, json!({})).await.expect(409);
    assert!(status["message"].as_str().unwrap().contains("\"example.com/a\""), "{status}");
    let status = evict(&drainer, json!({"ignoreLiens": true})).await.expect(403);
    assert!(status["message"].as_str().unwrap().contains("cannot ignore-liens resource \"pods\""), "{status}");
    let left = running.admin.get(POD).await.unwrap().expect(200);
    assert_eq!(left["status"]["conditions"], Value::Null, "nothing was noted");
    running.grant("drainer", &["ignore-liens"], "pods").await;
    evict(&drainer, json!({"ignoreLiens": true})).await.expect(201);
    running.admin.get(POD).await.unwrap().expect(404);
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn body_and_query_both_count_and_must_agree() {
    let (running, _) = start().await;
    let admin = &running.admin;
    for (query, body) in
        [("ignoreLiens=true", json!({"ignoreLiens": false})), ("ignoreLiens=false", json!({"ignoreLiens": true}))]
    {
        let status = admin.delete_with(&format!("{X}?{query}"), &body).await.unwrap().expect(422);
        assert_eq!(status["details"]["causes"][0]["field"], "ignoreLiens", "{status}");
    }
    // Upstream would delete here: a body makes it forget the query.
    for (query, body) in [
        ("ignoreLiens=true&dryRun=All", json!({})),
        ("dryRun=All", json!({"ignoreLiens": true})),
        ("ignoreLiens=true", json!({"dryRun": ["All"]})),
    ] {
        admin.delete_with(&format!("{X}?{query}"), &body).await.unwrap().expect(200);
        admin.get(X).await.unwrap().expect(200);
    }
    admin.delete_with(&format!("{X}?dryRun=All"), &json!({})).await.unwrap().expect(409);
    admin.delete(&format!("{X}?ignoreLiens=true")).await.unwrap().expect(200);
    admin.get(X).await.unwrap().expect(404);
    running.stop().await;
}

async fn apply(client: &Client, manager: &str, liens: Value) -> Answer {
    let head =
        Request::patch(format!("{X}?fieldManager={manager}")).header(CONTENT_TYPE, "application/apply-patch+yaml");
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x", "liens": liens}});
    client.send(head, Bytes::from(object.to_string())).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn two_who_apply_own_a_lien_each() {
    let running = Running::start(&[], &[]).await;
    let admin = &running.admin;
    apply(admin, "one", json!(["example.com/one"])).await.expect(201);
    apply(admin, "two", json!(["example.com/two"])).await.expect(200);
    let object = admin.get(X).await.unwrap().expect(200);
    let mut both: Vec<&str> =
        object["metadata"]["liens"].as_array().unwrap().iter().map(|l| l.as_str().unwrap()).collect();
    both.sort_unstable();
    assert_eq!(both, ["example.com/one", "example.com/two"]);
    for (manager, lien) in [("one", "example.com/one"), ("two", "example.com/two")] {
        let entries = object["metadata"]["managedFields"].as_array().unwrap();
        let entry = entries.iter().find(|entry| entry["manager"] == manager).unwrap();
        let owned = entry["fieldsV1"]["f:metadata"]["f:liens"].as_object().unwrap();
        assert!(owned.contains_key(&format!("v:\"{lien}\"")) && owned.keys().filter(|k| *k != ".").count() == 1);
    }
    // Who lets go lets go of his own.
    apply(admin, "one", json!([])).await.expect(200);
    assert_eq!(liens(admin, X).await, json!(["example.com/two"]));
    admin.delete(X).await.unwrap().expect(409);
    apply(admin, "two", json!([])).await.expect(200);
    admin.delete(X).await.unwrap().expect(200);
    running.stop().await;
}
