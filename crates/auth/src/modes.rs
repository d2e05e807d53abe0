//! The authorizers of `--authorization-mode`, asked in the order of the flag.

use std::sync::Arc;

use pawl_meta::go;

use crate::rbac::{Index, Rule, UserRules};
use crate::{Attributes, Authorizer, Decision, User, names};

/// One mode of the flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Rbac,
    AlwaysAllow,
    AlwaysDeny,
}

/// Members of `system:masters` may do everything; others are put before each mode in turn until one decides.
pub struct Chain {
    modes: Vec<Mode>,
    index: Arc<Index>,
}

/// Why a list of modes cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ModeError {
    #[error("at least one authorization-mode must be passed")]
    None,
    #[error("authorization-mode {} is not a valid mode", go::quote(.0))]
    Unknown(String),
    #[error("authorization-mode {} is not built into this server", go::quote(.0))]
    NotBuilt(String),
    #[error("authorization-mode [{}] has mode specified more than once", .0)]
    Repeated(String),
}

impl Mode {
    /// Reads the values of the flag.
    pub fn parse_all<S: AsRef<str>>(values: &[S]) -> Result<Vec<Self>, ModeError> {
        let mut modes = Vec::new();
        for value in values.iter().map(AsRef::as_ref) {
            let mode = match value {
                "RBAC" => Self::Rbac,
                "AlwaysAllow" => Self::AlwaysAllow,
                "AlwaysDeny" => Self::AlwaysDeny,
                // A server that dropped one of these silently would let the wrong ones in.
                "Node" | "ABAC" | "Webhook" => return Err(ModeError::NotBuilt(value.to_owned())),
                _ => return Err(ModeError::Unknown(value.to_owned())),
            };
            if modes.contains(&mode) {
                let all: Vec<String> = values.iter().map(|v| go::quote(v.as_ref())).collect();
                return Err(ModeError::Repeated(all.join(" ")));
            }
            modes.push(mode);
        }
        if modes.is_empty() { Err(ModeError::None) } else { Ok(modes) }
    }
}

impl Chain {
    pub fn new(modes: Vec<Mode>, index: Arc<Index>) -> Self {
        Self { modes, index }
    }

    pub fn index(&self) -> &Index {
        &self.index
    }

    /// What a user may do in a namespace, as far as the modes can list it; `system:masters` does not show.
    pub fn rules_for(&self, user: &User, namespace: &str) -> UserRules {
        let mut all = UserRules::default();
        for mode in &self.modes {
            match mode {
                Mode::Rbac => {
                    let found = self.index.rules_for(user, namespace);
                    all.rules.extend(found.rules);
                    all.problems.extend(found.problems);
                }
                Mode::AlwaysAllow => all.rules.extend([Rule::every_resource(), Rule::every_path()]),
                Mode::AlwaysDeny => {}
            }
        }
        all
    }
}

impl Authorizer for Chain {
    fn authorize(&self, asked: &Attributes<'_>) -> Decision {
        if asked.user.is_in(names::MASTERS) {
            return Decision::Allow { reason: String::new() };
        }
        let mut reasons = Vec::new();
        for mode in &self.modes {
            let decision = match mode {
                Mode::Rbac => self.index.authorize(asked),
                Mode::AlwaysAllow => Decision::Allow { reason: String::new() },
                Mode::AlwaysDeny => Decision::NoOpinion { reason: "Everything is forbidden.".to_owned() },
            };
            match decision {
                Decision::NoOpinion { reason } if reason.is_empty() => {}
                Decision::NoOpinion { reason } => reasons.push(reason),
                decided => return decided,
            }
        }
        Decision::NoOpinion { reason: reasons.join("\n") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_parse_as_upstreams() {
        let check = |values: &[&str], expect: &str| {
            let got = Mode::parse_all(values);
            assert_eq!(got.map_or_else(|e| e.to_string(), |modes| format!("{modes:?}")), expect);
        };
        check(&["RBAC", "AlwaysDeny"], "[Rbac, AlwaysDeny]");
        check(&[], "at least one authorization-mode must be passed");
        check(&["X"], r#"authorization-mode "X" is not a valid mode"#);
        check(&["Node", "RBAC"], r#"authorization-mode "Node" is not built into this server"#);
        check(&["RBAC", "RBAC"], r#"authorization-mode ["RBAC" "RBAC"] has mode specified more than once"#);
    }

    #[test]
    fn modes_decide_in_order() {
        let check = |modes: &[Mode], user: User, allowed: bool, reason: &str| {
            let chain = Chain::new(modes.to_vec(), Arc::new(Index::new()));
            let decision = chain.authorize(&Attributes::resource(&user, "get", "", "pods"));
            assert_eq!((decision.is_allowed(), decision.reason()), (allowed, reason), "{modes:?}");
        };
        check(&[Mode::Rbac], User::named("a"), false, "");
        check(&[Mode::AlwaysDeny], User::named("a"), false, "Everything is forbidden.");
        check(&[Mode::AlwaysDeny, Mode::AlwaysAllow], User::named("a"), true, "");
        check(&[Mode::AlwaysDeny], User::named("a").with_groups(["system:masters"]), true, "");
    }
}
