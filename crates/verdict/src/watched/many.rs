//! Requests that are known as sums: many that are alike, one after the other, of each of which
//! neither begin nor end is known. In a ledger they are waits, and their role's work on the device,
//! at the times in which some were in flight (to 2 ms), as if they came evenly.
//!
//! Of threads that must have had several in flight at once, each waits for as long as any was; how
//! long each of these waits took is not known, nor their percentiles.
//!
//! How many there were and how long they took is exact, and so is what they took beyond calm; but
//! for the slice in which one began (100 ms), where one of these times goes on into the next. Among
//! whom that is divided is known as far as the means of these times tell (`crate::disk`): what is
//! slow (4 ms) is told singly and divides as ever. Tests in virtual time hold this against the
//! single requests.
//!
//! Non-goals: which requests are told so (`capture::repeats`).

use crate::disk::Mean;
use crate::evicted::Again;
use crate::intervals::Interval;
use crate::sleeps::ManyPieces;
use crate::waits::{Class, Kind};
use crate::{Act, Device, Ledger, actors};
use hashbrown::HashSet;
use model::busy::{BIT_NS, Busy};
use model::histogram::SparseHistogram;
use model::record::{Commands, Flags, Request, Summed};

/// A part of the time so small is none.
const LEAST_BUSY: f64 = 1e-6;

/// Shorter gaps, in ns, are not told from what is in flight: half of what a device must stand still
/// for to be seen to.
const GAP_NS: i64 = 25_000_000;

/// What takes longer, in ns, is no part of a sum.
const QUICK_NS: u64 = 2 * BIT_NS as u64;

/// Requests of a role, class and file system.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Many {
    /// One of them.
    pub like: Request,
    /// Other threads of whom some may be.
    pub other_pids: Vec<u32>,
    /// Within this time they were completed, in ns.
    pub from_ns: i64,
    /// Its end.
    pub until_ns: i64,
    /// Their bytes.
    pub bytes: u64,
    /// The sum of their times from queued to started, in ns.
    pub admission_ns: u64,
    /// The sum of their times from queued to issued, in ns.
    pub queue_ns: u64,
    /// Their times from queued to completed.
    pub responses: SparseHistogram,
    /// When some were in flight, where that is known.
    pub busy: Option<Busy>,
}

impl Many {
    /// As a trace keeps it, with the name of its thread numbered; none of what is of no role.
    pub(crate) fn of(summed: &Summed, commands: &mut Commands) -> Option<Self> {
        let narrow = |of: Option<u64>| u32::try_from(of?).ok();
        let command = summed.command.as_ref();
        let like = Request {
            device: u32::try_from(summed.device).ok()?,
            op: summed.op,
            flags: Flags(u16::try_from(summed.flags?).ok()?),
            length_bytes: narrow(summed.length_bytes)?,
            pid: Some(narrow(summed.pid)?),
            command: command.map(|name| commands.number(name.as_bytes())),
            ..Request::default()
        };
        let mut responses = SparseHistogram::default();
        let is_one = summed.add_responses(&mut responses);
        let (from_ns, until_ns) = (summed.from_ns, summed.until_ns.max(summed.from_ns));
        let Summed { bytes, admission_ns, queue_ns, .. } = *summed;
        let busy = summed.busy();
        let other_pids = summed.other_pids.iter().filter_map(|pid| narrow(Some(*pid))).collect();
        let all = Self { like, other_pids, from_ns, until_ns, bytes, busy, ..Self::default() };
        is_one.then_some(Self { admission_ns, queue_ns, responses, ..all })
    }

    /// Its threads.
    pub fn pids(&self) -> impl Iterator<Item = u32> {
        self.like.pid.into_iter().chain(self.other_pids.iter().copied())
    }

    /// The time that it is of, which is no moment.
    fn span(&self) -> (i64, i64) {
        (self.from_ns, self.until_ns.max(self.from_ns.saturating_add(1)))
    }

    /// When some were in flight: what is before its bits is not known, and taken as such a time,
    /// and so are shorter gaps than this.
    fn runs(&self, gap_ns: i64) -> Vec<(i64, i64)> {
        let known = self.busy.filter(|busy| busy.bits != 0);
        let Some(busy) = known else { return vec![self.span()] };
        let mut runs = busy.runs(gap_ns);
        if busy.from_ns.saturating_sub(self.from_ns) > BIT_NS {
            runs.insert(0, (self.from_ns, busy.from_ns));
        }
        runs
    }

