//! Creating an object.

use std::sync::Arc;

use pawl_admission::{Attributes, Operation};
use pawl_kinds::Generation;
use pawl_kv::Expect;
use pawl_meta::object::{Meta, Object, metadata_mut};
use pawl_meta::{Status, time};
use pawl_seal::Plain;
use rand::Rng;
use serde_json::json;

use crate::allocation::Held;
use crate::storage::{Put, Written};
use crate::{Context, Entry, Registry, Served, metadata};

/// An object that was decoded and defaulted, and the namespace of the URL.
pub struct CreateRequest {
    pub namespace: String,
    pub object: Object,
    /// The object says itself who owns what: apply does.
    pub tracked: bool,
}

/// How often a generated name is made anew before giving up.
const NAME_ATTEMPTS: usize = 8;

impl Registry {
    /// Creates an object. A dry run does everything but the write.
    pub async fn create(&self, cx: &Context, served: &Served, request: CreateRequest) -> Result<Arc<Entry>, Status> {
        let CreateRequest { namespace, mut object, tracked } = request;
        let resource = &served.resource;
        if let Some(why) = &resource.facts.refused {
            return Err(Status::not_implemented(why.as_str()));
        }
        settle_namespace(served, &namespace, &mut object)?;
        if !object.resource_version().is_empty() {
            return Err(Status::plain_error("resourceVersion should not be set on objects to be created"));
        }
        metadata::dedup_owners(cx, &mut object);
        metadata::take_empty_liens(&mut object);
        let generated = object.name().is_empty() && !object.meta_str("generateName").is_empty();
        let name = object.name().to_owned();
        let group_resource = resource.group_resource();
        if !tracked {
            self.track(cx, served, "", None, &mut object);
        }
        let attributes = Attributes {
            operation: Operation::Create,
            resource: &group_resource,
            kind: &resource.facts.kind,
            subresource: "",
            namespace: if resource.facts.namespaced { &namespace } else { "" },
            name: &name,
            user: &cx.user.name,
            groups: &cx.user.groups,
            dry_run: cx.dry_run,
            old: None,
            objects: self,
            warn: &|text| cx.warn(text),
        };
        self.settings.admission.mutate(&attributes, &mut object).await?;
        let object = served.to_stored(object);
        if !generated {
            return self.finish_create(cx, served, &attributes, object).await;
        }
        for _ in 1..NAME_ATTEMPTS {
            let mut candidate = object.clone();
            let name = generated_name(object.meta_str("generateName"));
            metadata_mut(&mut candidate).insert("name".to_owned(), json!(name));
            match self.finish_create(cx, served, &attributes, candidate).await {
                Err(status) if status.reason == "AlreadyExists" => {}
                result => return result,
            }
        }
        Err(Status::already_exists(&group_resource, object.meta_str("generateName")))
    }

    /// The stages after mutating admission, for an object that has a name.
    async fn finish_create(
        &self,
        cx: &Context,
        served: &Served,
        attributes: &Attributes<'_>,
        mut object: Object,
    ) -> Result<Arc<Entry>, Status> {
        let asked = if served.resource.facts.allocates { object.clone() } else { Object::new() };
        self.prepare_create(cx, served, &mut object);
        let held = self.allocate_create(cx, served, &asked, &mut object)?;
        let errors = self.validate_create(cx, served, &object);
        if !errors.is_empty() {
            return Err(self.invalid(served, object.name(), &errors));
        }
        self.settings.admission.validate(attributes, Some(&object)).await?;
        self.store_new(cx, served, &object, held).await
    }

    async fn store_new(
        &self,
        cx: &Context,
        served: &Served,
        object: &Object,
        held: Held,
    ) -> Result<Arc<Entry>, Status> {
        let key = served.stored.key(object.namespace(), object.name());
        if cx.dry_run {
            self.storage().catch_up().await?;
            return match served.stored.cache.get(&key) {
                Some(existing) => Err(exists(served, &existing)),
                None => Ok(Arc::new(served.stored.entry(&key, 0, served.stored_form(object)))),
            };
        }
        if held.is_empty() {
            return self.write_new(served, &key, object).await;
        }
        if let Some(existing) = served.stored.cache.get(&key) {
            return Err(exists(served, &existing));
        }
        let attention = self.attend(served);
        self.settle(&held, object).await?;
        let result = self.write_new(served, &key, object).await;
        self.conclude(held, result.is_ok()).await;
        if let Some(attention) = attention {
            attention.ended(&result);
        }
        result
    }

    async fn write_new(&self, served: &Served, key: &str, object: &Object) -> Result<Arc<Entry>, Status> {
        let value = served.stored_form(object);
        let put = Put { value, ttl: self.ttl(served) };
        match self.storage().write(&served.stored, key, Expect::Absent, Some(put.clone())).await? {
            Written::Applied(revision) => Ok(self.written(served, key, revision, put.value)),
            Written::Conflict(existing) => Err(match existing {
                Some(existing) => exists(served, &existing),
                None => Status::already_exists(&served.resource.group_resource(), object.name()),
            }),
        }
    }

    /// What was written at a revision: the cache has it already, unless somebody has written again since.
    pub(crate) fn written(&self, served: &Served, key: &str, revision: u64, value: Plain) -> Arc<Entry> {
        let cached = served.stored.cache.get(key).filter(|entry| entry.revision == revision);
        cached.unwrap_or_else(|| Arc::new(served.stored.entry(key, revision, value)))
    }

    /// What a new object gets and what a client may not give it.
    fn prepare_create(&self, cx: &Context, served: &Served, object: &mut Object) {
        let facts = &served.resource.facts;
        let metadata = metadata_mut(object);
        for field in ["deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "generation"] {
            metadata.remove(field);
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

fn exists(served: &Served, existing: &Entry) -> Status {
    let mut status = Status::already_exists(&served.resource.group_resource(), existing.name());
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
