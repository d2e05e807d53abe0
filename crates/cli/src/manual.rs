//! Manual pages, written from the table of commands.

use std::process::ExitCode;

use pawl_server::flags::{Given, Role};

use crate::commands::{COMMANDS, Command};
use crate::say;

pub fn run(given: Given) -> Result<ExitCode, String> {
    match given.rest.as_slice() {
        [] => Ok(say(&overview())),
        [name] => match COMMANDS.iter().find(|command| command.name == name) {
            Some(command) => Ok(say(&page(command))),
            None => Err(format!("there is no command {name:?}")),
        },
        _ => Err("name one command, or none".to_owned()),
    }
}

fn overview() -> String {
    let mut out = head("pawl", "a Kubernetes API server in one binary");
    out.push_str(".SH SYNOPSIS\n.B pawl\n.I COMMAND\n[flags]\n.SH COMMANDS\n");
    for command in COMMANDS {
        out.push_str(&format!(".TP\n.B {}\n{}\n", escaped(command.name), escaped(command.about)));
    }
    out
}

fn page(command: &Command) -> String {
    let mut out = head(&format!("pawl-{}", command.name), command.about);
    out.push_str(&format!(".SH SYNOPSIS\n{}\n", escaped(&command.usage())));
    if !command.more.is_empty() {
        out.push_str(&format!(".SH DESCRIPTION\n{}\n", escaped(command.more.trim_end())));
    }
    let mut used = command.flags.iter().copied().flatten().filter(|flag| flag.role == Role::Used).peekable();
    if used.peek().is_some() {
        out.push_str(".SH OPTIONS\n");
    }
    for flag in used {
        let default = if flag.default.is_empty() { String::new() } else { format!(" (default {})", flag.default) };
        out.push_str(&format!(
            ".TP\n.B {}\n{}{}\n",
            escaped(&format!("--{}", flag.name)),
            escaped(flag.about),
            escaped(&default)
        ));
    }
    out
}

fn head(name: &str, about: &str) -> String {
    format!(
        ".TH {} 1 \"\" \"pawl {}\"\n.SH NAME\n{} \\- {}\n",
        name.to_uppercase(),
        env!("CARGO_PKG_VERSION"),
        escaped(name),
        escaped(about)
    )
}

/// Text that the formatter takes as it is.
fn escaped(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-");
    text.lines()
        .map(|line| if line.starts_with(['.', '\'']) { format!("\\&{line}") } else { line.to_owned() })
        .collect::<Vec<_>>()
        .join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_a_page_with_all_its_flags() {
        for command in COMMANDS {
            let page = page(command);
            assert!(overview().contains(&escaped(command.about)));
            for flag in command.flags.iter().copied().flatten().filter(|flag| flag.role == Role::Used) {
                assert!(page.contains(&escaped(&format!("--{}", flag.name))), "{} --{}", command.name, flag.name);
            }
        }
    }
}
