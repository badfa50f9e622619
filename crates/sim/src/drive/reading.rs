//! Reading from the platter, track by track: what was requested, and on behind it.
//!
//! A *visit* is the time that the heads spend over one run of blocks. When each block is in the
//! buffer follows from where the heads landed, so that reading on is computed only when somebody
//! wants to know how far it came.

use super::layout::{Run, real};
use super::mechanics::{Arm, Mechanics, fraction};
use super::rules::{CacheRules, ReadAhead};

/// Sectors that a place was passed by and still counts as reached: times are sums.
const REACHED_SECTORS: f64 = 1e-4;

/// The heads over one run.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Visit {
    run: Run,
    /// The block that was wanted first.
    wanted: u64,
    /// When that one begins to pass for reading.
    begin_ns: f64,
    sector_ns: f64,
    /// Blocks that were read before those wanted first, since they passed first.
    early: (u64, u64),
    /// When the arm was there.
    landed_ns: f64,
    /// When the first sector was begun.
    first_ns: f64,
}

impl Visit {
    /// When a block is in the buffer, with all before it.
    #[inline]
    fn time_of(&self, block: u64) -> f64 {
        let last =
            if block >= self.early.0 && block < self.early.1 { self.early.0 - 1 } else { block };
        self.begin_ns + real(last + 1 - self.wanted) * self.sector_ns
    }

    /// How far it is at some time, at the most to `last`.
    fn reached(&self, now_ns: f64, last: u64) -> u64 {
        let sectors = ((now_ns - self.begin_ns) / self.sector_ns + REACHED_SECTORS).max(0.0) as u64;
        let reached = self.wanted + sectors;
        let (early, late) = self.early;
        if late > early && reached >= early {
            reached.max(late).min(last)
        } else {
            reached.min(last)
        }
    }
}

/// Where the heads are when they land, as to what is wanted there.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Landing {
    /// When the wanted block comes.
    pub(super) wanted_ns: f64,
    /// Where the heads landed behind it in the same run: the next whole block, and when it comes.
    pub(super) within: Option<(u64, f64)>,
}

