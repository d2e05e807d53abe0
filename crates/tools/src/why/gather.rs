//! Asking everything that may keep an object.

use serde_json::{Value, json};

use crate::everything::everything;
use crate::look::{ago, list, put_by, text, words};
use crate::resources::{Named, Resource, Resources};
use crate::server::Server;

use super::{About, Finding, Why};

/// What the controllers of things in use put, and how one asks them not to.
const PROTECTIONS: [(&str, &str); 2] = [
    ("kubernetes.io/secret-protection", "kubernetes.io/enable-secret-protection"),
    ("kubernetes.io/configmap-protection", "kubernetes.io/enable-configmap-protection"),
];
/// Of these Pawl says who uses them.
const USED: [&str; 6] =
    ["secrets", "configmaps", "persistentvolumeclaims", "serviceaccounts", "priorityclasses", "storageclasses"];
const UNREADABLE: &str = "/apis/storage.pawl.dev/v1/unreadableobjects";
const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

pub async fn gather(server: &Server, resources: &Resources, named: Named, wide: bool) -> Result<Why, String> {
    let mut why = Why { named, deleted: None, findings: Vec::new(), missing: Vec::new() };
    match server.get(&why.named.path()).await {
        Ok(object) => {
            why.deleted = Some(text(&object, "/metadata/deletionTimestamp").to_owned()).filter(|when| !when.is_empty());
            liens(&mut why, &object);
            users(server, resources, &mut why, &object).await;
            finalizers(&mut why, &object);
            owners(server, resources, &mut why, &object).await;
            match is_namespace(&why.named.resource) {
                true => content(server, resources, &mut why, &object, wide).await,
                false => dependents(server, resources, &mut why, &object).await,
            }
            invalid(server, &mut why).await;
        }
        Err(refused) if refused.reason() == "StorageReadError" => {
            let finding = Finding::new(About::Unreadable, refused.to_string()).keeping(true);
            let finding = finding.note("restore its key, or remove it unread");
            why.findings.push(finding.resolved_by(format!("kubectl pawl purge {}", why.named.argument())));
        }
        Err(refused) => return Err(refused.to_string()),
    }
    neighbours(server, resources, &mut why).await;
    why.findings.sort_by_key(|finding| finding.about);
    Ok(why)
}

fn is_namespace(resource: &Resource) -> bool {
    resource.group.is_empty() && resource.plural == "namespaces"
}

fn liens(why: &mut Why, object: &Value) {
    for lien in words(object, "/metadata/liens") {
        let mut finding = Finding::new(About::Lien, lien.clone()).keeping(true);
        finding.notes.extend(put_by(object, "liens", &lien));
        let argument = why.named.argument();
        finding = match PROTECTIONS.iter().find(|(key, _)| *key == lien) {
            Some((_, wish)) => finding
                .note("goes with the last user, or when nobody wishes it any more")
                .resolved_by(format!("kubectl annotate {argument} {wish}-")),
            None => finding.resolved_by(format!("kubectl pawl lien remove {argument} {lien}")),
        };
        why.findings.push(finding);
    }
}

/// Whether users keep it, and do not only need it.
fn is_protected(object: &Value) -> bool {
    let annotated = |wish: &str| {
        let annotations = object.pointer("/metadata/annotations").and_then(Value::as_object);
        annotations.is_some_and(|all| all.get(wish).is_some_and(|value| value == "yes"))
    };
    let liens = words(object, "/metadata/liens");
    let finalizers = words(object, "/metadata/finalizers");
    PROTECTIONS.iter().any(|(key, wish)| liens.iter().any(|lien| lien == key) || annotated(wish))
        || finalizers.iter().any(|finalizer| finalizer == "kubernetes.io/pvc-protection")
}

