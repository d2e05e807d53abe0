//! Quantities: numbers with decimal or binary suffixes.
//!
//! Small numbers stay integers with a power of ten; large or long ones become
//! decimals of any length. Which of the two a number is shows: only the first
//! kind can be asked for its integer.

use crate::env::Library;
use crate::error::EvalError;
use crate::library::{int, text};
use crate::types::Type;
use crate::value::{Opaque, Val};
use std::any::Any;
use std::cmp::Ordering;

/// The type's name.
pub const TYPE: &str = "kubernetes.Quantity";
/// The most digits that a decimal may take; more come only from exponents nobody means.
const MAX_DIGITS: usize = 2_000;

const WRONG_FORMAT: &str =
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
const WRONG_NUMBER: &str = "unable to parse numeric part of quantity";
const WRONG_SUFFIX: &str = "unable to parse quantity's suffix";

#[derive(Debug, Clone)]
struct Quantity {
    amount: Amount,
    /// Whether it was computed: the reference then refuses it on the right of `==`.
    computed: bool,
}

#[derive(Debug, Clone)]
enum Amount {
    /// A value times a power of ten.
    Int {
        value: i64,
        scale: i32,
    },
    Decimal(Decimal),
}

/// Digits, most significant first, without leading zeros, times a power of ten.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Decimal {
    negative: bool,
    digits: Vec<u8>,
    exponent: i32,
}

