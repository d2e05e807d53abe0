//! `pawl check`: what would become of what is stored.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use pawl_server::flags::{Flag, Given, used};

use crate::{runtime, say};

pub const FLAGS: &[Flag] = &[
    used("data-dir", "./pawl-data", "where everything is kept"),
    used("encryption-provider-config", "", "the encryption configuration to try"),
    used("kubeconfig", "", "how the server is asked (default: admin.kubeconfig in the data directory)"),
];

pub fn run(given: Given) -> Result<ExitCode, String> {
    given.only_flags()?;
    let config = Some(given.value("encryption-provider-config")).filter(|path| !path.is_empty());
    let config = config.ok_or("--encryption-provider-config=FILE says what to check")?;
    let data = Path::new(given.value("data-dir"));
    let kubeconfig = kubeconfig(&given);
    let lost = pawl_server::check_encryption(data, &kubeconfig, Path::new(config));
    let lost = runtime::start()?.block_on(lost)?;
    if lost.is_empty() {
        return Ok(say("every object can be read with this configuration\n"));
    }
    for (resource, count) in &lost {
        say(&format!("{resource}: {count} objects could not be read\n"));
    }
    Ok(ExitCode::FAILURE)
}

/// The kubeconfig that was named, or the one that the server made.
pub fn kubeconfig(given: &Given) -> PathBuf {
    match given.value("kubeconfig") {
        "" => Path::new(given.value("data-dir")).join("admin.kubeconfig"),
        named => PathBuf::from(named),
    }
}
