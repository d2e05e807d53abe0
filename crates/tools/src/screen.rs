//! What people see and are asked: the formats of answers, colours where a terminal shows them, and questions.

use std::io::{BufRead, IsTerminal, Write, stderr, stdin, stdout};

use serde_json::Value;

use crate::yaml;

/// How an answer is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    #[default]
    Plain,
    Wide,
    Name,
    Json,
    Yaml,
}

impl Format {
    pub fn read(text: &str) -> Result<Self, String> {
        match text {
            "" => Ok(Self::Plain),
            "wide" => Ok(Self::Wide),
            "name" => Ok(Self::Name),
            "json" => Ok(Self::Json),
            "yaml" => Ok(Self::Yaml),
            other => Err(format!("--output={other}: json, yaml, wide or name")),
        }
    }

    /// An answer for programs, where that is what was asked for.
    pub(crate) fn of_value(self, value: &Value) -> Option<String> {
        match self {
            Self::Json => Some(format!("{value:#}\n")),
            Self::Yaml => Some(yaml::written(value)),
            _ => None,
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Colour {
    Red = 31,
    Green = 32,
    Cyan = 36,
    Dim = 2,
    Bold = 1,
}

/// Where answers go.
#[derive(Clone, Copy, Debug)]
pub struct Screen {
    pub format: Format,
    pub colours: bool,
}

impl Screen {
    /// Standard output; with colours only on a terminal where nobody refuses them.
    pub fn new(format: Format) -> Self {
        let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Self { format, colours: stdout().is_terminal() && !refused }
    }

    pub(crate) fn paint(&self, colour: Colour, text: &str) -> String {
        if self.colours { format!("\x1b[{}m{text}\x1b[0m", colour as u8) } else { text.to_owned() }
    }

    pub(crate) fn say(&self, text: &str) {
        // Nobody reads on: that is not our error.
        let _ = stdout().write_all(text.as_bytes());
        let _ = stdout().flush();
    }

    /// What is beside the answer.
    pub(crate) fn tell(&self, text: &str) {
        let _ = writeln!(stderr(), "{text}");
    }

    pub(crate) fn warn(&self, warnings: &[String]) {
        for warning in warnings {
            self.tell(&format!("Warning: {warning}"));
        }
    }

    /// Asks, and answers whether what was typed is what was meant. The end of the input is no.
    pub(crate) fn confirms(&self, question: &str, meant: &str) -> bool {
        let _ = write!(stderr(), "{question} ");
        let _ = stderr().flush();
        let mut line = String::new();
        let typed = stdin().lock().read_line(&mut line).is_ok();
        typed && line.trim() == meant
    }
}
