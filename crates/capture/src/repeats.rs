//! Requests that repeat, of which the kernel keeps sums in place of telling each one: those of a
//! role, of one class and file system, whichever thread asks for them. Who is slow is told singly.
//!
//! Which requests come often is found by a sample of those that are recorded singly. They get sums,
//! and a name that was sampled twice is added to them. Each minute names are sampled anew, so that
//! none outlives its thread.
//!
//! The sums belong to a span of time to the last request: the kernel sums up what is queued until
//! its end, and what is queued later is told, until its sums were read.
//!
//! Non-goals: how the kernel sums up (`trace::capture`); who takes the sums ([`TakesSums`]), and
//! what they mean (`verdict::watched`).

use super::sums::PART_NS;
use super::{Session, now_ns};
use ::verdict::watched::{InCommon, Many};
use model::record::{Commands, FileKey, FileNumber, Request};
use rustix::time::ClockId;
use std::collections::{HashMap, HashSet};
use trace::capture::{Quick, SUMS_MOST};
use trace::event::Repeated;

/// So long after a moment, what was queued before it has been summed up or is told: what takes
/// longer than 4 ms is.
const SETTLED_NS: i64 = 10_000_000;
/// Of what does not come for so long, the sums are another's.
const IDLE_NS: i64 = 10_000_000_000;
/// What is sampled so often in 100 ms comes often: 255 requests.
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

/// Who takes sums.
pub trait TakesSums {
    /// What a request has in common with those that are summed up with it; none if it is to be
    /// told.
    fn in_common(&mut self, like: &Request, commands: &Commands) -> Option<InCommon>;

    /// When the span of time ends that a moment is in, by which names are found anew; none if that
    /// is not known yet. Both are of CLOCK_MONOTONIC, in ns.
    fn span_end_ns(&mut self, now_ns: i64) -> Option<i64>;

    /// Takes a sum of what began before the end of a span.
    fn take(&mut self, what: InCommon, many: &Many, until_ns: i64, commands: &Commands);
}

/// What is summed up now.
#[derive(Debug)]
pub struct Repeats {
    /// By the number of their sums.
    together: [Option<Together>; SUMS_MOST],
    /// Names that are summed up, with their sums, and those that were sampled once.
    named: HashMap<Repeated, usize>,
    once: HashSet<Repeated>,
    /// How often others were sampled since a part of the time began, and what stands for them.
    sampled: HashMap<InCommon, (u32, Request)>,
    /// Until when what is queued is summed up: a span's end.
    until_ns: i64,
    /// When the sums were read last.
    read_ns: i64,
}

impl Default for Repeats {
    fn default() -> Self {
        Self {
            together: [const { None }; SUMS_MOST],
            named: HashMap::new(),
            once: HashSet::new(),
            sampled: HashMap::new(),
            until_ns: i64::MIN,
            read_ns: now_ns(ClockId::Monotonic),
        }
    }
}

impl Repeats {
    /// Reads the sums where that is due, and looks what may be summed up from now on.
    pub fn look(&mut self, session: &mut Session<'_>, into: &mut impl TakesSums) {
        let now_ns = now_ns(ClockId::Monotonic);
        if self.is_due(now_ns) {
            self.read(session, into);
            self.sampled.clear();
        }
        self.leave(now_ns, session);
        self.renew(now_ns, session, into);
        let called = session.take_called();
        if now_ns < self.until_ns {
            self.sample(called, now_ns, session, into);
        }
    }

