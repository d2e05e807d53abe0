//! Order, where there is one.

use super::{Val, number};
use crate::error::EvalError;
use std::cmp::Ordering;

impl Val<'_> {
    /// How two values compare.
    pub fn compare(&self, other: &Val<'_>) -> Result<Ordering, EvalError> {
        const NAN: EvalError = EvalError::Failed(std::borrow::Cow::Borrowed("NaN values cannot be ordered"));
        let number = |value: f64| if value.is_nan() { Err(NAN) } else { Ok(value) };
        match (self, other) {
            (Val::Int(a), Val::Int(b)) => Ok(a.cmp(b)),
            (Val::String(a), Val::String(b)) => Ok(a.cmp(b)),
            (Val::Uint(a), Val::Uint(b)) => Ok(a.cmp(b)),
            (Val::Double(a), Val::Double(b)) => number(*a)?.partial_cmp(&number(*b)?).ok_or(NAN),
            (Val::Double(d), Val::Int(i)) => Ok(number::double_int(number(*d)?, *i)),
            (Val::Int(i), Val::Double(d)) => Ok(number::double_int(number(*d)?, *i).reverse()),
            (Val::Double(d), Val::Uint(u)) => Ok(number::double_uint(number(*d)?, *u)),
            (Val::Uint(u), Val::Double(d)) => Ok(number::double_uint(number(*d)?, *u).reverse()),
            (Val::Int(i), Val::Uint(u)) => Ok(number::int_uint(*i, *u)),
            (Val::Uint(u), Val::Int(i)) => Ok(number::int_uint(*i, *u).reverse()),
            (Val::Bool(a), Val::Bool(b)) => Ok(a.cmp(b)),
            (Val::Bytes(a), Val::Bytes(b)) => Ok(a.cmp(b)),
            (Val::Duration(a), Val::Duration(b)) => Ok(a.cmp(b)),
            (Val::Timestamp(a), Val::Timestamp(b)) => Ok(a.order_key().cmp(&b.order_key())),
            _ => Err(EvalError::NO_OVERLOAD),
        }
    }

    /// Whether values of this type have an order.
    pub fn is_ordered(&self) -> bool {
        self.compare(self).is_ok() || matches!(self, Val::Double(_))
    }
}
