//! What is known of users and of what they use, from watches.

use std::collections::{BTreeMap, HashSet};
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::StreamExt;
use kube::runtime::watcher::{Config, Event};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client};
use pawl_controllers::WorkQueue;
use pawl_meta::object::{Meta, Object};
use pawl_usage::{Changed, Index, Plan, Protection, Target, User, Uses};
use tokio::sync::watch;

use crate::object::{Head, Whole, resource_of, resource_used};

/// Everything that the watches have told.
pub struct Known {
    pub protection: Protection,
    state: Mutex<KnownState>,
    /// Which kinds have been told of from end to end.
    complete: watch::Sender<HashSet<Option<User>>>,
    /// Liens to add, liens to remove.
    queues: [WorkQueue<Target>; 2],
}

#[derive(Default)]
struct KnownState {
    index: Index,
    /// The metadata of what can be protected, by key.
    targets: BTreeMap<String, Object>,
}

impl Known {
    pub fn new(protection: Protection) -> Self {
        let complete = watch::Sender::new(HashSet::new());
        Self { protection, state: Mutex::default(), complete, queues: Default::default() }
    }

    /// The kinds that decide about being used.
    pub fn users(&self) -> impl Iterator<Item = User> + use<> {
        let used = self.protection.used;
        User::ALL.into_iter().filter(move |user| user.bears_on(used))
    }

    pub fn queue(&self, does: Plan) -> &WorkQueue<Target> {
        let [add, remove] = &self.queues;
        if does == Plan::Add { add } else { remove }
    }

    /// Waits until everybody has been told of once.
    pub async fn is_complete(&self) {
        let all = self.users().count() + 1;
        let _ = self.complete.subscribe().wait_for(|complete| complete.len() == all).await;
    }

    /// The users of something, and whether each is one by the template of its class.
    pub fn users_of(&self, target: &Target) -> Vec<(pawl_usage::Who, bool)> {
        let state = self.lock();
        let users = state.index.users(target).into_iter().filter(|(_, protects)| *protects).map(|(who, _)| who);
        users.map(|who| (state.index.resolved(&who) == Some(target), who)).map(|(by, who)| (who, by)).collect()
    }

    fn finished(&self, kind: Option<User>) {
        self.complete.send_modify(|complete| {
            complete.insert(kind);
        });
    }

    /// Changes what is known of users, and puts in line whom that concerns.
    fn change(&self, change: impl FnOnce(&mut Index, &mut Vec<Changed>)) {
        let mut state = self.lock();
        let mut changed = Vec::new();
        change(&mut state.index, &mut changed);
        for changed in changed {
            if let Changed::Target(target) = changed
                && target.used == self.protection.used
            {
                self.consider(&state, &target);
            }
        }
    }

    /// Changes what is known of something that can be protected.
    fn set_target(&self, key: &str, object: Option<Object>) {
        let mut state = self.lock();
        match object {
            Some(object) => state.targets.insert(key.to_owned(), object),
            None => state.targets.remove(key),
        };
        let (namespace, name) = key.split_once('/').unwrap_or(("", key));
        self.consider(&state, &Target::new(self.protection.used, namespace, name));
    }

    fn consider(&self, state: &KnownState, target: &Target) {
        let Some(object) = state.targets.get(&*target.key) else { return };
        match self.protection.plan(object, state.index.is_used(target)) {
            Plan::Leave => {}
            does => self.queue(does).add(target.clone()),
        }
    }

    fn lock(&self) -> MutexGuard<'_, KnownState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub fn key_of(object: &Object) -> String {
    match object.namespace() {
        "" => object.name().to_owned(),
        namespace => format!("{namespace}/{}", object.name()),
    }
}

/// Follows a kind of users for ever.
pub async fn users(client: Client, known: Arc<Known>, user: User) {
    let api: Api<Whole> = Api::all_with(client, &resource_of(user));
    let mut events = pin!(watcher(api, Config::default()).default_backoff());
    let mut told: HashSet<String> = HashSet::new();
    let see = |known: &Known, object: &Object| {
        let (key, uses) = (Arc::from(key_of(object)), Uses::of(user, object));
        known.change(|index, changed| index.see(user, &key, &uses, changed));
    };
    while let Some(event) = events.next().await {
        match event {
            Ok(Event::Init) => told.clear(),
            Ok(Event::InitApply(kept)) => {
                told.insert(key_of(&kept.object));
                see(&known, &kept.object);
            }
            Ok(Event::InitDone) => {
                known.change(|index, changed| index.keep_only(user, |key| told.contains(key), changed));
                told.clear();
                known.finished(Some(user));
            }
            Ok(Event::Apply(kept)) => see(&known, &kept.object),
            Ok(Event::Delete(kept)) => {
                let key = Arc::from(key_of(&kept.object));
                known.change(|index, changed| index.forget(user, &key, changed));
            }
            // Snapshots are defined by whoever wants them.
            Err(watcher::Error::InitialListFailed(kube::Error::Api(status))) if status.code == 404 => {
                known.change(|index, changed| index.keep_only(user, |_| false, changed));
                known.finished(Some(user));
            }
            Err(why) => tracing::warn!(kind = user.kind(), %why, "cannot be followed now"),
        }
    }
}

/// Follows what can be protected for ever.
pub async fn targets(client: Client, known: Arc<Known>) {
    let api: Api<Head> = Api::all_with(client, &resource_used(known.protection.used));
    let mut events = pin!(watcher(api, Config::default()).default_backoff());
    let mut told: HashSet<String> = HashSet::new();
    while let Some(event) = events.next().await {
        match event {
            Ok(Event::Init) => told.clear(),
            Ok(Event::InitApply(kept)) => {
                let key = key_of(&kept.object);
                known.set_target(&key, Some(kept.object));
                told.insert(key);
            }
            Ok(Event::InitDone) => {
                let gone: Vec<String> =
                    known.lock().targets.keys().filter(|key| !told.contains(*key)).cloned().collect();
                gone.iter().for_each(|key| known.set_target(key, None));
                told.clear();
                known.finished(None);
            }
            Ok(Event::Apply(kept)) => known.set_target(&key_of(&kept.object), Some(kept.object.clone())),
            Ok(Event::Delete(kept)) => known.set_target(&key_of(&kept.object), None),
            Err(why) => tracing::warn!(%why, "what is protected cannot be followed now"),
        }
    }
}
