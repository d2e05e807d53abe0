//! Who may come in: static tokens and client certificates may do everything, everybody else only sees health and version.

use std::collections::HashMap;
use std::path::Path;

use futures::future::BoxFuture;
use http::HeaderMap;
use pawl_http::{Access, Peer, RequestInfo};
use pawl_meta::{GroupResource, Status};
use pawl_registry::User;

use crate::Error;

pub struct OpenAccess {
    tokens: HashMap<String, User>,
}

impl OpenAccess {
    pub fn new(token_file: Option<&Path>) -> Result<Self, Error> {
        let mut tokens = HashMap::new();
        if let Some(path) = token_file {
            let text = std::fs::read_to_string(path).map_err(Error::file(path))?;
            for line in text.lines().filter(|l| !l.trim().is_empty()) {
                let fields: Vec<&str> = line.splitn(4, ',').map(str::trim).collect();
                let [token, name, uid, rest @ ..] = fields.as_slice() else {
                    return Err(Error::Flag(format!("token file '{}' must have at least 3 columns", path.display())));
                };
                let groups = rest.first().map(|g| g.trim_matches('"').split(',').map(str::to_owned).collect());
                let user = User {
                    name: (*name).to_owned(),
                    uid: (*uid).to_owned(),
                    groups: groups.unwrap_or_default(),
                    ..User::default()
                };
                tokens.insert((*token).to_owned(), user);
            }
        }
        Ok(Self { tokens })
    }
}

impl Access for OpenAccess {
    fn authenticate(&self, headers: &HeaderMap, peer: &Peer) -> Result<User, Status> {
        if let Some(certificate) = &peer.certificate {
            let (_, parsed) = x509_parser::parse_x509_certificate(certificate).map_err(|_| Status::unauthorized())?;
            let name = parsed.subject().iter_common_name().next().and_then(|n| n.as_str().ok()).unwrap_or_default();
            let groups = parsed.subject().iter_organization().filter_map(|o| o.as_str().ok()).map(str::to_owned);
            return Ok(User { name: name.to_owned(), groups: groups.collect(), ..User::default() });
        }
        let header = headers.get(http::header::AUTHORIZATION).and_then(|v| v.to_str().ok()).unwrap_or_default();
        match header.strip_prefix("Bearer ").map(str::trim).filter(|t| !t.is_empty()) {
            Some(token) => self.tokens.get(token).cloned().ok_or_else(Status::unauthorized),
            None => Ok(User {
                name: "system:anonymous".to_owned(),
                groups: vec!["system:unauthenticated".to_owned()],
                ..User::default()
            }),
        }
    }

    fn authorize<'a>(&'a self, user: &'a User, info: &'a RequestInfo) -> BoxFuture<'a, Result<(), Status>> {
        Box::pin(async move {
            let open = ["/healthz", "/livez", "/readyz", "/version"].iter().any(|p| info.path.starts_with(p));
            if user.name != "system:anonymous" || open {
                return Ok(());
            }
            let why = if info.is_resource {
                format!(
                    "User {:?} cannot {} resource {:?} in API group {:?}",
                    user.name, info.verb, info.resource, info.group
                )
            } else {
                format!("User {:?} cannot {} path {:?}", user.name, info.verb, info.path)
            };
            Err(Status::forbidden(&GroupResource::new(info.group.clone(), info.resource.clone()), &info.name, why))
        })
    }
}
