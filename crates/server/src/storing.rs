//! What commands do with what is stored: look what another encryption configuration would lose, and seal everything anew.

use std::collections::BTreeMap;
use std::path::Path;

use pawl_registry::Registry;
use pawl_seal::{Config, Metrics, Pace, Seals};
use serde_json::{Value, json};

use crate::asking::{Asking, NoAnswer};

pub const OWN: &str = "/apis/storage.pawl.dev/v1";

/// How many objects of which resources an encryption configuration would leave unreadable: the server says it if one runs,
/// else the files do.
pub async fn check_encryption(
    data_dir: &Path,
    kubeconfig: &Path,
    config: &Path,
) -> Result<BTreeMap<String, u64>, String> {
    let config = std::path::absolute(config).map_err(|why| format!("{}: {why}", config.display()))?;
    if let Ok(asking) = Asking::read(kubeconfig) {
        let question =
            json!({"apiVersion": "storage.pawl.dev/v1", "kind": "EncryptionCheck", "spec": {"path": config}});
        match asking.post(&format!("{OWN}/encryptionchecks"), &question).await {
            Ok(answer) => return Ok(told(&answer)),
            Err(NoAnswer::Failed(why)) => return Err(why),
            Err(NoAnswer::Nobody(_)) => {}
        }
    }
    from_files(data_dir, &config).await
}

fn told(answer: &Value) -> BTreeMap<String, u64> {
    let lost = answer.pointer("/status/unreadable").and_then(Value::as_array);
    let each = lost
        .into_iter()
        .flatten()
        .filter_map(|lost| Some((lost.get("resource")?.as_str()?.to_owned(), lost.get("objects")?.as_u64()?)));
    each.collect()
}

/// Nobody serves: what is stored is read once, with the keys of the configuration.
async fn from_files(data_dir: &Path, config: &Path) -> Result<BTreeMap<String, u64>, String> {
    let directory = data_dir.join("store");
    if !directory.is_dir() {
        return Err(format!("{} holds no store, and no server answers", data_dir.display()));
    }
    let store = pawl_kv_embedded::Store::open(&directory, Default::default()).map_err(|why| why.to_string())?;
    let config = Config::load(config, true).map_err(|why| why.to_string())?;
    let metrics = Metrics::register(&prometheus::Registry::new(), "").map_err(|why| why.to_string())?;
    let seals = Seals::start(&config, Pace::default(), metrics).await.map_err(|why| why.to_string())?;
    let builtin = pawl_kinds::load().map_err(|why| why.to_string())?;
    let settings = pawl_registry::Settings::reading();
    let opened = Registry::open(store, Some(seals), builtin.resources(), settings).await;
    let (registry, _) = opened.map_err(|why| why.to_string())?;
    if let Some((resource, why)) = registry.away().next() {
        return Err(format!("{resource}: {why}"));
    }
    let mut lost = BTreeMap::new();
    for stored in registry.table().stored() {
        let closed = stored.cache.closed();
        let count = closed.values().filter(|entry| entry.unreadable().is_some()).count();
        if count > 0 {
            lost.insert(stored.group_resource.to_string(), u64::try_from(count).unwrap_or(u64::MAX));
        }
    }
    Ok(lost)
}

/// Seals everything anew that another key would seal today. Says how far it is; what is done stays done.
pub async fn rewrite(kubeconfig: &Path, forget: bool, mut progress: impl FnMut(&str)) -> Result<(), String> {
    let asking = Asking::read(kubeconfig)?;
    let mut sum = 0;
    loop {
        let wanted = json!({"apiVersion": "storage.pawl.dev/v1", "kind": "Rewrite", "spec": {"limit": 1000}});
        let status = ask(&asking, &wanted).await?;
        let number = |field: &str| status.get(field).and_then(Value::as_u64).unwrap_or_default();
        sum += number("rewritten");
        progress(&format!("{sum} objects sealed anew, {} to go", number("remaining")));
        if number("remaining") == 0 && number("rewritten") == 0 {
            if number("unreadable") > 0 {
                progress(&format!("{} objects cannot be read and stay as they are", number("unreadable")));
            }
            break;
        }
    }
    if forget {
        let wanted = json!({"apiVersion": "storage.pawl.dev/v1", "kind": "Rewrite", "spec": {"forgetHistory": true}});
        ask(&asking, &wanted).await?;
        progress("history is forgotten; the newest segment of the log goes with the first write after the next start");
    }
    Ok(())
}

async fn ask(asking: &Asking, wanted: &Value) -> Result<Value, String> {
    let answer = asking.post(&format!("{OWN}/rewrites"), wanted).await.map_err(|why| why.to_string())?;
    Ok(answer.get("status").cloned().unwrap_or_default())
}
