//! A namespace goes away with all that is in it, in an order: pods before what they use, what no lien holds before the rest.

use std::collections::HashMap;

use pawl_testing::{Client, Running};
use serde_json::{Value, json};

const N: &str = "/api/v1/namespaces/n";

/// The revisions at which the deletion of an object began and ended.
#[derive(Debug, Default, Clone, Copy)]
struct Deletion {
    began: u64,
    ended: u64,
}

/// What the history after a revision says of the deletions of these objects.
async fn deletions(client: &Client, resource: &str, names: &[&str], after: &str) -> HashMap<String, Deletion> {
    let path = format!("{N}/{resource}?watch=true&resourceVersion={after}");
    let mut watch = client.watch(&path).await.unwrap();
    let mut found: HashMap<String, Deletion> = HashMap::new();
    while names.iter().any(|name| found.get(*name).is_none_or(|deletion| deletion.ended == 0)) {
        let event = watch.next().await.unwrap().expect("the history ends before the deletions do");
        let metadata = &event["object"]["metadata"];
        let revision: u64 = metadata["resourceVersion"].as_str().unwrap().parse().unwrap();
        let deletion = found.entry(metadata["name"].as_str().unwrap().to_owned()).or_default();
        let ended = event["type"] == "DELETED";
        if (ended || !metadata["deletionTimestamp"].is_null()) && deletion.began == 0 {
            deletion.began = revision;
        }
        if ended {
            deletion.ended = revision;
        }
    }
    found
}

/// Two pods, one of which holds on; a claim that it uses; something free and something that a lien holds.
async fn fill(admin: &Client) {
    let container = json!({"name": "c", "image": "i"});
    let volume = json!({"name": "v", "persistentVolumeClaim": {"claimName": "claim"}});
    let claim = json!({"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}});
    let spec = json!({"containers": [container], "volumes": [volume]});
    for (resource, object) in [
        ("persistentvolumeclaims", json!({"metadata": {"name": "claim"}, "spec": claim})),
        ("pods", json!({"metadata": {"name": "goes"}, "spec": {"containers": [container]}})),
        ("pods", json!({"metadata": {"name": "holds-on", "finalizers": ["example.com/wait"]}, "spec": spec})),
        ("configmaps", json!({"metadata": {"name": "free"}})),
        ("secrets", json!({"metadata": {"name": "held", "liens": ["example.com/held"]}})),
    ] {
        admin.post(&format!("{N}/{resource}"), &object).await.unwrap().expect(201);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_nothing_holds_goes_first() {
    let mut running = Running::start(&["--disable-admission-plugins=ServiceAccount"], &[]).await;
    let admin = running.place.client(pawl_testing::Protocol::Http2);
    fill(&admin).await;
    let list = admin.get(&format!("{N}/secrets")).await.unwrap().expect(200);
    let before = list["metadata"]["resourceVersion"].as_str().unwrap().to_owned();
    admin.delete(N).await.unwrap().expect(200);

    // One pod stays, and so does everything that a pod may use; the conditions name what is waited for.
    let waits = async || {
        let namespace = admin.get(N).await?.expect(200);
        let conditions = namespace["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let told = conditions.iter().any(|c| {
            c["type"] == "NamespaceFinalizersRemaining"
                && c["message"].as_str().is_some_and(|text| text.contains("example.com/wait in 1 resource instances"))
        });
        if told { Ok(()) } else { Err(format!("{conditions:?}").into()) }
    };
    running.until(waits).await;
    for path in ["persistentvolumeclaims/claim", "configmaps/free", "secrets/held"] {
        let object = admin.get(&format!("{N}/{path}")).await.unwrap().expect(200);
        assert_eq!(object["metadata"]["deletionTimestamp"], Value::Null, "{path}");
    }
    let late =
        admin.post(&format!("{N}/configmaps"), &json!({"metadata": {"name": "late"}})).await.unwrap().expect(403);
    assert_eq!(late["details"]["causes"][0]["reason"], "NamespaceTerminating");

    admin.merge(&format!("{N}/pods/holds-on"), &json!({"metadata": {"finalizers": null}})).await.unwrap().expect(200);
    running.until_gone(N).await;
    let pods = deletions(&admin, "pods", &["goes", "holds-on"], &before).await;
    let free = deletions(&admin, "configmaps", &["free"], &before).await["free"];
    let claim = deletions(&admin, "persistentvolumeclaims", &["claim"], &before).await["claim"];
    let held = deletions(&admin, "secrets", &["held"], &before).await["held"];
    let pods_ended = pods["goes"].ended.max(pods["holds-on"].ended);
    assert!(pods_ended < free.began && pods_ended < claim.began, "{pods:?} {free:?} {claim:?}");
    assert!(free.ended < held.began && claim.ended < held.began, "{free:?} {claim:?} {held:?}");
    running.stop().await;
}
