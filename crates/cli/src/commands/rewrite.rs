//! `pawl rewrite`: everything is sealed as it would be today.

use std::process::ExitCode;

use pawl_server::flags::{Flag, Given, switch, used};

use super::check::kubeconfig;
use crate::{runtime, say};

pub const FLAGS: &[Flag] = &[
    used("data-dir", "./pawl-data", "where the server keeps everything, its kubeconfig too"),
    switch("forget-history", "false", "forget old versions too; watches that resume from before have to list again"),
    used("kubeconfig", "", "how the server is asked (default: admin.kubeconfig in the data directory)"),
];

pub fn run(given: Given) -> Result<ExitCode, String> {
    given.only_flags()?;
    let forget = given.switch("forget-history")?;
    let path = kubeconfig(&given);
    let rewritten = pawl_server::rewrite(&path, forget, |told| {
        say(&format!("{told}\n"));
    });
    runtime::start()?.block_on(rewritten)?;
    Ok(ExitCode::SUCCESS)
}
