//! Whether a definition may be written: upstream's rules, in its order, with its paths and words.
//!
//! Metadata is judged by whoever judges that of every kind, before this; [`name`] is what a definition adds to it. What an old
//! definition already had is not newly refused ([`Options::after`]).

mod conversion;
mod joined;
mod names;
mod parts;
mod shown;

use std::collections::HashSet;

use pawl_meta::object::Object;
use pawl_meta::{Errors, FieldPath};
use pawl_structural::{Checks, Props, schema_errors, structural_errors, unrecognized_formats};
use serde_json::{Value, json};

use crate::status::{self, Condition};
use crate::{approval, ca, fields};
use joined::{Joined, Part, same};

/// What a new definition's name must be beyond that of every object; also asked of `generateName`.
pub fn name(name: &str, object: &Object) -> Option<&'static str> {
    let spec = fields::within(object, "spec");
    let plural = fields::text(fields::within(spec, "names"), "plural");
    let wanted = name.strip_prefix(plural).and_then(|rest| rest.strip_prefix('.'));
    (wanted != Some(fields::text(spec, "group"))).then_some("must be spec.names.plural+\".\"+spec.group")
}

/// A new definition, after its preparation.
pub fn create(object: &Object) -> Errors {
    let joined = Joined::of(object);
    let mut errors = Errors::new();
    spec(&joined, Options::default(), &mut errors);
    rest(object, None, &joined, &mut errors);
    errors
}

/// A changed definition, after its preparation.
pub fn update(new: &Object, old: &Object) -> Errors {
    let (joined, before) = (Joined::of(new), Joined::of(old));
    let mut errors = Errors::new();
    spec(&joined, Options::after(old, &before, &joined), &mut errors);
    unchangeable(&joined, &before, is_established(old), &mut errors);
    rest(new, Some(old), &joined, &mut errors);
    errors
}

/// A changed status: the names in it must look like names. Upstream looks at nothing else there.
pub fn update_status(new: &Object) -> Errors {
    let mut errors = Errors::new();
    accepted_names(new, &mut errors);
    errors
}

/// Formats that nobody will check. What the old definition had is not told again.
pub fn warnings(new: &Object, old: Option<&Object>) -> Vec<String> {
    let formats = |object| Joined::of(object).schemas().flat_map(unrecognized_formats).collect::<Vec<_>>();
    let known = old.map(formats).unwrap_or_default();
    let mut told = HashSet::new();
    let fresh = formats(new).into_iter().filter(|format| !known.contains(format) && told.insert(format.clone()));
    fresh.map(|format| format!("unrecognized format {}", pawl_meta::go::quote(&format))).collect()
}

/// What is asked of a definition; less of one that was there before the rule.
pub struct Options {
    checks: Checks,
    require_schema: bool,
    known_review_version: bool,
    any_ca_bundle: bool,
    /// Versions whose schema is the one that it was: their rules may cost what they cost.
    unchanged: HashSet<String>,
    /// Versions that may have too many selectable fields; the empty name stands for what all share.
    crowded: HashSet<String>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            checks: Checks::of_new(false),
            require_schema: true,
            known_review_version: true,
            // Nobody calls the webhook of a definition that is not established.
            any_ca_bundle: true,
            unchanged: HashSet::new(),
            crowded: HashSet::new(),
        }
    }
}

impl Options {
    fn after(old: &Object, before: &Joined<'_>, joined: &Joined<'_>) -> Self {
        let had = |is: fn(&Props) -> bool| before.schemas().any(is);
        let is_loose =
            |schema: &Props| !structural_errors(schema, &FieldPath::root()).is_ok_and(|errors| errors.is_empty());
        let checks = Checks {
            require_valid_types: !had(Props::has_invalid_types),
            require_structural: !before.schemas().any(is_loose),
            require_pruned_defaults: !had(Props::has_unpruned_defaults),
            require_atomic_sets: !had(Props::has_non_atomic_sets),
            require_map_list_keys: !had(Props::has_invalid_map_list_keys),
            ..Checks::of_new(false)
        };
        let webhook = fields::within(fields::within(before.spec, "conversion"), "webhook");
        let reviews = fields::texts(webhook, "conversionReviewVersions");
        let names = joined.versions.iter().map(|version| fields::text(version, "name"));
        let unchanged = |name: &&str| same(joined.any(name, Part::Schema), before.any(name, Part::Schema));
        Self {
            checks,
            require_schema: before.every_version_has_a_schema(),
            known_review_version: reviews.is_empty() || reviews.iter().any(|v| matches!(*v, "v1" | "v1beta1")),
            any_ca_bundle: !is_established(old) || ca::problem(ca::bundle(old)).is_some(),
            unchanged: names.filter(unchanged).map(str::to_owned).collect(),
            crowded: crowded(before, joined),
        }
    }

    fn checks(&self, version: &str, has_status: bool) -> Checks {
        Checks {
            ignore_expression_cost: self.unchanged.contains(version),
            status_subresource: has_status,
            ..self.checks.clone()
        }
    }
}

