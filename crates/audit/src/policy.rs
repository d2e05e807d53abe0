//! The policy: the first rule that matches a request says how much of it is recorded.

use pawl_auth::Attributes;
use pawl_meta::{Errors, FieldPath, names};
use serde::Deserialize;
use serde_json::Value;

/// How much is recorded; each level includes the one before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    #[default]
    None,
    Metadata,
    Request,
    RequestResponse,
}

/// The moments of a request at which a record is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    RequestReceived,
    /// Only for requests that go on, such as watches.
    ResponseStarted,
    ResponseComplete,
    Panic,
}

/// What the policy says about one request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AuditVerdict {
    pub level: Level,
    pub omit_managed_fields: bool,
    omitted: [bool; 4],
}

/// A list of rules; what none matches is not recorded.
#[derive(Clone, Debug)]
pub struct Policy {
    rules: Vec<(Rule, AuditVerdict)>,
}

/// Why a policy cannot be used.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PolicyError {
    #[error("failed decoding: {0}")]
    Decode(String),
    #[error("unknown group version field {0} in policy")]
    Version(String),
    #[error("{}", .0.message())]
    Invalid(Errors),
    #[error("loaded illegal policy with 0 rules")]
    Empty,
}

impl Level {
    const ALL: [(Self, &'static str); 4] = [
        (Self::None, "None"),
        (Self::Metadata, "Metadata"),
        (Self::Request, "Request"),
        (Self::RequestResponse, "RequestResponse"),
    ];

    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(level, _)| *level == self).map_or("None", |(_, name)| name)
    }

    fn parse(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, n)| *n == name).map(|(level, _)| *level)
    }
}

impl Stage {
    const ALL: [(Self, &'static str); 4] = [
        (Self::RequestReceived, "RequestReceived"),
        (Self::ResponseStarted, "ResponseStarted"),
        (Self::ResponseComplete, "ResponseComplete"),
        (Self::Panic, "Panic"),
    ];

    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(stage, _)| *stage == self).map_or("", |(_, name)| name)
    }

    fn parse(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, n)| *n == name).map(|(stage, _)| *stage)
    }
}

impl AuditVerdict {
    /// Whether a record is written at this stage.
    pub fn records(&self, stage: Stage) -> bool {
        let omitted = Stage::ALL.iter().zip(self.omitted).any(|((s, _), omitted)| *s == stage && omitted);
        self.level != Level::None && !omitted
    }

    fn omit(&mut self, stages: &[String]) {
        for ((_, name), omitted) in Stage::ALL.iter().zip(&mut self.omitted) {
            *omitted |= has(stages, name);
        }
    }
}

impl Policy {
    /// Reads a policy document.
    pub fn from_value(document: &Value) -> Result<Self, PolicyError> {
        let text = |field: &str| document.get(field).and_then(Value::as_str).unwrap_or_default();
        if (text("apiVersion"), text("kind")) != ("audit.k8s.io/v1", "Policy") {
            return Err(PolicyError::Version(format!("{}, Kind={}", text("apiVersion"), text("kind"))));
        }
        let document = Document::deserialize(document).map_err(|e| PolicyError::Decode(e.to_string()))?;
        let errors = document.validate();
        if !errors.is_empty() {
            return Err(PolicyError::Invalid(errors));
        }
        if document.rules.is_empty() {
            return Err(PolicyError::Empty);
        }
        let mut rules = Vec::with_capacity(document.rules.len());
        for rule in document.rules {
            let mut verdict = AuditVerdict {
                level: Level::parse(&rule.level).unwrap_or_default(),
                omit_managed_fields: rule.omit_managed_fields.unwrap_or(document.omit_managed_fields),
                ..AuditVerdict::default()
            };
            verdict.omit(&document.omit_stages);
            verdict.omit(&rule.omit_stages);
            rules.push((rule, verdict));
        }
        Ok(Self { rules })
    }

