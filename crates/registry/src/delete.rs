//! Deleting objects: one, or all that a selection finds. What is to be done is decided by `pawl_deletion`.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pawl_admission::Operation;
use pawl_deletion::{DeleteOptions, Deletion, DeletionVerdict, Grace, Traits};
use pawl_kv::Expect;
use pawl_meta::object::{Meta, Object, metadata_mut};
use pawl_meta::{Cause, Details, Status, time};
use pawl_seal::Plain;
use pawl_usage::Target;

use crate::allocation::Held;
use crate::storage::{Conditions, Put, Written};
use crate::{CacheEntry, Context, ListRequest, Page, Registry, Served};

pub struct DeleteRequest<'a> {
    pub namespace: &'a str,
    pub name: &'a str,
    pub options: &'a DeleteOptions,
}

/// How a deletion ended.
pub enum Deleted {
    /// The object is gone; this is how it looked last.
    Gone(Arc<CacheEntry>),
    /// The object stays until what holds it lets go.
    Waiting(Arc<CacheEntry>),
    /// The object is gone, and nobody could tell how it looked.
    Removed,
}

/// The annotation of the audit log that names the liens that were ignored.
const IGNORED_LIENS: &str = "apiserver.k8s.io/ignored-liens";

/// Who asked for the deletion of what is deleted in several steps, by uid: those steps are taken by others, and the audit of them
/// says for whom.
#[derive(Default)]
pub(crate) struct Deleters(Mutex<HashMap<String, String>>);

impl Deleters {
    fn remember(&self, uid: &str, user: &str) {
        self.lock().insert(uid.to_owned(), user.to_owned());
    }

    pub fn of(&self, uid: &str) -> Option<String> {
        self.lock().get(uid).cloned()
    }

