//! Paths from variables into declared data, and the sizes found there.
//!
//! The reference keeps paths in growable arrays and appends to shared ones. An
//! append into spare room overwrites what another path put there, so that a
//! path remembered earlier may later read as a sibling of itself. Estimates
//! depend on it, hence the same sharing here.

use crate::cost::Range;
use crate::decl::DeclType;
use crate::types::Type;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

/// A step into data.
#[derive(Debug, Clone, PartialEq)]
pub enum PathStep {
    Name(Arc<str>),
    Items,
    Keys,
    Values,
    Indices,
}

/// A path; shares its room with the paths it was made from.
#[derive(Debug, Clone, Default)]
pub struct Path {
    room: Rc<RefCell<Vec<Option<PathStep>>>>,
    length: usize,
}

impl Path {
    /// The path of a variable.
    pub fn variable(name: Arc<str>) -> Path {
        Path { room: Rc::new(RefCell::new(vec![Some(PathStep::Name(name))])), length: 1 }
    }

    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// The path one step further, in the same room while there is some.
    pub fn join(&self, step: PathStep) -> Path {
        let mut room = self.room.borrow_mut();
        if let Some(place) = room.get_mut(self.length) {
            *place = Some(step);
            drop(room);
            return Path { room: self.room.clone(), length: self.length + 1 };
        }
        let mut grown: Vec<Option<PathStep>> = room.iter().take(self.length).cloned().collect();
        grown.push(Some(step));
        grown.resize((self.length * 2).max(1), None);
        Path { room: Rc::new(RefCell::new(grown)), length: self.length + 1 }
    }

    /// Whether the path starts at the accumulator of a comprehension.
    pub fn is_accumulated(&self) -> bool {
        let room = self.room.borrow();
        matches!(room.first(), Some(Some(PathStep::Name(name))) if matches!(&**name, "@result" | "__result__"))
    }
}

/// Looks up sizes of declared data.
#[derive(Debug, Clone, Copy)]
pub struct Sizes<'d> {
    pub root: Option<&'d DeclType>,
}

impl<'d> Sizes<'d> {
    /// The size declared for what the path leads to.
    pub fn at(&self, path: &Path) -> Option<Range> {
        match self.find(path)? {
            Found::Decl(decl) => Some(Range::new(0, decl.max_elements)),
            Found::Key => Some(Range::ZERO),
        }
    }

    /// The size declared for the elements of what the path leads to.
    pub fn of_elements(&self, path: &Path) -> Option<Range> {
        match self.find(path)? {
            Found::Decl(decl) => decl.element().map(|element| Range::new(0, element.max_elements)),
            Found::Key => None,
        }
    }

    fn find(&self, path: &Path) -> Option<Found<'d>> {
        if path.is_empty() {
            return None;
        }
        let mut decl = self.root?;
        let room = path.room.borrow();
        for step in room.iter().take(path.length).skip(1).flatten() {
            decl = match step {
                PathStep::Items | PathStep::Values => decl.element()?,
                PathStep::Keys => {
                    return matches!(decl.static_type(), Type::Map(_)).then_some(Found::Key);
                }
                PathStep::Indices => return None,
                PathStep::Name(name) => &decl.as_object()?.field(name).filter(|field| !field.alias)?.decl,
            };
        }
        Some(Found::Decl(decl))
    }
}

enum Found<'d> {
    Decl(&'d DeclType),
    /// The keys of a map: strings without a bound of their own.
    Key,
}
