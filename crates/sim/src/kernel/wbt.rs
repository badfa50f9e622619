//! Throttling of buffered writes: as many at once as let reads keep their latency
//! (`block/blk-wbt.c`, `block/blk-rq-qos.c`).
//!
//! In windows of 100 ms the least latency of reads is held against the aim; above it half as many
//! writes are let through, below it more. Writers wait in line, and are let go on when none is on
//! its way (as for drives with a write cache).

use super::Bio;
use model::record::Op;
use std::collections::VecDeque;

/// Writes at once where nothing is known (`RWB_DEF_DEPTH`), and what a queue holds.
const DEFAULT_DEPTH: u32 = 16;
const QUEUE_DEPTH: u32 = 128;
const WINDOW_NS: u64 = 100_000_000;
/// `RWB_MIN_WRITE_SAMPLES`, `RWB_UNKNOWN_BUMP`.
const WRITES_LEAST: u64 = 3;
const UNKNOWN_MOST: u32 = 5;
/// Reads so long ago are recent (`close_io`).
const CLOSE_NS: u64 = 100_000_000;
/// A program that was made to wait for dirty pages so long ago may write more (`wb_recent_wait`).
const RECENT_WAIT_NS: u64 = 1_000_000_000;

/// What a window has seen.
#[derive(Debug, Clone, Copy, Default)]
struct Seen {
    reads: u64,
    read_least_ns: u64,
    writes: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Latency {
    Ok,
    Exceeded,
    Unknown,
    OnlyWrites,
}

/// The throttle.
#[derive(Debug, Default)]
pub(super) struct Wbt {
    latency_ns: u64,
    scale_step: i32,
    is_scaled_most: bool,
    depth: u32,
    unknown: u32,
    in_flight: u32,
    waiting: VecDeque<Bio>,
    seen: Seen,
    window_ends_ns: Option<u64>,
    /// The read that was given to the drive and is not completed: which, and since when.
    oldest_read: Option<(u64, u64)>,
    last_read_ns: Option<u64>,
    last_dirty_wait_ns: Option<u64>,
}

impl Wbt {
    pub(super) fn new(latency_ns: u64) -> Self {
        let mut wbt = Self { latency_ns, ..Self::default() };
        wbt.scale();
        wbt
    }

    /// Another aim; what is on its way stays so.
    pub(super) fn set_latency(&mut self, latency_ns: u64) {
        if latency_ns != self.latency_ns {
            (self.latency_ns, self.scale_step) = (latency_ns, 0);
            self.scale();
        }
    }

    fn is_on(&self) -> bool {
        self.latency_ns > 0
    }

    /// How many at once by the step: `rq_depth_calc_max_depth`.
    fn scale(&mut self) {
        let depth = DEFAULT_DEPTH;
        self.is_scaled_most = false;
        self.depth = match self.scale_step {
            step if step > 0 => 1 + ((depth - 1) >> step.min(31)),
            step if step < 0 => {
                let (wanted, most) = (1 + ((depth - 1) << -step), 3 * QUEUE_DEPTH / 4);
                self.is_scaled_most = wanted > most;
                wanted.min(most)
            }
            _ => depth,
        };
    }

    /// Writes at once that nobody waits for, and in the background: `calc_wb_limits`.
    fn limits(&self) -> (u32, u32) {
        match self.depth {
            depth if depth <= 2 => (depth, 1),
            depth => (depth.div_ceil(2), depth.div_ceil(4)),
        }
    }

    fn limit(&self, bio: &Bio, now_ns: u64) -> u32 {
        let is_since = |since: Option<u64>, ns: u64| since.is_some_and(|at_ns| now_ns < at_ns + ns);
        let (normal, background) = self.limits();
        // REQ_SYNC: what somebody waits for is let on to the whole depth.
        if bio.kind.is_sync || is_since(self.last_dirty_wait_ns, RECENT_WAIT_NS) {
            self.depth
        } else if bio.kind.is_background || is_since(self.last_read_ns, CLOSE_NS) {
            background
        } else {
            normal
        }
    }

    /// Somebody had to wait for dirty pages.
    pub(super) fn dirty_wait(&mut self, now_ns: u64) {
        self.last_dirty_wait_ns = Some(now_ns);
    }

    /// A request wants to the queue: whether it may at once; else it waits in line.
    pub(super) fn enter(&mut self, bio: Bio, now_ns: u64) -> bool {
        if bio.kind.operation == Op::Read {
            self.last_read_ns = Some(now_ns);
        }
        if !bio.kind.is_buffered || !self.is_on() {
            return true;
        }
        self.window_ends_ns.get_or_insert(now_ns + WINDOW_NS);
        if self.waiting.is_empty() && self.in_flight < self.limit(&bio, now_ns) {
            self.in_flight += 1;
            return true;
        }
        self.waiting.push_back(bio);
        false
    }

