//! From a request's body to an object of the resource that the URL names.

use pawl_meta::object::{Meta, Object};
use pawl_meta::{Cause, Details, Errors, GroupKind, GroupVersion, Status, go};
use pawl_schema::{DecodeError, Decoded, Finding, TypeRef, decode_json, decode_value, yaml};
use serde_json::Value;

use crate::patch::is_former_version;
use crate::stated::Stated;
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

/// A body as it was sent.
#[derive(Clone, Copy, Debug)]
pub struct Sent<'b> {
    pub encoding: Encoding,
    pub bytes: &'b [u8],
    pub validation: FieldValidation,
}

impl<'b> Sent<'b> {
    pub fn json(bytes: &'b [u8], validation: FieldValidation) -> Self {
        Self { encoding: Encoding::Json, bytes, validation }
    }

    /// What the server itself wrote.
    pub fn own(bytes: &'b [u8]) -> Self {
        Self::json(bytes, FieldValidation::Ignore)
    }
}

/// A kind that is sent to a subresource and is no object of a resource.
#[derive(Clone, Copy, Debug)]
pub struct ApiKind {
    /// `policy.v1.Eviction`
    pub type_name: &'static str,
    pub group: &'static str,
    pub version: &'static str,
    /// Another version of the group that differs in nothing.
    pub former: Option<&'static str>,
    pub kind: &'static str,
}

impl ApiKind {
    pub const BINDING: Self =
        Self { type_name: "core.v1.Binding", group: "", version: "v1", former: None, kind: "Binding" };
    pub const EVICTION: Self = Self {
        type_name: "policy.v1.Eviction",
        group: "policy",
        version: "v1",
        former: Some("v1beta1"),
        kind: "Eviction",
    };
    pub const SCALE: Self =
        Self { type_name: "autoscaling.v1.Scale", group: "autoscaling", version: "v1", former: None, kind: "Scale" };
    pub const TOKEN_REQUEST: Self = Self {
        type_name: "authentication.v1.TokenRequest",
        group: "authentication.k8s.io",
        version: "v1",
        former: None,
        kind: "TokenRequest",
    };

    fn wanted(&self) -> Wanted<'static> {
        let version = GroupVersion::new(self.group, self.version);
        Wanted { version, former: self.former, kind: self.kind, custom: false }
    }
}

impl Registry {
    /// Decodes a body as an object of a resource, with defaults.
    pub fn decode(&self, cx: &Context, served: &Served, sent: Sent<'_>) -> Result<Object, Status> {
        let object = self.read(cx, served.resource.object_type().as_ref(), &served.wanted(), sent)?;
        self.defaulted(served, object)
    }

    /// Decodes the body of a subresource.
    pub fn decode_as(&self, cx: &Context, kind: &ApiKind, sent: Sent<'_>) -> Result<Object, Status> {
        let of = crate::api_type(kind.type_name)
            .ok_or_else(|| Status::internal(format!("{} is not a type of this server", kind.type_name)))?;
        self.read(cx, of, &kind.wanted(), sent)
    }

    /// A body must be of the kind that is wanted, and findings become warnings or an error.
    fn read(&self, cx: &Context, of: TypeRef<'_>, wanted: &Wanted<'_>, sent: Sent<'_>) -> Result<Object, Status> {
        let unrecognized = |why: String| {
            let (kind, summary) = (wanted.kind, summary(sent.bytes));
            Status::bad_request(format!(
                "the object provided is unrecognized (must be of type {kind}): {why} ({summary})"
            ))
        };
        let is_wanted = |api_version: &str, kind: &str| {
            self.check_kind(wanted, api_version, kind).map_err(|wrong| wrong.into_status(&unrecognized))
        };
        let mut opened = match open(of, sent) {
            Ok(opened) => opened,
            Err(BodyError::Unrecognized(why)) => return Err(unrecognized(why)),
            Err(BodyError::TooLarge(why)) => return Err(Status::too_large(why)),
            // Upstream reads metadata of what users defined by itself.
            Err(BodyError::Wrong { why, .. }) if wanted.custom => {
                return Err(cannot_handle(wanted, &why.replace("ObjectMeta.metadata.", "ObjectMeta.")));
            }
            Err(BodyError::Wrong { api_version, kind, why }) => {
                is_wanted(&api_version, &kind)?;
                return Err(cannot_handle(wanted, &why));
            }
        };
        if wanted.custom {
            if opened.kind.is_empty() {
                let body = String::from_utf8_lossy(sent.bytes);
                return Err(unrecognized(format!("Object 'Kind' is missing in '{body}'")));
            }
            check_custom_kind(wanted, &opened)?;
            in_order(&mut opened.findings);
        } else if Stated::differs(&opened.findings) {
            let stated = Stated::read(sent.encoding, sent.bytes).map_err(unrecognized)?;
            is_wanted(&stated.api_version, &stated.kind)?;
        } else {
            is_wanted(&opened.api_version, &opened.kind)?;
        }
        report_body(cx, wanted, sent.validation, &opened)?;
        Ok(opened.object)
    }

