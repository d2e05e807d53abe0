//! What the API is made of beside the objects of its resources: options, statuses, lists, `Scale`, `Binding`, and how they
//! and all built-in kinds are written in protobuf.
//!
//! This is the one place of this crate that knows where the types of the API itself come from; what belongs to a resource
//! travels with it.

use std::sync::OnceLock;

use bytes::Bytes;
use pawl_kinds::{Columns, Errors, Kinds};
use pawl_meta::object::Object;
use pawl_protobuf::{Codec, seal};
use pawl_schema::TypeRef;
use serde_json::Value;

use crate::{CacheEntry, Readable, Served};

fn kinds() -> &'static Kinds {
    pawl_kinds::kinds()
}

/// A type that the API itself is made of, by its name: `meta.v1.DeleteOptions`.
pub fn api_type(name: &str) -> Option<TypeRef<'static>> {
    kinds().named(name)
}

/// How a document is shown in a table that is no object of a resource.
pub fn api_columns(type_name: &str) -> &'static dyn Columns {
    kinds().columns(type_name)
}

/// Fills in the defaults of a body that is no object of a resource.
pub fn set_defaults(type_name: &str, body: &mut Object) {
    kinds().set_defaults(type_name, body);
}

/// Says what is wrong with a body that is no object of a resource.
pub fn validate(type_name: &str, kind_name: &str, body: &Object, errors: &mut Errors) {
    kinds().validate(type_name, kind_name, body, errors);
}

/// The codec of everything built in, made on first use. Other types have no messages.
pub fn protobuf() -> &'static Codec<'static> {
    static CODEC: OnceLock<Codec<'static>> = OnceLock::new();
    CODEC.get_or_init(|| Codec::new(kinds().schema(), type_of))
}

/// The type of a document by its apiVersion and kind: objects of resources, and what the API itself says.
pub fn type_of(api_version: &str, kind: &str) -> Option<TypeRef<'static>> {
    kinds().type_of(api_version, kind)
}

/// A document in its envelope, by its apiVersion and kind; `None` where it has no protobuf form.
pub fn message(document: &Value) -> Option<Vec<u8>> {
    let object = document.as_object()?;
    let text = |field: &str| object.get(field).and_then(Value::as_str).unwrap_or_default();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    let mut raw = Vec::new();
    protobuf().encode(type_of(api_version, kind)?, object, &mut raw).ok()?;
    Some(seal(api_version, kind, &raw))
}

/// The object in an envelope, as other servers store it.
pub(crate) fn unpack(envelope: &[u8]) -> Result<Object, String> {
    let envelope = pawl_protobuf::open(envelope).map_err(|e| e.to_string())?;
    let (api_version, kind) = (envelope.api_version, envelope.kind);
    let of = type_of(api_version, kind).ok_or_else(|| format!("no type is known of {kind} in {api_version}"))?;
    let mut object = protobuf().decode(of, envelope.raw).map_err(|e| e.to_string())?.object;
    // A policy that was stored in an older version is the same in today's.
    let api_version = match api_version {
        "admissionregistration.k8s.io/v1alpha1" | "admissionregistration.k8s.io/v1beta1" => {
            "admissionregistration.k8s.io/v1"
        }
        api_version => api_version,
    };
    object.insert("apiVersion".to_owned(), api_version.into());
    object.insert("kind".to_owned(), kind.into());
    kinds().complete(&mut object)?;
    Ok(object)
}

impl Served {
    /// The object of an entry as answers show it: one that was never stored has no resourceVersion.
    pub fn shown(&self, entry: &CacheEntry, readable: &Readable) -> Object {
        let mut object = self.object_of(readable, entry.revision);
        if entry.revision == 0 {
            pawl_meta::object::metadata_mut(&mut object).remove("resourceVersion");
        }
        object
    }

    /// The object of an entry as a message of this version. Of the stored version it is kept for a while: a list that is
    /// read again, and an event that many watch, are encoded once.
    pub fn message_of(
        &self,
        entry: &CacheEntry,
        readable: &Readable,
        keep: bool,
    ) -> Result<Bytes, pawl_protobuf::Error> {
        let encode = || {
            let mut raw = Vec::new();
            protobuf().encode(self.resource.object_type().as_ref(), &self.shown(entry, readable), &mut raw)?;
            Ok(Bytes::copy_from_slice(&raw))
        };
        // What was never stored has no revision that would tell it from another.
        if self.converts().is_some() || entry.revision == 0 {
            return encode();
        }
        self.stored.messages.get_or_make(readable.value(), entry.revision, keep, encode)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// What kube-apiserver stores lacks what it fills in when it reads; some of it is stored in an older version.
    #[test]
    fn what_another_server_stored_is_completed() {
        let claim =
            json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "a"}, "status": {}});
        let read = unpack(&message(&claim).unwrap()).unwrap();
        assert_eq!(read["status"]["phase"], "Pending");
        let policy = json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingAdmissionPolicy", "metadata": {"name": "a"}});
        let envelope = message(&policy).unwrap();
        let opened = pawl_protobuf::open(&envelope).unwrap();
        let older = seal("admissionregistration.k8s.io/v1beta1", opened.kind, opened.raw);
        assert_eq!(unpack(&older).unwrap()["apiVersion"], "admissionregistration.k8s.io/v1");
    }
}
