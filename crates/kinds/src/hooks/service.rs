//! What rules cannot say about Service: fields that depend on its type, addresses that exist in the singular and in the
//! plural, families, and what an update may change of them. Numbers and addresses themselves are allocated elsewhere.

use std::collections::HashSet;

use pawl_meta::object::Object;
use pawl_meta::{ErrorKind, FieldError, read};
use pawl_rules::{Check, Errors, FieldPath, formats};
use serde_json::{Map, Value, json};

use super::network::ingress_points;
use super::report::each;

/// Affinity to clients lasts three hours unless said otherwise.
pub fn service_client_ip_timeout(object: &mut Object) {
    let Some(spec) = read::map_mut(object, "spec") else { return };
    if read::text(spec, "sessionAffinity") != "ClientIP" {
        return;
    }
    let timeout =
        read::deep(spec, &["sessionAffinityConfig", "clientIP"]).and_then(|config| config.get("timeoutSeconds"));
    if timeout.is_none_or(Value::is_null) {
        spec.insert("sessionAffinityConfig".to_string(), json!({"clientIP": {"timeoutSeconds": 10800}}));
    }
}

/// An address that a load balancer reports is a virtual one unless said otherwise.
pub fn service_ip_modes(object: &mut Object) {
    if read::map(object, "spec").is_none_or(|spec| read::text(spec, "type") != "LoadBalancer") {
        return;
    }
    let ingress = object.get_mut("status").and_then(|status| status.get_mut("loadBalancer")?.get_mut("ingress"));
    for point in ingress.and_then(Value::as_array_mut).into_iter().flatten().filter_map(Value::as_object_mut) {
        if !read::text(point, "ip").is_empty() {
            read::default_to(point, "ipMode", "VIP");
        }
    }
}

/// A client that knows only the singular field gets the plural one filled in.
pub fn service_cluster_ips(object: &mut Object) {
    let Some(spec) = read::map_mut(object, "spec") else { return };
    let address = read::text(spec, "clusterIP").to_string();
    if !address.is_empty() && read::list(spec, "clusterIPs").is_empty() {
        spec.insert("clusterIPs".to_string(), json!([address]));
    }
}

/// The families of a new service on a server that gives out IPv4 addresses only: what its addresses say, else IPv4. A
/// headless service without a selector is of both.
pub fn service_ip_families(object: &mut Object) {
    let Some(spec) = read::map_mut(object, "spec") else { return };
    if read::text(spec, "type") == "ExternalName" {
        return;
    }
    let anywhere = read::text(spec, "clusterIP") == "None" && read::map(spec, "selector").is_none_or(Map::is_empty);
    read::default_to(spec, "ipFamilyPolicy", if anywhere { "RequireDualStack" } else { "SingleStack" });
    let mut families: Vec<String> = read::texts(spec, "ipFamilies").into_iter().map(str::to_string).collect();
    for address in read::texts(spec, "clusterIPs").into_iter().skip(families.len()) {
        if address == "None" {
            break;
        }
        families.push(if address.contains(':') { "IPv6" } else { "IPv4" }.to_string());
    }
    if families.is_empty() {
        families.push("IPv4".to_string());
    }
    if anywhere && families.len() == 1 && read::text(spec, "ipFamilyPolicy") != "SingleStack" {
        let other = if families.first().is_some_and(|family| family == "IPv4") { "IPv6" } else { "IPv4" };
        families.push(other.to_string());
    }
    spec.insert("ipFamilies".to_string(), json!(families));
}

