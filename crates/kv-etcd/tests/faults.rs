//! What can go wrong between a store and its etcd, done to a real one.
#![allow(clippy::restriction, reason = "a failed expectation is how a test reports")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures::StreamExt;
use pawl_kv::{Change, Error, Expect, Kv, Outcome, WatchMessage, Write};
use pawl_kv_etcd::testing::Etcd;
use pawl_kv_etcd::{Options, Store};
use pawl_testing::proxy::Proxy;

fn put(key: &str, value: impl Into<Bytes>) -> Write {
    Write::new(key.to_owned(), Expect::Absent, Change::Put { value: value.into(), ttl: None })
}

async fn until(mut holds: impl AsyncFnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !holds().await {
        assert!(Instant::now() < deadline, "it does not come to that");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

async fn through(proxy: &Proxy) -> Arc<Store> {
    Store::open(Options { servers: vec![proxy.url()], ..Options::default() }).await.unwrap()
}

/// The write arrives and its answer does not: nobody may say that it failed, and nobody sends it again.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs an etcd: .ci/run etcd"]
async fn a_lost_answer_leaves_the_outcome_unknown() {
    let etcd = Etcd::start().expect("an etcd on the path");
    let proxy = Proxy::start(&etcd.url());
    let (store, direct) = (through(&proxy).await, etcd.store().await.unwrap());
    for round in 0..10 {
        let key = format!("/a/{round}");
        let before = direct.revision().await.unwrap();
        proxy.lose_answers();
        let writing = store.write(put(&key, "x"));
        let cutting = async {
            until(async || direct.revision().await.unwrap() > before).await;
            proxy.cut();
        };
        let (written, ()) = futures::join!(writing, cutting);
        assert!(matches!(written, Err(Error::Unknown(_))), "{written:?}");
        proxy.heal();
        // The next read shows the truth: it was done, once.
        until(async || store.get(key.clone().into()).await.is_ok()).await;
        let held = store.get(key.clone().into()).await.unwrap().unwrap();
        assert_eq!((held.create_revision, held.mod_revision), (before + 1, before + 1));
        assert_eq!(direct.revision().await.unwrap(), before + 1);
    }
}

/// Nobody is there: that is known, and everything works again afterwards.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs an etcd: .ci/run etcd"]
async fn a_write_to_nobody_was_not_applied() {
    let mut etcd = Etcd::start().expect("an etcd on the path");
    let store = etcd.store().await.unwrap();
    let mut watch = store.watch("/".into(), store.revision().await.unwrap()).await.unwrap();
    etcd.kill().unwrap();
    until(async || store.health().is_err()).await;
    let refused = store.write(put("/a", "x")).await;
    assert!(matches!(refused, Err(Error::ReadOnly(_))), "{refused:?}");
    assert!(matches!(store.revision().await, Err(Error::Unavailable(_))));
    let ended = watch.next().await.unwrap();
    assert!(ended.as_ref().is_err_and(Error::passes), "{ended:?}");
    etcd.resume().unwrap();
    until(async || store.health().is_ok()).await;
    assert!(matches!(store.write(put("/a", "x")).await, Ok(Outcome::Applied { .. })));
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs an etcd: .ci/run etcd"]
async fn what_is_too_large_and_an_etcd_that_is_full() {
    let etcd = Etcd::start_with(&["--quota-backend-bytes=4000000"]).expect("an etcd on the path");
    let store = etcd.store().await.unwrap();
    let large = store.write(put("/large", vec![0; 2_000_000])).await;
    assert_eq!(large, Err(Error::TooLarge { size: 2_000_006, limit: 1_572_864 }));
    let mut number = 0;
    let full = loop {
        number += 1;
        match store.write(put(&format!("/full/{number}"), vec![0; 500_000])).await {
            Ok(_) => assert!(number < 100, "it is never full"),
            Err(error) => break error,
        }
    };
    assert!(matches!(&full, Error::ReadOnly(why) if why.contains("space")), "{full:?}");
    until(async || matches!(store.health(), Err(Error::ReadOnly(why)) if why.contains("NOSPACE"))).await;
    // What is there can be read.
    assert!(store.get("/full/1".into()).await.unwrap().is_some());
}

/// Keys of one lease end in one transaction: all of its events are one message.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs an etcd: .ci/run etcd"]
async fn what_ends_together_is_told_together() {
    let etcd = Etcd::start().expect("an etcd on the path");
    let store = etcd.store().await.unwrap();
    let begin = store.revision().await.unwrap();
    let ttl = Some(Duration::from_secs(20));
    // A lease for 20 s is shared for one second: the first of these is alone for as long as it takes to write the others.
    for number in 0..50 {
        let write = Write::new(format!("/e/{number}"), Expect::Absent, Change::Put { value: "x".into(), ttl });
        store.write(write).await.unwrap();
    }
    let mut watch = store.watch("/e/".into(), begin).await.unwrap();
    let mut ends: Vec<(u64, usize)> = Vec::new();
    let mut gone = 0;
    while gone < 50 {
        let WatchMessage::Events(events) = watch.next().await.unwrap().unwrap() else { continue };
        for event in events.iter().filter(|event| event.value.is_none()) {
            gone += 1;
            assert!(event.previous.is_some(), "{event:?}");
            match ends.last_mut() {
                Some((revision, count)) if *revision == event.revision => *count += 1,
                _ => ends.push((event.revision, 1)),
            }
        }
        // No revision is in two messages.
        let first = events.first().unwrap().revision;
        assert!(ends.iter().all(|(revision, _)| *revision <= events.last().unwrap().revision && first > 0));
    }
    assert!(ends.iter().any(|(_, count)| *count > 1), "no lease was shared: {ends:?}");
}

/// One server forgets what is older than an interval; the others agree by the common key.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs an etcd: .ci/run etcd"]
async fn history_is_forgotten_by_one_of_several() {
    let etcd = Etcd::start().expect("an etcd on the path");
    let options = Options { compaction: Some(Duration::from_millis(200)), ..etcd.options() };
    let (one, two) = (Store::open(options.clone()).await.unwrap(), Store::open(options).await.unwrap());
    let first = match one.write(put("/a", "x")).await.unwrap() {
        Outcome::Applied { revision } => revision,
        other => panic!("{other:?}"),
    };
    until(async || {
        let number = two.revision().await.unwrap();
        two.write(put(&format!("/b/{number}"), "x")).await.unwrap();
        matches!(one.watch("/".into(), first).await, Err(Error::Compacted { .. }))
    })
    .await;
    assert!(one.get("/a".into()).await.unwrap().is_some());
}

/// Several clusters of servers may share an etcd, each below a prefix of its own.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs an etcd: .ci/run etcd"]
async fn what_is_below_another_prefix_is_somebody_elses() {
    let etcd = Etcd::start().expect("an etcd on the path");
    let usual = etcd.store().await.unwrap();
    let other = Store::open(Options { prefix: "/other".to_owned(), ..etcd.options() }).await.unwrap();
    let begin = other.revision().await.unwrap();
    let mut watch = other.watch("/registry/".into(), begin).await.unwrap();
    usual.write(put("/registry/pods/a", "usual")).await.unwrap();
    other.write(put("/registry/pods/a", "other")).await.unwrap();
    assert_eq!(usual.get("/other/pods/a".into()).await.unwrap().unwrap().value, "other");
    assert_eq!(other.get("/registry/pods/a".into()).await.unwrap().unwrap().value, "other");
    let all = pawl_kv::RangeRequest { start: "/registry/".into(), end: "/registry0".into(), ..Default::default() };
    let items = other.range(all).await.unwrap().items;
    assert_eq!(
        items.iter().map(|item| (&item.key[..], &item.value[..])).collect::<Vec<_>>(),
        [(&b"/registry/pods/a"[..], &b"other"[..])]
    );
    let told = loop {
        if let WatchMessage::Events(events) = watch.next().await.unwrap().unwrap() {
            break events;
        }
    };
    assert_eq!(told.iter().map(|event| event.value.clone().unwrap()).collect::<Vec<_>>(), ["other"]);
}

#[tokio::test]
#[ignore = "needs an etcd: .ci/run etcd"]
async fn certificates_are_asked_for_and_read_anew() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    let issue = |serial: u32| {
        let script = format!(
            "set -e; cd {0}; openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout ca.key -out ca.crt \
             -subj /CN=ca{serial} -days 2 2>/dev/null; \
             for who in server client; do \
             openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout $who.key -out $who.csr -subj /CN=$who 2>/dev/null; \
             printf 'subjectAltName=IP:127.0.0.1\\nextendedKeyUsage=serverAuth,clientAuth\\n' > ext; \
             openssl x509 -req -in $who.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 2 -extfile ext -out $who.crt 2>/dev/null; \
             done",
            directory.path().display()
        );
        let done = std::process::Command::new("sh").arg("-c").arg(script).status().unwrap();
        assert!(done.success());
    };
    issue(1);
    let flag = |name: &str, file: &str| format!("--{name}={}", path(file).display());
    let flags = [
        flag("cert-file", "server.crt"),
        flag("key-file", "server.key"),
        flag("trusted-ca-file", "ca.crt"),
        "--client-cert-auth".to_owned(),
    ];
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let mut etcd = Etcd::start_with(&flags).expect("an etcd on the path");
    let files = pawl_kv_etcd::Files {
        authorities: Some(path("ca.crt")),
        certificate: Some(path("client.crt")),
        key: Some(path("client.key")),
    };
    let options = Options { files, ..etcd.options() };
    assert!(options.servers[0].starts_with("https://"), "{options:?}");
    let store = Store::open(options.clone()).await.unwrap();
    assert!(matches!(store.write(put("/a", "x")).await, Ok(Outcome::Applied { .. })));
    // Who shows nothing is not let in.
    let nobody = pawl_kv_etcd::Files { certificate: None, key: None, ..options.files.clone() };
    assert!(Store::open(Options { files: nobody, ..options }).await.is_err());
    // Everything is issued anew, by another authority: the next connection uses it.
    issue(2);
    etcd.resume().unwrap();
    until(async || store.get("/a".into()).await.is_ok()).await;
}