    pub fn forget(&self, uid: &str) {
        self.lock().remove(uid);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A deletion without preconditions is tried again when somebody was faster.
const ATTEMPTS: usize = 100;

impl Registry {
    pub async fn delete(&self, cx: &Context, served: &Served, request: DeleteRequest<'_>) -> Result<Deleted, Status> {
        self.metrics.own_request(cx, "DELETE", served, "");
        if request.options.ignore_read_errors {
            return self.remove_unreadable(cx, served, request.namespace, request.name).await;
        }
        warn_of_orphans(cx, served, request.options);
        let key = served.stored.key(request.namespace, request.name);
        self.storage().catch_up().await?;
        let mut current = served.stored.cache.get(&key);
        let mut whole = decides_by_more_than_metadata(served);
        let protection = self.protection(served, request.options);
        let said = cx.said();
        for _ in 0..ATTEMPTS {
            let entry = current.ok_or_else(|| Status::not_found(&served.group_resource, request.name))?;
            let readable = entry.must_be_readable(&served.stored)?;
            let old = if whole { readable.object(entry.revision) } else { readable.head(entry.revision) };
            self.admit_deletion(cx, served, &request, &old).await?;
            let was_deleting = old.is_deleting();
            let mut old = old;
            if served.resource.facts.cleanup.is_some() && !was_deleting {
                served.resource.behaviour.begin_deletion(&mut old);
            }
            let target = protection.filter(|asked| !was_deleting && asked.is_wanted(&old));
            let target = target.map(|asked| Target::new(asked.used, request.namespace, request.name));
            let used = target.map(|target| self.judge_use(cx, &target));
            let in_use = used.as_ref().and_then(|used| used.in_use.as_ref());
            let deletion = Deletion { in_use, ..self.deletion(served, request.options) };
            let judged = match pawl_deletion::judge(&deletion, old) {
                DeletionVerdict::Refuse(status) => return Err(status),
                DeletionVerdict::Underway => return Ok(Deleted::Waiting(entry)),
                // What is stored or shown again must be all of it.
                DeletionVerdict::Mark(_) | DeletionVerdict::Remove { changed: true, .. } if !whole => {
                    whole = true;
                    current = Some(entry);
                    continue;
                }
                DeletionVerdict::Remove { object, changed } => Judged { object, changed, gone: true, was_deleting },
                DeletionVerdict::Mark(mut object) => {
                    self.prepare_kind_deletion(served, &mut object);
                    if served.resource.facts.cleanup.is_some() {
                        keep_generation(&mut object, &entry);
                    }
                    Judged { object, changed: true, gone: false, was_deleting }
                }
            };
            let guards = used.map(|used| used.guards).unwrap_or_default();
            let is_guarded = !guards.is_empty();
            let conditions = Conditions { expect: Expect::Revision(entry.revision), guards };
            match self.carry_out(cx, served, (&key, &entry), (request.options, conditions), judged).await? {
                Ok(deleted) => return Ok(deleted),
                // Who came to use it meanwhile must be known.
                Err(_) if is_guarded => {
                    self.storage().catch_up().await?;
                    current = served.stored.cache.get(&key);
                }
                Err(now) => current = now,
            }
            cx.forget_since(said);
        }
        let why = "the object was changed too often while it was being deleted";
        Err(Status::conflict(&served.group_resource, request.name, why))
    }

    async fn admit_deletion(
        &self,
        cx: &Context,
        served: &Served,
        request: &DeleteRequest<'_>,
        old: &Object,
    ) -> Result<(), Status> {
        let place = ("", request.namespace, request.name);
        let attributes = self.attributes(cx, served, Operation::Delete, place, Some(old));
        self.settings.admission.validate(&attributes, None).await?;
        Ok(())
    }

    /// What a verdict on a deletion goes by, beside the object.
    pub(crate) fn deletion<'a>(&self, served: &'a Served, options: &'a DeleteOptions) -> Deletion<'a> {
        Deletion {
            resource: &served.group_resource,
            kind: &served.resource.facts.kind,
            kind_group: served.resource.facts.error_group.as_deref().unwrap_or(&served.resource.facts.group),
            options,
            traits: traits(served),
            in_use: None,
            liens_hold: self.settings.liens,
            now: time::unix_now(),
        }
    }

    /// Does what was judged to the object as it was judged; otherwise gives what is there now.
    async fn carry_out(
        &self,
        cx: &Context,
        served: &Served,
        (key, entry): (&str, &Arc<CacheEntry>),
        (options, conditions): (&DeleteOptions, Conditions),
        judged: Judged,
    ) -> Result<Result<Deleted, Option<Arc<CacheEntry>>>, Status> {
        let Judged { object, changed, gone, was_deleting } = judged;
        let ended = |revision| {
            let entry = match changed {
                true => Arc::new(served.stored.entry(key, revision, Plain::new(crate::encode(&object)))),
                false if revision == entry.revision => Arc::clone(entry),
                false => Arc::new(entry.at(revision)),
            };
            if gone { Deleted::Gone(entry) } else { Deleted::Waiting(entry) }
        };
        if cx.dry_run {
            return Ok(Ok(ended(entry.revision)));
        }
        let put = (!gone).then(|| Put { value: served.stored_form(&object), ttl: self.ttl(served) });
        let revision = match self.store(cx, served, (key, &object), conditions, put, Held::default()).await? {
            Written::Applied(revision) => revision,
            Written::Conflict(now) => return Ok(Err(now)),
        };
        // A deletion that was under way needed nobody's leave.
        if options.ignore_liens && !was_deleting {
            note_liens(cx, key, &object);
        }
        if served.resource.facts.deferred && !gone && !was_deleting {
            self.deleters.remember(object.uid(), &cx.user.name);
        }
        // What is gone is shown at the revision at which it went.
        Ok(Ok(ended(revision)))
    }

    /// Deletes everything that a list shows, and gives that list. What is held by liens stays, and the answer names it.
    pub async fn delete_collection(
        &self,
        cx: &Context,
        served: &Served,
        list: &ListRequest,
        options: &DeleteOptions,
    ) -> Result<Page, Status> {
        warn_of_orphans(cx, served, options);
        let page = self.list(served, list).await?;
        let mut held: Vec<Cause> = Vec::new();
        for entry in &page.entries {
            let request = DeleteRequest { namespace: entry.namespace(), name: entry.name(), options };
            match self.delete(cx, served, request).await {
                Ok(_) => {}
                // Somebody else was faster.
                Err(status) if status.code == 404 => {}
                Err(status) if pawl_deletion::is_held(&status) => held.push(Cause {
                    reason: pawl_deletion::LIEN_HELD.to_owned(),
                    message: status.message,
                    field: entry.key.to_string(),
                }),
                Err(status) => return Err(status),
            }
        }
        if held.is_empty() {
            return Ok(page);
        }
        let resource = served.group_resource.clone();
        let names: Vec<String> = held.iter().map(|c| format!("\"{}\"", c.field)).collect();
        let message = format!(
            "{} of {} {resource} are held by liens and were not deleted: {}",
            held.len(),
            page.entries.len(),
            names.join(", ")
        );
        Err(Status::new(409, "Conflict", message).with_details(Details {
            group: resource.group,
            kind: resource.resource,
            causes: held,
            ..Details::default()
        }))
    }
}

/// What is to be done to an object that is deleted.
struct Judged {
    object: Object,
    /// Whether the object differs from what is stored.
    changed: bool,
    /// Whether it goes, or only begins to.
    gone: bool,
    was_deleting: bool,
}

/// Who says nothing about dependents is told what becomes of them, whether there is something to delete or not.
fn warn_of_orphans(cx: &Context, served: &Served, options: &DeleteOptions) {
    if let (Some(warning), None) = (&served.resource.facts.orphans_warning, options.asked()) {
        cx.warn(warning.as_str());
    }
}

/// Who deletes in spite of liens leaves a trace of which ones.
fn note_liens(cx: &Context, key: &str, object: &Object) {
    let liens = object.meta_strings("liens");
    if !liens.is_empty() {
        cx.note(IGNORED_LIENS, &format!("{key}: {}", liens.join(", ")));
    }
}

/// Whether more than metadata says what becomes of a deletion; for most kinds it does not, and the rest is left unread.
fn decides_by_more_than_metadata(served: &Served) -> bool {
    let facts = &served.resource.facts;
    facts.graceful.is_some() || facts.deferred || facts.allocates || facts.cleanup.is_some()
}

/// Of what goes in steps upstream notes the first one by itself: nothing counts it, and there is no grace.
fn keep_generation(object: &mut Object, entry: &CacheEntry) {
    let before = entry.readable().map(|readable| readable.head(entry.revision).generation());
    let metadata = metadata_mut(object);
    metadata.remove("deletionGracePeriodSeconds");
    if let Some(generation) = before.filter(|generation| *generation > 0) {
        metadata.insert("generation".to_owned(), generation.into());
    }
}

/// What is particular about the deletion of a kind.
pub(crate) fn traits(served: &Served) -> Traits {
    let facts = &served.resource.facts;
    Traits {
        grace: (facts.graceful.as_deref() == Some("pod")).then_some(Grace::Pod),
        spec_finalizers: facts.deferred,
        orphans: facts.orphans,
        uncollected: facts.expires,
    }
}
