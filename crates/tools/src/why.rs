//! Why an object stays: everything that keeps it or needs it, as a tree, and for each the command that resolves it.
//!
//! `gather` asks the server, `tree` shows what was found.

mod gather;
mod tree;

use serde_json::{Value, json};

use crate::Ended;
use crate::resources::{Named, Resources};
use crate::screen::{Format, Screen};
use crate::server::Server;

/// What a finding is about, in the order in which it is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum About {
    Unreadable,
    Lien,
    User,
    Finalizer,
    Dependent,
    Owner,
    Condition,
    Content,
    Neighbour,
    Invalid,
}

impl About {
    fn title(self) -> &'static str {
        match self {
            Self::Unreadable => "it cannot be read",
            Self::Lien => "liens",
            Self::User => "used by",
            Self::Finalizer => "finalizers",
            Self::Dependent => "dependents",
            Self::Owner => "owners",
            Self::Condition => "what the namespace says",
            Self::Content => "in the namespace",
            Self::Neighbour => "neighbours that cannot be read",
            Self::Invalid => "invalid under today's schema",
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Unreadable => "unreadable",
            Self::Lien => "lien",
            Self::User => "user",
            Self::Finalizer => "finalizer",
            Self::Dependent => "dependent",
            Self::Owner => "owner",
            Self::Condition => "condition",
            Self::Content => "content",
            Self::Neighbour => "neighbour",
            Self::Invalid => "invalid",
        }
    }
}

/// One thing that keeps an object or needs it.
#[derive(Clone, Debug)]
struct Finding {
    about: About,
    what: String,
    /// Whether the object stays because of it.
    keeps: bool,
    notes: Vec<String>,
    command: Option<String>,
}

impl Finding {
    fn new(about: About, what: impl Into<String>) -> Self {
        Self { about, what: what.into(), keeps: false, notes: Vec::new(), command: None }
    }

    fn keeping(mut self, keeps: bool) -> Self {
        self.keeps = keeps;
        self
    }

    fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    fn resolved_by(mut self, command: impl Into<String>) -> Self {
        self.command = Some(command.into());
        self
    }

    fn value(&self) -> Value {
        let mut value =
            json!({"about": self.about.word(), "what": self.what, "keeps": self.keeps, "notes": self.notes});
        if let (Value::Object(fields), Some(command)) = (&mut value, &self.command) {
            fields.insert("command".to_owned(), json!(command));
        }
        value
    }
}

/// All that was found of an object.
struct Why {
    named: Named,
    /// Since when it is being deleted.
    deleted: Option<String>,
    findings: Vec<Finding>,
    /// What could not be found out, and why.
    missing: Vec<String>,
}

impl Why {
    fn is_kept(&self) -> bool {
        self.findings.iter().any(|finding| finding.keeps)
    }

    fn value(&self) -> Value {
        let mut object = self.named.value();
        if let Value::Object(fields) = &mut object {
            fields.insert("deletionTimestamp".to_owned(), json!(self.deleted));
        }
        let findings: Vec<Value> = self.findings.iter().map(Finding::value).collect();
        json!({"kind": "Why", "apiVersion": "tools.pawl.dev/v1", "object": object, "kept": self.is_kept(),
            "findings": findings, "missing": self.missing})
    }
}

/// `pawl why TYPE/NAME`.
pub async fn why(server: &Server, screen: &Screen, words: &[String]) -> Result<Ended, String> {
    let resources = Resources::of(server).await?;
    let named = resources.named(words, &server.namespace)?;
    let why = gather::gather(server, &resources, named, screen.format == Format::Wide).await?;
    let text = match screen.format {
        Format::Name => tree::names(&why),
        format => format.of_value(&why.value()).unwrap_or_else(|| tree::tree(&why, screen)),
    };
    screen.say(&text);
    Ok(Ended::found(why.is_kept()))
}
