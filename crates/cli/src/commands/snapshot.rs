//! `pawl snapshot`: everything that is stored, in a file.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use pawl_server::flags::{Flag, Given, switch, used};
use pawl_server::{Inspection, Salvage, Source, Verified};

use super::progress::{Bar, size};
use crate::{runtime, say};

pub const FLAGS: &[Flag] = &[
    used("data-dir", "./pawl-data", "where the server keeps everything; where 'restore' makes a store"),
    used("kubeconfig", "", "how the server is asked (default: admin.kubeconfig in the data directory)"),
    used("encryption-provider-config", "", "for 'verify': the keys to open sealed values with"),
    used("etcd-cafile", "", "for 'restore' into etcd: who signs its certificates"),
    used("etcd-certfile", "", "the certificate that is shown to etcd"),
    used("etcd-keyfile", "", "the key of --etcd-certfile"),
    used("to", "", "for 'salvage': a new file, or a new data directory (ends with /); for 'restore': etcd://HOST:PORT"),
    switch("unproven", "false", "for 'salvage': take also what can be read in places that fail their checksums"),
];

pub const MORE: &str = "\
save     asks the server if one runs, else reads the files; sealed values stay sealed, the file is as secret as the store
restore  makes the store of a data directory that has none, at a revision above all that clients may have seen
inspect  counts and sizes by resource, the largest objects, the revision, the history; PATH is a file or a directory
verify   every checksum, and every object is read; PATH is a file or a directory
salvage  what can still be read of a damaged store, and what cannot; the source is not touched

Exit codes: 0 done; 1 refused or failed, and nothing was made; 2 damage was found, or something could not be read.
";

/// Done, and there is something to worry about.
const DAMAGE: u8 = 2;

pub fn run(given: Given) -> Result<ExitCode, String> {
    let [action, path] = given.rest.as_slice() else {
        return Err("which one: save FILE, restore FILE, inspect PATH, verify PATH or salvage DIR --to PATH".to_owned());
    };
    let path = Path::new(path);
    match action.as_str() {
        "save" => save(&given, path),
        "restore" => restore(&given, path),
        "inspect" => inspect(path),
        "verify" => verify(&given, path),
        "salvage" => salvage(&given, path),
        other => Err(format!("unknown action {other:?}: save, restore, inspect, verify or salvage")),
    }
}

/// The path that a flag gives, if it was given.
fn path(given: &Given, flag: &str) -> Option<PathBuf> {
    Some(given.value(flag)).filter(|path| !path.is_empty()).map(PathBuf::from)
}

fn save(given: &Given, file: &Path) -> Result<ExitCode, String> {
    let (data, kubeconfig) = (Path::new(given.value("data-dir")), path(given, "kubeconfig"));
    let mut bar = Bar::new("saving");
    let mut progress = |done, of| bar.at(done, of);
    let saved = pawl_server::save(file, data, kubeconfig.as_deref(), &mut progress);
    let saved = runtime::start()?.block_on(saved)?;
    drop(bar);
    let from = if saved.from_server { "the server" } else { "the files, no server runs" };
    Ok(say(&format!(
        "saved {} keys ({}) at revision {} from {from}: {}\n",
        saved.totals.records,
        size(saved.totals.bytes),
        saved.revision,
        file.display()
    )))
}

fn restore(given: &Given, file: &Path) -> Result<ExitCode, String> {
    if let Some(to) = given.get("to") {
        let files = super::migrate::etcd_files(given);
        let mut bar = Bar::new("restoring");
        let mut progress = |done, of| bar.at(done, of);
        let restored = runtime::start()?.block_on(pawl_server::restore_into(file, to, &files, &mut progress))?;
        drop(bar);
        return Ok(say(&super::migrate::told("restored", &restored)));
    }
    let data = Path::new(given.value("data-dir"));
    let mut bar = Bar::new("restoring");
    let restored = pawl_server::restore(file, data, &mut |done, of| bar.at(done, of))?;
    drop(bar);
    Ok(say(&format!(
        "restored {} keys ({}) into {}\nThe snapshot was taken at revision {}, the store goes on at {}: no revision is used \
         again that a client may have seen.\nWatches from before get 410 and list again; objects keep their uid and \
         resourceVersion.\n",
        restored.totals.records,
        size(restored.totals.bytes),
        data.display(),
        restored.head.revision,
        restored.revision,
    )))
}

fn inspect(path: &Path) -> Result<ExitCode, String> {
    let source = Source::at(path)?;
    let mut bar = Bar::new("reading");
    let mut progress = |done, of| bar.at(done, of);
    let found = runtime::start()?.block_on(pawl_server::inspect(&source, &mut progress))?;
    drop(bar);
    Ok(say(&inspected(&found)))
}

