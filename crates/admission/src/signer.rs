//! Who may approve or sign certificates of which signer.

use crate::{Attributes, Authorizes, Permission};

/// The API group of certificate signing requests.
pub const GROUP: &str = "certificates.k8s.io";
pub const REQUESTS: &str = "certificatesigningrequests";

/// Whether the user may do this for a signer: by its name, or for all signers of its domain.
pub fn is_allowed(authorizes: &dyn Authorizes, attributes: &Attributes<'_>, verb: &str, signer: &str) -> bool {
    let domain = signer.split('/').next().unwrap_or_default();
    [signer, &format!("{domain}/*")].into_iter().any(|name| {
        authorizes.allows(&Permission {
            user: attributes.user,
            groups: attributes.groups,
            verb,
            group: GROUP,
            resource: "signers",
            subresource: "",
            namespace: "",
            name,
        })
    })
}
