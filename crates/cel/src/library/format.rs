//! `format`: writing values by clauses, and checking the clauses beforehand.

use crate::error::EvalError;
use crate::types::Type;
use crate::value::{List, MAX_NESTING, Val, convert, number};
use std::fmt::Write;

/// A clause of a format string, without its precision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clause {
    String,
    Decimal,
    Fixed,
    Scientific,
    Binary,
    Hex { upper: bool },
    Octal,
}

const DEFAULT_PRECISION: usize = 6;
/// Go writes no more decimals than this.
const MAX_PRECISION: usize = 1_000_000;

impl Clause {
    /// Whether values of a static type can be written so.
    pub fn takes(self, ty: &Type) -> bool {
        use Type::{Bool, Bytes, Double, Dyn, Int, List, Map, Null, String, Uint};
        if matches!(ty, Dyn) {
            return true;
        }
        match self {
            Clause::String => {
                matches!(ty, List(_) | Map(_) | Int | Uint | Double | Bool | String | Bytes | Null | Type::Type(_))
                    || matches!(ty, Type::Timestamp | Type::Duration)
            }
            Clause::Decimal | Clause::Octal => matches!(ty, Int | Uint),
            Clause::Fixed | Clause::Scientific => matches!(ty, Double | String),
            Clause::Binary => matches!(ty, Int | Uint | Bool),
            Clause::Hex { .. } => matches!(ty, Int | Uint | String | Bytes),
        }
    }

    fn complaint(self, found: &str) -> String {
        let wants = match self {
            Clause::String => {
                "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps"
            }
            Clause::Decimal => "decimal clause can only be used on integers",
            Clause::Fixed => "fixed-point clause can only be used on doubles",
            Clause::Scientific => "scientific clause can only be used on doubles",
            Clause::Binary => "only integers and bools can be formatted as binary",
            Clause::Hex { .. } => "only integers, byte buffers, and strings can be formatted as hex",
            Clause::Octal => "octal clause can only be used on integers",
        };
        format!("{wants}, was given {found}")
    }
}

/// Writes the arguments into the format string.
pub fn write(format: &str, args: &List<'_>) -> Result<String, EvalError> {
    let mut out = String::with_capacity(format.len());
    let during = |message: String| EvalError::new(format!("error during formatting: {message}"));
    each_clause(format, args.len(), &mut out, |out, clause, precision, index| {
        let value = match args.get(index) {
            Some(value) => value.map_err(|error| error.to_string())?,
            None => return Err(format!("index {index} out of range")),
        };
        match clause_text(clause, precision, &value) {
            Ok(text) => {
                out.push_str(&text);
                Ok(())
            }
            Err(message) => Err(during(message).to_string()),
        }
    })
    .map_err(EvalError::new)?;
    Ok(out)
}

/// Checks a format string against its arguments: how many it uses, or what is wrong and with which node.
pub fn check<N>(
    format: &str,
    count: usize,
    mut misfit: impl FnMut(Clause, usize) -> Option<(N, String)>,
) -> Result<usize, (Option<N>, String)> {
    let mut at = None;
    let mut used = 0;
    let result = each_clause(format, count, &mut String::new(), |_, clause, _, index| {
        used += 1;
        match misfit(clause, index) {
            None => Ok(()),
            Some((node, found)) => {
                at = Some(node);
                Err(format!("error during formatting: {}", clause.complaint(&found)))
            }
        }
    });
    match result {
        Ok(()) => Ok(used),
        Err(message) => Err((at, message)),
    }
}

type Visit<'v> = dyn FnMut(&mut String, Clause, Option<usize>, usize) -> Result<(), String> + 'v;

