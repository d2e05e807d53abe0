//! What becomes of the caches, of those who follow them and of clients when the store fails for a while.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures::{StreamExt, stream};
use pawl_kv::{Error, Kv};
use pawl_registry::{
    Followed, Follower, ListRequest, Registry, Scope, Selection, Served, WatchItem, WatchRequest, WatchStart, Watcher,
};
use serde_json::{Value, json};

use crate::faulty::{Fault, Faulty};
use crate::stage::Stage;

pub fn configmap(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}})
}

async fn stage() -> (Stage, Arc<Faulty>) {
    let mut faulty = None;
    let stage = Stage::on(|store| Arc::clone(faulty.insert(Faulty::new(store))) as Arc<dyn Kv>).await;
    (stage, faulty.unwrap())
}

pub async fn watch(registry: &Registry, served: &Served, start: WatchStart) -> Watcher {
    let request =
        WatchRequest { scope: Scope::All, selection: Selection::default(), start, bookmarks: false, tolerant: false };
    registry.watch(served, request).await.unwrap()
}

/// What a watch tells until it has told of an object of this name, or ended.
pub async fn told(watcher: &mut Watcher, last: &str) -> Vec<String> {
    let mut told = Vec::new();
    loop {
        let items = watcher.next().await;
        if items.is_empty() {
            return told;
        }
        for item in items {
            let (kind, entry) = match item {
                WatchItem::Added(entry) => ("+", entry),
                WatchItem::Modified(entry) => ("~", entry),
                WatchItem::Deleted(entry) => ("-", entry),
                WatchItem::Bookmark { .. } => continue,
                WatchItem::Error(status) => {
                    told.push(status.code.to_string());
                    return told;
                }
            };
            told.push(format!("{kind}{}", entry.name()));
            if entry.name() == last {
                return told;
            }
        }
    }
}

/// Whether the caches catch up with the store again.
async fn follows(stage: &Stage) {
    for _ in 0..200 {
        if stage.registry.storage().catch_up().await.is_ok() {
            return;
        }
    }
    panic!("the caches no longer follow");
}

#[tokio::test]
async fn a_feed_that_is_interrupted_goes_on_from_where_it_was() {
    let (stage, faulty) = stage().await;
    let served = stage.served("", "v1", "configmaps");
    let mut watcher = watch(&stage.registry, &served, WatchStart::Now).await;
    let faults = [
        Fault::Error(Error::Unavailable("no descriptors".to_owned())),
        Fault::Error(Error::ReadOnly("no space".to_owned())),
        Fault::Error(Error::Lagged),
        Fault::Panic,
        Fault::End,
    ];
    for (round, fault) in faults.into_iter().enumerate() {
        let kind = format!("{fault:?}");
        faulty.break_feed(fault).await;
        let written = stage.create(&served, configmap(&format!("during-{round}")));
        let mended = async {
            faulty.strikes(2).await;
            faulty.mend_feed();
        };
        tokio::join!(written, mended).0.unwrap_or_else(|status| panic!("{kind}: {status}"));
        stage.create(&served, configmap(&format!("after-{round}"))).await.unwrap();
        let expected = vec![format!("+during-{round}"), format!("+after-{round}")];
        assert_eq!(told(&mut watcher, &format!("after-{round}")).await, expected, "{kind}");
        stage.registry.storage().following().unwrap();
    }
    assert!(!stage.following.is_finished());
}

#[tokio::test]
async fn a_store_that_cannot_be_followed_is_read_anew_and_health_says_so() {
    let (stage, faulty) = stage().await;
    let served = stage.served("", "v1", "configmaps");
    faulty.break_feed(Fault::Error(Error::Unavailable("no descriptors".to_owned()))).await;
    stage.create(&served, configmap("written")).await.unwrap();
    stage.registry.get(&served, "n", "written", None).await.unwrap();
    tokio::time::pause();
    tokio::time::sleep(Duration::from_secs(4)).await;
    let why = stage.registry.storage().following().unwrap_err();
    assert!(why.contains("no descriptors"), "{why}");
    tokio::time::resume();
    faulty.mend_feed();
    while stage.registry.storage().following().is_err() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    stage.create(&served, configmap("later")).await.unwrap();
}

