//! What the first release stored is served by this one: nothing is lost, nothing comes back, watches resume.

use std::fs;
use std::path::Path;

use pawl_testing::{Place, Running};
use serde_json::Value;

/// The directory is described in `kv-embedded/tests/versions.rs`.
fn first_release() -> Place {
    let place = Place::new();
    let store = place.data().join("store");
    fs::create_dir_all(&store).unwrap();
    let written = Path::new(&std::env::var("CARGO_MANIFEST_DIR").unwrap()).join("../kv-embedded/tests/first-release");
    for file in fs::read_dir(written).unwrap() {
        let path = file.unwrap().path();
        fs::copy(&path, store.join(path.file_name().unwrap())).unwrap();
    }
    place
}

fn names(list: &Value) -> Vec<&str> {
    list["items"].as_array().unwrap().iter().map(|item| item["metadata"]["name"].as_str().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_is_served() {
    let running = Running::start_in(first_release(), &[]).await;
    let list = async |path: &str| running.admin.get(path).await.unwrap().expect(200);
    let config_maps = list("/api/v1/namespaces/first/configmaps").await;
    // Controllers may have added theirs by now.
    let kept: Vec<&str> = names(&config_maps).into_iter().filter(|name| name.starts_with("cm-")).collect();
    assert_eq!(kept, ["cm-1", "cm-3", "cm-4"]);
    assert_eq!(config_maps["items"][0]["data"]["n"], "uno");
    assert_eq!(names(&list("/api/v1/namespaces/first/events").await), ["web.1"]);
    assert_eq!(names(&list("/apis/apps/v1/namespaces/first/deployments").await), ["web"]);
    let secret = list("/api/v1/namespaces/first/secrets/password").await;
    assert_eq!(secret["metadata"]["liens"][0], "example.com/payments");
    running.admin.delete("/api/v1/namespaces/first/secrets/password").await.unwrap().expect(409);
    let watch = "/api/v1/namespaces/first/configmaps?watch=1&resourceVersion=185";
    let mut watch = running.admin.watch(watch).await.unwrap();
    for (kind, name) in [("MODIFIED", "cm-1"), ("MODIFIED", "cm-3"), ("DELETED", "cm-4"), ("ADDED", "cm-4")] {
        let event = watch.next().await.unwrap().unwrap();
        assert_eq!((&event["type"], &event["object"]["metadata"]["name"]), (&kind.into(), &name.into()));
    }
    running.stop().await;
}
