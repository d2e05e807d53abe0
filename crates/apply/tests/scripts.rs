//! Scripts of writes by several managers, with who owns what after each.
#![allow(clippy::restriction, reason = "a failed expectation is how a test reports")]

mod schemas;

use pawl_apply::{Applied, Error, FieldSet, Operation, Typed, Writer, apply, merge_patch, restore_times, track_update};
use pawl_meta::object::{Object, metadata_mut};
use schemas::Kinds;
use serde_json::{Value, json};

/// An object and the writes to it. Every write happens a second after the one before.
struct Script<'s> {
    typed: Typed<'s>,
    api_version: &'static str,
    kind: &'static str,
    object: Option<Object>,
    clock: u32,
    subresource: &'static str,
    reset: FieldSet<'static>,
}

impl<'s> Script<'s> {
    fn new(typed: Typed<'s>, api_version: &'static str, kind: &'static str) -> Self {
        let reset = FieldSet::of_fields(["status"]);
        Self { typed, api_version, kind, object: None, clock: 0, subresource: "", reset }
    }

    fn through(mut self, subresource: &'static str) -> Self {
        self.subresource = subresource;
        self.reset = FieldSet::of_fields([if subresource == "status" { "spec" } else { "status" }]);
        self
    }

    fn time(&mut self) -> String {
        self.clock += 1;
        format!("2026-01-01T00:{:02}:{:02}Z", self.clock / 60, self.clock % 60)
    }

    fn complete(&self, body: Value) -> Object {
        let mut object = json!({"apiVersion": self.api_version, "kind": self.kind, "metadata": {"name": "o"}});
        object = merge_patch::apply(object, json!({"metadata": body.get("metadata").cloned().unwrap_or(json!({}))}));
        for (name, value) in body.as_object().unwrap().iter().filter(|(name, _)| *name != "metadata") {
            object.as_object_mut().unwrap().insert(name.clone(), value.clone());
        }
        object.as_object().unwrap().clone()
    }

    fn try_apply(&mut self, manager: &str, body: Value, force: bool) -> Result<bool, Error> {
        let (time, intent) = (self.time(), self.complete(body));
        let writer = Writer { manager, api_version: self.api_version, subresource: self.subresource, time: &time };
        let Applied { mut object, changed } =
            apply(&self.typed, self.object.as_ref(), intent, &writer, force, &self.reset)?;
        match &self.object {
            Some(old) => drop(restore_times(old, &mut object)),
            None => drop(metadata_mut(&mut object).insert("uid".to_owned(), json!("u"))),
        }
        self.object = Some(object);
        Ok(changed)
    }

    #[track_caller]
    fn apply(mut self, manager: &str, body: Value) -> Self {
        self.try_apply(manager, body, false).unwrap();
        self
    }

    #[track_caller]
    fn force(mut self, manager: &str, body: Value) -> Self {
        self.try_apply(manager, body, true).unwrap();
        self
    }

    #[track_caller]
    fn refuse(mut self, manager: &str, body: Value, message: &str) -> Self {
        assert_eq!(self.try_apply(manager, body, false).unwrap_err().to_string(), message);
        self
    }

    /// Creates, or replaces the object.
    #[track_caller]
    fn put(mut self, manager: &str, body: Value) -> Self {
        let (time, mut new) = (self.time(), self.complete(body));
        if self.object.is_some() {
            metadata_mut(&mut new).insert("uid".to_owned(), json!("u"));
        }
        let writer = Writer { manager, api_version: self.api_version, subresource: self.subresource, time: &time };
        track_update(&self.typed, self.object.as_ref(), &mut new, &writer, &self.reset).unwrap();
        match &self.object {
            Some(old) => drop(restore_times(old, &mut new)),
            None => drop(metadata_mut(&mut new).insert("uid".to_owned(), json!("u"))),
        }
        self.object = Some(new);
        self
    }

