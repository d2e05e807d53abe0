//! An ingress that names no class gets the default one, when there is one.

use std::cmp::Reverse;

use futures::future::BoxFuture;
use pawl_meta::Status;
use pawl_meta::object::{Meta, Object};
use serde_json::json;

use crate::{Attributes, Objects, Operation, Plugin, fields};

const GROUP: &str = "networking.k8s.io";
const IS_DEFAULT: &str = "ingressclass.kubernetes.io/is-default-class";
/// How an ingress named its class before there was a field.
const CLASS_ANNOTATION: &str = "kubernetes.io/ingress.class";

pub struct DefaultIngressClass;

impl Plugin for DefaultIngressClass {
    fn name(&self) -> &'static str {
        "DefaultIngressClass"
    }

    fn mutate<'a>(
        &'a self,
        attributes: &'a Attributes<'a>,
        object: &'a mut Object,
        objects: &'a dyn Objects,
    ) -> BoxFuture<'a, Result<(), Status>> {
        Box::pin(async move {
            if attributes.operation == Operation::Create && attributes.is(GROUP, "ingresses") {
                set_class(object, objects);
            }
            Ok(())
        })
    }
}

fn set_class(ingress: &mut Object, objects: &dyn Objects) {
    let named = fields::map(ingress, "spec").is_some_and(|spec| fields::present(spec, "ingressClassName"));
    if named || ingress.annotation(CLASS_ANNOTATION).is_some() {
        return;
    }
    let classes = objects.list(GROUP, "ingressclasses", "");
    let defaults = classes.iter().filter(|class| class.annotation(IS_DEFAULT) == Some("true"));
    // The newest of several, the first by name of several as new.
    let class = defaults.min_by_key(|class| (Reverse(class.meta_str("creationTimestamp")), class.name()));
    if let Some(class) = class
        && let Some(spec) = fields::map_mut(ingress, "spec")
    {
        spec.insert("ingressClassName".to_owned(), json!(class.name()));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::fake::{Request, Stored};

    fn class(name: &str, created: &str, default: &str) -> Value {
        json!({"metadata": {"name": name, "creationTimestamp": created, "annotations": {IS_DEFAULT: default}}})
    }

    #[test]
    fn ingresses_without_a_class_get_the_default() {
        let stored = [
            class("d", "2025-01-01T00:00:00Z", "false"),
            class("c", "2024-01-01T00:00:00Z", "true"),
            class("b", "2024-01-02T00:00:00Z", "true"),
            class("a", "2024-01-02T00:00:00Z", "true"),
        ]
        .into_iter()
        .fold(Stored::default(), |stored, class| stored.with(GROUP, "ingressclasses", class));
        let check = |ingress: Value, expect: Value| {
            assert_eq!(Request::create(GROUP, "ingresses").mutate(&DefaultIngressClass, ingress, &stored), Ok(expect));
        };
        check(json!({}), json!({"spec": {"ingressClassName": "a"}}));
        check(json!({"spec": {"ingressClassName": "x"}}), json!({"spec": {"ingressClassName": "x"}}));
        let annotated = json!({"metadata": {"annotations": {CLASS_ANNOTATION: "x"}}, "spec": {}});
        check(annotated.clone(), annotated);
        let update = Request::update(GROUP, "ingresses", json!({}));
        assert_eq!(update.mutate(&DefaultIngressClass, json!({}), &stored), Ok(json!({})));
        let none = Stored::default();
        assert_eq!(Request::create(GROUP, "ingresses").mutate(&DefaultIngressClass, json!({}), &none), Ok(json!({})));
    }
}
