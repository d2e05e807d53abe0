//! Who uses what of all that is stored: the index of `pawl_usage`, kept up with the caches.
//!
//! The feed brings it up to date before it says how far the caches are, so after [`Storage::catch_up`] the index is as new as
//! every write acknowledged before. Owns what a deletion asks it; decides nothing.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, Weak};

use bytes::Bytes;
use pawl_deletion::{DeleteOptions, InUse};
use pawl_kinds::{Resource, Subresource};
use pawl_kv::{Guard, Revision};
use pawl_meta::object::Object;
use pawl_usage::{Changed, Index, Protection, Target, Used, User, Who, references};
use tokio::sync::Notify;

use crate::entry::CacheEntry;
use crate::table::{ROOT, Stored, Table};
use crate::{Context, Registry, Served};

/// The index, and who listens to it.
#[derive(Default)]
pub struct Usage {
    index: RwLock<Index>,
    listeners: Mutex<Vec<Weak<UsageNews>>>,
    /// Whether what is used of these is kept from being deleted: Secrets, ConfigMaps.
    keeps: [AtomicBool; 2],
}

/// What has changed about who is used, for one listener; however much it is, each is told once.
#[derive(Default)]
pub struct UsageNews {
    changed: Mutex<HashSet<Changed>>,
    arrived: Notify,
}

impl UsageNews {
    /// What has changed since the last call, never nothing.
    pub async fn next(&self) -> Vec<Changed> {
        loop {
            let arrived = self.arrived.notified();
            let changed = std::mem::take(&mut *self.changed.lock().unwrap_or_else(PoisonError::into_inner));
            if !changed.is_empty() {
                return changed.into_iter().collect();
            }
            arrived.await;
        }
    }
}

impl Usage {
    /// Whether something that is there protects an object, or may.
    pub fn is_used(&self, target: &Target) -> bool {
        self.read().is_used(target)
    }

    /// Everybody who uses an object, and whether that protects it.
    pub fn users(&self, target: &Target) -> Vec<(Who, bool)> {
        self.read().users(target)
    }

    /// Tells what changes from now on, as long as the listener is kept.
    pub fn listen(&self) -> Arc<UsageNews> {
        let news = Arc::new(UsageNews::default());
        self.listeners.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::downgrade(&news));
        news
    }

    /// From now on what is used of a kind, and wants to be protected, is kept from being deleted.
    pub fn keep(&self, protection: Protection) {
        if let Some(keeps) = self.switch(protection.used) {
            keeps.store(true, Ordering::Release);
        }
    }

    /// Whether that is so.
    pub fn keeps(&self, used: Used) -> bool {
        self.switch(used).is_some_and(|keeps| keeps.load(Ordering::Acquire))
    }

    fn switch(&self, used: Used) -> Option<&AtomicBool> {
        let [secrets, config_maps] = &self.keeps;
        match used {
            Used::Secret => Some(secrets),
            Used::ConfigMap => Some(config_maps),
            _ => None,
        }
    }

    /// Looks at some objects as the cache has them now.
    pub(crate) fn look<'k>(&self, stored: &Stored, keys: impl IntoIterator<Item = &'k str>) {
        let Some(user) = stored.user else { return };
        let mut changed = Vec::new();
        let mut index = self.write();
        for key in keys {
            match stored.cache.get(key) {
                Some(entry) => see(&mut index, user, &entry, &mut changed),
                None => index.forget(user, &Arc::from(key), &mut changed),
            }
        }
        drop(index);
        self.tell(changed);
    }

    /// Looks at everything in a place.
    pub(crate) fn look_at_all(&self, stored: &Stored) {
        let Some(user) = stored.user else { return };
        let mut changed = Vec::new();
        let mut index = self.write();
        let objects = stored.cache.objects();
        objects.values().for_each(|entry| see(&mut index, user, entry, &mut changed));
        index.keep_only(user, |key| objects.contains_key(key), &mut changed);
        drop(index);
        self.tell(changed);
    }

    /// Forgets the users whose definitions are gone.
    pub(crate) fn forget_undefined(&self, table: &Table) {
        let mut changed = Vec::new();
        for user in [User::SnapshotContent, User::SnapshotClass] {
            let (group, plural) = user.resource();
            if table.preferred(group, plural).is_none() {
                self.write().keep_only(user, |_| false, &mut changed);
            }
        }
        self.tell(changed);
    }

    fn tell(&self, changed: Vec<Changed>) {
        if changed.is_empty() {
            return;
        }
        let mut listeners = self.listeners.lock().unwrap_or_else(PoisonError::into_inner);
        listeners.retain(|listener| {
            let Some(news) = listener.upgrade() else { return false };
            news.changed.lock().unwrap_or_else(PoisonError::into_inner).extend(changed.iter().cloned());
            news.arrived.notify_one();
            true
        });
    }

    fn read(&self) -> RwLockReadGuard<'_, Index> {
        self.index.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Index> {
        self.index.write().unwrap_or_else(PoisonError::into_inner)
    }
}

