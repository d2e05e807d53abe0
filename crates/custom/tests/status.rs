//! The life of a definition's status: names, conditions, deletion, migration.
#![allow(clippy::restriction, reason = "a failed expectation is how a test reports")]

use pawl_custom::plan::{self, Deletion, Migration};
use pawl_custom::prepare::{self, Gates};
use pawl_custom::status::find;
use pawl_custom::{Definition, InUse};
use pawl_meta::object::Object;
use serde_json::{Value, json};

const NOW: &str = "2024-01-01T00:00:00Z";

fn definition(group: &str, plural: &str, kind: &str, short: &[&str]) -> Object {
    let object = json!({
        "metadata": {"name": format!("{plural}.{group}"), "generation": 1},
        "spec": {
            "group": group,
            "names": {"plural": plural, "kind": kind, "shortNames": short},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object"}}}],
        },
    });
    let Value::Object(mut object) = object else { panic!("an object") };
    prepare::set_defaults(&mut object);
    prepare::create(&mut object, Gates::default());
    object
}

/// Settles and establishes one of several definitions.
fn settle(all: &mut [Object], index: usize) {
    let read: Vec<Definition> = all.iter().map(Definition::read).collect();
    let in_use = InUse::of(read.iter().filter(|other| other.group == read[index].group));
    if let Some(status) = plan::settle(&all[index], &in_use, NOW) {
        all[index].insert("status".to_owned(), Value::Object(status));
    }
    if let Some(status) = plan::establish(&all[index], NOW) {
        all[index].insert("status".to_owned(), Value::Object(status));
    }
    let read: Vec<Definition> = all.iter().map(Definition::read).collect();
    let in_use = InUse::of(&read);
    assert_eq!(plan::settle(&all[index], &in_use, "later"), None, "settled twice");
    assert_eq!(plan::establish(&all[index], "later"), None, "established twice");
}

fn status(object: &Object) -> &Object {
    object["status"].as_object().unwrap()
}

#[track_caller]
fn check(object: &Object, kind: &str, expected: (&str, &str, &str)) {
    let condition = find(status(object), kind).unwrap_or_else(|| panic!("no {kind}"));
    let field = |name: &str| condition[name].as_str().unwrap();
    assert_eq!((field("status"), field("reason"), field("message")), expected);
}

#[test]
fn a_new_definition_is_accepted_and_established() {
    let mut all = [definition("example.com", "widgets", "Widget", &["wd"])];
    assert_eq!(
        Value::Object(status(&all[0]).clone()),
        json!({"conditions": null, "acceptedNames": {"plural": "", "kind": ""}, "storedVersions": ["v1"]})
    );
    let step = plan::settle(&all[0], &InUse::default(), NOW).unwrap();
    let installing = find(&step, "Established").unwrap();
    assert_eq!((&installing["status"], &installing["reason"]), (&json!("False"), &json!("Installing")));
    settle(&mut all, 0);
    let named = json!({"plural": "widgets", "singular": "widget", "shortNames": ["wd"], "kind": "Widget", "listKind": "WidgetList"});
    assert_eq!(status(&all[0])["acceptedNames"], named);
    let said = |kind: &str, reason: &str, message: &str| json!({"type": kind, "status": "True", "lastTransitionTime": NOW, "reason": reason, "message": message});
    assert_eq!(
        status(&all[0])["conditions"],
        json!([
            said("NamesAccepted", "NoConflicts", "no conflicts found"),
            said("Established", "InitialNamesAccepted", "the initial names have been accepted"),
        ])
    );
}

#[test]
fn names_have_one_owner_until_it_goes() {
    let mut all = [
        definition("example.com", "aas", "Aa", &["x", "y"]),
        definition("example.com", "bbs", "Bb", &["x", "y", "z"]),
        definition("example.com", "x", "Aa", &[]),
    ];
    (0..3).for_each(|index| settle(&mut all, index));
    let both = "[\"x\" is already in use, \"y\" is already in use]";
    check(&all[1], "NamesAccepted", ("False", "ShortNamesConflict", both));
    check(&all[1], "Established", ("False", "NotAccepted", "not all names are accepted"));
    assert_eq!(
        status(&all[1])["acceptedNames"],
        json!({"plural": "bbs", "singular": "bb", "kind": "Bb", "listKind": "BbList"})
    );
    check(&all[2], "NamesAccepted", ("False", "ListKindConflict", "\"AaList\" is already in use"));
    assert_eq!(status(&all[2])["acceptedNames"], json!({"plural": "", "kind": ""}));
    // The first goes: the second has what it wants, the third all but its plural, which is now a short name of the second.
    let mut all = [all[1].clone(), all[2].clone()];
    (0..2).for_each(|index| settle(&mut all, index));
    check(&all[0], "NamesAccepted", ("True", "NoConflicts", "no conflicts found"));
    check(&all[0], "Established", ("True", "InitialNamesAccepted", "the initial names have been accepted"));
    check(&all[1], "NamesAccepted", ("False", "PluralConflict", "\"x\" is already in use"));
}

#[test]
fn a_conflict_of_an_established_definition_passes_when_it_gives_in() {
    let mut all = [definition("example.com", "aas", "Aa", &[]), definition("example.com", "bbs", "Bb", &[])];
    (0..2).for_each(|index| settle(&mut all, index));
    all[1]["spec"]["names"]["singular"] = json!("aa");
    settle(&mut all, 1);
    check(&all[1], "NamesAccepted", ("False", "SingularConflict", "\"aa\" is already in use"));
    check(&all[1], "Established", ("True", "InitialNamesAccepted", "the initial names have been accepted"));
    assert_eq!(status(&all[1])["acceptedNames"]["singular"], "bb", "the name of before stays");
    all[1]["spec"]["names"]["singular"] = json!("bb");
    settle(&mut all, 1);
    check(&all[1], "NamesAccepted", ("True", "NoConflicts", "no conflicts found"));
}

