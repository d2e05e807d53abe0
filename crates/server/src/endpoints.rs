//! Where the service `kubernetes` leads to when several servers share a store: to all of them.
//!
//! Owns a key for this server below `masterleases`, which goes by itself when the server does. The keys and their times are
//! kube-apiserver's, so that servers of both kinds are listed together.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use pawl_kv::{Change, Expect, Kv, Outcome, RangeRequest, Write};
use pawl_registry::Registry;
use serde_json::json;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::bootstrap::{self, Placeholders};
use crate::host::can_be_endpoint;

const PREFIX: &str = "/registry/masterleases/";
const END: &str = "/registry/masterleases0";
const EVERY: Duration = Duration::from_secs(10);
const LIVES: Duration = Duration::from_secs(15);

/// A server that is listed, until it stops.
pub struct Listing {
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Listing {
    /// Lists a server, where others can reach it at all.
    pub fn start(registry: &Arc<Registry>, placeholders: Placeholders) -> Option<Self> {
        if !can_be_endpoint(placeholders.ip) {
            return None;
        }
        let (stop, stopping) = watch::channel(false);
        Some(Self { stop, task: tokio::spawn(run(Arc::clone(registry), placeholders, stopping)) })
    }

    /// Takes the server off the list.
    pub async fn stop(self) {
        let _ = self.stop.send(true);
        let _ = self.task.await;
    }
}

async fn run(registry: Arc<Registry>, placeholders: Placeholders, mut stopping: watch::Receiver<bool>) {
    let kv = Arc::clone(registry.storage().kv());
    loop {
        if let Err(why) = renew(&*kv, placeholders.ip).await {
            tracing::warn!(%why, "this server could not be listed");
        }
        show(&registry, &*kv, &placeholders).await;
        tokio::select! {
            () = tokio::time::sleep(EVERY) => {}
            _ = stopping.wait_for(|stop| *stop) => break,
        }
    }
    if let Err(why) = withdraw(&*kv, placeholders.ip).await {
        tracing::info!(%why, "this server stays listed for a while");
    }
    show(&registry, &*kv, &placeholders).await;
}

fn key(ip: IpAddr) -> Bytes {
    Bytes::from(format!("{PREFIX}{ip}"))
}

/// Writes the key of a server anew, so that it lives on.
async fn renew(kv: &dyn Kv, ip: IpAddr) -> pawl_kv::Result<()> {
    let object = json!({
        "kind": "Endpoints", "apiVersion": "v1", "metadata": {"generation": pawl_meta::time::unix_now()},
        "subsets": [{"addresses": [{"ip": ip.to_string()}]}],
    });
    let change = Change::Put { value: object.to_string().into(), ttl: Some(LIVES) };
    write(kv, ip, change).await
}

async fn withdraw(kv: &dyn Kv, ip: IpAddr) -> pawl_kv::Result<()> {
    write(kv, ip, Change::Delete).await
}

async fn write(kv: &dyn Kv, ip: IpAddr, change: Change) -> pawl_kv::Result<()> {
    let mut held = kv.get(key(ip)).await?;
    loop {
        let expect = match &held {
            Some(held) => Expect::Revision(held.mod_revision),
            None if change == Change::Delete => return Ok(()),
            None => Expect::Absent,
        };
        match kv.write(Write::new(key(ip), expect, change.clone())).await? {
            Outcome::Applied { .. } => return Ok(()),
            Outcome::Conflict { current } => held = current,
        }
    }
}

/// Makes the endpoints of the service say what the keys do. No servers at all is no answer.
async fn show(registry: &Registry, kv: &dyn Kv, placeholders: &Placeholders) {
    let request = RangeRequest { start: PREFIX.into(), end: END.into(), ..RangeRequest::default() };
    let found = match kv.range(request).await {
        Ok(range) => range.items,
        Err(why) => return tracing::warn!(%why, "the servers could not be listed"),
    };
    let address = |key: &Bytes| std::str::from_utf8(key.strip_prefix(PREFIX.as_bytes())?).ok()?.parse::<IpAddr>().ok();
    let listed = found.iter().filter_map(|item| address(&item.key));
    let listed: Vec<IpAddr> = listed.filter(|ip| ip.is_ipv4() == placeholders.ip.is_ipv4()).collect();
    if !listed.is_empty() {
        bootstrap::lead_to(registry, placeholders, &listed).await;
    }
}
