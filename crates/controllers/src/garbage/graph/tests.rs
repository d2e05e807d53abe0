use super::*;
use crate::garbage::facts::Owner;

/// Reads an object from a line: `name <owner <blocked-owner! lien deleting foreground orphan @revision`.
pub fn facts(line: &str) -> OwnershipFacts {
    let mut words = line.split_whitespace();
    let name = words.next().unwrap();
    let mut facts = OwnershipFacts {
        uid: name.into(),
        identity: Identity { api_version: "v1".into(), kind: "ConfigMap".into(), key: format!("n/{name}").into() },
        revision: 1,
        owners: Box::default(),
        liens: Box::default(),
        deleting: false,
        foreground: false,
        orphan: false,
    };
    for word in words {
        match word {
            "lien" => facts.liens = Box::new(["a.b/c".to_owned()]),
            "deleting" => facts.deleting = true,
            "foreground" => facts.foreground = true,
            "orphan" => facts.orphan = true,
            "elsewhere" => facts.identity.key = format!("m/{name}").into(),
            revision if revision.starts_with('@') => facts.revision = revision[1..].parse().unwrap(),
            owner => {
                let owner = owner.strip_prefix('<').unwrap();
                let (uid, blocks) = owner.strip_suffix('!').map_or((owner, false), |uid| (uid, true));
                let (api_version, kind) = ("v1".into(), "ConfigMap".into());
                let owner = Owner { api_version, kind, name: uid.into(), uid: uid.into(), blocks };
                facts.owners = facts.owners.into_iter().chain([owner]).collect();
            }
        }
    }
    facts
}

/// Tells a graph what happened, line by line; the last line's work is what is expected. `-name` is a deletion.
fn check(script: &[&str], expect: &[&str]) -> Graph {
    let mut graph = Graph::default();
    let mut work = Vec::new();
    for line in script {
        work = match line.strip_prefix('-') {
            Some(name) => graph.forget(&name.into()),
            None => graph.observe(facts(line)),
        };
    }
    let mut got: Vec<&str> = work.iter().map(|uid| &**uid).collect();
    got.sort_unstable();
    got.dedup();
    assert_eq!(got, expect, "{script:?}");
    graph
}

#[test]
fn a_dependent_is_looked_at_when_its_owner_was_not_seen() {
    check(&["a"], &[]);
    check(&["a", "x <a"], &[]);
    check(&["x <a"], &["x"]);
    check(&["x <a", "a"], &[]);
    check(&["a elsewhere", "x <a"], &["x"]);
    check(&["x <a", "x <a @2"], &[]);
    check(&["a", "x", "x <a <b @2"], &["x"]);
}

#[test]
fn dependents_are_looked_at_when_their_owner_goes() {
    check(&["a", "x <a", "y <a", "-a"], &["x", "y"]);
    check(&["x <a", "a", "-a"], &["x"]);
    check(&["a", "x <a", "x @2", "-a"], &[]);
    check(&["a", "x <a", "-x", "-a"], &[]);
}

#[test]
fn a_foreground_deletion_concerns_its_dependents() {
    check(&["a", "x <a!", "y <a", "a deleting foreground @2"], &["a", "x", "y"]);
    check(&["a deleting foreground", "x <a!"], &["x"]);
    check(&["a deleting foreground", "x <a!", "-x"], &["a"]);
    check(&["a deleting foreground", "x <a!", "x <a @2"], &["a", "x"]);
    check(&["a deleting foreground", "x <a!", "x @2"], &["a"]);
    check(&["a", "x <a!", "-x"], &[]);
}

#[test]
fn an_orphaning_deletion_concerns_itself() {
    check(&["a", "x <a", "a deleting orphan @2"], &["a"]);
    check(&["a orphan", "a orphan @2"], &[]);
}

#[test]
fn a_lien_that_is_let_go_concerns_what_it_held() {
    check(&["x <a lien", "x <a @2"], &["x"]);
    check(&["x lien", "x @2"], &[]);
}

#[test]
fn old_news_is_no_news() {
    check(&["a deleting foreground @5", "a @4"], &[]);
    let graph = check(&["x <a @5", "x @4"], &[]);
    assert_eq!(graph.dependents(&"a".into()), ["x".into()]);
}

#[test]
fn nothing_stays_behind() {
    let graph = check(&["a", "x <a", "x <b @2", "-a", "-x"], &[]);
    assert!(graph.objects.is_empty() && graph.dependents.is_empty(), "{graph:?}");
}

#[test]
fn a_cycle_of_waiting_objects_is_found() {
    let waits = |script: &[&str], uid: &str| {
        let mut graph = Graph::default();
        for line in script {
            graph.observe(facts(line));
        }
        let view = graph.view(&uid.into()).unwrap();
        (view.blocked, view.in_cycle)
    };
    assert_eq!(waits(&["a deleting foreground", "b <a!"], "a"), (true, false));
    assert_eq!(waits(&["a <b! deleting foreground", "b <a!"], "a"), (true, false));
    assert_eq!(waits(&["a <b! deleting foreground", "b <a! deleting foreground"], "a"), (true, true));
    assert_eq!(waits(&["a <b! deleting foreground", "b <a deleting foreground"], "a"), (false, false));
    assert_eq!(waits(&["a <a! deleting foreground"], "a"), (false, false));
    let ring = ["a <c! deleting foreground", "b <a! deleting foreground", "c <b! deleting foreground"];
    for uid in ["a", "b", "c"] {
        assert_eq!(waits(&ring, uid), (true, true));
    }
}
