//! Variables and what is selected from them.

use super::eval::{Evaluated, Run, Slot};
use super::plan::{Attribute, Base, Plan, Qualifier, QualifierKey};
use crate::decl::DeclType;
use crate::error::EvalError;
use crate::value::{List, Map, Val, number};
use serde_json::Value;

impl Attribute {
    pub fn is_conditional(&self) -> bool {
        matches!(self.base, Base::Conditional(_))
    }
}

impl<'a> Run<'a, '_> {
    /// The value of an attribute. Its selections are charged, the attribute itself is not.
    #[inline]
    pub fn resolve(&mut self, attribute: &'a Attribute) -> Evaluated<'a> {
        if let Some((value, decl)) = self.declared(attribute) {
            self.charge(attribute.qualifiers.len() as u64)?;
            return Val::from_json(value, decl);
        }
        let value = self.base(&attribute.base)?;
        if attribute.qualifiers.is_empty() { Ok(value) } else { self.qualify(value, &attribute.qualifiers) }
    }

    /// What plain names select from declared objects, without making values on the way.
    ///
    /// Nothing if anything is out of the ordinary; then the long way is gone.
    fn declared(&self, attribute: &'a Attribute) -> Option<(&'a Value, &'a DeclType)> {
        let base = match &attribute.base {
            Base::Slot(slot) => match self.slots.get(*slot) {
                Some(Slot::Value(Ok(value))) => value,
                _ => return None,
            },
            Base::Variable(index) => self.variable(*index)?,
            _ => return None,
        };
        let Val::Map(Map::Json(object, decl)) = base else { return None };
        let (mut object, mut decl): (&'a serde_json::Map<String, Value>, &'a DeclType) = (object, decl);
        let mut found: Option<(&'a Value, &'a DeclType)> = None;
        for qualifier in &attribute.qualifiers {
            let (QualifierKey::Name(name), false) = (&qualifier.key, qualifier.optional) else { return None };
            if let Some((value, inner)) = found {
                let Value::Object(inner_object) = value else { return None };
                (object, decl) = (inner_object, inner);
            }
            let field = name.find(decl.as_object()?)?;
            let value = object.get(&*field.key).filter(|value| !value.is_null())?;
            found = Some((value, &field.decl));
        }
        found
    }

    fn base(&mut self, base: &'a Base) -> Evaluated<'a> {
        match base {
            Base::Slot(slot) => self.slot(*slot),
            Base::Variable(index) => match self.variable(*index) {
                Some(value) => Ok(value.clone()),
                None => {
                    let name = self.names.get(*index).map_or("", |name| name);
                    Err(EvalError::new(format!("no such attribute(s): {name}")))
                }
            },
            Base::Missing(name) => Err(EvalError::new(format!("no such attribute(s): {name}"))),
            Base::Computed(plan) => self.eval(plan),
            Base::Conditional(conditional) => match self.eval(&conditional.condition)? {
                Val::Bool(true) => self.resolve(&conditional.truthy),
                Val::Bool(false) => self.resolve(&conditional.falsy),
                _ => Err(EvalError::NO_OVERLOAD),
            },
        }
    }

    fn slot(&mut self, slot: usize) -> Evaluated<'a> {
        let lazy: &'a Plan = match self.slots.get(slot) {
            Some(Slot::Value(value)) => return value.clone(),
            Some(Slot::Lazy(plan)) => plan,
            _ => return Err(EvalError::new("no such attribute(s)")),
        };
        let value = self.eval(lazy);
        self.put(slot, value.clone());
        value
    }

    pub fn put(&mut self, slot: usize, value: Evaluated<'a>) {
        if let Some(place) = self.slots.get_mut(slot) {
            *place = Slot::Value(value);
        }
    }

    fn qualify(&mut self, value: Val<'a>, qualifiers: &'a [Qualifier]) -> Evaluated<'a> {
        let (mut value, mut optional) = match value {
            Val::Optional(None) => return Ok(value),
            Val::Optional(Some(inner)) => ((*inner).clone(), true),
            value => (value, false),
        };
        for qualifier in qualifiers {
            optional |= qualifier.optional;
            let found = self.select(&value, &qualifier.key);
            if let Err(EvalError::CostLimit) = found {
                return found.map(|_| Val::Null);
            }
            // What is not there costs nothing when it may be missing.
            if !optional || matches!(found, Ok(Selected::Found(_))) {
                self.charge(1)?;
            }
            value = match found? {
                Selected::Found(value) => value,
                _ if optional => return Ok(Val::Optional(None)),
                Selected::Missing(error) => return Err(error),
            };
        }
        Ok(if optional { Val::some(value) } else { value })
    }

    /// Whether the last selection of the attribute finds anything.
    pub fn has(&mut self, attribute: &'a Attribute) -> Evaluated<'a> {
        let Some((last, before)) = attribute.qualifiers.split_last() else { return Err(EvalError::NO_OVERLOAD) };
        let value = self.base(&attribute.base)?;
        let value = if before.is_empty() { value } else { self.qualify(value, before)? };
        let value = match value {
            Val::Optional(None) => return Ok(Val::Bool(false)),
            Val::Optional(Some(inner)) => (*inner).clone(),
            value => value,
        };
        let found = self.select(&value, &last.key);
        self.charge(1)?;
        Ok(Val::Bool(matches!(found?, Selected::Found(_))))
    }

    fn select(&mut self, value: &Val<'a>, key: &'a QualifierKey) -> Result<Selected<'a>, EvalError> {
        match key {
            QualifierKey::Name(field) => match value {
                Val::Map(map) => Ok(match map.get_str(&field.name)? {
                    Some(value) => Selected::Found(value),
                    None => Selected::Missing(EvalError::no_such_key(&field.name)),
                }),
                other => select(other, &Val::string(&*field.name)),
            },
            QualifierKey::Constant(key) => select(value, key),
            QualifierKey::Attribute(attribute) => {
                let key = self.resolve(attribute)?;
                select(value, &key)
            }
        }
    }
}

enum Selected<'a> {
    Found(Val<'a>),
    /// Not there; the failure if it has to be.
    Missing(EvalError),
}

/// What `value[key]` is.
fn select<'a>(value: &Val<'a>, key: &Val<'a>) -> Result<Selected<'a>, EvalError> {
    match value {
        Val::Map(map) => Ok(match map.get(key)? {
            Some(value) => Selected::Found(value),
            None => Selected::Missing(EvalError::no_such_key(key)),
        }),
        Val::List(list) => element(list, key),
        _ => Ok(Selected::Missing(EvalError::no_such_key(key))),
    }
}

fn element<'a>(list: &List<'a>, key: &Val<'a>) -> Result<Selected<'a>, EvalError> {
    let unsupported = || EvalError::new(format!("unsupported index value {key} in list"));
    let index = match key {
        Val::Int(index) => *index,
        Val::Uint(index) => i64::try_from(*index).map_err(|_| unsupported())?,
        Val::Double(index) => number::exact_int(*index).ok_or_else(unsupported)?,
        other => return Err(EvalError::new(format!("unsupported index type '{}' in list", other.type_name()))),
    };
    match usize::try_from(index).ok().and_then(|index| list.get(index)) {
        Some(value) => value.map(Selected::Found),
        None => Ok(Selected::Missing(EvalError::new(format!("index out of bounds: {key}")))),
    }
}
