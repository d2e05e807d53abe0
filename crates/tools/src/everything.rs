//! Lists of many resources at once, and what could not be listed.

use futures::StreamExt;
use serde_json::Value;

use crate::resources::Resource;
use crate::server::{Refused, Server};

/// How many lists are asked for at once.
const AT_ONCE: usize = 8;

/// The metadata of everything of some resources in a namespace, or everywhere.
pub async fn everything<'r>(
    server: &Server,
    resources: impl Iterator<Item = &'r Resource>,
    namespace: &str,
    missing: &mut Vec<String>,
) -> Vec<(Resource, Vec<Value>)> {
    let lists = resources.cloned().map(|resource| async move {
        let place = if resource.namespaced { namespace } else { "" };
        let found = server.list(&resource.path(place), true).await;
        (resource, found)
    });
    let mut lists: Vec<(Resource, Result<Vec<Value>, Refused>)> =
        futures::stream::iter(lists).buffer_unordered(AT_ONCE).collect().await;
    lists.sort_by(|(one, _), (other, _)| (&one.group, &one.plural).cmp(&(&other.group, &other.plural)));
    let mut all = Vec::new();
    for (resource, found) in lists {
        match found {
            Ok(items) => all.push((resource, items)),
            // What is not there any more has no objects.
            Err(refused) if matches!(refused.code(), 404 | 405) => {}
            Err(refused) if refused.code() == 403 => {
                missing.push(format!("{}: you may not list them", resource.plural_typed()));
            }
            Err(refused) => missing.push(format!("{}: {refused}", resource.plural_typed())),
        }
    }
    all
}
