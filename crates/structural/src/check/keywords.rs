//! Keywords by themselves and together, and rules with their types and costs, level by level.

use pawl_cel::k8s::ESTIMATED_EXPRESSION_LIMIT;
use pawl_cel::k8s::rules;
use pawl_meta::{Errors, FieldPath, go};

use super::cost::Total;
use super::{Checks, go_form};
use crate::paths::field_path;
use crate::props::{Additional, Items, Props, RuleProps};
use crate::rules::{Estimate, estimates};

const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];
const REASONS: [&str; 4] = ["FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"];
const META: [&str; 3] = ["metadata", "kind", "apiVersion"];

/// Errors of the schema come before those of its rules.
#[derive(Default)]
pub(super) struct Found {
    pub schema: Errors,
    pub rules: Errors,
}

pub(super) fn is_valid_type(kind: &str) -> bool {
    kind.is_empty() || TYPES.contains(&kind)
}

pub(super) fn check(schema: &Props, path: &FieldPath, checks: &Checks, total: Option<&mut Total>) -> Found {
    let mut walk = Walk { checks, total, found: Found::default() };
    let inside = Inside {
        is_root: true,
        no_defaults: (!checks.allow_defaults).then(|| checks.no_defaults_because.clone()),
        resource_meta: false,
        uncorrelated: None,
        cardinality: Some(1),
        judges_rules: walk.total.is_some(),
    };
    walk.level(schema, path, &inside);
    walk.found
}

/// What the levels above mean for one below them.
#[derive(Clone)]
struct Inside {
    is_root: bool,
    /// Why there may be no default, where there may be none.
    no_defaults: Option<String>,
    resource_meta: bool,
    /// The nearest level around this one whose parts cannot be told apart from one write to the next.
    uncorrelated: Option<FieldPath>,
    /// How often the level may come; nothing where nothing bounds it.
    cardinality: Option<u64>,
    judges_rules: bool,
}

impl Inside {
    /// One level further down, where a value may come as often as its parent allows.
    fn below(&self, parent: &Props) -> Inside {
        let count = match &*parent.kind {
            "object" if parent.additional.is_some() => parent.max_properties,
            "array" => parent.max_items,
            _ => Some(1),
        };
        let count = count.map(|count| u64::try_from(count).unwrap_or(0));
        let cardinality = self.cardinality.zip(count).map(|(a, b)| a.saturating_mul(b));
        Inside { is_root: false, cardinality, ..self.clone() }
    }

    fn composed(&self) -> Inside {
        Inside { is_root: false, judges_rules: false, ..self.clone() }
    }

    fn without_defaults(self, why: String) -> Inside {
        Inside { no_defaults: Some(why), ..self }
    }

    fn uncorrelated(mut self, path: &FieldPath) -> Inside {
        self.uncorrelated.get_or_insert_with(|| path.clone());
        self
    }
}

struct Walk<'w> {
    checks: &'w Checks,
    /// Where costs are added up; absent where rules are not judged at all.
    total: Option<&'w mut Total>,
    found: Found,
}