    #[track_caller]
    fn patch(mut self, manager: &str, patch: Value) -> Self {
        let time = self.time();
        let old = self.object.take().unwrap();
        let Value::Object(mut new) = merge_patch::apply(Value::Object(old.clone()), patch) else { panic!() };
        let writer = Writer { manager, api_version: self.api_version, subresource: self.subresource, time: &time };
        track_update(&self.typed, Some(&old), &mut new, &writer, &self.reset).unwrap();
        restore_times(&old, &mut new);
        self.object = Some(new);
        self
    }

    fn entries(&self) -> Vec<Value> {
        let metadata = &self.object.as_ref().unwrap()["metadata"];
        metadata.get("managedFields").and_then(Value::as_array).cloned().unwrap_or_default()
    }

    /// Who owns what: `manager Operation[/subresource]` and FieldsV1.
    #[track_caller]
    fn owned(self, expect: &[(&str, Value)]) -> Self {
        let shown = |entry: &Value| {
            let text = |field: &str| entry.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
            let subresource = match text("subresource") {
                s if s.is_empty() => s,
                s => format!("/{s}"),
            };
            (format!("{} {}{subresource}", text("manager"), text("operation")), entry["fieldsV1"].clone())
        };
        let found: Vec<(String, Value)> = self.entries().iter().map(shown).collect();
        let expect: Vec<(String, Value)> = expect.iter().map(|(who, what)| ((*who).to_owned(), what.clone())).collect();
        assert_eq!(found, expect, "{:#?}", self.object);
        self
    }

    #[track_caller]
    fn times(self, expect: &[Option<u32>]) -> Self {
        let seconds = |entry: &Value| entry.get("time").map(|t| t.as_str().unwrap()[17..19].parse().unwrap());
        assert_eq!(self.entries().iter().map(seconds).collect::<Vec<Option<u32>>>(), expect);
        self
    }

    #[track_caller]
    fn has(self, field: &str, expect: Value) -> Self {
        assert_eq!(self.object.as_ref().unwrap().get(field).cloned().unwrap_or_default(), expect);
        self
    }
}

fn config_map(kinds: &Kinds) -> Script<'_> {
    Script::new(kinds.of("ConfigMap"), "v1", "ConfigMap")
}

fn deployment(kinds: &Kinds) -> Script<'_> {
    Script::new(kinds.of("Deployment"), "apps/v1", "Deployment")
}

fn widget(kinds: &Kinds) -> Script<'_> {
    Script::new(kinds.of("Widget"), "example.com/v1", "Widget")
}

#[test]
fn an_applier_owns_what_it_says_and_gives_up_what_it_leaves_out() {
    let kinds = Kinds::new();
    config_map(&kinds)
        .apply("m1", json!({"data": {"a": "1", "b": "2"}}))
        .owned(&[("m1 Apply", json!({"f:data": {"f:a": {}, "f:b": {}}}))])
        .apply("m1", json!({"data": {"a": "1", "b": "2"}}))
        .times(&[Some(1)])
        .apply("m1", json!({"data": {"a": "9"}}))
        .times(&[Some(3)])
        .owned(&[("m1 Apply", json!({"f:data": {"f:a": {}}}))])
        .has("data", json!({"a": "9"}))
        .apply("m1", json!({}))
        .owned(&[])
        .has("data", json!(null));
}

#[test]
fn an_intent_without_metadata_does_not_take_it_away() {
    let kinds = Kinds::new();
    let mut script = config_map(&kinds).apply("m1", json!({"metadata": {"labels": {"a": "1"}}}));
    let bare = json!({"apiVersion": "v1", "kind": "ConfigMap"}).as_object().unwrap().clone();
    let writer = Writer { manager: "m1", api_version: "v1", subresource: "", time: "2026-01-01T00:00:09Z" };
    let done = apply(&script.typed, script.object.as_ref(), bare, &writer, false, &script.reset).unwrap();
    script.object = Some(done.object);
    script.has("metadata", json!({"name": "o", "uid": "u"}));
}

