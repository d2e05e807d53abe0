//! The table of commands: it feeds dispatch, help, completion, the manual pages and the tests.

mod assets;
mod check;
mod controller;
mod etcd;
mod migrate;
mod progress;
mod rewrite;
mod run;
mod serve;
mod snapshot;
mod tools;
mod tour;

use std::process::ExitCode;

use pawl_server::flags::{FLAGS, Flag, Given, described};
use pawl_server::nearest;

use crate::{completion, manual, say};

/// Something that `pawl` can be told to do.
pub struct Command {
    pub name: &'static str,
    pub about: &'static str,
    /// What stands behind the name, beside flags.
    pub arguments: &'static str,
    /// What a reader of `--help` should know beyond that.
    pub more: &'static str,
    pub flags: &'static [&'static [Flag]],
    run: fn(Given) -> Result<ExitCode, String>,
}

pub const COMMANDS: &[Command] = &[
    Command {
        name: "serve",
        about: "serve the Kubernetes API",
        arguments: "",
        more: "Other flags of kube-apiserver are accepted and do nothing, with a warning; those whose absence\nwould be a \
               security hole are refused.\n",
        flags: &[FLAGS],
        run: serve::run,
    },
    Command {
        name: "run",
        about: "run a command against a private server that is gone afterwards",
        arguments: "-- COMMAND [ARGUMENT...]",
        more: "COMMAND finds the server by KUBECONFIG. The exit code is COMMAND's; the server's log is shown only when\nthat \
               is not 0. Flags of 'pawl serve' are understood too.\n",
        flags: &[run::FLAGS, FLAGS],
        run: run::run,
    },
    Command {
        name: "check",
        about: "say what an encryption configuration would make unreadable",
        arguments: "",
        more: "Asks the server if one runs, else reads the files. The exit code is 1 when there is something.\n",
        flags: &[check::FLAGS],
        run: check::run,
    },
    Command {
        name: "rewrite",
        about: "seal everything anew that another key would seal today",
        arguments: "",
        more: "Safe while others write, and to be repeated: what is done stays done.\n",
        flags: &[rewrite::FLAGS],
        run: rewrite::run,
    },
    Command {
        name: "snapshot",
        about: "save everything that is stored, restore it, look into it, prove it, salvage what damage left",
        arguments: "save FILE | restore FILE | inspect PATH | verify PATH | salvage DIR --to PATH",
        more: snapshot::MORE,
        flags: &[snapshot::FLAGS],
        run: snapshot::run,
    },
    Command {
        name: "migrate",
        about: "bring everything that is stored into another, empty store",
        arguments: "--from PLACE --to PLACE",
        more: migrate::MORE,
        flags: &[migrate::FLAGS],
        run: migrate::run,
    },
    Command {
        name: "controller",
        about: "keep liens on Secrets or ConfigMaps in use, on another server that has liens",
        arguments: "secret-protection|configmap-protection",
        more: "Inside of 'pawl serve' both run already. Many may run at once: one of them leads.\n",
        flags: &[controller::FLAGS],
        run: controller::run,
    },
    tools::WHY,
    tools::HISTORY,
    tools::LIENS,
    tools::LIEN,
    tools::DELETE,
    tools::UNREADABLE,
    tools::PURGE,
    tools::QUARANTINE,
    tools::INVALID,
    tools::RELEASE_LIENS,
    Command {
        name: "tour",
        about: "show the five promises, against a private server that is gone afterwards",
        arguments: "",
        more: "Each request and its answer as they happen. The exit code is 1 when a promise does not hold.\n",
        flags: &[],
        run: tour::run,
    },
    Command {
        name: "assets",
        about: "make a directory for KUBEBUILDER_ASSETS: this binary as kube-apiserver and etcd",
        arguments: "DIR",
        more: "kubectl is linked too, if one is found on the PATH.\n",
        flags: &[],
        run: assets::run,
    },
    Command {
        name: "completion",
        about: "print a script that completes commands and flags",
        arguments: "bash|zsh|fish",
        more: "For example: source <(pawl completion bash)\n",
        flags: &[],
        run: completion::run,
    },
    Command {
        name: "man",
        about: "print the manual page of pawl, or of one of its commands",
        arguments: "[COMMAND]",
        more: "For example: pawl man serve | man -l -\n",
        flags: &[],
        run: manual::run,
    },
    Command {
        name: "version",
        about: "print the version",
        arguments: "",
        more: "",
        flags: &[],
        run: |given| given.only_flags().map(|()| say(concat!("pawl ", env!("CARGO_PKG_VERSION"), "\n"))),
    },
    Command {
        name: "help",
        about: "print what pawl can be told, or what one of its commands can",
        arguments: "[COMMAND]",
        more: "",
        flags: &[],
        run: |given| match given.rest.first() {
            None => Ok(say(&overview())),
            Some(name) => Ok(say(&find(name)?.help())),
        },
    },
];

