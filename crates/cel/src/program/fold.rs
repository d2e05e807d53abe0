//! Loops.
//!
//! Each macro's loop is run directly, and charged as if its condition and step
//! had been evaluated node by node.

use super::eval::{Evaluated, Run, Slot};
use super::plan::{Fold, FoldKind, Plan};
use crate::cost::LIST_COST;
use crate::error::EvalError;
use crate::value::{Key, Map, Val};
use std::collections::BTreeMap;

/// What a turn of a loop says about going on.
type Turn = Result<bool, EvalError>;

impl<'a> Run<'a, '_> {
    pub fn fold(&mut self, fold: &'a Fold) -> Evaluated<'a> {
        match &fold.kind {
            FoldKind::All(predicate) => self.quantify(fold, predicate, false),
            FoldKind::Exists(predicate) => self.quantify(fold, predicate, true),
            FoldKind::ExistsOne(predicate) => self.exists_one(fold, predicate),
            FoldKind::Collect { filter, item, list_is_constant } => {
                self.collect(fold, filter.as_deref(), item, *list_is_constant)
            }
            FoldKind::Insert { filter, key, value } => self.insert(fold, filter.as_deref(), key.as_deref(), value),
            FoldKind::Bind { value, slot, body } => {
                if let Some(place) = self.slots.get_mut(*slot) {
                    *place = Slot::Lazy(value);
                }
                self.eval(body)
            }
        }
    }

    /// Puts each element in its place and takes a turn, until one says to stop.
    fn each(&mut self, fold: &'a Fold, mut turn: impl FnMut(&mut Self) -> Turn) -> Result<(), EvalError> {
        match (self.eval(&fold.range)?, fold.second) {
            (Val::List(list), second) => {
                for index in 0..list.len() {
                    let Some(item) = list.get(index) else { break };
                    match second {
                        None => self.put(fold.first, item),
                        Some(second) => {
                            self.put(fold.first, Ok(Val::Int(index as i64)));
                            self.put(second, item);
                        }
                    }
                    if !turn(self)? {
                        break;
                    }
                }
            }
            (Val::Map(map), None) => {
                for key in map.keys() {
                    self.put(fold.first, Ok(key));
                    if !turn(self)? {
                        break;
                    }
                }
            }
            (Val::Map(map), Some(second)) => {
                for (key, value) in map.entries() {
                    self.put(fold.first, Ok(key));
                    self.put(second, value);
                    if !turn(self)? {
                        break;
                    }
                }
            }
            (other, None) => {
                return Err(EvalError::new(format!("got '{}', expected iterable type", other.type_name())));
            }
            (other, Some(_)) => {
                let message = format!("unsupported comprehension range type: {}", other.type_name());
                return Err(EvalError::new(message));
            }
        }
        Ok(())
    }

    /// `all` stops at the first false, `exists` at the first true; failures before are forgotten then.
    fn quantify(&mut self, fold: &'a Fold, predicate: &'a Plan, decisive: bool) -> Evaluated<'a> {
        // The condition names the accumulator and looks at it; `exists` also negates it. The step names it again.
        let (condition, step) = if decisive { (3, 1) } else { (2, 1) };
        let mut result: Evaluated<'a> = Ok(Val::Bool(!decisive));
        self.each(fold, |run| {
            run.charge(condition)?;
            if matches!(result, Ok(Val::Bool(value)) if value == decisive) {
                return Ok(false);
            }
            run.charge(step)?;
            match run.eval(predicate) {
                Ok(Val::Bool(value)) if value == decisive => result = Ok(Val::Bool(decisive)),
                Ok(Val::Bool(_)) => {}
                Err(EvalError::CostLimit) => return Err(EvalError::CostLimit),
                Err(error) if result.is_ok() => result = Err(error),
                Ok(_) if result.is_ok() => result = Err(EvalError::NO_OVERLOAD),
                _ => {}
            }
            Ok(true)
        })?;
        self.charge(1)?;
        result
    }

    fn exists_one(&mut self, fold: &'a Fold, predicate: &'a Plan) -> Evaluated<'a> {
        let mut count: Result<u64, EvalError> = Ok(0);
        self.each(fold, |run| {
            match run.test(predicate)? {
                Ok(true) => {
                    run.charge(2)?;
                    count = std::mem::replace(&mut count, Ok(0)).map(|count| count + 1);
                }
                Ok(false) => {}
                Err(error) => count = Err(error),
            }
            Ok(true)
        })?;
        self.charge(2)?;
        count.map(|count| Val::Bool(count == 1))
    }

    /// A condition: true, false, or why neither.
    fn test(&mut self, predicate: &'a Plan) -> Result<Result<bool, EvalError>, EvalError> {
        match self.eval(predicate) {
            Ok(Val::Bool(value)) => Ok(Ok(value)),
            Ok(_) => Ok(Err(EvalError::NO_OVERLOAD)),
            Err(EvalError::CostLimit) => Err(EvalError::CostLimit),
            Err(error) => Ok(Err(error)),
        }
    }

    /// Whether a turn goes on. A filter that fails ends it, and its error is the result from then on.
    fn keeps<T>(&mut self, filter: Option<&'a Plan>, result: &mut Result<T, EvalError>) -> Result<bool, EvalError> {
        match filter.map(|filter| self.test(filter)).transpose()? {
            None => Ok(true),
            Some(Ok(kept)) => Ok(kept),
            Some(Err(error)) => {
                *result = Err(error);
                Ok(false)
            }
        }
    }

    fn collect(
        &mut self,
        fold: &'a Fold,
        filter: Option<&'a Plan>,
        item: &'a Plan,
        list_is_constant: bool,
    ) -> Evaluated<'a> {
        let own_cost = if list_is_constant { 2 } else { 2 + LIST_COST };
        let mut result: Result<Vec<Val<'a>>, EvalError> = Ok(Vec::new());
        self.each(fold, |run| {
            if !run.keeps(filter, &mut result)? {
                return Ok(true);
            }
            let value = run.eval(item);
            if let Err(EvalError::CostLimit) = value {
                return Err(EvalError::CostLimit);
            }
            run.charge(own_cost)?;
            match (&mut result, value) {
                (Ok(list), Ok(value)) => list.push(value),
                (Ok(_), Err(error)) => result = Err(error),
                (Err(_), _) => {}
            }
            Ok(true)
        })?;
        self.charge(1)?;
        result.map(Val::list)
    }

    fn insert(
        &mut self,
        fold: &'a Fold,
        filter: Option<&'a Plan>,
        key: Option<&'a Plan>,
        value: &'a Plan,
    ) -> Evaluated<'a> {
        let mut result: Result<BTreeMap<Key<'a>, Val<'a>>, EvalError> = Ok(BTreeMap::new());
        self.each(fold, |run| {
            if !run.keeps(filter, &mut result)? {
                return Ok(true);
            }
            run.charge(1)?;
            let inserted = match (key, &mut result) {
                // With a key there are three arguments, and those after one that failed are left alone.
                (Some(_), Err(_)) => return Ok(true),
                (Some(key), Ok(entries)) => run.insert_one(entries, key, value),
                (None, entries) => run.insert_all(entries.as_mut().ok(), value),
            };
            match inserted {
                Err(EvalError::CostLimit) => return Err(EvalError::CostLimit),
                Err(error) if result.is_ok() => result = Err(error),
                _ => {}
            }
            Ok(true)
        })?;
        self.charge(1)?;
        result.map(|entries| Val::Map(Map::from(entries)))
    }

    fn insert_one(
        &mut self,
        entries: &mut BTreeMap<Key<'a>, Val<'a>>,
        key: &'a Plan,
        value: &'a Plan,
    ) -> Result<(), EvalError> {
        let key = self.eval(key)?;
        let value = self.eval(value);
        if !matches!(value, Err(EvalError::CostLimit)) {
            self.charge(1)?;
        }
        insert(entries, &key, value?)
    }

    fn insert_all(
        &mut self,
        entries: Option<&mut BTreeMap<Key<'a>, Val<'a>>>,
        value: &'a Plan,
    ) -> Result<(), EvalError> {
        let value = self.eval(value);
        if !matches!(value, Err(EvalError::CostLimit)) {
            self.charge(1)?;
        }
        let (Some(entries), value) = (entries, value?) else { return Ok(()) };
        let Val::Map(map) = value else { return Err(EvalError::NO_OVERLOAD) };
        for (key, value) in map.entries() {
            insert(entries, &key, value?)?;
        }
        Ok(())
    }
}

fn insert<'a>(entries: &mut BTreeMap<Key<'a>, Val<'a>>, key: &Val<'a>, value: Val<'a>) -> Result<(), EvalError> {
    let known = Key::new(key).ok_or_else(|| EvalError::new(format!("unsupported key type: {}", key.type_name())))?;
    if entries.contains_key(&known) {
        return Err(EvalError::new(format!("insert failed: key {key} already exists")));
    }
    entries.insert(known, value);
    Ok(())
}
