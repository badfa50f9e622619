//! A drive's cache: which segment a request finds its blocks in, or takes.
//!
//! Source: the rules of DiskSim 4.0's segmented cache (its manual, CMU-PDL-08-101, and
//! `disksim_diskcache.c`), written anew for one request at a time.

use super::rules::CacheRules;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Empty,
    /// What is on the platter too.
    Clean,
    /// Being filled from the platter.
    Reading,
    /// Not yet on the platter.
    Writing,
}

/// Blocks one after the other.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Segment {
    pub(super) state: State,
    pub(super) start: u64,
    /// The one after its last.
    pub(super) end: u64,
    /// Where reading on ends.
    pub(super) limit: u64,
    /// Where reading on may be interrupted.
    pub(super) minimum: u64,
    /// Its last use was a write; none before the first.
    pub(super) was_written: Option<bool>,
}

impl Segment {
    fn overlaps(&self, block: u64, end: u64) -> bool {
        block < self.end && end > self.start
    }

    /// Room is made for the newest blocks by the oldest.
    pub(super) fn wrap(&mut self, blocks: u64) {
        self.start = self.start.max(self.end.saturating_sub(blocks));
    }
}

/// How a read finds its blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hit {
    /// Not the first.
    No,
    /// The first ones.
    Partial,
    /// All.
    Whole,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Cache {
    pub(super) segments: Vec<Segment>,
    /// Least recently used first.
    order: Vec<usize>,
}

/// The segment that only writes use, where there is one.
const WRITE_SEGMENT: usize = 0;

impl Cache {
    pub(super) fn new(rules: &CacheRules) -> Self {
        let empty = Segment {
            state: State::Empty,
            start: 0,
            end: 0,
            limit: 0,
            minimum: 0,
            was_written: None,
        };
        Self { segments: vec![empty; rules.segments], order: (0..rules.segments).collect() }
    }

    /// The segment that a read of `block..end` is to use.
    pub(super) fn for_read(&self, rules: &CacheRules, block: u64, end: u64) -> (usize, Hit) {
        let mut best = (0, 0, Hit::No);
        for &index in &self.order {
            if rules.has_write_segment && index == WRITE_SEGMENT {
                continue;
            }
            let segment = &self.segments[index];
            let is_in = block >= segment.start && block < segment.end;
            let (value, hit) = match segment.state {
                State::Empty => (3, Hit::No),
                State::Writing => continue,
                State::Reading if rules.hits_on_next && block == segment.end => (5, Hit::Partial),
                State::Clean | State::Reading if !is_in => {
                    (1 + u8::from(segment.state == State::Clean), Hit::No)
                }
                State::Clean if segment.was_written == Some(true) && !rules.hits_on_written => {
                    continue;
                }
                state => {
                    let (value, hit) =
                        if segment.end >= end { (8, Hit::Whole) } else { (4, Hit::Partial) };
                    (value + u8::from(state == State::Reading), hit)
                }
            };
            if value > best.0 {
                best = (value, index, hit);
            }
        }
        (best.1, best.2)
    }

    /// The segment that a write of `block..end` is to use, when nothing is being written.
    pub(super) fn for_write(&self, rules: &CacheRules, block: u64, end: u64) -> usize {
        if rules.has_write_segment {
            return WRITE_SEGMENT;
        }
        let mut best = (0, 0);
        for &index in &self.order {
            let segment = &self.segments[index];
            let value = match segment.state {
                State::Clean if segment.overlaps(block, end) => 4,
                State::Empty => 3,
                State::Clean => 2,
                State::Reading => 1,
                State::Writing => 0,
            };
            if value > best.0 {
                best = (value, index);
            }
        }
        best.1
    }

    /// A segment is the most recently used now.
    pub(super) fn touch(&mut self, index: usize) {
        let place = self.order.iter().position(|at| *at == index).unwrap_or(0);
        self.order[place..].rotate_left(1);
    }

    /// Whether a segment is the most recently used.
    pub(super) fn is_latest(&self, index: usize) -> bool {
        self.order.last() == Some(&index)
    }

    /// What a write makes old is forgotten in all segments but its own.
    pub(super) fn forget(&mut self, own: usize, block: u64, end: u64) {
        for (index, segment) in self.segments.iter_mut().enumerate() {
            if index != own && segment.state == State::Clean && segment.overlaps(block, end) {
                segment.state = State::Empty;
            }
        }
    }
}
