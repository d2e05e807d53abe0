//! What Kubernetes counts for calls, by the name of the function.

use super::{formats, quantity, semver, urls};
use crate::cost::{
    Argument, CallEstimate, CallSite, CostModel, LIST_COST, REGEX_FACTOR, Range, STRING_FACTOR, STRUCT_COST, scaled,
    size_at,
};
use crate::error::EvalError;
use crate::function::Actual;
use crate::syntax::Literal;
use crate::types::Type;
use crate::value::{MAX_NESTING, Val};

/// The costs of rules in schemas.
pub const MODEL: CostModel = CostModel { estimate, actual };

/// The regular expression that a format is estimated with, and the longest name of a format.
const FORMAT_REGEX: f64 = 128.0;
const FORMAT_NAME: u64 = 64;

/// Two authorization checks are as many as one expression can afford.
const AUTHORIZATION: u64 = 350_000;

/// A selector is a list of requirements, each of which takes two characters at least.
fn selector(length: Range) -> Range {
    let requirements = length.scaled(0.5).scaled((LIST_COST + STRUCT_COST) as f64);
    Range::exactly(LIST_COST).plus(walk(length)).plus(requirements)
}

fn walk(size: Range) -> Range {
    size.scaled(STRING_FACTOR)
}

fn estimate(site: &CallSite<'_>) -> Option<CallEstimate> {
    let one = CallEstimate::cost(Range::ONE);
    let first = site.args.first();
    Some(match site.function {
        "isSorted" | "sum" | "max" | "min" | "indexOf" | "lastIndexOf" => traversal(site.target?),
        "url" => {
            let size = first?.size();
            CallEstimate::cost(walk(size)).sized(size)
        }
        "lowerAscii" | "upperAscii" | "substring" | "trim" => {
            let size = site.target?.size();
            CallEstimate::cost(walk(size)).sized(size)
        }
        "replace" => replace(site.target?, site.args)?,
        "split" => {
            let size = site.target?.size();
            let most = match site.args.get(1).and_then(|count| count.literal) {
                Some(Literal::Int(count)) => *count as u64,
                _ => size.max,
            };
            CallEstimate::cost(size.scaled(2.0 * STRING_FACTOR)).sized(Range::new(0, most))
        }
        "join" => join(site.target?, first),
        "find" | "findAll" => {
            let size = site.target?.size();
            let regex = first?.size().scaled(REGEX_FACTOR);
            CallEstimate::cost(walk(size.plus(Range::ONE)).times(regex)).sized(Range::new(0, size.max))
        }
        "ip" if site.overload == "cidr_ip" => one,
        "cidr" | "isIP" | "isCIDR" | "ip" | "quantity" | "isQuantity" | "semver" | "isSemver" => {
            CallEstimate::cost(walk(first?.size()))
        }
        "ip.isCanonical" => CallEstimate::cost(first?.size().scaled(2.0 * STRING_FACTOR)),
        "containsIP" | "containsCIDR" => {
            let address = Range::new(4, 16);
            let mut cost = walk(address.plus(address));
            if site.function == "containsCIDR" {
                cost = cost.plus(walk(address)).plus(Range::ONE);
            }
            if matches!(site.overload, "cidr_contains_ip_string" | "cidr_contains_cidr_string") {
                cost = cost.plus(walk(first?.size()));
            }
            CallEstimate::cost(cost)
        }
        "validate" => CallEstimate::cost(walk(first?.size()).scaled(FORMAT_REGEX * REGEX_FACTOR)),
        "format.named" | "sign" | "asInteger" | "isInteger" | "asApproximateFloat" | "isGreaterThan" | "isLessThan"
        | "compareTo" | "add" | "sub" | "major" | "minor" | "patch" => one,
        name if is_accessor(name) => one,
        "check" => CallEstimate::cost(Range::exactly(AUTHORIZATION)),
        "fieldSelector" | "labelSelector" => CallEstimate::cost(selector(first?.size())),
        "_==_" => equality(site.args)?,
        _ => return None,
    })
}

fn is_accessor(function: &str) -> bool {
    matches!(
        function,
        "masked"
            | "prefixLength"
            | "family"
            | "isUnspecified"
            | "isLoopback"
            | "isLinkLocalMulticast"
            | "isLinkLocalUnicast"
            | "isGlobalUnicast"
            | "getScheme"
            | "getHostname"
            | "getHost"
            | "getPort"
            | "getEscapedPath"
            | "getQuery"
            | "serviceAccount"
            | "path"
            | "group"
            | "resource"
            | "subresource"
            | "namespace"
            | "name"
            | "allowed"
            | "reason"
            | "error"
            | "errored"
    )
}

/// Each element once, and the text of elements that are text.
fn traversal(target: &Argument<'_>) -> CallEstimate {
    let Some(element) = target.element() else { return CallEstimate::cost(walk(target.size())) };
    let mut each = Range::ONE;
    if matches!(element, Type::String | Type::Bytes) {
        each = each.plus(walk(target.element_size.unwrap_or(Range::UNKNOWN)));
    }
    CallEstimate::cost(target.size().times(each))
}

