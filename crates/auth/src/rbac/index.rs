//! The roles and bindings of the cluster, indexed by who they bind: decisions read a handful of bindings, never all.

mod table;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write;
use std::sync::{Arc, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use pawl_meta::go;
use pawl_meta::object::Meta;
use serde_json::Value;

use self::table::{Bound, Table, Wanted};
use super::rule::Rule;
use crate::{Attributes, Authorizer, Decision, User, names};

/// The kinds that the index follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Role,
    ClusterRole,
    RoleBinding,
    ClusterRoleBinding,
}

/// Everything that a user may do in one namespace, and what could not be found out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct UserRules {
    pub rules: Vec<Rule>,
    /// Bindings that refer to roles which do not exist.
    pub problems: Vec<String>,
}

/// Roles and bindings, kept current by the events of a watch. Shared between threads; a decision holds a read lock for
/// about a microsecond: what takes longer, as reading a role or making a table, is done without it.
#[derive(Default)]
pub struct Index {
    state: RwLock<RbacState>,
}

/// By namespace; the empty namespace holds ClusterRoles and ClusterRoleBindings.
#[derive(Default)]
struct RbacState {
    roles: HashMap<String, HashMap<String, Arc<[Rule]>>>,
    scopes: HashMap<String, Scope>,
}

/// The bindings of one namespace.
#[derive(Default)]
struct Scope {
    bindings: HashMap<String, Arc<Binding>>,
    by_user: HashMap<String, Subjected>,
    by_group: HashMap<String, Subjected>,
}

/// The bindings of one subject.
#[derive(Default)]
struct Subjected {
    /// Sorted by name.
    bindings: Vec<Arc<Binding>>,
    /// What they allow, made when it is first asked for. Who makes it holds on to this one: when the bindings change
    /// meanwhile, another takes its place.
    table: Arc<OnceLock<Table>>,
}

struct Binding {
    name: String,
    namespace: String,
    role_kind: String,
    role_name: String,
    subjects: Vec<Subject>,
}

struct Subject {
    /// How reasons name the subject: `Group "devs"`.
    description: String,
    target: Target,
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Target {
    /// A user or, by its user name, a service account.
    User(String),
    Group(String),
    /// A kind nobody knows, or a service account without a namespace: binds nobody.
    Nobody,
}

impl Kind {
    /// By the name of the resource: `clusterroles`.
    pub fn of_resource(resource: &str) -> Option<Self> {
        match resource {
            "roles" => Some(Self::Role),
            "clusterroles" => Some(Self::ClusterRole),
            "rolebindings" => Some(Self::RoleBinding),
            "clusterrolebindings" => Some(Self::ClusterRoleBinding),
            _ => None,
        }
    }
}

impl Index {
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes in one event: an object appeared (no `old`), changed, or went away (no `new`).
    pub fn apply(&self, kind: Kind, old: Option<&Value>, new: Option<&Value>) {
        let Some(named) = new.or(old) else { return };
        let namespace = match kind {
            Kind::Role | Kind::RoleBinding => named.namespace(),
            Kind::ClusterRole | Kind::ClusterRoleBinding => "",
        };
        match kind {
            Kind::Role | Kind::ClusterRole => {
                let rules = new.map(|role| Arc::from(Rule::all_of(role)));
                self.write().put_role(namespace, named.name(), rules);
            }
            Kind::RoleBinding | Kind::ClusterRoleBinding => {
                let binding = new.map(|binding| Binding::parse(binding, namespace));
                self.write().put_binding(namespace, named.name(), binding);
            }
        }
    }

    /// What a user may do in a namespace (the empty one: at the cluster scope), binding by binding in order of names.
    pub fn rules_for(&self, user: &User, namespace: &str) -> UserRules {
        let mut found = UserRules::default();
        let bound = self.read().bound(user, namespace);
        for (binding, rules) in bound {
            match rules {
                Some(rules) => found.rules.extend_from_slice(&rules),
                None => found.problems.push(binding.missing_role()),
            }
        }
        found
    }

    /// The rules behind a reference from a binding in this namespace. `None` when there is no such role.
    pub fn role_rules(&self, role_kind: &str, role_name: &str, namespace: &str) -> Option<Vec<Rule>> {
        let rules = self.read().role(role_kind, role_name, namespace).cloned();
        rules.map(|rules| rules.to_vec())
    }

