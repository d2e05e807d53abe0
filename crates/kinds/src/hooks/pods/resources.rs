//! Requests and limits: of one container, of a whole pod, and what class of service follows from them.

use std::collections::{BTreeMap, BTreeSet};

use pawl_meta::object::Object;
use pawl_meta::read;
use pawl_rules::{Check, Errors, FieldPath, formats};
use serde_json::{Map, Value};

use crate::hooks::quantities::{self, Amount, Amounts};

/// Which names a list of resources may hold.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scope {
    Container,
    Pod,
}

/// The requests and limits of a container.
pub fn container_resources(cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    requirements(object, Scope::Container, path, errors);
    resource_claims(cx, object, &path.child("claims"), errors);
}

/// The overhead of a pod is checked like the limits of a container.
pub fn pod_overhead(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    if let Some(overhead) = object.get("overhead").filter(|value| value.is_object()) {
        let mut limits = Map::new();
        limits.insert("limits".to_string(), overhead.clone());
        requirements(&limits, Scope::Container, &path.child("overhead"), errors);
    }
}

/// The requests and limits of a pod as a whole, and that its containers fit in.
pub fn pod_level_resources(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let Some(own) = read::map(object, "resources") else { return };
    let at = path.child("resources");
    if read::map(object, "os").is_some_and(|os| read::text(os, "name") == "windows") {
        errors.forbidden(&at, "may not be set for a windows pod");
        return;
    }
    if read::present(own, "claims") {
        errors.forbidden(&at.child("claims"), "claims may not be set for Resources at pod-level");
    }
    requirements(own, Scope::Pod, &at, errors);
    containers_fit(object, own, &at, errors);
}

fn containers_fit(spec: &Object, own: &Object, at: &FieldPath, errors: &mut Errors) {
    let requests = read::map(own, "requests");
    for (name, sum) in aggregate(spec, "requests") {
        if let Some(quantity) = requests.and_then(|list| list.get(&name))
            && sum.billionths > quantities::amount(quantity).billionths
        {
            let detail =
                format!("must be greater than or equal to aggregate container requests of {}", quantities::show(sum));
            errors.invalid(&at.child("requests").key(&name), quantities::text_of(quantity), detail);
        }
    }
    let limits = read::map(own, "limits");
    for (name, sum) in aggregate(spec, "limits") {
        if quantities::is_huge_pages(&name)
            && let Some(quantity) = limits.and_then(|list| list.get(&name))
            && sum.billionths > quantities::amount(quantity).billionths
        {
            let detail =
                format!("must be greater than or equal to aggregate container limits of {}", quantities::show(sum));
            errors.invalid(&at.child("limits").key(&name), quantities::text_of(quantity), detail);
        }
    }
    for (index, container) in read::objects(spec, "containers") {
        for (name, quantity) in read::deep(container, &["resources", "limits"]).into_iter().flatten() {
            if let Some(limit) = limits.and_then(|list| list.get(name))
                && quantities::amount(quantity).billionths > quantities::amount(limit).billionths
            {
                let detail = format!("must be less than or equal to pod limits of {}", quantities::text_of(limit));
                let place = at.child("containers").index(index).key(name).child("limits");
                errors.invalid(&place, quantities::text_of(quantity), detail);
            }
        }
    }
}

fn requirements(object: &Object, scope: Scope, path: &FieldPath, errors: &mut Errors) {
    let limits = read::within(object, "limits");
    let requests = read::within(object, "requests");
    let at = path.child("limits");
    for (name, quantity) in limits {
        one_resource(name, quantity, scope, &at.key(name), errors);
        huge_pages(name, quantity, &at.key(name), errors);
    }
    let at = path.child("requests");
    for (name, quantity) in requests {
        one_resource(name, quantity, scope, &at.key(name), errors);
        request_against_limit(name, quantity, limits.get(name), path, errors);
        huge_pages(name, quantity, &at.key(name), errors);
    }
    let named = |wanted: fn(&str) -> bool| limits.keys().chain(requests.keys()).any(|name| wanted(name));
    if named(quantities::is_huge_pages) && !named(|name| matches!(name, "cpu" | "memory")) {
        errors.forbidden(path, "HugePages require cpu or memory");
    }
}

fn one_resource(name: &str, quantity: &Value, scope: Scope, at: &FieldPath, errors: &mut Errors) {
    let found = match scope {
        Scope::Container => quantities::container_resource_name(name),
        Scope::Pod => quantities::resource_name(name),
    };
    if found.is_empty() && scope == Scope::Pod && !is_pod_level(name) {
        errors.not_supported(at, name, &["cpu", "hugepages-", "memory"]);
    }
    for detail in found {
        errors.invalid(at, name, detail);
    }
    let amount = quantities::amount(quantity);
    if amount.billionths < 0 {
        errors.invalid(at, quantities::text_of(quantity), "must be greater than or equal to 0");
    }
    if quantities::is_integer(name) && !quantities::is_whole(amount) {
        errors.invalid(at, quantity.clone(), "must be an integer");
    }
}

fn huge_pages(name: &str, quantity: &Value, at: &FieldPath, errors: &mut Errors) {
    if quantities::is_huge_pages(name) && !quantities::is_multiple_of_page(name, quantities::amount(quantity)) {
        let text = quantities::text_of(quantity);
        let detail = format!("{text} is not positive integer multiple of {name}");
        errors.invalid(at, text, detail);
    }
}

