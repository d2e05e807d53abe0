//! The standard functions and the signatures of operators.

use super::text;
use crate::env::Library;
use crate::error::EvalError;
use crate::function::{Functions, Overload, Plain, Run};
use crate::types::Type;
use crate::value::time::Civil;
use crate::value::{Val, convert};

const A: Type = Type::Param("A");
const B: Type = Type::Param("B");
const NUMBERS: [(&str, Type); 3] = [("int64", Type::Int), ("uint64", Type::Uint), ("double", Type::Double)];

/// Adds the language's own types, operators and functions.
pub fn add(library: &mut Library) {
    types(library);
    operators(&mut library.functions);
    conversions(&mut library.functions);
    strings(&mut library.functions);
    times(&mut library.functions);
}

/// Adds loops with two variables.
pub fn add_two_variable_comprehensions(library: &mut Library) {
    library.syntax.macros.two_variables = true;
    let map = Type::map(A, B);
    let functions = &mut library.functions;
    built_in(functions, "cel.@mapInsert", "@mapInsert_map_key_value", &[map.clone(), A, B], map.clone());
    built_in(functions, "cel.@mapInsert", "@mapInsert_map_map", &[map.clone(), map.clone()], map);
}

fn types(library: &mut Library) {
    let simple = [
        Type::Bool,
        Type::Bytes,
        Type::Double,
        Type::Duration,
        Type::Int,
        Type::Null,
        Type::String,
        Type::Timestamp,
        Type::Uint,
        Type::list(Type::Dyn),
        Type::map(Type::Dyn, Type::Dyn),
        Type::Type(None),
    ];
    for ty in simple {
        library.type_names.insert(ty.runtime_name().into(), ty);
    }
}

fn built_in(functions: &mut Functions, name: &str, id: &str, args: &[Type], result: Type) {
    functions.add(name, Overload::new(id, false, args, result, Run::BuiltIn));
}

fn operators(functions: &mut Functions) {
    let f = functions;
    let list = Type::list(A);
    let map = Type::map(A, B);
    built_in(f, "_?_:_", "conditional", &[Type::Bool, A, A], A);
    built_in(f, "_&&_", "logical_and", &[Type::Bool, Type::Bool], Type::Bool);
    built_in(f, "_||_", "logical_or", &[Type::Bool, Type::Bool], Type::Bool);
    built_in(f, "!_", "logical_not", &[Type::Bool], Type::Bool);
    built_in(f, "@not_strictly_false", "not_strictly_false", &[Type::Bool], Type::Bool);
    built_in(f, "_==_", "equals", &[A, A], Type::Bool);
    built_in(f, "_!=_", "not_equals", &[A, A], Type::Bool);
    for (name, id, symmetric) in [
        ("_+_", "add", [Some(Type::Bytes), Some(Type::String)]),
        ("_-_", "subtract", [None, None]),
        ("_*_", "multiply", [None, None]),
        ("_/_", "divide", [None, None]),
    ] {
        for (suffix, ty) in NUMBERS {
            built_in(f, name, &format!("{id}_{suffix}"), &[ty.clone(), ty.clone()], ty);
        }
        for ty in symmetric.into_iter().flatten() {
            built_in(f, name, &format!("{id}_{}", ty.runtime_name()), &[ty.clone(), ty.clone()], ty);
        }
    }
    built_in(f, "_+_", "add_list", &[list.clone(), list.clone()], list.clone());
    let (duration, timestamp) = (Type::Duration, Type::Timestamp);
    for (name, id, left, right, result) in [
        ("_+_", "add_duration_duration", &duration, &duration, &duration),
        ("_+_", "add_duration_timestamp", &duration, &timestamp, &timestamp),
        ("_+_", "add_timestamp_duration", &timestamp, &duration, &timestamp),
        ("_-_", "subtract_duration_duration", &duration, &duration, &duration),
        ("_-_", "subtract_timestamp_duration", &timestamp, &duration, &timestamp),
        ("_-_", "subtract_timestamp_timestamp", &timestamp, &timestamp, &duration),
    ] {
        built_in(f, name, id, &[left.clone(), right.clone()], result.clone());
    }
    built_in(f, "_%_", "modulo_int64", &[Type::Int, Type::Int], Type::Int);
    built_in(f, "_%_", "modulo_uint64", &[Type::Uint, Type::Uint], Type::Uint);
    built_in(f, "-_", "negate_double", &[Type::Double], Type::Double);
    built_in(f, "-_", "negate_int64", &[Type::Int], Type::Int);
    for (name, id) in [("_<_", "less"), ("_<=_", "less_equals"), ("_>_", "greater"), ("_>=_", "greater_equals")] {
        for ty in [Type::Bool, Type::String, Type::Bytes, Type::Timestamp, Type::Duration] {
            let suffix = ty.to_string();
            built_in(f, name, &format!("{id}_{suffix}"), &[ty.clone(), ty], Type::Bool);
        }
        for (left_name, left) in &NUMBERS {
            for (right_name, right) in &NUMBERS {
                let suffix =
                    if left_name == right_name { (*left_name).to_owned() } else { format!("{left_name}_{right_name}") };
                built_in(f, name, &format!("{id}_{suffix}"), &[left.clone(), right.clone()], Type::Bool);
            }
        }
    }
    built_in(f, "_[_]", "index_list", &[list.clone(), Type::Int], A);
    built_in(f, "_[_]", "index_map", &[map.clone(), A], B);
    built_in(f, "@in", "in_list", &[A, list], Type::Bool);
    built_in(f, "@in", "in_map", &[A, map], Type::Bool);
}