#[test]
fn two_appliers_share_what_they_agree_on() {
    let kinds = Kinds::new();
    let both = config_map(&kinds)
        .apply("m1", json!({"data": {"x": "1", "a": "1"}}))
        .apply("m2", json!({"data": {"x": "1", "b": "1"}}))
        .owned(&[
            ("m1 Apply", json!({"f:data": {"f:a": {}, "f:x": {}}})),
            ("m2 Apply", json!({"f:data": {"f:b": {}, "f:x": {}}})),
        ])
        .apply("m1", json!({"data": {"a": "1"}}))
        .has("data", json!({"a": "1", "b": "1", "x": "1"}))
        .apply("m2", json!({"data": {"b": "1"}}))
        .has("data", json!({"a": "1", "b": "1"}))
        .apply("m2", json!({}))
        .has("data", json!({"a": "1"}))
        .owned(&[("m1 Apply", json!({"f:data": {"f:a": {}}}))]);
    // Who only agrees changes nothing, and so has no time.
    both.apply("m3", json!({"data": {"a": "1"}})).times(&[None, Some(1)]);
}

#[test]
fn conflicts_name_managers_and_fields() {
    let kinds = Kinds::new();
    config_map(&kinds)
        .apply("m1", json!({"data": {"a": "1", "b": "1"}}))
        .patch("upd", json!({"data": {"u": "1"}}))
        .refuse("m2", json!({"data": {"a": "2"}}), "Apply failed with 1 conflict: conflict with \"m1\": .data.a")
        .refuse(
            "m2",
            json!({"data": {"a": "2", "b": "2", "u": "2"}}),
            "Apply failed with 3 conflicts: conflicts with \"m1\":\n- .data.a\n- .data.b\nconflicts with \"upd\" using v1:\n- .data.u",
        )
        .force("m2", json!({"data": {"a": "2", "u": "2"}}))
        .owned(&[("m1 Apply", json!({"f:data": {"f:b": {}}})), ("m2 Apply", json!({"f:data": {"f:a": {}, "f:u": {}}}))])
        .refuse("m1", json!({"data": {"a": "1", "b": "1"}}), "Apply failed with 1 conflict: conflict with \"m2\": .data.a")
        .has("data", json!({"a": "2", "b": "1", "u": "2"}));
    let error =
        config_map(&kinds).apply("m1", json!({"data": {"a": "1"}})).try_apply("m2", json!({"data": {"a": "2"}}), false);
    let Err(Error::Conflicts(conflicts)) = error else { panic!("{error:?}") };
    let [conflict] = conflicts.0.as_slice() else { panic!() };
    assert_eq!((conflict.cause().as_str(), conflict.path.as_str()), ("conflict with \"m1\"", ".data.a"));
    assert_eq!(conflict.operation, Operation::Apply);
}

#[test]
fn an_update_takes_what_it_changes() {
    let kinds = Kinds::new();
    config_map(&kinds)
        .apply("m1", json!({"data": {"a": "1", "b": "1"}}))
        .patch("upd", json!({"data": {"a": "1"}}))
        .owned(&[("m1 Apply", json!({"f:data": {"f:a": {}, "f:b": {}}}))])
        .patch("upd", json!({"data": {"a": "2"}}))
        .owned(&[("m1 Apply", json!({"f:data": {"f:b": {}}})), ("upd Update", json!({"f:data": {"f:a": {}}}))])
        .patch("upd", json!({"data": {"b": null}}))
        .owned(&[("upd Update", json!({"f:data": {"f:a": {}}}))])
        .apply("m1", json!({"data": {"a": "2", "b": "1"}}))
        .owned(&[
            ("m1 Apply", json!({"f:data": {"f:a": {}, "f:b": {}}})),
            ("upd Update", json!({"f:data": {"f:a": {}}})),
        ]);
}