impl Walk<'_> {
    fn level(&mut self, schema: &Props, path: &FieldPath, inside: &Inside) {
        let before = self.found.schema.len();
        self.standard(schema, path, inside);
        if schema.unique_items {
            let detail = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
            self.found.schema.forbidden(&path.child("uniqueItems"), detail);
        }
        self.additional(schema, path, inside);
        self.properties(schema, path, inside);
        self.composed(schema, path, inside);
        self.items(schema, path, inside);
        for (name, dependency) in &schema.foreign.dependencies {
            if let Some(below) = dependency.schema() {
                self.level(below, &path.child("dependencies").key(name), &inside.composed());
            }
        }
        self.extensions(schema, path);
        self.list_type(schema, path);
        if schema.is_list_type("map") {
            self.map_list(schema, path);
        }
        if self.checks.require_map_list_keys {
            check_map_list_keys(schema, path, &mut self.found.schema);
        }
        for (index, rule) in schema.rules.iter().enumerate() {
            let at = path.child("x-kubernetes-validations").index(index);
            check_rule_text(schema, rule, &at, &mut self.found.schema);
        }
        let is_sound = self.found.schema.len() == before;
        if !schema.rules.is_empty() && is_sound && inside.judges_rules {
            self.rules(schema, path, inside);
        }
    }

    fn standard(&mut self, schema: &Props, path: &FieldPath, inside: &Inside) {
        let errors = &mut self.found.schema;
        let kind = &*schema.kind;
        if self.checks.require_valid_types && !is_valid_type(kind) {
            errors.not_supported(&path.child("type"), kind, &TYPES);
        }
        if let Some(why) = inside.no_defaults.as_ref().filter(|_| schema.default.is_some()) {
            let detail = if why.is_empty() { "must not be set".to_owned() } else { format!("must not be set {why}") };
            errors.forbidden(&path.child("default"), detail);
        }
        let foreign = &schema.foreign;
        let unsupported = [
            (!foreign.id.is_empty(), "id"),
            (foreign.additional_items.is_some(), "additionalItems"),
            (!foreign.pattern_properties.is_empty(), "patternProperties"),
            (!foreign.definitions.is_empty(), "definitions"),
            (foreign.has_dependencies, "dependencies"),
            (foreign.reference.is_some(), "$ref"),
        ];
        for (_, name) in unsupported.iter().filter(|(is_given, _)| *is_given) {
            errors.forbidden(&path.child(name), format!("{name} is not supported"));
        }
        if kind == "null" {
            errors.forbidden(&path.child("type"), "type cannot be set to null, use nullable as an alternative");
        }
        if matches!(&schema.items, Some(Items::Many(many)) if !many.is_empty()) {
            errors.forbidden(&path.child("items"), "items must be a schema object and not an array");
        }
        if inside.resource_meta && schema.embedded {
            let at = path.child("x-kubernetes-embedded-resource");
            errors.forbidden(&at, "must not be used inside of resource meta");
        }
    }

    fn additional(&mut self, schema: &Props, path: &FieldPath, inside: &Inside) {
        let Some(additional) = &schema.additional else { return };
        let at = path.child("additionalProperties");
        if !schema.properties.is_empty() && !matches!(additional, Additional::Allowed(true)) {
            self.found.schema.forbidden(&at, "additionalProperties and properties are mutual exclusive");
        }
        let Additional::Schema(values) = additional else { return };
        let mut below = inside.below(schema);
        if inside.resource_meta {
            below = below.without_defaults("inside additionalProperties applying to object metadata".to_owned());
        }
        self.level(values, &at, &below);
    }

    fn properties(&mut self, schema: &Props, path: &FieldPath, inside: &Inside) {
        for (name, property) in &schema.properties {
            let mut below = inside.below(schema);
            // Only unknown kinds of maps keep their parts from being told apart.
            if schema.map_type.as_deref().is_some_and(|kind| !matches!(kind, "granular" | "atomic")) {
                below = below.uncorrelated(path);
            }
            if (inside.is_root || schema.embedded) && META.contains(&&**name) {
                below.resource_meta = true;
                if inside.is_root {
                    below = below.without_defaults(format!("in top-level {name}"));
                }
            }
            self.level(property, &path.child("properties").key(name), &below);
        }
    }

    fn composed(&mut self, schema: &Props, path: &FieldPath, inside: &Inside) {
        let inside = inside.composed();
        if let Some(not) = &schema.not {
            self.level(not, &path.child("not"), &inside);
        }
        for (name, list) in [("allOf", &schema.all_of), ("oneOf", &schema.one_of), ("anyOf", &schema.any_of)] {
            for (index, below) in list.iter().enumerate() {
                self.level(below, &path.child(name).index(index), &inside);
            }
        }
        for (name, below) in &schema.foreign.definitions {
            self.level(below, &path.child("definitions").key(name), &inside);
        }
    }

    fn items(&mut self, schema: &Props, path: &FieldPath, inside: &Inside) {
        let Some(items) = &schema.items else { return };
        let mut below = inside.below(schema);
        if !schema.is_list_type("map") {
            below = below.uncorrelated(path);
        }
        let at = path.child("items");
        match items {
            Items::One(item) => self.level(item, &at, &below),
            Items::Many(many) => {
                for (index, item) in many.iter().enumerate() {
                    self.level(item, &at.index(index), &below);
                }
            }
        }
    }

    fn extensions(&mut self, schema: &Props, path: &FieldPath) {
        let errors = &mut self.found.schema;
        if schema.preserve_unknown == Some(false) {
            let at = path.child("x-kubernetes-preserve-unknown-fields");
            errors.invalid(&at, false, "must be true or undefined");
        }
        let Some(map_type) = schema.map_type.as_deref() else { return };
        check_type_for(schema, "object", "x-kubernetes-map-type", path, errors);
        if !matches!(map_type, "atomic" | "granular") {
            errors.not_supported(&path.child("x-kubernetes-map-type"), map_type, &["atomic", "granular"]);
        }
    }

    fn list_type(&mut self, schema: &Props, path: &FieldPath) {
        let errors = &mut self.found.schema;
        if let Some(list_type) = schema.list_type.as_deref() {
            if &*schema.kind == "array" {
                let item = item_that_is_no_unit(schema).filter(|_| self.checks.require_atomic_sets);
                if let Some((extension, shown)) = item {
                    let detail = "must be atomic as item of a list with x-kubernetes-list-type=set";
                    errors.invalid_shown(&path.child("items").child(extension), shown, detail);
                }
            } else {
                check_type_for(schema, "array", "x-kubernetes-list-type", path, errors);
            }
            if !matches!(list_type, "atomic" | "set" | "map") {
                errors.not_supported(&path.child("x-kubernetes-list-type"), list_type, &["atomic", "set", "map"]);
            }
        }
        if !schema.list_map_keys.is_empty() {
            let at = path.child("x-kubernetes-list-type");
            let detail = "must be map if x-kubernetes-list-map-keys is non-empty";
            match schema.list_type.as_deref() {
                None => errors.required(&at, detail),
                Some("map") => {}
                Some(other) => errors.invalid(&at, other, detail),
            }
        }
    }

    fn map_list(&mut self, schema: &Props, path: &FieldPath) {
        let errors = &mut self.found.schema;
        let keys_at = path.child("x-kubernetes-list-map-keys");
        if schema.list_map_keys.is_empty() {
            errors.required(&keys_at, "must not be empty if x-kubernetes-list-type is map");
        }
        let at = path.child("items");
        match &schema.items {
            None => errors.required(&at, "must have a schema if x-kubernetes-list-type is map"),
            Some(many @ Items::Many(_)) => {
                let detail = "must only have a single schema if x-kubernetes-list-type is map";
                errors.invalid_shown(&at, go_form::items(many), detail);
            }
            Some(Items::One(item)) if &*item.kind != "object" => {
                let detail = "must be object if parent array's x-kubernetes-list-type is map";
                errors.invalid(&at.child("type"), &*item.kind, detail);
            }
            Some(Items::One(item)) => {
                let mut seen: Vec<&str> = Vec::new();
                let names: Vec<&str> = schema.list_map_keys.iter().map(|key| &**key).collect();
                for key in &names {
                    match item.properties.get(*key).map(|property| &*property.kind) {
                        Some("array" | "object") => {
                            let at = at.child("properties").key(key).child("type");
                            let detail = "must be a scalar type if parent array's x-kubernetes-list-type is map";
                            errors.invalid(&at, &*item.kind, detail);
                        }
                        Some(_) => {}
                        None => errors.invalid(&keys_at, names.clone(), "entries must all be names of item properties"),
                    }
                    if seen.contains(key) {
                        errors.invalid(&keys_at, names.clone(), "must not contain duplicate entries");
                    }
                    seen.push(key);
                }
            }
        }
    }

    fn rules(&mut self, schema: &Props, path: &FieldPath, inside: &Inside) {
        let at = path.child("x-kubernetes-validations");
        let Some(all) = estimates(schema, inside.is_root) else {
            let detail = "internal error: failed to construct type information for x-kubernetes-validations rules: unable to convert structural schema to CEL declarations";
            self.found.rules.internal(&at, detail);
            return;
        };
        for (index, (rule, estimate)) in schema.rules.iter().zip(&all).enumerate() {
            self.rule(rule, estimate, &at.index(index), inside);
        }
    }

    fn rule(&mut self, rule: &RuleProps, estimate: &Estimate, at: &FieldPath, inside: &Inside) {
        let errors = &mut self.found.rules;
        let counts = !self.checks.ignore_expression_cost;
        let rule_at = at.child("rule");
        let mut uses_old_self = false;
        match &estimate.rule {
            Some(Ok(compiled)) => {
                uses_old_self = compiled.uses_old_self;
                let cardinality = inside.cardinality.unwrap_or(compiled.max_cardinality);
                let excess = rules::rule_excess(compiled.max_cost, cardinality).filter(|_| counts);
                if let Some(excess) = excess {
                    errors.forbidden(&rule_at, excess);
                }
                if let Some(total) = self.total.as_deref_mut() {
                    total.add(rule_at.clone(), compiled.max_cost.saturating_mul(cardinality));
                }
            }
            Some(Err(why)) => errors.invalid_shown(&rule_at, go_form::rule(rule), why.to_string()),
            None => {}
        }
        let message_at = at.child("messageExpression");
        match &estimate.message {
            Some(Ok(compiled)) => {
                let name = "estimated messageExpression cost";
                let excess = rules::excess(name, compiled.max_cost, ESTIMATED_EXPRESSION_LIMIT).filter(|_| counts);
                if let Some(excess) = excess {
                    errors.forbidden(&message_at, excess);
                }
                if let Some(total) = self.total.as_deref_mut() {
                    total.add(message_at, compiled.max_cost);
                }
            }
            Some(Err(why)) => errors.invalid_shown(&message_at, go_form::rule(rule), why.to_string()),
            None => {}
        }
        if uses_old_self {
            if let Some(path) = &inside.uncorrelated {
                let why = format!("oldSelf cannot be used on the uncorrelatable portion of the schema within {path}");
                errors.invalid(&rule_at, rule.rule.as_str(), why);
            }
        } else if let Some(value) = rule.optional_old_self {
            errors.invalid(&at.child("optionalOldSelf"), value, "may not be set if oldSelf is not used in rule");
        }
    }
}