fn conversions(functions: &mut Functions) {
    fn first<'a>(args: &[Val<'a>], convert: fn(&Val<'a>) -> Result<Val<'a>, EvalError>) -> Result<Val<'a>, EvalError> {
        args.first().map_or(Err(EvalError::NO_OVERLOAD), convert)
    }
    let table: [(&str, Type, &[Type], Plain); 8] = [
        ("bool", Type::Bool, &[Type::Bool, Type::String], |args| first(args, convert::boolean)),
        ("bytes", Type::Bytes, &[Type::Bytes, Type::String], |args| first(args, convert::bytes)),
        ("double", Type::Double, &[Type::Double, Type::Int, Type::String, Type::Uint], |args| {
            first(args, convert::double)
        }),
        ("duration", Type::Duration, &[Type::Duration, Type::Int, Type::String], |args| first(args, convert::duration)),
        (
            "int",
            Type::Int,
            &[Type::Int, Type::Double, Type::Duration, Type::String, Type::Timestamp, Type::Uint],
            |args| first(args, convert::int),
        ),
        (
            "string",
            Type::String,
            &[
                Type::String,
                Type::Bool,
                Type::Bytes,
                Type::Double,
                Type::Duration,
                Type::Int,
                Type::Timestamp,
                Type::Uint,
            ],
            |args| first(args, convert::string),
        ),
        ("timestamp", Type::Timestamp, &[Type::Timestamp, Type::Int, Type::String], |args| {
            first(args, convert::timestamp)
        }),
        ("uint", Type::Uint, &[Type::Uint, Type::Double, Type::Int, Type::String], |args| first(args, convert::uint)),
    ];
    for (name, to, from, run) in table {
        for ty in from {
            functions.global(name, &format!("{ty}_to_{name}"), std::slice::from_ref(ty), to.clone(), run);
        }
    }
    functions.global("type", "type", &[A], Type::type_of(A), |args| {
        args.first().map(|value| value.type_value()).ok_or(EvalError::NO_OVERLOAD)
    });
    functions.global("dyn", "to_dyn", &[A], Type::Dyn, |args| args.first().cloned().ok_or(EvalError::NO_OVERLOAD));
}

