//! Plans for services, as data.

use serde_json::{Value, json};

use super::plan::{self, Refusal, Taken};
use super::{AddressRange, PortRange, ServiceRanges};

fn ranges() -> ServiceRanges {
    ServiceRanges {
        addresses: AddressRange { base: "10.0.0.0".parse().unwrap(), bits: 29 },
        node_ports: PortRange { first: 30000, last: 30009 },
    }
}

fn taken(addresses: &[&str], ports: &[u16]) -> Taken {
    Taken { addresses: addresses.iter().map(|a| a.parse().unwrap()).collect(), ports: ports.iter().copied().collect() }
}

fn create(spec: Value, taken: &Taken) -> Result<Value, String> {
    let mut spec = spec.as_object().unwrap().clone();
    plan::create("x", &mut spec, 1, &ranges(), taken).map(|_| Value::Object(spec)).map_err(text)
}

fn update(spec: Value, old: Value, taken: &Taken) -> Result<(Value, plan::Plan), String> {
    let mut spec = spec.as_object().unwrap().clone();
    plan::update("x", &mut spec, old.as_object().unwrap(), &ranges(), taken)
        .map(|plan| (Value::Object(spec), plan))
        .map_err(text)
}

fn text(refusal: Refusal) -> String {
    match refusal {
        Refusal::Invalid(errors) => errors.message(),
        Refusal::Failed(why) => why,
    }
}

fn cluster_ip(more: Value) -> Value {
    let mut spec = json!({"type": "ClusterIP", "ipFamilyPolicy": "SingleStack", "ipFamilies": ["IPv4"]});
    spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    spec
}

#[test]
fn a_service_gets_a_free_address() {
    let others = taken(&["10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4", "10.0.0.6"], &[]);
    let spec = create(cluster_ip(json!({})), &others).unwrap();
    assert_eq!((&spec["clusterIP"], &spec["clusterIPs"]), (&json!("10.0.0.5"), &json!(["10.0.0.5"])));
    let full = taken(&["10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4", "10.0.0.5", "10.0.0.6"], &[]);
    let why = create(cluster_ip(json!({})), &full).unwrap_err();
    assert_eq!(why, "failed to allocate a serviceIP for Service \"x\": range is full");
}

#[test]
fn addresses_that_are_asked_for_are_given_or_refused() {
    let ask = |address: &str| {
        create(cluster_ip(json!({"clusterIP": address, "clusterIPs": [address]})), &taken(&["10.0.0.2"], &[]))
    };
    assert_eq!(ask("10.0.0.1").unwrap()["clusterIP"], "10.0.0.1");
    let refused = |address: &str, why: &str| {
        let expect = format!("spec.clusterIPs: Invalid value: [\"{address}\"]: failed to allocate IP {address}: {why}");
        assert_eq!(ask(address).unwrap_err(), expect);
    };
    refused("10.0.0.2", "provided IP is already allocated");
    refused("10.0.0.7", "the provided network does not match the current range");
    refused("10.1.0.1", "the provided network does not match the current range");
    assert_eq!(ask("None").unwrap()["clusterIPs"], json!(["None"]));
    assert_eq!(ask("nonsense").unwrap()["clusterIP"], "nonsense");
}

#[test]
fn families_that_the_server_has_not_are_refused() {
    let spec = cluster_ip(json!({"ipFamilies": ["IPv6"]}));
    let why = "spec.ipFamilies[0]: Invalid value: \"IPv6\": not configured on this cluster";
    assert_eq!(create(spec, &Taken::default()).unwrap_err(), why);
    let spec = cluster_ip(json!({"ipFamilyPolicy": "RequireDualStack"}));
    let why = "spec.ipFamilyPolicy: Invalid value: \"RequireDualStack\": this cluster is not configured for dual-stack services";
    assert_eq!(create(spec, &Taken::default()).unwrap_err(), why);
    let both = json!({"ipFamilyPolicy": "RequireDualStack", "ipFamilies": ["IPv4", "IPv6"], "clusterIP": "None", "clusterIPs": ["None"]});
    assert!(create(cluster_ip(both), &Taken::default()).is_ok());
    let mut inferred = cluster_ip(json!({"ipFamilies": ["IPv6"], "clusterIP": "::1", "clusterIPs": ["::1"]}));
    let spec = inferred.as_object_mut().unwrap();
    let refusal = plan::create("x", spec, 0, &ranges(), &Taken::default()).unwrap_err();
    assert_eq!(text(refusal), "spec.clusterIPs[0]: Invalid value: [\"::1\"]: IPv6 is not configured on this cluster");
}

