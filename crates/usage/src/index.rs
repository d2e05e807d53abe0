//! The reverse index: of everything that is used, who uses it.
//!
//! It is told what becomes of users, one by one, and tells whose being used has changed. A user that cannot be read may use
//! anything that it could name: in doubt an object is in use.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::{BuildHasher, BuildHasherDefault, Hash, Hasher, RandomState};
use std::sync::Arc;

use crate::references::{ClaimRef, Storage, Uses};
use crate::templates::Variables;
use crate::{Target, User};

/// A user: its kind, and its key (`namespace/name`, or a name).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Who {
    pub user: User,
    pub key: Arc<str>,
}

impl Who {
    pub fn new(user: User, key: &Arc<str>) -> Self {
        Self { user, key: Arc::clone(key) }
    }

    pub fn namespace(&self) -> &str {
        if self.user.is_namespaced() { self.key.split_once('/').map_or("", |(namespace, _)| namespace) } else { "" }
    }

    pub fn name(&self) -> &str {
        if self.user.is_namespaced() {
            self.key.split_once('/').map_or(&*self.key, |(_, name)| name)
        } else {
            &self.key
        }
    }

    /// Whether it could use a target, whatever it says.
    fn could_use(&self, target: &Target) -> bool {
        self.user.bears_on(target.used) && (!self.user.is_namespaced() || self.namespace() == target.namespace())
    }
}

/// What may be in use now and was not before, or the other way round.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Changed {
    Target(Target),
    /// Anything in a namespace; without a name, anywhere.
    Namespace(Box<str>),
}

#[derive(Debug, Default)]
pub struct Index {
    users: HashMap<Target, Users>,
    known: HashMap<User, HashMap<Arc<str>, Known>>,
    /// Users that cannot be read.
    doubtful: BTreeSet<Who>,
    hashing: RandomState,
}

/// A user and its hash, which is made once however many objects it uses: that is most of what it costs to see a user.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Hashed {
    hash: u64,
    who: Who,
}

impl Hash for Hashed {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

/// Takes hashes as they are.
#[derive(Debug, Default)]
struct ByHash(u64);

impl Hasher for ByHash {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.0 = self.0.rotate_left(8) ^ u64::from(*byte));
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

/// Who uses an object.
#[derive(Debug, Default)]
struct Users {
    /// Each, and whether that protects the object.
    all: HashMap<Hashed, bool, BuildHasherDefault<ByHash>>,
    /// How many protect it.
    protecting: usize,
}

impl Users {
    /// Puts a user in; says whether the object's being used has changed by that.
    fn put(&mut self, who: &Hashed, protects: bool) -> bool {
        let was_used = self.protecting > 0;
        let before = self.all.insert(who.clone(), protects);
        self.protecting += usize::from(protects);
        self.protecting -= usize::from(before == Some(true));
        was_used != (self.protecting > 0)
    }

    /// Takes a user out; says whether the object's being used has changed by that.
    fn take(&mut self, who: &Hashed) -> bool {
        let protected = self.all.remove(who) == Some(true);
        self.protecting -= usize::from(protected);
        protected && self.protecting == 0
    }
}

/// What is known of a user.
#[derive(Debug)]
struct Known {
    uses: Arc<Uses>,
    /// What the template of its class led to, while it did.
    resolved: Option<Target>,
}

impl Known {
    fn targets(&self) -> impl Iterator<Item = (&Target, bool)> {
        let own = self.uses.targets.iter().map(|(target, protects)| (target, *protects));
        own.chain(self.resolved.iter().map(|target| (target, true)))
    }

    /// Whether it uses a target, and whether that protects it.
    fn protects(&self, target: &Target) -> Option<bool> {
        if self.resolved.as_ref() == Some(target) {
            return Some(true);
        }
        // They are in order, each once.
        let at = self.uses.targets.binary_search_by(|(own, _)| own.cmp(target)).ok()?;
        self.uses.targets.get(at).map(|(_, protects)| *protects)
    }
}

impl Index {
    /// An object is like this now.
    pub fn see(&mut self, user: User, key: &Arc<str>, uses: &Arc<Uses>, changed: &mut Vec<Changed>) {
        let who = Who::new(user, key);
        if self.doubtful.remove(&who) {
            changed.push(Changed::Namespace(who.namespace().into()));
        }
        let before = self.known(user, key);
        // Most changes are of something else.
        if before.is_some_and(|before| before.uses == *uses) {
            return;
        }
        let resolved = before.and_then(|before| before.resolved.clone());
        self.enter(&who, Some(Known { uses: Arc::clone(uses), resolved }), changed);
        self.follow(&who, changed);
    }