fn strings(functions: &mut Functions) {
    for ty in [Type::Bytes, Type::list(A), Type::map(A, B), Type::String] {
        let name = ty.runtime_name().to_owned();
        functions.global("size", &format!("size_{name}"), std::slice::from_ref(&ty), Type::Int, size);
        functions.member("size", &format!("{name}_size"), &[ty], Type::Int, size);
    }
    let two = [Type::String, Type::String];
    functions
        .member("contains", "contains_string", &two, Type::Bool, |args| {
            Ok(Val::Bool(text(args, 0)?.contains(text(args, 1)?)))
        })
        .guarded = false;
    functions
        .member("startsWith", "starts_with_string", &two, Type::Bool, |args| {
            Ok(Val::Bool(text(args, 0)?.starts_with(text(args, 1)?)))
        })
        .guarded = false;
    functions
        .member("endsWith", "ends_with_string", &two, Type::Bool, |args| {
            Ok(Val::Bool(text(args, 0)?.ends_with(text(args, 1)?)))
        })
        .guarded = false;
    let matches = Run::Regex(|regex, args| Ok(Val::Bool(regex.is_match(text(args, 0)?))));
    functions.add("matches", Overload::new("matches", false, &two, Type::Bool, matches));
    functions.add("matches", Overload::new("matches_string", true, &two, Type::Bool, matches));
}

fn size<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    match args.first() {
        Some(value @ (Val::String(_) | Val::Bytes(_) | Val::List(_) | Val::Map(_))) => {
            Ok(Val::Int(value.size().unwrap_or(0) as i64))
        }
        _ => Err(EvalError::new("no such overload: size")),
    }
}

fn times(functions: &mut Functions) {
    /// One function each for a moment's part in UTC and in a zone, written once.
    macro_rules! getter {
        ($name:literal, $id:literal, $part:expr) => {{
            fn part(civil: &Civil) -> i64 {
                let part: fn(&Civil) -> i64 = $part;
                part(civil)
            }
            functions.member($name, concat!("timestamp_to_", $id), &[Type::Timestamp], Type::Int, |args| {
                match args.first() {
                    Some(Val::Timestamp(moment)) => Ok(Val::Int(part(&moment.utc()))),
                    _ => Err(EvalError::NO_OVERLOAD),
                }
            });
            let with_zone = [Type::Timestamp, Type::String];
            functions.member(
                $name,
                concat!("timestamp_to_", $id, "_with_tz"),
                &with_zone,
                Type::Int,
                |args| match args.first() {
                    Some(Val::Timestamp(moment)) => {
                        moment.in_zone(text(args, 1)?).map(|civil| Val::Int(part(&civil))).map_err(EvalError::new)
                    }
                    _ => Err(EvalError::NO_OVERLOAD),
                },
            );
        }};
    }
    getter!("getFullYear", "year", |c| c.year);
    getter!("getMonth", "month", |c| c.month - 1);
    getter!("getDayOfYear", "day_of_year", |c| c.day_of_year);
    getter!("getDayOfMonth", "day_of_month", |c| c.day - 1);
    getter!("getDate", "day_of_month_1_based", |c| c.day);
    getter!("getDayOfWeek", "day_of_week", |c| c.weekday);
    getter!("getHours", "hours", |c| c.hour);
    getter!("getMinutes", "minutes", |c| c.minute);
    getter!("getSeconds", "seconds", |c| c.second);
    getter!("getMilliseconds", "milliseconds", |c| c.millisecond);

    macro_rules! span {
        ($name:literal, $id:literal, $nanos:literal) => {
            functions.member($name, $id, &[Type::Duration], Type::Int, |args| match args.first() {
                Some(Val::Duration(nanos)) => Ok(Val::Int(nanos / $nanos)),
                _ => Err(EvalError::NO_OVERLOAD),
            });
        };
    }
    span!("getHours", "duration_to_hours", 3_600_000_000_000);
    span!("getMinutes", "duration_to_minutes", 60_000_000_000);
    span!("getSeconds", "duration_to_seconds", 1_000_000_000);
    span!("getMilliseconds", "duration_to_milliseconds", 1_000_000);
}
