//! Changing an object: PUT and every kind of patch go through here.

use std::sync::Arc;

use pawl_kv::Guard;
use pawl_meta::Status;
use pawl_meta::object::{Meta, Object, metadata_mut};
use pawl_schema::Finding;
use serde_json::json;

use crate::patch::Patch;
use crate::pipeline::{Attempt, Pipeline, Present};
use crate::{CacheEntry, Context, CreateRequest, PatchRequest, Registry, ScaleChange, Sent, Served, scale};

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
    /// What makes the new object from the present one; asked again after a conflict.
    pub change: Mutation<'a>,
    /// What must hold beside, when it is written; who gives some decides by themselves whether to try again.
    pub guards: Vec<Guard>,
}

impl<'a> UpdateRequest<'a> {
    /// A change to an object that is there.
    pub fn new((namespace, name): (&'a str, &'a str), subresource: &'a str, change: Mutation<'a>) -> Self {
        Self { namespace, name, subresource, creates: false, create_refused: None, change, guards: Vec::new() }
    }
}

/// What becomes of an object.
pub enum Mutation<'a> {
    /// A client sends it whole. Who is asked again, because somebody was faster, reads the body again: that is rarer than a
    /// copy is cheap.
    Replace { sent: Sent<'a>, decoded: Option<Object> },
    /// A client says what to change.
    Patch(PatchChange<'a>),
    /// A client changes its Scale.
    Scale(ScaleChange<'a>),
    /// The server changes a part of it.
    Own(OwnChange<'a>),
}

/// Makes the new object from the present one.
pub type OwnChange<'a> = Box<dyn FnMut(&Object) -> Result<Object, Status> + Send + 'a>;

/// A patch that was read, and what is odd about its text.
pub struct PatchChange<'a> {
    pub(crate) request: &'a PatchRequest<'a>,
    pub(crate) patch: Patch,
    pub(crate) found: Vec<Finding>,
}

impl<'a> Mutation<'a> {
    pub fn replace(sent: Sent<'a>) -> Self {
        Self::Replace { sent, decoded: None }
    }

    pub fn own(change: impl FnMut(&Object) -> Result<Object, Status> + Send + 'a) -> Self {
        Self::Own(Box::new(change))
    }

    /// Whether the new object says itself who owns what.
    fn is_tracked(&self) -> bool {
        match self {
            Self::Patch(change) => matches!(change.patch, Patch::Apply(_)),
            Self::Scale(_) => true,
            Self::Replace { .. } | Self::Own(_) => false,
        }
    }

    /// The new object, from the one that is there; `None` where it does not exist yet.
    fn make(
        &mut self,
        registry: &Registry,
        cx: &Context,
        served: &Served,
        old: Option<&Object>,
    ) -> Result<Object, Status> {
        let absent = || Status::not_found(&served.group_resource, "");
        match self {
            Self::Replace { sent, decoded } => match decoded.take() {
                Some(object) => Ok(object),
                None => registry.decode(cx, served, *sent),
            },
            Self::Patch(change) => registry.patch_object(cx, served, change, old),
            Self::Scale(change) => scale::changed(registry, cx, served, old.ok_or_else(absent)?, change),
            Self::Own(change) => change(old.ok_or_else(absent)?),
        }
    }
}

/// How an update ended.
pub struct Updated {
    pub entry: Arc<CacheEntry>,
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
        let verb = if matches!(request.change, Mutation::Patch(_)) { "PATCH" } else { "PUT" };
        self.metrics.own_request(cx, verb, served, request.subresource);
        if let Mutation::Replace { sent, decoded } = &mut request.change {
            // What cannot be read is told before what is not there.
            let object = self.decode(cx, served, *sent)?;
            check_name(&object, request.name)?;
            *decoded = Some(object);
        }
        let key = served.stored.key(request.namespace, request.name);
        self.storage().catch_up().await?;
        let mut current = served.stored.cache.get(&key);
        let said = cx.said();
        for _ in 0..ATTEMPTS {
            let Some(entry) = current else {
                match self.create_missing(cx, served, &mut request).await? {
                    Some(updated) => return Ok(updated),
                    None => current = served.stored.cache.get(&key),
                }
                continue;
            };
            match self.attempt(cx, served, &entry, &mut request).await? {
                Attempt::Done(entry) => return Ok(Updated { entry, created: false }),
                Attempt::Again(_) if !request.guards.is_empty() => return Err(modified(served, request.name)),
                Attempt::Again(now) => current = now,
            }
            // Who lost, lost to somebody: to another server, perhaps, over what the caches do not show yet.
            self.storage().catch_up_with_others().await?;
            cx.forget_since(said);
        }
        Err(modified(served, request.name))
    }

    /// Creates what a change is about and does not exist, where that is asked for; `None` when it exists by now.
    async fn create_missing(
        &self,
        cx: &Context,
        served: &Served,
        request: &mut UpdateRequest<'_>,
    ) -> Result<Option<Updated>, Status> {
        if !request.creates {
            return Err(Status::not_found(&served.group_resource, request.name));
        }
        if let Some(status) = request.create_refused.take() {
            return Err(status);
        }
        let object = request.change.make(self, cx, served, None)?;
        check_name(&object, request.name)?;
        let tracked = request.change.is_tracked();
        if matches!(request.change, Mutation::Replace { .. }) {
            // Conditions on what is not there.
            check_uid((cx, served, request.namespace), &object, &Object::new())?;
            match object.resource_version() {
                version if !version.is_empty() && version.parse::<u64>().is_err() => return Err(bad_version(version)),
                _ => {}
            }
        }
        let create = CreateRequest { namespace: request.namespace.to_owned(), object, tracked };
        match self.create(cx, served, create).await {
            Ok(entry) => Ok(Some(Updated { entry, created: true })),
            Err(status) if status.reason == "AlreadyExists" && !cx.dry_run => {
                self.storage().catch_up().await?;
                Ok(None)
            }
            Err(status) => Err(status),
        }
    }

    async fn attempt(
        &self,
        cx: &Context,
        served: &Served,
        entry: &Arc<CacheEntry>,
        request: &mut UpdateRequest<'_>,
    ) -> Result<Attempt, Status> {
        let old = entry.must_be_readable(&served.stored)?.object(entry.revision);
        let shown = served.to_served(&old);
        let new = request.change.make(self, cx, served, Some(&shown))?;
        let mut pipeline = Pipeline {
            registry: self,
            cx,
            served,
            namespace: request.namespace,
            name: request.name,
            subresource: request.subresource,
            tracked: request.change.is_tracked(),
            replaces: matches!(request.change, Mutation::Replace { .. }) && request.subresource.is_empty(),
            guards: request.guards.clone(),
            patches: matches!(request.change, Mutation::Patch(_)),
            present: Some(Present { entry, old: served.judged(&old, &shown), shown: &shown }),
            new,
        };
        pipeline.receive().await?;
        pipeline.finish().await
    }

    /// What a change may not touch stays as it was; generation counts what matters.
    pub(crate) fn prepare_update(
        &self,
        cx: &Context,
        served: &Served,
        subresource: &str,
        new: &mut Object,
        old: &Object,
    ) {
        let facts = &served.resource.facts;
        let nothing = Object::new();
        let was = old.metadata().unwrap_or(&nothing);
        let metadata = metadata_mut(new);
        if !cx.dry_run {
            metadata.remove("selfLink");
        }
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
        let is_status = subresource == "status";
        match subresource {
            "" => {}
            "status" if facts.status_keeps.iter().any(|field| field == "*") => {
                let owners = metadata.remove("managedFields");
                *metadata = was.clone();
                metadata.remove("managedFields");
                metadata.extend(owners.map(|owners| ("managedFields".to_owned(), owners)));
            }
            "status" => {
                restore(metadata, was, "liens");
                facts.status_keeps.iter().for_each(|field| restore(metadata, was, field));
            }
            // What is not about metadata leaves it alone.
            _ => ["finalizers", "liens", "ownerReferences"].iter().for_each(|field| restore(metadata, was, field)),
        }
        self.prepare_kind_update(cx, served, subresource, new, old);
        if is_status && !facts.custom && served.converts().is_none() {
            // What is restored may have defaults for what is not; what was wrong with it was told when it was read.
            let _ = self.set_defaults(served, new);
        }
        if !is_status && facts.generation.counts(new, old) {
            metadata_mut(new).insert("generation".to_owned(), json!(old.generation() + 1));
        }
    }
}

fn restore(metadata: &mut Object, was: &Object, field: &str) {
    match was.get(field) {
        Some(value) => metadata.insert(field.to_owned(), value.clone()),
        None => metadata.remove(field),
    };
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
pub(crate) fn check_uid(place: Place<'_>, new: &Object, old: &Object) -> Result<(), Status> {
    let (uid, name) = (new.uid(), new.name());
    if uid.is_empty() || uid == old.uid() {
        return Ok(());
    }
    let why = format!("UID in precondition: {uid}, UID in object meta: {}", old.uid());
    Err(precondition_failed(place, name, &why))
}

/// Who asks, and where the object is.
pub(crate) type Place<'a> = (&'a Context, &'a Served, &'a str);

/// A condition on what is stored that does not hold. A dry run names the place of the object in its own way, upstream too.
pub(crate) fn precondition_failed((cx, served, namespace): Place<'_>, name: &str, why: &str) -> Status {
    let key = served.stored.full_key(&served.stored.key(namespace, name));
    let key = key.strip_prefix("/registry").filter(|_| cx.dry_run).unwrap_or(&key);
    let why = format!(
        "StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: {why}"
    );
    Status::conflict(&served.group_resource, name, why)
}

pub(crate) fn modified(served: &Served, name: &str) -> Status {
    let why = "the object has been modified; please apply your changes to the latest version and try again";
    Status::conflict(&served.group_resource, name, why)
}

pub(crate) fn bad_version(version: &str) -> Status {
    Status::plain_error(format!("strconv.ParseUint: parsing {}: invalid syntax", pawl_meta::go::quote(version)))
}
