//! What the tests share: a codec of everything built in, and objects made from its schema.
#![allow(dead_code, reason = "each test uses its part")]

use pawl_protobuf::Codec;
use pawl_schema::{FieldRef, ObjectRef, Scalar, Schema, TypeKind, TypeRef, decode_value};
use serde_json::{Map, Value, json};

pub fn codec() -> Codec<'static> {
    Codec::new(pawl_kinds::schema(), kind)
}

/// The type of a kind: types are named after the first word of their group. Options and `Status` are of every group.
pub fn kind(api_version: &str, kind: &str) -> Option<TypeRef<'static>> {
    let schema = pawl_kinds::schema();
    let (group, version) = api_version.split_once('/').unwrap_or(("core", api_version));
    let package = group.split('.').next().unwrap_or(group);
    schema.named(&format!("{package}.{version}.{kind}")).or_else(|| schema.named(&format!("meta.v1.{kind}")))
}

/// The types that have a message, by name.
pub fn messages(schema: &Schema) -> Vec<(&str, TypeRef<'_>)> {
    let mut types: Vec<_> = schema
        .types()
        .filter(|(_, of)| of.object().into_iter().flat_map(ObjectRef::fields).any(is_on_the_wire))
        .collect();
    types.sort_unstable_by_key(|(name, _)| *name);
    types
}

/// The type meta is the envelope's.
pub fn is_on_the_wire(field: FieldRef<'_>) -> bool {
    field.number > 0 && (field.owner.is_none() || !field.inline.is_empty())
}

/// Fields of the table that the published types do not have: Pawl's own, and those that are newer.
pub const NEWER: [(&str, &str); 14] = [
    ("core.v1.PodSpec", "schedulingGroup"),
    ("core.v1.PodStatus", "nodeAllocatableResourceClaimStatuses"),
    ("core.v1.ResourceHealth", "message"),
    ("core.v1.VolumeMountStatus", "volumeStatus"),
    ("meta.v1.DeleteOptions", "ignoreLiens"),
    ("meta.v1.ListMeta", "shardInfo"),
    ("meta.v1.ListOptions", "shardSelector"),
    ("meta.v1.ObjectMeta", "liens"),
    ("resource.v1.Device", "nodeAllocatableResourceMappings"),
    ("resource.v1.DeviceAttribute", "bools"),
    ("resource.v1.DeviceAttribute", "ints"),
    ("resource.v1.DeviceAttribute", "strings"),
    ("resource.v1.DeviceAttribute", "versions"),
    ("storage.v1.CSIDriverSpec", "preventPodSchedulingIfMissing"),
];

/// Makes objects of a type, the same ones for the same seed.
pub struct Generator<'s> {
    schema: &'s Schema,
    seed: u64,
    /// Only what the published types have and write in the same way: nothing newer, no empty values in maps.
    published: bool,
    /// How many objects may still be made: some types hold themselves many times over.
    objects: usize,
}

impl<'s> Generator<'s> {
    pub fn new(schema: &'s Schema, seed: u64) -> Self {
        Self { schema, seed, published: false, objects: 300 }
    }

    pub fn published(schema: &'s Schema, seed: u64) -> Self {
        Self { published: true, ..Self::new(schema, seed) }
    }

    pub fn object(&mut self, of: TypeRef<'_>, depth: usize) -> Map<String, Value> {
        let object = of.object().expect("an object");
        let mut map = Map::new();
        self.objects = self.objects.saturating_sub(1);
        for field in object.fields().filter(|field| is_on_the_wire(*field)) {
            let newer = NEWER.contains(&(field.owner.as_deref().unwrap_or(object.name()), &*field.name));
            if self.published && newer {
                continue;
            }
            let chance = [70, 60, 50, 40, 30, 20, 10].get(depth).copied().unwrap_or(0);
            if self.objects > 0 && self.below(100) < chance {
                map.insert(field.name.to_string(), self.value(field.of(), depth + 1));
            }
        }
        map
    }

