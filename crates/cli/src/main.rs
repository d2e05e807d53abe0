//! The binary `pawl`. Under the name `kube-apiserver` it is `pawl serve`, under the name `etcd` the stand-in that test
//! environments start first.

mod commands;
mod completion;
mod logging;
mod manual;
mod runtime;

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let mut arguments = std::env::args();
    let program = arguments.next().unwrap_or_default();
    let name = Path::new(&program).file_name().and_then(|name| name.to_str()).unwrap_or_default();
    match commands::dispatch(name, arguments.collect()) {
        Ok(code) => code,
        Err(why) => fail(&why),
    }
}

fn say(text: &str) -> ExitCode {
    // Nobody reads on: that is not our error.
    let _ = std::io::stdout().write_all(text.as_bytes());
    ExitCode::SUCCESS
}

fn fail(why: &str) -> ExitCode {
    let _ = writeln!(std::io::stderr(), "Error: {why}");
    ExitCode::FAILURE
}
