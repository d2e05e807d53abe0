//! An operator as kube-rs makes them works with the server: a definition of its own, a controller that owns other objects and
//! restores them, server-side apply, status by `/status`, a finalizer, and garbage collection at the end.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DeleteParams, ObjectMeta, Patch, PatchParams, PostParams};
use kube::runtime::controller::{Action, Controller};
use kube::runtime::finalizer::{Event, finalizer};
use kube::runtime::wait::{await_condition, conditions};
use kube::runtime::watcher::Config;
use kube::{Api, Client, Resource, ResourceExt};
use pawl_testing::{Place, Server};
use serde::{Deserialize, Serialize};
use serde_json::json;

const NAMESPACE: &str = "library";
const OPERATOR: &str = "shelf-operator";
const FINALIZER: &str = "library.example.com/ledger";

/// Books on a shelf: the operator copies them into a ConfigMap and counts them.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct Shelf {
    api_version: String,
    kind: String,
    metadata: ObjectMeta,
    spec: ShelfSpec,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    status: Option<ShelfStatus>,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
struct ShelfSpec {
    books: Vec<String>,
}

#[derive(Clone, Debug, Deserialize, Serialize, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
struct ShelfStatus {
    count: usize,
    observed_generation: i64,
}

impl Resource for Shelf {
    type DynamicType = ();
    type Scope = NamespaceResourceScope;

    fn kind((): &()) -> Cow<'_, str> {
        "Shelf".into()
    }

    fn group((): &()) -> Cow<'_, str> {
        "library.example.com".into()
    }

    fn version((): &()) -> Cow<'_, str> {
        "v1".into()
    }

    fn plural((): &()) -> Cow<'_, str> {
        "shelves".into()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

fn shelf(name: &str, books: &[&str]) -> serde_json::Value {
    json!({"apiVersion": Shelf::api_version(&()), "kind": "Shelf", "metadata": {"name": name}, "spec": {"books": books}})
}

fn definition() -> CustomResourceDefinition {
    let books = json!({"type": "array", "maxItems": 4, "x-kubernetes-list-type": "set", "items": {"type": "string"}});
    let schema = json!({"type": "object", "required": ["spec"], "properties": {
        "spec": {"type": "object", "required": ["books"], "properties": {"books": books}},
        "status": {"type": "object", "properties": {
            "count": {"type": "integer"}, "observedGeneration": {"type": "integer", "format": "int64"}}}}});
    let definition = json!({
        "metadata": {"name": "shelves.library.example.com"},
        "spec": {"group": Shelf::group(&()), "scope": "Namespaced",
            "names": {"plural": "shelves", "singular": "shelf", "kind": "Shelf"},
            "versions": [{"name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": schema}}]}});
    serde_json::from_value(definition).unwrap()
}

/// What the operator does about a shelf.
async fn reconcile(
    shelf: Arc<Shelf>,
    client: Arc<Client>,
) -> Result<Action, kube::runtime::finalizer::Error<kube::Error>> {
    let shelves: Api<Shelf> = Api::namespaced((*client).clone(), NAMESPACE);
    finalizer(&shelves, FINALIZER, shelf, |event| async {
        match event {
            Event::Apply(shelf) => furnish(&client, &shelf).await,
            Event::Cleanup(shelf) => note(&client, &shelf, "closed").await,
        }
    })
    .await
}

/// The books of a shelf in a ConfigMap that goes with it, and their number in its status.
async fn furnish(client: &Client, shelf: &Shelf) -> Result<Action, kube::Error> {
    let applied = PatchParams::apply(OPERATOR).force();
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), NAMESPACE);
    let name = shelf.name_any();
    let map = ConfigMap {
        metadata: ObjectMeta {
            name: Some(name.clone()),
            owner_references: Some(shelf.controller_owner_ref(&()).into_iter().collect()),
            ..ObjectMeta::default()
        },
        data: Some(BTreeMap::from([("books".to_owned(), shelf.spec.books.join(","))])),
        ..ConfigMap::default()
    };
    maps.patch(&name, &applied, &Patch::Apply(&map)).await?;
    let status =
        ShelfStatus { count: shelf.spec.books.len(), observed_generation: shelf.metadata.generation.unwrap_or(0) };
    if shelf.status.as_ref() != Some(&status) {
        let said = json!({"apiVersion": Shelf::api_version(&()), "kind": "Shelf", "status": status});
        let shelves: Api<Shelf> = Api::namespaced(client.clone(), NAMESPACE);
        shelves.patch_status(&name, &applied, &Patch::Apply(&said)).await?;
    }
    note(client, shelf, "open").await
}

/// Notes in a ledger, which outlives its shelves, what became of one.
async fn note(client: &Client, shelf: &Shelf, what: &str) -> Result<Action, kube::Error> {
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), NAMESPACE);
    let name = shelf.name_any();
    let ledger =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "ledger"}, "data": {&name: what}});
    // Each shelf has a manager of its own, so that no note takes away another one's.
    maps.patch("ledger", &PatchParams::apply(&name).force(), &Patch::Apply(&ledger)).await?;
    Ok(Action::await_change())
}

