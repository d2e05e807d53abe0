//! A claim that names no storage class gets the default one, when there is one.

use std::cmp::Reverse;

use futures::future::BoxFuture;
use pawl_meta::Status;
use pawl_meta::object::{Meta, Object};
use serde_json::json;

use crate::{Attributes, Objects, Operation, Plugin, fields};

const IS_DEFAULT: [&str; 2] =
    ["storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"];
/// How a claim named its class before there was a field.
const CLASS_ANNOTATION: &str = "volume.beta.kubernetes.io/storage-class";

pub struct DefaultStorageClass;

impl Plugin for DefaultStorageClass {
    fn name(&self) -> &'static str {
        "DefaultStorageClass"
    }

    fn mutate<'a>(
        &'a self,
        attributes: &'a Attributes<'a>,
        object: &'a mut Object,
        objects: &'a dyn Objects,
    ) -> BoxFuture<'a, Result<(), Status>> {
        Box::pin(async move {
            if attributes.operation == Operation::Create && attributes.is("", "persistentvolumeclaims") {
                set_class(object, objects);
            }
            Ok(())
        })
    }
}

fn set_class(claim: &mut Object, objects: &dyn Objects) {
    // An empty name is a choice too: no class.
    let named = fields::map(claim, "spec").is_some_and(|spec| fields::present(spec, "storageClassName"));
    if named || claim.annotation(CLASS_ANNOTATION).is_some() {
        return;
    }
    let classes = objects.list("storage.k8s.io", "storageclasses", "");
    let defaults = classes.iter().filter(|class| IS_DEFAULT.iter().any(|a| class.annotation(a) == Some("true")));
    // The newest of several, the first by name of several as new.
    let class = defaults.min_by_key(|class| (Reverse(class.meta_str("creationTimestamp")), class.name()));
    if let Some(class) = class
        && let Some(spec) = fields::map_mut(claim, "spec")
    {
        spec.insert("storageClassName".to_owned(), json!(class.name()));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::fake::{Request, Stored};

    fn class(name: &str, created: &str, annotation: &str) -> Value {
        json!({"metadata": {"name": name, "creationTimestamp": created, "annotations": {annotation: "true"}}})
    }

    fn check(classes: &[Value], claim: Value, expect: Value) {
        let stored = classes
            .iter()
            .cloned()
            .fold(Stored::default(), |stored, class| stored.with("storage.k8s.io", "storageclasses", class));
        let request = Request::create("", "persistentvolumeclaims");
        assert_eq!(request.mutate(&DefaultStorageClass, claim, &stored), Ok(expect));
    }

    #[test]
    fn claims_without_a_class_get_the_default() {
        let early = "2024-01-01T00:00:00Z";
        let [ga, beta] = IS_DEFAULT;
        let classes = [
            class("other", "2025-01-01T00:00:00Z", "x"),
            class("c", early, ga),
            class("b", "2024-01-02T00:00:00Z", beta),
            class("a", "2024-01-02T00:00:00Z", ga),
        ];
        check(&classes, json!({"spec": {}}), json!({"spec": {"storageClassName": "a"}}));
        check(&classes, json!({"spec": {"storageClassName": ""}}), json!({"spec": {"storageClassName": ""}}));
        let annotated = json!({"metadata": {"annotations": {CLASS_ANNOTATION: "x"}}, "spec": {}});
        check(&classes, annotated.clone(), annotated);
        check(&[class("x", early, "x")], json!({"spec": {}}), json!({"spec": {}}));
    }

    #[test]
    fn claims_that_exist_are_left_alone() {
        let stored = Stored::default().with("storage.k8s.io", "storageclasses", class("a", "", IS_DEFAULT[0]));
        let request = Request::update("", "persistentvolumeclaims", json!({}));
        assert_eq!(request.mutate(&DefaultStorageClass, json!({"spec": {}}), &stored), Ok(json!({"spec": {}})));
    }
}
