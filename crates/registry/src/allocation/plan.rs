//! What a write of a service takes and gives back: decided here, done elsewhere.
//!
//! A plan fills in the numbers of the service it is made for. It is made from what is taken now; whoever makes it sees to
//! it that nobody takes the same in between.

use std::collections::HashSet;
use std::net::IpAddr;

use pawl_meta::{Errors, FieldPath};
use serde_json::{Map, Value, json};

use super::ports;
use super::ranges::{ServiceRanges, family_of};

/// What other services have.
#[derive(Clone, Debug, Default)]
pub struct Taken {
    pub addresses: HashSet<IpAddr>,
    pub ports: HashSet<u16>,
}

/// What a write takes for its service, and which addresses it leaves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    pub addresses: Vec<IpAddr>,
    pub ports: Vec<u16>,
    pub left: Vec<IpAddr>,
}

/// Why a service does not get what it needs.
#[derive(Clone, Debug, PartialEq)]
pub enum Refusal {
    /// It asked for something that it cannot have.
    Invalid(Errors),
    /// There is nothing left, or no words for a field.
    Failed(String),
}

pub(super) type Spec = Map<String, Value>;

/// Plans for a new service. `given` is how many families its author named; the others follow from its addresses.
pub fn create(
    name: &str,
    spec: &mut Spec,
    given: usize,
    ranges: &ServiceRanges,
    taken: &Taken,
) -> Result<Plan, Refusal> {
    let mut plan = Plan::default();
    if is(spec, "ExternalName") || !well_formed(spec) {
        return Ok(plan);
    }
    if given == 0 && addresses(spec).is_empty() {
        prefer_own_family(spec, ranges);
    }
    check_families(spec, given, ranges)?;
    take_addresses(name, spec, 0, ranges, taken, &mut plan)?;
    ports::create(spec, ranges.node_ports, taken, &mut plan)?;
    Ok(plan)
}

/// Plans for a change of a service.
pub fn update(name: &str, spec: &mut Spec, old: &Spec, ranges: &ServiceRanges, taken: &Taken) -> Result<Plan, Refusal> {
    let mut plan = Plan::default();
    let before = addresses(old);
    if is(spec, "ExternalName") {
        plan.left = before;
        return Ok(plan);
    }
    if !well_formed(spec) {
        return Ok(plan);
    }
    check_families(spec, usize::MAX, ranges)?;
    let (families, had) = (texts(spec, "ipFamilies").len(), texts(old, "ipFamilies").len());
    if is(old, "ExternalName") {
        take_addresses(name, spec, 0, ranges, taken, &mut plan)?;
    } else if !headless(old) && (had, families) == (1, 2) {
        take_addresses(name, spec, 1, ranges, taken, &mut plan)?;
    } else if (had, families) == (2, 1) {
        plan.left = before.into_iter().skip(1).collect();
    }
    ports::update(spec, old, ranges.node_ports, taken, &mut plan)?;
    Ok(plan)
}

/// The addresses of a service.
pub fn addresses(spec: &Spec) -> Vec<IpAddr> {
    texts(spec, "clusterIPs").into_iter().filter_map(|address| address.parse().ok()).collect()
}

/// A service whose author named no family is of the server's own one first.
fn prefer_own_family(spec: &mut Spec, ranges: &ServiceRanges) {
    let own = ranges.addresses.family();
    let Some(Value::Array(families)) = spec.get_mut("ipFamilies") else { return };
    match families.as_mut_slice() {
        [only] => *only = json!(own),
        [first, _] if first != own => families.reverse(),
        _ => {}
    }
}

