//! A rule over declared data: `cargo run -p pawl-cel --example rule`.

#![allow(clippy::print_stdout, reason = "an example prints what it finds")]

use pawl_cel::decl::{DeclKind, DeclType, FieldDecl};
use pawl_cel::{Bindings, Env, Program, Val, compile, cost, library};
use serde_json::json;
use std::error::Error;
use std::sync::Arc;

fn main() -> Result<(), Box<dyn Error>> {
    let field = |name: &str| FieldDecl {
        name: Some(name.into()),
        key: name.into(),
        decl: DeclType::scalar(DeclKind::Int, 1),
        alias: false,
    };
    let decl = Arc::new(DeclType::object("Scale", vec![field("replicas"), field("maxReplicas")]));
    let env = Env::new(Arc::new(library::extended())).with_data("self", &decl).with_sizes(decl.clone());

    let checked = compile("self.replicas <= self.maxReplicas", &env)?;
    println!("type {}, at most {} cost", checked.output(), cost::estimate(&checked, &env).max);

    let program = Program::new(&checked, &env)?;
    let data = json!({"replicas": 7, "maxReplicas": 5});
    let outcome = program.run(&Bindings::new().with("self", Val::from_json(&data, &decl)?), 1_000);
    println!("{} for a cost of {}", outcome.value?, outcome.cost);

    if let Err(issues) = compile("self.replicas <= self.maximum", &env) {
        println!("{issues}");
    }
    Ok(())
}
