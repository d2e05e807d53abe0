//! Random patches on random objects: no panic, and what is stored afterwards is what its schema and its rules allow.

use pawl_registry::{FieldValidation, Mutation, PatchKind, PatchRequest, Sent, Served, UpdateRequest};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use crate::decoders::served;
use crate::fuzz::{campaign, damaged, objects, part};
use crate::stage::{Stage, context};

fn pointers(value: &Value, at: &str, found: &mut Vec<String>) {
    found.push(at.to_owned());
    match value {
        Value::Object(object) => {
            object
                .iter()
                .for_each(|(name, value)| pointers(value, &format!("{at}/{}", name.replace('/', "~1")), found));
        }
        Value::Array(items) => {
            found.push(format!("{at}/-"));
            items.iter().enumerate().for_each(|(i, item)| pointers(item, &format!("{at}/{i}"), found));
        }
        _ => {}
    }
}

fn operations() -> impl Strategy<Value = Value> {
    let mut places = Vec::new();
    objects().iter().for_each(|object| pointers(object, "", &mut places));
    let place = select(places);
    let op = select(&["add", "remove", "replace", "move", "copy", "test"][..]);
    let one = (op, place.clone(), place, part())
        .prop_map(|(op, path, from, value)| json!({"op": op, "path": path, "from": from, "value": value}));
    prop::collection::vec(one, 0..5).prop_map(Value::from)
}

/// An object that says what it is, as apply wants it.
fn intents() -> impl Strategy<Value = Value> {
    (select(objects()), part(), select(&["spec", "metadata", "data", "status", "x"][..])).prop_map(
        |(object, part, at)| {
            let mut intent =
                json!({"apiVersion": object["apiVersion"], "kind": object["kind"], "metadata": {"name": "x"}});
            intent[at] = part;
            intent
        },
    )
}

/// A patch and its kind.
fn patches() -> impl Strategy<Value = (PatchKind, Vec<u8>)> {
    let wrapped = (select(&["spec", "metadata", "data"][..]), part()).prop_map(|(at, part)| json!({at: part}));
    let document = prop_oneof![part(), wrapped].prop_map(|value| value.to_string().into_bytes());
    let merge = select(&[PatchKind::Merge, PatchKind::Strategic][..]);
    let seeds = objects().iter().map(|object| object.to_string().into_bytes()).collect();
    let any_kind = select(&[PatchKind::Json, PatchKind::Merge, PatchKind::Strategic, PatchKind::Apply][..]);
    prop_oneof![
        3 => (merge, document),
        2 => operations().prop_map(|value| (PatchKind::Json, value.to_string().into_bytes())),
        2 => intents().prop_map(|value| (PatchKind::Apply, value.to_string().into_bytes())),
        1 => (any_kind, damaged(seeds)),
    ]
}

async fn patch(stage: &Stage, kind: &Served, name: &str, (patch, body): &(PatchKind, Vec<u8>), force: bool) {
    let request = PatchRequest {
        namespace: "n",
        name,
        subresource: "",
        kind: *patch,
        body,
        validation: FieldValidation::Ignore,
        force,
        create_refused: None,
    };
    if let Err(status) = stage.registry.patch(&context(), kind, request).await {
        // Upstream has no reason for some refusals of patches, and answers them with 500.
        let is_plain = status.code == 500 && status.reason.is_empty();
        assert!((400..500).contains(&status.code) || is_plain, "{}: {}", status.code, status.message);
    }
}

/// Sends back what is stored. Its schema and its rules must take it as it is.
async fn send_back(stage: &Stage, kind: &Served, name: &str) {
    let Ok(stored) = stage.get(kind, name).await else { return };
    let (cx, body) = (context(), stored.to_string());
    let change = Mutation::replace(Sent::json(body.as_bytes(), FieldValidation::Strict));
    let request = UpdateRequest::new(("n", name), "", change);
    let updated = stage.registry.update(&cx, kind, request).await;
    assert!(updated.is_ok(), "{}\n{body}", updated.err().unwrap().message);
}

#[test]
fn what_patches_leave_behind_is_valid() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let stage = runtime.block_on(Stage::open());
    let next = std::sync::atomic::AtomicUsize::new(0);
    let cases = (select(objects()), prop::collection::vec((patches(), any::<bool>()), 1..6));
    campaign(cases, |(mut object, patches)| {
        let name = format!("x{}", next.fetch_add(1, std::sync::atomic::Ordering::Relaxed));
        object["metadata"]["name"] = json!(name);
        let kind = served(&stage, &object);
        runtime.block_on(async {
            stage.create(&kind, object).await.map_err(|status| status.message).unwrap();
            for (patch_sent, force) in &patches {
                patch(&stage, &kind, &name, patch_sent, *force).await;
                send_back(&stage, &kind, &name).await;
            }
            let free = json!({"metadata": {"finalizers": null, "liens": null}});
            stage.merge(&kind, &name, "", free).await.map_err(|status| status.message).unwrap();
            stage.delete(&kind, &name).await.map_err(|status| status.message).unwrap();
        });
    });
}
