//! Expressions that select devices: they must compile. What they cost is not estimated.

use std::sync::{Arc, OnceLock};

use pawl_cel::decl::{DeclKind, DeclType, FieldDecl};
use pawl_cel::{Env, Type};
use pawl_meta::object::Object;

use pawl_meta::read;
use pawl_rules::{Check, Errors, FieldPath};

const MAX_LENGTH: usize = 10 * 1024;

/// An expression over `device` that is true or false, or an attribute of which nobody knows the type.
pub fn device_selector_expression(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let Some(selector) = read::map(object, "cel") else { return };
    let expression = read::text(selector, "expression");
    let at = path.child("cel").child("expression");
    if expression.len() > MAX_LENGTH {
        return errors.too_long(&at, expression, MAX_LENGTH);
    }
    match pawl_cel::compile(expression, environment()) {
        Err(issues) => errors.invalid(&at, expression, format!("compilation failed: {issues}")),
        Ok(checked) => match checked.output() {
            Type::Bool | Type::Dyn => {}
            other => errors.invalid(&at, expression, format!("must evaluate to bool or the unknown type, not {other}")),
        },
    }
}

fn environment() -> &'static Env {
    static ENVIRONMENT: OnceLock<Env> = OnceLock::new();
    ENVIRONMENT.get_or_init(|| {
        let by_domain = || DeclType::map(DeclType::map(DeclType::dynamic(), 0), 0);
        let field = |name: &str, decl| FieldDecl { name: Some(name.into()), key: name.into(), decl, alias: false };
        let fields = vec![
            field("driver", DeclType::scalar(DeclKind::String, 2)),
            field("allowMultipleAllocations", DeclType::scalar(DeclKind::Bool, 4)),
            field("attributes", by_domain()),
            field("capacity", by_domain()),
        ];
        let device = DeclType::object("kubernetes.DRADevice", fields);
        let mut library = (*pawl_cel::k8s::library()).clone();
        library.syntax.macros.binding = true;
        Env::new(Arc::new(library)).with_data("device", &device)
    })
}