/// What was allocated stays when an update does not name it: addresses, families, node ports (by the port's name) and
/// the health check port; and the two address fields follow each other.
pub fn service_keep_allocated(new: &mut Object, old: &Object) {
    let Some(old) = read::map(old, "spec") else { return };
    let Some(spec) = read::map_mut(new, "spec") else { return };
    keep_addresses(spec, old);
    follow_address(spec, old);
    keep_node_ports(spec, old);
    if needs_health_port(old) && needs_health_port(spec) && read::number(spec, "healthCheckNodePort") == 0 {
        copy(spec, old, "healthCheckNodePort");
    }
    if read::text(spec, "type") == "ExternalName" {
        return;
    }
    for field in ["ipFamilyPolicy", "ipFamilies"] {
        if read::text(old, "type") != "ExternalName" && !is_set(spec, field) {
            copy(spec, old, field);
        }
    }
    shrink_to_single_stack(spec, old);
    if read::text(old, "type") == "ExternalName" {
        default_families(spec);
    }
}

/// A service that had none gets its families as a new one does.
fn default_families(spec: &mut Object) {
    let mut object = Map::new();
    object.insert("spec".to_string(), Value::Object(std::mem::take(spec)));
    service_ip_families(&mut object);
    if let Some(Value::Object(filled)) = object.remove("spec") {
        *spec = filled;
    }
}

fn keep_addresses(spec: &mut Object, old: &Object) {
    if read::text(old, "type") == "ExternalName" || read::text(spec, "type") == "ExternalName" {
        return;
    }
    if read::text(spec, "clusterIP").is_empty() {
        copy(spec, old, "clusterIP");
    }
    if read::list(spec, "clusterIPs").is_empty() && !read::list(old, "clusterIPs").is_empty() {
        copy(spec, old, "clusterIPs");
    }
}

/// Whoever changes the singular field alone means the plural one too.
fn follow_address(spec: &mut Object, old: &Object) {
    let (now, before) = (read::text(spec, "clusterIP").to_string(), read::text(old, "clusterIP"));
    if read::list(spec, "clusterIPs").is_empty() && !read::list(old, "clusterIPs").is_empty() && now == before {
        copy(spec, old, "clusterIPs");
    }
    if now == before || !read::same(spec, old, "clusterIPs") {
        return;
    }
    if now.is_empty() {
        spec.remove("clusterIPs");
    } else {
        spec.insert("clusterIPs".to_string(), json!([now]));
    }
}

fn keep_node_ports(spec: &mut Object, old: &Object) {
    if !keeps_node_ports(old) || !keeps_node_ports(spec) {
        return;
    }
    let wanted: Vec<i64> = node_ports(spec);
    let taken: Vec<i64> = node_ports(old).into_iter().filter(|port| wanted.contains(port)).collect();
    let before: Vec<(String, i64)> = read::objects(old, "ports")
        .map(|(_, port)| (read::text(port, "name").to_string(), read::number(port, "nodePort")))
        .collect();
    let Some(ports) = spec.get_mut("ports").and_then(Value::as_array_mut) else { return };
    for port in ports.iter_mut().filter_map(Value::as_object_mut) {
        let name = read::text(port, "name").to_string();
        let had = before.iter().rev().find(|(known, _)| *known == name).map_or(0, |(_, number)| *number);
        if read::number(port, "nodePort") == 0 && had != 0 && !taken.contains(&had) {
            port.insert("nodePort".to_string(), json!(had));
        }
    }
}

/// Choosing one family, and changing nothing else, gives up the second.
fn shrink_to_single_stack(spec: &mut Object, old: &Object) {
    if read::text(spec, "ipFamilyPolicy") != "SingleStack" {
        return;
    }
    for field in ["clusterIPs", "ipFamilies"] {
        if read::same(spec, old, field)
            && let Some(items) = spec.get_mut(field).and_then(Value::as_array_mut)
        {
            items.truncate(1);
        }
    }
}

/// A change of type takes away what the new type cannot have, as far as the update left it unchanged.
pub fn service_drop_type_fields(new: &mut Object, old: &Object) {
    let balanced = read::map(new, "spec").is_some_and(|spec| read::text(spec, "type") == "LoadBalancer");
    if let Some(before) = read::map(old, "spec")
        && let Some(spec) = read::map_mut(new, "spec")
    {
        drop_type_fields(spec, before);
    }
    if !balanced && let Some(status) = read::map_mut(new, "status") {
        status.insert("loadBalancer".to_string(), json!({}));
    }
}