    fn defaulted(&self, served: &Served, mut object: Object) -> Result<Object, Status> {
        object.insert("apiVersion".to_owned(), Value::from(served.resource.group_version().to_string()));
        object.insert("kind".to_owned(), Value::from(served.resource.facts.kind.as_str()));
        self.set_defaults(served, &mut object).map_err(|why| cannot_handle(&served.wanted(), &why))?;
        Ok(object)
    }

    /// Whether a body says that it is what is wanted.
    pub(crate) fn check_kind(&self, wanted: &Wanted<'_>, api_version: &str, kind: &str) -> Result<(), WrongKind> {
        let Some(given) = GroupVersion::parse(api_version) else {
            return Err(WrongKind::Unrecognized(format!("unexpected GroupVersion string: {api_version}")));
        };
        let given = if api_version.is_empty() { &wanted.version } else { &given };
        let kind = if kind.is_empty() { wanted.kind } else { kind };
        let is_version = |version: &str| given.group == wanted.version.group && given.version == version;
        if kind == wanted.kind && (is_version(&wanted.version.version) || wanted.former.is_some_and(is_version)) {
            return Ok(());
        }
        if kind == wanted.kind && is_once_served(given, wanted) {
            return Err(WrongKind::Cannot(other_version(&given.to_string(), &wanted.version.to_string())));
        }
        let (version, why) = (go::quote(&given.version), self.why_not(wanted, given, kind));
        Err(WrongKind::Cannot(format!("{kind} in version {version} cannot be handled as a {}: {why}", wanted.kind)))
    }

    /// Why an object of another kind is not one of the wanted.
    pub(crate) fn why_not(&self, wanted: &Wanted<'_>, given: &GroupVersion, kind: &str) -> String {
        let is_general = given.version == "v1" && matches!(kind, "List" | "Status");
        // Of every kind there are lists.
        let listed = kind.strip_suffix("List").unwrap_or(kind);
        if is_general || self.table().by_kind(&given.group, &given.version, listed).is_some() {
            // What is not about a version of a kind names it by the first part of its group.
            let group = wanted.version.group.split('.').next().filter(|group| !group.is_empty()).unwrap_or("core");
            return format!("converting ({}.{kind}) to ({group}.{}): unknown conversion", given.version, wanted.kind);
        }
        format!("no kind {} is registered for version \"{given}\" in scheme \"{}\"", go::quote(kind), scheme(wanted))
    }
}

/// A body that was read, whatever it may be.
pub struct Opened {
    pub object: Object,
    pub api_version: String,
    pub kind: String,
    findings: Vec<Finding>,
    /// What YAML had twice.
    duplicates: Vec<String>,
    /// Fields of a message that the type has not.
    unknown: Vec<String>,
}

/// Why a body cannot be read.
pub enum BodyError {
    Unrecognized(String),
    TooLarge(String),
    /// Of this kind, it says, and not of the type.
    Wrong {
        api_version: String,
        kind: String,
        why: String,
    },
}

/// Every body is read here, in every encoding.
pub fn open(of: TypeRef<'_>, sent: Sent<'_>) -> Result<Opened, BodyError> {
    let (decoded, duplicates) = match sent.encoding {
        Encoding::Json => (decode_json(of, sent.bytes), Vec::new()),
        Encoding::Yaml => {
            let parsed = yaml::read(sent.bytes).map_err(BodyError::Unrecognized)?;
            (decode_value(of, parsed.value), parsed.duplicates)
        }
        Encoding::Protobuf => return open_message(of, sent.bytes),
    };
    match decoded {
        Ok(Decoded { object, findings }) => {
            let text = |field: &str| object.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
            let (api_version, kind) = (text("apiVersion"), text("kind"));
            Ok(Opened { object, api_version, kind, findings, duplicates, unknown: Vec::new() })
        }
        Err(DecodeError::Syntax(why)) => {
            Err(BodyError::Unrecognized(format!("couldn't get version/kind; json parse error: {why}")))
        }
        Err(error @ DecodeError::TooLarge(..)) => Err(BodyError::TooLarge(error.to_string())),
        Err(DecodeError::Type(why)) => {
            let stated = Stated::read(sent.encoding, sent.bytes).map_err(BodyError::Unrecognized)?;
            let Stated { api_version, kind } = stated;
            Err(BodyError::Wrong { api_version, kind, why })
        }
    }
}

