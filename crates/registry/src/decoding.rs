//! From a request's body to an object of the resource that the URL names.

use pawl_meta::object::{Meta, Object};
use pawl_meta::{Cause, Details, Errors, GroupKind, GroupVersion, Status, go};
use pawl_schema::{DecodeError, Decoded, Finding, TypeRef, decode_json, decode_value, syntax_error, yaml};
use serde_json::Value;

use crate::{Context, Registry, Served};

/// What to do about fields that the server does not know or that were given twice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FieldValidation {
    Ignore,
    #[default]
    Warn,
    Strict,
}

/// How a body is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    Json,
    Yaml,
    Protobuf,
}

/// Warnings past this many characters in all are cut.
const WARNINGS_MAX: usize = 4096;
const WARNING_CUT: usize = 256;

impl Registry {
    /// Decodes a body as an object of a resource, with defaults. Findings become warnings or an error.
    pub fn decode(
        &self,
        cx: &Context,
        served: &Served,
        encoding: Encoding,
        body: &[u8],
        validation: FieldValidation,
    ) -> Result<Object, Status> {
        let kind = &served.resource.facts.kind;
        let unrecognized = |why: String| {
            Status::bad_request(format!(
                "the object provided is unrecognized (must be of type {kind}): {why} ({})",
                summary(body)
            ))
        };
        let of = served.resource.object_type().as_ref();
        if encoding == Encoding::Protobuf {
            let object = self.decode_protobuf(cx, served, body, validation, &unrecognized)?;
            return self.defaulted(served, object);
        }
        let (decoded, mut told) = match encoding {
            Encoding::Json => (decode_json(of, body), Vec::new()),
            Encoding::Yaml => {
                let text = std::str::from_utf8(body)
                    .map_err(|_| unrecognized("yaml: control characters are not allowed".to_owned()))?;
                let parsed = yaml::parse(text).map_err(&unrecognized)?;
                (decode_value(of, parsed.value), parsed.duplicates)
            }
            Encoding::Protobuf => return Err(unrecognized("not JSON".to_owned())),
        };
        let Decoded { object, mut findings } = match decoded {
            Ok(decoded) => decoded,
            Err(DecodeError::Syntax(why)) => {
                return Err(unrecognized(format!("couldn't get version/kind; json parse error: {why}")));
            }
            Err(error @ DecodeError::TooLarge(..)) => return Err(Status::too_large(error.to_string())),
            Err(DecodeError::Type(why)) if served.resource.facts.custom => {
                // Upstream reads metadata by itself.
                return Err(cannot_handle(served, &why.replace("ObjectMeta.metadata.", "ObjectMeta.")));
            }
            Err(DecodeError::Type(why)) => {
                let (api_version, kind) = body_kind(encoding, body).map_err(&unrecognized)?;
                self.check_kind(&served.wanted(), &api_version, &kind).map_err(|e| e.into_status(&unrecognized))?;
                return Err(cannot_handle(served, &why));
            }
        };
        let text = |field: &str| object.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
        let (api_version, named) = (text("apiVersion"), text("kind"));
        if served.resource.facts.custom {
            if named.is_empty() {
                let body = String::from_utf8_lossy(body);
                return Err(unrecognized(format!("Object 'Kind' is missing in '{body}'")));
            }
            check_custom_kind(served, &api_version, &named, &object)?;
        } else {
            self.check_kind(&served.wanted(), &api_version, &named).map_err(|e| e.into_status(&unrecognized))?;
        }
        if served.resource.facts.custom {
            in_order(&mut findings);
        }
        let from_yaml = !told.is_empty();
        match validation {
            FieldValidation::Ignore => {}
            FieldValidation::Warn => {
                told.extend(findings.iter().map(Finding::message));
                warn(cx, told);
            }
            FieldValidation::Strict if told.is_empty() && findings.is_empty() => {}
            FieldValidation::Strict => {
                let mut texts = Vec::new();
                if from_yaml {
                    texts.push(format!("yaml: unmarshal errors:\n  {}", told.join("\n  ")));
                }
                texts.extend(findings.iter().map(Finding::message));
                let status = cannot_handle(served, &format!("strict decoding error: {}", texts.join(", ")));
                return Err(with_causes(status, &findings));
            }
        }
        self.defaulted(served, object)
    }

