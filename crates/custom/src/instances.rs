//! What a kind that users defined does: the answers of a definition's version to what every kind is asked.
//!
//! Objects are judged in the version of the request, by that version's schema.

use std::sync::{Arc, OnceLock};

use pawl_kinds::print::Column;
use pawl_kinds::{
    Behaviour, Columns, Findings, Forms, Generation, Mark, MetadataCheck, MetadataPass, Passed, Prepare, Published,
    Resource, ResourceFacts, ScalePaths, Subresource, Write,
};
use pawl_meta::object::{Meta, Object};
use pawl_meta::{Errors, FieldPath, go, names};
use pawl_schema::{Type, TypeRef};
use pawl_structural::{Part, Structural};
use serde_json::Value;

use crate::definition::{Definition, Version};
use crate::family::{Family, Member, number};
use crate::metrics;
use crate::openapi::{self, Dialect};

/// What all custom resources are told once.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The gate `CRDValidationRatcheting`.
    pub ratcheting: bool,
    /// The rules of metadata, for objects within objects: the object, the path of its metadata.
    pub embedded_metadata: fn(&Object, &FieldPath, &mut Errors),
}

/// The versions of a definition that are served, as resources.
pub fn resources(family: &Arc<Family>, settings: Settings) -> Vec<Resource> {
    let definition = &family.definition;
    let members = definition.versions.iter().zip(&family.members).filter(|(version, _)| version.served);
    members.map(|(version, member)| resource(family, version, member, settings)).collect()
}

/// The version in which objects are stored as a resource, whether it is served or not.
pub fn stored_resource(family: &Arc<Family>, settings: Settings) -> Option<Resource> {
    let mut members = family.definition.versions.iter().zip(&family.members);
    let (version, member) = members.find(|(version, _)| version.storage)?;
    Some(resource(family, version, member, settings))
}

fn resource(family: &Arc<Family>, version: &Version, member: &Arc<Member>, settings: Settings) -> Resource {
    let behaviour = Instances {
        family: Arc::clone(family),
        member: Arc::clone(member),
        version: version.clone(),
        way: number(),
        definitions: OnceLock::new(),
        settings,
    };
    Resource { facts: facts(family, version, member), behaviour: Arc::new(behaviour) }
}

