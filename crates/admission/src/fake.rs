//! What tests of plugins stand on: requests, stored objects and permissions that are given, not served.

use std::sync::Mutex;

use futures::future::BoxFuture;
use pawl_auth::{Authorizer, Decision, User};
use pawl_meta::GroupResource;
use pawl_meta::object::{Meta, Object};
use serde_json::Value;

use crate::{Attributes, Chain, Objects, Operation, Plugin, Remarks};

/// A request of alice, about an object `n` in the namespace `ns`.
pub struct Request {
    pub operation: Operation,
    pub resource: GroupResource,
    pub subresource: &'static str,
    pub name: &'static str,
    pub namespace: &'static str,
    pub old: Option<Value>,
}

impl Request {
    pub fn create(group: &str, resource: &str) -> Self {
        Self {
            operation: Operation::Create,
            resource: GroupResource::new(group, resource),
            subresource: "",
            name: "n",
            namespace: "ns",
            old: None,
        }
    }

    pub fn update(group: &str, resource: &str, old: Value) -> Self {
        Self { operation: Operation::Update, old: Some(old), ..Self::create(group, resource) }
    }

    /// The object after the plugin, or the message of its refusal.
    pub fn mutate(&self, plugin: &dyn Plugin, object: Value, objects: &Stored) -> Result<Value, String> {
        let mut object = map(object);
        let old = self.old.clone().map(map);
        let (user, told) = (User::named("alice"), Told::default());
        let attributes = self.attributes(&user, old.as_ref(), objects, &told);
        run(plugin.mutate(&attributes, &mut object)).map_err(|status| status.message)?;
        Ok(Value::Object(object))
    }

    pub fn validate(&self, plugin: &dyn Plugin, object: Value, objects: &Stored) -> Result<(), String> {
        let object = map(object);
        let old = self.old.clone().map(map);
        let (user, told) = (User::named("alice"), Told::default());
        let attributes = self.attributes(&user, old.as_ref(), objects, &told);
        run(plugin.validate(&attributes, Some(&object))).map_err(|status| status.message)
    }

    /// The result, and the warnings that came with it.
    pub fn validate_chain(
        &self,
        chain: &Chain,
        object: Option<&Value>,
        objects: &Stored,
    ) -> (Result<(), String>, Vec<String>) {
        let object = object.cloned().map(map);
        let old = self.old.clone().map(map);
        let (user, told) = (User::named("alice"), Told::default());
        let attributes = self.attributes(&user, old.as_ref(), objects, &told);
        let result = run(chain.validate(&attributes, object.as_ref())).map_err(|status| status.message);
        (result, told.0.into_inner().unwrap())
    }

    fn attributes<'a>(
        &'a self,
        user: &'a User,
        old: Option<&'a Object>,
        objects: &'a Stored,
        remarks: &'a Told,
    ) -> Attributes<'a> {
        Attributes {
            operation: self.operation,
            resource: &self.resource,
            version: "v1",
            kind: "",
            subresource: self.subresource,
            namespace: self.namespace,
            name: self.name,
            user,
            dry_run: false,
            old,
            objects,
            remarks,
        }
    }
}

/// The objects that there are; some of them have not reached the caches.
#[derive(Default)]
pub struct Stored {
    cached: Vec<(GroupResource, Object)>,
    fresh: Vec<(GroupResource, Object)>,
}

impl Stored {
    pub fn with(mut self, group: &str, resource: &str, object: Value) -> Self {
        self.cached.push((GroupResource::new(group, resource), map(object)));
        self
    }

    pub fn with_fresh(mut self, group: &str, resource: &str, object: Value) -> Self {
        self.fresh.push((GroupResource::new(group, resource), map(object)));
        self
    }
}

impl Objects for Stored {
    fn get(&self, group: &str, resource: &str, namespace: &str, name: &str) -> Option<Object> {
        find(&self.cached, group, resource, namespace, name)
    }

    fn get_fresh<'a>(
        &'a self,
        group: &'a str,
        resource: &'a str,
        namespace: &'a str,
        name: &'a str,
    ) -> BoxFuture<'a, Option<Object>> {
        let cached = self.get(group, resource, namespace, name);
        Box::pin(async move { cached.or_else(|| find(&self.fresh, group, resource, namespace, name)) })
    }

    fn list(&self, group: &str, resource: &str, namespace: &str) -> Vec<Object> {
        let wanted = GroupResource::new(group, resource);
        let of =
            self.cached.iter().filter(|(r, o)| *r == wanted && (namespace.is_empty() || o.namespace() == namespace));
        of.map(|(_, object)| object.clone()).collect()
    }
}

/// Permissions by verb and name of a signer.
pub struct Allowed(pub Vec<(&'static str, &'static str)>);

impl Allowed {
    pub fn nothing() -> Self {
        Self(Vec::new())
    }
}

impl Authorizer for Allowed {
    fn authorize(&self, asked: &pawl_auth::Attributes<'_>) -> Decision {
        let about = (asked.user.name.as_str(), asked.api_group, asked.resource, asked.subresource, asked.namespace);
        let is_signer = about == ("alice", "certificates.k8s.io", "signers", "", "");
        let reason = String::new();
        match is_signer && self.0.contains(&(asked.verb, asked.name)) {
            true => Decision::Allow { reason },
            false => Decision::NoOpinion { reason },
        }
    }
}

/// What was said beside the answer.
#[derive(Default)]
pub struct Told(Mutex<Vec<String>>);

impl Remarks for Told {
    fn warn(&self, text: String) {
        self.0.lock().unwrap().push(text);
    }

    fn note(&self, _: &'static str, _: &str) {}
}

fn find(all: &[(GroupResource, Object)], group: &str, resource: &str, namespace: &str, name: &str) -> Option<Object> {
    let wanted = GroupResource::new(group, resource);
    let found = all.iter().find(|(r, o)| *r == wanted && o.namespace() == namespace && o.name() == name);
    found.map(|(_, object)| object.clone())
}

fn map(value: Value) -> Object {
    match value {
        Value::Object(map) => map,
        other => panic!("not an object: {other}"),
    }
}

/// Waits without waiting: time runs by itself.
fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap().block_on(future)
}
