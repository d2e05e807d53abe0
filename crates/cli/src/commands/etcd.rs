//! Under the name `etcd`: the stand-in that test environments start before the API server.

use std::path::Path;
use std::process::ExitCode;

use pawl_server::StandIn;
use pawl_server::flags::{Flag, Given, described, switch, used};
use tokio::signal::unix::{SignalKind, signal};

use crate::{runtime, say};

/// What of etcd's flags means something; the others are taken and ignored, whatever they are.
const FLAGS: &[Flag] = &[
    used("data-dir", "default.etcd", "the directory that the API server keeps its store in"),
    used("listen-client-urls", "http://localhost:2379", "where it answers, on this machine only"),
    switch("unsafe-no-fsync", "false", "the store may acknowledge writes before they are on the disk"),
];

pub fn run(arguments: Vec<String>) -> Result<ExitCode, String> {
    if arguments.iter().any(|argument| argument == "--version") {
        let arch = std::env::consts::ARCH;
        return Ok(say(&format!(
            "etcd Version: {}\nGit SHA: pawl\nGo Version: none\nGo OS/Arch: linux/{arch}\n",
            pawl_server::ETCD_VERSION
        )));
    }
    let given = Given::parse(&[FLAGS], known(arguments))?;
    if given.help {
        let about = "Pawl's stand-in for etcd: it holds a directory for the API server and is no etcd otherwise.";
        return Ok(say(&format!("{about}\n\nUsage:\n  etcd [flags]\n\nFlags:\n{}", described(FLAGS))));
    }
    let sync = !given.switch("unsafe-no-fsync")?;
    let urls = match given.list("listen-client-urls") {
        urls if urls.is_empty() => vec![given.value("listen-client-urls").to_owned()],
        urls => urls,
    };
    runtime::start()?.block_on(async {
        let failed = |error: std::io::Error| error.to_string();
        let mut terminate = signal(SignalKind::terminate()).map_err(failed)?;
        let mut interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
        let stand_in = StandIn::listen(&urls, Path::new(given.value("data-dir")), sync);
        let stand_in = stand_in.await.map_err(|error| error.to_string())?;
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
            () = stand_in.run() => {}
        }
        Ok(ExitCode::SUCCESS)
    })
}

/// The arguments whose flags are known, with their values.
fn known(arguments: Vec<String>) -> Vec<String> {
    let mut kept = Vec::new();
    let mut arguments = arguments.into_iter().peekable();
    while let Some(argument) = arguments.next() {
        let name = argument.trim_start_matches('-').split('=').next().unwrap_or_default().replace('_', "-");
        let flag = FLAGS.iter().find(|flag| flag.name == name);
        let has_value = !argument.contains('=') && arguments.peek().is_some_and(|next| !next.starts_with('-'));
        match flag {
            Some(flag) => {
                kept.push(argument);
                if has_value && !flag.is_switch {
                    kept.extend(arguments.next());
                }
            }
            None if matches!(name.as_str(), "help" | "h") => kept.push(argument),
            None if has_value => drop(arguments.next()),
            None => {}
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_that_mean_nothing_here_are_passed_over() {
        let given = [
            "--listen-peer-urls=http://localhost:0",
            "--name",
            "a",
            "--data-dir",
            "/d",
            "--advertise-client-urls=http://x",
            "--unsafe-no-fsync",
            "--listen-client-urls=http://127.0.0.1:1",
        ];
        let kept = known(given.iter().map(|argument| (*argument).to_owned()).collect());
        assert_eq!(kept, ["--data-dir", "/d", "--unsafe-no-fsync", "--listen-client-urls=http://127.0.0.1:1"]);
    }
}
