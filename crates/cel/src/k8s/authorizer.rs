//! The signatures of authorization checks.
//!
//! No rule has an authorizer to ask, but the names are taken: a rule that uses
//! one of them on something else hears that it does not fit, not that it is
//! unknown. What evaluates them comes with the values that they are asked of.

use crate::env::Library;
use crate::function::{Overload, Run};
use crate::types::Type;

/// Declares the functions.
pub fn add(library: &mut Library) {
    let ty = |name: &str| Type::Object(format!("kubernetes.authorization.{name}").into());
    let (authorizer, path, group) = (ty("Authorizer"), ty("PathCheck"), ty("GroupCheck"));
    let (resource, decision, string) = (ty("ResourceCheck"), ty("Decision"), Type::String);
    let table: [(&str, &str, &[&Type], &Type); 15] = [
        ("path", "authorizer_path", &[&authorizer, &string], &path),
        ("group", "authorizer_group", &[&authorizer, &string], &group),
        ("serviceAccount", "authorizer_serviceaccount", &[&authorizer, &string, &string], &authorizer),
        ("resource", "groupcheck_resource", &[&group, &string], &resource),
        ("subresource", "resourcecheck_subresource", &[&resource, &string], &resource),
        ("namespace", "resourcecheck_namespace", &[&resource, &string], &resource),
        ("name", "resourcecheck_name", &[&resource, &string], &resource),
        ("fieldSelector", "authorizer_fieldselector", &[&resource, &string], &resource),
        ("labelSelector", "authorizer_labelselector", &[&resource, &string], &resource),
        ("check", "pathcheck_check", &[&path, &string], &decision),
        ("check", "resourcecheck_check", &[&resource, &string], &decision),
        ("errored", "decision_errored", &[&decision], &Type::Bool),
        ("error", "decision_error", &[&decision], &Type::String),
        ("allowed", "decision_allowed", &[&decision], &Type::Bool),
        ("reason", "decision_reason", &[&decision], &Type::String),
    ];
    for (name, id, args, result) in table {
        let args: Vec<Type> = args.iter().map(|arg| (*arg).clone()).collect();
        library.functions.add(name, Overload::new(id, true, &args, result.clone(), Run::BuiltIn));
    }
}
