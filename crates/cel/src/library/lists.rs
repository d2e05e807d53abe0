//! Lists: slicing, flattening, ordering.

use super::{int, list};
use crate::cost::{Argument, CallEstimate, CallSite, LIST_COST, Range, STRING_FACTOR, size_at};
use crate::env::Library;
use crate::error::EvalError;
use crate::function::OverloadCost;
use crate::types::Type;
use crate::value::{List, MAX_NESTING, Val};
use std::cmp::Ordering;

/// Types whose values have an order.
pub(crate) const ORDERED: [Type; 8] =
    [Type::Int, Type::Uint, Type::Double, Type::Bool, Type::Duration, Type::Timestamp, Type::String, Type::Bytes];

/// Adds `slice`, `flatten`, `sort`, `sortBy`, `lists.range`, `reverse` and `distinct`.
pub fn add(library: &mut Library) {
    const T: Type = Type::Param("T");
    library.syntax.macros.sorting = true;
    let any = Type::list(T);
    let f = &mut library.functions;
    let by_result =
        |estimate| OverloadCost { estimate, actual: |_, result| allocated(1.0, result_size(result)), before: None };
    f.member("slice", "list_slice", &[any.clone(), Type::Int, Type::Int], any.clone(), slice).cost =
        Some(by_result(estimate_slice));
    let flattened = OverloadCost { estimate: estimate_flatten, actual: actual_flatten, before: None };
    let flat = f.member("flatten", "list_flatten", &[Type::list(any.clone())], any.clone(), |args| {
        flatten(list(args, 0)?, 1).map(Val::list)
    });
    flat.cost = Some(flattened);
    flat.guarded = false;
    let dynamic = Type::list(Type::Dyn);
    let flat = f.member("flatten", "list_flatten_int", &[dynamic.clone(), Type::Int], dynamic, |args| {
        let depth = int(args, 1)?;
        if depth < 0 {
            return Err(EvalError::new("level must be non-negative"));
        }
        flatten(list(args, 0)?, depth.min(MAX_NESTING as i64)).map(Val::list)
    });
    flat.cost = Some(flattened);
    flat.guarded = false;
    f.global("lists.range", "lists_range", &[Type::Int], Type::list(Type::Int), |args| {
        Ok(Val::list((0..int(args, 0)?).map(Val::Int).collect()))
    })
    .cost = Some(OverloadCost {
        before: Some(|args| match args.first() {
            Some(Val::Int(count)) => u64::try_from(*count).unwrap_or(0),
            _ => 0,
        }),
        ..by_result(estimate_range)
    });
    f.member("reverse", "list_reverse", std::slice::from_ref(&any), any.clone(), |args| {
        let mut items = list(args, 0)?.to_vec()?;
        items.reverse();
        Ok(Val::list(items))
    })
    .cost = Some(by_result(|site| site.target.map(|target| allocating(1.0, target.size()))));
    f.member("distinct", "list_distinct", std::slice::from_ref(&any), any.clone(), distinct).cost =
        Some(OverloadCost {
            estimate: |site| site.target.map(|target| allocating(2.0, squared(target))),
            actual: |args, _| compared(args, 0),
            before: None,
        });
    for ty in ORDERED {
        let name = ty.runtime_name().to_owned();
        let of = Type::list(ty.clone());
        let is_text = matches!(ty, Type::String | Type::Bytes);
        let cost = OverloadCost {
            estimate: if is_text { estimate_text_sort } else { estimate_sort },
            actual: |args, _| compared(args, args.len().saturating_sub(1)),
            before: None,
        };
        f.member("sort", &format!("list_{name}_sort"), std::slice::from_ref(&of), of.clone(), |args| {
            let items = list(args, 0)?;
            sort_by(items, items)
        })
        .cost = Some(cost);
        let id = format!("list_{name}_sortByAssociatedKeys");
        f.member("@sortByAssociatedKeys", &id, &[any.clone(), of], any.clone(), |args| {
            sort_by(list(args, 0)?, list(args, 1)?)
        })
        .cost = Some(cost);
    }
}

fn slice<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    let (items, start, end) = (list(args, 0)?, int(args, 1)?, int(args, 2)?);
    let refuse = |why: &str| Err(EvalError::new(format!("cannot slice({start}, {end}), {why}")));
    if start < 0 || end < 0 {
        return refuse("negative indexes not supported");
    }
    if start > end {
        return refuse("start index must be less than or equal to end index");
    }
    if end > items.len() as i64 {
        return refuse(&format!("list is length {}", items.len()));
    }
    let part: Result<Vec<_>, _> = (start as usize..end as usize).filter_map(|index| items.get(index)).collect();
    part.map(Val::list)
}

