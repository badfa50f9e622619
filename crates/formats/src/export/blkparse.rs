//! blkparse's text, in its default format: what `blkparse -q` prints of the files that
//! [`super::blktrace`] writes.
//!
//! `MAJOR,MINOR CPU SEQUENCE SECONDS.NS PID ACTION RWBS`, then `SECTOR + SECTORS [COMMAND]`, of a
//! completion `[ERROR]`. A name that would break its line is spelled in bytes
//! ([`crate::spelling`]), as our importer reads it.

use super::blktrace::{FLAGS, LACKS};
use super::steps::{Action, Shown, each_step};
use super::{ExportError, ExportFormat, ExportRows};
use crate::spelling::spelled;
use model::record::{Flags, Op, major_minor};
use std::path::Path;

/// The letters behind the operation's, in their order.
const LETTERS: [(Flags, char); 4] =
    [(Flags::FUA, 'F'), (Flags::READAHEAD, 'A'), (Flags::SYNC, 'S'), (Flags::META, 'M')];

pub(super) const FORMAT: ExportFormat = ExportFormat {
    name: "blkparse",
    meaning: "the text of blkparse",
    lacks: LACKS,
    flags: FLAGS,
    replaces: true,
    write,
};

fn write(rows: &mut ExportRows<'_>, output: &Path) -> Result<(), ExportError> {
    let mut file = rows.create(output)?;
    each_step(rows, |shown, rows| {
        // Who requested it is known by the number of the process alone, as in the binary files.
        let command = shown.row.command.filter(|_| shown.row.pid.is_some());
        let command = command.map(|command| rows.commands().name(command));
        let command = command.filter(|name| !name.is_empty()).map(spelled);
        file.text(format_args!("{}\n", line(shown, command.as_deref().unwrap_or("(null)"))))
    })?;
    rows.finish(file)
}

fn line(shown: &Shown, command: &str) -> String {
    let (major, minor) = major_minor(shown.row.device);
    let (seconds, ns) = (shown.time_ns / 1_000_000_000, shown.time_ns % 1_000_000_000);
    let Shown { cpu, sequence, action, .. } = shown;
    let beginning = format!(
        "{major:>3},{minor:<3} {cpu:>2} {sequence:>8} {seconds:>5}.{ns:09} {:>5} {:>2} {:>3}",
        shown.pid(),
        action.letter(),
        rwbs(shown)
    );
    let (sector, sectors) = (shown.sector(), shown.bytes().div_ceil(512));
    match (action, sectors) {
        (Action::Complete, 0) => format!("{beginning} {sector} [{}]", shown.error()),
        (Action::Complete, _) => format!("{beginning} {sector} + {sectors} [{}]", shown.error()),
        (_, 0) => format!("{beginning} [{command}]"),
        _ => format!("{beginning} {sector} + {sectors} [{command}]"),
    }
}

/// `RWBS`: what it does, in letters.
fn rwbs(shown: &Shown) -> String {
    let row = &shown.row;
    let mut letters = String::new();
    if row.op == Op::Flush || row.flags.contains(Flags::PREFLUSH) {
        letters.push('F');
    }
    letters.push(match row.op {
        Op::Discard => 'D',
        Op::Write => 'W',
        _ if shown.bytes() == 0 => 'N',
        _ => 'R',
    });
    let known = LETTERS.iter().filter(|(flag, _)| row.flags.contains(*flag));
    letters.extend(known.map(|(_, letter)| letter));
    letters
}
