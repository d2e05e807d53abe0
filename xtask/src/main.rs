//! Chores of this repository: `cargo xtask tidy` and `cargo xtask soak`.

mod soak;
mod tidy;

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    // As cargo says now: a clone may use what another one has built.
    let own = std::env::var("CARGO_MANIFEST_DIR").unwrap_or_default();
    let root = Path::new(&own).parent().unwrap_or(Path::new("."));
    let chore = std::env::args().nth(1).unwrap_or_default();
    let problems = match chore.as_str() {
        "tidy" => tidy::check(root),
        "soak" => soak::run(root),
        _ => vec![
            "usage: cargo xtask tidy   checks paths in the documents, words and lengths of files\n       \
             cargo xtask soak   runs the long forms of all tests (hours)"
                .to_owned(),
        ],
    };
    for problem in &problems {
        // Nobody reads on: the exit code still tells.
        let _ = writeln!(std::io::stderr(), "{problem}");
    }
    if problems.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
