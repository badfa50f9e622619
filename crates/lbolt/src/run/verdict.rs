//! The verdict of a trace: its rows in their order through the ledger, with what the run keeps
//! besides them.
//!
//! Non-goals: the tables of response times (`super::response`).

use super::Watch;
use crate::print::exit::{Fault, failure, of_records};
use analyze::layers::Layers;
use analyze::selection::Selection;
use analyze::verdict::{Ends, Ledger};
use model::record::requests::RequestFile;
use model::record::{Commands, Context, Request};
use std::ops::Range;
use std::path::Path;
use trace::intake::{Rows, RowsError};

/// What the ledger asks of a row.
const OF_LEDGER: &[&str] = &[
    "device",
    "op",
    "flags",
    "length_bytes",
    "queued_ns",
    "started_ns",
    "issued_ns",
    "completed_ns",
    "pid",
    "command",
    "parent_id",
    "file_kind",
    "file_system",
    "inode",
    "generation",
    "kernel_stack",
    "user_stack",
    "above_id",
];
/// The same, and what tells which row is above which: a number that takes time to read.
const OF_STACKED: &[&str] = &[
    "request_id",
    "device",
    "op",
    "flags",
    "length_bytes",
    "queued_ns",
    "started_ns",
    "issued_ns",
    "completed_ns",
    "pid",
    "command",
    "parent_id",
    "file_kind",
    "file_system",
    "inode",
    "generation",
    "kernel_stack",
    "user_stack",
    "above_id",
];
/// What tells where the time of a stack of devices goes.
const OF_LAYERS: &[&str] = &[
    "request_id",
    "device",
    "flags",
    "offset_bytes",
    "length_bytes",
    "queued_ns",
    "started_ns",
    "issued_ns",
    "completed_ns",
    "parent_id",
    "above_id",
];
/// What tells the ends of calls.
const OF_ENDS: &[&str] = &[
    "queued_ns",
    "started_ns",
    "issued_ns",
    "completed_ns",
    "pid",
    "file_kind",
    "file_system",
    "inode",
    "generation",
];

/// What a run keeps besides its requests; nothing where they lie by themselves.
/// Errors: a file that is damaged.
pub(crate) fn context_of(requests: &Path) -> anyhow::Result<Context> {
    let directory = requests.parent().unwrap_or(Path::new("."));
    let read = Context::read(directory);
    read.map_err(|error| failure(Fault::Usage, format!("failed to {error}")))
}

/// The rows of a file through the ledger, but for groups that it is not concerned with. Where
/// devices lie on others, first through their layers: who waits is held against what is in flight
/// where most of the time goes.
/// Errors: a file that cannot be read; interruption.
pub(super) fn of_file(
    file: &RequestFile,
    mut context: Context,
    selection: Selection,
    watch: &Watch,
) -> anyhow::Result<(Ledger, Layers)> {
    if let Some(mut ends) = Ends::of(&context) {
        each(file, 0..file.groups(), OF_ENDS, watch, |row, _| ends.add(row))?;
        ends.tell(&mut context);
    }
    let (stack, mut layers) = (file.provenance().stack(), Layers::default());
    let mut ledger = Ledger::new(context, selection.clone());
    let mut columns = OF_LEDGER;
    if !stack.is_empty() && file.tells("above_id") {
        layers = Layers::new(stack.clone());
        let add = |row: &Request, _: &Commands| layers.add(row, selection.has(row));
        each(file, 0..file.groups(), OF_LAYERS, watch, add)?;
        ledger = ledger.with_stack(stack, layers.slowest());
        columns = OF_STACKED;
    }
    for group in 0..file.groups() {
        let arrived_ns = file.arrivals_ns(group).map_or(i64::MIN, |(first_ns, _)| first_ns);
        let completed_ns = file.completed_ns_max(group).unwrap_or(i64::MAX);
        if ledger.concerns(arrived_ns, completed_ns) {
            let groups = group..group + 1;
            each(file, groups, columns, watch, |row, commands| ledger.add(row, commands))?;
        }
    }
    Ok((ledger, layers))
}

fn each(
    file: &RequestFile,
    groups: Range<usize>,
    columns: &'static [&'static str],
    watch: &Watch,
    mut take: impl FnMut(&Request, &Commands),
) -> anyhow::Result<()> {
    let mut reader = file.read(groups, columns).map_err(of_records)?;
    while let Some(batch) = reader.next_batch().map_err(of_records)? {
        let commands = &reader.commands;
        batch.for_each_chunk(|rows| rows.iter().for_each(|row| take(row, commands)));
        // They are counted where the response times are made of them.
        watch
            .pass(0)
            .map_err(|_| failure(Fault::Interrupted, "interrupted; nothing was analysed"))?;
    }
    Ok(())
}

/// Where the rows of a foreign trace go.
pub(super) struct Entries<'a>(pub(super) &'a mut Ledger);

impl Rows for Entries<'_> {
    fn push(&mut self, row: &Request, commands: &Commands) -> Result<(), RowsError> {
        self.0.add(row, commands);
        Ok(())
    }
}
