//! Every fixture and every real trace is one format's and no other's: all formats are asked.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test")]

use std::path::{Path, PathBuf};
use trace::import::{FORMATS, Guess, Input};

fn home() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).into()
}

/// The formats that answer so to a file.
fn answering(path: &Path, guess: Guess) -> Vec<&'static str> {
    let mut input = Input::open(path).unwrap();
    let (head, is_whole) = input.head().unwrap();
    let says = FORMATS.iter().filter(|format| format.guess(head, is_whole) == guess);
    says.map(|format| format.name()).collect()
}

/// Formats that have to be named.
const NEVER_GUESSED: [&str; 1] = ["lbolt86-packed"];

/// The files in a directory, and in those in it.
fn files(directory: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(directory) else { return Vec::new() };
    let paths = entries.map(|entry| entry.unwrap().path());
    let deep = |path: PathBuf| if path.is_dir() { files(&path) } else { vec![path] };
    paths.flat_map(deep).collect()
}

#[test]
fn no_fixture_is_two_formats() {
    let files = files(&home().join("tests/import/fixtures"));
    assert!(files.len() >= FORMATS.len());
    for file in files {
        let certain = answering(&file, Guess::Yes);
        assert!(certain.len() <= 1, "{}: {certain:?}", file.display());
        // As it is decided: the one that is certain, or the only one that is not sure.
        let found = if certain.is_empty() { answering(&file, Guess::NeedMore) } else { certain };
        // What has no mark of its own is never guessed: its name is its directory's or its own.
        let is_asked_for = NEVER_GUESSED.iter().any(|name| file.to_string_lossy().contains(name));
        assert_eq!(found.len(), usize::from(!is_asked_for), "{}: {found:?}", file.display());
    }
}

#[test]
fn no_real_trace_is_two_formats() {
    let data = home().join("../../../shared/data");
    let files = files(&data);
    if files.is_empty() {
        println!("skipped: {} is absent", data.display());
    }
    for file in files {
        let certain = answering(&file, Guess::Yes);
        assert!(certain.len() <= 1, "{}: {certain:?}", file.display());
        // The parameters of drives and the texts beside the traces are none.
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        let is_no_trace = [".model", ".parv", ".seek", ".diskspecs", ".md", "COPYING.txt"];
        if is_no_trace.iter().any(|end| name.ends_with(end)) {
            assert!(certain.is_empty(), "{}: {certain:?}", file.display());
        }
    }
}
