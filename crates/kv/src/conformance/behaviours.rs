//! The contract, behaviour by behaviour.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use super::{Check, Delivered, ensure, next_message};
use crate::{Change, Event, Expect, Guard, Kv, Outcome, RangeRequest, Revision, Watch, WatchMessage, Write};

pub(super) async fn run<F, S>(make: &F) -> Check
where
    F: Fn() -> S,
    S: Future<Output = Arc<dyn Kv>>,
{
    let named = |name: &'static str| move |reason: String| format!("{name}: {reason}");
    Subject(make().await).every_write_has_its_own_revision().await.map_err(named("revisions"))?;
    Subject(make().await).a_recreated_key_is_a_new_one().await.map_err(named("recreation"))?;
    Subject(make().await).any_bytes_are_a_key_and_a_value().await.map_err(named("bytes"))?;
    Subject(make().await).a_guard_looks_at_what_is_newer().await.map_err(named("guards"))?;
    Subject(make().await).a_guard_looks_at_one_key().await.map_err(named("guards on one key"))?;
    Subject(make().await).nothing_comes_into_a_place_that_is_gone().await.map_err(named("a place that goes"))?;
    Subject(make().await).of_two_that_guard_each_other_one_wins().await.map_err(named("guarded race"))?;
    Subject(make().await).pages_follow_each_other_at_one_revision().await.map_err(named("pages"))?;
    Subject(make().await).a_quiet_prefix_learns_of_progress().await.map_err(named("progress"))?;
    Subject(make().await).a_watch_continues_where_it_is_told_to().await.map_err(named("continuation"))?;
    Subject(make().await).a_waiting_watch_is_woken().await.map_err(named("wake"))?;
    Subject(make().await).keys_expire().await.map_err(named("expiry"))?;
    Subject(make().await).it_is_known_how_long_keys_live().await.map_err(named("time left"))?;
    Subject(make().await).a_put_without_time_to_live_stays().await.map_err(named("stay"))?;
    Subject(make().await).compaction_is_allowed_to_repeat().await.map_err(named("compaction"))
}

fn bytes(text: &str) -> Bytes {
    Bytes::copy_from_slice(text.as_bytes())
}

fn put(key: &str, expect: Expect, value: &str) -> Write {
    Write::new(bytes(key), expect, Change::Put { value: bytes(value), ttl: None })
}

/// A fresh store with the operations of the checks, whose errors are failures.
struct Subject(Arc<dyn Kv>);

impl Subject {
    async fn applied(&self, write: Write) -> Result<Revision, String> {
        match self.0.write(write.clone()).await {
            Ok(Outcome::Applied { revision }) => Ok(revision),
            other => Err(format!("{write:?} was not applied: {other:?}")),
        }
    }

    async fn create(&self, key: &str, value: &str) -> Result<Revision, String> {
        self.applied(put(key, Expect::Absent, value)).await
    }

    async fn delete(&self, key: &str, expected: Revision) -> Result<Revision, String> {
        self.applied(Write::new(bytes(key), Expect::Revision(expected), Change::Delete)).await
    }

    async fn revision(&self) -> Result<Revision, String> {
        self.0.revision().await.map_err(|error| error.to_string())
    }

    async fn watch(&self, prefix: &str, after: Revision) -> Result<Watch, String> {
        self.0.watch(bytes(prefix), after).await.map_err(|error| error.to_string())
    }

    async fn events(&self, prefix: &str, after: Revision) -> Result<Vec<Event>, String> {
        let mut watch = self.watch(prefix, after).await?;
        let mut delivered = Delivered { events: Vec::new(), through: after };
        let newest = self.revision().await?;
        delivered.follow(&mut watch, newest).await?.map_err(|error| error.to_string())?;
        Ok(delivered.events)
    }

    async fn every_write_has_its_own_revision(&self) -> Check {
        let begin = self.revision().await?;
        let first = self.create("/a", "1").await?;
        let second = self.applied(put("/a", Expect::Revision(first), "2")).await?;
        let third = self.delete("/a", second).await?;
        ensure!([first, second, third] == [begin + 1, begin + 2, begin + 3], "{first}, {second}, {third}");
        let newest = self.revision().await?;
        ensure!(newest == third, "the revision is {newest} after {third}");
        let conflict = self.0.write(put("/a", Expect::Revision(first), "3")).await;
        ensure!(conflict == Ok(Outcome::Conflict { current: None }), "an update of what is gone: {conflict:?}");
        let unchanged = self.revision().await?;
        ensure!(unchanged == third, "a conflict moved the revision to {unchanged}");
        let events = self.events("/a", begin).await?;
        let last = events.last().and_then(|event| Some((event.value.clone(), event.previous.clone()?.value)));
        ensure!(last == Some((None, bytes("2"))), "a deletion leaves its last value: {events:?}");
        Ok(())
    }

