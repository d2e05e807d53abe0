//! Small schemas in the shape of the real kinds, written as text.
//!
//! `<field> <type> [omitempty] [list=map(k,..)|set] [atomic] [patch=merge|replace|retainKeys[(key)]] [default=<json>]`,
//! a type being a scalar, `any`, the name of a type above, `*T`, `[]T` or `map[string]T`. Types ending in `?` in their
//! `type` line keep unknown fields.
#![allow(dead_code, clippy::expect_used, clippy::panic)]

use pawl_apply::Typed;
use pawl_schema::{Field, ListType, Node, NodeId, NodeKind, Object, Patch, Presence, Scalar, Schema, SchemaBuilder};

const KINDS: &str = "
type ObjectMeta
  name string omitempty
  generateName string omitempty
  namespace string omitempty
  uid string omitempty
  resourceVersion string omitempty
  generation int64 omitempty
  creationTimestamp *time omitempty
  labels map[string]string omitempty
  annotations map[string]string omitempty
  finalizers []string omitempty list=set patch=merge
  managedFields []any omitempty
type ConfigMap
  kind string omitempty
  apiVersion string omitempty
  metadata ObjectMeta omitempty
  data map[string]string omitempty
  immutable *bool omitempty
type LabelSelector
  matchLabels map[string]string omitempty
type ContainerPort
  name string omitempty
  containerPort int32
  protocol string omitempty default=\"TCP\"
type EnvVar
  name string
  value string omitempty
type Resources
  limits map[string]quantity omitempty
type Container
  name string
  image string omitempty
  args []string omitempty
  env []EnvVar omitempty list=map(name) patch=merge(name)
  ports []ContainerPort omitempty list=map(containerPort,protocol) patch=merge(containerPort)
  resources Resources omitempty
  imagePullPolicy string omitempty
type Volume
  name string
  emptyDir *any omitempty
  hostPath *any omitempty
type PodSpec
  volumes []Volume omitempty list=map(name) patch=merge,retainKeys(name)
  containers []Container list=map(name) patch=merge(name)
  tolerations []any omitempty
  nodeSelector map[string]string omitempty atomic
  securityContext *any omitempty
type PodTemplateSpec
  metadata ObjectMeta omitempty
  spec PodSpec omitempty
type RollingUpdate
  maxSurge *intstr omitempty
  maxUnavailable *intstr omitempty
type Strategy
  type string omitempty
  rollingUpdate *RollingUpdate omitempty
type DeploymentSpec
  replicas *int32 omitempty
  selector *LabelSelector atomic
  template PodTemplateSpec
  strategy Strategy omitempty patch=retainKeys
type Condition
  type string
  status string
type DeploymentStatus
  replicas int32 omitempty
  conditions []Condition omitempty list=map(type) patch=merge(type)
type Deployment
  kind string omitempty
  apiVersion string omitempty
  metadata ObjectMeta omitempty
  spec DeploymentSpec omitempty
  status DeploymentStatus omitempty
type ServicePort
  name string omitempty
  protocol string omitempty default=\"TCP\"
  port int32
  targetPort intstr omitempty
type ServiceSpec
  ports []ServicePort omitempty list=map(port,protocol) patch=merge(port)
  clusterIP string omitempty
  selector map[string]string omitempty atomic
type Service
  kind string omitempty
  apiVersion string omitempty
  metadata ObjectMeta omitempty
  spec ServiceSpec omitempty
type Item
  k *string omitempty
  v *string omitempty
  deep []Item omitempty list=map(k)
type Free?
  known *string omitempty
type WidgetSpec
  a *string omitempty
  n *int64 omitempty
  b *bool omitempty
  lm []Item omitempty list=map(k)
  st []string omitempty list=set
  at []string omitempty
  m map[string]Item omitempty
  p *Free omitempty
  am map[string]string omitempty atomic
  x *any omitempty
type WidgetStatus
  b *string omitempty
  c *string omitempty
type Widget
  kind *string omitempty
  apiVersion *string omitempty
  metadata *ObjectMeta omitempty
  spec *WidgetSpec omitempty
  status *WidgetStatus omitempty
";

pub struct Kinds(Schema);

impl Kinds {
    pub fn new() -> Self {
        Self::parse(KINDS)
    }

