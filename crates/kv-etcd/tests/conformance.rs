//! The suite of all backends, on a real etcd.
#![allow(clippy::restriction, reason = "a failed expectation is how a test reports")]

use std::sync::{Arc, Mutex};

use pawl_kv::Kv;
use pawl_kv_etcd::testing::Etcd;

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs an etcd: .ci/run etcd"]
async fn on_a_real_etcd() {
    // The suite is done with a store when it asks for the next one.
    let running: Mutex<Option<Etcd>> = Mutex::default();
    let make = || async {
        let etcd = Etcd::start().expect("an etcd on the path, or named by PAWL_ETCD");
        let store = etcd.store().await.unwrap();
        *running.lock().unwrap() = Some(etcd);
        store as Arc<dyn Kv>
    };
    if let Err(reason) = pawl_kv::conformance::run(make).await {
        panic!("{reason}");
    }
}
