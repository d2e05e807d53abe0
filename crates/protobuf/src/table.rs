//! The table of field numbers, made from a schema: which number of which message is which field of which object.

use std::collections::HashMap;

use pawl_schema::{FieldRef, ObjectRef, Scalar, Schema, TypeKind, TypeRef};

use crate::wire::{BYTES, FIXED64, Payload, VARINT};

pub(crate) struct Table<'s> {
    messages: Vec<Message<'s>>,
    by_type: HashMap<TypeRef<'s>, MessageId>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MessageId(usize);

/// The fields of a type on the wire.
pub(crate) struct Message<'s> {
    pub(crate) object: ObjectRef<'s>,
    /// In ascending order of numbers.
    pub(crate) slots: Vec<Slot<'s>>,
}

pub(crate) struct Slot<'s> {
    pub(crate) number: u32,
    pub(crate) content: Content<'s>,
}

pub(crate) enum Content<'s> {
    Field(FieldSlot<'s>),
    /// An embedded struct: a message of its own, whose fields are fields of the same object.
    Embedded(Vec<Slot<'s>>),
}

pub(crate) struct FieldSlot<'s> {
    pub(crate) field: FieldRef<'s>,
    pub(crate) many: Many,
    pub(crate) shape: Shape,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Many {
    One,
    List,
    /// A list of entries, each a message of key and value.
    Map,
}

/// What one value looks like on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    Scalar(Scalar),
    Message(MessageId),
    /// A list of strings in a message around it: `Verbs`, `ExtraValue`. Unlike a plain list, it tells empty from none.
    Strings,
    /// A message with bytes that hold JSON (`JSON`, `FieldsV1`) or, in a `RawExtension`, a sealed message.
    Raw,
    /// `JSONSchemaPropsOrBool`
    SchemaOrBool(MessageId),
    /// `JSONSchemaPropsOrArray`
    SchemaOrSchemas(MessageId),
    /// `JSONSchemaPropsOrStringArray`
    SchemaOrStrings(MessageId),
}

impl Shape {
    pub(crate) fn wire_type(self) -> u8 {
        match self {
            Self::Scalar(scalar) => match scalar {
                Scalar::Bool | Scalar::Int32 | Scalar::Int64 | Scalar::Uint32 | Scalar::Uint64 => VARINT,
                Scalar::Float64 => FIXED64,
                Scalar::String
                | Scalar::Bytes
                | Scalar::Time
                | Scalar::MicroTime
                | Scalar::Duration
                | Scalar::Quantity
                | Scalar::IntOrString => BYTES,
            },
            _ => BYTES,
        }
    }

    /// What stands for the zero value: an entry of a map may leave its value out.
    pub(crate) fn zero(self) -> Payload<'static> {
        match self.wire_type() {
            VARINT => Payload::Varint(0),
            FIXED64 => Payload::Fixed64(0),
            _ => Payload::Bytes(&[]),
        }
    }

    /// Whether Go has a nil for it without a pointer, which it does not write.
    pub(crate) fn has_nil(self) -> bool {
        matches!(self, Self::Strings | Self::Scalar(Scalar::Bytes))
    }
}

impl<'s> Table<'s> {
    pub(crate) fn new(schema: &'s Schema) -> Self {
        let mut builder = Builder { schema, by_type: HashMap::new(), pending: Vec::new(), count: 0 };
        for (_, of) in schema.types().filter(|(_, of)| of.object().is_some()) {
            builder.message(of);
        }
        let mut messages: Vec<(MessageId, Message<'s>)> = Vec::new();
        while let Some((of, id)) = builder.pending.pop() {
            if let Some(object) = of.object() {
                let slots = builder.slots(object);
                messages.push((id, Message { object, slots }));
            }
        }
        // Every id was pending once, so that in order of ids each message stands at its own.
        messages.sort_by_key(|(id, _)| id.0);
        Self { messages: messages.into_iter().map(|(_, message)| message).collect(), by_type: builder.by_type }
    }

    pub(crate) fn message(&self, of: TypeRef<'_>) -> Option<&Message<'s>> {
        self.messages.get(self.by_type.get(&of)?.0)
    }

    pub(crate) fn get(&self, id: MessageId) -> &Message<'s> {
        #[expect(clippy::indexing_slicing, reason = "ids are indexes into the table that made them")]
        &self.messages[id.0]
    }
}

impl Message<'_> {
    /// Types that upstream keeps out of protobuf have fields but no numbers.
    pub(crate) fn is_on_the_wire(&self) -> bool {
        !self.slots.is_empty() || self.object.fields().all(is_type_meta)
    }
}

/// A field of a struct that is embedded without a message: the type meta, which the envelope carries.
fn is_type_meta(field: FieldRef<'_>) -> bool {
    field.owner.is_some() && field.inline.is_empty()
}

pub(crate) fn find<'t, 's>(slots: &'t [Slot<'s>], number: u32) -> Option<&'t Content<'s>> {
    // Numbers mostly count up from one without a gap.
    let guess = slots.get((number as usize).wrapping_sub(1)).filter(|slot| slot.number == number);
    match guess {
        Some(slot) => Some(&slot.content),
        None => {
            let at = slots.binary_search_by_key(&number, |slot| slot.number).ok()?;
            slots.get(at).map(|slot| &slot.content)
        }
    }
}

