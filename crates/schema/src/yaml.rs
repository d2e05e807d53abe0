//! YAML as Go's tools read and write it: YAML 1.1 booleans and octals, JSON values out.

mod emit;
mod scalar;
mod shown;
mod text;

use std::collections::{HashMap, HashSet};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use saphyr_parser::{Event, Parser, ScalarStyle, ScanError, Tag};
use serde_json::{Map, Value};

pub use emit::emit;

use crate::{built, untyped};
use shown::shown;

/// Nesting beyond this is refused.
const MAX_DEPTH: usize = 300;
/// Bytes that the copies of anchors may add up to before the document counts as an attack.
const MAX_ALIASED: usize = 8 << 20;

const TOO_LARGE: &str = "yaml: document is too large once it is read";

/// A document and the keys in it that were given more than once.
#[derive(Debug, PartialEq)]
pub struct Parsed {
    pub value: Value,
    /// `line 8: key "replicas" already set in map`, in document order.
    pub duplicates: Vec<String>,
}

/// Reads the first document of a text. The error is worded as Go words it.
pub fn parse(text: &str) -> Result<Parsed, String> {
    text::check(text)?;
    parse_text(text)
}

/// Reads the first document of what a client sent, which may have a byte order mark.
pub fn read(bytes: &[u8]) -> Result<Parsed, String> {
    parse_text(&text::read(bytes)?)
}

fn parse_text(text: &str) -> Result<Parsed, String> {
    if let Some(value) = untyped::read_plain(text).map_err(|untyped::TooLarge| TOO_LARGE)? {
        return Ok(Parsed { value, duplicates: Vec::new() });
    }
    parse_yaml(text)
}

/// What the parser keeps for each of these within braces and brackets, until it knows that none of them is a key.
const TOKENS: usize = 600;
/// What it may keep of every document; of larger ones twice what may be built of them.
const TOKENS_OF_SMALL: usize = 64 << 20;

fn parse_yaml(text: &str) -> Result<Parsed, String> {
    let indicators = text.bytes().filter(|byte| matches!(byte, b'{' | b'}' | b'[' | b']' | b',' | b':')).count();
    if indicators.saturating_mul(TOKENS) > TOKENS_OF_SMALL.max(2 * built::allowed(text.len())) {
        return Err(TOO_LARGE.to_owned());
    }
    let mut loader = Loader {
        text,
        parser: Parser::new_from_str(text),
        referenced: referenced(text),
        anchors: HashMap::new(),
        aliased: 0,
        left: built::allowed(text.len()),
        duplicates: Vec::new(),
        is_nothing: false,
        null_key: None,
    };
    loop {
        match loader.next()?.0 {
            Event::StreamEnd => return Ok(Parsed { value: Value::Null, duplicates: Vec::new() }),
            Event::DocumentStart(_) => {
                let (event, line) = loader.next()?;
                let value = loader.node(event, line, 0)?;
                if let Some(wrong) = loader.null_key {
                    return Err(wrong);
                }
                return Ok(Parsed { value, duplicates: loader.duplicates });
            }
            _ => {}
        }
    }
}

struct Loader<'t> {
    text: &'t str,
    parser: Parser<'t, saphyr_parser::StrInput<'t>>,
    /// The anchors that something refers to: only these are kept.
    referenced: HashSet<usize>,
    anchors: HashMap<usize, Value>,
    aliased: usize,
    /// How many bytes may still be built.
    left: usize,
    duplicates: Vec<String>,
    /// The last event stands for no text at all.
    is_nothing: bool,
    /// What is wrong with the first key that is null: told when all has been read.
    null_key: Option<String>,
}

impl<'t> Loader<'t> {
    fn next(&mut self) -> Result<(Event<'t>, usize), String> {
        match self.parser.next() {
            Some(Ok((event, span))) => {
                self.is_nothing = span.start.index() == span.end.index();
                Ok((event, span.start.line()))
            }
            Some(Err(error)) => Err(worded(self.text, &error)),
            None => Ok((Event::StreamEnd, 0)),
        }
    }