    pub fn evaluate(&self, attributes: &Attributes<'_>) -> AuditVerdict {
        self.rules.iter().find(|(rule, _)| rule.matches(attributes)).map_or_else(AuditVerdict::default, |(_, v)| *v)
    }
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Document {
    rules: Vec<Rule>,
    omit_stages: Vec<String>,
    omit_managed_fields: bool,
}

/// Every list that is not empty must match.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Rule {
    level: String,
    users: Vec<String>,
    user_groups: Vec<String>,
    verbs: Vec<String>,
    resources: Vec<GroupResources>,
    namespaces: Vec<String>,
    #[serde(rename = "nonResourceURLs")]
    non_resource_urls: Vec<String>,
    omit_stages: Vec<String>,
    omit_managed_fields: Option<bool>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct GroupResources {
    group: String,
    resources: Vec<String>,
    resource_names: Vec<String>,
}

impl Rule {
    fn matches(&self, asked: &Attributes<'_>) -> bool {
        let user = asked.user;
        if !self.users.is_empty() && !has(&self.users, &user.name)
            || !self.user_groups.is_empty() && !user.groups.iter().any(|group| has(&self.user_groups, group))
            || !self.verbs.is_empty() && !has(&self.verbs, asked.verb)
        {
            return false;
        }
        if !self.namespaces.is_empty() || !self.resources.is_empty() {
            return asked.is_resource
                && (self.namespaces.is_empty() || has(&self.namespaces, asked.namespace))
                && (self.resources.is_empty() || self.resources.iter().any(|r| r.matches(asked)));
        }
        self.non_resource_urls.is_empty()
            || !asked.is_resource && self.non_resource_urls.iter().any(|url| path_matches(url, asked.path))
    }
}

impl GroupResources {
    fn matches(&self, asked: &Attributes<'_>) -> bool {
        if self.group != "*" && self.group != asked.api_group {
            return false;
        }
        self.resources.is_empty()
            || (self.resource_names.is_empty() || has(&self.resource_names, asked.name))
                && self.resources.iter().any(|r| resource_matches(r, asked.resource, asked.subresource))
    }
}

/// `*`, `pods`, `pods/log`, `*/log` or `pods/*`; the last one takes in `pods` too.
fn resource_matches(rule: &str, resource: &str, subresource: &str) -> bool {
    let Some((parent, child)) = rule.split_once('/') else {
        return rule == "*" || subresource.is_empty() && rule == resource;
    };
    child == "*" && parent == resource
        || !subresource.is_empty() && child == subresource && (parent == resource || parent == "*")
}

fn path_matches(rule: &str, path: &str) -> bool {
    rule == path || rule.ends_with('*') && path.starts_with(rule.trim_end_matches('*'))
}

fn has(list: &[String], wanted: &str) -> bool {
    list.iter().any(|item| item == wanted)
}

impl Document {
    fn validate(&self) -> Errors {
        let mut errors = Errors::new();
        validate_stages(&self.omit_stages, &FieldPath::of("omitStages"), &mut errors);
        for (i, rule) in self.rules.iter().enumerate() {
            rule.validate(&FieldPath::of("rules").index(i), &mut errors);
        }
        errors
    }
}

impl Rule {
    fn validate(&self, at: &FieldPath, errors: &mut Errors) {
        if self.level.is_empty() {
            errors.required(&at.child("level"), "");
        } else if Level::parse(&self.level).is_none() {
            errors.not_supported(&at.child("level"), self.level.as_str(), &Level::ALL.map(|(_, name)| name));
        }
        let urls = at.child("nonResourceURLs");
        for (i, url) in self.non_resource_urls.iter().enumerate().filter(|(_, url)| *url != "*") {
            if !url.starts_with('/') {
                let detail = "non-resource URL rules must begin with a '/' character";
                errors.invalid(&urls.index(i), url.as_str(), detail);
            }
            if url.strip_suffix('*').unwrap_or(url).contains('*') {
                let detail = "non-resource URL wildcards '*' must be the final character of the rule";
                errors.invalid(&urls.index(i), url.as_str(), detail);
            }
        }
        let resources = at.child("resources");
        for group in &self.resources {
            let wrong = names::dns1123_subdomain(&group.group);
            if !group.group.is_empty() && group.group != "*" && !wrong.is_empty() {
                errors.invalid(&resources.child("group"), group.group.as_str(), wrong.join(","));
            }
            if !group.resource_names.is_empty() && group.resources.is_empty() {
                let detail = "using resourceNames requires at least one resource";
                errors.invalid(&resources.child("resourceNames"), group.resource_names.clone(), detail);
            }
        }
        validate_stages(&self.omit_stages, &at.child("omitStages"), errors);
        let about_resources = !self.resources.is_empty() || !self.namespaces.is_empty();
        if about_resources && !self.non_resource_urls.is_empty() {
            let detail = "rules cannot apply to both regular resources and non-resource URLs";
            errors.invalid(&urls, self.non_resource_urls.clone(), detail);
        }
    }
}

fn validate_stages(stages: &[String], at: &FieldPath, errors: &mut Errors) {
    for (i, stage) in stages.iter().enumerate().filter(|(_, stage)| Stage::parse(stage).is_none()) {
        let allowed = Stage::ALL.map(|(_, name)| name).join(",");
        errors.invalid(&at.index(i), stage.as_str(), format!("allowed stages are {allowed}"));
    }
}

#[cfg(test)]
mod tests;
