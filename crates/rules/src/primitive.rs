//! The primitives of `check` lines: what may be demanded of a value, read from the words of a line.

use pawl_schema::{TypeKind, TypeRef};
use serde_json::Value;

use super::place::Place;
use super::texts::{self, Judge};
use super::words::unquoted;

pub(super) enum Primitive {
    Required,
    Forbidden,
    Invalid(Shown),
    /// One of these texts.
    Enum(Vec<&'static str>),
    /// Never one of these texts: whenever the line runs, the value is none.
    Unsupported(Vec<&'static str>),
    Const(Value),
    Range(i64, i64),
    Min(i64),
    Max(i64),
    NonNegative,
    Positive,
    PortNumber,
    PortNumberOrName,
    FileMode,
    Text(Judge),
    LowerText(Judge),
    DomainPrefixedPath,
    Labels,
    Annotations,
    LabelSelector,
    SelectorNotEmpty,
    /// The selector takes the labels at a place.
    Selects(Place),
    MaxBytes(usize),
    MaxItems(usize),
    MinItems(usize),
    Count(usize),
    Unique(Vec<&'static str>),
    UniqueSet(&'static str),
    UniqueItems,
    UniqueSibling,
    AloneIf(&'static str),
    Each(Box<Primitive>, TypeRef<'static>),
    Keys(Box<Primitive>),
    Values(Box<Primitive>, TypeRef<'static>),
    QuantityNotNegative,
    QuantityPositive,
    IntOrPercent,
    AtMostField(Place),
    AboveField(Place),
    NotBelowField(Place),
    Conditions,
    NotEmpty,
    NotBlank,
    CsiDriverName,
    ThreeSegments,
    PoolName,
    Without(&'static str),
    Prefix(&'static str),
    Fails(Box<Primitive>),
    OnlyFields(Vec<&'static str>),
}

/// Which bad value `invalid` shows.
pub(super) enum Shown {
    Value,
    Nothing,
    Text(&'static str),
}

/// Where a primitive is read: the type of the block's object, and the type of the value that is looked at.
#[derive(Clone, Copy)]
pub(super) struct Context {
    pub block: TypeRef<'static>,
    pub of: TypeRef<'static>,
}

impl Primitive {
    pub fn parse(cx: Context, words: &[&'static str]) -> Result<Self, String> {
        let (name, args) = words.split_first().ok_or("a check without a primitive")?;
        if let Some(judge) = texts::named(name) {
            return none(args, Self::Text(judge));
        }
        let plain = match *name {
            "required" => Self::Required,
            "forbidden" => Self::Forbidden,
            "nonneg" => Self::NonNegative,
            "positive" => Self::Positive,
            "portnumber" => Self::PortNumber,
            "portnumorname" => Self::PortNumberOrName,
            "filemode" => Self::FileMode,
            "labels" => Self::Labels,
            "annotations" => Self::Annotations,
            "labelselector" => Self::LabelSelector,
            "selectornonempty" => Self::SelectorNotEmpty,
            "uniqueitems" => Self::UniqueItems,
            "uniquesibling" => Self::UniqueSibling,
            "quantitynonneg" => Self::QuantityNotNegative,
            "quantitypositive" => Self::QuantityPositive,
            "intorpercent" => Self::IntOrPercent,
            "conditions" => Self::Conditions,
            "nonempty" => Self::NotEmpty,
            "nonblank" => Self::NotBlank,
            "csidrivername" => Self::CsiDriverName,
            "fqn3" => Self::ThreeSegments,
            "poolname" => Self::PoolName,
            "domainprefixedpath" => Self::DomainPrefixedPath,
            "lowerqualifiedname" => Self::LowerText(super::formats::qualified_name),
            _ => return Self::with_arguments(cx, name, args),
        };
        none(args, plain)
    }

    fn with_arguments(cx: Context, name: &str, args: &[&'static str]) -> Result<Self, String> {
        let place = || Place::parse(cx.block, one(args)?);
        let list = || args.iter().map(|arg| unquoted(arg)).collect();
        Ok(match name {
            "invalid" => Self::Invalid(match args {
                [] => Shown::Value,
                ["novalue"] => Shown::Nothing,
                [text] => Shown::Text(unquoted(text)),
                _ => return Err("`invalid` shows one value".to_owned()),
            }),
            "enum" => Self::Enum(list()),
            "unsupported" => Self::Unsupported(list()),
            "const" => Self::Const(serde_json::from_str(one(args)?).map_err(|e| e.to_string())?),
            "range" => match args {
                [low, high] => Self::Range(number(low)?, number(high)?),
                _ => return Err("`range` has two ends".to_owned()),
            },
            "min" => Self::Min(number(one(args)?)?),
            "max" => Self::Max(number(one(args)?)?),
            "maxlen" | "maxbytes" => Self::MaxBytes(size(args)?),
            "maxitems" => Self::MaxItems(size(args)?),
            "minitems" => Self::MinItems(size(args)?),
            "count" => Self::Count(size(args)?),
            "unique" => Self::Unique(one(args)?.split(',').collect()),
            "uniqueset" => Self::UniqueSet(one(args)?),
            "aloneif" => Self::AloneIf(one(args)?),
            "without" => Self::Without(one(args)?),
            "prefix" => Self::Prefix(one(args)?),
            "onlyfields" => Self::OnlyFields(list()),
            "selects" => Self::Selects(place()?),
            "atmostfield" => Self::AtMostField(place()?),
            "abovefield" => Self::AboveField(place()?),
            "notbelowfield" => Self::NotBelowField(place()?),
            "fails" => Self::Fails(Box::new(Self::parse(cx, args)?)),
            "keys" => Self::Keys(Box::new(Self::parse(cx, args)?)),
            "each" => match cx.of.kind() {
                TypeKind::List(of) => Self::Each(Box::new(Self::parse(Context { of, ..cx }, args)?), of),
                _ => return Err("`each` of what is no list".to_owned()),
            },
            "values" => match cx.of.kind() {
                TypeKind::Map(of) => Self::Values(Box::new(Self::parse(Context { of, ..cx }, args)?), of),
                _ => return Err("`values` of what is no map".to_owned()),
            },
            other => return Err(format!("no such primitive: {other}")),
        })
    }
}

fn none(args: &[&str], primitive: Primitive) -> Result<Primitive, String> {
    if args.is_empty() { Ok(primitive) } else { Err(format!("arguments that nobody expects: {}", args.join(" "))) }
}

fn one(args: &[&'static str]) -> Result<&'static str, String> {
    match args {
        [one] => Ok(one),
        _ => Err("one argument is expected".to_owned()),
    }
}

fn number(word: &str) -> Result<i64, String> {
    word.parse().map_err(|_| format!("no number: {word}"))
}

fn size(args: &[&'static str]) -> Result<usize, String> {
    one(args)?.parse().map_err(|_| format!("no number: {}", args.join(" ")))
}

#[cfg(test)]
mod tests {
    /// The names that the arms of a source file compare a word with: `"name" => …`, `"name" | "other" => …`.
    fn compared(source: &'static str) -> Vec<&'static str> {
        let code = source.split("#[cfg(test)]").next().unwrap_or_default();
        let arms = code.lines().filter_map(|line| line.trim().split_once(" => "));
        let named = arms.map(|(names, _)| names).filter(|names| names.starts_with('"'));
        named.flat_map(|names| names.split(" | ")).map(|name| name.trim_matches('"')).collect()
    }

    #[test]
    fn every_primitive_and_no_other_is_documented_in_order() {
        let mut known = [compared(include_str!("primitive.rs")), compared(include_str!("texts.rs"))].concat();
        // What a line of this name does beside looking at a value is read by `compile.rs`.
        known.extend(["first", "unchanged", "union"]);
        known.sort_unstable();
        let path = std::env::var("CARGO_MANIFEST_DIR").unwrap() + "/../kinds/facts/rules/PRIMITIVES.md";
        let document = std::fs::read_to_string(path).unwrap();
        let (_, table) = document.split_once("| name | arguments |").unwrap();
        let rows = table.lines().take_while(|row| !row.is_empty()).filter_map(|row| row.strip_prefix("| `"));
        let documented: Vec<&str> = rows.filter_map(|row| row.split('`').next()).collect();
        assert_eq!(documented, known);
    }
}
