//! Values that may be missing.

use super::list;
use crate::env::Library;
use crate::error::EvalError;
use crate::function::{Overload, Run};
use crate::types::{OPTIONAL, Type};
use crate::value::Val;

/// Adds optional values, their syntax and their functions.
pub fn add(library: &mut Library) {
    const V: Type = Type::Param("V");
    const K: Type = Type::Param("K");
    library.syntax.optional_syntax = true;
    library.syntax.macros.optionals = true;
    library.type_names.insert(OPTIONAL.into(), Type::optional(Type::Dyn));
    let optional = Type::optional(V);
    let (values, map) = (Type::list(V), Type::map(K, V));
    let f = &mut library.functions;
    f.global("optional.of", "optional_of", &[V], optional.clone(), |args| {
        args.first().cloned().map(Val::some).ok_or(EvalError::NO_OVERLOAD)
    });
    f.global("optional.ofNonZeroValue", "optional_ofNonZeroValue", &[V], optional.clone(), |args| match args.first() {
        Some(value) if value.is_zero() => Ok(Val::Optional(None)),
        Some(value) => Ok(Val::some(value.clone())),
        None => Err(EvalError::NO_OVERLOAD),
    });
    f.global("optional.none", "optional_none", &[], optional.clone(), |_| Ok(Val::Optional(None)));
    f.member("value", "optional_value", std::slice::from_ref(&optional), V, |args| match args.first() {
        Some(Val::Optional(Some(value))) => Ok((**value).clone()),
        Some(Val::Optional(None)) => Err(EvalError::new("optional.none() dereference")),
        _ => Err(EvalError::NO_OVERLOAD),
    });
    f.member("hasValue", "optional_hasValue", std::slice::from_ref(&optional), Type::Bool, |args| match args.first() {
        Some(Val::Optional(value)) => Ok(Val::Bool(value.is_some())),
        _ => Err(EvalError::NO_OVERLOAD),
    });
    let mut built_in = |name: &str, id: &str, member: bool, args: &[Type], result: Type| {
        f.add(name, Overload::new(id, member, args, result, Run::BuiltIn));
    };
    built_in("or", "optional_or_optional", true, &[optional.clone(), optional.clone()], optional.clone());
    built_in("orValue", "optional_orValue_value", true, &[optional.clone(), V], V);
    built_in("_?._", "select_optional_field", false, &[Type::Dyn, Type::String], optional.clone());
    let optional_list = Type::optional(values.clone());
    let optional_map = Type::optional(map.clone());
    built_in("_[?_]", "list_optindex_optional_int", false, &[values.clone(), Type::Int], optional.clone());
    built_in(
        "_[?_]",
        "optional_list_optindex_optional_int",
        false,
        &[optional_list.clone(), Type::Int],
        optional.clone(),
    );
    built_in("_[?_]", "map_optindex_optional_value", false, &[map, K], optional.clone());
    built_in("_[?_]", "optional_map_optindex_optional_value", false, &[optional_map.clone(), K], optional.clone());
    built_in("_[_]", "optional_list_index_int", false, &[optional_list, Type::Int], optional.clone());
    built_in("_[_]", "optional_map_index_value", false, &[optional_map, K], optional.clone());
    f.member("first", "list_first", std::slice::from_ref(&values), optional.clone(), |args| {
        let list = list(args, 0)?;
        list.get(0).transpose().map(|value| Val::Optional(value.map(Into::into)))
    });
    f.member("last", "list_last", std::slice::from_ref(&values), optional.clone(), |args| {
        let list = list(args, 0)?;
        let last = list.len().checked_sub(1).and_then(|last| list.get(last));
        last.transpose().map(|value| Val::Optional(value.map(Into::into)))
    });
    let optionals = Type::list(optional);
    f.global("optional.unwrap", "optional_unwrap", std::slice::from_ref(&optionals), values.clone(), unwrap);
    f.member("unwrapOpt", "optional_unwrapOpt", &[optionals], values, unwrap);
}

fn unwrap<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    let mut values = Vec::new();
    for item in list(args, 0)?.iter() {
        match item? {
            Val::Optional(Some(value)) => values.push((*value).clone()),
            Val::Optional(None) => {}
            other => return Err(EvalError::new(format!("value {other} is not optional"))),
        }
    }
    Ok(Val::list(values))
}