/// Waits until something holds of what a client sees.
async fn until<T>(server: &mut Server, look: impl AsyncFn() -> Result<Option<T>, kube::Error>) -> T {
    let found = std::sync::Mutex::new(None);
    let holds = async || match look().await? {
        Some(seen) => {
            *found.lock().unwrap() = Some(seen);
            Ok(())
        }
        None => Err("it is not so yet".into()),
    };
    server.until(holds).await.unwrap_or_else(|why| panic!("{why}"));
    found.into_inner().unwrap().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operator_of_kube_rs_works() {
    let mut place = Place::new();
    let mut server = place.start().await;
    let client = crate::kube_rs::client(&place).await;
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let namespace: Namespace = serde_json::from_value(json!({"metadata": {"name": NAMESPACE}})).unwrap();
    namespaces.create(&PostParams::default(), &namespace).await.unwrap();
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    definitions.create(&PostParams::default(), &definition()).await.unwrap();
    let established = await_condition(definitions, "shelves.library.example.com", conditions::is_crd_established());
    tokio::time::timeout(pawl_testing::DEADLINE, established).await.unwrap().unwrap();

    let (shelves, maps): (Api<Shelf>, Api<ConfigMap>) =
        (Api::namespaced(client.clone(), NAMESPACE), Api::namespaced(client.clone(), NAMESPACE));
    let controller = Controller::new(shelves.clone(), Config::default()).owns(maps.clone(), Config::default());
    let again = |_: Arc<Shelf>, _: &_, _: Arc<Client>| Action::requeue(Duration::from_millis(50));
    let operator = tokio::spawn(controller.run(reconcile, again, Arc::new(client)).for_each(async |_| ()));

    let author = PatchParams::apply("author");
    shelves.patch("a", &author, &Patch::Apply(shelf("a", &["Dune", "Emma"]))).await.unwrap();
    shelves.patch("b", &author, &Patch::Apply(shelf("b", &[]))).await.unwrap();
    let counted = async |name: &str, count: usize| {
        let found = shelves.get(name).await?;
        let is = found.status.as_ref().is_some_and(|status| {
            status.count == count && Some(status.observed_generation) == found.metadata.generation
        });
        Ok(is.then_some(found))
    };
    until(&mut server, async || counted("b", 0).await).await;
    let found = until(&mut server, async || counted("a", 2).await).await;
    assert_eq!(found.finalizers(), [FINALIZER]);
    // Who applies and who reports own what is theirs.
    let owners: Vec<(String, String)> = found
        .managed_fields()
        .iter()
        .map(|owner| (owner.manager.clone().unwrap_or_default(), owner.subresource.clone().unwrap_or_default()))
        .collect();
    let owns = |manager: &str, below: &str| owners.contains(&(manager.to_owned(), below.to_owned()));
    assert!(owns("author", "") && owns(OPERATOR, "status"), "{owners:?}");

    // More books than fit are refused; another one is seen, in the map and in the status.
    let many = shelf("a", &["1", "2", "3", "4", "5"]);
    match shelves.patch("a", &author, &Patch::Apply(many)).await.unwrap_err() {
        kube::Error::Api(status) => assert!(status.message.contains("spec.books: Too many"), "{}", status.message),
        other => panic!("{other}"),
    }
    shelves.patch("a", &author, &Patch::Apply(shelf("a", &["Dune", "Emma", "Ulysses"]))).await.unwrap();
    let books = async |text: &str| {
        let found = maps.get_opt("a").await?;
        let is = |map: &ConfigMap| map.data.as_ref().is_some_and(|data| data["books"] == text);
        Ok(found.filter(is))
    };
    let map = until(&mut server, async || books("Dune,Emma,Ulysses").await).await;
    until(&mut server, async || counted("a", 3).await).await;

    // What the operator owns comes back when somebody takes it away.
    maps.delete("a", &DeleteParams::default()).await.unwrap();
    let other = until(&mut server, async || books("Dune,Emma,Ulysses").await).await;
    assert_ne!(other.uid(), map.uid());

    // A shelf goes when the operator has noted it, and its map with it.
    shelves.delete("a", &DeleteParams::default()).await.unwrap();
    until(&mut server, async || Ok(shelves.get_opt("a").await?.is_none().then_some(()))).await;
    until(&mut server, async || Ok(maps.get_opt("a").await?.is_none().then_some(()))).await;
    let ledger = maps.get("ledger").await.unwrap().data.unwrap();
    assert_eq!(ledger, BTreeMap::from([("a", "closed"), ("b", "open")].map(|(k, v)| (k.to_owned(), v.to_owned()))));
    operator.abort();
    server.assert_no_panic();
}
