//! What primitives find in a value.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt::Display;

use pawl_meta::{ErrorKind, Errors, FieldError, go};
use pawl_schema::{TypeKind, TypeRef};
use serde_json::Value;

use super::at::At;
use super::condition::Scene;
use super::formats;
use super::place::{Place, is_zero};
use super::primitive::{Primitive, Shown};
use super::{labels, shown};

/// Where findings go, and what the line changes about them.
pub(super) struct Report<'r> {
    pub errors: &'r mut Errors,
    pub kind: Option<ErrorKind>,
    pub detail: Option<&'r str>,
    /// All findings of one text as one error.
    pub joined: bool,
}

impl<'r> Report<'r> {
    pub fn new(errors: &'r mut Errors) -> Self {
        Self { errors, kind: None, detail: None, joined: false }
    }

    pub fn add<'d>(
        &mut self,
        kind: ErrorKind,
        at: &dyn Display,
        bad: impl FnOnce() -> String,
        detail: impl Into<Cow<'d, str>>,
    ) {
        let kind = self.kind.unwrap_or(kind);
        let hides = matches!(kind, ErrorKind::Required | ErrorKind::Forbidden | ErrorKind::TooLong);
        let detail = match self.detail {
            Some(detail) => detail.to_owned(),
            None => detail.into().into_owned(),
        };
        let bad_value = (!hides).then(bad);
        self.errors.push(FieldError { kind, field: at.to_string(), bad_value, detail });
    }

    pub fn invalid<'d>(&mut self, at: &dyn Display, bad: impl FnOnce() -> String, detail: impl Into<Cow<'d, str>>) {
        self.add(ErrorKind::Invalid, at, bad, detail);
    }

    /// Several findings about one text.
    pub fn text(&mut self, at: &dyn Display, bad: &str, found: Vec<String>) {
        if self.joined && found.len() > 1 {
            return self.invalid(at, || go::quote(bad), found.join(";"));
        }
        for detail in found {
            self.invalid(at, || go::quote(bad), detail);
        }
    }

    fn too_long(&mut self, at: &dyn Display, bad: &str, limit: usize) {
        self.add(ErrorKind::TooLong, at, || go::quote(bad), format!("may not be more than {limit} bytes"));
    }
}

