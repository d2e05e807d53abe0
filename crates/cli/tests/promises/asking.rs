//! Commands that ask a server, as people run them: through kubectl where there is one.
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::Value;

use pawl_testing::Running;

/// What a command said and how it ended.
#[derive(Debug)]
pub struct Said {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Said {
    #[track_caller]
    pub fn ended(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{self:?}");
        self
    }

    #[track_caller]
    pub fn has(self, text: &str) -> Self {
        assert!(self.out.contains(text), "no {text:?} in:\n{}\n{}", self.out, self.err);
        self
    }

    #[track_caller]
    pub fn told(self, text: &str) -> Self {
        assert!(self.err.contains(text), "no {text:?} in:\n{}\n{}", self.err, self.out);
        self
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|why| panic!("{why}: {self:?}"))
    }
}

pub fn kubeconfig(running: &Running) -> PathBuf {
    running.place.data().join("admin.kubeconfig")
}

pub fn finish(mut command: Command, typed: &str) -> Said {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // Who asks nothing may end before it reads.
    let _ = child.stdin.take().unwrap().write_all(typed.as_bytes());
    let output = child.wait_with_output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Said { code: output.status.code().unwrap(), out: text(output.stdout), err: text(output.stderr) }
}

/// Runs a command against a server, in the namespace `n`.
pub fn ask(running: &Running, arguments: &[&str]) -> Said {
    typing(running, arguments, "")
}

/// The same with something typed: through kubectl where there is one, by itself where not.
pub fn typing(running: &Running, arguments: &[&str], typed: &str) -> Said {
    let mut command = plugin(running);
    command.args(arguments).args(["-n", "n"]).env("KUBECONFIG", kubeconfig(running));
    finish(command, typed)
}

pub fn has_kubectl() -> bool {
    Command::new("kubectl").args(["version", "--client"]).output().is_ok_and(|output| output.status.success())
}

fn plugin(running: &Running) -> Command {
    let links = links(running);
    if !has_kubectl() {
        return Command::new(links.join("kubectl-pawl"));
    }
    let mut command = Command::new("kubectl");
    command.arg("pawl").env("PATH", format!("{}:{}", links.display(), std::env::var("PATH").unwrap_or_default()));
    command
}

/// The binary under the names by which kubectl finds it.
pub fn links(running: &Running) -> PathBuf {
    let links = running.place.path("links");
    if fs::create_dir(&links).is_ok() {
        for name in ["kubectl-pawl", "kubectl_complete-pawl"] {
            std::os::unix::fs::symlink(pawl_testing::binary(), links.join(name)).unwrap();
        }
    }
    links
}
