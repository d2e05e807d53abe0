//! Cells of services, endpoints, endpoint slices, ingresses and IP addresses.

use serde_json::{Value, json};

use super::fields::{at, items, number, shortened, shown, text};

/// How many addresses, ports or hosts a cell lists before it counts.
const LISTED: usize = 3;

/// Where a service can be reached from outside, by its type.
pub(super) fn service_external_ip(service: &Value, now: i64) -> Value {
    let external = items(service, &["spec", "externalIPs"]).iter().map(shown).collect::<Vec<_>>().join(",");
    let balanced = shown(&load_balancer_addresses(service, now));
    json!(match text(service, &["spec", "type"]) {
        "ClusterIP" | "NodePort" if external.is_empty() => "<none>".to_owned(),
        "ClusterIP" | "NodePort" => external,
        "LoadBalancer" => match (balanced.is_empty(), external.is_empty()) {
            (true, true) => "<pending>".to_owned(),
            (true, false) => external,
            (false, true) => balanced,
            (false, false) => format!("{balanced},{external}"),
        },
        "ExternalName" => text(service, &["spec", "externalName"]).to_owned(),
        _ => "<unknown>".to_owned(),
    })
}

/// The ports of a service, with the node ports they have.
pub(super) fn service_ports(service: &Value, _now: i64) -> Value {
    let ports: Vec<String> = items(service, &["spec", "ports"])
        .iter()
        .map(|port| {
            let (number, node, protocol) =
                (number(port, &["port"]), number(port, &["nodePort"]), text(port, &["protocol"]));
            if node > 0 { format!("{number}:{node}/{protocol}") } else { format!("{number}/{protocol}") }
        })
        .collect();
    if ports.is_empty() { json!("<none>") } else { json!(ports.join(",")) }
}

/// The addresses of a load balancer, each once, in order.
pub(super) fn load_balancer_addresses(object: &Value, _now: i64) -> Value {
    let mut addresses: Vec<&str> = items(object, &["status", "loadBalancer", "ingress"])
        .iter()
        .map(|ingress| match text(ingress, &["ip"]) {
            "" => text(ingress, &["hostname"]),
            ip => ip,
        })
        .filter(|address| !address.is_empty())
        .collect();
    addresses.sort_unstable();
    addresses.dedup();
    json!(addresses.join(","))
}

/// The hosts of an ingress's rules. Rules without a host are counted among those left out, not listed.
pub(super) fn ingress_hosts(ingress: &Value, _now: i64) -> Value {
    let rules = items(ingress, &["spec", "rules"]);
    let mut hosts = Vec::new();
    for rule in rules {
        if hosts.len() == LISTED {
            return json!(format!("{} + {} more...", hosts.join(","), rules.len().saturating_sub(LISTED)));
        }
        hosts.extend(Some(text(rule, &["host"])).filter(|host| !host.is_empty()));
    }
    if hosts.is_empty() { json!("*") } else { json!(hosts.join(",")) }
}

/// The ready addresses of endpoints, each with every port of its subset.
pub(super) fn endpoints(endpoints: &Value, _now: i64) -> Value {
    let subsets = items(endpoints, &["subsets"]);
    if subsets.is_empty() {
        return json!("<none>");
    }
    let mut listed = Vec::new();
    for subset in subsets {
        let addresses = items(subset, &["addresses"]).iter().map(|address| text(address, &["ip"]));
        let ports = items(subset, &["ports"]);
        if ports.is_empty() {
            listed.extend(addresses.map(str::to_owned));
        } else {
            let with_port = |port| addresses.clone().map(move |ip| host_and_port(ip, number(port, &["port"])));
            listed.extend(ports.iter().flat_map(with_port));
        }
    }
    json!(shortened(&listed, LISTED, ","))
}

/// The ports of an endpoint slice, by number or else by name.
pub(super) fn slice_ports(slice: &Value, _now: i64) -> Value {
    let port = |port: &Value| at(port, &["port"]).or_else(|| at(port, &["name"])).map_or_else(|| "*".to_owned(), shown);
    or_unset(&items(slice, &["ports"]).iter().map(port).collect::<Vec<_>>())
}

/// The addresses of an endpoint slice, ready or not.
pub(super) fn slice_endpoints(slice: &Value, _now: i64) -> Value {
    let addresses = items(slice, &["endpoints"]).iter().flat_map(|endpoint| items(endpoint, &["addresses"]));
    or_unset(&addresses.map(shown).collect::<Vec<_>>())
}