/// Looks at a value. `Required` looks at absent ones too, which only the line can see.
pub(super) fn judge(
    primitive: &Primitive,
    scene: Scene<'_>,
    value: &Value,
    of: TypeRef<'_>,
    at: &At<'_>,
    report: &mut Report<'_>,
) {
    let bad = || shown::value(of, value);
    let text = || value.as_str().unwrap_or_default();
    match primitive {
        Primitive::Required => {
            if is_zero(value) {
                report.add(ErrorKind::Required, at, bad, "");
            }
        }
        Primitive::Forbidden => report.add(ErrorKind::Forbidden, at, bad, ""),
        Primitive::Invalid(Shown::Value) => report.invalid(at, bad, ""),
        Primitive::Invalid(Shown::Text(text)) => report.invalid(at, || go::quote(text), ""),
        Primitive::Invalid(Shown::Nothing) => {
            report.errors.invalid_omitted(at, report.detail.unwrap_or_default());
        }
        Primitive::Enum(allowed) => {
            if !allowed.contains(&text()) {
                report.add(ErrorKind::NotSupported, at, bad, supported(allowed));
            }
        }
        Primitive::Unsupported(allowed) => report.add(ErrorKind::NotSupported, at, bad, supported(allowed)),
        Primitive::Const(wanted) => {
            if value != wanted {
                report.invalid(at, bad, "");
            }
        }
        Primitive::Range(..)
        | Primitive::Min(_)
        | Primitive::Max(_)
        | Primitive::NonNegative
        | Primitive::Positive
        | Primitive::PortNumber
        | Primitive::FileMode => number(primitive, value, at, report),
        Primitive::AtMostField(place) | Primitive::AboveField(place) | Primitive::NotBelowField(place) => {
            if exceeds(primitive, value, place, scene) {
                report.invalid(at, bad, "");
            }
        }
        Primitive::PortNumberOrName => match value {
            Value::String(name) => report.text(at, name, formats::port_name(name)),
            _ => number(&Primitive::PortNumber, value, at, report),
        },
        Primitive::IntOrPercent => match value {
            Value::String(text) => report.text(at, text, percent(text)),
            _ => number(&Primitive::NonNegative, value, at, report),
        },
        Primitive::Text(judge) => report.text(at, text(), judge(text())),
        Primitive::LowerText(judge) => {
            let lower = text().to_lowercase();
            report.text(at, &lower, judge(&lower));
        }
        Primitive::DomainPrefixedPath => {
            if text().is_empty() {
                return report.add(ErrorKind::Required, at, bad, "");
            }
            for (bad, detail) in formats::domain_prefixed_path(text()) {
                report.invalid(at, || go::quote(&bad), detail);
            }
        }
        Primitive::CsiDriverName => csi_driver_name(text(), at, report),
        Primitive::ThreeSegments => three_segments(text(), at, report),
        Primitive::PoolName => pool_name(text(), at, report),
        Primitive::NotEmpty => {
            if text().is_empty() {
                report.invalid(at, bad, "");
            }
        }
        Primitive::NotBlank => {
            if text().trim().is_empty() {
                report.invalid(at, bad, "");
            }
        }
        Primitive::Without(part) => {
            if text().contains(part) {
                report.invalid(at, bad, "");
            }
        }
        Primitive::Prefix(start) => {
            if !text().starts_with(start) {
                report.invalid(at, bad, "");
            }
        }
        Primitive::MaxBytes(limit) => {
            if text().len() > *limit {
                report.too_long(at, text(), *limit);
            }
        }
        Primitive::QuantityNotNegative | Primitive::QuantityPositive => quantity(primitive, value, at, report),
        Primitive::Labels => labels::labels(value, at, report),
        Primitive::Annotations => labels::annotations(value, at, report),
        Primitive::LabelSelector => labels::selector(value, at, report),
        Primitive::SelectorNotEmpty => {
            if labels::selects_everything(value) {
                report.invalid(at, bad, "");
            }
        }
        Primitive::Selects(_) => {}
        Primitive::Conditions => labels::conditions(value, at, report),
        Primitive::Keys(inner) => {
            for key in value.as_object().into_iter().flat_map(serde_json::Map::keys) {
                judge(inner, scene, &Value::from(key.as_str()), of, &at.key(key), report);
            }
        }
        Primitive::Values(inner, of) => {
            for (key, value) in value.as_object().into_iter().flatten() {
                judge(inner, scene, value, *of, &at.key(key), report);
            }
        }
        Primitive::Each(inner, of) => {
            for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                judge(inner, scene, item, *of, &at.index(index), report);
            }
        }
        Primitive::MaxItems(limit) => {
            let count = value.as_array().map_or(0, Vec::len);
            if count > *limit {
                let items = if *limit == 1 { "item" } else { "items" };
                let detail = format!("must have at most {limit} {items}");
                report.add(ErrorKind::TooMany, at, || count.to_string(), detail);
            }
        }
        Primitive::MinItems(limit) => {
            let count = value.as_array().map_or(0, Vec::len);
            if count < *limit {
                let items = if *limit == 1 { "item" } else { "items" };
                let detail = format!("must have at least {limit} {items}");
                report.add(ErrorKind::TooFew, at, || count.to_string(), detail);
            }
        }
        Primitive::Count(wanted) => {
            if value.as_array().map_or(0, Vec::len) != *wanted {
                report.invalid(at, bad, "");
            }
        }
        Primitive::AloneIf(item) => {
            let items = value.as_array().map(Vec::as_slice).unwrap_or_default();
            if items.len() > 1 && items.iter().any(|value| value == item) {
                report.invalid(at, bad, "");
            }
        }
        Primitive::Unique(_) | Primitive::UniqueSet(_) | Primitive::UniqueItems => {
            unique(primitive, value, of, at, report);
        }
        Primitive::UniqueSibling => {}
        Primitive::Fails(inner) => {
            let mut found = Errors::new();
            judge(inner, scene, value, of, at, &mut Report::new(&mut found));
            if !found.is_empty() {
                report.invalid(at, bad, "");
            }
        }
        Primitive::OnlyFields(allowed) => only_fields(allowed, value, of, at, report),
    }
}

fn supported(allowed: &[&str]) -> String {
    let quoted: Vec<String> = allowed.iter().map(|text| go::quote(text)).collect();
    format!("supported values: {}", quoted.join(", "))
}

fn number(primitive: &Primitive, value: &Value, at: &At<'_>, report: &mut Report<'_>) {
    let Some(number) = value.as_i64() else { return };
    let detail = match *primitive {
        Primitive::Range(low, high) if !(low..=high).contains(&number) => {
            Cow::from(format!("must be between {low} and {high}, inclusive"))
        }
        Primitive::Min(low) if number < low => Cow::from(format!("must be greater than or equal to {low}")),
        Primitive::Max(high) if number > high => Cow::from(format!("must be less than or equal to {high}")),
        Primitive::NonNegative if number < 0 => Cow::from("must be greater than or equal to 0"),
        Primitive::Positive if number <= 0 => Cow::from("must be greater than zero"),
        Primitive::PortNumber if !(1..=65535).contains(&number) => Cow::from("must be between 1 and 65535, inclusive"),
        Primitive::FileMode if !(0..=0o777).contains(&number) => {
            Cow::from("must be a number between 0 and 0777 (octal), both inclusive")
        }
        _ => return,
    };
    report.invalid(at, || number.to_string(), detail);
}

