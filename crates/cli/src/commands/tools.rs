//! The commands that ask a server as a client: their flags, and what of the command line is handed to `pawl_tools`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use pawl_server::flags::{Flag, Given, lettered, switch, used};
use pawl_tools::{Connect, Deletion, Ended, Format, HistoryAsked, LienChange, Purge, Release, Screen, Server};

use super::Command;
use super::progress::Bar;
use crate::runtime;

const CODES: &str = "Exit codes: 0 done, or nothing found; 1 an error; 2 something was found; 3 nobody confirmed.\n";

/// How the server is found.
const SERVER: &[Flag] = &[
    used("kubeconfig", "", "how the server is found (default: KUBECONFIG, then ~/.kube/config)"),
    used("context", "", "which context of the kubeconfig counts"),
    lettered("n", used("namespace", "", "the namespace that is meant (default: that of the context)")),
];
const OUTPUT: &[Flag] = &[lettered("o", used("output", "", "json, yaml, wide or name"))];
const EVERYWHERE: &[Flag] = &[lettered("A", switch("all-namespaces", "false", "everywhere"))];
const DRY_RUN: &[Flag] = &[switch("dry-run", "false", "only say what would be done")];
const YES: &[Flag] = &[lettered("y", switch("yes", "false", "ask nothing"))];
const IGNORE_LIENS: &[Flag] = &[switch("ignore-liens", "false", "delete it in spite of its liens")];
const WITH: &[Flag] =
    &[used("with", "", "a file with a definition that is not applied yet: what would its schema refuse?")];
const CONTROLLER: &[Flag] = &[used("controller", "", "whose liens go: secret-protection or configmap-protection")];
const HISTORY_FLAGS: &[Flag] = &[
    used("since", "", "how far back: 30s, 10m, 2h, 1d, or a time"),
    lettered("w", switch("watch", "false", "go on until it is deleted")),
    switch("all-uids", "false", "objects that had the name before, too"),
];

pub const WHY: Command = Command {
    name: "why",
    about: "say what keeps an object or needs it, and the command that resolves each",
    arguments: "TYPE/NAME",
    more: concat!(
        "Liens and who put them, users by field, finalizers, dependents, owners, what is left in a namespace, neighbours\n",
        "that cannot be read, what the schema refuses. A full circle keeps the object, an empty one does not.\n",
        "Exit codes: 0 nothing keeps it; 1 an error; 2 something keeps it.\n"
    ),
    flags: &[SERVER, OUTPUT],
    run: |given| asked(&given, async |server, screen| pawl_tools::why(&server, &screen, &given.rest).await),
};

pub const LIENS: Command = Command {
    name: "liens",
    about: "list the liens of a namespace, or of everything",
    arguments: "[TYPE]",
    more: CODES,
    flags: &[SERVER, OUTPUT, EVERYWHERE],
    run: |given| {
        let everywhere = given.switch("all-namespaces")?;
        asked(&given, async |server, screen| pawl_tools::liens(&server, &screen, &given.rest, everywhere).await)
    },
};

pub const LIEN: Command = Command {
    name: "lien",
    about: "add a lien to an object, or remove one",
    arguments: "add|remove TYPE/NAME KEY",
    more: concat!(
        "kubectl edit cannot: the types that it knows drop the field. A lien is a name with a domain before it:\n",
        "example.com/payments. Nothing else of the object changes.\n"
    ),
    flags: &[SERVER, OUTPUT],
    run: |given| {
        let (change, rest) = match given.rest.split_first() {
            Some((first, rest)) if first == "add" => (LienChange::Add, rest),
            Some((first, rest)) if first == "remove" => (LienChange::Remove, rest),
            _ => return Err("say add or remove: pawl lien add TYPE/NAME KEY".to_owned()),
        };
        asked(&given, async |server, screen| pawl_tools::change_lien(&server, &screen, change, rest).await)
    },
};