    /// Decodes the body of a subresource, which is no object of a resource.
    pub fn decode_as(&self, of: TypeRef<'_>, encoding: Encoding, body: &[u8]) -> Result<Object, Status> {
        let decoded = match encoding {
            Encoding::Json => decode_json(of, body),
            Encoding::Yaml => {
                let parsed = yaml::parse(&String::from_utf8_lossy(body)).map_err(Status::bad_request)?;
                decode_value(of, parsed.value)
            }
            Encoding::Protobuf => {
                let decoded = pawl_protobuf::open(body).and_then(|envelope| crate::protobuf().decode(of, envelope.raw));
                return decoded.map(|d| d.object).map_err(|e| Status::bad_request(e.to_string()));
            }
        };
        decoded.map(|d| d.object).map_err(|e| match e {
            DecodeError::Syntax(why) => {
                Status::bad_request(format!("couldn't get version/kind; json parse error: {why}"))
            }
            DecodeError::Type(why) => Status::bad_request(why),
            DecodeError::TooLarge(..) => Status::too_large(e.to_string()),
        })
    }

    /// Fields that the message has and the type has not are only told: clients send newer messages than servers know.
    fn decode_protobuf(
        &self,
        cx: &Context,
        served: &Served,
        body: &[u8],
        validation: FieldValidation,
        unrecognized: &dyn Fn(String) -> Status,
    ) -> Result<Object, Status> {
        let envelope = pawl_protobuf::open(body).map_err(|e| unrecognized(e.to_string()))?;
        self.check_kind(&served.wanted(), envelope.api_version, envelope.kind)
            .map_err(|e| e.into_status(unrecognized))?;
        let decoded = crate::protobuf()
            .decode(served.resource.object_type().as_ref(), envelope.raw)
            .map_err(|e| cannot_handle(served, &e.to_string()))?;
        if validation != FieldValidation::Ignore {
            warn(cx, decoded.unknown);
        }
        Ok(decoded.object)
    }

    fn defaulted(&self, served: &Served, mut object: Object) -> Result<Object, Status> {
        object.insert("apiVersion".to_owned(), Value::from(served.resource.group_version().to_string()));
        object.insert("kind".to_owned(), Value::from(served.resource.facts.kind.as_str()));
        self.set_defaults(served, &mut object).map_err(|why| cannot_handle(served, &why))?;
        Ok(object)
    }

    /// Whether a body says that it is what is wanted.
    pub(crate) fn check_kind(&self, wanted: &Wanted<'_>, api_version: &str, kind: &str) -> Result<(), WrongKind> {
        let Some(given) = GroupVersion::parse(api_version) else {
            return Err(WrongKind::Unrecognized(format!("unexpected GroupVersion string: {api_version}")));
        };
        let given = if api_version.is_empty() { &wanted.version } else { &given };
        let kind = if kind.is_empty() { wanted.kind } else { kind };
        if *given == wanted.version && kind == wanted.kind {
            return Ok(());
        }
        let (version, why) = (go::quote(&given.version), self.why_not(wanted, given, kind));
        Err(WrongKind::Cannot(format!("{kind} in version {version} cannot be handled as a {}: {why}", wanted.kind)))
    }

    /// Why an object of another kind is not one of the wanted.
    pub(crate) fn why_not(&self, wanted: &Wanted<'_>, given: &GroupVersion, kind: &str) -> String {
        let is_general = given.version == "v1" && matches!(kind, "List" | "Status");
        if is_general || self.table().by_kind(&given.group, &given.version, kind).is_some() {
            // What is not about a version of a kind names it by the first part of its group.
            let group = wanted.version.group.split('.').next().filter(|group| !group.is_empty()).unwrap_or("core");
            return format!("converting ({}.{kind}) to ({group}.{}): unknown conversion", given.version, wanted.kind);
        }
        format!(
            "no kind {} is registered for version \"{given}\" in scheme \"pkg/api/legacyscheme/scheme.go:30\"",
            go::quote(kind)
        )
    }
}

/// Of what users defined upstream finds duplicates first, then what is not declared, then what metadata of embedded
/// objects does not have.
pub(crate) fn in_order(findings: &mut [Finding]) {
    let of_metadata = |path: &str| path.contains(".metadata.");
    findings.sort_by_cached_key(|finding| match finding {
        Finding::Unknown { path, .. } => (1, of_metadata(path), path.clone()),
        _ => (0, false, String::new()),
    });
}

/// The kind that a body must be of.
pub(crate) struct Wanted<'a> {
    pub version: GroupVersion,
    pub kind: &'a str,
}

pub(crate) enum WrongKind {
    Unrecognized(String),
    Cannot(String),
}

