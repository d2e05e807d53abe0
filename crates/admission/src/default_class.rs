//! An ingress or a claim that names no class gets the default one, when there is one.

use std::cmp::Reverse;

use pawl_meta::object::{Meta, Object};
use pawl_meta::{GroupResource, read};
use serde_json::json;

use crate::{AdmissionVerdict, Attributes, Objects, Operation, Plugin};

/// How the objects of one resource name their class, and which class is the default.
pub struct DefaultClass {
    plugin: &'static str,
    /// Group and resource of what has a class.
    of: (&'static str, &'static str),
    /// The field of the specification that names the class. An empty name is a choice too: no class.
    field: &'static str,
    /// How the class was named before there was a field.
    pub(crate) annotation: &'static str,
    /// Group and resource of the classes.
    pub(crate) classes: (&'static str, &'static str),
    /// The annotations that make a class the default, each by being "true".
    marks: &'static [&'static str],
}

pub const DEFAULT_INGRESS_CLASS: DefaultClass = DefaultClass {
    plugin: "DefaultIngressClass",
    of: ("networking.k8s.io", "ingresses"),
    field: "ingressClassName",
    annotation: "kubernetes.io/ingress.class",
    classes: ("networking.k8s.io", "ingressclasses"),
    marks: &["ingressclass.kubernetes.io/is-default-class"],
};

pub const DEFAULT_STORAGE_CLASS: DefaultClass = DefaultClass {
    plugin: "DefaultStorageClass",
    of: ("", "persistentvolumeclaims"),
    field: "storageClassName",
    annotation: "volume.beta.kubernetes.io/storage-class",
    classes: ("storage.k8s.io", "storageclasses"),
    marks: &["storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"],
};

impl DefaultClass {
    fn set(&self, object: &mut Object, objects: &dyn Objects) {
        let named = read::map(object, "spec").is_some_and(|spec| read::present(spec, self.field));
        if named || object.annotation(self.annotation).is_some() {
            return;
        }
        let (group, resource) = self.classes;
        let classes = objects.list(group, resource, "");
        let is_default = |class: &&Object| self.marks.iter().any(|mark| class.annotation(mark) == Some("true"));
        // The newest of several, the first by name of several as new.
        let class = classes
            .iter()
            .filter(is_default)
            .min_by_key(|class| (Reverse(class.meta_str("creationTimestamp")), class.name()));
        if let Some(class) = class
            && let Some(spec) = read::map_mut(object, "spec")
        {
            spec.insert(self.field.to_owned(), json!(class.name()));
        }
    }
}

impl Plugin for DefaultClass {
    fn name(&self) -> &'static str {
        self.plugin
    }

    fn looks_at_others(&self, resource: &GroupResource) -> bool {
        (resource.group.as_str(), resource.resource.as_str()) == self.of
    }

    fn mutate<'a>(&'a self, attributes: &'a Attributes<'a>, object: &'a mut Object) -> AdmissionVerdict<'a> {
        Box::pin(async move {
            if attributes.operation == Operation::Create && attributes.is(self.of.0, self.of.1) {
                self.set(object, attributes.objects);
            }
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::fake::{Request, Stored};

    const EARLY: &str = "2024-01-01T00:00:00Z";
    const LATE: &str = "2024-01-02T00:00:00Z";
    const LATEST: &str = "2025-01-01T00:00:00Z";

    fn class(name: &str, created: &str, mark: &str, value: &str) -> Value {
        json!({"metadata": {"name": name, "creationTimestamp": created, "annotations": {mark: value}}})
    }

    fn stored(plugin: &DefaultClass, classes: &[Value]) -> Stored {
        let (group, resource) = plugin.classes;
        classes.iter().cloned().fold(Stored::default(), |stored, class| stored.with(group, resource, class))
    }

    #[test]
    fn what_names_no_class_gets_the_default() {
        for plugin in [DEFAULT_INGRESS_CLASS, DEFAULT_STORAGE_CLASS] {
            let (first, last) = (plugin.marks[0], plugin.marks[plugin.marks.len() - 1]);
            let classes = [
                class("other", LATEST, "x", "true"),
                class("d", LATEST, first, "false"),
                class("c", EARLY, first, "true"),
                class("b", LATE, last, "true"),
                class("a", LATE, first, "true"),
            ];
            let check = |classes: &[Value], object: Value, expect: Value| {
                let request = Request::create(plugin.of.0, plugin.of.1);
                assert_eq!(request.mutate(&plugin, object, &stored(&plugin, classes)), Ok(expect));
            };
            let of = |class: &str| json!({"spec": {plugin.field: class}});
            check(&classes, json!({}), of("a"));
            check(&classes, json!({"spec": {}}), of("a"));
            check(&classes[..4], json!({"spec": {}}), of("b"));
            check(&classes, of("x"), of("x"));
            check(&classes, of(""), of(""));
            let annotated = json!({"metadata": {"annotations": {plugin.annotation: "x"}}, "spec": {}});
            check(&classes, annotated.clone(), annotated);
            check(&classes[..2], json!({"spec": {}}), json!({"spec": {}}));
            check(&[], json!({}), json!({}));
            let update = Request::update(plugin.of.0, plugin.of.1, json!({}));
            assert_eq!(update.mutate(&plugin, json!({}), &stored(&plugin, &classes)), Ok(json!({})));
        }
    }
}
