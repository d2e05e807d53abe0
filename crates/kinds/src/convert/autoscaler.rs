//! HorizontalPodAutoscalers of autoscaling/v2, which are stored, and of autoscaling/v1, which knows one number only: all
//! else travels in annotations, as JSON in the form that clients of v1 know.

use serde_json::{Map, Value, json};

use super::fit;

type Object = Map<String, Value>;

const METRICS: &str = "autoscaling.alpha.kubernetes.io/metrics";
const CURRENT_METRICS: &str = "autoscaling.alpha.kubernetes.io/current-metrics";
const CONDITIONS: &str = "autoscaling.alpha.kubernetes.io/conditions";
const BEHAVIOR: &str = "autoscaling.alpha.kubernetes.io/behavior";
/// Annotations that only conversions may set.
const CARRIERS: &[&str] = &[
    METRICS,
    CURRENT_METRICS,
    CONDITIONS,
    BEHAVIOR,
    "autoscaling.alpha.kubernetes.io/scale-down-tolerance",
    "autoscaling.alpha.kubernetes.io/scale-up-tolerance",
];
/// What v1 means when it says nothing.
const DEFAULT_CPU: i64 = 80;

pub(super) fn to_v1(mut object: Object) -> Object {
    let mut carried = Object::new();
    let mut carry = |key: &str, value: Option<String>| {
        carried.extend(value.map(|text| (key.to_owned(), Value::from(text))));
    };
    if let Some(Value::Object(spec)) = object.get_mut("spec") {
        let metrics = items(spec, "metrics");
        let (cpu, rest): (Vec<_>, Vec<_>) = metrics.into_iter().partition(|metric| cpu_target(metric).is_some());
        if let Some(percent) = cpu.first().and_then(cpu_target) {
            spec.insert("targetCPUUtilizationPercentage".to_owned(), percent.clone());
        }
        let rest: Vec<Value> = rest.iter().map(metric_to_v1).collect();
        carry(METRICS, (!rest.is_empty()).then(|| ordered(&Value::Array(rest))));
        carry(BEHAVIOR, spec.get("behavior").and_then(Value::as_object).map(|b| ordered(&behavior_to_v1(b))));
        fit("autoscaling.v1.HorizontalPodAutoscalerSpec", spec);
    }
    if let Some(Value::Object(status)) = object.get_mut("status") {
        let metrics = items(status, "currentMetrics");
        if let Some(percent) = metrics.iter().filter_map(cpu_now).next_back() {
            status.insert("currentCPUUtilizationPercentage".to_owned(), percent.clone());
        }
        let current: Vec<Value> = metrics.iter().map(status_to_v1).collect();
        carry(CURRENT_METRICS, (!current.is_empty()).then(|| ordered(&Value::Array(current))));
        let conditions = items(status, "conditions");
        carry(CONDITIONS, (!conditions.is_empty()).then(|| ordered(&Value::Array(conditions))));
        fit("autoscaling.v1.HorizontalPodAutoscalerStatus", status);
    }
    set_carriers(&mut object, carried);
    object
}

pub(super) fn to_v2(mut object: Object) -> Object {
    let carried = |key: &str| -> Option<Value> {
        let text = object.get("metadata")?.get("annotations")?.get(key)?.as_str()?;
        serde_json::from_str(text).ok()
    };
    let list = |key: &str| carried(key).and_then(|value| value.as_array().cloned());
    let (metrics, current, conditions) = (list(METRICS), list(CURRENT_METRICS), list(CONDITIONS));
    let behavior = carried(BEHAVIOR).and_then(|value| value.as_object().map(behavior_to_v2)).filter(|b| !b.is_empty());
    if let Some(Value::Object(spec)) = object.get_mut("spec") {
        let mut all: Vec<Value> = metrics.unwrap_or_default().iter().map(metric_to_v2).collect();
        let percent = spec.remove("targetCPUUtilizationPercentage").filter(|percent| !percent.is_null());
        let percent = percent.or_else(|| all.is_empty().then(|| json!(DEFAULT_CPU)));
        all.extend(percent.map(|percent| {
            json!({"type": "Resource", "resource": {
                "name": "cpu", "target": {"type": "Utilization", "averageUtilization": percent},
            }})
        }));
        spec.insert("metrics".to_owned(), Value::Array(all));
        spec.extend(behavior.map(|behavior| ("behavior".to_owned(), Value::Object(behavior))));
        fit("autoscaling.v2.HorizontalPodAutoscalerSpec", spec);
    }
    if let Some(Value::Object(status)) = object.get_mut("status") {
        let percent = status.remove("currentCPUUtilizationPercentage").filter(|percent| !percent.is_null());
        let plain = percent.map(|percent| {
            json!([{"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": percent}}}])
        });
        let current = current.map(|current| Value::Array(current.iter().map(status_to_v2).collect()));
        status.insert("currentMetrics".to_owned(), current.or(plain).unwrap_or(Value::Null));
        status.extend(conditions.map(|conditions| ("conditions".to_owned(), Value::Array(conditions))));
        fit("autoscaling.v2.HorizontalPodAutoscalerStatus", status);
    }
    set_carriers(&mut object, Object::new());
    object
}

