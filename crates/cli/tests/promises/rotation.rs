//! Keys that rotate under load: providers in turn, everything sealed anew while many write and read, and a server that is
//! killed in the middle of it. No answer is wrong, no acknowledged write is lost, and nothing plain stays on the disk.
//!
//! `PAWL_ROTATION_OBJECTS` and `PAWL_ROTATION_CLIENTS` (writers, and as many readers) ask for more than the short form has,
//! `PAWL_SEED` repeats the decisions of an earlier run.

use std::collections::BTreeMap;
use std::ops::Range;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::sealing::{RELOAD, flag, keys, kms, on_disk, start, until_metric, until_wiped, write};
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use fastrand::Rng;
use futures::future::join_all;
use futures::stream::{self, StreamExt};
use pawl_seal::testing::Plugin;
use pawl_testing::{Answer, Client, Place, Protocol, Running, pause, seed, setting};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

const SECRETS: &str = "/api/v1/namespaces/n/secrets";
/// What every value begins with. Its length is a multiple of three, so that it can be found in base64, too.
const PLAIN: &str = "plain-as-day";
const MORE: [&str; 3] = [RELOAD, "--controllers=-*", "--history=1s"];

fn secret(number: usize, count: u64) -> Value {
    json!({"metadata": {"name": format!("s{number}"), "annotations": {"count": count.to_string()}},
        "data": {"value": BASE64.encode(format!("{PLAIN}-{number}-{count}"))}})
}

/// The number of an object, and its count: the same wherever it stands.
fn whole(object: &Value) -> (usize, u64) {
    let number = object["metadata"]["name"].as_str().unwrap()[1..].parse().unwrap();
    let count = object["metadata"]["annotations"]["count"].as_str().unwrap().parse().unwrap();
    assert_eq!(object["data"], secret(number, count)["data"], "half of a write: {object}");
    (number, count)
}

/// What all clients share.
#[derive(Default)]
struct Work {
    done: AtomicBool,
    written: AtomicUsize,
    read: AtomicUsize,
    followed: AtomicUsize,
}

impl Work {
    fn goes_on(&self) -> bool {
        !self.done.load(Ordering::Relaxed)
    }
}

/// An answer that counts: none when the server is gone, nothing when one is to try again because it is too busy or has yet to hear
/// from its key service, and never another one.
async fn answered(asked: impl Future<Output = Result<Answer, pawl_testing::Failure>>) -> Option<Option<Value>> {
    let answer = asked.await.ok()?;
    match answer.code {
        429 => Some(None),
        503 if answer.json()["message"].as_str().is_some_and(|text| text.starts_with("KMS provider")) => Some(None),
        _ => Some(Some(answer.expect(200))),
    }
}

/// Counts up what nobody else writes.
struct Writer {
    /// By number: what was acknowledged, and what may have been written without a word.
    objects: BTreeMap<usize, (u64, Option<u64>)>,
}

impl Writer {
    /// Until the work is done or the server is gone.
    async fn run(mut self, client: Client, work: Arc<Work>) -> Self {
        while work.goes_on() {
            for (number, (acknowledged, maybe)) in &mut self.objects {
                let path = format!("{SECRETS}/s{number}");
                match answered(client.get(&path)).await {
                    None => return self,
                    Some(None) => continue,
                    Some(Some(read)) => {
                        let (_, count) = whole(&read);
                        let is_known = count == *acknowledged || Some(count) == *maybe;
                        assert!(is_known, "s{number} is {count}, not {acknowledged} or {maybe:?}");
                        (*acknowledged, *maybe) = (count, None);
                    }
                }
                let next = *acknowledged + 1;
                let mut patch = secret(*number, next);
                patch["metadata"].as_object_mut().unwrap().remove("name");
                match answered(client.merge(&path, &patch)).await {
                    None => {
                        *maybe = Some(next);
                        return self;
                    }
                    Some(None) => {}
                    Some(Some(written)) => {
                        assert_eq!(whole(&written), (*number, next));
                        *acknowledged = next;
                        work.written.fetch_add(1, Ordering::Relaxed);
                    }
                }
                if !work.goes_on() {
                    break;
                }
            }
        }
        self
    }
}

/// Reads objects, pages and whole lists; one of ten follows. What it has once seen never goes back.
struct Reader {
    seen: Vec<u64>,
    random: Rng,
    follows: bool,
}

impl Reader {
    fn see(&mut self, object: &Value) {
        let (number, count) = whole(object);
        assert!(count >= self.seen[number], "s{number} went back from {} to {count}", self.seen[number]);
        self.seen[number] = count;
    }

