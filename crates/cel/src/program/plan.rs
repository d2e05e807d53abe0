//! The shape of a plan.
//!
//! A plan says what to do with names resolved to places, constants folded,
//! regular expressions compiled, and the cost of every step decided.

use crate::decl::{FieldDecl, ObjectDecl};
use crate::function::{Actual, Overload, Run};
use crate::types::Type;
use crate::value::Val;
use regex::Regex;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A step that yields a value.
#[derive(Debug)]
pub enum Plan {
    Constant(Val<'static>),
    /// A variable and what is selected from it.
    Attribute(Box<Attribute>),
    /// Whether what the attribute selects last is there.
    Has(Box<Attribute>),
    And(Box<[Plan; 2]>),
    Or(Box<[Plan; 2]>),
    Not(Box<Plan>),
    Negate(Box<Plan>),
    Equal {
        sides: Box<[Plan; 2]>,
        negated: bool,
        cost: Option<Actual>,
    },
    Compare {
        sides: Box<[Plan; 2]>,
        operator: Comparison,
        cost: Option<Actual>,
    },
    Arithmetic {
        sides: Box<[Plan; 2]>,
        operator: Arithmetic,
        cost: Option<Actual>,
    },
    In {
        sides: Box<[Plan; 2]>,
        cost: Option<Actual>,
    },
    /// Membership in a list of constants, which costs nothing.
    Member {
        value: Box<Plan>,
        list: Vec<Val<'static>>,
    },
    Call(Box<Call>),
    OptionalOr {
        sides: Box<[Plan; 2]>,
        /// Whether the value inside is wanted.
        unwrap: bool,
    },
    List(Box<[Item]>),
    Map(Box<[MapItem]>),
    Fold(Box<Fold>),
    /// A call that no function answers to.
    Unknown(Box<str>),
}

#[derive(Debug)]
pub struct Item {
    pub value: Plan,
    pub optional: bool,
}

#[derive(Debug)]
pub struct MapItem {
    pub key: Plan,
    pub value: Plan,
    pub optional: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arithmetic {
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
}

/// A value reached from somewhere by selections.
#[derive(Debug)]
pub struct Attribute {
    pub base: Base,
    pub qualifiers: Vec<Qualifier>,
}

#[derive(Debug)]
pub enum Base {
    /// A variable of the environment.
    Variable(usize),
    /// A variable of a comprehension.
    Slot(usize),
    /// A name that nothing is known about.
    Missing(Arc<str>),
    Computed(Box<Plan>),
    /// The branches cost nothing themselves where they only name something.
    Conditional(Box<Conditional>),
}

#[derive(Debug)]
pub struct Conditional {
    pub condition: Box<Plan>,
    pub truthy: Box<Attribute>,
    pub falsy: Box<Attribute>,
}

#[derive(Debug)]
pub struct Qualifier {
    pub key: QualifierKey,
    pub optional: bool,
}

#[derive(Debug)]
pub enum QualifierKey {
    Name(FieldName),
    Constant(Val<'static>),
    Attribute(Attribute),
}

/// The name of a field, and where it was found last.
///
/// Objects at one place of an expression nearly always have one type, so the
/// place of the field in that type is worth remembering between runs.
#[derive(Debug)]
pub struct FieldName {
    pub name: Arc<str>,
    pub hint: AtomicUsize,
}

impl FieldName {
    pub fn new(name: Arc<str>) -> FieldName {
        FieldName { name, hint: AtomicUsize::new(0) }
    }

    /// The field of this name.
    pub fn find<'d>(&self, object: &'d ObjectDecl) -> Option<&'d FieldDecl> {
        let hint = self.hint.load(Ordering::Relaxed);
        let index = object.field_index(&self.name, hint)?;
        if index != hint {
            self.hint.store(index, Ordering::Relaxed);
        }
        object.fields().get(index)
    }
}

/// A call of a library function.
#[derive(Debug)]
pub struct Call {
    pub function: Arc<str>,
    pub args: Vec<Plan>,
    pub target: Target,
    /// The expression, when it is a constant.
    pub regex: Option<Regex>,
    pub cost: Option<Actual>,
    pub before: Option<fn(&[Val<'_>]) -> u64>,
    /// Whether arguments after one that failed are left alone, and the call then costs nothing.
    pub stops_at_error: bool,
}

/// What a call runs.
#[derive(Debug)]
pub enum Target {
    /// The one signature that fits, and whether values must be looked at to trust it.
    One { run: Run, guard: Option<Overload> },
    /// The first of these that fits the values.
    Any(Vec<Overload>),
}

/// A loop.
#[derive(Debug)]
pub struct Fold {
    pub range: Box<Plan>,
    /// The place of the element, or of the key or index.
    pub first: usize,
    /// The place of the value, in loops with two variables.
    pub second: Option<usize>,
    pub kind: FoldKind,
}

#[derive(Debug)]
pub enum FoldKind {
    All(Box<Plan>),
    Exists(Box<Plan>),
    ExistsOne(Box<Plan>),
    /// Appends an item to a list; a constant item makes the list around it free.
    Collect {
        filter: Option<Box<Plan>>,
        item: Box<Plan>,
        list_is_constant: bool,
    },
    /// Inserts into a map, under a key or all entries of another map.
    Insert {
        filter: Option<Box<Plan>>,
        key: Option<Box<Plan>>,
        value: Box<Plan>,
    },
    /// Names a value, which is found when first used.
    Bind {
        value: Box<Plan>,
        slot: usize,
        body: Box<Plan>,
    },
}

/// Whether static types alone show that values will fit, so that nothing is looked at while running.
pub fn is_certain(declared: &[Type], found: &[Type]) -> bool {
    declared.len() == found.len() && declared.iter().zip(found).all(|(declared, found)| fits(declared, found))
}

fn fits(declared: &Type, found: &Type) -> bool {
    match (declared, found) {
        (Type::Dyn | Type::Param(_), _) => true,
        (Type::List(declared), Type::List(found)) => fits(declared, found),
        (Type::Map(declared), Type::Map(found)) => fits(&declared.0, &found.0) && fits(&declared.1, &found.1),
        (Type::Opaque(name, declared), Type::Opaque(other, found)) => name == other && is_certain(declared, found),
        (declared, found) => declared == found,
    }
}
