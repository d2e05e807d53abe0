//! The author's schema, as a tree that can be looked at.
//!
//! Owns the reading of JSONSchemaProps. Whether a schema makes sense is decided elsewhere; what has a JSON type that the
//! definition's own decoder refuses is read as absent.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// One level of an OpenAPI schema.
#[derive(Clone, Debug, Default)]
pub struct Props {
    /// The keyword `type`; empty where there is none.
    pub kind: Box<str>,
    pub format: Box<str>,
    pub title: Box<str>,
    pub description: Box<str>,
    pub nullable: bool,
    /// Null counts as no default.
    pub default: Option<Value>,
    pub example: Option<Value>,
    pub external_docs: Option<Value>,

    pub maximum: Option<f64>,
    pub exclusive_maximum: bool,
    pub minimum: Option<f64>,
    pub exclusive_minimum: bool,
    pub multiple_of: Option<f64>,
    pub max_length: Option<i64>,
    pub min_length: Option<i64>,
    pub pattern: Box<str>,
    pub max_items: Option<i64>,
    pub min_items: Option<i64>,
    pub unique_items: bool,
    pub max_properties: Option<i64>,
    pub min_properties: Option<i64>,
    pub required: Vec<Box<str>>,
    pub allowed: Vec<Value>,

    pub items: Option<Items>,
    /// In the order of their names, which is the order of errors.
    pub properties: BTreeMap<Box<str>, Props>,
    pub additional: Option<Additional>,
    pub all_of: Vec<Props>,
    pub any_of: Vec<Props>,
    pub one_of: Vec<Props>,
    pub not: Option<Box<Props>>,

    pub preserve_unknown: Option<bool>,
    pub embedded: bool,
    pub int_or_string: bool,
    pub list_type: Option<Box<str>>,
    pub list_map_keys: Vec<Box<str>>,
    pub map_type: Option<Box<str>>,
    pub rules: Vec<RuleProps>,
    /// The level as it was written; only where there are rules, whose types come from it.
    pub source: Option<Box<Value>>,

    pub foreign: Foreign,
}

/// The keyword `items`.
#[derive(Clone, Debug)]
pub enum Items {
    One(Box<Props>),
    Many(Vec<Props>),
}

/// The keyword `additionalProperties`.
#[derive(Clone, Debug)]
pub enum Additional {
    Allowed(bool),
    Schema(Box<Props>),
}

/// Keywords of JSON schemas that structural schemas do not have.
#[derive(Clone, Debug, Default)]
pub struct Foreign {
    pub id: Box<str>,
    pub schema: Box<str>,
    pub reference: Option<Box<str>>,
    pub pattern_properties: BTreeMap<Box<str>, Props>,
    pub definitions: BTreeMap<Box<str>, Props>,
    pub dependencies: BTreeMap<Box<str>, Dependency>,
    /// Also where they are empty, which counts.
    pub has_dependencies: bool,
    pub additional_items: Option<Additional>,
}

impl Foreign {
    pub fn is_empty(&self) -> bool {
        self.id.is_empty()
            && self.schema.is_empty()
            && self.reference.is_none()
            && self.pattern_properties.is_empty()
            && self.definitions.is_empty()
            && !self.has_dependencies
            && self.additional_items.is_none()
    }
}

/// An entry of `dependencies`.
#[derive(Clone, Debug)]
pub enum Dependency {
    Names(Vec<Box<str>>),
    Schema(Box<Props>),
}

impl Dependency {
    pub fn schema(&self) -> Option<&Props> {
        match self {
            Dependency::Schema(schema) => Some(schema),
            Dependency::Names(_) => None,
        }
    }
}

/// An entry of `x-kubernetes-validations`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RuleProps {
    pub rule: String,
    pub message: String,
    pub message_expression: String,
    pub reason: Option<String>,
    pub field_path: String,
    pub optional_old_self: Option<bool>,
}

impl Props {
    pub fn parse(schema: &Value) -> Props {
        match schema {
            Value::Object(map) => Self::read(map, schema),
            _ => Props::default(),
        }
    }

