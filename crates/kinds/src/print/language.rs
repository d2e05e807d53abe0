//! The cell language of `columns.facts`: reading an expression and working it out for an object.
//!
//! The head of that file says what the language means. Expressions are read once; working one out never fails, it gives
//! an absent value instead.

use std::borrow::Cow;

use serde_json::{Value, json};

use super::functions::{self, CellFunction};
use super::{duration, fields, selectors};

/// A cell expression.
#[derive(Debug)]
pub(super) enum Cell {
    Literal(Value),
    /// `.a.b`
    Path(Vec<PathStep>),
    /// `.a[].b`: the list, then the path within each item.
    Each(Vec<PathStep>, Vec<PathStep>),
    /// `$0`: a result of the block's row function.
    Result(usize),
    /// `x // y`
    IfAbsent(Box<Cell>, Box<Cell>),
    /// `x || y`
    IfEmpty(Box<Cell>, Box<Cell>),
    Call(Builtin, Vec<Cell>),
    /// `fn name`
    Function(CellFunction),
}

/// One step of a path.
#[derive(Debug)]
pub(super) enum PathStep {
    Key(&'static str),
    Item(usize),
    /// The first item whose field has that text.
    Where(&'static str, &'static str),
}

/// The functions of the language itself.
#[derive(Clone, Copy, Debug)]
pub(super) enum Builtin {
    Len,
    Join,
    Concat,
    Text,
    Flag,
    Age,
    Since,
    Duration,
    Labels,
    Selector,
    When,
    Is,
}

/// What an expression is worked out for.
#[derive(Clone, Copy)]
pub(super) struct Scope<'a> {
    pub object: &'a Value,
    /// Seconds since 1970.
    pub now: i64,
    /// What the block's row function gave.
    pub results: &'a [Value],
}

impl Cell {
    /// Reads an expression that makes up the whole text.
    pub(super) fn parse(text: &'static str) -> Result<Self, String> {
        let mut parser = Parser { rest: text };
        let cell = parser.expression()?;
        match parser.rest.trim() {
            "" => Ok(cell),
            rest => Err(format!("{rest:?} follows the expression")),
        }
    }

    /// Reads expressions separated by commas that make up the whole text.
    pub(super) fn parse_list(text: &'static str) -> Result<Vec<Self>, String> {
        let mut parser = Parser { rest: text };
        let mut cells = vec![parser.expression()?];
        while parser.eat(",") {
            cells.push(parser.expression()?);
        }
        match parser.rest.trim() {
            "" => Ok(cells),
            rest => Err(format!("{rest:?} follows the expressions")),
        }
    }

    /// The value for an object, if there is one.
    pub(super) fn value<'a>(&'a self, scope: Scope<'a>) -> Option<Cow<'a, Value>> {
        match self {
            Cell::Literal(value) => Some(Cow::Borrowed(value)),
            Cell::Path(steps) => walk(scope.object, steps).map(Cow::Borrowed),
            Cell::Each(list, item) => {
                let list = walk(scope.object, list)?.as_array()?;
                let values = list.iter().map(|each| walk(each, item).cloned().unwrap_or_else(|| json!("")));
                Some(Cow::Owned(Value::Array(values.collect())))
            }
            Cell::Result(index) => scope.results.get(*index).map(Cow::Borrowed),
            Cell::IfAbsent(first, second) => first.value(scope).or_else(|| second.value(scope)),
            Cell::IfEmpty(first, second) => {
                first.value(scope).filter(|value| value.as_str() != Some("")).or_else(|| second.value(scope))
            }
            Cell::Call(builtin, arguments) => builtin.call(arguments, scope),
            Cell::Function(function) => Some(Cow::Owned(function(scope.object, scope.now))),
        }
    }
}

impl Builtin {
    fn named(name: &str) -> Option<Self> {
        let builtin = match name {
            "len" => Builtin::Len,
            "join" => Builtin::Join,
            "concat" => Builtin::Concat,
            "text" => Builtin::Text,
            "flag" => Builtin::Flag,
            "age" => Builtin::Age,
            "since" => Builtin::Since,
            "duration" => Builtin::Duration,
            "labels" => Builtin::Labels,
            "selector" => Builtin::Selector,
            "when" => Builtin::When,
            "is" => Builtin::Is,
            _ => return None,
        };
        Some(builtin)
    }

