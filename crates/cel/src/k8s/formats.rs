//! Named formats that strings can be validated against.

use super::urls;
use crate::env::Library;
use crate::error::EvalError;
use crate::library::text;
use crate::types::Type;
use crate::value::{Opaque, Timestamp, Val};
use regex::Regex;
use std::any::Any;
use std::sync::OnceLock;

/// The type's name.
pub const TYPE: &str = "kubernetes.NamedFormat";

/// A format: its names, and how long an expression its validation is counted as.
#[derive(Debug)]
pub struct Format {
    /// The name in expressions.
    name: &'static str,
    /// The length of the regular expression that costs are counted with.
    pub regex_size: u64,
    validate: fn(&str) -> Vec<String>,
}

const UUID: &str = "(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$";
const TIME: &str = "^([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))$";
const BASE64: &str = "^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})$";
const LABEL: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const LABEL_1035: &str = "[a-z]([-a-z0-9]*[a-z0-9])?";
const SUBDOMAIN: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
const KEY: &str = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const VALUE: &str = "(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?";

static FORMATS: [Format; 13] = [
    Format { name: "dns1123Label", regex_size: 30, validate: label },
    Format { name: "dns1123Subdomain", regex_size: 60, validate: subdomain },
    Format { name: "dns1035Label", regex_size: 30, validate: label_1035 },
    Format { name: "qualifiedName", regex_size: 60, validate: qualified_name },
    Format { name: "dns1123LabelPrefix", regex_size: 30, validate: |text| label(&as_prefix(text)) },
    Format { name: "dns1123SubdomainPrefix", regex_size: 60, validate: |text| subdomain(&as_prefix(text)) },
    Format { name: "dns1035LabelPrefix", regex_size: 30, validate: |text| label_1035(&as_prefix(text)) },
    Format { name: "labelValue", regex_size: 40, validate: label_value },
    Format { name: "uri", regex_size: 1103, validate: |text| urls::parse_request(text).err().into_iter().collect() },
    Format {
        name: "uuid",
        regex_size: UUID.len() as u64,
        validate: |text| complain_unless(is_uuid(text), "does not match the UUID format"),
    },
    Format { name: "byte", regex_size: 84, validate: |text| complain_unless(is_base64(text), "invalid base64") },
    Format {
        name: "date",
        regex_size: TIME.len() as u64,
        validate: |text| complain_unless(is_date(text), "invalid date"),
    },
    Format {
        name: "datetime",
        regex_size: TIME.len() as u64,
        validate: |text| complain_unless(is_datetime(text), "invalid datetime"),
    },
];