impl WrongKind {
    pub(crate) fn into_status(self, unrecognized: &dyn Fn(String) -> Status) -> Status {
        match self {
            Self::Unrecognized(why) => unrecognized(why),
            Self::Cannot(message) => Status::bad_request(message),
        }
    }
}

/// Whether a body says that it is an object of what users defined. A kind of another name is only refused when the object is
/// judged, as upstream does.
fn check_custom_kind(served: &Served, api_version: &str, kind: &str, object: &Object) -> Result<(), Status> {
    let facts = &served.resource.facts;
    if !api_version.is_empty() && api_version != served.api_version {
        return Err(Status::bad_request(format!(
            "the API version in the data ({api_version}) does not match the expected API version ({})",
            served.api_version
        )));
    }
    if kind.is_empty() || kind == facts.kind {
        return Ok(());
    }
    let mut errors = Errors::new();
    errors.invalid(&"kind", kind, format!("must be {}", facts.kind));
    Err(Status::invalid(&GroupKind { group: facts.group.clone(), kind: kind.to_owned() }, object.name(), &errors))
}

/// apiVersion and kind of a body that could not be decoded as what it should be.
pub fn body_kind(encoding: Encoding, body: &[u8]) -> Result<(String, String), String> {
    let value: Value = match encoding {
        Encoding::Json => serde_json::from_slice(body).map_err(|_| syntax_error(body))?,
        Encoding::Yaml | Encoding::Protobuf => yaml::parse(&String::from_utf8_lossy(body))?.value,
    };
    const STRUCT: &str =
        r#"struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }"#;
    let parse_error = |why: String| format!("couldn't get version/kind; json parse error: {why}");
    let object = match &value {
        Value::Object(object) => object,
        other => {
            return Err(parse_error(format!(
                "json: cannot unmarshal {} into Go value of type {STRUCT}",
                go::json_kind(other)
            )));
        }
    };
    let text = |field: &str| match object.get(field) {
        None | Some(Value::Null) => Ok(String::new()),
        Some(Value::String(text)) => Ok(text.clone()),
        Some(other) => Err(parse_error(format!(
            "json: cannot unmarshal {} into Go struct field .{field} of type string",
            go::json_kind(other)
        ))),
    };
    Ok((text("apiVersion")?, text("kind")?))
}

fn cannot_handle(served: &Served, why: &str) -> Status {
    let facts = &served.resource.facts;
    Status::bad_request(format!("{0} in version {1:?} cannot be handled as a {0}: {why}", facts.kind, facts.version))
}

/// Tells or refuses what does not belong into an object, by what was asked for.
pub(crate) fn report(
    cx: &Context,
    validation: FieldValidation,
    texts: Vec<String>,
    findings: &[Finding],
    refuse: impl Fn(&str) -> Status,
) -> Result<(), Status> {
    match validation {
        FieldValidation::Strict if !texts.is_empty() => Err(with_causes(refuse(&texts.join(", ")), findings)),
        FieldValidation::Warn => {
            warn(cx, texts);
            Ok(())
        }
        _ => Ok(()),
    }
}

/// A cause for each field that was refused: where it is, and what was probably meant.
pub(crate) fn with_causes(status: Status, findings: &[Finding]) -> Status {
    let causes = findings.iter().map(|finding| {
        let message = match finding {
            Finding::Unknown { suggestion: Some(near), .. } => format!("{}, did you mean {near:?}?", finding.message()),
            _ => finding.message(),
        };
        Cause { reason: "FieldValueInvalid".to_owned(), message, field: finding.path().to_owned() }
    });
    let details = Details { causes: causes.collect(), ..status.details.clone().unwrap_or_default() };
    if details.causes.is_empty() { status } else { status.with_details(details) }
}

/// Tells the client of findings, cut where they are too many.
pub(crate) fn warn(cx: &Context, texts: Vec<String>) {
    let total: usize = texts.iter().map(|t| t.chars().count()).sum();
    for text in texts {
        cx.warn(if total > WARNINGS_MAX { text.chars().take(WARNING_CUT).collect() } else { text });
    }
}

/// The beginning of a body as messages show it.
fn summary(body: &[u8]) -> String {
    const SHOWN: usize = 30;
    let head = body.get(..SHOWN).unwrap_or(body);
    let more = if body.len() > SHOWN { " ..." } else { "" };
    match body.first() {
        None => "<empty>".to_owned(),
        Some(b'{') => format!("{}{more}", String::from_utf8_lossy(head)),
        Some(_) => format!("{}{more}", head.iter().map(|b| format!("{b:02x}")).collect::<String>()),
    }
}
