//! How objects are converted: not at all, or by a webhook that can be reached.

use pawl_kinds::webhook;
use pawl_meta::object::Object;
use pawl_meta::{Errors, FieldPath};
use serde_json::Value;

use super::Options;
use crate::{ca, fields};

pub fn conversion(conversion: &Object, options: &Options, at: &FieldPath, errors: &mut Errors) {
    let strategy = fields::text(conversion, "strategy");
    super::one_of(strategy, &["None", "Webhook"], &at.child("strategy"), errors);
    let called = fields::within(conversion, "webhook");
    let client = fields::map(called, "clientConfig");
    let versions = fields::texts(called, "conversionReviewVersions");
    let (client_at, versions_at) = (at.child("webhookClientConfig"), at.child("conversionReviewVersions"));
    if strategy != "Webhook" {
        let detail = "should not be set when strategy is not set to Webhook";
        for (_, at) in
            [(client.is_some(), client_at), (!versions.is_empty(), versions_at)].into_iter().filter(|(set, _)| *set)
        {
            errors.forbidden(&at, detail);
        }
        return;
    }
    match client {
        None => errors.required(&client_at, "required when strategy is set to Webhook"),
        Some(client) => {
            webhook::client(client, &client_at, errors);
            let bundle = fields::text(client, "caBundle");
            if !options.any_ca_bundle
                && let Some(why) = ca::problem(bundle)
            {
                errors.invalid(&client_at.child("caBundle"), Value::from(bundle), why);
            }
        }
    }
    if versions.is_empty() {
        errors.required(&versions_at, "");
    } else {
        webhook::review_versions(&versions, options.known_review_version, &versions_at, errors);
    }
}
