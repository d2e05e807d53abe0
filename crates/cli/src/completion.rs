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

/// What kubectl asks its plugin `kubectl_complete-pawl`: the words so far, the last of which is being typed. The answer ends as
/// kubectl wants it: no files.
pub fn for_kubectl(words: &[String]) -> String {
    let found = match words {
        [] => names(""),
        [name] => names(name),
        [name, .., last] => match tools().find(|command| command.name == name) {
            Some(command) if last.starts_with('-') => starting(flags(command), last),
            Some(command) if command.arguments.contains("TYPE") => crate::commands::objects(last),
            _ => Vec::new(),
        },
    };
    format!("{}:4\n", found.iter().map(|word| format!("{word}\n")).collect::<String>())
}

/// The commands that ask a server: for kubectl the others are of no use.
fn tools() -> impl Iterator<Item = &'static Command> {
    COMMANDS.iter().filter(|command| command.is_tool())
}

fn names(begun: &str) -> Vec<String> {
    starting(tools().map(|command| command.name.to_owned()).collect(), begun)
}

fn starting(words: Vec<String>, begun: &str) -> Vec<String> {
    words.into_iter().filter(|word| word.starts_with(begun)).collect()
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
    fn kubectl_is_told_commands_and_flags() {
        let told = |words: &[&str]| for_kubectl(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
        assert_eq!(told(&["wh"]), "why\n:4\n");
        assert_eq!(told(&["liens", "--all"]), "--all-namespaces\n:4\n");
        assert_eq!(told(&["nothing", "x"]), ":4\n");
        assert!(!told(&[""]).contains("serve\n"), "kubectl starts no server");
    }

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
