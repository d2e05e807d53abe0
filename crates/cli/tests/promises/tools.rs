//! The commands that say why, against a real server: `pawl why` and what it leads to, for people and for scripts.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use pawl_testing::damage::Door;
use pawl_testing::{Place, Running, pawl};

use crate::asking::{ask, finish, kubeconfig, links, typing};
use serde_json::{Value, json};

async fn create(running: &Running, path: &str, object: Value) -> Value {
    running.admin.post(path, &object).await.unwrap().expect(201)
}

const SECRETS: &str = "/api/v1/namespaces/n/secrets";
const MAPS: &str = "/api/v1/namespaces/n/configmaps";

async fn secret(running: &Running, name: &str, metadata: Value) -> Value {
    let mut metadata = metadata;
    metadata["name"] = json!(name);
    create(running, SECRETS, json!({"metadata": metadata, "stringData": {"password": "hunter2"}})).await
}

fn pod(name: &str, secret: &str) -> Value {
    json!({"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "i"}],
        "volumes": [{"name": "v", "secret": {"secretName": secret}}]}})
}

#[tokio::test(flavor = "multi_thread")]
async fn why_shows_what_keeps_an_object_and_how_to_resolve_it() {
    let running = Running::start(&["--controllers=-*", "--disable-admission-plugins=ServiceAccount"], &[]).await;
    let annotated = json!({"annotations": {"kubernetes.io/enable-secret-protection": "yes"},
        "liens": ["example.com/payments"], "finalizers": ["example.com/clean-up"]});
    let made = secret(&running, "db", annotated).await;
    create(&running, "/api/v1/namespaces/n/pods", pod("web", "db")).await;
    let owner = json!([{"apiVersion": "v1", "kind": "Secret", "name": "db", "uid": made["metadata"]["uid"],
        "blockOwnerDeletion": true}]);
    create(&running, MAPS, json!({"metadata": {"name": "derived", "ownerReferences": owner}})).await;

    let tree = "secret/db in n: it is kept
├─ liens
│  └─ ● example.com/payments
│         put by ...Update, 0s ago)
│         $ kubectl pawl lien remove secret/db -n n example.com/payments
├─ used by
│  └─ ● pod/web
│         spec.volumes[0].secret.secretName
│         $ kubectl delete pod/web -n n
├─ finalizers
│  └─ ● example.com/clean-up
│         put by ...Update, 0s ago)
│         it will hold a deletion until its controller removes it
│         $ kubectl patch secret/db -n n --type=json -p '[{\"op\":\"test\",\"path\":\"/metadata/finalizers/0\",\"value\":\"example.com/clean-up\"},{\"op\":\"remove\",\"path\":\"/metadata/finalizers/0\"}]'
└─ dependents
   └─ ○ configmap/derived
          would block a foreground deletion
          $ kubectl delete configmap/derived -n n
";
    for arguments in [&["why", "secret/db"][..], &["why", "secrets", "db"], &["why", "Secret/db"]] {
        let said = ask(&running, arguments).ended(2);
        assert_eq!(seconds_gone(&said.out), seconds_gone(tree), "{}", said.out);
    }
    let found = ask(&running, &["why", "secret/db", "-o", "json"]).ended(2).json();
    assert_eq!((&found["kept"], &found["object"]["name"], &found["missing"]), (&json!(true), &json!("db"), &json!([])));
    assert_eq!(found["findings"][0]["command"], "kubectl pawl lien remove secret/db -n n example.com/payments");
    ask(&running, &["why", "secret/db", "-o=yaml"]).ended(2).has("about: lien").has("kept: true");
    ask(&running, &["why", "secret/db", "-o", "name"])
        .ended(2)
        .has("lien/example.com/payments\n")
        .has("user/pod/web\n");
    ask(&running, &["why", "cm/derived"]).ended(0).has("nothing keeps it").has("○ secret/db");
    // What it says resolves it.
    for command in found["findings"].as_array().unwrap().iter().filter_map(|finding| finding["command"].as_str()) {
        if let Some(own) = command.strip_prefix("kubectl pawl ") {
            let words: Vec<&str> = own.split(' ').filter(|word| *word != "-n" && *word != "n").collect();
            ask(&running, &words).ended(0).has("the lien example.com/payments is gone");
        }
    }
    assert!(!ask(&running, &["why", "secret/db"]).ended(2).out.contains("payments"));
    check_bad_words(&running);
    running.stop().await;
}

