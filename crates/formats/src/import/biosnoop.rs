//! biosnoop of bcc and of its libbpf-tools: a head, then `TIME(s) COMM PID DISK T SECTOR BYTES
//! [QUE(ms)] LAT(ms)`.
//!
//! A line is printed when a request was completed, and TIME is that moment. LAT is from the issue;
//! QUE, with `-Q`, from the start to the issue. T is a letter, or all of them (libbpf-tools).

use super::lines::first_lines;
use super::listing::{Column, Columns, Listing};
use super::{Format, Guess, ImportError, Input, Reading};
use trace::intake::{Epoch, Intake};

const NAMES: [(&[u8], Column); 9] = [
    (b"TIME(s)", Column::Time { places: 9 }),
    (b"COMM", Column::Command),
    (b"PID", Column::Process),
    (b"DISK", Column::Disk),
    (b"T", Column::Letters),
    (b"SECTOR", Column::Sector),
    (b"BYTES", Column::Bytes),
    (b"QUE(ms)", Column::Wait { places: 6 }),
    (b"LAT(ms)", Column::FromIssue { places: 6 }),
];

fn listing() -> Listing<'static> {
    Listing { names: &NAMES, columns: Columns::default(), passed_over: &[b"Tracing block"] }
}

pub(super) const FORMAT: Format = Format {
    name: "biosnoop",
    meaning: "the listing of bcc's biosnoop",
    guess,
    import: Reading::Code(import),
};

fn guess(head: &[u8], is_whole: bool) -> Guess {
    Guess::of(listing().is_of(&first_lines(head, is_whole, 20)))
}

fn import(inputs: &mut [Input], intake: &mut Intake) -> Result<(), ImportError> {
    intake.set_clock("since the first completion", Epoch::Unknown);
    listing().read(inputs, intake)
}