/// Whether a number stands on the wrong side of another field.
fn exceeds(primitive: &Primitive, value: &Value, place: &Place, scene: Scene<'_>) -> bool {
    let Some(number) = value.as_i64() else { return false };
    let other = place.get(scene.object).and_then(Value::as_i64);
    match primitive {
        Primitive::AtMostField(_) => number > other.unwrap_or_default(),
        Primitive::AboveField(_) => number <= other.unwrap_or_default(),
        _ => other.is_some_and(|other| number < other),
    }
}

fn percent(text: &str) -> Vec<String> {
    let digits = text.strip_suffix('%').unwrap_or_default();
    if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Vec::new();
    }
    let sentence = "a valid percent string must be a numeric string followed by an ending '%'";
    vec![formats::pattern_text(sentence, "[0-9]+%", &["1%", "93%"])]
}

fn quantity(primitive: &Primitive, value: &Value, at: &At<'_>, report: &mut Report<'_>) {
    let text = match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let amount = formats::quantity(&text).unwrap_or_default();
    let (wrong, detail) = match primitive {
        Primitive::QuantityPositive => (amount <= 0, "must be greater than zero"),
        _ => (amount < 0, "must be greater than or equal to 0"),
    };
    if wrong {
        report.invalid(at, || go::quote(&text), detail);
    }
}

fn csi_driver_name(name: &str, at: &At<'_>, report: &mut Report<'_>) {
    const LIMIT: usize = 63;
    if name.is_empty() {
        return report.add(ErrorKind::Required, at, String::new, "");
    }
    if name.len() > LIMIT {
        report.too_long(at, name, LIMIT);
    }
    report.text(at, name, formats::dns1123_subdomain(&name.to_lowercase()));
}

fn three_segments(name: &str, at: &At<'_>, report: &mut Report<'_>) {
    if name.is_empty() {
        return report.add(ErrorKind::Required, at, String::new, "");
    }
    let found = formats::dns1123_subdomain(name);
    if !found.is_empty() {
        return report.invalid(at, || go::quote(name), found.join(","));
    }
    if name.split('.').count() < 3 {
        let detail = "should be a domain with at least three segments separated by dots";
        report.invalid(at, || go::quote(name), detail);
    }
}

fn pool_name(name: &str, at: &At<'_>, report: &mut Report<'_>) {
    const LIMIT: usize = 253;
    if name.is_empty() {
        return report.add(ErrorKind::Required, at, String::new, "");
    }
    if name.len() > LIMIT {
        report.too_long(at, name, LIMIT);
    }
    for part in name.split('/') {
        report.text(at, part, formats::dns1123_subdomain(part));
    }
}

fn unique(primitive: &Primitive, list: &Value, of: TypeRef<'_>, at: &At<'_>, report: &mut Report<'_>) {
    let items = list.as_array().map(Vec::as_slice).unwrap_or_default();
    match primitive {
        Primitive::Unique(fields) if fields.len() == 1 => {
            let name = fields.first().copied().unwrap_or_default();
            let mut seen = HashSet::new();
            // What is zero counts as absent.
            for (index, item) in items.iter().enumerate() {
                let value = item.get(name).filter(|value| !is_zero(value));
                if !seen.insert(value) {
                    let text = value.and_then(Value::as_str).unwrap_or_default();
                    report.add(ErrorKind::Duplicate, &at.index(index).field(name), || go::quote(text), "");
                }
            }
        }
        Primitive::Unique(fields) => {
            let mut seen = HashSet::new();
            for (index, item) in items.iter().enumerate() {
                if !seen.insert(fields.iter().map(|name| item.get(*name).filter(|v| !is_zero(v))).collect::<Vec<_>>()) {
                    let shown = || shown::value(item_of(of), item);
                    report.add(ErrorKind::Duplicate, &at.index(index), shown, "");
                }
            }
        }
        Primitive::UniqueSet(name) => {
            let mut seen = HashSet::new();
            for (index, item) in items.iter().enumerate() {
                if let Some(text) = item.get(*name).and_then(Value::as_str).filter(|text| !text.is_empty())
                    && !seen.insert(text)
                {
                    report.add(ErrorKind::Duplicate, &at.index(index).field(name), || go::quote(text), "");
                }
            }
        }
        _ => {
            let mut seen = HashSet::new();
            for (index, item) in items.iter().enumerate() {
                if !seen.insert(item) {
                    let shown = || shown::value(item_of(of), item);
                    report.add(ErrorKind::Duplicate, &at.index(index), shown, "");
                }
            }
        }
    }
}

fn item_of(list: TypeRef<'_>) -> TypeRef<'_> {
    match list.kind() {
        TypeKind::List(item) => item,
        _ => list,
    }
}

fn only_fields(allowed: &[&str], value: &Value, of: TypeRef<'_>, at: &At<'_>, report: &mut Report<'_>) {
    let Some(object) = of.object() else { return };
    for field in object.fields().filter(|field| !allowed.contains(&&*field.name)) {
        let set =
            value.get(&*field.name).is_some_and(|value| if field.pointer { !value.is_null() } else { !is_zero(value) });
        if set {
            report.add(ErrorKind::Forbidden, &at.field(&field.name), String::new, "");
        }
    }
}