fn each_clause(
    format: &str,
    count: usize,
    out: &mut String,
    mut visit: impl FnMut(&mut String, Clause, Option<usize>, usize) -> Result<(), String>,
) -> Result<(), String> {
    let visit: &mut Visit<'_> = &mut visit;
    let mut rest = format;
    let mut index = 0;
    while let Some(at) = rest.find('%') {
        let (plain, clause) = rest.split_at_checked(at).unwrap_or((rest, ""));
        out.push_str(plain);
        let body = clause.get(1..).unwrap_or_default();
        if let Some(behind) = body.strip_prefix('%') {
            out.push('%');
            rest = behind;
            continue;
        }
        if index >= count {
            return Err(format!("index {index} out of range"));
        }
        if body.is_empty() {
            return Err("unexpected end of string".to_owned());
        }
        let (clause, precision, behind) =
            parse_clause(body).map_err(|error| format!("could not parse formatting clause: {error}"))?;
        visit(out, clause, precision, index)?;
        index += 1;
        rest = behind;
    }
    out.push_str(rest);
    Ok(())
}

fn parse_clause(body: &str) -> Result<(Clause, Option<usize>, &str), String> {
    let (precision, rest) = match body.strip_prefix('.') {
        None => (None, body),
        Some(behind) => {
            let end = behind.find(|c: char| !c.is_ascii_digit());
            let Some((digits, rest)) = end.and_then(|end| behind.split_at_checked(end)) else {
                return Err("error while parsing precision: could not find end of precision specifier".to_owned());
            };
            let precision = digits.parse().map_err(|_| {
                format!("error while parsing precision: error while converting precision to integer: strconv.Atoi: parsing {digits:?}: invalid syntax")
            })?;
            (Some(precision), rest)
        }
    };
    let mut chars = rest.chars();
    let c = chars.next().unwrap_or_default();
    let clause = match c {
        's' => Clause::String,
        'd' => Clause::Decimal,
        'f' => Clause::Fixed,
        'e' => Clause::Scientific,
        'b' => Clause::Binary,
        'x' => Clause::Hex { upper: false },
        'X' => Clause::Hex { upper: true },
        'o' => Clause::Octal,
        _ => return Err(format!("unrecognized formatting clause \"{c}\"")),
    };
    Ok((clause, precision, chars.as_str()))
}

fn clause_text(clause: Clause, precision: Option<usize>, value: &Val<'_>) -> Result<String, String> {
    let refuse = || Err(clause.complaint(value.type_name()));
    let decimals = precision.unwrap_or(DEFAULT_PRECISION).min(MAX_PRECISION);
    match (clause, value) {
        (Clause::String, value) => string_clause(value, 0).map_err(|()| clause.complaint(value.type_name())),
        (Clause::Decimal, Val::Int(_) | Val::Uint(_)) => Ok(value.to_string()),
        (Clause::Fixed, value) => double(value).map_or_else(refuse, |value| Ok(grouped(value, decimals))),
        // The reference takes the precision for a width here.
        (Clause::Scientific, value) => {
            let width = precision.map_or(0, |width| width.min(MAX_PRECISION));
            double(value).map_or_else(refuse, |value| Ok(format!("{:>width$}", scientific(value))))
        }
        (Clause::Binary, Val::Int(value)) => Ok(signed(*value, |n| format!("{n:b}"))),
        (Clause::Binary, Val::Uint(value)) => Ok(format!("{value:b}")),
        (Clause::Binary, Val::Bool(value)) => Ok(if *value { "1" } else { "0" }.to_owned()),
        (Clause::Octal, Val::Int(value)) => Ok(signed(*value, |n| format!("{n:o}"))),
        (Clause::Octal, Val::Uint(value)) => Ok(format!("{value:o}")),
        (Clause::Hex { upper }, value) => {
            let text = match value {
                Val::Int(value) => signed(*value, |n| format!("{n:x}")),
                Val::Uint(value) => format!("{value:x}"),
                Val::String(text) => hex(text.as_bytes()),
                Val::Bytes(bytes) => hex(bytes),
                _ => return refuse(),
            };
            Ok(if upper { text.to_ascii_uppercase() } else { text })
        }
        _ => refuse(),
    }
}

