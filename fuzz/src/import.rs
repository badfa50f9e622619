//! One fuzz target for all: which part of `formats::import` it feeds is said by the environment
//! variable `LBOLT_FUZZ_TARGET`. So a new format needs nothing here. `cargo xtask fuzz` runs them
//! all, each with its own corpus.
//!
//! - The name of a format: its reader, on the bytes as they are.
//! - `guess`: every format's guess, and the reader of whichever is guessed.
//! - `input`: decompressing.
//! - `parquet-requests`, `parquet-samples`: reading records ([`records`]).
//!
//! Several files of one trace lie one behind the other, with [`NEXT_FILE`] between them; a crash of
//! one file is thus that file, and can be imported.
//!
//! Non-goals: whether rows are right (`crates/trace/tests`).

#![no_main]

mod records;

use libfuzzer_sys::{Corpus, fuzz_mutator, fuzz_target, fuzzer_mutate};
use model::record::{Commands, Request};
use std::collections::HashSet;
use std::io::Read;
use std::sync::LazyLock;
use formats::import::{self, FORMATS, Format, Input};
use trace::intake::{Intake, Rows, RowsError};

/// What lies between the files of a trace. `cargo xtask fuzz` makes seeds with it.
const NEXT_FILE: &[u8] = b"\n<next file>\n";
/// Files of one trace.
const FILES: usize = 4;
/// So much of what is decompressed is read: a few bytes can stand for any amount, which takes its
/// time and is no hang.
const DECOMPRESSED_BYTES: u64 = 16 << 20;

/// What the bytes are given to.
enum Target {
    Input,
    Guess,
    Requests,
    Samples,
    Format(&'static Format),
}

static TARGET: LazyLock<Target> = LazyLock::new(|| {
    let name = std::env::var("LBOLT_FUZZ_TARGET").unwrap_or_default();
    match name.as_str() {
        "input" => Target::Input,
        "guess" => Target::Guess,
        "parquet-requests" => Target::Requests,
        "parquet-samples" => Target::Samples,
        name => match import::named(name) {
            Ok(format) => Target::Format(format),
            Err(error) => panic!("LBOLT_FUZZ_TARGET: {error}; or input, or guess"),
        },
    }
});

fuzz_target!(|bytes: &[u8]| -> Corpus {
    match *TARGET {
        Target::Input => decompress(bytes),
        Target::Guess => guess(bytes),
        Target::Requests => records::requests(bytes),
        Target::Samples => records::samples(bytes),
        Target::Format(format) => read(bytes, Some(format)),
    }
});

/// One of so many changes of a Parquet file is the fuzzer's own, which may make it longer or
/// shorter.
const OWN_CHANGE_OF: u32 = 8;

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    let is_parquet = matches!(*TARGET, Target::Requests | Target::Samples);
    if !is_parquet || size == 0 || seed % OWN_CHANGE_OF == 0 {
        return fuzzer_mutate(data, size, max_size);
    }
    records::mutate(&mut data[..size], seed);
    size
});

/// What is shown of a file is what is then read of it.
fn decompress(bytes: &[u8]) -> Corpus {
    let Ok(mut input) = Input::from_bytes("fuzz", bytes.to_vec()) else { return Corpus::Keep };
    let Ok((head, is_whole)) = input.head() else { return Corpus::Keep };
    let head = head.to_vec();
    let mut all = Vec::new();
    let read = input.reader().take(DECOMPRESSED_BYTES).read_to_end(&mut all);
    assert!(all.starts_with(&head), "what is read is not what was shown");
    assert!(!is_whole || all.len() == head.len(), "there was more than all");
    // Text of Windows loses its mark, and becomes UTF-8; UTF-16 has a zero in every other byte.
    let may_be_windows = bytes.starts_with(b"\xef\xbb\xbf") || bytes.contains(&0);
    assert!(input.is_compressed() || read.is_ok(), "plain bytes were refused");
    let is_changed = all != bytes && !input.is_compressed();
    assert!(!is_changed || may_be_windows, "plain bytes were changed");
    Corpus::Keep
}

/// Every format decides, whether more of the file is said to follow or not.
fn guess(bytes: &[u8]) -> Corpus {
    for format in FORMATS {
        format.guess(bytes, true);
        format.guess(bytes, false);
    }
    read(bytes, None)
}

/// The bytes are imported, or refused; either way what was counted is what happened.
fn read(bytes: &[u8], format: Option<&'static Format>) -> Corpus {
    let Some(mut inputs) = files(bytes) else { return Corpus::Reject };
    let mut rows = Checked::default();
    let mut intake = Intake::new(&mut rows, "fuzz");
    let Ok(_) = import::read(&mut inputs, format, &mut intake) else { return Corpus::Keep };
    let Ok((provenance, _)) = intake.finish() else { unreachable!("rows are never refused") };
    let counts = provenance.counts;
    assert_eq!(counts.requests, rows.ids.len() as u64, "rows and their count differ");
    assert!(counts.requests <= counts.events, "a row of nothing");
    assert!(counts.unsorted > 0 || !rows.is_unsorted, "disorder that was not counted");
    Corpus::Keep
}

/// The files that the bytes are; none if one is compressed, which is [`decompress`]'s.
fn files(bytes: &[u8]) -> Option<Vec<Input>> {
    let mut files = Vec::new();
    let mut rest = Some(bytes);
    while let Some(left) = rest.filter(|_| files.len() < FILES) {
        let end = left.windows(NEXT_FILE.len()).position(|window| window == NEXT_FILE);
        let file = &left[..end.unwrap_or(left.len())];
        rest = end.map(|end| &left[end + NEXT_FILE.len()..]);
        let input = Input::from_bytes(&format!("fuzz.{}", files.len()), file.to_vec()).ok()?;
        files.push(Some(input).filter(|input| !input.is_compressed())?);
    }
    Some(files)
}

/// Looks at each row, and keeps no more of it than its number.
#[derive(Default)]
struct Checked {
    ids: HashSet<u64>,
    last_ns: Option<i64>,
    is_unsorted: bool,
}

impl Rows for Checked {
    fn push(&mut self, row: &Request, commands: &Commands) -> Result<(), RowsError> {
        assert!(self.ids.insert(row.request_id), "two rows of one number");
        let arrival_ns = row.arrival_ns();
        assert!(arrival_ns.is_some(), "a row at no time");
        self.is_unsorted |= arrival_ns < self.last_ns;
        self.last_ns = self.last_ns.max(arrival_ns);
        // Every analysis subtracts and adds these.
        let times = [row.queued_ns, row.started_ns, row.issued_ns, row.completed_ns];
        for time in times.into_iter().flatten() {
            assert!(arrival_ns.is_some_and(|a| time.checked_sub(a).is_some()), "{row:?}");
        }
        let end = row.offset_bytes.unwrap_or(0).checked_add(u64::from(row.length_bytes));
        assert!(end.is_some(), "an end beyond all bytes: {row:?}");
        let name = row.command.map(|command| command.0 as usize);
        assert!(name.is_none_or(|n| n < commands.names().len()), "a command without a name");
        Ok(())
    }
}
