//! The way of a write: one list of stages for what is created and for what is changed.
//!
//! [`Pipeline::receive`] has the stages up to mutating admission, in the request's version; [`Pipeline::finish`] those on what
//! is stored. Both run again on what is there now when somebody was faster.

use std::sync::Arc;
use std::time::Instant;

use pawl_admission::{Attributes, Operation};
use pawl_kinds::Mark;
use pawl_kv::{Expect, Guard};
use pawl_meta::object::{Meta, Object, at, metadata_mut};
use pawl_meta::{Errors, FieldPath, GroupKind, Status};

use crate::allocation::Held;
use crate::create::{closed, exists, settle_namespace};
use crate::delete::traits;
use crate::storage::{Conditions, Put, Written};
use crate::update::{bad_version, check_name, check_uid, modified};
use crate::{CacheEntry, Context, Readable, Registry, Served, metadata};

/// A write on its way.
#[derive(Clone)]
pub(crate) struct Pipeline<'a> {
    pub registry: &'a Registry,
    pub cx: &'a Context,
    pub served: &'a Served,
    pub namespace: &'a str,
    /// Empty while it is still to be generated.
    pub name: &'a str,
    /// Empty, or the subresource through which the write comes.
    pub subresource: &'a str,
    /// The object says itself who owns what: apply does.
    pub tracked: bool,
    /// The new object comes whole from a client.
    pub replaces: bool,
    /// What must hold beside, when it is written.
    pub guards: Vec<Guard>,
    /// The new object comes of a patch.
    pub patches: bool,
    /// What is there: nothing is what is created.
    pub present: Option<Present<'a>>,
    pub new: Object,
}

/// What a write finds.
#[derive(Clone, Copy)]
pub(crate) struct Present<'a> {
    pub entry: &'a Arc<CacheEntry>,
    /// In the form in which it is judged.
    pub old: &'a Object,
    /// In the version of the request.
    pub shown: &'a Object,
}

/// How an attempt to write ended.
pub(crate) enum Attempt {
    Done(Arc<CacheEntry>),
    /// Somebody was faster; this is what is there now.
    Again(Option<Arc<CacheEntry>>),
}

