//! A device under its requests in the order of time: at each moment whose requests are in flight,
//! and for each wait how its time divides among them.
//!
//! While requests of several roles are in flight, a moment belongs to each by the work that they
//! ask for: their bytes and a constant for each request ([`work`]), as of a device that serves all
//! at once; while only the waiter's own are, it is his own. A moment without any is nobody's: the
//! wait went on, held back before the device. Time in which a device completes nothing for long,
//! though it has requests and none of them is a flush, is its own: it stands still. So the parts
//! of a wait sum to it. They are kept as sums that only grow, read at its begin and its end, so
//! that a wait costs the same however long it is.
//!
//! Non-goals: which waits are long (`super::blame`).

mod many;
mod pace;
mod part;

pub(crate) use many::Mean;
pub(crate) use part::{Act, HELD, Holding, Part, PartNumber, STALLED, THROTTLED, Waited};

use many::Later;
use pace::Paces;
use part::{ACTS, NO_ACT};

use super::actors::{JOURNAL, RoleId};
use super::recent::Recent;
use model::busy::BIT_NS;
use model::record::Op;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// How long a device may complete nothing before it stands still, in ns; and how many times as long
/// as it usually takes to complete such a request next: a memory card that writes 512 KiB in 100 ms
/// does not stand still. Nor does one that completes many requests at once, again and again: it
/// must be for longer than those in flight usually take.
const STALL_NS: i64 = 50_000_000;
const STALL_TIMES: f64 = 5.0;

/// So long before a completion begin the bits of what is known as a sum, at the most, in ns: for so
/// long it may have been in flight.
const QUICK_NS: i64 = 3 * BIT_NS;

/// What is less than this is no part of a wait, but rounded.
const ROUNDED_NS: f64 = 1e-3;

/// How much a request asks of a device, in bytes: a request as such costs as 16 KiB do, a flush as
/// 128 KiB.
fn work(op: Op, length_bytes: u32) -> f64 {
    const OF_REQUEST: u32 = 16 << 10;
    const OF_FLUSH: u32 = 128 << 10;
    f64::from(if op == Op::Flush { OF_FLUSH } else { length_bytes.saturating_add(OF_REQUEST) })
}

/// What goes on until a moment, and whose wait.
#[derive(Debug)]
struct Open<C> {
    going: Going<C>,
    wait: Option<Waiting<C>>,
}

#[derive(Debug)]
enum Going<C> {
    /// Nothing but a wait.
    Wait,
    /// A request: its act's number, its work, and since when.
    Request(usize, f64, i64),
    /// Many of an act: their work in the mean, and for which part of the time any is in flight.
    Many(usize, f64, f64),
    /// One of many is completed again and again.
    Run,
    /// Nothing: something begins then, until another moment.
    Later(i64, Later<C>),
}

/// A wait that goes on, or many that are known as a sum.
#[derive(Debug)]
struct Waiting<C> {
    class: C,
    begin_ns: i64,
    /// What belonged to each part at its begin.
    before: Vec<f64>,
    holding: Option<Holding>,
    /// How many, and how long together; of one it is its own time.
    many: Option<(PartNumber, (u64, u64))>,
}

/// What has come since the device last completed something: only that can be put down to its
/// standing still.
#[derive(Debug, Default)]
struct Since {
    completed_ns: i64,
    /// How far [`Disk::turned`] was.
    turned: f64,
    /// Requests: whose, their work, and how far it was when they came.
    requests: Vec<(usize, f64, f64)>,
    /// Waits: their places and begins.
    waits: Vec<(usize, i64)>,
}

