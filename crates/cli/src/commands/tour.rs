//! `pawl tour`: the five promises, against a private server that is gone afterwards.

use std::fs::{self, File};
use std::path::Path;
use std::process::{ExitCode, Stdio};
use std::time::{Duration, Instant};

use pawl_server::flags::Given;
use pawl_tools::{Connect, Format, Screen, Server, Tour, connect};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use tokio::process::{Child, Command};

use crate::runtime;

/// A server starts in far less.
const PATIENCE: Duration = Duration::from_secs(30);

pub fn run(given: Given) -> Result<ExitCode, String> {
    given.only_flags()?;
    let directory = TempDir::with_prefix("pawl-tour-").map_err(|error| error.to_string())?;
    let held = runtime::start()?.block_on(guided(directory.path()))?;
    Ok(if held { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn guided(directory: &Path) -> Result<bool, String> {
    let mut tour = Tour::begin(Screen::new(Format::Plain));
    let private = Private::start(directory, "first", "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=").await?;
    tour.promises(&private.server).await?;
    tour.before_the_key_is_lost(&private.server).await?;
    private.stop().await?;
    let private = Private::start(directory, "second", "AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI=").await?;
    tour.after_the_key_is_lost(&private.server).await?;
    private.stop().await?;
    Ok(tour.end())
}

/// A server of our own; it goes with us, however we end.
struct Private {
    child: Child,
    server: Server,
}

impl Private {
    /// Starts it on what is in the directory, with a key for Secrets that is for show.
    async fn start(directory: &Path, key: &str, secret: &str) -> Result<Self, String> {
        let failed = |error: std::io::Error| format!("{}: {error}", directory.display());
        let config = directory.join(format!("{key}.encryption.yaml"));
        let text = format!(
            "kind: EncryptionConfiguration\napiVersion: apiserver.config.k8s.io/v1\nresources:\n- resources: [secrets]\n  \
             providers:\n  - aesgcm:\n      keys:\n      - name: {key}\n        secret: {secret}\n"
        );
        fs::write(&config, text).map_err(failed)?;
        let kubeconfig = directory.join(format!("{key}.kubeconfig"));
        let log = directory.join(format!("{key}.log"));
        let mut command = Command::new(std::env::current_exe().map_err(failed)?);
        command.args(["serve", "--secure-port=0", "--unsafe-no-fsync", "--exit-with-parent"]);
        command.arg("--disable-admission-plugins=ServiceAccount");
        for (flag, path) in [
            ("data-dir", directory.join("data")),
            ("encryption-provider-config", config),
            ("write-kubeconfig", kubeconfig.clone()),
        ] {
            command.arg(format!("--{flag}={}", path.display()));
        }
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(File::create(&log).map_err(failed)?);
        let mut child = command.kill_on_drop(true).spawn().map_err(failed)?;
        ready(&mut child, &kubeconfig, &log).await?;
        let server = connect(&Connect { kubeconfig: Some(kubeconfig), ..Connect::default() }).await?;
        Ok(Self { child, server })
    }

    async fn stop(mut self) -> Result<(), String> {
        let pid = self.child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        if let Some(pid) = pid {
            kill_process(pid, Signal::TERM).map_err(|error| error.to_string())?;
        }
        self.child.wait().await.map(drop).map_err(|error| error.to_string())
    }
}

/// Waits for the file that is there when the server is ready.
async fn ready(child: &mut Child, kubeconfig: &Path, log: &Path) -> Result<(), String> {
    let deadline = Instant::now() + PATIENCE;
    while !kubeconfig.exists() {
        let ended = child.try_wait().map_err(|error| error.to_string())?.is_some();
        if ended || Instant::now() > deadline {
            return Err(format!("the server did not start: {}", fs::read_to_string(log).unwrap_or_default()));
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    Ok(())
}
