//! Nobody grants what they do not hold: roles and bindings with more than their writer has are refused.
//!
//! It changes nothing, and stands where changes are made: upstream asks before an object is validated, once nothing of it
//! changes any more. So it is the last of its chain.

use std::sync::Arc;

use pawl_auth::modes::Chain;
use pawl_auth::rbac::escalation;
use pawl_meta::GroupResource;
use pawl_meta::object::Object;
use serde_json::Value;

use crate::{AdmissionVerdict, Attributes, Operation, Plugin};

/// The API group of roles and bindings.
const GROUP: &str = "rbac.authorization.k8s.io";

pub struct NoEscalation {
    pub chain: Arc<Chain>,
}

impl Plugin for NoEscalation {
    fn name(&self) -> &'static str {
        "NoEscalation"
    }

    fn looks_at_others(&self, resource: &GroupResource) -> bool {
        resource.group == GROUP
    }

    fn mutate<'a>(&'a self, attributes: &'a Attributes<'a>, object: &'a mut Object) -> AdmissionVerdict<'a> {
        Box::pin(async move {
            if attributes.resource.group != GROUP {
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
