//! `pawl controller`: one of the controllers of Secrets and ConfigMaps in use alone, for servers that have liens and none of it.

use std::path::PathBuf;
use std::process::ExitCode;

use pawl_server::flags::{Flag, Given, switch, used};
use pawl_standalone::{Options, Protection};
use tokio::signal::unix::{SignalKind, signal};

use crate::{logging, runtime};

pub const FLAGS: &[Flag] = &[
    used("kubeconfig", "", "how the server is found (default: as a Pod finds its own)"),
    switch("leader-elect", "true", "only one of many works, by a Lease"),
    used("lease-namespace", "kube-system", "where that Lease is"),
    used("bind-address", "127.0.0.1:8080", "where /healthz and /metrics are; empty: nowhere"),
    used("v", "0", "how much is logged"),
    used("logging-format", "text", "text or json"),
];

pub fn run(given: Given) -> Result<ExitCode, String> {
    let protection = match given.rest.as_slice() {
        [name] if name == "secret-protection" => Protection::SECRETS,
        [name] if name == "configmap-protection" => Protection::CONFIG_MAPS,
        _ => return Err("which one: secret-protection or configmap-protection".to_owned()),
    };
    let listen = match given.value("bind-address") {
        "" => None,
        text => Some(text.parse().map_err(|_| format!("--bind-address={text}: not an address with a port"))?),
    };
    let options = Options {
        protection,
        kubeconfig: Some(given.value("kubeconfig")).filter(|path| !path.is_empty()).map(PathBuf::from),
        lease_namespace: given.switch("leader-elect")?.then(|| given.value("lease-namespace").to_owned()),
        listen,
    };
    logging::start(&given)?;
    let run = async {
        let failed = |error: std::io::Error| error.to_string();
        let mut terminate = signal(SignalKind::terminate()).map_err(failed)?;
        let mut interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
        let stop = async move {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
        };
        pawl_standalone::run(options, stop).await
    };
    runtime::start()?.block_on(run)?;
    Ok(ExitCode::SUCCESS)
}
