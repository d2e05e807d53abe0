use super::*;
use crate::fake::{Request, Stored};

const PATH: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

fn account(name: &str, rest: Value) -> Value {
    let mut account = json!({"metadata": {"name": name, "namespace": "ns"}});
    account.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
    account
}

fn with(account: Value) -> Stored {
    Stored::default().with("", "serviceaccounts", account)
}

fn create() -> Request {
    Request::create("", "pods")
}

fn refused(why: &str) -> String {
    format!("pods \"n\" is forbidden: {why}")
}

/// The pod's spec after the plugin, with the name of the token volume made steady.
fn mutated(stored: &Stored, pod: Value) -> Result<Value, String> {
    let pod = create().mutate(&ServiceAccount, pod, stored)?;
    let text = pod["spec"].to_string();
    let Some((_, rest)) = text.split_once("kube-api-access-") else { return Ok(pod["spec"].clone()) };
    let suffix: String = rest.chars().take_while(|c| *c != '"').collect();
    assert_eq!(suffix.len(), 5, "{suffix}");
    Ok(serde_json::from_str(&text.replace(&suffix, "xxxxx")).unwrap())
}

fn token_mount() -> Value {
    json!({"name": "kube-api-access-xxxxx", "readOnly": true, "mountPath": PATH})
}

