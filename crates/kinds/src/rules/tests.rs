use super::*;

#[test]
fn the_facts_make_sense() {
    let started = std::time::Instant::now();
    let (rules, errors) = compile::Compiler::run();
    println!("{:?}: {} plans, {} fills", started.elapsed(), rules.plans.len(), rules.fills.len());
    assert!(errors.is_empty(), "{}", errors.join("\n"));
}
