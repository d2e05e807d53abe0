//! Who asks for what: the first argument of every operation.

use std::collections::BTreeMap;
use std::sync::Mutex;

use std::sync::Arc;

use pawl_auth::{Attributes, Authorizer};
use pawl_kv::Guard;

pub use pawl_auth::User;

/// What somebody may be told of beside what was asked for.
#[derive(Clone, Default)]
pub enum Sight {
    #[default]
    Nothing,
    Everything,
    /// What they may read.
    Asked(Arc<dyn Authorizer + Send + Sync>),
}

impl std::fmt::Debug for Sight {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Nothing => "Nothing",
            Self::Everything => "Everything",
            Self::Asked(_) => "Asked",
        })
    }
}

/// One request on its way through the server.
#[derive(Debug, Default)]
pub struct Context {
    pub user: User,
    /// Who the write is attributed to in managedFields.
    pub manager: String,
    pub dry_run: bool,
    pub sight: Sight,
    /// What must still hold of the store whenever something is written: that nobody else has begun to do this work.
    pub fence: Option<Guard>,
    warnings: Mutex<Vec<String>>,
    notes: Mutex<BTreeMap<&'static str, String>>,
}

/// The name of the server itself.
const OWN: &str = "system:apiserver";

/// No more are kept; how much of them fits into an answer is decided when it is written.
const MAX_WARNINGS: usize = 512;

/// More is not kept of a note.
const MAX_NOTE: usize = 16 * 1024;

impl Context {
    pub fn new(user: User) -> Self {
        Self { user, ..Self::default() }
    }

    /// The server itself, at work.
    pub fn own() -> Self {
        let user = User {
            name: OWN.to_owned(),
            groups: vec!["system:masters".to_owned(), "system:authenticated".to_owned()],
            ..User::default()
        };
        Self { manager: "kube-apiserver".to_owned(), sight: Sight::Everything, ..Self::new(user) }
    }

    /// Whether somebody may be told of an object.
    pub(crate) fn sees(&self, group: &str, resource: &str, namespace: &str, name: &str) -> bool {
        match &self.sight {
            Sight::Nothing => false,
            Sight::Everything => true,
            Sight::Asked(authorizer) => {
                let asked = Attributes { namespace, name, ..Attributes::resource(&self.user, "get", group, resource) };
                authorizer.authorize(&asked).is_allowed()
            }
        }
    }

    /// Whether it is the server itself.
    pub fn is_own(&self) -> bool {
        self.user.name == OWN
    }

    /// Tells the client something, beside the answer.
    pub fn warn(&self, text: impl Into<String>) {
        let text = text.into();
        let mut warnings = self.warnings.lock().unwrap_or_else(|e| e.into_inner());
        if warnings.len() < MAX_WARNINGS && !warnings.contains(&text) {
            warnings.push(text);
        }
    }

    /// Tells the audit log something; what has the same key stands in one text.
    pub fn note(&self, key: &'static str, text: &str) {
        let mut notes = self.notes.lock().unwrap_or_else(|e| e.into_inner());
        let note = notes.entry(key).or_default();
        match note.len() + text.len() {
            0..MAX_NOTE if note.is_empty() => note.push_str(text),
            0..MAX_NOTE => note.extend(["; ", text]),
            _ if note.ends_with("; ...") => {}
            _ => note.push_str("; ..."),
        }
    }

    /// How much has been said so far, for [`Context::forget_since`].
    pub(crate) fn said(&self) -> usize {
        self.warnings.lock().unwrap_or_else(|e| e.into_inner()).len()
    }

    /// Takes back what was said since then: it was about an attempt that came too late.
    pub(crate) fn forget_since(&self, said: usize) {
        self.warnings.lock().unwrap_or_else(|e| e.into_inner()).truncate(said);
    }

    pub fn take_notes(&self) -> BTreeMap<&'static str, String> {
        std::mem::take(&mut self.notes.lock().unwrap_or_else(|e| e.into_inner()))
    }

    pub fn take_warnings(&self) -> Vec<String> {
        std::mem::take(&mut self.warnings.lock().unwrap_or_else(|e| e.into_inner()))
    }
}

impl pawl_admission::Remarks for Context {
    fn warn(&self, text: String) {
        Self::warn(self, text);
    }

    fn note(&self, key: &'static str, text: &str) {
        Self::note(self, key, text);
    }
}
