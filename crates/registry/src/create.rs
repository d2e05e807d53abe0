//! Creating an object.

use std::sync::Arc;

use bytes::Bytes;
use pawl_kinds::Generation;
use pawl_kv::Guard;
use pawl_meta::object::{Meta, Object, metadata_mut};
use pawl_meta::{Details, Status, time};
use pawl_seal::Plain;
use rand::Rng;
use serde_json::json;

use crate::pipeline::{Attempt, Pipeline};
use crate::{CacheEntry, Context, Registry, Served};

/// An object that was decoded and defaulted, and the namespace of the URL.
pub struct CreateRequest {
    pub namespace: String,
    pub object: Object,
    /// The object says itself who owns what: apply does.
    pub tracked: bool,
}

impl CreateRequest {
    /// What a client posts. It says nothing about what the system says, and so owns none of it.
    pub fn posted(namespace: String, mut object: Object) -> Self {
        let metadata = metadata_mut(&mut object);
        for field in ["creationTimestamp", "uid", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"] {
            metadata.remove(field);
        }
        Self { namespace, object, tracked: false }
    }
}

/// How often a generated name is made anew before giving up.
const NAME_ATTEMPTS: usize = 8;

/// How often it is tried because another server was faster with addresses, ports or a change of the namespace.
const ATTEMPTS: usize = 20;

impl Registry {
    /// Creates an object. A dry run does everything but the write.
    pub async fn create(
        &self,
        cx: &Context,
        served: &Served,
        request: CreateRequest,
    ) -> Result<Arc<CacheEntry>, Status> {
        self.metrics.own_request(cx, "POST", served, "");
        let CreateRequest { namespace, object, tracked } = request;
        if served.resource.facts.closed.is_some() {
            return Err(closed(served));
        }
        let generated = object.name().is_empty() && !object.meta_str("generateName").is_empty();
        let name = object.name().to_owned();
        let mut pipeline = Pipeline {
            registry: self,
            cx,
            served,
            namespace: &namespace,
            name: &name,
            subresource: "",
            tracked,
            replaces: false,
            guards: Vec::from_iter(self.guard_of_namespace(cx, served, &namespace)),
            patches: false,
            present: None,
            new: object,
        };
        // What another server has made a moment ago counts: the namespace above all. Where that is all, the write looks after it.
        if pipeline.guards.is_empty() {
            self.storage().catch_up_with_others().await?;
        }
        pipeline.receive().await?;
        if !generated {
            return self.finish_create(pipeline).await;
        }
        let base = pipeline.new.meta_str("generateName").to_owned();
        let said = cx.said();
        for _ in 1..NAME_ATTEMPTS {
            let mut candidate = pipeline.clone();
            metadata_mut(&mut candidate.new).insert("name".to_owned(), json!(generated_name(&base)));
            match self.finish_create(candidate).await {
                Err(status) if status.reason == "AlreadyExists" => cx.forget_since(said),
                result => return result,
            }
        }
        Err(Status::already_exists(&served.group_resource, &base))
    }

    /// Finishes the creation of an object. Where other servers were faster, what it gets (addresses, ports) is given out anew,
    /// and its namespace is looked at again.
    async fn finish_create(&self, mut pipeline: Pipeline<'_>) -> Result<Arc<CacheEntry>, Status> {
        let allocates = pipeline.served.resource.facts.allocates;
        if !allocates && pipeline.guards.is_empty() {
            return made(pipeline.finish().await?);
        }
        let said = pipeline.cx.said();
        for _ in 0..ATTEMPTS {
            let attempt = if allocates { pipeline.clone().finish().await? } else { pipeline.finish().await? };
            if let Attempt::Done(entry) = attempt {
                return Ok(entry);
            }
            self.storage().catch_up_with_others().await?;
            pipeline.cx.forget_since(said);
            if !pipeline.guards.is_empty() {
                self.look_again(&mut pipeline).await?;
            }
        }
        Err(Status::unavailable("others change what this object needs faster than it can be stored"))
    }

    /// Looks at a namespace that was not the one that it was.
    async fn look_again(&self, pipeline: &mut Pipeline<'_>) -> Result<(), Status> {
        let guard = self.guard_of_namespace(pipeline.cx, pipeline.served, pipeline.namespace);
        if guard.is_none() {
            // What is wrong with it is admission's to say.
            pipeline.clone().mutate().await?;
        }
        pipeline.guards = Vec::from_iter(guard);
        Ok(())
    }

