//! A controller's hands: reads and writes through the registry as the controller's own user.

use std::collections::BTreeMap;
use std::sync::Arc;

use pawl_deletion::{DeleteOptions, Preconditions, Propagation};
use pawl_kv::Guard;
use pawl_meta::object::{Meta, Object, metadata_mut};
use pawl_meta::{GroupVersion, Status};
use pawl_registry::{
    CacheEntry, Context, CreateRequest, DeleteRequest, FieldValidation, Mutation, PatchKind, PatchRequest, Registry,
    Sent, Served, Sight, UpdateRequest, User,
};
use serde::Deserialize;
use serde_json::Value;

use crate::oversight::{Act, Oversight, Wish, informers};
use crate::selection::ControllerName;

/// Who the writes of controllers are attributed to in managedFields, as upstream.
const MANAGER: &str = "kube-controller-manager";

pub struct Actor {
    pub registry: Arc<Registry>,
    pub name: ControllerName,
    user: User,
    /// Who reads for it.
    reader: User,
    /// Who its writes are attributed to in managedFields.
    manager: String,
    oversight: Oversight,
    /// What every write is conditional on: see [`crate::Options`].
    fence: Option<Guard>,
}

/// How a write ended that was not refused outright.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    Done,
    /// There is no such object any more.
    Gone,
    /// Liens hold it; this is what the registry said.
    Held(String),
    /// The object is not the one that was looked at: look again.
    Changed,
}

impl Actor {
    /// The server itself, where it acts like a controller.
    pub fn own(registry: Arc<Registry>, name: ControllerName, oversight: Oversight) -> Self {
        let Context { user, manager, .. } = Context::own();
        Self { registry, name, reader: user.clone(), user, manager, oversight, fence: None }
    }

    pub fn new(registry: Arc<Registry>, name: ControllerName, oversight: Oversight) -> Self {
        let groups = ["system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated"];
        let user = User {
            name: format!("system:serviceaccount:kube-system:{}", name.account()),
            groups: groups.map(str::to_owned).to_vec(),
            ..User::default()
        };
        // The proposal's controllers are no part of upstream's.
        let manager = match name {
            ControllerName::SecretProtection | ControllerName::ConfigMapProtection => name.as_str(),
            _ => MANAGER,
        };
        Self { registry, name, user, reader: informers(), manager: manager.to_owned(), oversight, fence: None }
    }

    /// The same, whose writes come to nothing once the fence has fallen.
    pub fn behind(self, fence: Option<Guard>) -> Self {
        Self { fence, ..self }
    }

    /// The resource in the version that is stored.
    pub fn served(&self, group: &str, plural: &str) -> Option<Arc<Served>> {
        self.registry.table().preferred(group, plural).cloned()
    }

    /// The resource of a kind in one version.
    pub fn served_kind(&self, api_version: &str, kind: &str) -> Option<Arc<Served>> {
        let version = GroupVersion::parse(api_version)?;
        let table = self.registry.table();
        table.by_kind(&version.group, &version.version, kind).filter(|s| !s.resource.facts.is_virtual).cloned()
    }

    pub(crate) fn oversight(&self) -> &Oversight {
        &self.oversight
    }

    /// Whether what is to be known of a resource may be read for it.
    pub(crate) fn may_follow(&self, served: &Served) -> Result<(), Status> {
        self.oversight.may_follow(&self.reader, served)
    }

    pub(crate) fn reader(&self) -> &User {
        &self.reader
    }

    /// Writes something if it may, and tells of it.
    async fn write<T>(
        &self,
        cx: &Context,
        wish: Wish<'_>,
        work: impl Future<Output = Result<T, Status>>,
    ) -> Result<T, Status> {
        let (allowed, mut notes) = self.oversight.decide(&self.user, wish);
        let result = match allowed {
            Ok(()) => work.await,
            Err(status) => {
                tracing::warn!(controller = %self.name, %status, "a controller may not do what it has to");
                Err(status)
            }
        };
        if let Some(witness) = &self.oversight.witness {
            let written = if wish.verb == "create" { 201 } else { 200 };
            let code = result.as_ref().err().map_or(written, |status| status.code);
            notes.extend(cx.take_notes());
            witness.wrote(&Act { asked: wish.attributes(&self.user), code, notes });
        }
        result
    }

