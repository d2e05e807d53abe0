//! What a patch may say, and what it may not make of an object.

use pawl_meta::Status;
use pawl_registry::{FieldValidation, PatchKind, PatchRequest};
use serde_json::{Value, json};

use crate::stage::{Stage, context};

async fn patch(stage: &Stage, kind: PatchKind, body: &str) -> Result<(Value, Vec<String>), Status> {
    let maps = stage.served("", "v1", "configmaps");
    let request = PatchRequest {
        namespace: "n",
        name: "c",
        subresource: "",
        kind,
        body: body.as_bytes(),
        validation: FieldValidation::Warn,
        force: false,
        create_refused: None,
    };
    let cx = context();
    stage.registry.patch(&cx, &maps, request).await?;
    Ok((stage.get(&maps, "c").await?, cx.take_warnings()))
}

async fn stage() -> Stage {
    let stage = Stage::open().await;
    let maps = stage.served("", "v1", "configmaps");
    stage.create(&maps, json!({"metadata": {"name": "c"}, "data": {"a": "1"}})).await.unwrap();
    stage
}

#[track_caller]
fn refused(result: Result<(Value, Vec<String>), Status>, code: u16, end: &str) {
    let status = result.unwrap_err();
    assert!(status.code == code && status.message.ends_with(end), "{} {}", status.code, status.message);
}

