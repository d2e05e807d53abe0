//! Servers that share a real etcd: what one writes the others show at once, and faults of the etcd pass, or end them in words.

use std::collections::HashSet;
use std::process::Command;

use pawl_kv::{Change, Expect, Kv, Outcome, Write};
use pawl_kv_etcd::testing::Etcd;
use pawl_testing::{Client, Place, Protocol, Server, Signal, pawl};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const SERVICES: &str = "/api/v1/namespaces/default/services";

/// One of several servers, with a directory and a port of its own.
struct Member {
    place: Place,
    server: Server,
    admin: Client,
}

pub fn command(place: &Place, etcd: &str) -> Command {
    let mut command = pawl();
    command
        .arg("serve")
        .arg(format!("--etcd-servers={etcd}"))
        .arg("--service-node-port-range=30000-30039")
        .arg(format!("--token-auth-file={}", place.path("tokens.csv").display()))
        .arg(format!("--secure-port={}", place.port))
        .current_dir(place.path(""));
    command
}

async fn join(etcd: &Etcd) -> Member {
    join_with(etcd, &[]).await
}

async fn join_with(etcd: &Etcd, flags: &[&str]) -> Member {
    let mut place = Place::new();
    std::os::unix::fs::symlink("pawl-data", place.data()).unwrap();
    let url = etcd.url();
    let start = |place: &Place| {
        let mut command = command(place, &url);
        command.args(flags);
        command
    };
    let server = place.start_with(start).await;
    let admin = place.client(Protocol::Http2);
    Member { place, server, admin }
}

fn map(name: &str, value: usize) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"value": value.to_string()}})
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs an etcd: .ci/run etcd"]
async fn what_one_server_writes_the_others_show_at_once() {
    let etcd = Etcd::start().expect("an etcd on the path");
    // All at once, on nothing.
    let (one, two, three) = futures::join!(join(&etcd), join(&etcd), join(&etcd));
    for member in [&one, &two, &three] {
        let list = member.admin.get("/apis/rbac.authorization.k8s.io/v1/clusterroles").await.unwrap().expect(200);
        assert!(list["items"].as_array().unwrap().len() > 60);
        assert!(!member.server.log().contains("was not made"), "{}", member.server.log());
    }
    let version = two.admin.get(MAPS).await.unwrap().expect(200)["metadata"]["resourceVersion"].clone();
    let mut watch =
        two.admin.watch(&format!("{MAPS}?watch=1&resourceVersion={}", version.as_str().unwrap())).await.unwrap();
    for round in 0..30 {
        let name = format!("m{round}");
        one.admin.post(MAPS, &map(&name, 0)).await.unwrap().expect(201);
        let mut seen = two.admin.get(&format!("{MAPS}/{name}")).await.unwrap().expect(200);
        // What the second has read it may replace, through the third.
        seen["data"]["value"] = json!("1");
        three.admin.put(&format!("{MAPS}/{name}"), &seen).await.unwrap().expect(200);
        let now = one.admin.get(&format!("{MAPS}/{name}")).await.unwrap().expect(200);
        assert_eq!(now["data"]["value"], "1");
        one.admin.put(&format!("{MAPS}/{name}"), &seen).await.unwrap().expect(409);
        // A namespace is there for everybody as soon as it is made.
        let namespace = format!("n{round}");
        two.admin.post("/api/v1/namespaces", &json!({"metadata": {"name": namespace}})).await.unwrap().expect(201);
        three
            .admin
            .post(&format!("/api/v1/namespaces/{namespace}/configmaps"), &map("a", 0))
            .await
            .unwrap()
            .expect(201);
    }
    let mut told = Vec::new();
    while told.len() < 60 {
        let event = watch.next().await.unwrap().unwrap();
        let name = event["object"]["metadata"]["name"].as_str().unwrap().to_owned();
        if name.starts_with('m') {
            told.push((name, event["type"].as_str().unwrap().to_owned()));
        }
    }
    let expected =
        (0..30).flat_map(|n| [(format!("m{n}"), "ADDED".to_owned()), (format!("m{n}"), "MODIFIED".to_owned())]);
    assert!(told.iter().cloned().eq(expected), "{told:?}");
    // One that ends takes nobody along.
    one.server.kill();
    two.admin.post(MAPS, &map("after", 0)).await.unwrap().expect(201);
    three.admin.get(&format!("{MAPS}/after")).await.unwrap().expect(200);
    for member in [two, three] {
        member.server.assert_no_panic();
        member.server.stop().await;
    }
}

