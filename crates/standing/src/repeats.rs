//! Requests that repeat, of which the kernel keeps sums in place of telling each one. Who is slow is
//! told singly.
//!
//! The sums belong to a span of the wall clock to the last request: the kernel sums up what is
//! queued until its end, and what is queued later is told, until its sums were read.
//!
//! Non-goals: how the kernel sums up (`trace::capture`); what the sums mean (`verdict::watched`).

use super::capture::Shared;
use ::capture::{Alarm, Session, now_ns};
use ::verdict::watched::Many;
use model::histogram::SparseHistogram;
use model::record::{Request, Summed};
use rustix::time::ClockId;
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;
use trace::capture::Quick;
use trace::event::Repeated;

/// So long after a moment, what was queued before it has been summed up or is told: what takes
/// longer than 4 ms is.
const SETTLED_NS: i64 = 10_000_000;
/// Of what does not come for so long, the place is another's.
const IDLE_NS: i64 = 10_000_000_000;
/// The sums are read when such a part of the time is over, and kept by these for an incident: the
/// verdict's slices.
const PART_NS: i64 = 100_000_000;

/// What is summed up.
#[derive(Debug)]
struct Named {
    like: Request,
    /// When some came last.
    last_ns: i64,
    /// It is told singly again, and its last sums are still to come.
    is_left: bool,
}

/// Where sums go.
#[derive(Clone, Copy)]
pub(super) struct Sinks<'a> {
    pub(super) shared: &'a Shared,
    pub(super) alarm: &'a Alarm,
}

/// What is summed up now, and the sums of the last seconds.
#[derive(Debug)]
pub(super) struct Repeats {
    named: BTreeMap<Repeated, Named>,
    /// Until when what is queued is summed up: a span's end.
    until_ns: i64,
    /// When the sums were read last.
    read_ns: i64,
    last: LastSums,
}

impl Repeats {
    /// Keeps sums for so long.
    pub(super) fn new(keep: Duration) -> Self {
        let last = LastSums::new(keep);
        let (until_ns, read_ns) = (i64::MIN, now_ns(ClockId::Monotonic));
        Self { named: BTreeMap::new(), until_ns, read_ns, last }
    }

    /// Reads the sums where that is due, and looks what may be summed up from now on.
    pub(super) fn look(&mut self, session: &mut Session<'_>, into: Sinks<'_>) {
        let now_ns = now_ns(ClockId::Monotonic);
        if self.is_due(now_ns) {
            self.read(session, into);
        }
        self.leave(now_ns, session);
        self.renew(now_ns, session, into);
        for (of, like) in session.take_repeats() {
            let is_known = self.named.contains_key(&of);
            let may_be = into.shared.tally.borrow_mut().may_be_many(&like, session.commands());
            if !is_known && may_be && session.sum_up(of, self.until_ns) {
                self.named.insert(of, Named { like, last_ns: now_ns, is_left: false });
            }
        }
    }

    /// Whether the rings are to be looked at often.
    pub(super) fn are_coming(&self) -> bool {
        let since = |named: &Named| self.read_ns.saturating_sub(named.last_ns);
        self.named.values().any(|named| since(named) < PART_NS)
    }

    fn is_due(&self, now_ns: i64) -> bool {
        let part = |ns: i64| ns.div_euclid(PART_NS);
        part(now_ns) != part(self.read_ns)
            || now_ns >= self.until_ns.saturating_add(SETTLED_NS)
            || self.named.values().any(|named| named.is_left)
    }