/// What an IP address belongs to: resource, namespace, name.
pub(super) fn ip_address_parent(address: &Value, _now: i64) -> Value {
    let Some(parent) = at(address, &["spec", "parentRef"]) else {
        return json!("<none>");
    };
    let resource = match text(parent, &["group"]) {
        "" => text(parent, &["resource"]).to_lowercase(),
        group => format!("{}.{group}", text(parent, &["resource"])).to_lowercase(),
    };
    let name = text(parent, &["name"]);
    json!(match text(parent, &["namespace"]) {
        "" => format!("{resource}/{name}"),
        namespace => format!("{resource}/{namespace}/{name}"),
    })
}

fn host_and_port(ip: &str, port: i64) -> String {
    if ip.contains(':') { format!("[{ip}]:{port}") } else { format!("{ip}:{port}") }
}

fn or_unset(listed: &[String]) -> Value {
    match shortened(listed, LISTED, ",") {
        listed if listed.is_empty() => json!("<unset>"),
        listed => json!(listed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(function: fn(&Value, i64) -> Value, object: Value, expected: &str) {
        assert_eq!(function(&object, 0), json!(expected), "{object}");
    }

    #[test]
    fn a_service_says_where_it_is_reached() {
        let balanced = json!({"loadBalancer": {"ingress": [{"ip": "2.2.2.2"}, {"hostname": "h"}, {"ip": "1.1.1.1"}]}});
        for (spec, status, expected) in [
            (json!({"type": "ClusterIP"}), json!({}), "<none>"),
            (json!({"type": "NodePort", "externalIPs": ["9.9.9.9", "8.8.8.8"]}), json!({}), "9.9.9.9,8.8.8.8"),
            (json!({"type": "LoadBalancer"}), json!({}), "<pending>"),
            (json!({"type": "LoadBalancer"}), balanced.clone(), "1.1.1.1,2.2.2.2,h"),
            (json!({"type": "LoadBalancer", "externalIPs": ["9.9.9.9"]}), balanced, "1.1.1.1,2.2.2.2,h,9.9.9.9"),
            (json!({"type": "ExternalName", "externalName": "example.com"}), json!({}), "example.com"),
            (json!({}), json!({}), "<unknown>"),
        ] {
            check(service_external_ip, json!({"spec": spec, "status": status}), expected);
        }
        check(
            service_ports,
            json!({"spec": {"ports": [{"port": 80, "protocol": "TCP"},
            {"port": 53, "nodePort": 30053, "protocol": "UDP"}]}}),
            "80/TCP,53:30053/UDP",
        );
        check(service_ports, json!({}), "<none>");
    }

    #[test]
    fn an_ingress_lists_three_hosts() {
        for (hosts, expected) in [
            (json!([]), "*"),
            (json!([{}]), "*"),
            (json!([{"host": "a"}, {}, {"host": "b"}]), "a,b"),
            (json!([{"host": "a"}, {"host": "b"}, {"host": "c"}, {"host": "d"}, {"host": "e"}]), "a,b,c + 2 more..."),
        ] {
            check(ingress_hosts, json!({"spec": {"rules": hosts}}), expected);
        }
    }

    #[test]
    fn endpoints_list_three_addresses() {
        let three = json!([{"ip": "1.1.1.1"}, {"ip": "2.2.2.2"}, {"ip": "::3"}]);
        for (subsets, expected) in [
            (json!([]), "<none>"),
            (json!([{"notReadyAddresses": [{"ip": "1.1.1.1"}], "ports": [{"port": 1}]}]), ""),
            (json!([{"addresses": three}]), "1.1.1.1,2.2.2.2,::3"),
            (json!([{"addresses": three, "ports": [{"port": 80}]}]), "1.1.1.1:80,2.2.2.2:80,[::3]:80"),
            (
                json!([{"addresses": three, "ports": [{"port": 80}, {"port": 81}]}]),
                "1.1.1.1:80,2.2.2.2:80,[::3]:80 + 3 more...",
            ),
        ] {
            check(endpoints, json!({"subsets": subsets}), expected);
        }
    }

    #[test]
    fn slices_list_ports_and_addresses() {
        check(slice_ports, json!({"ports": [{"port": 80, "name": "http"}, {"name": "x"}, {}]}), "80,x,*");
        check(slice_ports, json!({"ports": null}), "<unset>");
        let addresses = json!({"endpoints": [{"addresses": ["a", "b"]}, {"addresses": ["c", "d"]}]});
        check(slice_endpoints, addresses, "a,b,c + 1 more...");
    }

    #[test]
    fn an_address_names_its_parent() {
        let parent = json!({"group": "", "resource": "services", "namespace": "default", "name": "kubernetes"});
        check(ip_address_parent, json!({"spec": {"parentRef": parent}}), "services/default/kubernetes");
        let parent = json!({"group": "gateway.example.com", "resource": "gateways", "name": "g"});
        check(ip_address_parent, json!({"spec": {"parentRef": parent}}), "gateways.gateway.example.com/g");
        check(ip_address_parent, json!({}), "<none>");
    }
}