async fn users(server: &Server, resources: &Resources, why: &mut Why, object: &Value) {
    if !USED.contains(&why.named.resource.plural.as_str()) {
        return;
    }
    let plural = why.named.resource.plural.clone();
    let used = match server.get(&format!("{}/usedby", why.named.path())).await {
        Ok(used) => used,
        Err(refused) => {
            why.missing.push(match refused.code() {
                404 | 405 => "who uses it: this server does not say (Pawl does, by usedby)".to_owned(),
                403 => format!("who uses it: you may not get {plural}/usedby"),
                _ => format!("who uses it: {refused}"),
            });
            return;
        }
    };
    let protected = is_protected(object);
    for user in list(&used, "/users") {
        let (kind, name) = (text(user, "/kind"), text(user, "/name"));
        let resource = resources.by_kind(text(user, "/apiVersion"), kind);
        let typed = resource.map_or_else(|| kind.to_lowercase(), Resource::typed);
        let namespace = text(user, "/namespace");
        let place = if namespace.is_empty() { String::new() } else { format!(" -n {namespace}") };
        let keeps = protected && user.get("protects") == Some(&Value::Bool(true));
        let mut finding = Finding::new(About::User, format!("{typed}/{name}")).keeping(keeps);
        finding.notes.extend(words(user, "/fields"));
        let verb = if kind == "Pod" { "delete" } else { "edit" };
        why.findings.push(finding.resolved_by(format!("kubectl {verb} {typed}/{name}{place}")));
    }
    let others = used.get("others").and_then(Value::as_u64).unwrap_or_default();
    if others > 0 {
        why.missing.push(format!("{others} more users that you may not read"));
    }
}

fn finalizers(why: &mut Why, object: &Value) {
    for (at, finalizer) in words(object, "/metadata/finalizers").into_iter().enumerate() {
        let mut finding = Finding::new(About::Finalizer, finalizer.clone()).keeping(true);
        finding.notes.extend(put_by(object, "finalizers", &finalizer));
        finding.notes.push(match &why.deleted {
            Some(since) => {
                let ago = ago(since).unwrap_or_default();
                format!("its controller has not removed it for {ago}; by hand: what it cleans up stays behind")
            }
            None => "it will hold a deletion until its controller removes it".to_owned(),
        });
        let path = format!("/metadata/finalizers/{at}");
        why.findings.push(finding.resolved_by(removing(&why.named, &path, &path, &finalizer)));
    }
    // Namespaces have theirs in the specification; the server removes it with the last content.
    for finalizer in words(object, "/spec/finalizers") {
        if is_namespace(&why.named.resource) && why.deleted.is_some() {
            let finding = Finding::new(About::Finalizer, format!("{finalizer} (spec.finalizers)")).keeping(true);
            why.findings.push(finding.note("goes by itself when nothing is left in the namespace"));
        }
    }
}

/// The command that removes something of an object, if a value is still what it was.
fn removing(named: &Named, path: &str, tested: &str, value: &str) -> String {
    let steps = json!([{"op": "test", "path": tested, "value": value}, {"op": "remove", "path": path}]);
    format!("kubectl patch {} --type=json -p '{steps}'", named.argument())
}

async fn owners(server: &Server, resources: &Resources, why: &mut Why, object: &Value) {
    for (at, reference) in list(object, "/metadata/ownerReferences").enumerate() {
        let (kind, name) = (text(reference, "/kind"), text(reference, "/name"));
        let path = format!("/metadata/ownerReferences/{at}");
        let parting = removing(&why.named, &path, &format!("{path}/uid"), text(reference, "/uid"));
        let Some(resource) = resources.by_kind(text(reference, "/apiVersion"), kind) else {
            let finding = Finding::new(About::Owner, format!("{kind}/{name}"));
            let finding = finding.note("the server has no such kind: nobody can say whether it is there");
            why.findings.push(finding.resolved_by(parting));
            continue;
        };
        let namespace = if resource.namespaced { why.named.namespace.clone() } else { String::new() };
        let owner = Named { resource: resource.clone(), namespace, name: name.to_owned() };
        let mut finding = Finding::new(About::Owner, format!("{}/{name}", resource.typed()));
        let flag = |field: &str| reference.get(field) == Some(&Value::Bool(true));
        finding = match flag("controller") {
            true => finding
                .note("its controller: it makes this anew")
                .resolved_by(format!("kubectl delete {}", owner.argument())),
            false => finding.resolved_by(parting),
        };
        finding = match server.get(&owner.path()).await {
            Ok(found) if text(&found, "/metadata/uid") != text(reference, "/uid") => {
                finding.note("another object has the name now: the garbage collector deletes this")
            }
            Ok(found) if !text(&found, "/metadata/deletionTimestamp").is_empty() => {
                finding.note("it is being deleted itself").resolved_by(format!("kubectl pawl why {}", owner.argument()))
            }
            Ok(_) if flag("blockOwnerDeletion") => finding.note("this object blocks its foreground deletion"),
            Ok(_) => finding,
            Err(refused) if refused.code() == 404 => {
                finding.note("it is gone: the garbage collector deletes this unless another owner is left")
            }
            Err(refused) => finding.note(refused.to_string()),
        };
        why.findings.push(finding);
    }
}

