//! `pawl migrate`: from one store into another.

use std::path::PathBuf;
use std::process::ExitCode;

use pawl_server::flags::{Flag, Given, used};
use pawl_server::{EtcdFiles, Migrated};

use super::progress::{Bar, size};
use crate::{runtime, say};

pub const FLAGS: &[Flag] = &[
    used("from", "", "a data directory that no server has open, or etcd://HOST:PORT[/PREFIX]"),
    used("to", "", "a data directory without a store, or an empty etcd://HOST:PORT[/PREFIX]"),
    used("etcd-cafile", "", "who signs the certificates of etcd"),
    used("etcd-certfile", "", "the certificate that is shown to etcd"),
    used("etcd-keyfile", "", "the key of --etcd-certfile"),
];

/// What proves etcd and us to each other.
pub fn etcd_files(given: &Given) -> EtcdFiles {
    let file = |name| Some(given.value(name)).filter(|path| !path.is_empty()).map(PathBuf::from);
    EtcdFiles { authorities: file("etcd-cafile"), certificate: file("etcd-certfile"), key: file("etcd-keyfile") }
}

pub const MORE: &str = "\
Keys and values are compared at the end. A data directory keeps every revision; etcd gives its own. What was interrupted
goes on when it is run again. Exit codes: 0 done, 1 refused or failed.
";

pub fn run(given: Given) -> Result<ExitCode, String> {
    given.only_flags()?;
    let files = etcd_files(&given);
    let mut bar = Bar::new("migrating");
    let mut progress = |done, of| bar.at(done, of);
    let migrated = pawl_server::migrate(given.value("from"), given.value("to"), &files, &mut progress);
    let migrated = runtime::start()?.block_on(migrated)?;
    drop(bar);
    Ok(say(&told("migrated", &migrated)))
}

/// What came of it, for people.
pub fn told(done: &str, migrated: &Migrated) -> String {
    let Migrated { records, bytes, revision, began, .. } = migrated;
    let mut out = format!("{done} {records} keys ({}) of revision {revision}, and compared them\n", size(*bytes));
    if migrated.already > 0 {
        out.push_str(&format!("{} of them were there from before\n", migrated.already));
    }
    if migrated.keeps_revisions {
        return out;
    }
    out.push_str("the target gives revisions of its own: clients have to list again\n");
    if began < revision {
        out.push_str(&format!(
            "WARNING: it began at revision {began}, below {revision}: it gives revisions again that clients have seen. Restart \
             them, or migrate into an etcd that was begun above (etcdutl snapshot restore --bump-revision)\n"
        ));
    }
    let liens = migrated.liens;
    out.push_str(&format!("{liens} objects are held by liens, which a kube-apiserver drops when it writes them\n"));
    if migrated.sealed > 0 {
        out.push_str(&format!("{} objects are sealed: whether they have liens was not looked at\n", migrated.sealed));
    }
    out
}
