//! The placeholders in starting objects, and what stands in their places on this server.

use std::net::IpAddr;

use pawl_meta::object::Object;
use pawl_meta::time;
use serde_json::{Value, json};

use crate::host::can_be_endpoint;

/// What a server knows of itself.
#[derive(Clone, Debug)]
pub struct Places {
    /// Where others reach it.
    pub ip: IpAddr,
    pub port: u16,
    /// The first address of services, and all of them.
    pub service_ip: IpAddr,
    pub service_range: String,
    /// Who signs client certificates.
    pub client_ca: Option<String>,
}

impl Places {
    /// Whether a starting object can be there. Endpoints cannot be loopback addresses: a server on a machine that leads
    /// nowhere has none.
    pub(super) fn fits(&self, object: &Object) -> bool {
        let endpoints = matches!(object.get("kind").and_then(Value::as_str), Some("Endpoints" | "EndpointSlice"));
        !endpoints || can_be_endpoint(self.ip)
    }

    pub fn fill_object(&self, object: &Object) -> Object {
        object.iter().filter_map(|(field, value)| Some((field.clone(), self.fill(value)?))).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_filled_or_their_fields_left_out() {
        let places = Places {
            ip: "10.1.2.3".parse().unwrap(),
            port: 6443,
            service_ip: "10.0.0.1".parse().unwrap(),
            service_range: "10.0.0.0/24".to_owned(),
            client_ca: None,
        };
        let given = json!({"a": "${port}", "b": ["x-${ip}"], "c": {"ca": "${clientCA}", "r": "${serviceCIDR}"}});
        assert_eq!(places.fill(&given), Some(json!({"a": 6443, "b": ["x-10.1.2.3"], "c": {"r": "10.0.0.0/24"}})));
    }
}
