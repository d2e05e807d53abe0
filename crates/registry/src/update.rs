//! Changing an object: PUT and every kind of patch go through here.

use std::sync::Arc;

use pawl_admission::{Attributes, Operation};
use pawl_kv::Expect;
use pawl_meta::object::{Meta, Object, metadata_mut};
use pawl_meta::{Errors, FieldPath, GroupKind, Status};
use serde_json::json;

use crate::create::settle_namespace;
use crate::delete::traits;
use crate::storage::{Put, Written};
use crate::{Context, CreateRequest, Entry, Readable, Registry, Served, metadata};

/// A change to an object.
pub struct UpdateRequest<'a> {
    pub namespace: &'a str,
    pub name: &'a str,
    /// Empty, or the subresource through which the change comes.
    pub subresource: &'a str,
    /// Whether an object that does not exist may be created by this.
    pub creates: bool,
    /// Why the user may not create it, when that is so.
    pub create_refused: Option<Status>,
    /// The change says itself who owns what: apply does.
    pub tracked: bool,
    /// The new object comes whole from a client (PUT): its uid is a condition, and liens that it does not mention stay.
    pub replaces: bool,
    /// Makes the new object from the present one; called again after a conflict.
    pub change: Change<'a>,
}

impl<'a> UpdateRequest<'a> {
    /// The server changes a part of an object that is there.
    pub fn new(
        (namespace, name): (&'a str, &'a str),
        subresource: &'a str,
        change: impl FnMut(Option<&Object>) -> Result<Object, Status> + Send + 'a,
    ) -> Self {
        Self {
            namespace,
            name,
            subresource,
            creates: false,
            create_refused: None,
            tracked: false,
            replaces: false,
            change: Box::new(change),
        }
    }
}

/// What becomes of an object. `None` is the object that does not exist yet.
pub type Change<'a> = Box<dyn FnMut(Option<&Object>) -> Result<Object, Status> + Send + 'a>;

/// How an update ended.
pub struct Updated {
    pub entry: Arc<Entry>,
    pub created: bool,
}

/// A patch that names no resourceVersion is tried again when somebody was faster.
const ATTEMPTS: usize = 20;

impl Registry {
    pub async fn update(
        &self,
        cx: &Context,
        served: &Served,
        mut request: UpdateRequest<'_>,
    ) -> Result<Updated, Status> {
        let resource = &served.resource;
        let key = served.stored.key(request.namespace, request.name);
        self.storage().catch_up().await?;
        let mut current = served.stored.cache.get(&key);
        for _ in 0..ATTEMPTS {
            let Some(entry) = &current else {
                if !request.creates {
                    return Err(Status::not_found(&resource.group_resource(), request.name));
                }
                if let Some(status) = request.create_refused {
                    return Err(status);
                }
                let object = (request.change)(None)?;
                check_name(&object, request.name)?;
                let tracked = request.tracked;
                let create = CreateRequest { namespace: request.namespace.to_owned(), object, tracked };
                match self.create(cx, served, create).await {
                    Ok(entry) => return Ok(Updated { entry, created: true }),
                    Err(status) if status.reason == "AlreadyExists" && !cx.dry_run => {
                        self.storage().catch_up().await?;
                        current = served.stored.cache.get(&key);
                        continue;
                    }
                    Err(status) => return Err(status),
                }
            };
            let old = entry.must_be_readable(&served.stored)?.object(entry.revision);
            match self.attempt(cx, served, &key, entry, &old, &mut request).await? {
                Attempt::Done(entry) => return Ok(Updated { entry, created: false }),
                Attempt::Again(now) => current = now,
            }
        }
        Err(modified(served, request.name))
    }

