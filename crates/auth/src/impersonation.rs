//! Acting as somebody else: the headers that ask for it, and the permissions it takes.
//!
//! Four constrained modes are tried, then the old one. A constrained mode takes two permissions: to do the verb while
//! impersonating (`impersonate-on:<mode>:<verb>` on the requested thing) and to impersonate the identity
//! (`impersonate:<mode>`). The old mode takes the one verb `impersonate`. If all refuse, the first refusal is the answer.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, PoisonError};

use pawl_meta::{Errors, Status, go};

use crate::{Attributes, Authorizer, User, names};

const USER: &str = "impersonate-user";
const UID: &str = "impersonate-uid";
const GROUP: &str = "impersonate-group";
const EXTRA_PREFIX: &str = "impersonate-extra-";

/// The API group of what makes up an identity.
const IDENTITY_GROUP: &str = "authentication.k8s.io";
/// From this many values on, a constrained mode asks for all of them at once before it asks for each.
const MANY: usize = 4;
/// How many users' last modes are remembered.
const REMEMBERED: usize = 10_000;

/// Whether a header belongs to impersonation, and is to be removed once that has been decided.
pub fn is_header(lowercase_name: &str) -> bool {
    matches!(lowercase_name, USER | UID | GROUP) || lowercase_name.starts_with(EXTRA_PREFIX)
}

/// The user that the headers (names in lower case) ask to act as, exactly as they say it. `None` when they do not ask.
pub fn wanted<'h>(headers: impl IntoIterator<Item = (&'h str, &'h [u8])>) -> Result<Option<User>, Status> {
    let mut user = User::default();
    let mut asked = false;
    for (name, value) in headers {
        let value = || String::from_utf8_lossy(value).into_owned();
        match name {
            // Of these two the first header counts, and an empty one counts as absent.
            USER if user.name.is_empty() => user.name = value(),
            UID if user.uid.is_empty() => {
                user.uid = value();
                asked |= !user.uid.is_empty();
            }
            GROUP => {
                user.groups.push(value());
                asked = true;
            }
            _ => {
                if let Some(key) = name.strip_prefix(EXTRA_PREFIX) {
                    user.extra.entry(unescaped(key)).or_default().push(value());
                    asked = true;
                }
            }
        }
    }
    match (user.name.is_empty(), asked) {
        (false, _) => Ok(Some(user)),
        (true, false) => Ok(None),
        (true, true) => {
            Err(Status::bad_request(format!("requested {} without impersonating a user name", printed(&user))))
        }
    }
}

/// A user that somebody may act as.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Impersonated {
    pub user: User,
    /// The verb of the constrained mode that allowed it; empty for the old mode. Audit events carry it.
    pub constraint: &'static str,
}

/// Decides on impersonation. Remembers by which mode a user last succeeded and tries that one first.
#[derive(Default)]
pub struct Impersonation {
    last: Mutex<HashMap<String, Mode>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    AssociatedNode,
    ArbitraryNode,
    ServiceAccount,
    UserInfo,
    Legacy,
}

impl Impersonation {
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether the user of a request may make it as the wanted user.
    pub fn check(
        &self,
        authorizer: &dyn Authorizer,
        asked: &Attributes<'_>,
        wanted: &User,
    ) -> Result<Impersonated, Status> {
        const MODES: [Mode; 5] =
            [Mode::AssociatedNode, Mode::ArbitraryNode, Mode::ServiceAccount, Mode::UserInfo, Mode::Legacy];
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner).get(&asked.user.name).copied();
        let mut refusal = None;
        for mode in last.into_iter().chain(MODES.into_iter().filter(|mode| Some(*mode) != last)) {
            match mode.check(authorizer, asked, wanted) {
                None => {}
                Some(Err(status)) => refusal = refusal.or(Some(status)),
                Some(Ok(user)) => {
                    self.remember(&asked.user.name, mode);
                    return Ok(Impersonated { user, constraint: mode.constraint() });
                }
            }
        }
        Err(refusal.unwrap_or_else(|| Status::plain_error("all impersonation modes failed")))
    }

    fn remember(&self, name: &str, mode: Mode) {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.get(name) == Some(&mode) {
            return;
        }
        // It only chooses which mode is tried first: forgetting everybody now and then is cheap.
        if last.len() >= REMEMBERED {
            last.clear();
        }
        last.insert(name.to_owned(), mode);
    }
}