fn inspected(found: &Inspection) -> String {
    let (keys, bytes) = found.resources.values().fold((0, 0), |(n, size), (count, bytes)| (n + count, size + bytes));
    let mut out = format!("revision  {}\nkeys      {keys}\nbytes     {bytes} ({})\n", found.revision, size(bytes));
    if let Some(time) = found.time {
        let _ = writeln!(out, "taken     {}", pawl_server::shown_time(time));
    }
    if let Some(cluster) = &found.cluster {
        let _ = writeln!(out, "cluster   {} (the uid of kube-system)", pawl_server::shown_uid(cluster));
    }
    if let Some(history) = &found.history {
        let log: u64 = history.segments.iter().map(|segment| segment.bytes).sum();
        let _ = writeln!(
            out,
            "history   from revision {} on, {} in {} segments{}",
            history.compacted + 1,
            size(log),
            history.segments.len(),
            history.snapshot.map_or_else(String::new, |(revision, bytes)| format!(
                "; the store's own snapshot is of revision {revision} ({})",
                size(bytes)
            ))
        );
    }
    let mut resources: Vec<_> = found.resources.iter().collect();
    resources.sort_by_key(|(_, (_, bytes))| std::cmp::Reverse(*bytes));
    let _ = writeln!(out, "\n{:<52} {:>10} {:>14}", "RESOURCE", "OBJECTS", "BYTES");
    for (resource, (count, bytes)) in resources {
        let _ = writeln!(out, "{resource:<52} {count:>10} {bytes:>14}");
    }
    let _ = writeln!(out, "\n{:>14}  LARGEST", "BYTES");
    for (bytes, key) in &found.largest {
        let _ = writeln!(out, "{bytes:>14}  {key}");
    }
    out
}

fn verify(given: &Given, path_of: &Path) -> Result<ExitCode, String> {
    let source = Source::at(path_of)?;
    let keys = path(given, "encryption-provider-config");
    let mut bar = Bar::new("verifying");
    let mut progress = |done, of| bar.at(done, of);
    let found = runtime::start()?.block_on(pawl_server::verify(&source, keys.as_deref(), &mut progress))?;
    drop(bar);
    say(&verified(&found));
    Ok(if found.is_good() { ExitCode::SUCCESS } else { ExitCode::from(DAMAGE) })
}

fn verified(found: &Verified) -> String {
    let mut out = String::new();
    for damage in &found.damage {
        let _ = writeln!(out, "DAMAGED: {damage}");
    }
    for (key, why) in &found.named {
        let _ = writeln!(out, "UNREADABLE: {key}: {why}");
    }
    if found.records == 0 && !found.damage.is_empty() {
        out.push_str("nothing was read; 'pawl snapshot salvage' says what of a store still can be\n");
        return out;
    }
    let _ = writeln!(
        out,
        "revision {}: {} keys; {} can be read, {} cannot, {} are sealed and were not opened",
        found.revision, found.records, found.readable, found.unreadable, found.sealed
    );
    out.push_str(match (found.is_good(), found.sealed) {
        (true, 0) => "everything holds\n",
        (true, _) => "everything holds; give --encryption-provider-config to open what is sealed\n",
        (false, _) => "not everything holds\n",
    });
    out
}

fn salvage(given: &Given, directory: &Path) -> Result<ExitCode, String> {
    let to = path(given, "to").ok_or("--to=PATH says where what can be read goes: a new file, or a new directory")?;
    let unproven = given.switch("unproven")?;
    let mut bar = Bar::new("salvaging");
    let mut progress = |done, of| bar.at(done, of);
    let done = runtime::start()?.block_on(pawl_server::salvage(directory, &to, unproven, &mut progress))?;
    drop(bar);
    say(&salvaged(&done, &to));
    Ok(if done.lost.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(DAMAGE) })
}

fn salvaged(done: &Salvage, to: &Path) -> String {
    let mut out = String::new();
    for lost in &done.lost {
        let _ = writeln!(out, "LOST: {} at byte {}: {}", lost.file, lost.offset, lost.what);
        for key in &lost.keys {
            let _ = writeln!(out, "  {key}");
        }
    }
    for key in &done.unproven {
        let _ = writeln!(out, "NOT PROVED: {key}");
    }
    let _ = writeln!(out, "{} keys are in {}, as of revision {}", done.records, to.display(), done.revision);
    if let Some(revision) = done.restored {
        let _ = writeln!(out, "the new store goes on at revision {revision}");
    }
    out.push_str(match (done.lost.is_empty(), done.unproven.is_empty()) {
        (true, _) => "nothing is lost\n",
        (false, true) => "what was written in places that are lost is as it was before, or gone; nothing was made up\n",
        (false, false) => {
            "what is not proved stood in places that fail their checksums: look at it before you use it\n"
        }
    });
    out
}