/// Puts these annotations in the place of all that carry.
fn set_carriers(object: &mut Object, carried: Object) {
    let Some(Value::Object(metadata)) = object.get_mut("metadata") else { return };
    let mut annotations = match metadata.remove("annotations") {
        Some(Value::Object(annotations)) => annotations,
        _ => Object::new(),
    };
    annotations.retain(|key, _| !CARRIERS.contains(&key.as_str()));
    annotations.extend(carried);
    if !annotations.is_empty() {
        metadata.insert("annotations".to_owned(), Value::Object(annotations));
    }
}

fn items(fields: &Object, name: &str) -> Vec<Value> {
    fields.get(name).and_then(Value::as_array).cloned().unwrap_or_default()
}

/// The one number that v1 has a field for.
fn cpu_target(metric: &Value) -> Option<&Value> {
    cpu(metric)?.get("target")?.get("averageUtilization")
}

fn cpu_now(metric: &Value) -> Option<&Value> {
    cpu(metric)?.get("current")?.get("averageUtilization")
}

fn cpu(metric: &Value) -> Option<&Value> {
    let resource = metric.get("resource").filter(|_| metric.get("type").is_some_and(|t| t == "Resource"))?;
    resource.get("name").is_some_and(|name| name == "cpu").then_some(resource)
}

fn metric_to_v1(metric: &Value) -> Value {
    each_source(metric, |kind, source| {
        let target = |field: &str| source.get("target").and_then(|target| target.get(field)).cloned();
        let mut out = Fields::default();
        match kind {
            "object" => out
                .set("target", source.get("describedObject").cloned())
                .set("targetValue", target("value").or(zero()))
                .set("averageValue", target("averageValue"))
                .metric(source, "selector"),
            "pods" => out.set("targetAverageValue", target("averageValue").or(zero())).metric(source, "selector"),
            "external" => out
                .set("targetValue", target("value"))
                .set("targetAverageValue", target("averageValue"))
                .metric(source, "metricSelector"),
            _ => out
                .set("name", source.get("name").cloned())
                .set("container", source.get("container").cloned())
                .set("targetAverageUtilization", target("averageUtilization"))
                .set("targetAverageValue", target("averageValue")),
        };
        out.0
    })
}

fn metric_to_v2(metric: &Value) -> Value {
    each_source(metric, |kind, source| {
        let get = |field: &str| source.get(field).filter(|value| !value.is_null()).cloned();
        let mut target = Fields::default();
        let mut out = Fields::default();
        let average = |present: bool, otherwise: &str| Some(json!(if present { otherwise } else { "AverageValue" }));
        match kind {
            "object" => {
                let plain = get("averageValue").is_none();
                target
                    .set("type", average(plain, "Value"))
                    .set("value", get("targetValue").filter(|value| plain || *value != json!("0")))
                    .set("averageValue", get("averageValue"));
                out.set("describedObject", get("target")).identifier(source, "selector");
            }
            "pods" => {
                target.set("type", average(false, "")).set("averageValue", get("targetAverageValue"));
                out.identifier(source, "selector");
            }
            "external" => {
                target
                    .set("type", average(get("targetValue").is_some(), "Value"))
                    .set("value", get("targetValue"))
                    .set("averageValue", get("targetAverageValue"));
                out.identifier(source, "metricSelector");
            }
            _ => {
                target
                    .set("type", average(get("targetAverageUtilization").is_some(), "Utilization"))
                    .set("averageValue", get("targetAverageValue"))
                    .set("averageUtilization", get("targetAverageUtilization"));
                out.set("name", get("name")).set("container", get("container"));
            }
        }
        out.set("target", Some(Value::Object(target.0)));
        out.0
    })
}

fn status_to_v1(metric: &Value) -> Value {
    each_source(metric, |kind, source| {
        let current = |field: &str| source.get("current").and_then(|current| current.get(field)).cloned();
        let mut out = Fields::default();
        match kind {
            "object" => out
                .set("target", source.get("describedObject").cloned())
                .set("currentValue", current("value").or(zero()))
                .set("averageValue", current("averageValue"))
                .metric(source, "selector"),
            "pods" => out.set("currentAverageValue", current("averageValue").or(zero())).metric(source, "selector"),
            "external" => out
                .set("currentValue", current("value").or(zero()))
                .set("currentAverageValue", current("averageValue"))
                .metric(source, "metricSelector"),
            _ => out
                .set("name", source.get("name").cloned())
                .set("container", source.get("container").cloned())
                .set("currentAverageUtilization", current("averageUtilization"))
                .set("currentAverageValue", current("averageValue").or(zero())),
        };
        out.0
    })
}

