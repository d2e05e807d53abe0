//! What form an answer takes: media type and representation, from the `Accept` header.

use std::borrow::Cow;

use http::HeaderMap;
use pawl_meta::{Details, Status};

use crate::query::Query;

/// How an answer is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Media {
    #[default]
    Json,
    Yaml,
    Protobuf,
}

impl Media {
    pub fn content_type(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Yaml => "application/yaml",
            Self::Protobuf => "application/vnd.kubernetes.protobuf",
        }
    }

    fn parse(name: &str) -> Option<Self> {
        [Self::Json, Self::Yaml, Self::Protobuf].into_iter().find(|m| m.content_type() == name)
    }
}

/// What is shown of an object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    #[default]
    Object,
    Table,
    Metadata,
    MetadataList,
}

/// The outcome of a negotiation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Accepted {
    pub media: Media,
    pub form: Form,
    pub pretty: bool,
    /// The meta version of a transformed answer: `v1` or `v1beta1`.
    pub beta: bool,
}

impl Accepted {
    /// The apiVersion of a transformed answer.
    pub fn meta_version(self) -> &'static str {
        if self.beta { "meta.k8s.io/v1beta1" } else { "meta.k8s.io/v1" }
    }
}

const AVAILABLE: &str = "application/json, application/yaml, application/vnd.kubernetes.protobuf";

const NOT_ACCEPTABLE: &str = "406: Not Acceptable";

/// One entry of an `Accept` header.
struct Clause<'h> {
    kind: &'h str,
    subtype: &'h str,
    params: Vec<(&'h str, &'h str)>,
    weight: f32,
}

impl<'h> Clause<'h> {
    fn parse(text: &'h str) -> Option<Self> {
        let mut parts = text.split(';').map(str::trim);
        let (kind, subtype) = parts.next()?.split_once('/').unwrap_or(("", ""));
        let mut clause = Self { kind: kind.trim(), subtype: subtype.trim(), params: Vec::new(), weight: 1.0 };
        for part in parts {
            let (key, value) = part.split_once('=').unwrap_or((part, ""));
            match key.trim() {
                "q" => clause.weight = value.trim().parse().unwrap_or(1.0),
                key => clause.params.push((key, value.trim())),
            }
        }
        Some(clause)
    }

    fn media(&self) -> Option<Media> {
        match (self.kind, self.subtype) {
            ("*", "*") | ("application", "*") => Some(Media::Json),
            ("application", subtype) => Media::parse(&format!("application/{subtype}")),
            _ => None,
        }
    }

    fn wildcards(&self) -> usize {
        [self.kind, self.subtype].iter().filter(|part| **part == "*").count()
    }

    fn param(&self, name: &str) -> &str {
        self.params.iter().find(|(k, _)| *k == name).map_or("", |(_, v)| v)
    }

    /// The form asked for; `None` when it is one that the server does not have.
    fn form(&self) -> Option<(Form, bool)> {
        let known = self.param("g") == "meta.k8s.io" && matches!(self.param("v"), "v1" | "v1beta1");
        let beta = self.param("v") == "v1beta1";
        match self.param("as") {
            "" => Some((Form::Object, false)),
            "Table" if known => Some((Form::Table, beta)),
            "PartialObjectMetadata" if known => Some((Form::Metadata, beta)),
            "PartialObjectMetadataList" if known => Some((Form::MetadataList, beta)),
            _ => None,
        }
    }
}

/// Chooses the form of the answer to a request for objects.
pub fn negotiate(headers: &HeaderMap, pretty: Option<&str>) -> Result<Accepted, Status> {
    negotiate_for(headers, pretty, true)
}

/// The same, where objects may have no protobuf form; metadata always has.
pub fn negotiate_for(headers: &HeaderMap, pretty: Option<&str>, protobuf: bool) -> Result<Accepted, Status> {
    let pretty = wants_pretty(headers, pretty);
    let header = accept(headers);
    if is_usual(&header) {
        return Ok(Accepted { pretty, ..Accepted::default() });
    }
    let mut known = false;
    for clause in clauses(&header).iter().filter(|c| c.weight > 0.0) {
        let Some(media) = clause.media() else { continue };
        known = true;
        if let Some((form, beta)) = clause.form() {
            // Tables have no protobuf form.
            let has_message = form != Form::Table && (protobuf || form != Form::Object);
            if media == Media::Protobuf && !has_message {
                continue;
            }
            return Ok(Accepted { media, form, pretty, beta });
        }
    }
    Err(if known { not_accepted() } else { none_available(AVAILABLE) })
}

/// The same for lists and watches, which have streams too.
pub fn negotiate_list(headers: &HeaderMap, pretty: Option<&str>, protobuf: bool) -> Result<Accepted, Status> {
    const STREAMS: &str = "application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch";
    let outcome = negotiate_for(headers, pretty, protobuf);
    outcome.map_err(|status| match status.message.starts_with(NOT_ACCEPTABLE) {
        true => none_available(&format!("{AVAILABLE}, {STREAMS}")),
        false => status,
    })
}

