//! KEP-2839, in-use protection: its list of end-to-end tests, its stories, and what it says of owners and namespaces.

use pawl_testing::{Answer, Client, Protocol, Running};
use serde_json::{Value, json};

const SECRETS: &str = "/api/v1/namespaces/n/secrets";
const CONFIG_MAPS: &str = "/api/v1/namespaces/n/configmaps";

async fn create(client: &Client, path: &str, object: Value) -> Value {
    client.post(path, &object).await.unwrap().expect(201)
}

async fn create_held(client: &Client, path: &str, name: &str) -> Value {
    create(client, path, json!({"metadata": {"name": name, "liens": ["example.com/held"]}})).await
}

async fn set_liens(client: &Client, path: &str, liens: Value) -> Answer {
    client.merge(path, &json!({"metadata": {"liens": liens}})).await.unwrap()
}

/// A reference to an owner.
fn owner(object: &Value, api_version: &str, kind: &str, blocks: bool) -> Value {
    json!([{"apiVersion": api_version, "kind": kind, "name": object["metadata"]["name"],
        "uid": object["metadata"]["uid"], "blockOwnerDeletion": blocks}])
}

/// Checks that a deletion was refused over this lien, and that nothing has changed.
async fn check_held(client: &Client, path: &str, lien: &str) {
    let before = client.get(path).await.unwrap().expect(200);
    let status = client.delete(path).await.unwrap().expect(409);
    assert_eq!(status["reason"], "Conflict");
    assert!(status["message"].as_str().unwrap().contains(&format!("{lien:?}")), "{status}");
    assert_eq!(client.get(path).await.unwrap().expect(200), before);
}

/// Checks that liens are refused with one error that begins so.
async fn check_refused(liens: Value, error: &str) {
    let running = Running::start(&[], &[]).await;
    let status = running.admin.post(SECRETS, &json!({"metadata": {"name": "x", "liens": liens}})).await.unwrap();
    check_invalid(&status.expect(422), error);
    create(&running.admin, SECRETS, json!({"metadata": {"name": "x"}})).await;
    check_invalid(&set_liens(&running.admin, &format!("{SECRETS}/x"), liens).await.expect(422), error);
    running.stop().await;
}

#[track_caller]
fn check_invalid(status: &Value, error: &str) {
    assert!(status["message"].as_str().unwrap().contains(&format!("is invalid: metadata.liens{error}")), "{status}");
    assert!(status["details"]["causes"][0]["field"].as_str().unwrap().starts_with("metadata.liens"), "{status}");
}

