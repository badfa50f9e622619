//! Dependent replay: a process that waited for a completion waits for it here too, and goes on
//! after the same time of thinking.
//!
//! Each request is *anchored* at the last thing of its process before it: that its previous request
//! came, or that one of its requests was completed (asynchronous writes excepted: nobody waits for
//! them). It comes as long after that as in the trace. What comes more than [`THINK_MAX_NS`] after
//! its anchor was caused by something else (a person, a timer): it comes when it came in the trace,
//! or that time after its anchor if that is later. Requests without a process are taken for those
//! of one. After Haghdoost et al., "hfplayer" (FAST 2017), who infer dependencies from think times
//! too.
//!
//! The trace is read ahead of virtual time by [`READ_AHEAD`] rows, since a faster machine is sooner
//! at them.

use super::engine::{Engine, Event, Happened};
use super::machine::ReplayMachine;
use super::open::arrival_ns;
use super::outcome::{Outcome, ReplayError};
use foldhash::fast::FixedState;
use model::record::{Flags, Op, Request};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

/// Longer than that nobody thinks, ns.
pub const THINK_MAX_NS: u64 = 1_000_000_000;

/// Rows that are read before their time.
pub const READ_AHEAD: usize = 1024;

/// Something that requests may be anchored at.
#[derive(Debug, Clone, Default)]
struct Anchor {
    /// When it happened here, ns.
    at_ns: Option<u64>,
    /// Who comes after it, and how: most often one.
    first: Option<Follower>,
    others: Vec<Follower>,
    /// Nobody will be anchored at it any more.
    is_over: bool,
}

/// A request that comes after an anchor.
#[derive(Debug, Clone, Copy)]
struct Follower {
    number: u64,
    /// How long after it came in the trace, ns.
    after_ns: u64,
    /// When it came in the trace, ns.
    traced_ns: u64,
}

impl Follower {
    fn comes_ns(&self, anchor_ns: u64) -> u64 {
        if self.after_ns > THINK_MAX_NS {
            self.traced_ns.max(anchor_ns + THINK_MAX_NS)
        } else {
            anchor_ns + self.after_ns
        }
    }
}

/// What a process has seen in the trace so far.
#[derive(Debug, Default)]
struct Process {
    /// The last thing, and when in the trace.
    last: Option<(u64, Happened)>,
    /// Completions that it will see, by when in the trace.
    awaited: BinaryHeap<Reverse<(u64, u64)>>,
}

/// Rows are numbered by ourselves, and processes by a kernel: nobody chooses numbers so that they
/// collide.
type Map<K, V> = HashMap<K, V, FixedState>;

type Anchors = Map<Happened, Anchor>;

/// Requests with what they wait for.
#[derive(Debug, Default)]
struct Dependencies {
    processes: Map<Option<u32>, Process>,
    anchors: Anchors,
    /// Rows that were read and have not come.
    ahead: usize,
}

impl Dependencies {
    /// A row was read; returns when it comes, if that is known already.
    fn read(&mut self, number: u64, row: &Request) -> Option<u64> {
        let traced_ns = arrival_ns(row);
        let process = self.processes.entry(row.pid).or_default();
        while let Some(&Reverse((at_ns, completed))) = process.awaited.peek() {
            if at_ns > traced_ns {
                break;
            }
            process.awaited.pop();
            let last = process.last.replace((at_ns, Happened::Completed(completed)));
            forget(&mut self.anchors, last);
        }
        let follows = process.last.replace((traced_ns, Happened::Came(number)));
        self.anchors.insert(Happened::Came(number), Anchor::default());
        let is_awaited = row.op != Op::Write || !row.flags.contains(Flags::BACKGROUND);
        if let Some(completed_ns) = row.completed_ns.and_then(|at_ns| u64::try_from(at_ns).ok())
            && is_awaited
        {
            process.awaited.push(Reverse((completed_ns, number)));
            self.anchors.insert(Happened::Completed(number), Anchor::default());
        }
        self.ahead += 1;
        let Some((anchored_ns, happened)) = follows else { return Some(traced_ns) };
        let follower = Follower { number, after_ns: traced_ns - anchored_ns, traced_ns };
        let anchor = self.anchors.get_mut(&happened)?;
        let comes_ns = anchor.at_ns.map(|at_ns| follower.comes_ns(at_ns));
        if comes_ns.is_none() {
            match &mut anchor.first {
                Some(_) => anchor.others.push(follower),
                first => *first = Some(follower),
            }
        }
        forget(&mut self.anchors, follows);
        comes_ns
    }

    /// Something happened here; tells who comes after it.
    fn happened(&mut self, happened: Happened, now_ns: u64, mut comes: impl FnMut(Follower)) {
        if matches!(happened, Happened::Came(_)) {
            self.ahead -= 1;
        }
        let Some(anchor) = self.anchors.get_mut(&happened) else { return };
        anchor.at_ns = Some(now_ns);
        anchor.first.take().into_iter().chain(anchor.others.drain(..)).for_each(&mut comes);
        if anchor.is_over {
            self.anchors.remove(&happened);
        }
    }
}

/// Nobody will be anchored at this any more: it goes as soon as it has happened.
fn forget(anchors: &mut Anchors, last: Option<(u64, Happened)>) {
    let Some((_, happened)) = last else { return };
    let Some(anchor) = anchors.get_mut(&happened) else { return };
    anchor.is_over = true;
    if anchor.at_ns.is_some() {
        anchors.remove(&happened);
    }
}

/// Replays rows, sorted by arrival, on a machine; gives each out as [`super::open`] does.
pub fn dependent(
    machine: ReplayMachine,
    rows: impl IntoIterator<Item = Request>,
    mut sink: impl FnMut(&Request),
) -> Result<Outcome, ReplayError> {
    let mut engine = Engine::new(machine);
    let mut dependencies = Dependencies::default();
    let mut rows = rows.into_iter();
    let (mut now_ns, mut last_ns, mut is_over) = (0, 0, false);
    loop {
        while !is_over && dependencies.ahead < READ_AHEAD {
            let Some(row) = rows.next() else {
                is_over = true;
                break;
            };
            if !engine.is_served(&row) {
                continue;
            }
            last_ns = super::open::in_order(&row, last_ns)?;
            let number = engine.keep(row)?;
            if let Some(comes_ns) = dependencies.read(number, &row) {
                engine.events.schedule(comes_ns.max(now_ns), Event::Arrival(number));
            }
        }
        let Some((at_ns, happened)) = engine.step() else { break };
        now_ns = at_ns;
        dependencies.happened(happened, now_ns, |follower| {
            let comes_ns = follower.comes_ns(now_ns);
            engine.events.schedule(comes_ns, Event::Arrival(follower.number));
        });
        engine.give(&mut sink);
    }
    engine.finish()
}