    /// What holds as long as nobody has changed the namespace of a new object, where that is all that others could have changed
    /// to the worse: it exists, and nothing else is looked at.
    fn guard_of_namespace(&self, cx: &Context, served: &Served, namespace: &str) -> Option<Guard> {
        let facts = &served.resource.facts;
        let needs_more = cx.dry_run || facts.custom || facts.allocates || !facts.namespaced;
        if needs_more
            || !self.storage().kv().is_shared()
            || self.settings.admission.looks_at_others(&served.group_resource)
        {
            return None;
        }
        let namespaces = &self.find("", "namespaces")?.stored;
        let found = namespaces.cache.get(namespace)?;
        let stays = found.readable().is_some_and(|readable| !readable.is_deleting());
        stays.then(|| Guard::Same { key: Bytes::from(namespaces.full_key(namespace)), revision: found.revision })
    }

    /// What was written at a revision: the cache has it already, unless somebody has written again since.
    pub(crate) fn written(&self, served: &Served, key: &str, revision: u64, value: Plain) -> Arc<CacheEntry> {
        let is_it = |entry: &Arc<CacheEntry>| entry.revision == revision && entry.readable().is_some();
        let cached = served.stored.cache.get(key).filter(is_it);
        cached.unwrap_or_else(|| Arc::new(served.stored.entry(key, revision, value)))
    }

    /// What a new object gets and what a client may not give it.
    pub(crate) fn prepare_create(&self, cx: &Context, served: &Served, object: &mut Object) {
        let facts = &served.resource.facts;
        let metadata = metadata_mut(object);
        for field in ["deletionTimestamp", "deletionGracePeriodSeconds"] {
            metadata.remove(field);
        }
        // It is answered in dry runs alone: the store has no place for it.
        if !cx.dry_run {
            metadata.remove("selfLink");
        }
        // Where nothing counts it, it is whatever somebody says.
        if facts.generation != Generation::None {
            metadata.remove("generation");
        }
        metadata.insert("uid".to_owned(), json!(uuid::Uuid::new_v4().to_string()));
        metadata.insert("creationTimestamp".to_owned(), json!(time::now()));
        if facts.generation != Generation::None && !facts.generation_later {
            metadata.insert("generation".to_owned(), json!(1));
        }
        self.prepare_kind_create(cx, served, object);
    }

    pub(crate) fn ttl(&self, served: &Served) -> Option<std::time::Duration> {
        let expires = served.resource.facts.expires && !self.settings.event_ttl.is_zero();
        expires.then_some(self.settings.event_ttl)
    }
}

/// What was created. Nothing that could be faster stands in the way of what does not exist.
fn made(attempt: Attempt) -> Result<Arc<CacheEntry>, Status> {
    match attempt {
        Attempt::Done(entry) => Ok(entry),
        Attempt::Again(_) => Err(Status::internal("an object that does not exist was changed")),
    }
}

/// The namespace of the URL stands; another one in the body is refused.
pub(crate) fn settle_namespace(served: &Served, namespace: &str, object: &mut Object) -> Result<(), Status> {
    let metadata = metadata_mut(object);
    if !served.resource.facts.namespaced {
        metadata.remove("namespace");
        return Ok(());
    }
    let given = metadata.get("namespace").and_then(|v| v.as_str()).unwrap_or_default();
    if !given.is_empty() && given != namespace {
        return Err(Status::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        ));
    }
    metadata.insert("namespace".to_owned(), json!(namespace));
    Ok(())
}

/// What is on its way out takes nothing new.
pub(crate) fn closed(served: &Served) -> Status {
    let facts = &served.resource.facts;
    let why = facts.closed.as_deref().unwrap_or("create not allowed while custom resource definition is terminating");
    let details = Details { group: facts.group.clone(), kind: facts.plural.clone(), ..Details::default() };
    Status::new(405, "MethodNotAllowed", why).with_details(details)
}

pub(crate) fn exists(served: &Served, existing: &CacheEntry) -> Status {
    let mut status = Status::already_exists(&served.group_resource, existing.name());
    if existing.readable().is_some_and(|r| r.object(existing.revision).is_deleting()) {
        status.message = format!("object is being deleted: {}", status.message);
    }
    status
}

/// Five letters and digits that make no words and no confusion.
fn generated_name(base: &str) -> String {
    const ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
    const MAX_BASE: usize = 63 - 5;
    let mut name: String = base.chars().take(MAX_BASE).collect();
    let mut random = rand::rng();
    for _ in 0..5 {
        let at = random.random_range(0..ALPHABET.len());
        name.push(ALPHABET.get(at).map_or('x', |b| char::from(*b)));
    }
    name
}
