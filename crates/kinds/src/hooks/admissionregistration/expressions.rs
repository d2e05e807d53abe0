//! Expressions of admission policies and of webhooks' match conditions: they must compile. What they are about is known only
//! when they run, so that every field of an object may be named.

use std::sync::OnceLock;

use pawl_cel::{Env, Type};
use pawl_meta::object::Object;

use pawl_meta::read;
use pawl_rules::{Check, Errors, FieldPath};

/// The match conditions of a webhook.
pub fn webhook_expressions(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    conditions(object, environments(), false, path, errors);
}

/// Every expression of a policy. Those of mutations make objects of types that only the policy's target tells: of them only the
/// syntax is looked at.
pub fn policy_expressions(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let environments = environments();
    let params = read::present(object, "paramKind");
    conditions(object, environments, params, path, errors);
    let within = environments.policy(params, !read::list(object, "variables").is_empty());
    let mut each = |list: &str, field: &str, env: &Env, results: &[Type]| {
        for (index, item) in read::objects(object, list) {
            let at = path.child(list).index(index).child(field);
            compile(read::text(item, field), env, results, &at, errors);
        }
    };
    each("variables", "expression", within, &[]);
    each("validations", "expression", within, &[Type::Bool]);
    each("validations", "messageExpression", environments.message(params), &[Type::String]);
    each("auditAnnotations", "valueExpression", within, &[Type::String, Type::Null]);
    for (index, mutation) in read::objects(object, "mutations") {
        for field in ["applyConfiguration", "jsonPatch"] {
            let expression = read::map(mutation, field).map_or("", |patch| read::text(patch, "expression"));
            let source = pawl_cel::source::Source::new(expression);
            if let Err(issues) = pawl_cel::syntax::parse(&source, within.syntax())
                && !expression.trim().is_empty()
            {
                let at = path.child("mutations").index(index).child(field).child("expression");
                errors.invalid(&at, expression, format!("compilation failed: {issues}"));
            }
        }
    }
}

fn conditions(object: &Object, environments: &Environments, params: bool, path: &FieldPath, errors: &mut Errors) {
    for (index, condition) in read::objects(object, "matchConditions") {
        let at = path.child("matchConditions").index(index).child("expression");
        compile(read::text(condition, "expression"), environments.policy(params, false), &[Type::Bool], &at, errors);
    }
}

/// An expression that is not there is found by the rules.
fn compile(expression: &str, env: &Env, results: &[Type], at: &FieldPath, errors: &mut Errors) {
    if expression.trim().is_empty() {
        return;
    }
    let checked = match pawl_cel::compile(expression, env) {
        Ok(checked) => checked,
        Err(issues) => return errors.invalid(at, expression, format!("compilation failed: {issues}")),
    };
    let output = checked.output();
    if results.is_empty() || results.contains(output) || *output == Type::Dyn {
        return;
    }
    let name = |result: &Type| if *result == Type::Null { "null_type".to_owned() } else { result.to_string() };
    let wanted: Vec<String> = results.iter().map(name).collect();
    let detail = match wanted.as_slice() {
        [only] => format!("must evaluate to {only} but got {output}"),
        several => format!("must evaluate to one of [{}] but got {output}", several.join(" ")),
    };
    errors.invalid(at, expression, detail);
}

/// What expressions may name, by whether there are parameters.
struct Environments {
    conditions: [Env; 2],
    policies: [Env; 2],
    messages: [Env; 2],
}

impl Environments {
    fn policy(&self, params: bool, variables: bool) -> &Env {
        let [without, with] = if variables { &self.policies } else { &self.conditions };
        if params { with } else { without }
    }

    /// Messages cannot ask who may do what.
    fn message(&self, params: bool) -> &Env {
        let [without, with] = &self.messages;
        if params { with } else { without }
    }
}

fn environments() -> &'static Environments {
    static ENVIRONMENTS: OnceLock<Environments> = OnceLock::new();
    ENVIRONMENTS.get_or_init(|| {
        let both = |authorizer: bool, more: &[&'static str]| {
            [environment(authorizer, more), environment(authorizer, more).with_variable("params", Type::Dyn)]
        };
        Environments {
            conditions: both(true, &["namespaceObject"]),
            policies: both(true, &["namespaceObject", "variables"]),
            messages: both(false, &["namespaceObject", "variables"]),
        }
    })
}

fn environment(authorizer: bool, more: &[&'static str]) -> Env {
    let names = ["object", "oldObject", "request"].iter().chain(more);
    let env = names.fold(Env::new(pawl_cel::k8s::library()), |env, name| env.with_variable(*name, Type::Dyn));
    if !authorizer {
        return env;
    }
    env.with_variable("authorizer", Type::Object("kubernetes.authorization.Authorizer".into()))
        .with_variable("authorizer.requestResource", Type::Object("kubernetes.authorization.ResourceCheck".into()))
}