fn request_against_limit(name: &str, request: &Value, limit: Option<&Value>, path: &FieldPath, errors: &mut Errors) {
    let Some(limit) = limit else {
        if !quantities::may_overcommit(name) {
            errors.required(&path.child("limits"), "Limit must be set for non overcommitable resources");
        }
        return;
    };
    let (asked, held) = (quantities::amount(request).billionths, quantities::amount(limit).billionths);
    let text = quantities::text_of(limit);
    let at = path.child("requests");
    if asked != held && !quantities::may_overcommit(name) {
        errors.invalid(&at, quantities::text_of(request), format!("must be equal to {name} limit of {text}"));
    } else if asked > held {
        errors.invalid(
            &at,
            quantities::text_of(request),
            format!("must be less than or equal to {name} limit of {text}"),
        );
    }
}

/// Claims that a container refers to stand in the pod, and each is named once.
fn resource_claims(cx: &Check<'_>, object: &Object, at: &FieldPath, errors: &mut Errors) {
    let mut claims: Vec<&str> = cx
        .enclosing("core.v1.PodSpec")
        .map(|spec| read::objects(spec, "resourceClaims").map(|(_, claim)| read::text(claim, "name")).collect())
        .unwrap_or_default();
    claims.retain(|name| !name.is_empty());
    claims.sort_unstable();
    let mut seen = Claimed::default();
    for (index, claim) in read::objects(object, "claims") {
        let place = at.index(index);
        let name = read::text(claim, "name");
        if name.is_empty() {
            errors.required(&place, "");
            continue;
        }
        repeated_claim(name, read::text(claim, "request"), &mut seen, &place, errors);
        if claims.binary_search(&name).is_err() {
            let listed =
                if claims.is_empty() { " which is empty".to_string() } else { format!(": {}", claims.join(", ")) };
            errors.not_found_because(
                &place,
                name,
                format!("must be one of the names in pod.spec.resourceClaims{listed}"),
            );
        }
    }
}

/// What a container has claimed so far.
#[derive(Default)]
struct Claimed {
    /// Claims as a whole, and requests of them as `claim/request`.
    keys: BTreeSet<String>,
    /// How many requests of a claim there are.
    requests: BTreeMap<String, usize>,
}

fn repeated_claim(name: &str, request: &str, seen: &mut Claimed, place: &FieldPath, errors: &mut Errors) {
    if seen.keys.contains(name) {
        errors.duplicate(place, name);
        return;
    }
    let mut key = name.to_string();
    if !request.is_empty() {
        for detail in formats::dns1123_label(request) {
            errors.invalid(&place.child("request"), request, detail);
        }
        key = format!("{name}/{request}");
    }
    if seen.keys.contains(&key) {
        errors.duplicate(place, key.as_str());
    } else if request.is_empty() {
        let overlaps = seen.requests.get(name).copied().unwrap_or_default();
        (0..overlaps).for_each(|_| errors.duplicate(place, name));
    }
    if !request.is_empty() {
        *seen.requests.entry(name.to_string()).or_default() += 1;
    }
    seen.keys.insert(key);
}

/// Whether a resource can be set for a pod as a whole.
pub fn is_pod_level(name: &str) -> bool {
    matches!(name, "cpu" | "memory") || quantities::is_huge_pages(name)
}

/// What the containers of a pod need together: the running ones at once, or an init container with the sidecars that were
/// started before it, whichever is more.
pub fn aggregate(spec: &Object, field: &str) -> Amounts {
    let of = |container: &Object| quantities::amounts(read::deep(container, &["resources", field]));
    let mut total = Amounts::new();
    for (_, container) in read::objects(spec, "containers") {
        quantities::add(&mut total, &of(container));
    }
    let mut sidecars = Amounts::new();
    let mut starting = Amounts::new();
    for (_, container) in read::objects(spec, "initContainers") {
        let mut needed = of(container);
        if read::text(container, "restartPolicy") == "Always" {
            quantities::add(&mut total, &needed);
            quantities::add(&mut sidecars, &needed);
            needed = sidecars.clone();
        } else {
            quantities::add(&mut needed, &sidecars);
        }
        quantities::raise(&mut starting, &needed);
    }
    quantities::raise(&mut total, &starting);
    total
}

/// The class of service: nothing asked for, limits that equal the requests everywhere, or something between.
pub fn quality_of_service(spec: &Object) -> &'static str {
    let mut requests = Amounts::new();
    let mut limits = Amounts::new();
    let mut guaranteed = true;
    let compute = |list: Option<&Object>| -> Amounts {
        let counts =
            |(name, amount): &(String, Amount)| matches!(name.as_str(), "cpu" | "memory") && amount.billionths > 0;
        quantities::amounts(list).into_iter().filter(counts).collect()
    };
    if let Some(own) = read::map(spec, "resources") {
        requests = compute(read::map(own, "requests"));
        limits = compute(read::map(own, "limits"));
        guaranteed = limits.len() == 2 || read::map(own, "limits").is_none_or(Map::is_empty);
    } else {
        let containers = read::objects(spec, "containers").chain(read::objects(spec, "initContainers"));
        for (_, container) in containers {
            quantities::add(&mut requests, &compute(read::deep(container, &["resources", "requests"])));
            let own = compute(read::deep(container, &["resources", "limits"]));
            guaranteed &= own.len() == 2;
            quantities::add(&mut limits, &own);
        }
    }
    if requests.is_empty() && limits.is_empty() {
        return "BestEffort";
    }
    let equal =
        |(name, asked): (&String, &Amount)| limits.get(name).is_some_and(|held| held.billionths == asked.billionths);
    if guaranteed && requests.len() == limits.len() && requests.iter().all(equal) { "Guaranteed" } else { "Burstable" }
}
