//! Who was approved gets a certificate from the server's own CA, and is let in with it.

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use pawl_testing::signing::{CLIENT, REQUESTS, approval, approve, ask, object, request, status};
use pawl_testing::{Protocol, Running};
use serde_json::json;

#[tokio::test(flavor = "multi_thread")]
async fn an_approved_request_is_signed() {
    let mut running = Running::start(&[], &[]).await;
    let key = ask(&running.admin, "ann", CLIENT, "client auth").await;
    ask(&running.admin, "server", CLIENT, "server auth").await;
    ask(&running.admin, "elsewhere", "example.com/own", "client auth").await;
    ask(&running.admin, "unseen", CLIENT, "client auth").await;
    for name in ["elsewhere", "server", "ann"] {
        approve(&running.admin, name).await.expect(200);
    }
    let admin = running.place.client(Protocol::Http2);
    let answered = async || {
        let both = (status(&admin, "ann").await, status(&admin, "server").await);
        match both.0["certificate"].is_string() && both.1["conditions"][1].is_object() {
            true => Ok(()),
            false => Err(format!("{both:?}").into()),
        }
    };
    running.until(answered).await;

    let certificate = status(&admin, "ann").await["certificate"].as_str().unwrap().to_owned();
    let certificate = String::from_utf8(BASE64.decode(certificate).unwrap()).unwrap();
    let ann = running.place.shown(Protocol::Http2, Some((certificate, key.serialize_pem())));
    let review = ann.post("/apis/authentication.k8s.io/v1/selfsubjectreviews", &json!({})).await.unwrap().expect(201);
    let user = &review["status"]["userInfo"];
    assert_eq!(user["username"], "ann");
    assert_eq!(user["groups"], json!(["builders", "system:authenticated"]));
    assert!(user["uid"].is_null(), "{user}");
    assert_eq!(ann.get("/api/v1/secrets").await.unwrap().code, 403);

    let refused = status(&admin, "server").await;
    assert!(refused["certificate"].is_null(), "{refused}");
    let failure = &refused["conditions"][1];
    assert_eq!((&failure["type"], &failure["status"]), (&json!("Failed"), &json!("True")));
    assert_eq!(failure["reason"], "SignerValidationFailure");
    assert_eq!(failure["message"], "invalid usage for client certificate: server auth");
    assert!(failure["lastUpdateTime"].is_string() && failure["lastTransitionTime"].is_string(), "{failure}");

    // Other signers answer for themselves, and what nobody approved stays.
    assert!(status(&admin, "elsewhere").await["certificate"].is_null());
    assert_eq!(status(&admin, "unseen").await, json!({}));
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_without_the_controller_signs_nothing() {
    let mut running = Running::start(&["--controllers=*,-csrsigning"], &[]).await;
    ask(&running.admin, "ann", CLIENT, "client auth").await;
    approve(&running.admin, "ann").await.expect(200);
    // Another controller has seen what came later.
    running.admin.post("/api/v1/namespaces", &json!({"metadata": {"name": "later"}})).await.unwrap().expect(201);
    let admin = running.place.client(Protocol::Http2);
    running.until(async || admin.get("/api/v1/namespaces/later/serviceaccounts/default").await?.ok()).await;
    assert!(status(&admin, "ann").await["certificate"].is_null());
    // It is signed as soon as somebody does.
    let mut running = running.restart(&[]).await;
    let admin = running.place.client(Protocol::Http2);
    let signed = async || match status(&admin, "ann").await["certificate"].is_string() {
        true => Ok(()),
        false => Err("it is not signed".into()),
    };
    running.until(signed).await;
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_signed_by_its_own_key_is_refused() {
    let mut running = Running::start(&[], &[]).await;
    let (mut request, _) = request();
    let name = request.windows(3).position(|bytes| bytes == b"ann").unwrap();
    request[name..name + 3].copy_from_slice(b"bob");
    running.admin.post(REQUESTS, &object("bob", (CLIENT, "client auth"), &request)).await.unwrap().expect(201);
    approve(&running.admin, "bob").await.expect(200);
    let admin = running.place.client(Protocol::Http2);
    let failed = async || match status(&admin, "bob").await["conditions"][1]["message"].as_str() {
        Some("the request is not signed by its own key") => Ok(()),
        other => Err(format!("{other:?}").into()),
    };
    running.until(failed).await;
    assert!(status(&admin, "bob").await["certificate"].is_null());
    running.stop().await;
}

/// He may ask, change what he asked for and write its status, and nothing more.
#[tokio::test(flavor = "multi_thread")]
async fn nobody_approves_himself_or_changes_what_was_approved() {
    let mut running = Running::start(&["--controllers=*,-csrsigning"], &["mallory"]).await;
    let group = "rbac.authorization.k8s.io";
    let rules = json!([{"apiGroups": ["certificates.k8s.io"], "verbs": ["create", "get", "update"],
        "resources": ["certificatesigningrequests", "certificatesigningrequests/status", "certificatesigningrequests/approval"]}]);
    let role = json!({"metadata": {"name": "asking"}, "rules": rules});
    running.admin.post(&format!("/apis/{group}/v1/clusterroles"), &role).await.unwrap().expect(201);
    let binding = json!({"metadata": {"name": "asking"}, "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "asking"},
        "subjects": [{"apiGroup": group, "kind": "User", "name": "mallory"}]});
    running.admin.post(&format!("/apis/{group}/v1/clusterrolebindings"), &binding).await.unwrap().expect(201);
    let mallory = running.user("mallory");
    let (honest, _) = request();
    let mut asked = object("his", (CLIENT, "client auth"), &honest);
    // What he says of its status, and of who asks, is not heard.
    asked["status"] = approval();
    asked["status"]["certificate"] = json!("Zm9v");
    asked["spec"]["username"] = json!("system:admin");
    let may = async || match mallory.get(&format!("{REQUESTS}/none")).await?.code {
        404 => Ok(()),
        code => Err(format!("{code}").into()),
    };
    running.until(may).await;
    let made = mallory.post(REQUESTS, &asked).await.unwrap().expect(201);
    assert_eq!((&made["status"], &made["spec"]["username"]), (&json!({}), &json!("mallory")));
    // Through no door.
    assert_eq!(approve(&mallory, "his").await.code, 403);
    let mut wanted = made.clone();
    wanted["status"] = approval();
    let refused = mallory.put(&format!("{REQUESTS}/his/status"), &wanted).await.unwrap();
    assert!(refused.code == 403 || refused.code == 422, "{refused:?}");
    mallory.put(&format!("{REQUESTS}/his"), &wanted).await.unwrap().expect(200);
    assert_eq!(status(&running.admin, "his").await, json!({}));
    // What was approved is what is signed.
    approve(&running.admin, "his").await.expect(200);
    let (other, _) = request();
    let mut exchanged = running.admin.get(&format!("{REQUESTS}/his")).await.unwrap().expect(200);
    let spec = exchanged["spec"].clone();
    exchanged["spec"] = object("his", ("kubernetes.io/kubelet-serving", "server auth"), &other)["spec"].clone();
    for place in ["his", "his/status"] {
        let _ = mallory.put(&format!("{REQUESTS}/{place}"), &exchanged).await.unwrap();
        let stored = running.admin.get(&format!("{REQUESTS}/his")).await.unwrap().expect(200);
        assert_eq!(stored["spec"], spec, "{place}");
    }
    // The signer without a rule is for what older servers stored.
    let legacy = object("legacy", ("kubernetes.io/legacy-unknown", "client auth"), &honest);
    assert_eq!(mallory.post(REQUESTS, &legacy).await.unwrap().code, 422);
    running.stop().await;
}
