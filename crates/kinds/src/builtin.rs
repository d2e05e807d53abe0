//! Everything built in, made from the facts once, at start. ResourceFacts that make no sense are refused then: there is no default
//! for a kind.

use std::sync::{Arc, OnceLock};

use pawl_meta::object::Object;
use pawl_rules::{Errors, KindRules, MetadataCheck, MetadataPass, Prepare, Rules, Subject};
use pawl_schema::{Schema, Type, TypeRef};

use crate::behaviour::{Behaviour, Columns, Findings, Forms, Write};
use crate::hooks::HOOKS;
use crate::print::Printed;
use crate::{Resource, ResourceFacts, convert, descriptions, facts, resource, types};

/// The facts make no sense.
#[derive(Debug, thiserror::Error)]
#[error("the facts about built-in kinds make no sense: {}", .0.join("; "))]
pub struct BrokenFacts(pub Vec<String>);

/// The built-in kinds, and the types that the API itself is made of.
#[derive(Debug)]
pub struct Kinds {
    schema: &'static Arc<Schema>,
    rules: &'static Rules,
    printed: &'static Printed,
    resources: Vec<Resource>,
}

/// Reads the facts, the first time; later it is the same again.
pub fn load() -> Result<&'static Kinds, BrokenFacts> {
    static KINDS: OnceLock<Result<Kinds, Vec<String>>> = OnceLock::new();
    KINDS.get_or_init(Kinds::read).as_ref().map_err(|problems| BrokenFacts(problems.clone()))
}

/// The same for tests, and wherever [`load`] has been asked before.
#[expect(
    clippy::expect_used,
    reason = "the facts are a part of the binary: a server refuses to start with broken ones"
)]
pub fn kinds() -> &'static Kinds {
    load().expect("the facts make sense")
}

/// Every built-in resource, in the order of discovery.
pub fn builtin() -> &'static [Resource] {
    kinds().resources()
}

impl Kinds {
    fn read() -> Result<Self, Vec<String>> {
        let one = |problem: String| vec![problem];
        let schema = types::load().map_err(one)?;
        let all = resource::load().map_err(one)?;
        let printed = Printed::load().map_err(one)?;
        let rules = rules(schema, all)?;
        let resources = all.iter().map(|facts| made(schema, rules, printed, facts)).collect::<Result<_, _>>()?;
        Ok(Self { schema, rules, printed, resources })
    }

    /// Every built-in resource, in the order of discovery: also those that wait for a feature gate.
    pub fn resources(&self) -> &[Resource] {
        &self.resources
    }

    /// Those that are served where these feature gates are on.
    pub fn served(&self, is_on: impl Fn(&str) -> bool) -> Vec<Resource> {
        let is_served = |resource: &&Resource| resource.facts.gate.as_deref().is_none_or(&is_on);
        self.resources.iter().filter(is_served).cloned().collect()
    }

