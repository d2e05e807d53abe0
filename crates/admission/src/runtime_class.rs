//! A pod with a runtime class carries its overhead and goes where that runtime is.

mod tolerations;

use pawl_meta::object::Object;
use pawl_meta::quantity::Quantity;
use pawl_meta::{GroupResource, Status, go, read};
use serde_json::{Map, Value};

use crate::{AdmissionVerdict, Attributes, Operation, Plugin};

const MISMATCH: &str = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead";

pub struct RuntimeClass;

impl Plugin for RuntimeClass {
    fn name(&self) -> &'static str {
        "RuntimeClass"
    }

    fn looks_at_others(&self, resource: &GroupResource) -> bool {
        (resource.group.as_str(), resource.resource.as_str()) == ("", "pods")
    }

    fn mutate<'a>(&'a self, attributes: &'a Attributes<'a>, object: &'a mut Object) -> AdmissionVerdict<'a> {
        Box::pin(async move {
            if attributes.operation != Operation::Create || !attributes.is("", "pods") {
                return Ok(());
            }
            let Some(class) = class_of(attributes, object).await? else { return Ok(()) };
            set_overhead(object, &class).map_err(|why| attributes.forbidden(Some(object), why))?;
            set_scheduling(object, &class).map_err(|why| attributes.forbidden(Some(object), why))
        })
    }

    fn validate<'a>(&'a self, attributes: &'a Attributes<'a>, object: Option<&'a Object>) -> AdmissionVerdict<'a> {
        Box::pin(async move {
            match object {
                Some(pod) if attributes.operation == Operation::Create && attributes.is("", "pods") => {
                    let class = class_of(attributes, pod).await?;
                    check_overhead(pod, class.as_ref()).map_err(|why| attributes.forbidden(Some(pod), why))
                }
                _ => Ok(()),
            }
        })
    }
}

/// The class that the pod names.
async fn class_of(attributes: &Attributes<'_>, pod: &Object) -> Result<Option<Object>, Status> {
    let Some(name) = read::map(pod, "spec").and_then(|spec| spec.get("runtimeClassName")).and_then(Value::as_str)
    else {
        return Ok(None);
    };
    match attributes.objects.find("node.k8s.io", "runtimeclasses", "", name).await {
        Some(class) => Ok(Some(class)),
        None => {
            let why = format!("pod rejected: RuntimeClass {} not found", go::quote(name));
            Err(attributes.forbidden(Some(pod), why))
        }
    }
}

fn set_overhead(pod: &mut Object, class: &Object) -> Result<(), &'static str> {
    let (Some(overhead), Some(spec)) = (read::map(class, "overhead"), read::map_mut(pod, "spec")) else {
        return Ok(());
    };
    let given = read::map(spec, "overhead").filter(|given| !given.is_empty());
    let fixed = read::map(overhead, "podFixed");
    if given.is_some() && !same_amounts(given, fixed) {
        return Err(MISMATCH);
    }
    match fixed {
        Some(fixed) => spec.insert("overhead".to_owned(), Value::Object(fixed.clone())),
        None => spec.remove("overhead"),
    };
    Ok(())
}

fn set_scheduling(pod: &mut Object, class: &Object) -> Result<(), String> {
    let (Some(scheduling), Some(spec)) = (read::map(class, "scheduling"), read::map_mut(pod, "spec")) else {
        return Ok(());
    };
    if let Some(wanted) = read::map(scheduling, "nodeSelector").filter(|wanted| !wanted.is_empty()) {
        let mut selector = read::map(spec, "nodeSelector").cloned().unwrap_or_default();
        for (key, value) in wanted {
            if let Some(own) = selector.get(key).filter(|own| *own != value) {
                let (value, own) = (go::print_map(value), go::print_map(own));
                return Err(format!(
                    "conflict: runtimeClass.scheduling.nodeSelector[{key}] = {value}; pod.spec.nodeSelector[{key}] = {own}"
                ));
            }
            selector.insert(key.clone(), value.clone());
        }
        spec.insert("nodeSelector".to_owned(), Value::Object(selector));
    }
    let merged = tolerations::merged(read::each(spec, "tolerations").chain(read::each(scheduling, "tolerations")));
    if merged.is_empty() {
        spec.remove("tolerations");
    } else {
        spec.insert("tolerations".to_owned(), Value::Array(merged));
    }
    Ok(())
}

fn check_overhead(pod: &Object, class: Option<&Object>) -> Result<(), &'static str> {
    let given = read::map(pod, "spec").and_then(|spec| read::map(spec, "overhead"));
    match class.and_then(|class| read::map(class, "overhead")) {
        Some(overhead) if !same_amounts(given, read::map(overhead, "podFixed")) => Err(MISMATCH),
        None if given.is_some() => {
            Err("pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead")
        }
        _ => Ok(()),
    }
}

/// Whether two lists of resources mean the same, however the amounts are written.
fn same_amounts(one: Option<&Object>, other: Option<&Object>) -> bool {
    let empty = Map::new();
    let (one, other) = (one.unwrap_or(&empty), other.unwrap_or(&empty));
    let amount = |value: &Value| value.as_str().and_then(|text| Quantity::parse(text).ok());
    one.len() == other.len()
        && one.iter().all(|(key, value)| other.get(key).is_some_and(|o| o == value || (amount(o) == amount(value))))
}

#[cfg(test)]
mod tests;
