//! What is measured is what happened.

use http::Request;
use pawl_testing::Running;
use serde_json::{Value, json};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

struct Metrics(String);

impl Metrics {
    async fn of(running: &Running) -> Self {
        Self(String::from_utf8(running.admin.get("/metrics").await.unwrap().body.to_vec()).unwrap())
    }

    /// The sum of the samples of a metric that have all these labels.
    fn sum(&self, name: &str, labels: &[&str]) -> f64 {
        let samples =
            self.0.lines().filter(|line| line.starts_with(name) && line[name.len()..].starts_with(['{', ' ']));
        let wanted = samples.filter(|line| labels.iter().all(|label| line.contains(label)));
        wanted.map(|line| line.rsplit(' ').next().unwrap().parse::<f64>().unwrap()).sum()
    }
}

async fn apply(running: &Running, name: &str, query: &str) {
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"a": "b"}});
    let path = format!("{MAPS}/{name}?fieldManager=me{query}");
    let head = Request::patch(path).header("Content-Type", "application/apply-patch+yaml");
    running.admin.send(head, object.to_string().into()).await.unwrap().expect(201);
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_count_under_what_they_are() {
    let running = Running::start(&[], &[]).await;
    let before = Metrics::of(&running).await;
    apply(&running, "a", "").await;
    apply(&running, "b", "&dryRun=All").await;
    let object = json!({"metadata": {"name": "c"}, "data": {"x": "y".repeat(60_000)}});
    running.admin.post(MAPS, &object).await.unwrap().expect(201);
    let answer = running.admin.get(MAPS).await.unwrap();
    let after = Metrics::of(&running).await;
    let more = |name: &str, labels: &[&str]| after.sum(name, labels) - before.sum(name, labels);
    let maps = r#"resource="configmaps""#;
    let total = "apiserver_request_total";
    assert_eq!(more(total, &[maps, r#"verb="APPLY""#, r#"dry_run="""#, r#"code="201""#]), 1.0);
    assert_eq!(more(total, &[maps, r#"verb="APPLY""#, r#"dry_run="All""#]), 1.0);
    assert_eq!(more("apiserver_request_duration_seconds_count", &[maps, r#"verb="APPLY""#]), 2.0);
    let indicator = "apiserver_request_sli_duration_seconds_count";
    assert_eq!(more(indicator, &[maps, r#"verb="APPLY""#]), 1.0, "dry runs do not count");
    assert_eq!(more("apiserver_response_sizes_sum", &[maps, r#"verb="LIST""#]), answer.body.len() as f64);
    assert_eq!(more("apiserver_request_body_size_bytes_bucket", &[maps, r#"verb="create""#, r#"le="50000""#]), 0.0);
    assert_eq!(more("apiserver_request_body_size_bytes_count", &[maps, r#"verb="create""#]), 1.0);
    for filter in ["authentication", "authorization", "audit", "impersonation"] {
        let label = format!("filter=\"{filter}\"");
        assert!(more("apiserver_request_filter_duration_seconds_count", &[&label]) >= 4.0, "{filter}");
    }
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn caches_and_watches_tell_what_they_did() {
    // Nobody else writes.
    let running = Running::start(&["--controllers=-*"], &[]).await;
    let before = Metrics::of(&running).await;
    assert!(before.sum("apiserver_selfrequest_total", &[r#"verb="POST""#, r#"resource="namespaces""#]) >= 1.0);
    let mut watch = running
        .admin
        .watch(&format!(
            "{MAPS}?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
        ))
        .await
        .unwrap();
    let ends = |event: &Value| event["type"] == "BOOKMARK";
    while !ends(&watch.next().await.unwrap().unwrap()) {}
    running.admin.post(MAPS, &json!({"metadata": {"name": "a"}})).await.unwrap().expect(201);
    watch.next().await.unwrap().unwrap();
    running.admin.merge(&format!("{MAPS}/a"), &json!({"data": {"a": "b"}})).await.unwrap().expect(200);
    running.admin.get(&format!("{MAPS}/a")).await.unwrap().expect(200);
    let after = Metrics::of(&running).await;
    let more = |name: &str, labels: &[&str]| after.sum(name, labels) - before.sum(name, labels);
    let maps = r#"resource="configmaps""#;
    let cache = |what: &str| format!("apiserver_watch_cache_{what}");
    assert_eq!(more(&cache("events_received_total"), &[maps]), 2.0);
    assert_eq!(more(&cache("events_dispatched_total"), &[maps]), 2.0);
    assert_eq!(after.sum(&cache("initializations_total"), &[maps]), 1.0);
    assert!(more(&cache("consistent_read_total"), &[maps, r#"success="true""#, r#"fallback="false""#]) >= 1.0);
    assert_eq!(more(&cache("consistent_read_total"), &[maps]), more(&cache("read_wait_seconds_count"), &[maps]));
    assert!(more(&cache("resource_version"), &[maps]) >= 2.0);
    assert_eq!(more("apiserver_watch_list_duration_seconds_count", &[maps]), 1.0);
    assert!(more("apiserver_watch_events_sizes_sum", &[maps]) > 100.0);
    assert_eq!(after.sum("apiserver_longrunning_requests", &[maps, r#"verb="WATCH""#]), 1.0);
    assert!(more("apiserver_request_timestamp_comparison_time_count", &[]) >= 1.0);
    running.stop().await;
}