#[test]
fn a_creator_owns_what_was_not_there_without_it() {
    let kinds = Kinds::new();
    let data = json!({"f:data": {".": {}, "f:a": {}}});
    config_map(&kinds).put("creator", json!({"data": {"a": "1"}})).owned(&[("creator Update", data)]).times(&[Some(1)]);
    let template = json!({"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [{"name": "c", "image": "i", "resources": {}}]}});
    let spec = json!({"replicas": 1, "selector": {"matchLabels": {"app": "a"}}, "template": template,
        "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%"}}});
    deployment(&kinds).put("creator", json!({"spec": spec, "status": {}})).owned(&[(
        "creator Update",
        json!({"f:spec": {
            "f:replicas": {},
            "f:selector": {},
            "f:strategy": {"f:rollingUpdate": {".": {}, "f:maxSurge": {}}, "f:type": {}},
            "f:template": {
                "f:metadata": {"f:labels": {".": {}, "f:app": {}}},
                "f:spec": {"f:containers": {"k:{\"name\":\"c\"}": {".": {}, "f:image": {}, "f:name": {}, "f:resources": {}}}},
            },
        }}),
    )]);
    widget(&kinds).put("creator", json!({"spec": {"a": "1", "x": {"y": {"z": 1}, "l": [1]}}})).owned(&[(
        "creator Update",
        json!({"f:spec": {".": {}, "f:a": {}, "f:x": {".": {}, "f:l": {}, "f:y": {".": {}, "f:z": {}}}}}),
    )]);
}

#[test]
fn objects_without_owners_stay_so_until_somebody_applies() {
    let kinds = Kinds::new();
    config_map(&kinds)
        .put("golden", json!({}))
        .owned(&[])
        .patch("upd", json!({"data": {"a": "1"}}))
        .owned(&[])
        .put("upd2", json!({"metadata": {"labels": {"x": "y"}}, "data": {"a": "1", "b": "1"}}))
        .owned(&[])
        .apply("m1", json!({"data": {"c": "1"}}))
        .owned(&[
            ("m1 Apply", json!({"f:data": {"f:c": {}}})),
            (
                "before-first-apply Update",
                json!({"f:data": {".": {}, "f:a": {}, "f:b": {}}, "f:metadata": {"f:labels": {".": {}, "f:x": {}}}}),
            ),
        ])
        .patch("upd", json!({"data": {"d": "1"}}))
        .refuse(
            "m1",
            json!({"data": {"a": "2"}}),
            "Apply failed with 1 conflict: conflict with \"before-first-apply\" using v1: .data.a",
        );
}

#[test]
fn managed_fields_can_be_cleared_and_sent_but_not_lost() {
    let kinds = Kinds::new();
    let sent = json!([{"manager": "x", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {"f:data": {"f:a": {}}}}]);
    for reset in [json!([]), json!([{}])] {
        config_map(&kinds)
            .put("creator", json!({"data": {"a": "1"}}))
            .patch("any", json!({"metadata": {"managedFields": reset}}))
            .owned(&[])
            .apply("m1", json!({"data": {"b": "1"}}))
            .owned(&[
                ("m1 Apply", json!({"f:data": {"f:b": {}}})),
                ("before-first-apply Update", json!({"f:data": {".": {}, "f:a": {}}})),
            ]);
    }
    config_map(&kinds)
        .put("creator", json!({"data": {"a": "1"}}))
        .put("putter", json!({"data": {"a": "1"}}))
        .owned(&[("creator Update", json!({"f:data": {".": {}, "f:a": {}}}))])
        .patch("any", json!({"metadata": {"managedFields": [{"manager": "broken", "operation": "Nothing"}]}}))
        .owned(&[("creator Update", json!({"f:data": {".": {}, "f:a": {}}}))])
        .patch("any", json!({"metadata": {"managedFields": sent}}))
        .owned(&[("x Update", json!({"f:data": {"f:a": {}}}))])
        .times(&[None]);
    config_map(&kinds)
        .put("creator", json!({"data": {"a": "1"}}))
        .through("status")
        .patch("any", json!({"metadata": {"managedFields": sent}}))
        .owned(&[("creator Update", json!({"f:data": {".": {}, "f:a": {}}}))]);
}

