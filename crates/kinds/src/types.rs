//! The types of built-in kinds, read from `facts/types.facts` on first use.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use pawl_schema::{Field, ListType, Node, NodeId, NodeKind, Object, Patch, Presence, Scalar, Schema, SchemaBuilder};

use crate::facts;

/// The schema of everything built in, or what in the facts makes no sense.
pub(crate) fn load() -> Result<&'static Arc<Schema>, String> {
    static SCHEMA: OnceLock<Result<Arc<Schema>, String>> = OnceLock::new();
    SCHEMA.get_or_init(|| parse(&facts::text().types).map(Arc::new)).as_ref().map_err(Clone::clone)
}

/// The schema of everything built in.
#[expect(
    clippy::expect_used,
    reason = "the facts are a part of the binary: a server refuses to start with broken ones"
)]
pub fn schema() -> &'static Arc<Schema> {
    load().expect("the facts make sense")
}

/// The name under which OpenAPI publishes a type.
pub fn openapi_name(type_name: &str) -> Option<&'static str> {
    static NAMES: OnceLock<HashMap<&'static str, &'static str>> = OnceLock::new();
    let names = NAMES.get_or_init(|| {
        let lines = facts::text().types.lines().filter_map(|line| line.strip_prefix("type "));
        lines
            .filter_map(|line| {
                let mut words = line.split_whitespace();
                let name = words.next()?;
                Some((name, words.find_map(|w| w.strip_prefix("openapi="))?))
            })
            .collect()
    });
    names.get(type_name).copied()
}

struct Block<'f> {
    name: &'f str,
    flags: Vec<&'f str>,
    lines: Vec<&'f str>,
}

/// Reads the facts; the error names the first line that makes no sense.
fn parse(facts: &str) -> Result<Schema, String> {
    let blocks = blocks(facts)?;
    let by_name: HashMap<&str, &Block> = blocks.iter().map(|b| (b.name, b)).collect();
    let mut reader = Reader { by_name, builder: SchemaBuilder::new(), scalars: HashMap::new() };
    for block in &blocks {
        reader.define(block)?;
    }
    reader.builder.build().map_err(|missing| format!("types without a definition: {}", missing.join(", ")))
}

fn blocks(facts: &str) -> Result<Vec<Block<'_>>, String> {
    let mut blocks: Vec<Block> = Vec::new();
    for line in facts.lines() {
        let trimmed = line.trim();
        if trimmed.is_empty() || trimmed.starts_with('#') {
            continue;
        }
        if let Some(head) = line.strip_prefix("type ") {
            let mut words = head.split_whitespace();
            let name = words.next().ok_or_else(|| format!("a type without a name: {line}"))?;
            blocks.push(Block { name, flags: words.collect(), lines: Vec::new() });
        } else {
            blocks.last_mut().ok_or_else(|| format!("a field outside of a type: {line}"))?.lines.push(trimmed);
        }
    }
    Ok(blocks)
}

struct Reader<'f> {
    by_name: HashMap<&'f str, &'f Block<'f>>,
    builder: SchemaBuilder,
    /// Plain scalars without attributes, one node each.
    scalars: HashMap<&'f str, NodeId>,
}

/// The structs that fields are embedded in, outermost first.
#[derive(Default)]
struct Within<'f> {
    owner: Option<&'f str>,
    numbers: Vec<u32>,
    /// As Go names them; what every kind begins with has no name.
    names: Vec<&'f str>,
}

impl<'f> Within<'f> {
    fn embedding(&self, inner: &'f str, number: u32) -> Self {
        let numbers = self.numbers.iter().copied().chain((number > 0).then_some(number)).collect();
        let name = inner.rsplit('.').next().filter(|name| *name != "TypeMeta");
        Self { owner: Some(inner), numbers, names: self.names.iter().copied().chain(name).collect() }
    }
}

impl<'f> Reader<'f> {
    fn define(&mut self, block: &Block<'f>) -> Result<(), String> {
        let node = if block.flags.contains(&"special") {
            Node::new(special(block.name), go_name(block.name))
        } else {
            let mut fields = Vec::new();
            self.fields(block, &Within::default(), &mut fields)?;
            let mut node = Node::new(NodeKind::Object(Object::new(block.name, fields)), go_name(block.name));
            node.atomic = block.flags.contains(&"struct=atomic");
            node
        };
        self.builder.define(block.name, node);
        Ok(())
    }

