//! Directories of other versions: what the first release wrote opens with everything, what a newer one wrote is refused.
#![allow(clippy::restriction, reason = "a failed expectation is how a test reports")]

use std::fs;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use futures::StreamExt;
use pawl_kv::{Error, Kv, RangeRequest, WatchMessage};
use pawl_kv_embedded::simulated::SimulatedDisk;
use pawl_kv_embedded::{Disk, Options, Store};

/// Written by the binary of commit 3a768d1 (the end of its last segment, which was zeros, is cut off): a start, a
/// namespace with five config maps, a secret and a deployment; after a restart an update and a deletion, forgotten into a
/// snapshot; after another one updates, deletions, a key made anew, a lien, and an event that lives for ten minutes.
fn first_release() -> SimulatedDisk {
    let disk = SimulatedDisk::new(0);
    for file in
        fs::read_dir(Path::new(&std::env::var("CARGO_MANIFEST_DIR").unwrap()).join("tests/first-release")).unwrap()
    {
        let path = file.unwrap().path();
        let copy = disk.create(path.file_name().unwrap().to_str().unwrap()).unwrap();
        copy.write_at(&fs::read(&path).unwrap(), 0).unwrap();
        copy.sync().unwrap();
    }
    disk.sync_names().unwrap();
    disk
}

fn open(disk: &SimulatedDisk) -> pawl_kv::Result<Arc<Store>> {
    Store::open_on(Arc::new(disk.clone()), Options::default())
}

async fn keys(store: &Store, prefix: &str, revision: Option<u64>) -> Vec<(String, u64)> {
    let end = format!("{}0", prefix.trim_end_matches('/'));
    let request = RangeRequest { start: prefix.to_owned().into(), end: end.into(), revision, ..Default::default() };
    let key = |key: &Bytes| String::from_utf8(key.to_vec()).unwrap().trim_start_matches(prefix).to_owned();
    let items = store.range(request).await.unwrap().items;
    items.iter().map(|item| (key(&item.key), item.mod_revision)).collect()
}

#[tokio::test]
async fn a_directory_of_the_first_release_opens_with_everything() {
    let store = open(&first_release()).unwrap();
    assert_eq!((store.revision().await, store.compacted()), (Ok(192), 183));
    let all = store.range(RangeRequest::default()).await.unwrap();
    assert_eq!(all.items.len(), 169);
    let mut now = keys(&store, "/registry/configmaps/first/", None).await;
    assert_eq!(now, [("cm-1".to_owned(), 186), ("cm-3".to_owned(), 187), ("cm-4".to_owned(), 189)]);
    now = keys(&store, "/registry/events/first/", None).await;
    assert_eq!(now, [("web.1".to_owned(), 190)], "time to live does not run down while the store is closed");
    let before = keys(&store, "/registry/configmaps/first/", Some(185)).await;
    assert_eq!(before.iter().map(|(key, _)| key.as_str()).collect::<Vec<_>>(), ["cm-1", "cm-3", "cm-4", "cm-5"]);
    let mut watch = store.watch(Bytes::new(), 183).await.unwrap();
    let mut events = Vec::new();
    while events.len() < 9 {
        let Some(Ok(WatchMessage::Events(more))) = watch.next().await else { panic!("no more than {events:?}") };
        events.extend(more);
    }
    assert!(events.iter().map(|event| event.revision).eq(184..=192));
    let deleted: Vec<_> = events.iter().filter(|event| event.value.is_none()).map(|event| &event.key[..]).collect();
    let config_map = |number| format!("/registry/configmaps/first/cm-{number}").into_bytes();
    assert_eq!(deleted, [config_map(2), config_map(4), config_map(5)]);
}

#[tokio::test]
async fn a_newer_format_is_refused_by_its_number() {
    for (name, size) in [("0000000000000003.log", 64), ("00000000000000000185.snap", 56)] {
        let disk = first_release();
        let file = disk.open(name).unwrap();
        let mut head = vec![0; size];
        file.read_at(&mut head, 0).unwrap();
        head[8] = 2;
        file.write_at(&head, 0).unwrap();
        // Without a checksum that holds it is damage.
        assert!(matches!(open(&disk), Err(Error::Corrupt(_))));
        let checksum = xxhash_rust::xxh3::xxh3_64_with_seed(&head[..size - 8], 0);
        head[size - 8..].copy_from_slice(&checksum.to_le_bytes());
        file.write_at(&head, 0).unwrap();
        let refused = open(&disk).err();
        assert_eq!(refused, Some(Error::Newer { file: name.to_owned(), found: 2, known: 1 }));
    }
}
