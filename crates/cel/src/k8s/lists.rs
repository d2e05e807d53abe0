//! Lists: order, sums, extremes, positions.

use crate::env::Library;
use crate::error::EvalError;
use crate::library::list;
use crate::library::lists::ORDERED;
use crate::program::add_values;
use crate::types::Type;
use crate::value::Val;
use std::cmp::Ordering;

type Evaluated<'a> = Result<Val<'a>, EvalError>;

/// Adds `isSorted`, `sum`, `min`, `max`, `indexOf` and `lastIndexOf`.
pub fn add(library: &mut Library) {
    let f = &mut library.functions;
    for ty in ORDERED {
        let name = ty.to_string();
        let of = [Type::list(ty.clone())];
        f.member("isSorted", &format!("list_{name}_is_sorted_bool"), &of, Type::Bool, is_sorted);
        f.member("max", &format!("list_{name}_max_{name}"), &of, ty.clone(), |args| {
            extreme(args, "max", Ordering::Less)
        });
        f.member("min", &format!("list_{name}_min_{name}"), &of, ty, |args| extreme(args, "min", Ordering::Greater));
    }
    f.member("sum", "list_int_sum_int", &[Type::list(Type::Int)], Type::Int, |args| sum(args, Val::Int(0)));
    f.member("sum", "list_uint_sum_uint", &[Type::list(Type::Uint)], Type::Uint, |args| sum(args, Val::Uint(0)));
    f.member("sum", "list_double_sum_double", &[Type::list(Type::Double)], Type::Double, |args| {
        sum(args, Val::Double(0.0))
    });
    f.member("sum", "list_duration_sum_duration", &[Type::list(Type::Duration)], Type::Duration, |args| {
        sum(args, Val::Duration(0))
    });
    const A: Type = Type::Param("A");
    let and_item = [Type::list(A), A];
    f.member("indexOf", "list_a_index_of_int", &and_item, Type::Int, |args| position(args, false));
    f.member("lastIndexOf", "list_a_last_index_of_int", &and_item, Type::Int, |args| position(args, true));
}

fn is_sorted<'a>(args: &[Val<'a>]) -> Evaluated<'a> {
    let mut previous: Option<Val<'a>> = None;
    for item in list(args, 0)?.iter() {
        let item = item?;
        if let Some(previous) = &previous
            && matches!(previous.compare(&item), Ok(Ordering::Greater))
        {
            return Ok(Val::Bool(false));
        }
        previous = Some(item);
    }
    Ok(Val::Bool(true))
}

/// The first element that no other one improves on.
fn extreme<'a>(args: &[Val<'a>], name: &str, worse: Ordering) -> Evaluated<'a> {
    let mut best: Option<Val<'a>> = None;
    for item in list(args, 0)?.iter() {
        let item = item?;
        let replaces = best.as_ref().is_none_or(|best| matches!(best.compare(&item), Ok(order) if order == worse));
        if replaces {
            best = Some(item);
        }
    }
    best.ok_or_else(|| EvalError::new(format!("{name} called on empty list")))
}

fn sum<'a>(args: &[Val<'a>], zero: Val<'a>) -> Evaluated<'a> {
    list(args, 0)?.iter().try_fold(zero, |total, item| add_values(total, item?))
}

fn position<'a>(args: &[Val<'a>], from_end: bool) -> Evaluated<'a> {
    let Some(wanted) = args.get(1) else { return Err(EvalError::NO_OVERLOAD) };
    let items = list(args, 0)?.to_vec()?;
    let is_wanted = |item: &Val<'a>| item.equals(wanted).unwrap_or(false);
    let index = if from_end { items.iter().rposition(is_wanted) } else { items.iter().position(is_wanted) };
    Ok(Val::Int(index.map_or(-1, |index| index as i64)))
}