struct Builder<'s> {
    schema: &'s Schema,
    by_type: HashMap<TypeRef<'s>, MessageId>,
    pending: Vec<(TypeRef<'s>, MessageId)>,
    count: usize,
}

impl<'s> Builder<'s> {
    /// The id of the message of an object, which may be made later.
    fn message(&mut self, of: TypeRef<'s>) -> MessageId {
        if let Some(id) = self.by_type.get(&of) {
            return *id;
        }
        let id = MessageId(self.count);
        self.count += 1;
        self.by_type.insert(of, id);
        self.pending.push((of, id));
        id
    }

    fn slots(&mut self, object: ObjectRef<'s>) -> Vec<Slot<'s>> {
        let mut slots = Vec::with_capacity(object.fields().len());
        for field in object.fields().filter(|field| field.number > 0 && !is_type_meta(*field)) {
            if let Some((many, shape)) = self.place(field.of()) {
                let entry = FieldSlot { field, many, shape };
                insert(&mut slots, &field.inline, Slot { number: field.number, content: Content::Field(entry) });
            }
        }
        sort(&mut slots);
        slots
    }

    fn place(&mut self, of: TypeRef<'s>) -> Option<(Many, Shape)> {
        match of.kind() {
            TypeKind::List(item) if !of.node().wrapped => Some((Many::List, self.shape(item)?)),
            TypeKind::Map(value) => Some((Many::Map, self.shape(value)?)),
            _ => Some((Many::One, self.shape(of)?)),
        }
    }

    /// `None` for what protobuf cannot say: lists of lists, and untyped values.
    fn shape(&mut self, of: TypeRef<'s>) -> Option<Shape> {
        let node = of.node();
        match of.kind() {
            TypeKind::Object(_) => Some(Shape::Message(self.message(of))),
            TypeKind::Scalar(scalar) => Some(Shape::Scalar(scalar)),
            TypeKind::List(item) => {
                let strings = matches!(item.kind(), TypeKind::Scalar(Scalar::String));
                (node.wrapped && strings).then_some(Shape::Strings)
            }
            TypeKind::Map(_) => None,
            // To the schema these are any value; their names tell what is around them on the wire.
            TypeKind::Any => match &*node.go {
                "runtime.RawExtension" | "v1.JSON" | "v1.FieldsV1" => Some(Shape::Raw),
                "v1.JSONSchemaPropsOrBool" => Some(Shape::SchemaOrBool(self.json_schema()?)),
                "v1.JSONSchemaPropsOrArray" => Some(Shape::SchemaOrSchemas(self.json_schema()?)),
                "v1.JSONSchemaPropsOrStringArray" => Some(Shape::SchemaOrStrings(self.json_schema()?)),
                _ => None,
            },
        }
    }

    fn json_schema(&mut self) -> Option<MessageId> {
        let schemas = self.schema.named("apiextensions.v1.JSONSchemaProps")?;
        Some(self.message(schemas))
    }
}

/// Adds a slot below the embedded messages around it.
fn insert<'s>(slots: &mut Vec<Slot<'s>>, chain: &[u32], slot: Slot<'s>) {
    let Some((number, chain)) = chain.split_first() else {
        slots.push(slot);
        return;
    };
    let embedded = slots.iter_mut().find_map(|slot| match &mut slot.content {
        Content::Embedded(inner) if slot.number == *number => Some(inner),
        _ => None,
    });
    match embedded {
        Some(inner) => insert(inner, chain, slot),
        None => {
            let mut inner = Vec::new();
            insert(&mut inner, chain, slot);
            slots.push(Slot { number: *number, content: Content::Embedded(inner) });
        }
    }
}

fn sort(slots: &mut [Slot<'_>]) {
    slots.sort_by_key(|slot| slot.number);
    for slot in slots {
        if let Content::Embedded(inner) = &mut slot.content {
            sort(inner);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(slots: &[Slot<'_>]) -> usize {
        let of = |slot: &Slot<'_>| match &slot.content {
            Content::Field(_) => 1,
            Content::Embedded(inner) => count(inner),
        };
        slots.iter().map(of).sum()
    }

    #[test]
    fn every_numbered_field_has_its_slot() {
        let schema = pawl_kinds::schema();
        let table = Table::new(schema);
        for (name, of) in schema.types() {
            let Some(object) = of.object() else { continue };
            let message = table.message(of).unwrap();
            assert_eq!(message.object.name(), object.name());
            let numbered = object.fields().filter(|field| field.number > 0 && !is_type_meta(*field)).count();
            assert_eq!(count(&message.slots), numbered, "{name}");
            assert!(message.slots.is_sorted_by(|a, b| a.number < b.number), "{name}");
        }
        let table_type = table.message(schema.named("meta.v1.Table").unwrap()).unwrap();
        assert!(!table_type.is_on_the_wire());
    }

    #[test]
    fn embedded_structs_are_messages() {
        let schema = pawl_kinds::schema();
        let table = Table::new(schema);
        let volume = table.message(schema.named("core.v1.Volume").unwrap()).unwrap();
        assert_eq!(volume.slots.iter().map(|slot| slot.number).collect::<Vec<_>>(), [1, 2]);
        let Some(Content::Embedded(sources)) = find(&volume.slots, 2) else { panic!("no volume source") };
        let Some(Content::Field(secret)) = find(sources, 6) else { panic!("no secret") };
        assert_eq!(&*secret.field.name, "secret");
    }
}
