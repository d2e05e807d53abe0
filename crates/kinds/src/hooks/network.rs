//! What rules cannot say about Endpoints, EndpointSlice, Ingress, IngressClass, NetworkPolicy, IPAddress and ServiceCIDR.
//! Services have a file of their own.

use std::collections::HashSet;

use pawl_meta::names;
use pawl_meta::object::Object;
use pawl_meta::read;
use pawl_rules::{Check, Errors, FieldPath, formats};
use serde_json::{Value, json};

use super::dumped;
use super::report::each;

/// A subset of Endpoints has an address, ready or not.
pub fn endpoint_subset_addresses(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    if read::list(object, "addresses").is_empty() && read::list(object, "notReadyAddresses").is_empty() {
        errors.required(path, "must specify `addresses` or `notReadyAddresses`");
    }
}

/// `deprecatedTopology` cannot be written through v1.
pub fn endpoint_slice_drop_topology(object: &mut Object) {
    let Some(endpoints) = object.get_mut("endpoints").and_then(Value::as_array_mut) else { return };
    for endpoint in endpoints.iter_mut().filter_map(Value::as_object_mut) {
        endpoint.remove("deprecatedTopology");
    }
}

/// On update `deprecatedTopology` stays while no endpoint changes; else it goes, and a node name that it carried before
/// moves to the field that replaced it.
pub fn endpoint_slice_keep_topology(new: &mut Object, old: &Object) {
    if read::same(new, old, "endpoints") {
        return;
    }
    let host = "kubernetes.io/hostname";
    let topology_host = |endpoint: &Object| {
        read::map(endpoint, "deprecatedTopology").map(|topology| read::text(topology, host).to_string())
    };
    let known: Vec<String> =
        read::objects(old, "endpoints").filter_map(|(_, endpoint)| topology_host(endpoint)).collect();
    let Some(endpoints) = new.get_mut("endpoints").and_then(Value::as_array_mut) else { return };
    for endpoint in endpoints.iter_mut().filter_map(Value::as_object_mut) {
        let named = topology_host(endpoint).filter(|name| known.contains(name));
        if let Some(name) = named
            && !read::present(endpoint, "nodeName")
            && formats::dns1123_subdomain(&name).is_empty()
        {
            endpoint.insert("nodeName".to_string(), Value::String(name));
        }
        endpoint.remove("deprecatedTopology");
    }
}

/// The ports of an EndpointSlice.
pub fn endpoint_slice_ports(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let at = path.child("ports");
    let count = read::list(object, "ports").len();
    if count > 20000 {
        errors.too_many(&at, count, 20000);
        return;
    }
    let mut names = HashSet::new();
    for (index, port) in read::objects(object, "ports") {
        let at = at.index(index);
        let name = read::text(port, "name");
        if !name.is_empty() {
            each(formats::dns1123_label(name), &at.child("name"), name, errors);
        }
        if !names.insert(name) {
            errors.duplicate(&at.child("name"), name);
        }
        match read::text(port, "protocol") {
            "TCP" | "UDP" | "SCTP" => {}
            other => errors.not_supported(&at.child("protocol"), other, &["SCTP", "TCP", "UDP"]),
        }
        if read::present(port, "appProtocol") {
            let protocol = read::text(port, "appProtocol");
            each(formats::qualified_name(protocol), &at.child("appProtocol"), protocol, errors);
        }
    }
}

/// The endpoints of an EndpointSlice; those that did not change are not looked at again.
pub fn endpoint_slice_endpoints(cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    if let Some(old) = cx.old
        && read::same(object, old, "endpoints")
    {
        return;
    }
    let at = path.child("endpoints");
    let count = read::list(object, "endpoints").len();
    if count > 1000 {
        errors.too_many(&at, count, 1000);
        return;
    }
    let family = read::text(object, "addressType");
    for (index, endpoint) in read::objects(object, "endpoints") {
        slice_endpoint(endpoint, family, &at.index(index), errors);
    }
}

