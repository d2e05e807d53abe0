//! What clients see of kinds, of custom resources and of the server's own paths, and what they may send.

#![allow(clippy::restriction, reason = "a failed expectation is how a test reports")]

mod bad_input;
mod custom_resources;
mod every_kind;
mod harvest;
mod kinds;
mod kube_rs;
mod messages;
mod metrics;
mod protobuf;
mod recordings;
mod websocket;
