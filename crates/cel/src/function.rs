//! Functions: their signatures, what they do and what they cost.

use crate::cost::{CallEstimate, CallSite};
use crate::error::EvalError;
use crate::types::Type;
use crate::value::Val;
use std::collections::HashMap;
use std::sync::Arc;

/// What a function makes of its arguments; a receiver is the first.
pub type Plain = for<'a> fn(&[Val<'a>]) -> Result<Val<'a>, EvalError>;
/// The same for functions whose second argument is a regular expression.
pub type WithRegex = for<'a> fn(&regex::Regex, &[Val<'a>]) -> Result<Val<'a>, EvalError>;
/// The estimated cost of a call, without its arguments.
pub type Estimate = fn(&CallSite<'_>) -> Option<CallEstimate>;
/// The cost of a call that was made; the result is missing if it failed.
pub type Actual = fn(&[Val<'_>], Option<&Val<'_>>) -> u64;

/// How an overload is evaluated.
#[derive(Debug, Clone, Copy)]
pub enum Run {
    /// By the evaluator itself.
    BuiltIn,
    /// By a function of the arguments.
    Plain(Plain),
    /// By a function of a compiled expression and the arguments.
    Regex(WithRegex),
}

/// One signature of a function.
#[derive(Debug, Clone)]
pub struct Overload {
    /// Its name among all signatures of all functions.
    pub id: String,
    /// Whether the first argument is written in front of a dot.
    pub member: bool,
    /// The types of the arguments.
    pub args: Vec<Type>,
    /// The type of the result.
    pub result: Type,
    /// How it is evaluated.
    pub run: Run,
    /// Whether arguments after one that failed are left alone.
    pub stops_at_error: bool,
    /// Whether values are looked at before the call when their types are not certain.
    pub guarded: bool,
    /// What it costs, if a library says so.
    pub cost: Option<OverloadCost>,
    /// The parameters among its types.
    pub(crate) params: Vec<&'static str>,
}

/// The cost of one signature.
#[derive(Debug, Clone, Copy)]
pub struct OverloadCost {
    pub estimate: Estimate,
    pub actual: Actual,
    /// A cost known before the call is made, so that a call too dear is not made at all.
    pub before: Option<fn(&[Val<'_>]) -> u64>,
}

/// A function with all its signatures.
#[derive(Debug, Clone, Default)]
pub struct Function {
    /// Its signatures, in the order of declaration.
    pub overloads: Vec<Overload>,
}

/// Functions by name.
#[derive(Debug, Clone, Default)]
pub struct Functions {
    by_name: HashMap<Arc<str>, Function>,
}

impl Functions {
    /// The function of this name.
    pub fn get(&self, name: &str) -> Option<&Function> {
        self.by_name.get(name)
    }

    /// Adds a signature of a global function.
    pub fn global(&mut self, name: &str, id: &str, args: &[Type], result: Type, run: Plain) -> &mut Overload {
        self.add(name, Overload::new(id, false, args, result, Run::Plain(run)))
    }

    /// Adds a signature of a member function; the receiver is the first argument.
    pub fn member(&mut self, name: &str, id: &str, args: &[Type], result: Type, run: Plain) -> &mut Overload {
        self.add(name, Overload::new(id, true, args, result, Run::Plain(run)))
    }

    /// Adds a signature.
    pub fn add(&mut self, name: &str, overload: Overload) -> &mut Overload {
        let overloads = &mut self.by_name.entry(name.into()).or_default().overloads;
        overloads.push(overload);
        let last = overloads.len() - 1;
        #[allow(clippy::indexing_slicing, reason = "an element was pushed just above")]
        &mut overloads[last]
    }
}

impl Overload {
    /// A signature without a cost of its own.
    pub fn new(id: &str, member: bool, args: &[Type], result: Type, run: Run) -> Overload {
        let mut params = Vec::new();
        args.iter().chain([&result]).for_each(|arg| collect_params(arg, &mut params));
        let id = id.to_owned();
        Overload {
            id,
            member,
            args: args.to_vec(),
            result,
            run,
            stops_at_error: args.len() > 2,
            guarded: true,
            cost: None,
            params,
        }
    }

    /// Whether these values fit the signature. Containers are judged by their first element.
    pub fn accepts(&self, args: &[Val<'_>]) -> bool {
        self.args.len() == args.len() && self.args.iter().zip(args).all(|(ty, value)| accepts(ty, value))
    }
}

fn collect_params(ty: &Type, into: &mut Vec<&'static str>) {
    match ty {
        Type::Param(name) if !into.contains(name) => into.push(name),
        Type::List(element) => collect_params(element, into),
        Type::Map(entry) => {
            collect_params(&entry.0, into);
            collect_params(&entry.1, into);
        }
        Type::Opaque(_, params) => params.iter().for_each(|param| collect_params(param, into)),
        Type::Type(Some(of)) => collect_params(of, into),
        _ => {}
    }
}

fn accepts(ty: &Type, value: &Val<'_>) -> bool {
    match (ty, value) {
        (Type::Dyn | Type::Param(_), _) => true,
        (Type::List(element), Val::List(list)) => match list.get(0) {
            Some(Ok(first)) => accepts(element, &first),
            _ => true,
        },
        (Type::Map(entry), Val::Map(map)) => match map.keys().first() {
            Some(key) => accepts(&entry.0, key),
            None => true,
        },
        (Type::Opaque(name, params), Val::Optional(inner)) if **name == *crate::types::OPTIONAL => {
            match (params.first(), inner) {
                (Some(ty), Some(inner)) => accepts(ty, inner),
                _ => true,
            }
        }
        (ty, value) => ty.runtime_name() == value.type_name(),
    }
}