    /// An object cannot be read: nobody knows what it uses.
    pub fn doubt(&mut self, user: User, key: &Arc<str>, changed: &mut Vec<Changed>) {
        let who = Who::new(user, key);
        let namespace = who.namespace().into();
        if self.doubtful.insert(who) {
            changed.push(Changed::Namespace(namespace));
        }
    }

    /// An object is gone.
    pub fn forget(&mut self, user: User, key: &Arc<str>, changed: &mut Vec<Changed>) {
        let who = Who::new(user, key);
        if self.doubtful.remove(&who) {
            changed.push(Changed::Namespace(who.namespace().into()));
        }
        let volume = self.volume_of(&who);
        self.enter(&who, None, changed);
        if let Some(volume) = volume {
            self.resolve(&volume, changed);
        }
    }

    /// Of the objects of a kind only these are still there.
    pub fn keep_only(&mut self, user: User, is_there: impl Fn(&str) -> bool, changed: &mut Vec<Changed>) {
        let doubtful = self.doubtful.iter().filter(|who| who.user == user).map(|who| &who.key);
        let known = self.known.get(&user).into_iter().flat_map(HashMap::keys).chain(doubtful);
        let gone: Vec<Arc<str>> = known.filter(|key| !is_there(key)).cloned().collect();
        gone.iter().for_each(|key| self.forget(user, key, changed));
    }

    /// Whether something that is there protects a target, or may.
    pub fn is_used(&self, target: &Target) -> bool {
        self.users.get(target).is_some_and(|users| users.protecting > 0)
            || self.doubtful.iter().any(|who| who.could_use(target))
    }

    /// Everybody who uses a target, and whether that protects it, in order.
    pub fn users(&self, target: &Target) -> Vec<(Who, bool)> {
        let known = self.users.get(target).into_iter().flat_map(|users| &users.all);
        let known = known.map(|(hashed, protects)| (hashed.who.clone(), *protects));
        let mut users: BTreeMap<Who, bool> = known.collect();
        users.extend(self.doubtful.iter().filter(|who| who.could_use(target)).map(|who| (who.clone(), true)));
        users.into_iter().collect()
    }

    /// Whether a user cannot be read.
    pub fn is_doubtful(&self, who: &Who) -> bool {
        self.doubtful.contains(who)
    }

    /// What a user refers to by the template of its class.
    pub fn resolved(&self, who: &Who) -> Option<&Target> {
        self.known(who.user, &who.key)?.resolved.as_ref()
    }

    /// Whether what claims say beside their names decides about a template.
    pub fn asks_claims(&self) -> bool {
        let mut classes = self.known.get(&User::StorageClass).into_iter().flat_map(HashMap::values);
        classes.any(|known| matches!(&known.uses.storage, Storage::Class(Some(template)) if template.asks_claim()))
    }

    /// How many objects are known to be used.
    pub fn len(&self) -> usize {
        self.users.len()
    }

    pub fn is_empty(&self) -> bool {
        self.users.is_empty()
    }

    /// Puts what is known of a user in the place of what was.
    fn enter(&mut self, who: &Who, now: Option<Known>, changed: &mut Vec<Changed>) {
        let hashed = Hashed { hash: self.hashing.hash_one(who), who: who.clone() };
        let of_kind = self.known.entry(who.user).or_default();
        let before = match now {
            Some(known) => of_kind.insert(Arc::clone(&who.key), known),
            None => of_kind.remove(&who.key),
        };
        let now = of_kind.get(&who.key);
        for (target, _) in before.iter().flat_map(Known::targets) {
            if now.is_some_and(|now| now.protects(target).is_some()) {
                continue;
            }
            let Some(users) = self.users.get_mut(target) else { continue };
            if users.take(&hashed) {
                changed.push(Changed::Target(target.clone()));
            }
            if users.all.is_empty() {
                self.users.remove(target);
            }
        }
        let Some(now) = now else { return };
        for (target, protects) in now.targets() {
            let users = match self.users.get_mut(target) {
                Some(users) => users,
                None => self.users.entry(target.clone()).or_default(),
            };
            // One that a template leads to may be named without protection, too.
            if users.put(&hashed, protects || now.resolved.as_ref() == Some(target)) {
                changed.push(Changed::Target(target.clone()));
            }
        }
    }

