//! Requests that are known as sums: many that are alike, one after the other, of each of which
//! neither begin nor end is known. In a ledger they are waits of the slice in which they came, and
//! their role's work on the device meanwhile.
//!
//! How many there were and how long they took is exact, and so is what they took beyond calm; but
//! for the slice in which one began (100 ms), at the edges of a sum. Among whom that is divided is
//! known as far as the means of some 100 ms tell (`crate::disk`): what is slow (4 ms) is told
//! singly and divides as ever. Tests in virtual time hold this against the single requests.
//!
//! Non-goals: which requests are told so (crate `standing`).

use crate::disk::Mean;
use crate::intervals::Interval;
use crate::waits::{Class, Kind, size_of};
use crate::{Act, Device, Ledger, actors};
use model::busy::Busy;
use model::histogram::SparseHistogram;
use model::record::{Commands, Flags, Request, Summed};

/// A part of the time so small is none.
const LEAST_BUSY: f64 = 1e-6;

/// Shorter gaps, in ns, are not told from what is in flight: half of what a device must stand still
/// for to be seen to.
const GAP_NS: i64 = 25_000_000;

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

    /// When some were in flight, without gaps in which a device may have stood still.
    fn runs(&self) -> Vec<(i64, i64)> {
        let runs = self.busy.map(|busy| busy.runs(GAP_NS));
        runs.unwrap_or_else(|| vec![self.span()])
    }

    /// How many were in flight in the mean, and for which part of the time any: as far as its bits
    /// tell, and within these as if its threads did not depend on each other. A thread has one in
    /// flight, or, where they are more, always some.
    fn mean(&self, act: Act) -> Mean {
        let (from_ns, until_ns) = self.span();
        let for_ns = (until_ns - from_ns) as f64;
        let in_flight = self.responses.sum_ns() as f64 / for_ns;
        let told = self.busy.map_or(1.0, |busy| busy.ns() as f64 / for_ns);
        let told = told.clamp(LEAST_BUSY, 1.0);
        let threads = self.pids().count().max(1) as i32;
        let idle = (1.0 - in_flight / told / f64::from(threads)).max(0.0).powi(threads);
        let length_bytes = self.bytes / self.responses.count().max(1);
        Mean {
            act,
            in_flight,
            busy: (told * (1.0 - idle)).max(LEAST_BUSY),
            length_bytes: u32::try_from(length_bytes).unwrap_or(u32::MAX),
        }
    }
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
        // Of several threads, some are in a call of theirs, and others are not.
        let in_call = many.other_pids.is_empty() && self.call_of(row.pid, span.0).is_some();
        let kind = Kind::of_request(row, self.has_calls)
            .filter(|_| is_selected && role != actors::JOURNAL && !in_call);
        if self.known.has_waits {
            for pid in many.pids() {
                self.remember(&Request { pid: Some(pid), ..*row }, role, span.1, false);
            }
        }
        let runs = many.runs();
        if kind.is_some() {
            runs.iter().for_each(|run| self.stall(row.pid, *run));
        }
        let act = Act { role, op: row.op };
        let times = (many.responses.count(), many.responses.sum_ns());
        let queue = self.known.queues.get(&row.device).copied().unwrap_or(row.device);
        let Device { disk, book } = self.device(row.device);
        disk.many(span, (many.mean(act), &runs), book);
        if let Some(kind) = kind {
            let class = Class { device: row.device, role, kind, size: size_of(row.length_bytes) };
            let Device { disk, book } = self.device(queue);
            disk.wait_for_many(span, class, (act, times), book);
        }
    }
}