    /// How many were in flight in the mean within some times, and for which part of these any: as
    /// if its threads did not depend on each other. A thread has one in flight, or, where they are
    /// more, always some.
    fn mean(&self, act: Act, runs: &[(i64, i64)]) -> Mean {
        let in_flight = self.responses.sum_ns() as f64 / length_of(runs).max(1) as f64;
        let threads = self.pids().count().max(1) as i32;
        let idle = (1.0 - in_flight / f64::from(threads)).max(0.0).powi(threads);
        let length_bytes = self.bytes / self.responses.count().max(1);
        Mean {
            act,
            in_flight,
            busy: (1.0 - idle).max(LEAST_BUSY),
            length_bytes: u32::try_from(length_bytes).unwrap_or(u32::MAX),
        }
    }

    /// Whether its threads, if any is known, must have had several in flight at once in these
    /// times: then each waits for as long as these are. One at the begin may have come before.
    fn are_at_once(&self, runs: &[(i64, i64)]) -> bool {
        let most_ns = self.thread_ns(length_of(runs) + QUICK_NS);
        self.like.pid.is_some() && self.responses.sum_ns() > most_ns
    }

    /// How long its threads wait together, if each does so for such a time.
    fn thread_ns(&self, each_ns: u64) -> u64 {
        each_ns.saturating_mul(self.pids().count() as u64)
    }

    /// How long its threads waited together: a thread waits once.
    fn waited_ns(&self, runs: &[(i64, i64)]) -> u64 {
        match self.are_at_once(runs) {
            true => self.thread_ns(length_of(runs)),
            false => self.responses.sum_ns(),
        }
    }

    /// How many there were in each of these times, and how long they took, as if they came evenly.
    fn shared_out<'r>(
        &self,
        runs: &'r [(i64, i64)],
    ) -> impl Iterator<Item = ((i64, i64), (u64, u64))> + use<'r> {
        let (count, sum_ns) = (self.responses.count(), self.waited_ns(runs));
        let part = |of: u64, part: u64, whole: u64| {
            (u128::from(of) * u128::from(part) / u128::from(whole.max(1))) as u64
        };
        let whole_ns = length_of(runs);
        runs.iter().scan((0, 0, 0), move |(so_far_ns, counted, took_ns), run| {
            *so_far_ns += run.1.abs_diff(run.0);
            let until = part(count, *so_far_ns, whole_ns);
            let until_ns = part(sum_ns, until, count);
            let its = (until - *counted, until_ns - *took_ns);
            (*counted, *took_ns) = (until, until_ns);
            Some((*run, its))
        })
    }
}

fn length_of(runs: &[(i64, i64)]) -> u64 {
    runs.iter().map(|(from_ns, until_ns)| until_ns.abs_diff(*from_ns)).sum()
}

impl Interval for Many {
    fn begin_ns(&self) -> i64 {
        self.from_ns
    }
    fn end_ns(&self) -> i64 {
        self.until_ns
    }
}

impl Ledger {
    /// Takes many requests, in the order of arrival.
    pub(crate) fn add_many(&mut self, many: &Many, commands: &Commands) {
        self.begin_waits(many.from_ns);
        if self.concerns(many.from_ns, many.until_ns) {
            self.bring_many(many, commands);
        }
    }

    /// Others may sleep until its threads have waited, of which each has the same part of them.
    fn note_many(&mut self, many: &Many, (runs, in_flight): (&[(i64, i64)], f64), class: Class) {
        let pids: Vec<u32> = many.pids().collect();
        let may_wake = |wakers: &HashSet<u32>| pids.iter().any(|pid| wakers.contains(pid));
        if self.known.has_waits && self.known.wakers.as_ref().is_none_or(may_wake) {
            let part = (in_flight / pids.len().max(1) as f64).min(1.0);
            let (until_ns, runs) = (many.until_ns, runs.to_vec());
            self.sleeps.note_many(ManyPieces { pids, until_ns, runs, part, class });
        }
    }

