//! `pawl snapshot save`: from a server that runs, over its API, or from the files when none does.

use std::path::Path;

use pawl_kv::Revision;
use pawl_snapshot::{Encoder, Head, Totals};
use serde_json::json;

use super::target::NewFile;
use super::{Progress, STORE, each_of_file, milliseconds, picture, record};
use crate::asking::{Asking, NoAnswer};
use crate::storing::OWN;

/// A snapshot that was taken.
#[derive(Debug)]
pub struct Saved {
    pub revision: Revision,
    pub totals: Totals,
    /// Whether the server gave it; the files did otherwise.
    pub from_server: bool,
}

/// Saves everything into a new file: the server is asked if one runs, else the files are read. A server that was named
/// must answer.
pub async fn save(
    file: &Path,
    data_dir: &Path,
    kubeconfig: Option<&Path>,
    progress: Progress<'_>,
) -> Result<Saved, String> {
    let mut target = NewFile::create(file)?;
    let made = data_dir.join("admin.kubeconfig");
    let asking = match (kubeconfig, Asking::read(kubeconfig.unwrap_or(&made))) {
        (_, Ok(asking)) => Some(asking),
        (Some(_), Err(why)) => return Err(why),
        (None, Err(_)) => None,
    };
    let from_server = match asking {
        None => false,
        Some(asking) => match from_server(&asking, &mut target, progress).await {
            Ok(()) => true,
            Err(NoAnswer::Nobody(place)) if kubeconfig.is_some() => {
                return Err(NoAnswer::Nobody(place).to_string());
            }
            Err(NoAnswer::Nobody(_)) => false,
            Err(NoAnswer::Failed(why)) => return Err(why),
        },
    };
    if !from_server {
        from_files(&data_dir.join(STORE), &mut target, progress)?;
    }
    target.sync()?;
    // What was written is read again: only what proves itself gets its name.
    let (head, totals) = each_of_file(target.unfinished(), progress, |_, _| Ok(()))?;
    target.finish()?;
    Ok(Saved { revision: head.revision, totals, from_server })
}

async fn from_server(asking: &Asking, target: &mut NewFile, progress: Progress<'_>) -> Result<(), NoAnswer> {
    let wanted = json!({"apiVersion": "storage.pawl.dev/v1", "kind": "Snapshot"});
    let mut sum = 0;
    let take = |bytes: &[u8]| {
        sum += bytes.len() as u64;
        progress(sum, None);
        target.write(bytes)
    };
    asking.download(&format!("{OWN}/snapshots"), &wanted, take).await
}

fn from_files(store: &Path, target: &mut NewFile, progress: Progress<'_>) -> Result<(), String> {
    let picture = picture(store)?;
    let records = picture.items().map(record);
    let head = Head { revision: picture.revision, time: milliseconds(), ..Head::default() };
    write(target, &head, records, progress).map(|_| ())
}

/// Writes records into a file that is being made.
pub fn write(
    target: &mut NewFile,
    head: &Head,
    records: impl Iterator<Item = pawl_snapshot::Record>,
    progress: Progress<'_>,
) -> Result<Totals, String> {
    let (mut encoder, bytes) = Encoder::begin(head);
    target.write(&bytes)?;
    let mut sum = 0;
    for record in records {
        if let Some(block) = encoder.push(&record).map_err(|why| why.to_string())? {
            target.write(&block)?;
            sum += block.len() as u64;
            progress(sum, None);
        }
    }
    let (end, totals) = encoder.finish();
    target.write(&end)?;
    Ok(totals)
}
