//! Who looks at what controllers do: they are clients, and pass what clients pass.
//!
//! What a controller changes, it changes under its own identity, with the rights of upstream's roles. What controllers read,
//! they read through what they share, as upstream's share their informers: under the identity of `kube-controller-manager`.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use pawl_auth::{Attributes, Authorizer};
use pawl_meta::Status;
use pawl_registry::{Served, User};

/// Who is asked and who is told.
#[derive(Clone, Default)]
pub struct Oversight {
    /// Says who may do what; without one everybody may.
    pub authorizer: Option<Arc<dyn Authorizer + Send + Sync>>,
    /// Keeps a record.
    pub witness: Option<Arc<dyn Witness>>,
}

impl fmt::Debug for Oversight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Oversight").field("witness", &self.witness).finish_non_exhaustive()
    }
}

/// Whoever keeps a record of what controllers do. Told of every write, also of those that were refused.
pub trait Witness: fmt::Debug + Send + Sync {
    fn wrote(&self, act: &Act<'_>);
}

/// A write of a controller, and what is to be known about it.
pub struct Act<'a> {
    pub asked: Attributes<'a>,
    /// How it ended, as answers say it.
    pub code: u16,
    /// Annotations of an audit event.
    pub notes: BTreeMap<&'static str, String>,
}

/// What somebody wants to do to which object.
#[derive(Clone, Copy)]
pub(crate) struct Wish<'a> {
    pub verb: &'a str,
    pub served: &'a Served,
    pub subresource: &'a str,
    pub namespace: &'a str,
    pub name: &'a str,
}

impl<'a> Wish<'a> {
    pub fn attributes(self, user: &'a User) -> Attributes<'a> {
        let facts = &self.served.resource.facts;
        Attributes {
            api_version: &facts.version,
            subresource: self.subresource,
            namespace: self.namespace,
            name: self.name,
            ..Attributes::resource(user, self.verb, &facts.group, &facts.plural)
        }
    }
}

impl Oversight {
    /// Whether somebody may do something, and why that is so, as audit events tell it.
    pub(crate) fn decide(&self, user: &User, wish: Wish<'_>) -> (Result<(), Status>, BTreeMap<&'static str, String>) {
        let mut notes = BTreeMap::new();
        let Some(authorizer) = &self.authorizer else { return (Ok(()), notes) };
        let asked = wish.attributes(user);
        let decision = authorizer.authorize(&asked);
        let word = if decision.is_allowed() { "allow" } else { "forbid" };
        notes.insert("authorization.k8s.io/decision", word.to_owned());
        notes.insert("authorization.k8s.io/reason", decision.reason().to_owned());
        (decision.require(&asked), notes)
    }

    /// Whether somebody may read all there is of a resource, and what becomes of it.
    pub(crate) fn may_follow(&self, user: &User, served: &Served) -> Result<(), Status> {
        let wish = |verb| Wish { verb, served, subresource: "", namespace: "", name: "" };
        ["list", "watch"].into_iter().try_for_each(|verb| self.decide(user, wish(verb)).0)
    }
}

/// Who reads for all controllers.
pub(crate) fn informers() -> User {
    let groups = vec!["system:authenticated".to_owned()];
    User { name: "system:kube-controller-manager".to_owned(), groups, ..User::default() }
}
