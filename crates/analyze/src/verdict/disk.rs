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

use super::actors::RoleId;
use hashbrown::HashMap;
use model::record::Op;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What a request of a role does to others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Act {
    pub(crate) role: RoleId,
    pub(crate) op: Op,
}

/// A part of a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Part {
    /// Requests of a role were in flight; of the waiter's own it is his own part.
    Act(Act),
    /// Nothing was in flight at the device.
    Held,
    /// A limit of the waiter's cgroup held it back before it was queued.
    Throttled,
    /// Requests were in flight, no flush, and the device completed none for long.
    Stalled,
}

/// How long a device may complete nothing before it stands still, in ns.
const STALL_NS: i64 = 50_000_000;

/// How much a request asks of a device, in bytes: a request as such costs as 16 KiB do, a flush as
/// 128 KiB.
fn work(op: Op, length_bytes: u32) -> f64 {
    const OF_REQUEST: u32 = 16 << 10;
    const OF_FLUSH: u32 = 128 << 10;
    f64::from(if op == Op::Flush { OF_FLUSH } else { length_bytes.saturating_add(OF_REQUEST) })
}

/// A wait that has ended.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Waited<C> {
    pub(crate) class: C,
    pub(crate) begin_ns: i64,
    pub(crate) end_ns: i64,
    /// Its parts in ns, which sum to its time.
    pub(crate) parts: Vec<(Part, f64)>,
}

/// What goes on until a moment: a request in flight, somebody's wait, or both.
#[derive(Debug)]
struct Open<C> {
    act: Option<(usize, f64)>,
    wait: Option<(C, i64, Vec<f64>)>,
}

/// Sums that every device has: nobody's time, and that in which it stood still.
const HELD: usize = 0;
const STALLED: usize = 1;
const ACTS: usize = 2;

/// A device.
#[derive(Debug)]
pub(crate) struct Disk<C> {
    now_ns: i64,
    acts: Vec<Act>,
    numbers: HashMap<Act, usize>,
    /// Work in flight and its requests, by act.
    work: Vec<f64>,
    count: Vec<u64>,
    in_flight: u64,
    /// Time that has belonged to each act, behind [`HELD`] and [`STALLED`].
    sums_ns: Vec<f64>,
    /// What of it has come since the last completion, and since when; waits that began meanwhile.
    since_ns: Vec<f64>,
    completed_ns: i64,
    begun: Vec<(usize, i64, Vec<f64>)>,
    ends: BinaryHeap<Reverse<(i64, usize)>>,
    open: Vec<Option<Open<C>>>,
    free: Vec<usize>,
    /// Memory of sums and parts that are no longer needed: a request takes none anew.
    spare: Vec<Vec<f64>>,
    spare_parts: Vec<(Part, f64)>,
}

/// What a device tells on its way.
pub(crate) trait Watch<C> {
    /// For so long from a moment on, requests of these acts were in flight.
    fn busy(&mut self, from_ns: i64, for_ns: i64, acts: &mut dyn Iterator<Item = Act>);
    /// A wait ended.
    fn waited(&mut self, wait: &Waited<C>);
}

impl<C> Disk<C> {
    pub(crate) fn new() -> Self {
        Self {
            now_ns: i64::MIN,
            acts: Vec::new(),
            numbers: HashMap::new(),
            work: Vec::new(),
            count: Vec::new(),
            in_flight: 0,
            sums_ns: vec![0.0; ACTS],
            since_ns: vec![0.0; ACTS],
            completed_ns: i64::MIN,
            begun: Vec::new(),
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
        let number = self.number(act);
        let work = work(act.op, length_bytes);
        self.work[number] += work;
        self.count[number] += 1;
        if self.in_flight == 0 {
            self.begin_anew(begin_ns);
        }
        self.in_flight += 1;
        self.open(begin_ns, end_ns, Some((number, work)), waiter);
    }

    /// A wait from now to its end that is no request itself.
    pub(crate) fn wait(
        &mut self,
        (begin_ns, end_ns): (i64, i64),
        waiter: C,
        watch: &mut impl Watch<C>,
    ) {
        self.advance(begin_ns, watch);
        self.open(begin_ns, end_ns, None, Some(waiter));
    }

    fn open(&mut self, begin_ns: i64, end_ns: i64, act: Option<(usize, f64)>, waiter: Option<C>) {
        let is_wait = waiter.is_some();
        let wait = waiter.map(|class| (class, begin_ns, copy(&self.sums_ns, &mut self.spare)));
        let open = Some(Open { act, wait });
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
            let since_ns = copy(&self.since_ns, &mut self.spare);
            self.begun.push((place, begin_ns, since_ns));
        }
        self.ends.push(Reverse((end_ns.max(begin_ns), place)));
    }