fn facts(family: &Family, version: &Version, member: &Member) -> ResourceFacts {
    let definition = &family.definition;
    let names = &definition.accepted;
    let status = if version.has_status { vec!["status".to_owned()] } else { Vec::new() };
    let selectable = version.selectable.iter().map(|path| path.strip_prefix('.').unwrap_or(path).to_owned());
    ResourceFacts {
        group: definition.group.clone(),
        version: version.name.clone(),
        kind: names.kind.clone(),
        plural: names.plural.clone(),
        singular: names.singular.clone(),
        short: names.short.clone(),
        categories: names.categories.clone(),
        namespaced: definition.namespaced,
        verbs: words(definition.verbs()),
        key: definition.storage_key(),
        storage: Some(family.stored.clone()).filter(|stored| *stored != member.api_version),
        select: selectable.collect(),
        generation: Generation::AllBut(status.clone()),
        status,
        status_keeps: vec!["*".to_owned()],
        stored_as_json: true,
        hash: definition.storage_version_hash(),
        sub: subresources(definition, version),
        warning: definition.deprecation(version),
        scale: version.scale.as_ref().map(scale_paths).unwrap_or_default(),
        custom: true,
        list: Some(names.list_kind.clone()),
        closed: definition
            .terminating
            .then(|| "create not allowed while custom resource definition is terminating".to_owned()),
        unconverted: (!family.converts_by_itself() && member.api_version != family.stored).then(|| {
            format!(
                "{} is converted from {} by a webhook, and this server does not call conversion webhooks yet: use {}",
                member.api_version, family.stored, family.stored
            )
        }),
        plain_finalizers: true,
        ..ResourceFacts::default()
    }
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn scale_paths(scale: &crate::Scale) -> ScalePaths {
    let path = |path: &str| path.strip_prefix('.').unwrap_or(path).to_owned();
    ScalePaths {
        spec_replicas: path(&scale.spec_replicas),
        status_replicas: path(&scale.status_replicas),
        selector: scale.label_selector.as_deref().map(path),
    }
}

fn subresources(definition: &Definition, version: &Version) -> Vec<Subresource> {
    let verbs = words(&["get", "patch", "update"]);
    let mut sub = Vec::new();
    if version.has_status {
        let kind = definition.accepted.kind.clone();
        sub.push(Subresource { name: "status".to_owned(), kind, verbs: verbs.clone(), ..Subresource::default() });
    }
    if version.scale.is_some() {
        sub.push(Subresource {
            name: "scale".to_owned(),
            kind: "Scale".to_owned(),
            group: "autoscaling".to_owned(),
            version: "v1".to_owned(),
            type_name: Some("autoscaling.v1.Scale".to_owned()),
            verbs,
            ..Subresource::default()
        });
    }
    sub
}

/// Objects of one version.
#[derive(Debug)]
struct Instances {
    family: Arc<Family>,
    member: Arc<Member>,
    version: Version,
    /// How stored objects are brought into the form of this version.
    way: u64,
    definitions: OnceLock<Vec<Column>>,
    settings: Settings,
}

impl Instances {
    fn structural(&self) -> &Structural {
        self.member.structural()
    }
}

impl Behaviour for Instances {
    fn object_type(&self) -> &Type {
        self.structural().shape()
    }

    fn set_defaults(&self, object: &mut Object) -> Result<(), String> {
        if let Some(why) = self.structural().misnamed(object) {
            return Err(why);
        }
        self.structural().default(object);
        Ok(())
    }

    fn set_defaults_of_applied(&self, object: &mut Object) -> Result<(), String> {
        self.structural().default_keeping_nulls(object);
        Ok(())
    }

    fn prepare(&self, _write: Write<'_>, _object: &mut Object, _by: &Prepare) {}

    fn validate(&self, write: Write<'_>, object: &Object, metadata: MetadataCheck<'_>, found: &mut Findings) {
        let pass = if write.old.is_some() { MetadataPass::Update } else { MetadataPass::Meta };
        metadata(pass, &mut found.errors);
        let before = write.valid_before.filter(|mark| mark.rules == self.member.id);
        let before = before.map(|mark| pawl_structural::Mark { cost: mark.cost });
        let judged = self.structural().validate(&pawl_structural::Write {
            new: object,
            old: write.old,
            part: if write.subresource == "status" { Part::Status } else { Part::Whole },
            ratcheting: self.settings.ratcheting,
            earlier: &found.errors,
            embedded_metadata: &self.settings.embedded_metadata,
            valid_before: before.as_ref(),
        });
        if write.old.is_some() && self.settings.ratcheting {
            metrics::compared(judged.compared);
        }
        if let Some(ran) = judged.ran {
            metrics::evaluated(ran);
        }
        for passed in &judged.ratcheted {
            metrics::ratcheted(&self.family.definition.name, &passed.rule);
        }
        found.errors.append(judged.errors);
        found.warnings.extend(judged.warnings);
        let passed =
            |passed: pawl_structural::Ratcheted| Passed { path: passed.path, rule: passed.rule, detail: passed.detail };
        found.let_pass.extend(judged.ratcheted.into_iter().map(passed));
        found.compared = judged.compared;
        found.mark = judged.mark.map(|mark| Mark { rules: self.member.id, cost: mark.cost });
    }

    fn warnings(&self, write: Write<'_>, object: &Object) -> Vec<String> {
        if write.subresource == "status" {
            return Vec::new();
        }
        let known = write.old.map(|old| old.meta_strings("finalizers")).unwrap_or_default();
        let mut added = object.meta_strings("finalizers");
        added.retain(|finalizer| !known.contains(finalizer));
        added.sort_unstable();
        added.dedup();
        added.into_iter().flat_map(finalizer_warnings).collect()
    }

    fn columns(&self) -> &dyn Columns {
        self
    }

    fn forms(&self) -> Option<&dyn Forms> {
        Some(self)
    }

    fn published(&self) -> Option<&dyn Published> {
        Some(self)
    }
}

impl Published for Instances {
    fn source(&self) -> String {
        let schema = self.member.schema_hash();
        format!("{:?} {:?} {schema:?}", self.family.definition.names, self.version.selectable)
    }

    fn schemas(&self, v3: bool) -> [Value; 2] {
        let dialect = if v3 { Dialect::V3 } else { Dialect::V2 };
        openapi::definitions(&self.family.definition, &self.version, dialect).map(|(_, schema)| schema)
    }
}

fn finalizer_warnings(finalizer: &str) -> Vec<String> {
    let told = |why: &str| format!("metadata.finalizers: {}: {why}", go::quote(finalizer));
    let mut warnings: Vec<String> = names::qualified_name(finalizer).iter().map(|wrong| told(wrong)).collect();
    let is_standard = matches!(finalizer, "orphan" | "foregroundDeletion" | "kubernetes");
    if !finalizer.contains('/') && !is_standard {
        let path = if finalizer.contains('.') { " including a path (/)" } else { "" };
        let why = "to avoid accidental conflicts with other finalizer writers";
        warnings.push(told(&format!("prefer a domain-qualified finalizer name{path} {why}")));
    }
    warnings
}

impl Columns for Instances {
    fn definitions(&self) -> &[Column] {
        self.definitions.get_or_init(|| {
            let headers = self.member.columns(&self.version).headers();
            let column = |header: crate::Header<'_>| Column {
                name: header.name.to_owned().into(),
                kind: header.kind.to_owned().into(),
                format: header.format.to_owned().into(),
                description: header.description.into_owned().into(),
                priority: i32::try_from(header.priority).unwrap_or(i32::MAX),
            };
            headers.into_iter().map(column).collect()
        })
    }

    fn row(&self, object: &Value, now_unix: i64) -> Vec<Value> {
        self.member.columns(&self.version).row(object, now_unix)
    }
}

impl Forms for Instances {
    fn stored(&self) -> &str {
        &self.family.stored
    }

    fn rendering(&self) -> Option<u64> {
        Some(self.way)
    }

    fn is_in_form(&self, object: &Object) -> bool {
        self.structural().has_defaults_of_fields(object)
    }

    fn type_of(&self, api_version: &str) -> Option<TypeRef<'_>> {
        self.family.member(api_version).map(|member| member.structural().shape().as_ref())
    }

    fn convert(&self, object: Object, api_version: &str) -> Option<Object> {
        self.family.convert(object, api_version)
    }

    fn stored_field<'f>(&'f self, field: &'f str) -> &'f str {
        field
    }

    fn selected(&self, object: &Object) -> Vec<String> {
        if self.version.selectable.is_empty() {
            return Vec::new();
        }
        let object = Value::Object(object.clone());
        self.member.selectable(&self.version).values(&object).into_iter().map(|(_, value)| value).collect()
    }
}
