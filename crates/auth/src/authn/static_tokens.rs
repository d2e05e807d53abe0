//! Users by a fixed token, from the file of `--token-auth-file`.

use std::collections::HashMap;

use ring::digest;
use subtle::ConstantTimeEq;

use super::csv::{self, CsvError};
use super::{Authenticator, Credential, Identity, Outcome, intersection};
use crate::User;

/// Tokens by the hash of each: finding one takes no longer the closer a guess is.
pub struct StaticTokens {
    users: HashMap<[u8; 32], (String, User)>,
    audiences: Vec<String>,
    warnings: Vec<String>,
}

/// Why a token file cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenFileError {
    #[error(transparent)]
    Csv(#[from] CsvError),
    #[error("token file '{path}' must have at least 3 columns (token, user name, user uid), found {found}")]
    Columns { path: String, found: usize },
}

impl StaticTokens {
    /// Reads `token,user,uid,"group1,group2"` per line; the path is only for messages.
    pub fn parse(path: &str, text: &str) -> Result<Self, TokenFileError> {
        let mut users = HashMap::new();
        let mut warnings = Vec::new();
        for (i, record) in csv::records(text)?.into_iter().enumerate() {
            let [token, name, uid, more @ ..] = record.as_slice() else {
                return Err(TokenFileError::Columns { path: path.to_owned(), found: record.len() });
            };
            let number = i + 1;
            if token.is_empty() {
                warnings.push(format!("empty token has been found in token file '{path}', record number '{number}'"));
                continue;
            }
            let groups = more.first().map(|groups| groups.split(',').map(str::to_owned).collect()).unwrap_or_default();
            let user = User { name: name.clone(), uid: uid.clone(), groups, ..User::default() };
            if users.insert(hash(token), (token.clone(), user)).is_some() {
                warnings
                    .push(format!("duplicate token has been found in token file '{path}', record number '{number}'"));
            }
        }
        Ok(Self { users, audiences: Vec::new(), warnings })
    }

    /// The server's own audiences: the only ones that these tokens are good for.
    pub fn with_audiences(mut self, audiences: Vec<String>) -> Self {
        self.audiences = audiences;
        self
    }

    /// Oddities of the file that the log should show.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }
}

impl Authenticator for StaticTokens {
    fn authenticate(&self, credential: &Credential<'_>, audiences: &[String]) -> Outcome {
        let Credential::Token(token) = credential else { return Outcome::NotMine };
        let shared = intersection(&self.audiences, audiences);
        if !audiences.is_empty() && shared.is_empty() {
            return Outcome::NotMine;
        }
        match self.users.get(&hash(token)) {
            Some((known, user)) if bool::from(known.as_bytes().ct_eq(token.as_bytes())) => {
                Outcome::Known(Box::new(Identity { user: user.clone(), audiences: shared, ..Identity::default() }))
            }
            _ => Outcome::NotMine,
        }
    }
}

fn hash(token: &str) -> [u8; 32] {
    let mut hash = [0; 32];
    hash.copy_from_slice(digest::digest(&digest::SHA256, token.as_bytes()).as_ref());
    hash
}

#[cfg(test)]
mod tests {
    use super::*;

    fn who(file: &str, token: &str) -> Option<(String, Vec<String>)> {
        let tokens = StaticTokens::parse("f.csv", file).unwrap();
        match tokens.authenticate(&Credential::Token(token), &[]) {
            Outcome::Known(identity) => Some((identity.user.name, identity.user.groups)),
            _ => None,
        }
    }

    #[test]
    fn tokens_name_users() {
        let file = "t1,alice,1\nt2,bob,2,\"a,b\"\nt3,eve,3,\n";
        assert_eq!(who(file, "t1"), Some(("alice".to_owned(), vec![])));
        assert_eq!(who(file, "t2"), Some(("bob".to_owned(), vec!["a".to_owned(), "b".to_owned()])));
        assert_eq!(who(file, "t3"), Some(("eve".to_owned(), vec![String::new()])));
        assert_eq!(who(file, "t"), None);
        assert_eq!(who(file, ""), None);
    }

    #[test]
    fn files_are_refused_and_warned_of_as_upstreams() {
        let refused = StaticTokens::parse("f.csv", "t,alice\n").err().map(|e| e.to_string());
        let text = "token file 'f.csv' must have at least 3 columns (token, user name, user uid), found 2";
        assert_eq!(refused.as_deref(), Some(text));
        let tokens = StaticTokens::parse("f.csv", "t,a,1\n,b,2\nt,c,3\n").unwrap();
        assert_eq!(
            tokens.warnings(),
            [
                "empty token has been found in token file 'f.csv', record number '2'",
                "duplicate token has been found in token file 'f.csv', record number '3'",
            ]
        );
    }

    #[test]
    fn audiences_must_be_the_servers() {
        let tokens = StaticTokens::parse("f.csv", "t,a,1\n").unwrap().with_audiences(vec!["api".to_owned()]);
        let ask = |audience: &str| tokens.authenticate(&Credential::Token("t"), &[audience.to_owned()]);
        assert!(matches!(ask("api"), Outcome::Known(identity) if identity.audiences == ["api"]));
        assert_eq!(ask("other"), Outcome::NotMine);
    }
}