#[tokio::test]
async fn an_object_stays_what_it_is() {
    let stage = stage().await;
    let unregistered = "in scheme \"pkg/api/legacyscheme/scheme.go:30\"";
    for (body, end) in [
        (r#"{"kind":"NetworkPolicy"}"#, unregistered),
        (r#"{"apiVersion":"example.com/v1"}"#, unregistered),
        (r#"{"kind":"Pod","data":null}"#, "converting (v1.Pod) to (core.ConfigMap): unknown conversion"),
        (r#"{"apiVersion":"a/b/c"}"#, "unexpected GroupVersion string: a/b/c"),
    ] {
        refused(patch(&stage, PatchKind::Merge, body).await, 422, end);
        let (object, _) = patch(&stage, PatchKind::Strategic, body).await.unwrap();
        assert_eq!((&object["kind"], &object["apiVersion"]), (&json!("ConfigMap"), &json!("v1")), "{body}");
    }
    let (object, _) = patch(&stage, PatchKind::Merge, r#"{"kind":null}"#).await.unwrap();
    assert_eq!(object["kind"], "ConfigMap");
    refused(patch(&stage, PatchKind::Merge, r#"{"apiVersion":null}"#).await, 400, "name must be provided");
}

#[tokio::test]
async fn an_applied_object_has_the_name_of_its_url() {
    let stage = Stage::open().await;
    let other = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"other"}}"#;
    refused(patch(&stage, PatchKind::Apply, other).await, 400, "(other) does not match the name on the URL (c)");
    let maps = stage.served("", "v1", "configmaps");
    assert!(stage.names(&maps).is_empty());
    let unnamed = r#"{"apiVersion":"v1","kind":"ConfigMap"}"#;
    refused(patch(&stage, PatchKind::Apply, unnamed).await, 400, "name must be provided");
}

#[tokio::test]
async fn the_fields_of_a_json_patch_are_validated_too() {
    let stage = stage().await;
    let body = r#"[{"op":"add","op":"replace","path":"/data/a","value":"2","vlaue":"3"}]"#;
    let (object, warnings) = patch(&stage, PatchKind::Json, body).await.unwrap();
    assert_eq!(object["data"]["a"], "2");
    assert_eq!(warnings, ["json patch duplicate field \"[0].op\"", "json patch unknown field \"[0].vlaue\""]);
}

#[tokio::test]
async fn a_strategic_patch_is_converted_and_not_decoded() {
    let stage = stage().await;
    for (body, why) in [
        (r#"{"data":[]}"#, "cannot restore map from slice"),
        (r#"{"metadata":"x"}"#, "cannot restore struct from: string"),
        (r#"{"data":{"a":1}}"#, "cannot convert int64 to string"),
        (r#"{"immutable":"yes"}"#, "unrecognized type: bool"),
        (r#"{"metadata":{"finalizers":{}}}"#, "cannot restore slice from map"),
    ] {
        refused(patch(&stage, PatchKind::Strategic, body).await, 422, why);
    }
}

/// What each kind of patch makes of a number that is written in one of many ways.
#[tokio::test]
async fn numbers_are_taken_where_upstream_takes_them() {
    let stage = Stage::open().await;
    let deployments = stage.served("apps", "v1", "deployments");
    let template = json!({"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    let spec = json!({"replicas": 7, "selector": {"matchLabels": {"a": "b"}}, "template": template});
    stage.create(&deployments, json!({"metadata": {"name": "c"}, "spec": spec})).await.unwrap();
    let patch = async |kind, number: &str| {
        let body = match kind {
            PatchKind::Json => format!(r#"[{{"op":"add","path":"/spec/replicas","value":{number}}}]"#),
            PatchKind::Apply => format!(
                r#"{{"apiVersion":"apps/v1","kind":"Deployment","metadata":{{"name":"c"}},"spec":{{"replicas":{number}}}}}"#
            ),
            _ => format!(r#"{{"spec":{{"replicas":{number}}}}}"#),
        };
        let request = PatchRequest {
            namespace: "n",
            name: "c",
            subresource: "",
            kind,
            body: body.as_bytes(),
            validation: FieldValidation::Warn,
            force: true,
            create_refused: None,
        };
        stage.registry.patch(&context(), &deployments, request).await?;
        Ok::<_, Status>(stage.get(&deployments, "c").await?["spec"]["replicas"].clone())
    };
    for kind in [PatchKind::Strategic, PatchKind::Apply] {
        for (number, value) in [("1.0", 1), ("1e3", 1000), ("-0", 0), ("10e-1", 1), ("-0.0", 0)] {
            assert_eq!(patch(kind, number).await.unwrap(), value, "{kind:?} {number}");
        }
        for number in ["3000000000", "1e10", "9223372036854775808"] {
            assert!(patch(kind, number).await.is_err(), "{kind:?} {number}");
        }
    }
    let status = patch(PatchKind::Apply, "1.5").await.unwrap_err();
    let end = "unable to convert unstructured object to apps/v1, Kind=Deployment: cannot convert float64 to int32";
    assert_eq!(
        status.message,
        format!("failed to convert new object (/c; apps/v1, Kind=Deployment) to proper version: {end}")
    );
    for kind in [PatchKind::Merge, PatchKind::Json] {
        assert_eq!(patch(kind, "-0").await.unwrap(), 0);
        for number in ["1.0", "1e3", "10e-1", "-0.0"] {
            let status = patch(kind, number).await.unwrap_err();
            let why = format!("cannot unmarshal number {number} into Go struct field DeploymentSpec.spec.replicas");
            assert!(status.message.contains(&why), "{kind:?} {}", status.message);
        }
    }
    for (kind, end) in [
        (
            PatchKind::Json,
            "error decoding patch: json: cannot unmarshal number 1e400 into Go struct field jsonPatchOp.value of type float64",
        ),
        (PatchKind::Merge, "error decoding patch: json: cannot unmarshal number 1e400 into Go value of type float64"),
        (PatchKind::Strategic, "json: cannot unmarshal number 1e400 into Go value of type float64"),
    ] {
        assert_eq!(patch(kind, "1e400").await.unwrap_err().message, end);
    }
}

#[tokio::test]
async fn a_kind_in_other_letters_counts_too() {
    let stage = Stage::open().await;
    let maps = stage.served("", "v1", "configmaps");
    let conversion = |kind: &str| format!("converting (v1.{kind}) to (core.ConfigMap): unknown conversion");
    for (body, end) in [
        (r#"{"KIND":"Secret","metadata":{"name":"k"}}"#, conversion("Secret")),
        (r#"{"kind":"ConfigMap","Kind":"Secret","metadata":{"name":"k"}}"#, conversion("Secret")),
        (r#"{"kind":"ConfigMapList","metadata":{"name":"k"}}"#, conversion("ConfigMapList")),
    ] {
        let sent = pawl_registry::Sent::json(body.as_bytes(), FieldValidation::Ignore);
        let status = stage.registry.decode(&context(), &maps, sent).unwrap_err();
        assert!(status.message.ends_with(&end), "{}", status.message);
    }
    let sent = pawl_registry::Sent::json(br#"{"Kind":"ConfigMap","metadata":{"name":"k"}}"#, FieldValidation::Ignore);
    assert!(stage.registry.decode(&context(), &maps, sent).is_ok());
}

/// A write that only takes away what the server puts back, a second later, is none.
#[tokio::test]
async fn what_the_server_puts_back_is_no_change() {
    let stage = Stage::open().await;
    let sets = stage.served("apps", "v1", "daemonsets");
    let template = json!({"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    let spec = json!({"selector": {"matchLabels": {"a": "b"}}, "template": template});
    let sent = json!({"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "d"}, "spec": spec});
    let made = stage.create(&sets, sent.clone()).await.unwrap();
    tokio::time::sleep(std::time::Duration::from_millis(1100)).await;
    let put = async |subresource: &str| {
        let body = sent.to_string();
        let sent = pawl_registry::Sent::json(body.as_bytes(), FieldValidation::Strict);
        let request =
            pawl_registry::UpdateRequest::new(("n", "d"), subresource, pawl_registry::Mutation::replace(sent));
        stage.registry.update(&context(), &sets, request).await.map(drop).unwrap();
        stage.get(&sets, "d").await.unwrap()
    };
    let version = |object: &Value| object["metadata"]["resourceVersion"].clone();
    assert_eq!(version(&put("").await), version(&made));
    let generation = &put("status").await["metadata"]["annotations"]["deprecated.daemonset.template.generation"];
    assert_eq!(generation, "1");
}

#[tokio::test]
async fn a_former_version_has_its_defaults() {
    let stage = Stage::open().await;
    let deployments = stage.served("apps", "v1", "deployments");
    let template = json!({"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    let spec = json!({"selector": {"matchLabels": {"a": "b"}}, "template": template});
    stage.create(&deployments, json!({"metadata": {"name": "d"}, "spec": spec})).await.unwrap();
    let patched = stage.merge(&deployments, "d", "", json!({"metadata": {"selfLink": "/x"}})).await.unwrap();
    assert_eq!((&patched["metadata"]["selfLink"], &patched["metadata"]["labels"]), (&Value::Null, &Value::Null));
    let patched = stage.merge(&deployments, "d", "", json!({"apiVersion": "apps/v1beta1"})).await.unwrap();
    assert_eq!((&patched["apiVersion"], &patched["metadata"]["labels"]), (&json!("apps/v1"), &json!({"a": "b"})));
}
