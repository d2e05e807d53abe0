//! What sealing costs beside what is stored as it is, and many objects that a lost key makes unreadable.

use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Value, json};

use super::{CONFIGMAPS, configmap, each, newest};
use pawl_testing::{Place, Protocol, Server};

const RELOAD: &str = "--encryption-provider-config-automatic-reload";

fn key(name: &str) -> Value {
    json!({"name": name, "secret": BASE64.encode([name.len() as u8; 32])})
}

fn aesgcm(names: &[&str]) -> Value {
    json!([{"aesgcm": {"keys": names.iter().map(|name| key(name)).collect::<Vec<_>>()}}])
}

/// Puts a configuration in its place in one step.
fn use_keys(place: &Place, providers: &Value) {
    let text = json!({"apiVersion": "apiserver.config.k8s.io/v1", "kind": "EncryptionConfiguration",
        "resources": [{"resources": ["configmaps"], "providers": providers}]});
    std::fs::write(place.path("keys.half"), text.to_string()).unwrap();
    std::fs::rename(place.path("keys.half"), place.path("keys")).unwrap();
}

async fn start(providers: &Value) -> (Place, Server) {
    let mut place = Place::new();
    use_keys(&place, providers);
    let keys = format!("--encryption-provider-config={}", place.path("keys").display());
    let server = place.start_flagged(&[&keys, RELOAD, "--controllers=-*"]).await;
    (place, server)
}

/// How long the log is that is there: segments say where the one before ends, the mark where the last one does
/// (`docs/storage-format.md`).
fn logged(place: &Place) -> u64 {
    let store = place.data().join("store");
    let number = |bytes: &[u8], at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
    let last = number(&std::fs::read(store.join("acknowledged")).unwrap(), 16);
    let files = std::fs::read_dir(store).unwrap().map(|entry| entry.unwrap().path());
    let segments = files.filter(|path| path.extension().is_some_and(|extension| extension == "log"));
    let ends = segments.map(|path| {
        let mut header = [0; 64];
        std::io::Read::read_exact(&mut std::fs::File::open(path).unwrap(), &mut header).unwrap();
        number(&header, 40)
    });
    last + ends.sum::<u64>()
}

/// Microseconds of the server's processors for each of some things.
async fn busy(server: &Server, many: usize, work: impl Future<Output = ()>) -> f64 {
    let before = server.cpu();
    work.await;
    (server.cpu() - before).as_secs_f64() * 1e6 / many as f64
}

/// How often every object is changed.
const ROUNDS: usize = 5;

/// Creates, reads, lists, watches and changes with values as they are, and sealed.
pub async fn beside_plain() {
    let many = pawl_testing::setting("PAWL_BENCH_OBJECTS").map_or(20_000, |many| many as usize);
    for (name, providers) in [("identity", json!([{"identity": {}}])), ("aesgcm", aesgcm(&["one"]))] {
        let (place, server) = start(&providers).await;
        let client = &place.client(Protocol::Http2);
        client.get("/readyz").await.unwrap();
        let (empty, log) = (server.resident(), logged(&place));
        let create = |i| async move { drop(client.post(CONFIGMAPS, &configmap(i, 0)).await.unwrap().expect(201)) };
        let made = busy(&server, many, each(0..many, create)).await;
        let (held, created_log) = (server.resident() - empty, logged(&place) - log);
        let get = |i| async move { drop(client.get(&format!("{CONFIGMAPS}/c-{i}")).await.unwrap().expect(200)) };
        let read = busy(&server, many, each(0..many, get)).await;
        let lists = async {
            for _ in 0..10 {
                client.get(CONFIGMAPS).await.unwrap().ok().unwrap();
            }
        };
        let listed = busy(&server, 10 * many, lists).await;
        let log = logged(&place);
        let changes = async {
            for round in 1..=ROUNDS {
                each(0..many, |i| change(client, i, round)).await;
            }
        };
        let changed = busy(&server, ROUNDS * many, changes).await;
        let changed_log = logged(&place) - log;
        let followed = watched(&server, client, many / 10).await;
        println!(
            "{name}: {many} objects; processors: create {made:.0} us, get {read:.1} us, list {listed:.2} us an object, change \
             {changed:.0} us, change that {WATCHES} watch {followed:.1} us a watch; {:.2} kB resident an object; log {:.2} kB a \
             create, {:.2} kB a change",
            held as f64 / many as f64,
            created_log as f64 / 1e3 / many as f64,
            changed_log as f64 / 1e3 / (ROUNDS * many) as f64,
        );
        server.stop().await;
    }
}

