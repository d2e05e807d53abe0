//! The past of an object as differences: when, who and by which verb, where that is known.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

use pawl_meta::time;
use serde_json::{Value, json};

use crate::Ended;
use crate::look::{ago, list, text};
use crate::resources::{Named, Resources};
use crate::screen::{Colour, Format, Screen};
use crate::server::Server;

/// How long one waits before looking again.
const BETWEEN: Duration = Duration::from_secs(1);

/// What of the past is asked for.
#[derive(Clone, Debug, Default)]
pub struct HistoryAsked {
    /// How far back: `10m`, or a time. Empty for everything.
    pub since: String,
    pub watch: bool,
    /// Objects that had the name before, too.
    pub all_uids: bool,
}

/// `pawl history TYPE/NAME`.
pub async fn history(
    server: &Server,
    screen: &Screen,
    given: &[String],
    asked: &HistoryAsked,
) -> Result<Ended, String> {
    let since = since(&asked.since, time::unix_now())?;
    let named = Resources::of(server).await?.named(given, &server.namespace)?;
    let uids = if asked.all_uids { "uid=all" } else { "" };
    let answer = match server.get(&format!("{}/history?{uids}", named.path())).await {
        Ok(answer) => answer,
        Err(refused) if refused.is_unknown_path() => return writers(server, screen, &named).await,
        Err(refused) => return Err(refused.to_string()),
    };
    let mut story = Story { since, ..Story::default() };
    let told = story.go_on(&answer);
    if asked.watch && matches!(screen.format, Format::Json | Format::Yaml) {
        return Err("--watch shows differences: leave out --output".to_owned());
    }
    screen.say(&shown(screen, &named, &answer, &told));
    let mut last = text(&answer, "/metadata/resourceVersion").to_owned();
    while asked.watch && !story.is_over {
        tokio::time::sleep(BETWEEN).await;
        let answer = server.get(&format!("{}/history?after={last}&{uids}", named.path())).await?;
        last = text(&answer, "/metadata/resourceVersion").to_owned();
        for moment in story.go_on(&answer) {
            screen.say(&moment.shown(screen));
        }
    }
    Ok(Ended::Well)
}

fn since(text: &str, now: i64) -> Result<Option<i64>, String> {
    if text.is_empty() {
        return Ok(None);
    }
    if let Some(when) = time::parse(text) {
        return Ok(Some(when));
    }
    let wrong = || format!("--since={text}: a time, or how long ago, as 30s, 10m, 2h, 1d");
    let unit = text.chars().last().ok_or_else(wrong)?;
    let seconds = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3600,
        'd' => 86_400,
        _ => return Err(wrong()),
    };
    let number: i64 = text.trim_end_matches(unit).parse().map_err(|_| wrong())?;
    Ok(Some(now.saturating_sub(number.saturating_mul(seconds))))
}

/// What is told of one moment.
struct Moment {
    revision: String,
    verb: String,
    time: Option<String>,
    manager: Option<String>,
    operation: Option<String>,
    /// Field, before, after.
    changes: Vec<(String, Option<Value>, Option<Value>)>,
    is_readable: bool,
}

/// What was told so far.
#[derive(Default)]
struct Story {
    since: Option<i64>,
    last: Value,
    last_time: Option<i64>,
    /// It was deleted.
    is_over: bool,
}

impl Story {
    /// The moments of an answer, as they follow each other; those that are too long ago are passed over.
    fn go_on(&mut self, answer: &Value) -> Vec<Moment> {
        let mut told = Vec::new();
        for item in list(answer, "/items") {
            let moment = self.moment(item);
            let when = moment.time.as_deref().and_then(time::parse).or(self.last_time);
            self.last_time = when;
            if self.since.is_none_or(|since| when.is_some_and(|when| when >= since)) {
                told.push(moment);
            }
        }
        told
    }

