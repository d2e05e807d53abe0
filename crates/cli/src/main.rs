//! The binary `pawl`. Under the name `kube-apiserver` it is `pawl serve`.

use std::io::Write;
use std::process::ExitCode;

use pawl_server::flags::{Given, help};
use pawl_server::{Running, Settings};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tracing::Level;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let mut arguments = std::env::args();
    let program = arguments.next().unwrap_or_default();
    let mut arguments: Vec<String> = arguments.collect();
    let is_apiserver = std::path::Path::new(&program).file_name().is_some_and(|name| name == "kube-apiserver");
    if !is_apiserver {
        match arguments.first().map(String::as_str) {
            Some("serve") => drop(arguments.remove(0)),
            Some("version" | "--version") => return say(concat!("pawl ", env!("CARGO_PKG_VERSION"), "\n")),
            None | Some("help" | "--help" | "-h") => return say(&help()),
            Some(other) => return fail(&format!("unknown command {other:?} for \"pawl\"")),
        }
    }
    let given = match Given::parse(arguments) {
        Ok(given) if given.help => return say(&help()),
        Ok(given) => given,
        Err(why) => return fail(&why),
    };
    let settings = match Settings::read(&given) {
        Ok(settings) => settings,
        Err(error) => return fail(&error.to_string()),
    };
    if let Err(why) = log_to_stderr(&given) {
        return fail(&why);
    }
    raise_file_limit();
    // Two workers: beyond that the store and the kernel are what there is to wait for.
    let threads = std::thread::available_parallelism().map_or(2, |n| n.get().clamp(2, 8));
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(threads)
        .thread_stack_size(4 << 20)
        .enable_all()
        .build();
    let result = match runtime {
        Ok(runtime) => runtime.block_on(pawl_server::serve(settings, announce)),
        Err(error) => return fail(&error.to_string()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(&error.to_string()),
    }
}

/// As many connections as the system allows at all: the usual limit is for programs that cannot cope with more, and a
/// thousand idle clients would shut everybody out. What cannot be raised stays as it is.
fn raise_file_limit() {
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
}

/// The three lines that a new user needs.
fn announce(running: &Running) {
    say(&format!(
        "Pawl is ready at {}\nexport KUBECONFIG={}\nStop it with Ctrl-C\n",
        running.url,
        std::path::absolute(&running.kubeconfig).unwrap_or_else(|_| running.kubeconfig.clone()).display()
    ));
}

fn log_to_stderr(given: &Given) -> Result<(), String> {
    let level = match given.number::<u64>("v")? {
        0..=1 => Level::INFO,
        2..=5 => Level::DEBUG,
        _ => Level::TRACE,
    };
    let subscriber = tracing_subscriber::fmt().with_max_level(level).with_writer(std::io::stderr).with_target(false);
    match given.value("logging-format") {
        "text" => subscriber.init(),
        "json" => subscriber.json().init(),
        other => return Err(format!("invalid argument {other:?} for \"--logging-format\" flag: must be text or json")),
    }
    Ok(())
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
