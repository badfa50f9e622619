//! Foreign traces. A row of [`tables`] or a file a format: what its bytes mean, and a guess whether
//! a file is one.
//!
//! A format gives events (paired by [`trace::pair`]) or whole requests to an [`Intake`]. Times are
//! handed over in ns of the source's own clock; what a format cannot know is none, never zero. A
//! line or record that is not understood is counted and passed over ([`Intake::reject`]); a file of
//! which nothing is understood is refused.
//!
//! To add a format: a row or a file here, one entry in [`FORMATS`], one fixture and its expected
//! rows in `tests/import`.
//!
//! Non-goals: files of our own (`requests.parquet`), printing.

mod binary;
mod biosnoop;
mod blkparse;
mod blktrace;
mod bpftrace_biosnoop;
mod columns;
mod devices;
mod disksim_validate;
mod encoding;
mod etw_dumper;
mod fio_iolog;
mod fiu;
mod ftrace;
mod input;
mod lbolt86;
mod lbolt86_packed;
mod lines;
mod listing;
mod locale;
mod marks;
mod parse;
mod perf_script;
mod srt;
mod steps;
mod tables;
mod thesios;
mod tracepoints;
mod vscsi;
mod windows;
mod words;
mod wpa;

pub use input::{Input, InputError};
pub(crate) use tables::FILETIME_OF_1970;

use std::path::PathBuf;
use trace::intake::{Intake, RowsError};

/// Whether a file is of a format, as far as its beginning tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Guess {
    /// It is.
    Yes,
    /// It is not.
    No,
    /// It may be: more of it would tell.
    NeedMore,
}

impl Guess {
    /// Yes or no.
    pub fn of(is_it: bool) -> Self {
        if is_it { Self::Yes } else { Self::No }
    }
}

/// Why a trace was not imported. Completes "failed to …".
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what each is")]
pub enum ImportError {
    #[error(transparent)]
    Input(#[from] InputError),
    #[error("find the format {name:?}; known are {known}")]
    UnknownFormat { name: String, known: String },
    #[error("detect the format of {path}; give --input-format, one of {known}")]
    NotGuessed { path: PathBuf, known: String },
    #[error("find a request in {path}: the file is empty; check the program that wrote it",
            path = path.display())]
    Empty { path: PathBuf },
    #[error("import {first} and {second} together: {first} is {first_format}, {second} is \
             {second_format}; import each file \
             separately", first = first.display(), second = second.display())]
    Mixed {
        first: PathBuf,
        first_format: &'static str,
        second: PathBuf,
        second_format: &'static str,
    },
    #[error("read {path} as {format}: {why}; check the format")]
    NotThat { path: PathBuf, format: &'static str, why: String },
    #[error("find a request in {path}: it begins with {what}; check that it is a trace of this \
             format", path = path.display())]
    Nothing { path: PathBuf, what: String },
    #[error(transparent)]
    Rows(#[from] RowsError),
}

/// A foreign format.
#[derive(Debug)]
pub struct Format {
    name: &'static str,
    meaning: &'static str,
    /// Whether a file is of this format, by its decompressed beginning, and whether that is all.
    pub guess: fn(&[u8], bool) -> Guess,
    /// Reads the files of one trace, in the order given, and hands over what they hold.
    import: fn(&mut [Input], &mut Intake) -> Result<(), ImportError>,
}

impl Format {
    /// Its name, for `--input-format` and `import:NAME`.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// What it is, in a line for the help.
    pub fn meaning(&self) -> &'static str {
        self.meaning
    }
}

