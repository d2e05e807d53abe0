//! Users, and the names that the server itself gives meaning to.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

/// Somebody who sent a request, as far as the server knows them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct User {
    pub name: String,
    /// Empty where the authenticator knows none.
    pub uid: String,
    pub groups: Vec<String>,
    pub extra: BTreeMap<String, Vec<String>>,
}

impl User {
    pub fn named(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    pub fn with_groups<I: IntoIterator<Item: Into<String>>>(mut self, groups: I) -> Self {
        self.groups = groups.into_iter().map(Into::into).collect();
        self
    }

    /// The user of a request without credentials.
    pub fn anonymous() -> Self {
        Self::named(names::ANONYMOUS).with_groups([names::UNAUTHENTICATED])
    }

    pub fn is_in(&self, group: &str) -> bool {
        self.groups.iter().any(|g| g == group)
    }

    /// Adds the group that every authenticated user is in, unless the groups already say which side the user is on.
    pub(crate) fn mark_authenticated(&mut self) {
        if self.name != names::ANONYMOUS && !self.is_in(names::AUTHENTICATED) && !self.is_in(names::UNAUTHENTICATED) {
            self.groups.push(names::AUTHENTICATED.to_owned());
        }
    }

    /// The `UserInfo` of reviews and audit events; what is empty is left out.
    pub fn to_value(&self) -> Value {
        let mut info = Map::new();
        for (field, text) in [("username", &self.name), ("uid", &self.uid)] {
            if !text.is_empty() {
                info.insert(field.to_owned(), json!(text));
            }
        }
        if !self.groups.is_empty() {
            info.insert("groups".to_owned(), json!(self.groups));
        }
        if !self.extra.is_empty() {
            info.insert("extra".to_owned(), json!(self.extra));
        }
        Value::Object(info)
    }
}

/// Names of users, groups and extra keys that mean something to the server.
pub mod names {
    use pawl_meta::names::{dns1123_label, dns1123_subdomain};

    pub const ANONYMOUS: &str = "system:anonymous";
    pub const AUTHENTICATED: &str = "system:authenticated";
    pub const UNAUTHENTICATED: &str = "system:unauthenticated";
    /// Members may do everything, whatever the authorizers say.
    pub const MASTERS: &str = "system:masters";
    pub const NODES: &str = "system:nodes";
    pub const SERVICE_ACCOUNTS: &str = "system:serviceaccounts";

    pub const CREDENTIAL_ID: &str = "authentication.kubernetes.io/credential-id";
    pub const POD_NAME: &str = "authentication.kubernetes.io/pod-name";
    pub const POD_UID: &str = "authentication.kubernetes.io/pod-uid";
    pub const NODE_NAME: &str = "authentication.kubernetes.io/node-name";
    pub const NODE_UID: &str = "authentication.kubernetes.io/node-uid";

    const SERVICE_ACCOUNT_PREFIX: &str = "system:serviceaccount:";
    const NODE_PREFIX: &str = "system:node:";

    /// The user name of a service account.
    pub fn service_account(namespace: &str, name: &str) -> String {
        format!("{SERVICE_ACCOUNT_PREFIX}{namespace}:{name}")
    }

    /// The groups of every service account of a namespace.
    pub fn service_account_groups(namespace: &str) -> Vec<String> {
        vec![SERVICE_ACCOUNTS.to_owned(), format!("{SERVICE_ACCOUNTS}:{namespace}")]
    }

    /// Namespace and name of the service account that a user name stands for.
    pub fn split_service_account(username: &str) -> Option<(&str, &str)> {
        let (namespace, name) = username.strip_prefix(SERVICE_ACCOUNT_PREFIX)?.split_once(':')?;
        (dns1123_label(namespace).is_empty() && dns1123_subdomain(name).is_empty()).then_some((namespace, name))
    }

    /// The node that a user name stands for.
    pub fn split_node(username: &str) -> Option<&str> {
        username.strip_prefix(NODE_PREFIX).filter(|name| dns1123_subdomain(name).is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_service_accounts_and_nodes_split() {
        let check = |name: &str, expect: Option<(&str, &str)>| {
            assert_eq!(names::split_service_account(name), expect, "{name}");
        };
        check("system:serviceaccount:ns:sa", Some(("ns", "sa")));
        check("system:serviceaccount:ns:sa.x", Some(("ns", "sa.x")));
        check("system:serviceaccount:ns:sa:x", None);
        check("system:serviceaccount:ns", None);
        check("system:serviceaccount:N:sa", None);
        check("alice", None);
        assert_eq!(names::split_node("system:node:n1.example"), Some("n1.example"));
        assert_eq!(names::split_node("system:node:"), None);
    }

    #[test]
    fn a_user_is_marked_once() {
        let check = |mut user: User, expect: &[&str]| {
            user.mark_authenticated();
            assert_eq!(user.groups, expect);
        };
        check(User::named("a"), &["system:authenticated"]);
        check(User::named("a").with_groups(["system:unauthenticated"]), &["system:unauthenticated"]);
        check(User::anonymous(), &["system:unauthenticated"]);
    }
}
