//! The long forms of all tests, package by package; one that fails does not stop the others.

use std::fs;
use std::path::Path;
use std::process::Command;

/// How long and how often, where the environment does not say otherwise.
const EFFORT: [(&str, &str); 7] = [
    ("PAWL_SOAK_SECONDS", "600"),
    ("PAWL_SOAK_KILLS", "200"),
    ("PAWL_SOAK_FAULTS", "100"),
    ("PAWL_FUZZ_SECONDS", "600"),
    ("PAWL_ROTATION_OBJECTS", "10000"),
    ("PAWL_ROTATION_CLIENTS", "100"),
    ("PROPTEST_CASES", "100000"),
];

pub fn run(root: &Path) -> Vec<String> {
    let mut packages = match packages(root) {
        Ok(packages) => packages,
        Err(error) => return vec![format!("cannot list the crates: {error}")],
    };
    packages.sort();
    let mut failed: Vec<String> = packages.iter().filter_map(|package| test(root, package, &[]).err()).collect();
    // What needs an etcd is left out otherwise.
    for (package, tests) in
        [("pawl-kv-etcd", &["--", "--ignored"][..]), ("pawl", &["--test", "etcd", "--", "--ignored"])]
    {
        failed.extend(test(root, package, tests).err());
    }
    failed
}

/// The names of the crates, from their manifests.
fn packages(root: &Path) -> std::io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(root.join("crates"))? {
        let manifest = fs::read_to_string(entry?.path().join("Cargo.toml"))?;
        let name = manifest.lines().find_map(|line| line.strip_prefix("name = \"")?.strip_suffix('"'));
        names.extend(name.map(str::to_owned));
    }
    Ok(names)
}

fn test(root: &Path, package: &str, more: &[&str]) -> Result<(), String> {
    let given = |name: &str| std::env::var(name).ok();
    let status = Command::new(env!("CARGO"))
        .current_dir(root)
        .args(["test", "--release", "--package", package])
        .args(more)
        .envs(EFFORT.map(|(name, long)| (name, given(name).unwrap_or_else(|| long.to_owned()))))
        .status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{package}: {status}")),
        Err(error) => Err(format!("{package}: cannot run cargo: {error}")),
    }
}
