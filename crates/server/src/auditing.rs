//! The audit policy and log, from flags.

use std::fs;
use std::sync::Arc;

use pawl_audit::{AuditLog, Policy, Rotation};
use pawl_http::Audit;

use crate::{Error, Settings};

/// What is recorded; nothing without a policy and a log.
pub fn build(settings: &Settings) -> Result<Option<Arc<Audit>>, Error> {
    // A policy that cannot be used is told of, even where no log asks for it yet.
    let Some(policy) = &settings.audit.policy_file else { return Ok(None) };
    let text = fs::read_to_string(policy).map_err(Error::file(policy))?;
    let wrong = |why: String| Error::Flag(format!("loading audit policy file: {}: {why}", policy.display()));
    let parsed = pawl_schema::yaml::parse(&text).map_err(wrong)?;
    let policy = Policy::from_value(&parsed.value).map_err(|e| wrong(e.to_string()))?;
    let Some(path) = &settings.audit.log_path else { return Ok(None) };
    let log = AuditLog::open(path, settings.audit.rotation).map_err(|e| Error::Flag(format!("{path}: {e}")))?;
    Ok(Some(Arc::new(Audit { policy, log })))
}

/// What the flags say about auditing.
#[derive(Clone, Debug)]
pub struct Auditing {
    pub policy_file: Option<std::path::PathBuf>,
    pub log_path: Option<String>,
    pub rotation: Rotation,
}