fn see(index: &mut Index, user: User, entry: &Arc<CacheEntry>, changed: &mut Vec<Changed>) {
    match entry.readable().and_then(|readable| readable.uses()) {
        Some(uses) => index.see(user, &entry.key, uses, changed),
        None => index.doubt(user, &entry.key, changed),
    }
}

/// Resources with what says who uses their objects. Upstream has nothing like it, and discovery does not show it.
pub(crate) fn with_users(resources: &[Resource]) -> Vec<Resource> {
    let mut resources = resources.to_vec();
    let shown = |used: &Used| *used != Used::ResourceClaim;
    for Resource { facts, .. } in &mut resources {
        if Used::of(&facts.group, &facts.plural).is_some_and(|used| shown(&used)) {
            facts.sub.push(Subresource {
                name: "usedby".to_owned(),
                kind: "UsedBy".to_owned(),
                verbs: vec!["get".to_owned()],
                hidden: true,
                ..Subresource::default()
            });
        }
    }
    resources
}

/// One user of an object, for who wants to read of it.
#[derive(Clone, Debug)]
pub struct UserShown {
    pub who: Who,
    pub api_version: String,
    pub uid: String,
    /// The fields that name the object; none where the user cannot be read.
    pub fields: Vec<String>,
    /// Whether that keeps the object from being deleted, for who wants it kept.
    pub protects: bool,
}

/// Some users of an object, and how many more there are.
#[derive(Clone, Debug, Default)]
pub struct UsersShown {
    pub users: Vec<UserShown>,
    /// Those that the reader may not see, or that are too many.
    pub others: usize,
}

/// How many users a refusal names.
const NAMED: usize = 32;

/// What is known of the use of an object that is to be deleted, and what must not have changed when it is.
pub(crate) struct Judgement {
    pub in_use: Option<InUse>,
    pub guards: Vec<Guard>,
}

impl Registry {
    pub fn usage(&self) -> &Usage {
        &self.storage().usage
    }

    /// What protects the objects of a resource, where that is switched on and not to be ignored.
    pub(crate) fn protection(&self, served: &Served, options: &DeleteOptions) -> Option<Protection> {
        let protection = Protection::of(Used::of(&served.group_resource.group, &served.group_resource.resource)?)?;
        let asked = self.settings.liens && !options.ignore_liens && self.usage().keeps(protection.used);
        asked.then_some(protection)
    }

    /// Asks who uses an object, as of now.
    pub(crate) fn judge_use(&self, cx: &Context, target: &Target) -> Judgement {
        // Looked at first: the index has at least this.
        let through = self.storage().applied();
        if self.usage().is_used(target) {
            let UsersShown { users, others } = self.users_shown(cx, target, NAMED, |protects| protects);
            let named = |user: &UserShown| pawl_deletion::UsedBy {
                kind: user.who.user.kind().to_owned(),
                namespace: user.who.namespace().to_owned(),
                name: user.who.name().to_owned(),
                fields: user.fields.clone(),
            };
            let in_use = InUse { users: users.iter().map(named).collect(), others };
            return Judgement { in_use: Some(in_use), guards: Vec::new() };
        }
        Judgement { in_use: None, guards: self.guards(target, through) }
    }