fn drop_type_fields(spec: &mut Object, old: &Object) {
    let is = |object: &Object, kind: &str| read::text(object, "type") == kind;
    if !is(old, "ExternalName") && is(spec, "ExternalName") {
        if read::same(spec, old, "clusterIP") && read::same(spec, old, "clusterIPs") {
            spec.remove("clusterIP");
            spec.remove("clusterIPs");
        }
        drop_if_same(spec, old, "ipFamilies");
        drop_if_same(spec, old, "ipFamilyPolicy");
        spec.remove("internalTrafficPolicy");
    }
    let has_ports = |object: &Object| is(object, "NodePort") || is(object, "LoadBalancer");
    let before = node_ports(old);
    let unneeded = has_ports(old) && !has_ports(spec) && node_ports(spec).iter().all(|port| before.contains(port));
    if unneeded && let Some(ports) = spec.get_mut("ports").and_then(Value::as_array_mut) {
        for port in ports.iter_mut().filter_map(Value::as_object_mut) {
            port.remove("nodePort");
        }
    }
    if needs_health_port(old) && !needs_health_port(spec) {
        drop_if_same(spec, old, "healthCheckNodePort");
    }
    if is(old, "LoadBalancer") && !is(spec, "LoadBalancer") {
        drop_if_same(spec, old, "allocateLoadBalancerNodePorts");
        drop_if_same(spec, old, "loadBalancerClass");
    }
    if externally_accessible(old) && !externally_accessible(spec) {
        drop_if_same(spec, old, "externalTrafficPolicy");
    }
}

/// The two annotations about topology agree.
pub fn service_topology_annotations(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let (mode, hints) = ("service.kubernetes.io/topology-mode", "service.kubernetes.io/topology-aware-hints");
    let Some(annotations) = read::deep(object, &["metadata", "annotations"]) else { return };
    if let (Some(one), Some(other)) = (annotations.get(mode), annotations.get(hints))
        && one != other
    {
        let at = path.child("metadata").child("annotations").key(mode);
        errors.invalid(&at, one.clone(), format!("must match annotations[{hints}] when both are specified"));
    }
}

/// What a service must have by its type: ports, an address, a name.
pub fn service_shape(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let spec = read::within(object, "spec");
    let at = path.child("spec");
    let kind = read::text(spec, "type");
    if read::list(spec, "ports").is_empty() && !headless(spec) && kind != "ExternalName" {
        errors.required(&at.child("ports"), "");
    }
    if matches!(kind, "LoadBalancer" | "NodePort") && headless(spec) {
        let detail = format!("may not be set to 'None' for {kind} services");
        errors.invalid(&at.child("clusterIPs").index(0), "None", detail);
    }
    if kind != "ExternalName" {
        return;
    }
    for field in ["clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
        if is_set(spec, field) {
            errors.forbidden(&at.child(field), "may not be set for ExternalName services");
        }
    }
    let name = read::text(spec, "externalName");
    let name = name.strip_suffix('.').unwrap_or(name);
    if name.is_empty() {
        errors.required(&at.child("externalName"), "");
    } else {
        each(formats::dns1123_subdomain(name), &at.child("externalName"), name, errors);
    }
}

/// Addresses in both fields, families and policy fit each other.
pub fn service_cluster_ip_fields(cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let spec = read::within(object, "spec");
    if read::text(spec, "type") == "ExternalName" {
        return;
    }
    let at = path.child("spec");
    let addresses = read::texts(spec, "clusterIPs");
    address_fields_agree(read::text(spec, "clusterIP"), &addresses, &at.child("clusterIPs"), errors);
    family_fields(spec, &at, errors);
    let known = old_spec(cx).map(|old| read::texts(old, "clusterIPs")).unwrap_or_default();
    if !addresses_valid(&addresses, &known, &at.child("clusterIPs"), errors) {
        return;
    }
    addresses_fit_families(spec, &addresses, &at.child("clusterIPs"), errors);
}

