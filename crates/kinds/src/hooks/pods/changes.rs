//! Which changes of a pod's spec and of its ephemeral containers are allowed, and how a refused one is shown.

use std::collections::BTreeMap;

use pawl_meta::object::Object;
use pawl_meta::read;
use pawl_rules::{Check, Errors, FieldPath, equal};
use serde_json::Value;

use super::annotations::MIRROR;

const REFUSAL: &str = "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";

/// The spec of a pod after creation.
pub fn pod_spec_changes(_cx: &Check<'_>, new: &Object, old: &Object, path: &FieldPath, errors: &mut Errors) {
    let after = read::within(new, "spec");
    let before = read::within(old, "spec");
    let at = path.child("spec");
    if !images(after, before, "containers", &at, errors) || !images(after, before, "initContainers", &at, errors) {
        return;
    }
    if !deadline(after, before, &at.child("activeDeadlineSeconds"), errors) {
        return;
    }
    tolerations(after, before, &at.child("tolerations"), errors);
    gates(after, before, &at.child("schedulingGates"), errors);
    let mut masked = after.clone();
    mask_allowed(&mut masked, before);
    if !read::list(before, "schedulingGates").is_empty() {
        mask_placement(&mut masked, before, &at, errors);
    }
    let (masked, before) = (Value::Object(masked), Value::Object(before.clone()));
    if !equal(Some(&masked), Some(&before)) {
        errors.forbidden(&at, format!("{REFUSAL}\n{}", unified_diff(&before, &masked)));
    }
}

/// Containers are neither added nor removed, and images stay images. False when nothing more can be compared.
fn images(after: &Object, before: &Object, field: &str, at: &FieldPath, errors: &mut Errors) -> bool {
    let place = at.child(field);
    if read::list(after, field).len() != read::list(before, field).len() {
        errors.forbidden(&place, "pod updates may not add or remove containers");
        return false;
    }
    for (index, container) in read::objects(after, field) {
        let image = read::text(container, "image");
        if image.is_empty() {
            errors.required(&place.index(index).child("image"), "");
        }
        if image.trim() != image {
            errors.invalid(&place.index(index).child("image"), image, "must not have leading or trailing whitespace");
        }
    }
    true
}

/// A deadline can be set and shortened, not lifted. False when nothing more is looked at.
fn deadline(after: &Object, before: &Object, at: &FieldPath, errors: &mut Errors) -> bool {
    let of = |spec: &Object| spec.get("activeDeadlineSeconds").and_then(Value::as_i64);
    match (of(after), of(before)) {
        (Some(new), _) if !(0..=i64::from(i32::MAX)).contains(&new) => {
            errors.invalid(at, new, "must be between 0 and 2147483647, inclusive");
            false
        }
        (Some(new), Some(old)) if old < new => {
            errors.invalid(at, new, "must be less than or equal to previous value");
            false
        }
        (None, Some(_)) => {
            errors.invalid(at, Value::Null, "must not update from a positive integer to nil value");
            true
        }
        _ => true,
    }
}

/// Tolerations are added; of those that are there only the time may change. The new ones were checked with the spec.
fn tolerations(after: &Object, before: &Object, at: &FieldPath, errors: &mut Errors) {
    let timeless = |toleration: &Object| {
        let mut copy = toleration.clone();
        copy.remove("tolerationSeconds");
        Value::Object(copy)
    };
    let kept: Vec<Value> = read::objects(after, "tolerations").map(|(_, toleration)| timeless(toleration)).collect();
    if read::objects(before, "tolerations").any(|(_, toleration)| !kept.contains(&timeless(toleration))) {
        errors.forbidden(at, "existing toleration can not be modified except its tolerationSeconds");
    }
}

/// Gates are only lifted.
fn gates(after: &Object, before: &Object, at: &FieldPath, errors: &mut Errors) {
    let held: Vec<&str> = read::objects(before, "schedulingGates").map(|(_, gate)| read::text(gate, "name")).collect();
    for (index, gate) in read::objects(after, "schedulingGates") {
        let name = read::text(gate, "name");
        if !held.contains(&name) {
            let detail = format!("only deletion is allowed, but found new scheduling gate '{name}'");
            errors.forbidden(&at.index(index).child("name"), detail);
        }
    }
}