    fn moment(&mut self, item: &Value) -> Moment {
        let verb = text(item, "/verb");
        let object = item.get("object").cloned().unwrap_or_default();
        self.is_over = verb == "delete";
        let fresh = verb == "create" || text(&object, "/metadata/uid") != text(&self.last, "/metadata/uid");
        let before = if fresh { Value::Null } else { std::mem::take(&mut self.last) };
        let changes = match verb {
            "known" | "delete" => Vec::new(),
            _ => differences(&before, &object),
        };
        let writer = writer(&before, &object).filter(|_| verb != "delete");
        let field =
            |at: &str| writer.as_ref().map(|writer| text(writer, at).to_owned()).filter(|text| !text.is_empty());
        // Who writes a field again that is theirs already leaves no time.
        let owner = || changes.first().and_then(|(path, _, _)| owner(&object, path));
        let by = |at: &str| field(at).or_else(|| owner().map(|owner| text(&owner, at).to_owned()));
        let (manager, operation) = (by("/manager"), by("/operation"));
        let stamp = match verb {
            "create" => Some(text(&object, "/metadata/creationTimestamp").to_owned()),
            "delete" => Some(text(&object, "/metadata/deletionTimestamp").to_owned()),
            _ => None,
        };
        let time = field("/time").or(stamp).filter(|time| !time.is_empty());
        self.last = object;
        Moment {
            revision: text(item, "/resourceVersion").to_owned(),
            verb: verb.to_owned(),
            time,
            manager,
            operation,
            changes,
            is_readable: item.get("readable") != Some(&Value::Bool(false)),
        }
    }
}

/// Who wrote last, of those who have written since.
fn writer(before: &Value, now: &Value) -> Option<Value> {
    let old: Vec<&Value> = list(before, "/metadata/managedFields").collect();
    let fresh = list(now, "/metadata/managedFields").filter(|entry| !old.contains(entry));
    fresh.max_by_key(|entry| text(entry, "/time").to_owned()).cloned()
}

/// Who alone has a field, where its path has no item of a list in it.
fn owner(object: &Value, path: &str) -> Option<Value> {
    let at: String = path.split('.').map(|part| format!("/f:{}", part.replace('~', "~0").replace('/', "~1"))).collect();
    let has = |entry: &&Value| entry.pointer(&format!("/fieldsV1{at}")).is_some();
    let mut owners = list(object, "/metadata/managedFields").filter(has);
    owners.next().filter(|_| owners.next().is_none()).cloned()
}

fn differences(before: &Value, now: &Value) -> Vec<(String, Option<Value>, Option<Value>)> {
    let (mut old, mut new) = (BTreeMap::new(), BTreeMap::new());
    leaves(before, String::new(), &mut old);
    leaves(now, String::new(), &mut new);
    let mut changes = Vec::new();
    let paths: std::collections::BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    for path in paths {
        let (was, is) = (old.get(path), new.get(path));
        if was != is {
            changes.push((path.clone(), was.cloned(), is.cloned()));
        }
    }
    changes
}

/// The fields that say something, by path. Items of lists that have names are known by them.
fn leaves(value: &Value, path: String, out: &mut BTreeMap<String, Value>) {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            for (name, value) in fields {
                let below = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                if !matches!(below.as_str(), "metadata.managedFields" | "metadata.resourceVersion") {
                    leaves(value, below, out);
                }
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for (at, item) in items.iter().enumerate() {
                let name = item.get("name").or_else(|| item.get("type")).and_then(Value::as_str);
                let known = name.map_or_else(|| format!("{path}[{at}]"), |name| format!("{path}[{name}]"));
                leaves(item, known, out);
            }
        }
        Value::Null if path.is_empty() => {}
        _ => {
            out.insert(path, value.clone());
        }
    }
}

impl Moment {
    fn shown(&self, screen: &Screen) -> String {
        let when = self.time.as_ref().map_or_else(
            || "time unknown".to_owned(),
            |time| format!("{time}{}", ago(time).map(|ago| format!(" ({ago} ago)")).unwrap_or_default()),
        );
        let who = match (&self.manager, &self.operation) {
            (Some(manager), Some(operation)) => format!("  {manager} ({operation})"),
            _ => String::new(),
        };
        let head = format!("{:>8}  {:<7} {when}{who}", self.revision, self.verb);
        let mut out = format!("{}\n", screen.paint(Colour::Bold, &head));
        if !self.is_readable {
            out.push_str("          it cannot be read\n");
        }
        if self.verb == "known" {
            out.push_str("          as it was; what was before is forgotten\n");
        }
        if self.verb == "create" && screen.format != Format::Wide {
            let _ = writeln!(out, "          with {} fields (-o wide shows them)", self.changes.len());
            return out;
        }
        for (path, was, is) in &self.changes {
            for (sign, colour, value) in [('-', Colour::Red, was), ('+', Colour::Green, is)] {
                if let Some(value) = value {
                    let _ = writeln!(out, "          {}", screen.paint(colour, &format!("{sign} {path}: {value}")));
                }
            }
        }
        out
    }

