//! What must hold of a rule beside its expressions: its reason, the field it points to, and how it uses the old value.
//!
//! Every function returns the detail of the error, `None` where nothing is wrong. Where in a schema the rule stands is the
//! caller's affair.

use serde_json::Value;

/// The reasons that a rule may give, in the order in which errors list them.
pub const REASONS: [&str; 4] =
    ["FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"];

/// The supported values, when a reason is none of them.
pub fn reason(reason: &str) -> Option<String> {
    if REASONS.contains(&reason) {
        return None;
    }
    let list: Vec<String> = REASONS.iter().map(|reason| format!("\"{reason}\"")).collect();
    Some(format!("supported values: {}", list.join(", ")))
}

/// `fieldPath` names a field below the rule's schema: `.a.b` or `['a-b']`, without an index.
pub fn field_path(path: &str, schema: &Value) -> Option<&'static str> {
    let names = parse_path(path).filter(|names| !names.is_empty());
    let found = names.is_some_and(|names| names.iter().try_fold(schema, |at, name| below(at, name)).is_some());
    (!found).then_some("must be a valid path")
}

/// `optionalOldSelf` says how a rule sees the old value, so the rule must look at it.
pub fn optional_old_self(given: bool, uses_old_self: bool) -> Option<&'static str> {
    (given && !uses_old_self).then_some("may not be set if oldSelf is not used in rule")
}

/// Below `uncorrelatable` (the path of a list that is no map list, or of an atomic map) there is no old value to look at.
pub fn old_self(uses_old_self: bool, uncorrelatable: Option<&str>) -> Option<String> {
    let path = uncorrelatable.filter(|_| uses_old_self)?;
    Some(format!("oldSelf cannot be used on the uncorrelatable portion of the schema within {path}"))
}

fn below<'s>(schema: &'s Value, name: &str) -> Option<&'s Value> {
    let declared = schema.get("properties").and_then(|properties| properties.get(name));
    declared.or_else(|| schema.get("additionalProperties").filter(|any| any.is_object()))
}

/// The names in a path; `None` when it is not well formed.
fn parse_path(path: &str) -> Option<Vec<String>> {
    let mut names = Vec::new();
    let mut rest = path;
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix("['") {
            let (name, after) = quoted(after)?;
            names.push(name);
            rest = after;
        } else {
            let after = rest.strip_prefix('.')?;
            let end = after.find(['.', '[']).unwrap_or(after.len());
            let (name, after) = after.split_at(end);
            let first = name.chars().next()?;
            let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
            if first.is_ascii_digit() || !name.chars().all(word) {
                return None;
            }
            names.push(name.to_owned());
            rest = after;
        }
    }
    Some(names)
}

/// The name up to `']`, in which a backslash escapes the next character, and what follows.
fn quoted(text: &str) -> Option<(String, &str)> {
    let mut name = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => name.push(chars.next()?.1),
            '\'' => return Some((name, text.get(at + 1..)?.strip_prefix(']')?)),
            c => name.push(c),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn reasons_are_four() {
        assert_eq!(reason("FieldValueInvalid"), None);
        assert_eq!(
            reason("Foo").as_deref(),
            Some(
                "supported values: \"FieldValueDuplicate\", \"FieldValueForbidden\", \"FieldValueInvalid\", \"FieldValueRequired\""
            )
        );
    }

    #[test]
    fn a_field_path_leads_to_a_field() {
        let schema = json!({"properties": {
            "a": {"properties": {"b": {"type": "string"}, "x-y": {"type": "string"}, "it's": {}}},
            "m": {"additionalProperties": {"properties": {"c": {}}}},
            "l": {"type": "array", "items": {"properties": {"c": {}}}},
        }});
        for good in [".a", ".a.b", ".a['x-y']", "['a'].b", ".a['it\\'s']", ".m.anything.c", ".l"] {
            assert_eq!(field_path(good, &schema), None, "{good}");
        }
        for bad in ["", "a", ".b", ".a.c", ".a.x-y", ".l[0]", ".l.c", ".a[", ".a['b", ".a..b", ".1", "."] {
            assert_eq!(field_path(bad, &schema), Some("must be a valid path"), "{bad}");
        }
    }

    #[test]
    fn the_old_value_is_where_it_can_be_found() {
        assert_eq!(optional_old_self(true, false), Some("may not be set if oldSelf is not used in rule"));
        assert_eq!(optional_old_self(true, true), None);
        assert_eq!(optional_old_self(false, false), None);
        assert_eq!(
            old_self(true, Some("spec.l")).as_deref(),
            Some("oldSelf cannot be used on the uncorrelatable portion of the schema within spec.l")
        );
        assert_eq!(old_self(false, Some("spec.l")), None);
        assert_eq!(old_self(true, None), None);
    }
}
