//! Why an evaluation has no value.

use std::borrow::Cow;

/// The failure of an evaluation.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EvalError {
    /// An operation failed. Logical operators may absorb it.
    #[error("{0}")]
    Failed(Cow<'static, str>),
    /// The evaluation became too expensive. Nothing absorbs it.
    #[error("operation cancelled: actual cost limit exceeded")]
    CostLimit,
}

impl EvalError {
    pub(crate) fn new(message: impl Into<Cow<'static, str>>) -> EvalError {
        EvalError::Failed(message.into())
    }

    /// The arguments fit none of the function's signatures.
    pub(crate) const NO_OVERLOAD: EvalError = EvalError::Failed(Cow::Borrowed("no such overload"));

    /// Whether this is about arguments that fit no signature.
    pub fn is_no_such_overload(&self) -> bool {
        matches!(self, EvalError::Failed(message) if message.starts_with("no such overload"))
    }

    pub(crate) fn no_such_key(key: impl std::fmt::Display) -> EvalError {
        EvalError::new(format!("no such key: {key}"))
    }

    pub(crate) fn conversion(from: &str, to: &str) -> EvalError {
        EvalError::new(format!("type conversion error from '{from}' to '{to}'"))
    }
}