    fn fields(&mut self, block: &Block<'f>, within: &Within<'_>, fields: &mut Vec<Field>) -> Result<(), String> {
        for line in &block.lines {
            let wrong = || format!("{}: {line}", block.name);
            let mut words = line.split_whitespace();
            let (name, number, kind) = match (words.next(), words.next(), words.next()) {
                (Some(name), Some(number), Some(kind)) => (name, number, kind),
                _ => return Err(wrong()),
            };
            let number: u32 = if number == "-" { 0 } else { number.parse().map_err(|_| wrong())? };
            if name == "inline" {
                let inner = *self.by_name.get(kind.trim_start_matches('*')).ok_or_else(wrong)?;
                self.fields(inner, &within.embedding(inner.name, number), fields)?;
                continue;
            }
            let attributes: Vec<&str> = words.collect();
            let (kind, pointer) = match kind.strip_prefix('*') {
                Some(kind) => (kind, true),
                None => (kind, false),
            };
            let mut field = Field::new(name, self.node(kind, &attributes)?);
            field.pointer = pointer;
            field.number = number;
            field.inline = within.numbers.clone();
            field.owner = within.owner.map(Into::into);
            field.embedded = within.names.join(".").into();
            field.presence = Presence::Always;
            for attribute in attributes {
                match attribute.split_once('=') {
                    None if attribute == "omitempty" => field.presence = Presence::OmitEmpty,
                    None if attribute == "omitzero" => field.presence = Presence::OmitZero,
                    None if attribute == "required" => field.required = true,
                    None if attribute == "keepempty" => field.keep_empty = true,
                    None if attribute == "nullempty" => field.null_is_empty = true,
                    Some(("default", json)) => field.default = Some(serde_json::from_str(json).map_err(|_| wrong())?),
                    Some(("enum", values)) => {
                        field.allowed = values.split('|').map(|v| v.replace("%20", " ").into()).collect();
                    }
                    Some(("list" | "map" | "struct" | "patch" | "go", _)) => {}
                    _ => return Err(wrong()),
                }
            }
            fields.push(field);
        }
        Ok(())
    }

    /// The node of a type expression with the attributes of the field that uses it.
    fn node(&mut self, kind: &'f str, attributes: &[&str]) -> Result<NodeId, String> {
        let shaped = attributes.iter().any(|a| ["list=", "map=", "struct=", "patch="].iter().any(|p| a.starts_with(p)));
        let (expression, wrapper) = match kind.split_once(':') {
            Some((expression, name)) => (expression, Some(name)),
            None => (kind, None),
        };
        let mut node = if let Some(item) = expression.strip_prefix("[]") {
            let wrapped = wrapper.is_some_and(|w| self.by_name.get(w).is_some_and(|b| b.flags.contains(&"wrapped")));
            let item_kind = match wrapper {
                Some(_) if !wrapped => &kind["[]".len()..],
                _ => item,
            };
            let item = self.node(item_kind.trim_start_matches('*'), &[])?;
            let mut node =
                Node::new(NodeKind::List(item), go_name(if wrapped { wrapper.unwrap_or(kind) } else { kind }));
            node.wrapped = wrapped;
            node
        } else if let Some(value) = kind.strip_prefix("map[string]") {
            let inner = self.node(value.trim_start_matches('*'), &[])?;
            Node::new(NodeKind::Map(inner), go_name(kind))
        } else if let Some(scalar) = scalar(expression) {
            if !shaped && let Some(id) = self.scalars.get(kind) {
                return Ok(*id);
            }
            let id = self.builder.add(Node::new(scalar, go_name(wrapper.unwrap_or(expression))));
            self.scalars.insert(kind, id);
            return Ok(id);
        } else {
            let block = self.by_name.get(kind).ok_or_else(|| format!("no such type: {kind}"))?;
            if !shaped {
                return Ok(self.builder.reference(kind));
            }
            // A use with attributes of its own: the same fields, another node.
            let mut fields = Vec::new();
            let block = *block;
            if block.flags.contains(&"special") {
                Node::new(special(kind), go_name(kind))
            } else {
                self.fields(block, &Within::default(), &mut fields)?;
                let mut node = Node::new(NodeKind::Object(Object::new(kind, fields)), go_name(kind));
                node.atomic = block.flags.contains(&"struct=atomic");
                node
            }
        };
        for attribute in attributes {
            match attribute.split_once('=') {
                Some(("list", how)) => node.list = list_type(how)?,
                Some(("map" | "struct", how)) => node.atomic = how == "atomic",
                Some(("patch", how)) => node.patch = patch(how),
                Some(("go", name)) => node.go = name.into(),
                _ => {}
            }
        }
        Ok(self.builder.add(node))
    }
}