/// Chooses the media type of a document of discovery, which has no other form. The indexes of groups say in their own words
/// what cannot be had.
pub fn negotiate_document(headers: &HeaderMap, is_index: bool) -> Result<Media, Status> {
    let header = accept(headers);
    if is_usual(&header) {
        return Ok(Media::Json);
    }
    let clauses = clauses(&header);
    let mut known = clauses.iter().filter(|c| c.weight > 0.0).filter_map(|c| Some((c, c.media()?))).peekable();
    let is_known = is_index || known.peek().is_some();
    let plain = known.find(|(clause, _)| clause.param("as").is_empty());
    plain.map(|(_, media)| media).ok_or_else(|| if is_known { not_accepted() } else { none_available(AVAILABLE) })
}

/// The answer to who asks for a form that there is not.
pub(crate) fn not_accepted() -> Status {
    Status::not_acceptable(format!("only the following media types are accepted: {AVAILABLE}"))
}

/// Whether somebody who asks for a document that there is only in JSON takes JSON.
pub fn takes_json(headers: &HeaderMap) -> Result<(), Status> {
    let header = accept(headers);
    let mut clauses = header.split(',').filter_map(|c| Clause::parse(c.trim()));
    if header.is_empty() || clauses.any(|c| c.weight > 0.0 && c.media() == Some(Media::Json)) {
        return Ok(());
    }
    Err(none_available(Media::Json.content_type()))
}

/// The media type for an answer that has no forms. What cannot be had becomes JSON.
pub fn media(headers: &HeaderMap) -> Media {
    negotiate(headers, None).map(|a| a.media).unwrap_or_default()
}

/// How an error is told to who sent these headers.
pub fn for_errors(headers: &HeaderMap, query: &Query) -> Accepted {
    let pretty = wants_pretty(headers, query.get("pretty"));
    Accepted { media: error_media(headers), pretty, ..Accepted::default() }
}

/// The media type for an error: who asks for a form of objects gets no error in its media type.
pub fn error_media(headers: &HeaderMap) -> Media {
    let header = accept(headers);
    if is_usual(&header) {
        return Media::Json;
    }
    let found = clauses(&header).into_iter().filter(|c| c.weight > 0.0 && c.param("as").is_empty());
    found.filter_map(|clause| clause.media()).next().unwrap_or_default()
}

/// The entries of a header: those that weigh most first, of these the most exact ones.
fn clauses(header: &str) -> Vec<Clause<'_>> {
    let mut clauses: Vec<Clause> = header.split(',').filter_map(|c| Clause::parse(c.trim())).collect();
    clauses.sort_by(|a, b| b.weight.total_cmp(&a.weight).then(a.wildcards().cmp(&b.wildcards())));
    clauses
}

pub fn wants_pretty(headers: &HeaderMap, parameter: Option<&str>) -> bool {
    match parameter {
        Some(text) => !matches!(text.to_lowercase().as_str(), "false" | "0" | ""),
        None => {
            let agent = headers.get(http::header::USER_AGENT).and_then(|v| v.to_str().ok()).unwrap_or_default();
            ["curl", "Wget", "Mozilla/5.0"].iter().any(|known| agent.starts_with(known))
        }
    }
}

fn none_available(available: &str) -> Status {
    Status::not_acceptable(format!("{NOT_ACCEPTABLE}\n\nAvailable representations: {available}"))
        .with_details(Details::default())
}

fn accept(headers: &HeaderMap) -> Cow<'_, str> {
    let mut values = headers.get_all(http::header::ACCEPT).iter().filter_map(|v| v.to_str().ok());
    let first = Cow::Borrowed(values.next().unwrap_or_default());
    values.fold(first, |all, more| Cow::Owned(format!("{all},{more}")))
}

/// Whether a header asks for what is answered without one: most do, and nothing needs to be weighed for them.
fn is_usual(header: &str) -> bool {
    matches!(header, "" | "*/*" | "application/json")
}

/// The media type of an aggregated discovery document; `None` where none is asked for. Who names it wants it, before any
/// plain document that weighs more.
pub fn aggregated(headers: &HeaderMap) -> Option<Media> {
    let header = accept(headers);
    let known = ("APIGroupDiscoveryList", "apidiscovery.k8s.io", "v2");
    clauses(&header).iter().filter(|c| (c.param("as"), c.param("g"), c.param("v")) == known).find_map(Clause::media)
}