fn address_fields_agree(single: &str, addresses: &[&str], at: &FieldPath, errors: &mut Errors) {
    match (single, addresses.first()) {
        ("", None) => {}
        ("", Some(_)) => errors.invalid(at, json!(addresses), "must be empty when `clusterIP` is not specified"),
        (_, None) => errors.required(at, ""),
        (single, Some(first)) if single != *first => {
            errors.invalid(at, json!(addresses), "first value must match `clusterIP`");
        }
        _ => {}
    }
}

fn family_fields(spec: &Object, at: &FieldPath, errors: &mut Errors) {
    let mut seen = HashSet::new();
    for (index, family) in read::texts(spec, "ipFamilies").into_iter().enumerate() {
        let at = at.child("ipFamilies").index(index);
        if !matches!(family, "IPv4" | "IPv6") {
            errors.not_supported(&at, family, &["IPv4", "IPv6"]);
        }
        if !seen.insert(family) {
            errors.duplicate(&at, family);
        }
    }
    let policy = read::text(spec, "ipFamilyPolicy");
    if read::present(spec, "ipFamilyPolicy")
        && !matches!(policy, "PreferDualStack" | "RequireDualStack" | "SingleStack")
    {
        let policies = ["PreferDualStack", "RequireDualStack", "SingleStack"];
        errors.not_supported(&at.child("ipFamilyPolicy"), policy, &policies);
    }
}

/// Whether every address is one, `None` standing alone.
fn addresses_valid(addresses: &[&str], known: &[&str], at: &FieldPath, errors: &mut Errors) -> bool {
    let mut valid = true;
    for (index, address) in addresses.iter().enumerate() {
        if index == 0 && *address == "None" {
            if addresses.len() > 1 {
                valid = false;
                errors.invalid(at, json!(addresses), "'None' must be the first and only value");
            }
            continue;
        }
        if known.contains(address) {
            continue;
        }
        let found = formats::ip(address);
        valid &= found.is_empty();
        each(found, &at.index(index), address, errors);
    }
    if addresses.len() > 2 {
        errors.invalid(at, json!(addresses), "may only hold up to 2 values");
    }
    valid
}

fn addresses_fit_families(spec: &Object, addresses: &[&str], at: &FieldPath, errors: &mut Errors) {
    let six = addresses.iter().filter(|address| address.contains(':')).count();
    if addresses.len() > 1 && (six == 0 || six == addresses.len() || addresses.len() > 2) {
        errors.invalid(at, json!(addresses), "may specify no more than one IP for each IP family");
    }
    if headless(spec) {
        return;
    }
    for (index, (address, family)) in addresses.iter().zip(read::texts(spec, "ipFamilies")).enumerate() {
        let fits = match family {
            "IPv4" => !address.contains(':'),
            "IPv6" => address.contains(':'),
            _ => true,
        };
        if !fits {
            let detail = format!("expected an {family} value as indicated by `ipFamilies[{index}]`");
            errors.invalid(&at.index(index), *address, detail);
        }
    }
}

/// External addresses are real ones; those that the old object had are only looked at for what they are.
pub fn service_external_ips(cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let Some(spec) = read::map(object, "spec") else { return };
    let known: HashSet<&str> = old_spec(cx).map(|old| read::texts(old, "externalIPs")).into_iter().flatten().collect();
    let at = path.child("spec").child("externalIPs");
    for (index, address) in read::texts(spec, "externalIPs").into_iter().enumerate() {
        let at = at.index(index);
        let found = if known.contains(&address) { Vec::new() } else { formats::ip(address) };
        let found = if found.is_empty() { formats::endpoint_ip(address) } else { found };
        each(found, &at, address, errors);
    }
}