#[test]
fn a_webhook_that_cannot_be_trusted_keeps_a_definition_from_being_established() {
    let mut all = [definition("example.com", "ws", "W", &[])];
    all[0]["spec"]["conversion"] =
        json!({"strategy": "Webhook", "webhook": {"clientConfig": {"url": "https://a", "caBundle": "eA=="}}});
    settle(&mut all, 0);
    check(&all[0], "Established", ("False", "InvalidCABundle", "The conversion webhook CABundle is invalid"));
}

#[test]
fn the_community_is_told_what_it_did_not_approve() {
    let group = "x.k8s.io";
    for (annotation, expected) in [
        (Some("https://github.com/x"), ("True", "ApprovedAnnotation", "approved in https://github.com/x")),
        (Some("unapproved, testing"), ("False", "UnapprovedAnnotation", "not approved: \"unapproved, testing\"")),
        (
            None,
            (
                "False",
                "MissingAnnotation",
                "protected groups must have approval annotation \"api-approved.kubernetes.io\", see \
                 https://github.com/kubernetes/enhancements/pull/1111",
            ),
        ),
    ] {
        let mut all = [definition(group, "ws", "W", &[])];
        if let Some(text) = annotation {
            all[0]["metadata"]["annotations"] = json!({"api-approved.kubernetes.io": text});
        }
        settle(&mut all, 0);
        check(&all[0], "KubernetesAPIApprovalPolicyConformant", expected);
        assert!(Definition::read(&all[0]).established);
    }
}

#[test]
fn old_schemas_that_are_not_structural_are_named() {
    let mut all = [definition("example.com", "ws", "W", &[])];
    all[0]["spec"]["preserveUnknownFields"] = json!(true);
    all[0]["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = json!({"properties": {"a": {}}});
    settle(&mut all, 0);
    let at = "spec.versions[0].schema.openAPIV3Schema";
    let message = format!(
        "[spec.preserveUnknownFields: Invalid value: true: must be false, {at}.properties[a].type: Required value: must not be \
         empty for specified object fields, {at}.type: Required value: must not be empty at the root]"
    );
    check(&all[0], "NonStructuralSchema", ("True", "Violations", &message));
    all[0]["spec"]["preserveUnknownFields"] = json!(false);
    all[0]["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = json!({"type": "object"});
    settle(&mut all, 0);
    assert!(find(status(&all[0]), "NonStructuralSchema").is_none());
}

#[test]
fn a_deletion_is_told_step_by_step() {
    let mut object = definition("example.com", "ws", "W", &[]);
    for (step, expected) in [
        (Deletion::Pending, ("True", "InstanceDeletionPending")),
        (Deletion::InProgress, ("True", "InstanceDeletionInProgress")),
        (Deletion::Failed("no".to_owned()), ("True", "InstanceDeletionFailed")),
        (Deletion::Unconfirmed("no".to_owned()), ("True", "InstanceDeletionCheck")),
        (Deletion::Completed, ("False", "InstanceDeletionCompleted")),
        (Deletion::NeverEstablished, ("False", "NeverEstablished")),
        (Deletion::Overlapping, ("False", "OverlappingBuiltInResource")),
    ] {
        let status = plan::terminating(&object, &step, NOW).unwrap();
        let condition = find(&status, "Terminating").unwrap();
        assert_eq!((condition["status"].as_str().unwrap(), condition["reason"].as_str().unwrap()), expected);
        object.insert("status".to_owned(), Value::Object(status));
        assert_eq!(plan::terminating(&object, &step, "later"), None);
        assert_eq!(Definition::read(&object).terminating, expected.0 == "True");
    }
}

#[test]
fn a_migration_leaves_one_stored_version_unless_the_definition_changed() {
    let mut object = definition("example.com", "ws", "W", &[]);
    object["status"]["storedVersions"] = json!(["v0", "v1"]);
    let running = plan::migrating(&object, &Migration::Running("m"), NOW).unwrap();
    object.insert("status".to_owned(), Value::Object(running));
    check(&object, "StorageMigrating", ("True", "MigrationRunning", "Migration m is running"));
    assert_eq!(find(status(&object), "StorageMigrating").unwrap()["observedGeneration"], 1);

    let failed = plan::migrating(&object, &Migration::Failed, NOW).unwrap();
    assert_eq!(failed["storedVersions"], json!(["v0", "v1"]));
    let done = plan::migrating(&object, &Migration::Succeeded, NOW).unwrap();
    assert_eq!(done["storedVersions"], json!(["v1"]));

    object["metadata"]["generation"] = json!(2);
    let done = plan::migrating(&object, &Migration::Succeeded, NOW).unwrap();
    assert_eq!(done["storedVersions"], json!(["v0", "v1"]));
    let said = "The migration has succeeded but the stored versions have not been updated due to a generation mismatch";
    assert_eq!(find(&done, "StorageMigrating").unwrap()["message"], said);

    // Whoever ends it again, because nobody heard of it the first time, must not take the new generation for the migrated one.
    object.insert("status".to_owned(), Value::Object(done));
    assert_eq!(plan::migrating(&object, &Migration::Succeeded, NOW), None);
}