/// The media type of a body, without its parameters; JSON when it says nothing.
pub fn body_media(headers: &HeaderMap) -> Result<Media, Status> {
    let header = headers.get(http::header::CONTENT_TYPE).and_then(|v| v.to_str().ok()).unwrap_or_default();
    let mut parts = header.split(';');
    let name = parts.next().unwrap_or_default().trim().to_ascii_lowercase();
    if header.is_empty() {
        return Ok(Media::Json);
    }
    // A parameter is a name and a value; whoever writes something else may mean something else.
    let is_sound = parts.all(|part| part.trim().is_empty() || part.contains('='));
    Media::parse(&name).filter(|_| is_sound).ok_or_else(|| {
        Status::unsupported_media_type(format!(
            "the body of the request was in an unknown format - accepted media types include: {AVAILABLE}"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(accept: &str, expect: Result<(Media, Form), &str>) {
        let mut headers = HeaderMap::new();
        headers.insert(http::header::ACCEPT, accept.parse().unwrap());
        let got = negotiate(&headers, None).map(|a| (a.media, a.form)).map_err(|s| s.message);
        match expect {
            Ok(expect) => assert_eq!(got, Ok(expect), "{accept}"),
            Err(part) => assert!(got.unwrap_err().contains(part), "{accept}"),
        }
    }

    #[test]
    fn accept_headers() {
        check("*/*", Ok((Media::Json, Form::Object)));
        check("text/plain, application/yaml", Ok((Media::Yaml, Form::Object)));
        check("application/json;as=Table;v=v1;g=meta.k8s.io,application/json", Ok((Media::Json, Form::Table)));
        check("application/json;as=Table;v=v9;g=meta.k8s.io,application/json", Ok((Media::Json, Form::Object)));
        check("application/json;q=0.5, application/vnd.kubernetes.protobuf", Ok((Media::Protobuf, Form::Object)));
        check("application/json;as=Bogus;v=v1;g=meta.k8s.io", Err("only the following"));
        check("text/html", Err("406: Not Acceptable"));
        check("*/*, application/*, application/vnd.kubernetes.protobuf", Ok((Media::Protobuf, Form::Object)));
        check("*/*;q=0.5, application/vnd.kubernetes.protobuf;q=0.4", Ok((Media::Json, Form::Object)));
        check("application/vnd.kubernetes.protobuf;q=0", Err("406: Not Acceptable"));
    }

    #[test]
    fn documents_have_one_form_and_lists_have_streams() {
        const TABLE: &str = "application/json;as=Table;g=meta.k8s.io;v=v1";
        let only = "only the following media types are accepted";
        for (accept, is_index, expect) in [
            ("application/yaml", false, Ok(Media::Yaml)),
            (TABLE, false, Err(only)),
            (TABLE, true, Err(only)),
            ("text/html", false, Err("406: Not Acceptable")),
            ("text/html", true, Err(only)),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(http::header::ACCEPT, accept.parse().unwrap());
            let got = negotiate_document(&headers, is_index);
            match expect {
                Ok(media) => assert_eq!(got.ok(), Some(media), "{accept}"),
                Err(why) => assert!(got.unwrap_err().message.starts_with(why), "{accept} {is_index}"),
            }
        }
        let mut headers = HeaderMap::new();
        headers.insert(http::header::ACCEPT, "text/html".parse().unwrap());
        let why = negotiate_list(&headers, None, true).unwrap_err().message;
        assert!(
            why.ends_with("protobuf, application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch")
        );
    }

    #[test]
    fn errors_have_no_forms() {
        const FORM: &str = "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
        for (accept, expect) in [
            (FORM.to_owned(), Media::Json),
            (format!("{FORM},application/yaml"), Media::Yaml),
            (format!("{FORM},application/vnd.kubernetes.protobuf;q=0.1"), Media::Protobuf),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(http::header::ACCEPT, accept.parse().unwrap());
            assert_eq!(error_media(&headers), expect, "{accept}");
        }
    }

    fn check_aggregated(accept: &str, expect: Option<Media>) {
        let mut headers = HeaderMap::new();
        headers.insert(http::header::ACCEPT, accept.parse().unwrap());
        assert_eq!(aggregated(&headers), expect, "{accept}");
    }

    #[test]
    fn aggregated_discovery() {
        const FORM: &str = "g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
        const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
        check_aggregated("", None);
        check_aggregated("application/json", None);
        check_aggregated(&format!("application/json;{}", FORM.replace("v2", "v2beta1")), None);
        check_aggregated(&format!("text/html;{FORM}"), None);
        check_aggregated(&format!("{PROTOBUF};{FORM}"), Some(Media::Protobuf));
        check_aggregated(&format!("application/yaml;{FORM}"), Some(Media::Yaml));
        check_aggregated(&format!("{PROTOBUF};{FORM};q=0.4, application/json;{FORM}"), Some(Media::Json));
        check_aggregated(&format!("{PROTOBUF}, application/json;{FORM};q=0.3"), Some(Media::Json));
    }
}