    fn node(&mut self, event: Event<'t>, line: usize, depth: usize) -> Result<Value, String> {
        if depth > MAX_DEPTH {
            return Err("yaml: exceeded max depth".to_owned());
        }
        let (anchor, value) = match event {
            Event::Scalar(text, style, anchor, tag) => {
                self.build(built::text(text.len()))?;
                (anchor, scalar(&text, style, tag.as_deref())?)
            }
            Event::SequenceStart(anchor, _) => {
                let mut items = Vec::new();
                loop {
                    match self.next()? {
                        (Event::SequenceEnd, _) => break,
                        (event, line) => {
                            if items.len() == items.capacity() {
                                self.build(built::list(items.len().max(4)))?;
                            }
                            items.push(self.node(event, line, depth + 1)?);
                        }
                    }
                }
                (anchor, Value::Array(items))
            }
            Event::MappingStart(anchor, _) => (anchor, self.mapping(depth)?),
            Event::Alias(id) => {
                let value = self.anchors.get(&id).ok_or("yaml: anchor value contains itself")?;
                (0, copy(value, &mut self.aliased)?)
            }
            _ => return Err(format!("yaml: line {line}: did not find expected node content")),
        };
        if self.referenced.contains(&anchor) {
            self.anchors.insert(anchor, copy(&value, &mut self.aliased)?);
        }
        Ok(value)
    }

    /// Counts what is about to be built.
    fn build(&mut self, bytes: usize) -> Result<(), String> {
        self.left = self.left.checked_sub(bytes).ok_or(TOO_LARGE)?;
        Ok(())
    }

    fn mapping(&mut self, depth: usize) -> Result<Value, String> {
        let mut map = Map::new();
        let mut merged: Vec<Value> = Vec::new();
        loop {
            let (event, line) = self.next()?;
            if matches!(event, Event::MappingEnd) {
                break;
            }
            let merge = matches!(&event, Event::Scalar(text, ScalarStyle::Plain, _, _) if text == "<<");
            if self.is_nothing && matches!(event, Event::Scalar(..)) {
                return Err(format!("yaml: line {}: did not find expected key", line.saturating_sub(1)));
            }
            let given = self.node(event, line, depth + 1)?;
            let key = key_text(&given)?;
            let (event, at) = self.next()?;
            let value = self.node(event, at, depth + 1)?;
            if given.is_null() && !merge {
                let wrong = || format!("unsupported map key of type: %!s(<nil>), key: <nil>, value: {}", shown(&value));
                self.null_key.get_or_insert_with(wrong);
            }
            let entry = built::map(map.len() + 1) - built::map(map.len());
            self.build(entry)?;
            if merge {
                merged.push(value);
            } else if map.insert(key, value).is_some() {
                self.duplicates.push(format!("line {line}: key {} already set in map", shown(&given)));
            }
        }
        for value in merged {
            let sources = match value {
                Value::Array(items) => items,
                one => vec![one],
            };
            for source in sources {
                let Value::Object(source) = source else {
                    return Err("yaml: map merge requires map or sequence of maps as the value".to_owned());
                };
                for (key, value) in source {
                    map.entry(key).or_insert(value);
                }
            }
        }
        Ok(Value::Object(map))
    }
}

/// An error as Go words it: without what was being parsed, and with Go's idea of the line, which depends on who found it.
fn worded(text: &str, error: &ScanError) -> String {
    let (line, info) = (error.marker().line(), error.info());
    let (line, what) = match info.strip_prefix("while ").and_then(|rest| rest.split_once(", ")) {
        Some((_, what @ "found unexpected end of stream")) => (text.lines().count() + 1, what),
        Some((doing, what)) if doing.starts_with("parsing ") => (line.saturating_sub(1), what),
        Some((_, what)) => (if line > 1 { line } else { 0 }, what),
        None => (if line > 1 { line } else { 0 }, info),
    };
    let what = match what {
        "expected ',' or ']'" => "did not find expected ',' or ']'",
        "simple key expect ':'" => "could not find expected ':'",
        "found unknown anchor" => return unknown_anchor(text, error.marker().index()),
        what if what.starts_with("tabs disallowed") || what.starts_with("unexpected character") => {
            "found character that cannot start any token"
        }
        what => what,
    };
    if line > 0 { format!("yaml: line {line}: {what}") } else { format!("yaml: {what}") }
}

fn unknown_anchor(text: &str, at: usize) -> String {
    let rest: String = text.chars().skip(at).collect();
    let name: String =
        rest.trim_start_matches('*').chars().take_while(|c| c.is_alphanumeric() || "_-".contains(*c)).collect();
    format!("yaml: unknown anchor '{name}' referenced")
}

fn scalar(text: &str, style: ScalarStyle, tag: Option<&Tag>) -> Result<Value, String> {
    let is_own = tag.is_some_and(|tag| !tag.is_yaml_core_schema() && tag.handle == "!" && !tag.suffix.is_empty());
    let tag = tag.filter(|t| t.is_yaml_core_schema()).map(|t| t.suffix.as_str());
    match (style, tag) {
        _ if is_own => Ok(Value::from(text)),
        (_, Some("str")) => Ok(Value::from(text)),
        (_, Some("binary")) => {
            let packed: String = text.split_whitespace().collect();
            let bytes = STANDARD.decode(packed).map_err(|_| "yaml: !!binary value contains invalid base64 data")?;
            Ok(Value::from(String::from_utf8_lossy(&bytes)))
        }
        (ScalarStyle::Plain, _) | (_, Some("int" | "float" | "bool" | "null")) => scalar::resolve(text),
        _ => Ok(Value::from(text)),
    }
}