fn slice_endpoint(endpoint: &Object, family: &str, at: &FieldPath, errors: &mut Errors) {
    let addresses = read::texts(endpoint, "addresses");
    let list = at.child("addresses");
    if addresses.is_empty() {
        errors.required(&list, "must contain at least 1 address");
    } else if addresses.len() > 100 {
        errors.too_many(&list, addresses.len(), 100);
    }
    for (index, address) in addresses.into_iter().enumerate() {
        slice_address(address, family, &list, &list.index(index), errors);
    }
    if read::present(endpoint, "nodeName") {
        let name = read::text(endpoint, "nodeName");
        each(formats::dns1123_subdomain(name), &at.child("nodeName"), name, errors);
    }
    if read::present(endpoint, "hostname") {
        let name = read::text(endpoint, "hostname");
        each(formats::dns1123_label(name), &at.child("hostname"), name, errors);
    }
    if let Some(hints) = read::map(endpoint, "hints") {
        slice_hints(hints, &at.child("hints"), errors);
    }
}

fn slice_address(address: &str, family: &str, list: &FieldPath, at: &FieldPath, errors: &mut Errors) {
    let (found, wrong_family, detail) = match family {
        "IPv4" => (formats::ip(address), address.contains(':'), "must be an IPv4 address"),
        "IPv6" => (formats::canonical_ip(address), !address.contains(':'), "must be an IPv6 address"),
        "FQDN" => {
            if address.is_empty() {
                errors.required(at, "");
            }
            for (bad, detail) in names::fully_qualified_domain(address).into_iter().filter(|_| !address.is_empty()) {
                errors.invalid(at, bad, detail);
            }
            return;
        }
        _ => return,
    };
    if !found.is_empty() {
        each(found, at, address, errors);
        return;
    }
    if wrong_family {
        errors.invalid(list, address, detail);
    }
    each(formats::endpoint_ip(address), at, address, errors);
}

fn slice_hints(hints: &Object, at: &FieldPath, errors: &mut Errors) {
    type Rule = fn(&str) -> Vec<String>;
    let rules: [(&str, Rule); 2] = [("forZones", formats::label_value), ("forNodes", formats::dns1123_subdomain)];
    for (field, rule) in rules {
        let list = at.child(field);
        let count = read::list(hints, field).len();
        if count > 8 {
            errors.too_many(&list, count, 8);
            return;
        }
        let mut names = Vec::new();
        for (index, item) in read::objects(hints, field) {
            let at = list.index(index).child("name");
            let name = read::text(item, "name");
            if names.contains(&name) {
                errors.duplicate(&at, name);
            } else {
                names.push(name);
            }
            each(rule(name), &at, name, errors);
        }
    }
}

/// An Ingress leads somewhere.
pub fn ingress_target(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    if read::list(object, "rules").is_empty() && !read::present(object, "defaultBackend") {
        let rules = object.get("rules").cloned().unwrap_or(Value::Null);
        errors.invalid(path, rules, "either `defaultBackend` or `rules` must be specified");
    }
}

/// On create, the old annotation and the field that replaced it agree.
pub fn ingress_class_annotation(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let key = "kubernetes.io/ingress.class";
    let Some(annotation) = read::annotations(object).get(key) else {
        return;
    };
    let Some(class) = read::map(object, "spec").and_then(|spec| spec.get("ingressClassName")) else { return };
    if !class.is_null() && class != annotation {
        let at = path.child("annotations").child(key);
        errors.invalid(&at, annotation.clone(), "must match `ingressClassName` when both are specified");
    }
}

/// A backend is a service with a port, or a resource.
pub fn ingress_backend(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    match (read::map(object, "resource"), read::map(object, "service")) {
        (Some(_), Some(_)) => errors.invalid(path, "", "cannot set both resource and service backends"),
        (Some(resource), None) => typed_reference(resource, &path.child("resource"), errors),
        (None, Some(service)) => backend_service(service, path, errors),
        (None, None) => errors.invalid(path, "", "resource or service backend is required"),
    }
}