/// Node ports need a type that has them; node ports and ports are unique per protocol.
pub fn service_port_numbers(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let Some(spec) = read::map(object, "spec") else { return };
    let at = path.child("spec").child("ports");
    if read::text(spec, "type") == "ClusterIP" {
        for (index, port) in read::objects(spec, "ports") {
            if read::number(port, "nodePort") != 0 {
                let detail = "may not be used when `type` is 'ClusterIP'";
                errors.forbidden(&at.index(index).child("nodePort"), detail);
            }
        }
    }
    let mut seen = HashSet::new();
    for (index, port) in read::objects(spec, "ports") {
        let key = (read::text(port, "protocol"), read::number(port, "nodePort"));
        if key.1 == 0 {
            continue;
        }
        if !seen.insert(key) {
            errors.duplicate(&at.index(index).child("nodePort"), key.1);
        }
    }
    let mut seen = HashSet::new();
    for (index, port) in read::objects(spec, "ports") {
        let key = (read::text(port, "protocol"), read::number(port, "port"));
        if !seen.insert(key) {
            errors.push(FieldError {
                kind: ErrorKind::Duplicate,
                field: at.index(index).to_string(),
                bad_value: Some(bare_port(key.0, key.1)),
                detail: String::new(),
            });
        }
    }
}

