//! Asks the linker, where it can, to keep one of several functions that are the same: generic code is made anew in each crate that
//! uses it.

use std::path::Path;
use std::process::{Command, Stdio};
use std::{env, fs};

const FOLD: &str = "-Wl,--icf=all";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=RUSTC_LINKER");
    // Only where it pays, and where what links here is what will link the program.
    let is_native = env::var("HOST") == env::var("TARGET");
    if is_native && env::var("PROFILE").is_ok_and(|profile| profile == "release") && folds() {
        println!("cargo::rustc-link-arg-bins={FOLD}");
    }
}

/// Whether the linker knows how: tried, since nothing else tells which one it is.
fn folds() -> bool {
    let (Ok(rustc), Ok(directory)) = (env::var("RUSTC"), env::var("OUT_DIR")) else { return false };
    let source = Path::new(&directory).join("probe.rs");
    if fs::write(&source, "fn main() {}").is_err() {
        return false;
    }
    let mut command = Command::new(rustc);
    command.arg(&source).args(["--out-dir", &directory, "-C", &format!("link-arg={FOLD}")]);
    if let Ok(linker) = env::var("RUSTC_LINKER") {
        command.args(["-C", &format!("linker={linker}")]);
    }
    command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}