fn double(value: &Val<'_>) -> Option<f64> {
    match value {
        Val::Double(value) => Some(*value),
        Val::String(text) if matches!(&**text, "NaN" | "Infinity" | "-Infinity") => convert::go_float(text),
        _ => None,
    }
}

/// Fixed decimals as the reference writes them for English readers.
fn grouped(value: f64, decimals: usize) -> String {
    let text = number::fixed(value, decimals);
    if !value.is_finite() {
        return match text.as_str() {
            "Infinity" => "∞".to_owned(),
            "-Infinity" => "-∞".to_owned(),
            _ => text,
        };
    }
    let (sign, digits) = text.strip_prefix('-').map_or(("", text.as_str()), |digits| ("-", digits));
    let (whole, fraction) = digits.split_once('.').map_or((digits, None), |(whole, f)| (whole, Some(f)));
    let mut out = String::from(sign);
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    if let Some(fraction) = fraction {
        out.push('.');
        out.push_str(fraction);
    }
    out
}

/// A power of ten as the reference writes it for English readers: `1.052033×10⁰³`.
fn scientific(value: f64) -> String {
    if !value.is_finite() {
        return grouped(value, 0);
    }
    let text = format!("{value:.DEFAULT_PRECISION$e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let raised = format!("{}{:02}", if exponent < 0 { "-" } else { "" }, exponent.abs());
    let raised: String = raised.chars().map(superscript).collect();
    format!("{digits}×10{raised}")
}

fn superscript(c: char) -> char {
    match c {
        '-' => '⁻',
        '1' => '¹',
        '2' => '²',
        '3' => '³',
        c => char::from_u32('⁰' as u32 + c as u32 - '0' as u32).unwrap_or(c),
    }
}

fn signed(value: i64, write: impl Fn(u64) -> String) -> String {
    let sign = if value < 0 { "-" } else { "" };
    format!("{sign}{}", write(value.unsigned_abs()))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut out, byte| {
        let _ = write!(out, "{byte:02x}");
        out
    })
}

fn string_clause(value: &Val<'_>, depth: usize) -> Result<String, ()> {
    if depth > MAX_NESTING {
        return Err(());
    }
    match value {
        Val::Null => Ok("null".to_owned()),
        Val::List(list) => {
            let mut parts = Vec::with_capacity(list.len());
            for item in list.iter() {
                parts.push(nested(&item.map_err(|_| ())?, depth + 1)?);
            }
            Ok(format!("[{}]", parts.join(", ")))
        }
        Val::Map(map) => {
            let mut parts = Vec::with_capacity(map.len());
            for (key, value) in map.entries() {
                parts.push((nested(&key, depth + 1)?, nested(&value.map_err(|_| ())?, depth + 1)?));
            }
            parts.sort();
            let parts: Vec<String> = parts.into_iter().map(|(key, value)| format!("{key}:{value}")).collect();
            Ok(format!("{{{}}}", parts.join(", ")))
        }
        Val::Optional(_) | Val::Opaque(_) => Err(()),
        Val::Bytes(bytes) => Ok(String::from_utf8_lossy(bytes).into_owned()),
        other => convert::string(other).map(|text| text.to_string()).map_err(|_| ()),
    }
}

/// A value inside a container: written so that it could be read again.
fn nested(value: &Val<'_>, depth: usize) -> Result<String, ()> {
    Ok(match value {
        Val::String(text) => crate::value::quoted(text),
        Val::Bytes(bytes) => format!("b{}", crate::value::quoted(&String::from_utf8_lossy(bytes))),
        Val::Double(value) if value.is_nan() => "\"NaN\"".to_owned(),
        Val::Double(value) if value.is_infinite() => if *value > 0.0 { "\"+Inf\"" } else { "\"-Inf\"" }.to_owned(),
        Val::Double(value) => number::fixed(*value, DEFAULT_PRECISION),
        Val::Timestamp(moment) => format!("timestamp(\"{moment}\")"),
        Val::Duration(_) => format!("duration(\"{value}\")"),
        other => string_clause(other, depth)?,
    })
}