    /// A request was given to the drive.
    pub(super) fn issue(&mut self, bio: &Bio, now_ns: u64) {
        if bio.kind.operation == Op::Read && self.oldest_read.is_none() {
            self.oldest_read = Some((bio.number, now_ns));
        }
    }

    /// A request that took so long is completed; adds those that may go on now.
    pub(super) fn complete(
        &mut self,
        bio: &Bio,
        (now_ns, took_ns): (u64, u64),
        go_on: &mut Vec<Bio>,
    ) {
        match bio.kind.operation {
            Op::Read => {
                self.last_read_ns = Some(now_ns);
                let least_ns =
                    if self.seen.reads == 0 { u64::MAX } else { self.seen.read_least_ns };
                self.seen.read_least_ns = least_ns.min(took_ns);
                self.seen.reads += 1;
                if self.oldest_read.is_some_and(|(number, _)| number == bio.number) {
                    self.oldest_read = None;
                }
            }
            Op::Write => self.seen.writes += 1,
            _ => {}
        }
        if bio.kind.is_buffered && self.is_on() {
            self.in_flight = self.in_flight.saturating_sub(1);
            let waited = |at_ns: u64| now_ns < at_ns + RECENT_WAIT_NS;
            let (normal, background) = self.limits();
            let limit = if self.last_dirty_wait_ns.is_some_and(waited) { normal } else { 0 };
            let is_room = self.in_flight < limit && limit - self.in_flight >= background / 2;
            if self.in_flight == 0 || is_room {
                self.wake(now_ns, go_on);
            }
        }
    }

    /// Lets those go on who may, in line.
    fn wake(&mut self, now_ns: u64, go_on: &mut Vec<Bio>) {
        while let Some(next) = self.waiting.front() {
            if self.is_on() && self.in_flight >= self.limit(next, now_ns) {
                break;
            }
            self.in_flight += u32::from(self.is_on());
            go_on.extend(self.waiting.pop_front());
        }
    }

    /// When the window ends.
    pub(super) fn next_ns(&self) -> Option<u64> {
        self.window_ends_ns
    }

    /// The window is over: `wb_timer_fn`.
    pub(super) fn window_ends(&mut self, now_ns: u64, go_on: &mut Vec<Bio>) {
        let window_ns = self.window_ns();
        match self.judge(now_ns, window_ns) {
            Latency::Exceeded => self.step_down(true),
            Latency::Ok | Latency::OnlyWrites => self.step_up(now_ns, go_on),
            Latency::Unknown => {
                self.unknown += 1;
                if self.unknown >= UNKNOWN_MOST && self.scale_step > 0 {
                    self.step_up(now_ns, go_on);
                } else if self.unknown >= UNKNOWN_MOST && self.scale_step < 0 {
                    self.step_down(false);
                }
            }
        }
        self.seen = Seen::default();
        let goes_on = self.scale_step != 0 || self.in_flight > 0;
        self.window_ends_ns = goes_on.then(|| now_ns + self.window_ns());
    }

    /// The more is throttled, the shorter: `rwb_arm_timer`.
    fn window_ns(&self) -> u64 {
        match self.scale_step {
            step if step > 0 => {
                let root = (u64::from(step.unsigned_abs() + 1) << 8).isqrt();
                (WINDOW_NS << 4) / root.max(1)
            }
            _ => WINDOW_NS,
        }
    }

    /// `latency_exceeded`.
    fn judge(&self, now_ns: u64, window_ns: u64) -> Latency {
        let waits_ns = self.oldest_read.map_or(0, |(_, since_ns)| now_ns - since_ns);
        if waits_ns > window_ns || (waits_ns > self.latency_ns && self.seen.reads == 0) {
            return Latency::Exceeded;
        }
        if self.seen.reads == 0 || self.seen.writes < WRITES_LEAST {
            let are_writes = self.seen.writes > 0 || self.in_flight > 0;
            return if are_writes { Latency::OnlyWrites } else { Latency::Unknown };
        }
        let is_above = self.seen.read_least_ns > self.latency_ns;
        if is_above { Latency::Exceeded } else { Latency::Ok }
    }

    fn step_up(&mut self, now_ns: u64, go_on: &mut Vec<Bio>) {
        if !self.is_scaled_most {
            self.scale_step -= 1;
            self.scale();
            self.unknown = 0;
            self.wake(now_ns, go_on);
        }
    }

    fn step_down(&mut self, is_hard: bool) {
        if self.depth > 1 {
            self.scale_step = if is_hard && self.scale_step < 0 { 0 } else { self.scale_step + 1 };
            self.scale();
            self.unknown = 0;
        }
    }
}