impl Landing {
    pub(super) fn new(mechanics: &Mechanics, now_ns: f64, run: &Run, wanted: u64) -> Self {
        let sector_ns = run.sector_angle * mechanics.revolution_ns;
        let ahead = fraction(mechanics.angle_at(now_ns) - run.angle_of(wanted));
        let sectors = (if ahead < 0.0 { ahead + 1.0 } else { ahead }) / run.sector_angle;
        let around = 1.0 / run.sector_angle;
        if sectors < REACHED_SECTORS || sectors > around - REACHED_SECTORS {
            return Self { wanted_ns: now_ns, within: None };
        }
        let wanted_ns = now_ns + (around - sectors) * sector_ns;
        let is_within = sectors < real(run.end - wanted - 1);
        let next = (sectors - REACHED_SECTORS).ceil();
        let begin = (wanted + next as u64, now_ns + (next - sectors) * sector_ns);
        Self { wanted_ns, within: is_within.then_some(begin) }
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Reading {
    /// The first block that is not in the buffer.
    pub(super) next: u64,
    pub(super) limit: u64,
    visit: Visit,
    is_over: bool,
}

/// Blocks of the track that passed for nothing before the ones wanted.
pub(super) struct Free(pub(super) Option<u64>);

impl Reading {
    /// Begins at a block, with the arm where it is; `until` is what is requested. Where the blocks
    /// before it on its track pass and are kept, tells their first.
    pub(super) fn begin(
        mechanics: &Mechanics,
        rules: &CacheRules,
        (arm, now_ns): (Arm, f64),
        block: u64,
        until: u64,
    ) -> (Self, Free) {
        let visit = visit(mechanics, rules, (arm, now_ns), block, until);
        let is_free = rules.reads_free_blocks && visit.first_ns < visit.begin_ns;
        let free = is_free.then_some(visit.run.first);
        (Self { next: block, limit: until, visit, is_over: false }, Free(free))
    }

    pub(super) fn arm(&self) -> Arm {
        Arm::over(&self.visit.run)
    }

    /// When the next block is in the buffer.
    #[inline]
    pub(super) fn next_ns(&mut self, mechanics: &Mechanics, rules: &CacheRules, until: u64) -> f64 {
        if self.next >= self.visit.run.end {
            let now_ns = self.visit.time_of(self.next - 1);
            self.visit = visit(mechanics, rules, (self.arm(), now_ns), self.next, until);
        }
        self.visit.time_of(self.next)
    }

    /// What a sector takes where the heads are.
    pub(super) fn sector_ns(&self) -> f64 {
        self.visit.sector_ns
    }

    /// There is room for the next block only so much after it begins: it is read when it comes
    /// again.
    pub(super) fn miss(&mut self, mechanics: &Mechanics, late_ns: f64) {
        let revolutions = (late_ns / mechanics.revolution_ns).ceil();
        self.visit.begin_ns += revolutions * mechanics.revolution_ns;
        self.visit.early = (0, 0);
    }

    /// Reads on until some time; false when it came to its end.
    pub(super) fn read_on(
        &mut self,
        mechanics: &Mechanics,
        rules: &CacheRules,
        now_ns: f64,
    ) -> bool {
        while self.next < self.limit && !self.is_over {
            if self.next >= self.visit.run.end {
                self.turn_to_next_run(mechanics, rules);
                continue;
            }
            let last = self.limit.min(self.visit.run.end);
            let reached = self.visit.reached(now_ns, last).max(self.next);
            self.next = reached;
            if reached < last {
                return true;
            }
            // The change to the next track takes place only if it began by now.
            if self.next < self.limit && self.visit.time_of(last - 1) > now_ns {
                return true;
            }
        }
        false
    }

    fn turn_to_next_run(&mut self, mechanics: &Mechanics, rules: &CacheRules) {
        let (from, now_ns) = (self.visit.run, self.visit.time_of(self.next - 1));
        let to = mechanics.layout.run(self.next);
        self.is_over = !goes_on_to(rules, Arm::over(&from), Arm::over(&to));
        if !self.is_over {
            self.visit = visit(mechanics, rules, (self.arm(), now_ns), self.next, self.limit);
        }
    }

    /// When something else may have the arm, if it wants it now.
    pub(super) fn stopped_ns(&self, rules: &CacheRules, now_ns: f64) -> f64 {
        let visit = &self.visit;
        if now_ns < visit.landed_ns {
            visit.landed_ns
        } else if rules.stops_in_sector {
            now_ns
        } else if now_ns < visit.first_ns {
            visit.first_ns
        } else {
            let sectors = ((now_ns - visit.first_ns) / visit.sector_ns).ceil();
            (visit.first_ns + sectors * visit.sector_ns).max(now_ns)
        }
    }
}

/// Whether reading on goes from one track to another.
pub(super) fn goes_on_to(rules: &CacheRules, from: Arm, to: Arm) -> bool {
    match rules.read_ahead {
        ReadAhead::Track => from == to,
        ReadAhead::Cylinder => from.cylinder == to.cylinder,
        _ => true,
    }
}

fn visit(
    mechanics: &Mechanics,
    rules: &CacheRules,
    (arm, now_ns): (Arm, f64),
    wanted: u64,
    until: u64,
) -> Visit {
    let run = mechanics.layout.run(wanted);
    let landed_ns = now_ns + mechanics.position_ns(arm, Arm::over(&run), false);
    let landing = Landing::new(mechanics, landed_ns, &run, wanted);
    let is_any_order = rules.reads_any_order || rules.reads_free_blocks && wanted != run.first;
    let within = landing.within.filter(|_| is_any_order);
    let early = within.map_or((0, 0), |(block, _)| (block, until.min(run.end)));
    Visit {
        run,
        wanted,
        begin_ns: landing.wanted_ns,
        sector_ns: run.sector_angle * mechanics.revolution_ns,
        early: if early.0 < early.1 { early } else { (0, 0) },
        landed_ns,
        first_ns: within.map_or(landing.wanted_ns, |(_, begin_ns)| begin_ns),
    }
}
