//! Asks the linker for a smaller program, where it can make one: one of several functions that are the same, since generic code is made
//! anew in each crate that uses it, the places that the loader adjusts as a map of bits instead of three words for each, and texts that end
//! alike once.

use std::path::Path;
use std::process::{Command, Stdio};
use std::{env, fs};

const SMALLER: [&str; 3] = ["-Wl,--icf=all", "-Wl,-z,pack-relative-relocs", "-Wl,-O2"];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=RUSTC_LINKER");
    // Only where it pays, and where what links here is what will link the program.
    let is_native = env::var("HOST") == env::var("TARGET");
    if is_native && env::var("PROFILE").is_ok_and(|profile| profile == "release") {
        for argument in SMALLER.into_iter().filter(|argument| works(argument)) {
            println!("cargo::rustc-link-arg-bins={argument}");
        }
    }
}

/// Whether the linker knows how, and what it makes runs here: tried, since nothing else tells which linker and which loader there are.
fn works(argument: &str) -> bool {
    let (Ok(rustc), Ok(directory)) = (env::var("RUSTC"), env::var("OUT_DIR")) else { return false };
    let (source, program) = (Path::new(&directory).join("probe.rs"), Path::new(&directory).join("probe"));
    // A program that fails unless it was adjusted.
    if fs::write(
        &source,
        r#"static WORDS: &[&str] = &["a", "b"]; fn main() { assert!(std::hint::black_box(WORDS) == ["a", "b"]) }"#,
    )
    .is_err()
    {
        return false;
    }
    let mut command = Command::new(rustc);
    command.arg(&source).arg("-o").arg(&program).args(["-C", &format!("link-arg={argument}")]);
    if let Ok(linker) = env::var("RUSTC_LINKER") {
        command.args(["-C", &format!("linker={linker}")]);
    }
    succeeds(&mut command) && succeeds(&mut Command::new(&program))
}

fn succeeds(command: &mut Command) -> bool {
    command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}