    async fn a_recreated_key_is_a_new_one(&self) -> Check {
        let first = self.create("/a", "1").await?;
        let deleted = self.delete("/a", first).await?;
        let again = self.create("/a", "1").await?;
        let updated = self.applied(put("/a", Expect::Revision(again), "1")).await?;
        let held = self.0.get(bytes("/a")).await.map_err(|error| error.to_string())?;
        let revisions = held.map(|held| (held.create_revision, held.mod_revision));
        ensure!(revisions == Some((again, updated)), "created and written at {revisions:?}");
        let events = self.events("/a", deleted).await?;
        let previous: Vec<_> = events.iter().map(|event| event.previous.is_some()).collect();
        ensure!(previous == [false, true], "a creation has nothing before it: {events:?}");
        Ok(())
    }

    async fn any_bytes_are_a_key_and_a_value(&self) -> Check {
        let begin = self.revision().await?;
        let every_byte: Bytes = (0..=255).collect();
        let large: Bytes = (0..1_000_000_u32).flat_map(u32::to_le_bytes).take(1_000_000).collect();
        for (key, value) in [(&every_byte, &Bytes::new()), (&Bytes::from_static(b"\xff\xff"), &large)] {
            let change = Change::Put { value: value.clone(), ttl: None };
            let revision = self.applied(Write::new(key.clone(), Expect::Absent, change)).await?;
            let held = self.0.get(key.clone()).await.map_err(|error| error.to_string())?;
            ensure!(held.is_some_and(|held| held.value == *value), "{key:?} at {revision} holds something else");
        }
        let events = self.events("", begin).await?;
        let values: Vec<_> = events.iter().map(|event| event.value.clone()).collect();
        ensure!(values == [Some(Bytes::new()), Some(large)], "the events hold something else");
        Ok(())
    }

    async fn a_guard_looks_at_what_is_newer(&self) -> Check {
        let target = self.create("/target", "1").await?;
        let user = self.create("/users/a", "1").await?;
        let beside = self.create("/usersandmore", "1").await?;
        let guarded = |prefix: &str, through| Write {
            guards: vec![Guard::Unwritten { prefix: bytes(prefix), through }],
            ..Write::new("/target", Expect::Revision(target), Change::Delete)
        };
        let held = self.0.get(bytes("/target")).await.map_err(|error| error.to_string())?;
        let refused = Ok(Outcome::Conflict { current: held });
        for (prefix, through) in [("/users/", user - 1), ("/users", user), ("", user), ("/target", target - 1)] {
            let outcome = self.0.write(guarded(prefix, through)).await;
            ensure!(outcome == refused, "nothing under {prefix:?} after {through}: {outcome:?}");
        }
        let newest = self.revision().await?;
        ensure!(newest == beside, "a guard that does not hold moved the revision to {newest}");
        // What was written and is gone guards nothing any more.
        self.delete("/users/a", user).await?;
        let again = self.create("/users/b", "1").await?;
        let again = self.delete("/users/b", again).await?;
        let applied = self.applied(guarded("/users/", user - 1)).await?;
        ensure!(applied == again + 1, "applied at {applied}");
        let both = vec![
            Guard::Unwritten { prefix: bytes("/users/"), through: applied },
            Guard::Unwritten { prefix: bytes("/usersand"), through: beside - 1 },
        ];
        let write = Write { guards: both, ..put("/target", Expect::Absent, "2") };
        let outcome = self.0.write(write).await;
        ensure!(outcome == Ok(Outcome::Conflict { current: None }), "every guard counts: {outcome:?}");
        Ok(())
    }

    async fn a_guard_looks_at_one_key(&self) -> Check {
        let place = self.create("/place", "1").await?;
        self.create("/places", "1").await?;
        let guarded = |name: &str, key: &str, revision| Write {
            guards: vec![Guard::Same { key: bytes(key), revision }],
            ..put(name, Expect::Absent, "1")
        };
        self.applied(guarded("/in/1", "/place", place)).await?;
        let refused = Ok(Outcome::Conflict { current: None });
        for (key, revision) in [("/place", place + 1), ("/place", place - 1), ("/plac", place), ("/nowhere", 0)] {
            let outcome = self.0.write(guarded("/in/2", key, revision)).await;
            ensure!(outcome == refused, "{key} is not there as of {revision}: {outcome:?}");
        }
        let changed = self.applied(put("/place", Expect::Revision(place), "2")).await?;
        let outcome = self.0.write(guarded("/in/2", "/place", place)).await;
        ensure!(outcome == refused, "the place has changed: {outcome:?}");
        self.applied(guarded("/in/2", "/place", changed)).await?;
        self.delete("/place", changed).await?;
        let outcome = self.0.write(guarded("/in/3", "/place", changed)).await;
        ensure!(outcome == refused, "the place is gone: {outcome:?}");
        Ok(())
    }