    /// What holds as long as nobody has come to use an object since a revision.
    pub fn guards(&self, target: &Target, through: Revision) -> Vec<Guard> {
        let table = self.table();
        let asks_claims = self.usage().read().asks_claims();
        let concerned = |user: &User| user.bears_on(target.used) && (*user != User::Claim || asks_claims);
        let prefix = |user: User| {
            let (group, plural) = user.resource();
            let place = match table.preferred(group, plural) {
                Some(served) => served.stored.prefix.clone(),
                // Its definition may come this moment.
                None => format!("{ROOT}{group}/{plural}/"),
            };
            let near = user.is_namespaced() && user != User::Claim;
            if near { format!("{place}{}/", target.namespace()) } else { place }
        };
        let guard = |user| Guard::Unwritten { prefix: Bytes::from(prefix(user)), through };
        User::ALL.into_iter().filter(concerned).map(guard).collect()
    }

    /// The users of an object that somebody may read, so many at most, and how many more there are.
    pub fn users_shown(&self, cx: &Context, target: &Target, most: usize, wanted: impl Fn(bool) -> bool) -> UsersShown {
        let mut shown = UsersShown::default();
        let table = self.table();
        for (who, protects) in self.usage().users(target).into_iter().filter(|(_, protects)| wanted(*protects)) {
            let (group, plural) = who.user.resource();
            let served = table.preferred(group, plural);
            let seen =
                served.filter(|_| shown.users.len() < most && cx.sees(group, plural, who.namespace(), who.name()));
            match seen {
                Some(served) => shown.users.push(self.user_shown(served, who, target, protects)),
                None => shown.others += 1,
            }
        }
        shown
    }

    fn user_shown(&self, served: &Served, who: Who, target: &Target, protects: bool) -> UserShown {
        let entry = served.stored.cache.get(&who.key);
        let object = entry.as_ref().and_then(|entry| Some(entry.readable()?.object(entry.revision)));
        let mut fields = object.as_ref().map(|object| fields_of(who.user, object, target)).unwrap_or_default();
        if self.usage().read().resolved(&who) == Some(target) {
            let class = if who.user == User::Volume { "spec.storageClassName" } else { "spec.volumeSnapshotClassName" };
            fields.push(class.to_owned());
        }
        let uid = entry.as_ref().and_then(|entry| entry.readable()?.uid()).unwrap_or_default();
        let api_version = served.resource.group_version().to_string();
        UserShown { who, api_version, uid, fields, protects }
    }

    /// A user of an object that is on its way out by itself, if there is one: what it uses is soon free.
    pub fn user_going(&self, target: &Target) -> Option<Who> {
        let table = self.table();
        let read = |user: User, key: &str| {
            let (group, plural) = user.resource();
            let entry = table.preferred(group, plural)?.stored.cache.get(key)?;
            Some(entry.readable()?.object(entry.revision))
        };
        let is_going = |who: &Who| {
            let object = read(who.user, &who.key)?;
            let claim = pawl_usage::claim_of(who.user, &object);
            let claim = claim.and_then(|key| read(User::Claim, &key));
            Some(pawl_usage::is_going(who.user, &object, claim.as_ref()))
        };
        let users = self.usage().users(target).into_iter().filter(|(_, protects)| *protects).map(|(who, _)| who);
        users.into_iter().find(|who| is_going(who) == Some(true))
    }
}

fn fields_of(user: User, object: &Object, target: &Target) -> Vec<String> {
    let mut fields = Vec::new();
    references(user, object, &mut |reference| {
        if *target == Target::new(reference.used, reference.namespace, reference.name) {
            fields.push(reference.at.to_string());
        }
    });
    fields
}
