//! Schedules and time zones, in the words of the parser that clients know.

use pawl_meta::object::Object;
use serde_json::Value;

use pawl_meta::read;
use pawl_rules::{Check, Errors, FieldPath};

/// The names of the time zone database.
const TIME_ZONES: &str = include_str!("../../../facts/timezones.txt");

const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const WEEKDAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

/// The bounds of one field of a schedule; names count from the lower bound.
struct Bounds {
    min: u64,
    max: u64,
    names: &'static [&'static str],
}

const FIELDS: [Bounds; 5] = [
    Bounds { min: 0, max: 59, names: &[] },
    Bounds { min: 0, max: 23, names: &[] },
    Bounds { min: 1, max: 31, names: &[] },
    Bounds { min: 1, max: 12, names: &MONTHS },
    Bounds { min: 0, max: 6, names: &WEEKDAYS },
];

fn old_spec<'a>(cx: &'a Check<'_>) -> Option<&'a Object> {
    cx.old.and_then(|old| read::map(old, "spec"))
}

/// A schedule can be read, and leaves the time zone to its own field. Schedules that named one before may go on.
pub fn cron_schedule(cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let schedule = read::text(object, "schedule");
    if schedule.is_empty() {
        return;
    }
    let at = path.child("schedule");
    if let Err(detail) = parse(schedule) {
        errors.invalid(&at, schedule, detail);
    }
    let tolerated = old_spec(cx).is_some_and(|old| read::text(old, "schedule").contains("TZ"));
    if tolerated && schedule.contains("TZ") && read::present(object, "timeZone") {
        errors.invalid(&at, schedule, "cannot use both timeZone field and TZ or CRON_TZ in schedule");
    } else if !tolerated && schedule.contains("TZ") {
        errors.invalid(&at, schedule, "cannot use TZ or CRON_TZ in schedule, use timeZone field instead");
    }
}

fn parse(schedule: &str) -> Result<(), String> {
    let mut rest = schedule;
    if schedule.starts_with("TZ=") || schedule.starts_with("CRON_TZ=") {
        let Some((_, after)) = schedule.split_once(' ') else {
            return Err("invalid schedule format: runtime error: slice bounds out of range [:-1]".to_string());
        };
        rest = after.trim();
    }
    if rest.starts_with('@') {
        return descriptor(rest);
    }
    let fields: Vec<&str> = rest.split_whitespace().collect();
    if fields.len() != FIELDS.len() {
        return Err(format!("expected exactly 5 fields, found {}: [{}]", fields.len(), fields.join(" ")));
    }
    for (field, bounds) in fields.iter().zip(&FIELDS) {
        for range in field.split(',').filter(|range| !range.is_empty()) {
            parse_range(range, bounds)?;
        }
    }
    Ok(())
}

fn descriptor(text: &str) -> Result<(), String> {
    match text {
        "@yearly" | "@annually" | "@monthly" | "@weekly" | "@daily" | "@midnight" | "@hourly" => Ok(()),
        _ => match text.strip_prefix("@every ") {
            Some(duration) if is_duration(duration) => Ok(()),
            Some(duration) => Err(format!("failed to parse duration {text}: time: invalid duration {duration:?}")),
            None => Err(format!("unrecognized descriptor: {text}")),
        },
    }
}

/// A duration such as `1h30m`.
fn is_duration(text: &str) -> bool {
    let mut rest = text.strip_prefix(['+', '-']).unwrap_or(text);
    if rest == "0" {
        return true;
    }
    if rest.is_empty() {
        return false;
    }
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(rest.len());
        let (number, unit_on) = rest.split_at(digits);
        if number.is_empty() || number == "." || number.matches('.').count() > 1 {
            return false;
        }
        let units = ["ns", "us", "µs", "μs", "ms", "s", "m", "h"];
        let end = unit_on.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(unit_on.len());
        let (unit, after) = unit_on.split_at(end);
        if !units.contains(&unit) {
            return false;
        }
        rest = after;
    }
    true
}

fn parse_range(text: &str, bounds: &Bounds) -> Result<(), String> {
    let parts: Vec<&str> = text.split('/').collect();
    let ends: Vec<&str> = parts.first().copied().unwrap_or_default().split('-').collect();
    let first = ends.first().copied().unwrap_or_default();
    let (start, mut end) = if matches!(first, "*" | "?") {
        (bounds.min, bounds.max)
    } else {
        let start = number_or_name(first, bounds)?;
        match ends.as_slice() {
            [_] => (start, start),
            [_, last] => (start, number_or_name(last, bounds)?),
            _ => return Err(format!("too many hyphens: {text}")),
        }
    };
    let step = match parts.as_slice() {
        [_] => 1,
        [_, step] => {
            let step = number(step)?;
            if ends.len() == 1 {
                end = bounds.max;
            }
            step
        }
        _ => return Err(format!("too many slashes: {text}")),
    };
    let (min, max) = (bounds.min, bounds.max);
    if start < min {
        return Err(format!("beginning of range ({start}) below minimum ({min}): {text}"));
    }
    if end > max {
        return Err(format!("end of range ({end}) above maximum ({max}): {text}"));
    }
    if start > end {
        return Err(format!("beginning of range ({start}) beyond end of range ({end}): {text}"));
    }
    if step == 0 {
        return Err(format!("step of range should be a positive number: {text}"));
    }
    Ok(())
}

fn number_or_name(text: &str, bounds: &Bounds) -> Result<u64, String> {
    let lower = text.to_lowercase();
    match bounds.names.iter().zip(bounds.min..).find(|(name, _)| **name == lower) {
        Some((_, number)) => Ok(number),
        None => number(text),
    }
}

fn number(text: &str) -> Result<u64, String> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(format!("failed to parse int from {text}: strconv.Atoi: parsing {text:?}: invalid syntax"));
    }
    match text.parse::<i64>() {
        Ok(number) => u64::try_from(number).map_err(|_| format!("negative number ({number}) not allowed: {text}")),
        Err(_) => Err(format!("failed to parse int from {text}: strconv.Atoi: parsing {text:?}: value out of range")),
    }
}

/// A time zone that is set anew is one of the database, named exactly.
pub fn cron_time_zone(cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let Some(zone) = object.get("timeZone").and_then(Value::as_str) else { return };
    if old_spec(cx).and_then(|old| old.get("timeZone")).and_then(Value::as_str) == Some(zone) {
        return;
    }
    let at = path.child("timeZone");
    if zone.is_empty() {
        errors.invalid(&at, zone, "timeZone must be nil or non-empty string");
        return;
    }
    if !zone.split('/').all(is_zone_part) {
        errors.invalid(&at, zone, format!("unknown time zone {zone}"));
        return;
    }
    if zone.eq_ignore_ascii_case("local") {
        let detail = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones";
        errors.invalid(&at, zone, detail);
    }
    if zone != "Local" && !TIME_ZONES.lines().any(|known| known == zone) {
        errors.invalid(&at, zone, format!("unknown time zone {zone}"));
    }
}

fn is_zone_part(part: &str) -> bool {
    let well_formed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_' | b'+');
    (1..=14).contains(&part.len())
        && part != "."
        && part != ".."
        && !part.starts_with('-')
        && part.bytes().all(well_formed)
}

/// The jobs of a CronJob get eleven characters more than its name.
pub fn cron_job_name(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let name = read::map(object, "metadata").map_or("", |meta| read::text(meta, "name"));
    if name.len() > 52 {
        errors.invalid(&path.child("metadata").child("name"), name, "must be no more than 52 characters");
    }
}