    /// From here on it is counted since when nothing was completed.
    fn begin_anew(&mut self, now_ns: i64) {
        self.completed_ns = now_ns;
        self.since_ns.iter_mut().for_each(|ns| *ns = 0.0);
        self.spare.extend(self.begun.drain(..).map(|(_, _, since_ns)| since_ns));
    }

    /// At a completion: if it was long in coming, the time since the last one is the device's.
    fn settle(&mut self, now_ns: i64) {
        let is_flush = |(act, count): (&Act, &u64)| act.op == Op::Flush && *count > 0;
        let has_flush = self.acts.iter().zip(&self.count).any(is_flush);
        if now_ns.saturating_sub(self.completed_ns) >= STALL_NS && !has_flush {
            stall(&mut self.sums_ns, &self.since_ns);
            for (place, begin_ns, since_ns) in &self.begun {
                let open = self.open.get_mut(*place).and_then(Option::as_mut);
                let wait = open.and_then(|open| open.wait.as_mut());
                // The place may be another wait's by now.
                if let Some((_, _, before)) = wait.filter(|(_, begun_ns, _)| begun_ns == begin_ns) {
                    stall(before, since_ns);
                }
            }
        }
        self.begin_anew(now_ns);
    }

    fn number(&mut self, act: Act) -> usize {
        if let Some(number) = self.numbers.get(&act) {
            return *number;
        }
        let number = self.acts.len();
        self.acts.push(act);
        self.work.push(0.0);
        self.count.push(0);
        self.sums_ns.push(0.0);
        self.since_ns.push(0.0);
        self.numbers.insert(act, number);
        number
    }

    /// Lets time go on, and what ends until then end.
    pub(crate) fn advance(&mut self, to_ns: i64, watch: &mut impl Watch<C>) {
        while let Some(Reverse((end_ns, place))) = self.ends.peek().copied() {
            if end_ns > to_ns {
                break;
            }
            self.ends.pop();
            self.pass(end_ns, watch);
            self.end(place, end_ns, watch);
        }
        self.pass(to_ns, watch);
    }

    /// Whether anything goes on.
    pub(crate) fn is_busy(&self) -> bool {
        !self.ends.is_empty()
    }

    /// Ends all that is still open.
    pub(crate) fn finish(&mut self, watch: &mut impl Watch<C>) {
        if let Some(last_ns) = self.ends.iter().map(|Reverse((end_ns, _))| *end_ns).max() {
            self.advance(last_ns, watch);
        }
    }

    fn pass(&mut self, to_ns: i64, watch: &mut impl Watch<C>) {
        let from_ns = self.now_ns;
        self.now_ns = to_ns.max(from_ns);
        let for_ns = self.now_ns.saturating_sub(from_ns);
        if for_ns <= 0 || from_ns == i64::MIN {
            return;
        }
        if self.in_flight == 0 {
            self.sums_ns[HELD] += for_ns as f64;
            return;
        }
        let all: f64 = self.work.iter().sum();
        let both = self.sums_ns.iter_mut().zip(&mut self.since_ns).skip(ACTS);
        for ((sum, since), work) in both.zip(&self.work).filter(|(_, work)| **work > 0.0) {
            let ns = for_ns as f64 * work / all;
            *sum += ns;
            *since += ns;
        }
        let acts = self.acts.iter().zip(&self.count);
        watch.busy(
            from_ns,
            for_ns,
            &mut acts.filter(|(_, count)| **count > 0).map(|(act, _)| *act),
        );
    }

    fn end(&mut self, place: usize, end_ns: i64, watch: &mut impl Watch<C>) {
        if self.open[place].as_ref().is_some_and(|open| open.act.is_some()) {
            self.settle(end_ns);
        }
        let Some(Open { act, wait }) = self.open[place].take() else { return };
        self.free.push(place);
        if let Some((number, work)) = act {
            self.in_flight -= 1;
            self.count[number] -= 1;
            // Sums of what is not in flight are exactly nothing.
            self.work[number] =
                if self.count[number] == 0 { 0.0 } else { self.work[number] - work };
        }
        let Some((class, begin_ns, before)) = wait else { return };
        let parts = self.sums_ns.iter().enumerate().filter_map(|(place, sum)| {
            let took_ns = sum - before.get(place).copied().unwrap_or(0.0);
            let part = match place {
                HELD => Part::Held,
                STALLED => Part::Stalled,
                place => Part::Act(self.acts[place - ACTS]),
            };
            (took_ns > 0.0).then_some((part, took_ns))
        });
        let mut all = std::mem::take(&mut self.spare_parts);
        all.clear();
        all.extend(parts);
        self.spare.push(before);
        let wait = Waited { class, begin_ns, end_ns, parts: all };
        watch.waited(&wait);
        self.spare_parts = wait.parts;
    }
}