    fn read(map: &Map<String, Value>, source: &Value) -> Props {
        let read = Reader { map };
        let rules: Vec<RuleProps> = read.list("x-kubernetes-validations", RuleProps::parse);
        let source = (!rules.is_empty()).then(|| Box::new(source.clone()));
        Props {
            kind: read.text("type"),
            format: read.text("format"),
            title: read.text("title"),
            description: read.text("description"),
            nullable: read.flag("nullable").unwrap_or_default(),
            default: read.given("default").cloned(),
            example: read.given("example").cloned(),
            external_docs: read.given("externalDocs").cloned(),
            maximum: read.float("maximum"),
            exclusive_maximum: read.flag("exclusiveMaximum").unwrap_or_default(),
            minimum: read.float("minimum"),
            exclusive_minimum: read.flag("exclusiveMinimum").unwrap_or_default(),
            multiple_of: read.float("multipleOf"),
            max_length: read.count("maxLength"),
            min_length: read.count("minLength"),
            pattern: read.text("pattern"),
            max_items: read.count("maxItems"),
            min_items: read.count("minItems"),
            unique_items: read.flag("uniqueItems").unwrap_or_default(),
            max_properties: read.count("maxProperties"),
            min_properties: read.count("minProperties"),
            required: read.texts("required"),
            allowed: read.list("enum", Value::clone),
            items: map.get("items").map(|items| match items {
                // Something was there that is no schema.
                Value::Null => Items::Many(Vec::new()),
                Value::Array(many) => Items::Many(many.iter().map(Props::parse).collect()),
                one => Items::One(Box::new(Props::parse(one))),
            }),
            properties: read.named("properties", Props::parse),
            additional: read.additional("additionalProperties"),
            all_of: read.list("allOf", Props::parse),
            any_of: read.list("anyOf", Props::parse),
            one_of: read.list("oneOf", Props::parse),
            not: read.given("not").map(|not| Box::new(Props::parse(not))),
            preserve_unknown: read.flag("x-kubernetes-preserve-unknown-fields"),
            embedded: read.flag("x-kubernetes-embedded-resource").unwrap_or_default(),
            int_or_string: read.flag("x-kubernetes-int-or-string").unwrap_or_default(),
            list_type: read.given("x-kubernetes-list-type").and_then(Value::as_str).map(Box::from),
            list_map_keys: read.texts("x-kubernetes-list-map-keys"),
            map_type: read.given("x-kubernetes-map-type").and_then(Value::as_str).map(Box::from),
            rules,
            source,
            foreign: read.foreign(),
        }
    }

    /// The schema of items, where there is a single one.
    pub fn item(&self) -> Option<&Props> {
        match &self.items {
            Some(Items::One(item)) => Some(item),
            _ => None,
        }
    }

    /// The schema of values that are not declared by name.
    pub fn additional_schema(&self) -> Option<&Props> {
        match &self.additional {
            Some(Additional::Schema(schema)) => Some(schema),
            _ => None,
        }
    }

    pub fn is_preserving(&self) -> bool {
        self.preserve_unknown == Some(true)
    }

    pub fn is_list_type(&self, name: &str) -> bool {
        self.list_type.as_deref() == Some(name)
    }

    /// Whether a schema is this one or stands anywhere below it, in composed ones too.
    pub fn any(&self, is: &mut dyn FnMut(&Props) -> bool) -> bool {
        if is(self) {
            return true;
        }
        let items: &[Props] = match &self.items {
            Some(Items::One(item)) => std::slice::from_ref(item),
            Some(Items::Many(items)) => items,
            None => &[],
        };
        let additional = [&self.additional, &self.foreign.additional_items];
        let additional = additional.into_iter().filter_map(|additional| match additional {
            Some(Additional::Schema(schema)) => Some(&**schema),
            _ => None,
        });
        let mut all = items
            .iter()
            .chain(&self.all_of)
            .chain(&self.any_of)
            .chain(&self.one_of)
            .chain(self.not.as_deref())
            .chain(self.properties.values())
            .chain(additional)
            .chain(self.foreign.pattern_properties.values())
            .chain(self.foreign.definitions.values())
            .chain(self.foreign.dependencies.values().filter_map(Dependency::schema));
        all.any(|below| below.any(is))
    }