    /// The types of everything built in.
    pub fn schema(&self) -> &'static Arc<Schema> {
        self.schema
    }

    /// What the schema was read from.
    pub fn text_of_types(&self) -> &'static str {
        &facts::text().types
    }

    /// The type of that name: also of bodies and answers that are no objects of resources.
    pub fn named(&self, type_name: &str) -> Option<TypeRef<'static>> {
        self.schema.named(type_name)
    }

    /// How objects of a type are shown in tables: also of those that are no objects of resources.
    pub fn columns(&self, type_name: &str) -> &'static dyn Columns {
        self.printed.of(type_name)
    }

    /// The type of a document by its apiVersion and kind: objects of resources, and what the API itself says.
    pub fn type_of(&self, api_version: &str, kind: &str) -> Option<TypeRef<'static>> {
        let mut resources = self.resources.iter().filter(|r| r.facts.kind == kind);
        if let Some(found) = resources.find(|r| r.group_version().to_string() == api_version) {
            return self.named(&found.facts.type_name);
        }
        match (api_version, kind) {
            // Stored in these versions by upstream, so that the release before can read them. The messages are the same.
            ("admissionregistration.k8s.io/v1alpha1" | "admissionregistration.k8s.io/v1beta1", kind) => {
                self.type_of("admissionregistration.k8s.io/v1", kind)
            }
            // What the core group says about itself names no version.
            ("", kind @ ("APIVersions" | "APIResourceList")) => self.named(&format!("meta.v1.{kind}")),
            ("v1" | "meta.k8s.io/v1", kind) => self.named(&format!("meta.v1.{kind}")),
            ("apidiscovery.k8s.io/v2", kind) => self.named(&format!("apidiscovery.v2.{kind}")),
            // One message in both versions.
            ("meta.k8s.io/v1beta1", "PartialObjectMetadata") => self.named("meta.v1.PartialObjectMetadata"),
            ("autoscaling/v1", "Scale") => self.named("autoscaling.v1.Scale"),
            ("policy/v1", "Eviction") => self.named("policy.v1.Eviction"),
            ("authentication.k8s.io/v1", "TokenRequest") => self.named("authentication.v1.TokenRequest"),
            _ => None,
        }
    }

    /// The name under which OpenAPI publishes a built-in type.
    pub fn openapi_name(&self, type_name: &str) -> Option<&'static str> {
        types::openapi_name(type_name)
    }

    /// What a type is for, by the name under which OpenAPI publishes it.
    pub fn description(&self, openapi_name: &str) -> Option<&'static str> {
        descriptions::of_type(openapi_name)
    }

    /// What a field of a type is for.
    pub fn field_description(&self, openapi_name: &str, field: &str) -> Option<&'static str> {
        descriptions::of_field(openapi_name, field)
    }

    /// Fills in the defaults of a body that is no object of a resource.
    pub fn set_defaults(&self, type_name: &str, body: &mut Object) {
        if let Some(kind) = self.rules.of(type_name, "") {
            self.rules.set_defaults(kind, body);
        }
    }

    /// Fills in what another server leaves out of what it stores, because it fills that in when it reads.
    pub fn complete(&self, object: &mut Object) -> Result<(), String> {
        let text = |field: &str| object.get(field).and_then(serde_json::Value::as_str).unwrap_or_default();
        let (api_version, kind) = (text("apiVersion"), text("kind"));
        let is_of = |r: &&Resource| r.facts.kind == kind && r.group_version().to_string() == api_version;
        self.resources.iter().find(is_of).map_or(Ok(()), |found| found.behaviour.set_defaults(object))
    }

    /// Says what is wrong with a body that is no object of a resource.
    pub fn validate(&self, type_name: &str, kind_name: &str, body: &Object, errors: &mut Errors) {
        if let Some(kind) = self.rules.of(type_name, "") {
            self.rules.validate_create(kind, kind_name, body, &mut |_, _| {}, errors);
        }
    }
}

fn rules(schema: &'static Arc<Schema>, all: &'static [ResourceFacts]) -> Result<&'static Rules, Vec<String>> {
    static RULES: OnceLock<Result<Rules, Vec<String>>> = OnceLock::new();
    let compile = || {
        let texts: Vec<&'static str> = facts::text().rules.iter().map(AsRef::as_ref).collect();
        let subjects = all.iter().map(|facts| Subject { type_name: &facts.type_name, status: &facts.status });
        Rules::compile(&texts, schema, &subjects.collect::<Vec<_>>(), HOOKS)
    };
    RULES.get_or_init(compile).as_ref().map_err(Clone::clone)
}

/// A resource: what the facts say, completed by what its rules say.
fn made(
    schema: &Arc<Schema>,
    rules: &'static Rules,
    printed: &'static Printed,
    facts: &ResourceFacts,
) -> Result<Resource, Vec<String>> {
    let missing = || vec![format!("{}: no such type: {}", facts.plural, facts.type_name)];
    let object_type = Type::named(schema, &facts.type_name).ok_or_else(missing)?;
    let mut facts = facts.clone();
    let of = |subresource: &str| rules.of(&facts.type_name, subresource);
    let own = of("");
    let below: Vec<_> = facts.sub.iter().map(|sub| of(&sub.name)).collect();
    let behaviour = Builtin {
        object_type,
        rules,
        kind_name: facts.kind.clone(),
        own,
        below: facts.sub.iter().zip(&below).filter_map(|(sub, rules)| Some((sub.name.clone(), (*rules)?))).collect(),
        columns: printed.of(&facts.type_name),
        forms: convert::forms(&facts.type_name),
    };
    for (sub, rules) in facts.sub.iter_mut().zip(below) {
        let owned = rules.and_then(KindRules::owned_fields);
        sub.owns = owned.map(|fields| fields.iter().map(|field| (*field).to_owned()).collect());
    }
    facts.openapi_name = types::openapi_name(&facts.type_name).map(str::to_owned);
    facts.plain_finalizers = own.is_some_and(KindRules::has_plain_metadata);
    let (group, kind) = own.map(KindRules::error_names).unwrap_or_default();
    facts.error_group = group.map(str::to_owned);
    facts.error_kind = kind.map(str::to_owned);
    Ok(Resource { facts, behaviour: Arc::new(behaviour) })
}

