//! Requests that repeat, of which the kernel keeps sums in place of telling each one: those of a
//! role, of one class and file system, whichever thread asks for them. Who is slow is told singly.
//!
//! Which requests come often is found by a sample of those that are recorded singly. They get sums,
//! and a name that was sampled twice is added to them. Each minute names are sampled anew, so that
//! none outlives its thread.
//!
//! The sums belong to a span of the wall clock to the last request: the kernel sums up what is
//! queued until its end, and what is queued later is told, until its sums were read.
//!
//! Non-goals: how the kernel sums up (`trace::capture`); what the sums mean (`verdict::watched`).

use super::capture::Shared;
use ::capture::{Alarm, Session, now_ns};
use ::verdict::watched::{InCommon, Many};
use model::busy::Busy;
use model::histogram::SparseHistogram;
use model::record::{Request, Summed};
use rustix::time::ClockId;
use std::collections::{HashMap, HashSet, VecDeque};
use std::time::Duration;
use trace::capture::{Quick, SUMS_MOST};
use trace::event::Repeated;

/// So long after a moment, what was queued before it has been summed up or is told: what takes
/// longer than 4 ms is.
const SETTLED_NS: i64 = 10_000_000;
/// Of what does not come for so long, the sums are another's.
const IDLE_NS: i64 = 10_000_000_000;
/// The sums are read when such a part of the time is over, and kept by these for an incident: the
/// verdict's slices.
const PART_NS: i64 = 100_000_000;
/// What is sampled so often between two looks comes often: 255 requests.
const OFTEN: u32 = 15;
/// So many names are remembered that were sampled once.
const ONCE_MOST: usize = 4096;
/// And so many threads of a role.
const THREADS_MOST: usize = 1000;

/// What is summed up together.
#[derive(Debug)]
struct Together {
    what: InCommon,
    like: Request,
    /// The other threads that are.
    other_pids: Vec<u32>,
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
    /// By the number of their sums.
    together: [Option<Together>; SUMS_MOST],
    /// Names that are summed up, with their sums, and those that were sampled once.
    named: HashMap<Repeated, usize>,
    once: HashSet<Repeated>,
    /// Until when what is queued is summed up: a span's end.
    until_ns: i64,
    /// When the sums were read last.
    read_ns: i64,
    last: LastSums,
}

impl Repeats {
    /// Keeps sums for so long.
    pub(super) fn new(keep: Duration) -> Self {
        Self {
            together: [const { None }; SUMS_MOST],
            named: HashMap::new(),
            once: HashSet::new(),
            until_ns: i64::MIN,
            read_ns: now_ns(ClockId::Monotonic),
            last: LastSums::new(keep),
        }
    }

    /// Reads the sums where that is due, and looks what may be summed up from now on.
    pub(super) fn look(&mut self, session: &mut Session<'_>, into: Sinks<'_>) {
        let now_ns = now_ns(ClockId::Monotonic);
        if self.is_due(now_ns) {
            self.read(session, into);
        }
        self.leave(now_ns, session);
        self.renew(now_ns, session, into);
        let called = session.take_called();
        if now_ns < self.until_ns {
            self.sample(called, now_ns, session, into);
        }
    }

    /// Whether the rings are to be looked at often.
    pub(super) fn are_coming(&self) -> bool {
        let since = |of: &Together| self.read_ns.saturating_sub(of.last_ns);
        self.together.iter().flatten().any(|of| since(of) < PART_NS)
    }

    fn is_due(&self, now_ns: i64) -> bool {
        let part = |ns: i64| ns.div_euclid(PART_NS);
        part(now_ns) != part(self.read_ns)
            || now_ns >= self.until_ns.saturating_add(SETTLED_NS)
            || self.together.iter().flatten().any(|of| of.is_left)
    }

