//! Files that hold secrets, and the directory of the store: nobody but their owner gets at them. What is open is closed with a
//! warning; what cannot be closed ends the start.

use std::fs::{self, DirBuilder, Permissions};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::Path;

use crate::{Error, Settings};

/// What the group and others may do.
const NOT_OWNER: u32 = 0o077;
/// What those may do who are not even in the group: files of somebody else's making may be meant for a group.
const OTHERS: u32 = 0o007;
const WRITE: u32 = 0o022;
const STICKY: u32 = 0o1000;

/// Makes the directories of a server, closed to others.
pub fn directories(settings: &Settings, store: Option<&Path>) -> Result<(), Error> {
    let data = &settings.data_dir;
    let make = |path: &Path| DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(Error::file(path));
    make(data)?;
    if let Some(store) = store {
        if !store.exists() {
            make(store)?;
        }
        close(store, NOT_OWNER)?;
    }
    // What is in it is closed by itself; but who may write here could put another store in its place.
    if mode(data)? & STICKY == 0 { close(data, WRITE) } else { Ok(()) }
}

/// Closes the files that hold keys and tokens.
pub fn secrets(settings: &Settings) -> Result<(), Error> {
    let pki = settings.data_dir.join("pki");
    let own = [
        pki.join("ca.key"),
        pki.join("admin.key"),
        pki.join("sa.key"),
        settings.cert_dir.join("apiserver.key"),
        settings.data_dir.join("admin.kubeconfig"),
    ];
    own.iter().filter(|path| path.exists()).try_for_each(|path| close(path, NOT_OWNER))?;
    let given = [
        settings.tls.as_ref().map(|(_, key)| key),
        settings.service_accounts.signing_key_file.as_ref(),
        settings.token_file.as_ref(),
    ];
    given.into_iter().flatten().filter(|path| path.exists()).try_for_each(|path| close(path, OTHERS))
}

fn close(path: &Path, to: u32) -> Result<(), Error> {
    let open = mode(path)?;
    if open & to == 0 {
        return Ok(());
    }
    let closed = open & !to;
    fs::set_permissions(path, Permissions::from_mode(closed)).map_err(|source| Error::Open {
        path: path.to_owned(),
        mode: open & 0o7777,
        source,
    })?;
    tracing::warn!(
        "{} was open to others (mode {:04o}); its mode is {:04o} now",
        path.display(),
        open & 0o7777,
        closed & 0o7777
    );
    Ok(())
}

fn mode(path: &Path) -> Result<u32, Error> {
    Ok(fs::metadata(path).map_err(Error::file(path))?.permissions().mode())
}
