//! The columns of a custom resource's table, and what they show of an object.

use std::borrow::Cow;

use pawl_meta::object::Meta;
use pawl_meta::{go, time};
use serde_json::{Value, json};

use crate::builtin::{self, OBJECT_META};
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
            description: builtin::description(OBJECT_META, "creationTimestamp").to_owned(),
            ..Column::default()
        }];
        let declared = if declared.is_empty() { &age } else { declared };
        let compiled = declared.iter().map_while(|column| Some((column.clone(), JsonPath::parse(&column.path)?)));
        Self { compiled: compiled.collect() }
    }

    /// The name comes first, whatever is declared.
    pub fn headers(&self) -> Vec<Header<'_>> {
        let description = Cow::Borrowed(builtin::description(OBJECT_META, "name"));
        let name = Header { name: "Name", kind: "string", format: "name", description, priority: 0 };
        let declared = self.compiled.iter().map(|(column, _)| Header {
            name: &column.name,
            kind: &column.kind,
            format: &column.format,
            description: match column.description.as_str() {
                "" => Cow::Owned(format!("Custom resource definition column (in JSONPath format): {}", column.path)),
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

/// A value as a column of a type shows it.
fn cell(kind: &str, value: &Value, now_unix: i64) -> Value {
    match (kind, value) {
        // To upstream's printer a null is no value at all.
        ("string", Value::Null) => json!("<no value>"),
        ("string", value) => json!(print(value)),
        ("integer", Value::Number(number)) => match number.as_i64() {
            Some(whole) => json!(whole),
            None => json!(whole(number.as_f64().unwrap_or_default())),
        },
        ("number", Value::Number(number)) => go::json_float(number.as_f64().unwrap_or_default()),
        ("boolean", Value::Bool(_)) => value.clone(),
        ("date", Value::String(text)) => json!(age(text, now_unix)),
        _ => Value::Null,
    }
}

/// A float without its fraction. What is too large is the smallest there is, as it is where upstream is built.
fn whole(float: f64) -> i64 {
    #[expect(clippy::cast_possible_truncation, reason = "that is asked for")]
    if float.abs() < 9.2e18 { float as i64 } else { i64::MIN }
}

fn age(text: &str, now_unix: i64) -> String {
    match (text, time::parse(text)) {
        ("" | "null", _) => "<unknown>".to_owned(),
        (_, Some(then)) => builtin::age(now_unix.saturating_sub(then)),
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

#[cfg(test)]
mod tests {
    use super::*;

    fn column(kind: &str, path: &str) -> Column {
        Column { name: path.to_owned(), kind: kind.to_owned(), path: path.to_owned(), ..Column::default() }
    }

    fn check(kind: &str, value: Value, expected: Value) {
        let columns = Columns::compile(&[column(kind, ".spec")]);
        let object = json!({"metadata": {"name": "n"}, "spec": value});
        assert_eq!(columns.row(&object, 1_600_000_000), [json!("n"), expected], "{kind} {value}");
    }

    #[test]
    fn cells_have_the_type_of_their_column() {
        check("string", json!("<a>"), json!("<a>"));
        check("string", json!(null), json!("<no value>"));
        check("string", json!(true), json!("true"));
        check("string", json!(1.0), json!("1"));
        check("string", json!(1e21), json!("1e+21"));
        check("string", json!(["a", 1.0, null]), json!("[\"a\",1,null]"));
        check("string", json!({"x": "<&>"}), json!("{\"x\":\"\\u003c\\u0026\\u003e\"}"));
        check("integer", json!(5), json!(5));
        check("integer", json!(1.9), json!(1));
        check("integer", json!("5"), json!(null));
        check("integer", json!(1e30), json!(i64::MIN));
        check("number", json!(5), json!(5));
        check("number", json!(1.5), json!(1.5));
        check("number", json!(9_007_199_254_740_993_i64), json!(9_007_199_254_740_992_i64));
        check("boolean", json!(true), json!(true));
        check("boolean", json!("true"), json!(null));
        check("date", json!("2020-09-13T12:26:30Z"), json!("10s"));
        check("date", json!("2020-01-01"), json!("<invalid>"));
        check("date", json!(""), json!("<unknown>"));
        check("date", json!(5), json!(null));
    }

    #[test]
    fn a_table_ends_before_the_first_path_that_is_none() {
        let columns = Columns::compile(&[column("string", ".a"), column("string", ".b[?("), column("string", ".c")]);
        let names: Vec<&str> = columns.headers().iter().map(|header| header.name).collect();
        assert_eq!(names, ["Name", ".a"]);
    }

    #[test]
    fn a_version_without_columns_shows_its_age() {
        let columns = Columns::compile(&[]);
        let object = json!({"metadata": {"name": "n", "creationTimestamp": "2020-09-13T12:26:30Z"}});
        assert_eq!(columns.row(&object, 1_600_000_000), [json!("n"), json!("10s")]);
        assert!(columns.headers().iter().all(|header| !header.description.is_empty()));
    }
}
