//! Cells of volumes and claims.

use serde_json::{Value, json};

use super::fields::items;

/// The access modes and their short forms, in the order in which they show.
const ACCESS_MODES: [(&str, &str); 4] =
    [("ReadWriteOnce", "RWO"), ("ReadOnlyMany", "ROX"), ("ReadWriteMany", "RWX"), ("ReadWriteOncePod", "RWOP")];

/// The access modes a volume offers.
pub(super) fn volume_access_modes(volume: &Value, _now: i64) -> Value {
    access_modes(items(volume, &["spec", "accessModes"]))
}

/// The access modes a claim has got.
pub(super) fn claim_access_modes(claim: &Value, _now: i64) -> Value {
    access_modes(items(claim, &["status", "accessModes"]))
}

fn access_modes(modes: &[Value]) -> Value {
    let has = |name: &str| modes.iter().any(|mode| mode.as_str() == Some(name));
    let short: Vec<&str> = ACCESS_MODES.iter().filter(|(name, _)| has(name)).map(|(_, short)| *short).collect();
    json!(short.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn access_modes_are_short_and_in_order() {
        let volume = json!({"spec": {"accessModes": ["ReadOnlyMany", "ReadWriteOnce", "ReadOnlyMany"]}});
        assert_eq!(volume_access_modes(&volume, 0), json!("RWO,ROX"));
        assert_eq!(claim_access_modes(&volume, 0), json!(""));
    }
}