/// A device.
///
/// While requests are in flight, `turned` grows by the time over the work of all of them, so that
/// an act's time grows by its work times that. What belonged to an act is `sums_ns` and its work
/// times `turned`: a request changes one of the sums, however many acts there are.
#[derive(Debug)]
pub(crate) struct Disk<C> {
    now_ns: i64,
    /// By their numbers; and these by role and operation, where there are any.
    acts: Vec<Act>,
    numbers: Vec<[PartNumber; Op::ALL.len()]>,
    turned: f64,
    /// Work in flight and its requests, by part; of what is no act there is none.
    work: Vec<f64>,
    count: Vec<u64>,
    sums_ns: Vec<f64>,
    all_work: f64,
    /// By part: until when it was many requests, and for which part of the time there were any.
    busy: Vec<(i64, f64)>,
    in_flight: u64,
    /// Since when there has been none, if there is none.
    idle_since_ns: i64,
    /// Those of which no single one is known: their parts' numbers, and for which part of the time
    /// there are any.
    many: Vec<(usize, f64)>,
    /// Begins and ends of times that go on, or come, in which requests that are known as sums are
    /// completed again and again.
    runs: Vec<(i64, i64)>,
    /// Acts with requests in flight, and those without by when they last had one, the latest first.
    active: Vec<usize>,
    idle: Recent,
    /// By role: its requests in flight, and since when it has any.
    roles: Vec<(u64, i64)>,
    since: Since,
    paces: Paces,
    ends: BinaryHeap<Reverse<(i64, usize)>>,
    open: Vec<Option<Open<C>>>,
    free: Vec<usize>,
    /// Memory of sums and parts that are no longer needed: a request takes none anew.
    spare: Vec<Vec<f64>>,
    spare_parts: Vec<(PartNumber, f64)>,
}

/// What a device tells on its way.
pub(crate) trait Watch<C> {
    /// From one moment to another, a role had requests in flight.
    fn busy(&mut self, from_ns: i64, until_ns: i64, role: RoleId);
    /// From one moment to another, it completed nothing and stood still.
    fn stalled(&mut self, _from_ns: i64, _until_ns: i64) {}
    /// A wait ended.
    fn waited(&mut self, wait: &mut Waited<C>);
}

impl<C> Disk<C> {
    pub(crate) fn new() -> Self {
        Self {
            now_ns: i64::MIN,
            acts: Vec::new(),
            numbers: Vec::new(),
            turned: 0.0,
            work: vec![0.0; ACTS],
            count: vec![0; ACTS],
            sums_ns: vec![0.0; ACTS],
            all_work: 0.0,
            busy: vec![(i64::MIN, 1.0); ACTS],
            in_flight: 0,
            idle_since_ns: i64::MIN,
            many: Vec::new(),
            runs: Vec::new(),
            active: Vec::new(),
            idle: Recent::default(),
            roles: Vec::new(),
            since: Since::default(),
            paces: Paces::default(),
            ends: BinaryHeap::new(),
            open: Vec::new(),
            free: Vec::new(),
            spare: Vec::new(),
            spare_parts: Vec::new(),
        }
    }

    /// A request in flight from now to its end, and perhaps somebody who waits for it.
    pub(crate) fn request(
        &mut self,
        (begin_ns, end_ns): (i64, i64),
        act: Act,
        length_bytes: u32,
        waiter: Option<C>,
        watch: &mut impl Watch<C>,
    ) {
        self.advance(begin_ns, watch);
        self.begin(act, work(act.op, length_bytes));
        self.begin_busy(act.role);
        let work = work(act.op, length_bytes);
        self.paces.begin(act.op, work);
        let going = Going::Request(self.number(act), work, begin_ns);
        let wait = waiter.map(|class| self.waiting(class, begin_ns));
        self.open((begin_ns, end_ns), Open { going, wait });
    }

    /// Work begins.
    fn begin(&mut self, act: Act, work: f64) {
        let number = self.number(act);
        if self.in_flight == 0 {
            // Nothing is worked on: small numbers are kept more exactly.
            self.turned = 0.0;
            self.begin_anew(self.now_ns);
        }
        self.change_work(number, work);
        if self.count[number] == 0 {
            self.active.push(number);
            self.idle.remove(number);
        }
        self.count[number] += 1;
        self.since.requests.push((number, work, self.turned));
        self.in_flight += 1;
    }

    fn begin_busy(&mut self, role: RoleId) {
        let role = usize::from(role.0);
        if self.roles.len() <= role {
            self.roles.resize(role + 1, (0, 0));
        }
        let (in_flight, since_ns) = &mut self.roles[role];
        if *in_flight == 0 {
            *since_ns = self.now_ns;
        }
        *in_flight += 1;
    }

    /// A wait from now to its end that is no request itself; for a lock, where it is known who
    /// holds it.
    pub(crate) fn wait(
        &mut self,
        (begin_ns, end_ns): (i64, i64),
        waiter: C,
        holding: Option<Holding>,
        watch: &mut impl Watch<C>,
    ) {
        self.advance(begin_ns, watch);
        let wait = Waiting { holding, ..self.waiting(waiter, begin_ns) };
        self.open((begin_ns, end_ns), Open { going: Going::Wait, wait: Some(wait) });
    }