#[test]
fn a_pod_gets_the_default_account_and_its_token() {
    let stored = with(account("default", json!({})));
    let own = json!({"name": "own", "mountPath": "/own"});
    let pod = json!({"spec": {
        "initContainers": [{"name": "i"}],
        "containers": [{"name": "c", "volumeMounts": [own]}],
        "volumes": [{"name": "own"}],
    }});
    let sources = json!([
        {"serviceAccountToken": {"path": "token", "expirationSeconds": 3607}},
        {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
        {"downwardAPI": {"items": [
            {"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}
        ]}},
    ]);
    let volume = json!({"name": "kube-api-access-xxxxx", "projected": {"defaultMode": 420, "sources": sources}});
    let expect = json!({
        "serviceAccountName": "default",
        "serviceAccount": "default",
        "initContainers": [{"name": "i", "volumeMounts": [token_mount()]}],
        "containers": [{"name": "c", "volumeMounts": [own, token_mount()]}],
        "volumes": [{"name": "own"}, volume],
    });
    assert_eq!(mutated(&stored, pod), Ok(expect));
}

#[test]
fn the_token_is_mounted_where_it_is_wanted() {
    let check = |account_says: Value, pod_says: Value, expect: bool| {
        let stored = with(account("default", json!({"automountServiceAccountToken": account_says})));
        let pod = json!({"spec": {"automountServiceAccountToken": pod_says, "containers": [{"name": "c"}]}});
        let spec = mutated(&stored, pod).unwrap();
        assert_eq!(spec.get("volumes").is_some(), expect, "{account_says} {pod_says}");
        assert_eq!(spec["containers"][0].get("volumeMounts").is_some(), expect);
    };
    check(json!(null), json!(null), true);
    check(json!(false), json!(null), false);
    check(json!(false), json!(true), true);
    check(json!(true), json!(false), false);

    let stored = with(account("default", json!({})));
    let taken = json!([{"name": "c", "volumeMounts": [{"name": "own", "mountPath": PATH}]}]);
    let spec = mutated(&stored, json!({"spec": {"containers": taken}})).unwrap();
    assert_eq!(spec["containers"], taken);
    assert_eq!(spec.get("volumes"), None);

    let volumes = json!([{"name": "kube-api-access-xxxxx"}]);
    let spec = mutated(&stored, json!({"spec": {"containers": [{"name": "c"}], "volumes": volumes}})).unwrap();
    assert_eq!(spec["volumes"], volumes);
    assert_eq!(spec["containers"][0]["volumeMounts"], json!([token_mount()]));
}

#[test]
fn pull_secrets_come_from_the_account() {
    let stored = with(account("a", json!({"imagePullSecrets": [{"name": "p"}, {"name": "q"}]})));
    let check = |given: Value, expect: Value| {
        let spec = json!({"serviceAccountName": "a", "imagePullSecrets": given});
        assert_eq!(mutated(&stored, json!({"spec": spec})).unwrap()["imagePullSecrets"], expect);
    };
    check(json!([]), json!([{"name": "p"}, {"name": "q"}]));
    check(json!([{"name": "own"}]), json!([{"name": "own"}]));
}

#[test]
fn the_account_must_exist() {
    let check = |stored: &Stored, name: &str, expect: Result<(), &str>| {
        let result = create().mutate(&ServiceAccount, json!({"spec": {"serviceAccountName": name}}), stored);
        assert_eq!(result.map(|_| ()), expect.map_err(refused));
    };
    let late = |name: &str| Stored::default().with_fresh("", "serviceaccounts", account(name, json!({})));
    check(&late("default"), "", Ok(()));
    check(&late("a"), "a", Ok(()));
    check(
        &Stored::default(),
        "",
        Err("error looking up service account ns/default: serviceaccount \"default\" not found"),
    );
    check(&late("b"), "a", Err("error looking up service account ns/a: serviceaccount \"a\" not found"));
    let generated = Request { name: "", ..create() };
    let pod = json!({"metadata": {"generateName": "g-"}, "spec": {}});
    assert_eq!(
        generated.mutate(&ServiceAccount, pod, &Stored::default()).unwrap_err(),
        "pods \"g-\" is forbidden: error looking up service account ns/default: serviceaccount \"default\" not found"
    );
    let bare = json!({"metadata": {"name": "n"}, "spec": {}});
    assert_eq!(
        create().validate(&ServiceAccount, bare, &Stored::default()),
        Err(refused("no service account specified for pod ns/n"))
    );
}

#[test]
fn mirror_pods_use_nothing_of_the_api() {
    let check = |spec: Value, expect: Result<(), &str>| {
        let pod = json!({"metadata": {"annotations": {MIRROR: "x"}}, "spec": spec});
        let result = create().mutate(&ServiceAccount, pod.clone(), &Stored::default());
        assert_eq!(result, expect.map(|()| pod.clone()).map_err(refused));
        assert_eq!(create().validate(&ServiceAccount, pod, &Stored::default()), expect.map_err(refused));
    };
    let secrets = Err("a mirror pod may not reference secrets");
    check(json!({"containers": [{"name": "c"}]}), Ok(()));
    check(json!({"serviceAccountName": "a"}), Err("a mirror pod may not reference service accounts"));
    check(json!({"imagePullSecrets": [{"name": "s"}]}), secrets);
    check(json!({"imagePullSecrets": [{"name": ""}]}), Ok(()));
    check(json!({"containers": [{"envFrom": [{"secretRef": {"name": "s"}}]}]}), secrets);
    check(json!({"initContainers": [{"env": [{"name": "E", "valueFrom": {"secretKeyRef": {"name": "s"}}}]}]}), secrets);
    for volume in [
        json!({"secret": {"secretName": "s"}}),
        json!({"azureFile": {"secretName": "s"}}),
        json!({"csi": {"nodePublishSecretRef": {"name": "s"}}}),
        json!({"rbd": {"secretRef": {"name": "s"}}}),
        json!({"projected": {"sources": [{"secret": {"name": "s"}}]}}),
    ] {
        check(json!({"volumes": [volume]}), secrets);
    }
    check(
        json!({"volumes": [{"projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}}]}),
        Err("a mirror pod may not use ServiceAccountToken volume projections"),
    );
}

fn limiting(enforce: &str) -> Stored {
    with(json!({
        "metadata": {"name": "a", "namespace": "ns", "annotations": {ENFORCE_MOUNTABLE: enforce}},
        "secrets": [{"name": "s"}],
        "imagePullSecrets": [{"name": "p"}],
    }))
}

#[test]
fn an_account_can_limit_its_pods_to_its_secrets() {
    let check = |enforce: &str, spec: Value, expect: Result<(), &str>| {
        let mut pod = json!({"spec": spec});
        pod["spec"]["serviceAccountName"] = json!("a");
        let result = create().validate(&ServiceAccount, pod, &limiting(enforce));
        assert_eq!(result, expect.map_err(refused));
    };
    let volume = |name: &str| json!({"volumes": [{"name": "v", "secret": {"secretName": name}}]});
    let variable = |name: &str| json!({"name": "E", "valueFrom": {"secretKeyRef": {"name": name}}});
    check("true", volume("s"), Ok(()));
    check("false", volume("t"), Ok(()));
    check("yes", volume("t"), Ok(()));
    check(
        "1",
        volume("t"),
        Err("volume with secret.secretName=\"t\" is not allowed because service account a does not reference that \
             secret"),
    );
    check("true", json!({"containers": [{"name": "c", "env": [variable("s")]}]}), Ok(()));
    check(
        "true",
        json!({"initContainers": [{"name": "c", "env": [variable("t")]}]}),
        Err(
            "init container c with envVar E referencing secret.secretName=\"t\" is not allowed because service account \
             a does not reference that secret",
        ),
    );
    check(
        "true",
        json!({"containers": [{"name": "c", "envFrom": [{"secretRef": {"name": "t"}}]}]}),
        Err(
            "container c with envFrom referencing secret.secretName=\"t\" is not allowed because service account a does \
             not reference that secret",
        ),
    );
    check("true", json!({"imagePullSecrets": [{"name": "p"}]}), Ok(()));
    check(
        "true",
        json!({"imagePullSecrets": [{"name": "p"}, {"name": "q"}]}),
        Err("imagePullSecrets[1].name=\"q\" is not allowed because service account a does not reference that \
             imagePullSecret"),
    );
}

#[test]
fn ephemeral_containers_are_limited_too() {
    let check = |account: &str, enforce: &str, expect: Result<(), &str>| {
        let container = json!({"name": "c", "envFrom": [{"secretRef": {"name": "t"}}]});
        let pod = json!({"spec": {"serviceAccountName": account, "ephemeralContainers": [container]}});
        let request = Request { subresource: "ephemeralcontainers", ..Request::update("", "pods", json!({})) };
        assert_eq!(request.validate(&ServiceAccount, pod, &limiting(enforce)), expect.map_err(str::to_owned));
    };
    check("a", "false", Ok(()));
    check(
        "a",
        "true",
        Err("ephemeral container c with envFrom referencing secret.secretName=\"t\" is not allowed because service \
             account a does not reference that secret"),
    );
    check(
        "b",
        "true",
        Err("pods \"n\" is forbidden: error looking up service account ns/b: serviceaccount \"b\" not found"),
    );
}

#[test]
fn pods_that_exist_and_subresources_are_left_alone() {
    let pod = json!({"spec": {"serviceAccountName": "gone"}});
    for request in [
        Request::update("", "pods", json!({})),
        Request { subresource: "binding", ..create() },
        Request { subresource: "status", ..Request::update("", "pods", json!({})) },
        Request::create("", "replicationcontrollers"),
    ] {
        assert_eq!(request.mutate(&ServiceAccount, pod.clone(), &Stored::default()), Ok(pod.clone()));
        assert_eq!(request.validate(&ServiceAccount, pod.clone(), &Stored::default()), Ok(()));
    }
}
