//! Requests that have no rows but sums: in all figures of those that are alike. Where each one was
//! and what it found in flight is not known; nor are the figures by that, then, of its device.
//!
//! Non-goals: sums of all threads, which tell no class.

use super::classes::Combination;
use super::{Response, Totals};
use model::record::{Commands, Summed};

/// A slice of time is of as many sums, so that one at its end that is in the next one, too, is a
/// small part of it.
const PARTS_LEAST: u64 = 8;

impl Response {
    /// Adds sums, after all rows: whose they are is told by the rows of the same thread. `commands`
    /// numbers the names of threads. When they came is known to the time that a sum is of.
    pub fn add_summed(&mut self, summed: &Summed, commands: &mut Commands) {
        let Some(combination) = Combination::of_summed(summed) else { return };
        self.settle();
        let Totals { joint, processes, periods, .. } = &mut self.totals;
        let Some(count) = joint.of(combination).add_summed(summed) else { return };
        let command = summed.command.as_ref().map(|name| commands.number(name.as_bytes()));
        processes.of_threads(&threads(summed), command).add_summed(summed);
        let (from_ns, until_ns) = (summed.from_ns, summed.until_ns.max(summed.from_ns));
        periods.widen_to(PARTS_LEAST.saturating_mul(until_ns.abs_diff(from_ns)));
        periods.traffic_of(u64::try_from(from_ns).unwrap_or(0)).add_summed(summed);
        // By Little's law: the depth summed over time is the time that all of them took.
        let outstanding = &mut self.devices.of(combination.device).outstanding;
        outstanding.summed += count;
        outstanding.depth_time_ns = outstanding.depth_time_ns.saturating_add(summed.sum_ns);
        let (first_ns, last_ns) = self.summed_ns.unwrap_or((from_ns, until_ns));
        self.summed_ns = Some((first_ns.min(from_ns), last_ns.max(until_ns)));
    }
}

/// Whose they are.
fn threads(summed: &Summed) -> Vec<u32> {
    let all = summed.pid.iter().chain(&summed.other_pids);
    all.filter_map(|pid| u32::try_from(*pid).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::super::Names;
    use super::*;
    use model::histogram::SparseHistogram;
    use model::record::{Finding, Flags, Op, Request, Subject};

    const MS: i64 = 1_000_000;

    fn row(queued_ns: i64, response_ns: i64) -> Request {
        Request {
            op: Op::Read,
            flags: Flags::DIRECT,
            length_bytes: 4096,
            offset_bytes: Some(queued_ns.unsigned_abs() * 4096),
            queued_ns: Some(queued_ns),
            started_ns: Some(queued_ns + 10),
            issued_ns: Some(queued_ns + 30),
            completed_ns: Some(queued_ns + response_ns),
            pid: Some(7),
            ..Request::default()
        }
    }

    /// The sums of rows.
    fn sums_of(rows: &[Request]) -> Summed {
        let mut responses = SparseHistogram::default();
        let ns = |row: &Request| row.completed_ns.unwrap() - row.queued_ns.unwrap();
        rows.iter().for_each(|row| responses.record(ns(row).unsigned_abs()));
        let count = rows.len() as u64;
        let sums = Summed {
            op: Op::Read,
            from_ns: rows[0].queued_ns.unwrap(),
            until_ns: rows.iter().filter_map(|row| row.completed_ns).max().unwrap(),
            bytes: count * 4096,
            admission_ns: count * 10,
            queue_ns: count * 30,
            pid: Some(7),
            flags: Some(Flags::DIRECT.0.into()),
            length_bytes: Some(4096),
            ..Summed::default()
        };
        sums.with_responses(&responses)
    }

    fn findings(response: &mut Response, commands: &Commands) -> Vec<Finding> {
        response.findings(&Names {
            device: &|number| number.to_string(),
            cgroup: &|cgroup| cgroup.to_string(),
            commands,
        })
    }

    /// Quick ones as sums, and a slow row, once in 100: what is told is what all rows tell, or it
    /// is not known.
    #[test]
    fn sums_tell_what_their_rows_tell_or_nothing() {
        let is_slow = |number: &i64| number % 100 == 99;
        let all: Vec<Request> = (0..4000)
            .map(|n| row(n * 8 * MS, if is_slow(&n) { 5 * MS } else { 100_000 + n }))
            .collect();
        let mut of_rows = Response::default();
        of_rows.add_all(&all);
        let mut of_sums = Response::default();
        let mut commands = Commands::default();
        let (slow, quick): (Vec<_>, Vec<_>) =
            all.iter().partition(|row| row.completed_ns.unwrap() - row.queued_ns.unwrap() > MS);
        quick.chunks(11).for_each(|part| of_sums.add_summed(&sums_of(part), &mut commands));
        of_sums.add_all(&slow);
        let theirs = findings(&mut of_rows, &commands);
        let found = findings(&mut of_sums, &commands);
        let mut equal = 0;
        for finding in found.iter().filter(|finding| finding.value.is_some()) {
            let is_it =
                |f: &&Finding| f.subject == finding.subject && f.quantity == finding.quantity;
            let other = theirs.iter().find(is_it).and_then(|f| f.value);
            let (own, other) = (finding.value.unwrap(), other.unwrap_or(f64::NAN));
            // Of a sum that goes over the end of a slice of time, a part is in the other one.
            let of_slice = finding.subject.get("by").is_some_and(|by| by == "start");
            let bound = if of_slice { 1.0 / PARTS_LEAST as f64 } else { 1e-9 };
            let is_near = (own - other).abs() <= bound * other.abs().max(1e-3);
            assert!(is_near, "{:?} {}: {own} for {other}", finding.subject, finding.quantity);
            equal += 1;
        }
        assert!(equal > 150, "{equal} of {}", theirs.len());
        let value = |quantity: &str| {
            let of_run = |f: &&Finding| f.subject == Subject::this_run() && f.quantity == quantity;
            found.iter().find(of_run).unwrap().value
        };
        assert_eq!(value("depth_max"), None);
        assert_eq!(value("depth_at_arrival_mean"), None);
        assert!(value("depth_mean").is_some() && value("little_ratio").is_some());
    }
}