impl Pipeline<'_> {
    /// What a client sent becomes what is to be stored, if nothing else is wrong with it.
    pub async fn receive(&mut self) -> Result<(), Status> {
        self.settle()?;
        self.own_fields();
        self.mutate().await?;
        self.new = self.served.to_judged(std::mem::take(&mut self.new));
        self.check_conditions()
    }

    /// The stages for an object that has a name.
    pub async fn finish(&mut self) -> Result<Attempt, Status> {
        let held = self.prepare()?;
        let mark = self.validate()?;
        self.admit().await?;
        self.commit(held, mark).await
    }

    fn attributes(&self) -> Attributes<'_> {
        let operation = if self.present.is_some() { Operation::Update } else { Operation::Create };
        let place = (self.subresource, self.namespace, self.name);
        self.registry.attributes(self.cx, self.served, operation, place, self.present.map(|present| present.shown))
    }

    /// Namespace and name are those of the URL; what metadata has twice, or not at all, is settled.
    fn settle(&mut self) -> Result<(), Status> {
        settle_namespace(self.served, self.namespace, &mut self.new)?;
        if self.present.is_some() {
            check_name(&self.new, self.name)?;
        }
        metadata::dedup_owners(self.cx, &mut self.new, self.patches);
        self.settle_liens();
        Ok(())
    }

    /// A client that does not know liens must not drop them; an empty list says that they should go.
    fn settle_liens(&mut self) {
        let new = &mut self.new;
        let mentioned = metadata::take_empty_liens(new) || !new.meta_strings("liens").is_empty();
        if let Some(Present { old, .. }) = self.present
            && self.replaces
            && pawl_deletion::carry_over(new, old, mentioned)
        {
            let warning = "metadata.liens was not in the request and was kept; send an empty list to remove all liens";
            self.cx.warn(warning);
        }
    }

    /// Notes who owns which fields. Where only a part of the spec may change, nobody comes to own what is dropped.
    fn own_fields(&mut self) {
        let Self { registry, cx, served, subresource, .. } = *self;
        let shown = self.present.map(|present| present.shown);
        let owned = served.resource.owned_fields(subresource);
        if let Some(shown) = shown
            && owned.is_some_and(|owned| owned.iter().any(|field| field == "spec"))
        {
            registry.prepare_kind_update(cx, served, subresource, &mut self.new, shown);
        }
        if !self.tracked {
            registry.track(cx, served, subresource, shown, &mut self.new);
        }
    }

    pub async fn mutate(&mut self) -> Result<(), Status> {
        let mut new = std::mem::take(&mut self.new);
        let result = self.registry.settings.admission.mutate(&self.attributes(), &mut new).await;
        self.new = new;
        result
    }

    /// A uid and a resourceVersion in the new object are conditions on the old one.
    fn check_conditions(&self) -> Result<(), Status> {
        let Some(Present { entry, old, .. }) = self.present else { return Ok(()) };
        let Self { cx, served, namespace, name, .. } = *self;
        if self.replaces {
            check_uid((cx, served, namespace), &self.new, old)?;
        }
        match self.new.resource_version() {
            "" | "0" if !served.resource.facts.unconditional && matches!(self.subresource, "" | "status") => {
                let mut errors = Errors::new();
                let at = FieldPath::of("metadata").child("resourceVersion");
                errors.invalid(&at, 0, "must be specified for an update");
                // Upstream names the resource here, not the kind.
                let resource = served.group_resource.clone();
                Err(Status::invalid(&GroupKind { group: resource.group, kind: resource.resource }, name, &errors))
            }
            "" | "0" => Ok(()),
            version => match version.parse::<u64>() {
                Err(_) => Err(bad_version(version)),
                Ok(version) if version != entry.revision => Err(modified(served, name)),
                Ok(_) => Ok(()),
            },
        }
    }

    /// What a client may not set is as it was, and the object gets what it needs; that is held until the write has ended.
    fn prepare(&mut self) -> Result<Held, Status> {
        let Self { registry, cx, served, subresource, .. } = *self;
        match self.present {
            Some(Present { old, .. }) => {
                registry.prepare_update(cx, served, subresource, &mut self.new, old);
                let held = registry.allocate_update(cx, served, subresource, &mut self.new, old)?;
                // What is not stored in an object must not tell it from the old one; where only the times of owners do, nothing
                // has changed.
                let version = old.resource_version();
                metadata_mut(&mut self.new).insert("resourceVersion".to_owned(), version.into());
                let began = Instant::now();
                let outcome = pawl_apply::restore_times(old, &mut self.new);
                registry.metrics.compared(outcome, began);
                Ok(held)
            }
            None => {
                let asked = if served.resource.facts.allocates { self.new.clone() } else { Object::new() };
                registry.prepare_create(cx, served, &mut self.new);
                registry.allocate_create(cx, served, &asked, &mut self.new)
            }
        }
    }

    /// What is known of an object that may be stored.
    fn validate(&self) -> Result<Option<Mark>, Status> {
        let Self { registry, cx, served, subresource, new, .. } = self;
        let found = match self.present {
            Some(Present { entry, old, .. }) => {
                registry.validate_update(cx, served, subresource, (new, old), served.mark_of(entry))
            }
            None => registry.validate_create(cx, served, new),
        };
        if !found.errors.is_empty() {
            return Err(registry.invalid(served, new.name(), &found.errors));
        }
        match &served.resource.facts.refused {
            Some(refused) if at(new, &refused.when).is_some() => Err(Status::not_implemented(refused.why.as_str())),
            _ => Ok(found.mark),
        }
    }

    async fn admit(&self) -> Result<(), Status> {
        self.registry.settings.admission.validate(&self.attributes(), Some(&self.new)).await
    }

    async fn commit(&self, held: Held, mark: Option<Mark>) -> Result<Attempt, Status> {
        let key = self.served.stored.key(self.new.namespace(), self.new.name());
        match self.present {
            Some(present) => self.commit_update(&key, present, held, mark).await,
            None => self.commit_create(&key, held, mark).await,
        }
    }

    async fn commit_create(&self, key: &str, held: Held, mark: Option<Mark>) -> Result<Attempt, Status> {
        let Self { registry, served, new, .. } = self;
        let storage = registry.storage();
        // It is the store that minds, so that everything else that is wrong is told before, and a dry run passes.
        if !self.cx.dry_run && new.resource_version().parse::<u64>().is_ok_and(|version| version != 0) {
            return Err(Status::plain_error("resourceVersion should not be set on objects to be created"));
        }
        let value = served.stored_form(new);
        if self.cx.dry_run {
            storage.catch_up().await?;
        }
        // What is reserved is made before the object: for one that is there already nothing is.
        if (self.cx.dry_run || !held.is_empty())
            && let Some(existing) = served.stored.cache.get(key)
        {
            return Err(exists(served, &existing));
        }
        if self.cx.dry_run {
            let said = new.resource_version().parse().unwrap_or(0);
            let entry = Arc::new(served.stored.entry(key, said, value));
            served.note(&entry, new, mark);
            return Ok(Attempt::Done(entry));
        }
        let Some(_open) = served.stored.door.enter().await else { return Err(closed(served)) };
        let put = Put { value: value.clone(), ttl: registry.ttl(served) };
        let allocates = !held.is_empty();
        let conditions = Conditions { expect: Expect::Absent, guards: self.guards.clone() };
        match registry.store(self.cx, served, (key, new), conditions, Some(put), held).await? {
            Written::Applied(revision) => {
                let entry = registry.written(served, key, revision, value);
                served.note(&entry, new, mark);
                Ok(Attempt::Done(entry))
            }
            Written::Conflict(Some(existing)) => Err(exists(served, &existing)),
            // Another server was faster with what the object was to get, or with its namespace.
            Written::Conflict(None) if allocates || !self.guards.is_empty() => Ok(Attempt::Again(None)),
            Written::Conflict(None) => Err(Status::already_exists(&served.group_resource, new.name())),
        }
    }

    async fn commit_update(
        &self,
        key: &str,
        present: Present<'_>,
        held: Held,
        mark: Option<Mark>,
    ) -> Result<Attempt, Status> {
        let Self { registry, served, new, .. } = self;
        let Present { entry, .. } = present;
        let value = served.stored_form(new);
        // The change that takes away the last thing that held a deletion completes it.
        let gone = pawl_deletion::completes(new, traits(served));
        // What would be sealed or laid out otherwise today is written, even if nothing else changes.
        let stays = |now: &Readable| *now.value() == value.as_slice() && !served.stored.is_outdated(now);
        if !gone && entry.readable().is_some_and(stays) {
            return Ok(Attempt::Done(Arc::clone(entry)));
        }
        let at = |revision, value| Arc::new(served.stored.entry(key, revision, value));
        if self.cx.dry_run {
            let entry = at(entry.revision, value);
            served.note(&entry, new, mark);
            return Ok(Attempt::Done(entry));
        }
        let put = (!gone).then(|| Put { value: value.clone(), ttl: registry.ttl(served) });
        let conditions = Conditions { expect: Expect::Revision(entry.revision), guards: self.guards.clone() };
        match registry.store(self.cx, served, (key, new), conditions, put, held).await? {
            Written::Applied(_) if gone => Ok(Attempt::Done(at(entry.revision, value))),
            Written::Applied(revision) => {
                let entry = registry.written(served, key, revision, value);
                served.note(&entry, new, mark);
                Ok(Attempt::Done(entry))
            }
            Written::Conflict(now) => Ok(Attempt::Again(now)),
        }
    }
}

