//! A typed, costed engine for the Common Expression Language.
//!
//! An expression is parsed ([`syntax`]), checked against an environment
//! ([`env`], [`check`]), its cost estimated ([`cost`]), planned and run
//! ([`program`]). [`compile`] does the first two in one call.
//!
//! Data is JSON that is borrowed, never copied, beside the type it was declared
//! with ([`decl`]). The core knows nothing of Kubernetes; what Kubernetes adds
//! is in [`k8s`] alone.

pub mod check;
pub mod cost;
pub mod decl;
pub mod env;
pub mod error;
pub mod function;
pub mod issue;
pub mod k8s;
pub mod library;
pub mod program;
pub mod source;
pub mod syntax;
pub mod types;
pub mod value;

pub use check::Checked;
pub use env::{Env, Library};
pub use error::EvalError;
pub use issue::Issues as CompileError;
pub use program::{Bindings, Outcome, Program};
pub use types::Type;
pub use value::Val;

/// Parses and checks an expression.
pub fn compile(text: &str, env: &Env) -> Result<Checked, CompileError> {
    let source = source::Source::new(text);
    let ast = syntax::parse(&source, env.syntax())?;
    let checked = check::check(ast, &source, env)?;
    check::validate(checked, &source, env)
}

/// Runs the example of the README as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