    /// Reads the sums.
    pub(super) fn read(&mut self, session: &mut Session<'_>, into: Sinks<'_>) {
        let now_ns = now_ns(ClockId::Monotonic);
        into.shared.spans.borrow_mut().reach(now_ns);
        let from_ns = std::mem::replace(&mut self.read_ns, now_ns);
        for (of, quick) in session.take_summed() {
            let Some(named) = self.named.get_mut(&of) else { continue };
            named.last_ns = now_ns;
            let command = named.like.command.map(|command| session.commands().name(command));
            self.last.add((of, &named.like, command), &quick, (from_ns, now_ns));
            let responses = quick.responses;
            into.alarm.see_many(named.like.op, &responses, now_ns);
            let (like, busy_ns) = (named.like, quick.busy_ns);
            let many = Many { like, from_ns, until_ns: now_ns, responses, busy_ns };
            let began_ns = now_ns.min(self.until_ns.saturating_sub(1));
            let spans = into.shared.spans.borrow();
            into.shared.tally.borrow_mut().many(&many, began_ns, session.commands(), &spans);
            into.shared.losses.borrow_mut().many(many);
        }
        // Whoever was told to be told singly has told its last by now.
        self.named.retain(|_, named| !named.is_left);
        self.last.reach(now_ns);
    }

    fn leave(&mut self, now_ns: i64, session: &mut Session<'_>) {
        for (of, named) in &mut self.named {
            if now_ns.saturating_sub(named.last_ns) >= IDLE_NS {
                session.tell_singly(*of);
                named.is_left = true;
            }
        }
    }

    /// The next span's are summed up when all of the last one's were.
    fn renew(&mut self, now_ns: i64, session: &mut Session<'_>, into: Sinks<'_>) {
        if now_ns < self.until_ns.saturating_add(SETTLED_NS) {
            return;
        }
        let Some(until_ns) = into.shared.spans.borrow().of(now_ns).map(|span| span.until_ns) else {
            return;
        };
        self.until_ns = until_ns;
        for (of, named) in self.named.iter_mut().filter(|(_, named)| !named.is_left) {
            named.is_left = !session.sum_up(*of, until_ns);
        }
    }

    /// The sums of the last seconds, which are gathered anew from now on.
    pub(super) fn take_last(&mut self) -> Vec<Summed> {
        self.last.take()
    }
}

/// Sums of one kind within a part of the time.
type Sums = BTreeMap<Repeated, (Summed, SparseHistogram)>;

/// The sums of the last seconds.
#[derive(Debug)]
struct LastSums {
    keep_ns: i64,
    /// By the number of their part of the time.
    parts: VecDeque<(i64, Sums)>,
}

impl LastSums {
    fn new(keep: Duration) -> Self {
        let keep_ns = i64::try_from(keep.as_nanos()).unwrap_or(i64::MAX);
        Self { keep_ns, parts: VecDeque::new() }
    }

    fn add(
        &mut self,
        (of, like, command): (Repeated, &Request, Option<&str>),
        quick: &Quick,
        (from_ns, until_ns): (i64, i64),
    ) {
        let part = from_ns.div_euclid(PART_NS);
        if self.parts.back().is_none_or(|(last, _)| *last != part) {
            self.parts.push_back((part, Sums::new()));
        }
        let Some((_, sums)) = self.parts.back_mut() else { return };
        let new = || Summed {
            device: like.device.into(),
            op: like.op,
            from_ns,
            until_ns,
            pid: like.pid.map(u64::from),
            command: command.map(str::to_owned),
            flags: Some(like.flags.0.into()),
            length_bytes: Some(like.length_bytes.into()),
            busy_ns: Some(0),
            ..Summed::default()
        };
        let (sum, responses) = sums.entry(of).or_insert_with(|| (new(), <_>::default()));
        sum.until_ns = until_ns;
        sum.bytes += quick.bytes;
        sum.admission_ns += quick.admission_ns;
        sum.queue_ns += quick.queue_ns;
        sum.busy_ns = sum.busy_ns.zip(quick.busy_ns).map(|(all, new)| all + new);
        responses.merge(&quick.responses);
    }

    /// What is older goes.
    fn reach(&mut self, now_ns: i64) {
        let first = now_ns.saturating_sub(self.keep_ns).div_euclid(PART_NS);
        while self.parts.pop_front_if(|(part, _)| *part < first).is_some() {}
    }

    fn take(&mut self) -> Vec<Summed> {
        let parts = std::mem::take(&mut self.parts);
        let sums = parts.into_iter().flat_map(|(_, sums)| sums.into_values());
        sums.map(|(sum, responses)| sum.with_responses(&responses)).collect()
    }
}
