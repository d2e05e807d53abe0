//! A pod's priority is computed from its priority class, and only one class is the default of all pods.
//!
//! Which names and values a priority class may have is a rule of its kind, not of this plugin.

use pawl_meta::object::{Meta, Object};
use pawl_meta::{GroupResource, Status, read};
use serde_json::{Value, json};

use crate::{AdmissionVerdict, Attributes, Objects, Operation, Plugin};

const GROUP: &str = "scheduling.k8s.io";
const CLASSES: &str = "priorityclasses";

pub struct Priority;

impl Plugin for Priority {
    fn name(&self) -> &'static str {
        "Priority"
    }

    fn looks_at_others(&self, resource: &GroupResource) -> bool {
        matches!((resource.group.as_str(), resource.resource.as_str()), ("", "pods") | (GROUP, CLASSES))
    }

    fn mutate<'a>(&'a self, attributes: &'a Attributes<'a>, object: &'a mut Object) -> AdmissionVerdict<'a> {
        Box::pin(async move {
            match attributes.operation {
                Operation::Create if attributes.is("", "pods") => set_priority(attributes, object).await,
                Operation::Update if attributes.is("", "pods") => {
                    keep_priority(attributes, object);
                    Ok(())
                }
                _ => Ok(()),
            }
        })
    }

    fn validate<'a>(&'a self, attributes: &'a Attributes<'a>, object: Option<&'a Object>) -> AdmissionVerdict<'a> {
        Box::pin(async move {
            match object {
                Some(class) if attributes.is(GROUP, CLASSES) => check_class(attributes, class),
                _ => Ok(()),
            }
        })
    }
}

/// What a pod gets from its class, or from there being none.
struct Computed {
    class: String,
    priority: i64,
    preemption: Option<String>,
}

async fn set_priority(attributes: &Attributes<'_>, pod: &mut Object) -> Result<(), Status> {
    let computed = computed(attributes, pod).await?;
    if let Some(spec) = read::map(pod, "spec") {
        check_given(spec, &computed).map_err(|why| attributes.forbidden(Some(pod), why))?;
    }
    if let Some(spec) = read::map_mut(pod, "spec") {
        if !computed.class.is_empty() {
            spec.insert("priorityClassName".to_owned(), json!(computed.class));
        }
        spec.insert("priority".to_owned(), json!(computed.priority));
        spec.extend(computed.preemption.map(|policy| ("preemptionPolicy".to_owned(), json!(policy))));
    }
    Ok(())
}

async fn computed(attributes: &Attributes<'_>, pod: &Object) -> Result<Computed, Status> {
    let class = match read::deep_text(pod, "spec", "priorityClassName") {
        "" => default_class(attributes.objects),
        name => match attributes.objects.find(GROUP, CLASSES, "", name).await {
            Some(class) => Some(class),
            None => {
                return Err(attributes.forbidden(Some(pod), format!("no PriorityClass with name {name} was found")));
            }
        },
    };
    Ok(match class {
        Some(class) => Computed {
            class: class.name().to_owned(),
            priority: value(&class),
            preemption: class.get("preemptionPolicy").and_then(Value::as_str).map(str::to_owned),
        },
        None => Computed { class: String::new(), priority: 0, preemption: Some("PreemptLowerPriority".to_owned()) },
    })
}

/// A pod may say what would be computed, and nothing else.
fn check_given(spec: &Object, computed: &Computed) -> Result<(), String> {
    let priority = computed.priority;
    if let Some(given) = spec.get("priority").and_then(Value::as_i64).filter(|given| *given != priority) {
        return Err(format!(
            "the integer value of priority ({given}) must not be provided in pod spec; priority admission controller \
             computed {priority} from the given PriorityClass name"
        ));
    }
    let given = spec.get("preemptionPolicy").and_then(Value::as_str);
    match (given, &computed.preemption) {
        (Some(given), Some(policy)) if given != policy => Err(format!(
            "the string value of PreemptionPolicy ({given}) must not be provided in pod spec; priority admission \
             controller computed {policy} from the given PriorityClass name"
        )),
        _ => Ok(()),
    }
}

/// A change that does not mention what was computed keeps it.
fn keep_priority(attributes: &Attributes<'_>, pod: &mut Object) {
    let Some(old) = attributes.old.and_then(|old| read::map(old, "spec")) else { return };
    let Some(spec) = read::map_mut(pod, "spec") else { return };
    for field in ["priority", "preemptionPolicy"] {
        if let (false, Some(value)) = (read::present(spec, field), old.get(field).filter(|value| !value.is_null())) {
            spec.insert(field.to_owned(), value.clone());
        }
    }
}

