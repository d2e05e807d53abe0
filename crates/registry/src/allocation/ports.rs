//! Ports on nodes: which ones a service asks for, which ones it gets, and the one for health checks.

use std::collections::HashSet;

use pawl_meta::{Errors, FieldPath};
use serde_json::{Value, json};

use super::plan::{Plan, Refusal, Spec, Taken, is, text};
use super::ranges::PortRange;

/// Ports for a new service. Ports with the same number, for different protocols, share one.
pub(super) fn create(spec: &mut Spec, range: PortRange, taken: &Taken, plan: &mut Plan) -> Result<(), Refusal> {
    let mut desk = Desk { range, taken, plan };
    if has_node_ports(spec) {
        let automatic = gets_node_ports(spec);
        let wanted: Vec<(i64, i64)> = ports(spec).map(|port| (field(port, "port"), field(port, "nodePort"))).collect();
        let mut shared: Vec<(i64, u16)> = Vec::new();
        for (index, (port, asked)) in wanted.iter().enumerate() {
            if *asked == 0 && !automatic {
                continue;
            }
            let known = shared.iter().find(|(known, _)| known == port).map(|(_, number)| *number);
            let number = match known {
                Some(number) if *asked == 0 || *asked == i64::from(number) => number,
                Some(_) => desk.ask(index, *asked)?,
                None => {
                    let named = wanted.iter().find(|(other, asked)| other == port && *asked != 0);
                    let number = match named {
                        Some((_, asked)) => desk.ask(index, *asked)?,
                        None => desk.any()?,
                    };
                    shared.push((*port, number));
                    number
                }
            };
            set_node_port(spec, index, number);
        }
    }
    if needs_health_port(spec) { health(spec, &mut desk) } else { Ok(()) }
}

/// Ports for a changed service: those it had stay its own.
pub(super) fn update(
    spec: &mut Spec,
    old: &Spec,
    range: PortRange,
    taken: &Taken,
    plan: &mut Plan,
) -> Result<(), Refusal> {
    let mut desk = Desk { range, taken, plan };
    if has_node_ports(spec) {
        let automatic = gets_node_ports(spec);
        let mut own: HashSet<i64> = ports(old).map(|port| field(port, "nodePort")).collect();
        let wanted: Vec<i64> = ports(spec).map(|port| field(port, "nodePort")).collect();
        for (index, asked) in wanted.into_iter().enumerate() {
            match asked {
                0 if automatic => {
                    let number = desk.any()?;
                    set_node_port(spec, index, number);
                }
                0 => {}
                asked if own.contains(&asked) => {}
                asked => {
                    desk.ask(index, asked)?;
                    own.insert(asked);
                }
            }
        }
    }
    if needs_health_port(spec) && !needs_health_port(old) { health(spec, &mut desk) } else { Ok(()) }
}

/// Every port on nodes that a service has.
pub(super) fn of(spec: &Spec) -> Vec<u16> {
    let health = field_of(spec, "healthCheckNodePort");
    let numbers = ports(spec).map(|port| field(port, "nodePort")).chain(std::iter::once(health));
    numbers.filter(|number| *number != 0).filter_map(|number| u16::try_from(number).ok()).collect()
}

/// Whether a service of this type may have ports on nodes at all.
pub(super) fn has_node_ports(spec: &Spec) -> bool {
    is(spec, "NodePort") || is(spec, "LoadBalancer")
}

fn gets_node_ports(spec: &Spec) -> bool {
    is(spec, "NodePort") || spec.get("allocateLoadBalancerNodePorts") != Some(&Value::Bool(false))
}

fn needs_health_port(spec: &Spec) -> bool {
    is(spec, "LoadBalancer") && text(spec, "externalTrafficPolicy") == "Local"
}

fn health(spec: &mut Spec, desk: &mut Desk<'_>) -> Result<(), Refusal> {
    let asked = field_of(spec, "healthCheckNodePort");
    let number = if asked == 0 {
        desk.any()
            .map_err(|_| Refusal::Failed("failed to allocate a HealthCheck NodePort 0: range is full".to_owned()))?
    } else {
        desk.take(asked).map_err(|why| {
            Refusal::Failed(format!("failed to allocate requested HealthCheck NodePort {asked}: {why}"))
        })?
    };
    spec.insert("healthCheckNodePort".to_owned(), json!(number));
    Ok(())
}

/// Where ports are handed out: what others have and what this plan took already is gone.
struct Desk<'p> {
    range: PortRange,
    taken: &'p Taken,
    plan: &'p mut Plan,
}

impl Desk<'_> {
    fn is_taken(&self, port: u16) -> bool {
        self.taken.ports.contains(&port) || self.plan.ports.contains(&port)
    }

    fn any(&mut self) -> Result<u16, Refusal> {
        let free = self.range.pool().pick(|n| u16::try_from(n).is_ok_and(|port| self.is_taken(port)));
        let Some(port) = free.and_then(|n| u16::try_from(n).ok()) else {
            return Err(Refusal::Failed("failed to allocate a nodePort: range is full".to_owned()));
        };
        self.plan.ports.push(port);
        Ok(port)
    }

    fn ask(&mut self, index: usize, asked: i64) -> Result<u16, Refusal> {
        self.take(asked).map_err(|why| {
            let mut errors = Errors::new();
            errors.invalid(&FieldPath::of("spec").child("ports").index(index).child("nodePort"), asked, why);
            Refusal::Invalid(errors)
        })
    }

    fn take(&mut self, asked: i64) -> Result<u16, String> {
        let port = u16::try_from(asked).ok().filter(|port| (self.range.first..=self.range.last).contains(port));
        match port {
            None => Err(format!("provided port is not in the valid range. The range of valid ports is {}", self.range)),
            Some(port) if self.is_taken(port) => Err("provided port is already allocated".to_owned()),
            Some(port) => {
                self.plan.ports.push(port);
                Ok(port)
            }
        }
    }
}

fn ports(spec: &Spec) -> impl Iterator<Item = &Value> {
    spec.get("ports").and_then(Value::as_array).into_iter().flatten()
}

fn field(port: &Value, name: &str) -> i64 {
    port.get(name).and_then(Value::as_i64).unwrap_or_default()
}

fn field_of(spec: &Spec, name: &str) -> i64 {
    spec.get(name).and_then(Value::as_i64).unwrap_or_default()
}

fn set_node_port(spec: &mut Spec, index: usize, number: u16) {
    let port = spec.get_mut("ports").and_then(Value::as_array_mut).and_then(|ports| ports.get_mut(index));
    if let Some(Value::Object(port)) = port {
        port.insert("nodePort".to_owned(), json!(number));
    }
}
