//! Feature gates, with upstream's syntax and errors.

use std::collections::BTreeMap;

use pawl_meta::nearest::nearest;

/// How finished a feature is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    Alpha,
    Beta,
    Stable,
}

pub struct Gate {
    pub name: &'static str,
    /// Another name by which it may be set.
    pub alias: Option<&'static str>,
    pub default: bool,
    pub stage: Stage,
    pub about: &'static str,
}

/// Every gate, in the order of `--help`.
pub const GATES: [Gate; 5] = [
    Gate {
        name: "AllowUnsafeMalformedObjectDeletion",
        alias: None,
        default: true,
        stage: Stage::Beta,
        about: "what cannot be read can be deleted by who may (KEP-3926)",
    },
    Gate {
        name: "CRDValidationRatcheting",
        alias: None,
        default: true,
        stage: Stage::Stable,
        about: "what did not change is not validated again (KEP-4008)",
    },
    Gate {
        name: "InUseProtection",
        alias: None,
        default: true,
        stage: Stage::Beta,
        about: "an object with liens cannot be deleted (KEP-2839)",
    },
    Gate {
        name: "ServerSideFieldValidation",
        alias: Some("UnknownFieldValidation"),
        default: true,
        stage: Stage::Stable,
        about: "unknown and duplicate fields are reported (KEP-2885)",
    },
    Gate {
        name: "StorageVersionMigrator",
        alias: None,
        default: false,
        stage: Stage::Beta,
        about: "StorageVersionMigrations are served, and rewrite what is stored (KEP-4192)",
    },
];

/// Gates as they are set.
#[derive(Clone, Debug, Default)]
pub struct Gates {
    set: BTreeMap<&'static str, bool>,
    /// Gates of upstream that mean nothing here, to be warned of.
    pub unknown: Vec<String>,
}

impl Gates {
    /// Reads `Name=true,component:Name=false,AllAlpha=true`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut gates = Self::default();
        let mut stages: Vec<(Stage, bool)> = Vec::new();
        for part in text.split(',').map(str::trim).filter(|p| !p.is_empty()) {
            let Some((name, value)) = part.split_once('=') else {
                return Err(format!("missing bool value for {part}"));
            };
            let name = name.rsplit(':').next().unwrap_or(name).trim();
            let value = match value.trim() {
                "true" | "True" | "TRUE" | "t" | "T" | "1" => true,
                "false" | "False" | "FALSE" | "f" | "F" | "0" => false,
                other => {
                    return Err(format!(
                        "invalid value of {name}={other}, err: strconv.ParseBool: parsing {other:?}: invalid syntax"
                    ));
                }
            };
            match name {
                "AllAlpha" => stages.push((Stage::Alpha, value)),
                "AllBeta" => stages.push((Stage::Beta, value)),
                _ => match GATES.iter().find(|g| g.name == name || g.alias == Some(name)) {
                    Some(gate) => {
                        gates.set.insert(gate.name, value);
                    }
                    None if UPSTREAM.contains(&name) => gates.unknown.push(name.to_owned()),
                    None => return Err(unrecognized(name)),
                },
            }
        }
        for (stage, value) in stages {
            for gate in GATES.iter().filter(|g| g.stage == stage) {
                gates.set.entry(gate.name).or_insert(value);
            }
        }
        Ok(gates)
    }

    pub fn enabled(&self, name: &str) -> bool {
        let default = GATES.iter().find(|g| g.name == name).is_some_and(|g| g.default);
        self.set.get(name).copied().unwrap_or(default)
    }
}

fn unrecognized(name: &str) -> String {
    let near = nearest(name, GATES.iter().map(|gate| gate.name).chain(UPSTREAM));
    let near = near.map(|near| format!(", did you mean {near}?")).unwrap_or_default();
    format!("unrecognized feature gate: {name}{near}")
}

/// Gates that people set for upstream's server: accepted, with a warning.
const UPSTREAM: [&str; 24] = [
    "APIResponseCompression",
    "APIServerIdentity",
    "APIServerTracing",
    "AnonymousAuthConfigurableEndpoints",
    "CBORServingAndStorage",
    "ConcurrentWatchObjectDecode",
    "ConsistentListFromCache",
    "CustomResourceFieldSelectors",
    "DynamicResourceAllocation",
    "InPlacePodVerticalScaling",
    "JobManagedBy",
    "ListFromCacheSnapshot",
    "MutatingAdmissionPolicy",
    "OpenAPIEnums",
    "OpenAPIV3",
    "OrderedNamespaceDeletion",
    "RemainingItemCount",
    "ServerSideApply",
    "SidecarContainers",
    "StorageVersionAPI",
    "StreamingCollectionEncodingToJSON",
    "ValidatingAdmissionPolicy",
    "WatchBookmark",
    "WatchList",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gates_are_set_as_upstream_sets_them() {
        assert!(Gates::default().enabled("InUseProtection"));
        let gates = Gates::parse("kube:InUseProtection=false,UnknownFieldValidation=false,WatchList=true").unwrap();
        assert!(!gates.enabled("InUseProtection") && !gates.enabled("ServerSideFieldValidation"));
        assert_eq!(gates.unknown, ["WatchList"]);
        assert!(!Gates::default().enabled("StorageVersionMigrator"));
        assert!(Gates::parse("AllBeta=true").unwrap().enabled("StorageVersionMigrator"));
        assert!(!Gates::parse("AllBeta=false").unwrap().enabled("InUseProtection"));
        assert!(Gates::parse("AllBeta=false,InUseProtection=true").unwrap().enabled("InUseProtection"));
        for (text, error) in [
            ("Bogus=true", "unrecognized feature gate: Bogus"),
            ("InUseProtection", "missing bool value for InUseProtection"),
            (
                "InUseProtection=maybe",
                "invalid value of InUseProtection=maybe, err: strconv.ParseBool: parsing \"maybe\": invalid syntax",
            ),
        ] {
            assert_eq!(Gates::parse(text).unwrap_err(), error);
        }
    }
}