    fn write(&self) -> RwLockWriteGuard<'_, RbacState> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn read(&self) -> RwLockReadGuard<'_, RbacState> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Authorizer for Index {
    fn authorize(&self, asked: &Attributes<'_>) -> Decision {
        let wanted = Wanted::new(asked);
        loop {
            let unmade = {
                let state = self.read();
                let mut missing = BTreeSet::new();
                let mut subjects = state.scopes_of(asked.namespace).flat_map(|scope| scope.of(asked.user));
                loop {
                    let Some(subject) = subjects.next() else { return refusal(missing) };
                    let Some(table) = subject.table.get() else {
                        break (Arc::clone(&subject.table), state.bound_to(subject));
                    };
                    if let Some(binding) = table.allowing(&wanted) {
                        return Decision::Allow { reason: binding.reason(asked.user) };
                    }
                    missing.extend(table.missing());
                }
            };
            let (table, bound) = unmade;
            table.get_or_init(|| Table::new(&bound));
        }
    }
}

fn refusal(missing: BTreeSet<&str>) -> Decision {
    Decision::NoOpinion { reason: if missing.is_empty() { String::new() } else { missing_reason(missing) } }
}

impl RbacState {
    /// The cluster's bindings, then those of the namespace.
    fn scopes_of(&self, namespace: &str) -> impl Iterator<Item = &Scope> {
        let local = if namespace.is_empty() { None } else { self.scopes.get(namespace) };
        self.scopes.get("").into_iter().chain(local)
    }

    /// The bindings of a user, the cluster's first, each once and in order of names.
    fn bound(&self, user: &User, namespace: &str) -> Vec<Bound> {
        let mut bound = Vec::new();
        for scope in self.scopes_of(namespace) {
            let bindings = scope.of(user).flat_map(|subject| &subject.bindings);
            let bindings: BTreeMap<&str, &Arc<Binding>> = bindings.map(|b| (b.name.as_str(), b)).collect();
            bound.extend(bindings.into_values().map(|binding| (Arc::clone(binding), self.rules_of(binding))));
        }
        bound
    }

    fn bound_to(&self, subject: &Subjected) -> Vec<Bound> {
        subject.bindings.iter().map(|binding| (Arc::clone(binding), self.rules_of(binding))).collect()
    }

    fn rules_of(&self, binding: &Binding) -> Option<Arc<[Rule]>> {
        self.role(&binding.role_kind, &binding.role_name, &binding.namespace).cloned()
    }

    fn role(&self, kind: &str, name: &str, namespace: &str) -> Option<&Arc<[Rule]>> {
        let namespace = match kind {
            "ClusterRole" => "",
            // A Role is never found at the cluster scope, where ClusterRoles are kept.
            "Role" if !namespace.is_empty() => namespace,
            _ => return None,
        };
        self.roles.get(namespace)?.get(name)
    }

    /// Forgets what was made of a role that has changed, wherever it is bound.
    fn forget(&mut self, namespace: &str, name: &str) {
        if namespace.is_empty() {
            self.scopes.values_mut().for_each(|scope| scope.forget("ClusterRole", name));
        } else if let Some(scope) = self.scopes.get_mut(namespace) {
            scope.forget("Role", name);
        }
    }

    fn put_role(&mut self, namespace: &str, name: &str, rules: Option<Arc<[Rule]>>) {
        self.forget(namespace, name);
        match rules {
            Some(rules) => {
                self.roles.entry(namespace.to_owned()).or_default().insert(name.to_owned(), rules);
            }
            None => {
                if let Some(roles) = self.roles.get_mut(namespace) {
                    roles.remove(name);
                    if roles.is_empty() {
                        self.roles.remove(namespace);
                    }
                }
            }
        }
    }

    fn put_binding(&mut self, namespace: &str, name: &str, binding: Option<Binding>) {
        let scope = self.scopes.entry(namespace.to_owned()).or_default();
        scope.remove(name);
        if let Some(binding) = binding {
            scope.insert(Arc::new(binding));
        }
        if scope.bindings.is_empty() {
            self.scopes.remove(namespace);
        }
    }
}

impl Scope {
    fn insert(&mut self, binding: Arc<Binding>) {
        for target in binding.targets() {
            let subject = match target {
                Target::User(name) => self.by_user.entry(name.clone()).or_default(),
                Target::Group(name) => self.by_group.entry(name.clone()).or_default(),
                Target::Nobody => continue,
            };
            let at = subject.bindings.partition_point(|other| other.name < binding.name);
            subject.bindings.insert(at, Arc::clone(&binding));
            subject.table = Arc::default();
        }
        self.bindings.insert(binding.name.clone(), binding);
    }