impl Mode {
    /// The part of the verbs that names the mode.
    fn name(self) -> &'static str {
        match self {
            Self::AssociatedNode => "associated-node",
            Self::ArbitraryNode => "arbitrary-node",
            Self::ServiceAccount => "serviceaccount",
            Self::UserInfo => "user-info",
            Self::Legacy => "",
        }
    }

    fn verb(self) -> &'static str {
        match self {
            Self::AssociatedNode => "impersonate:associated-node",
            Self::ArbitraryNode => "impersonate:arbitrary-node",
            Self::ServiceAccount => "impersonate:serviceaccount",
            Self::UserInfo => "impersonate:user-info",
            Self::Legacy => "impersonate",
        }
    }

    fn constraint(self) -> &'static str {
        if self == Self::Legacy { "" } else { self.verb() }
    }

    /// Whether the mode is about such a user at all.
    fn applies(self, asked: &Attributes<'_>, wanted: &User) -> bool {
        let only_name = wanted.uid.is_empty() && wanted.groups.is_empty() && wanted.extra.is_empty();
        let node = names::split_node(&wanted.name);
        let account = names::split_service_account(&wanted.name);
        match self {
            Self::AssociatedNode => only_name && node.is_some_and(|node| runs_on(asked.user, node)),
            Self::ArbitraryNode => only_name && node.is_some(),
            Self::ServiceAccount => only_name && account.is_some(),
            Self::UserInfo => node.is_none() && account.is_none(),
            Self::Legacy => true,
        }
    }

    /// `None` when the mode does not apply.
    fn check(self, authorizer: &dyn Authorizer, asked: &Attributes<'_>, wanted: &User) -> Option<Result<User, Status>> {
        self.applies(asked, wanted).then(|| {
            if self == Self::AssociatedNode {
                // What is allowed here holds for every pod of the account: which one asks must not matter.
                let keys = asked.user.extra.keys().cloned().collect();
                let extra = BTreeMap::from([("authentication.kubernetes.io/associated-node-keys".to_owned(), keys)]);
                let user = User { extra, ..asked.user.clone() };
                return self.decide(authorizer, &Attributes { user: &user, ..*asked }, wanted);
            }
            self.decide(authorizer, asked, wanted)
        })
    }

    fn decide(self, authorizer: &dyn Authorizer, asked: &Attributes<'_>, wanted: &User) -> Result<User, Status> {
        if self != Self::Legacy {
            let verb = format!("impersonate-on:{}:{}", self.name(), asked.verb);
            require(authorizer, &Attributes { verb: &verb, ..*asked })?;
        }
        let mut user = wanted.clone();
        self.check_name(authorizer, asked.user, &mut user)?;
        if !wanted.uid.is_empty() {
            let uid = self.attributes(asked.user, IDENTITY_GROUP, "uids");
            require(authorizer, &Attributes { name: &wanted.uid, ..uid })?;
        }
        self.check_groups(authorizer, asked.user, &wanted.groups)?;
        self.check_extra(authorizer, asked.user, &wanted.extra)?;
        if user.name == names::ANONYMOUS {
            if !user.is_in(names::UNAUTHENTICATED) {
                user.groups.push(names::UNAUTHENTICATED.to_owned());
            }
        } else {
            user.mark_authenticated();
        }
        Ok(user)
    }

    /// Checks the name, and gives nodes and service accounts the groups that they always have.
    fn check_name(self, authorizer: &dyn Authorizer, requestor: &User, user: &mut User) -> Result<(), Status> {
        let username = user.name.clone();
        let mut by = Attributes { name: &username, ..self.attributes(requestor, self.group(), "users") };
        if self != Self::Legacy
            && let Some(node) = names::split_node(&username)
        {
            by.resource = "nodes";
            // An account of many pods must be allowed to impersonate the node of each.
            by.name = if self == Self::AssociatedNode { "*" } else { node };
            user.groups = vec![names::NODES.to_owned()];
        }
        if let Some((namespace, name)) = names::split_service_account(&username) {
            (by.resource, by.namespace, by.name) = ("serviceaccounts", namespace, name);
            if user.groups.is_empty() {
                user.groups = names::service_account_groups(namespace);
            }
        }
        require(authorizer, &by)
    }

    fn check_groups(self, authorizer: &dyn Authorizer, requestor: &User, groups: &[String]) -> Result<(), Status> {
        let by = self.attributes(requestor, self.group(), "groups");
        if self != Self::Legacy {
            if groups.iter().any(String::is_empty) {
                return Err(by.forbidden("impersonating the empty string group is not allowed"));
            }
            if groups.iter().any(|g| g == names::MASTERS) {
                let by = Attributes { name: names::MASTERS, ..by };
                return Err(by.forbidden("impersonating the system:masters group is not allowed"));
            }
            if groups.len() >= MANY && require(authorizer, &Attributes { name: "*", ..by }).is_ok() {
                return Ok(());
            }
        }
        groups.iter().try_for_each(|group| require(authorizer, &Attributes { name: group, ..by }))
    }

    fn check_extra(
        self,
        authorizer: &dyn Authorizer,
        requestor: &User,
        extra: &BTreeMap<String, Vec<String>>,
    ) -> Result<(), Status> {
        let by = self.attributes(requestor, IDENTITY_GROUP, "userextras");
        if self != Self::Legacy {
            if let Some(wrong) = extra.iter().find_map(|(key, values)| extra_error(key, values)) {
                return Err(by.forbidden(&wrong));
            }
            let many = extra.len() >= MANY || extra.values().map(Vec::len).sum::<usize>() >= MANY;
            if many && require(authorizer, &Attributes { subresource: "*", name: "*", ..by }).is_ok() {
                return Ok(());
            }
        }
        for (key, values) in extra {
            for value in values {
                require(authorizer, &Attributes { subresource: key, name: value, ..by })?;
            }
        }
        Ok(())
    }

    /// The API group of users, groups and service accounts: the old mode has them in the core group.
    fn group(self) -> &'static str {
        if self == Self::Legacy { "" } else { IDENTITY_GROUP }
    }

    fn attributes<'a>(self, requestor: &'a User, group: &'a str, resource: &'a str) -> Attributes<'a> {
        Attributes { api_version: "v1", ..Attributes::resource(requestor, self.verb(), group, resource) }
    }
}