/// Who wrote and when differ from run to run.
fn seconds_gone(tree: &str) -> String {
    tree.lines().filter(|line| !line.contains("put by")).collect::<Vec<_>>().join("\n")
}

fn check_bad_words(running: &Running) {
    for (arguments, why) in [
        (&["why"][..], "give one object: TYPE/NAME"),
        (&["why", "secret"], "give TYPE/NAME"),
        (&["why", "secert/db"], "the server has no resource type \"secert\", did you mean \"secret\"?"),
        (&["why", "secret/none"], "secrets \"none\" not found"),
        (&["why", "secret/db", "-o", "xml"], "--output=xml: json, yaml, wide or name"),
        (&["why", "secret/db", "--context", "none"], "none"),
        (&["lien", "put", "secret/db", "a.b/c"], "say add or remove"),
        (&["lien", "add", "secret/db"], "give an object and a lien"),
        (&["lien", "add", "secret/db", "not a lien"], "metadata.liens"),
        (&["liens", "a", "b"], "give one type, or none"),
        (&["release-liens"], "--controller says whose liens go"),
        (&["release-liens", "--controller=all"], "secret-protection or configmap-protection"),
        (&["quarantine"], "say list, or restore NAME"),
        (&["quarantine", "restore", "none"], "not found"),
        (&["purge", "secret/db"], "can be read: kubectl delete secret/db -n n"),
        (&["invalid", "secrets"], "is no custom resource"),
        (&["invalid", "--with", "no-such-file"], "no-such-file"),
    ] {
        ask(running, arguments).ended(1).told(why);
    }
    let mut nobody = pawl();
    nobody.args(["why", "secret/db"]).env("KUBECONFIG", "/nonexistent");
    finish(nobody, "").ended(1).told("Error: ");
}

