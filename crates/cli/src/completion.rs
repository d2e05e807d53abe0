//! Completion of commands and flags for shells, written from the table of commands.

use std::process::ExitCode;

use pawl_server::flags::{Given, Role};

use crate::commands::{COMMANDS, Command};
use crate::say;

pub fn run(given: Given) -> Result<ExitCode, String> {
    let script = match given.rest.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["bash"] => bash(),
        ["zsh"] => format!("#compdef pawl\nautoload -U +X bashcompinit && bashcompinit\n{}", bash()),
        ["fish"] => fish(),
        _ => return Err("name one shell: bash, zsh or fish".to_owned()),
    };
    Ok(say(&script))
}

/// The flags of a command that do something, as one writes them.
fn flags(command: &Command) -> Vec<String> {
    let used = command.flags.iter().copied().flatten().filter(|flag| flag.role == Role::Used);
    let mut names: Vec<String> = used.map(|flag| format!("--{}", flag.name)).collect();
    names.push("--help".to_owned());
    names
}

fn bash() -> String {
    let names: Vec<&str> = COMMANDS.iter().map(|command| command.name).collect();
    let mut cases = String::new();
    for command in COMMANDS {
        cases.push_str(&format!("        {}) words=\"{}\" ;;\n", command.name, flags(command).join(" ")));
    }
    format!(
        "_pawl() {{\n    local words=\"{}\" word=\"${{COMP_WORDS[COMP_CWORD]}}\"\n    if [ \"$COMP_CWORD\" -gt 1 ]; then\n        \
         words=\n        case \"${{COMP_WORDS[1]}}\" in\n{cases}        esac\n        case \"$word\" in -*) ;; *) \
         COMPREPLY=($(compgen -f -- \"$word\")); return ;; esac\n    fi\n    COMPREPLY=($(compgen -W \"$words\" -- \
         \"$word\"))\n}}\ncomplete -F _pawl pawl\n",
        names.join(" ")
    )
}

fn fish() -> String {
    let mut script = String::new();
    for command in COMMANDS {
        script.push_str(&format!(
            "complete -c pawl -n __fish_use_subcommand -f -a {} -d '{}'\n",
            command.name,
            command.about.replace('\'', "\\'")
        ));
        for flag in command.flags.iter().copied().flatten().filter(|flag| flag.role == Role::Used) {
            script.push_str(&format!(
                "complete -c pawl -n '__fish_seen_subcommand_from {}' -l {} -d '{}'\n",
                command.name,
                flag.name,
                flag.about.replace('\'', "\\'")
            ));
        }
    }
    script
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_and_flag_can_be_completed() {
        for script in [bash(), fish()] {
            for command in COMMANDS {
                assert!(script.contains(command.name), "{}", command.name);
                for flag in command.flags.iter().copied().flatten().filter(|flag| flag.role == Role::Used) {
                    assert!(script.contains(flag.name), "{} --{}", command.name, flag.name);
                }
            }
        }
    }
}