fn status_to_v2(metric: &Value) -> Value {
    each_source(metric, |kind, source| {
        let get = |field: &str| source.get(field).filter(|value| !value.is_null()).cloned();
        let mut current = Fields::default();
        let mut out = Fields::default();
        match kind {
            "object" => {
                current.set("value", get("currentValue")).set("averageValue", get("averageValue"));
                out.set("describedObject", get("target")).identifier(source, "selector");
            }
            "pods" => {
                current.set("averageValue", get("currentAverageValue"));
                out.identifier(source, "selector");
            }
            "external" => {
                current.set("value", get("currentValue")).set("averageValue", get("currentAverageValue"));
                out.identifier(source, "metricSelector");
            }
            _ => {
                current
                    .set("averageValue", get("currentAverageValue"))
                    .set("averageUtilization", get("currentAverageUtilization"));
                out.set("name", get("name")).set("container", get("container"));
            }
        }
        out.set("current", Some(Value::Object(current.0)));
        out.0
    })
}

/// A metric with its sources converted, each by the field it stands in.
fn each_source(metric: &Value, convert: impl Fn(&str, &Value) -> Object) -> Value {
    let mut out = Object::new();
    for (field, value) in metric.as_object().into_iter().flatten() {
        let value = if value.is_object() { Value::Object(convert(field, value)) } else { value.clone() };
        out.insert(field.clone(), value);
    }
    Value::Object(out)
}

fn zero() -> Option<Value> {
    Some(json!("0"))
}

#[derive(Default)]
struct Fields(Object);

impl Fields {
    fn set(&mut self, name: &str, value: Option<Value>) -> &mut Self {
        self.0.extend(value.filter(|value| !value.is_null()).map(|value| (name.to_owned(), value)));
        self
    }

    /// The name and the selector of a metric, side by side as in v1.
    fn metric(&mut self, source: &Value, selector: &str) -> &mut Self {
        let metric = source.get("metric");
        let get = |field: &str| metric.and_then(|metric| metric.get(field)).cloned();
        self.set("metricName", get("name")).set(selector, get("selector"))
    }

    /// The same in an object of their own, as in v2.
    fn identifier(&mut self, source: &Value, selector: &str) -> &mut Self {
        let mut metric = Fields::default();
        metric.set("name", source.get("metricName").cloned()).set("selector", source.get(selector).cloned());
        self.set("metric", Some(Value::Object(metric.0)))
    }
}

/// The behavior as its annotation has it: upper-case names, and nothing left out.
fn behavior_to_v1(behavior: &Object) -> Value {
    let rules = |name: &str| match behavior.get(name).and_then(Value::as_object) {
        None => Value::Null,
        Some(rules) => {
            let get = |field: &str| rules.get(field).cloned().unwrap_or(Value::Null);
            let policies = rules.get("policies").and_then(Value::as_array).map(|policies| {
                let policy = |policy: &Value| {
                    let get = |field: &str| policy.get(field).cloned().unwrap_or(Value::Null);
                    json!({"Type": get("type"), "Value": get("value"), "PeriodSeconds": get("periodSeconds")})
                };
                policies.iter().map(policy).collect::<Vec<_>>()
            });
            json!({
                "StabilizationWindowSeconds": get("stabilizationWindowSeconds"),
                "SelectPolicy": get("selectPolicy"),
                "Policies": policies,
                "Tolerance": get("tolerance"),
            })
        }
    };
    json!({"ScaleUp": rules("scaleUp"), "ScaleDown": rules("scaleDown")})
}

fn behavior_to_v2(behavior: &Object) -> Object {
    let mut out = Object::new();
    for (name, value) in behavior {
        let mut letters = name.chars();
        let name: String = letters.next().into_iter().flat_map(char::to_lowercase).chain(letters).collect();
        match value {
            Value::Null => {}
            Value::Object(inner) => {
                out.insert(name, Value::Object(behavior_to_v2(inner)));
            }
            Value::Array(items) => {
                let lower =
                    |item: &Value| item.as_object().map_or_else(|| item.clone(), |o| Value::Object(behavior_to_v2(o)));
                out.insert(name, Value::Array(items.iter().map(lower).collect()));
            }
            other => {
                out.insert(name, other.clone());
            }
        }
    }
    out
}

