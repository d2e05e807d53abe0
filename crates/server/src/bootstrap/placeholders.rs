//! The placeholders in starting objects, and what stands in their places on this server.

use std::net::IpAddr;

use pawl_meta::object::Object;
use pawl_meta::time;
use serde_json::{Value, json};

use crate::host::can_be_endpoint;

/// What a server knows of itself.
#[derive(Clone, Debug)]
pub struct Placeholders {
    /// Where others reach it.
    pub ip: IpAddr,
    pub port: u16,
    /// The first address of services, and all of them.
    pub service_ip: IpAddr,
    pub service_range: String,
    /// Where the service `kubernetes` leads to, each with the same port. Without any, somebody else says it.
    pub servers: Vec<IpAddr>,
    /// Who signs client certificates.
    pub client_ca: Option<String>,
}

impl Placeholders {
    /// Whether a starting object can be there. Endpoints cannot be loopback addresses: a server on a machine that leads
    /// nowhere has none.
    pub(super) fn fits(&self, object: &Object) -> bool {
        !is_endpoints(object) || (can_be_endpoint(self.ip) && !self.servers.is_empty())
    }

    /// A starting object as it should be.
    pub(super) fn complete(&self, object: &Object) -> Object {
        let mut filled = self.fill_object(object);
        if is_endpoints(object) {
            self.spread(&mut filled);
        }
        filled
    }

    fn fill_object(&self, object: &Object) -> Object {
        object.iter().filter_map(|(field, value)| Some((field.clone(), self.fill(value)?))).collect()
    }

    /// Says of every server what endpoints say of one.
    fn spread(&self, endpoints: &mut Object) {
        if let Some(subset) = endpoints.get_mut("subsets").and_then(|subsets| subsets.get_mut(0)?.as_object_mut()) {
            let addresses: Vec<Value> = self.servers.iter().map(|ip| json!({"ip": ip.to_string()})).collect();
            subset.insert("addresses".to_owned(), json!(addresses));
        }
        if let Some(Value::Array(each)) = endpoints.get_mut("endpoints") {
            let one = |ip: &IpAddr| json!({"addresses": [ip.to_string()], "conditions": {"ready": true}});
            *each = self.servers.iter().map(one).collect();
        }
    }

    /// A value without placeholders; `None` when one has no value, so that its field is left out.
    pub fn fill(&self, value: &Value) -> Option<Value> {
        match value {
            Value::String(text) if text == "${port}" => Some(json!(self.port)),
            Value::String(text) => self.fill_text(text).map(Value::from),
            Value::Array(items) => Some(items.iter().filter_map(|item| self.fill(item)).collect()),
            Value::Object(object) => Some(Value::Object(self.fill_object(object))),
            other => Some(other.clone()),
        }
    }

    fn fill_text(&self, text: &str) -> Option<String> {
        let mut filled = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("${") {
            let (name, after) = after.split_once('}')?;
            filled.push_str(before);
            filled.push_str(&self.value(name)?);
            rest = after;
        }
        filled.push_str(rest);
        Some(filled)
    }

    fn value(&self, name: &str) -> Option<String> {
        let family = if self.ip.is_ipv4() { "IPv4" } else { "IPv6" };
        Some(match name {
            "ip" => self.ip.to_string(),
            "port" => self.port.to_string(),
            "serviceIP" => self.service_ip.to_string(),
            "serviceCIDR" => self.service_range.clone(),
            "ipFamily" | "addressType" => family.to_owned(),
            "now" => time::now(),
            "clientCA" => self.client_ca.clone()?,
            // Requests that another server authenticated are not accepted here.
            _ => return None,
        })
    }
}

/// Whether an object says where a service leads to.
pub(super) fn is_endpoints(object: &Object) -> bool {
    matches!(object.get("kind").and_then(Value::as_str), Some("Endpoints" | "EndpointSlice"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_filled_or_their_fields_left_out() {
        let places = Placeholders {
            ip: "10.1.2.3".parse().unwrap(),
            port: 6443,
            service_ip: "10.0.0.1".parse().unwrap(),
            service_range: "10.0.0.0/24".to_owned(),
            servers: Vec::new(),
            client_ca: None,
        };
        let given = json!({"a": "${port}", "b": ["x-${ip}"], "c": {"ca": "${clientCA}", "r": "${serviceCIDR}"}});
        assert_eq!(places.fill(&given), Some(json!({"a": 6443, "b": ["x-10.1.2.3"], "c": {"r": "10.0.0.0/24"}})));
    }
}