#[test]
fn items_are_owned_by_key() {
    let kinds = Kinds::new();
    let body = |containers: Value| json!({"spec": {"selector": {"matchLabels": {"app": "a"}}, "template": {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": containers}}}});
    let owned = |containers: Value| json!({"f:spec": {"f:selector": {}, "f:template": {"f:metadata": {"f:labels": {"f:app": {}}}, "f:spec": {"f:containers": containers}}}});
    let script = deployment(&kinds)
        .apply("m1", body(json!([{"name": "a", "image": "1", "ports": [{"containerPort": 80}]}, {"name": "b", "image": "1"}])))
        .owned(&[("m1 Apply", owned(json!({
            "k:{\"name\":\"a\"}": {".": {}, "f:image": {}, "f:name": {}, "f:ports": {"k:{\"containerPort\":80,\"protocol\":\"TCP\"}": {".": {}, "f:containerPort": {}}}},
            "k:{\"name\":\"b\"}": {".": {}, "f:image": {}, "f:name": {}},
        })))]);
    // Defaults fill in what nobody owns; an updater adds a container.
    let containers = json!([
        {"name": "a", "image": "1", "ports": [{"containerPort": 80, "protocol": "TCP"}], "imagePullPolicy": "Always"},
        {"name": "b", "image": "1", "imagePullPolicy": "Always"},
        {"name": "z", "image": "z", "imagePullPolicy": "Always"},
    ]);
    let mut script = script;
    script.object.as_mut().unwrap()["spec"]["template"]["spec"]["containers"] = {
        let mut defaulted = containers.clone();
        defaulted.as_array_mut().unwrap().pop();
        defaulted
    };
    let z = json!({"f:spec": {"f:template": {"f:spec": {"f:containers": {"k:{\"name\":\"z\"}": {".": {}, "f:image": {}, "f:imagePullPolicy": {}, "f:name": {}}}}}}});
    script
        .patch("upd", json!({"spec": {"template": {"spec": {"containers": containers}}}}))
        .apply("m1", body(json!([{"name": "a", "image": "2", "ports": [{"containerPort": 81}]}])))
        .owned(&[
            ("m1 Apply", owned(json!({"k:{\"name\":\"a\"}": {".": {}, "f:image": {}, "f:name": {}, "f:ports": {"k:{\"containerPort\":81,\"protocol\":\"TCP\"}": {".": {}, "f:containerPort": {}}}}}))),
            ("upd Update", z),
        ])
        .has("spec", json!({"selector": {"matchLabels": {"app": "a"}}, "template": {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [
            {"name": "a", "image": "2", "ports": [{"containerPort": 81}], "imagePullPolicy": "Always"},
            {"name": "z", "image": "z", "imagePullPolicy": "Always"},
        ]}}}))
        .refuse("m1", body(json!([{"name": "z", "image": "other"}])), "Apply failed with 1 conflict: conflict with \"upd\" using apps/v1: .spec.template.spec.containers[name=\"z\"].image")
        .refuse("m1", body(json!([{"name": "a", "image": "1"}, {"name": "a", "image": "2"}])), "failed to create typed patch object (/o; apps/v1, Kind=Deployment): .spec.template.spec.containers: duplicate entries for key [name=\"a\"]")
        // A key that is always written has the zero of its type where it is left out.
        .apply("m1", body(json!([{"image": "noname"}])));
}

#[test]
fn sets_atoms_and_free_fields_of_custom_resources() {
    let kinds = Kinds::new();
    let m1 = json!({"f:spec": {"f:a": {}, "f:am": {}, "f:at": {}, "f:lm": {"k:{\"k\":\"1\"}": {".": {}, "f:k": {}, "f:v": {}}},
        "f:p": {"f:free": {".": {}, "f:l": {}, "f:x": {}}}, "f:st": {"v:\"a\"": {}, "v:\"b\"": {}}}});
    let m2 = json!({"f:spec": {"f:lm": {"k:{\"k\":\"2\"}": {".": {}, "f:k": {}, "f:v": {}}}, "f:st": {"v:\"c\"": {}}}});
    widget(&kinds)
        .apply("m1", json!({"spec": {"a": "1", "lm": [{"k": "1", "v": "x"}], "st": ["a", "b"], "at": ["1", "2"], "p": {"free": {"x": 1, "l": [1, {"k": 2}]}}, "am": {"x": "1", "y": "2"}}}))
        .apply("m2", json!({"spec": {"lm": [{"k": "2", "v": "y"}], "st": ["c"]}}))
        .owned(&[("m1 Apply", m1), ("m2 Apply", m2.clone())])
        .refuse(
            "m2",
            json!({"spec": {"at": ["9"], "am": {"x": "9"}, "lm": [{"k": "1", "v": "z"}], "p": {"free": {"x": 2}}}}),
            "Apply failed with 4 conflicts: conflicts with \"m1\":\n- .spec.am\n- .spec.at\n- .spec.lm[k=\"1\"].v\n- .spec.p.free.x",
        )
        .apply("m1", json!({"spec": {"a": "1", "st": ["b"]}}))
        .owned(&[("m2 Apply", m2), ("m1 Apply", json!({"f:spec": {"f:a": {}, "f:st": {"v:\"b\"": {}}}}))])
        .has("spec", json!({"a": "1", "lm": [{"k": "2", "v": "y"}], "st": ["b", "c"]}))
        .refuse("m2", json!({"spec": {"st": ["c", "c"]}}), "failed to create typed patch object (/o; example.com/v1, Kind=Widget): .spec.st: duplicate entries for key [=\"c\"]")
        .refuse(
            "m2",
            json!({"spec": {"lm": [{"v": "nokey"}]}}),
            "failed to create typed patch object (/o; example.com/v1, Kind=Widget): .spec.lm: element 0: associative list with keys has an element that omits all key fields [\"k\"] (and doesn't have default values for any key fields)",
        );
}

#[test]
fn intents_must_fit_their_schema() {
    let kinds = Kinds::new();
    let refuse = |body: Value, text: &str| {
        let text = format!("failed to create typed patch object (/o; apps/v1, Kind=Deployment): {text}");
        deployment(&kinds).refuse("m1", body, &text);
    };
    refuse(json!({"spec": "x"}), ".spec: expected map, got &{x}");
    refuse(json!({"spec": {"replicas": "three"}}), ".spec.replicas: expected numeric (int or float), got string");
    refuse(json!({"spec": {"bogus": 1}}), ".spec.bogus: field not declared in schema");
    refuse(
        json!({"metadata": {"labels": {"a": 5}}}),
        ".metadata.labels.a: expected string, got &value.valueUnstructured{Value:5}",
    );
    refuse(
        json!({"metadata": {"labels": {"a": true}}}),
        ".metadata.labels.a: expected string, got &value.valueUnstructured{Value:true}",
    );
    refuse(json!({"metadata": {"finalizers": {"a": 1}}}), ".metadata.finalizers: expected list, got &{map[a:1]}");
    refuse(
        json!({"spec": {"replicas": [], "template": {"spec": {"containers": [{"args": [1]}]}}}}),
        "errors:\n  .spec.replicas: expected numeric (int or float), got []interface {}\n  .spec.template.spec.containers[name=\"\"].args[0]: expected string, got &value.valueUnstructured{Value:1}",
    );
    config_map(&kinds).refuse("m1", json!({"data": {"a": 1}}), "failed to create typed patch object (/o; /v1, Kind=ConfigMap): .data.a: expected string, got &value.valueUnstructured{Value:1}");
    config_map(&kinds).refuse("m1", json!({"metadata": {"managedFields": []}}), "metadata.managedFields must be nil");
}

#[test]
fn nulls_are_owned_and_defaulted_keys_are_known() {
    let kinds = Kinds::new();
    config_map(&kinds)
        .apply("m1", json!({"data": {"a": null, "b": "x"}}))
        .owned(&[("m1 Apply", json!({"f:data": {"f:a": {}, "f:b": {}}}))]);
    let service =
        || Script::new(kinds.of("Service"), "v1", "Service").apply("m1", json!({"spec": {"ports": [{"port": 80}]}}));
    service()
        .owned(&[(
            "m1 Apply",
            json!({"f:spec": {"f:ports": {"k:{\"port\":80,\"protocol\":\"TCP\"}": {".": {}, "f:port": {}}}}}),
        )])
        .apply(
            "m1",
            json!({"spec": {"ports": [{"port": 80, "protocol": "TCP"}, {"port": 80, "protocol": "UDP", "name": "u"}]}}),
        )
        .has("spec", json!({"ports": [{"port": 80, "protocol": "TCP"}, {"port": 80, "protocol": "UDP", "name": "u"}]}));
    // A null intends nothing for the entries of a map.
    config_map(&kinds)
        .put("c", json!({"data": {"a": "1"}}))
        .apply("m1", json!({"data": null}))
        .has("data", json!({"a": "1"}));
}

#[test]
fn status_is_owned_through_its_subresource() {
    let kinds = Kinds::new();
    let spec = ("m1 Apply", json!({"f:spec": {"f:a": {}}}));
    widget(&kinds)
        .apply("m1", json!({"spec": {"a": "1"}, "status": {"b": "ignored"}}))
        .owned(std::slice::from_ref(&spec));
    widget(&kinds)
        .apply("m1", json!({"spec": {"a": "1"}}))
        .through("status")
        .apply("ctl", json!({"status": {"b": "1"}}))
        .owned(&[spec.clone(), ("ctl Apply/status", json!({"f:status": {"f:b": {}}}))])
        .apply("ctl", json!({"spec": {"a": "2"}, "status": {"b": "1"}}))
        .refuse(
            "ctl2",
            json!({"status": {"b": "2"}}),
            "Apply failed with 1 conflict: conflict with \"ctl\" with subresource \"status\": .status.b",
        )
        .apply("ctl", json!({"status": {"c": "2"}}))
        .has("status", json!({"c": "2"}));
}

#[test]
fn kubectl_takes_over_from_client_side_apply() {
    let kinds = Kinds::new();
    let annotation = "kubectl.kubernetes.io/last-applied-configuration";
    let last = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"o"},"data":{"a":"1","b":"1"}}"#;
    let script = || {
        config_map(&kinds)
            .put(
                "kubectl-client-side-apply",
                json!({"metadata": {"annotations": {annotation: last}}, "data": {"a": "1", "b": "1"}}),
            )
            .patch("other", json!({"data": {"b": "2"}}))
    };
    script().refuse(
        "m1",
        json!({"data": {"a": "9"}}),
        "Apply failed with 1 conflict: conflict with \"kubectl-client-side-apply\" using v1: .data.a",
    );
    script().refuse(
        "kubectl",
        json!({"data": {"a": "9", "b": "9"}}),
        "Apply failed with 1 conflict: conflict with \"other\" using v1: .data.b",
    );
    let done = script().apply("kubectl", json!({"data": {"a": "<9>"}}));
    assert_eq!(
        done.object.unwrap()["metadata"]["annotations"][annotation],
        json!(
            "{\"apiVersion\":\"v1\",\"data\":{\"a\":\"\\u003c9\\u003e\"},\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"o\"}}\n"
        )
    );
}

#[test]
fn old_updaters_are_merged_into_one() {
    let kinds = Kinds::new();
    let names: Vec<String> = (1..=12).map(|i| format!("u{i:02}")).collect();
    let mut script = config_map(&kinds).put("u00", json!({"data": {"u00": "1"}}));
    for name in &names {
        script = script.patch(name, json!({"data": {name: "1"}}));
    }
    let managers: Vec<String> = script.entries().iter().map(|e| e["manager"].as_str().unwrap().to_owned()).collect();
    assert_eq!(managers, ["ancient-changes", "u04", "u05", "u06", "u07", "u08", "u09", "u10", "u11", "u12"]);
    assert_eq!(
        script.entries()[0]["fieldsV1"],
        json!({"f:data": {".": {}, "f:u00": {}, "f:u01": {}, "f:u02": {}, "f:u03": {}}})
    );
    script.times(&[Some(4), Some(5), Some(6), Some(7), Some(8), Some(9), Some(10), Some(11), Some(12), Some(13)]);
}

#[test]
fn objects_of_unknown_types_are_owned_entry_by_entry() {
    let kinds = Kinds::new();
    Script::new(kinds.unknown(), "example.com/v1", "Thing")
        .apply("m1", json!({"spec": {"a": {"b": 1}, "l": [{"name": "x"}]}}))
        .owned(&[("m1 Apply", json!({"f:spec": {".": {}, "f:a": {".": {}, "f:b": {}}, "f:l": {}}}))])
        .patch("upd", json!({"spec": {"a": 5}}))
        .owned(&[("m1 Apply", json!({"f:spec": {".": {}, "f:l": {}}})), ("upd Update", json!({"f:spec": {"f:a": {}}}))])
        .refuse(
            "m1",
            json!({"spec": {"l": [], "a": 6}}),
            "Apply failed with 1 conflict: conflict with \"upd\" using example.com/v1: .spec.a",
        )
        .force("m1", json!({"spec": {"a": {"c": 1}}}))
        .has("spec", json!({"a": {"c": 1}}))
        .owned(&[("m1 Apply", json!({"f:spec": {".": {}, "f:a": {".": {}, "f:c": {}}}}))]);
}

#[test]
fn what_has_become_atomic_is_owned_as_a_whole() {
    let granular = Kinds::with(&[("am map[string]string omitempty atomic", "am map[string]string omitempty")]);
    let script = widget(&granular)
        .apply("m1", json!({"spec": {"am": {"x": "1"}}}))
        .owned(&[("m1 Apply", json!({"f:spec": {"f:am": {"f:x": {}}}}))]);
    let kinds = Kinds::new();
    let script = Script { typed: kinds.of("Widget"), ..script };
    script
        .patch("upd", json!({"spec": {"a": "1"}}))
        .owned(&[("m1 Apply", json!({"f:spec": {"f:am": {}}})), ("upd Update", json!({"f:spec": {"f:a": {}}}))]);
}

#[test]
fn items_that_repeat_each_other_are_owned_together() {
    let kinds = Kinds::new();
    let lm = |values: &[&str]| {
        let items: Vec<Value> = values.iter().map(|v| json!({"k": "a", "v": v})).collect();
        json!({"spec": {"lm": items}})
    };
    let owned = |item: Value| json!({"f:spec": {"f:lm": {"k:{\"k\":\"a\"}": item}}});
    let list = json!({"f:spec": {".": {}, "f:lm": {}}});
    let created = json!({"f:spec": {".": {}, "f:lm": {".": {}, "k:{\"k\":\"a\"}": {}}}});
    widget(&kinds)
        .put("c", lm(&["1", "2"]))
        .owned(&[("c Update", created)])
        .patch("u1", lm(&["1", "3"]))
        .owned(&[("c Update", list.clone()), ("u1 Update", owned(json!({})))])
        .patch("u2", lm(&["1"]))
        .owned(&[("c Update", list.clone()), ("u2 Update", owned(json!({".": {}, "f:k": {}, "f:v": {}})))])
        .patch("u3", lm(&["1", "2"]))
        .owned(&[("c Update", list), ("u3 Update", owned(json!({})))]);
}

#[test]
fn items_stand_in_the_order_of_the_intent() {
    let kinds = Kinds::new();
    let k = |keys: &str| Value::Array(keys.chars().map(|k| json!({"k": k.to_string()})).collect());
    let check = |live: &str, intent: &str, expect: &str| {
        widget(&kinds)
            .put("c", json!({"spec": {"lm": k(live)}}))
            .apply("m", json!({"spec": {"lm": k(intent)}}))
            .has("spec", json!({"lm": k(expect)}));
    };
    check("abc", "abc", "abc");
    check("abc", "cba", "cba");
    check("abc", "b", "abc");
    check("abc", "d", "abcd");
    check("abc", "ca", "bca");
    check("abcd", "dxb", "acdxb");
    check("", "ba", "ba");
    check("ab", "xay", "xaby");
}
