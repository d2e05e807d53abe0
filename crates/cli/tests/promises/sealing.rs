//! Servers with keys: configurations, commands, and what is on the disk.
use std::path::Path;

use pawl_seal::testing::Plugin;
use serde_json::{Value, json};

pub use pawl_testing::sealing::{RELOAD, flag, keys, write, write_for};
use pawl_testing::{Place, Running};

pub fn kms(plugin: &Plugin) -> Value {
    json!({"kms": {"apiVersion": "v2", "name": "vault", "endpoint": plugin.endpoint(), "timeout": "2s"}})
}

pub async fn start(providers: &Value, more: &[&str]) -> Running {
    let place = Place::new();
    write(&place.path("encryption.yaml"), providers);
    let flag = flag(&place);
    Running::start_in(place, &[&[flag.as_str()], more].concat()).await
}

/// Whether a text is anywhere in the files of a server. Some of them may go meanwhile.
pub fn on_disk(directory: &Path, text: &[u8]) -> bool {
    std::fs::read_dir(directory).unwrap().any(|entry| {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => on_disk(&path, text),
            false => std::fs::read(&path).unwrap_or_default().windows(text.len()).any(|at| at == text),
        }
    })
}

/// The first write after a start begins a new segment, and the old one goes, with what was plain in it.
pub async fn until_wiped(running: &mut Running, text: &str) {
    running.admin.post("/api/v1/namespaces", &json!({"metadata": {"name": "m"}})).await.unwrap().expect(201);
    let data = running.place.data();
    let wiped = async || match on_disk(&data, text.as_bytes()) {
        false => Ok(()),
        true => Err("there is still something plain on the disk".into()),
    };
    running.server.until(wiped).await.unwrap();
}

/// Waits until a series of a metric is there and not zero.
pub async fn until_metric(running: &mut Running, name: &str, label: &str) {
    let Running { server, admin, .. } = running;
    let counted = async || {
        let text = admin.get("/metrics").await?;
        let text = String::from_utf8_lossy(&text.body).into_owned();
        let found = text.lines().find(|line| line.starts_with(name) && line.contains(label));
        match found.is_some_and(|line| !line.ends_with(" 0")) {
            true => Ok(()),
            false => Err(format!("{name} is not counted").into()),
        }
    };
    server.until(counted).await.unwrap_or_else(|why| panic!("{why}"));
}

/// Runs a command on the directory of a server: its exit code, and what it wrote.
pub fn command(place: &Place, arguments: &[&str]) -> (Option<i32>, String) {
    let data = format!("--data-dir={}", place.data().display());
    let output = pawl_testing::pawl().args(arguments).arg(data).output().unwrap();
    let told = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8_lossy(&told).into_owned())
}