    /// Whatever comes together with the end of a place comes before it, or not at all.
    async fn nothing_comes_into_a_place_that_is_gone(&self) -> Check {
        for round in 0..50 {
            let key = format!("/place/{round}");
            let place = self.create(&key, "1").await?;
            let inside = Write {
                guards: vec![Guard::Same { key: bytes(&key), revision: place }],
                ..put(&format!("/in/{round}"), Expect::Absent, "1")
            };
            let (deleted, inside) = futures::join!(self.delete(&key, place), self.0.write(inside));
            let deleted = deleted?;
            match inside {
                Ok(Outcome::Applied { revision }) => {
                    ensure!(revision < deleted, "inside at {revision}, gone at {deleted}");
                }
                Ok(Outcome::Conflict { current: None }) => {}
                other => return Err(format!("round {round}: {other:?}")),
            }
        }
        Ok(())
    }

    /// Whatever the order in which a store takes writes that come together, a guard sees those before.
    async fn of_two_that_guard_each_other_one_wins(&self) -> Check {
        for round in 0..50 {
            let target = self.create(&format!("/target/{round}"), "1").await?;
            let through = self.revision().await?;
            let delete = Write {
                guards: vec![Guard::Unwritten { prefix: bytes("/users/"), through }],
                ..Write::new(bytes(&format!("/target/{round}")), Expect::Revision(target), Change::Delete)
            };
            let user = format!("/users/{round}");
            let (user, deleted) = futures::join!(self.create(&user, "1"), self.0.write(delete));
            let user = user?;
            match deleted {
                Ok(Outcome::Applied { revision }) => ensure!(revision < user, "deleted at {revision}, used at {user}"),
                Ok(Outcome::Conflict { current: Some(_) }) => {}
                other => return Err(format!("round {round}: {other:?}")),
            }
        }
        Ok(())
    }

    async fn pages_follow_each_other_at_one_revision(&self) -> Check {
        for number in 0..10 {
            self.create(&format!("/p/{number}"), "before").await?;
        }
        let revision = self.revision().await?;
        let mut start = bytes("/p/");
        let mut seen = Vec::new();
        loop {
            let request = RangeRequest {
                start: start.clone(),
                end: bytes("/p0"),
                limit: 3,
                revision: Some(revision),
                count: true,
            };
            let page = self.0.range(request).await.map_err(|error| error.to_string())?;
            ensure!(page.revision == revision, "a page of {revision} is of {}", page.revision);
            ensure!(page.items.iter().all(|item| item.value == "before"), "a page holds what came later");
            let Some(last) = page.items.last() else { return Err("an empty page".to_owned()) };
            // What happens between two pages belongs to neither.
            let last_number = String::from_utf8_lossy(&last.key).into_owned();
            self.delete(&last_number, last.mod_revision).await?;
            self.create(&format!("{last_number}/new"), "after").await?;
            start = [&last.key[..], b"\0"].concat().into();
            seen.extend(page.items.iter().map(|item| item.key.clone()));
            let left = Some(10 - seen.len());
            ensure!(page.remaining == left, "{:?} remain, should be {left:?}", page.remaining);
            if !page.more {
                break;
            }
        }
        let expected: Vec<Bytes> = (0..10).map(|number| bytes(&format!("/p/{number}"))).collect();
        ensure!(seen == expected, "the pages held {seen:?}");
        Ok(())
    }

    async fn a_quiet_prefix_learns_of_progress(&self) -> Check {
        let begin = self.revision().await?;
        let mut watch = self.watch("/quiet/", begin).await?;
        let last = futures::future::try_join_all(
            (0..20).map(|number| async move { self.create(&format!("/loud/{number}"), "x").await }),
        )
        .await?;
        let newest = last.into_iter().max().unwrap_or(begin);
        let mut reached = begin;
        while reached < newest {
            match next_message(&mut watch).await? {
                Ok(WatchMessage::Progress(revision)) => reached = revision,
                other => return Err(format!("instead of progress: {other:?}")),
            }
        }
        Ok(())
    }

    async fn a_watch_continues_where_it_is_told_to(&self) -> Check {
        let begin = self.revision().await?;
        for number in 0..30 {
            self.create(&format!("/a/{number}"), "x").await?;
        }
        let all = self.events("/a/", begin).await?;
        let from_the_beginning = self.events("/a/", 0).await?;
        ensure!(from_the_beginning == all, "after 0 came {from_the_beginning:?}");
        for (seen, event) in all.iter().enumerate() {
            let rest = self.events("/a/", event.revision).await?;
            ensure!(Some(&*rest) == all.get(seen + 1..), "after {} came {rest:?}", event.revision);
        }
        Ok(())
    }