#[tokio::test(flavor = "multi_thread")]
async fn immediate_deletion_of_a_secret_with_empty_liens() {
    let running = Running::start(&[], &[]).await;
    create(&running.admin, SECRETS, json!({"metadata": {"name": "x", "liens": []}})).await;
    running.admin.delete(&format!("{SECRETS}/x")).await.unwrap().expect(200);
    running.admin.get(&format!("{SECRETS}/x")).await.unwrap().expect(404);
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn setting_liens_is_blocked_if_a_key_is_not_namespaced() {
    check_refused(json!(["plain"]), "[0]: Invalid value: \"plain\"").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn setting_liens_is_blocked_if_a_key_is_longer_than_253() {
    let long = format!("{}.com/{}", "a".repeat(186), "b".repeat(63));
    assert_eq!(long.len(), 254);
    check_refused(json!([long]), "[0]: Too long: may not be more than 253 bytes").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn setting_liens_is_blocked_if_there_are_more_than_32_keys() {
    let many: Vec<String> = (0..33).map(|i| format!("example.com/{i}")).collect();
    check_refused(json!(many), ": Too many: 33: must have at most 32 items").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_with_liens_is_not_removed() {
    let running = Running::start(&[], &[]).await;
    create_held(&running.admin, SECRETS, "x").await;
    check_held(&running.admin, &format!("{SECRETS}/x"), "example.com/held").await;
    set_liens(&running.admin, &format!("{SECRETS}/x"), json!([])).await.expect(200);
    running.admin.delete(&format!("{SECRETS}/x")).await.unwrap().expect(200);
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn foreground_deletion_of_an_owner_waits_for_a_held_dependent_that_blocks_it() {
    let mut running = Running::start(&[], &[]).await;
    let admin = &running.admin;
    let owned = create(admin, CONFIG_MAPS, json!({"metadata": {"name": "owner"}})).await;
    let references = owner(&owned, "v1", "ConfigMap", true);
    let metadata = json!({"name": "dependent", "liens": ["example.com/held"], "ownerReferences": references});
    create(admin, CONFIG_MAPS, json!({"metadata": metadata})).await;
    // When the second owner is gone, the collector has had its chance at the first.
    let foreground = json!({"propagationPolicy": "Foreground"});
    admin.delete_with(&format!("{CONFIG_MAPS}/owner"), &foreground).await.unwrap().expect(200);
    let after = create(admin, CONFIG_MAPS, json!({"metadata": {"name": "after"}})).await;
    let references = owner(&after, "v1", "ConfigMap", true);
    create(admin, CONFIG_MAPS, json!({"metadata": {"name": "goes", "ownerReferences": references}})).await;
    admin.delete_with(&format!("{CONFIG_MAPS}/after"), &foreground).await.unwrap().expect(200);
    running.until_gone(&format!("{CONFIG_MAPS}/after")).await;
    let waiting = running.admin.get(&format!("{CONFIG_MAPS}/owner")).await.unwrap().expect(200);
    assert_eq!(waiting["metadata"]["finalizers"], json!(["foregroundDeletion"]));
    let held = running.admin.get(&format!("{CONFIG_MAPS}/dependent")).await.unwrap().expect(200);
    assert_eq!(held["metadata"]["deletionTimestamp"], Value::Null);
    set_liens(&running.admin, &format!("{CONFIG_MAPS}/dependent"), json!([])).await.expect(200);
    running.until_gone(&format!("{CONFIG_MAPS}/dependent")).await;
    running.until_gone(&format!("{CONFIG_MAPS}/owner")).await;
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn namespace_deletion_completes_while_a_held_object_is_in_it() {
    let mut running = Running::start(&[], &[]).await;
    create_held(&running.admin, SECRETS, "x").await;
    running.admin.delete("/api/v1/namespaces/n").await.unwrap().expect(200);
    running.until_gone("/api/v1/namespaces/n").await;
    running.admin.get(&format!("{SECRETS}/x")).await.unwrap().expect(404);
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn adding_liens_to_what_is_being_deleted_fails() {
    let running = Running::start(&[], &[]).await;
    let metadata = json!({"name": "x", "finalizers": ["example.com/wait"]});
    create(&running.admin, SECRETS, json!({"metadata": metadata})).await;
    running.admin.delete(&format!("{SECRETS}/x")).await.unwrap().expect(200);
    let status = set_liens(&running.admin, &format!("{SECRETS}/x"), json!(["example.com/late"])).await.expect(422);
    check_invalid(&status, ": Forbidden: no new liens can be added if the object is being deleted");
    running.stop().await;
}

/// The first story: a controller marks what pods use, and lets go of it when they are gone.
#[tokio::test(flavor = "multi_thread")]
async fn a_controller_keeps_a_secret_while_a_pod_uses_it() {
    let mut running = Running::start(&["--disable-admission-plugins=ServiceAccount"], &["protector"]).await;
    running.grant("protector", &["get", "list", "watch"], "pods").await;
    running.grant("protector", &["patch"], "secrets").await;
    let (admin, controller) = (running.place.client(Protocol::Http2), running.user("protector"));
    let mut pods = controller.watch("/api/v1/namespaces/n/pods?watch=true").await.unwrap();
    create(&admin, SECRETS, json!({"metadata": {"name": "used"}})).await;
    let volume = json!({"name": "v", "secret": {"secretName": "used"}});
    let spec = json!({"containers": [{"name": "c", "image": "i"}], "volumes": [volume]});
    create(&admin, "/api/v1/namespaces/n/pods", json!({"metadata": {"name": "p"}, "spec": spec})).await;
    let secret = format!("{SECRETS}/used");
    for (event, liens) in [("ADDED", json!(["example.com/secret-protection"])), ("DELETED", json!([]))] {
        let seen = pods.next().await.unwrap().unwrap();
        assert_eq!(seen["type"], event);
        let name = seen["object"]["spec"]["volumes"][0]["secret"]["secretName"].as_str().unwrap();
        set_liens(&controller, &format!("{SECRETS}/{name}"), liens).await.expect(200);
        if event == "ADDED" {
            check_held(&admin, &secret, "example.com/secret-protection").await;
            admin.delete("/api/v1/namespaces/n/pods/p").await.unwrap().expect(200);
        }
    }
    admin.delete(&secret).await.unwrap().expect(200);
    running.stop().await;
}

/// The second story: a tool that likes to delete and make again does not get to.
#[tokio::test(flavor = "multi_thread")]
async fn a_user_keeps_what_is_important_from_a_tool_that_replaces() {
    let mut running = Running::start(&[], &["terraform"]).await;
    running.grant("terraform", &["get", "create", "update", "delete", "deletecollection"], "secrets").await;
    let before = create_held(&running.admin, SECRETS, "important").await;
    let tool = running.user("terraform");
    let path = format!("{SECRETS}/important");
    check_held(&tool, &path, "example.com/held").await;
    for options in
        [json!({"gracePeriodSeconds": 0}), json!({"propagationPolicy": "Orphan"}), json!({"dryRun": ["All"]})]
    {
        tool.delete_with(&path, &options).await.unwrap().expect(409);
    }
    // Neither does the option help that is only for some.
    let status = tool.delete_with(&path, &json!({"ignoreLiens": true})).await.unwrap().expect(403);
    assert!(status["message"].as_str().unwrap().contains("cannot ignore-liens resource \"secrets\""), "{status}");
    tool.post(SECRETS, &json!({"metadata": {"name": "important"}})).await.unwrap().expect(409);
    assert_eq!(tool.get(&path).await.unwrap().expect(200), before);
    running.stop().await;
}

/// "A cluster admin would be racing": somebody else puts the lien back, and still the one who may deletes.
#[tokio::test(flavor = "multi_thread")]
async fn who_may_ignore_liens_wins_the_race_against_who_sets_them() {
    let mut running = Running::start(&[], &["editor", "ops"]).await;
    running.grant("editor", &["patch"], "secrets").await;
    running.grant("ops", &["delete", "ignore-liens"], "secrets").await;
    create_held(&running.admin, SECRETS, "x").await;
    set_liens(&running.user("editor"), &format!("{SECRETS}/x"), json!(["example.com/mine"])).await.expect(200);
    let ops = running.user("ops");
    check_held(&running.admin, &format!("{SECRETS}/x"), "example.com/mine").await;
    ops.delete_with(&format!("{SECRETS}/x"), &json!({"ignoreLiens": true})).await.unwrap().expect(200);
    running.admin.get(&format!("{SECRETS}/x")).await.unwrap().expect(404);
    running.stop().await;
}

/// A deployment, its replica set and its pod, with liens on one of them.
async fn workload(admin: &Client, held: &str, blocks: bool) {
    let liens = |name: &str| if name == held { json!(["example.com/held"]) } else { json!([]) };
    let labels = json!({"app": "a"});
    let template = json!({"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    let spec = json!({"selector": {"matchLabels": labels}, "template": template});
    let metadata = json!({"name": "d", "liens": liens("d")});
    let apps = "/apis/apps/v1/namespaces/n";
    let deployment = create(admin, &format!("{apps}/deployments"), json!({"metadata": metadata, "spec": spec})).await;
    let references = owner(&deployment, "apps/v1", "Deployment", blocks);
    let metadata = json!({"name": "r", "liens": liens("r"), "ownerReferences": references});
    let set = create(admin, &format!("{apps}/replicasets"), json!({"metadata": metadata, "spec": spec})).await;
    let references = owner(&set, "apps/v1", "ReplicaSet", blocks);
    let metadata = json!({"name": "p", "ownerReferences": references});
    let pod = json!({"metadata": metadata, "spec": template["spec"]});
    create(admin, "/api/v1/namespaces/n/pods", pod).await;
}

const DEPLOYMENT: &str = "/apis/apps/v1/namespaces/n/deployments/d";
const REPLICA_SET: &str = "/apis/apps/v1/namespaces/n/replicasets/r";
const POD: &str = "/api/v1/namespaces/n/pods/p";

async fn start_workload(held: &str, blocks: bool) -> Running {
    let running = Running::start(&["--disable-admission-plugins=ServiceAccount"], &[]).await;
    workload(&running.admin, held, blocks).await;
    running
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lien_on_an_owner_blocks_only_the_owner() {
    let running = start_workload("d", true).await;
    check_held(&running.admin, DEPLOYMENT, "example.com/held").await;
    running.admin.delete(POD).await.unwrap().expect(200);
    running.admin.delete(REPLICA_SET).await.unwrap().expect(200);
    running.admin.get(DEPLOYMENT).await.unwrap().expect(200);
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lien_on_a_dependent_blocks_only_the_dependent() {
    for (policy, blocks) in [("Background", true), ("Foreground", false)] {
        let mut running = start_workload("r", blocks).await;
        check_held(&running.admin, REPLICA_SET, "example.com/held").await;
        let options = json!({"propagationPolicy": policy});
        running.admin.delete_with(DEPLOYMENT, &options).await.unwrap().expect(200);
        running.until_gone(DEPLOYMENT).await;
        running.admin.delete(POD).await.unwrap().expect(200);
        let held = running.admin.get(REPLICA_SET).await.unwrap().expect(200);
        assert_eq!(held["metadata"]["deletionTimestamp"], Value::Null, "{policy}");
        running.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lien_on_a_namespace_blocks_only_the_namespace() {
    let running = Running::start(&[], &[]).await;
    create(&running.admin, SECRETS, json!({"metadata": {"name": "x"}})).await;
    set_liens(&running.admin, "/api/v1/namespaces/n", json!(["example.com/held"])).await.expect(200);
    check_held(&running.admin, "/api/v1/namespaces/n", "example.com/held").await;
    running.admin.delete(&format!("{SECRETS}/x")).await.unwrap().expect(200);
    running.stop().await;
}