    /// Reads the sums.
    pub(super) fn read(&mut self, session: &mut Session<'_>, into: Sinks<'_>) {
        let now_ns = now_ns(ClockId::Monotonic);
        into.shared.spans.borrow_mut().reach(now_ns);
        // What is completed just after a span's end began in it.
        let began_ns = now_ns.min(self.until_ns.saturating_sub(1));
        let from_ns = std::mem::replace(&mut self.read_ns, now_ns).min(began_ns);
        for (sums, quick) in session.take_summed() {
            let Some(of) = self.together.get_mut(sums).and_then(Option::as_mut) else { continue };
            of.last_ns = now_ns;
            into.alarm.see_many(of.like.op, &quick.responses, now_ns);
            let many = of.many(quick, (from_ns, now_ns), session, &mut self.last);
            let spans = into.shared.spans.borrow();
            into.shared.tally.borrow_mut().many(&many, began_ns, session.commands(), &spans);
            into.shared.losses.borrow_mut().many(many);
        }
        // Whoever was told to be told singly has told its last by now.
        for of in &mut self.together {
            of.take_if(|of| of.is_left);
        }
        self.last.reach(now_ns);
    }

    fn leave(&mut self, now_ns: i64, session: &mut Session<'_>) {
        for sums in 0..SUMS_MOST {
            let is_idle = |of: &Together| now_ns.saturating_sub(of.last_ns) >= IDLE_NS;
            if self.together[sums].as_ref().is_some_and(is_idle) {
                self.tell_singly(sums, session);
            }
        }
    }

    /// Tells all singly: roles have other numbers from now on.
    pub(super) fn leave_all(&mut self, session: &mut Session<'_>) {
        (0..SUMS_MOST).for_each(|sums| self.tell_singly(sums, session));
    }

    fn tell_singly(&mut self, sums: usize, session: &mut Session<'_>) {
        session.tracer_mut().into_iter().for_each(|tracer| tracer.tell_singly(sums));
        self.named.retain(|_, of| *of != sums);
        self.together[sums].iter_mut().for_each(|of| of.is_left = true);
    }

    /// Whether a thread is one of those that are summed up.
    pub(super) fn has(&self, pid: u32) -> bool {
        self.together.iter().flatten().any(|of| of.has(pid))
    }