fn check_type_for(schema: &Props, kind: &str, extension: &str, path: &FieldPath, errors: &mut Errors) {
    let (at, detail) = (path.child("type"), format!("must be {kind} if {extension} is specified"));
    match &*schema.kind {
        "" => errors.required(&at, detail),
        given if given != kind => errors.invalid(&at, given, detail),
        _ => {}
    }
}

/// Why the items of a set are no units: the extension that says so, and what is shown for it.
pub(super) fn item_that_is_no_unit(schema: &Props) -> Option<(&'static str, String)> {
    let item = schema.item().filter(|_| schema.is_list_type("set"))?;
    let shown = item.list_type.as_deref().map_or_else(|| "null".to_owned(), go::quote);
    match &*item.kind {
        "array" if item.list_type.as_deref().is_some_and(|kind| kind != "atomic") => {
            Some(("x-kubernetes-list-type", shown))
        }
        // Upstream shows the type of lists here too.
        "object" if item.map_type.as_deref() != Some("atomic") => Some(("x-kubernetes-map-type", shown)),
        _ => None,
    }
}

/// Keys of a map list are always there, and neither they nor items of sets and maps are null.
pub(super) fn check_map_list_keys(schema: &Props, path: &FieldPath, errors: &mut Errors) {
    let Some((item, list_type)) = schema.item().zip(schema.list_type.as_deref()) else { return };
    if !matches!(list_type, "set" | "map") {
        return;
    }
    let at = path.child("items");
    if item.nullable {
        let detail = format!("cannot be nullable when x-kubernetes-list-type is {list_type}");
        errors.forbidden(&at.child("nullable"), detail);
    }
    for key in schema.list_map_keys.iter().filter(|_| list_type == "map") {
        let Some(property) = item.properties.get(key) else { continue };
        let at = at.child("properties").key(key);
        if !item.required.contains(key) && property.default.is_none() {
            let detail =
                "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property";
            errors.required(&at.child("default"), detail);
        }
        if property.nullable {
            let detail = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable";
            errors.forbidden(&at.child("nullable"), detail);
        }
    }
}