/// Whatever is created while its namespace goes comes before the end of that, or not at all. Nobody tells the server of the end: the
/// key is taken from under it.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs an etcd: .ci/run etcd"]
async fn nothing_is_created_in_a_namespace_that_is_gone() {
    let etcd = Etcd::start().expect("an etcd on the path");
    let store = etcd.store().await.unwrap();
    let member = join(&etcd).await;
    let (mut before, mut after) = (0, 0);
    for round in 0..60 {
        let (namespace, path) = (format!("n{round}"), format!("/api/v1/namespaces/n{round}/configmaps"));
        let made = json!({"metadata": {"name": namespace}});
        let made = member.admin.post("/api/v1/namespaces", &made).await.unwrap().expect(201);
        let version: u64 = made["metadata"]["resourceVersion"].as_str().unwrap().parse().unwrap();
        let key = format!("/registry/namespaces/{namespace}");
        let held = store.get(key.clone().into()).await.unwrap().unwrap();
        assert_eq!(held.mod_revision, version);
        // A change of the namespace is no reason to refuse anything.
        let same = Change::Put { value: held.value, ttl: None };
        let changed = store.write(Write::new(key.clone(), Expect::Revision(version), same)).await.unwrap();
        let Outcome::Applied { revision: changed } = changed else { panic!("{changed:?}") };
        member.admin.post(&path, &map("first", 0)).await.unwrap().expect(201);
        // The end comes at once, or when some have been answered.
        let answered = Semaphore::new(0);
        let end = async {
            drop(answered.acquire_many(round % 4).await);
            store.write(Write::new(key, Expect::Revision(changed), Change::Delete)).await
        };
        let creates = (0..8).map(async |number| {
            let answer = member.admin.post(&path, &map(&format!("m{number}"), 0)).await;
            answered.add_permits(1);
            answer
        });
        let creates = futures::future::join_all(creates);
        let (end, answers) = futures::join!(end, creates);
        let Ok(Outcome::Applied { revision: end }) = end else { panic!("{end:?}") };
        for answer in answers {
            let answer = answer.unwrap();
            match answer.code {
                201 => {
                    let version: u64 = answer.json()["metadata"]["resourceVersion"].as_str().unwrap().parse().unwrap();
                    assert!(version < end, "created at {version} in a namespace that ended at {end}");
                    before += 1;
                }
                404 => after += 1,
                code => panic!("{code}: {}", answer.json()),
            }
        }
    }
    assert!(before > 0 && after > 0, "{before} created before the end, {after} refused after it");
    member.server.assert_no_panic();
}

/// Forty ports, given out by two servers at once to forty services: each gets one, and the next none.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs an etcd: .ci/run etcd"]
async fn ports_and_addresses_are_given_out_once() {
    let etcd = Etcd::start().expect("an etcd on the path");
    let (one, two) = futures::join!(join(&etcd), join(&etcd));
    let service =
        |name: String| json!({"metadata": {"name": name}, "spec": {"type": "NodePort", "ports": [{"port": 80}]}});
    let make = async |admin: &Client, of: &str| {
        let mut made = Vec::new();
        for number in 0..20 {
            let answer = admin.post(SERVICES, &service(format!("s-{of}-{number}"))).await.unwrap().expect(201);
            made.push((answer["spec"]["ports"][0]["nodePort"].clone(), answer["spec"]["clusterIP"].clone()));
        }
        made
    };
    let (first, second) = futures::join!(make(&one.admin, "one"), make(&two.admin, "two"));
    let ports: HashSet<String> = first.iter().chain(&second).map(|(port, _)| port.to_string()).collect();
    let addresses: HashSet<String> = first.iter().chain(&second).map(|(_, address)| address.to_string()).collect();
    assert_eq!((ports.len(), addresses.len()), (40, 40), "{first:?} {second:?}");
    for member in [&one, &two] {
        assert!(member.admin.post(SERVICES, &service("one-more".to_owned())).await.unwrap().code >= 400);
    }
}

