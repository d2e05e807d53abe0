//! Which controllers run: the names they are known by, and the flag that chooses among them.

use std::fmt;

use pawl_meta::nearest::nearest;

/// A controller, by the name that upstream, or the proposal that wants it, gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ControllerName {
    GarbageCollector,
    Namespaces,
    VolumeProtection,
    ClaimProtection,
    ClassProtection,
    SecretProtection,
    ConfigMapProtection,
    ServiceAccounts,
    RootCertificates,
    RequestSigning,
    RoleAggregation,
    StorageMigration,
    /// Part of the server itself: always there.
    Definitions,
}

impl ControllerName {
    pub const ALL: [ControllerName; 12] = [
        ControllerName::GarbageCollector,
        ControllerName::Namespaces,
        ControllerName::VolumeProtection,
        ControllerName::ClaimProtection,
        ControllerName::ClassProtection,
        ControllerName::SecretProtection,
        ControllerName::ConfigMapProtection,
        ControllerName::ServiceAccounts,
        ControllerName::RootCertificates,
        ControllerName::RequestSigning,
        ControllerName::RoleAggregation,
        ControllerName::StorageMigration,
    ];

    pub fn as_str(self) -> &'static str {
        self.names().0
    }

    /// The service account in `kube-system` that upstream's bootstrap roles are bound to.
    pub fn account(self) -> &'static str {
        self.names().2
    }

    /// The name, the short name of before, the account.
    fn names(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::GarbageCollector => ("garbage-collector-controller", "garbagecollector", "generic-garbage-collector"),
            Self::Namespaces => ("namespace-controller", "namespace", "namespace-controller"),
            Self::VolumeProtection => {
                ("persistentvolume-protection-controller", "pv-protection", "pv-protection-controller")
            }
            Self::ClaimProtection => {
                ("persistentvolumeclaim-protection-controller", "pvc-protection", "pvc-protection-controller")
            }
            Self::ClassProtection => (
                "volumeattributesclass-protection-controller",
                "vac-protection",
                "volumeattributesclass-protection-controller",
            ),
            Self::SecretProtection => {
                ("secret-protection-controller", "secret-protection", "secret-protection-controller")
            }
            Self::ConfigMapProtection => {
                ("configmap-protection-controller", "configmap-protection", "configmap-protection-controller")
            }
            Self::ServiceAccounts => ("serviceaccount-controller", "serviceaccount", "service-account-controller"),
            Self::RootCertificates => {
                ("root-ca-certificate-publisher-controller", "root-ca-cert-publisher", "root-ca-cert-publisher")
            }
            Self::RequestSigning => {
                ("certificatesigningrequest-signing-controller", "csrsigning", "certificate-controller")
            }
            Self::RoleAggregation => {
                ("clusterrole-aggregation-controller", "clusterrole-aggregation", "clusterrole-aggregation-controller")
            }
            Self::StorageMigration => {
                ("storage-version-migrator-controller", "svm", "storage-version-migrator-controller")
            }
            Self::Definitions => ("customresourcedefinition-controller", "crd", "customresourcedefinition-controller"),
        }
    }

    fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|name| text == name.names().0 || text == name.names().1)
    }
}

fn unknown(name: &str) -> String {
    let known = || ControllerName::ALL.into_iter().flat_map(|name| [name.names().0, name.names().1]);
    // Names are long: who writes only how one begins means it.
    let begun = || known().find(|known| !name.is_empty() && known.starts_with(name));
    let near = nearest(name, known()).or_else(begun);
    let near = near.map(|near| format!(", did you mean {near:?}?")).unwrap_or_default();
    format!("{name:?} is not in the list of known controllers{near}")
}

impl fmt::Display for ControllerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What the flag says.
#[derive(Debug, PartialEq, Eq)]
pub struct Selection {
    /// Those that are named, in the order of the flag: the first mention of a name counts.
    named: Vec<(ControllerName, bool)>,
    others: bool,
}

impl Selection {
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut selection = Self { named: Vec::new(), others: false };
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let (name, on) = part.strip_prefix('-').map_or((part, true), |name| (name, false));
            if name == "*" {
                selection.others = on;
                continue;
            }
            let known = ControllerName::parse(name).ok_or_else(|| unknown(name))?;
            selection.named.push((known, on));
        }
        Ok(selection)
    }

    pub fn includes(&self, name: ControllerName) -> bool {
        self.named.iter().find(|(known, _)| *known == name).map_or(self.others, |(_, on)| *on)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expect: &[ControllerName]) {
        let selection = Selection::parse(text).unwrap();
        let got: Vec<ControllerName> =
            ControllerName::ALL.into_iter().filter(|name| selection.includes(*name)).collect();
        assert_eq!(got, expect, "{text}");
    }

    #[test]
    fn the_flag_chooses() {
        check("*", &ControllerName::ALL);
        check("", &[]);
        check("-*", &[]);
        check("namespace", &[ControllerName::Namespaces]);
        check("namespace-controller, pvc-protection", &[ControllerName::Namespaces, ControllerName::ClaimProtection]);
        check("-*,garbagecollector", &[ControllerName::GarbageCollector]);
        check(
            "*,-serviceaccount,-root-ca-cert-publisher,-csrsigning,-clusterrole-aggregation,-svm",
            &ControllerName::ALL[..7],
        );
        check("namespace,-namespace-controller", &[ControllerName::Namespaces]);
    }

    #[test]
    fn unknown_names_are_refused() {
        assert_eq!(
            Selection::parse("*,-cronjobs").unwrap_err(),
            "\"cronjobs\" is not in the list of known controllers"
        );
        for (word, meant) in [
            ("garbage-colector-controller", "garbage-collector-controller"),
            ("garbagecolector", "garbagecollector"),
            ("garbag", "garbage-collector-controller"),
        ] {
            let refusal = Selection::parse(word).unwrap_err();
            assert!(refusal.ends_with(&format!(", did you mean {meant:?}?")), "{refusal}");
        }
    }

    #[test]
    fn names_are_upstreams() {
        let names: Vec<&str> = ControllerName::ALL.iter().map(|name| name.as_str()).collect();
        assert!(names.iter().all(|name| name.ends_with("-controller")), "{names:?}");
    }
}
