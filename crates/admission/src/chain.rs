//! Which plugins there are, in upstream's order, and which of them are on.
//!
//! Every plugin that is built is on by default, as it is upstream. A plugin that upstream has and that is not built cannot
//! be enabled: a server that was told to guard something must not start without the guard.

use std::collections::BTreeSet;
use std::sync::Arc;

use pawl_auth::Authorizer;

use crate::{
    CertificateSubjectRestriction, Chain, DEFAULT_INGRESS_CLASS, DEFAULT_STORAGE_CLASS, DefaultTolerationSeconds,
    NamespaceLifecycle, PersistentVolumeClaimResize, Plugin, Priority, RuntimeClass, ServiceAccount, SignerPermission,
    StorageObjectInUseProtection, TaintNodesByCondition,
};

/// What plugins are made of.
pub struct Dependencies {
    pub authorizer: Arc<dyn Authorizer>,
    /// How long pods stay on a node that is not ready: `--default-not-ready-toleration-seconds`.
    pub not_ready_toleration_seconds: i64,
    /// How long pods stay on a node that is not reached: `--default-unreachable-toleration-seconds`.
    pub unreachable_toleration_seconds: i64,
}

/// The chain that the flags ask for.
pub fn chain(enable: &[String], disable: &[String], deps: Dependencies) -> Result<Chain, String> {
    let errors = refusals(enable, disable);
    match errors.as_slice() {
        [] => {}
        [one] => return Err(one.clone()),
        many => return Err(format!("[{}]", many.join(", "))),
    }
    let on = PLUGINS.iter().filter(|(name, _)| !disable.iter().any(|d| d == name));
    Ok(Chain::new(on.filter_map(|(_, build)| build.map(|build| build(&deps))).collect()))
}

type Build = fn(&Dependencies) -> Arc<dyn Plugin>;

/// Every plugin of upstream in the order in which they run; without a way to build it, a plugin is not built yet.
const PLUGINS: &[(&str, Option<Build>)] = &[
    ("AlwaysAdmit", None),
    ("NamespaceAutoProvision", None),
    ("NamespaceLifecycle", Some(|_| Arc::new(NamespaceLifecycle))),
    ("NamespaceExists", None),
    ("LimitPodHardAntiAffinityTopology", None),
    ("LimitRanger", None),
    ("ServiceAccount", Some(|_| Arc::new(ServiceAccount))),
    ("NodeRestriction", None),
    ("TaintNodesByCondition", Some(|_| Arc::new(TaintNodesByCondition))),
    ("AlwaysPullImages", None),
    ("ImagePolicyWebhook", None),
    ("PodSecurity", None),
    ("PodNodeSelector", None),
    ("Priority", Some(|_| Arc::new(Priority))),
    (
        "DefaultTolerationSeconds",
        Some(|deps| {
            Arc::new(DefaultTolerationSeconds {
                not_ready: deps.not_ready_toleration_seconds,
                unreachable: deps.unreachable_toleration_seconds,
            })
        }),
    ),
    ("PodTolerationRestriction", None),
    ("EventRateLimit", None),
    ("ExtendedResourceToleration", None),
    ("DefaultStorageClass", Some(|_| Arc::new(DEFAULT_STORAGE_CLASS))),
    ("StorageObjectInUseProtection", Some(|_| Arc::new(StorageObjectInUseProtection))),
    ("PodGroupProtection", None),
    ("OwnerReferencesPermissionEnforcement", None),
    ("PersistentVolumeClaimResize", Some(|_| Arc::new(PersistentVolumeClaimResize))),
    ("RuntimeClass", Some(|_| Arc::new(RuntimeClass))),
    ("CertificateApproval", Some(|deps| Arc::new(SignerPermission::to_approve(Arc::clone(&deps.authorizer))))),
    ("CertificateSigning", Some(|deps| Arc::new(SignerPermission::to_sign(Arc::clone(&deps.authorizer))))),
    ("ClusterTrustBundleAttest", None),
    ("CertificateSubjectRestriction", Some(|_| Arc::new(CertificateSubjectRestriction))),
    ("DefaultIngressClass", Some(|_| Arc::new(DEFAULT_INGRESS_CLASS))),
    ("DenyServiceExternalIPs", None),
    ("PodTopologyLabels", None),
    ("PodGroupWorkloadExists", None),
    ("NodeDeclaredFeatureValidator", None),
    ("JobValidation", None),
    ("PodResizeValidator", None),
    ("MutatingAdmissionPolicy", None),
    ("MutatingAdmissionWebhook", None),
    ("ValidatingAdmissionPolicy", None),
    ("ValidatingAdmissionWebhook", None),
    ("ResourceQuota", None),
    ("AlwaysDeny", None),
];