fn typed_reference(reference: &Object, at: &FieldPath, errors: &mut Errors) {
    if read::present(reference, "apiGroup") {
        let group = read::text(reference, "apiGroup");
        each(formats::dns1123_subdomain(group), &at.child("apiGroup"), group, errors);
    }
    for field in ["kind", "name"] {
        let value = read::text(reference, field);
        if value.is_empty() {
            errors.required(&at.child(field), "");
        } else {
            each(formats::path_segment(value), &at.child(field), value, errors);
        }
    }
}

fn backend_service(service: &Object, path: &FieldPath, errors: &mut Errors) {
    let at = path.child("service");
    let name = read::text(service, "name");
    if name.is_empty() {
        errors.required(&at.child("name"), "");
    } else {
        each(formats::dns1123_label(name), &at.child("name"), name, errors);
    }
    let port = read::within(service, "port");
    let (name, number) = (read::text(port, "name"), read::number(port, "number"));
    let at = at.child("port");
    match (name.is_empty(), number) {
        (false, 0) => each(formats::port_name(name), &at.child("name"), name, errors),
        (false, _) => errors.invalid(path, "", "cannot set both port name & port number"),
        (true, 0) => errors.required(path, "port name or number is required"),
        (true, 1..=65535) => {}
        (true, _) => errors.invalid(&at.child("number"), number, "must be between 1 and 65535, inclusive"),
    }
}

/// The host of a rule is a name, its first label possibly `*`.
pub fn ingress_host(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let host = read::text(object, "host");
    let at = path.child("host");
    if host.is_empty() {
        return;
    }
    if formats::is_ip(host) {
        errors.invalid(&at, host, "must be a DNS name, not an IP address");
    }
    host_name(host, &at, errors);
}

fn host_name(host: &str, at: &FieldPath, errors: &mut Errors) {
    let found =
        if host.contains('*') { formats::wildcard_dns1123_subdomain(host) } else { formats::dns1123_subdomain(host) };
    each(found, at, host, errors);
}

/// The path of a rule, by its type.
pub fn ingress_path(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let text = read::text(object, "path");
    let at = path.child("path");
    let kind = read::text(object, "pathType");
    let exact = matches!(kind, "Exact" | "Prefix");
    if (exact || (kind == "ImplementationSpecific" && !text.is_empty())) && !text.starts_with('/') {
        errors.invalid(&at, text, "must be an absolute path");
    }
    if !exact {
        return;
    }
    for sequence in ["//", "/./", "/../", "%2f", "%2F"] {
        if text.contains(sequence) {
            errors.invalid(&at, text, format!("must not contain '{sequence}'"));
        }
    }
    for suffix in ["/..", "/."] {
        if text.ends_with(suffix) {
            errors.invalid(&at, text, format!("cannot end with '{suffix}'"));
        }
    }
}

/// The hosts of a TLS entry.
pub fn ingress_tls_hosts(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let at = path.child("hosts");
    for (index, host) in read::texts(object, "hosts").into_iter().enumerate() {
        host_name(host, &at.index(index), errors);
    }
}

/// The addresses and names that a controller reports for an Ingress.
pub fn ingress_status(cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    ingress_points(cx, object, path, errors, |_, _, _| {});
}

/// The points through which something can be reached, and what else there is to say of each beside its address and name.
pub fn ingress_points(
    cx: &Check<'_>,
    object: &Object,
    path: &FieldPath,
    errors: &mut Errors,
    more: impl Fn(&Object, &FieldPath, &mut Errors),
) {
    let Some(balancer) = read::deep(object, &["status", "loadBalancer"]) else { return };
    let known = known_ingress_ips(cx);
    let at = path.child("status").child("loadBalancer").child("ingress");
    for (index, ingress) in read::objects(balancer, "ingress") {
        let at = at.index(index);
        ingress_address(ingress, &known, &at, errors);
        more(ingress, &at, errors);
        ingress_hostname(ingress, &at, errors);
    }
}