fn check_class(attributes: &Attributes<'_>, class: &Object) -> Result<(), Status> {
    if !is_default(class) {
        return Ok(());
    }
    match default_class(attributes.objects) {
        Some(other) if attributes.operation == Operation::Create || other.name() != class.name() => {
            let why =
                format!("PriorityClass {} is already marked as default. Only one default can exist", other.name());
            Err(attributes.forbidden(Some(class), why))
        }
        _ => Ok(()),
    }
}

/// The class of pods that name none. Should there be several, the one with the lowest value.
fn default_class(objects: &dyn Objects) -> Option<Object> {
    objects.list(GROUP, CLASSES, "").into_iter().filter(is_default).min_by_key(value)
}

fn is_default(class: &Object) -> bool {
    class.get("globalDefault") == Some(&Value::Bool(true))
}

fn value(class: &Object) -> i64 {
    class.get("value").and_then(Value::as_i64).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::{Request, Stored};

    fn class(name: &str, value: i64, default: bool, policy: &str) -> Value {
        json!({"metadata": {"name": name}, "value": value, "globalDefault": default, "preemptionPolicy": policy})
    }

    fn stored(classes: &Value) -> Stored {
        classes
            .as_array()
            .into_iter()
            .flatten()
            .cloned()
            .fold(Stored::default(), |stored, class| stored.with(GROUP, CLASSES, class))
    }

    fn check_pod(classes: Value, spec: Value, expect: Result<Value, &str>) {
        let result = Request::create("", "pods").mutate(&Priority, json!({"spec": spec}), &stored(&classes));
        let refused = |why| format!("pods \"n\" is forbidden: {why}");
        assert_eq!(result, expect.map(|spec| json!({"spec": spec})).map_err(refused));
    }

    #[test]
    fn a_pods_priority_comes_from_its_class() {
        let plain = json!({"priority": 0, "preemptionPolicy": "PreemptLowerPriority"});
        check_pod(json!([]), json!({}), Ok(plain.clone()));
        check_pod(json!([]), plain.clone(), Ok(plain));
        let classes = json!([
            class("high", 10, true, "PreemptLowerPriority"),
            class("low", 5, true, "Never"),
            class("x", 1, false, "Never"),
        ]);
        let low = json!({"priorityClassName": "low", "priority": 5, "preemptionPolicy": "Never"});
        check_pod(classes.clone(), json!({}), Ok(low));
        let x = json!({"priorityClassName": "x", "priority": 1, "preemptionPolicy": "Never"});
        check_pod(classes.clone(), json!({"priorityClassName": "x"}), Ok(x.clone()));
        check_pod(classes.clone(), x.clone(), Ok(x));
        check_pod(classes.clone(), json!({"priorityClassName": "y"}), Err("no PriorityClass with name y was found"));
        check_pod(
            classes.clone(),
            json!({"priorityClassName": "x", "priority": 7}),
            Err("the integer value of priority (7) must not be provided in pod spec; priority admission controller \
                 computed 1 from the given PriorityClass name"),
        );
        check_pod(
            classes.clone(),
            json!({"priorityClassName": "high", "preemptionPolicy": "Never"}),
            Err("the string value of PreemptionPolicy (Never) must not be provided in pod spec; priority admission \
                 controller computed PreemptLowerPriority from the given PriorityClass name"),
        );
    }

    #[test]
    fn a_change_keeps_what_was_computed() {
        let check = |subresource: &'static str, new: Value, expect: Value| {
            let old = json!({"spec": {"priority": 3, "preemptionPolicy": "Never"}});
            let request = Request { subresource, ..Request::update("", "pods", old) };
            let result = request.mutate(&Priority, json!({"spec": new}), &Stored::default());
            assert_eq!(result, Ok(json!({"spec": expect})));
        };
        check("", json!({}), json!({"priority": 3, "preemptionPolicy": "Never"}));
        check("", json!({"priority": 4}), json!({"priority": 4, "preemptionPolicy": "Never"}));
        check("status", json!({}), json!({}));
    }

    #[test]
    fn there_is_one_default_class() {
        let check = |request: Request, classes: Value, new: Value, expect: Result<(), &str>| {
            let result = request.validate(&Priority, new, &stored(&classes));
            assert_eq!(result, expect.map_err(|why| format!("priorityclasses.{GROUP} \"n\" is forbidden: {why}")));
        };
        let create = || Request::create(GROUP, CLASSES);
        let update = || Request::update(GROUP, CLASSES, json!({}));
        let (n, other) = (class("n", 1, true, ""), class("other", 1, true, ""));
        let taken = Err("PriorityClass other is already marked as default. Only one default can exist");
        check(create(), json!([]), n.clone(), Ok(()));
        check(create(), json!([other]), n.clone(), taken);
        check(create(), json!([other]), class("n", 1, false, ""), Ok(()));
        check(update(), json!([other]), n.clone(), taken);
        check(update(), json!([n]), n.clone(), Ok(()));
    }
}
