//! The functions of the language and of its common extensions.
//!
//! Each module adds its functions to a [`Library`]; none knows of another.

pub mod format;
pub mod lists;
pub mod optionals;
pub mod regex;
pub mod sets;
pub mod standard;
pub mod strings;

use crate::env::Library;
use crate::error::EvalError;
use crate::value::{List, Val};

/// The language itself, without extensions.
pub fn core() -> Library {
    let mut library = Library { cross_type_comparison: true, presence_test_costs: true, ..Library::default() };
    standard::add(&mut library);
    library
}

/// The language with every extension in this module.
pub fn extended() -> Library {
    let mut library = core();
    strings::add(&mut library);
    lists::add(&mut library);
    sets::add(&mut library);
    optionals::add(&mut library);
    standard::add_two_variable_comprehensions(&mut library);
    library
}

/// The string at `index` of the arguments.
pub(crate) fn text<'v>(args: &'v [Val<'_>], index: usize) -> Result<&'v str, EvalError> {
    match args.get(index) {
        Some(Val::String(text)) => Ok(text),
        _ => Err(EvalError::NO_OVERLOAD),
    }
}

/// The integer at `index` of the arguments.
pub(crate) fn int(args: &[Val<'_>], index: usize) -> Result<i64, EvalError> {
    match args.get(index) {
        Some(Val::Int(value)) => Ok(*value),
        _ => Err(EvalError::NO_OVERLOAD),
    }
}

/// The list at `index` of the arguments.
pub(crate) fn list<'v, 'a>(args: &'v [Val<'a>], index: usize) -> Result<&'v List<'a>, EvalError> {
    match args.get(index) {
        Some(Val::List(list)) => Ok(list),
        _ => Err(EvalError::NO_OVERLOAD),
    }
}