    fn call<'a>(self, arguments: &'a [Cell], scope: Scope<'a>) -> Option<Cow<'a, Value>> {
        let argument = |index: usize| arguments.get(index).and_then(|cell| cell.value(scope));
        let words = |index: usize| argument(index).map(|value| fields::shown(&value));
        let result = match self {
            Builtin::Len => {
                json!(arguments.iter().filter_map(|cell| cell.value(scope)).map(|v| entries(&v)).sum::<usize>())
            }
            Builtin::Join => {
                let list = argument(0)?;
                let list: Vec<_> = list.as_array()?.iter().map(fields::shown).collect();
                json!(list.join(&words(1).unwrap_or_default()))
            }
            Builtin::Concat => {
                let parts = arguments.iter().filter_map(|cell| cell.value(scope));
                json!(parts.map(|value| fields::shown(&value)).collect::<String>())
            }
            Builtin::Text => json!(words(0)?),
            Builtin::Flag => json!(if argument(0)?.as_bool()? { "True" } else { "False" }),
            Builtin::Age => json!(duration::age(argument(0).as_deref(), scope.now)),
            Builtin::Since => json!(duration::since(argument(0).as_deref(), scope.now)?),
            Builtin::Duration => json!(duration::human(argument(0)?.as_i64()?)),
            Builtin::Labels => match selectors::labels(argument(0).as_deref()) {
                labels if labels.is_empty() => json!("<none>"),
                labels => json!(labels),
            },
            Builtin::Selector => match selectors::selector(argument(0).as_deref()) {
                Some(selector) if selector.is_empty() => json!(words(1).unwrap_or_else(|| "<none>".to_owned())),
                Some(selector) => json!(selector),
                None => json!(words(2).unwrap_or_else(|| "<error>".to_owned())),
            },
            Builtin::When => {
                return if argument(0).is_some_and(|value| holds(&value)) { argument(1) } else { argument(2) };
            }
            Builtin::Is => json!(argument(0)?.as_str()? == words(1)?),
        };
        Some(Cow::Owned(result))
    }
}

fn walk<'a>(value: &'a Value, steps: &[PathStep]) -> Option<&'a Value> {
    let mut current = value;
    for step in steps {
        current = match step {
            PathStep::Key(key) => current.get(*key)?,
            PathStep::Item(index) => current.get(*index)?,
            PathStep::Where(field, text) => {
                current.as_array()?.iter().find(|item| fields::text(item, &[*field]) == *text)?
            }
        };
    }
    if current.is_null() { None } else { Some(current) }
}

fn entries(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.len(),
        Value::Object(fields) => fields.len(),
        _ => 0,
    }
}

fn holds(value: &Value) -> bool {
    !matches!(value, Value::Null | Value::Bool(false)) && value.as_str() != Some("")
}

/// Reads an expression from its start; `rest` is what is still to be read.
struct Parser {
    rest: &'static str,
}

impl Parser {
    fn expression(&mut self) -> Result<Cell, String> {
        let mut cell = self.operand()?;
        loop {
            if self.eat("//") {
                cell = Cell::IfAbsent(Box::new(cell), Box::new(self.operand()?));
            } else if self.eat("||") {
                cell = Cell::IfEmpty(Box::new(cell), Box::new(self.operand()?));
            } else {
                return Ok(cell);
            }
        }
    }

    fn operand(&mut self) -> Result<Cell, String> {
        self.rest = self.rest.trim_start();
        if self.rest.starts_with('.') {
            return self.path();
        }
        if self.eat("\"") {
            return Ok(Cell::Literal(json!(self.until('"')?)));
        }
        if self.eat("$") {
            return Ok(Cell::Result(number(self.word())?));
        }
        match self.word() {
            "true" => Ok(Cell::Literal(json!(true))),
            "false" => Ok(Cell::Literal(json!(false))),
            "fn" => {
                self.rest = self.rest.trim_start();
                let name = self.word();
                functions::cell(name).map(Cell::Function).ok_or_else(|| format!("no function {name:?}"))
            }
            word if word.starts_with(|first: char| first.is_ascii_digit()) => Ok(Cell::Literal(json!(number(word)?))),
            word => {
                let builtin = Builtin::named(word).ok_or_else(|| format!("{word:?} is nothing the language knows"))?;
                Ok(Cell::Call(builtin, self.arguments()?))
            }
        }
    }

    fn arguments(&mut self) -> Result<Vec<Cell>, String> {
        if !self.eat("(") {
            return Err("a function needs its arguments in parentheses".to_owned());
        }
        let mut arguments = vec![self.expression()?];
        while self.eat(",") {
            arguments.push(self.expression()?);
        }
        if self.eat(")") { Ok(arguments) } else { Err("a parenthesis is not closed".to_owned()) }
    }