    async fn run(mut self, client: Client, work: Arc<Work>) -> Self {
        while work.goes_on() {
            if self.follows {
                if self.follow(&client, &work).await.is_none() {
                    return self;
                }
                continue;
            }
            let objects = self.seen.len();
            let (path, least) = match self.random.u8(..) {
                0 => (SECRETS.to_owned(), objects),
                1..32 => (format!("{SECRETS}?limit=100"), objects.min(100)),
                _ => (format!("{SECRETS}/s{}", self.random.usize(..objects)), 0),
            };
            let Some(answer) = answered(client.get(&path)).await else { return self };
            let Some(answer) = answer else { continue };
            work.read.fetch_add(1, Ordering::Relaxed);
            match answer["items"].as_array() {
                None => self.see(&answer),
                Some(items) => {
                    assert_eq!(items.len(), least, "{path}");
                    items.iter().for_each(|item| self.see(item));
                }
            }
        }
        self
    }

    /// A list, and a watch from there until its history is forgotten; nothing when the server is gone.
    async fn follow(&mut self, client: &Client, work: &Work) -> Option<()> {
        let Some(list) = answered(client.get(SECRETS)).await? else { return Some(()) };
        list["items"].as_array().unwrap().iter().for_each(|item| self.see(item));
        let version = list["metadata"]["resourceVersion"].as_str().unwrap();
        let path = format!("{SECRETS}?watch=1&timeoutSeconds=2&resourceVersion={version}");
        let mut watch = client.watch(&path).await.ok()?;
        while let Some(event) = watch.next().await.ok()? {
            if event["type"] == "ERROR" {
                assert_eq!(event["object"]["code"], 410, "{event}");
                break;
            }
            assert_eq!(event["type"], "MODIFIED", "{event}");
            self.see(&event["object"]);
            work.followed.fetch_add(1, Ordering::Relaxed);
        }
        Some(())
    }
}

/// All clients, between two times of work.
struct Crowd {
    writers: Vec<Writer>,
    readers: Vec<Reader>,
}

impl Crowd {
    fn new(objects: usize, clients: usize, random: &mut Rng) -> Self {
        let mine = |writer: usize| (0..objects).filter(move |number| number % clients == writer);
        let writer = |writer: usize| Writer { objects: mine(writer).map(|number| (number, (0, None))).collect() };
        let writers = (0..clients).map(writer).collect();
        let reader = |reader: usize| Reader {
            seen: vec![0; objects],
            random: random.fork(),
            follows: reader.is_multiple_of(10),
        };
        Self { writers, readers: (0..clients).map(reader).collect() }
    }

    /// Lets everybody work, until it is enough or the server is gone.
    fn begin(self, place: &Place, work: &Arc<Work>) -> Busy {
        work.done.store(false, Ordering::Relaxed);
        let client = || place.client(Protocol::Http2);
        let writers = self.writers.into_iter().map(|writer| tokio::spawn(writer.run(client(), Arc::clone(work))));
        let readers = self.readers.into_iter().map(|reader| tokio::spawn(reader.run(client(), Arc::clone(work))));
        Busy { writers: writers.collect(), readers: readers.collect() }
    }

    /// What each object may be now.
    fn promised(&self) -> BTreeMap<usize, (u64, Option<u64>)> {
        self.writers.iter().flat_map(|writer| writer.objects.clone()).collect()
    }
}

/// All clients at work.
struct Busy {
    writers: Vec<JoinHandle<Writer>>,
    readers: Vec<JoinHandle<Reader>>,
}

impl Busy {
    /// It is enough.
    async fn end(self, work: &Work) -> Crowd {
        work.done.store(true, Ordering::Relaxed);
        let writers = join_all(self.writers).await.into_iter().map(Result::unwrap).collect();
        let readers = join_all(self.readers).await.into_iter().map(Result::unwrap).collect();
        Crowd { writers, readers }
    }
}

async fn until_some_time(random: &mut Rng, milliseconds: Range<u64>) {
    tokio::time::sleep(Duration::from_millis(random.u64(milliseconds))).await;
}