    /// Whether nothing is said but perhaps a type.
    pub(crate) fn says_only_a_type(&self) -> bool {
        let says_limits = self.maximum.is_some()
            || self.exclusive_maximum
            || self.minimum.is_some()
            || self.exclusive_minimum
            || self.multiple_of.is_some()
            || self.max_length.is_some()
            || self.min_length.is_some()
            || !self.pattern.is_empty()
            || self.max_items.is_some()
            || self.min_items.is_some()
            || self.unique_items
            || self.max_properties.is_some()
            || self.min_properties.is_some()
            || !self.required.is_empty()
            || !self.allowed.is_empty();
        let says_structure = self.items.is_some()
            || !self.properties.is_empty()
            || self.additional.is_some()
            || !self.all_of.is_empty()
            || !self.any_of.is_empty()
            || !self.one_of.is_empty()
            || self.not.is_some();
        let says_more = !self.format.is_empty()
            || !self.title.is_empty()
            || !self.description.is_empty()
            || self.nullable
            || self.default.is_some()
            || self.example.is_some()
            || self.external_docs.is_some();
        let extends = self.preserve_unknown.is_some()
            || self.embedded
            || self.int_or_string
            || self.list_type.is_some()
            || !self.list_map_keys.is_empty()
            || self.map_type.is_some()
            || !self.rules.is_empty();
        !(says_limits || says_structure || says_more || extends) && self.foreign.is_empty()
    }

    pub fn has_defaults(&self) -> bool {
        self.any(&mut |schema| schema.default.is_some())
    }
}

impl RuleProps {
    fn parse(rule: &Value) -> RuleProps {
        let text = |key: &str| rule.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        RuleProps {
            rule: text("rule"),
            message: text("message"),
            message_expression: text("messageExpression"),
            reason: rule.get("reason").and_then(Value::as_str).map(str::to_owned),
            field_path: text("fieldPath"),
            optional_old_self: rule.get("optionalOldSelf").and_then(Value::as_bool),
        }
    }

    pub fn has_optional_old_self(&self) -> bool {
        self.optional_old_self == Some(true)
    }
}

/// Reads keywords of one level.
struct Reader<'m> {
    map: &'m Map<String, Value>,
}

impl Reader<'_> {
    fn given(&self, key: &str) -> Option<&Value> {
        self.map.get(key).filter(|value| !value.is_null())
    }

    fn text(&self, key: &str) -> Box<str> {
        self.given(key).and_then(Value::as_str).unwrap_or_default().into()
    }

    fn texts(&self, key: &str) -> Vec<Box<str>> {
        let list = self.given(key).and_then(Value::as_array);
        list.into_iter().flatten().filter_map(Value::as_str).map(Box::from).collect()
    }

    fn flag(&self, key: &str) -> Option<bool> {
        self.given(key).and_then(Value::as_bool)
    }

    fn float(&self, key: &str) -> Option<f64> {
        self.given(key).and_then(Value::as_f64)
    }

    fn count(&self, key: &str) -> Option<i64> {
        self.given(key).and_then(Value::as_i64)
    }

    fn list<T>(&self, key: &str, parse: impl Fn(&Value) -> T) -> Vec<T> {
        self.given(key).and_then(Value::as_array).map(|list| list.iter().map(parse).collect()).unwrap_or_default()
    }

    fn named<T>(&self, key: &str, parse: impl Fn(&Value) -> T) -> BTreeMap<Box<str>, T> {
        let map = self.given(key).and_then(Value::as_object);
        map.into_iter().flatten().map(|(name, value)| (name.as_str().into(), parse(value))).collect()
    }

    fn additional(&self, key: &str) -> Option<Additional> {
        Some(match self.given(key)? {
            Value::Bool(allowed) => Additional::Allowed(*allowed),
            schema => Additional::Schema(Box::new(Props::parse(schema))),
        })
    }

    fn foreign(&self) -> Foreign {
        Foreign {
            id: self.text("id"),
            schema: self.text("$schema"),
            reference: self.given("$ref").and_then(Value::as_str).map(Box::from),
            pattern_properties: self.named("patternProperties", Props::parse),
            definitions: self.named("definitions", Props::parse),
            dependencies: self.named("dependencies", |value| match value {
                Value::Array(names) => {
                    Dependency::Names(names.iter().filter_map(Value::as_str).map(Box::from).collect())
                }
                schema => Dependency::Schema(Box::new(Props::parse(schema))),
            }),
            has_dependencies: self.given("dependencies").is_some(),
            additional_items: self.additional("additionalItems"),
        }
    }
}