/// The addresses that the old object's status had: they need not be valid by today's rules.
fn known_ingress_ips(cx: &Check<'_>) -> Vec<String> {
    cx.old
        .and_then(|old| read::deep(old, &["status", "loadBalancer"]))
        .map(|balancer| {
            read::objects(balancer, "ingress").map(|(_, item)| read::text(item, "ip").to_string()).collect()
        })
        .unwrap_or_default()
}

/// The address of one reported ingress point.
fn ingress_address(ingress: &Object, known: &[String], at: &FieldPath, errors: &mut Errors) {
    let ip = read::text(ingress, "ip");
    if !ip.is_empty() && !known.iter().any(|old| old == ip) {
        each(formats::ip(ip), &at.child("ip"), ip, errors);
    }
}

/// The name of one reported ingress point.
fn ingress_hostname(ingress: &Object, at: &FieldPath, errors: &mut Errors) {
    let name = read::text(ingress, "hostname");
    if name.is_empty() {
        return;
    }
    let at = at.child("hostname");
    each(formats::dns1123_subdomain(name), &at, name, errors);
    if formats::is_ip(name) {
        errors.invalid(&at, name, "must be a DNS name, not an IP address");
    }
}

/// A policy without types is about ingress, and about egress when it has such rules.
pub fn network_policy_types(object: &mut Object) {
    let Some(spec) = read::map_mut(object, "spec") else { return };
    let egress = !read::list(spec, "egress").is_empty();
    let types = if egress { json!(["Ingress", "Egress"]) } else { json!(["Ingress"]) };
    read::default_to(spec, "policyTypes", types);
}

/// The types of a policy.
pub fn network_policy_type_names(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let Some(spec) = read::map(object, "spec") else { return };
    let at = path.child("spec").child("policyTypes");
    let types = read::texts(spec, "policyTypes");
    if types.len() > 2 {
        errors.invalid(&at, json!(types), "may not specify more than two policyTypes");
        return;
    }
    for (index, name) in types.into_iter().enumerate() {
        if !matches!(name, "Ingress" | "Egress") {
            errors.not_supported(&at.index(index), name, &["Ingress", "Egress"]);
        }
    }
}

/// A port or a range of ports.
pub fn network_policy_port(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let end = object.get("endPort").and_then(Value::as_i64);
    let at_end = path.child("endPort");
    match object.get("port") {
        Some(Value::Number(number)) => {
            let port = number.as_i64().unwrap_or_default();
            port_number(port, &path.child("port"), errors);
            if let Some(end) = end {
                if end < port {
                    errors.invalid(&at_end, port, "must be greater than or equal to `port`");
                }
                port_number(end, &at_end, errors);
            }
        }
        Some(Value::String(name)) => {
            if let Some(end) = end {
                errors.invalid(&at_end, end, "may not be specified when `port` is non-numeric");
            }
            each(formats::port_name(name), &path.child("port"), name, errors);
        }
        _ => {
            if let Some(end) = end {
                errors.invalid(&at_end, end, "may not be specified when `port` is not specified");
            }
        }
    }
}

/// A block of addresses, and the blocks taken out of it. Ranges that the old policy had are not looked at again.
pub fn network_policy_ip_block(cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let Some(block) = read::map(object, "ipBlock") else { return };
    let at = path.child("ipBlock");
    let known = cx.old.map(policy_ranges).unwrap_or_default();
    let range = read::text(block, "cidr");
    if range.is_empty() {
        errors.required(&at.child("cidr"), "");
        return;
    }
    if !known.contains(&range.to_string()) {
        each(formats::cidr(range), &at.child("cidr"), range, errors);
    }
    let Some(outer) = formats::parse_cidr(range) else { return };
    for (index, except) in read::texts(block, "except").into_iter().enumerate() {
        let at = at.child("except").index(index);
        if !known.contains(&except.to_string()) {
            each(formats::cidr(except), &at, except, errors);
        }
        if let Some(inner) = formats::parse_cidr(except)
            && (outer.1 >= inner.1 || !formats::contains_range(outer, inner))
        {
            errors.invalid(&at, except, "must be a strict subset of `cidr`");
        }
    }
}