    /// Reads an object as new as everything acknowledged before. `None` when it does not exist.
    pub async fn read(&self, served: &Served, namespace: &str, name: &str) -> Result<Option<Arc<CacheEntry>>, Status> {
        self.may_follow(served)?;
        match self.registry.get(served, namespace, name, None).await {
            Ok(entry) => Ok(Some(entry)),
            Err(status) if status.code == 404 => Ok(None),
            Err(status) => Err(status),
        }
    }

    /// Deletes exactly this object.
    pub async fn delete(
        &self,
        served: &Served,
        namespace: &str,
        name: &str,
        preconditions: Preconditions,
        propagation: Propagation,
    ) -> Result<Outcome, Status> {
        let options = DeleteOptions { preconditions, propagation: Some(propagation), ..DeleteOptions::default() };
        self.delete_with(served, namespace, name, &options, &[]).await
    }

    /// Deletes with any options. Where the registry has something to note on it, these notes are added to that.
    pub async fn delete_with(
        &self,
        served: &Served,
        namespace: &str,
        name: &str,
        options: &DeleteOptions,
        because: &[(&'static str, &str)],
    ) -> Result<Outcome, Status> {
        let request = DeleteRequest { namespace, name, options };
        let cx = self.context(&self.manager);
        let wish = Wish { verb: "delete", served, subresource: "", namespace, name };
        let work = async {
            // To delete in spite of liens has a permission of its own.
            if options.ignore_liens {
                self.oversight.decide(&self.user, Wish { verb: "ignore-liens", ..wish }).0?;
            }
            let result = self.registry.delete(&cx, served, request).await;
            let notes = cx.take_notes();
            if result.is_ok() && !notes.is_empty() {
                let because = because.iter().map(|(key, text)| (*key, (*text).to_owned()));
                let notes: BTreeMap<_, _> = notes.into_iter().chain(because).collect();
                let resource = served.resource.group_resource();
                tracing::warn!(controller = %self.name, %resource, namespace, name, ?notes, "deleted in spite of liens");
                notes.iter().for_each(|(key, text)| cx.note(key, text));
            }
            result
        };
        judge(self.write(&cx, wish, work).await.map(|_| ()))
    }

    /// Changes exactly the object with this uid; the edit runs again when somebody was faster.
    pub async fn change(
        &self,
        served: &Served,
        place: (&str, &str),
        subresource: &str,
        uid: &str,
        edit: impl FnMut(&mut Object) + Send,
    ) -> Result<Outcome, Status> {
        let request = UpdateRequest::new(place, subresource, changing(served, place.1, uid, edit));
        self.update(served, request).await
    }

    /// The same, only if guards hold. They are not looked at again: where they do not, the object has changed.
    pub async fn change_guarded(
        &self,
        served: &Served,
        place: (&str, &str),
        uid: &str,
        guards: Vec<Guard>,
        edit: impl FnMut(&mut Object) + Send,
    ) -> Result<Outcome, Status> {
        let change = changing(served, place.1, uid, edit);
        let request = UpdateRequest { guards, ..UpdateRequest::new(place, "", change) };
        self.update(served, request).await
    }

    async fn update(&self, served: &Served, request: UpdateRequest<'_>) -> Result<Outcome, Status> {
        let UpdateRequest { namespace, name, subresource, .. } = request;
        let cx = self.context(&self.manager);
        let wish = Wish { verb: "update", served, subresource, namespace, name };
        judge(self.write(&cx, wish, self.registry.update(&cx, served, request)).await.map(|_| ()))
    }

    /// Creates an object the way a client does. One that is there already is left alone.
    pub async fn create(&self, served: &Served, namespace: &str, object: &Value) -> Result<Outcome, Status> {
        let cx = self.context(&self.manager);
        let body = object.to_string();
        let object = self.registry.decode(&cx, served, Sent::own(body.as_bytes()))?;
        let request = CreateRequest { namespace: namespace.to_owned(), object, tracked: false };
        let wish = Wish { verb: "create", served, subresource: "", namespace, name: "" };
        match self.write(&cx, wish, self.registry.create(&cx, served, request)).await {
            Err(status) if status.reason == "AlreadyExists" => Ok(Outcome::Changed),
            result => judge(result.map(|_| ())),
        }
    }

    /// Applies what the controller wants to own of a cluster-scoped object, under its own name and by force.
    pub async fn apply(&self, served: &Served, name: &str, intent: &Value) -> Result<Outcome, Status> {
        let body = intent.to_string();
        let request = PatchRequest {
            namespace: "",
            name,
            subresource: "",
            kind: PatchKind::Apply,
            body: body.as_bytes(),
            validation: FieldValidation::Ignore,
            force: true,
            // What was deleted meanwhile is not brought back to life.
            create_refused: Some(Status::not_found(&served.resource.group_resource(), name)),
        };
        let cx = self.context(self.name.as_str());
        let wish = Wish { verb: "patch", served, subresource: "", namespace: "", name };
        judge(self.write(&cx, wish, self.registry.patch(&cx, served, request)).await.map(|_| ()))
    }

    fn context(&self, manager: &str) -> Context {
        let mut cx = Context::new(self.user.clone());
        manager.clone_into(&mut cx.manager);
        cx.sight = Sight::Everything;
        cx.fence.clone_from(&self.fence);
        cx
    }
}

/// A change of exactly the object with this uid.
fn changing<'a>(
    served: &Served,
    name: &'a str,
    uid: &'a str,
    mut edit: impl FnMut(&mut Object) + Send + 'a,
) -> Mutation<'a> {
    let resource = served.resource.group_resource();
    Mutation::own(move |old: &Object| {
        // The object that was meant is gone, whoever has its name now.
        if old.uid() != uid {
            return Err(Status::not_found(&resource, name));
        }
        let mut new = old.clone();
        edit(&mut new);
        Ok(new)
    })
}