#[tokio::test(flavor = "multi_thread")]
async fn why_shows_what_is_left_in_a_namespace() {
    let running = Running::start(&["--controllers=-*"], &[]).await;
    secret(&running, "held", json!({"liens": ["a.b/c"]})).await;
    create(&running, MAPS, json!({"metadata": {"name": "plain"}})).await;
    let said = ask(&running, &["why", "namespace/n"]).ended(2);
    said.has("● secret/held").has("lien a.b/c").has("$ kubectl pawl why secret/held -n n").has("○ 1 configmaps");
    running.admin.delete("/api/v1/namespaces/n").await.unwrap().expect(200);
    let said = ask(&running, &["why", "ns", "n"]).ended(2);
    said.has("being deleted since").has("kubernetes (spec.finalizers)").has("● 1 configmaps");
    ask(&running, &["why", "ns/n", "-o", "wide"]).ended(2).has("$ kubectl delete configmap/plain -n n");
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn liens_are_listed_added_removed_and_overridden() {
    let running = Running::start(&["--controllers=-*"], &[]).await;
    secret(&running, "db", json!({})).await;
    create(&running, MAPS, json!({"metadata": {"name": "c", "liens": ["a.b/c"]}})).await;
    ask(&running, &["lien", "add", "secret/db", "a.b/c"]).ended(0).has("secret/db in n: the lien a.b/c is on it");
    ask(&running, &["lien", "add", "secret", "db", "d.e/f"]).ended(0);
    ask(&running, &["lien", "add", "secret/db", "a.b/c"]).ended(0).has("was on it already");
    ask(&running, &["lien", "add", "ns/n", "a.b/c"]).ended(0);
    let names = ask(&running, &["liens", "-o", "name"]).ended(0).out;
    assert_eq!(names, "configmap/c\nsecret/db\nsecret/db\n");
    assert_eq!(ask(&running, &["liens", "secrets", "-o", "name"]).out, "secret/db\nsecret/db\n");
    ask(&running, &["liens", "-A"]).ended(0).has("namespace/n").has("NAMESPACE").has("a.b/c");
    ask(&running, &["liens", "pods"]).ended(0).has("no liens");
    ask(&running, &["delete", "secret/db"]).ended(1).told("held by liens").told("why: kubectl pawl why secret/db -n n");
    let asked = typing(&running, &["delete", "secret/db", "--ignore-liens"], "no\n").ended(3);
    asked.told("held by 2 lien(s)").told("a.b/c, put by pawl").told("nothing was deleted");
    ask(&running, &["delete", "secret/db", "--ignore-liens"]).ended(3);
    ask(&running, &["delete", "secret/db", "--ignore-liens", "--dry-run"]).ended(0).has("would be deleted");
    running.admin.get(&format!("{SECRETS}/db")).await.unwrap().expect(200);
    ask(&running, &["lien", "remove", "secret/db", "d.e/f"]).ended(0).has("the lien d.e/f is gone");
    ask(&running, &["lien", "remove", "secret/db", "d.e/f"]).ended(0).has("there is no lien d.e/f");
    typing(&running, &["delete", "secret/db", "--ignore-liens"], "yes\n").ended(0).has("deleted");
    running.admin.get(&format!("{SECRETS}/db")).await.unwrap().expect(404);
    check_changes_for_scripts(&running).await;
    ask(&running, &["delete", "cm/c", "--ignore-liens", "--yes"]).ended(0);
    running.stop().await;
}

/// What changes something tells it in every format, too.
async fn check_changes_for_scripts(running: &Running) {
    secret(running, "s", json!({})).await;
    let object =
        json!({"group": "", "version": "v1", "resource": "secrets", "kind": "Secret", "namespace": "n", "name": "s"});
    let told = |result: &str, changed: bool, dry_run: bool| {
        json!({"kind": "Change", "apiVersion": "tools.pawl.dev/v1", "object": object, "result": result,
            "changed": changed, "dryRun": dry_run})
    };
    let lien =
        |verb: &'static str, format: &'static str| ask(running, &["lien", verb, "secret/s", "a.b/c", "-o", format]);
    assert_eq!(lien("add", "json").ended(0).json(), told("the lien a.b/c is on it", true, false));
    assert_eq!(lien("add", "json").ended(0).json(), told("the lien a.b/c was on it already", false, false));
    lien("add", "yaml").ended(0).has("result: the lien a.b/c was on it already\n").has("changed: false\n");
    assert_eq!(lien("remove", "name").ended(0).out, "secret/s\n");
    assert_eq!(lien("remove", "wide").ended(0).out, "secret/s in n: there is no lien a.b/c\n");
    let delete = ["delete", "secret/s", "-o", "json"];
    let dry = ask(running, &[&delete[..], &["--dry-run"]].concat()).ended(0).json();
    assert_eq!(dry, told("would be deleted", true, true));
    assert_eq!(ask(running, &delete).ended(0).json(), told("deleted", true, false));
    assert_eq!(ask(running, &delete).ended(1).out, "", "an error is no answer");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_read_is_named_purged_and_brought_back() {
    let door = Door::new();
    let running = door.start(Place::new(), &["--controllers=-*"]).await;
    ask(&running, &["unreadable"]).ended(0).has("everything can be read");
    create(&running, MAPS, json!({"metadata": {"name": "c"}})).await;
    create(&running, MAPS, json!({"metadata": {"name": "good"}})).await;
    door.put("/registry/configmaps/n/c", b"this is not an object").await;
    running.admin.get(&format!("{MAPS}/c")).await.unwrap().expect(500);
    ask(&running, &["unreadable"]).ended(2).has("not decodable").told("kubectl pawl purge");
    ask(&running, &["unreadable", "-o", "name"]).ended(2).has("configmaps:n:c\n");
    ask(&running, &["why", "cm/c"]).ended(2).has("it cannot be read").has("$ kubectl pawl purge configmap/c -n n");
    ask(&running, &["why", "cm/good"])
        .ended(0)
        .has("neighbours")
        .has("○ configmap/c")
        .has("what could not be found out");
    ask(&running, &["why", "ns/n"]).ended(2).has("● configmap/c");
    typing(&running, &["purge", "cm/c"], "yes\n").ended(3).told("no finalizer").told("nothing was removed");
    ask(&running, &["purge", "cm/c", "--dry-run"]).ended(0).has("would be removed unread");
    running.admin.get(&format!("{MAPS}/c")).await.unwrap().expect(500);
    typing(&running, &["purge", "cm/c"], "c\n").ended(0).has("removed unread").told("Warning: ");
    running.admin.get(&format!("{MAPS}/c")).await.unwrap().expect(404);
    let listed = ask(&running, &["quarantine", "list", "-o", "name"]).ended(0).out;
    ask(&running, &["quarantine", "list"]).ended(0).has(listed.trim());
    ask(&running, &["quarantine", "restore", listed.trim(), "--dry-run"]).ended(0).has("would be brought back");
    ask(&running, &["quarantine", "restore", listed.trim()]).ended(0).has("brought back");
    running.admin.get(&format!("{MAPS}/c")).await.unwrap().expect(500);
    let dry = ask(&running, &["purge", "cm/c", "--dry-run", "-o", "json"]).ended(0).json();
    assert_eq!(
        (&dry["object"]["name"], &dry["result"], &dry["dryRun"]),
        (&json!("c"), &json!("would be removed unread"), &json!(true))
    );
    assert_eq!(ask(&running, &["purge", "cm/c", "--yes", "-o", "name"]).ended(0).out, "configmap/c\n");
    let kept = ask(&running, &["quarantine", "list", "-o", "name"]).ended(0).out;
    let dry = ask(&running, &["quarantine", "restore", kept.trim(), "--dry-run", "-o", "json"]).ended(0).json();
    assert_eq!((&dry["object"]["name"], &dry["changed"]), (&json!(kept.trim()), &json!(true)));
    ask(&running, &["unreadable"]).ended(0);
    running.stop().await;
}

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

fn widgets(size: Value) -> Value {
    let spec = json!({"type": "object", "properties": {"size": size}});
    let schema = json!({"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}});
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced",
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": schema}]}})
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_schema_refuses_is_listed_before_and_after_it_is_applied() {
    let mut running = Running::start(&[], &[]).await;
    create(&running, DEFINITIONS, widgets(json!({"type": "string"}))).await;
    let admin = running.place.client(pawl_testing::Protocol::Http2);
    running.until(async || admin.get("/apis/example.com/v1/widgets").await?.ok()).await;
    for (name, size) in [("w", "vast"), ("x", "small")] {
        let widget = json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": name}, "spec": {"size": size}});
        create(&running, "/apis/example.com/v1/namespaces/n/widgets", widget).await;
    }
    let tight = widgets(json!({"type": "string", "enum": ["small", "large"]}));
    let file = running.place.path("tight.yaml");
    fs::write(&file, tight.to_string()).unwrap();
    let with = file.to_str().unwrap();
    ask(&running, &["invalid"]).ended(0).has("none of 2 stored objects is refused");
    for arguments in [&["invalid", "--with", with][..], &["invalid", "widgets", "--with", with]] {
        ask(&running, arguments).ended(2).has("widgets.example.com/w").has("spec.size").has("1 of 2 stored objects");
    }
    ask(&running, &["invalid", "widget"]).ended(0);
    let path = format!("{DEFINITIONS}/widgets.example.com");
    let patch = json!({"spec": {"versions": tight["spec"]["versions"]}});
    running.admin.merge(&path, &patch).await.unwrap().expect(200);
    running
        .until(async || {
            let said = admin.get(&format!("{path}/invalidobjects")).await?.json();
            if said["items"].as_array().is_some_and(|items| items.len() == 1) { Ok(()) } else { Err("not yet".into()) }
        })
        .await;
    let found = ask(&running, &["invalid", "-o", "json"]).ended(2).json();
    assert_eq!((&found["items"][0]["name"], &found["lookedAt"]), (&json!("w"), &json!(2)));
    ask(&running, &["why", "widget/w"])
        .ended(0)
        .has("invalid under today's schema")
        .has("$ kubectl edit widget.example.com/w -n n");
    assert!(!ask(&running, &["why", "widget/x"]).ended(0).out.contains("invalid under"));
    ask(&running, &["why", "crd/widgets.example.com"]).has("○ widgets.example.com/w");
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn liens_of_a_controller_that_is_gone_are_released_with_the_gate_off_too() {
    let running = Running::start(&["--controllers=-*"], &[]).await;
    for (name, liens) in [
        ("one", json!(["kubernetes.io/secret-protection"])),
        ("two", json!(["a.b/c", "kubernetes.io/secret-protection"])),
        ("three", json!(["a.b/c"])),
    ] {
        secret(&running, name, json!({"liens": liens})).await;
    }
    create(&running, MAPS, json!({"metadata": {"name": "c", "liens": ["kubernetes.io/configmap-protection"]}})).await;
    let release = ["release-liens", "--controller=secret-protection"];
    ask(&running, &[release[0], release[1], "--dry-run"]).ended(0).has("2 of 3 secrets would be released");
    assert_eq!(ask(&running, &["liens", "-o", "name"]).out.lines().count(), 5);
    let dry = [release[0], release[1], "--dry-run", "-o"];
    let told = ask(&running, &[&dry[..], &["json"]].concat()).ended(0).json();
    assert_eq!((&told["lookedAt"], &told["items"][0]["object"]["name"]), (&json!(3), &json!("one")));
    assert_eq!(ask(&running, &[&dry[..], &["name"]].concat()).ended(0).out, "secret/one\nsecret/two\n");
    ask(&running, &[&dry[..], &["wide"]].concat()).ended(0).has("secret/two in n: would be released from");
    // Others may use the server without the gate.
    let running = running.restart(&["--controllers=-*", "--feature-gates=InUseProtection=false"]).await;
    ask(&running, &release).ended(0).has("2 of 3 secrets released from kubernetes.io/secret-protection");
    ask(&running, &release).ended(0).has("0 of 3 secrets");
    let left = ask(&running, &["liens", "-o", "json"]).json();
    let left: Vec<&str> = left["items"].as_array().unwrap().iter().map(|item| item["lien"].as_str().unwrap()).collect();
    assert_eq!(left, ["kubernetes.io/configmap-protection", "a.b/c", "a.b/c"]);
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn kubectl_finds_it_as_a_plugin_and_completes_words() {
    let running = Running::start(&["--controllers=-*"], &[]).await;
    secret(&running, "db", json!({"liens": ["a.b/c"]})).await;
    let links = links(&running);
    let mut direct = Command::new(links.join("kubectl-pawl"));
    direct.args(["why", "secret/db", "-n", "n"]).env("KUBECONFIG", kubeconfig(&running));
    finish(direct, "").ended(2).has("● a.b/c");
    let complete = |words: &[&str]| {
        let mut command = Command::new(links.join("kubectl_complete-pawl"));
        command.args(words).env("KUBECONFIG", kubeconfig(&running));
        finish(command, "").ended(0).out
    };
    assert_eq!(complete(&["unr"]), "unreadable\n:4\n");
    assert_eq!(complete(&["history", "--si"]), "--since\n:4\n");
    assert_eq!(complete(&["why", "secr"]), "secret/\n:4\n");
    assert_eq!(complete(&["why", "namespace/kube-s"]), "namespace/kube-system\n:4\n");
    assert_eq!(complete(&["why", "nothing/x"]), ":4\n");
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn history_shows_what_happened_and_keeps_secrets() {
    let mut running = Running::start(&["--controllers=-*"], &["eve"]).await;
    secret(&running, "db", json!({})).await;
    let path = format!("{SECRETS}/db");
    secret(&running, "db2", json!({})).await;
    for patch in [
        json!({"stringData": {"password": "swordfish"}}),
        json!({"metadata": {"labels": {"team": "a"}}, "stringData": {"password": "hunter2"}}),
    ] {
        running.admin.merge(&path, &patch).await.unwrap().expect(200);
    }
    let said = ask(&running, &["history", "secret/db"]).ended(0);
    let secret_words = ["hunter2", "swordfish", "aHVudGVyMg", "c3dvcmRmaXNo"];
    assert!(secret_words.iter().all(|word| !said.out.contains(word)), "{}", said.out);
    let said = said.has("create").has("+ metadata.labels.team: \"a\"").has("- data.password: \"(masked, value 1)\"");
    said.has("+ data.password: \"(masked, value 2)\"").has("everything");
    let found = ask(&running, &["history", "secret/db", "-o", "json"]).ended(0).json();
    let verbs: Vec<&str> =
        found["items"].as_array().unwrap().iter().map(|item| item["verb"].as_str().unwrap()).collect();
    assert_eq!(verbs, ["create", "update", "update"], "and nothing of db2");
    assert!(found["items"][1]["manager"].is_string() && found["items"][0]["time"].is_string(), "{found}");
    ask(&running, &["history", "secret/db", "-o", "wide"]).ended(0).has("+ data.password");
    let late = ask(&running, &["history", "secret/db", "--since", "2999-01-01T00:00:00Z", "-o", "name"]).ended(0);
    assert_eq!(late.out, "");
    ask(&running, &["history", "secret/db", "--since", "1h", "-o", "name"]).ended(0);
    ask(&running, &["history", "secret/db", "--since", "soon"]).ended(1).told("--since=soon");
    ask(&running, &["history", "secret/none"]).ended(1).told("not found");
    check_who_may(&mut running, &format!("{path}/history")).await;
    // Gone and made anew: another object, unless one asks for more.
    running.admin.delete(&path).await.unwrap().expect(200);
    ask(&running, &["history", "secret/db", "-w"]).ended(0).has("delete");
    secret(&running, "db", json!({})).await;
    assert_eq!(ask(&running, &["history", "secret/db", "-o", "name"]).out.lines().count(), 1);
    assert_eq!(ask(&running, &["history", "secret/db", "-o", "name", "--all-uids"]).out.lines().count(), 5);
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn history_goes_on_until_the_end_and_says_how_far_back_it_reaches() {
    let running = Running::start(&["--controllers=-*"], &[]).await;
    let path = format!("{MAPS}/c");
    let change = async |value: &str| {
        let patch = json!({"data": {"value": value}});
        running.admin.merge(&path, &patch).await.unwrap().expect(200);
    };
    create(&running, MAPS, json!({"metadata": {"name": "c"}})).await;
    change("one").await;
    let mut watching = pawl();
    watching.args(["history", "cm/c", "-n", "n", "-w"]).env("KUBECONFIG", kubeconfig(&running)).stdout(Stdio::piped());
    let mut watching = watching.spawn().unwrap();
    let lines = BufReader::new(watching.stdout.take().unwrap()).lines();
    let (said, heard) = std::sync::mpsc::channel();
    std::thread::spawn(move || lines.map_while(Result::ok).try_for_each(|line| said.send(line)));
    let hears = |text: &str| {
        while let Ok(line) = heard.recv_timeout(pawl_testing::DEADLINE) {
            if line.contains(text) {
                return;
            }
        }
        panic!("nothing was said of {text}");
    };
    hears("configmap/c in n: everything since the store is there");
    hears("+ data.value: \"one\"");
    change("two").await;
    hears("- data.value: \"one\"");
    hears("+ data.value: \"two\"");
    // What was before is forgotten, and that is said.
    let mut forget = pawl();
    forget.args(["rewrite", "--forget-history", "--data-dir"]).arg(running.place.data());
    finish(forget, "").ended(0);
    change("three").await;
    hears("+ data.value: \"three\"");
    let rest = ask(&running, &["history", "cm/c"]).ended(0);
    let rest = rest.has("what the store remembers: everything after revision").has("what was before is forgotten");
    assert!(rest.out.contains("+ data.value: \"three\"") && !rest.out.contains("\"one\""), "{}", rest.out);
    running.admin.delete(&path).await.unwrap().expect(200);
    hears("delete");
    assert!(watching.wait().unwrap().success());
    running.stop().await;
}

async fn check_who_may(running: &mut Running, path: &str) {
    let eve = running.user("eve");
    running.grant("eve", &["get"], "secrets").await;
    eve.get(path).await.unwrap().expect(403);
    running.grant("eve", &["get"], "secrets/history").await;
    let told = eve.get(path).await.unwrap().expect(200);
    assert!(!told.to_string().contains("aHVudGVyMg"), "{told}");
    running.admin.get(&format!("{path}?after=x")).await.unwrap().expect(400);
    running.admin.get(&format!("{path}?uid=x")).await.unwrap().expect(400);
    running.admin.post(path, &json!({})).await.unwrap().expect(405);
    for document in ["/api/v1", "/openapi/v3/api/v1"] {
        assert!(!running.admin.get(document).await.unwrap().expect(200).to_string().contains("/history"), "{document}");
    }
}

#[test]
fn the_tour_shows_five_promises_that_hold_on_a_narrow_terminal() {
    let mut tour = pawl();
    tour.arg("tour").env_remove("KUBECONFIG").env("PATH", "");
    let said = finish(tour, "").ended(0);
    for promise in 1..=5 {
        assert!(said.out.contains(&format!("\n{promise}. ")), "{}", said.out);
        let line = said.out.lines().find(|line| line.starts_with(&format!("  {promise}. ")));
        assert!(line.is_some_and(|line| line.ends_with(": held")), "{}", said.out);
    }
    let words = said.out.split_whitespace().collect::<Vec<_>>().join(" ");
    for told in ["held by liens", "unknown field \"dta\"", "used by Pod", "Unsupported value: \"huge\"", "Elsewhere"] {
        assert!(words.contains(told), "no {told:?} in:\n{}", said.out);
    }
    let wide: Vec<&str> = said.out.lines().filter(|line| line.chars().count() > 80).collect();
    assert_eq!(wide, [""; 0]);
    assert!(!said.out.contains('\x1b'), "colours are for terminals");
}
