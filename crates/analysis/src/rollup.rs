//! A trace into rows of a rollup: its minutes in parts on all cores, in their order.
//!
//! Non-goals: histories and rollups, which have such rows already; the file that is written.

use super::trace::{TraceFile, device_name};
use super::verdict;
use ::verdict::Known;
use ::verdict::parts::in_order;
use ::verdict::selection::Selection;
use ::verdict::watched::{Names, Rolled, events_lost, minutes_from_ns};
use capture::gate::Gate;
use cli::Part;
use messages::fault::{Fault, failure};
use model::record::requests::{Provenance, RequestFile};
use model::record::{Commands, Context, Request, Rollup};
use model::units::show_time_ns;
use std::ops::Range;
use std::sync::Arc;

/// Parts of a file; more of them are more even, and read more groups twice.
const PARTS: usize = 32;

/// Each minute of a trace has a row at the least, whether there was a request in it or not.
const MINUTES_MOST: i64 = 3 * 366 * 24 * 60;

/// A trace whose minutes are rolled up.
struct Trace<'a> {
    file: &'a RequestFile,
    known: Arc<Known>,
    context: Context,
    provenance: Provenance,
    started_unix_ns: i64,
    told_ns: Range<i64>,
    gate: &'a Gate,
}

/// Gives `take` the rows of a trace, or of a part of its minutes.
/// Errors: a trace that does not say when it began, where nobody else does; one that cannot be
/// read; interruption.
pub fn roll_up(
    trace: TraceFile,
    started_unix_ns: Option<i64>,
    part: Option<Part>,
    gate: &Gate,
    mut take: impl FnMut(Vec<Rollup>),
) -> anyhow::Result<()> {
    let end_ns = trace.end_ns()?;
    let (file, context, _held) = trace.into_parts();
    let provenance = file.provenance();
    if provenance.summed_count() > 0 {
        let sentence = "failed to roll up: the watch had summed up some of the trace's requests, \
                        and minutes need all; its history has them";
        return Err(failure(Fault::Usage, sentence));
    }
    if let Some(slower_than_ns) = provenance.slower_than_ns() {
        let sentence = format!(
            "failed to roll up: the trace has only the requests that took {} or longer, and \
             minutes need all; record without --slower-than, or use lbolt watch",
            show_time_ns(slower_than_ns as f64)
        );
        return Err(failure(Fault::Usage, sentence));
    }
    let Some(started_unix_ns) = provenance.started_unix_ns.or(started_unix_ns) else {
        let sentence = "failed to roll up: the trace does not record its start time, which the \
                        minutes need; give --started";
        return Err(failure(Fault::Usage, sentence));
    };
    let selection = Selection::default();
    let (known, _) = verdict::known_of(&file, context.clone(), selection, gate)?;
    let known = known.without_files().with_minutes_from(minutes_from_ns(started_unix_ns));
    let known = Arc::new(known);
    let begins = (0..file.groups()).filter_map(|group| file.arrivals_ns(group)).map(|(ns, _)| ns);
    let told_ns = begins.min().unwrap_or(0).min(0)..end_ns + 1;
    let minutes = known.minute_of(told_ns.start)..known.minute_of(end_ns) + 1;
    if minutes.end - minutes.start > MINUTES_MOST {
        let sentence = "failed to roll up: the trace spans more than three years, so its times \
                        must be wrong; check the trace";
        return Err(failure(Fault::Usage, sentence));
    }
    let wanted = part.map_or(minutes.clone(), |part| of_part(&minutes, part));
    let is_last = wanted.end == minutes.end;
    let pieces = verdict::minutes(&file, &known, PARTS);
    let pieces: Vec<Range<i64>> = pieces
        .into_iter()
        .map(|piece| piece.start.max(wanted.start)..piece.end.min(wanted.end))
        .filter(|piece| !piece.is_empty())
        .collect();
    let lost = provenance.counts.lost;
    let trace = Trace { file: &file, known, context, provenance, started_unix_ns, told_ns, gate };
    in_order(pieces.len(), |place| trace.minutes(pieces[place].clone()), &mut take)?;
    if is_last {
        take(events_lost(lost, &trace.told_ns, started_unix_ns).into_iter().collect());
    }
    Ok(())
}

fn interrupted() -> anyhow::Error {
    failure(Fault::Interrupted, "interrupted; nothing was written")
}

/// Some of the minutes, as many in each part.
fn of_part(minutes: &Range<i64>, part: Part) -> Range<i64> {
    let count = i128::from(minutes.end - minutes.start);
    let place = |number: i64| {
        let before = count * i128::from(number) / i128::from(part.all);
        minutes.start + i64::try_from(before).unwrap_or(0)
    };
    place(part.number - 1)..place(part.number)
}

impl Trace<'_> {
    fn minutes(&self, numbers: Range<i64>) -> anyhow::Result<Vec<Rollup>> {
        let device = |number: u32| device_name(number, &self.provenance);
        let name = |file| self.known.file_name(file);
        let names = Names { device: &device, file: &name };
        let mut rolled = Rolled::new(
            &self.known,
            &self.context.processes,
            numbers,
            self.started_unix_ns,
            self.told_ns.clone(),
        );
        let mut rows = Vec::new();
        for group in 0..self.file.groups() {
            let arrived_ns =
                self.file.arrivals_ns(group).map_or(i64::MIN, |(first_ns, _)| first_ns);
            let completed_ns = self.file.completed_ns_max(group).unwrap_or(i64::MAX);
            if rolled.concerns(arrived_ns, completed_ns) {
                let (groups, mut count) = (group..group + 1, 0);
                let add = |row: &Request, commands: &Commands| {
                    rolled.add(row, commands, &names);
                    count += 1;
                };
                verdict::each(self.file, groups, verdict::OF_ROLLUP, self.gate, add)?;
                self.gate.pass(count).map_err(|_| interrupted())?;
                rows.append(&mut rolled.take(&names));
            }
        }
        rows.append(&mut rolled.finish(&names));
        Ok(rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_the_whole_and_share_nothing() {
        for (minutes, all) in [(0..10, 3), (5..6, 4), (-3..90, 7), (0..0, 2)] {
            let parts = (1..=all).map(|number| of_part(&minutes, Part { number, all }));
            let mut end = minutes.start;
            for part in parts {
                assert_eq!(part.start, end);
                end = part.end;
            }
            assert_eq!(end, minutes.end);
        }
    }
}
