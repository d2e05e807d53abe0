//! What a compiler does not see: documents that name what is gone, words of one machine, files that grew too long, crates that
//! use what stands below them.

use std::fs;
use std::path::{Path, PathBuf};

/// Past this many lines one looks for the seam.
const LONG: usize = 800;

/// Files that may be longer, each with its reason.
const MAY_BE_LONG: [(&str, &str); 0] = [];

/// Beginnings of paths that exist on one machine only, cut in two so that this file does not contain them.
const FORBIDDEN: [(&str, &str); 2] = [("/wo", "rk/"), ("/ro", "ot/")];

/// What builds the place of a clone into a program, cut likewise: clones share what was built. It is asked for when a test runs.
const BUILT_IN: (&str, &str) = ("env!(\"CARGO_MANI", "FEST_DIR\")");

const PATH_ENDINGS: [&str; 5] = [".rs", ".md", ".toml", ".facts", ".rules"];

pub fn check(root: &Path) -> Vec<String> {
    let mut files = Vec::new();
    if let Err(error) = collect(root, Path::new(""), &mut files) {
        return vec![format!("cannot read the repository: {error}")];
    }
    files.sort();
    let mut problems = Vec::new();
    for file in &files {
        // What is not text has neither words nor lines.
        let Ok(text) = fs::read_to_string(root.join(file)) else { continue };
        problems.extend(check_words(file, &text));
        problems.extend(check_length(file, &text));
        if file == Path::new("ARCHITECTURE.md") || (file.starts_with("docs") && has_extension(file, "md")) {
            problems.extend(check_paths(root, &files, file, &text));
        }
    }
    problems.extend(check_edges(root));
    problems
}

/// A crate uses only those that stand above it in the table of ARCHITECTURE.md, and every crate stands there.
fn check_edges(root: &Path) -> Vec<String> {
    let text = fs::read_to_string(root.join("ARCHITECTURE.md")).unwrap_or_default();
    let order: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("| `crates/")?.split('`').next()).collect();
    let Ok(directories) = fs::read_dir(root.join("crates")) else { return vec!["there is no crates/".to_owned()] };
    let names = directories.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut problems: Vec<String> = names
        .flat_map(|name| {
            let manifest = fs::read_to_string(root.join("crates").join(&name).join("Cargo.toml")).unwrap_or_default();
            edges_against(&order, &name, &manifest)
        })
        .collect();
    problems.sort();
    problems
}

fn edges_against(order: &[&str], name: &str, manifest: &str) -> Vec<String> {
    let place = |name: &str| order.iter().position(|listed| *listed == name);
    let Some(own) = place(name) else { return vec![format!("crates/{name}: not in the table of ARCHITECTURE.md")] };
    let used = uses(manifest);
    let wrong = used.iter().filter(|used| place(used).is_none_or(|used| used >= own));
    wrong.map(|used| format!("crates/{name}: uses crates/{used}, which does not stand above it")).collect()
}

/// The crates of this workspace that a manifest depends on, but for those that only its tests need.
fn uses(manifest: &str) -> Vec<String> {
    let mut section = "";
    let mut found = Vec::new();
    for line in manifest.lines() {
        if line.starts_with('[') {
            section = line;
        } else if matches!(section, "[dependencies]" | "[build-dependencies]")
            && let Some((_, rest)) = line.split_once("path = \"../")
            && let Some(name) = rest.split('"').next()
        {
            found.push(name.to_owned());
        }
    }
    found
}

