//! Servers on an etcd. These tests need one: .ci/run brings it.

#![allow(clippy::restriction, reason = "a failed expectation is how a test reports")]

mod cluster;
mod etcd;
mod keys;
