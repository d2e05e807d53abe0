//! Values as YAML, for people and for programs that read YAML.

use serde_json::Value;

pub fn written(value: &Value) -> String {
    let mut out = String::new();
    match value {
        Value::Object(_) | Value::Array(_) if !is_empty(value) => block(value, 0, false, &mut out),
        _ => out.push_str(&format!("{}\n", scalar(value))),
    }
    out
}

/// Writes an object or a list that is not empty. The first line of one in a list stands behind its dash.
fn block(value: &Value, depth: usize, begun: bool, out: &mut String) {
    let mut begun = begun;
    let mut line = |out: &mut String, text: &str| {
        if !std::mem::take(&mut begun) {
            out.push_str(&"  ".repeat(depth));
        }
        out.push_str(text);
    };
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                line(out, &format!("{}:", text(name)));
                below(value, depth, out);
            }
        }
        Value::Array(items) => {
            for item in items {
                line(out, "-");
                match is_empty(item) || !(item.is_object() || item.is_array()) {
                    true => out.push_str(&format!(" {}\n", scalar(item))),
                    false => {
                        out.push(' ');
                        block(item, depth + 1, true, out);
                    }
                }
            }
        }
        _ => {}
    }
}

fn below(value: &Value, depth: usize, out: &mut String) {
    match value {
        Value::Object(_) if !is_empty(value) => {
            out.push('\n');
            block(value, depth + 1, false, out);
        }
        Value::Array(_) if !is_empty(value) => {
            out.push('\n');
            block(value, depth, false, out);
        }
        _ => out.push_str(&format!(" {}\n", scalar(value))),
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Object(fields) => fields.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}

fn scalar(value: &Value) -> String {
    match value {
        Value::String(string) => text(string),
        other => other.to_string(),
    }
}

/// A text as it is, or quoted where it would be read as something else. JSON's quotes are YAML's.
fn text(text: &str) -> String {
    let word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '/' | ' ' | '(' | ')' | '[' | ']');
    let plain = text.starts_with(|c: char| c.is_ascii_alphabetic()) && text.chars().all(word) && !text.ends_with(' ');
    let reserved = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
    if plain && !reserved.contains(&text.to_lowercase().as_str()) {
        text.to_owned()
    } else {
        Value::from(text).to_string()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let value = json!({"a": [{"b": 1, "c": [1, [2, {"x": "y"}]]}, "no", {}, []], "d: e": "f\n#", "g": {"h": null, "i": {}},
            "time": "2026-01-01T00:00:00Z", "empty": "", "number": "12", "list": [[1], ["two words"]]});
        let text = written(&value);
        let read = pawl_schema::yaml::parse(&text).unwrap_or_else(|why| panic!("{why}:\n{text}")).value;
        assert_eq!(read, value, "{text}");
    }
}
