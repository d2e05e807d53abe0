//! The columns of a type and the row of an object, from `facts/columns.facts`.
//!
//! The file is read once, on first use. A test sees to it that it can be read; a server whose file cannot be would show
//! every kind with no columns rather than fail.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::OnceLock;

use serde_json::{Value, json};

use super::functions::{self, RowFunction};
use super::language::{Cell, Scope};

/// The columns of a type.
#[derive(Debug, Default)]
pub struct Columns {
    definitions: Vec<Column>,
    cells: Vec<Cell>,
    row: Option<RowFunction>,
    order: Vec<Cell>,
    completed: Vec<Completed>,
}

/// A column's definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    pub name: &'static str,
    /// `string`, `integer`, `boolean` or `date`; the cells need not keep to it.
    pub kind: &'static str,
    pub format: &'static str,
    /// 0 always shows, 1 only in wide output.
    pub priority: i32,
}

impl Columns {
    /// The columns of a type of `types.facts`, if it has any of its own.
    pub fn for_type(name: &str) -> Option<&'static Columns> {
        let facts = facts();
        facts.types.get(name).and_then(|block| facts.blocks.get(*block))
    }

    /// The columns of a type without any of its own: its name and when it was made.
    pub fn fallback() -> &'static Columns {
        Columns::for_type("*").unwrap_or(&facts().empty)
    }

    /// What each column is called and is.
    pub fn definitions(&self) -> &[Column] {
        &self.definitions
    }

    /// The cells of an object's row, a cell for each column; one kind has a cell more.
    pub fn row(&self, object: &Value, now_unix: i64) -> Vec<Value> {
        let results = self.row.map(|function| function(object, now_unix)).unwrap_or_default();
        let scope = Scope { object, now: now_unix, results: &results };
        let shown = |cell: &Cell| cell.value(scope).map_or_else(|| json!(""), Cow::into_owned);
        self.cells.iter().map(shown).collect()
    }

    /// The conditions of an object's row: whether it is a thing that has run to its end.
    pub fn row_conditions(&self, object: &Value) -> Vec<Value> {
        let scope = scope(object);
        self.completed
            .iter()
            .filter(|completed| completed.field.value(scope).is_some_and(|value| value.as_str() == Some(completed.text)))
            .map(|completed| {
                json!({"type": "Completed", "status": "True", "reason": completed.text, "message": completed.message})
            })
            .collect()
    }

    /// Puts the rows of a list in the order the kind's table has, for the few kinds where it is not the list's.
    /// Only one object at a time is looked at.
    pub fn arrange<T>(&self, rows: Vec<T>, object: impl Fn(&T) -> Value) -> Vec<T> {
        if self.order.is_empty() {
            return rows;
        }
        let keys = |row: &T| -> Vec<Option<Value>> {
            let object = object(row);
            self.order.iter().map(|key| key.value(scope(&object)).map(Cow::into_owned)).collect()
        };
        let mut keyed: Vec<_> = rows.into_iter().map(|row| (keys(&row), row)).collect();
        keyed.sort_by(|(left, _), (right, _)| {
            let mut differences = left.iter().zip(right).map(|(left, right)| compare(left.as_ref(), right.as_ref()));
            differences.find(|difference| difference.is_ne()).unwrap_or(Ordering::Equal)
        });
        keyed.into_iter().map(|(_, row)| row).collect()
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
#[derive(Debug, Default)]
struct Facts {
    blocks: Vec<Columns>,
    types: HashMap<&'static str, usize>,
    empty: Columns,
}

fn facts() -> &'static Facts {
    static FACTS_READ: OnceLock<Facts> = OnceLock::new();
    FACTS_READ.get_or_init(|| parse(&crate::facts::text().columns).unwrap_or_default())
}

/// What in the facts about columns makes no sense.
pub fn problem() -> Option<String> {
    parse(&crate::facts::text().columns).err().map(|why| format!("columns: {why}"))
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

fn parse(text: &'static str) -> Result<Facts, String> {
    let mut facts = Facts::default();
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(names) = line.strip_prefix("type ") {
            let block = facts.blocks.len();
            facts.types.extend(names.split_whitespace().map(|name| (name, block)));
            facts.blocks.push(Columns::default());
        } else {
            let block = facts.blocks.last_mut().ok_or("a line stands before the first type")?;
            parse_line(block, line).map_err(|why| format!("line {}: {why}", number + 1))?;
        }
    }
    Ok(facts)
}

fn parse_line(block: &mut Columns, line: &'static str) -> Result<(), String> {
    let parts: Vec<&'static str> = line.splitn(5, " | ").map(str::trim).collect();
    if let &[name, kind, format, priority, cell] = parts.as_slice() {
        let format = if format == "-" { "" } else { format };
        let priority = priority.parse().map_err(|_| format!("{priority:?} is not a priority"))?;
        block.definitions.push(Column { name, kind, format, priority });
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