    fn path(&mut self) -> Result<Cell, String> {
        let mut steps = Vec::new();
        let mut list = None;
        loop {
            if let Some(rest) = self.rest.strip_prefix('.') {
                self.rest = rest;
                steps.push(PathStep::Key(self.word()));
            } else if let Some(rest) = self.rest.strip_prefix('[') {
                self.rest = rest;
                let inside = self.until(']')?;
                if inside.is_empty() {
                    list = Some(std::mem::take(&mut steps));
                } else if let Some(key) = inside.strip_prefix('"').and_then(|key| key.strip_suffix('"')) {
                    steps.push(PathStep::Key(key));
                } else if let Some((field, text)) = inside.split_once('=') {
                    steps.push(PathStep::Where(field, text));
                } else {
                    steps.push(PathStep::Item(number(inside)?));
                }
            } else {
                return Ok(match list {
                    Some(list) => Cell::Each(list, steps),
                    None => Cell::Path(steps),
                });
            }
        }
    }

    /// Skips white space, and the token if it comes next.
    fn eat(&mut self, token: &str) -> bool {
        self.rest = self.rest.trim_start();
        match self.rest.strip_prefix(token) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    /// The letters, digits and underscores that come next.
    fn word(&mut self) -> &'static str {
        let end = self.rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at_checked(end).unwrap_or((self.rest, ""));
        self.rest = rest;
        word
    }

    /// What stands before the next such character, which is skipped.
    fn until(&mut self, end: char) -> Result<&'static str, String> {
        let (inside, rest) = self.rest.split_once(end).ok_or_else(|| format!("{end:?} is missing"))?;
        self.rest = rest;
        Ok(inside)
    }
}

fn number(word: &str) -> Result<usize, String> {
    word.parse().map_err(|_| format!("{word:?} is not a number"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_give_values() {
        let object = json!({
            "name": "n", "empty": "", "none": null, "n": 3, "yes": true,
            "made": "2025-01-01T00:00:00Z",
            "list": [{"type": "A", "v": "1"}, {"type": "B"}],
            "map": {"x/y": "z", "a": "b"},
        });
        let results = [json!("first")];
        for (text, expected) in [
            (".name", Some(json!("n"))),
            (".none", None),
            (".list[0].v", Some(json!("1"))),
            (".list[type=B].type", Some(json!("B"))),
            (".list[type=C].type", None),
            (".list[].v", Some(json!(["1", ""]))),
            (".map[\"x/y\"]", Some(json!("z"))),
            (".gone // \"x\"", Some(json!("x"))),
            (".empty // \"x\"", Some(json!(""))),
            (".empty || .gone || \"x\"", Some(json!("x"))),
            ("$0", Some(json!("first"))),
            ("$1", None),
            ("len(.map, .list, .gone)", Some(json!(4))),
            ("join(.list[].type, \",\")", Some(json!("A,B"))),
            ("join(.gone[].type, \",\")", None),
            ("concat(.n, \"/\", .gone, .name)", Some(json!("3/n"))),
            ("text(.n)", Some(json!("3"))),
            ("text(.gone) // \"N/A\"", Some(json!("N/A"))),
            ("flag(.yes)", Some(json!("True"))),
            ("age(.made)", Some(json!("60s"))),
            ("age(.gone)", Some(json!("<unknown>"))),
            ("since(.gone)", None),
            ("duration(.n)", Some(json!("3s"))),
            ("labels(.map)", Some(json!("a=b,x/y=z"))),
            ("labels(.gone)", Some(json!("<none>"))),
            ("selector(.gone)", Some(json!("<none>"))),
            ("selector(.gone, \"\")", Some(json!(""))),
            ("when(is(.name, \"n\"), 1, 2)", Some(json!(1))),
            ("when(.empty, 1, 2)", Some(json!(2))),
        ] {
            let cell = Cell::parse(text).unwrap();
            let value = cell.value(Scope { object: &object, now: 1_735_689_660, results: &results });
            assert_eq!(value.map(Cow::into_owned), expected, "{text}");
        }
    }

    #[test]
    fn what_is_not_an_expression_is_refused() {
        for text in ["", "len", "len(.a", "nothing(.a)", "\"open", ".a .b", "fn nothing", ".a[x]"] {
            assert!(Cell::parse(text).is_err(), "{text}");
        }
    }
}
