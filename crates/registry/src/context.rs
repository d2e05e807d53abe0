//! Who asks for what: the first argument of every operation.

use std::sync::Mutex;

pub use pawl_auth::User;

/// One request on its way through the server.
#[derive(Debug, Default)]
pub struct Context {
    pub user: User,
    /// Who the write is attributed to in managedFields.
    pub manager: String,
    pub dry_run: bool,
    warnings: Mutex<Vec<String>>,
}

impl Context {
    pub fn new(user: User) -> Self {
        Self { user, ..Self::default() }
    }

    /// The server itself, at work.
    pub fn own() -> Self {
        let user = User {
            name: "system:apiserver".to_owned(),
            groups: vec!["system:masters".to_owned(), "system:authenticated".to_owned()],
            ..User::default()
        };
        Self { manager: "kube-apiserver".to_owned(), ..Self::new(user) }
    }

    /// Tells the client something, beside the answer.
    pub fn warn(&self, text: impl Into<String>) {
        let text = text.into();
        let mut warnings = self.warnings.lock().unwrap_or_else(|e| e.into_inner());
        if !warnings.contains(&text) {
            warnings.push(text);
        }
    }

    pub fn take_warnings(&self) -> Vec<String> {
        std::mem::take(&mut self.warnings.lock().unwrap_or_else(|e| e.into_inner()))
    }
}