    /// A request comes that a limit has held back: the time in which these waited for it and
    /// nothing was in flight was the limit's.
    pub(crate) fn comes_late(
        &mut self,
        begin_ns: i64,
        waits_for_it: impl Fn(&C) -> bool,
        watch: &mut impl Watch<C>,
    ) {
        self.advance(begin_ns, watch);
        if self.in_flight > 0 {
            return;
        }
        let (held_ns, since_ns) = (self.sums_ns[HELD], self.idle_since_ns);
        let waits = self.open.iter_mut().flatten().filter_map(|open| open.wait.as_mut());
        for wait in waits.filter(|wait| waits_for_it(&wait.class)) {
            let idle_ns = begin_ns.saturating_sub(wait.begin_ns.max(since_ns));
            // What is the limit's already is no longer held.
            let late_ns = (idle_ns.max(0) as f64).min(held_ns - wait.before[HELD]);
            wait.before[HELD] += late_ns;
            wait.before[THROTTLED] -= late_ns;
        }
    }

    fn waiting(&mut self, class: C, begin_ns: i64) -> Waiting<C> {
        let mut before = self.spare.pop().unwrap_or_default();
        before.clear();
        before.extend_from_slice(&self.sums_ns);
        // Of acts that are not active this is all.
        self.active.iter().for_each(|number| before[*number] = self.time_ns(*number));
        Waiting { class, begin_ns, before, holding: None, many: None }
    }

    fn open(&mut self, (begin_ns, end_ns): (i64, i64), open: Open<C>) {
        let is_wait = open.wait.is_some();
        let open = Some(open);
        let place = match self.free.pop() {
            Some(place) => {
                self.open[place] = open;
                place
            }
            None => {
                self.open.push(open);
                self.open.len() - 1
            }
        };
        if is_wait && self.in_flight > 0 {
            self.since.waits.push((place, begin_ns));
        }
        self.ends.push(Reverse((end_ns.max(begin_ns), place)));
    }

    /// The time that has belonged to a part so far.
    #[inline]
    fn time_ns(&self, number: usize) -> f64 {
        self.sums_ns[number] + self.work[number] * self.turned
    }

    /// An act has more work in flight from now on, or less.
    fn change_work(&mut self, number: usize, by: f64) {
        self.sums_ns[number] -= by * self.turned;
        self.work[number] += by;
        self.all_work += by;
    }

    /// From here on it is counted since when nothing was completed.
    fn begin_anew(&mut self, now_ns: i64) {
        self.since.completed_ns = now_ns;
        self.since.turned = self.turned;
        self.since.requests.clear();
        self.since.waits.clear();
    }

    /// At a completion: if it was long in coming, the time since the last one is the device's.
    fn settle(
        &mut self,
        now_ns: i64,
        (number, work, begin_ns): (usize, f64, i64),
        watch: &mut impl Watch<C>,
    ) {
        let has_flush = || {
            let mut in_flight = self.acts.iter().zip(self.count.iter().skip(ACTS));
            in_flight.any(|(act, count)| act.op == Op::Flush && *count > 0)
        };
        let for_ns = now_ns.saturating_sub(self.since.completed_ns);
        // What has come as a sum just now may have come after this.
        let has_run = self.runs.iter().any(|(from_ns, _)| now_ns - from_ns > QUICK_NS);
        let is_long = for_ns >= STALL_NS && !has_run && !has_flush();
        let op = self.acts[number - ACTS].op;
        // Looked at seldom: it takes longer than all the rest.
        let in_flight_ns = if is_long { self.paces.in_flight_ns() } else { 0.0 };
        let took_ns = now_ns.saturating_sub(begin_ns);
        let usual_ns = STALL_TIMES * self.paces.end(op, work, for_ns, took_ns);
        let is_unusual = for_ns as f64 >= usual_ns.max(in_flight_ns);
        if is_long && is_unusual {
            self.stall();
            watch.stalled(self.since.completed_ns, now_ns);
        }
        self.begin_anew(now_ns);
    }

