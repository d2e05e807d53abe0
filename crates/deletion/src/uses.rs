//! How a refusal names the users of an object.

use std::fmt;

use pawl_meta::Cause;

/// The reason of the causes that name users.
pub const IN_USE: &str = "InUse";
/// How many users the message names; the causes have more.
const NAMED: usize = 3;

/// Who uses an object that must not be deleted while anybody does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InUse {
    pub users: Vec<UsedBy>,
    /// How many more there are, whom whoever asked may not know or need not.
    pub others: usize,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UsedBy {
    pub kind: String,
    pub namespace: String,
    pub name: String,
    /// The fields that name the object; none where they cannot be read.
    pub fields: Vec<String>,
}

impl fmt::Display for UsedBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.namespace.as_str() {
            "" => write!(f, "{} \"{}\"", self.kind, self.name),
            namespace => write!(f, "{} \"{namespace}/{}\"", self.kind, self.name),
        }
    }
}

impl fmt::Display for InUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named: Vec<String> = self.users.iter().take(NAMED).map(ToString::to_string).collect();
        f.write_str(&named.join(", "))?;
        match (self.users.len().saturating_sub(NAMED) + self.others, named.is_empty()) {
            (0, _) => Ok(()),
            (others, true) => write!(f, "{others} objects that you may not read"),
            (others, false) => write!(f, " and {others} more"),
        }
    }
}

impl InUse {
    /// A cause for each field of each user.
    pub(crate) fn causes(&self) -> Vec<Cause> {
        let cause =
            |message: String, field: &str| Cause { reason: IN_USE.to_owned(), message, field: field.to_owned() };
        let mut causes = Vec::new();
        for user in &self.users {
            causes.extend(user.fields.iter().map(|field| cause(format!("used by {user} in {field}"), field)));
            if user.fields.is_empty() {
                causes.push(cause(format!("perhaps used by {user}, which cannot be read"), ""));
            }
        }
        if self.others > 0 {
            causes.push(cause(format!("used by {} objects that are not named here", self.others), ""));
        }
        causes
    }
}
