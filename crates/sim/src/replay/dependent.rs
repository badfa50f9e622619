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
use std::collections::{BinaryHeap, HashMap, VecDeque};

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
    #[inline]
    fn comes_ns(&self, anchor_ns: u64) -> u64 {
        if self.after_ns > THINK_MAX_NS {
            self.traced_ns.max(anchor_ns + THINK_MAX_NS)
        } else {
            anchor_ns + self.after_ns
        }
    }
}

/// Where an anchor lies.
type Place = usize;

/// What a process has seen in the trace so far.
#[derive(Debug, Default)]
struct Process {
    /// The last thing, and when in the trace.
    last: Option<(u64, Place)>,
    /// Completions that it will see, by when in the trace and the number of the row.
    awaited: BinaryHeap<Reverse<(u64, u64, Place)>>,
}

/// Processes are numbered by a kernel: nobody chooses numbers so that they collide.
type Map<K, V> = HashMap<K, V, FixedState>;

/// Anchors that may be needed yet, each in a place that it keeps.
#[derive(Debug, Default)]
struct Anchors {
    all: Vec<Anchor>,
    /// Places that are free again.
    free: Vec<Place>,
}

impl Anchors {
    fn add(&mut self) -> Place {
        self.free.pop().unwrap_or_else(|| {
            self.all.push(Anchor::default());
            self.all.len() - 1
        })
    }

    /// What stood there was over and has happened, so that nothing is left of it.
    fn remove(&mut self, place: Place) {
        (self.all[place].at_ns, self.all[place].is_over) = (None, false);
        self.free.push(place);
    }

    /// Nobody will be anchored at this any more: it goes as soon as it has happened.
    fn forget(&mut self, last: Option<(u64, Place)>) {
        let Some((_, place)) = last else { return };
        self.all[place].is_over = true;
        if self.all[place].at_ns.is_some() {
            self.remove(place);
        }
    }
}

/// The anchors that a row is: its coming, and its completion where somebody waits for that.
#[derive(Debug, Clone, Copy)]
struct Anchoring {
    came: Place,
    completed: Option<Place>,
}

/// Requests with what they wait for.
#[derive(Debug, Default)]
struct Dependencies {
    processes: Map<Option<u32>, Process>,
    anchors: Anchors,
    /// By the number of a row, from `first` on.
    rows: VecDeque<Anchoring>,
    first: u64,
    /// Rows that were read and have not come.
    ahead: usize,
}

impl Dependencies {
    /// A row was read, which has the next number; returns when it comes, if that is known already.
    fn read(&mut self, number: u64, row: &Request) -> Option<u64> {
        let traced_ns = arrival_ns(row);
        let process = self.processes.entry(row.pid).or_default();
        while let Some(&Reverse((at_ns, _, completed))) = process.awaited.peek() {
            if at_ns > traced_ns {
                break;
            }
            process.awaited.pop();
            self.anchors.forget(process.last.replace((at_ns, completed)));
        }
        let came = self.anchors.add();
        let follows = process.last.replace((traced_ns, came));
        let is_awaited = row.op != Op::Write || !row.flags.contains(Flags::BACKGROUND);
        let completed_ns = row.completed_ns.filter(|_| is_awaited);
        let completed = completed_ns.and_then(|at_ns| u64::try_from(at_ns).ok()).map(|at_ns| {
            let completed = self.anchors.add();
            process.awaited.push(Reverse((at_ns, number, completed)));
            completed
        });
        self.rows.push_back(Anchoring { came, completed });
        self.ahead += 1;
        let Some((anchored_ns, place)) = follows else { return Some(traced_ns) };
        let follower = Follower { number, after_ns: traced_ns - anchored_ns, traced_ns };
        let anchor = &mut self.anchors.all[place];
        let comes_ns = anchor.at_ns.map(|at_ns| follower.comes_ns(at_ns));
        if comes_ns.is_none() {
            match &mut anchor.first {
                Some(_) => anchor.others.push(follower),
                first => *first = Some(follower),
            }
        }
        self.anchors.forget(follows);
        comes_ns
    }

    /// Something happened here; tells who comes after it.
    fn happened(&mut self, happened: Happened, now_ns: u64, mut comes: impl FnMut(Follower)) {
        let of = |number: u64| self.rows.get((number - self.first) as usize);
        let place = match happened {
            Happened::Came(number) => {
                self.ahead -= 1;
                of(number).map(|row| row.came)
            }
            Happened::Completed(number) => of(number).and_then(|row| row.completed),
            Happened::Nothing => None,
        };
        let Some(place) = place else { return };
        let anchor = &mut self.anchors.all[place];
        anchor.at_ns = Some(now_ns);
        if let Some(first) = anchor.first.take() {
            comes(first);
            anchor.others.drain(..).for_each(comes);
        }
        if anchor.is_over {
            self.anchors.remove(place);
        }
    }

    /// Rows before this one have come and are completed.
    fn pass(&mut self, first: u64) {
        while self.first < first {
            self.rows.pop_front();
            self.first += 1;
        }
    }
}

/// Replays rows, sorted by arrival, on a machine; takes them and gives each out as
/// [`super::open`] does.
pub fn dependent(
    machine: ReplayMachine,
    mut next: impl FnMut(&mut Request) -> bool,
    mut sink: impl FnMut(&Request),
) -> Result<Outcome, ReplayError> {
    let mut engine = Engine::new(machine);
    let mut dependencies = Dependencies::default();
    let (mut now_ns, mut last_ns, mut is_over) = (0, 0, false);
    let mut row = Request::default();
    loop {
        while !is_over && dependencies.ahead < READ_AHEAD {
            is_over = !next(&mut row);
            if is_over || !engine.is_served(&row) {
                continue;
            }
            last_ns = super::open::in_order(&row, last_ns)?;
            let number = engine.keep(&row)?;
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
        dependencies.pass(engine.first());
    }
    engine.finish()
}
