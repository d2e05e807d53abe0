//! What is asked of an authorizer, what it answers, and how a denial reads.

use pawl_meta::selector::{FieldSelector, LabelSelector};
use pawl_meta::{GroupResource, Status, go};

use crate::User;

/// What somebody wants to do.
#[derive(Clone, Copy, Debug)]
pub struct Attributes<'a> {
    pub user: &'a User,
    /// `get`, `list`, … for resources; the lower-cased method for paths.
    pub verb: &'a str,
    /// Whether the request is about a resource; otherwise only `path` counts.
    pub is_resource: bool,
    pub api_group: &'a str,
    pub api_version: &'a str,
    pub resource: &'a str,
    pub subresource: &'a str,
    pub name: &'a str,
    /// Empty at the cluster scope.
    pub namespace: &'a str,
    pub path: &'a str,
    pub label_selector: Option<&'a LabelSelector>,
    pub field_selector: Option<&'a FieldSelector>,
}

/// What an authorizer says; the reason may be empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    Allow {
        reason: String,
    },
    /// No, whatever the authorizers after this one would say.
    Deny {
        reason: String,
    },
    /// Not allowed by this authorizer; the next one may.
    NoOpinion {
        reason: String,
    },
}

/// Somebody who decides.
pub trait Authorizer: Send + Sync {
    fn authorize(&self, attributes: &Attributes<'_>) -> Decision;
}

impl<'a> Attributes<'a> {
    /// A request about a resource at the cluster scope; the rest is set field by field.
    pub fn resource(user: &'a User, verb: &'a str, api_group: &'a str, resource: &'a str) -> Self {
        Self { is_resource: true, api_group, api_version: "*", resource, ..Self::path(user, verb, "") }
    }

    /// A request about a path that is no resource.
    pub fn path(user: &'a User, verb: &'a str, path: &'a str) -> Self {
        Self {
            user,
            verb,
            is_resource: false,
            api_group: "",
            api_version: "",
            resource: "",
            subresource: "",
            name: "",
            namespace: "",
            path,
            label_selector: None,
            field_selector: None,
        }
    }

    /// The answer to a request that nobody allowed.
    pub fn forbidden(&self, reason: &str) -> Status {
        let mut why = sanitized(&self.denial());
        if !reason.is_empty() {
            why.push_str(": ");
            why.push_str(reason);
        }
        Status::forbidden(&GroupResource::new(self.api_group, self.resource), self.name, why)
    }

    fn denial(&self) -> String {
        let (user, verb) = (go::quote(&self.user.name), self.verb);
        if !self.is_resource {
            return format!("User {user} cannot {verb} path {}", go::quote(self.path));
        }
        let mut resource = self.resource.to_owned();
        if !self.subresource.is_empty() {
            resource.push('/');
            resource.push_str(self.subresource);
        }
        let (resource, group) = (go::quote(&resource), go::quote(self.api_group));
        if self.namespace.is_empty() {
            return format!("User {user} cannot {verb} resource {resource} in API group {group} at the cluster scope");
        }
        let namespace = go::quote(self.namespace);
        format!("User {user} cannot {verb} resource {resource} in API group {group} in the namespace {namespace}")
    }
}

impl Decision {
    pub fn is_allowed(&self) -> bool {
        matches!(self, Self::Allow { .. })
    }

    pub fn reason(&self) -> &str {
        match self {
            Self::Allow { reason } | Self::Deny { reason } | Self::NoOpinion { reason } => reason,
        }
    }

    /// Goes on when allowed, otherwise answers for these attributes.
    pub fn require(&self, attributes: &Attributes<'_>) -> Result<(), Status> {
        if self.is_allowed() { Ok(()) } else { Err(attributes.forbidden(self.reason())) }
    }
}

/// What a client chose is shown back to it, and must not look like HTML.
fn sanitized(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(attributes: Attributes<'_>, reason: &str, message: &str) {
        assert_eq!(attributes.forbidden(reason).message, message);
    }

    #[test]
    fn denials_read_as_upstreams() {
        let alice = User::named("alice");
        let list = Attributes::resource(&alice, "list", "", "configmaps");
        check(
            Attributes { namespace: "x", ..list },
            "",
            r#"configmaps is forbidden: User "alice" cannot list resource "configmaps" in API group "" in the namespace "x""#,
        );
        check(
            list,
            "why",
            r#"configmaps is forbidden: User "alice" cannot list resource "configmaps" in API group "" at the cluster scope: why"#,
        );
        let scale = Attributes::resource(&alice, "update", "apps", "deployments");
        check(
            Attributes { subresource: "scale", name: "d", namespace: "x", ..scale },
            "",
            r#"deployments.apps "d" is forbidden: User "alice" cannot update resource "deployments/scale" in API group "apps" in the namespace "x""#,
        );
        check(Attributes::path(&alice, "get", "/<x>"), "", r#"forbidden: User "alice" cannot get path "/&lt;x&gt;""#);
        let status = Attributes::path(&User::anonymous(), "get", "/api").forbidden("");
        assert_eq!(status.to_value()["details"], json!({}));
        assert_eq!(status.code, 403);
    }
}