    /// Threads are gone, whose sums were read: another one tells whose the sums are from now on.
    /// Where there is none, what comes under such a name is told.
    pub(super) fn forget(&mut self, gone: &[u32], session: &mut Session<'_>) {
        for sums in 0..SUMS_MOST {
            let Some(of) = &mut self.together[sums] else { continue };
            of.other_pids.retain(|pid| !gone.contains(pid));
            if of.like.pid.is_some_and(|pid| !gone.contains(&pid)) {
                continue;
            }
            match of.other_pids.pop() {
                Some(other) => of.like.pid = Some(other),
                None => self.tell_singly(sums, session),
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
        self.named.clear();
        self.once.clear();
        session.tracer_mut().into_iter().for_each(|tracer| tracer.forget_names());
    }

    /// Names what comes often.
    fn sample(
        &mut self,
        called: Vec<(Repeated, Request)>,
        now_ns: i64,
        session: &mut Session<'_>,
        into: Sinks<'_>,
    ) {
        let mut seen: HashMap<InCommon, u32> = HashMap::new();
        for (name, like) in called {
            // Of what is named, the slow ones are told; and who asks is to be known.
            let knows = |pid| into.shared.losses.borrow().knows(pid);
            if self.named.contains_key(&name) || !like.pid.is_some_and(knows) {
                continue;
            }
            let what = into.shared.tally.borrow_mut().in_common(&like, session.commands());
            let Some(what) = what else { continue };
            let count = seen.entry(what).or_default();
            *count += 1;
            let is_often = *count >= OFTEN;
            let Some(sums) = self.sums_of(&what, is_often.then_some(&like), now_ns) else {
                continue;
            };
            if self.once.remove(&name) {
                self.name(name, &like, sums, session);
            } else {
                if self.once.len() >= ONCE_MOST {
                    self.once.clear();
                }
                self.once.insert(name);
            }
        }
    }

    /// The sums of what has these in common; they may be new ones, of those like a request.
    fn sums_of(&mut self, what: &InCommon, new: Option<&Request>, now_ns: i64) -> Option<usize> {
        let is_its =
            |of: &Option<Together>| of.as_ref().is_some_and(|of| !of.is_left && of.what == *what);
        if let Some(known) = self.together.iter().position(is_its) {
            return Some(known);
        }
        let free = self.together.iter().position(Option::is_none)?;
        let like = *new?;
        let (what, other_pids) = (*what, Vec::new());
        let new = Together { what, like, other_pids, last_ns: now_ns, is_left: false };
        self.together[free] = Some(new);
        Some(free)
    }

    fn name(&mut self, name: Repeated, like: &Request, sums: usize, session: &mut Session<'_>) {
        let until_ns = self.until_ns;
        let mut tracer = session.tracer_mut();
        let is_named = tracer.as_mut().is_some_and(|tracer| tracer.sum_up(name, sums, until_ns));
        let Some(of) = self.together[sums].as_mut().filter(|_| is_named) else { return };
        self.named.insert(name, sums);
        let is_full = of.other_pids.len() >= THREADS_MOST;
        of.other_pids.extend(like.pid.filter(|pid| !is_full && !of.has(*pid)));
    }

    /// The sums of the last seconds, which are gathered anew from now on.
    pub(super) fn take_last(&mut self) -> Vec<Summed> {
        self.last.take()
    }
}

impl Together {
    fn has(&self, pid: u32) -> bool {
        self.like.pid == Some(pid) || self.other_pids.contains(&pid)
    }

    /// Its sums of a time, which are kept among the last.
    fn many(
        &self,
        quick: Quick,
        (from_ns, until_ns): (i64, i64),
        session: &Session<'_>,
        last: &mut LastSums,
    ) -> Many {
        let command = self.like.command.map(|command| session.commands().name(command));
        last.add((self, command), &quick, (from_ns, until_ns));
        Many {
            like: self.like,
            other_pids: self.other_pids.clone(),
            from_ns,
            until_ns,
            bytes: quick.bytes,
            responses: quick.responses,
            busy: quick.busy,
        }
    }
}

/// Sums within a part of the time.
type Sums = HashMap<InCommon, (Summed, SparseHistogram)>;

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
        (of, command): (&Together, Option<&str>),
        quick: &Quick,
        (from_ns, until_ns): (i64, i64),
    ) {
        let part = from_ns.div_euclid(PART_NS);
        if self.parts.back().is_none_or(|(last, _)| *last != part) {
            self.parts.push_back((part, Sums::new()));
        }
        let Some((_, sums)) = self.parts.back_mut() else { return };
        let like = &of.like;
        let new = || Summed {
            device: like.device.into(),
            op: like.op,
            from_ns,
            until_ns,
            pid: like.pid.map(u64::from),
            command: command.map(str::to_owned),
            flags: Some(like.flags.0.into()),
            length_bytes: Some(like.length_bytes.into()),
            ..Summed::default()
        };
        let (sum, responses) = sums.entry(of.what).or_insert_with(|| (new(), <_>::default()));
        sum.until_ns = until_ns;
        sum.other_pids = of.other_pids.iter().copied().map(u64::from).collect();
        sum.bytes += quick.bytes;
        sum.admission_ns += quick.admission_ns;
        sum.queue_ns += quick.queue_ns;
        // Where it is not known of a part, it is not of the whole.
        let busy = quick.busy.map(|more| {
            let mut all = sum.busy().unwrap_or(more);
            all.add(&more);
            all
        });
        let Busy { from_ns, bits } = busy.unwrap_or_default();
        (sum.busy_from_ns, sum.busy_bits) = (from_ns, bits);
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
        let mut sums: Vec<Summed> =
            sums.map(|(sum, responses)| sum.with_responses(&responses)).collect();
        sums.sort_by_key(|sum| (sum.from_ns, sum.device, sum.op as u64, sum.pid, sum.length_bytes));
        sums
    }
}
