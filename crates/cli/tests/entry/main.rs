//! How a server is started, told what to do, and stopped.

#![allow(clippy::restriction, reason = "a failed expectation is how a test reports")]

mod command_line;
mod differences;
mod entry;
mod envtest;
mod flags;
mod gates;
mod stop;
