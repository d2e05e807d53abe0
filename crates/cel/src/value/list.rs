//! Lists: borrowed JSON beside its declaration, or values in memory.

use super::Val;
use crate::decl::{DeclKind, DeclType, ListKind};
use crate::error::EvalError;
use serde_json::Value;
use std::sync::Arc;

/// A list.
#[derive(Debug, Clone)]
pub enum List<'a> {
    /// JSON elements and the type of the list.
    Json(&'a [Value], &'a DeclType),
    /// Values, shared.
    Owned(Arc<OwnedList<'a>>),
}

/// A list in memory.
#[derive(Debug, Clone)]
pub struct OwnedList<'a> {
    /// The elements.
    pub items: Vec<Val<'a>>,
    /// How it compares and adds.
    pub kind: ListKind,
}

impl<'a> From<Vec<Val<'a>>> for List<'a> {
    fn from(items: Vec<Val<'a>>) -> Self {
        List::Owned(Arc::new(OwnedList { items, kind: ListKind::Atomic }))
    }
}

impl<'a> List<'a> {
    /// How many elements there are.
    pub fn len(&self) -> usize {
        match self {
            List::Json(values, _) => values.len(),
            List::Owned(list) => list.items.len(),
        }
    }

    /// Whether there is no element.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The element at `index`; reading JSON may fail.
    pub fn get(&self, index: usize) -> Option<Result<Val<'a>, EvalError>> {
        match self {
            List::Json(values, decl) => values.get(index).map(|value| element(value, decl)),
            List::Owned(list) => list.items.get(index).cloned().map(Ok),
        }
    }

    /// All elements in order.
    pub fn iter(&self) -> impl Iterator<Item = Result<Val<'a>, EvalError>> + '_ {
        (0..self.len()).filter_map(|index| self.get(index))
    }

    /// All elements, or the first failure to read one.
    pub fn to_vec(&self) -> Result<Vec<Val<'a>>, EvalError> {
        self.iter().collect()
    }

    /// How the list compares and adds.
    pub fn kind(&self) -> &ListKind {
        match self {
            List::Json(_, decl) => match &decl.kind {
                DeclKind::List(_, kind) => kind,
                _ => &ListKind::Atomic,
            },
            List::Owned(list) => &list.kind,
        }
    }

    /// Whether elements were read from declared data, whose comparisons are stricter.
    pub(super) fn is_declared(&self) -> bool {
        matches!(self, List::Json(_, decl) if !matches!(decl.kind, DeclKind::Dyn))
    }

    /// The concatenation; sets and keyed lists merge instead.
    pub fn add(&self, other: &List<'a>) -> Result<List<'a>, EvalError> {
        let mut items = self.to_vec()?;
        let kind = self.kind().clone();
        match &kind {
            ListKind::Atomic => {
                items.reserve(other.len());
                for item in other.iter() {
                    items.push(item?);
                }
            }
            ListKind::Set => {
                for item in other.iter() {
                    let item = item?;
                    if !items.iter().any(|known| known.same(&item)) {
                        items.push(item);
                    }
                }
            }
            ListKind::Keyed(keys) => {
                let known: Vec<_> = items.iter().map(|item| item.list_key(keys)).collect();
                for item in other.iter() {
                    let item = item?;
                    let key = item.list_key(keys);
                    let place = known.iter().rposition(|known| known.is_some() && *known == key);
                    match place.and_then(|place| items.get_mut(place)) {
                        Some(place) => *place = item,
                        None => items.push(item),
                    }
                }
            }
        }
        Ok(List::Owned(Arc::new(OwnedList { items, kind })))
    }
}

fn element<'a>(value: &'a Value, list: &'a DeclType) -> Result<Val<'a>, EvalError> {
    match &list.kind {
        DeclKind::List(element, _) => Val::from_json(value, element),
        _ => Val::from_json(value, list),
    }
}