/// The families must be those that the server has addresses of; a headless service without a selector has none to get.
fn check_families(spec: &Spec, given: usize, ranges: &ServiceRanges) -> Result<(), Refusal> {
    let at = FieldPath::of("spec");
    let mut errors = Errors::new();
    let policy = text(spec, "ipFamilyPolicy");
    let (list, families) = (texts(spec, "clusterIPs"), texts(spec, "ipFamilies"));
    if policy == "SingleStack" {
        for (several, what) in [(list.len() == 2, "cluster IPs"), (families.len() == 2, "IP families")] {
            if several {
                let detail =
                    format!("must be 'RequireDualStack' or 'PreferDualStack' when multiple {what} are specified");
                errors.invalid(&at.child("ipFamilyPolicy"), policy, detail);
            }
        }
    }
    for (index, address) in addresses(spec).iter().enumerate().skip(given) {
        if family_of(address) != ranges.addresses.family() {
            let detail = format!("{} is not configured on this cluster", family_of(address));
            errors.invalid(&at.child("clusterIPs").index(index), json!(list), detail);
        }
    }
    let anywhere = headless(spec) && spec.get("selector").and_then(Value::as_object).is_none_or(Map::is_empty);
    if errors.is_empty() && !anywhere {
        if policy == "RequireDualStack" {
            let detail = "this cluster is not configured for dual-stack services";
            errors.invalid(&at.child("ipFamilyPolicy"), policy, detail);
        }
        for (index, family) in families.iter().enumerate().filter(|(_, family)| **family != ranges.addresses.family()) {
            errors.invalid(&at.child("ipFamilies").index(index), *family, "not configured on this cluster");
        }
    }
    if errors.is_empty() { Ok(()) } else { Err(Refusal::Invalid(errors)) }
}

/// Takes an address for every family from a place on: the one that was asked for, or any.
fn take_addresses(
    name: &str,
    spec: &mut Spec,
    from: usize,
    ranges: &ServiceRanges,
    taken: &Taken,
    plan: &mut Plan,
) -> Result<(), Refusal> {
    if headless(spec) {
        return Ok(());
    }
    let families = texts(spec, "ipFamilies").len();
    let asked: Vec<String> = texts(spec, "clusterIPs").into_iter().map(str::to_owned).collect();
    let mut list = asked.clone();
    list.resize(families.max(asked.len()), String::new());
    for slot in list.iter_mut().take(families).skip(from) {
        if slot.is_empty() {
            let pool = ranges.addresses.pool();
            let free = pool.pick(|n| taken.addresses.contains(&ranges.addresses.address(n)));
            let Some(free) = free else {
                return Err(Refusal::Failed(format!(
                    "failed to allocate a serviceIP for Service {name:?}: range is full"
                )));
            };
            let address = ranges.addresses.address(free);
            *slot = address.to_string();
            plan.addresses.push(address);
            continue;
        }
        let refuse = |why: &str| {
            let mut errors = Errors::new();
            let detail = format!("failed to allocate IP {slot}: {why}");
            errors.invalid(&FieldPath::of("spec").child("clusterIPs"), json!(asked), detail);
            Refusal::Invalid(errors)
        };
        let Ok(address) = slot.parse::<IpAddr>() else {
            return Err(Refusal::Failed(format!("failed to parse service IP {slot:?}")));
        };
        if !ranges.addresses.holds(&address) {
            return Err(refuse("the provided network does not match the current range"));
        }
        if taken.addresses.contains(&address) {
            return Err(refuse("provided IP is already allocated"));
        }
        plan.addresses.push(address);
    }
    if let Some(first) = list.first() {
        spec.insert("clusterIP".to_owned(), json!(first));
    }
    spec.insert("clusterIPs".to_owned(), json!(list));
    Ok(())
}

/// Whether the fields about addresses make enough sense to plan by; what is wrong with them is for validation to say.
fn well_formed(spec: &Spec) -> bool {
    let (list, families) = (texts(spec, "clusterIPs"), texts(spec, "ipFamilies"));
    let parsed: Vec<IpAddr> = list.iter().filter_map(|address| address.parse().ok()).collect();
    let known = families.iter().all(|family| matches!(*family, "IPv4" | "IPv6"));
    let distinct = families.iter().collect::<HashSet<_>>().len() == families.len();
    let fits = parsed.iter().zip(&families).all(|(address, family)| family_of(address) == *family);
    let agree = list.first().copied().unwrap_or_default() == text(spec, "clusterIP");
    known && distinct && agree && list.len() <= 2 && (headless(spec) || (parsed.len() == list.len() && fits))
}

pub(super) fn headless(spec: &Spec) -> bool {
    texts(spec, "clusterIPs") == ["None"]
}

pub(super) fn is(spec: &Spec, kind: &str) -> bool {
    text(spec, "type") == kind
}

pub(super) fn text<'s>(spec: &'s Spec, field: &str) -> &'s str {
    spec.get(field).and_then(Value::as_str).unwrap_or_default()
}

fn texts<'s>(spec: &'s Spec, field: &str) -> Vec<&'s str> {
    spec.get(field).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect()
}
