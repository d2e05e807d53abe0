//! Which store a server has: the one place where it is chosen.
//!
//! Owns what follows from the choice: the directory that everything is kept in, and who else may use it. A server on etcd has a
//! directory too, for the certificates that it makes by itself; nobody shares that with it.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use pawl_kv::Kv;

use crate::etcd_metrics::EtcdMetrics;
use crate::{Error, Settings, backup, guard, stand_in};

/// A store, and what is kept for as long as it is used.
pub struct Chosen {
    pub kv: Arc<dyn Kv>,
    /// What is deleted when everything else has ended.
    pub ephemeral: Option<tempfile::TempDir>,
    /// Keeps other servers out of the directory, where the store itself does not.
    pub lock: Option<File>,
}

/// Settles where everything is kept (in an etcd cluster, in the directory of a stand-in for one, in one that goes with the
/// server, or where the settings say) and opens it.
pub async fn choose(settings: &mut Settings, metrics: &prometheus::Registry) -> Result<Chosen, Error> {
    if let Some(etcd) = settings.etcd.take() {
        let asked = futures::future::join_all(etcd.servers.iter().map(|url| stand_in::ask(url))).await;
        match asked.into_iter().flatten().next() {
            Some(found) => {
                settings.sync &= found.sync;
                settings.move_to(found.directory.join("pawl"));
            }
            None => {
                let observer = EtcdMetrics::register(metrics).map_err(|why| Error::Start(why.to_string()))?;
                return on_etcd(settings, pawl_kv_etcd::Options { observer: Some(observer), ..etcd }).await;
            }
        }
    }
    let ephemeral = if settings.ephemeral { Some(move_to_temporary(settings)?) } else { None };
    let directory = settings.data_dir.join("store");
    // Half a restore is no store, and no reason to begin an empty one either.
    let unfinished = settings.data_dir.join(backup::UNFINISHED);
    if unfinished.is_dir() && !directory.exists() {
        let what = format!("{} is what an interrupted restore left: restore again, or remove it", unfinished.display());
        return Err(Error::Start(what));
    }
    guard::directories(settings, Some(&directory))?;
    let options = pawl_kv_embedded::Options { history: settings.history, sync: settings.sync, ..Default::default() };
    let failed = |source| Error::Store { path: directory.clone(), source };
    let kv = pawl_kv_embedded::Store::open(&directory, options).map_err(failed)?;
    Ok(Chosen { kv, ephemeral, lock: None })
}

async fn on_etcd(settings: &Settings, etcd: pawl_kv_etcd::Options) -> Result<Chosen, Error> {
    let servers = etcd.servers.join(",");
    let opened = pawl_kv_etcd::Store::open(etcd).await;
    let kv = opened.map_err(|why| Error::Flag(format!("--etcd-servers={servers}: {why}")))?;
    guard::directories(settings, None)?;
    let lock = Some(locked(&settings.data_dir.join("lock"))?);
    tracing::info!(servers, "the store is an etcd cluster");
    Ok(Chosen { kv, ephemeral: None, lock })
}

/// A file that only one process holds, as long as it lives.
fn locked(path: &Path) -> Result<File, Error> {
    let file = File::options().create(true).truncate(false).write(true).open(path).map_err(Error::file(path))?;
    let failed = |source| Error::File { path: path.to_owned(), source };
    file.try_lock().map_err(|why| match why {
        std::fs::TryLockError::WouldBlock => failed(std::io::Error::other("another server uses this directory")),
        std::fs::TryLockError::Error(source) => failed(source),
    })?;
    Ok(file)
}

fn move_to_temporary(settings: &mut Settings) -> Result<tempfile::TempDir, Error> {
    let failed = |source| Error::File { path: std::env::temp_dir(), source };
    let directory = tempfile::TempDir::with_prefix("pawl-").map_err(failed)?;
    settings.move_to(directory.path().to_owned());
    tracing::info!(directory = %directory.path().display(), "ephemeral: everything here is deleted at exit");
    Ok(directory)
}