    async fn a_waiting_watch_is_woken(&self) -> Check {
        let begin = self.revision().await?;
        let mut watches = Vec::new();
        for _ in 0..8 {
            watches.push(self.watch("/a", begin).await?);
        }
        let waiting = watches.iter_mut().map(|watch| async move { next_message(watch).await });
        let writing = async {
            tokio::task::yield_now().await;
            self.create("/a", "x").await
        };
        let (messages, written) = futures::join!(futures::future::join_all(waiting), writing);
        let written = written?;
        for message in messages {
            match message? {
                Ok(WatchMessage::Events(events)) if events.iter().map(|event| event.revision).eq([written]) => {}
                other => return Err(format!("woken with {other:?}")),
            }
        }
        Ok(())
    }

    async fn keys_expire(&self) -> Check {
        let begin = self.revision().await?;
        let ttl = Some(Duration::from_secs(1));
        let change = Change::Put { value: bytes("short"), ttl };
        let written = self.applied(Write::new(bytes("/ttl"), Expect::Absent, change)).await?;
        let mut watch = self.watch("/ttl", begin).await?;
        let mut delivered = Delivered { events: Vec::new(), through: begin };
        delivered.follow(&mut watch, written + 1).await?.map_err(|error| error.to_string())?;
        let deletion = delivered.events.last().map(|event| (event.revision, event.value.clone()));
        ensure!(deletion == Some((written + 1, None)), "a key that expires is deleted: {:?}", delivered.events);
        let held = self.0.get(bytes("/ttl")).await;
        ensure!(held == Ok(None), "an expired key holds {held:?}");
        Ok(())
    }

    /// Of every key of a page; those that live forever have no end.
    async fn it_is_known_how_long_keys_live(&self) -> Check {
        const LIVES: Duration = Duration::from_secs(1000);
        for (key, ttl) in
            [("/registry/a", None), ("/registry/b", Some(LIVES)), ("/registry/c", None), ("/registry/d", Some(LIVES))]
        {
            let change = Change::Put { value: bytes("x"), ttl };
            self.applied(Write::new(bytes(key), Expect::Absent, change)).await?;
        }
        let range = self.0.range(RangeRequest { start: bytes("/registry/"), ..RangeRequest::default() }).await;
        let range = range.map_err(|error| error.to_string())?;
        let left = self.0.time_left(&range.items, range.revision).await.map_err(|error| error.to_string())?;
        let lives = |left: &Option<Duration>| left.is_some_and(|left| left <= LIVES * 2 && left > LIVES / 2);
        let found: Vec<bool> = left.iter().map(lives).collect();
        ensure!(found == [false, true, false, true], "{left:?}");
        ensure!(left.first() == Some(&None) && left.get(2) == Some(&None), "{left:?}");
        let none = self.0.time_left(&[], range.revision).await;
        ensure!(none == Ok(Vec::new()), "of no keys: {none:?}");
        Ok(())
    }

    async fn a_put_without_time_to_live_stays(&self) -> Check {
        let short = |value| Change::Put { value: bytes(value), ttl: Some(Duration::from_secs(1)) };
        let begin = self.revision().await?;
        let written = self.applied(Write::new(bytes("/kept"), Expect::Absent, short("x"))).await?;
        self.applied(put("/kept", Expect::Revision(written), "y")).await?;
        let later = Change::Put { value: bytes("z"), ttl: Some(Duration::from_secs(2)) };
        let last = self.applied(Write::new(bytes("/later"), Expect::Absent, later)).await?;
        let mut watch = self.watch("", begin).await?;
        let mut delivered = Delivered { events: Vec::new(), through: begin };
        delivered.follow(&mut watch, last + 1).await?.map_err(|error| error.to_string())?;
        let gone = delivered.events.last().map(|event| event.key.clone());
        ensure!(gone == Some(bytes("/later")), "{gone:?} expired");
        let kept = self.0.get(bytes("/kept")).await.map_err(|error| error.to_string())?;
        ensure!(
            kept.is_some_and(|kept| kept.value == "y"),
            "the key expired although its last put had no time to live"
        );
        Ok(())
    }

    async fn compaction_is_allowed_to_repeat(&self) -> Check {
        for number in 0..5 {
            self.create(&format!("/a/{number}"), "x").await?;
        }
        let newest = self.revision().await?;
        for revision in [newest - 1, newest - 1, newest - 3, newest] {
            let compacted = self.0.compact(revision).await;
            ensure!(compacted == Ok(()), "compact {revision}: {compacted:?}");
        }
        let state = self.0.range(RangeRequest::default()).await.map_err(|error| error.to_string())?;
        ensure!(state.items.len() == 5 && state.revision == newest, "the state changed: {state:?}");
        Ok(())
    }
}