    /// Whether the rings are to be looked at often.
    pub fn are_coming(&self) -> bool {
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
    pub fn read(&mut self, session: &mut Session<'_>, into: &mut impl TakesSums) {
        let now_ns = now_ns(ClockId::Monotonic);
        // What is completed just after a span's end began in it.
        let began_ns = now_ns.min(self.until_ns.saturating_sub(1));
        let from_ns = std::mem::replace(&mut self.read_ns, now_ns).min(began_ns);
        for (sums, quick) in session.take_summed() {
            let Some(of) = self.together.get_mut(sums).and_then(Option::as_mut) else { continue };
            of.last_ns = now_ns;
            let many = of.many(quick, (from_ns, now_ns));
            into.take(of.what, &many, self.until_ns, session.commands());
        }
        // Whoever was told to be told singly has told its last by now.
        for of in &mut self.together {
            of.take_if(|of| of.is_left);
        }
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
    pub fn leave_all(&mut self, session: &mut Session<'_>) {
        (0..SUMS_MOST).for_each(|sums| self.tell_singly(sums, session));
    }

    fn tell_singly(&mut self, sums: usize, session: &mut Session<'_>) {
        session.tracer_mut().into_iter().for_each(|tracer| tracer.tell_singly(sums));
        self.named.retain(|_, of| *of != sums);
        self.together[sums].iter_mut().for_each(|of| of.is_left = true);
    }

    /// Whether a thread is one of those that are summed up.
    fn has(&self, pid: u32) -> bool {
        self.together.iter().flatten().any(|of| of.has(pid))
    }

    /// Threads are gone, or others have their numbers: what was summed up is read, and another one
    /// tells whose the sums are from now on. Where there is none, what comes under such a name is
    /// told.
    pub fn forget(&mut self, gone: &[u32], session: &mut Session<'_>, into: &mut impl TakesSums) {
        if !gone.iter().any(|pid| self.has(*pid)) {
            return;
        }
        self.read(session, into);
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
    fn renew(&mut self, now_ns: i64, session: &mut Session<'_>, into: &mut impl TakesSums) {
        if now_ns < self.until_ns.saturating_add(SETTLED_NS) {
            return;
        }
        let Some(until_ns) = into.span_end_ns(now_ns) else { return };
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
        into: &mut impl TakesSums,
    ) {
        for (name, like) in called {
            // Of what is named, the slow ones are told.
            if self.named.contains_key(&name) {
                continue;
            }
            let Some(what) = into.in_common(&like, session.commands()) else { continue };
            let (count, all) = self.sampled.entry(what).or_insert((0, like));
            (*count, *all) = (*count + 1, joined(*all, &like));
            let (is_often, all) = (*count >= OFTEN, *all);
            let Some(sums) = self.sums_of(&what, &all, is_often, now_ns) else { continue };
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

    /// The sums of what has these in common, for which a request stands; they are new ones where it
    /// comes often.
    fn sums_of(
        &mut self,
        what: &InCommon,
        like: &Request,
        is_often: bool,
        now_ns: i64,
    ) -> Option<usize> {
        let is_its =
            |of: &Option<Together>| of.as_ref().is_some_and(|of| !of.is_left && of.what == *what);
        if let Some(known) = self.together.iter().position(is_its) {
            self.together[known].iter_mut().for_each(|of| of.like = joined(of.like, like));
            return Some(known);
        }
        let free = self.together.iter().position(Option::is_none).filter(|_| is_often)?;
        let (what, like, other_pids) = (*what, *like, Vec::new());
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
}

/// What stands for two requests that are summed up together: which file they are of is known if it
/// is the same one.
fn joined(like: Request, other: &Request) -> Request {
    let is_same = like.file == other.file;
    let of_several = |FileKey { kind, number }: FileKey| FileKey {
        kind,
        number: FileNumber { file_system: number.file_system, ..FileNumber::default() },
    };
    let file = like.file.map(|file| if is_same { file } else { of_several(file) });
    Request { file, ..like }
}

impl Together {
    fn has(&self, pid: u32) -> bool {
        self.like.pid == Some(pid) || self.other_pids.contains(&pid)
    }

    /// Its sums of a time.
    fn many(&self, quick: Quick, (from_ns, until_ns): (i64, i64)) -> Many {
        let Quick { bytes, admission_ns, queue_ns, responses, busy } = quick;
        let (like, other_pids) = (self.like, self.other_pids.clone());
        let times = Many { like, other_pids, from_ns, until_ns, ..Many::default() };
        Many { bytes, admission_ns, queue_ns, responses, busy, ..times }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::record::FileKind;

    #[test]
    fn requests_of_several_files_that_are_summed_up_together_are_of_none_of_them() {
        let of = |inode| {
            let number = FileNumber { file_system: 8, inode, generation: 1 };
            let file = Some(FileKey { kind: FileKind::Regular, number });
            Request { pid: Some(inode as u32), file, ..Request::default() }
        };
        assert_eq!(joined(of(5), &of(5)), of(5));
        let both = joined(of(5), &of(6));
        let number = FileNumber { file_system: 8, ..FileNumber::default() };
        let file = Some(FileKey { kind: FileKind::Regular, number });
        assert_eq!(both, Request { file, ..of(5) });
        assert_eq!(joined(both, &of(5)), both, "from then on");
        let none = Request { file: None, ..of(5) };
        assert_eq!(joined(none, &none), none);
    }
}