/// How a port that is only a protocol and a number is shown: all fields, in the names and the order that clients know.
fn bare_port(protocol: &str, port: i64) -> String {
    let protocol = Value::from(protocol);
    format!(r#"{{"Name":"","Protocol":{protocol},"AppProtocol":null,"Port":{port},"TargetPort":0,"NodePort":0}}"#)
}

/// The ranges that a load balancer serves, in the field or in the annotation before it.
pub fn service_source_ranges(cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let spec = read::within(object, "spec");
    let balanced = read::text(spec, "type") == "LoadBalancer";
    let only = "may only be used when `type` is 'LoadBalancer'";
    let ranges = read::texts(spec, "loadBalancerSourceRanges");
    if !ranges.is_empty() {
        let at = path.child("spec").child("LoadBalancerSourceRanges");
        if !balanced {
            errors.forbidden(&at, only);
        }
        let known: HashSet<&str> =
            old_spec(cx).map(|old| read::texts(old, "loadBalancerSourceRanges")).into_iter().flatten().collect();
        for (index, range) in ranges.into_iter().map(str::trim).enumerate() {
            if !known.iter().any(|old| old.trim() == range) {
                each(formats::cidr(range), &at.index(index), range, errors);
            }
        }
        return;
    }
    let key = "service.beta.kubernetes.io/load-balancer-source-ranges";
    let annotation = |object: &Object| read::annotations(object).get(key).and_then(Value::as_str).map(str::to_string);
    let Some(value) = annotation(object) else { return };
    let at = path.child("metadata").child("annotations").key(key);
    if !balanced {
        errors.forbidden(&at, only);
    }
    let before = cx.old.and_then(annotation);
    if before.as_ref() == Some(&value) || value.trim().is_empty() {
        return;
    }
    for range in value.trim().split(',').map(str::trim) {
        each(formats::cidr(range), &at, range, errors);
    }
}

/// The policy for traffic from outside, and the port that goes with the local one.
pub fn service_external_traffic(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let spec = read::within(object, "spec");
    let at = path.child("spec").child("externalTrafficPolicy");
    let policy = read::text(spec, "externalTrafficPolicy");
    match (externally_accessible(spec), policy) {
        (false, "") | (true, "Cluster" | "Local") => {}
        (false, _) => errors.invalid(&at, policy, "may only be set for externally-accessible services"),
        (true, "") => errors.required(&at, ""),
        (true, _) => errors.not_supported(&at, policy, &["Cluster", "Local"]),
    }
    let at = path.child("spec").child("healthCheckNodePort");
    let port = read::number(spec, "healthCheckNodePort");
    match (needs_health_port(spec), port) {
        (false, 0) | (true, 1..=65535) => {}
        (false, _) => {
            let detail = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'";
            errors.invalid(&at, port, detail);
        }
        (true, 0) => errors.required(&at, ""),
        (true, _) => errors.invalid(&at, port, "must be between 1 and 65535, inclusive"),
    }
}

/// The points through which a load balancer can be reached.
pub fn service_status_ingress(cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    ingress_points(cx, object, path, errors, |ingress, at, errors| {
        let (ip, mode) = (read::text(ingress, "ip"), read::text(ingress, "ipMode"));
        match (read::present(ingress, "ipMode"), ip.is_empty()) {
            (false, false) => errors.required(&at.child("ipMode"), "must be specified when `ip` is set"),
            (true, true) => errors.forbidden(&at.child("ipMode"), "may not be specified when `ip` is not set"),
            (true, false) if !matches!(mode, "VIP" | "Proxy") => {
                errors.not_supported(&at.child("ipMode"), mode, &["Proxy", "VIP"]);
            }
            _ => {}
        }
    });
}

/// What does not even fit itself is not compared with what was.
fn addresses_agree(cx: &Check<'_>, new: &Object, path: &FieldPath) -> bool {
    let mut found = Errors::new();
    service_cluster_ip_fields(cx, new, path, &mut found);
    found.is_empty()
}

/// An address stays; the second one may come and, with the policy saying so, go.
pub fn service_cluster_ips_update(cx: &Check<'_>, new: &Object, old: &Object, path: &FieldPath, errors: &mut Errors) {
    if !addresses_agree(cx, new, path) {
        return;
    }
    let Some([new, old]) = both_addressed(new, old) else { return };
    if headless(new) && headless(old) {
        return;
    }
    let at = path.child("spec").child("clusterIPs");
    let (now, before) = (read::texts(new, "clusterIPs"), read::texts(old, "clusterIPs"));
    let changed = "may not change once set";
    if now.len() == before.len() {
        for (index, _) in now.iter().zip(&before).enumerate().filter(|(_, (one, other))| one != other) {
            errors.invalid(&at.index(index), json!(now), changed);
        }
        return;
    }
    if now.is_empty() {
        errors.invalid(&at.index(0), json!(now), "primary clusterIP can not be unset");
    }
    if let (Some(one), Some(other)) = (now.first(), before.first())
        && one != other
    {
        errors.invalid(&at.index(0), json!(now), changed);
    }
    if now.len() < before.len() && now.len() == 1 {
        released(new, "must be set to 'SingleStack' when releasing the secondary clusterIP", path, errors);
    }
}

/// A family stays; the second one may come and, with the policy saying so, go.
pub fn service_ip_families_update(cx: &Check<'_>, new: &Object, old: &Object, path: &FieldPath, errors: &mut Errors) {
    if !addresses_agree(cx, new, path) {
        return;
    }
    let Some([new, old]) = both_addressed(new, old) else { return };
    if headless(new) || headless(old) {
        return;
    }
    let at = path.child("spec").child("ipFamilies").index(0);
    let (now, before) = (read::texts(new, "ipFamilies"), read::texts(old, "ipFamilies"));
    let changed = "may not change once set";
    if now.len() == before.len() {
        for _ in now.iter().zip(&before).filter(|(one, other)| one != other) {
            errors.invalid(&at, json!(now), changed);
        }
        return;
    }
    if now.len() < before.len() && read::list(new, "clusterIPs").is_empty() {
        errors.invalid(&at, json!(now), "primary ipFamily can not be unset");
    }
    if let (Some(one), Some(other)) = (now.first(), before.first())
        && one != other
    {
        errors.invalid(&at, json!(read::texts(new, "clusterIPs")), changed);
    }
    if now.len() < before.len() && now.len() == 1 {
        released(new, "must be set to 'SingleStack' when releasing the secondary ipFamily", path, errors);
    }
}

fn released(spec: &Object, detail: &str, path: &FieldPath, errors: &mut Errors) {
    if read::text(spec, "ipFamilyPolicy") != "SingleStack" {
        let policy = spec.get("ipFamilyPolicy").cloned().unwrap_or(Value::Null);
        errors.invalid(&path.child("spec").child("ipFamilyPolicy"), policy, detail);
    }
}

/// The class of a load balancer stays, and has the form of a name.
pub fn service_load_balancer_class_update(
    _cx: &Check<'_>,
    new: &Object,
    old: &Object,
    path: &FieldPath,
    errors: &mut Errors,
) {
    let (Some(new), Some(old)) = (read::map(new, "spec"), read::map(old, "spec")) else { return };
    let at = path.child("spec").child("loadBalancerClass");
    let class = new.get("loadBalancerClass").filter(|class| !class.is_null());
    let balanced = read::text(new, "type") == "LoadBalancer";
    if balanced
        && read::text(old, "type") == "LoadBalancer"
        && class != old.get("loadBalancerClass").filter(|class| !class.is_null())
    {
        errors.invalid(&at, class.cloned().unwrap_or(Value::Null), "may not change once set");
    }
    match class {
        Some(class) if balanced => {
            let class = class.as_str().unwrap_or_default();
            each(formats::qualified_name(class), &at, class, errors);
        }
        Some(_) => errors.forbidden(&at, "may only be used when `type` is 'LoadBalancer'"),
        None => {}
    }
}

/// The health check port stays as long as there is one.
pub fn service_health_port_update(_cx: &Check<'_>, new: &Object, old: &Object, path: &FieldPath, errors: &mut Errors) {
    let (Some(new), Some(old)) = (read::map(new, "spec"), read::map(old, "spec")) else { return };
    if needs_health_port(new) && needs_health_port(old) && !read::same(new, old, "healthCheckNodePort") {
        errors.forbidden(&path.child("spec").child("healthCheckNodePort"), "field is immutable");
    }
}

/// The specs of a service before and after, when both have addresses.
fn both_addressed<'a>(new: &'a Object, old: &'a Object) -> Option<[&'a Object; 2]> {
    let (new, old) = (read::map(new, "spec")?, read::map(old, "spec")?);
    let external = |spec: &Object| read::text(spec, "type") == "ExternalName";
    (!external(new) && !external(old)).then_some([new, old])
}