/// JSON with fields in the order in which Go's types declare them.
fn ordered(value: &Value) -> String {
    const ORDER: &[&str] = &[
        "ScaleUp",
        "ScaleDown",
        "StabilizationWindowSeconds",
        "SelectPolicy",
        "Policies",
        "Tolerance",
        "Type",
        "Value",
        "PeriodSeconds",
        "type",
        "status",
        "lastTransitionTime",
        "reason",
        "message",
        "object",
        "pods",
        "resource",
        "containerResource",
        "external",
        "target",
        "kind",
        "name",
        "apiVersion",
        "metricName",
        "metricSelector",
        "targetValue",
        "currentValue",
        "targetAverageUtilization",
        "currentAverageUtilization",
        "targetAverageValue",
        "currentAverageValue",
        "selector",
        "averageValue",
        "container",
        "matchLabels",
        "matchExpressions",
        "key",
        "operator",
        "values",
    ];
    match value {
        Value::Array(items) => format!("[{}]", items.iter().map(ordered).collect::<Vec<_>>().join(",")),
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_by_key(|(name, _)| ORDER.iter().position(|known| known == name).unwrap_or(ORDER.len()));
            let member = |(name, value): (&String, &Value)| {
                // Labels are not fields: they stand in the order of their names.
                let text = if name == "matchLabels" { value.to_string() } else { ordered(value) };
                format!("{}:{text}", Value::from(name.as_str()))
            };
            format!("{{{}}}", fields.into_iter().map(member).collect::<Vec<_>>().join(","))
        }
        scalar => scalar.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::convert::forms;

    fn convert(object: &Value, version: &str) -> Value {
        let forms = forms("autoscaling.v2.HorizontalPodAutoscaler").unwrap();
        Value::Object(forms.convert(object.as_object().unwrap().clone(), version).unwrap())
    }

    #[test]
    fn what_v1_has_no_fields_for_travels_in_annotations() {
        let v2 = json!({
            "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
            "metadata": {"name": "h", "annotations": {"mine": "1"}},
            "spec": {
                "scaleTargetRef": {"kind": "Deployment", "name": "d"}, "minReplicas": 1, "maxReplicas": 3,
                "metrics": [
                    {"type": "Pods", "pods": {
                        "metric": {"name": "m", "selector": {"matchLabels": {"type": "x", "a": "y"}}},
                        "target": {"type": "AverageValue", "averageValue": "10"}}},
                    {"type": "Resource", "resource": {
                        "name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}},
                ],
                "behavior": {"scaleUp": {"selectPolicy": "Max", "policies": [
                    {"type": "Pods", "value": 4, "periodSeconds": 15}]}},
            },
            "status": {"desiredReplicas": 0, "currentMetrics": [{"type": "Resource", "resource": {
                "name": "cpu", "current": {"averageValue": "1", "averageUtilization": 40}}}]},
        });
        let v1 = convert(&v2, "autoscaling/v1");
        let annotation = |key: &str| v1["metadata"]["annotations"][key].as_str().unwrap();
        assert_eq!(
            annotation(METRICS),
            r#"[{"type":"Pods","pods":{"metricName":"m","targetAverageValue":"10","selector":{"matchLabels":{"a":"y","type":"x"}}}}]"#
        );
        assert_eq!(
            annotation(BEHAVIOR),
            r#"{"ScaleUp":{"StabilizationWindowSeconds":null,"SelectPolicy":"Max","Policies":[{"Type":"Pods","Value":4,"PeriodSeconds":15}],"Tolerance":null},"ScaleDown":null}"#
        );
        assert_eq!(
            annotation(CURRENT_METRICS),
            r#"[{"type":"Resource","resource":{"name":"cpu","currentAverageUtilization":40,"currentAverageValue":"1"}}]"#
        );
        assert_eq!(v1["spec"]["targetCPUUtilizationPercentage"], 50);
        assert_eq!(v1["status"]["currentCPUUtilizationPercentage"], 40);
        assert_eq!(v1["status"]["currentReplicas"], 0);
        assert_eq!(convert(&v1, "autoscaling/v2"), v2);
    }

    #[test]
    fn v1_without_a_number_means_the_usual_one() {
        let v1 = json!({
            "apiVersion": "autoscaling/v1", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "h"},
            "spec": {"scaleTargetRef": {"kind": "D", "name": "d"}, "maxReplicas": 3},
            "status": {"currentReplicas": 0, "desiredReplicas": 0},
        });
        let v2 = convert(&v1, "autoscaling/v2");
        assert_eq!(v2["spec"]["metrics"][0]["resource"]["target"]["averageUtilization"], DEFAULT_CPU);
        assert_eq!(v2["status"], json!({"desiredReplicas": 0, "currentMetrics": null}));
        assert_eq!(convert(&v2, "autoscaling/v1")["spec"]["targetCPUUtilizationPercentage"], DEFAULT_CPU);
    }
}
