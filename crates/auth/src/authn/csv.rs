//! CSV as Go reads it, with Go's errors: fields may be quoted, a quote inside is doubled, lines without text are skipped.

/// What is wrong with a text, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct CsvError {
    record: usize,
    line: usize,
    column: usize,
    wrong: &'static str,
}

impl std::fmt::Display for CsvError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.record != self.line {
            write!(f, "record on line {}; ", self.record)?;
        }
        write!(f, "parse error on line {}, column {}: {}", self.line, self.column, self.wrong)
    }
}

/// All records; their lengths may differ.
pub(super) fn records(text: &str) -> Result<Vec<Vec<String>>, CsvError> {
    let mut reader = Reader { lines: text.split_inclusive('\n'), line: 0 };
    let mut records = Vec::new();
    while let Some(line) = reader.next_line() {
        if !line.is_empty() {
            records.push(reader.record(line)?);
        }
    }
    Ok(records)
}

struct Reader<'t> {
    lines: std::str::SplitInclusive<'t, char>,
    /// The number of the line that was read last, from 1.
    line: usize,
}

impl<'t> Reader<'t> {
    /// The next line without its end.
    fn next_line(&mut self) -> Option<&'t str> {
        let line = self.lines.next()?;
        self.line += 1;
        Some(line.strip_suffix('\n').map_or(line, |line| line.strip_suffix('\r').unwrap_or(line)))
    }

    fn record(&mut self, line: &'t str) -> Result<Vec<String>, CsvError> {
        let record = self.line;
        let (mut line, mut rest, mut fields) = (line, line, Vec::new());
        loop {
            let after = match rest.strip_prefix('"') {
                None => {
                    let (field, after) = split_field(rest);
                    if let Some(quote) = field.find('"') {
                        let column = line.len() - rest.len() + quote + 1;
                        return Err(self.error(record, column, "bare \" in non-quoted field"));
                    }
                    fields.push(field.to_owned());
                    after
                }
                Some(quoted) => {
                    let (field, after);
                    (field, after, line) = self.quoted(record, line, quoted)?;
                    fields.push(field);
                    after
                }
            };
            match after {
                Some(after) => rest = after,
                None => return Ok(fields),
            }
        }
    }

    /// A field after its opening quote: its text, what follows the comma after it, and the line on which it ended.
    fn quoted(
        &mut self,
        record: usize,
        mut line: &'t str,
        mut rest: &'t str,
    ) -> Result<(String, Option<&'t str>, &'t str), CsvError> {
        const WRONG: &str = "extraneous or missing \" in quoted-field";
        let mut field = String::new();
        loop {
            let Some((text, after)) = rest.split_once('"') else {
                field.push_str(rest);
                field.push('\n');
                let end = line.len() + 1;
                let Some(next) = self.next_line() else { return Err(self.error(record, end, WRONG)) };
                (line, rest) = (next, next);
                continue;
            };
            field.push_str(text);
            if let Some(after) = after.strip_prefix('"') {
                field.push('"');
                rest = after;
            } else if after.is_empty() {
                return Ok((field, None, line));
            } else if let Some(after) = after.strip_prefix(',') {
                return Ok((field, Some(after), line));
            } else {
                return Err(self.error(record, line.len() - after.len(), WRONG));
            }
        }
    }

    fn error(&self, record: usize, column: usize, wrong: &'static str) -> CsvError {
        CsvError { record, line: self.line, column, wrong }
    }
}

/// A field without quotes, and what follows its comma.
fn split_field(rest: &str) -> (&str, Option<&str>) {
    match rest.split_once(',') {
        Some((field, after)) => (field, Some(after)),
        None => (rest, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expect: &[&[&str]]) {
        assert_eq!(records(text).unwrap(), expect, "{text:?}");
    }

    #[test]
    fn records_are_read() {
        check("a,b,c\n", &[&["a", "b", "c"]]);
        check("a,b\r\n\nc", &[&["a", "b"], &["c"]]);
        check("t,u,1,\"a,b\"\n", &[&["t", "u", "1", "a,b"]]);
        check("\"a\"\"b\",\"c\nd\"\n", &[&["a\"b", "c\nd"]]);
        check("a,\n", &[&["a", ""]]);
        check("", &[]);
    }

    #[test]
    fn errors_are_gos() {
        let refuse = |text: &str, expect: &str| assert_eq!(records(text).unwrap_err().to_string(), expect);
        refuse("ok\na,b\"c", "parse error on line 2, column 4: bare \" in non-quoted field");
        refuse("\"a\"b,c", "parse error on line 1, column 3: extraneous or missing \" in quoted-field");
        refuse("\"a\nb", "record on line 1; parse error on line 2, column 2: extraneous or missing \" in quoted-field");
    }
}