/// What a built-in kind does: its rules, its columns, its forms.
#[derive(Debug)]
struct Builtin {
    object_type: Type,
    rules: &'static Rules,
    kind_name: String,
    own: Option<&'static KindRules>,
    /// Rules of updates through subresources.
    below: Vec<(String, &'static KindRules)>,
    columns: &'static dyn Columns,
    forms: Option<&'static dyn Forms>,
}

impl Builtin {
    fn of(&self, subresource: &str) -> Option<&'static KindRules> {
        if subresource.is_empty() {
            return self.own;
        }
        self.below.iter().find(|(name, _)| name == subresource).map(|(_, rules)| *rules)
    }
}

impl Behaviour for Builtin {
    fn object_type(&self) -> &Type {
        &self.object_type
    }

    fn set_defaults(&self, object: &mut Object) -> Result<(), String> {
        if let Some(kind) = self.own {
            self.rules.set_defaults(kind, object);
        }
        Ok(())
    }

    fn prepare(&self, write: Write<'_>, object: &mut Object, by: &Prepare) {
        match (self.of(write.subresource), write.old) {
            (Some(kind), None) => self.rules.prepare_create(kind, object, by),
            (Some(kind), Some(old)) => self.rules.prepare_update(kind, object, old, by),
            (None, _) => {}
        }
    }

    fn validate(&self, write: Write<'_>, object: &Object, metadata: MetadataCheck<'_>, found: &mut Findings) {
        let errors = &mut found.errors;
        match (self.of(write.subresource), write.old) {
            (Some(kind), None) => self.rules.validate_create(kind, &self.kind_name, object, metadata, errors),
            (Some(kind), Some(old)) => {
                self.rules.validate_update(kind, &self.kind_name, (object, old), metadata, errors);
            }
            (None, None) => metadata(MetadataPass::Meta, errors),
            (None, Some(_)) => metadata(MetadataPass::Update, errors),
        }
    }

    fn warnings(&self, write: Write<'_>, object: &Object) -> Vec<String> {
        let kind = self.of(write.subresource);
        kind.map(|kind| self.rules.warnings(kind, &self.kind_name, object, write.old)).unwrap_or_default()
    }

    fn columns(&self) -> &dyn Columns {
        self.columns
    }

    fn forms(&self) -> Option<&dyn Forms> {
        self.forms
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_resource_has_its_type_and_there_are_rules_of_many_kinds() {
        assert_eq!(resource::load().unwrap().len(), builtin().len());
        assert!(builtin().iter().any(|r| r.facts.plural == "configmaps" && r.facts.namespaced));
        let (kinds, plans) = kinds().rules.count();
        assert!(kinds > 80 && plans > 200);
    }

    /// Where kube-apiserver keeps objects in etcd, read from one that had an object of every kind: below the plural, but for
    /// these.
    #[test]
    fn objects_are_kept_where_upstream_keeps_them() {
        let elsewhere = |facts: &ResourceFacts| match (facts.group.as_str(), facts.plural.as_str()) {
            ("", "endpoints") => "services/endpoints".to_owned(),
            ("", "nodes") => "minions".to_owned(),
            ("", "replicationcontrollers") => "controllers".to_owned(),
            ("", "services") => "services/specs".to_owned(),
            ("networking.k8s.io", "ingresses") => "ingress".to_owned(),
            (group @ ("apiextensions.k8s.io" | "apiregistration.k8s.io"), plural) => format!("{group}/{plural}"),
            (_, plural) => plural.to_owned(),
        };
        for facts in builtin().iter().map(|resource| &resource.facts).filter(|facts| !facts.key.is_empty()) {
            assert_eq!(facts.key, elsewhere(facts), "{} of {}", facts.plural, facts.group);
        }
    }

    #[test]
    fn what_the_rules_say_of_a_kind_is_plain_data() {
        let find =
            |plural: &str| builtin().iter().find(|r| r.facts.plural == plural && r.facts.group != "events.k8s.io");
        let pods = find("pods").unwrap();
        let owns = |name: &str| pods.subresource(name).unwrap().owns.clone();
        assert_eq!(owns("ephemeralcontainers"), Some(vec!["spec".to_owned()]));
        assert_eq!(owns("status"), None);
        assert_eq!(pods.facts.openapi_name.as_deref(), Some("io.k8s.api.core.v1.Pod"));
    }
}
