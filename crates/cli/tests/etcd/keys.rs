//! Keys that change on several servers of one etcd, one server after the other, while everybody reads and writes.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use pawl_kv::{Kv, RangeRequest};
use pawl_kv_etcd::testing::Etcd;
use pawl_testing::sealing::{RELOAD, flag, keys, write};
use pawl_testing::{Client, Place, Protocol, Server};
use serde_json::{Value, json};

use crate::etcd;

const SECRETS: &str = "/api/v1/namespaces/default/secrets";

struct Sealing {
    place: Place,
    server: Server,
    reloads: usize,
}

impl Sealing {
    async fn join(etcd: &Etcd, names: &[&str]) -> Self {
        let mut place = Place::new();
        std::os::unix::fs::symlink("pawl-data", place.data()).unwrap();
        write(&place.path("encryption.yaml"), &json!([keys("aescbc", names)]));
        let url = etcd.url();
        let server = place.start_with(|place| {
            let mut command = etcd::command(place, &url);
            command.args([RELOAD, &flag(place)]);
            command
        });
        Self { server: server.await, place, reloads: 0 }
    }

    fn client(&self) -> Client {
        self.place.client(Protocol::Http2)
    }

    /// Changes the keys and waits until the server has taken them.
    async fn turn_to(&mut self, names: &[&str]) {
        write(&self.place.path("encryption.yaml"), &json!([keys("aescbc", names)]));
        self.reloads += 1;
        let (admin, reloads) = (self.client(), self.reloads);
        let taken = async || {
            let text = admin.get("/metrics").await?;
            let text = String::from_utf8_lossy(&text.body).into_owned();
            let name = "apiserver_encryption_config_controller_automatic_reloads_total{";
            let mut lines = text.lines().filter(|line| line.starts_with(name) && line.contains("status=\"success\""));
            let counted = lines.next().and_then(|line| line.rsplit(' ').next()?.parse::<usize>().ok());
            if counted == Some(reloads) { Ok(()) } else { Err(format!("{counted:?} of {reloads} are taken").into()) }
        };
        self.server.until(taken).await.unwrap();
    }
}

fn secret(name: &str, count: usize) -> Value {
    json!({"metadata": {"name": name}, "data": {"count": BASE64.encode(count.to_string())}})
}

/// Counts up in a Secret through one server and reads it through the other, and everything there is through both: nothing is
/// ever refused, old or unreadable.
async fn count(name: String, clients: [Client; 2], rounds: Arc<AtomicUsize>, done: Arc<AtomicBool>) -> usize {
    let [writes, reads] = clients;
    let path = format!("{SECRETS}/{name}");
    writes.post(SECRETS, &secret(&name, 0)).await.unwrap().expect(201);
    let mut count = 0;
    while !done.load(Ordering::SeqCst) {
        count += 1;
        writes.put(&path, &secret(&name, count)).await.unwrap().expect(200);
        let read = reads.get(&path).await.unwrap().expect(200);
        assert_eq!(read["data"], secret(&name, count)["data"]);
        for client in [&reads, &writes] {
            let list = client.get(SECRETS).await.unwrap().expect(200);
            assert!(list["items"].as_array().unwrap().iter().all(|item| item["data"]["count"].is_string()), "{list}");
        }
        rounds.fetch_add(1, Ordering::SeqCst);
    }
    count
}

/// Follows all Secrets, without an end and without an error, up to the last count.
async fn follow(client: Client, mut total: tokio::sync::watch::Receiver<Option<usize>>) {
    let mut watch = client.watch(&format!("{SECRETS}?watch=1&resourceVersion=0")).await.unwrap();
    let mut counts = BTreeMap::new();
    while total.borrow().is_none_or(|total| counts.values().sum::<usize>() < total) {
        let event = tokio::select! {
            event = watch.next() => event.unwrap().expect("the watch goes on"),
            _ = total.changed() => continue,
        };
        assert_ne!(event["type"], "ERROR", "{event}");
        let count = BASE64.decode(event["object"]["data"]["count"].as_str().unwrap()).unwrap();
        let count: usize = String::from_utf8(count).unwrap().parse().unwrap();
        counts.insert(event["object"]["metadata"]["name"].to_string(), count);
    }
}

/// The keys that values are sealed with, as the store has them.
async fn sealed_with(etcd: &Etcd) -> BTreeMap<String, usize> {
    let store = etcd.store().await.unwrap();
    let request = RangeRequest {
        start: "/registry/secrets/".into(),
        end: "/registry/secrets0".into(),
        limit: 0,
        revision: None,
        count: false,
    };
    let mut found = BTreeMap::new();
    for item in store.range(request).await.unwrap().items {
        let head = String::from_utf8_lossy(&item.value).into_owned();
        *found.entry(head.split(':').nth(4).unwrap_or_default().to_owned()).or_default() += 1;
    }
    found
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs an etcd: .ci/run etcd"]
async fn keys_change_on_one_server_after_the_other() {
    let etcd = Etcd::start().expect("an etcd on the path");
    let (one, two) = futures::join!(Sealing::join(&etcd, &["old"]), Sealing::join(&etcd, &["old"]));
    let mut servers = [one, two];
    let [one, two] = &servers;
    // One that is never touched again: only a rewrite seals it anew.
    one.client().post(SECRETS, &secret("still", 0)).await.unwrap().expect(201);
    let (rounds, done) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
    let start =
        |name: &str, clients| tokio::spawn(count(name.to_owned(), clients, Arc::clone(&rounds), Arc::clone(&done)));
    let counting = [start("a", [one.client(), two.client()]), start("b", [two.client(), one.client()])];
    let (last, total) = tokio::sync::watch::channel(None);
    let following = [one, two].map(|server| tokio::spawn(follow(server.client(), total.clone())));
    // Readable first, then used, and gone only when nothing is left that needs it.
    let steps: [&[&str]; 3] = [&["old", "newer"], &["newer", "old"], &["newer"]];
    for names in steps {
        if names == ["newer"] {
            let data = servers[0].place.data().to_str().unwrap().to_owned();
            etcd::moved(&["rewrite", "--data-dir", &data], 0).await;
            assert!(!sealed_with(&etcd).await.contains_key("old"));
        }
        for server in &mut servers {
            server.turn_to(names).await;
            // Both states of the servers side by side, for a while.
            let enough = rounds.load(Ordering::SeqCst) + 6;
            while rounds.load(Ordering::SeqCst) < enough {
                assert!(
                    !counting.iter().any(tokio::task::JoinHandle::is_finished),
                    "somebody was told something wrong"
                );
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        }
    }
    done.store(true, Ordering::SeqCst);
    let mut counted = 0;
    for counter in counting {
        counted += counter.await.unwrap();
    }
    last.send_replace(Some(counted));
    for follower in following {
        follower.await.unwrap();
    }
    assert_eq!(sealed_with(&etcd).await, BTreeMap::from([("newer".to_owned(), 3)]));
    for server in servers {
        server.server.assert_no_panic();
        server.server.stop().await;
    }
}
