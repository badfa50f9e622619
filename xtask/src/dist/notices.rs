//! The licences of what is linked into the program: its crates by `cargo metadata`, each with the
//! texts that it brings along; a text that several bring is there once.
//!
//! Non-goals: the C library and Rust's own, which packaging/debian/copyright names.

use crate::command::output;
use anyhow::Context as _;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

/// How such a file's name begins, in small letters.
const BEGINNINGS: [&str; 5] = ["license", "licence", "copying", "copyright", "unlicense"];
/// Its greatest size: what is longer is a list of other things.
const BYTES_MOST: u64 = 100_000;

/// All of it, as one text.
/// Errors: cargo that fails; texts that cannot be read.
pub(super) fn notices(root: &Path, triple: &str) -> anyhow::Result<String> {
    let mut cargo = Command::new("cargo");
    cargo.args(["metadata", "--format-version", "1", "--locked", "--filter-platform", triple]);
    let metadata: Value = serde_json::from_str(&output(cargo.current_dir(root))?)?;
    let linked = linked(root, triple)?;
    let packages = metadata["packages"].as_array().context("cargo knows no packages")?.iter();
    let foreign = packages.filter(|package| {
        let name = format!("{} v{}", word(&package["name"]), word(&package["version"]));
        linked.contains(&name) && !package["source"].is_null()
    });
    let mut head =
        "What is linked into lbolt, and its licences; their texts follow.\n\n".to_owned();
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for package in foreign {
        let name = format!("{} {}", word(&package["name"]), word(&package["version"]));
        head += &format!("{name}: {}\n", package["license"].as_str().unwrap_or("see its text"));
        let directory = Path::new(word(&package["manifest_path"])).parent().map(Path::to_owned);
        for file in texts_in(&directory.context("a manifest lies in no directory")?, 2)? {
            let text = String::from_utf8_lossy(&std::fs::read(&file)?).trim().to_owned();
            let users = texts.entry(text).or_default();
            if users.last() != Some(&name) {
                users.push(name.clone());
            }
        }
    }
    let mut rest: Vec<String> = texts
        .into_iter()
        .map(|(text, users)| format!("\n--- {} ---\n\n{text}\n", users.join(", ")))
        .collect();
    rest.sort();
    Ok(head + &rest.concat())
}

fn word(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// The packages that `lbolt` is linked with, as `zstd v0.13.3`: not what only builds or tests it.
fn linked(root: &Path, triple: &str) -> anyhow::Result<BTreeSet<String>> {
    let mut cargo = Command::new("cargo");
    cargo.args(["tree", "--locked", "--package", "lbolt", "--edges", "normal", "--prefix", "none"]);
    let tree = output(cargo.args(["--target", triple, "--format", "{p}"]).current_dir(root))?;
    let name = |line: &str| line.split(' ').take(2).collect::<Vec<_>>().join(" ");
    Ok(tree.lines().map(name).collect())
}

/// Files of licences at most so many directories deep, in order.
fn texts_in(directory: &Path, depth: u32) -> anyhow::Result<Vec<PathBuf>> {
    let mut entries = std::fs::read_dir(directory)?
        .map(|entry| entry.and_then(|entry| Ok((entry.path(), entry.metadata()?))))
        .collect::<std::io::Result<Vec<_>>>()?;
    entries.sort_by(|(a, _), (b, _)| a.cmp(b));
    let mut found = Vec::new();
    for (path, facts) in entries {
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        if facts.is_dir() && depth > 1 {
            found.extend(texts_in(&path, depth - 1)?);
        } else if facts.is_file() && facts.len() < BYTES_MOST && is_licence(&name) {
            found.push(path);
        }
    }
    Ok(found)
}

/// By its name in small letters; a program's source may be called so too.
fn is_licence(name: &str) -> bool {
    let is_text = name.rsplit_once('.').is_none_or(|(_, end)| !["rs", "c", "h"].contains(&end));
    is_text && BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_linked_is_named_with_its_texts_and_what_only_builds_is_not() {
        let text = notices(&crate::root(), "x86_64-unknown-linux-musl").unwrap();
        let (list, texts) = text.split_once("\n--- ").unwrap();
        // C code that a crate brings along lies one directory deeper.
        assert!(list.contains("\nzstd-sys ") && texts.contains("Meta Platforms"), "{list}");
        assert!(list.contains("\nparquet ") && texts.contains("Apache License"));
        // The C compiler's driver; a crate of our own.
        assert!(!list.contains("\ncc ") && !list.contains("\nmodel "), "{list}");
    }

    #[test]
    fn a_licence_is_known_by_its_name() {
        assert!(["license-mit", "copying", "unlicense", "license.txt"].into_iter().all(is_licence));
        assert!(
            ["license.rs", "readme.md", "my-license"].into_iter().all(|name| !is_licence(name))
        );
    }
}
