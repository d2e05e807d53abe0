//! `pawl serve`, and the same under the name `kube-apiserver`.

use std::process::ExitCode;

use pawl_server::flags::{FLAGS, Given, described};
use pawl_server::{Running, Settings};

use crate::{logging, runtime, say};

/// Without what test suites that start a kube-apiserver would count and do not expect, or make themselves.
const WITHOUT_EXTRAS: &str = "*,-root-ca-certificate-publisher-controller,-certificatesigningrequest-signing-controller,\
     -serviceaccount-controller";

pub fn run(given: Given) -> Result<ExitCode, String> {
    given.only_flags()?;
    let settings = Settings::read(&given).map_err(|error| error.to_string())?;
    logging::start(&given)?;
    runtime::start()?.block_on(pawl_server::serve(settings, announce)).map_err(|error| error.to_string())?;
    Ok(ExitCode::SUCCESS)
}

/// The original's flags, and its answers to `--help` and `--version`.
pub fn as_kube_apiserver(arguments: Vec<String>) -> Result<ExitCode, String> {
    if arguments.iter().any(|argument| matches!(argument.as_str(), "--version" | "--version=true")) {
        let version = pawl_server::version();
        return Ok(say(&format!(
            "Kubernetes {}\n",
            version.get("gitVersion").and_then(|v| v.as_str()).unwrap_or_default()
        )));
    }
    let mut given = Given::parse(&[FLAGS], arguments)?;
    if given.help {
        let about =
            "Pawl under the name of the Kubernetes API server, with its flags.\n\nUsage:\n  kube-apiserver [flags]\n";
        return Ok(say(&format!("{about}\nFlags:\n{}", described(FLAGS))));
    }
    given.or_else("controllers", WITHOUT_EXTRAS);
    run(given)
}

/// The three lines that a new user needs.
fn announce(running: &Running) {
    say(&format!(
        "Pawl is ready at {}\nexport KUBECONFIG={}\nStop it with Ctrl-C\n",
        running.url,
        std::path::absolute(&running.kubeconfig).unwrap_or_else(|_| running.kubeconfig.clone()).display()
    ));
}