    /// Moves what belonged to acts since the last completion to the device.
    fn stall(&mut self) {
        let for_turns = self.turned - self.since.turned;
        let mut since_ns: Vec<f64> = self.work.iter().map(|work| work * for_turns).collect();
        for (number, work, turned) in &self.since.requests {
            since_ns[*number] -= work * (turned - self.since.turned);
        }
        // What it was at the last completion, it is again.
        self.sums_ns.iter_mut().zip(&since_ns).for_each(|(sum, since)| *sum -= since);
        self.sums_ns[STALLED] += since_ns.iter().sum::<f64>();
        let completed: Vec<f64> = (0..self.work.len()).map(|part| self.time_ns(part)).collect();
        for (place, begin_ns) in &self.since.waits {
            let open = self.open.get_mut(*place).and_then(Option::as_mut);
            let wait = open.and_then(|open| open.wait.as_mut());
            // The place may be another wait's by now.
            let Some(Waiting { before, .. }) = wait.filter(|wait| wait.begin_ns == *begin_ns)
            else {
                continue;
            };
            let mut moved_ns = 0.0;
            for (own, then) in before.iter_mut().zip(&completed).skip(ACTS) {
                moved_ns += *own - then;
                *own = *then;
            }
            before[STALLED] += moved_ns;
        }
    }

    /// The number of an act among the parts of waits.
    #[inline]
    pub(crate) fn number(&mut self, act: Act) -> usize {
        let role = usize::from(act.role.0);
        if self.numbers.len() <= role {
            self.numbers.resize(role + 1, [NO_ACT; Op::ALL.len()]);
        }
        let number = &mut self.numbers[role][act.op as usize];
        if *number == NO_ACT {
            *number = self.work.len() as PartNumber;
            self.acts.push(act);
            self.work.push(0.0);
            self.count.push(0);
            self.sums_ns.push(0.0);
            self.busy.push((i64::MIN, 1.0));
        }
        usize::from(*number)
    }

    /// How many numbers of parts there are so far.
    pub(crate) fn parts(&self) -> usize {
        self.work.len()
    }

    /// What a number stands for.
    pub(crate) fn part(&self, number: PartNumber) -> Part {
        match usize::from(number) {
            HELD => Part::Held,
            STALLED => Part::Stalled,
            THROTTLED => Part::Throttled,
            number => self.acts.get(number - ACTS).map_or(Part::Held, |act| Part::Act(*act)),
        }
    }

    /// Lets time go on, and what ends until then end.
    pub(crate) fn advance(&mut self, to_ns: i64, watch: &mut impl Watch<C>) {
        while let Some(Reverse((end_ns, place))) = self.ends.peek().copied() {
            if end_ns > to_ns {
                break;
            }
            self.ends.pop();
            self.pass(end_ns);
            self.end(place, end_ns, watch);
        }
        self.pass(to_ns);
    }

    /// Whether anything goes on.
    pub(crate) fn is_busy(&self) -> bool {
        !self.ends.is_empty()
    }

    /// Ends all that is still open.
    pub(crate) fn finish(&mut self, watch: &mut impl Watch<C>) {
        while let Some(last_ns) = self.ends.iter().map(|Reverse((end_ns, _))| *end_ns).max() {
            self.advance(last_ns, watch);
        }
    }

    /// Tells of the roles that are busy until now: else they are told of when they no longer are.
    pub(crate) fn tell_busy(&mut self, watch: &mut impl Watch<C>) {
        let now_ns = self.now_ns;
        let busy = self.roles.iter_mut().enumerate().filter(|(_, (in_flight, _))| *in_flight > 0);
        for (role, (_, since_ns)) in busy {
            watch.busy(*since_ns, now_ns, RoleId(role as u16));
            *since_ns = now_ns;
        }
    }

    fn pass(&mut self, to_ns: i64) {
        let from_ns = self.now_ns;
        self.now_ns = to_ns.max(from_ns);
        let for_ns = self.now_ns.saturating_sub(from_ns);
        if for_ns <= 0 || from_ns == i64::MIN {
            return;
        }
        let held_ns = for_ns as f64 * self.idle_part();
        self.sums_ns[HELD] += held_ns;
        if self.in_flight > 0 {
            self.turned += (for_ns as f64 - held_ns) / self.all_work;
        }
    }

