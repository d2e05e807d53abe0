//! What is older than the ring: watches that resume or fell behind, and pages of a state that has passed.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use pawl_kv::{Error, Kv};
use pawl_registry::{ListAt, ListRequest, Scope, Served, WatchStart};
use serde_json::{Value, json};

use crate::faults::{configmap, told, watch};
use crate::faulty::{Fault, Faulty};
use crate::stage::Stage;

/// Objects of this size push each other out of the ring soon.
const LARGE: usize = 200_000;
const MANY: usize = 60;

async fn stage() -> (Stage, Arc<Faulty>, Arc<Served>) {
    let mut faulty = None;
    let stage = Stage::on(|store| Arc::clone(faulty.insert(Faulty::new(store))) as Arc<dyn Kv>).await;
    let served = stage.served("", "v1", "configmaps");
    (stage, faulty.unwrap(), served)
}

fn large(name: &str) -> Value {
    let mut object = configmap(name);
    object["data"] = json!({"filling": "x".repeat(LARGE)});
    object
}

/// Writes more than the ring holds: `large-0`, `large-1` …
async fn flood(stage: &Stage, served: &Served) -> Vec<String> {
    let mut told = Vec::new();
    for i in 0..MANY {
        stage.create(served, large(&format!("large-{i}"))).await.unwrap();
        told.push(format!("+large-{i}"));
    }
    told
}

fn last() -> String {
    format!("large-{}", MANY - 1)
}

#[tokio::test]
async fn a_slow_watch_reads_on_from_the_store() {
    let (stage, faulty, served) = stage().await;
    let mut slow = watch(&stage.registry, &served, WatchStart::Now).await;
    let mut failing = watch(&stage.registry, &served, WatchStart::Now).await;
    let before = stage.registry.storage().applied();
    let expected = flood(&stage, &served).await;
    assert!(!served.stored.cache.covers(before));
    assert_eq!(told(&mut slow, &last()).await, expected);
    // A store that cannot be read for a moment is tried again.
    faulty.break_past(Some(Fault::Error(Error::Unavailable("no descriptors".to_owned()))));
    let mended = async {
        faulty.strikes(2).await;
        faulty.break_past(None);
    };
    let last = last();
    assert_eq!(tokio::join!(told(&mut failing, &last), mended).0, expected);
    // And both go on with what is new.
    stage.create(&served, configmap("new")).await.unwrap();
    assert_eq!(told(&mut slow, "new").await, ["+new"]);
    assert_eq!(told(&mut failing, "new").await, ["+new"]);
}

#[tokio::test]
async fn a_watch_ends_where_the_store_has_forgotten_what_it_needs() {
    let (stage, faulty, served) = stage().await;
    let mut slow = watch(&stage.registry, &served, WatchStart::Now).await;
    flood(&stage, &served).await;
    let newest = faulty.revision().await.unwrap();
    faulty.compact(newest).await.unwrap();
    assert_eq!(told(&mut slow, &last()).await, ["410"]);
}

#[tokio::test]
async fn many_that_resume_at_one_place_read_it_once() {
    const WATCHES: usize = 40;
    let (stage, faulty, served) = stage().await;
    let start = stage.registry.storage().catch_up().await.unwrap();
    let expected = flood(&stage, &served).await;
    let tasks: Vec<_> = (0..WATCHES)
        .map(|_| {
            let (registry, served) = (Arc::clone(&stage.registry), Arc::clone(&served));
            tokio::spawn(async move {
                let mut watcher = watch(&registry, &served, WatchStart::After(start)).await;
                told(&mut watcher, &last()).await
            })
        })
        .collect();
    for task in tasks {
        assert_eq!(task.await.unwrap(), expected);
    }
    let read = faulty.messages.load(Ordering::Acquire);
    assert!(read <= 2 * MANY, "{WATCHES} watches read {read} messages with {MANY} events");
}