    fn value(&mut self, of: TypeRef<'_>, depth: usize) -> Value {
        match of.kind() {
            TypeKind::Object(_) => Value::Object(self.object(of, depth)),
            TypeKind::List(item) => {
                let count = 1 + self.below(3);
                (0..count).map(|_| self.value(item, depth)).collect()
            }
            TypeKind::Map(value) => {
                let mut entries = Map::new();
                for _ in 0..=self.below(3) {
                    let value = self.value(value, depth);
                    // Some implementations leave an empty value out.
                    let empty = value == "" || value.as_object().is_some_and(Map::is_empty);
                    if !(empty && self.published) {
                        entries.insert(self.word(), value);
                    }
                }
                Value::Object(entries)
            }
            TypeKind::Scalar(scalar) => self.scalar(scalar),
            TypeKind::Any => self.any(&of.node().go, depth),
        }
    }

    fn scalar(&mut self, scalar: Scalar) -> Value {
        match scalar {
            Scalar::String if self.below(8) == 0 => Value::from(""),
            Scalar::String => Value::from(self.word()),
            Scalar::Bytes => Value::from(["", "AA==", "AAECAwQF", "//79"][self.below(4)]),
            Scalar::Bool => Value::from(self.below(2) == 0),
            Scalar::Int32 => Value::from([0, 1, -1, 80, 300, i32::MAX, i32::MIN][self.below(7)]),
            Scalar::Int64 => Value::from([0, 1, -1, 127, 128, i64::MAX, i64::MIN][self.below(7)]),
            Scalar::Uint32 | Scalar::Uint64 => Value::from(self.below(1000)),
            Scalar::Float64 => [json!(0), json!(2), json!(-0.25), json!(1e300)][self.below(4)].clone(),
            Scalar::Time => Value::from(self.time()),
            Scalar::MicroTime => {
                let time = self.time();
                Value::from(format!("{}.{:06}Z", time.trim_end_matches('Z'), self.below(1_000_000)))
            }
            Scalar::Duration => Value::from(["0s", "1.5s", "1h0m0s", "-3ms"][self.below(4)]),
            Scalar::Quantity => Value::from(["0", "100m", "1Gi", "2k", "1500", "-5", "12e6"][self.below(7)]),
            Scalar::IntOrString if self.below(2) == 0 => Value::from(self.below(70_000)),
            Scalar::IntOrString => Value::from(["", "25%", "http"][self.below(3)]),
        }
    }

    fn any(&mut self, go: &str, depth: usize) -> Value {
        let props = self.schema.named("apiextensions.v1.JSONSchemaProps").expect("the type of JSON schemas");
        match (go, self.below(2)) {
            ("v1.FieldsV1", _) => json!({"f:metadata": {"f:labels": {".": {}}}}),
            ("v1.JSONSchemaPropsOrBool", 0) => Value::from(self.below(2) == 0),
            ("v1.JSONSchemaPropsOrArray", 0) => json!([self.settled(props, depth), self.settled(props, depth)]),
            ("v1.JSONSchemaPropsOrStringArray", 0) => json!([self.word(), self.word()]),
            (go, _) if go.starts_with("v1.JSONSchemaPropsOr") => self.settled(props, depth),
            ("runtime.RawExtension", _) => json!({"a": [1, -2, "x", null, true], "b": {"c": 0.5}}),
            (_, 0) => json!({"x": [1, "two"]}),
            _ => Value::from(self.word()),
        }
    }

    /// An object in its one form: inside of a union the JSON decoder does not look.
    fn settled(&mut self, of: TypeRef<'_>, depth: usize) -> Value {
        let object = self.object(of, depth);
        Value::Object(decode_value(of, Value::Object(object)).expect("a good object").object)
    }

    fn time(&mut self) -> String {
        pawl_meta::time::seconds(i64::try_from(self.below(4_000_000_000)).unwrap_or(1) - 100_000_000)
    }

    fn word(&mut self) -> String {
        let words = ["a", "b-c", "name", "kubernetes.io/name", "ünïcödé", "line\nbreak", "\"quoted\"", "0"];
        let word = words[self.below(words.len())];
        if self.below(20) == 0 { word.repeat(60) } else { format!("{word}{}", self.below(100)) }
    }

    /// A number below `limit`, by the generator of Steele and others (SplitMix64).
    fn below(&mut self, limit: usize) -> usize {
        self.seed = self.seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.seed;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((z ^ (z >> 31)) % limit as u64).unwrap_or(0)
    }
}