async fn change(client: &pawl_testing::Client, number: usize, round: usize) {
    client.put(&format!("{CONFIGMAPS}/c-{number}"), &configmap(number, round)).await.unwrap().expect(200);
}

const WATCHES: usize = 20;

/// What a change costs for each of those who watch it, the change itself included.
async fn watched(server: &Server, client: &pawl_testing::Client, events: usize) -> f64 {
    let path = format!("{CONFIGMAPS}?watch=true&resourceVersion={}", newest(client).await);
    let mut watches = Vec::new();
    for _ in 0..WATCHES {
        watches.push(client.watch(&path).await.unwrap());
    }
    let following = watches.iter_mut().map(|watch| async move {
        for _ in 0..events {
            assert_eq!(watch.next().await.unwrap().unwrap()["type"], "MODIFIED");
        }
    });
    let writing = each(0..events, |i| change(client, i, ROUNDS + 1));
    let work = async { drop(futures::future::join(writing, futures::future::join_all(following)).await) };
    busy(server, events * WATCHES, work).await
}

/// One object in ten was sealed by a key that is lost, and found again.
pub async fn unreadable() {
    let many = pawl_testing::setting("PAWL_BENCH_OBJECTS").map_or(100_000, |many| many as usize);
    let lost = many / 10;
    let (place, mut server) = start(&aesgcm(&["lost"])).await;
    let client = &place.client(Protocol::Http2);
    let create = |i: usize| async move {
        drop(client.post(CONFIGMAPS, &configmap(i, 0)).await.unwrap().expect(201));
    };
    each(0..lost, create).await;
    let both = aesgcm(&["other!", "lost"]);
    use_keys(&place, &both);
    tokio::time::sleep(Duration::from_secs(2)).await;
    each(lost..many, create).await;
    let before = server.resident();
    println!("{many} objects, {lost} of them sealed by another key: {:.0} MB resident", before as f64 / 1e3);
    let one = format!("{CONFIGMAPS}/c-0");
    let rounds = pawl_testing::setting("PAWL_BENCH_ROUNDS").unwrap_or(5);
    for round in 1..=rounds {
        let began = Instant::now();
        use_keys(&place, &aesgcm(&["other!"]));
        until(&mut server, client, &one, 500).await;
        let turned = began.elapsed();
        let list = list(&server, client, CONFIGMAPS, 500).await;
        let page = self::list(&server, client, &format!("{CONFIGMAPS}?limit=500"), 500).await;
        let named = self::list(&server, client, "/apis/storage.pawl.dev/v1/unreadableobjects", 200).await;
        let good = self::list(&server, client, &format!("{CONFIGMAPS}/c-{}", many - 1), 200).await;
        let unreadable = server.resident();
        let began = Instant::now();
        use_keys(&place, &both);
        until(&mut server, client, &format!("{CONFIGMAPS}?limit=500"), 200).await;
        let returned = began.elapsed();
        println!(
            "round {round}: unreadable after {:.2} s; list {list}, page {page}, the list of them {named}, a good object {good}; \
             all readable {:.2} s after the key returned; {:.0} MB resident without it, {:.0} MB with it",
            turned.as_secs_f64(),
            returned.as_secs_f64(),
            unreadable as f64 / 1e3,
            server.resident() as f64 / 1e3,
        );
    }
    let status = server.proc("status");
    let peak = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap_or_default();
    println!("the most that was resident: {}", peak.trim_start_matches("VmHWM:").trim());
    server.stop().await;
}

async fn until(server: &mut Server, client: &pawl_testing::Client, path: &str, code: u16) {
    let answered = async || match client.get(path).await?.code {
        found if found == code => Ok(()),
        found => Err(format!("{path} is answered with {found}").into()),
    };
    server.until(answered).await.unwrap();
}

/// What a request takes, how large its answer is, and what it costs the server.
async fn list(server: &Server, client: &pawl_testing::Client, path: &str, code: u16) -> String {
    const TIMES: u32 = 20;
    let (began, cpu) = (Instant::now(), server.cpu());
    let mut length = 0;
    for _ in 0..TIMES {
        let answer = client.get(path).await.unwrap();
        assert_eq!(answer.code, code, "{path}");
        length = answer.body.len();
    }
    let each = |time: Duration| time.as_secs_f64() * 1e3 / f64::from(TIMES);
    format!(
        "{:.1} ms ({:.1} ms of processors, {:.1} kB)",
        each(began.elapsed()),
        each(server.cpu() - cpu),
        length as f64 / 1e3
    )
}