fn headless(spec: &Object) -> bool {
    read::texts(spec, "clusterIPs") == ["None"]
}

fn externally_accessible(spec: &Object) -> bool {
    match read::text(spec, "type") {
        "LoadBalancer" | "NodePort" => true,
        "ClusterIP" => !read::list(spec, "externalIPs").is_empty(),
        _ => false,
    }
}

fn needs_health_port(spec: &Object) -> bool {
    read::text(spec, "type") == "LoadBalancer" && read::text(spec, "externalTrafficPolicy") == "Local"
}

fn keeps_node_ports(spec: &Object) -> bool {
    match read::text(spec, "type") {
        "NodePort" => true,
        "LoadBalancer" => !matches!(spec.get("allocateLoadBalancerNodePorts"), Some(Value::Bool(false))),
        _ => false,
    }
}

fn node_ports(spec: &Object) -> Vec<i64> {
    read::objects(spec, "ports").map(|(_, port)| read::number(port, "nodePort")).filter(|port| *port != 0).collect()
}

fn old_spec<'a>(cx: &Check<'a>) -> Option<&'a Object> {
    cx.old.and_then(|old| read::map(old, "spec"))
}

fn is_set(object: &Object, field: &str) -> bool {
    object.get(field).is_some_and(|value| !value.is_null() && *value != json!([]) && *value != json!(""))
}

fn copy(spec: &mut Object, old: &Object, field: &str) {
    if let Some(value) = old.get(field) {
        spec.insert(field.to_string(), value.clone());
    }
}

fn drop_if_same(spec: &mut Object, old: &Object, field: &str) {
    if read::same(spec, old, field) {
        spec.remove(field);
    }
}
