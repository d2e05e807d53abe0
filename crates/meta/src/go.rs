//! How Go prints values inside messages. Clients and people compare these texts, so they are part of the interface.

use serde_json::Value;

/// A string as Go's `%q` writes it.
pub fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{b}' => out.push_str("\\v"),
            '\u{c}' => out.push_str("\\f"),
            c if (c as u32) < 0x20 || c == '\u{7f}' => out.push_str(&format!("\\x{:02x}", c as u32)),
            c if is_shown(c) => out.push(c),
            c if (c as u32) < 0x10000 => out.push_str(&format!("\\u{:04x}", c as u32)),
            c => out.push_str(&format!("\\U{:08x}", c as u32)),
        }
    }
    out.push('"');
    out
}

/// Whether Go prints a character as it is: letters, marks, numbers, signs, and of blanks the plain one alone.
fn is_shown(c: char) -> bool {
    // After another character only what cannot be printed is escaped; marks stand by themselves.
    c.is_ascii() || c.is_alphanumeric() || String::from_iter(['a', c]).escape_debug().nth(1) != Some('\\')
}

/// A bad value as a field error prints it: strings quoted, everything else as JSON.
pub fn print(value: &Value) -> String {
    match value {
        Value::String(text) => quote(text),
        Value::Number(number) => print_number(number),
        other => other.to_string(),
    }
}

/// A value as Go's `%v` writes what `encoding/json` made of it: `map[a:1 b:[x y]]`, `<nil>`.
pub fn print_map(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::Bool(b) => b.to_string(),
        Value::Number(number) => print_number(number),
        Value::String(text) => text.clone(),
        Value::Array(items) => format!("[{}]", items.iter().map(print_map).collect::<Vec<_>>().join(" ")),
        Value::Object(map) => {
            let entries: Vec<String> = map.iter().map(|(k, v)| format!("{k}:{}", print_map(v))).collect();
            format!("map[{}]", entries.join(" "))
        }
    }
}

fn print_number(number: &serde_json::Number) -> String {
    match number.as_f64() {
        Some(float) if number.is_f64() => print_float(float),
        _ => number.to_string(),
    }
}

/// A float as Go's `%v` writes it: shortest form, exponents from 1e21 on.
pub fn print_float(float: f64) -> String {
    if float == 0.0 {
        return "0".to_owned();
    }
    let magnitude = float.abs();
    if (1e-4..1e21).contains(&magnitude) {
        return format!("{float}");
    }
    let text = format!("{float:e}");
    match text.split_once('e') {
        Some((mantissa, exponent)) => {
            let (sign, digits) = match exponent.strip_prefix('-') {
                Some(digits) => ('-', digits),
                None => ('+', exponent),
            };
            format!("{mantissa}e{sign}{digits:0>2}")
        }
        None => text,
    }
}

/// JSON as Go writes it: nothing in texts that HTML would take for its own, no fraction that is nothing.
pub fn json(value: &Value) -> String {
    match value {
        Value::Array(items) => format!("[{}]", items.iter().map(json).collect::<Vec<_>>().join(",")),
        Value::Object(map) => {
            let member = |(key, value): (&String, &Value)| format!("{}:{}", json_text(key), json(value));
            format!("{{{}}}", map.iter().map(member).collect::<Vec<_>>().join(","))
        }
        Value::Number(number) if number.is_f64() => json_number(number.as_f64().unwrap_or_default()),
        Value::String(text) => json_text(text),
        other => other.to_string(),
    }
}

/// A float as a JSON number: a whole one has no fraction.
pub fn json_float(float: f64) -> Value {
    #[expect(clippy::cast_possible_truncation, reason = "only what is whole and small enough")]
    if float.fract() == 0.0 && float.abs() < 9e18 { Value::from(float as i64) } else { Value::from(float) }
}

/// Exponents from 1e21 on and below 1e-6.
fn json_number(float: f64) -> String {
    match float.abs() {
        0.0 => "0".to_owned(),
        magnitude if (1e-6..1e21).contains(&magnitude) => format!("{float}"),
        magnitude if magnitude < 1.0 => format!("{float:e}"),
        _ => format!("{float:e}").replace('e', "e+"),
    }
}

fn json_text(text: &str) -> String {
    let mut quoted = Value::from(text).to_string();
    for (plain, escaped) in
        [("<", "\\u003c"), (">", "\\u003e"), ("&", "\\u0026"), ("\u{2028}", "\\u2028"), ("\u{2029}", "\\u2029")]
    {
        if quoted.contains(plain) {
            quoted = quoted.replace(plain, escaped);
        }
    }
    quoted
}

/// What Go's JSON decoder calls the kind of a value.
pub fn json_kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_print_as_go_prints_them() {
        assert_eq!(quote("a\"b\n"), r#""a\"b\n""#);
        assert_eq!(quote("\u{a0}é\u{301}\u{202e}\u{feff}\u{10ffff}€"), "\"\\u00a0é\u{301}\\u202e\\ufeff\\U0010ffff€\"");
        assert_eq!(print(&json!(-1)), "-1");
        assert_eq!(print(&json!(null)), "null");
        assert_eq!(print_map(&json!({"b": [1, "x"], "a": null})), "map[a:<nil> b:[1 x]]");
        assert_eq!(print_float(1e21), "1e+21");
        assert_eq!(print_float(2.5), "2.5");
        assert_eq!(print_float(3.0), "3");
        assert_eq!(json(&json!({"b": [1.0, 1.5], "a<": "x&y"})), r#"{"a\u003c":"x\u0026y","b":[1,1.5]}"#);
        assert_eq!(json(&json!([1e21, 1e-7, 1e-6, 0.0])), "[1e+21,1e-7,0.000001,0]");
    }
}
