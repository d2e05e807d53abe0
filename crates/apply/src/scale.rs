//! managedFields of the `/scale` subresource.
//!
//! A Scale shows the one field of its parent that it can write. For the time of a request its owners are those of that
//! field; afterwards they are written back to the parent.

use std::borrow::Cow;

use serde_json::Value;

use crate::error::Error;
use crate::managed::{Manager, Managers};
use crate::path::Element;
use crate::set::FieldSet;

const SCALE: &str = "autoscaling/v1";

/// Where a version of the parent keeps its replicas.
pub enum Replicas<'a> {
    /// At this path of fields.
    At(&'a [&'a str]),
    /// The version has no scale.
    None,
    /// There is no such version: what is owned in it is forgotten.
    Gone,
}

/// The managedFields of a Scale, from those of its parent.
pub fn to_scale<'p>(parent: Option<&Value>, replicas: impl Fn(&str) -> Replicas<'p>) -> Result<Option<Value>, Error> {
    let managers = Managers::decode(parent).map_err(Error::Managers)?;
    let owners = managers.0.into_iter().filter_map(|manager| match replicas(&manager.version) {
        Replicas::At(path) if owns(&manager, path) => {
            Some(Manager { version: Cow::Borrowed(SCALE), fields: field(&["spec", "replicas"]), ..manager })
        }
        _ => None,
    });
    Ok(Managers(owners.collect()).encode())
}

/// The managedFields of the parent after its Scale has been written in the given version of the parent.
pub fn to_parent<'p>(
    parent: Option<&Value>,
    scale: Option<&Value>,
    api_version: &str,
    replicas: impl Fn(&str) -> Replicas<'p>,
) -> Result<Option<Value>, Error> {
    let parents = Managers::decode(parent).map_err(Error::Managers)?;
    let mut scales = Managers::decode(scale).map_err(Error::Managers)?.0;
    scales.retain(|manager| owns(manager, &["spec", "replicas"]));
    let mut out = Vec::new();
    for mut manager in parents.0 {
        match replicas(&manager.version) {
            Replicas::Gone => continue,
            Replicas::At(path) if owns(&manager, path) => {
                let as_scale = Manager { version: Cow::Borrowed(SCALE), fields: FieldSet::new(), ..manager.clone() };
                match scales.iter().position(|scale| scale.is(&as_scale)) {
                    Some(at) => {
                        scales.swap_remove(at);
                    }
                    // Somebody took the replicas through the Scale.
                    None => manager.fields.subtract(&field(path)),
                }
            }
            Replicas::At(_) | Replicas::None => {}
        }
        if !manager.fields.is_empty() {
            out.push(manager);
        }
    }
    if let Replicas::At(path) = replicas(api_version) {
        for scale in scales {
            // As upstream has it: who comes to own the replicas through the Scale has no time.
            out.push(Manager { version: Cow::Borrowed(api_version), fields: field(path), time: None, ..scale });
        }
    }
    Ok(Managers(out).encode())
}

fn owns(manager: &Manager<'_>, path: &[&str]) -> bool {
    let path: Vec<Element<'_>> = path.iter().map(|name| Element::field(*name)).collect();
    manager.fields.contains(&path)
}

fn field<'a>(path: &[&'a str]) -> FieldSet<'a> {
    let mut set = FieldSet::new();
    set.insert(path.iter().map(|name| Element::field(*name)));
    set
}
