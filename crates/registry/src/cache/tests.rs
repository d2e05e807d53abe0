use super::*;
use crate::entry::{Readability, Readable};

fn entry(key: &str, revision: Revision, bytes: usize) -> Arc<CacheEntry> {
    let filling = "x".repeat(bytes);
    let value = format!(r#"{{"kind":"K","apiVersion":"v1","metadata":{{"name":"{key}"}},"data":"{filling}"}}"#);
    let readable = Readable::cut(pawl_seal::Plain::new(value), None, &[]).unwrap();
    Arc::new(CacheEntry { key: key.into(), revision, state: Readability::Readable(readable) })
}

fn put(key: &'static str, revision: Revision) -> Incoming<'static> {
    Incoming { revision, key, entry: Some(entry(key, revision, 0)) }
}

fn gone(key: &'static str, revision: Revision) -> Incoming<'static> {
    Incoming { revision, key, entry: None }
}

/// What a watcher of everything is told after a revision, and how far it has read.
fn told(cache: &Cache, after: Revision) -> Option<(Vec<String>, Revision)> {
    match cache.news(&Scope::All, after) {
        News::Lost => None,
        News::Events(batch) => {
            let told = |e: &Arc<Event>| format!("{}{}@{}", if e.deleted { "-" } else { "" }, e.entry.key, e.revision);
            Some((batch.events.iter().map(told).collect(), batch.read))
        }
    }
}

#[test]
fn a_feed_may_start_again_before_the_place_where_it_was() {
    let cache = Cache::new(1);
    let writes = || [put("a", 2), put("b", 3), gone("a", 4), put("c", 5), put("d", 5)];
    cache.apply(writes().into_iter().take(4));
    cache.apply(writes());
    cache.apply(writes());
    let (events, read) = told(&cache, 1).unwrap();
    assert_eq!((events, read), (["a@2", "b@3", "-a@4", "c@5", "d@5"].map(str::to_owned).to_vec(), 5));
    assert_eq!(cache.objects().keys().map(|key| &**key).collect::<Vec<_>>(), ["b", "c", "d"]);
}

#[test]
fn what_was_stored_before_is_added_to_what_was_fed_since() {
    let cache = Cache::new(10);
    cache.apply([put("new", 11), put("changed", 12), put("brief", 12), gone("brief", 13), gone("deleted", 15)]);
    let stored: Objects = [("changed", 12), ("deleted", 3), ("kept", 4), ("new", 11)]
        .into_iter()
        .map(|(key, revision)| (Arc::from(key), entry(key, revision, 0)))
        .collect();
    assert!(!Cache::new(20).fill(&stored, 14), "the ring no longer tells what went since");
    assert!(cache.fill(&stored, 14));
    let there: Vec<(String, Revision)> =
        cache.objects().iter().map(|(key, entry)| (key.to_string(), entry.revision)).collect();
    let expected = [("changed", 12), ("kept", 4), ("new", 11)].map(|(key, revision)| (key.to_owned(), revision));
    assert_eq!(there, expected);
    assert!(told(&cache, 10).is_none(), "what was fed did not know what was there");
    cache.apply([put("later", 16)]);
    assert_eq!(cache.snapshot().1, 16);
}

#[test]
fn a_snapshot_is_as_new_as_its_newest_object() {
    let cache = Cache::new(1);
    cache.apply([put("a", 7), gone("a", 9)]);
    assert_eq!(cache.snapshot().1, 9);
}

#[test]
fn a_batch_ends_between_revisions() {
    let cache = Cache::new(1);
    let keys: Vec<String> = (0..BATCH_EVENTS + 9).map(|i| format!("k{i}")).collect();
    // One event of its own, then more of one revision than a batch takes.
    let revision = |i: usize| if i == 0 { 2 } else { 3 };
    let writes = keys.iter().enumerate().map(|(i, key)| Incoming {
        revision: revision(i),
        key,
        entry: Some(entry(key, revision(i), 0)),
    });
    cache.apply(writes);
    cache.apply([put("z", 4)]);
    let (events, read) = told(&cache, 1).unwrap();
    assert_eq!((events.len(), read), (BATCH_EVENTS + 9, 3));
    assert_eq!(told(&cache, 3).unwrap(), (vec!["z@4".to_owned()], 4));
}

#[test]
fn a_batch_holds_little_whatever_the_size_of_objects() {
    let cache = Cache::new(1);
    for revision in 2..100 {
        cache.apply([Incoming { revision, key: "a", entry: Some(entry("a", revision, BATCH_BYTES / 4)) }]);
    }
    let News::Events(batch) = cache.news(&Scope::All, 1) else { panic!() };
    assert_eq!((batch.events.len(), batch.read, batch.more), (4, 5, true));
}

#[test]
fn the_ring_forgets_whole_revisions() {
    let cache = Cache::new(1);
    let large =
        |key: &'static str, revision| Incoming { revision, key, entry: Some(entry(key, revision, RING_BYTES / 4)) };
    cache.apply([large("a", 2), large("b", 2), large("c", 3)]);
    cache.apply([large("d", 4), large("e", 4)]);
    // Two of them are too many, and the second of revision 2 goes with the first.
    assert!(told(&cache, 1).is_none());
    assert_eq!(told(&cache, 2).unwrap().0, ["c@3"]);
    assert!(cache.objects_at(1).is_none());
    assert_eq!(cache.objects_at(2).unwrap().len(), 2);
}

#[test]
fn who_watched_a_cache_that_was_replaced_has_lost_its_place() {
    let cache = Cache::new(1);
    cache.apply([put("a", 2), put("b", 3)]);
    let mut objects = cache.objects();
    objects.remove("a");
    cache.replace(objects, 9);
    assert!(told(&cache, 3).is_none() && cache.objects_at(3).is_none());
    assert_eq!(told(&cache, 9).unwrap(), (Vec::new(), 9));
    cache.apply([put("a", 8), put("c", 10)]);
    assert_eq!(told(&cache, 9).unwrap().0, ["c@10"]);
}

#[test]
fn turns_hold_nothing_that_has_turned_again_and_are_forgotten_when_they_are_many() {
    let (scope, selection) = (Scope::All, crate::Selection::default());
    let view = View { scope: &scope, selection: &selection, fields: &[] };
    let cache = Cache::new(1);
    cache.apply([put("a", 2)]);
    let first = entry("a", 2, 10);
    let held = Arc::downgrade(&first);
    cache.turn(vec![first], 3);
    assert!(matches!(cache.turned(0, &view), Turned::Object(_)));
    cache.turn(vec![entry("a", 2, 20)], 4);
    assert!(held.upgrade().is_none(), "a turn that has passed holds what it was about");
    assert!(matches!(cache.turned(0, &view), Turned::Object(_)));
    // Written again: nobody knows any more whether it was looked at.
    cache.apply([put("a", 5)]);
    cache.turn(Vec::new(), 6);
    let keys: Vec<String> = (0..TURNED).map(|i| format!("k{i}")).collect();
    cache.apply(keys.iter().map(|key| Incoming { revision: 7, key, entry: Some(entry(key, 7, 1)) }));
    let turn = |size| keys.iter().map(|key| entry(key, 7, size)).collect::<Vec<_>>();
    cache.turn(turn(2), 8);
    assert!(matches!(cache.turned(2, &view), Turned::Object(_)));
    assert!(matches!(cache.turned(0, &view), Turned::Unknown), "there are too many to remember those before");
}
