//! `pawl run -- COMMAND`: a private server for the length of one command.

use std::fs::File;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use pawl_server::flags::{Flag, Given, switch, used};
use pawl_server::{Running, Settings};
use tempfile::TempDir;
use tokio::signal::unix::{SignalKind, signal};

use crate::{logging, runtime};

pub const FLAGS: &[Flag] = &[
    used("crds", "", "a file or directory of definitions that are applied before the command runs"),
    switch("keep", "false", "keep the server's directory, and say where it is"),
];

pub fn run(mut given: Given) -> Result<ExitCode, String> {
    let Some((program, arguments)) = given.rest.split_first().map(|(first, rest)| (first.clone(), rest.to_vec()))
    else {
        return Err("give a command: pawl run [flags] -- COMMAND [ARGUMENT...]".to_owned());
    };
    let keep = given.switch("keep")?;
    let directory = TempDir::with_prefix("pawl-run-").map_err(|error| error.to_string())?;
    given.or_else("secure-port", "0");
    given.or_else("unsafe-no-fsync", "true");
    given.or_else("data-dir", directory.path().join("data").to_string_lossy());
    let mut settings = Settings::read(&given).map_err(|error| error.to_string())?;
    settings.seed = given.list("crds").into_iter().map(PathBuf::from).chain(settings.seed).collect();
    let log = directory.path().join("server.log");
    logging::start_to(&given, File::create(&log).map_err(|error| format!("{}: {error}", log.display()))?)?;
    let code = runtime::start()?.block_on(attended(settings, &program, &arguments));
    if !matches!(code, Ok(0)) {
        show(&log);
    }
    if keep {
        let kept = directory.keep();
        let _ = writeln!(std::io::stderr(), "kept: {}", kept.display());
    }
    Ok(ExitCode::from(code?))
}

/// Runs the command while the server does, and gives its exit code.
async fn attended(settings: Settings, program: &str, arguments: &[String]) -> Result<u8, String> {
    let running = pawl_server::start(settings).await.map_err(|error| error.to_string())?;
    tracing::info!(url = running.url, "ready");
    let code = command(&running, program, arguments).await;
    running.stop().await;
    code
}

async fn command(running: &Running, program: &str, arguments: &[String]) -> Result<u8, String> {
    let failed = |error: std::io::Error| format!("{program}: {error}");
    let mut terminate = signal(SignalKind::terminate()).map_err(failed)?;
    // Ctrl-C reaches the command too, which decides what becomes of it.
    let mut interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
    let mut child = tokio::process::Command::new(program)
        .args(arguments)
        .env("KUBECONFIG", &running.kubeconfig)
        .kill_on_drop(true)
        .spawn()
        .map_err(failed)?;
    let status = loop {
        tokio::select! {
            status = child.wait() => break status.map_err(failed)?,
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {
                child.kill().await.map_err(failed)?;
            }
        }
    };
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(1);
    Ok(u8::try_from(code).unwrap_or(1))
}

/// What the server logged.
fn show(log: &Path) {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    if !text.is_empty() {
        let _ = write!(std::io::stderr(), "--- the server's log ---\n{text}");
    }
}
