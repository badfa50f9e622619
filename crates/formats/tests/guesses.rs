//! Every fixture and every real trace is one format's and no other's: all formats are asked.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test")]

use formats::import::{self, FORMATS, Guess, ImportError, Input};
use model::record::{Commands, Request};
use std::io::BufRead;
use std::path::{Path, PathBuf};
use trace::intake::{Intake, Rows, RowsError};

fn home() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).into()
}

/// The formats that guess so of a file.
fn formats_with(path: &Path, guess: Guess) -> Vec<&'static str> {
    let mut input = Input::open(path).unwrap();
    let (head, is_whole) = input.head().unwrap();
    let says = FORMATS.iter().filter(|format| (format.guess)(head, is_whole) == guess);
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
        let certain = formats_with(&file, Guess::Yes);
        assert!(certain.len() <= 1, "{}: {certain:?}", file.display());
        // As it is decided: the one that is certain, or the only one that is not sure.
        let found = if certain.is_empty() { formats_with(&file, Guess::NeedMore) } else { certain };
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
        let certain = formats_with(&file, Guess::Yes);
        assert!(certain.len() <= 1, "{}: {certain:?}", file.display());
        // The parameters of drives and the texts beside the traces are none.
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        let is_no_trace = [".model", ".parv", ".seek", ".diskspecs", ".md", "COPYING.txt"];
        if is_no_trace.iter().any(|end| name.ends_with(end)) {
            assert!(certain.is_empty(), "{}: {certain:?}", file.display());
        }
    }
}

/// Takes no row.
struct Full;

impl Rows for Full {
    fn push(&mut self, _: &Request, _: &Commands) -> Result<(), RowsError> {
        Err(RowsError("full".into()))
    }
}

/// A few bytes can decompress without end.
#[test]
fn no_format_reads_blank_lines_to_their_end() {
    for format in FORMATS {
        let mut rows = Full;
        let mut intake = Intake::new(&mut rows, "test");
        let mut inputs = [Input::from_bytes("bomb", vec![b'\n'; 66 << 20]).unwrap()];
        let read = import::read(&mut inputs, Some(*format), &mut intake);
        let refused = read.map(|_| format.name()).unwrap_err();
        let is_one = matches!(
            refused,
            // The last is of a format of which any 8 bytes are a record.
            ImportError::Nothing { .. } | ImportError::NotThat { .. } | ImportError::Rows(_)
        );
        assert!(is_one, "{}: {refused}", format.name());
        assert!(!inputs[0].reader().fill_buf().unwrap().is_empty(), "{}", format.name());
        assert!(import::guess(&mut inputs[0]).is_err(), "{}", format.name());
    }
}
