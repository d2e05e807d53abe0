//! A schema compiled for use: what is looked up for every value lies ready, and what was never asked for costs nothing.

use std::sync::OnceLock;

use pawl_cel::library::regex as go_regex;
use regex::Regex;
use serde_json::Value;

use crate::formats::Format;
use crate::props::{Additional, Props};
use crate::rules::Rules;

/// What may stand at one place of a custom resource.
#[derive(Debug, Default)]
pub(crate) struct Node {
    /// The keyword `type` as written, which evaluation errors show.
    pub kind: Box<str>,
    pub types: Types,
    pub nullable: bool,
    pub format: Option<Format>,
    pub number: Option<Box<NumberRules>>,
    pub text: Option<Box<TextRules>>,
    pub allowed: Vec<Value>,
    pub min_items: Option<i64>,
    pub max_items: Option<i64>,
    pub item: Option<Box<Node>>,
    pub min_properties: Option<i64>,
    pub max_properties: Option<i64>,
    pub required: Vec<Box<str>>,
    /// Sorted by name.
    pub properties: Vec<(Box<str>, Node)>,
    pub additional: Others,
    pub composed: Option<Box<Composed>>,
    pub list: List,
    pub is_atomic_map: bool,
    pub is_preserving: bool,
    pub is_embedded: bool,
    pub default: Option<Value>,
    pub rules: Option<Box<Rules>>,
    pub below: Below,
}

/// Values that are not declared by name.
#[derive(Debug, Default)]
pub(crate) enum Others {
    /// Nothing is said of them.
    #[default]
    Unsaid,
    Allowed,
    Forbidden,
    Schema(Box<Node>),
}