/// Everything begins to be sealed anew while everybody works, and the server is killed in the middle of that. Gives another
/// one on what it left.
async fn interrupt(running: Running, random: &mut Rng) -> Running {
    let Running { mut place, server, .. } = running;
    until_some_time(random, 250..600).await;
    let data = format!("--data-dir={}", place.data().display());
    let mut rewriting = pawl_testing::pawl();
    rewriting.args(["rewrite", &data]).stdout(Stdio::null()).stderr(Stdio::null());
    let mut rewriting = rewriting.spawn().unwrap();
    until_some_time(random, 0..400).await;
    server.kill();
    rewriting.wait().unwrap();
    let server = place.start_flagged(&[&[flag(&place).as_str()], &MORE[..]].concat()).await;
    let admin = place.client(Protocol::Http2);
    Running { place, server, admin }
}

/// Everything is sealed anew while everybody works, until nothing is left; then only the new key is kept.
async fn finish(running: &mut Running, provider: &Value, random: &mut Rng) {
    let data = format!("--data-dir={}", running.place.data().display());
    let rewriting = move || pawl_testing::pawl().args(["rewrite", "--forget-history", &data]).output().unwrap();
    let output = tokio::task::spawn_blocking(rewriting).await.unwrap();
    let told = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert_eq!(output.status.code(), Some(0), "{told}");
    assert!(told.contains("objects sealed anew, 0 to go"), "{told}");
    write(&running.place.path("encryption.yaml"), &json!([provider]));
    until_metric(running, "apiserver_encryption_config_controller_automatic_reloads_total{", "status=\"success\"")
        .await;
    until_some_time(random, 50..300).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_rotate_under_load_and_kills() {
    let objects = setting("PAWL_ROTATION_OBJECTS").map_or(200, |objects| objects as usize);
    let clients = setting("PAWL_ROTATION_CLIENTS").map_or(8, |clients| clients as usize);
    let mut random = Rng::with_seed(seed());
    let directory = tempfile::tempdir().unwrap();
    let plugin = Plugin::running(&directory.path().join("kms.sock"));
    let rotation = [keys("aesgcm", &["one"]), keys("secretbox", &["two"]), keys("aescbc", &["three"]), kms(&plugin)];
    let mut before = json!({"identity": {}});
    let mut running = start(&json!([before]), &MORE).await;
    let client = &running.admin;
    let creating = (0..objects).map(|number| async move {
        client.post(SECRETS, &secret(number, 0)).await.unwrap().expect(201);
    });
    stream::iter(creating).buffer_unordered(64).for_each(|()| async {}).await;
    let encoded = BASE64.encode(PLAIN);
    assert!(on_disk(&running.place.data(), encoded.as_bytes()), "that is how it is told that it works");
    let (work, began) = (Arc::new(Work::default()), Instant::now());
    let mut crowd = Crowd::new(objects, clients, &mut random);
    for provider in rotation {
        write(&running.place.path("encryption.yaml"), &json!([provider, before]));
        let busy = crowd.begin(&running.place, &work);
        running = interrupt(running, &mut random).await;
        crowd = busy.end(&work).await;
        let busy = crowd.begin(&running.place, &work);
        finish(&mut running, &provider, &mut random).await;
        crowd = busy.end(&work).await;
        running.server.assert_no_panic();
        before = provider;
    }
    let flag = flag(&running.place);
    let mut running = running.restart(&[&[flag.as_str()], &MORE[..]].concat()).await;
    check(&running, &crowd, objects).await;
    until_wiped(&mut running, &encoded).await;
    assert!(!on_disk(&running.place.data(), PLAIN.as_bytes()));
    let counted = |counter: &AtomicUsize| counter.load(Ordering::Relaxed);
    let (written, read, followed) = (counted(&work.written), counted(&work.read), counted(&work.followed));
    eprintln!(
        "{objects} objects, {clients} writers and as many readers, 4 rotations and 4 kills in {:.0} s: {written} writes, \
         {read} reads, {followed} events",
        began.elapsed().as_secs_f64()
    );
    assert!(written > 0 && read > 0);
    running.stop().await;
}

/// Everything that was acknowledged is there, and nothing that nobody wrote.
async fn check(running: &Running, crowd: &Crowd, objects: usize) {
    let promised = crowd.promised();
    let list = loop {
        match answered(running.admin.get(SECRETS)).await.expect("it answers") {
            Some(list) => break list,
            None => pause().await,
        }
    };
    let found: BTreeMap<usize, u64> = list["items"].as_array().unwrap().iter().map(whole).collect();
    assert_eq!(found.len(), objects);
    for (number, count) in found {
        let (acknowledged, maybe) = promised[&number];
        assert!(count == acknowledged || Some(count) == maybe, "s{number} is {count}, not {acknowledged} or {maybe:?}");
    }
}
