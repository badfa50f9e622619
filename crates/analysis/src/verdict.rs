//! The verdict of a trace: its rows in their order by minutes, with what the run keeps besides
//! them.
//!
//! Non-goals: the tables of response times (`super::response`).

use ::verdict::layers::Layers;
use ::verdict::selection::Selection;
use ::verdict::{Ends, Known, Minutes, Verdict};
use capture::gate::Gate;
use messages::fault::{Fault, failure, of_records};
use model::record::requests::{OF_FILE, RequestFile, STEPS};
use model::record::{Commands, Context, Request};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use trace::intake::{Rows, RowsError};

/// As many groups of rows are worth a part of their own: those at its ends are read twice.
const GROUPS_LEAST: usize = 8;

/// What tells where file systems lie.
const OF_HOMES: &[&[&str]] = &[&["device", "above_id"], OF_FILE];
/// What the ledger asks of a row.
const OF_LEDGER: &[&[&str]] = &[
    &["device", "op", "flags", "length_bytes", "pid", "command", "parent_id", "above_id"],
    STEPS,
    OF_FILE,
    &["kernel_stack", "user_stack"],
];
/// What tells which row is above which: a number that takes time to read.
const OF_STACKED: &[&str] = &["request_id"];
/// What a rollup asks of a row.
pub(crate) const OF_ROLLUP: &[&[&str]] = &[
    &["request_id", "device", "op", "flags", "length_bytes", "pid", "command", "parent_id"],
    STEPS,
    OF_FILE,
    &["error", "above_id"],
];
/// What tells where the time of a stack of devices goes.
const OF_LAYERS: &[&[&str]] = &[
    &["request_id", "device", "flags", "offset_bytes", "length_bytes", "parent_id", "above_id"],
    STEPS,
];
/// What tells the ends of calls.
const OF_ENDS: &[&[&str]] = &[STEPS, OF_FILE, &["pid"]];

/// What a run keeps besides its requests; nothing where they lie by themselves.
/// Errors: a file that is damaged.
pub(crate) fn context_of(requests: &Path) -> anyhow::Result<Context> {
    let directory = requests.parent().unwrap_or(Path::new("."));
    let read = Context::read(directory);
    read.map_err(|error| failure(Fault::Usage, format!("failed to {error}")))
}

/// What is known of a file's requests before they are looked at. Where devices lie on others, who
/// waits is held against what is in flight where most of the time goes.
/// Errors: a file that cannot be read; interruption.
pub(crate) fn known_of(
    file: &RequestFile,
    mut context: Context,
    selection: Selection,
    gate: &Gate,
) -> anyhow::Result<(Known, Layers)> {
    if let Some(mut ends) = Ends::of(&context) {
        each(file, 0..file.groups(), OF_ENDS, gate, |row, _| ends.add(row))?;
        ends.tell(&mut context);
    }
    let (stack, mut layers) = (file.provenance().stack(), Layers::default());
    let zero_unix_ns = file.provenance().started_unix_ns;
    let mut known = Known::new(context, selection.clone()).with_zero(zero_unix_ns);
    // The first group tells, most often.
    for group in 0..file.groups() {
        if known.homes().are_wanted() {
            each(file, group..group + 1, OF_HOMES, gate, |row, _| known.homes().add(row))?;
        }
    }
    if is_stacked(file) {
        layers = Layers::new(stack.clone());
        let add = |row: &Request, _: &Commands| layers.add(row, selection.has(row));
        each(file, 0..file.groups(), OF_LAYERS, gate, add)?;
        known = known.with_stack(stack, layers.slowest());
    }
    Ok((known, layers))
}

fn is_stacked(file: &RequestFile) -> bool {
    !file.provenance().stack().is_empty() && file.tells("above_id")
}

/// Minutes of a file in parts of several groups of rows, at most so many; one where the file does
/// not tell when its groups begin and end.
pub(crate) fn minutes(file: &RequestFile, known: &Known, most: usize) -> Vec<Range<i64>> {
    let whole = known.all_minutes();
    let groups = || 0..file.groups();
    let arrivals_ns: Vec<(i64, i64)> = groups().filter_map(|n| file.arrivals_ns(n)).collect();
    let is_known = arrivals_ns.len() == file.groups()
        && groups().all(|group| file.completed_ns_max(group).is_some());
    let first_ns = arrivals_ns.iter().map(|(first_ns, _)| *first_ns).min();
    let last_ns = arrivals_ns.iter().map(|(_, last_ns)| *last_ns).max();
    let (Some(first_ns), Some(last_ns), true) = (first_ns, last_ns, is_known) else {
        return vec![whole];
    };
    let (first, last) = (known.minute_of(first_ns), known.minute_of(last_ns));
    let parts = (file.groups() / GROUPS_LEAST).clamp(1, most) as i64;
    let each = ((last - first + 1) as u64).div_ceil(parts as u64).max(1) as usize;
    let cuts = (first..=last).step_by(each).skip(1);
    let starts = std::iter::once(whole.start).chain(cuts.clone());
    starts.zip(cuts.chain(std::iter::once(whole.end))).map(|(from, until)| from..until).collect()
}

/// The verdict of some minutes of a file.
/// Errors: a file that cannot be read; interruption.
pub(crate) fn of_minutes(
    file: &RequestFile,
    known: &Arc<Known>,
    numbers: Range<i64>,
    gate: &Gate,
) -> anyhow::Result<Verdict> {
    let mut minutes = Minutes::of(known, numbers);
    let more = if is_stacked(file) { OF_STACKED } else { &[] };
    let columns = [OF_LEDGER, &[more]].concat();
    for group in 0..file.groups() {
        let arrived_ns = file.arrivals_ns(group).map_or(i64::MIN, |(first_ns, _)| first_ns);
        let completed_ns = file.completed_ns_max(group).unwrap_or(i64::MAX);
        if minutes.concerns(arrived_ns, completed_ns) {
            let groups = group..group + 1;
            each(file, groups, &columns, gate, |row, commands| minutes.add(row, commands))?;
        }
    }
    Ok(minutes.verdict())
}

pub(crate) fn each(
    file: &RequestFile,
    groups: Range<usize>,
    columns: &[&[&'static str]],
    gate: &Gate,
    mut take: impl FnMut(&Request, &Commands),
) -> anyhow::Result<()> {
    let mut reader = file.read(groups, &columns.concat()).map_err(of_records)?;
    while let Some(batch) = reader.next_batch().map_err(of_records)? {
        let commands = &reader.commands;
        batch.for_each_chunk(|rows| rows.iter().for_each(|row| take(row, commands)));
        // They are counted where the response times are made of them.
        gate.pass(0)
            .map_err(|_| failure(Fault::Interrupted, "interrupted; nothing was analysed"))?;
    }
    Ok(())
}

/// Where the rows of a foreign trace go.
pub(crate) struct Entries<'a>(pub(crate) &'a mut Minutes);

impl Rows for Entries<'_> {
    fn push(&mut self, row: &Request, commands: &Commands) -> Result<(), RowsError> {
        self.0.add(row, commands);
        Ok(())
    }
}
