//! From text to syntax tree.
//!
//! Owns the grammar, its limits, the macros and the wording of syntax errors.
//! Knows nothing of types: a tree that leaves here is well formed, not yet
//! meaningful.

pub mod ast;
mod lexer;
mod literal;
mod macros;
mod parser;
mod primary;
mod recovery;
mod token;

pub use ast::{Ast, Literal, Node, NodeId};
pub use macros::MacroSet;
pub use parser::{MAX_CODE_POINTS, MAX_DEPTH, MAX_NODES, ParserOptions, parse};
pub use primary::RESERVED;
