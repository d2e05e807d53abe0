//! Nobody grants what they do not hold: roles and bindings with more than their writer has are refused.

use std::sync::Arc;

use pawl_auth::modes::Chain;
use pawl_auth::rbac::escalation;
use pawl_meta::object::Object;
use serde_json::Value;

use crate::{Attributes, Operation, Plugin, Verdict};

/// The API group of roles and bindings.
const GROUP: &str = "rbac.authorization.k8s.io";

pub struct NoEscalation {
    pub chain: Arc<Chain>,
}

impl Plugin for NoEscalation {
    fn name(&self) -> &'static str {
        "NoEscalation"
    }

    fn validate<'a>(&'a self, attributes: &'a Attributes<'a>, object: Option<&'a Object>) -> Verdict<'a> {
        Box::pin(async move {
            let Some(object) = object else { return Ok(()) };
            if attributes.resource.group != GROUP || attributes.operation == Operation::Delete {
                return Ok(());
            }
            let old = attributes.old.map(|o| Value::Object(o.clone()));
            let new = Value::Object(object.clone());
            let write = escalation::Write {
                user: attributes.user,
                resource: &attributes.resource.resource,
                namespace: attributes.namespace,
                name: if attributes.operation == Operation::Create { "" } else { attributes.name },
                old: old.as_ref(),
                new: &new,
            };
            escalation::check(self.chain.index(), &*self.chain, write)
        })
    }
}