    /// What an object decides about others is looked at again.
    fn follow(&mut self, who: &Who, changed: &mut Vec<Changed>) {
        match who.user {
            User::Volume | User::SnapshotContent => self.resolve(who, changed),
            User::Claim => {
                if let Some(volume) = self.volume_of(who) {
                    self.resolve(&volume, changed);
                }
            }
            User::StorageClass | User::SnapshotClass => {
                let of = if who.user == User::StorageClass { User::Volume } else { User::SnapshotContent };
                let keys = self.known.get(&of).into_iter().flat_map(HashMap::keys);
                let users: Vec<Who> = keys.map(|key| Who::new(of, key)).collect();
                users.iter().for_each(|user| self.resolve(user, changed));
            }
            _ => {}
        }
    }

    fn volume_of(&self, claim: &Who) -> Option<Who> {
        match self.storage(claim.user, &claim.key)? {
            Storage::Claim { volume, .. } if !volume.is_empty() => {
                Some(Who { user: User::Volume, key: Arc::from(&**volume) })
            }
            _ => None,
        }
    }

    /// Resolves the template of a user's class. What it led to is remembered while it leads nowhere.
    fn resolve(&mut self, who: &Who, changed: &mut Vec<Changed>) {
        let Some(known) = self.known(who.user, &who.key) else { return };
        let resolved = match &known.uses.storage {
            Storage::Volume { class, claim, annotated } => {
                // Once the claim is gone, what the volume notes itself decides.
                let is_there = claim.as_ref().is_some_and(|claim| self.claim(claim).is_some());
                if *annotated && !is_there { Some(None) } else { self.by_class(&who.key, class, claim.as_ref()) }
            }
            Storage::Content { class, snapshot } => self.by_snapshot_class(&who.key, class, snapshot),
            _ => return,
        };
        let resolved = resolved.unwrap_or_else(|| known.resolved.clone());
        if resolved != known.resolved {
            let uses = Arc::clone(&known.uses);
            self.enter(who, Some(Known { uses, resolved }), changed);
        }
    }

    /// What a volume's class leads to; nothing is known without the class, or while what it asks for is missing.
    fn by_class(&self, volume: &str, class: &str, claim: Option<&ClaimRef>) -> Option<Option<Target>> {
        let Storage::Class(template) = self.storage(User::StorageClass, class)? else { return None };
        let Some(template) = template else { return Some(None) };
        let mut variables = Variables { everywhere: vec![("pv.name", volume)], ..Variables::default() };
        if let Some(claim) = claim {
            variables.everywhere.push(("pvc.namespace", &claim.namespace));
            variables.in_names.push(("pvc.name", &claim.name));
            if let Some(Storage::Claim { annotations, .. }) = self.claim(claim) {
                variables.annotations = Some(annotations);
            }
        }
        template.resolve(&variables).map(Some)
    }

    fn by_snapshot_class(
        &self,
        content: &str,
        class: &str,
        (namespace, name): &(Box<str>, Box<str>),
    ) -> Option<Option<Target>> {
        let Storage::Class(template) = self.storage(User::SnapshotClass, class)? else { return None };
        let Some(template) = template else { return Some(None) };
        let variables = Variables {
            everywhere: vec![("volumesnapshotcontent.name", content), ("volumesnapshot.namespace", namespace)],
            in_names: vec![("volumesnapshot.name", name)],
            annotations: None,
        };
        template.resolve(&variables).map(Some)
    }

    /// The claim that a volume belongs to, and not another one of its name.
    fn claim(&self, claim: &ClaimRef) -> Option<&Storage> {
        let key = format!("{}/{}", claim.namespace, claim.name);
        let storage = self.storage(User::Claim, &key)?;
        let Storage::Claim { uid, .. } = storage else { return None };
        (claim.uid.is_empty() || claim.uid == *uid).then_some(storage)
    }

    fn storage(&self, user: User, key: &str) -> Option<&Storage> {
        Some(&self.known(user, key)?.uses.storage)
    }

    fn known(&self, user: User, key: &str) -> Option<&Known> {
        self.known.get(&user)?.get(key)
    }
}

#[cfg(test)]
mod tests;