fn check_rule_text(schema: &Props, rule: &RuleProps, at: &FieldPath, errors: &mut Errors) {
    let has_breaks = |text: &str| text.contains(['\n', '\r']);
    let (text, message) = (rule.rule.trim(), rule.message.trim());
    if text.is_empty() {
        errors.required(&at.child("rule"), "rule is not specified");
    } else if !rule.message.is_empty() && message.is_empty() {
        errors.invalid(&at.child("message"), rule.message.as_str(), "must be non-empty if specified");
    } else if has_breaks(message) {
        errors.invalid(&at.child("message"), rule.message.as_str(), "must not contain line breaks");
    } else if has_breaks(text) && message.is_empty() {
        errors.required(&at.child("message"), "message must be specified if rule contains line breaks");
    }
    if !rule.message_expression.is_empty() && rule.message_expression.trim().is_empty() {
        errors.required(&at.child("messageExpression"), "messageExpression must be non-empty if specified");
    }
    if let Some(reason) = rule.reason.as_deref().filter(|reason| !REASONS.contains(reason)) {
        errors.not_supported(&at.child("reason"), reason, &REASONS);
    }
    let (path, at) = (rule.field_path.as_str(), at.child("fieldPath"));
    if !path.is_empty() && path.trim().is_empty() {
        errors.invalid(&at, path, "must be non-empty if specified");
    }
    if has_breaks(path) {
        errors.invalid(&at, path, "must not contain line breaks");
    }
    if !path.is_empty() && field_path(schema, path, true).is_err() {
        errors.invalid(&at, path, "must be a valid path");
    }
}

