//! Scalars that have one form, and the numbers.

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use pawl_meta::quantity::Quantity;
use pawl_meta::{go, time};
use serde::de::SeqAccess;
use serde_json::{Number, Value};

use super::{Seed, UNTYPED};
use crate::{NodeKind, Scalar, built, go_base64, literals};

/// How often a document is read again to find out how a number is written in it.
const MAX_LOOKED_UP: usize = 16;

impl Seed<'_, '_> {
    /// Scalars that are written as strings and have one form.
    pub(super) fn special(self, scalar: Scalar, text: &str) -> Value {
        let kept = match scalar {
            Scalar::Bytes => go_base64::decode(text)
                .map(|bytes| BASE64.encode(bytes))
                .map_err(|at| format!("illegal base64 data at input byte {at}")),
            Scalar::Time => time::normalize(text),
            Scalar::MicroTime => time::normalize_micro(text),
            Scalar::Quantity => Quantity::kept(text).map_err(str::to_owned),
            Scalar::Duration => Ok(text.to_owned()),
            _ => return self.mismatch("string"),
        };
        kept.map_or_else(|why| self.refuse(why), Value::from)
    }

    /// Bytes may be listed one by one.
    pub(super) fn listed_bytes<'de, A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut bytes = Vec::new();
        while let Some(item) = seq.next_element_seed(Seed { of: UNTYPED.as_ref(), ..self })? {
            self.build(built::list(1))?;
            let byte = item.as_u64().and_then(|number| u8::try_from(number).ok());
            match (byte, &item) {
                (Some(byte), _) => bytes.push(byte),
                (_, Value::Null) => bytes.push(0),
                (_, Value::Number(number)) => {
                    self.mismatch_with(&format!("number {}", self.literal(number)), "uint8");
                }
                (_, other) => {
                    self.mismatch_with(go::json_kind(other), "uint8");
                }
            }
        }
        Ok(Value::from(BASE64.encode(bytes)))
    }

    pub(super) fn number(self, number: Number) -> Value {
        let scalar = match &self.node().kind {
            NodeKind::Scalar(scalar) if !self.node().lenient => *scalar,
            NodeKind::Any | NodeKind::Scalar(_) => Scalar::Float64,
            _ if self.node().lenient => Scalar::Float64,
            _ => return self.mismatch("number"),
        };
        let (least, most): (i128, i128) = match scalar {
            Scalar::Int32 | Scalar::IntOrString => (i32::MIN.into(), i32::MAX.into()),
            Scalar::Int64 => (i64::MIN.into(), i64::MAX.into()),
            Scalar::Uint32 => (0, u32::MAX.into()),
            Scalar::Uint64 => (0, u64::MAX.into()),
            Scalar::Float64 if self.beyond(&number).is_some() => {
                return self.mismatch_with(&format!("number {}", self.literal(&number)), "float64");
            }
            Scalar::Float64 => return Value::Number(untyped(number)),
            Scalar::Quantity => return self.special(scalar, &self.literal(&number)),
            Scalar::Time | Scalar::MicroTime | Scalar::Duration => return self.mismatch_with("number", "string"),
            Scalar::String | Scalar::Bytes | Scalar::Bool => return self.mismatch("number"),
        };
        let value = number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from));
        if value.is_some_and(|value| (least..=most).contains(&value)) {
            return Value::Number(number);
        }
        if self.is_plain_zero(&number) {
            return Value::from(0);
        }
        let go = if scalar == Scalar::IntOrString { "int32" } else { &self.node().go };
        self.mismatch_with(&format!("number {}", self.literal(&number)), go)
    }

    /// How the number that this one stands for is written.
    fn beyond(&self, number: &Number) -> Option<&str> {
        let beyond = self.reading.beyond.as_deref()?;
        (number.as_f64() == Some(literals::BEYOND)).then_some(beyond)
    }

    /// A number as it stands in the document, or as Go writes it where there is none. To find it the document is read again,
    /// which is not done for ever.
    fn literal(&self, number: &Number) -> String {
        let float = number.as_f64().filter(|_| number.is_f64());
        let written = || {
            let (text, float) = (self.reading.text?, float?);
            let mut notes = self.reading.notes.borrow_mut();
            notes.looked_up += 1;
            if notes.looked_up > MAX_LOOKED_UP { None } else { literals::of_float(text, float) }
        };
        let found = self.beyond(number).or_else(written);
        found.map_or_else(|| go::json(&Value::Number(number.clone())), str::to_owned)
    }

    /// `-0` is a whole number, and is read as a float; `-0.0` is none.
    fn is_plain_zero(&self, number: &Number) -> bool {
        let is_zero = number.is_f64() && number.as_f64() == Some(0.0);
        let is_written = || self.reading.text.is_none_or(|text| literals::of_float(text, -0.0) == Some("-0"));
        is_zero && *self.reading.notes.borrow_mut().plain_zero.get_or_insert_with(is_written)
    }
}

/// Outside of integer fields, Go writes a float without a fraction like an integer.
fn untyped(number: Number) -> Number {
    match number.as_f64() {
        #[expect(clippy::cast_possible_truncation, reason = "checked to be whole and small enough")]
        Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() < 9e15 => Number::from(float as i64),
        _ => number,
    }
}
