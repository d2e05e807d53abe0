//! `pawl assets DIR`: what `KUBEBUILDER_ASSETS` should hold, made of links to this binary.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use pawl_server::flags::Given;

use crate::say;

pub fn run(given: Given) -> Result<ExitCode, String> {
    let [directory] = given.rest.as_slice() else { return Err("give one directory: pawl assets DIR".to_owned()) };
    let directory = std::path::absolute(directory).map_err(|error| format!("{directory}: {error}"))?;
    fs::create_dir_all(&directory).map_err(|error| format!("{}: {error}", directory.display()))?;
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut made = Vec::new();
    for name in ["kube-apiserver", "etcd"] {
        made.push(link(&own, &directory.join(name))?);
    }
    match on_path("kubectl", &directory) {
        Some(kubectl) => made.push(link(&kubectl, &directory.join("kubectl"))?),
        None => made.push("no kubectl was found on the PATH".to_owned()),
    }
    Ok(say(&format!("{}\nexport KUBEBUILDER_ASSETS={}\n", made.join("\n"), directory.display())))
}

/// Makes a link, in place of one that may be there; what is no link stays.
fn link(to: &Path, at: &Path) -> Result<String, String> {
    if at.symlink_metadata().is_ok_and(|found| !found.is_symlink()) {
        return Err(format!("{} is there already and is no link", at.display()));
    }
    let failed = |error: std::io::Error| format!("{}: {error}", at.display());
    let fresh = at.with_extension("new");
    let _ = fs::remove_file(&fresh);
    symlink(to, &fresh).map_err(failed)?;
    fs::rename(&fresh, at).map_err(failed)?;
    Ok(format!("{} -> {}", at.display(), to.display()))
}

/// A program on the PATH, outside of the directory that is being filled.
fn on_path(program: &str, except: &Path) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let mut found = std::env::split_paths(&path).filter(|place| place != except).map(|place| place.join(program));
    found.find(|candidate| candidate.is_file())
}