fn require(authorizer: &dyn Authorizer, attributes: &Attributes<'_>) -> Result<(), Status> {
    authorizer.authorize(attributes).require(attributes)
}

/// Whether a user is a service account whose token was issued to a pod on this node.
fn runs_on(user: &User, node: &str) -> bool {
    names::split_service_account(&user.name).is_some()
        && user.extra.get(names::NODE_NAME).is_some_and(|nodes| matches!(nodes.as_slice(), [one] if one == node))
}

fn extra_error(key: &str, values: &[String]) -> Option<String> {
    if key.is_empty() {
        return Some("impersonating the empty string key in extra is not allowed".to_owned());
    }
    let wrong = domain_prefixed_path_errors(key);
    if !wrong.is_empty() {
        return Some(format!("impersonating an invalid key in extra is not allowed: {}", wrong.message()));
    }
    if key.chars().any(char::is_uppercase) {
        return Some(format!("impersonating a non-lowercase key in extra is not allowed: {}", go::quote(key)));
    }
    if values.iter().any(String::is_empty) {
        return Some("impersonating the empty string value in extra is not allowed".to_owned());
    }
    None
}

fn domain_prefixed_path_errors(key: &str) -> Errors {
    const FIELD: &str = "extra.key";
    const PATH: &str = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+";
    let mut errors = Errors::new();
    match key.split_once('/') {
        Some((host, path)) if !host.is_empty() && !path.is_empty() => {
            for wrong in pawl_meta::names::dns1123_subdomain(host) {
                errors.invalid(&FIELD, host, wrong);
            }
            if !path.chars().all(|c| c.is_ascii_alphanumeric() || "/-._~%!$&'()*+,;=:".contains(c)) {
                errors.invalid(&FIELD, path, format!("Invalid path (regex used for validation is '{PATH}')"));
            }
        }
        _ => errors.invalid(&FIELD, key, "must be a domain-prefixed path (such as \"acme.io/foo\")"),
    }
    errors
}

/// Undoes percent-encoding; a key with a broken escape is kept as it came.
fn unescaped(key: &str) -> String {
    let mut bytes = Vec::with_capacity(key.len());
    let mut rest = key.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digit = |b: Option<u8>| b.and_then(|b| char::from(b).to_digit(16)).and_then(|d| u8::try_from(d).ok());
        match (digit(rest.next()), digit(rest.next())) {
            (Some(high), Some(low)) => bytes.push(high << 4 | low),
            _ => return key.to_owned(),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A user as Go's `%#v` prints its struct.
fn printed(user: &User) -> String {
    let list = |items: &[String]| {
        let items: Vec<String> = items.iter().map(|item| go::quote(item)).collect();
        format!("[]string{{{}}}", items.join(", "))
    };
    let groups = if user.groups.is_empty() { "[]string(nil)".to_owned() } else { list(&user.groups) };
    let extra = if user.extra.is_empty() {
        "map[string][]string(nil)".to_owned()
    } else {
        let entries: Vec<String> = user.extra.iter().map(|(k, v)| format!("{}:{}", go::quote(k), list(v))).collect();
        format!("map[string][]string{{{}}}", entries.join(", "))
    };
    let (name, uid) = (go::quote(&user.name), go::quote(&user.uid));
    format!("&user.DefaultInfo{{Name:{name}, UID:{uid}, Groups:{groups}, Extra:{extra}}}")
}

#[cfg(test)]
mod tests;