#[tokio::test]
async fn what_is_written_is_answered_and_health_says_that_the_caches_do_not_show_it() {
    let (stage, faulty) = stage().await;
    let served = stage.served("", "v1", "configmaps");
    faulty.break_feed(Fault::Silence).await;
    tokio::time::pause();
    stage.create(&served, configmap("written")).await.unwrap();
    let why = stage.registry.storage().following().unwrap_err();
    assert!(why.contains("and not at"), "{why}");
    assert_eq!(stage.registry.get(&served, "n", "written", None).await.unwrap_err().code, 504);
    faulty.mend_feed();
    tokio::time::resume();
    follows(&stage).await;
    stage.registry.storage().following().unwrap();
}

#[tokio::test]
async fn caches_whose_place_is_forgotten_are_replaced_by_difference() {
    let (stage, faulty) = stage().await;
    let served = stage.served("", "v1", "configmaps");
    for name in ["changed", "deleted", "made-anew", "same"] {
        stage.create(&served, configmap(name)).await.unwrap();
    }
    let same = served.stored.cache.get("n/same").unwrap();
    let mut client = watch(&stage.registry, &served, WatchStart::Now).await;
    let mut follower = Follower::new(Arc::clone(&stage.registry), Arc::clone(&served));
    assert_eq!(changes(follower.first().await), ["changed", "deleted", "made-anew", "same"]);

    faulty.break_feed(Fault::Silence).await;
    write_behind(&*faulty, &stage, "changed", true, true).await;
    write_behind(&*faulty, &stage, "deleted", true, false).await;
    write_behind(&*faulty, &stage, "made-anew", true, false).await;
    write_behind(&*faulty, &stage, "made-anew", false, true).await;
    write_behind(&*faulty, &stage, "new", false, true).await;
    let newest = faulty.revision().await.unwrap();
    faulty.compact(newest).await.unwrap();
    faulty.break_feed(Fault::Error(Error::Lagged)).await;
    faulty.mend_feed();
    follows(&stage).await;

    let page = stage.registry.list(&served, &ListRequest::default()).await.unwrap();
    assert_eq!(page.entries.iter().map(|e| e.name()).collect::<Vec<_>>(), ["changed", "made-anew", "new", "same"]);
    assert!(Arc::ptr_eq(&same, &served.stored.cache.get("n/same").unwrap()));
    let mut difference = changes(follower.next().await);
    while difference.len() < 5 {
        difference.extend(changes(follower.next().await));
    }
    difference.sort();
    assert_eq!(difference, ["-deleted", "-made-anew", "changed", "made-anew", "new"]);
    // What a client did not see is gone, and it is told so.
    assert_eq!(told(&mut client, "none").await, ["410"]);
    stage.create(&served, configmap("later")).await.unwrap();
    assert_eq!(changes(follower.next().await), ["later"]);
}

fn changes(changes: Vec<Followed>) -> Vec<String> {
    let told = |change: &Followed| match change {
        Followed::Seen(entry) => entry.name().to_owned(),
        Followed::Gone(entry) => format!("-{}", entry.name()),
    };
    changes.iter().map(told).collect()
}