/// Who was told by one server that a definition is established may use it on every other.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs an etcd: .ci/run etcd"]
async fn an_established_definition_is_served_by_all() {
    let etcd = Etcd::start().expect("an etcd on the path");
    let (mut one, two) = futures::join!(join(&etcd), join(&etcd));
    for round in 0..10 {
        let (plural, group) = (format!("things{round}"), "example.com");
        let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        let version = json!({"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}});
        let definition = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("{plural}.{group}")},
            "spec": {"group": group, "scope": "Namespaced", "versions": [version],
                "names": {"plural": plural, "kind": format!("Thing{round}")}},
        });
        let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
        one.admin.post(definitions, &definition).await.unwrap().expect(201);
        let (admin, path) = (one.place.client(Protocol::Http2), format!("{definitions}/{plural}.{group}"));
        let established = async || match admin.get(&path).await?.json().to_string().contains("InitialNamesAccepted") {
            true => Ok(()),
            false => Err("not established".into()),
        };
        one.server.until(established).await.unwrap();
        let thing = json!({"apiVersion": "example.com/v1", "kind": format!("Thing{round}"), "metadata": {"name": "a"}});
        two.admin.post(&format!("/apis/{group}/v1/namespaces/default/{plural}"), &thing).await.unwrap().expect(201);
    }
    // What nobody defined is not waited for.
    assert_eq!(two.admin.get("/apis/example.com/v1/nothings").await.unwrap().code, 404);
}

