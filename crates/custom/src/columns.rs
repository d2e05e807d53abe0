//! The columns of a custom resource's table, and what they show of an object.

use std::borrow::Cow;

use pawl_kinds::print::human_duration;
use pawl_meta::object::Meta;
use pawl_meta::{go, time};
use serde_json::{Value, json};

use crate::definition::Column;
use crate::json_path::JsonPath;

/// The columns of one version, compiled.
#[derive(Clone, Debug, PartialEq)]
pub struct Columns {
    compiled: Vec<(Column, JsonPath)>,
}

/// How a column is announced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header<'c> {
    pub name: &'c str,
    pub kind: &'c str,
    pub format: &'c str,
    pub description: Cow<'c, str>,
    pub priority: i64,
}

impl Columns {
    /// A version without columns of its own shows when an object was made. A path that cannot be read ends the table there,
    /// as upstream's does.
    pub fn compile(declared: &[Column]) -> Self {
        let age = [Column {
            name: "Age".to_owned(),
            kind: "date".to_owned(),
            path: ".metadata.creationTimestamp".to_owned(),
            description: description_of("creationTimestamp").to_owned(),
            ..Column::default()
        }];
        let declared = if declared.is_empty() { &age } else { declared };
        let compiled = declared.iter().map_while(|column| Some((column.clone(), JsonPath::parse(&column.path)?)));
        Self { compiled: compiled.collect() }
    }

    /// The name comes first, whatever is declared.
    pub fn headers(&self) -> Vec<Header<'_>> {
        let description = Cow::Borrowed(description_of("name"));
        let name = Header { name: "Name", kind: "string", format: "name", description, priority: 0 };
        let declared = self.compiled.iter().map(|(column, _)| Header {
            name: &column.name,
            kind: &column.kind,
            format: &column.format,
            description: match column.description.as_str() {
                "" => {
                    Cow::Owned(format!("Custom resource definition column (in JSONPath format): {}", column.path))
                }
                description => Cow::Borrowed(description),
            },
            priority: column.priority,
        });
        std::iter::once(name).chain(declared).collect()
    }

    /// The cells of an object's row; null where there is nothing to show.
    pub fn row(&self, object: &Value, now_unix: i64) -> Vec<Value> {
        let cells = self.compiled.iter().map(|(column, path)| match path.first(object) {
            Some(value) => cell(&column.kind, &value, now_unix),
            None => Value::Null,
        });
        std::iter::once(json!(object.name())).chain(cells).collect()
    }
}

fn description_of(field: &str) -> &'static str {
    pawl_kinds::descriptions::of_field("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta", field).unwrap_or_default()
}

/// A value as a column of a type shows it.
fn cell(kind: &str, value: &Value, now_unix: i64) -> Value {
    match (kind, value) {
        // To upstream's printer a null is no value at all.
        ("string", Value::Null) => json!("<no value>"),
        ("string", value) => json!(print(value)),
        ("integer", Value::Number(number)) => match number.as_i64() {
            Some(whole) => json!(whole),
            #[expect(clippy::cast_possible_truncation, reason = "fractions are cut off, what is too large is the largest")]
            None => json!(number.as_f64().unwrap_or_default() as i64),
        },
        ("number", Value::Number(number)) => go::json_float(number.as_f64().unwrap_or_default()),
        ("boolean", Value::Bool(_)) => value.clone(),
        ("date", Value::String(text)) => json!(age(text, now_unix)),
        _ => Value::Null,
    }
}

fn age(text: &str, now_unix: i64) -> String {
    match (text, time::parse(text)) {
        ("" | "null", _) => "<unknown>".to_owned(),
        (_, Some(then)) => human_duration(now_unix.saturating_sub(then)),
        (_, None) => "<invalid>".to_owned(),
    }
}

/// A value as text: what is a text stands as it is, lists and objects as JSON.
pub(crate) fn print(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) if number.is_f64() => go::print_float(number.as_f64().unwrap_or_default()),
        Value::Array(_) | Value::Object(_) => go::json(value),
        other => other.to_string(),
    }
}