/// Every format, the more certain guesses first.
pub const FORMATS: &[&Format] = &[
    &blktrace::FORMAT,
    &srt::FORMAT,
    &fio_iolog::FORMAT,
    &lbolt86::FORMAT,
    &blkparse::FORMAT,
    &perf_script::FORMAT,
    &ftrace::FORMAT,
    &biosnoop::FORMAT,
    &bpftrace_biosnoop::FORMAT,
    &wpa::FORMAT,
    &etw_dumper::FORMAT,
    &thesios::FORMAT,
    &tables::systor17::FORMAT,
    &disksim_validate::FORMAT,
    &tables::msr::FORMAT,
    &fiu::FORMAT,
    &tables::alibaba::FORMAT,
    &tables::spc::FORMAT,
    &tables::tencent::FORMAT,
    &tables::mqsim::FORMAT,
    &tables::disksim_ascii::FORMAT,
    &vscsi::FORMAT,
    &lbolt86_packed::FORMAT,
];

/// The names of all formats, for messages.
pub fn known() -> String {
    FORMATS.iter().map(|f| f.name()).collect::<Vec<_>>().join(", ")
}

/// The format of that name.
/// Errors: there is none.
pub fn named(name: &str) -> Result<&'static Format, ImportError> {
    let found = FORMATS.iter().find(|f| f.name() == name).copied();
    found.ok_or_else(|| ImportError::UnknownFormat { name: name.to_owned(), known: known() })
}

/// The format of a file, by its beginning.
/// Errors: no format says yes; an empty file.
pub fn guess(input: &mut Input) -> Result<&'static Format, ImportError> {
    guess_unless_empty(input)?.ok_or_else(|| ImportError::Empty { path: input.path().to_owned() })
}

/// The same; none of a file that is empty, as blktrace leaves one for a CPU without events.
fn guess_unless_empty(input: &mut Input) -> Result<Option<&'static Format>, ImportError> {
    let (head, is_whole) = input.head()?;
    if is_whole && head.trim_ascii().is_empty() {
        return Ok(None);
    }
    let says = |format: &&&Format, guess| (format.guess)(head, is_whole) == guess;
    let yes = FORMATS.iter().find(|f| says(f, Guess::Yes));
    // One that would need more, and only one: there is nothing else that it could be.
    let mut maybe = FORMATS.iter().filter(|f| says(f, Guess::NeedMore));
    let only = maybe.next().filter(|_| maybe.next().is_none());
    let not_guessed = || ImportError::NotGuessed { path: input.path().to_owned(), known: known() };
    yes.or(only).copied().map(Some).ok_or_else(not_guessed)
}

/// Reads files of one trace: of the format given, or of the one that all are guessed to be.
/// Returns the format.
/// Errors: a file that cannot be read or of which nothing is understood; rows that cannot be put
/// away; files of several formats.
pub fn read(
    inputs: &mut [Input],
    format: Option<&'static Format>,
    intake: &mut Intake,
) -> Result<&'static Format, ImportError> {
    let format = match format {
        Some(format) => format,
        None => guess_together(inputs)?,
    };
    (format.import)(inputs, intake)?;
    if intake.is_empty() && intake.counts().rejected > 0 {
        return Err(ImportError::NotThat {
            path: inputs.first().map(|i| i.path().to_owned()).unwrap_or_default(),
            format: format.name(),
            why: intake.complaints().first().cloned().unwrap_or_default(),
        });
    }
    Ok(format)
}

/// The one format that all files are of, but for empty ones.
/// Errors: one that is of none, or two that differ; nothing but empty files.
pub fn guess_together(inputs: &mut [Input]) -> Result<&'static Format, ImportError> {
    let mut found: Option<(PathBuf, &'static Format)> = None;
    for input in &mut *inputs {
        let Some(format) = guess_unless_empty(input)? else { continue };
        match &found {
            None => found = Some((input.path().to_owned(), format)),
            Some((_, first)) if first.name() == format.name() => {}
            Some((path, first)) => {
                return Err(ImportError::Mixed {
                    first: path.clone(),
                    first_format: first.name(),
                    second: input.path().to_owned(),
                    second_format: format.name(),
                });
            }
        }
    }
    let path = || inputs.first().map(|i| i.path().to_owned()).unwrap_or_default();
    found.map(|(_, format)| format).ok_or_else(|| ImportError::Empty { path: path() })
}