pub use tools::objects;

/// Does what the name of the program and its arguments say.
pub fn dispatch(program: &str, mut arguments: Vec<String>) -> Result<ExitCode, String> {
    match program {
        "kube-apiserver" => return serve::as_kube_apiserver(arguments),
        "etcd" => return etcd::run(arguments),
        "kubectl_complete-pawl" => return Ok(say(&completion::for_kubectl(&arguments))),
        _ => {}
    }
    let name = if arguments.is_empty() { "help".to_owned() } else { arguments.remove(0) };
    match name.as_str() {
        "--help" | "-h" => Ok(say(&overview())),
        "--version" => find("version")?.start(arguments),
        name => find(name)?.start(arguments),
    }
}

fn find(name: &str) -> Result<&'static Command, String> {
    COMMANDS.iter().find(|command| command.name == name).ok_or_else(|| {
        let near = nearest(name, COMMANDS.iter().map(|command| command.name));
        let near = near.map(|near| format!(", did you mean {near:?}?")).unwrap_or_default();
        format!("unknown command {name:?} for \"pawl\"{near}")
    })
}

impl Command {
    fn start(&self, arguments: Vec<String>) -> Result<ExitCode, String> {
        let given = Given::parse(self.flags, arguments)?;
        if given.help { Ok(say(&self.help())) } else { (self.run)(given) }
    }

    /// Whether it asks a server as a client.
    pub fn is_tool(&self) -> bool {
        self.flags.iter().copied().flatten().any(|flag| flag.name == "context")
    }

    /// The text of `pawl COMMAND --help`.
    pub fn help(&self) -> String {
        let mut out = format!("{}: {}\n\nUsage:\n  {}\n", self.name, self.about, self.usage());
        for flags in self.flags {
            out.push_str("\nFlags:\n");
            out.push_str(&described(flags));
        }
        if self.flags.iter().any(|flags| std::ptr::eq(*flags, FLAGS)) {
            out.push_str("\nFeature gates (--feature-gates):\n");
            for gate in &pawl_server::gates::GATES {
                out.push_str(&format!("      {:<40} {} (default {})\n", gate.name, gate.about, gate.default));
            }
        }
        if !self.more.is_empty() {
            out.push('\n');
            out.push_str(self.more);
        }
        out
    }

    pub fn usage(&self) -> String {
        let flags = if self.flags.is_empty() { "" } else { " [flags]" };
        let arguments = if self.arguments.is_empty() { String::new() } else { format!(" {}", self.arguments) };
        format!("pawl {}{flags}{arguments}", self.name)
    }
}

/// The text of `pawl --help`.
fn overview() -> String {
    let mut out = String::from(
        "Pawl: a Kubernetes API server in one binary that keeps a control plane from losing what it holds.\n\nCommands:\n",
    );
    for command in COMMANDS {
        out.push_str(&format!("  {:<13} {}\n", command.name, command.about));
    }
    out.push_str("\n'pawl COMMAND --help' has the flags of a command. The main one:\n\n");
    out.push_str(&COMMANDS.iter().filter(|command| command.name == "serve").map(Command::help).collect::<String>());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_there_once_and_says_what_it_is_for() {
        let overview = overview();
        for (i, command) in COMMANDS.iter().enumerate() {
            assert!(COMMANDS.iter().skip(i + 1).all(|other| other.name != command.name), "{}", command.name);
            assert!(!command.about.is_empty() && overview.contains(command.about), "{}", command.name);
            assert!(command.help().contains(&command.usage()), "{}", command.name);
        }
    }

    #[test]
    fn what_is_mistyped_is_answered_with_what_was_meant() {
        let near = find("sreve").err().unwrap();
        assert_eq!(near, "unknown command \"sreve\" for \"pawl\", did you mean \"serve\"?");
        assert_eq!(find("nothing-like-it").err().unwrap(), "unknown command \"nothing-like-it\" for \"pawl\"");
    }
}