    pub(crate) fn bring_many(&mut self, many: &Many, commands: &Commands) {
        let (row, span) = (&many.like, many.span());
        let is_selected = self.time_ns.contains(&span.0);
        self.requests += if is_selected { many.responses.count() } else { 0 };
        if let Some(file) = row.file {
            self.homes.entry(file.number.file_system).or_insert(row.device);
        }
        let role = self.role_of(row, commands, span);
        if is_selected {
            self.last_ns = self.last_ns.max(span.1);
        }
        // What is of a call is told by it. Who is in one for a part of the time makes most of his
        // requests outside of it.
        let in_call = many.other_pids.is_empty() && self.call_of(row.pid, span.1 - 1).is_some();
        let kind = Kind::of_request(row, self.has_calls)
            .filter(|_| is_selected && role != actors::JOURNAL && !in_call);
        if self.known.has_waits {
            for pid in many.pids() {
                self.remember(&Request { pid: Some(pid), ..*row }, role, span.1, false);
            }
        }
        let (runs, without_gaps) = (many.runs(1), many.runs(GAP_NS));
        if kind.is_some() {
            without_gaps.iter().for_each(|run| self.stall(row.pid, *run));
        }
        if is_selected && row.above_id.is_none() {
            let again = Again {
                count: many.responses.count(),
                sum_ns: many.waited_ns(&runs),
                ..Again::default()
            };
            let waited = kind.filter(|kind| *kind == Kind::Read).map(|_| (span.0, again));
            let whose = (role, self.actors.is_kernel(role));
            self.evicted.add(row, whose, (span.0, many.bytes), waited);
        }
        let act = Act { role: self.actors.doer_of(row, role), op: row.op };
        let queue = self.known.queues.get(&row.device).copied().unwrap_or(row.device);
        let mean = many.mean(act, &runs);
        if row.flags.contains(Flags::DIRECT) && row.file.is_some() {
            self.throttle.note_many(role, &runs);
        }
        let Device { disk, .. } = self.device(row.device);
        disk.many(&runs, mean);
        disk.completed_within(&without_gaps);
        let Some(kind) = kind else { return };
        let class = Class { device: row.device, role, kind, size: self.actors.size_of(row) };
        self.note_many(many, (&runs, mean.in_flight), class);
        let are_at_once = many.are_at_once(&runs);
        if are_at_once {
            // Slow ones that come meanwhile are waited for from then on.
            let until_ns = runs.last().map_or(span.0, |(_, until_ns)| *until_ns);
            for pid in many.pids() {
                let known_ns = self.waiting.entry(pid).or_insert(until_ns);
                *known_ns = until_ns.max(*known_ns);
            }
        }
        let Device { disk, book } = self.device(queue);
        // How long its threads waited from one completion to the next is known in the sum alone.
        if !are_at_once {
            book.count(class, &many.responses);
        }
        for (run, times) in many.shared_out(&runs).filter(|(_, (count, _))| *count > 0) {
            disk.wait_for_many(run, class, (act, times));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_shared_out_among_the_times_in_which_they_were_in_flight() {
        let mut many = Many { from_ns: 0, until_ns: 100 * BIT_NS, ..Many::default() };
        (0..10).for_each(|_| many.responses.record(BIT_NS as u64));
        assert_eq!(many.runs(1), [(0, 100 * BIT_NS)], "it is not known when");
        many.busy = Some(Busy { from_ns: 40 * BIT_NS, bits: 0b1000_0111 });
        let at = |bit: i64| bit * BIT_NS;
        assert_eq!(many.runs(1), [(0, at(40)), (at(40), at(43)), (at(47), at(48))]);
        many.busy = Some(Busy { from_ns: BIT_NS, bits: 0b1000_0111 });
        let runs = many.runs(1);
        assert_eq!(runs, [(at(1), at(4)), (at(8), at(9))], "its first bit has begun before");
        let shared: Vec<_> = many.shared_out(&runs).collect();
        let of = |run, count: u64| (run, (count, count * BIT_NS as u64));
        assert_eq!(shared, [of((at(1), at(4)), 7), of((at(8), at(9)), 3)]);
        let mean = many.mean(Act { role: crate::RoleId(1), op: many.like.op }, &runs);
        assert_eq!((mean.in_flight, mean.busy), (2.5, 1.0));
    }
}