fn crowded(before: &Joined<'_>, joined: &Joined<'_>) -> HashSet<String> {
    let stays = |old: Option<&Value>, new: Option<&Value>| parts::is_crowded(&parts::selectable(old)) && same(old, new);
    let mut crowded = HashSet::new();
    if stays(before.top(Part::Selectable), joined.top(Part::Selectable)) {
        crowded.insert(String::new());
    }
    for version in &joined.versions {
        let name = fields::text(version, "name");
        // Of several versions of a name upstream remembers the last.
        let old = before.versions.iter().rev().find(|version| fields::text(version, "name") == name);
        if stays(old.and_then(|old| before.own(old, Part::Selectable)), joined.own(version, Part::Selectable)) {
            crowded.insert(name.to_owned());
        }
    }
    crowded
}

fn is_established(object: &Object) -> bool {
    status::is_true(fields::within(object, "status"), Condition::ESTABLISHED)
}

fn spec(joined: &Joined<'_>, mut options: Options, errors: &mut Errors) {
    let at = FieldPath::of("spec");
    let preserves = joined.preserves_unknown();
    let has_defaults = joined.schemas().any(Props::has_defaults);
    let has_extensions = joined.schemas().any(|schema| schema.any(&mut is_extended));
    options.checks.require_structural |= !preserves || has_defaults || has_extensions;
    names::group(fields::text(joined.spec, "group"), &at.child("group"), errors);
    one_of(fields::text(joined.spec, "scope"), &["Cluster", "Namespaced"], &at.child("scope"), errors);
    schemas_are_there(joined, options.require_schema, &at, errors);
    if has_defaults && preserves {
        let detail = "must be false in order to use defaults in the schema";
        errors.invalid(&at.child("preserveUnknownFields"), true, detail);
    }
    versions(joined, &options, &at, errors);
    let requested = fields::within(joined.spec, "names");
    names::required(requested, &at.child("names"), errors);
    names::form(requested, &at.child("names"), errors);
    shared_parts(joined, &options, &at, errors);
    if let Some(conversion) = fields::map(joined.spec, "conversion") {
        let at = at.child("conversion");
        let strategy = fields::text(conversion, "strategy");
        if preserves && strategy != "None" {
            let detail = "must be None if spec.preserveUnknownFields is true";
            errors.invalid(&at.child("strategy"), strategy, detail);
        }
        conversion::conversion(conversion, &options, &at, errors);
    }
}

/// Whether a level says something that only structural schemas may say.
fn is_extended(level: &Props) -> bool {
    level.embedded
        || level.preserve_unknown.is_some()
        || level.int_or_string
        || !level.list_map_keys.is_empty()
        || level.list_type.is_some()
        || !level.rules.is_empty()
}

fn schemas_are_there(joined: &Joined<'_>, required: bool, at: &FieldPath, errors: &mut Errors) {
    if joined.top_schema().is_some() {
        return;
    }
    for (index, version) in joined.versions.iter().enumerate() {
        let at = at.child("versions").index(index).child("schema").child("openAPIV3Schema");
        if joined.own_schema(index).is_some() {
            continue;
        }
        if required {
            errors.required(&at, "");
        } else if !joined.preserves_unknown() && fields::truth(version, "served") {
            errors.required(&at, "because otherwise all fields are pruned");
        }
    }
}

fn versions(joined: &Joined<'_>, options: &Options, at: &FieldPath, errors: &mut Errors) {
    for (index, version) in joined.versions.iter().enumerate() {
        let at = at.child("versions").index(index);
        names::required_label(fields::text(version, "name"), &at.child("name"), errors);
        one_version(joined, index, version, options, &at, errors);
    }
    let names: Vec<&str> = joined.versions.iter().map(|version| fields::text(version, "name")).collect();
    let mut refuse = |detail: &str| errors.invalid_shown(&at.child("versions"), shown::versions(joined), detail);
    if names.iter().collect::<HashSet<_>>().len() < names.len() {
        refuse("must contain unique version names");
    }
    if joined.versions.iter().filter(|version| fields::truth(version, "storage")).count() != 1 {
        refuse("must have exactly one version marked as storage version");
    }
    if let Some(first) = names.first() {
        names::label(first, &at.child("version"), errors);
    }
}

fn one_version(
    joined: &Joined<'_>,
    index: usize,
    version: &Object,
    options: &Options,
    at: &FieldPath,
    errors: &mut Errors,
) {
    let name = fields::text(version, "name");
    parts::deprecation(version, at, errors);
    let schema = joined.own_schema(index);
    if let Some(schema) = schema {
        let has_status = has_status(joined.any(name, Part::Subresources));
        errors.append(schema_errors(schema, &at.child("schema"), &options.checks(name, has_status)));
    }
    parts::subresources(joined.own(version, Part::Subresources), at, errors);
    parts::columns(joined.own(version, Part::Columns), at, errors);
    let paths = parts::selectable(joined.own(version, Part::Selectable));
    let missing = "may only be set when `version.schema.openAPIV3Schema` is not included";
    selectable(&paths, schema, options.crowded.contains(name), missing, at, errors);
}

