//! The audit policy and log, from flags.

use std::fs;
use std::sync::Arc;

use pawl_audit::{AuditLog, Policy, Rotation};
use pawl_auth::Attributes;
use pawl_controllers::{Act, Witness};
use pawl_http::Audit;

use crate::{Error, Settings};

/// What the policy says, before anything is made. One that cannot be used is told of, even where no log asks for it yet.
pub fn policy(settings: &Settings) -> Result<Option<Policy>, Error> {
    let Some(policy) = &settings.audit.policy_file else {
        if settings.audit.log_path.is_some() {
            tracing::warn!("--audit-log-path without --audit-policy-file: nothing will be recorded");
        }
        return Ok(None);
    };
    let text = fs::read_to_string(policy).map_err(Error::file(policy))?;
    let wrong = |why: String| Error::Flag(format!("loading audit policy file: {}: {why}", policy.display()));
    let parsed = pawl_schema::yaml::parse(&text).map_err(wrong)?;
    Policy::from_value(&parsed.value).map(Some).map_err(|e| wrong(e.to_string()))
}

/// What is recorded; nothing without a policy and a log.
pub fn build(settings: &Settings, policy: Option<Policy>) -> Result<Option<Arc<Audit>>, Error> {
    let (Some(policy), Some(path)) = (policy, &settings.audit.log_path) else { return Ok(None) };
    let log = AuditLog::open(path, settings.audit.rotation).map_err(|e| Error::Flag(format!("{path}: {e}")))?;
    Ok(Some(Arc::new(Audit { policy, log })))
}

/// Records what controllers write.
pub struct Recorder(pub Arc<Audit>);

impl std::fmt::Debug for Recorder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Recorder")
    }
}

impl Witness for Recorder {
    fn wrote(&self, act: &Act<'_>) {
        let asked = &act.asked;
        let mut path = match asked.api_group {
            "" => format!("/api/{}", asked.api_version),
            group => format!("/apis/{group}/{}", asked.api_version),
        };
        if !asked.namespace.is_empty() {
            path.extend(["/namespaces/", asked.namespace]);
        }
        for part in [asked.resource, asked.name, asked.subresource].into_iter().filter(|part| !part.is_empty()) {
            path.extend(["/", part]);
        }
        self.0.acted(&Attributes { path: &path, ..*asked }, act.code, act.notes.clone());
    }
}

/// What the flags say about auditing.
#[derive(Clone, Debug)]
pub struct Auditing {
    pub policy_file: Option<std::path::PathBuf>,
    pub log_path: Option<String>,
    pub rotation: Rotation,
}
