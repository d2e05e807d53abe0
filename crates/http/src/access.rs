//! Who sent a request, and whether they may do what it asks for.

use http::HeaderMap;
use http::header::{AUTHORIZATION, CONNECTION, SEC_WEBSOCKET_PROTOCOL, UPGRADE};
use pawl_auth::authn::{Authentication, Discovery, Presented, TokenIssuer};
use pawl_auth::impersonation::{self, Impersonation};
use pawl_auth::modes::Chain;
use pawl_auth::{Attributes, Authorizer, User};
use pawl_meta::{GroupResource, Status};
use pawl_registry::Served;

use crate::api::Peer;
use crate::audit::Trail;
use crate::request::RequestInfo;

/// Everything that decides about users.
pub struct Access {
    pub authentication: Authentication,
    pub chain: std::sync::Arc<Chain>,
    /// Issues tokens for service accounts, where there is a key to sign them.
    pub issuer: Option<TokenIssuer>,
    /// What others need to verify these tokens.
    pub openid: Option<Discovery>,
    pub impersonation: Impersonation,
}

impl Access {
    /// Who a request is from.
    pub(crate) fn authenticate(&self, headers: &HeaderMap, peer: &Peer) -> Result<User, Status> {
        let protocols: Vec<&str> = match becomes_websocket(headers) {
            true => headers.get_all(SEC_WEBSOCKET_PROTOCOL).iter().filter_map(|v| v.to_str().ok()).collect(),
            false => Vec::new(),
        };
        let presented = Presented {
            certificate: peer.certificate.as_ref(),
            authorization: headers.get(AUTHORIZATION).and_then(|v| v.to_str().ok()),
            websocket_protocols: &protocols,
        };
        let identity = self.authentication.request(&presented).map_err(|why| {
            tracing::debug!(%why, "unknown credentials");
            Status::unauthorized()
        })?;
        Ok(identity.user)
    }

    /// Whom a request acts as, where that is somebody else.
    pub(crate) fn impersonate(
        &self,
        sender: &User,
        headers: &HeaderMap,
        info: &RequestInfo,
    ) -> Result<Option<User>, Status> {
        let named = headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes()));
        let Some(wanted) = impersonation::wanted(named)? else { return Ok(None) };
        let impersonated = self.impersonation.check(&*self.chain, &attributes(sender, info), &wanted)?;
        Ok(Some(impersonated.user))
    }

    /// Whether the user may make the request.
    pub(crate) fn decide(&self, user: &User, info: &RequestInfo, trail: Option<&Trail>) -> Result<(), Status> {
        let asked = attributes(user, info);
        let decision = self.chain.authorize(&asked);
        if let Some(trail) = trail {
            trail.decided(&decision);
        }
        decision.require(&asked)
    }

    /// Whether the user may also do something else to the object of a request.
    pub(crate) fn may(&self, user: &User, verb: &str, info: &RequestInfo) -> Result<(), Status> {
        let asked = Attributes { verb, ..attributes(user, info) };
        self.chain.authorize(&asked).require(&asked)
    }

    /// Whether the user may delete in spite of liens. It is the object itself that counts: who may do everything to
    /// `pods/eviction` may not ignore the liens on pods.
    pub(crate) fn may_ignore_liens(&self, user: &User, info: &RequestInfo) -> Result<(), Status> {
        let asked = Attributes { verb: "ignore-liens", subresource: "", ..attributes(user, info) };
        self.chain.authorize(&asked).require(&asked)
    }

    /// Whether the user may begin a session in a pod. A GET that becomes a websocket does as much as a POST, so who may only read
    /// may not; upstream words it in its own way.
    pub(crate) fn may_connect(&self, user: &User, served: &Served, info: &RequestInfo) -> Result<(), Status> {
        let decision = self.chain.authorize(&Attributes { verb: "create", ..attributes(user, info) });
        if decision.is_allowed() {
            return Ok(());
        }
        Err(Status::forbidden(&served.resource.group_resource(), &info.name, decision.reason()))
    }

    /// The answer for who may not remove what cannot be read; upstream words it in its own way.
    pub(crate) fn may_delete_unreadable(&self, user: &User, served: &Served, info: &RequestInfo) -> Result<(), Status> {
        const VERB: &str = "unsafe-delete-ignore-read-errors";
        let asked = Attributes { verb: VERB, ..attributes(user, info) };
        let decision = self.chain.authorize(&asked);
        if decision.is_allowed() {
            return Ok(());
        }
        let resource: GroupResource = served.resource.group_resource();
        let why = format!("not permitted to do {VERB:?}, reason: {}", decision.reason());
        Err(Status::forbidden(&resource, &info.name, why))
    }
}

/// Whether a request asks to become a websocket: only then are its protocols those of one.
pub(crate) fn becomes_websocket(headers: &HeaderMap) -> bool {
    let text = |name| headers.get(name).and_then(|v| v.to_str().ok()).unwrap_or_default();
    let upgrades = || text(CONNECTION).split(',').any(|option| option.trim().eq_ignore_ascii_case("upgrade"));
    text(UPGRADE).eq_ignore_ascii_case("websocket") && upgrades()
}

pub(crate) fn attributes<'a>(user: &'a User, info: &'a RequestInfo) -> Attributes<'a> {
    if !info.is_resource {
        return Attributes::path(user, info.verb.as_str(), &info.path);
    }
    Attributes {
        api_version: &info.version,
        subresource: &info.subresource,
        name: &info.name,
        namespace: &info.namespace,
        path: &info.path,
        ..Attributes::resource(user, info.verb.as_str(), &info.group, &info.resource)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn protocols_are_those_of_a_websocket_only_with_an_upgrade() {
        let check = |given: &[(http::HeaderName, &'static str)], expect: bool| {
            let headers = given.iter().map(|(name, value)| (name.clone(), http::HeaderValue::from_static(value)));
            assert_eq!(becomes_websocket(&headers.collect()), expect, "{given:?}");
        };
        check(&[(CONNECTION, "Upgrade"), (UPGRADE, "websocket")], true);
        check(&[(CONNECTION, "keep-alive, upgrade"), (UPGRADE, "WebSocket")], true);
        check(&[(CONNECTION, "upgrade"), (UPGRADE, "SPDY/3.1")], false);
        check(&[(CONNECTION, "upgraded"), (UPGRADE, "websocket")], false);
        check(&[(UPGRADE, "websocket")], false);
        check(&[], false);
    }
}
