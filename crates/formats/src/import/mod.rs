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
mod table;
mod tables;
mod thesios;
mod tracepoints;
mod vscsi;
mod windows;
mod words;
mod wpa;

pub use input::{Input, InputError};
pub use table::Units;
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
    #[error(
        "detect the format of {path}: it can be {}; give --input-format, and --time-unit or \
             --size-unit if its units are others",
        either(formats)
    )]
    Ambiguous { path: PathBuf, formats: Vec<&'static Format> },
    #[error("find the unit {name:?}; known are {known}")]
    UnknownUnit { name: String, known: String },
    #[error(
        "read {format} in other units: its units are fixed; leave --time-unit and --size-unit \
             out, or name its columns by --input-format columns=…"
    )]
    Units { format: &'static str },
    #[error("read the columns: {why}; known are {known}")]
    Columns { why: String, known: &'static str },
    #[error("find a request in {path}: the file is empty, or names its columns and \
             nothing else; check the program that wrote it",
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
    #[error("import {first} and {second} together: their times count from {first_date} and from \
             {second_date}; import each file separately",
            first = first.display(), second = second.display())]
    Dates { first: PathBuf, first_date: String, second: PathBuf, second_date: String },
    #[error("read {path} as {format}: {why}; check the format")]
    NotThat { path: PathBuf, format: &'static str, why: String },
    #[error("find a request in {path}: it begins with {what}; check that it is a trace of this \
             format", path = path.display())]
    Nothing { path: PathBuf, what: String },
    #[error(transparent)]
    Rows(#[from] RowsError),
}

/// Formats with their meanings.
fn either(formats: &[&Format]) -> String {
    let said: Vec<String> =
        formats.iter().map(|format| format!("{} ({})", format.name, format.meaning)).collect();
    said.join(" or ")
}

/// How a format is read.
#[derive(Debug, Clone, Copy)]
enum Reading {
    /// Reads the files of one trace and hands over what they hold.
    Code(fn(&mut [Input], &mut Intake) -> Result<(), ImportError>),
    /// By its columns.
    Table(table::Table),
}

/// A foreign format.
#[derive(Debug, Clone, Copy)]
pub struct Format {
    name: &'static str,
    meaning: &'static str,
    /// Whether a file is of this format, by its decompressed beginning, and whether that is all.
    pub guess: fn(&[u8], bool) -> Guess,
    import: Reading,
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

    /// The same format with units that a user gives. It stays as long as the program.
    /// Errors: a format whose units are its own.
    pub fn with(&'static self, units: &Units) -> Result<&'static Self, ImportError> {
        match &self.import {
            _ if units.are_none() => Ok(self),
            Reading::Table(table) => {
                let import = Reading::Table(table.with(units));
                Ok(Box::leak(Box::new(Self { import, ..*self })))
            }
            Reading::Code(_) => Err(ImportError::Units { format: self.name }),
        }
    }
}

/// Every format. Those of one table stand side by side.
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
    &table::MQSIM,
    &table::MQSIM_SECONDS,
    &table::DISKSIM_ASCII,
    &table::REPLAYER,
    &table::MIDAS,
    &vscsi::FORMAT,
    &lbolt86_packed::FORMAT,
];

/// What begins the description of a table of no other name.
const COLUMNS: &str = "columns=";

/// The names of all formats, for messages.
pub fn known() -> String {
    let names: Vec<&str> = FORMATS.iter().map(|format| format.name()).collect();
    format!("{}, or columns=time,device,offset,length,op for a table", names.join(", "))
}

/// The format of that name, or the table whose columns are behind `columns=`.
/// Errors: there is none; what is no column.
pub fn named(name: &str) -> Result<&'static Format, ImportError> {
    if let Some(columns) = name.strip_prefix(COLUMNS) {
        return table::described(columns);
    }
    let found = FORMATS.iter().find(|f| f.name() == name).copied();
    found.ok_or_else(|| ImportError::UnknownFormat { name: name.to_owned(), known: known() })
}

/// The format of a file, by its beginning.
/// Errors: no format says yes, or several do; an empty file.
pub fn guess(input: &mut Input) -> Result<&'static Format, ImportError> {
    guess_unless_empty(input, &Units::default())?
        .ok_or_else(|| ImportError::Empty { path: input.path().to_owned() })
}

/// The same, where a user gives units; none of a file that is empty, as blktrace leaves one for a
/// CPU without events.
fn guess_unless_empty(
    input: &mut Input,
    units: &Units,
) -> Result<Option<&'static Format>, ImportError> {
    let (head, is_whole) = input.head()?;
    if is_whole && head.trim_ascii().is_empty() {
        return Ok(None);
    }
    let mut found: Vec<&'static Format> = Vec::new();
    // One that would need more, and only one: there is nothing else that it could be.
    for wanted in [Guess::Yes, Guess::NeedMore] {
        if found.is_empty() {
            let says = |format: &&&Format| (format.guess)(head, is_whole) == wanted;
            found = FORMATS.iter().filter(says).copied().collect();
        }
    }
    // With the same units some are the same.
    found.dedup_by(|one, other| match (&one.import, &other.import) {
        (Reading::Table(one), Reading::Table(other)) => one.is_with(other, units),
        _ => false,
    });
    let says_nothing = is_whole && found.is_empty() && lines::says_nothing(head);
    let path = input.path().to_owned();
    match found.as_slice() {
        [] if says_nothing => Ok(None),
        [] => Err(ImportError::NotGuessed { path, known: known() }),
        [one] => Ok(Some(*one)),
        _ => Err(ImportError::Ambiguous { path, formats: found }),
    }
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
        None => guess_together(inputs, &Units::default())?,
    };
    match &format.import {
        Reading::Code(import) => import(inputs, intake)?,
        Reading::Table(table) => table.import(inputs, intake)?,
    }
    if intake.is_empty() && intake.counts().rejected > 0 {
        return Err(ImportError::NotThat {
            path: inputs.first().map(|i| i.path().to_owned()).unwrap_or_default(),
            format: format.name(),
            why: intake.complaints().first().cloned().unwrap_or_default(),
        });
    }
    Ok(format)
}

/// The one format that all files are of, but for empty ones; with units if a user gives them.
/// Errors: one that is of none or of several, or two that differ; nothing but empty files.
pub fn guess_together(inputs: &mut [Input], units: &Units) -> Result<&'static Format, ImportError> {
    let mut found: Option<(PathBuf, &'static Format)> = None;
    for input in &mut *inputs {
        let Some(format) = guess_unless_empty(input, units)? else { continue };
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
    found.map_or_else(|| Err(ImportError::Empty { path: path() }), |(_, f)| f.with(units))
}