/// A format as a value.
#[derive(Debug)]
struct Named(&'static Format);

impl Opaque for Named {
    fn type_name(&self) -> &'static str {
        TYPE
    }

    fn equals(&self, other: &dyn Opaque) -> Option<bool> {
        other.as_any().downcast_ref::<Named>().map(|other| self.0.name == other.0.name)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// The format that a value is.
pub(super) fn format_of(value: &Val<'_>) -> Option<&'static Format> {
    value.downcast::<Named>().map(|named| named.0)
}

/// Adds `format.named`, one function for each format, and `validate`.
pub fn add(library: &mut Library) {
    let format = Type::Object(TYPE.into());
    let f = &mut library.functions;
    f.global("format.named", "format-named", &[Type::String], Type::optional(format.clone()), |args| {
        let name = text(args, 0)?;
        let found = FORMATS.iter().find(|format| format.name == name);
        Ok(found.map_or(Val::Optional(None), |format| Val::some(Val::opaque(Named(format)))))
    });
    let errors = Type::optional(Type::list(Type::String));
    f.member("validate", "format-validate", &[format.clone(), Type::String], errors, |args| {
        let format = args.first().and_then(format_of).ok_or(EvalError::NO_OVERLOAD)?;
        let errors = (format.validate)(text(args, 1)?);
        if errors.is_empty() {
            return Ok(Val::Optional(None));
        }
        Ok(Val::some(Val::list(errors.into_iter().map(Val::string).collect())))
    });
    macro_rules! constant {
        ($($index:literal $name:literal),*) => {
            $(f.global(concat!("format.", $name), concat!("format.", $name), &[], format.clone(), |_| nth($index));)*
        };
    }
    constant!(
        0 "dns1123Label", 1 "dns1123Subdomain", 2 "dns1035Label", 3 "qualifiedName", 4 "dns1123LabelPrefix",
        5 "dns1123SubdomainPrefix", 6 "dns1035LabelPrefix", 7 "labelValue", 8 "uri", 9 "uuid", 10 "byte", 11 "date",
        12 "datetime"
    );
}

fn nth<'a>(index: usize) -> Result<Val<'a>, EvalError> {
    FORMATS.get(index).map(|format| Val::opaque(Named(format))).ok_or(EvalError::NO_OVERLOAD)
}

/// An expression over the whole text, compiled once.
macro_rules! whole {
    ($pattern:expr, $text:expr) => {{
        static REGEX: OnceLock<Option<Regex>> = OnceLock::new();
        let regex = REGEX.get_or_init(|| Regex::new(&format!("^(?:{})$", $pattern)).ok());
        regex.as_ref().is_some_and(|regex| regex.is_match($text))
    }};
}

fn complain_unless(fits: bool, complaint: &str) -> Vec<String> {
    if fits { Vec::new() } else { vec![complaint.to_owned()] }
}

fn too_long(text: &str, most: usize, unit: &str) -> Option<String> {
    (text.len() > most).then(|| format!("must be no more than {most} {unit}"))
}

fn explained(rule: &str, regex: &str, examples: &[&str]) -> String {
    let examples: Vec<String> = examples.iter().map(|example| format!("'{example}', ")).collect();
    format!("{rule} (e.g. {}regex used for validation is '{regex}')", examples.join(" or "))
}

/// A prefix may end with a dash, because more will follow.
fn as_prefix(text: &str) -> String {
    match text.strip_suffix('-').filter(|rest| !rest.is_empty()) {
        Some(rest) => format!("{}a", rest.get(..rest.len() - 1).unwrap_or_default()),
        None => text.to_owned(),
    }
}

fn label(text: &str) -> Vec<String> {
    let mut errors: Vec<String> = too_long(text, 63, "characters").into_iter().collect();
    if !whole!(LABEL, text) {
        errors.push(if whole!(SUBDOMAIN, text) {
            "must not contain dots".to_owned()
        } else {
            let rule = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character";
            explained(rule, LABEL, &["my-name", "123-abc"])
        });
    }
    errors
}

fn subdomain(text: &str) -> Vec<String> {
    subdomain_in(text, "characters")
}

fn subdomain_in(text: &str, unit: &str) -> Vec<String> {
    let mut errors: Vec<String> = too_long(text, 253, unit).into_iter().collect();
    if !whole!(SUBDOMAIN, text) {
        let rule = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character";
        errors.push(explained(rule, SUBDOMAIN, &["example.com"]));
    }
    errors
}

fn label_1035(text: &str) -> Vec<String> {
    let mut errors: Vec<String> = too_long(text, 63, "characters").into_iter().collect();
    if !whole!(LABEL_1035, text) {
        let rule = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character";
        errors.push(explained(rule, LABEL_1035, &["my-name", "abc-123"]));
    }
    errors
}

fn qualified_name(text: &str) -> Vec<String> {
    let rule = explained(
        "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
        KEY,
        &["MyName", "my.name", "123-abc"],
    );
    let parts: Vec<&str> = text.split('/').collect();
    let (mut errors, name) = match parts.as_slice() {
        [name] => (Vec::new(), *name),
        ["", name] => (vec!["prefix part must be non-empty".to_owned()], *name),
        [prefix, name] => {
            let errors = subdomain_in(prefix, "bytes");
            (errors.into_iter().map(|error| format!("prefix part {error}")).collect(), *name)
        }
        _ => {
            let optional = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')";
            return vec![format!("a valid label key {rule} {optional}")];
        }
    };
    if name.is_empty() {
        errors.push("name part must be non-empty".to_owned());
    }
    errors.extend(too_long(name, 63, "bytes").map(|error| format!("name part {error}")));
    if !whole!(KEY, name) {
        errors.push(format!("name part {rule}"));
    }
    errors
}

fn label_value(text: &str) -> Vec<String> {
    let mut errors: Vec<String> = too_long(text, 63, "bytes").into_iter().collect();
    if !whole!(VALUE, text) {
        let rule = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";
        errors.push(explained(rule, VALUE, &["MyValue", "my_value", "12345"]));
    }
    errors
}

fn is_uuid(text: &str) -> bool {
    whole!(UUID, text)
}

fn is_base64(text: &str) -> bool {
    whole!(BASE64, text)
}

fn is_date(text: &str) -> bool {
    Timestamp::parse_date(text).is_some()
}

fn is_datetime(text: &str) -> bool {
    let lower = text.to_lowercase();
    let mut parts = lower.split('t');
    let (Some(date), Some(time)) = (parts.next(), parts.next()) else { return false };
    let at = |from: usize| time.get(from..from + 2).unwrap_or("99");
    is_date(date) && whole!(TIME, time) && at(0) <= "23" && at(3) <= "59" && at(6) <= "59"
}
