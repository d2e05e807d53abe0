//! `pawl migrate`: from one store into another.

use std::process::ExitCode;

use pawl_server::flags::{Flag, Given, used};

use super::progress::{Bar, size};
use crate::{runtime, say};

pub const FLAGS: &[Flag] = &[
    used("from", "", "a data directory that no server has open, or etcd://HOST:PORT[/PREFIX]"),
    used("to", "", "a data directory without a store, or an empty etcd://HOST:PORT[/PREFIX]"),
];

pub const MORE: &str = "\
Keys and values are compared at the end. A data directory keeps every revision; etcd gives its own. What was interrupted
on the way into etcd goes on when it is run again. Exit codes: 0 done, 1 refused or failed.
";

pub fn run(given: Given) -> Result<ExitCode, String> {
    given.only_flags()?;
    let mut bar = Bar::new("migrating");
    let mut progress = |done, of| bar.at(done, of);
    let migrated = pawl_server::migrate(given.value("from"), given.value("to"), &mut progress);
    let migrated = runtime::start()?.block_on(migrated)?;
    drop(bar);
    let mut out = format!(
        "migrated {} keys ({}) of revision {}, and compared them\n",
        migrated.records,
        size(migrated.bytes),
        migrated.revision
    );
    if migrated.already > 0 {
        out.push_str(&format!("{} of them were there from before\n", migrated.already));
    }
    if !migrated.keeps_revisions {
        out.push_str("the target gives revisions of its own: clients have to list again\n");
        out.push_str(&format!(
            "{} objects are held by liens, which a kube-apiserver drops when it writes them\n",
            migrated.liens
        ));
        if migrated.sealed > 0 {
            out.push_str(&format!(
                "{} objects are sealed: whether they have liens was not looked at\n",
                migrated.sealed
            ));
        }
    }
    Ok(say(&out))
}
