//! Primitives that look at one text, by name. Each returns what is wrong, in upstream's words.

use super::formats;

/// What is wrong with a text, once per finding.
pub(super) type Judge = fn(&str) -> Vec<String>;

pub(super) fn named(name: &str) -> Option<Judge> {
    Some(match name {
        "dns1123label" => formats::dns1123_label,
        "dns1123subdomain" => formats::dns1123_subdomain,
        "dns1123subdomaincaseless" => formats::dns1123_subdomain_caseless,
        "wildcarddns1123" => formats::wildcard_dns1123_subdomain,
        "dns1035label" => formats::dns1035_label,
        "portname" => formats::port_name,
        "configkey" => formats::config_key,
        "qualifiedname" => formats::qualified_name,
        "labelvalue" => formats::label_value,
        "pathsegment" => formats::path_segment,
        "cidentifier" => formats::c_identifier,
        "ip" => formats::ip,
        "cidr" => formats::cidr,
        "canonicalip" => formats::canonical_ip,
        "canonicalcidr" => formats::canonical_cidr,
        "endpointip" => formats::endpoint_ip,
        "envname" => env_name,
        "abspath" => absolute_path,
        "relativepath" => relative_path,
        "nobacksteps" => no_backsteps,
        "localpath" => local_path,
        "trimmed" => trimmed,
        "iscsiname" => iscsi_name,
        "httpheadername" => http_header_name,
        "atmost100percent" => at_most_all,
        _ => return None,
    })
}

fn found(wrong: bool, text: &str) -> Vec<String> {
    if wrong { vec![text.to_owned()] } else { Vec::new() }
}

fn env_name(text: &str) -> Vec<String> {
    let mut wrong = found(text.is_empty(), "environment variable name must be non-empty");
    wrong.extend(found(
        !text.bytes().all(|byte| matches!(byte, 0x20..=0x7e) && byte != b'='),
        "a valid environment variable name must consist only of printable ASCII characters other than '='",
    ));
    wrong
}

fn absolute_path(text: &str) -> Vec<String> {
    found(!text.starts_with('/'), "must be an absolute path")
}

fn no_backsteps(text: &str) -> Vec<String> {
    found(text.split('/').any(|part| part == ".."), "must not contain '..'")
}

fn relative_path(text: &str) -> Vec<String> {
    let mut wrong = found(text.starts_with('/'), "must be a relative path");
    wrong.extend(no_backsteps(text));
    wrong
}

fn local_path(text: &str) -> Vec<String> {
    let mut wrong = relative_path(text);
    wrong.extend(found(text.starts_with("..") && !text.starts_with("../"), "must not start with '..'"));
    wrong
}

fn trimmed(text: &str) -> Vec<String> {
    found(text.trim() != text, "must not have leading or trailing whitespace")
}

fn http_header_name(text: &str) -> Vec<String> {
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') {
        return Vec::new();
    }
    let sentence = "a valid HTTP header must consist of alphanumeric characters or '-'";
    vec![formats::pattern_text(sentence, "[-A-Za-z0-9]+", &["X-Header-Name"])]
}

fn at_most_all(text: &str) -> Vec<String> {
    let percent = text.strip_suffix('%').and_then(|number| number.parse::<u64>().ok());
    found(percent.is_some_and(|percent| percent > 100), "must not be greater than 100%")
}

fn iscsi_name(text: &str) -> Vec<String> {
    let valid = match text.get(..3) {
        Some("iqn") => iqn(text),
        Some("eui") => after_prefix(text, 16),
        Some("naa") => after_prefix(text, 32),
        _ => return found(true, "must be valid format starting with iqn, eui, or naa"),
    };
    found(!valid, "must be valid format")
}

/// `iqn.yyyy-mm.reversed.domain:name`
fn iqn(text: &str) -> bool {
    let Some((date, rest)) = text.strip_prefix("iqn.").and_then(|rest| rest.split_once('.')) else { return false };
    let date = date.as_bytes();
    let dated = date.len() == 7
        && date.iter().enumerate().all(|(at, byte)| if at == 4 { *byte == b'-' } else { byte.is_ascii_digit() });
    let Some((authority, name)) = rest.split_once(':') else { return false };
    dated
        && !authority.is_empty()
        && authority.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '.'))
        && !name.is_empty()
        && !name.chars().any(|c| ",;*&$|".contains(c) || c.is_whitespace())
}

/// Three letters, any character, and so many letters or digits.
fn after_prefix(text: &str, count: usize) -> bool {
    let rest: Vec<char> = text.chars().skip(4).collect();
    rest.len() == count && rest.iter().all(char::is_ascii_alphanumeric)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_judged_as_upstream_judges_them() {
        let check = |name: &str, text: &str, wrong: usize| {
            let judge = named(name).unwrap();
            assert_eq!(judge(text).len(), wrong, "{name} {text:?}: {:?}", judge(text));
        };
        check("iscsiname", "iqn.2001-04.com.example:storage.kube.sys1.xyz", 0);
        check("iscsiname", "iqn.2001-04.com.example", 1);
        check("iscsiname", "eui.0123456789abcdef", 0);
        check("iscsiname", "abc", 1);
        check("localpath", "..a", 1);
        check("localpath", "../a", 1);
        check("localpath", "/..a/..", 2);
        check("envname", "", 1);
        check("envname", "A=B", 1);
        check("atmost100percent", "101%", 1);
        check("httpheadername", "X-Header", 0);
        check("httpheadername", "X Header", 1);
    }
}