/// Where `/status` is served, its schema is taken out of the whole: nothing at the root may speak of it.
pub(super) fn check_root_with_status(schema: &Props, path: &FieldPath, errors: &mut Errors) {
    const ALLOWED: &str = "Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength MinLength Pattern MaxItems MinItems UniqueItems MultipleOf Required Items Properties ExternalDocs Example XPreserveUnknownFields XValidations";
    let foreign = &schema.foreign;
    // In the order in which upstream looks; a type comes before most of them.
    let before_type = [!foreign.id.is_empty(), !foreign.schema.is_empty(), foreign.reference.is_some()];
    let after_type = [
        schema.nullable,
        schema.default.is_some(),
        !schema.allowed.is_empty(),
        schema.max_properties.is_some(),
        schema.min_properties.is_some(),
        !schema.all_of.is_empty(),
        !schema.one_of.is_empty(),
        !schema.any_of.is_empty(),
        schema.not.is_some(),
        schema.additional.is_some(),
        !foreign.pattern_properties.is_empty(),
        foreign.has_dependencies,
        foreign.additional_items.is_some(),
        !foreign.definitions.is_empty(),
        schema.embedded,
        schema.int_or_string,
        !schema.list_map_keys.is_empty(),
        schema.list_type.is_some(),
        schema.map_type.is_some(),
    ];
    let has_wrong_type = !schema.kind.is_empty() && &*schema.kind != "object";
    if !before_type.contains(&true) && has_wrong_type {
        let detail =
            r#"only "object" is allowed as the type at the root of the schema if the status subresource is enabled"#;
        errors.invalid(&path.child("openAPIV3Schema.type"), &*schema.kind, detail);
    } else if before_type.contains(&true) || after_type.contains(&true) {
        let detail = format!(
            "only [{ALLOWED}] fields are allowed at the root of the schema if the status subresource is enabled"
        );
        errors.invalid_shown(&path.child("openAPIV3Schema"), go_form::schema(schema), detail);
    }
}
