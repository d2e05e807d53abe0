//! Lists taken as sets.

use super::list;
use crate::cost::{CallEstimate, CallSite, Range, size_at};
use crate::env::Library;
use crate::error::EvalError;
use crate::function::OverloadCost;
use crate::types::Type;
use crate::value::{List, Val};

/// Adds `sets.contains`, `sets.equivalent` and `sets.intersects`.
pub fn add(library: &mut Library) {
    let lists = [Type::list(Type::Param("T")), Type::list(Type::Param("T"))];
    let f = &mut library.functions;
    let once = OverloadCost { estimate: |site| estimate(site, 1.0), actual: |args, _| 1 + pairs(args), before: None };
    let twice =
        OverloadCost { estimate: |site| estimate(site, 2.0), actual: |args, _| 1 + 2 * pairs(args), before: None };
    f.global("sets.contains", "list_sets_contains_list", &lists, Type::Bool, |args| {
        contains(list(args, 0)?, list(args, 1)?).map(Val::Bool)
    })
    .cost = Some(once);
    f.global("sets.equivalent", "list_sets_equivalent_list", &lists, Type::Bool, |args| {
        let (a, b) = (list(args, 0)?, list(args, 1)?);
        Ok(Val::Bool(contains(a, b)? && contains(b, a)?))
    })
    .cost = Some(twice);
    f.global("sets.intersects", "list_sets_intersects_list", &lists, Type::Bool, |args| {
        let (a, b) = (list(args, 0)?, list(args, 1)?);
        for item in a.iter() {
            if has(b, &item?).unwrap_or(false) {
                return Ok(Val::Bool(true));
            }
        }
        Ok(Val::Bool(false))
    })
    .cost = Some(once);
}

fn pairs(args: &[Val<'_>]) -> u64 {
    size_at(args, 0).saturating_mul(size_at(args, 1))
}

fn estimate(site: &CallSite<'_>, factor: f64) -> Option<CallEstimate> {
    let [a, b] = site.args else { return None };
    Some(CallEstimate::cost(a.size().times(b.size()).scaled(factor).plus(Range::ONE)))
}

fn contains<'a>(list: &List<'a>, part: &List<'a>) -> Result<bool, EvalError> {
    for item in part.iter() {
        if !has(list, &item?)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn has<'a>(list: &List<'a>, value: &Val<'a>) -> Result<bool, EvalError> {
    for item in list.iter() {
        if item?.equals(value)? {
            return Ok(true);
        }
    }
    Ok(false)
}