fn replace(target: &Argument<'_>, args: &[Argument<'_>]) -> Option<CallEstimate> {
    let [old, new, ..] = args else { return None };
    let (size, old, new) = (target.size(), old.size(), new.size());
    let ratio = |size: u64, of: u64| (size as f64 / of as f64).ceil() as u64;
    // How often something is put in, and how much stays: first at most, then at least.
    let (most, most_kept) = if old.min == 0 {
        (size.max.saturating_add(1), size.max)
    } else if new.max <= old.min {
        (0, size.max)
    } else {
        (ratio(size.max, old.min), 0)
    };
    let (least, least_kept) = if old.max == 0 {
        (size.min.saturating_add(1), size.min)
    } else if old.max <= new.min {
        (0, size.min)
    } else {
        (ratio(size.min, old.max), 0)
    };
    let result = Range::new(least, most).times(new).plus(Range::new(least_kept, most_kept));
    Some(CallEstimate::cost(size.scaled(2.0 * STRING_FACTOR)).sized(result))
}

fn join(target: &Argument<'_>, separator: Option<&Argument<'_>>) -> CallEstimate {
    let count = target.size();
    let mut size = match target.element() {
        Some(_) => count.times(target.element_size.unwrap_or(Range::UNKNOWN)),
        None => Range::ZERO,
    };
    if let Some(separator) = separator {
        let between = Range::new(count.min.saturating_sub(1), count.max.saturating_sub(1));
        size = size.plus(separator.size().times(between));
    }
    CallEstimate::cost(walk(size)).sized(size)
}

fn equality(args: &[Argument<'_>]) -> Option<CallEstimate> {
    let [left, right] = args else { return None };
    let name = match left.ty {
        Type::Opaque(name, _) | Type::Object(name) if left.ty == right.ty => &**name,
        _ => return None,
    };
    match name {
        "net.IP" | "net.CIDR" | quantity::TYPE | semver::TYPE => Some(CallEstimate::cost(Range::ONE)),
        formats::TYPE => Some(CallEstimate::cost(walk(Range::new(1, FORMAT_NAME)))),
        urls::TYPE => {
            let size = right.known_size.unwrap_or(Range::ONE);
            Some(CallEstimate::cost(walk(Range::new(1, size.max))))
        }
        _ => None,
    }
}

fn actual(function: &str, overload: &str) -> Option<Actual> {
    Some(match function {
        "isSorted" | "sum" | "max" | "min" | "indexOf" | "lastIndexOf" => {
            |args, _| args.first().map_or(0, |value| traversed(value, 0))
        }
        "ip" if overload == "cidr_ip" => |_, _| 1,
        "url" | "lowerAscii" | "upperAscii" | "substring" | "trim" | "cidr" | "isIP" | "isCIDR" | "ip" | "quantity"
        | "isQuantity" | "semver" | "isSemver" => |args, _| scaled(size_at(args, 0), STRING_FACTOR),
        "replace" | "split" | "ip.isCanonical" => |args, _| scaled(size_at(args, 0), 2.0 * STRING_FACTOR),
        "join" => |_, result| scaled(result.and_then(Val::size).unwrap_or(1), 2.0 * STRING_FACTOR),
        "find" | "findAll" => {
            |args, _| scaled(size_at(args, 0) + 1, STRING_FACTOR) * scaled(size_at(args, 1), REGEX_FACTOR)
        }
        "containsIP" if overload == "cidr_contains_ip_string" => {
            |args, _| compared_bytes(args) + scaled(size_at(args, 1), STRING_FACTOR)
        }
        "containsIP" => |args, _| compared_bytes(args),
        "containsCIDR" if overload == "cidr_contains_cidr_string" => {
            |args, _| masked_bytes(args) + scaled(size_at(args, 1), STRING_FACTOR)
        }
        "containsCIDR" => |args, _| masked_bytes(args),
        "validate" => |args, _| match args.first().and_then(formats::format_of) {
            Some(format) => scaled(size_at(args, 1) + 1, STRING_FACTOR) * scaled(format.regex_size, REGEX_FACTOR),
            None => 1,
        },
        "format.named" | "sign" | "asInteger" | "isInteger" | "asApproximateFloat" | "isGreaterThan" | "isLessThan"
        | "compareTo" | "add" | "sub" | "major" | "minor" | "patch" => |_, _| 1,
        name if is_accessor(name) => |_, _| 1,
        "check" => |_, _| AUTHORIZATION,
        "fieldSelector" | "labelSelector" => |args, _| selector(Range::exactly(size_at(args, 1))).max,
        "_==_" => |args, _| match args {
            [Val::Opaque(_), _] => 1,
            [left, right] => {
                let smaller = crate::cost::actual_size(left).min(crate::cost::actual_size(right));
                scaled(smaller, STRING_FACTOR)
            }
            _ => 1,
        },
        _ => return None,
    })
}

fn compared_bytes(args: &[Val<'_>]) -> u64 {
    scaled(2 * size_at(args, 0), STRING_FACTOR)
}

fn masked_bytes(args: &[Val<'_>]) -> u64 {
    compared_bytes(args) + scaled(size_at(args, 0), STRING_FACTOR) + 1
}

/// The cost of looking at every value in a tree; text counts by its bytes, rounded down.
fn traversed(value: &Val<'_>, depth: usize) -> u64 {
    let text = |bytes: usize| (bytes as f64 * STRING_FACTOR) as u64;
    let below = |value: &Result<Val<'_>, EvalError>| value.as_ref().map_or(1, |value| traversed(value, depth + 1));
    match value {
        Val::String(string) => text(string.len()),
        Val::Bytes(bytes) => text(bytes.len()),
        Val::List(list) if depth <= MAX_NESTING => list.iter().map(|item| below(&item)).sum(),
        Val::Map(map) if depth <= MAX_NESTING => {
            map.entries().iter().map(|(key, value)| traversed(key, depth + 1) + below(value)).sum()
        }
        _ => 1,
    }
}