pub const DELETE: Command = Command {
    name: "delete",
    about: "delete an object, in spite of its liens where that is meant",
    arguments: "TYPE/NAME",
    more: concat!(
        "With --ignore-liens the liens are shown and one is asked first; it needs the verb ignore-liens.\n",
        "Exit codes: 0 done; 1 an error; 3 nobody confirmed.\n"
    ),
    flags: &[SERVER, OUTPUT, IGNORE_LIENS, YES, DRY_RUN],
    run: |given| {
        let how = Deletion {
            ignore_liens: given.switch("ignore-liens")?,
            yes: given.switch("yes")?,
            dry_run: given.switch("dry-run")?,
        };
        asked(&given, async |server, screen| pawl_tools::delete(&server, &screen, &given.rest, how).await)
    },
};

pub const UNREADABLE: Command = Command {
    name: "unreadable",
    about: "list what is stored and cannot be read",
    arguments: "",
    more: "Exit codes: 0 everything can be read; 1 an error; 2 something cannot.\n",
    flags: &[SERVER, OUTPUT],
    run: |given| {
        given.only_flags()?;
        asked(&given, async |server, screen| pawl_tools::unreadable(&server, &screen).await)
    },
};

pub const PURGE: Command = Command {
    name: "purge",
    about: "remove an object that cannot be read, unread",
    arguments: "TYPE/NAME",
    more: concat!(
        "DANGER: no finalizer runs, no lien and no admission is asked, and what the object stood for may stay behind.\n",
        "Its name must be typed to confirm. It needs the verb unsafe-delete-ignore-read-errors; what is removed so is\n",
        "kept in quarantine for a while.\nExit codes: 0 done; 1 an error; 3 nobody confirmed.\n"
    ),
    flags: &[SERVER, OUTPUT, YES, DRY_RUN],
    run: |given| {
        let how = Purge { yes: given.switch("yes")?, dry_run: given.switch("dry-run")? };
        asked(&given, async |server, screen| pawl_tools::purge(&server, &screen, &given.rest, how).await)
    },
};

pub const QUARANTINE: Command = Command {
    name: "quarantine",
    about: "list what was removed unread, and bring it back",
    arguments: "list | restore NAME",
    more: CODES,
    flags: &[SERVER, OUTPUT, DRY_RUN],
    run: |given| {
        let dry_run = given.switch("dry-run")?;
        match given.rest.as_slice() {
            [list] if list == "list" => {
                asked(&given, async |server, screen| pawl_tools::quarantine_list(&server, &screen).await)
            }
            [restore, name] if restore == "restore" => asked(&given, async |server, screen| {
                pawl_tools::quarantine_restore(&server, &screen, name, dry_run).await
            }),
            _ => Err("say list, or restore NAME".to_owned()),
        }
    },
};

pub const INVALID: Command = Command {
    name: "invalid",
    about: "list stored custom objects that a schema refuses, with the fields",
    arguments: "[CRD]",
    more: concat!(
        "CRD is the name of a definition or a type that one defines; without one all are looked at. With --with nothing is\n",
        "applied: the server only says what the schema in the file would refuse.\n",
        "Exit codes: 0 nothing is refused; 1 an error; 2 something is.\n"
    ),
    flags: &[SERVER, OUTPUT, WITH],
    run: |given| {
        let with = path(&given, "with");
        asked(&given, async |server, screen| pawl_tools::invalid(&server, &screen, &given.rest, with.as_deref()).await)
    },
};

pub const RELEASE_LIENS: Command = Command {
    name: "release-liens",
    about: "remove what a controller of things in use has left, once it is undeployed",
    arguments: "",
    more: "Only that controller's key, of all namespaces; other liens stay. It may be stopped and repeated.\n",
    flags: &[SERVER, OUTPUT, CONTROLLER, DRY_RUN],
    run: |given| {
        given.only_flags()?;
        let how = Release { controller: given.value("controller").to_owned(), dry_run: given.switch("dry-run")? };
        asked(&given, async |server, screen| {
            let mut bar = Bar::counting("releasing");
            pawl_tools::release(&server, &screen, &how, &mut |done, of| bar.at(done, Some(of))).await
        })
    },
};