/// The kinds of values that a schema names; none means any.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Types {
    pub string: bool,
    pub integer: bool,
    pub number: bool,
    pub boolean: bool,
    pub array: bool,
    pub object: bool,
    /// A name that no value has.
    pub unknown: bool,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct NumberRules {
    /// Whether a single type is named, and which: limits are then read as numbers of that type.
    pub kind: NumberKind,
    pub multiple_of: Option<f64>,
    pub minimum: Option<Limit>,
    pub maximum: Option<Limit>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Limit {
    pub value: f64,
    pub is_exclusive: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum NumberKind {
    #[default]
    Any,
    Integer,
    Int32,
    Int64,
    Number,
    Float,
    Double,
}

#[derive(Debug, Default)]
pub(crate) struct TextRules {
    pub max: Option<i64>,
    pub min: Option<i64>,
    pub pattern: Option<Pattern>,
}

/// A regular expression, compiled when it is first needed.
#[derive(Debug)]
pub(crate) struct Pattern {
    pub text: Box<str>,
    compiled: OnceLock<Result<Regex, String>>,
}

impl Pattern {
    fn new(text: &str) -> Self {
        Self { text: text.into(), compiled: OnceLock::new() }
    }

    pub fn regex(&self) -> Result<&Regex, &str> {
        self.compiled.get_or_init(|| go_regex::compile(&self.text)).as_ref().map_err(String::as_str)
    }
}

/// Schemas that stand on the same value.
#[derive(Debug, Default)]
pub(crate) struct Composed {
    pub all: Vec<Node>,
    pub any: Vec<Node>,
    pub one: Vec<Node>,
    pub not: Option<Node>,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) enum List {
    #[default]
    Atomic,
    Set,
    Map(Vec<Box<str>>),
}

/// What is to be found at a place or anywhere below it, so that a walk can turn back early.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Below {
    pub rules: bool,
    pub transition_rules: bool,
    pub typed_lists: bool,
    pub embedded: bool,
    pub defaults: bool,
}

/// Which format a schema has: one that it may have, or whatever it says.
type FormatOf = fn(&Props) -> Option<Format>;

impl Node {
    /// Compiles a schema; rules too, which takes the most time.
    pub fn compile(props: &Props, is_root: bool) -> Node {
        Self::compile_with(props, is_root, Format::of)
    }

    /// The same for a default. Upstream takes formats that do not fit their types out of schemas before it judges objects,
    /// and not before it judges defaults.
    pub fn compile_default(props: &Props, is_root: bool) -> Node {
        Self::compile_with(props, is_root, Format::as_written)
    }

    fn compile_with(props: &Props, is_root: bool, format: FormatOf) -> Node {
        let below = |props: &Props| Node::compile_with(props, false, format);
        let mut node = Self::structure(props, format, &below);
        node.rules = Rules::compile(props, is_root).map(Box::new);
        node.below = node.look_below();
        node
    }

    /// The same without rules, for schemas that stand on a value of another.
    fn compile_composed(props: &Props, format: FormatOf) -> Node {
        Self::structure(props, format, &|props| Node::compile_composed(props, format))
    }

    fn structure(props: &Props, format: FormatOf, below: &dyn Fn(&Props) -> Node) -> Node {
        let mut node = Self::keywords(props, format);
        node.item = props.item().map(|item| Box::new(below(item)));
        node.properties = props.properties.iter().map(|(name, props)| (name.clone(), below(props))).collect();
        node.additional = match &props.additional {
            None => Others::Unsaid,
            Some(Additional::Allowed(true)) => Others::Allowed,
            Some(Additional::Allowed(false)) => Others::Forbidden,
            Some(Additional::Schema(schema)) => Others::Schema(Box::new(below(schema))),
        };
        node
    }

    fn keywords(props: &Props, format: FormatOf) -> Node {
        let types = Types::of(props);
        Node {
            kind: props.kind.clone(),
            types,
            nullable: props.nullable,
            format: format(props),
            number: NumberRules::of(props).map(Box::new),
            text: TextRules::of(props).map(Box::new),
            allowed: props.allowed.clone(),
            min_items: props.min_items,
            max_items: props.max_items,
            min_properties: props.min_properties,
            max_properties: props.max_properties,
            required: props.required.clone(),
            composed: Composed::of(props, format).map(Box::new),
            list: match props.list_type.as_deref() {
                Some("set") => List::Set,
                Some("map") => List::Map(props.list_map_keys.clone()),
                _ => List::Atomic,
            },
            is_atomic_map: props.map_type.as_deref() == Some("atomic"),
            is_preserving: props.is_preserving(),
            is_embedded: props.embedded,
            default: props.default.clone(),
            ..Node::default()
        }
    }

    fn look_below(&self) -> Below {
        let mut below = Below {
            rules: self.rules.is_some(),
            transition_rules: self.rules.as_ref().is_some_and(|rules| rules.compare_with_old()),
            typed_lists: self.list != List::Atomic,
            embedded: self.is_embedded,
            defaults: self.default.is_some(),
        };
        let others = match &self.additional {
            Others::Schema(schema) => Some(&**schema),
            _ => None,
        };
        let properties = self.properties.iter().map(|(_, node)| node);
        for child in self.item.as_deref().into_iter().chain(others).chain(properties) {
            below.rules |= child.below.rules;
            below.transition_rules |= child.below.transition_rules;
            below.typed_lists |= child.below.typed_lists;
            below.embedded |= child.below.embedded;
            below.defaults |= child.below.defaults;
        }
        below
    }

    pub fn property(&self, name: &str) -> Option<&Node> {
        let at = self.properties.binary_search_by(|(property, _)| (**property).cmp(name)).ok()?;
        self.properties.get(at).map(|(_, node)| node)
    }

    /// The schema of a value by its name: a property's, or that of all others.
    pub fn field(&self, name: &str) -> Option<&Node> {
        self.property(name).or(match &self.additional {
            Others::Schema(schema) => Some(schema),
            _ => None,
        })
    }

    /// The keys of a list whose items are told apart by them.
    pub fn map_keys(&self) -> Option<&[Box<str>]> {
        match &self.list {
            List::Map(keys) => Some(keys),
            _ => None,
        }
    }
}

impl Types {
    fn of(props: &Props) -> Types {
        let mut types = Types::default();
        if props.int_or_string {
            return Types { integer: true, string: true, ..types };
        }
        match &*props.kind {
            "" => {}
            "string" => types.string = true,
            "integer" => types.integer = true,
            "number" => types.number = true,
            "boolean" => types.boolean = true,
            "array" => types.array = true,
            "object" => types.object = true,
            _ => types.unknown = true,
        }
        types
    }

    pub fn is_empty(self) -> bool {
        self == Types::default()
    }
}

impl NumberRules {
    fn of(props: &Props) -> Option<NumberRules> {
        let kind = match (&*props.kind, &*props.format) {
            _ if props.int_or_string => NumberKind::Any,
            ("integer", "int32") => NumberKind::Int32,
            ("integer", "int64") => NumberKind::Int64,
            ("integer", _) => NumberKind::Integer,
            ("number", "float") => NumberKind::Float,
            ("number", "double") => NumberKind::Double,
            ("number", _) => NumberKind::Number,
            _ => NumberKind::Any,
        };
        let limit = |value: Option<f64>, is_exclusive| value.map(|value| Limit { value, is_exclusive });
        let rules = NumberRules {
            kind,
            multiple_of: props.multiple_of,
            minimum: limit(props.minimum, props.exclusive_minimum),
            maximum: limit(props.maximum, props.exclusive_maximum),
        };
        let says_nothing = matches!(rules.kind, NumberKind::Any | NumberKind::Number | NumberKind::Double)
            && rules.multiple_of.is_none()
            && rules.minimum.is_none()
            && rules.maximum.is_none();
        (!says_nothing).then_some(rules)
    }
}

impl TextRules {
    fn of(props: &Props) -> Option<TextRules> {
        let pattern = (!props.pattern.is_empty()).then(|| Pattern::new(&props.pattern));
        let rules = TextRules { max: props.max_length, min: props.min_length, pattern };
        (rules.max.is_some() || rules.min.is_some() || rules.pattern.is_some()).then_some(rules)
    }
}

impl Composed {
    fn of(props: &Props, format: FormatOf) -> Option<Composed> {
        let node = |props: &Props| Node::compile_composed(props, format);
        let nodes = |list: &[Props]| list.iter().map(node).collect::<Vec<_>>();
        let composed = Composed {
            all: nodes(&props.all_of),
            any: nodes(&props.any_of),
            one: nodes(&props.one_of),
            not: props.not.as_deref().map(node),
        };
        let says_nothing =
            composed.all.is_empty() && composed.any.is_empty() && composed.one.is_empty() && composed.not.is_none();
        (!says_nothing).then_some(composed)
    }
}
