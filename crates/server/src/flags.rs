//! Flags: one table that feeds parsing, `--help`, the documentation and the tests.

mod table;

use std::collections::BTreeMap;

use pawl_meta::nearest::nearest;

pub use table::{FLAGS, Flag, Role, lettered, switch, used};

/// What was given on the command line.
#[derive(Clone, Debug, Default)]
pub struct Given {
    /// The flags that the command has.
    known: Vec<&'static Flag>,
    values: BTreeMap<&'static str, Vec<String>>,
    /// What is no flag, and everything after `--`.
    pub rest: Vec<String>,
    /// What the user should know about flags that do nothing here.
    pub warnings: Vec<String>,
    pub help: bool,
}

impl Given {
    /// Reads arguments: `--name=value`, `--name value`, `--name` for switches, `-v=2`, underscores for hyphens. After `--`
    /// nothing is a flag.
    pub fn parse(tables: &[&'static [Flag]], arguments: impl IntoIterator<Item = String>) -> Result<Self, String> {
        let mut given = Self { known: tables.iter().copied().flatten().collect(), ..Self::default() };
        let mut arguments = arguments.into_iter();
        while let Some(argument) = arguments.next() {
            if argument == "--" {
                given.rest.extend(arguments);
                break;
            }
            let Some(body) = argument.strip_prefix("--").or_else(|| argument.strip_prefix('-')) else {
                given.rest.push(argument);
                continue;
            };
            let (name, value) = match body.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (body, None),
            };
            let name = name.replace('_', "-");
            if matches!(name.as_str(), "help" | "h") {
                given.help = true;
                continue;
            }
            let flag = given.flag(&name)?;
            let value = match value {
                Some(value) => value,
                None if flag.is_switch => "true".to_owned(),
                None => arguments.next().ok_or_else(|| format!("flag needs an argument: --{name}"))?,
            };
            match flag.role {
                Role::Used => {}
                Role::Inert if given.values.contains_key(flag.name) => {}
                Role::Inert => given.warnings.push(format!("--{name} is accepted for compatibility and does nothing")),
                // What asks for nothing leaves no hole.
                Role::Refused(_) if matches!(value.as_str(), "" | "false") => {}
                Role::Refused(why) => return Err(format!("--{name} is not supported yet: {why}")),
            }
            given.values.entry(flag.name).or_default().push(value);
        }
        Ok(given)
    }

    fn flag(&self, name: &str) -> Result<&'static Flag, String> {
        let meant = |flag: &&Flag| flag.name == name || (!flag.short.is_empty() && flag.short == name);
        self.known.iter().copied().find(meant).ok_or_else(|| {
            let known = self.known.iter().filter(|flag| !matches!(flag.role, Role::Inert)).map(|flag| flag.name);
            let near = nearest(name, known).map(|near| format!(", did you mean --{near}?"));
            format!("unknown flag: --{name}{}", near.unwrap_or_default())
        })
    }

    /// For commands that take nothing but flags.
    pub fn only_flags(&self) -> Result<(), String> {
        self.rest.first().map_or(Ok(()), |first| Err(format!("unknown command {first:?}")))
    }

    /// The last value of a flag, if it was given.
    pub fn get(&self, name: &str) -> Option<&str> {
        debug_assert!(self.known.iter().any(|f| f.name == name), "no such flag: {name}");
        self.values.get(name).and_then(|v| v.last()).map(String::as_str)
    }

    /// The value of a flag or its default.
    pub fn value(&self, name: &str) -> &str {
        let default = || self.known.iter().find(|f| f.name == name).map(|f| f.default);
        self.get(name).or_else(default).unwrap_or_default()
    }

    /// Gives a flag a value that the command line did not give it.
    pub fn or_else(&mut self, name: &'static str, value: impl Into<String>) {
        self.values.entry(name).or_insert_with(|| vec![value.into()]);
    }

    /// All values of a flag that may be repeated and holds comma lists.
    pub fn list(&self, name: &str) -> Vec<String> {
        let values = self.values.get(name).map(Vec::as_slice).unwrap_or_default();
        values.iter().flat_map(|v| v.split(',')).map(str::trim).filter(|v| !v.is_empty()).map(str::to_owned).collect()
    }

    pub fn switch(&self, name: &str) -> Result<bool, String> {
        match self.value(name) {
            "true" | "1" | "t" | "T" | "True" | "TRUE" => Ok(true),
            "false" | "0" | "f" | "F" | "False" | "FALSE" | "" => Ok(false),
            other => Err(invalid(name, other, &format!("strconv.ParseBool: parsing {other:?}: invalid syntax"))),
        }
    }

    pub fn number<N: std::str::FromStr>(&self, name: &str) -> Result<N, String> {
        let text = self.value(name);
        text.parse().map_err(|_| invalid(name, text, &format!("strconv.ParseInt: parsing {text:?}: invalid syntax")))
    }

    /// A duration as Go writes it: `1h30m`, `500ms`.
    pub fn duration(&self, name: &str) -> Result<std::time::Duration, String> {
        let text = self.value(name);
        parse_duration(text).ok_or_else(|| invalid(name, text, &format!("time: invalid duration {text:?}")))
    }
}

