//! Operators on values.

use super::eval::{Evaluated, Run};
use super::plan::{Arithmetic, Comparison, Plan};
use crate::error::EvalError;
use crate::function::Actual;
use crate::value::Val;
use std::cmp::Ordering;

/// The value of an operand, or the end of the whole evaluation.
fn settle<'a>(value: Evaluated<'a>) -> Result<Evaluated<'a>, EvalError> {
    match value {
        Err(EvalError::CostLimit) => Err(EvalError::CostLimit),
        other => Ok(other),
    }
}

impl<'a> Run<'a, '_> {
    fn sides(&mut self, sides: &'a [Plan; 2]) -> Result<(Evaluated<'a>, Evaluated<'a>), EvalError> {
        let [left, right] = sides;
        let left = settle(self.eval(left))?;
        let right = settle(self.eval(right))?;
        Ok((left, right))
    }

    pub fn not(&mut self, operand: &'a Plan) -> Evaluated<'a> {
        let value = settle(self.eval(operand))?;
        self.charge(1)?;
        match value? {
            Val::Bool(value) => Ok(Val::Bool(!value)),
            _ => Err(EvalError::NO_OVERLOAD),
        }
    }

    pub fn negate(&mut self, operand: &'a Plan) -> Evaluated<'a> {
        let value = settle(self.eval(operand))?;
        self.charge(1)?;
        match value? {
            Val::Int(value) => value.checked_neg().map(Val::Int).ok_or(EvalError::new("integer overflow")),
            Val::Double(value) => Ok(Val::Double(-value)),
            Val::Duration(value) => value.checked_neg().map(Val::Duration).ok_or(EvalError::new("integer overflow")),
            Val::Bool(_) => Err(EvalError::NO_OVERLOAD),
            _ => Err(EvalError::new("no such overload: -_")),
        }
    }

    pub fn equal(&mut self, sides: &'a [Plan; 2], negated: bool, cost: Option<Actual>) -> Evaluated<'a> {
        let (left, right) = self.sides(sides)?;
        self.charge_for(cost, &[&left, &right], None)?;
        let equal = left?.equals(&right?);
        // Values that cannot be compared are not equal; asked whether they are equal, there is no answer.
        if negated { Ok(Val::Bool(!equal.unwrap_or(false))) } else { equal.map(Val::Bool) }
    }

    pub fn compare(&mut self, sides: &'a [Plan; 2], operator: Comparison, cost: Option<Actual>) -> Evaluated<'a> {
        let (left, right) = self.sides(sides)?;
        self.charge_for(cost, &[&left, &right], None)?;
        let (left, right) = (left?, right?);
        let order = match left.compare(&right) {
            // A type without any order says more about what is wrong.
            Err(_) if !left.is_ordered() => {
                return Err(EvalError::new(format!("no such overload: {}", operator.name())));
            }
            order => order?,
        };
        Ok(Val::Bool(match operator {
            Comparison::Less => order == Ordering::Less,
            Comparison::LessOrEqual => order != Ordering::Greater,
            Comparison::Greater => order == Ordering::Greater,
            Comparison::GreaterOrEqual => order != Ordering::Less,
        }))
    }

    pub fn arithmetic(&mut self, sides: &'a [Plan; 2], operator: Arithmetic, cost: Option<Actual>) -> Evaluated<'a> {
        let (left, right) = self.sides(sides)?;
        self.charge_for(cost, &[&left, &right], None)?;
        arithmetic(operator, left?, right?)
    }

    pub fn contains(&mut self, sides: &'a [Plan; 2], cost: Option<Actual>) -> Evaluated<'a> {
        let (left, right) = self.sides(sides)?;
        self.charge_for(cost, &[&left, &right], None)?;
        contains(&right?, &left?)
    }

    pub fn member(&mut self, value: &'a Plan, list: &'a [Val<'static>]) -> Evaluated<'a> {
        let value = self.eval(value)?;
        Ok(Val::Bool(list.iter().any(|item| item.equals(&value).unwrap_or(false))))
    }
}

impl Comparison {
    fn name(self) -> &'static str {
        match self {
            Comparison::Less => "_<_",
            Comparison::LessOrEqual => "_<=_",
            Comparison::Greater => "_>_",
            Comparison::GreaterOrEqual => "_>=_",
        }
    }
}

/// What `in` says.
pub fn contains<'a>(container: &Val<'a>, value: &Val<'a>) -> Evaluated<'a> {
    match container {
        Val::List(list) => {
            let mut failure = None;
            for item in list.iter() {
                match item.and_then(|item| item.equals(value)) {
                    Ok(true) => return Ok(Val::Bool(true)),
                    Ok(false) => {}
                    Err(error) => failure = failure.or(Some(error)),
                }
            }
            failure.map_or(Ok(Val::Bool(false)), Err)
        }
        Val::Map(map) => Ok(Val::Bool(map.get(value)?.is_some())),
        _ => Err(EvalError::NO_OVERLOAD),
    }
}

/// The result of an arithmetic operator.
pub fn arithmetic<'a>(operator: Arithmetic, left: Val<'a>, right: Val<'a>) -> Evaluated<'a> {
    use Arithmetic::{Add, Divide, Modulo, Multiply, Subtract};
    let overflow = || EvalError::new("integer overflow");
    let unsigned = || EvalError::new("unsigned integer overflow");
    let late = || EvalError::new("timestamp overflow");
    match (operator, left, right) {
        (Divide, Val::Int(_), Val::Int(0)) | (Divide, Val::Uint(_), Val::Uint(0)) => {
            Err(EvalError::new("division by zero"))
        }
        (Modulo, Val::Int(_), Val::Int(0)) | (Modulo, Val::Uint(_), Val::Uint(0)) => {
            Err(EvalError::new("modulus by zero"))
        }
        (operator, Val::Int(a), Val::Int(b)) => {
            let result = match operator {
                Add => a.checked_add(b),
                Subtract => a.checked_sub(b),
                Multiply => a.checked_mul(b),
                Divide => a.checked_div(b),
                Modulo => a.checked_rem(b),
            };
            result.map(Val::Int).ok_or_else(overflow)
        }
        (operator, Val::Uint(a), Val::Uint(b)) => {
            let result = match operator {
                Add => a.checked_add(b),
                Subtract => a.checked_sub(b),
                Multiply => a.checked_mul(b),
                Divide => a.checked_div(b),
                Modulo => a.checked_rem(b),
            };
            result.map(Val::Uint).ok_or_else(unsigned)
        }
        (Add, Val::Double(a), Val::Double(b)) => Ok(Val::Double(a + b)),
        (Subtract, Val::Double(a), Val::Double(b)) => Ok(Val::Double(a - b)),
        (Multiply, Val::Double(a), Val::Double(b)) => Ok(Val::Double(a * b)),
        (Divide, Val::Double(a), Val::Double(b)) => Ok(Val::Double(a / b)),
        (Add, Val::String(a), Val::String(b)) => {
            let mut text = String::with_capacity(a.len() + b.len());
            text.push_str(&a);
            text.push_str(&b);
            Ok(Val::string(text))
        }
        (Add, Val::Bytes(a), Val::Bytes(b)) => Ok(Val::Bytes([&*a, &*b].concat().into())),
        (Add, Val::List(a), Val::List(b)) => a.add(&b).map(Val::List),
        (Add, Val::Duration(a), Val::Duration(b)) => a.checked_add(b).map(Val::Duration).ok_or_else(overflow),
        (Subtract, Val::Duration(a), Val::Duration(b)) => a.checked_sub(b).map(Val::Duration).ok_or_else(overflow),
        (Add, Val::Timestamp(t), Val::Duration(d)) | (Add, Val::Duration(d), Val::Timestamp(t)) => {
            t.add(d).map(Val::Timestamp).ok_or_else(late)
        }
        (Subtract, Val::Timestamp(t), Val::Duration(d)) => {
            let back = d.checked_neg().ok_or_else(overflow)?;
            t.add(back).map(Val::Timestamp).ok_or_else(late)
        }
        (Subtract, Val::Timestamp(a), Val::Timestamp(b)) => a.since(&b).map(Val::Duration).ok_or_else(overflow),
        (operator, left, _) => Err(unsupported(operator, &left)),
    }
}

/// An operand whose type has the operator at all says less about what is wrong.
fn unsupported(operator: Arithmetic, left: &Val<'_>) -> EvalError {
    let (name, has) = match operator {
        Arithmetic::Add => (
            "_+_",
            matches!(
                left,
                Val::Int(_)
                    | Val::Uint(_)
                    | Val::Double(_)
                    | Val::String(_)
                    | Val::Bytes(_)
                    | Val::List(_)
                    | Val::Duration(_)
                    | Val::Timestamp(_)
            ),
        ),
        Arithmetic::Subtract => {
            ("_-_", matches!(left, Val::Int(_) | Val::Uint(_) | Val::Double(_) | Val::Duration(_) | Val::Timestamp(_)))
        }
        Arithmetic::Multiply => ("_*_", matches!(left, Val::Int(_) | Val::Uint(_) | Val::Double(_))),
        Arithmetic::Divide => ("_/_", matches!(left, Val::Int(_) | Val::Uint(_) | Val::Double(_))),
        Arithmetic::Modulo => ("_%_", matches!(left, Val::Int(_) | Val::Uint(_))),
    };
    if has { EvalError::NO_OVERLOAD } else { EvalError::new(format!("no such overload: {name}")) }
}
