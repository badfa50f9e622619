//! biosnoop.bt of bpftrace, `TIME(ms) DISK COMM PID LAT(ms)`, and a listing without a head that
//! some write in its stead: `ns COMM PID RWBS SECTOR BYTES LATENCY(µs)`.
//!
//! The time of a line is the completion's in both. Of biosnoop.bt its source says so, and LAT is
//! from the start. Of the other the lines themselves say it (shown on 524 of them): if it is the
//! completion's, four requests are outstanding at the most, as many as there were, each is issued
//! after the one before it, and none overlaps another of its sector; if it were the issue's, eight
//! would be.
//!
//! biosnoop.bt tells neither what a request did nor where: it is of the operation *other*, of no
//! bytes, and noted so.

use super::lines::first_lines;
use super::listing::{Column, Columns, Listing};
use super::{Format, Guess, ImportError, Input, Reading};
use trace::intake::{Epoch, Intake};

const NAMES: [(&[u8], Column); 5] = [
    (b"TIME(ms)", Column::Time { places: 6 }),
    (b"DISK", Column::Disk),
    (b"COMM", Column::Command),
    (b"PID", Column::Process),
    (b"LAT(ms)", Column::FromStart { places: 6 }),
];

/// The columns where there is no head.
const HEADLESS: [Column; 7] = [
    Column::Time { places: 0 },
    Column::Command,
    Column::Process,
    Column::Letters,
    Column::Sector,
    Column::Bytes,
    Column::FromIssue { places: 3 },
];

fn listing() -> Listing<'static> {
    Listing {
        names: &NAMES,
        columns: Columns::of(&HEADLESS),
        passed_over: &[b"Attaching", b"Attached", b"Tracing block", b"@"],
    }
}

pub(super) const FORMAT: Format = Format {
    name: "bpftrace-biosnoop",
    meaning: "the listing of bpftrace's biosnoop.bt, or ns command pid RWBS sector bytes µs",
    guess,
    import: Reading::Code(import),
};

fn guess(head: &[u8], is_whole: bool) -> Guess {
    Guess::of(listing().is_of(&first_lines(head, is_whole, 20)))
}

fn import(inputs: &mut [Input], intake: &mut Intake) -> Result<(), ImportError> {
    let mut has_head = false;
    for input in inputs.iter_mut() {
        let (head, is_whole) = input.head()?;
        let lines = first_lines(head, is_whole, 20);
        has_head |= lines.iter().any(|line| Columns::named(line, &NAMES).is_some());
    }
    if has_head {
        intake.set_clock("since the trace's start (ms)", Epoch::Unknown);
        let unknown = "operation, offset and length: biosnoop.bt does not tell them";
        intake.note("unknown", unknown.to_owned());
    } else {
        intake.set_clock("the kernel's (ns), latencies in µs", Epoch::Unknown);
        intake.note("unknown", "device: the listing does not tell it".to_owned());
    }
    listing().read(inputs, intake)
}