pub const HISTORY: Command = Command {
    name: "history",
    about: "show what happened to an object, as differences",
    arguments: "TYPE/NAME",
    more: concat!(
        "When, by whom and by which verb, where managedFields say it, as far back as the store remembers. It needs get on\n",
        "the subresource history; values of Secrets are masked by the server.\n"
    ),
    flags: &[SERVER, OUTPUT, HISTORY_FLAGS],
    run: |given| {
        let how = HistoryAsked {
            since: given.value("since").to_owned(),
            watch: given.switch("watch")?,
            all_uids: given.switch("all-uids")?,
        };
        asked(&given, async |server, screen| pawl_tools::history(&server, &screen, &given.rest, &how).await)
    },
};

/// Asks the server that the flags mean, and ends as the answer says.
fn asked(given: &Given, ask: impl AsyncFnOnce(Server, Screen) -> Result<Ended, String>) -> Result<ExitCode, String> {
    let screen = Screen::new(Format::read(given.value("output"))?);
    let text = |name: &str| Some(given.value(name).to_owned()).filter(|text| !text.is_empty());
    let how = Connect { kubeconfig: path(given, "kubeconfig"), context: text("context"), namespace: text("namespace") };
    let ended = runtime::start()?.block_on(async { ask(pawl_tools::connect(&how).await?, screen).await })?;
    Ok(ExitCode::from(ended.code()))
}

/// What a word that is being typed may become: types, and names behind a slash. Nothing where nobody answers.
pub fn objects(begun: &str) -> Vec<String> {
    let ask = async {
        let server = pawl_tools::connect(&Connect::default()).await?;
        pawl_tools::objects(&server, begun).await
    };
    runtime::start().and_then(|runtime| runtime.block_on(ask)).unwrap_or_default()
}

fn path(given: &Given, name: &str) -> Option<PathBuf> {
    Some(given.value(name)).filter(|text| !text.is_empty()).map(|text| Path::new(text).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::COMMANDS;

    const DOCUMENT: &str = include_str!("../../../../docs/tools.md");

    /// Every command has its part, with what `--help` says of it: its arguments, every flag of its own, and no other flag.
    #[test]
    fn the_document_says_what_help_says() {
        let shared: Vec<&str> = SERVER.iter().map(|flag| flag.name).collect();
        for command in COMMANDS.iter().filter(|command| command.is_tool() || command.name == "tour") {
            let title = format!("## pawl {} {}", command.name, command.arguments);
            let (_, part) =
                DOCUMENT.split_once(&format!("\n{}\n", title.trim_end())).unwrap_or_else(|| panic!("{title}"));
            let part = part.split("\n## ").next().unwrap_or_default();
            let own = || command.flags.iter().copied().flatten().filter(|flag| !shared.contains(&flag.name));
            for flag in own() {
                assert!(part.contains(&format!("`--{}`", flag.name)), "{title}: --{}", flag.name);
                assert!(command.help().contains(&format!("--{} ", flag.name)), "{title}: --{}", flag.name);
                let letter = format!("`-{}`", flag.short);
                assert!(flag.short.is_empty() || part.contains(&letter), "{title}: -{}", flag.short);
            }
            for word in part.split('`').skip(1).step_by(2).filter_map(|word| word.strip_prefix("--")) {
                assert!(own().any(|flag| flag.name == word), "{title} has no --{word}");
            }
        }
        for code in [Ended::Well, Ended::Found, Ended::Declined] {
            assert!(DOCUMENT.contains(&format!("\n| {} |", code.code())), "{code:?}");
        }
        for name in shared {
            assert!(DOCUMENT.contains(&format!("`--{name}`")), "--{name}");
        }
    }
}
