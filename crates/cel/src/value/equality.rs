//! Equality: of values of different types false, of declared data as its lists say.
//!
//! The left side decides: a declared set on the left compares as a set, on the
//! right it is a list like any other.

use super::{List, MAX_NESTING, Map, Val, number};
use crate::decl::{DeclKind, ListKind};
use crate::error::EvalError;
use serde_json::Value;
use std::cmp::Ordering;

impl<'a> Val<'a> {
    /// What `==` says.
    pub fn equals(&self, other: &Val<'a>) -> Result<bool, EvalError> {
        self.equals_at(other, 0)
    }

    fn equals_at(&self, other: &Val<'a>, depth: usize) -> Result<bool, EvalError> {
        if depth > MAX_NESTING {
            return Err(EvalError::new("values nest too deeply to be compared"));
        }
        Ok(match (self, other) {
            (Val::Null, Val::Null) => true,
            (Val::Null, _) | (_, Val::Null) => false,
            (Val::Bool(a), Val::Bool(b)) => a == b,
            (Val::Int(a), Val::Int(b)) => a == b,
            (Val::Uint(a), Val::Uint(b)) => a == b,
            (Val::Double(a), Val::Double(b)) => a == b,
            (Val::Double(d), Val::Int(i)) | (Val::Int(i), Val::Double(d)) => {
                !d.is_nan() && number::double_int(*d, *i) == Ordering::Equal
            }
            (Val::Double(d), Val::Uint(u)) | (Val::Uint(u), Val::Double(d)) => {
                !d.is_nan() && number::double_uint(*d, *u) == Ordering::Equal
            }
            (Val::Int(i), Val::Uint(u)) | (Val::Uint(u), Val::Int(i)) => number::int_uint(*i, *u) == Ordering::Equal,
            (Val::String(a), Val::String(b)) | (Val::Type(a), Val::Type(b)) => a == b,
            (Val::Bytes(a), Val::Bytes(b)) => a == b,
            (Val::Duration(a), Val::Duration(b)) => a == b,
            (Val::Timestamp(a), Val::Timestamp(b)) => a == b,
            (Val::Optional(a), Val::Optional(b)) => match (a, b) {
                (Some(a), Some(b)) => a.equals_at(b, depth + 1)?,
                (a, b) => a.is_none() == b.is_none(),
            },
            (Val::List(a), Val::List(b)) => lists(a, b, depth + 1)?,
            (Val::Map(a), Val::Map(b)) => maps(a, b, depth + 1)?,
            (Val::Opaque(a), Val::Opaque(b)) => a.equals(&**b).ok_or(EvalError::NO_OVERLOAD)?,
            (Val::Opaque(_), _) => return Err(EvalError::NO_OVERLOAD),
            (Val::List(a), _) if a.is_declared() => return Err(EvalError::NO_OVERLOAD),
            (Val::Map(Map::Json(_, decl)), _) if !matches!(decl.kind, DeclKind::Dyn) => {
                return Err(EvalError::NO_OVERLOAD);
            }
            _ => false,
        })
    }

    /// Equality within one type, as members of a set are told apart.
    pub(super) fn same(&self, other: &Val<'a>) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other) && self.equals(other).unwrap_or(false)
    }

    /// The values of the key fields of an element of a keyed list; only declared data has them.
    pub(super) fn list_key(&self, keys: &[String]) -> Option<Vec<Option<&'a Value>>> {
        match self {
            Val::Map(Map::Json(object, _)) => Some(keys.iter().map(|key| object.get(key)).collect()),
            _ => None,
        }
    }
}

fn lists<'a>(a: &List<'a>, b: &List<'a>, depth: usize) -> Result<bool, EvalError> {
    if a.len() != b.len() {
        return Ok(false);
    }
    match a.kind() {
        ListKind::Atomic => {
            for (x, y) in a.iter().zip(b.iter()) {
                if !x?.equals_at(&y?, depth)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        ListKind::Set => {
            let members = a.to_vec()?;
            for item in b.iter() {
                let item = item?;
                if !members.iter().any(|member| member.same(&item)) {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        ListKind::Keyed(keys) => {
            let members = a.to_vec()?;
            let known: Vec<_> = members.iter().map(|member| member.list_key(keys)).collect();
            for item in b.iter() {
                let item = item?;
                let key = item.list_key(keys);
                let found = known.iter().rposition(|known| known.is_some() && *known == key);
                let Some(member) = found.and_then(|index| members.get(index)) else { return Ok(false) };
                if !member.equals_at(&item, depth)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
    }
}

fn maps<'a>(a: &Map<'a>, b: &Map<'a>, depth: usize) -> Result<bool, EvalError> {
    if a.len() != b.len() {
        return Ok(false);
    }
    if let (Map::Json(left, decl), Map::Json(right, _)) = (a, b)
        && let DeclKind::Object(fields) = &decl.kind
    {
        // What is not declared cannot be read, only compared.
        for (key, value) in left.iter() {
            if fields.field_by_key(key).is_none() && right.get(key).is_some_and(|other| other != value) {
                return Ok(false);
            }
        }
    }
    for (key, value) in a.entries() {
        let value = match value {
            Ok(value) => Some(value),
            // A null field of an object is absent; so must it be on the other side.
            Err(_) if a.get(&key)?.is_none() => None,
            Err(error) => return Err(error),
        };
        match (value, b.get(&key)?) {
            (None, None) => {}
            (Some(x), Some(y)) => {
                if !x.equals_at(&y, depth)? {
                    return Ok(false);
                }
            }
            _ => return Ok(false),
        }
    }
    Ok(true)
}