impl Registry {
    /// What admission is told of a request: the one place where it is put together.
    pub(crate) fn attributes<'a>(
        &'a self,
        cx: &'a Context,
        served: &'a Served,
        operation: Operation,
        (subresource, namespace, name): (&'a str, &'a str, &'a str),
        old: Option<&'a Object>,
    ) -> Attributes<'a> {
        let facts = &served.resource.facts;
        Attributes {
            operation,
            resource: &served.group_resource,
            version: &facts.version,
            kind: &facts.kind,
            subresource,
            namespace: if facts.namespaced { namespace } else { "" },
            name,
            user: &cx.user,
            dry_run: cx.dry_run,
            old,
            objects: self,
            remarks: cx,
        }
    }

    /// Writes to the store, unless the fence of the request has fallen.
    pub(crate) async fn store(
        &self,
        cx: &Context,
        served: &Served,
        (key, object): (&str, &Object),
        conditions: impl Into<Conditions>,
        put: Option<Put>,
        held: Held,
    ) -> Result<Written, Status> {
        let mut conditions = conditions.into();
        conditions.guards.extend(cx.fence.clone());
        let written = self.store_held(served, (key, object), conditions, put, held).await?;
        if let (Written::Conflict(_), Some(fence)) = (&written, &cx.fence)
            && self.storage().has_fallen(fence).await?
        {
            return Err(Status::conflict(
                &served.group_resource,
                object.name(),
                "another server does this work by now",
            ));
        }
        Ok(written)
    }

    /// Writes with what the object takes made before and what it leaves given back after. What was taken stays only where
    /// the write landed.
    async fn store_held(
        &self,
        served: &Served,
        (key, object): (&str, &Object),
        mut conditions: Conditions,
        put: Option<Put>,
        held: Held,
    ) -> Result<Written, Status> {
        let gone = put.is_none();
        let Some(pending) = self.begin_write(served) else {
            return self.storage().write(&served.stored, key, conditions, put).await;
        };
        match self.settle(&held, object).await {
            Err(status) if status.reason == "AlreadyExists" && self.storage().kv().is_shared() => {
                let now = served.stored.cache.get(key);
                pending.ended(&Ok(()));
                return Ok(Written::Conflict(now));
            }
            settled => settled?,
        }
        conditions.guards.extend(held.guard());
        let written = self.storage().write(&served.stored, key, conditions, put).await;
        let applied = matches!(written, Ok(Written::Applied(_)));
        self.keep_or_release(held, applied).await;
        if applied && gone {
            self.release_all(served, object).await;
        }
        pending.ended(&written);
        written
    }
}