fn flatten<'a>(items: &List<'a>, depth: i64) -> Result<Vec<Val<'a>>, EvalError> {
    let mut out = Vec::with_capacity(items.len());
    for item in items.iter() {
        match item? {
            Val::List(inner) if depth > 0 => out.extend(flatten(&inner, depth - 1)?),
            other => out.push(other),
        }
    }
    Ok(out)
}

fn distinct<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    let mut seen: Vec<Val<'a>> = Vec::new();
    for item in list(args, 0)?.iter() {
        let item = item?;
        if !seen.iter().any(|known| item.equals(known).unwrap_or(false)) {
            seen.push(item);
        }
    }
    Ok(Val::list(seen))
}

fn sort_by<'a>(items: &List<'a>, keys: &List<'a>) -> Result<Val<'a>, EvalError> {
    if items.len() != keys.len() {
        return Err(EvalError::new(format!(
            "@sortByAssociatedKeys() expected a list of the same size as the associated keys list, but got {} and {} elements respectively",
            items.len(),
            keys.len()
        )));
    }
    let mut pairs: Vec<(Val<'a>, Val<'a>)> = Vec::with_capacity(items.len());
    for (key, item) in keys.iter().zip(items.iter()) {
        pairs.push((key?, item?));
    }
    let Some((first, _)) = pairs.first() else { return Ok(Val::List(items.clone())) };
    if !first.is_ordered() {
        return Err(EvalError::new("list elements must be comparable"));
    }
    if pairs.iter().any(|(key, _)| key.type_name() != first.type_name()) {
        return Err(EvalError::new("list elements must have the same type"));
    }
    pairs.sort_by(|(a, _), (b, _)| a.compare(b).unwrap_or(Ordering::Equal));
    Ok(Val::list(pairs.into_iter().map(|(_, item)| item).collect()))
}

// Costs.

fn allocating(factor: f64, size: Range) -> CallEstimate {
    CallEstimate::cost(size.scaled(factor).plus(Range::exactly(1 + LIST_COST))).sized(size)
}

fn allocated(factor: f64, size: u64) -> u64 {
    ((size as f64 * factor) as u64).saturating_add(1 + LIST_COST)
}

fn result_size(result: Option<&Val<'_>>) -> u64 {
    result.and_then(Val::size).unwrap_or(1)
}

fn squared(list: &Argument<'_>) -> Range {
    list.size().times(list.size())
}

/// The bound that an argument written as an integer gives.
fn bound(argument: &Argument<'_>, otherwise: u64) -> u64 {
    argument.as_int().map_or(otherwise, |value| u64::try_from(value).unwrap_or(0))
}

fn estimate_slice(site: &CallSite<'_>) -> Option<CallEstimate> {
    let (Some(target), [start, end]) = (site.target, site.args) else { return None };
    let length = bound(end, target.size().max).wrapping_sub(bound(start, 0));
    Some(allocating(1.0, Range::exactly(length)))
}

fn estimate_range(site: &CallSite<'_>) -> Option<CallEstimate> {
    let [count] = site.args else { return None };
    Some(allocating(1.0, Range::exactly(bound(count, u64::MAX))))
}

fn estimate_flatten(site: &CallSite<'_>) -> Option<CallEstimate> {
    let depth = site.args.first().map_or(1, |depth| bound(depth, u64::MAX));
    Some(allocating(depth as f64, site.target?.size()))
}

fn actual_flatten(args: &[Val<'_>], _: Option<&Val<'_>>) -> u64 {
    let depth = match args.get(1) {
        Some(Val::Int(depth)) => *depth as f64,
        _ => 1.0,
    };
    allocated(depth, size_at(args, 0))
}

/// The keys that are compared: those of `sortBy`, else the elements themselves.
fn sorted<'s>(site: &'s CallSite<'_>) -> Option<&'s Argument<'s>> {
    site.args.first().or(site.target)
}

fn estimate_sort(site: &CallSite<'_>) -> Option<CallEstimate> {
    sorted(site).map(|keys| allocating(2.0, squared(keys)))
}

fn estimate_text_sort(site: &CallSite<'_>) -> Option<CallEstimate> {
    sorted(site).map(|keys| allocating(2.0 + STRING_FACTOR, squared(keys)))
}

fn compared(args: &[Val<'_>], index: usize) -> u64 {
    let size = size_at(args, index);
    let first = match args.get(index) {
        Some(Val::List(list)) => list.get(0),
        _ => None,
    };
    let is_text = matches!(first, Some(Ok(Val::String(_) | Val::Bytes(_))));
    allocated(if is_text { 2.0 + STRING_FACTOR } else { 2.0 }, size.saturating_mul(size))
}