/// A copy in memory that is there already, where there is some.
fn copy(of: &[f64], spare: &mut Vec<Vec<f64>>) -> Vec<f64> {
    let mut copy = spare.pop().unwrap_or_default();
    copy.clear();
    copy.extend_from_slice(of);
    copy
}

/// Moves what belonged to acts since a moment to the device.
fn stall(sums_ns: &mut [f64], since_ns: &[f64]) {
    let all: f64 = since_ns.iter().skip(ACTS).sum();
    sums_ns.iter_mut().zip(since_ns).skip(ACTS).for_each(|(sum, since)| *sum -= since);
    sums_ns[STALLED] += all;
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Default)]
    struct Seen {
        waits: Vec<Waited<u32>>,
        busy_ns: i64,
    }

    impl Watch<u32> for Seen {
        fn busy(&mut self, _: i64, for_ns: i64, acts: &mut dyn Iterator<Item = Act>) {
            assert!(acts.next().is_some());
            self.busy_ns += for_ns;
        }
        fn waited(&mut self, wait: &Waited<u32>) {
            self.waits.push(wait.clone());
        }
    }

    const OWN: Act = Act { role: RoleId(1), op: Op::Read };
    const OTHER: Act = Act { role: RoleId(2), op: Op::Write };

    #[test]
    fn a_wait_divides_into_its_own_the_others_and_nobodys_time() {
        let (mut disk, mut seen) = (Disk::new(), Seen::default());
        disk.wait((0, 100), 7, &mut seen);
        disk.request((10, 30), OWN, 4096, None, &mut seen);
        disk.request((20, 60), OTHER, 4096, None, &mut seen);
        disk.finish(&mut seen);
        let [wait] = seen.waits.as_slice() else { panic!() };
        assert_eq!((wait.class, wait.begin_ns, wait.end_ns), (7, 0, 100));
        // From 20 to 30 both ask for the same.
        let parts = [(Part::Held, 50.0), (Part::Act(OWN), 15.0), (Part::Act(OTHER), 35.0)];
        assert_eq!(wait.parts, parts);
        assert_eq!(seen.busy_ns, 50);
    }

    #[test]
    fn a_device_that_completes_nothing_for_long_stands_still_unless_it_flushes() {
        let parts = |op| {
            let (mut disk, mut seen) = (Disk::new(), Seen::default());
            let other = Act { op, ..OTHER };
            disk.request((0, STALL_NS + 100), other, 4096, None, &mut seen);
            disk.request((40, STALL_NS + 100), OWN, 4096, Some(3), &mut seen);
            disk.finish(&mut seen);
            seen.waits.remove(0).parts
        };
        assert_eq!(parts(Op::Write), [(Part::Stalled, (STALL_NS + 60) as f64)]);
        let flushed = parts(Op::Flush);
        assert!(flushed.iter().all(|(part, _)| *part != Part::Stalled), "{flushed:?}");
    }

    proptest! {
        #[test]
        fn parts_sum_to_the_wait(
            requests in prop::collection::vec(
                (0i64..1000, 0i64..300, 0u16..4, 0u32..1 << 20, any::<bool>()),
                0..60,
            ),
            scale in prop::sample::select(vec![1i64, 1_000_000]),
        ) {
            let mut requests = requests;
            requests.sort_unstable();
            let (mut disk, mut seen) = (Disk::new(), Seen::default());
            for (begin, length, role, bytes, waits) in &requests {
                let act = Act { role: RoleId(*role), op: Op::Write };
                let waiter = waits.then_some(1);
                let (begin, length) = (begin * scale, length * scale);
                disk.request((begin, begin + length), act, *bytes, waiter, &mut seen);
            }
            disk.finish(&mut seen);
            prop_assert_eq!(seen.waits.len(), requests.iter().filter(|request| request.4).count());
            for wait in seen.waits {
                let sum: f64 = wait.parts.iter().map(|(_, ns)| ns).sum();
                prop_assert!((sum - (wait.end_ns - wait.begin_ns) as f64).abs() < 1e-2);
            }
        }
    }
}
