//! The tree of what was found, for people.

use std::fmt::Write;

use crate::look::ago;
use crate::screen::{Colour, Screen};

use super::{Finding, Why};

pub fn tree(why: &Why, screen: &Screen) -> String {
    let mut out = format!("{}\n", headline(why, screen));
    let mut sections: Vec<(&str, Vec<Finding>)> = Vec::new();
    for finding in &why.findings {
        let title = finding.about.title();
        match sections.iter_mut().find(|(named, _)| *named == title) {
            Some((_, findings)) => findings.push(finding.clone()),
            None => sections.push((title, vec![finding.clone()])),
        }
    }
    if !why.missing.is_empty() {
        sections.push(("what could not be found out", Vec::new()));
    }
    let last = sections.len();
    for (at, (title, findings)) in sections.iter().enumerate() {
        let (branch, below) = if at + 1 == last { ("└─", "   ") } else { ("├─", "│  ") };
        let _ = writeln!(out, "{branch} {}", screen.paint(Colour::Bold, title));
        match findings.is_empty() {
            true => missing(&why.missing, below, &mut out),
            false => leaves(findings, below, screen, &mut out),
        }
    }
    out
}

fn headline(why: &Why, screen: &Screen) -> String {
    let state = match why.is_kept() {
        true => screen.paint(Colour::Red, "it is kept"),
        false => screen.paint(Colour::Green, "nothing keeps it"),
    };
    let deleted = why.deleted.as_ref().map(|since| {
        let ago = ago(since).map(|ago| format!(" ({ago} ago)")).unwrap_or_default();
        format!("; being deleted since {since}{ago}")
    });
    format!("{}: {state}{}", screen.paint(Colour::Bold, &why.named.told()), deleted.unwrap_or_default())
}

fn leaves(findings: &[Finding], before: &str, screen: &Screen, out: &mut String) {
    let last = findings.len();
    for (at, finding) in findings.iter().enumerate() {
        let (branch, below) = if at + 1 == last { ("└─", "   ") } else { ("├─", "│  ") };
        let mark = match finding.keeps {
            true => screen.paint(Colour::Red, "●"),
            false => screen.paint(Colour::Dim, "○"),
        };
        let _ = writeln!(out, "{before}{branch} {mark} {}", finding.what);
        for note in &finding.notes {
            let _ = writeln!(out, "{before}{below}    {}", screen.paint(Colour::Dim, note));
        }
        if let Some(command) = &finding.command {
            let _ = writeln!(out, "{before}{below}    {}", screen.paint(Colour::Cyan, &format!("$ {command}")));
        }
    }
}

fn missing(missing: &[String], before: &str, out: &mut String) {
    for (at, what) in missing.iter().enumerate() {
        let branch = if at + 1 == missing.len() { "└─" } else { "├─" };
        let _ = writeln!(out, "{before}{branch} {what}");
    }
}

/// One line for each finding, for scripts.
pub fn names(why: &Why) -> String {
    why.findings.iter().map(|finding| format!("{}/{}\n", finding.about.word(), finding.what)).collect()
}
