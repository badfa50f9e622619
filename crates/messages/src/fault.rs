//! Exit codes, decided in one place: 0 fine · 1 I/O or verification error · 2 usage · 3 refused by
//! the guard · 4 `compare` found a regression · 5 not steady, or not faithful · 6 the output could
//! not be printed · 7 `compare` cannot tell · 130 interrupted.

use model::text::{NAMES_COUNTED, visible};
use serde::{Deserialize, Serialize};
use std::process::ExitCode;

/// Why a command ends other than well.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fault {
    /// An I/O or verification error.
    Io,
    /// What was requested cannot be done, here or at all.
    Usage,
    /// The guard refused.
    Guard,
    /// `compare` found a regression.
    Worse,
    /// Passes that are not steady, under `--steady`; a replay that was not faithful.
    NotSteady,
    /// All went well, but for the output: standard output is closed or refuses it.
    Unprinted,
    /// `compare` was asked for a regression and cannot tell.
    Unsure,
    /// The user stopped it.
    Interrupted,
}

impl Fault {
    /// The exit code.
    pub fn code(self) -> u8 {
        match self {
            Self::Io => 1,
            Self::Usage => 2,
            Self::Guard => 3,
            Self::Worse => 4,
            Self::NotSteady => 5,
            Self::Unprinted => 6,
            Self::Unsure => 7,
            Self::Interrupted => 130,
        }
    }
}

/// A fault with its sentence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Failure {
    /// Which exit code.
    pub fault: Fault,
    /// What was wrong and what to do; nothing to print where empty.
    pub message: String,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

/// A failure as an error.
pub fn failure(fault: Fault, message: impl std::fmt::Display) -> anyhow::Error {
    Failure { fault, message: message.to_string() }.into()
}

/// An error of ours that completes "failed to …" by itself. What the system says names no action
/// and no path: for that there is [`unable`].
pub trait Clause: std::fmt::Display {}

/// What completes the sentence.
macro_rules! clauses {
    ($($error:ty),* $(,)?) => { $(impl Clause for $error {})* };
}

clauses!(
    String,
    &str,
    host::scratch::ScratchError,
    model::history::HistoryError,
    model::mix::ProfileError,
    model::record::RecordError,
    model::run::RunError,
    sim::replay::ReplayError,
    trace::capture::CaptureError,
    trace::capture::TracerError,
    formats::export::ExportError,
    formats::import::ImportError,
    trace::intake::RowsError,
    trace::output::OutputError,
);

/// Names that are told in a sentence.
const MOST_NAMES: usize = 10;

/// What was selected by a name that nothing in `place` has: which names there are.
pub fn not_there(
    option: &str,
    wanted: &str,
    place: &str,
    known: impl IntoIterator<Item = String>,
) -> anyhow::Error {
    let known: Vec<String> = known.into_iter().map(|name| visible(&name).into_owned()).collect();
    let names = match known.split_at_checked(MOST_NAMES) {
        _ if known.is_empty() => "not named".to_owned(),
        Some((told, more)) if more.len() > 1 => {
            let at_least = if known.len() < NAMES_COUNTED { "" } else { "at least " };
            format!("{} and {at_least}{} more", told.join(", "), more.len())
        }
        _ => known.join(", "),
    };
    let es = if option.ends_with('s') { "es" } else { "s" };
    let wanted = visible(wanted);
    let why = format!("--{option} {wanted} is not in {place}; its {option}{es} are {names}");
    failure(Fault::Usage, why)
}

/// Records that could not be read or written, as an I/O failure with its sentence.
pub fn of_records(error: impl Clause) -> anyhow::Error {
    failure(Fault::Io, format!("failed to {error}"))
}

/// What the system refused while something was done, as an I/O failure with its sentence.
pub fn unable<E: std::fmt::Display>(what: &str) -> impl FnOnce(E) -> anyhow::Error {
    move |error| failure(Fault::Io, format!("failed to {what}: {error}"))
}

/// The fault of an error that came through others.
pub fn of_error(error: anyhow::Error) -> Failure {
    let unknown = |e: anyhow::Error| Failure { fault: Fault::Io, message: format!("{e:#}") };
    error.downcast::<Failure>().unwrap_or_else(unknown)
}

/// The exit code of a command that ended with this error.
pub fn code(error: &anyhow::Error) -> ExitCode {
    let fault = error.downcast_ref::<Failure>().map_or(Fault::Io, |failure| failure.fault);
    ExitCode::from(fault.code())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Who reads rows without end keeps so many names of them.
    #[test]
    fn names_that_may_be_the_first_of_more_are_at_least_so_many() {
        let said = |count: usize| {
            let names = (0..count).map(|number| format!("role{number}"));
            not_there("role", "db", "the history", names).to_string()
        };
        assert!(said(20).ends_with("role9 and 10 more"), "{}", said(20));
        assert!(said(NAMES_COUNTED).ends_with("role9 and at least 1014 more"));
    }
}