#[test]
fn a_server_of_ipv6_gives_ipv6() {
    let addresses = AddressRange { base: "fd00::".parse().unwrap(), bits: 120 };
    let ranges = ServiceRanges { addresses, ..ranges() };
    let mut spec = cluster_ip(json!({})).as_object().unwrap().clone();
    plan::create("x", &mut spec, 0, &ranges, &Taken::default()).unwrap();
    assert_eq!(spec["ipFamilies"], json!(["IPv6"]));
    assert!(spec["clusterIP"].as_str().unwrap().starts_with("fd00::"));
}

#[test]
fn ports_of_the_same_number_share_a_node_port() {
    let ports = json!([{"port": 53, "protocol": "UDP"}, {"port": 53, "protocol": "TCP"}, {"port": 80}]);
    let others = taken(&[], &[30000, 30001, 30002, 30003, 30004, 30005, 30006, 30007]);
    let spec = create(cluster_ip(json!({"type": "NodePort", "ports": ports})), &others).unwrap();
    let number = |index: usize| spec["ports"][index]["nodePort"].as_i64().unwrap();
    assert_eq!(number(0), number(1));
    assert_ne!(number(0), number(2));
    assert!(number(0) >= 30008 && number(2) >= 30008);
}

#[test]
fn node_ports_that_are_asked_for_are_given_or_refused() {
    let ask = |port: i64| {
        create(cluster_ip(json!({"type": "NodePort", "ports": [{"port": 1, "nodePort": port}]})), &taken(&[], &[30002]))
    };
    assert_eq!(ask(30001).unwrap()["ports"][0]["nodePort"], 30001);
    let at = "spec.ports[0].nodePort: Invalid value";
    assert_eq!(ask(30002).unwrap_err(), format!("{at}: 30002: provided port is already allocated"));
    let why = "provided port is not in the valid range. The range of valid ports is 30000-30009";
    assert_eq!(ask(80).unwrap_err(), format!("{at}: 80: {why}"));
}

#[test]
fn load_balancers_may_go_without_node_ports_and_have_a_health_port() {
    let spec = json!({"type": "LoadBalancer", "allocateLoadBalancerNodePorts": false, "externalTrafficPolicy": "Local",
        "ports": [{"port": 1}]});
    let spec = create(cluster_ip(spec), &Taken::default()).unwrap();
    assert!(spec["ports"][0].get("nodePort").is_none());
    assert!(spec["healthCheckNodePort"].as_i64().unwrap() >= 30000);
}

#[test]
fn changes_of_type_take_and_leave() {
    let external = json!({"type": "ExternalName"});
    let addressed = cluster_ip(json!({"clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"]}));
    let (spec, plan) = update(cluster_ip(json!({})), external.clone(), &Taken::default()).unwrap();
    assert_eq!(plan.addresses.len(), 1);
    assert_eq!(spec["clusterIP"], json!(plan.addresses[0].to_string()));
    let (_, plan) = update(external, addressed.clone(), &Taken::default()).unwrap();
    assert_eq!(plan.left, ["10.0.0.1".parse::<std::net::IpAddr>().unwrap()]);
    let mut ported = addressed.clone();
    ported["type"] = json!("NodePort");
    ported["ports"] = json!([{"port": 80, "nodePort": 30001}, {"port": 81}]);
    let mut before = ported.clone();
    before["ports"] = json!([{"port": 80, "nodePort": 30001}]);
    let (spec, plan) = update(ported, before, &taken(&["10.0.0.1"], &[30001])).unwrap();
    assert_eq!((plan.addresses.len(), plan.ports.len()), (0, 1));
    assert_eq!(spec["ports"][0]["nodePort"], 30001);
}