fn open_message(of: TypeRef<'_>, bytes: &[u8]) -> Result<Opened, BodyError> {
    let envelope = pawl_protobuf::open(bytes).map_err(|e| BodyError::Unrecognized(e.to_string()))?;
    let (api_version, kind) = (envelope.api_version.to_owned(), envelope.kind.to_owned());
    match crate::protobuf().decode(of, envelope.raw) {
        Ok(decoded) => {
            let (object, unknown) = (decoded.object, decoded.unknown);
            Ok(Opened { object, api_version, kind, findings: Vec::new(), duplicates: Vec::new(), unknown })
        }
        Err(error) => Err(BodyError::Wrong { api_version, kind, why: error.to_string() }),
    }
}

/// Whether a body says that it is an object of what users defined. A kind of another name is only refused when the object is
/// judged, as upstream does.
fn check_custom_kind(wanted: &Wanted<'_>, opened: &Opened) -> Result<(), Status> {
    let (given, expected) = (&opened.api_version, wanted.version.to_string());
    if !given.is_empty() && *given != expected {
        return Err(Status::bad_request(other_version(given, &expected)));
    }
    if opened.kind == wanted.kind {
        return Ok(());
    }
    let mut errors = Errors::new();
    errors.invalid(&"kind", opened.kind.as_str(), format!("must be {}", wanted.kind));
    let kind = GroupKind { group: wanted.version.group.clone(), kind: opened.kind.clone() };
    Err(Status::invalid(&kind, opened.object.name(), &errors))
}

/// Where upstream's part that serves a group keeps what it knows.
fn scheme(wanted: &Wanted<'_>) -> &'static str {
    match wanted.version.group.as_str() {
        "apiextensions.k8s.io" => "k8s.io/apiextensions-apiserver/pkg/apiserver/apiserver.go:55",
        "apiregistration.k8s.io" => "k8s.io/kube-aggregator/pkg/apiserver/scheme/scheme.go:28",
        _ => "pkg/api/legacyscheme/scheme.go:30",
    }
}

fn other_version(given: &str, expected: &str) -> String {
    format!("the API version in the data ({given}) does not match the expected API version ({expected})")
}

/// Whether a kind once had this version, or has it in another group.
fn is_once_served(given: &GroupVersion, wanted: &Wanted<'_>) -> bool {
    const OTHERS: [(&str, &str, &str); 8] = [
        ("CustomResourceDefinition", "apiextensions.k8s.io", "v1beta1"),
        ("Scale", "extensions", "v1beta1"),
        ("Scale", "apps", "v1beta1"),
        ("Scale", "apps", "v1beta2"),
        ("Deployment", "extensions", "v1beta1"),
        ("DaemonSet", "extensions", "v1beta1"),
        ("ReplicaSet", "extensions", "v1beta1"),
        ("Ingress", "extensions", "v1beta1"),
    ];
    let is_other = |(kind, group, version): &(&str, &str, &str)| {
        (*kind, *group, *version) == (wanted.kind, given.group.as_str(), given.version.as_str())
    };
    is_former_version(given, &wanted.version) || OTHERS.iter().any(is_other)
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
    /// Another version that counts as this one.
    pub former: Option<&'static str>,
    pub kind: &'a str,
    /// Users defined it.
    pub custom: bool,
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

fn cannot_handle(wanted: &Wanted<'_>, why: &str) -> Status {
    let (kind, version) = (wanted.kind, &wanted.version.version);
    Status::bad_request(format!("{kind} in version {version:?} cannot be handled as a {kind}: {why}"))
}

/// Tells or refuses what does not belong into a body.
fn report_body(cx: &Context, wanted: &Wanted<'_>, validation: FieldValidation, opened: &Opened) -> Result<(), Status> {
    let Opened { findings, duplicates, unknown, .. } = opened;
    let is_clean = findings.is_empty() && duplicates.is_empty() && unknown.is_empty();
    if is_clean || validation == FieldValidation::Ignore {
        return Ok(());
    }
    let found = findings.iter().map(Finding::message);
    if validation == FieldValidation::Warn || !unknown.is_empty() {
        // Fields that a message has and the type has not are only told: clients send newer messages than servers know.
        warn(cx, unknown.iter().chain(duplicates).cloned().chain(found).collect());
        return Ok(());
    }
    let twice = (!duplicates.is_empty()).then(|| format!("yaml: unmarshal errors:\n  {}", duplicates.join("\n  ")));
    let texts: Vec<String> = twice.into_iter().chain(found).collect();
    let status = cannot_handle(wanted, &format!("strict decoding error: {}", texts.join(", ")));
    Err(with_causes(status, findings))
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

/// Tells the client of findings.
pub(crate) fn warn(cx: &Context, texts: Vec<String>) {
    texts.into_iter().for_each(|text| cx.warn(text));
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
