//! The text of the facts: what is built in and, below it, what a program added before the first of it was read.
//!
//! Everything else in this crate is made from this text, once. Nobody else opens a file of `facts/` for it.

use std::borrow::Cow;
use std::sync::OnceLock;

use crate::builtin;

/// Facts about further kinds, in the words of the files in `facts/`.
#[derive(Clone, Debug, Default)]
pub struct Addition {
    /// Blocks as in `types.facts`.
    pub types: String,
    /// A list as in `resources.json`.
    pub resources: String,
    /// Blocks as in a file of `rules/`.
    pub rules: String,
    /// Blocks as in `columns.facts`.
    pub columns: String,
}

/// Why kinds could not be added.
#[derive(Debug, thiserror::Error)]
pub enum AdditionError {
    #[error("the facts have been read already: kinds are added before the first use of any")]
    Late,
    #[error("the facts make no sense: {}", .0.join("; "))]
    Senseless(Vec<String>),
}

/// Adds kinds to the built-in ones: from here on they are served like these.
pub fn add(addition: Addition) -> Result<(), AdditionError> {
    let mut text = Text::builtin();
    text.types.to_mut().push_str(&addition.types);
    text.resources.push(addition.resources.into());
    text.rules.push(addition.rules.into());
    text.columns.to_mut().push_str(&addition.columns);
    TEXT.set(text).map_err(|_| AdditionError::Late)?;
    builtin::load().map(drop).map_err(|broken| AdditionError::Senseless(broken.0))
}

/// The text, by what it is about.
pub(crate) struct Text {
    pub types: Cow<'static, str>,
    /// Texts of which each is a list.
    pub resources: Vec<Cow<'static, str>>,
    pub rules: Vec<Cow<'static, str>>,
    pub columns: Cow<'static, str>,
}

static TEXT: OnceLock<Text> = OnceLock::new();

pub(crate) fn text() -> &'static Text {
    TEXT.get_or_init(Text::builtin)
}

impl Text {
    fn builtin() -> Self {
        Self {
            types: include_str!("../facts/types.facts").into(),
            resources: vec![include_str!("../facts/resources.json").into()],
            rules: RULES.into_iter().map(Cow::Borrowed).collect(),
            columns: include_str!("../facts/columns.facts").into(),
        }
    }
}

const RULES: [&str; 12] = [
    include_str!("../facts/rules/admissionregistration.rules"),
    include_str!("../facts/rules/apps.rules"),
    include_str!("../facts/rules/autoscaling.rules"),
    include_str!("../facts/rules/batch.rules"),
    include_str!("../facts/rules/cluster.rules"),
    include_str!("../facts/rules/config.rules"),
    include_str!("../facts/rules/identity.rules"),
    include_str!("../facts/rules/network.rules"),
    include_str!("../facts/rules/pods.rules"),
    include_str!("../facts/rules/policy.rules"),
    include_str!("../facts/rules/resource.rules"),
    include_str!("../facts/rules/storage.rules"),
];

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    #[test]
    fn the_facts_make_sense() {
        assert!(crate::load().is_ok(), "{:?}", crate::load());
    }

    #[test]
    fn examples_in_the_document_are_lines_of_the_rules() {
        let lines: HashSet<&str> = super::RULES.iter().flat_map(|text| text.lines()).map(str::trim).collect();
        let mut tried = 0;
        let mut has_examples = false;
        for row in include_str!("../facts/rules/PRIMITIVES.md").lines() {
            has_examples = row.ends_with("| example |") || (has_examples && row.starts_with('|'));
            let cell = row.trim_end_matches(" |").rsplit(" | ").next().unwrap_or_default();
            if has_examples && cell.starts_with('`') {
                let example = cell.trim_matches('`').replace("\\|", "|");
                assert!(lines.contains(example.as_str()), "{example}");
                tried += 1;
            }
        }
        assert!(tried > 100, "{tried}");
    }
}