#[tokio::test]
async fn a_watch_of_a_namespace_is_told_its_own_history_only() {
    let (stage, _, served) = stage().await;
    let start = stage.registry.storage().catch_up().await.unwrap();
    flood(&stage, &served).await;
    let request = pawl_registry::WatchRequest {
        scope: Scope::Namespace("other".to_owned()),
        selection: Default::default(),
        start: WatchStart::After(start),
        bookmarks: false,
        tolerant: false,
    };
    let mut watcher = stage.registry.watch(&served, request).await.unwrap();
    let waited = tokio::time::timeout(std::time::Duration::from_millis(200), watcher.next()).await;
    assert!(waited.is_err(), "{waited:?}");
}

#[tokio::test]
async fn a_watch_that_nothing_happened_to_needs_no_history() {
    let (stage, faulty, served) = stage().await;
    let object = |name: &str| Scope::Object { namespace: "n".to_owned(), name: name.to_owned() };
    let request = |name: &str| pawl_registry::WatchRequest {
        scope: object(name),
        selection: Default::default(),
        start: WatchStart::Now,
        bookmarks: false,
        tolerant: false,
    };
    let mut idle = stage.registry.watch(&served, request("idle")).await.unwrap();
    let mut busy = stage.registry.watch(&served, request("large-7")).await.unwrap();
    // It sleeps.
    assert!(futures::poll!(std::pin::pin!(idle.next())).is_pending());
    assert!(futures::poll!(std::pin::pin!(busy.next())).is_pending());
    flood(&stage, &served).await;
    let newest = faulty.revision().await.unwrap();
    faulty.compact(newest).await.unwrap();
    stage.create(&served, configmap("idle")).await.unwrap();
    assert_eq!(told(&mut idle, "idle").await, ["+idle"]);
    assert_eq!(told(&mut busy, "large-7").await, ["410"]);
}

#[tokio::test]
async fn a_page_of_a_state_that_has_passed_reads_no_more_than_itself() {
    let (stage, faulty, served) = stage().await;
    for name in ["a", "b", "c", "d", "e"] {
        stage.create(&served, configmap(name)).await.unwrap();
    }
    let page = ListRequest { limit: 2, scope: Scope::Namespace("n".to_owned()), ..Default::default() };
    let first = stage.registry.list(&served, &page).await.unwrap();
    assert_eq!((names(&first), first.remaining), (vec!["a", "b"], Some(3)));
    stage.delete(&served, "c").await.unwrap();
    flood(&stage, &served).await;
    assert!(!served.stored.cache.covers(first.revision));

    faulty.ranges.lock().unwrap().clear();
    let second = ListRequest { token: first.continue_token, ..page.clone() };
    let second = stage.registry.list(&served, &second).await.unwrap();
    assert_eq!((names(&second), second.remaining, second.revision), (vec!["c", "d"], Some(1), first.revision));
    let third = ListRequest { token: second.continue_token.clone(), ..page.clone() };
    let third = stage.registry.list(&served, &third).await.unwrap();
    assert_eq!((names(&third), third.remaining, &third.continue_token), (vec!["e"], None, &None));
    for asked in faulty.ranges.lock().unwrap().iter() {
        assert!(asked.limit == 3 && asked.start > served.stored.full_key("n/a"), "{asked:?}");
    }
    // A selector, and the whole of it at once.
    let exactly = ListRequest { at: ListAt::Exactly(first.revision), limit: 0, ..page.clone() };
    assert_eq!(names(&stage.registry.list(&served, &exactly).await.unwrap()), ["a", "b", "c", "d", "e"]);
    let fields = pawl_meta::selector::FieldSelector::parse("metadata.name=d").unwrap();
    let selection = pawl_registry::Selection::new(Default::default(), fields);
    let selected = ListRequest { at: exactly.at, selection, ..page };
    assert_eq!(names(&stage.registry.list(&served, &selected).await.unwrap()), ["d"]);
}

fn names(page: &pawl_registry::Page) -> Vec<&str> {
    page.entries.iter().map(|entry| entry.name()).collect()
}
