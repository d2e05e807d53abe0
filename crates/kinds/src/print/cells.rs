//! The columns of a type and the row of an object, from `facts/columns.facts`.
//!
//! The file is read once, at start.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::OnceLock;

use serde_json::{Value, json};

use super::functions::{self, RowFunction};
use super::language::{Cell, Scope};
use crate::Columns;

/// The columns of a type, a block of the file.
#[derive(Debug, Default)]
struct Block {
    fallback: bool,
    definitions: Vec<Column>,
    cells: Vec<Cell>,
    row: Option<RowFunction>,
    order: Vec<Cell>,
    completed: Vec<Completed>,
}

/// A column's definition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Column {
    pub name: Cow<'static, str>,
    /// `string`, `integer`, `boolean` or `date`; the cells need not keep to it.
    pub kind: Cow<'static, str>,
    pub format: Cow<'static, str>,
    pub description: Cow<'static, str>,
    /// 0 always shows, 1 only in wide output.
    pub priority: i32,
}

impl Columns for Block {
    fn definitions(&self) -> &[Column] {
        &self.definitions
    }

    /// A cell for each column; one kind has a cell more.
    fn row(&self, object: &Value, now_unix: i64) -> Vec<Value> {
        let results = self.row.map(|function| function(object, now_unix)).unwrap_or_default();
        let scope = Scope { object, now: now_unix, results: &results };
        let shown = |cell: &Cell| cell.value(scope).map_or_else(|| json!(""), Cow::into_owned);
        self.cells.iter().map(shown).collect()
    }

    fn row_conditions(&self, object: &Value) -> Vec<Value> {
        let scope = scope(object);
        self.completed
            .iter()
            .filter(|completed| completed.field.value(scope).is_some_and(|value| value.as_str() == Some(completed.text)))
            .map(|completed| {
                json!({"type": "Completed", "status": "True", "reason": completed.text, "message": completed.message})
            })
            .collect()
    }

    fn is_sorted(&self) -> bool {
        !self.order.is_empty()
    }

    fn sort_key(&self, object: &Value) -> Vec<Option<Value>> {
        self.order.iter().map(|key| key.value(scope(object)).map(Cow::into_owned)).collect()
    }

    fn order(&self, one: &[Option<Value>], other: &[Option<Value>]) -> Ordering {
        let mut differences = one.iter().zip(other).map(|(one, other)| compare(one.as_ref(), other.as_ref()));
        differences.find(|difference| difference.is_ne()).unwrap_or(Ordering::Equal)
    }

    fn is_fallback(&self) -> bool {
        self.fallback
    }
}

/// A field whose text says that the object has run to its end.
#[derive(Debug)]
struct Completed {
    field: Cell,
    text: &'static str,
    message: &'static str,
}

/// The file, read.
#[derive(Debug)]
pub(crate) struct Printed {
    blocks: Vec<Block>,
    types: HashMap<&'static str, usize>,
    /// What is shown of a type without columns of its own: its name and when it was made.
    fallback: Block,
}

impl Printed {
    /// Everything that the facts say about columns, or what in them makes no sense.
    pub fn load() -> Result<&'static Self, String> {
        static PRINTED: OnceLock<Result<Printed, String>> = OnceLock::new();
        let read = || parse(&crate::facts::text().columns).map_err(|why| format!("columns: {why}"));
        PRINTED.get_or_init(read).as_ref().map_err(Clone::clone)
    }

    /// The columns of a type.
    pub fn of(&self, type_name: &str) -> &dyn Columns {
        self.own(type_name).unwrap_or(&self.fallback)
    }

    fn own(&self, type_name: &str) -> Option<&Block> {
        self.types.get(type_name).and_then(|block| self.blocks.get(*block))
    }
}

fn scope(object: &Value) -> Scope<'_> {
    Scope { object, now: 0, results: &[] }
}

/// Numbers by size, anything else by its text; absent first.
fn compare(left: Option<&Value>, right: Option<&Value>) -> Ordering {
    let number = |value: Option<&Value>| value.map_or(Some(0), Value::as_i64);
    match (number(left), number(right)) {
        (Some(left), Some(right)) => left.cmp(&right),
        _ => {
            let text = |value: Option<&'_ Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
            text(left).cmp(&text(right))
        }
    }
}

fn parse(text: &'static str) -> Result<Printed, String> {
    let (mut blocks, mut types) = (Vec::<Block>::new(), HashMap::<&str, usize>::new());
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(names) = line.strip_prefix("type ") {
            types.extend(names.split_whitespace().map(|name| (name, blocks.len())));
            blocks.push(Block::default());
        } else {
            let block = blocks.last_mut().ok_or("a line stands before the first type")?;
            parse_line(block, line).map_err(|why| format!("line {}: {why}", number + 1))?;
        }
    }
    let fallback = types.remove("*").and_then(|at| blocks.get_mut(at)).map(std::mem::take);
    let fallback = fallback.ok_or("there is no block of all other types")?;
    Ok(Printed { blocks, types, fallback: Block { fallback: true, ..fallback } })
}

fn parse_line(block: &mut Block, line: &'static str) -> Result<(), String> {
    let parts: Vec<&'static str> = line.splitn(5, " | ").map(str::trim).collect();
    if let &[name, kind, format, priority, cell] = parts.as_slice() {
        let format = if format == "-" { "" } else { format };
        let priority = priority.parse().map_err(|_| format!("{priority:?} is not a priority"))?;
        let [name, kind, format] = [name, kind, format].map(Cow::Borrowed);
        block.definitions.push(Column { name, kind, format, priority, ..Column::default() });
        block.cells.push(Cell::parse(cell)?);
        return Ok(());
    }
    let (word, rest) = line.split_once(' ').ok_or_else(|| format!("{line:?} is not a line of a block"))?;
    match word {
        "row" => block.row = Some(functions::row(rest).ok_or_else(|| format!("no function {rest:?}"))?),
        "extra" => block.cells.push(Cell::parse(rest)?),
        "sort" => block.order = Cell::parse_list(rest)?,
        "completed" => {
            let (condition, message) = rest.split_once(" : ").ok_or("the message is missing")?;
            let (field, text) = condition.split_once(' ').ok_or("the text is missing")?;
            block.completed.push(Completed { field: Cell::parse(field)?, text, message });
        }
        _ => return Err(format!("{word:?} is not a line of a block")),
    }
    Ok(())
}

#[cfg(test)]
mod tests;