    async fn attempt(
        &self,
        cx: &Context,
        served: &Served,
        key: &str,
        entry: &Arc<Entry>,
        old: &Object,
        request: &mut UpdateRequest<'_>,
    ) -> Result<Attempt, Status> {
        let resource = &served.resource;
        let shown = served.to_served(old);
        let mut new = (request.change)(Some(&shown))?;
        settle_namespace(served, request.namespace, &mut new)?;
        let group_resource = resource.group_resource();
        let attributes = Attributes {
            operation: Operation::Update,
            resource: &group_resource,
            kind: &resource.facts.kind,
            subresource: request.subresource,
            namespace: if resource.facts.namespaced { request.namespace } else { "" },
            name: request.name,
            user: &cx.user.name,
            groups: &cx.user.groups,
            dry_run: cx.dry_run,
            old: Some(&shown),
            objects: self,
            warn: &|text| cx.warn(text),
        };
        check_name(&new, request.name)?;
        metadata::dedup_owners(cx, &mut new);
        settle_liens(cx, &mut new, old, request.replaces);
        if resource.owned_fields(request.subresource).is_some_and(|owned| owned.iter().any(|field| field == "spec")) {
            // Only a part of the spec may change like this: nobody comes to own what is dropped.
            self.prepare_kind_update(cx, served, request.subresource, &mut new, &shown);
        }
        if !request.tracked {
            self.track(cx, served, request.subresource, Some(&shown), &mut new);
        }
        self.settings.admission.mutate(&attributes, &mut new).await?;
        let mut new = served.to_stored(new);
        let version = new.resource_version().to_owned();
        if request.replaces {
            check_uid(served, &new, old, request.name)?;
        }
        match version.as_str() {
            "" | "0" if !resource.facts.unconditional && request.subresource.is_empty() => {
                let mut errors = Errors::new();
                let at = FieldPath::of("metadata").child("resourceVersion");
                errors.invalid(&at, 0, "must be specified for an update");
                // Upstream names the resource here, not the kind.
                let kind = GroupKind { group: group_resource.group, kind: group_resource.resource };
                return Err(Status::invalid(&kind, request.name, &errors));
            }
            "" | "0" => {}
            version => {
                if version.parse::<u64>().is_err() {
                    return Err(bad_version(version));
                }
                if version != entry.revision.to_string() {
                    return Err(modified(served, request.name));
                }
            }
        }
        self.prepare_update(cx, served, request.subresource, &mut new, old);
        let held = self.allocate_update(cx, served, request.subresource, &mut new, old)?;
        let errors = self.validate_update(cx, served, request.subresource, &new, old);
        if !errors.is_empty() {
            return Err(self.invalid(served, request.name, &errors));
        }
        self.settings.admission.validate(&attributes, Some(&new)).await?;
        let value = served.stored_form(&new);
        // What would be sealed otherwise today is written, even if nothing else changes.
        let stays = |r: &Readable| *r.value() == value.as_slice() && !served.stored.is_stale(r);
        let unchanged = entry.readable().is_some_and(stays);
        if unchanged && !pawl_deletion::completes(&new, traits(served)) {
            return Ok(Attempt::Done(Arc::clone(entry)));
        }
        let revision = entry.revision;
        if cx.dry_run {
            return Ok(Attempt::Done(Arc::new(served.stored.entry(key, revision, value))));
        }
        // The change that takes away the last thing that held a deletion completes it.
        let gone = pawl_deletion::completes(&new, traits(served));
        let put = (!gone).then(|| Put { value: value.clone(), ttl: self.ttl(served) });
        let attention = self.attend(served);
        self.settle(&held, &new).await?;
        let written = self.storage().write(&served.stored, key, Expect::Revision(revision), put).await;
        let applied = matches!(written, Ok(Written::Applied(_)));
        self.conclude(held, applied).await;
        if applied && gone {
            self.release_all(served, &new).await;
        }
        if let Some(attention) = attention {
            attention.ended(&written);
        }
        match written? {
            Written::Applied(_) if gone => Ok(Attempt::Done(Arc::new(served.stored.entry(key, revision, value)))),
            Written::Applied(written) => Ok(Attempt::Done(self.written(served, key, written, value))),
            Written::Conflict(now) => Ok(Attempt::Again(now)),
        }
    }

    /// What a change may not touch stays as it was; generation counts what matters.
    fn prepare_update(&self, cx: &Context, served: &Served, subresource: &str, new: &mut Object, old: &Object) {
        let facts = &served.resource.facts;
        let nothing = Object::new();
        let was = old.metadata().unwrap_or(&nothing);
        let metadata = metadata_mut(new);
        metadata.remove("selfLink");
        restore(metadata, was, "generation");
        for field in ["creationTimestamp", "deletionTimestamp"] {
            if was.contains_key(field) {
                restore(metadata, was, field);
            }
        }
        for field in ["uid", "deletionGracePeriodSeconds"] {
            if !metadata.contains_key(field) {
                restore(metadata, was, field);
            }
        }
        if !subresource.is_empty() {
            // A subresource changes what it owns and nothing else: never finalizers or liens.
            for field in ["finalizers", "liens", "ownerReferences"] {
                restore(metadata, was, field);
            }
        }
        self.prepare_kind_update(cx, served, subresource, new, old);
        if facts.generation.counts(new, old) {
            metadata_mut(new).insert("generation".to_owned(), json!(old.generation() + 1));
        }
    }
}

enum Attempt {
    Done(Arc<Entry>),
    /// Somebody was faster; this is what is there now.
    Again(Option<Arc<Entry>>),
}

fn restore(metadata: &mut Object, was: &Object, field: &str) {
    match was.get(field) {
        Some(value) => metadata.insert(field.to_owned(), value.clone()),
        None => metadata.remove(field),
    };
}

/// A client that does not know liens must not drop them; an empty list says that they should go.
fn settle_liens(cx: &Context, new: &mut Object, old: &Object, replaces: bool) {
    let mentioned = metadata::take_empty_liens(new) || !new.meta_strings("liens").is_empty();
    if replaces && pawl_deletion::carry_over(new, old, mentioned) {
        cx.warn("metadata.liens was not in the request and was kept; send an empty list to remove all liens");
    }
}

/// The name in the object must be the one in the URL.
pub(crate) fn check_name(object: &Object, name: &str) -> Result<(), Status> {
    match object.name() {
        "" => Err(nameless(name)),
        given if given != name => Err(Status::bad_request(format!(
            "the name of the object ({given}) does not match the name on the URL ({name})"
        ))),
        _ => Ok(()),
    }
}

pub(crate) fn nameless(name: &str) -> Status {
    Status::bad_request(format!(
        "the name of the object ({name} based on URL) was undeterminable: name must be provided"
    ))
}

/// A uid in the new object is a condition.
pub(crate) fn check_uid(served: &Served, new: &Object, old: &Object, name: &str) -> Result<(), Status> {
    let uid = new.uid();
    if uid.is_empty() || uid == old.uid() {
        return Ok(());
    }
    let key = served.stored.full_key(&served.stored.key(old.namespace(), name));
    let why = format!(
        "StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: \
         UID in precondition: {uid}, UID in object meta: {}",
        old.uid()
    );
    Err(Status::conflict(&served.resource.group_resource(), name, why))
}

fn modified(served: &Served, name: &str) -> Status {
    let why = "the object has been modified; please apply your changes to the latest version and try again";
    Status::conflict(&served.resource.group_resource(), name, why)
}

fn bad_version(version: &str) -> Status {
    Status::plain_error(format!("strconv.ParseUint: parsing {}: invalid syntax", pawl_meta::go::quote(version)))
}