/// Exactly one server runs the controllers; when it stops, another one does at once.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs an etcd: .ci/run etcd"]
async fn one_server_leads_and_hands_over() {
    let etcd = Etcd::start().expect("an etcd on the path");
    let (one, mut two) = futures::join!(join(&etcd), join(&etcd));
    let lease = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/pawl-controllers";
    let holder = async |admin: &Client| {
        let answer = admin.get(lease).await.unwrap();
        answer.json()["spec"]["holderIdentity"].as_str().unwrap_or_default().to_owned()
    };
    let of_two = format!(":{}_", two.place.port);
    let led_by_two = async || match holder(&two.admin).await.contains(&of_two) {
        true => Ok(()),
        false => Err("the second server does not lead".into()),
    };
    one.server.stop().await;
    two.server.until(led_by_two).await.unwrap();
    // And its controllers work: what a namespace needs is made, and it goes.
    two.admin.post("/api/v1/namespaces", &json!({"metadata": {"name": "x"}})).await.unwrap().expect(201);
    let account = "/api/v1/namespaces/x/serviceaccounts/default";
    two.server.until(async || two.admin.get(account).await?.ok()).await.unwrap();
    two.admin.delete("/api/v1/namespaces/x").await.unwrap();
    let gone = async || match two.admin.get("/api/v1/namespaces/x").await?.code {
        404 => Ok(()),
        code => Err(format!("{code}").into()),
    };
    two.server.until(gone).await.unwrap();
    two.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs an etcd: .ci/run etcd"]
async fn an_etcd_that_goes_away_and_comes_back() {
    let mut etcd = Etcd::start().expect("an etcd on the path");
    let mut member = join(&etcd).await;
    member.admin.post(MAPS, &map("before", 0)).await.unwrap().expect(201);
    etcd.kill().unwrap();
    // Nothing wrong is said: what must be new is refused, what may be old is answered.
    let refused = member.admin.get(&format!("{MAPS}/before")).await.unwrap();
    assert!(matches!(refused.code, 503 | 504), "{refused:?}");
    let refused = member.admin.post(MAPS, &map("lost", 0)).await.unwrap();
    assert!(matches!(refused.code, 503 | 504), "{refused:?}");
    member.admin.get(&format!("{MAPS}/before?resourceVersion=0")).await.unwrap().expect(200);
    let admin = member.place.client(Protocol::Http2);
    let unready = async || match admin.get("/readyz").await?.code {
        500 => Ok(()),
        code => Err(format!("/readyz says {code}").into()),
    };
    member.server.until(unready).await.unwrap();
    etcd.resume().unwrap();
    member.server.until(async || admin.get("/readyz").await?.ok()).await.unwrap();
    member.admin.get(&format!("{MAPS}/before")).await.unwrap().expect(200);
    member.admin.get(&format!("{MAPS}/lost")).await.unwrap().expect(404);
    member.admin.post(MAPS, &map("after", 0)).await.unwrap().expect(201);
    let measured = member.admin.get("/metrics").await.unwrap();
    let measured = String::from_utf8_lossy(&measured.body).into_owned();
    let created = r#"etcd_requests_total{group="",operation="create",resource="configmaps"}"#;
    assert!(measured.contains(created), "no {created}");
    member.server.assert_no_panic();
    // Without its etcd a server ends as well.
    etcd.kill().unwrap();
    member.server.stop().await;
}

/// What watches hear is counted under upstream's names: changes by resource, and how far the store is without one.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs an etcd: .ci/run etcd"]
async fn what_etcd_tells_is_counted() {
    let etcd = Etcd::start().expect("an etcd on the path");
    let mut member = join(&etcd).await;
    member.admin.post(MAPS, &map("a", 0)).await.unwrap().expect(201);
    let store = etcd.store().await.unwrap();
    let elsewhere = Change::Put { value: "x".into(), ttl: None };
    let mut expected = vec![r#"apiserver_storage_events_received_total{group="",resource="configmaps"} "#];
    // Older members are not asked how far they are.
    if !etcd.version().await.unwrap().starts_with("3.4.2") {
        expected.extend([
            r#"etcd_bookmark_total{group="",resource=""} "#,
            r#"etcd_bookmark_counts{group="",resource=""} "#,
        ]);
    }
    let admin = member.place.client(Protocol::Http2);
    for series in expected {
        let counted = async || {
            // A read as new as a write elsewhere: the watch must have come so far, and is asked unless another event
            // brings it there first.
            let key = format!("/elsewhere/{}", store.revision().await?);
            store.write(Write::new(key, Expect::Absent, elsewhere.clone())).await?;
            admin.get(&format!("{MAPS}/a")).await?.ok()?;
            let measured = admin.get("/metrics").await?;
            let measured = String::from_utf8_lossy(&measured.body).into_owned();
            let line = measured.lines().find_map(|line| line.strip_prefix(series));
            if line.is_some_and(|count| count != "0") { Ok(()) } else { Err(format!("no {series}").into()) }
        };
        member.server.until(counted).await.unwrap();
    }
    member.server.stop().await;
}

/// While a server does not listen, much is written and forgotten: it reads everything anew.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs an etcd: .ci/run etcd"]
async fn history_that_was_compacted_meanwhile() {
    let mut etcd = Etcd::start().expect("an etcd on the path");
    let mut member = join(&etcd).await;
    member.admin.post(MAPS, &map("goes", 0)).await.unwrap().expect(201);
    member.server.signal(Signal::STOP);
    // The conversation ends where it was.
    etcd.resume().unwrap();
    let store = etcd.store().await.unwrap();
    let goes = "/registry/configmaps/default/goes";
    let held = store.get(goes.into()).await.unwrap().unwrap();
    store.write(Write::new(goes, Expect::Revision(held.mod_revision), Change::Delete)).await.unwrap();
    let value = String::from_utf8(held.value.to_vec()).unwrap().replace("goes", "comes");
    let put = Change::Put { value: value.into(), ttl: None };
    store.write(Write::new("/registry/configmaps/default/comes", Expect::Absent, put)).await.unwrap();
    store.compact(store.revision().await.unwrap()).await.unwrap();
    member.server.signal(Signal::CONT);
    let admin = member.place.client(Protocol::Http2);
    member.server.until(async || admin.get(&format!("{MAPS}/comes")).await?.ok()).await.unwrap();
    member.admin.get(&format!("{MAPS}/goes")).await.unwrap().expect(404);
    member.server.assert_no_panic();
    member.server.stop().await;
}

/// An etcd that was put back to an older state: the server says so and ends, and a new one serves what is there.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs an etcd: .ci/run etcd"]
async fn revisions_that_go_back_end_a_server() {
    let mut etcd = Etcd::start().expect("an etcd on the path");
    let mut member = join(&etcd).await;
    etcd.kill().unwrap();
    let backup = member.place.path("backup");
    let copied = Command::new("cp").arg("-r").arg(etcd.data()).arg(&backup).status().unwrap();
    assert!(copied.success());
    etcd.resume().unwrap();
    let admin = member.place.client(Protocol::Http2);
    member.server.until(async || admin.get("/readyz").await?.ok()).await.unwrap();
    for number in 0..50 {
        member.admin.post(MAPS, &map(&format!("lost-{number}"), 0)).await.unwrap().expect(201);
    }
    etcd.kill().unwrap();
    std::fs::remove_dir_all(etcd.data()).unwrap();
    std::fs::rename(&backup, etcd.data()).unwrap();
    etcd.resume().unwrap();
    let status = member.server.ended().await;
    assert_eq!(status.code(), Some(1));
    assert!(member.server.log().contains("history went back"), "{}", member.server.log());
    let next = join(&etcd).await;
    next.admin.get(&format!("{MAPS}/lost-0")).await.unwrap().expect(404);
    next.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs an etcd: .ci/run etcd"]
async fn history_reaches_back_to_the_compaction() {
    let etcd = Etcd::start().expect("an etcd on the path");
    let one = join(&etcd).await;
    let path = format!("{MAPS}/h");
    one.admin.post(MAPS, &map("h", 0)).await.unwrap().expect(201);
    for value in ["1", "2"] {
        one.admin.merge(&path, &json!({"data": {"value": value}})).await.unwrap().expect(200);
    }
    let told = async || one.admin.get(&format!("{path}/history")).await.unwrap().expect(200);
    let verbs = |told: &Value| -> Vec<String> {
        told["items"].as_array().unwrap().iter().map(|item| item["verb"].as_str().unwrap().to_owned()).collect()
    };
    let whole = told().await;
    assert_eq!(verbs(&whole), ["create", "update", "update"]);
    let second = whole["items"][1]["resourceVersion"].as_str().unwrap();
    let store = etcd.store().await.unwrap();
    store.compact(second.parse().unwrap()).await.unwrap();
    let rest = told().await;
    assert_eq!(verbs(&rest), ["known", "update"], "{rest}");
    assert_eq!((&rest["items"][0]["object"]["data"]["value"], &rest["from"]), (&json!("1"), &json!(second)));
    store.compact(store.revision().await.unwrap()).await.unwrap();
    let last = told().await;
    assert_eq!(verbs(&last), ["known"], "what is there is known, whatever was forgotten");
    assert_eq!(last["items"][0]["object"]["data"]["value"], "2");
    one.server.stop().await;
}

/// Everything of a server goes from a directory into an etcd and back: the values are the same, and so is every object but for
/// what etcd counts anew. A snapshot of a server on etcd restores into a directory, and into another etcd.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs an etcd: .ci/run etcd"]
async fn everything_moves_into_an_etcd_and_back() {
    let running = pawl_testing::Running::start(&["--controllers=-*"], &[]).await;
    for number in 0..40 {
        running.admin.post(MAPS, &map(&format!("c-{number}"), number)).await.unwrap().expect(201);
    }
    let held =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "held", "liens": ["example.com/x"]}});
    running.admin.post(MAPS, &held).await.unwrap().expect(201);
    let before = running.admin.get(MAPS).await.unwrap().expect(200);
    let pawl_testing::Running { place, server, .. } = running;
    server.stop().await;
    let etcd = Etcd::start().expect("an etcd on the path");
    let there = etcd.url().replace("http://", "etcd://");
    let data = place.data().to_str().unwrap().to_owned();
    let told = moved(&["migrate", "--from", &data, "--to", &there], 0).await;
    assert!(told.contains("1 objects are held by liens"), "{told}");
    let again = moved(&["migrate", "--from", &data, "--to", &there], 1).await;
    assert!(again.contains("the target is not empty"), "{again}");
    let member = join_with(&etcd, &["--controllers=-*"]).await;
    assert_eq!(without_versions(&member.admin.get(MAPS).await.unwrap().expect(200)), without_versions(&before));
    let running = place.path("running").to_str().unwrap().to_owned();
    let used = moved(&["migrate", "--from", &there, "--to", &running], 1).await;
    assert!(used.contains("a server uses the source"), "{used}");
    // A server on etcd is saved like any other.
    let file = member.place.path("file").to_str().unwrap().to_owned();
    let saved = moved(&["snapshot", "save", &file, "--data-dir", member.place.data().to_str().unwrap()], 0).await;
    assert!(saved.contains("from the server"), "{saved}");
    let on_etcd = member.admin.get(MAPS).await.unwrap().expect(200);
    member.server.stop().await;
    // Back into a directory, where every version stays. The server takes its own key along.
    let back = pawl_testing::Place::new();
    let back_data = back.data().to_str().unwrap().to_owned();
    let deadline = std::time::Instant::now() + pawl_testing::DEADLINE;
    loop {
        let output = output(&["migrate", "--from", &there, "--to", &back_data]).await;
        if output.status.success() {
            break;
        }
        assert!(std::time::Instant::now() < deadline, "{output:?}");
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
    }
    for data_of in ["migrated", "restored"] {
        let mut place = match data_of {
            "migrated" => pawl_testing::Place::new(),
            _ => {
                let place = pawl_testing::Place::new();
                moved(&["snapshot", "restore", &file, "--data-dir", place.data().to_str().unwrap()], 0).await;
                place
            }
        };
        if data_of == "migrated" {
            std::fs::rename(&back_data, place.data()).unwrap();
        }
        let server = place.start_flagged(&["--controllers=-*"]).await;
        let found = place.client(Protocol::Http2).get(MAPS).await.unwrap().expect(200);
        assert_eq!(found["items"], on_etcd["items"], "{data_of}");
        server.stop().await;
    }
    let other = Etcd::start().expect("an etcd on the path");
    let told = moved(&["snapshot", "restore", &file, "--to", &other.url().replace("http://", "etcd://")], 0).await;
    assert!(told.contains("WARNING: it began at revision 1"), "{told}");
    let member = join_with(&other, &["--controllers=-*"]).await;
    assert_eq!(without_versions(&member.admin.get(MAPS).await.unwrap().expect(200)), without_versions(&on_etcd));
    member.server.stop().await;
}

async fn output(arguments: &[&str]) -> std::process::Output {
    let mut command = pawl();
    command.args(arguments);
    tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap()
}

pub async fn moved(arguments: &[&str], code: i32) -> String {
    let output = output(arguments).await;
    let told = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {told}");
    told
}

fn without_versions(list: &Value) -> Vec<Value> {
    let mut items = list["items"].as_array().unwrap().clone();
    for item in &mut items {
        item["metadata"]["resourceVersion"].take();
    }
    items
}
