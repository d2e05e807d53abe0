//! What a client is warned of when it writes something other than a pod: labels of nodes that have other names now, values
//! that nothing can work with.

use std::net::Ipv6Addr;

use pawl_meta::object::Object;
use pawl_meta::read;
use pawl_rules::{Check, FieldPath};
use serde_json::Map;

use super::certificates::pem_types;
use super::pods::warnings::{deprecated_label, selector_term};
use super::quantities;

/// Labels of nodes in the topologies of a storage class.
pub fn class_topology_labels(_cx: &Check<'_>, object: &Object, path: &FieldPath, warnings: &mut Vec<String>) {
    for (index, term) in read::objects(object, "allowedTopologies") {
        let at = path.child("allowedTopologies").index(index).child("matchLabelExpressions");
        for (place, expression) in read::objects(term, "matchLabelExpressions") {
            if let Some(text) = deprecated_label(read::text(expression, "key")) {
                warnings.push(format!("{}: {text}", at.index(place).child("key")));
            }
        }
    }
}

/// Labels of nodes in the affinity of a volume.
pub fn volume_affinity_labels(_cx: &Check<'_>, object: &Object, path: &FieldPath, warnings: &mut Vec<String>) {
    let Some(required) = read::deep(object, &["spec", "nodeAffinity", "required"]) else { return };
    let at = path.child("spec").child("nodeAffinity").child("required").child("nodeSelectorTerms");
    for (index, term) in read::objects(required, "nodeSelectorTerms") {
        selector_term(term, false, &at.index(index), warnings);
    }
}

/// Labels of nodes in the topology of a capacity.
pub fn capacity_topology_labels(_cx: &Check<'_>, object: &Object, path: &FieldPath, warnings: &mut Vec<String>) {
    let Some(selector) = read::map(object, "nodeTopology") else { return };
    let at = path.child("nodeTopology");
    selector_term(selector, false, &at, warnings);
    for label in read::map(selector, "matchLabels").into_iter().flat_map(Map::keys) {
        if let Some(text) = deprecated_label(label) {
            warnings.push(format!("{}: {text}", at.child("matchLabels").child(label)));
        }
    }
}

/// Labels of nodes that a runtime class asks for.
pub fn runtime_class_labels(_cx: &Check<'_>, object: &Object, path: &FieldPath, warnings: &mut Vec<String>) {
    let selector = read::deep(object, &["scheduling", "nodeSelector"]);
    for text in selector.into_iter().flat_map(Map::keys).filter_map(|label| deprecated_label(label)) {
        warnings.push(format!("{}: {text}", path.child("scheduling").child("nodeSelector")));
    }
}

/// Parts of a byte in the sizes of a claim.
pub fn claim_fractions(_cx: &Check<'_>, object: &Object, path: &FieldPath, warnings: &mut Vec<String>) {
    let Some(resources) = read::deep(object, &["spec", "resources"]) else { return };
    for field in ["requests", "limits"] {
        let Some(size) = read::map(resources, field).and_then(|sizes| sizes.get("storage")) else { continue };
        if !quantities::is_whole(quantities::amount(size)) {
            let at = path.child("spec").child("resources").child(field).key("storage");
            let shown = quantities::text_of(size);
            warnings.push(format!("{at}: fractional byte value {shown:?} is invalid, must be an integer"));
        }
    }
}

/// A certificate and its key are PEM. Whether they belong together is not looked at.
pub fn secret_key_pair(_cx: &Check<'_>, object: &Object, _path: &FieldPath, warnings: &mut Vec<String>) {
    let Some(data) = read::map(object, "data").filter(|_| read::text(object, "type") == "kubernetes.io/tls") else {
        return;
    };
    let (certificate, key) = (pem_types(read::text(data, "tls.crt")), pem_types(read::text(data, "tls.key")));
    warnings.extend(no_certificate(&certificate).or_else(|| no_key(&key)));
}

fn no_certificate(types: &[String]) -> Option<String> {
    if types.iter().any(|name| name == "CERTIFICATE") {
        return None;
    }
    Some(match types {
        [] => "tls: failed to find any PEM data in certificate input".to_owned(),
        [only] if only.ends_with("PRIVATE KEY") => {
            "tls: failed to find certificate PEM data in certificate input, but did find a private key; PEM inputs may have \
             been switched"
                .to_owned()
        }
        others => format!(
            "tls: failed to find \"CERTIFICATE\" PEM block in certificate input after skipping PEM blocks of the following \
             types: [{}]",
            others.join(" ")
        ),
    })
}

fn no_key(types: &[String]) -> Option<String> {
    if types.iter().any(|name| name == "PRIVATE KEY" || name.ends_with(" PRIVATE KEY")) {
        return None;
    }
    Some(match types {
        [] => "tls: failed to find any PEM data in key input".to_owned(),
        [only] if only == "CERTIFICATE" => {
            "tls: found a certificate rather than a key in the PEM for the private key".to_owned()
        }
        others => format!(
            "tls: failed to find PEM block with type ending in \"PRIVATE KEY\" in key input after skipping PEM blocks of the \
             following types: [{}]",
            others.join(" ")
        ),
    })
}

/// IPv6 networks of a policy that are not written in the shortest form.
pub fn policy_networks(_cx: &Check<'_>, object: &Object, path: &FieldPath, warnings: &mut Vec<String>) {
    let Some(spec) = read::map(object, "spec") else { return };
    for (rules, peers) in [("ingress", "from"), ("egress", "to")] {
        for (rule_index, rule) in read::objects(spec, rules) {
            for (index, peer) in read::objects(rule, peers) {
                let Some(block) = read::map(peer, "ipBlock") else { continue };
                let at = path.child("spec").child(rules).index(rule_index).child(peers).index(index).child("ipBlock");
                network(read::text(block, "cidr"), &at.child("cidr"), warnings);
                for (place, except) in read::texts(block, "except").into_iter().enumerate() {
                    network(except, &at.child("except").index(place), warnings);
                }
            }
        }
    }
}

fn network(text: &str, at: &FieldPath, warnings: &mut Vec<String>) {
    let Some((Ok(address), bits)) = text.split_once('/').map(|(address, bits)| (address.parse::<Ipv6Addr>(), bits))
    else {
        return;
    };
    if format!("{address}/{bits}") != text {
        warnings.push(format!(
            "{at}: IPv6 CIDR value {text:?} should be in RFC 5952 canonical format (\"{address}/{bits}\")"
        ));
    }
}
