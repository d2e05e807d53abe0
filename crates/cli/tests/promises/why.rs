//! The trees of `pawl why`, each branch with the command that resolves it: the command is run, and the branch is gone. And what
//! the tools say on a server that is not Pawl.

use std::process::Command;

use crate::asking::{Said, ask, finish, kubeconfig, links};
use crate::elsewhere::Elsewhere;
use pawl_testing::damage::Door;
use pawl_testing::{Place, Protocol, Running};
use serde_json::{Value, json};

const SECRETS: &str = "/api/v1/namespaces/n/secrets";
const MAPS: &str = "/api/v1/namespaces/n/configmaps";
const PODS: &str = "/api/v1/namespaces/n/pods";

async fn create(running: &Running, path: &str, object: Value) -> Value {
    running.admin.post(&format!("{path}?fieldManager=tester"), &object).await.unwrap().expect(201)
}

/// What differs from run to run is written as T.
fn steady(tree: &str) -> String {
    let word = |word: &str| {
        let bare = word.trim_matches(['(', ')', ',', ':']);
        let is_age = bare.strip_suffix('s').is_some_and(|number| number.parse::<u32>().is_ok());
        let is_time = bare.starts_with("20") && bare.ends_with('Z');
        match bare.strip_prefix("revision=") {
            Some(revision) => word.replace(revision, "T"),
            None if is_age || is_time => word.replace(bare, "T"),
            None => word.to_owned(),
        }
    };
    let line = |line: &str| line.split(' ').map(word).collect::<Vec<_>>().join(" ") + "\n";
    tree.lines().map(line).collect()
}

/// Asks why, which must look so.
#[track_caller]
fn check_tree(running: &Running, object: &str, code: i32, tree: &str) {
    let said = ask(running, &["why", object]).ended(code);
    assert_eq!(steady(&said.out), tree, "\n{}", said.out);
}

/// Runs a command as it was said, in a shell; what is asked is answered with `typed`, and an editor is `sed` with a script.
fn run(running: &Running, command: &str, typed: &str, edit: &str) -> Said {
    let mut shell = Command::new("sh");
    let path = format!("{}:{}", links(running).display(), std::env::var("PATH").unwrap_or_default());
    shell.args(["-c", command]).env("PATH", path).env("KUBECONFIG", kubeconfig(running));
    shell.env("KUBE_EDITOR", format!("sed -i {edit}"));
    finish(shell, typed)
}

