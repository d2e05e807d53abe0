//! Adding and removing a lien through the API: a live look before each change, a JSON patch that holds only for what was
//! looked at, and never too many at once.

use std::sync::Arc;
use std::time::Duration;

use kube::api::{ListParams, Patch, PatchParams};
use kube::{Api, Client};
use pawl_controllers::{Liens, Reconciled};
use pawl_meta::object::{Meta, Object};
use pawl_usage::{Index, Plan, Protection, Target, User, Uses};
use serde_json::{Value, json};
use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::following::{Known, key_of};
use crate::object::{Head, Whole, resource_of, resource_used};

/// How far apart changes are at least.
const PACE: Duration = Duration::from_millis(10);
/// How many objects a page of a list has.
const PAGE: u32 = 500;
/// So many users are asked whether they still are; one is enough.
const ASKED: usize = 16;

pub struct Actor {
    client: Client,
    known: Arc<Known>,
    liens: Liens,
    name: &'static str,
    /// When the next change may begin.
    turn: Mutex<Instant>,
}

impl Actor {
    pub fn new(client: Client, known: Arc<Known>, liens: Liens, name: &'static str) -> Self {
        Self { client, known, liens, name, turn: Mutex::new(Instant::now()) }
    }

    pub async fn attend(&self, does: Plan, target: &Target) -> Reconciled {
        match self.change(does, target).await {
            Ok(step) => step,
            Err(why) => {
                tracing::debug!(key = %target.key, %why, "tried again");
                self.liens.retried();
                Reconciled::Retry
            }
        }
    }

    async fn change(&self, does: Plan, target: &Target) -> Result<Reconciled, kube::Error> {
        let protection = self.known.protection;
        let Some(object) = self.target(target).await? else { return Ok(Reconciled::Done) };
        let looked = match does {
            // Who opted out need not wait for users.
            Plan::Remove if protection.is_wanted(&object) => self.look_at_all(target).await?,
            Plan::Remove => false,
            _ => self.is_confirmed(target).await?,
        };
        if protection.plan(&object, looked) != does {
            return Ok(Reconciled::Done);
        }
        if !self.patch(target, &object, does).await? {
            return Ok(Reconciled::Retry);
        }
        if does == Plan::Remove && protection.is_wanted(&object) && self.look_at_all(target).await? {
            // Somebody came in between: the lien is put back.
            return self.put_back(target).await;
        }
        Ok(Reconciled::Done)
    }

    async fn put_back(&self, target: &Target) -> Result<Reconciled, kube::Error> {
        let Some(object) = self.target(target).await? else { return Ok(Reconciled::Done) };
        if self.known.protection.plan(&object, true) == Plan::Add && !self.patch(target, &object, Plan::Add).await? {
            self.known.queue(Plan::Add).add(target.clone());
        }
        Ok(Reconciled::Done)
    }

    async fn target(&self, target: &Target) -> Result<Option<Object>, kube::Error> {
        let api: Api<Head> = Api::namespaced_with(self.client.clone(), target.namespace(), &resource_used(target.used));
        Ok(api.get_opt(target.name()).await?.map(|kept| kept.object))
    }

    /// Changes exactly what was looked at; says whether that was still there.
    async fn patch(&self, target: &Target, object: &Object, does: Plan) -> Result<bool, kube::Error> {
        let slot = {
            let mut turn = self.turn.lock().await;
            let slot = (*turn).max(Instant::now());
            *turn = slot + PACE;
            slot
        };
        tokio::time::sleep_until(slot).await;
        let Some(steps) = patch_of(&self.known.protection, object, does) else { return Ok(true) };
        let Ok(steps) = serde_json::from_value(steps) else { return Ok(true) };
        let api: Api<Head> = Api::namespaced_with(self.client.clone(), target.namespace(), &resource_used(target.used));
        let parameters = PatchParams { field_manager: Some(self.name.to_owned()), ..PatchParams::default() };
        match api.patch(target.name(), &parameters, &Patch::<Value>::Json(steps)).await {
            Ok(_) => {
                self.liens.changed(does);
                Ok(true)
            }
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(true),
            Err(kube::Error::Api(status)) if status.code == 409 => Ok(false),
            Err(why) => Err(why),
        }
    }

