//! What is logged, and how: to standard error, by `-v` and `--logging-format`.

use std::io::IsTerminal;

use pawl_server::flags::Given;
use tracing::Level;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::prelude::*;

/// What is logged at a level of verbosity. A line for each request comes at 3, as upstream has it; what goes on inside of
/// connections only far above. Nothing here writes traces, and a release build has none of what others would trace.
fn targets(verbosity: u64) -> Targets {
    let ours = if verbosity >= 4 { Level::DEBUG } else { Level::INFO };
    let requests = if verbosity >= 3 { Level::INFO } else { Level::WARN };
    let others = if verbosity >= 8 { Level::DEBUG } else { Level::WARN };
    Targets::new().with_default(others).with_target("pawl", ours).with_target(pawl_server::REQUESTS, requests)
}

/// Logs to standard error from now on, in colours where somebody looks at it.
pub fn start(given: &Given) -> Result<(), String> {
    begin(given, std::io::stderr, std::io::stderr().is_terminal())
}

/// Logs to a file from now on.
pub fn start_to(given: &Given, file: std::fs::File) -> Result<(), String> {
    begin(given, std::sync::Arc::new(file), false)
}

fn begin<W>(given: &Given, to: W, colours: bool) -> Result<(), String>
where
    W: for<'w> MakeWriter<'w> + Send + Sync + 'static,
{
    let registry = tracing_subscriber::registry().with(targets(given.number("v")?));
    let layer = tracing_subscriber::fmt::layer().with_writer(to).with_target(false);
    match given.value("logging-format") {
        "text" => registry.with(layer.with_ansi(colours)).init(),
        "json" => registry.with(layer.json()).init(),
        other => return Err(format!("invalid argument {other:?} for \"--logging-format\" flag: must be text or json")),
    }
    Ok(())
}