fn policy_ranges(policy: &Object) -> Vec<String> {
    let Some(spec) = read::map(policy, "spec") else { return Vec::new() };
    let mut ranges = Vec::new();
    for (rules, peers) in [("ingress", "from"), ("egress", "to")] {
        for (_, rule) in read::objects(spec, rules) {
            for (_, peer) in read::objects(rule, peers) {
                let Some(block) = read::map(peer, "ipBlock") else { continue };
                ranges.push(read::text(block, "cidr").to_string());
                ranges.extend(read::texts(block, "except").into_iter().map(str::to_string));
            }
        }
    }
    ranges
}

/// A peer is a block of addresses, or pods by their labels.
pub fn network_policy_peer_kind(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let kinds =
        ["podSelector", "namespaceSelector", "ipBlock"].iter().filter(|field| read::present(object, field)).count();
    if kinds == 0 {
        errors.required(path, "must specify a peer");
    } else if kinds > 1 && read::present(object, "ipBlock") {
        errors.forbidden(path, "may not specify both ipBlock and another peer");
    }
}

/// Who holds an address does not change.
pub fn ip_address_parent(_cx: &Check<'_>, new: &Object, old: &Object, path: &FieldPath, errors: &mut Errors) {
    let parent = |object: &Object| {
        let parent = read::deep(object, &["spec", "parentRef"]);
        parent.map_or_else(|| "null".to_owned(), |parent| dumped("networking.v1.ParentReference", parent))
    };
    let now = parent(new);
    if now != parent(old) {
        errors.invalid_shown(&path.child("spec").child("parentRef"), now, "field is immutable");
    }
}

/// One range, or one of each family.
pub fn service_cidr_ranges(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let spec = read::within(object, "spec");
    let at = path.child("spec").child("cidrs");
    let ranges = read::texts(spec, "cidrs");
    if ranges.is_empty() {
        errors.required(&at, "at least one CIDR required");
        return;
    }
    if ranges.len() > 2 {
        errors.invalid(&at, json!({ "CIDRs": ranges }), "may only hold up to 2 values");
        return;
    }
    for (index, range) in ranges.iter().enumerate() {
        each(formats::canonical_cidr(range), &at.index(index), range, errors);
    }
    let families: Vec<bool> =
        ranges.iter().filter_map(|range| formats::parse_cidr(range)).map(|range| range.0.is_ipv4()).collect();
    if let [first, second] = families.as_slice()
        && first == second
    {
        let detail = "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64";
        errors.invalid(&at, json!(ranges), detail);
    }
}

/// A range of the second family may be added; nothing else changes.
pub fn service_cidr_ranges_update(cx: &Check<'_>, new: &Object, old: &Object, path: &FieldPath, errors: &mut Errors) {
    let ranges = |object: &Object| -> Vec<String> {
        let spec = read::map(object, "spec");
        spec.map(|spec| read::texts(spec, "cidrs").into_iter().map(str::to_string).collect()).unwrap_or_default()
    };
    let (now, before) = (ranges(new), ranges(old));
    let at = path.child("spec").child("cidrs");
    if now.len() != before.len() && !(before.len() == 1 && now.len() == 2) {
        let shown = if now.is_empty() { Value::Null } else { json!(now) };
        errors.invalid(&at, shown, "field is immutable");
        return;
    }
    for (index, (one, other)) in now.iter().zip(&before).enumerate() {
        if one != other {
            errors.invalid(&at.index(index), one.as_str(), "field is immutable");
        }
    }
    if now.len() != before.len() {
        service_cidr_ranges(cx, new, path, errors);
    }
}

fn port_number(port: i64, at: &FieldPath, errors: &mut Errors) {
    if !(1..=65535).contains(&port) {
        errors.invalid(at, port, "must be between 1 and 65535, inclusive");
    }
}