/// Runs the command of every finding of an object, one after the other, and sees each finding go. What leads to another
/// object is followed there. Tells what was run.
async fn resolve(running: &mut Running, object: &str, edit: &str) -> Vec<String> {
    let mut done: Vec<String> = Vec::new();
    let mut objects = vec![object.to_owned()];
    while let Some(object) = objects.pop() {
        loop {
            let said = ask(running, &["why", &object, "-o", "json"]);
            if said.code == 1 && said.err.contains("not found") {
                break;
            }
            let findings = said.json()["findings"].as_array().unwrap().clone();
            let next =
                findings.iter().filter_map(|finding| Some((finding.clone(), finding["command"].as_str()?.to_owned())));
            let Some((finding, command)) = next.into_iter().find(|(_, command)| !done.contains(command)) else { break };
            done.push(command.clone());
            if let Some(other) = command.strip_prefix("kubectl pawl why ") {
                objects.push(object.clone());
                objects.push(other.trim_end_matches(" -n n").to_owned());
                break;
            }
            let name = finding["what"].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
            assert_eq!(run(running, &command, &format!("{name}\n"), edit).code, 0, "{command}");
            let is_there = async || {
                let said = ask(running, &["why", &object, "-o", "json"]);
                said.code != 1
                    && said.json()["findings"]
                        .as_array()
                        .unwrap()
                        .iter()
                        .any(|other| (&other["about"], &other["what"]) == (&finding["about"], &finding["what"]))
            };
            let deadline = std::time::Instant::now() + pawl_testing::DEADLINE;
            while is_there().await {
                assert!(std::time::Instant::now() < deadline, "{command} did not resolve {finding}");
                pawl_testing::pause().await;
            }
        }
    }
    done
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs kubectl: .ci/run kubectl"]
async fn liens_users_finalizers_dependents_and_owners() {
    let flags = ["--controllers=secret-protection-controller", "--disable-admission-plugins=ServiceAccount"];
    let mut running = Running::start(&flags, &[]).await;
    let metadata = json!({"name": "db", "annotations": {"kubernetes.io/enable-secret-protection": "yes"},
        "liens": ["example.com/payments"], "finalizers": ["example.com/clean-up"]});
    let made = create(&running, SECRETS, json!({"metadata": metadata})).await;
    let volumes = json!([{"name": "v", "secret": {"secretName": "db"}}]);
    let spec = json!({"containers": [{"name": "c", "image": "i"}], "volumes": volumes});
    create(&running, PODS, json!({"metadata": {"name": "web"}, "spec": spec})).await;
    let container = json!({"name": "c", "image": "i", "envFrom": [{"secretRef": {"name": "db"}}]});
    let template = json!({"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [container]}});
    let spec = json!({"selector": {"matchLabels": {"app": "a"}}, "template": template});
    create(&running, "/apis/apps/v1/namespaces/n/deployments", json!({"metadata": {"name": "api"}, "spec": spec}))
        .await;
    let tls =
        json!({"defaultBackend": {"service": {"name": "s", "port": {"number": 1}}}, "tls": [{"secretName": "db"}]});
    create(
        &running,
        "/apis/networking.k8s.io/v1/namespaces/n/ingresses",
        json!({"metadata": {"name": "front"}, "spec": tls}),
    )
    .await;
    let owner = json!([{"apiVersion": "v1", "kind": "Secret", "name": "db", "uid": made["metadata"]["uid"],
        "blockOwnerDeletion": true}]);
    create(&running, MAPS, json!({"metadata": {"name": "derived", "ownerReferences": owner}})).await;
    let admin = running.place.client(Protocol::Http2);
    running
        .until(async || match admin.get(&format!("{SECRETS}/db")).await?.json()["metadata"]["liens"][1].is_string() {
            true => Ok(()),
            false => Err("no lien yet".into()),
        })
        .await;
    check_tree(&running, "secret/db", 2, SECRET);
    let uid = made["metadata"]["uid"].as_str().unwrap();
    check_tree(&running, "configmap/derived", 0, &DERIVED.replace("UID", uid));
    // It is deleted in the foreground: what blocks that is said as what it is.
    let foreground = json!({"propagationPolicy": "Foreground", "ignoreLiens": true});
    running.admin.delete_with(&format!("{SECRETS}/db"), &foreground).await.unwrap().expect(200);
    let said = ask(&running, &["why", "secret/db"]).ended(2);
    said.has("being deleted since").has("● configmap/derived").has("blocks the foreground deletion that has begun");
    let done = resolve(&mut running, "secret/db", "s/db$/other/").await;
    assert!(done.len() >= 7, "{done:?}");
    running.admin.get(&format!("{SECRETS}/db")).await.unwrap().expect(404);
    // What is owned parts from its owner.
    let made = create(&running, SECRETS, json!({"metadata": {"name": "owner"}})).await;
    let owner = json!([{"apiVersion": "v1", "kind": "Secret", "name": "owner", "uid": made["metadata"]["uid"]}]);
    create(&running, MAPS, json!({"metadata": {"name": "owned", "ownerReferences": owner}})).await;
    assert_eq!(resolve(&mut running, "cm/owned", "").await.len(), 1);
    check_tree(&running, "cm/owned", 0, "configmap/owned in n: nothing keeps it\n");
    running.stop().await;
}

const SECRET: &str = "secret/db in n: it is kept
├─ liens
│  ├─ ● example.com/payments
│  │      put by tester (Update, T ago)
│  │      $ kubectl pawl lien remove secret/db -n n example.com/payments
│  └─ ● kubernetes.io/secret-protection
│         put by secret-protection-controller (Update, T ago)
│         goes with the last user, or when nobody wishes it any more
│         $ kubectl annotate secret/db -n n kubernetes.io/enable-secret-protection-
├─ used by
│  ├─ ● pod/web
│  │      spec.volumes[0].secret.secretName
│  │      $ kubectl delete pod/web -n n
│  ├─ ● deployment.apps/api
│  │      spec.template.spec.containers[0].envFrom[0].secretRef.name
│  │      $ kubectl edit deployment.apps/api -n n
│  └─ ○ ingress.networking.k8s.io/front
│         spec.tls[0].secretName
│         $ kubectl edit ingress.networking.k8s.io/front -n n
├─ finalizers
│  └─ ● example.com/clean-up
│         put by tester (Update, T ago)
│         it will hold a deletion until its controller removes it
│         $ kubectl patch secret/db -n n --type=json -p '[{\"op\":\"test\",\"path\":\"/metadata/finalizers/0\",\"value\":\"example.com/clean-up\"},{\"op\":\"remove\",\"path\":\"/metadata/finalizers/0\"}]'
└─ dependents
   └─ ○ configmap/derived
          would block a foreground deletion
          $ kubectl delete configmap/derived -n n
";
const DERIVED: &str = "configmap/derived in n: nothing keeps it
└─ owners
   └─ ○ secret/db
          this object blocks its foreground deletion
          $ kubectl patch configmap/derived -n n --type=json -p '[{\"op\":\"test\",\"path\":\"/metadata/ownerReferences/0/uid\",\"value\":\"UID\"},{\"op\":\"remove\",\"path\":\"/metadata/ownerReferences/0\"}]'
";

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs kubectl: .ci/run kubectl"]
async fn what_is_left_in_a_namespace() {
    // Nobody deletes the content meanwhile.
    let flag = "--disable-admission-plugins=ServiceAccount";
    let mut running = Running::start(&["--controllers=-*", flag], &[]).await;
    create(&running, SECRETS, json!({"metadata": {"name": "held", "liens": ["a.b/c"]}})).await;
    create(&running, MAPS, json!({"metadata": {"name": "final", "finalizers": ["a.b/wait"]}})).await;
    for name in ["one", "two"] {
        create(
            &running,
            PODS,
            json!({"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "i"}]}}),
        )
        .await;
    }
    check_tree(&running, "ns/n", 2, NAMESPACE);
    running.admin.delete("/api/v1/namespaces/n").await.unwrap().expect(200);
    let held = json!({"type": "NamespaceDeletionContentFailure", "status": "True", "reason": "ContentDeletionFailed",
        "message": "Failed to delete all resource types, 1 remaining: secrets held by liens: \"held\""});
    let path = "/api/v1/namespaces/n/status";
    running.admin.merge(path, &json!({"status": {"conditions": [held]}})).await.unwrap().expect(200);
    check_tree(&running, "ns/n", 2, GOING);
    let done = resolve(&mut running, "ns/n", "").await;
    assert_eq!(done.len(), 7, "{done:?}");
    // Nothing is left but what goes by itself, once somebody is there who sees to it.
    let mut running = running.restart(&["--controllers=namespace-controller", flag]).await;
    running.until_gone("/api/v1/namespaces/n").await;
    running.stop().await;
}

const NAMESPACE: &str = "namespace/n: it is kept
└─ in the namespace
   ├─ ● configmap/final
   │      finalizer a.b/wait
   │      $ kubectl pawl why configmap/final -n n
   ├─ ○ 2 pods
   │      nothing holds them: they go with the namespace
   │      $ kubectl delete pods --all -n n
   └─ ● secret/held
          lien a.b/c
          $ kubectl pawl why secret/held -n n
";
const GOING: &str = "namespace/n: it is kept; being deleted since T (T ago)
├─ finalizers
│  └─ ● kubernetes (spec.finalizers)
│         goes by itself when nothing is left in the namespace
├─ what the namespace says
│  └─ ● NamespaceDeletionContentFailure
│         Failed to delete all resource types, 1 remaining: secrets held by liens: \"held\"
└─ in the namespace
   ├─ ● configmap/final
   │      finalizer a.b/wait
   │      $ kubectl pawl why configmap/final -n n
   ├─ ● 2 pods
   │      nothing holds them: they go with the namespace
   │      $ kubectl delete pods --all -n n
   └─ ● secret/held
          lien a.b/c
          $ kubectl pawl why secret/held -n n
";

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs kubectl: .ci/run kubectl"]
async fn what_cannot_be_read_and_what_a_schema_refuses() {
    let door = Door::new();
    let mut running = door.start(Place::new(), &["--controllers=*,-root-ca-certificate-publisher-controller"]).await;
    create(&running, DEFINITIONS, widgets(json!({"type": "string"}))).await;
    let admin = running.place.client(Protocol::Http2);
    running.until(async || admin.get("/apis/example.com/v1/widgets").await?.ok()).await;
    let widget =
        json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"size": "vast"}});
    create(&running, "/apis/example.com/v1/namespaces/n/widgets", widget).await;
    let path = format!("{DEFINITIONS}/widgets.example.com");
    let tight = widgets(json!({"type": "string", "enum": ["small", "large"]}));
    running.admin.merge(&path, &json!({"spec": {"versions": tight["spec"]["versions"]}})).await.unwrap().expect(200);
    running
        .until(async || match admin.get(&format!("{path}/invalidobjects")).await?.json()["items"][0].is_object() {
            true => Ok(()),
            false => Err("not yet".into()),
        })
        .await;
    create(&running, MAPS, json!({"metadata": {"name": "c"}})).await;
    door.put("/registry/configmaps/n/c", b"this is not an object").await;
    running.admin.get(&format!("{MAPS}/c")).await.unwrap().expect(500);
    check_tree(&running, "widget/w", 0, WIDGET);
    check_tree(&running, "cm/c", 2, UNREADABLE);
    assert_eq!(resolve(&mut running, "widget/w", "s/vast/small/").await.len(), 2);
    check_tree(&running, "widget/w", 0, "widget.example.com/w in n: nothing keeps it\n");
    running.admin.get(&format!("{MAPS}/c")).await.unwrap().expect(404);
    // And the object itself.
    create(&running, MAPS, json!({"metadata": {"name": "d"}})).await;
    door.put("/registry/configmaps/n/d", b"nor is this").await;
    running.admin.get(&format!("{MAPS}/d")).await.unwrap().expect(500);
    let said = run(&running, "kubectl pawl purge configmap/d -n n", "d\n", "");
    assert_eq!(said.code, 0, "{said:?}");
    running.admin.get(&format!("{MAPS}/d")).await.unwrap().expect(404);
    running.stop().await;
}

const WIDGET: &str = "widget.example.com/w in n: nothing keeps it
├─ neighbours that cannot be read
│  └─ ○ configmap/c
│         not decodable: lists of configmaps fail
│         $ kubectl pawl purge configmap/c -n n
├─ invalid under today's schema
│  └─ ○ widget.example.com/w
│         spec.size: Unsupported value: \"vast\": supported values: \"small\", \"large\"
│         $ kubectl edit widget.example.com/w -n n
└─ what could not be found out
   └─ configmaps: the server answers 500: failed to read one or more configmaps from the storage: /registry/configmaps/n/c
";
const UNREADABLE: &str = "configmap/c in n: it is kept
└─ it cannot be read
   └─ ● the server answers 500: Internal error occurred: StorageError: corrupt object, Code: 7, Key: /configmaps/n/c, ResourceVersion: 0, AdditionalErrorMsg: object not decodable revision=T: illegal base64 data at input byte 4
          restore its key, or remove it unread
          $ kubectl pawl purge configmap/c -n n
";
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

/// On a server that is not Pawl every command does what it can, and says what is missing.
#[tokio::test(flavor = "multi_thread")]
async fn on_another_server_what_is_missing_is_said() {
    let mut running = Running::start(&["--disable-admission-plugins=ServiceAccount"], &[]).await;
    create(&running, DEFINITIONS, widgets(json!({"type": "string"}))).await;
    let admin = running.place.client(Protocol::Http2);
    running.until(async || admin.get("/apis/example.com/v1/widgets").await?.ok()).await;
    let widget =
        json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"size": "vast"}});
    create(&running, "/apis/example.com/v1/namespaces/n/widgets", widget).await;
    let made = create(&running, SECRETS, json!({"metadata": {"name": "db", "finalizers": ["a.b/c"]}})).await;
    let owner = json!([{"apiVersion": "v1", "kind": "Secret", "name": "db", "uid": made["metadata"]["uid"], "blockOwnerDeletion": true}]);
    create(&running, MAPS, json!({"metadata": {"name": "derived", "ownerReferences": owner}})).await;
    let elsewhere = Elsewhere::before(&running).await;
    let ask = |arguments: &[&str]| {
        let mut command = pawl_testing::pawl();
        command.args(arguments).args(["-n", "n"]).env("KUBECONFIG", &elsewhere.kubeconfig);
        finish(command, "")
    };
    let said = ask(&["why", "secret/db"]).ended(2);
    let said = said.has("● a.b/c").has("○ configmap/derived").has("what could not be found out");
    said.has("who uses it: this server does not say (Pawl does, by usedby)")
        .has("what cannot be read: this server does not say (Pawl does, by unreadableobjects)");
    ask(&["why", "widget/w"])
        .ended(0)
        .has("what the schema refuses: this server does not say (Pawl does, by invalidobjects)");
    ask(&["why", "ns/n"]).ended(2).has("● secret/db").has("finalizer a.b/c");
    let said = ask(&["history", "secret/db"]).ended(0).told("this server tells no history (Pawl does)");
    said.has("tester (Update)");
    let found = ask(&["history", "secret/db", "-o", "json"]).ended(0).json();
    assert_eq!(found["writers"][0]["manager"], "tester");
    ask(&["lien", "add", "secret/db", "a.b/c"]).ended(1).told("the server has no liens: it dropped the field");
    ask(&["liens"]).ended(0).has("no liens");
    for arguments in [&["unreadable"][..], &["quarantine", "list"]] {
        ask(arguments).ended(1).told("it is not Pawl");
    }
    ask(&["quarantine", "restore", "x"]).ended(1).told("it is not Pawl");
    ask(&["invalid"]).ended(1).told("it is not Pawl");
    ask(&["purge", "secret/db"]).ended(1).told("can be read: kubectl delete secret/db -n n");
    ask(&["release-liens", "--controller=secret-protection"]).ended(0).has("0 of");
    ask(&["delete", "cm/derived"]).ended(0).has("deleted");
    running.admin.get(&format!("{MAPS}/derived")).await.unwrap().expect(404);
    let hidden = elsewhere.hidden();
    for path in ["/usedby", "/history", "/invalidobjects", "/apis/storage.pawl.dev/v1/unreadableobjects"] {
        assert!(hidden.iter().any(|asked| asked.ends_with(path)), "nobody asked for {path}: {hidden:?}");
    }
    running.stop().await;
}