    fn end(&mut self, place: usize, end_ns: i64, watch: &mut impl Watch<C>) {
        match self.open[place].as_ref().map(|open| &open.going) {
            Some(Going::Run) => {
                self.runs.retain(|(_, until_ns)| *until_ns > end_ns);
                self.begin_anew(end_ns.max(self.since.completed_ns));
            }
            // Who waits for it has the time of the device, too.
            Some(Going::Request(number, work, begin_ns)) => {
                self.settle(end_ns, (*number, *work, *begin_ns), watch);
            }
            _ => {}
        }
        let Some(Open { going, wait }) = self.open[place].take() else { return };
        self.free.push(place);
        match going {
            Going::Request(number, work, _) => {
                self.end_request(number, work);
                self.end_busy(self.acts[number - ACTS].role, watch);
            }
            Going::Many(number, work, busy) => self.end_many((number, work, busy)),
            Going::Later(until_ns, later) => self.begin_many((end_ns, until_ns), later, watch),
            Going::Wait | Going::Run => {}
        }
        wait.into_iter().for_each(|wait| self.end_wait(wait, end_ns, watch));
    }

    fn end_wait(&mut self, wait: Waiting<C>, end_ns: i64, watch: &mut impl Watch<C>) {
        let Waiting { class, begin_ns, before, holding, many } = wait;
        let mut parts = std::mem::take(&mut self.spare_parts);
        parts.clear();
        let mut tell = |number: usize| {
            // Acts that came since had no time before.
            let before_ns = before.get(number).copied().unwrap_or(0.0);
            let took_ns = self.time_ns(number) - before_ns;
            if took_ns > ROUNDED_NS {
                parts.push((number as PartNumber, took_ns));
            }
        };
        [HELD, STALLED, THROTTLED].into_iter().for_each(&mut tell);
        self.active.iter().copied().for_each(&mut tell);
        self.idle.since(begin_ns).for_each(&mut tell);
        if let Some(holding) = holding {
            self.put_to_holders(&mut parts, &holding);
        }
        self.spare.push(before);
        let for_ns = end_ns.saturating_sub(begin_ns);
        let times = match many {
            Some((own, times)) => {
                self.put_to_each(&mut parts, (own, times.1), begin_ns);
                times
            }
            None => (1, for_ns.max(0).unsigned_abs()),
        };
        let mut wait = Waited { class, begin_ns, times, is_sum: many.is_some(), parts };
        watch.waited(&mut wait);
        self.spare_parts = wait.parts;
    }

    /// What nobody's requests explain is the holders': they did something else meanwhile, or have
    /// filled a journal. If they neither waited nor had requests, all of it is.
    fn put_to_holders(&mut self, parts: &mut Vec<(PartNumber, f64)>, holding: &Holding) {
        let role_of = |number: PartNumber| match self.part(number) {
            Part::Act(act) => Some(act.role),
            _ => None,
        };
        let is_holders = |of: RoleId| holding.roles.iter().any(|(role, _)| *role == of);
        let is_in_need = holding.have_waited
            || parts.iter().any(|(number, _)| role_of(*number).is_some_and(is_holders));
        let is_theirs = |number: PartNumber| match self.part(number) {
            Part::Act(act) => !is_in_need || act.role == JOURNAL,
            Part::Held => true,
            Part::Stalled | Part::Throttled => !is_in_need,
        };
        let all = parts.extract_if(.., |(number, _)| is_theirs(*number));
        let sum_ns: f64 = all.map(|(_, ns)| ns).sum();
        let whole: f64 = holding.roles.iter().map(|(_, share)| share).sum();
        for (role, share) in holding.roles.iter().filter(|(_, share)| *share > 0.0) {
            let number = self.number(Act { role: *role, op: Op::Write }) as PartNumber;
            let its_ns = sum_ns * share / whole;
            match parts.iter_mut().find(|(known, _)| *known == number) {
                Some((_, ns)) => *ns += its_ns,
                None if its_ns > ROUNDED_NS => parts.push((number, its_ns)),
                None => {}
            }
        }
    }

    fn end_request(&mut self, number: usize, work: f64) {
        self.in_flight -= 1;
        self.count[number] -= 1;
        self.change_work(number, -work);
        if self.in_flight == 0 {
            self.idle_since_ns = self.now_ns;
        }
        if self.count[number] == 0 {
            self.active.retain(|active| *active != number);
            self.idle.put_first(number, self.now_ns);
        }
    }

    fn end_busy(&mut self, role: RoleId, watch: &mut impl Watch<C>) {
        let (in_flight, since_ns) = &mut self.roles[usize::from(role.0)];
        *in_flight -= 1;
        if *in_flight == 0 {
            watch.busy(*since_ns, self.now_ns, role);
        }
    }
}

#[cfg(test)]
mod tests;