    fn remove(&mut self, name: &str) {
        let Some(binding) = self.bindings.remove(name) else { return };
        for target in binding.targets() {
            let Some((map, key)) = self.subjects_of(target) else { continue };
            if let Some(subject) = map.get_mut(key) {
                subject.bindings.retain(|other| other.name != name);
                subject.table = Arc::default();
                if subject.bindings.is_empty() {
                    map.remove(key);
                }
            }
        }
    }

    fn forget(&mut self, role_kind: &str, role_name: &str) {
        let bound = |binding: &&Arc<Binding>| binding.role_name == role_name && binding.role_kind == role_kind;
        let bindings: Vec<Arc<Binding>> = self.bindings.values().filter(bound).cloned().collect();
        for target in bindings.iter().flat_map(|binding| binding.targets()) {
            let Some((map, key)) = self.subjects_of(target) else { continue };
            if let Some(subject) = map.get_mut(key) {
                subject.table = Arc::default();
            }
        }
    }

    fn subjects_of<'t>(&mut self, target: &'t Target) -> Option<(&mut HashMap<String, Subjected>, &'t String)> {
        match target {
            Target::User(name) => Some((&mut self.by_user, name)),
            Target::Group(name) => Some((&mut self.by_group, name)),
            Target::Nobody => None,
        }
    }

    /// What concerns a user: by name first, then by each group.
    fn of<'s>(&'s self, user: &'s User) -> impl Iterator<Item = &'s Subjected> {
        let by_group = user.groups.iter().filter_map(|group| self.by_group.get(group));
        self.by_user.get(&user.name).into_iter().chain(by_group)
    }
}

impl Binding {
    fn parse(object: &Value, namespace: &str) -> Self {
        let text = |value: &Value, field: &str| value.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
        let role = object.get("roleRef").unwrap_or(&Value::Null);
        let subjects = object.get("subjects").and_then(Value::as_array).into_iter().flatten();
        Self {
            name: object.name().to_owned(),
            namespace: namespace.to_owned(),
            role_kind: text(role, "kind"),
            role_name: text(role, "name"),
            subjects: subjects
                .map(|s| Subject::new(&text(s, "kind"), text(s, "name"), text(s, "namespace"), namespace))
                .collect(),
        }
    }

    /// Every target once.
    fn targets(&self) -> BTreeSet<&Target> {
        self.subjects.iter().map(|subject| &subject.target).collect()
    }

    fn reason(&self, user: &User) -> String {
        let subject = self.subjects.iter().find(|subject| subject.target.is(user));
        let (role_kind, role_name) = (&self.role_kind, go::quote(&self.role_name));
        let mut reason = String::with_capacity(160);
        let _ = match self.namespace.as_str() {
            "" => write!(reason, "RBAC: allowed by ClusterRoleBinding {}", go::quote(&self.name)),
            namespace => {
                write!(reason, "RBAC: allowed by RoleBinding {}", go::quote(&format!("{}/{namespace}", self.name)))
            }
        };
        let _ = write!(reason, " of {role_kind} {role_name} to ");
        reason.push_str(subject.map_or("", |subject| &subject.description));
        reason
    }

    fn missing_role(&self) -> String {
        match self.role_kind.as_str() {
            kind @ ("Role" | "ClusterRole") => {
                format!("{}.{} {} not found", kind.to_lowercase(), super::GROUP, go::quote(&self.role_name))
            }
            kind => format!("unsupported role reference kind: {}", go::quote(kind)),
        }
    }
}

impl Subject {
    fn new(kind: &str, name: String, namespace: String, binding_namespace: &str) -> Self {
        let namespace = if namespace.is_empty() { binding_namespace } else { &namespace };
        let shown = if kind == "ServiceAccount" { format!("{name}/{namespace}") } else { name.clone() };
        let target = match kind {
            "User" => Target::User(name),
            "Group" => Target::Group(name),
            "ServiceAccount" if !namespace.is_empty() => Target::User(names::service_account(namespace, &name)),
            _ => Target::Nobody,
        };
        Self { description: format!("{kind} {}", go::quote(&shown)), target }
    }
}

impl Target {
    fn is(&self, user: &User) -> bool {
        match self {
            Self::User(name) => user.name == *name,
            Self::Group(group) => user.is_in(group),
            Self::Nobody => false,
        }
    }
}

fn missing_reason(missing: BTreeSet<&str>) -> String {
    let missing: Vec<&str> = missing.into_iter().collect();
    match missing.as_slice() {
        [one] => format!("RBAC: {one}"),
        many => format!("RBAC: [{}]", many.join(", ")),
    }
}

#[cfg(test)]
mod tests;