    /// The kinds, some lines of which are written otherwise.
    pub fn with(change: &[(&str, &str)]) -> Self {
        let text = change.iter().fold(KINDS.to_owned(), |text, (from, to)| {
            assert!(text.contains(from), "{from}");
            text.replace(from, to)
        });
        Self::parse(&text)
    }

    pub fn of(&self, kind: &str) -> Typed<'_> {
        Typed::new(self.0.named(kind).expect(kind))
    }

    /// A type of which nothing is known.
    pub fn unknown(&self) -> Typed<'_> {
        Typed::new(self.0.named("Anything").expect("Anything"))
    }

    fn parse(text: &str) -> Self {
        let mut builder = SchemaBuilder::new();
        builder.define("Anything", Node::new(NodeKind::Any, "any"));
        let mut lines = text.lines().filter(|line| !line.trim().is_empty()).peekable();
        while let Some(line) = lines.next() {
            let name = line.strip_prefix("type ").expect(line);
            let (name, open) = match name.strip_suffix('?') {
                Some(name) => (name, true),
                None => (name, false),
            };
            let mut fields = Vec::new();
            while let Some(line) = lines.next_if(|line| line.starts_with("  ")) {
                fields.push(field(&mut builder, line));
            }
            let mut node = Node::new(NodeKind::Object(Object::new(name, fields)), name);
            node.preserve_unknown = open;
            builder.define(name, node);
        }
        Self(builder.build().expect("all types are defined"))
    }
}

fn field(builder: &mut SchemaBuilder, line: &str) -> Field {
    let mut words = line.split_whitespace();
    let (name, kind) = (words.next().expect(line), words.next().expect(line));
    let pointer = kind.starts_with('*');
    let mut node = node(builder, kind.trim_start_matches('*'));
    let mut presence = Presence::Always;
    let mut default = None;
    for word in words {
        match word.split_once('=').unwrap_or((word, "")) {
            ("omitempty", _) => presence = Presence::OmitEmpty,
            ("atomic", _) => node.atomic = true,
            ("list", "set") => node.list = ListType::Set,
            ("list", keys) => node.list = ListType::Map(argument(keys).split(',').map(Into::into).collect()),
            ("patch", patch) => {
                let strategies = patch.split('(').next().unwrap_or_default();
                let has = |strategy| strategies.split(',').any(|s| s == strategy);
                node.patch = Patch {
                    merge: has("merge"),
                    replace: has("replace"),
                    retain_keys: has("retainKeys"),
                    merge_key: patch.contains('(').then(|| argument(patch).into()),
                };
            }
            ("default", value) => default = Some(serde_json::from_str(value).expect(line)),
            _ => panic!("{line}"),
        }
    }
    let mut field = Field::new(name, builder.add(node));
    (field.presence, field.pointer, field.default) = (presence, pointer, default);
    field
}

fn argument(text: &str) -> &str {
    text.split(['(', ')']).nth(1).expect(text)
}

fn node(builder: &mut SchemaBuilder, kind: &str) -> Node {
    let mut id = |kind: &str| -> NodeId {
        match builder.defined(kind) {
            Some(_) => builder.reference(kind),
            // A type may hold lists of itself.
            None if kind == "Item" => builder.reference(kind),
            None => {
                let node = node(builder, kind);
                builder.add(node)
            }
        }
    };
    let scalar = |scalar| Node::new(NodeKind::Scalar(scalar), kind);
    if let Some(items) = kind.strip_prefix("[]") {
        return Node::new(NodeKind::List(id(items)), kind);
    }
    if let Some(values) = kind.strip_prefix("map[string]") {
        return Node::new(NodeKind::Map(id(values)), kind);
    }
    match kind {
        "string" => scalar(Scalar::String),
        "int32" => scalar(Scalar::Int32),
        "int64" => scalar(Scalar::Int64),
        "bool" => scalar(Scalar::Bool),
        "time" => scalar(Scalar::Time),
        "quantity" => scalar(Scalar::Quantity),
        "intstr" => scalar(Scalar::IntOrString),
        "any" => Node::new(NodeKind::Any, kind),
        named => builder.defined(named).expect(named).clone(),
    }
}
