//! What names may look like, with the sentences that upstream says when they do not.
//!
//! Every function returns what is wrong, empty when nothing is. The sentences are part of the interface.

const LABEL_MAX: usize = 63;
const SUBDOMAIN_MAX: usize = 253;

const LABEL_TEXT: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const SUBDOMAIN_TEXT: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const LABEL_1035_TEXT: &str = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
const QUALIFIED_TEXT: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const LABEL_VALUE_TEXT: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
const CONFIG_KEY_TEXT: &str = "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";
const ENV_NAME_TEXT: &str =
    "a valid environment variable name must consist only of printable ASCII characters other than '='";

pub fn dns1123_label(text: &str) -> Vec<String> {
    let mut wrong = too_long(text, LABEL_MAX);
    if !is_dns1123_label(text) {
        let dots = is_dns1123_subdomain(text);
        wrong.push(if dots { "must not contain dots".to_owned() } else { LABEL_TEXT.to_owned() });
    }
    wrong
}

pub fn dns1123_subdomain(text: &str) -> Vec<String> {
    let mut wrong = too_long(text, SUBDOMAIN_MAX);
    if !is_dns1123_subdomain(text) {
        wrong.push(SUBDOMAIN_TEXT.to_owned());
    }
    wrong
}

/// A domain name of two segments at least, a final dot allowed. Each finding comes with the part that is wrong; an empty
/// text is for the caller to report.
pub fn fully_qualified_domain(text: &str) -> Vec<(String, String)> {
    let name = text.strip_suffix('.').unwrap_or(text);
    let details = dns1123_subdomain(name);
    if !details.is_empty() {
        return vec![(name.to_string(), details.join(","))];
    }
    if !name.contains('.') {
        let detail = "should be a domain with at least two segments separated by dots";
        return vec![(name.to_string(), detail.to_string())];
    }
    for label in name.split('.') {
        let details = dns1123_label(label);
        if !details.is_empty() {
            return vec![(label.to_string(), details.join(","))];
        }
    }
    Vec::new()
}

pub fn dns1035_label(text: &str) -> Vec<String> {
    let mut wrong = too_long(text, LABEL_MAX);
    if !is_dns1123_label(text) || !text.starts_with(|c: char| c.is_ascii_lowercase()) {
        wrong.push(LABEL_1035_TEXT.to_owned());
    }
    wrong
}

/// What may stand as one segment of a URL path.
pub fn path_segment(text: &str) -> Vec<String> {
    if text == "." || text == ".." {
        return vec![format!("may not be '{text}'")];
    }
    path_segment_prefix(text)
}

pub fn path_segment_prefix(text: &str) -> Vec<String> {
    ['/', '%'].iter().filter(|c| text.contains(**c)).map(|c| format!("may not contain '{c}'")).collect()
}

/// `name` or `prefix/name`, as label and annotation keys are.
pub fn qualified_name(text: &str) -> Vec<String> {
    qualified(text, LABEL_MAX)
}

/// `prefix/name`, in the same form, whose parts may be as long as the key.
pub fn namespaced_key(text: &str) -> Vec<String> {
    qualified(text, usize::MAX)
}

fn qualified(text: &str, longest: usize) -> Vec<String> {
    let mut wrong = Vec::new();
    let name = match text.split('/').collect::<Vec<_>>().as_slice() {
        [name] => *name,
        [prefix, name] => {
            if prefix.is_empty() {
                wrong.push("prefix part must be non-empty".to_owned());
            } else {
                wrong.extend(dns1123_subdomain(prefix).into_iter().map(|text| format!("prefix part {text}")));
            }
            *name
        }
        _ => {
            return vec![
                "a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')".to_owned(),
            ];
        }
    };
    if name.is_empty() {
        wrong.push("name part must be non-empty".to_owned());
    } else if name.len() > longest {
        wrong.push(format!("name part must be no more than {longest} bytes"));
    }
    if !is_qualified_part(name) {
        wrong.push(format!("name part {QUALIFIED_TEXT}"));
    }
    wrong
}

pub fn label_value(text: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    if text.len() > LABEL_MAX {
        wrong.push(format!("must be no more than {LABEL_MAX} bytes"));
    }
    if !text.is_empty() && !is_qualified_part(text) {
        wrong.push(LABEL_VALUE_TEXT.to_owned());
    }
    wrong
}

/// A key of a ConfigMap or Secret.
pub fn config_key(text: &str) -> Vec<String> {
    let mut wrong = too_long(text, SUBDOMAIN_MAX);
    if text.is_empty() || !text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.')) {
        wrong.push(CONFIG_KEY_TEXT.to_owned());
    }
    if text == "." {
        wrong.push("must not be '.'".to_owned());
    } else if text == ".." {
        wrong.push("must not be '..'".to_owned());
    } else if text.starts_with("..") {
        wrong.push("must not start with '..'".to_owned());
    }
    wrong
}

/// The name of an environment variable.
pub fn env_name(text: &str) -> Vec<String> {
    if text.is_empty() || !text.bytes().all(|b| (0x20..0x7f).contains(&b) && b != b'=') {
        return vec![ENV_NAME_TEXT.to_owned()];
    }
    Vec::new()
}

pub fn is_dns1123_label(text: &str) -> bool {
    let edge = |b: Option<&u8>| b.is_some_and(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    let bytes = text.as_bytes();
    edge(bytes.first())
        && edge(bytes.last())
        && bytes.iter().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || *b == b'-')
}

pub fn is_dns1123_subdomain(text: &str) -> bool {
    text.split('.').all(is_dns1123_label)
}

fn is_qualified_part(text: &str) -> bool {
    let bytes = text.as_bytes();
    let edge = |b: Option<&u8>| b.is_some_and(u8::is_ascii_alphanumeric);
    edge(bytes.first())
        && edge(bytes.last())
        && bytes.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
}

fn too_long(text: &str, max: usize) -> Vec<String> {
    if text.len() > max { vec![format!("must be no more than {max} characters")] } else { Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_judged_as_upstream_judges_them() {
        let check = |f: fn(&str) -> Vec<String>, text: &str, wrong: usize| {
            assert_eq!(f(text).len(), wrong, "{text:?}: {:?}", f(text));
        };
        check(dns1123_subdomain, "a.b-c", 0);
        check(dns1123_subdomain, "a..b", 1);
        check(dns1123_subdomain, "", 1);
        check(dns1123_label, "1a", 0);
        check(dns1123_label, "a.b", 1);
        check(dns1035_label, "1a", 1);
        check(qualified_name, "example.com/Name_1", 0);
        check(qualified_name, "a/b/c", 1);
        check(qualified_name, "/b", 1);
        check(qualified_name, "a/", 2);
        check(label_value, "", 0);
        check(label_value, "-", 1);
        check(config_key, "..a", 1);
        check(config_key, "a b", 1);
        check(path_segment, "a:b", 0);
        check(path_segment, "a/b%", 2);
    }
}
