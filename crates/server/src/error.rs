//! Why a server cannot start, or go on.

use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{0}")]
    Flag(String),
    #[error("cannot use {path}: {source}")]
    File { path: PathBuf, source: std::io::Error },
    #[error("{path} is open to others (mode {mode:04o}) and cannot be closed: {source}")]
    Open { path: PathBuf, mode: u32, source: std::io::Error },
    #[error("certificate: {0}")]
    Certificate(String),
    #[error("cannot open the store in {path}: {source}")]
    Store { path: PathBuf, source: pawl_kv::Error },
    #[error("the seed cannot be applied: {0}")]
    Seed(String),
    #[error("cannot start: {0}")]
    Start(String),
    #[error("the caches can no longer follow the store: {0}")]
    Following(String),
    #[error("cannot listen on {address}: {source}")]
    Listen { address: String, source: std::io::Error },
}

impl Error {
    pub fn file(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::File { path, source }
    }
}