fn invalid(name: &str, value: &str, why: &str) -> String {
    format!("invalid argument {value:?} for \"--{name}\" flag: {why}")
}

fn parse_duration(text: &str) -> Option<std::time::Duration> {
    if text == "0" {
        return Some(std::time::Duration::ZERO);
    }
    let mut rest = text;
    let mut seconds = 0.0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let number: f64 = rest.get(..digits)?.parse().ok()?;
        rest = rest.get(digits..)?;
        let (unit, factor) =
            [("ms", 1e-3), ("us", 1e-6), ("µs", 1e-6), ("ns", 1e-9), ("h", 3600.0), ("m", 60.0), ("s", 1.0)]
                .into_iter()
                .find(|(unit, _)| rest.starts_with(unit))?;
        seconds += number * factor;
        rest = rest.get(unit.len()..)?;
    }
    // As many nanoseconds as Go counts.
    (!text.is_empty() && seconds < i64::MAX as f64 / 1e9).then(|| std::time::Duration::from_secs_f64(seconds))
}

/// The lines of `--help` about flags that do something.
pub fn described(flags: &[Flag]) -> String {
    let mut out = String::new();
    for flag in flags.iter().filter(|f| f.role == Role::Used) {
        let default = if flag.default.is_empty() { String::new() } else { format!(" (default {})", flag.default) };
        let letter = if flag.short.is_empty() { "  ".to_owned() } else { format!("-{},", flag.short) };
        out.push_str(&format!("  {letter:<3} --{:<38} {}{default}\n", flag.name, flag.about));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(arguments: &[&str]) -> Result<Given, String> {
        Given::parse(&[FLAGS], arguments.iter().map(|a| (*a).to_owned()))
    }

    #[test]
    fn flags_are_read_as_upstream_reads_them() {
        let given =
            parse(&["--data_dir=/x", "--secure-port", "7000", "-v=2", "--api-audiences=a,b", "--api-audiences=c"])
                .unwrap();
        assert_eq!(given.value("data-dir"), "/x");
        assert_eq!(given.number::<u64>("secure-port"), Ok(7000));
        assert_eq!(given.list("api-audiences"), ["a", "b", "c"]);
        assert_eq!(parse(&["--nope"]).unwrap_err(), "unknown flag: --nope");
        assert_eq!(
            parse(&["--secure-prot=1"]).unwrap_err(),
            "unknown flag: --secure-prot, did you mean --secure-port?"
        );
        assert_eq!(parse(&["a", "--v=1", "--", "--b", "c"]).unwrap().rest, ["a", "--b", "c"]);
        assert_eq!(parse(&["--data-dir"]).unwrap_err(), "flag needs an argument: --data-dir");
        assert!(parse(&["--oidc-issuer-url=x"]).unwrap_err().contains("not supported yet"));
        assert!(parse(&["--enable-bootstrap-token-auth"]).unwrap_err().contains("not supported yet"));
        for harmless in ["--enable-bootstrap-token-auth=false", "--oidc-issuer-url="] {
            assert!(parse(&[harmless]).is_ok(), "{harmless}");
        }
        assert_eq!(parse(&["--kubelet-port=1", "--kubelet-port=2"]).unwrap().warnings.len(), 1);
        assert!(parse(&["serve"]).unwrap().only_flags().is_err());
    }

    #[test]
    fn durations_are_gos() {
        for (text, millis) in [
            ("1h30m", Some(5_400_000)),
            ("500ms", Some(500)),
            ("0", Some(0)),
            ("5", None),
            ("", None),
            ("1x", None),
            ("9999999h", None),
        ] {
            assert_eq!(parse_duration(text).map(|d| d.as_millis()), millis, "{text}");
        }
    }

    /// A flag that is said to be used is read: by its name, in the code that makes settings of flags.
    #[test]
    fn what_is_used_is_read() {
        let readers = concat!(include_str!("settings.rs"), include_str!("../../cli/src/logging.rs"));
        for flag in FLAGS {
            let read = readers.contains(&format!("\"{}\"", flag.name));
            assert_eq!(flag.role == Role::Used, read, "--{}", flag.name);
        }
    }

    #[test]
    fn the_table_has_each_flag_once_and_help_names_what_is_used() {
        let help = described(FLAGS);
        for (i, flag) in FLAGS.iter().enumerate() {
            assert!(FLAGS.iter().skip(i + 1).all(|f| f.name != flag.name), "--{} is there twice", flag.name);
            assert_eq!(flag.role == Role::Used, help.contains(&format!("--{} ", flag.name)), "--{}", flag.name);
        }
        assert!(!help.contains("--insecure-port"));
    }
}
