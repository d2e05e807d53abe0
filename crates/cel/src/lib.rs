//! A typed, costed engine for the Common Expression Language.
pub mod check;
pub mod cost;
pub mod decl;
pub mod env;
pub mod error;
pub mod function;
pub mod issue;
pub mod library;
pub mod program;
pub mod source;
pub mod syntax;
pub mod types;
pub mod value;