/// What all versions share, as if it stood above them.
fn shared_parts(joined: &Joined<'_>, options: &Options, at: &FieldPath, errors: &mut Errors) {
    let first = joined.versions.first().map_or("", |version| fields::text(version, "name"));
    let any_status = joined.versions.iter().any(|version| has_status(version.get("subresources")));
    let schema = joined.top_schema();
    if let Some(schema) = schema {
        errors.append(schema_errors(schema, &at.child("validation"), &options.checks(first, any_status)));
    }
    parts::subresources(joined.top(Part::Subresources), at, errors);
    parts::columns(joined.top(Part::Columns), at, errors);
    let paths = parts::selectable(joined.top(Part::Selectable));
    let missing = "may only be set when validations.schema is included";
    selectable(&paths, schema, options.crowded.contains(""), missing, at, errors);
}

fn has_status(subresources: Option<&Value>) -> bool {
    subresources.and_then(|sub| sub.get("status")).is_some_and(Value::is_object)
}

fn selectable(
    paths: &[&str],
    schema: Option<&Props>,
    any_number: bool,
    missing: &str,
    at: &FieldPath,
    errors: &mut Errors,
) {
    if paths.is_empty() {
        return;
    }
    let fields_at = at.child("selectableFields");
    match schema {
        None => errors.invalid(&fields_at, "", missing),
        Some(schema) => match structural_errors(schema, &FieldPath::root()) {
            Ok(_) => parts::selectable_fields(paths, schema, any_number, &fields_at, errors),
            Err(why) => errors.invalid(&at.child("schema.openAPIV3Schema"), "", why),
        },
    }
}

/// What decides where objects are stored and how they are asked for stays.
fn unchangeable(joined: &Joined<'_>, before: &Joined<'_>, established: bool, errors: &mut Errors) {
    let at = FieldPath::of("spec");
    let (new_names, old_names) = (fields::within(joined.spec, "names"), fields::within(before.spec, "names"));
    let mut stays = |field: &str, new: &str, old: &str| {
        if new != old {
            errors.invalid(&at.child(field), new, "field is immutable");
        }
    };
    if established {
        stays("scope", fields::text(joined.spec, "scope"), fields::text(before.spec, "scope"));
        stays("names.kind", fields::text(new_names, "kind"), fields::text(old_names, "kind"));
    }
    stays("group", fields::text(joined.spec, "group"), fields::text(before.spec, "group"));
    stays("names.plural", fields::text(new_names, "plural"), fields::text(old_names, "plural"));
}

/// What comes after the spec.
fn rest(new: &Object, old: Option<&Object>, joined: &Joined<'_>, errors: &mut Errors) {
    accepted_names(new, errors);
    stored_versions(new, joined, errors);
    approval::validate(new, old, errors);
    let preserved = old.is_some_and(|old| fields::truth(fields::within(old, "spec"), "preserveUnknownFields"));
    if joined.preserves_unknown() && !preserved {
        let detail =
            "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead";
        errors.invalid(&FieldPath::of("spec").child("preserveUnknownFields"), true, detail);
    }
}

fn accepted_names(object: &Object, errors: &mut Errors) {
    let accepted = fields::within(fields::within(object, "status"), "acceptedNames");
    names::form(accepted, &FieldPath::of("status").child("acceptedNames"), errors);
}

/// Every version in which something may be stored must stay among the versions.
fn stored_versions(object: &Object, joined: &Joined<'_>, errors: &mut Errors) {
    let at = FieldPath::of("status").child("storedVersions");
    let stored = fields::texts(fields::within(object, "status"), "storedVersions");
    if stored.is_empty() {
        errors.invalid(&at, Value::Null, "must have at least one stored version");
        return;
    }
    // Of several versions of a name only the first is found: upstream takes it out when it meets it.
    let mut left: HashSet<&str> = stored.iter().copied().collect();
    for version in &joined.versions {
        let name = fields::text(version, "name");
        if !left.remove(name) && fields::truth(version, "storage") {
            errors.invalid(&at, json!(stored), format!("must have the storage version {name}"));
        }
    }
    for (index, name) in stored.iter().enumerate() {
        if !joined.versions.iter().any(|version| fields::text(version, "name") == *name) {
            let detail = format!(
                "missing from spec.versions; {name} was previously a storage version, and must remain in spec.versions \
                 until a storage migration ensures no data remains persisted in {name} and removes {name} from \
                 status.storedVersions"
            );
            errors.invalid(&at.index(index), *name, detail);
        }
    }
}

/// One of these, and something.
fn one_of(text: &str, known: &[&str], at: &FieldPath, errors: &mut Errors) {
    if text.is_empty() {
        errors.required(at, "");
    } else if !known.contains(&text) {
        errors.not_supported(at, text, known);
    }
}