async fn dependents(server: &Server, resources: &Resources, why: &mut Why, object: &Value) {
    let uid = text(object, "/metadata/uid");
    let namespaced = why.named.resource.namespaced;
    let near = resources.listed().filter(|resource| resource.namespaced || !namespaced);
    let foreground = words(object, "/metadata/finalizers").iter().any(|finalizer| finalizer == "foregroundDeletion");
    for (resource, items) in everything(server, near, &why.named.namespace, &mut why.missing).await {
        for item in items {
            let Some(reference) = list(&item, "/metadata/ownerReferences").find(|owner| text(owner, "/uid") == uid)
            else {
                continue;
            };
            let dependent = in_place(&resource, &item);
            let blocks = reference.get("blockOwnerDeletion") == Some(&Value::Bool(true));
            let told = format!("{}/{}", resource.typed(), dependent.name);
            let mut finding = Finding::new(About::Dependent, told).keeping(blocks && foreground);
            finding.notes.push(match (blocks, foreground) {
                (true, true) => "blocks the foreground deletion that has begun".to_owned(),
                (true, false) => "would block a foreground deletion".to_owned(),
                (false, _) => "goes with it, and blocks nothing".to_owned(),
            });
            let command = match holds(&item).is_empty() {
                true => format!("kubectl delete {}", dependent.argument()),
                false => format!("kubectl pawl why {}", dependent.argument()),
            };
            why.findings.push(if blocks { finding.resolved_by(command) } else { finding });
        }
    }
}

fn in_place(resource: &Resource, item: &Value) -> Named {
    Named {
        resource: resource.clone(),
        namespace: text(item, "/metadata/namespace").to_owned(),
        name: text(item, "/metadata/name").to_owned(),
    }
}

/// What holds an object, by its metadata.
fn holds(item: &Value) -> Vec<String> {
    let liens = words(item, "/metadata/liens").into_iter().map(|lien| format!("lien {lien}"));
    let finalizers = words(item, "/metadata/finalizers").into_iter().map(|finalizer| format!("finalizer {finalizer}"));
    liens.chain(finalizers).collect()
}

async fn content(server: &Server, resources: &Resources, why: &mut Why, object: &Value, wide: bool) {
    for condition in list(object, "/status/conditions").filter(|condition| text(condition, "/status") == "True") {
        let finding = Finding::new(About::Condition, text(condition, "/type")).keeping(why.deleted.is_some());
        why.findings.push(finding.note(text(condition, "/message")));
    }
    let near = resources.listed().filter(|resource| resource.namespaced);
    let name = why.named.name.clone();
    let ending = why.deleted.is_some();
    for (resource, items) in everything(server, near, &name, &mut why.missing).await {
        let mut plain = 0;
        for item in &items {
            let inside = in_place(&resource, item);
            let holds = holds(item);
            if holds.is_empty() && !wide {
                plain += 1;
                continue;
            }
            let told = format!("{}/{}", resource.typed(), inside.name);
            let held = !holds.is_empty();
            let mut finding = Finding::new(About::Content, told).keeping(held || ending);
            finding.notes = holds;
            let finding = match held {
                true => finding.resolved_by(format!("kubectl pawl why {}", inside.argument())),
                false => finding.resolved_by(format!("kubectl delete {}", inside.argument())),
            };
            why.findings.push(finding);
        }
        if plain > 0 {
            let plural = resource.plural_typed();
            let finding = Finding::new(About::Content, format!("{plain} {plural}")).keeping(ending);
            let finding = finding.note("nothing holds them: they go with the namespace");
            why.findings.push(finding.resolved_by(format!("kubectl delete {plural} --all -n {name}")));
        }
    }
}

