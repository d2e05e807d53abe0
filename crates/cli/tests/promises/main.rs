//! The promises, one proposal after the other, and the tools that show them.

#![allow(clippy::restriction, reason = "a failed expectation is how a test reports")]

mod asking;
mod elsewhere;
mod encryption;
mod in_use;
mod liens;
mod liens_writes;
mod migration;
mod namespaces;
mod rotation;
mod sealing;
mod standalone;
mod tools;
mod unreadable;
mod why;
