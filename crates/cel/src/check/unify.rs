//! Assignability and type variables.
//!
//! A substitution only grows while types agree; when they turn out not to, it
//! is rolled back to where the attempt began.

use crate::types::Type;
use std::sync::Arc;

/// The types found so far for type variables.
#[derive(Debug, Default)]
pub struct Substitution {
    bindings: Vec<Option<Type>>,
    /// What was overwritten, newest last.
    trail: Vec<(u32, Option<Type>)>,
}

impl Substitution {
    /// A variable that stands for nothing yet.
    pub fn fresh(&mut self) -> Type {
        self.bindings.push(None);
        Type::Var((self.bindings.len() - 1) as u32)
    }

    fn find(&self, ty: &Type) -> Option<&Type> {
        match ty {
            Type::Var(id) => self.bindings.get(*id as usize)?.as_ref(),
            _ => None,
        }
    }

    fn bind(&mut self, ty: &Type, to: Type) {
        if let Type::Var(id) = ty
            && let Some(slot) = self.bindings.get_mut(*id as usize)
        {
            self.trail.push((*id, slot.replace(to)));
        }
    }

    /// Whether each left type is assignable to its right type; nothing changes if not.
    pub fn assignable_all(&mut self, left: &[Type], right: &[Type]) -> bool {
        let start = self.trail.len();
        let fits = left.len() == right.len() && left.iter().zip(right).all(|(l, r)| self.assign(l, r));
        if !fits {
            for (id, old) in self.trail.drain(start..).rev() {
                if let Some(slot) = self.bindings.get_mut(id as usize) {
                    *slot = old;
                }
            }
        }
        fits
    }

    /// Whether one type is assignable to another; nothing changes if not.
    pub fn assignable(&mut self, left: &Type, right: &Type) -> bool {
        self.assignable_all(std::slice::from_ref(left), std::slice::from_ref(right))
    }

    fn assign(&mut self, left: &Type, right: &Type) -> bool {
        if matches!(right, Type::Var(_)) {
            let (valid, known) = self.substitutes(left, right);
            if valid || known {
                return valid;
            }
        }
        if matches!(left, Type::Var(_)) {
            return self.substitutes(right, left).0;
        }
        match (left, right) {
            (l, r) if l.is_dyn_or_error() || r.is_dyn_or_error() => true,
            (Type::Null, other) | (other, Type::Null) => {
                matches!(other, Type::Null | Type::Object(_) | Type::Opaque(..) | Type::Duration | Type::Timestamp)
            }
            (Type::Type(_), Type::Type(_)) => true,
            (Type::List(l), Type::List(r)) => self.assign(l, r),
            (Type::Map(l), Type::Map(r)) => self.assign(&l.0, &r.0) && self.assign(&l.1, &r.1),
            (Type::Opaque(a, l), Type::Opaque(b, r)) => {
                a == b && l.len() == r.len() && l.iter().zip(r.iter()).all(|(l, r)| self.assign(l, r))
            }
            (l, r) => l == r,
        }
    }

    /// Whether `var` may stand for `ty`, and whether it already stood for something.
    fn substitutes(&mut self, ty: &Type, var: &Type) -> (bool, bool) {
        if ty == var {
            return (true, true);
        }
        if let Some(bound) = self.find(var).cloned() {
            if *ty == bound {
                return (true, true);
            }
            if !self.assign(ty, &bound) {
                return (false, true);
            }
            let general = most_general(ty, &bound);
            if !self.occurs(var, &general) {
                self.bind(var, general);
            }
            return (true, true);
        }
        if self.occurs(var, ty) {
            return (false, false);
        }
        self.bind(var, ty.clone());
        (true, false)
    }

    fn occurs(&self, var: &Type, within: &Type) -> bool {
        if var == within {
            return true;
        }
        match within {
            Type::Var(_) => self.find(within).is_some_and(|bound| self.occurs(var, bound)),
            Type::List(element) => self.occurs(var, element),
            Type::Map(entry) => self.occurs(var, &entry.0) || self.occurs(var, &entry.1),
            Type::Opaque(_, params) => params.iter().any(|param| self.occurs(var, param)),
            Type::Type(Some(of)) => self.occurs(var, of),
            _ => false,
        }
    }

    /// The type with its variables replaced; those without a type stay, or become `dyn`.
    pub fn apply(&self, ty: &Type, to_dyn: bool) -> Type {
        match ty {
            Type::Var(_) => match self.find(ty) {
                Some(bound) => self.apply(bound, to_dyn),
                None if to_dyn => Type::Dyn,
                None => ty.clone(),
            },
            Type::List(element) => Type::list(self.apply(element, to_dyn)),
            Type::Map(entry) => Type::map(self.apply(&entry.0, to_dyn), self.apply(&entry.1, to_dyn)),
            Type::Opaque(name, params) if !params.is_empty() => {
                Type::Opaque(name.clone(), params.iter().map(|param| self.apply(param, to_dyn)).collect())
            }
            Type::Type(Some(of)) => Type::type_of(self.apply(of, to_dyn)),
            other => other.clone(),
        }
    }
}

/// Replaces the parameters of a signature.
pub fn instantiate(ty: &Type, params: &[(&'static str, Type)]) -> Type {
    match ty {
        Type::Param(name) => params.iter().find(|(known, _)| known == name).map_or(Type::Dyn, |(_, ty)| ty.clone()),
        Type::List(element) => Type::list(instantiate(element, params)),
        Type::Map(entry) => Type::Map(Arc::new((instantiate(&entry.0, params), instantiate(&entry.1, params)))),
        Type::Opaque(name, inner) if !inner.is_empty() => {
            Type::Opaque(name.clone(), inner.iter().map(|ty| instantiate(ty, params)).collect())
        }
        Type::Type(Some(of)) => Type::type_of(instantiate(of, params)),
        other => other.clone(),
    }
}

/// The more general of two types that agree.
pub fn most_general(a: &Type, b: &Type) -> Type {
    if is_equal_or_less_specific(a, b) { a.clone() } else { b.clone() }
}

fn is_equal_or_less_specific(a: &Type, b: &Type) -> bool {
    match (a, b) {
        (Type::Dyn | Type::Var(_), _) => true,
        (_, Type::Dyn | Type::Var(_)) => false,
        (Type::Opaque(x, p), Type::Opaque(y, q)) => {
            x == y && p.len() == q.len() && p.iter().zip(q.iter()).all(|(p, q)| is_equal_or_less_specific(p, q))
        }
        (Type::List(x), Type::List(y)) => is_equal_or_less_specific(x, y),
        (Type::Map(x), Type::Map(y)) => is_equal_or_less_specific(&x.0, &y.0) && is_equal_or_less_specific(&x.1, &y.1),
        (Type::Type(_), Type::Type(_)) => true,
        (a, b) => a == b,
    }
}