    /// Whether one of the users that the watches told of still is one.
    async fn is_confirmed(&self, target: &Target) -> Result<bool, kube::Error> {
        for (who, by_template) in self.known.users_of(target).into_iter().take(ASKED) {
            let resource = resource_of(who.user);
            let api: Api<Whole> = match who.user.is_namespaced() {
                true => Api::namespaced_with(self.client.clone(), who.namespace(), &resource),
                false => Api::all_with(self.client.clone(), &resource),
            };
            let Some(kept) = api.get_opt(who.name()).await? else { continue };
            let uses = Uses::of(who.user, &kept.object);
            if by_template || uses.targets.iter().any(|(used, protects)| *protects && used == target) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Lists everything that could be a user. What a template led to before its claim went is known by the watches alone.
    async fn look_at_all(&self, target: &Target) -> Result<bool, kube::Error> {
        if self.known.users_of(target).iter().any(|(_, by_template)| *by_template) {
            return Ok(true);
        }
        let (mut index, mut changed) = (Index::default(), Vec::new());
        for user in self.known.users() {
            let resource = resource_of(user);
            let near = user.is_namespaced() && user != User::Claim;
            let api: Api<Whole> = match near {
                true => Api::namespaced_with(self.client.clone(), target.namespace(), &resource),
                false => Api::all_with(self.client.clone(), &resource),
            };
            let mut parameters = ListParams::default().limit(PAGE);
            loop {
                let page = match api.list(&parameters).await {
                    Ok(page) => page,
                    Err(kube::Error::Api(status)) if status.code == 404 => break,
                    Err(why) => return Err(why),
                };
                for kept in &page.items {
                    let key = Arc::from(key_of(&kept.object));
                    index.see(user, &key, &Uses::of(user, &kept.object), &mut changed);
                }
                match page.metadata.continue_.filter(|token| !token.is_empty()) {
                    Some(token) => parameters = parameters.continue_token(&token),
                    None => break,
                }
            }
        }
        Ok(index.is_used(target))
    }
}

/// The patch that adds or removes one lien of an object that is still what it was.
fn patch_of(protection: &Protection, object: &Object, does: Plan) -> Option<Value> {
    let liens = object.meta_strings("liens");
    let test = json!({"op": "test", "path": "/metadata/resourceVersion", "value": object.resource_version()});
    let there = liens.iter().position(|lien| *lien == protection.lien);
    let steps = match (does, there) {
        (Plan::Add, None) if liens.is_empty() => {
            vec![test, json!({"op": "add", "path": "/metadata/liens", "value": [protection.lien]})]
        }
        (Plan::Add, None) => vec![test, json!({"op": "add", "path": "/metadata/liens/-", "value": protection.lien})],
        (Plan::Remove, Some(at)) => {
            let path = format!("/metadata/liens/{at}");
            vec![
                test,
                json!({"op": "test", "path": path, "value": protection.lien}),
                json!({"op": "remove", "path": path}),
            ]
        }
        _ => return None,
    };
    Some(Value::Array(steps))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_holds_for_what_was_looked_at_and_touches_one_lien() {
        let lien = Protection::SECRETS.lien;
        let check = |liens: Value, does: Plan, expect: Option<Value>| {
            let object = json!({"metadata": {"resourceVersion": "5", "liens": liens}});
            let test = json!({"op": "test", "path": "/metadata/resourceVersion", "value": "5"});
            let got = patch_of(&Protection::SECRETS, object.as_object().unwrap(), does);
            let expect = expect.map(|steps| {
                let mut all = vec![test];
                all.extend(steps.as_array().unwrap().iter().cloned());
                Value::Array(all)
            });
            assert_eq!(got, expect, "{liens} {does:?}");
        };
        let add = |path: &str, value: Value| Some(json!([{"op": "add", "path": path, "value": value}]));
        check(json!(null), Plan::Add, add("/metadata/liens", json!([lien])));
        check(json!(["a.b/c"]), Plan::Add, add("/metadata/liens/-", json!(lien)));
        check(json!(["a.b/c", lien]), Plan::Add, None);
        let remove = json!([{"op": "test", "path": "/metadata/liens/1", "value": lien},
            {"op": "remove", "path": "/metadata/liens/1"}]);
        check(json!(["a.b/c", lien, "d.e/f"]), Plan::Remove, Some(remove));
        check(json!(["a.b/c"]), Plan::Remove, None);
    }
}