/// Lays the old values over what may change, so that the rest can be compared.
fn mask_allowed(spec: &mut Object, before: &Object) {
    for field in ["containers", "initContainers"] {
        let Some(Value::Array(items)) = spec.get_mut(field) else { continue };
        let old = read::list(before, field);
        for (item, old) in items.iter_mut().filter_map(Value::as_object_mut).zip(old) {
            put_back(item, "image", old.get("image"));
        }
    }
    for field in ["activeDeadlineSeconds", "schedulingGates", "tolerations"] {
        put_back(spec, field, before.get(field));
    }
    if grace(before).is_some_and(|seconds| seconds < 0) && grace(spec) == Some(1) {
        put_back(spec, "terminationGracePeriodSeconds", before.get("terminationGracePeriodSeconds"));
    }
}

fn grace(spec: &Object) -> Option<i64> {
    spec.get("terminationGracePeriodSeconds").and_then(Value::as_i64)
}

fn put_back(object: &mut Object, field: &str, old: Option<&Value>) {
    match old {
        Some(value) => object.insert(field.to_string(), value.clone()),
        None => object.remove(field),
    };
}

/// A pod that is still held back may be confined further.
fn mask_placement(spec: &mut Object, before: &Object, at: &FieldPath, errors: &mut Errors) {
    let (new, old) = (read::within(spec, "nodeSelector"), read::within(before, "nodeSelector"));
    if old.iter().any(|(key, value)| new.get(key) != Some(value)) {
        let detail = "only additions to spec.nodeSelector are allowed (no mutations or deletions)";
        errors.invalid(&at.child("nodeSelector"), Value::Object(new.clone()), detail);
    }
    put_back(spec, "nodeSelector", before.get("nodeSelector"));

    let (new, old) = (node_affinity_of(spec), node_affinity_of(before));
    if equal(new.as_ref(), old.as_ref()) {
        return;
    }
    node_affinity(new.as_ref(), old.as_ref(), &at.child("affinity").child("nodeAffinity"), errors);
    if let Some(affinity) = read::map_mut(spec, "affinity") {
        put_back(affinity, "nodeAffinity", old.as_ref());
    }
}

fn node_affinity_of(spec: &Object) -> Option<Value> {
    read::deep(spec, &["affinity", "nodeAffinity"]).cloned().map(Value::Object)
}

fn node_affinity(new: Option<&Value>, old: Option<&Value>, at: &FieldPath, errors: &mut Errors) {
    let required = "requiredDuringSchedulingIgnoredDuringExecution";
    let terms = |affinity: Option<&Value>| -> Vec<Value> {
        let found = affinity.and_then(|value| value.get(required)).and_then(|value| value.get("nodeSelectorTerms"));
        found.and_then(Value::as_array).cloned().unwrap_or_default()
    };
    let (after, before) = (terms(new), terms(old));
    let place = at.child(required).child("nodeSelectorTerms");
    if before.is_empty() {
        return;
    }
    if after.len() != before.len() {
        let detail = "no additions/deletions to non-empty NodeSelectorTerms list are allowed";
        errors.invalid(&place, after, detail);
        return;
    }
    for (index, (new, old)) in after.iter().zip(&before).enumerate() {
        if !only_added(new, old) {
            errors.invalid(&place.index(index), new.clone(), "only additions are allowed (no mutations or deletions)");
        }
    }
}

fn only_added(new: &Value, old: &Value) -> bool {
    let fields = ["matchExpressions", "matchFields"];
    if fields.iter().all(|field| requirements(old, field).is_empty()) {
        return fields.iter().all(|field| requirements(new, field).is_empty());
    }
    fields.iter().all(|field| requirements(new, field).starts_with(requirements(old, field)))
}

fn requirements<'a>(term: &'a Value, field: &str) -> &'a [Value] {
    term.get(field).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// Through /ephemeralcontainers everything but the ephemeral containers stays as it was.
pub fn pod_keep_but_ephemeral(new: &mut Object, old: &Object) {
    let guests = read::map(new, "spec").and_then(|spec| spec.get("ephemeralContainers")).cloned();
    put_back(new, "spec", old.get("spec"));
    put_back(new, "status", old.get("status"));
    keep_metadata(new, old);
    if let Some(spec) = read::map_mut(new, "spec") {
        put_back(spec, "ephemeralContainers", guests.as_ref());
    }
}

/// What a write through a subresource leaves alone in the metadata.
pub(crate) fn keep_metadata(new: &mut Object, old: &Object) {
    let before = read::within(old, "metadata");
    let Some(after) = read::map_mut(new, "metadata") else { return };
    for field in
        ["deletionTimestamp", "generation", "selfLink", "labels", "annotations", "finalizers", "ownerReferences"]
    {
        put_back(after, field, before.get(field));
    }
}