impl Opaque for Quantity {
    fn type_name(&self) -> &'static str {
        TYPE
    }

    fn equals(&self, other: &dyn Opaque) -> Option<bool> {
        let other = other.as_any().downcast_ref::<Quantity>().filter(|other| !other.computed)?;
        Some(self.amount.order(&other.amount) == Ordering::Equal)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// Adds the functions on quantities.
pub fn add(library: &mut Library) {
    let q = Type::Object(TYPE.into());
    let one = std::slice::from_ref(&q);
    let two = [q.clone(), q.clone()];
    let and_int = [q.clone(), Type::Int];
    let f = &mut library.functions;
    f.global("quantity", "string_to_quantity", &[Type::String], q.clone(), |args| {
        let amount = parse(text(args, 0)?).map_err(EvalError::new)?;
        Ok(Val::opaque(Quantity { amount, computed: false }))
    });
    f.global("isQuantity", "is_quantity_string", &[Type::String], Type::Bool, |args| {
        Ok(Val::Bool(parse(text(args, 0)?).is_ok()))
    });
    f.global("sign", "quantity_sign", one, Type::Int, |args| Ok(Val::Int(amount(args, 0)?.sign())));
    f.member("isGreaterThan", "quantity_is_greater_than", &two, Type::Bool, |args| {
        Ok(Val::Bool(compare(args)? == Ordering::Greater))
    });
    f.member("isLessThan", "quantity_is_less_than", &two, Type::Bool, |args| {
        Ok(Val::Bool(compare(args)? == Ordering::Less))
    });
    f.member("compareTo", "quantity_compare_to", &two, Type::Int, |args| Ok(Val::Int(compare(args)? as i64)));
    f.member("asApproximateFloat", "quantity_get_float", one, Type::Double, |args| {
        Ok(Val::Double(amount(args, 0)?.to_f64()))
    });
    f.member("asInteger", "quantity_get_int", one, Type::Int, |args| {
        amount(args, 0)?.to_i64().map(Val::Int).ok_or(EvalError::new("cannot convert value to integer"))
    });
    f.member("isInteger", "quantity_is_integer", one, Type::Bool, |args| {
        Ok(Val::Bool(amount(args, 0)?.to_i64().is_some()))
    });
    f.member("add", "quantity_add", &two, q.clone(), |args| computed(amount(args, 0)?.plus(amount(args, 1)?)));
    f.member("add", "quantity_add_int", &and_int, q.clone(), |args| {
        computed(amount(args, 0)?.plus(&Amount::Int { value: int(args, 1)?, scale: 0 }))
    });
    f.member("sub", "quantity_sub", &two, q.clone(), |args| {
        computed(amount(args, 0)?.plus(&amount(args, 1)?.negated()))
    });
    f.member("sub", "quantity_sub_int", &and_int, q, |args| {
        computed(amount(args, 0)?.plus(&Amount::Int { value: int(args, 1)?, scale: 0 }.negated()))
    });
}

fn amount<'v>(args: &'v [Val<'_>], index: usize) -> Result<&'v Amount, EvalError> {
    let quantity = args.get(index).and_then(Val::downcast::<Quantity>);
    quantity.map(|quantity| &quantity.amount).ok_or(EvalError::NO_OVERLOAD)
}

fn compare(args: &[Val<'_>]) -> Result<Ordering, EvalError> {
    Ok(amount(args, 0)?.order(amount(args, 1)?))
}

fn computed<'a>(amount: Option<Amount>) -> Result<Val<'a>, EvalError> {
    let amount = amount.ok_or(EvalError::new("quantity out of range"))?;
    Ok(Val::opaque(Quantity { amount, computed: true }))
}

enum Suffix {
    Decimal(i32),
    Binary(u32),
}

fn suffix(text: &str) -> Option<Suffix> {
    Some(match text {
        "n" => Suffix::Decimal(-9),
        "u" => Suffix::Decimal(-6),
        "m" => Suffix::Decimal(-3),
        "" => Suffix::Decimal(0),
        "k" => Suffix::Decimal(3),
        "M" => Suffix::Decimal(6),
        "G" => Suffix::Decimal(9),
        "T" => Suffix::Decimal(12),
        "P" => Suffix::Decimal(15),
        "E" => Suffix::Decimal(18),
        "Ki" => Suffix::Binary(10),
        "Mi" => Suffix::Binary(20),
        "Gi" => Suffix::Binary(30),
        "Ti" => Suffix::Binary(40),
        "Pi" => Suffix::Binary(50),
        "Ei" => Suffix::Binary(60),
        _ => Suffix::Decimal(text.strip_prefix(['e', 'E'])?.parse().ok()?),
    })
}

fn parse(text: &str) -> Result<Amount, &'static str> {
    if text.is_empty() {
        return Err(WRONG_FORMAT);
    }
    let (negative, body) = match text.strip_prefix('-') {
        Some(body) => (true, body),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let number_end = body.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(body.len());
    let (number, unit) = body.split_at_checked(number_end).unwrap_or((body, ""));
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if fraction.contains('.') || !unit_shaped(unit) {
        return Err(WRONG_FORMAT);
    }
    let suffix = suffix(unit).ok_or(WRONG_SUFFIX)?;
    if whole.is_empty() && fraction.is_empty() && (number.contains('.') || !unit.is_empty()) {
        return Err(WRONG_NUMBER);
    }
    let whole = whole.trim_start_matches('0');
    let digits = if whole.is_empty() { 1 } else { whole.len() } + fraction.len();
    let decimals = fraction.len() as i32;
    let small = match suffix {
        Suffix::Decimal(exponent) => (digits <= 18 && exponent - decimals >= -9).then_some((1, exponent - decimals)),
        Suffix::Binary(bits) => {
            let room = 15 - digits as i64 - i64::from(bits * 3 / 10) - 1;
            (fraction.is_empty() && room >= 0).then_some((1i64 << bits, 0))
        }
    };
    if let Some((factor, scale)) = small {
        let value: i64 = format!("0{whole}{fraction}").parse().map_err(|_| WRONG_NUMBER)?;
        if let Some(value) = value.checked_mul(factor) {
            return Ok(Amount::Int { value: if negative { -value } else { value }, scale });
        }
    }
    let all = format!("{whole}{fraction}");
    let mut decimal = Decimal::new(negative, all.bytes().map(|b| b - b'0').collect(), -decimals);
    match suffix {
        Suffix::Decimal(exponent) => decimal.exponent = decimal.exponent.saturating_add(exponent),
        Suffix::Binary(bits) => (0..bits).for_each(|_| decimal.double()),
    }
    decimal.round_to_nano();
    if matches!(suffix, Suffix::Binary(_)) {
        decimal.cap_at_i64();
    }
    Ok(Amount::Decimal(decimal))
}

fn unit_shaped(unit: &str) -> bool {
    let rest = unit.trim_start_matches(|c| "eEinumkKMGTP".contains(c));
    let rest = rest.strip_prefix(['+', '-']).unwrap_or(rest);
    rest.bytes().all(|b| b.is_ascii_digit())
}

impl Amount {
    fn decimal(&self) -> Decimal {
        match self {
            Amount::Decimal(decimal) => decimal.clone(),
            Amount::Int { value, scale } => {
                let digits = value.unsigned_abs().to_string().bytes().map(|b| b - b'0').collect();
                Decimal::new(*value < 0, digits, *scale)
            }
        }
    }

    fn sign(&self) -> i64 {
        let decimal = self.decimal();
        match (decimal.digits.is_empty(), decimal.negative) {
            (true, _) => 0,
            (false, true) => -1,
            (false, false) => 1,
        }
    }

    fn order(&self, other: &Amount) -> Ordering {
        self.decimal().order(&other.decimal())
    }

    fn to_i64(&self) -> Option<i64> {
        match self {
            Amount::Int { value, scale } if *scale >= 0 => value.checked_mul(10i64.checked_pow(*scale as u32)?),
            _ => None,
        }
    }

    fn to_f64(&self) -> f64 {
        let (base, exponent) = match self {
            Amount::Int { value, scale } => (*value as f64, *scale),
            Amount::Decimal(decimal) => {
                let digits: String = decimal.digits.iter().map(|digit| char::from(digit + b'0')).collect();
                let base = digits.parse().unwrap_or(0.0);
                (if decimal.negative { -base } else { base }, decimal.exponent)
            }
        };
        if exponent == 0 { base } else { base * format!("1e{exponent}").parse::<f64>().unwrap_or(f64::INFINITY) }
    }

    fn negated(&self) -> Amount {
        match self {
            Amount::Int { value, scale } if *value != i64::MIN => Amount::Int { value: -value, scale: *scale },
            other => {
                let mut decimal = other.decimal();
                decimal.negative = !decimal.negative && !decimal.digits.is_empty();
                Amount::Decimal(decimal)
            }
        }
    }

    fn plus(&self, other: &Amount) -> Option<Amount> {
        if let (Amount::Int { value: a, scale: x }, Amount::Int { value: b, scale: y }) = (self, other)
            && let Some(sum) = add_small(*a, *x, *b, *y)
        {
            return Some(sum);
        }
        self.decimal().plus(&other.decimal()).map(Amount::Decimal)
    }
}

fn add_small(a: i64, x: i32, b: i64, y: i32) -> Option<Amount> {
    if b == 0 {
        return Some(Amount::Int { value: a, scale: x });
    }
    if a == 0 {
        return Some(Amount::Int { value: b, scale: y });
    }
    let scale = x.min(y);
    let at = |value: i64, from: i32| value.checked_mul(10i64.checked_pow((from - scale) as u32)?);
    Some(Amount::Int { value: at(a, x)?.checked_add(at(b, y)?)?, scale })
}

impl Decimal {
    fn new(negative: bool, digits: Vec<u8>, exponent: i32) -> Decimal {
        let digits: Vec<u8> = digits.into_iter().skip_while(|digit| *digit == 0).collect();
        let negative = negative && !digits.is_empty();
        Decimal { negative, digits, exponent }
    }

    fn double(&mut self) {
        let mut carry = 0;
        for digit in self.digits.iter_mut().rev() {
            let twice = *digit * 2 + carry;
            (*digit, carry) = (twice % 10, twice / 10);
        }
        if carry > 0 {
            self.digits.insert(0, carry);
        }
    }

    /// Away from zero, at nine decimals.
    fn round_to_nano(&mut self) {
        let extra = -9i64 - i64::from(self.exponent);
        let Ok(extra) = usize::try_from(extra) else { return };
        if extra == 0 || self.digits.is_empty() {
            return;
        }
        let keep = self.digits.len().saturating_sub(extra);
        let dropped = self.digits.split_off(keep);
        self.exponent = -9;
        if keep == 0 || dropped.iter().any(|digit| *digit > 0) {
            self.increment();
        }
    }

    fn increment(&mut self) {
        for digit in self.digits.iter_mut().rev() {
            if *digit < 9 {
                *digit += 1;
                return;
            }
            *digit = 0;
        }
        self.digits.insert(0, 1);
    }

    fn cap_at_i64(&mut self) {
        let max = Decimal::new(false, i64::MAX.to_string().bytes().map(|b| b - b'0').collect(), 0);
        if self.order_of_size(&max) == Ordering::Greater {
            *self = Decimal { negative: self.negative, ..max };
        }
    }

    fn order(&self, other: &Decimal) -> Ordering {
        match (self.negative, other.negative) {
            (false, true) => Ordering::Greater,
            (true, false) => Ordering::Less,
            (false, false) => self.order_of_size(other),
            (true, true) => other.order_of_size(self),
        }
    }

    fn order_of_size(&self, other: &Decimal) -> Ordering {
        if self.digits.is_empty() || other.digits.is_empty() {
            return other.digits.is_empty().cmp(&self.digits.is_empty());
        }
        let magnitude = |decimal: &Decimal| decimal.digits.len() as i64 + i64::from(decimal.exponent);
        magnitude(self).cmp(&magnitude(other)).then_with(|| {
            let length = self.digits.len().max(other.digits.len());
            let at = |decimal: &Decimal, index: usize| decimal.digits.get(index).copied().unwrap_or(0);
            (0..length)
                .map(|index| at(self, index).cmp(&at(other, index)))
                .find(|o| o.is_ne())
                .unwrap_or(Ordering::Equal)
        })
    }

    /// The digits at a lower exponent, least significant first.
    fn digits_at(&self, exponent: i32) -> Option<Vec<u8>> {
        let zeros = usize::try_from(i64::from(self.exponent) - i64::from(exponent)).ok()?;
        if zeros + self.digits.len() > MAX_DIGITS {
            return None;
        }
        let mut digits = vec![0; zeros];
        digits.extend(self.digits.iter().rev());
        Some(digits)
    }

    fn plus(&self, other: &Decimal) -> Option<Decimal> {
        if self.digits.is_empty() {
            return Some(other.clone());
        }
        if other.digits.is_empty() {
            return Some(self.clone());
        }
        let exponent = self.exponent.min(other.exponent);
        let (larger, smaller) = if self.order_of_size(other) == Ordering::Less { (other, self) } else { (self, other) };
        let (mut sum, part) = (larger.digits_at(exponent)?, smaller.digits_at(exponent)?);
        let sign: i16 = if larger.negative == smaller.negative { 1 } else { -1 };
        let mut carry = 0i16;
        for (index, digit) in sum.iter_mut().enumerate() {
            let total = i16::from(*digit) + sign * i16::from(part.get(index).copied().unwrap_or(0)) + carry;
            (*digit, carry) = (total.rem_euclid(10) as u8, total.div_euclid(10));
        }
        if carry > 0 {
            sum.push(carry as u8);
        }
        sum.reverse();
        Some(Decimal::new(larger.negative, sum, exponent))
    }
}