/// Keys of JSON are strings: other scalars become their text.
fn key_text(key: &Value) -> Result<String, String> {
    match key {
        Value::String(text) => Ok(text.clone()),
        Value::Bool(b) => Ok(b.to_string()),
        Value::Number(n) => Ok(n.to_string()),
        Value::Null => Ok("null".to_owned()),
        other => Err(format!("yaml: invalid map key: {}", shown(other))),
    }
}

/// A copy of a value, counted before it is made.
fn copy(value: &Value, copied: &mut usize) -> Result<Value, String> {
    // An alias that copies nothing is still work.
    *copied += built::list(1) + built::size(value);
    if *copied > MAX_ALIASED {
        return Err("yaml: document contains excessive aliasing".to_owned());
    }
    Ok(value.clone())
}

/// The anchors that something refers to.
fn referenced(text: &str) -> HashSet<usize> {
    if !text.contains('&') || !text.contains('*') {
        return HashSet::new();
    }
    let aliases = Parser::new_from_str(text).map_while(Result::ok).filter_map(|(event, _)| match event {
        Event::Alias(id) => Some(id),
        _ => None,
    });
    aliases.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn check(text: &str, expect: Value) {
        assert_eq!(parse(text).map(|p| p.value), Ok(expect), "{text}");
    }

    #[test]
    fn scalars_are_yaml_1_1() {
        check(
            "[yes, No, on, off, y, 0755, 0x1F, 0b11, 1_000, 1e3, ~, null, .5, 12.0, '5', \"x\", 2024-01-02, a b, -1, +2]",
            json!([
                true,
                false,
                true,
                false,
                true,
                493,
                31,
                3,
                1000,
                1000,
                null,
                null,
                0.5,
                12,
                "5",
                "x",
                "2024-01-02",
                "a b",
                -1,
                2
            ]),
        );
        check("1: a\ntrue: b\n", json!({"1": "a", "true": "b"}));
        check("[1e18, 1e19, -0.0, -0, 1., 1e30]", json!([10_i64.pow(18), 10_u64.pow(19), 0, 0, 1, 1e30]));
        check("a: !x 1", json!({"a": "1"}));
        check("", Value::Null);
        check("--- {a: 1}\n--- {b: 2}\n", json!({"a": 1}));
    }

    #[test]
    fn anchors_and_merges() {
        check("a: &x {k: 1}\nb: *x\nc: {<<: *x, j: 2}\n", json!({"a": {"k": 1}, "b": {"k": 1}, "c": {"k": 1, "j": 2}}));
        let bomb = (0..12).fold("a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n".to_owned(), |text, i| {
            let many = vec![format!("*a{i}"); 10].join(",");
            format!("{text}a{}: &a{} [{many}]\n", i + 1, i + 1)
        });
        assert_eq!(parse(&bomb).unwrap_err(), "yaml: document contains excessive aliasing");
    }

    #[test]
    fn anchors_that_nobody_refers_to_cost_nothing_and_copies_count_by_their_size() {
        let nested = |leaf: &str| {
            let open: String = (0..200).map(|level| format!("{{k: &a{level} ")).collect();
            format!("{open}[{leaf}]{}", "}".repeat(200))
        };
        let many = "x,".repeat(50_000);
        assert!(parse(&nested(&many)).is_ok());
        let all: String = (0..200).map(|level| format!("*a{level}, ")).collect();
        let used = format!("a: {}\nb: [{all}]\n", nested(&many));
        assert_eq!(parse(&used).unwrap_err(), "yaml: document contains excessive aliasing");
        let few = format!("a: {}\nb: [*a0, *a100, *a199]\n", nested("x"));
        assert!(parse(&few).is_ok());
        let text = format!("a: &a {}\nb: [{}]\n", "x".repeat(100_000), "*a, ".repeat(1000));
        assert_eq!(parse(&text).unwrap_err(), "yaml: document contains excessive aliasing");
    }

    #[test]
    fn json_reads_the_same_by_both_readers() {
        for text in [
            r#"{"a": {"b": [1, -2, true, null, "x\\u00e9\\n\\/y", {}], "yes": "no", "0x1": "010"}, "c": ""}"#,
            r#"{"a": 18446744073709551615, "b": -9223372036854775808}"#,
            "{}",
        ] {
            assert_eq!(untyped::read_plain(text), Ok(Some(parse_yaml(text).unwrap().value)), "{text}");
        }
        for text in [r#"{"a": 1, "a": 2}"#, r#"{"a": 1.0}"#, r#"{"a": 1e3}"#, "{a: b}", "[]", "a: b"] {
            assert_eq!(untyped::read_plain(text), Ok(None), "{text}");
        }
    }

    #[test]
    fn duplicates_are_told_with_their_line() {
        let parsed = parse("a: 1\nb:\n  c: 1\n  c: 2\na: 3\n").unwrap();
        assert_eq!(parsed.value, json!({"a": 3, "b": {"c": 2}}));
        assert_eq!(parsed.duplicates, ["line 4: key \"c\" already set in map", "line 5: key \"a\" already set in map"]);
        assert_eq!(parse("1: a\n1: b\n").unwrap().duplicates, ["line 2: key 1 already set in map"]);
    }

    #[test]
    fn bytes_are_read_as_text_with_or_without_a_mark() {
        let wide = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
        for bytes in [b"a: b".to_vec(), b"\xef\xbb\xbfa: b".to_vec(), [vec![0xff, 0xfe], wide("a: b")].concat()] {
            assert_eq!(read(&bytes).map(|parsed| parsed.value), Ok(json!({"a": "b"})), "{bytes:?}");
        }
        for (bytes, error) in [
            (&b"a: \xe9x"[..], "yaml: invalid trailing UTF-8 octet"),
            (b"a: \xff", "yaml: invalid leading UTF-8 octet"),
            (b"a: \"\x01\"", "yaml: control characters are not allowed"),
            (b"{\"a\": \"\x7f\"}", "yaml: control characters are not allowed"),
        ] {
            assert_eq!(read(bytes).unwrap_err(), error, "{bytes:?}");
        }
    }

    #[test]
    fn errors_are_gos() {
        for (text, error) in [
            ("a: b: c", "yaml: mapping values are not allowed in this context"),
            ("a: [b\n", "yaml: line 1: did not find expected ',' or ']'"),
            ("a: \"b\n", "yaml: line 2: found unexpected end of stream"),
            ("a:\n\tb: c\n", "yaml: line 2: found character that cannot start any token"),
            ("@a", "yaml: found character that cannot start any token"),
            ("a: *x", "yaml: unknown anchor 'x' referenced"),
            ("a: &x [*x]", "yaml: anchor value contains itself"),
            ("%\n", "yaml: could not find expected directive name"),
            ("a: !!binary $$", "yaml: !!binary value contains invalid base64 data"),
            ("a: .inf", "json: unsupported value: +Inf"),
            ("a: -.inf", "json: unsupported value: -Inf"),
            ("a: .nan", "json: unsupported value: NaN"),
            ("~: b", "unsupported map key of type: %!s(<nil>), key: <nil>, value: \"b\""),
            ("a:\n  : b", "yaml: line 1: did not find expected key"),
            ("{a: b}: c", "yaml: invalid map key: map[interface {}]interface {}{\"a\":\"b\"}"),
            ("? [a, ~]\n: c", "yaml: invalid map key: []interface {}{\"a\", interface {}(nil)}"),
            ("a: |\n x\nb\n", "yaml: line 4: could not find expected ':'"),
        ] {
            assert_eq!(parse(text).unwrap_err(), error, "{text:?}");
        }
        check("a: !!binary aGVsbG8=", json!({"a": "hello"}));
        assert!(parse(&"[".repeat(5000)).is_err());
    }

    #[test]
    fn what_is_written_reads_back() {
        for value in [
            json!({"a": "1", "multi": "x\ny\n", "num": "5", "yes": "yes", "e": {}, "l": [], "list": [{"a": 1}, [1, 2], "x: y"]}),
            json!([
                "- a",
                "#c",
                "",
                " lead",
                "tab\t",
                "null",
                "~",
                "1e3",
                "0o7",
                "a\nb",
                "\n",
                "é",
                "a: b",
                "x #y",
                "'q'",
                "\"d\"",
                "2024-01-01T00:00:00Z"
            ]),
            json!({"": null, "t": true, "f": 1.5, "nested": {"deep": {"er": ["x"]}}}),
        ] {
            let text = emit(&value);
            assert_eq!(parse(&text).map(|p| p.value), Ok(value), "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "\\PC{0,120}") {
            let _ = parse(&text);
        }

        #[test]
        fn any_string_survives(text in "\\PC{0,40}") {
            let value = json!({"k": text});
            let written = emit(&value);
            prop_assert_eq!(parse(&written).map(|p| p.value), Ok(value), "{}", written);
        }
    }
}
