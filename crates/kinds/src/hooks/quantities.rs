//! Amounts of resources: what hooks compare, add, round and print. A list of resources is a JSON object of quantities.
//!
//! Amounts are counted in billionths, the smallest that a quantity can tell. Whether a text is a quantity at all was
//! decided before; a text that is none counts as nothing here.

use std::collections::BTreeMap;

use pawl_meta::object::Object;
use serde_json::Value;

use pawl_rules::formats;

const BILLION: i128 = 1_000_000_000;
const THOUSANDTH: i128 = 1_000_000;

/// A sum of quantities, which is printed as the first of them was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Amount {
    pub billionths: i128,
    pub binary: bool,
}

/// Amounts by the name of their resource.
pub type Amounts = BTreeMap<String, Amount>;

/// The amount that a JSON value tells.
pub fn amount(value: &Value) -> Amount {
    let text = text_of(value);
    Amount { billionths: formats::quantity(&text).unwrap_or_default(), binary: text.ends_with('i') }
}

/// The text of a quantity as it stands in an object.
pub fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => "0".to_string(),
    }
}

/// The amounts of a list of resources.
pub fn amounts(list: Option<&Object>) -> Amounts {
    list.into_iter().flatten().map(|(name, value)| (name.clone(), amount(value))).collect()
}

/// Adds every amount of the second list to the first.
pub fn add(to: &mut Amounts, more: &Amounts) {
    for (name, amount) in more {
        to.entry(name.clone())
            .and_modify(|sum| sum.billionths = sum.billionths.saturating_add(amount.billionths))
            .or_insert(*amount);
    }
}

/// Raises the amounts of the first list to those of the second.
pub fn raise(to: &mut Amounts, other: &Amounts) {
    for (name, amount) in other {
        let held = to.entry(name.clone()).or_insert(*amount);
        if held.billionths < amount.billionths {
            *held = *amount;
        }
    }
}

/// The canonical text: the largest suffix that leaves a whole number.
pub fn show(amount: Amount) -> String {
    if amount.binary && amount.billionths.abs() >= 1024 * BILLION {
        return show_binary(amount.billionths);
    }
    show_decimal(amount.billionths)
}

fn show_binary(billionths: i128) -> String {
    let mut number = billionths / BILLION + (billionths % BILLION).signum();
    let mut suffix = "";
    for next in ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"] {
        if number == 0 || number % 1024 != 0 {
            break;
        }
        number /= 1024;
        suffix = next;
    }
    format!("{number}{suffix}")
}

fn show_decimal(billionths: i128) -> String {
    if billionths == 0 {
        return "0".to_string();
    }
    let mut number = billionths;
    let mut suffix = "n";
    for next in ["u", "m", "", "k", "M", "G", "T", "P", "E"] {
        if number % 1000 != 0 {
            break;
        }
        number /= 1000;
        suffix = next;
    }
    format!("{number}{suffix}")
}

/// Rounds every quantity of a list up to thousandths, the finest that clients may rely on.
pub fn round_up(list: &mut Object) {
    for value in list.values_mut() {
        let held = amount(value);
        let rest = held.billionths % THOUSANDTH;
        if rest != 0 {
            let up = if rest > 0 { THOUSANDTH - rest } else { -THOUSANDTH - rest };
            *value = Value::String(show(Amount { billionths: held.billionths.saturating_add(up), ..held }));
        }
    }
}

/// Whether an amount is a whole number.
pub fn is_whole(amount: Amount) -> bool {
    // Upstream looks at thousandths, rounded up.
    let thousandths = amount.billionths / THOUSANDTH + (amount.billionths % THOUSANDTH).signum();
    thousandths % 1000 == 0
}

/// Whether a resource is memory in huge pages.
pub fn is_huge_pages(name: &str) -> bool {
    name.starts_with("hugepages-")
}

/// Whether an amount of huge pages is a multiple of the size that the resource's name tells.
pub fn is_multiple_of_page(name: &str, amount: Amount) -> bool {
    let Some(page) = name.strip_prefix("hugepages-").and_then(formats::quantity) else { return false };
    if page <= 0 || page % BILLION != 0 {
        return false;
    }
    let whole = amount.billionths / BILLION + (amount.billionths % BILLION).signum();
    whole % (page / BILLION) == 0
}

/// Whether a resource belongs to the system: it has no prefix, or one below kubernetes.io.
pub fn is_native(name: &str) -> bool {
    !name.contains('/') || name.contains("kubernetes.io/")
}

/// Whether a resource is one that nodes offer beyond the system's own.
pub fn is_extended(name: &str) -> bool {
    !is_native(name)
        && !name.starts_with("requests.")
        && formats::qualified_name(&format!("requests.{name}")).is_empty()
}

/// Whether more may be requested than there is.
pub fn may_overcommit(name: &str) -> bool {
    is_native(name) && !is_huge_pages(name)
}

/// Whether a resource is counted in whole numbers.
pub fn is_integer(name: &str) -> bool {
    matches!(
        name,
        "pods"
            | "resourcequotas"
            | "services"
            | "replicationcontrollers"
            | "secrets"
            | "configmaps"
            | "persistentvolumeclaims"
            | "services.nodeports"
            | "services.loadbalancers"
    ) || is_extended(name)
}

/// What is wrong with the name of a resource that a container asks for.
pub fn container_resource_name(name: &str) -> Vec<String> {
    let mut found = resource_name(name);
    if !name.contains('/') {
        if !matches!(name, "cpu" | "memory" | "ephemeral-storage") && !is_huge_pages(name) {
            found.push("must be a standard resource for containers".to_string());
        }
    } else if !is_native(name) && !is_extended(name) {
        found.push("doesn't follow extended resource name standard".to_string());
    }
    found
}

/// What is wrong with the name of any resource.
pub fn resource_name(name: &str) -> Vec<String> {
    let found = formats::qualified_name(name);
    if !found.is_empty() || name.contains('/') || is_standard(name) {
        return found;
    }
    vec!["must be a standard resource type or fully qualified".to_string()]
}

fn is_standard(name: &str) -> bool {
    let bare = name.strip_prefix("requests.").or_else(|| name.strip_prefix("limits.")).unwrap_or(name);
    matches!(bare, "cpu" | "memory" | "ephemeral-storage")
        || matches!(name, "storage" | "requests.storage")
        || is_integer(name)
        || is_huge_pages(name)
        || name.starts_with("requests.hugepages-")
}