fn judge(result: Result<(), Status>) -> Result<Outcome, Status> {
    match result {
        Ok(()) => Ok(Outcome::Done),
        Err(status) if status.code == 404 => Ok(Outcome::Gone),
        Err(status) if pawl_deletion::is_held(&status) => Ok(Outcome::Held(status.message)),
        Err(status) if status.reason == "Conflict" => Ok(Outcome::Changed),
        Err(status) => Err(status),
    }
}

/// The object of an entry, where it can be read.
pub fn object(entry: &CacheEntry) -> Option<Object> {
    Some(entry.readable()?.object(entry.revision))
}

/// The uid of an entry; `None` when it cannot be read.
pub fn uid(entry: &CacheEntry) -> Option<String> {
    #[derive(Deserialize)]
    struct Head {
        metadata: Metadata,
    }
    #[derive(Deserialize)]
    struct Metadata {
        uid: String,
    }
    let head: Head = serde_json::from_slice(entry.readable()?.value()).ok()?;
    Some(head.metadata.uid)
}

/// Takes a finalizer away.
pub fn drop_finalizer(object: &mut Object, finalizer: &str) {
    keep(object, "finalizers", |item| item.as_str() != Some(finalizer));
}

/// Keeps only some items of a list in the metadata; a list that becomes empty is left out.
pub fn keep(object: &mut Object, field: &str, wanted: impl Fn(&Value) -> bool) {
    let metadata = metadata_mut(object);
    if let Some(Value::Array(items)) = metadata.get_mut(field) {
        items.retain(|item| wanted(item));
        if items.is_empty() {
            metadata.remove(field);
        }
    }
}