/// All files of the repository, relative to its root.
fn collect(root: &Path, below: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in fs::read_dir(root.join(below))? {
        let entry = entry?;
        let path = below.join(entry.file_name());
        // Not of the repository; `.git` is a file where the work tree is not the first one.
        if matches!(entry.file_name().to_str(), Some(".git" | "target" | "pawl-data" | "node_modules")) {
            continue;
        }
        if entry.file_type()?.is_dir() {
            collect(root, &path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}

fn check_words(file: &Path, text: &str) -> Vec<String> {
    let words = [FORBIDDEN.as_slice(), &[BUILT_IN]].concat();
    let words: Vec<String> = words.iter().map(|(start, end)| format!("{start}{end}")).collect();
    let lines = text.lines().enumerate();
    let hits = lines.filter_map(|(i, line)| Some((i + 1, words.iter().find(|word| line.contains(word.as_str()))?)));
    hits.map(|(number, word)| format!("{}:{number}: names a path of one machine: {word}", file.display())).collect()
}

fn check_length(file: &Path, text: &str) -> Option<String> {
    let lines = text.lines().count();
    let allowed = MAY_BE_LONG.iter().any(|(name, _)| file == Path::new(name));
    (has_extension(file, "rs") && lines > LONG && !allowed)
        .then(|| format!("{}: {lines} lines: look for the seam, or give a reason in xtask/src/tidy.rs", file.display()))
}

fn check_paths(root: &Path, files: &[PathBuf], document: &Path, text: &str) -> Vec<String> {
    let lines = text.lines().enumerate();
    let named = lines.flat_map(|(i, line)| line.split('`').skip(1).step_by(2).map(move |word| (i + 1, word)));
    let gone = named.filter(|(_, word)| is_path(root, word) && !exists(root, files, document, word));
    gone.map(|(number, word)| format!("{}:{number}: names {word}, which does not exist", document.display())).collect()
}

/// Whether a word means a file or directory of this repository, and not a URL, a media type or a pattern.
fn is_path(root: &Path, word: &str) -> bool {
    let plain = !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || "/._-".contains(c));
    let first = word.split('/').next().unwrap_or_default();
    let below_root = word.contains('/') && !first.is_empty() && root.join(first).exists();
    plain && !word.starts_with('/') && (below_root || PATH_ENDINGS.iter().any(|ending| word.ends_with(ending)))
}

/// Documents name files from the root, from their own directory, or by the end of their path.
fn exists(root: &Path, files: &[PathBuf], document: &Path, word: &str) -> bool {
    let beside = document.parent().unwrap_or(Path::new("")).join(word);
    root.join(word).exists() || root.join(beside).exists() || files.iter().any(|file| file.ends_with(word))
}

fn has_extension(file: &Path, extension: &str) -> bool {
    file.extension().is_some_and(|e| e == extension)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root() -> &'static Path {
        Path::new(std::env::var("CARGO_MANIFEST_DIR").unwrap().leak()).parent().unwrap()
    }

    #[test]
    fn the_repository_is_tidy() {
        assert_eq!(check(root()), Vec::<String>::new());
    }

    #[test]
    fn documents_may_not_name_what_is_gone() {
        let text =
            "`xtask/src/tidy.rs`, `tidy.rs`, `/readyz`, `application/json`, `*.rs` are fine;\n`xtask/gone.rs` is not";
        let files = [PathBuf::from("xtask/src/tidy.rs")];
        let problems = check_paths(root(), &files, Path::new("docs/x.md"), text);
        assert_eq!(problems, ["docs/x.md:2: names xtask/gone.rs, which does not exist"]);
    }

    #[test]
    fn crates_use_only_what_stands_above_them() {
        let manifest = "[dependencies]\na = { path = \"../a\" }\nb = { path = \"../b\" }\n[dev-dependencies]\nc = { path = \"../c\" }";
        assert_eq!(edges_against(&["a", "b", "x", "c"], "x", manifest), Vec::<String>::new());
        let told = ["crates/x: uses crates/b, which does not stand above it"];
        assert_eq!(edges_against(&["a", "x", "b", "c"], "x", manifest), told);
        assert_eq!(edges_against(&["a", "b"], "x", manifest), ["crates/x: not in the table of ARCHITECTURE.md"]);
    }

    #[test]
    fn words_of_one_machine_and_long_files_are_told() {
        let (start, end) = FORBIDDEN[0];
        assert_eq!(check_words(Path::new("a"), &format!("ok\nin {start}{end}x")).len(), 1);
        assert_eq!(check_length(Path::new("a.rs"), &"\n".repeat(LONG)), None);
        assert!(check_length(Path::new("a.rs"), &"\n".repeat(LONG + 1)).is_some());
        assert_eq!(check_length(Path::new("a.md"), &"\n".repeat(LONG + 1)), None);
    }
}