/// Writes to the store while the registry does not look.
async fn write_behind(kv: &dyn Kv, stage: &Stage, name: &str, is_there: bool, stays: bool) {
    let served = stage.served("", "v1", "configmaps");
    let key = bytes::Bytes::from(served.stored.full_key(&format!("n/{name}")));
    let held = kv.get(key.clone()).await.unwrap();
    assert_eq!(held.is_some(), is_there);
    let mut value = match &held {
        // What is stored may be sealed.
        Some(held) => serde_json::from_slice(&held.value).unwrap_or_else(|_| {
            let entry = served.stored.cache.get(&format!("n/{name}")).unwrap();
            serde_json::Value::Object(entry.readable().unwrap().object(entry.revision))
        }),
        None => {
            let metadata = json!({"name": name, "namespace": "n", "uid": "another"});
            json!({"kind": "ConfigMap", "apiVersion": "v1", "metadata": metadata})
        }
    };
    value["data"] = json!({"written": "behind"});
    let value = pawl_registry::encode(value.as_object().unwrap());
    let expect = held.map_or(pawl_kv::Expect::Absent, |held| pawl_kv::Expect::Revision(held.mod_revision));
    let change = if stays { pawl_kv::Change::Put { value, ttl: None } } else { pawl_kv::Change::Delete };
    kv.write(pawl_kv::Write::new(key, expect, change)).await.unwrap();
}

#[tokio::test]
async fn a_client_goes_on_where_history_is_whole_though_the_caches_were_replaced() {
    let (stage, faulty) = stage().await;
    let served = stage.served("", "v1", "configmaps");
    let mut client = watch(&stage.registry, &served, WatchStart::Now).await;
    faulty.break_feed(Fault::Error(Error::Corrupt("a batch".to_owned()))).await;
    write_behind(&*faulty, &stage, "one", false, true).await;
    write_behind(&*faulty, &stage, "one", true, false).await;
    write_behind(&*faulty, &stage, "two", false, true).await;
    // The feed tries a few times, then everything is read anew, as long as the store still fails to be followed.
    while stage.registry.get(&served, "n", "two", Some(0)).await.is_err() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    faulty.mend_feed();
    follows(&stage).await;
    assert_eq!(told(&mut client, "two").await, ["+one", "-one", "+two"]);
}

#[tokio::test]
async fn a_feed_without_hope_ends_and_says_why() {
    let (stage, faulty) = stage().await;
    faulty.break_feed(Fault::Error(Error::Closed)).await;
    assert!(stage.following.await.unwrap().to_string().contains("closed"));

    let (stage, faulty) = self::stage().await;
    faulty.break_feed(Fault::Error(Error::Corrupt("a batch".to_owned()))).await;
    tokio::time::pause();
    assert!(stage.following.await.unwrap().to_string().contains("a batch"));
}

#[tokio::test]
async fn a_fault_that_passes_is_waited_out_however_long_it_takes() {
    let (stage, faulty) = stage().await;
    let served = stage.served("", "v1", "configmaps");
    faulty.break_feed(Fault::Error(Error::Unavailable("no descriptors".to_owned()))).await;
    tokio::time::pause();
    faulty.strikes(200).await;
    tokio::time::resume();
    faulty.mend_feed();
    follows(&stage).await;
    stage.create(&served, configmap("a")).await.unwrap();
    assert!(!stage.following.is_finished());
}

#[tokio::test]
async fn a_start_whose_pages_are_forgotten_meanwhile_reads_everything_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let store = pawl_kv_embedded::Store::open(directory.path(), pawl_kv_embedded::Options::default()).unwrap();
    // More than fits into a page.
    const MANY: usize = 20_001;
    let write = |i: usize| {
        let value =
            json!({"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": i.to_string(), "namespace": "n"}});
        let change = pawl_kv::Change::Put { value: value.to_string().into(), ttl: None };
        let key = format!("/registry/configmaps/n/{i}");
        store.write(pawl_kv::Write::new(key, pawl_kv::Expect::Absent, change))
    };
    stream::iter(0..MANY).map(write).buffer_unordered(2000).for_each(|written| async { drop(written.unwrap()) }).await;
    let faulty = Faulty::new(Arc::clone(&store) as Arc<dyn Kv>);
    faulty.forgetful.store(true, Ordering::Release);
    let stage = Stage::over(faulty, directory).await;
    assert_eq!(stage.names(&stage.served("", "v1", "configmaps")).len(), MANY);
}