/// What cannot be read makes lists fail and keeps its namespace.
async fn neighbours(server: &Server, resources: &Resources, why: &mut Why) {
    let items = match server.list(UNREADABLE, false).await {
        Ok(items) => items,
        Err(refused) => {
            why.missing.push(match refused.code() {
                404 => "what cannot be read: this server does not say (Pawl does, by unreadableobjects)".to_owned(),
                403 => "what cannot be read: you may not list unreadableobjects.storage.pawl.dev".to_owned(),
                _ => format!("what cannot be read: {refused}"),
            });
            return;
        }
    };
    let is_namespace = is_namespace(&why.named.resource);
    for item in items {
        let (resource, namespace, name) =
            (text(&item, "/spec/resource"), text(&item, "/spec/namespace"), text(&item, "/spec/name"));
        let own =
            resource == why.named.resource.plural_typed() && namespace == why.named.namespace && name == why.named.name;
        let inside = if is_namespace { namespace == why.named.name } else { namespace == why.named.namespace };
        if own || !inside {
            continue;
        }
        let typed = resources.find(resource).map_or_else(|_| resource.to_owned(), Resource::typed);
        let place = if namespace.is_empty() { String::new() } else { format!(" -n {namespace}") };
        let finding = Finding::new(About::Neighbour, format!("{typed}/{name}")).keeping(is_namespace);
        let finding = finding.note(format!("{}: lists of {resource} fail", text(&item, "/spec/reason")));
        why.findings.push(finding.resolved_by(format!("kubectl pawl purge {typed}/{name}{place}")));
    }
}

/// What the schema of a custom resource says of what is stored.
async fn invalid(server: &Server, why: &mut Why) {
    let resource = why.named.resource.clone();
    let is_definition = resource.plural == "customresourcedefinitions";
    if !is_definition && !resource.group.contains('.') {
        return;
    }
    let definition =
        if is_definition { why.named.name.clone() } else { format!("{}.{}", resource.plural, resource.group) };
    let items =
        match server.get(&format!("{DEFINITIONS}/{definition}/invalidobjects")).await {
            Ok(found) => found,
            Err(refused) => {
                // A group with a dot may be a built-in one.
                if server.get(&format!("{DEFINITIONS}/{definition}")).await.is_ok() {
                    why.missing.push(match refused.code() {
                        404 => "what the schema refuses: this server does not say (Pawl does, by invalidobjects)"
                            .to_owned(),
                        403 => "what the schema refuses: you may not get customresourcedefinitions/invalidobjects"
                            .to_owned(),
                        _ => format!("what the schema refuses: {refused}"),
                    });
                }
                return;
            }
        };
    for item in list(&items, "/items") {
        let (namespace, name) = (text(item, "/namespace"), text(item, "/name"));
        if !is_definition && (namespace != why.named.namespace || name != why.named.name) {
            continue;
        }
        let typed = if is_definition { definition.clone() } else { resource.typed() };
        let place = if namespace.is_empty() { String::new() } else { format!(" -n {namespace}") };
        let mut finding = Finding::new(About::Invalid, format!("{typed}/{name}"));
        let told = |problem: &Value| format!("{}: {}", text(problem, "/field"), text(problem, "/message"));
        finding.notes.extend(list(item, "/problems").map(told));
        why.findings.push(finding.resolved_by(format!("kubectl edit {typed}/{name}{place}")));
    }
}
