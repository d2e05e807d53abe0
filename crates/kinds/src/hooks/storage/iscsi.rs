//! The names of iSCSI targets and initiators, in volumes of every kind.

use pawl_meta::object::{Meta as _, Object};

use pawl_meta::read;
use pawl_rules::{Check, Errors, FieldPath};

/// The name of a volume and its portal fit into an initiator's name.
pub fn iscsi_portal_length(cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let name = cx.root.name();
    let portal = read::text(object, "targetPortal");
    if read::present(object, "initiatorName") && name.len() + 1 + portal.len() > 64 {
        let detail = "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified.";
        errors.invalid(&path.child("targetportal"), portal, detail);
    }
}

/// The name of a target.
pub fn iscsi_iqn(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let name = read::text(object, "iqn");
    if !name.is_empty() && !is_iscsi_name(name) {
        errors.invalid(&path.child("iqn"), name, "must be valid format");
    }
}

/// The name of an initiator.
pub fn iscsi_initiator(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let name = read::text(object, "initiatorName");
    if read::present(object, "initiatorName") && !is_iscsi_name(name) {
        errors.invalid(&path.child("initiatorname"), name, "must be valid format");
    }
}

/// `iqn.yyyy-mm.domain[:any]`, `eui.` and 16 hexadecimal digits, or `naa.` and 32 of them.
fn is_iscsi_name(name: &str) -> bool {
    let hex = |text: &str, width: usize| text.len() == width && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if let Some(rest) = name.strip_prefix("iqn.") {
        let (date, rest) = rest.split_at_checked(7).unwrap_or(("", ""));
        let dated =
            date.bytes().enumerate().all(|(at, byte)| if at == 4 { byte == b'-' } else { byte.is_ascii_digit() });
        let domain = rest.strip_prefix('.').unwrap_or_default().split(':').next().unwrap_or_default();
        let labels = !domain.is_empty()
            && domain
                .split('.')
                .all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-'));
        return date.len() == 7 && dated && labels && !name.chars().any(char::is_whitespace);
    }
    if let Some(rest) = name.strip_prefix("eui.") {
        return hex(rest, 16);
    }
    name.strip_prefix("naa.").is_some_and(|rest| hex(rest, 32))
}