/// Everything that is wrong with the flags.
fn refusals(enable: &[String], disable: &[String]) -> Vec<String> {
    let find = |name: &String| PLUGINS.iter().find(|(known, _)| known == name);
    let mut errors: Vec<String> = Vec::new();
    let mut note = |text: String| {
        if !errors.contains(&text) {
            errors.push(text);
        }
    };
    for name in enable {
        match find(name) {
            None => note(format!("enable-admission-plugins plugin {name:?} is unknown")),
            Some((_, None)) => note(format!("enable-admission-plugins plugin {name:?} is not built yet")),
            Some(_) => {}
        }
    }
    for name in disable.iter().filter(|name| find(name).is_none()) {
        note(format!("disable-admission-plugins plugin {name:?} is unknown"));
    }
    let both: BTreeSet<&str> = enable.iter().filter(|name| disable.contains(name)).map(String::as_str).collect();
    if !both.is_empty() {
        let both = both.into_iter().collect::<Vec<_>>().join(" ");
        note(format!("[{both}] in enable-admission-plugins and disable-admission-plugins overlapped"));
    }
    errors
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::Allowed;

    const DEFAULT: &[&str] = &[
        "NamespaceLifecycle",
        "ServiceAccount",
        "TaintNodesByCondition",
        "Priority",
        "DefaultTolerationSeconds",
        "DefaultStorageClass",
        "StorageObjectInUseProtection",
        "PersistentVolumeClaimResize",
        "RuntimeClass",
        "CertificateApproval",
        "CertificateSigning",
        "CertificateSubjectRestriction",
        "DefaultIngressClass",
    ];

    fn dependencies() -> Dependencies {
        Dependencies {
            authorizer: Arc::new(Allowed::nothing()),
            not_ready_toleration_seconds: 300,
            unreachable_toleration_seconds: 300,
        }
    }

    fn made(enable: &[&str], disable: &[&str]) -> Result<Vec<&'static str>, String> {
        let owned = |names: &[&str]| names.iter().map(|n| (*n).to_owned()).collect::<Vec<_>>();
        chain(&owned(enable), &owned(disable), dependencies()).map(|chain| chain.names().collect())
    }

    #[test]
    fn plugins_stand_in_upstreams_order_under_their_names() {
        assert_eq!(made(&[], &[]), Ok(DEFAULT.to_vec()));
        assert_eq!(made(&["RuntimeClass", "Priority"], &["AlwaysAdmit", "PodSecurity"]), Ok(DEFAULT.to_vec()));
        let without: Vec<&str> = DEFAULT.iter().copied().filter(|n| *n != "ServiceAccount").collect();
        assert_eq!(made(&[], &["ServiceAccount"]), Ok(without));
        let longer = Chain::new(vec![Arc::new(Priority)]).with(Arc::new(NamespaceLifecycle));
        assert_eq!(longer.names().collect::<Vec<_>>(), ["Priority", "NamespaceLifecycle"]);
        let deps = dependencies();
        for (name, build) in PLUGINS {
            assert!(build.is_none_or(|build| build(&deps).name() == *name), "{name}");
        }
    }

    #[test]
    fn flags_that_make_no_sense_are_refused() {
        let check = |enable: &[&str], disable: &[&str], text: &str| {
            assert_eq!(made(enable, disable), Err(text.to_owned()));
        };
        check(&["X"], &[], r#"enable-admission-plugins plugin "X" is unknown"#);
        check(&[], &["X"], r#"disable-admission-plugins plugin "X" is unknown"#);
        check(&["NodeRestriction"], &[], r#"enable-admission-plugins plugin "NodeRestriction" is not built yet"#);
        check(
            &["RuntimeClass", "Priority"],
            &["Priority", "RuntimeClass"],
            "[Priority RuntimeClass] in enable-admission-plugins and disable-admission-plugins overlapped",
        );
        check(
            &["X"],
            &["Y"],
            r#"[enable-admission-plugins plugin "X" is unknown, disable-admission-plugins plugin "Y" is unknown]"#,
        );
    }
}