fn scalar(name: &str) -> Option<NodeKind> {
    Some(match name {
        "string" => NodeKind::Scalar(Scalar::String),
        "bool" => NodeKind::Scalar(Scalar::Bool),
        "int" | "int64" => NodeKind::Scalar(Scalar::Int64),
        "int32" => NodeKind::Scalar(Scalar::Int32),
        "uint32" => NodeKind::Scalar(Scalar::Uint32),
        "uint64" => NodeKind::Scalar(Scalar::Uint64),
        "float64" => NodeKind::Scalar(Scalar::Float64),
        "bytes" => NodeKind::Scalar(Scalar::Bytes),
        "any" => NodeKind::Any,
        _ => return None,
    })
}

fn special(name: &str) -> NodeKind {
    match name {
        "meta.v1.Time" => NodeKind::Scalar(Scalar::Time),
        "meta.v1.MicroTime" => NodeKind::Scalar(Scalar::MicroTime),
        "meta.v1.Duration" => NodeKind::Scalar(Scalar::Duration),
        "api.resource.Quantity" => NodeKind::Scalar(Scalar::Quantity),
        "util.intstr.IntOrString" => NodeKind::Scalar(Scalar::IntOrString),
        _ => NodeKind::Any,
    }
}

fn list_type(how: &str) -> Result<ListType, String> {
    if let Some(keys) = how.strip_prefix("map(").and_then(|h| h.strip_suffix(')')) {
        return Ok(ListType::Map(keys.split(',').map(Into::into).collect()));
    }
    match how {
        "set" => Ok(ListType::Set),
        "atomic" => Ok(ListType::Atomic),
        _ => Err(format!("no such list type: {how}")),
    }
}

/// `merge,retainKeys(name)`
fn patch(how: &str) -> Patch {
    let (strategies, key) = match how.split_once('(') {
        Some((strategies, key)) => (strategies, Some(key.trim_end_matches(')'))),
        None => (how, None),
    };
    let has = |s: &str| strategies.split(',').any(|x| x == s);
    Patch {
        merge: has("merge"),
        replace: has("replace"),
        retain_keys: has("retainKeys"),
        merge_key: key.map(Into::into),
    }
}

/// `core.v1.PodSpec` is `v1.PodSpec` in Go's messages; `[]core.v1.Container` is `[]v1.Container`.
fn go_name(kind: &str) -> String {
    if let Some(item) = kind.strip_prefix("[]") {
        return format!("[]{}", go_name(item));
    }
    if kind == "map[string]api.resource.Quantity" {
        return "v1.ResourceList".to_owned();
    }
    if let Some(value) = kind.strip_prefix("map[string]") {
        return format!("map[string]{}", go_name(value));
    }
    if let Some((_, name)) = kind.split_once(':') {
        return go_name(name);
    }
    match kind {
        "bytes" => "[]uint8".to_owned(),
        "any" => "interface {}".to_owned(),
        _ => {
            let mut parts: Vec<&str> = kind.rsplit('.').take(2).collect();
            parts.reverse();
            parts.join(".")
        }
    }
}

/// Whether a value may be a default: parsed here so that the table test can look at all of them.
#[cfg(test)]
fn defaults(schema: &Schema) -> Vec<(String, serde_json::Value)> {
    let mut found = Vec::new();
    for (name, of) in schema.types() {
        for field in of.object().into_iter().flat_map(pawl_schema::ObjectRef::fields) {
            found.extend(field.default.clone().map(|d| (format!("{name}.{}", field.name), d)));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_facts_are_well_formed() {
        let schema = parse(&facts::text().types).unwrap();
        assert!(schema.types().count() > 600);
        assert!(!defaults(&schema).is_empty());
        let pod = schema.named("core.v1.Pod").unwrap();
        let containers = pod.at("spec.containers").unwrap();
        assert_eq!(containers.node().list, ListType::Map(vec!["name".into()]));
        assert_eq!(containers.node().patch.merge_key.as_deref(), Some("name"));
        assert_eq!(&*pod.at("spec.restartPolicy").unwrap().node().go, "v1.RestartPolicy");
        let volume = schema.named("core.v1.Volume").unwrap().object().unwrap();
        assert_eq!(volume.field("secret").unwrap().inline, [2]);
        let rule = schema.named("admissionregistration.v1.NamedRuleWithOperations").unwrap().object().unwrap();
        assert_eq!(&*rule.field("apiGroups").unwrap().embedded, "RuleWithOperations.Rule");
        let secret = schema.named("core.v1.Secret").unwrap().object().unwrap();
        assert_eq!(&*secret.field("kind").unwrap().embedded, "");
    }

    #[test]
    fn names_are_gos() {
        assert_eq!(go_name("map[string]bytes"), "map[string][]uint8");
        assert_eq!(go_name("[]core.v1.Container"), "[]v1.Container");
        assert_eq!(go_name("map[string]api.resource.Quantity"), "v1.ResourceList");
        assert_eq!(go_name("string:types.UID"), "types.UID");
    }
}
