//! Field selectors: `a=b,c!=d` with backslash escapes.

/// One term of a field selector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldRequirement {
    pub field: String,
    pub value: String,
    /// Whether the field must differ from the value instead of being equal to it.
    pub negated: bool,
}

/// All terms must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldSelector {
    pub requirements: Vec<FieldRequirement>,
}

impl FieldSelector {
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut requirements = Vec::new();
        for term in split_terms(text) {
            if term.is_empty() {
                continue;
            }
            let Some((field, operator, value)) = split_term(term) else {
                return Err(format!("invalid selector: '{text}'; can't understand '{term}'"));
            };
            requirements.push(FieldRequirement {
                field: field.to_owned(),
                value: unescape(value)?,
                negated: operator == "!=",
            });
        }
        Ok(Self { requirements })
    }

    pub fn is_empty(&self) -> bool {
        self.requirements.is_empty()
    }

    /// `lookup` gives the value of a field; an absent field is the empty string.
    pub fn matches<'v>(&self, mut lookup: impl FnMut(&str) -> std::borrow::Cow<'v, str>) -> bool {
        self.requirements.iter().all(|r| (lookup(&r.field) == r.value) != r.negated)
    }

    /// The value that this field must have, where the selector says so.
    pub fn required(&self, field: &str) -> Option<&str> {
        self.requirements.iter().find(|r| !r.negated && r.field == field).map(|r| r.value.as_str())
    }
}

fn split_terms(text: &str) -> Vec<&str> {
    let mut terms = Vec::new();
    let (mut start, mut escaped) = (0, false);
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            ',' => {
                terms.extend(text.get(start..at));
                start = at + 1;
            }
            _ => {}
        }
    }
    terms.extend(text.get(start..));
    terms
}

fn split_term(term: &str) -> Option<(&str, &str, &str)> {
    for (at, _) in term.char_indices() {
        let rest = term.get(at..)?;
        for operator in ["!=", "==", "="] {
            if let Some(value) = rest.strip_prefix(operator) {
                return Some((term.get(..at)?, operator, value));
            }
        }
    }
    None
}

fn unescape(value: &str) -> Result<String, String> {
    let mut out = String::with_capacity(value.len());
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some(c @ ('\\' | ',' | '=')) => out.push(c),
                Some(c) => return Err(format!("invalid field selector: invalid escape sequence: \\{c}")),
                None => return Err("invalid field selector: invalid escape sequence: \\".to_owned()),
            },
            c @ (',' | '=') => {
                return Err(format!("invalid field selector: unescaped character in value: {}", c as u32));
            }
            c => out.push(c),
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn field_selectors_parse_and_match() {
        let selector = FieldSelector::parse("a=1,b!=x\\,y").unwrap();
        let object = |b: &'static str| move |f: &str| std::borrow::Cow::Borrowed(if f == "a" { "1" } else { b });
        assert!(selector.matches(object("z")));
        assert!(!selector.matches(object("x,y")));
        assert_eq!(FieldSelector::parse("n").unwrap_err(), "invalid selector: 'n'; can't understand 'n'");
        assert_eq!(
            FieldSelector::parse("n=a=b").unwrap_err(),
            "invalid field selector: unescaped character in value: 61"
        );
    }
}
