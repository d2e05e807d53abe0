//! Semantic versions.

use crate::env::Library;
use crate::error::EvalError;
use crate::library::text;
use crate::types::Type;
use crate::value::{Opaque, Val, quoted};
use std::any::Any;
use std::cmp::Ordering;

/// The type's name.
pub const TYPE: &str = "kubernetes.Semver";

/// A version; its build is read and then ignored.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Version {
    numbers: [u64; 3],
    pre: Vec<Pre>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Pre {
    Number(u64),
    Word(String),
}

impl Opaque for Version {
    fn type_name(&self) -> &'static str {
        TYPE
    }

    fn equals(&self, other: &dyn Opaque) -> Option<bool> {
        other.as_any().downcast_ref::<Version>().map(|other| self.order(other) == Ordering::Equal)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// Adds the functions on versions.
pub fn add(library: &mut Library) {
    let version = Type::Object(TYPE.into());
    let two = [version.clone(), version.clone()];
    let f = &mut library.functions;
    let with_flag = [Type::String, Type::Bool];
    f.global("semver", "string_to_semver", &[Type::String], version.clone(), |args| read(args).map(Val::opaque));
    f.global("semver", "string_bool_to_semver", &with_flag, version.clone(), |args| read(args).map(Val::opaque));
    f.global("isSemver", "is_semver_string", &[Type::String], Type::Bool, |args| Ok(Val::Bool(read(args).is_ok())));
    f.global("isSemver", "is_semver_string_bool", &with_flag, Type::Bool, |args| Ok(Val::Bool(read(args).is_ok())));
    f.member("isGreaterThan", "semver_is_greater_than", &two, Type::Bool, |args| {
        Ok(Val::Bool(compare(args)? == Ordering::Greater))
    });
    f.member("isLessThan", "semver_is_less_than", &two, Type::Bool, |args| {
        Ok(Val::Bool(compare(args)? == Ordering::Less))
    });
    f.member("compareTo", "semver_compare_to", &two, Type::Int, |args| Ok(Val::Int(compare(args)? as i64)));
    f.member("major", "semver_major", std::slice::from_ref(&version), Type::Int, |args| part(args, 0));
    f.member("minor", "semver_minor", std::slice::from_ref(&version), Type::Int, |args| part(args, 1));
    f.member("patch", "semver_patch", &[version], Type::Int, |args| part(args, 2));
}

fn version<'v>(args: &'v [Val<'_>], index: usize) -> Result<&'v Version, EvalError> {
    args.get(index).and_then(Val::downcast).ok_or(EvalError::NO_OVERLOAD)
}

fn compare(args: &[Val<'_>]) -> Result<Ordering, EvalError> {
    Ok(version(args, 0)?.order(version(args, 1)?))
}

fn part<'a>(args: &[Val<'_>], index: usize) -> Result<Val<'a>, EvalError> {
    let version = version(args, 0)?;
    Ok(Val::Int(version.numbers.get(index).copied().unwrap_or(0) as i64))
}

fn read(args: &[Val<'_>]) -> Result<Version, EvalError> {
    let text = text(args, 0)?;
    let parsed = match args.get(1) {
        Some(Val::Bool(true)) => normalize(text).and_then(|text| parse(&text)),
        None | Some(Val::Bool(false)) => parse(text),
        _ => return Err(EvalError::NO_OVERLOAD),
    };
    parsed.map_err(EvalError::new)
}

/// Drops a leading `v` and leading zeros, and fills in missing parts.
fn normalize(text: &str) -> Result<String, String> {
    let text = text.strip_prefix('v').unwrap_or(text);
    let mut parts: Vec<String> = text.splitn(3, '.').map(str::to_owned).collect();
    for part in &mut parts {
        if part.len() > 1 {
            let stripped = part.trim_start_matches('0');
            let keeps_digit = stripped.starts_with(|c: char| c.is_ascii_digit());
            *part = if keeps_digit { stripped.to_owned() } else { format!("0{stripped}") };
        }
    }
    if parts.len() < 3 {
        if parts.last().is_some_and(|last| last.contains(['+', '-'])) {
            return Err("short version cannot contain PreRelease/Build meta data".to_owned());
        }
        parts.resize(3, "0".to_owned());
    }
    Ok(parts.join("."))
}

fn parse(text: &str) -> Result<Version, String> {
    if text.is_empty() {
        return Err("Version string empty".to_owned());
    }
    let parts: Vec<&str> = text.splitn(3, '.').collect();
    let [major, minor, rest] = parts.as_slice() else {
        return Err("No Major.Minor.Patch elements found".to_owned());
    };
    let (rest, build) = rest.split_once('+').map_or((*rest, None), |(rest, build)| (rest, Some(build)));
    let (patch, pre) = rest.split_once('-').map_or((rest, None), |(patch, pre)| (patch, Some(pre)));
    let numbers = [parse_number(major, "Major")?, parse_number(minor, "Minor")?, parse_number(patch, "Patch")?];
    let pre = pre.map_or(Ok(Vec::new()), |pre| pre.split('.').map(parse_pre).collect())?;
    for part in build.into_iter().flat_map(|build| build.split('.')) {
        if part.is_empty() {
            return Err("Build meta data is empty".to_owned());
        }
        if !is_word(part) {
            return Err(format!("Invalid character(s) found in build meta data {}", quoted(part)));
        }
    }
    Ok(Version { numbers, pre })
}

fn is_word(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
}

fn is_number(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_digit())
}

fn digits(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| {
        let why = if text.is_empty() { "invalid syntax" } else { "value out of range" };
        format!("strconv.ParseUint: parsing {}: {why}", quoted(text))
    })
}

fn parse_number(text: &str, name: &str) -> Result<u64, String> {
    if !is_number(text) {
        return Err(format!("Invalid character(s) found in {} number {}", name.to_lowercase(), quoted(text)));
    }
    if text.len() > 1 && text.starts_with('0') {
        return Err(format!("{name} number must not contain leading zeroes {}", quoted(text)));
    }
    digits(text)
}

fn parse_pre(text: &str) -> Result<Pre, String> {
    if text.is_empty() {
        return Err("Prerelease is empty".to_owned());
    }
    if is_number(text) {
        if text.len() > 1 && text.starts_with('0') {
            let text = quoted(text);
            return Err(format!("Numeric PreRelease version must not contain leading zeroes {text}"));
        }
        return digits(text).map(Pre::Number);
    }
    if is_word(text) {
        return Ok(Pre::Word(text.to_owned()));
    }
    Err(format!("Invalid character(s) found in prerelease {}", quoted(text)))
}

impl Version {
    fn order(&self, other: &Version) -> Ordering {
        self.numbers.cmp(&other.numbers).then_with(|| match (self.pre.is_empty(), other.pre.is_empty()) {
            (true, true) => Ordering::Equal,
            (true, false) => Ordering::Greater,
            (false, true) => Ordering::Less,
            (false, false) => self.pre.cmp(&other.pre),
        })
    }
}