    fn value(&self) -> Value {
        let changes: Vec<Value> =
            self.changes.iter().map(|(path, was, is)| json!({"field": path, "before": was, "after": is})).collect();
        json!({"resourceVersion": self.revision, "verb": self.verb, "time": self.time, "manager": self.manager,
            "operation": self.operation, "readable": self.is_readable, "changes": changes})
    }
}

fn shown(screen: &Screen, named: &Named, answer: &Value, told: &[Moment]) -> String {
    let from = text(answer, "/from");
    let is_cut = answer.get("cut") == Some(&Value::Bool(true));
    let items: Vec<Value> = told.iter().map(Moment::value).collect();
    let value = json!({"kind": "History", "apiVersion": "tools.pawl.dev/v1", "object": named.told(), "from": from,
        "cut": is_cut, "items": items});
    if let Some(said) = screen.format.of_value(&value) {
        return said;
    }
    if screen.format == Format::Name {
        return told.iter().map(|moment| format!("{}\n", moment.revision)).collect();
    }
    let reach = match (from, is_cut) {
        (_, true) => "the newest moments only, there are too many".to_owned(),
        ("0", _) => "everything since the store is there".to_owned(),
        (from, _) => format!("what the store remembers: everything after revision {from}"),
    };
    let mut out = format!("{}: {reach}\n", screen.paint(Colour::Bold, &named.told()));
    told.iter().for_each(|moment| out.push_str(&moment.shown(screen)));
    out
}

/// What every server knows: who wrote last which part of what is there now.
async fn writers(server: &Server, screen: &Screen, named: &Named) -> Result<Ended, String> {
    let object = server.get(&named.path()).await?;
    screen.tell("Warning: this server tells no history (Pawl does); who wrote what is there now:");
    let mut entries: Vec<Value> = list(&object, "/metadata/managedFields").cloned().collect();
    entries.sort_by_key(|entry| text(entry, "/time").to_owned());
    let value =
        json!({"kind": "History", "apiVersion": "tools.pawl.dev/v1", "object": named.told(), "writers": entries});
    let plain = || {
        let mut out = String::new();
        for entry in &entries {
            let (time, manager, operation) = (text(entry, "/time"), text(entry, "/manager"), text(entry, "/operation"));
            let _ = writeln!(out, "{time}  {manager} ({operation})");
        }
        out
    };
    screen.say(&screen.format.of_value(&value).unwrap_or_else(plain));
    Ok(Ended::Well)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_by_field_and_by_name() {
        let before = json!({"metadata": {"resourceVersion": "1", "labels": {"a": "1"}}, "spec": {"replicas": 1,
            "containers": [{"name": "c", "image": "one"}], "gone": true}});
        let now = json!({"metadata": {"resourceVersion": "2", "labels": {"a": "1", "b": "2"}}, "spec": {"replicas": 3,
            "containers": [{"name": "d", "image": "x"}, {"name": "c", "image": "two"}]}});
        let paths: Vec<String> = differences(&before, &now).into_iter().map(|(path, _, _)| path).collect();
        let expected = [
            "metadata.labels.b",
            "spec.containers[c].image",
            "spec.containers[d].image",
            "spec.containers[d].name",
            "spec.gone",
            "spec.replicas",
        ];
        assert_eq!(paths, expected);
    }

    #[test]
    fn since_is_a_time_or_how_long_ago() {
        assert_eq!(since("", 100_000), Ok(None));
        assert_eq!(since("10m", 100_000), Ok(Some(99_400)));
        assert_eq!(since("1970-01-01T00:01:00Z", 100_000), Ok(Some(60)));
        for wrong in ["10", "m", "yesterday", "ü"] {
            assert!(since(wrong, 100_000).is_err(), "{wrong}");
        }
    }
}