/// Ephemeral containers are added, never changed or removed.
pub fn pod_ephemeral_changes(_cx: &Check<'_>, new: &Object, old: &Object, path: &FieldPath, errors: &mut Errors) {
    if read::annotations(old).contains_key(MIRROR) {
        errors.clear();
        errors.forbidden(&FieldPath::root(), "static pods do not support ephemeral containers");
        return;
    }
    let at = path.child("spec").child("ephemeralContainers");
    let after: BTreeMap<&str, &Object> = read::objects(read::within(new, "spec"), "ephemeralContainers")
        .map(|(_, container)| (read::text(container, "name"), container))
        .collect();
    for (_, before) in read::objects(read::within(old, "spec"), "ephemeralContainers") {
        let name = read::text(before, "name");
        let Some(container) = after.get(name) else {
            errors.forbidden(&at, format!("existing ephemeral containers {name:?} may not be removed\n"));
            continue;
        };
        let (before, after) = (Value::Object(before.clone()), Value::Object((*container).clone()));
        if !equal(Some(&before), Some(&after)) {
            let shown = unified_diff(&before, &after);
            errors.forbidden(&at, format!("existing ephemeral containers {name:?} may not be changed\n{shown}"));
        }
    }
}

/// The difference of two values, line by line with three lines around each change. Upstream prints its internal form
/// of a pod here; this is the form that clients know.
pub(crate) fn unified_diff(old: &Value, new: &Value) -> String {
    let (old, new) = (pretty(old), pretty(new));
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let marks = compare(&old, &new);
    let mut shown = String::new();
    let mut at = 0;
    while let Some(first) = marks.iter().skip(at).position(|(mark, ..)| *mark != ' ').map(|offset| at + offset) {
        let start = first.saturating_sub(3).max(at);
        let mut end = first;
        // A hunk goes on while the next change is near.
        while let Some(offset) = marks.iter().skip(end + 1).take(7).position(|(mark, ..)| *mark != ' ') {
            end += offset + 1;
        }
        let stop = (end + 4).min(marks.len());
        let hunk: Vec<_> = marks.iter().skip(start).take(stop - start).collect();
        let count = |side: char| hunk.iter().filter(|(mark, ..)| *mark == ' ' || *mark == side).count();
        let (old_line, new_line) = hunk.first().map_or((0, 0), |(_, _, old, new)| (*old, *new));
        shown.push_str(&format!("@@ -{} +{} @@\n", range(old_line, count('-')), range(new_line, count('+'))));
        for (mark, text, ..) in hunk {
            shown.push_str(&format!("{mark}{text}\n"));
        }
        at = stop;
    }
    shown
}

fn range(line: usize, count: usize) -> String {
    match count {
        1 => format!("{}", line + 1),
        0 => format!("{line},0"),
        _ => format!("{},{count}", line + 1),
    }
}

fn pretty(value: &Value) -> String {
    let mut bytes = Vec::new();
    let mut printer =
        serde_json::Serializer::with_formatter(&mut bytes, serde_json::ser::PrettyFormatter::with_indent(b" "));
    if serde::Serialize::serialize(value, &mut printer).is_err() {
        return String::new();
    }
    String::from_utf8(bytes).unwrap_or_default()
}

/// Every line of both texts with its mark and the numbers of lines before it, in order.
fn compare<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<(char, &'a str, usize, usize)> {
    let (rows, columns) = (old.len() + 1, new.len() + 1);
    // lengths[i * columns + j]: the longest common sequence of old[i..] and new[j..].
    let mut lengths = vec![0_u32; rows * columns];
    let of = |lengths: &[u32], i: usize, j: usize| lengths.get(i * columns + j).copied().unwrap_or_default();
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            let length = if old.get(i) == new.get(j) {
                of(&lengths, i + 1, j + 1) + 1
            } else {
                of(&lengths, i + 1, j).max(of(&lengths, i, j + 1))
            };
            if let Some(cell) = lengths.get_mut(i * columns + j) {
                *cell = length;
            }
        }
    }
    let mut marks = Vec::new();
    let (mut i, mut j) = (0, 0);
    loop {
        match (old.get(i), new.get(j)) {
            (Some(left), Some(right)) if left == right => {
                marks.push((' ', *left, i, j));
                i += 1;
                j += 1;
            }
            (Some(left), right) if right.is_none() || of(&lengths, i + 1, j) >= of(&lengths, i, j + 1) => {
                marks.push(('-', *left, i, j));
                i += 1;
            }
            (_, Some(right)) => {
                marks.push(('+', *right, i, j));
                j += 1;
            }
            _ => return marks,
        }
    }
}
