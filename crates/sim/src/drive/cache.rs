//! A drive's cache: which segment a request finds its blocks in, or takes.
//!
//! Source: the rules of DiskSim 4.0's segmented cache (its manual, CMU-PDL-08-101, and
//! `disksim_diskcache.c`), written anew for one request at a time.

use super::rules::CacheRules;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum State {
    #[default]
    Empty,
    /// What is on the platter too.
    Clean,
    /// Being filled from the platter.
    Reading,
    /// Not yet on the platter.
    Writing,
}

/// Blocks one after the other.
#[derive(Debug, Clone, Default, PartialEq)]
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
        let segments = vec![Segment::default(); rules.segments];
        Self { segments, order: (0..rules.segments).collect() }
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

#[cfg(test)]
mod tests {
    use super::State::{Clean, Empty, Reading, Writing};
    use super::*;
    use crate::profile::CATALOG;

    fn rules(more: &str) -> CacheRules {
        let text = format!("kind = 'drive'\n[cache]\nassumed = 'x'\nsegments = 2\n{more}\n");
        let profile = CATALOG.load_text("d", "d.toml", &text).unwrap();
        CacheRules::read(&profile.reader().below("drive").below("cache"), 1000).unwrap()
    }

    fn segment((state, start, end): (State, u64, u64)) -> Segment {
        Segment { state, start, end, limit: 0, minimum: 0, was_written: None }
    }

    fn cache(segments: &[(State, u64, u64)]) -> Cache {
        let segments: Vec<Segment> = segments.iter().copied().map(segment).collect();
        Cache { order: (0..segments.len()).collect(), segments }
    }

    /// What a read of 20..30 makes of segments, the best first.
    const FOR_READ: [((State, u64, u64), Hit); 7] = [
        ((Reading, 10, 40), Hit::Whole),
        ((Clean, 10, 40), Hit::Whole),
        ((Reading, 10, 25), Hit::Partial),
        ((Clean, 10, 25), Hit::Partial),
        ((Empty, 0, 0), Hit::No),
        ((Clean, 50, 60), Hit::No),
        ((Reading, 50, 60), Hit::No),
    ];

    #[test]
    fn a_read_takes_the_best_segment_wherever_it_is() {
        for first in 0..FOR_READ.len() {
            let hit = FOR_READ[first].1;
            let mut segments: Vec<_> = FOR_READ[first..].iter().map(|row| row.0).collect();
            // What is being written is never read.
            segments.push((Writing, 10, 40));
            assert_eq!(cache(&segments).for_read(&rules(""), 20, 30), (0, hit), "{first}");
            segments.reverse();
            let last = segments.len() - 1;
            assert_eq!(cache(&segments).for_read(&rules(""), 20, 30), (last, hit), "{first}");
        }
        assert_eq!(cache(&[(Writing, 10, 40)]).for_read(&rules(""), 20, 30), (0, Hit::No));
    }

    #[test]
    fn a_hit_begins_and_ends_with_its_segment() {
        for (start, end, hit) in [
            (20, 30, Hit::Whole),
            (20, 29, Hit::Partial),
            (20, 21, Hit::Partial),
            (21, 30, Hit::No),
            (10, 20, Hit::No),
        ] {
            for state in [Clean, Reading] {
                let found = cache(&[(state, start, end)]).for_read(&rules(""), 20, 30);
                assert_eq!(found, (0, hit), "{state:?} {start} {end}");
            }
        }
    }

    #[test]
    fn the_block_that_is_just_being_read_is_a_hit_where_the_drive_knows_it() {
        let knows = rules("hits_on_next = true");
        for (segments, found) in [
            ([(Empty, 0, 0), (Reading, 10, 20)], (1, Hit::Partial)),
            ([(Empty, 0, 0), (Reading, 10, 19)], (0, Hit::No)),
            ([(Empty, 0, 0), (Clean, 10, 20)], (0, Hit::No)),
            // It is worth more than a part in a segment that nobody reads into.
            ([(Clean, 10, 25), (Reading, 10, 20)], (1, Hit::Partial)),
        ] {
            assert_eq!(cache(&segments).for_read(&knows, 20, 30), found, "{segments:?}");
        }
    }

    #[test]
    fn what_was_written_is_read_where_the_drive_does_so() {
        let mut cache = cache(&[(Clean, 10, 40), (Clean, 50, 60)]);
        for (was_written, without, with) in [
            (None, (0, Hit::Whole), (0, Hit::Whole)),
            (Some(false), (0, Hit::Whole), (0, Hit::Whole)),
            (Some(true), (1, Hit::No), (0, Hit::Whole)),
        ] {
            cache.segments[0].was_written = was_written;
            assert_eq!(cache.for_read(&rules(""), 20, 30), without);
            assert_eq!(cache.for_read(&rules("hits_on_written = true"), 20, 30), with);
        }
    }

    /// What a write of 20..30 makes of segments, the best first.
    const FOR_WRITE: [(State, u64, u64); 5] =
        [(Clean, 29, 40), (Empty, 20, 30), (Clean, 30, 40), (Reading, 10, 40), (Writing, 10, 40)];

    #[test]
    fn a_write_takes_the_best_segment_wherever_it_is() {
        for first in 0..FOR_WRITE.len() {
            let mut segments = FOR_WRITE[first..].to_vec();
            assert_eq!(cache(&segments).for_write(&rules(""), 20, 30), 0, "{first}");
            if segments[0].0 != Writing {
                segments.reverse();
                let last = segments.len() - 1;
                assert_eq!(cache(&segments).for_write(&rules(""), 20, 30), last, "{first}");
            }
        }
    }

    #[test]
    fn a_write_takes_the_segment_whose_blocks_it_makes_old() {
        for (start, end, taken) in [(10, 20, 0), (10, 21, 1), (29, 40, 1), (30, 40, 0), (22, 23, 1)]
        {
            let cache = cache(&[(Empty, 0, 0), (Clean, start, end)]);
            assert_eq!(cache.for_write(&rules(""), 20, 30), taken, "{start} {end}");
        }
    }

    #[test]
    fn of_equal_segments_the_least_recently_used_is_taken() {
        let mut cache = cache(&[(Clean, 50, 60), (Clean, 60, 70), (Clean, 70, 80)]);
        for (touched, next) in [(0, 1), (1, 2), (0, 2), (2, 1)] {
            cache.touch(touched);
            assert_eq!(cache.for_read(&rules(""), 20, 30), (next, Hit::No));
            assert_eq!(cache.for_write(&rules(""), 20, 30), next);
            for index in 0..3 {
                assert_eq!(cache.is_latest(index), index == touched);
            }
        }
    }

    #[test]
    fn a_segment_of_writes_is_theirs_alone() {
        let own = rules("write_segment = true");
        let cache = cache(&[(Clean, 10, 40), (Clean, 50, 60)]);
        assert_eq!(cache.for_read(&own, 20, 30), (1, Hit::No));
        assert_eq!(cache.for_write(&own, 50, 60), WRITE_SEGMENT);
        assert_eq!(cache.for_read(&rules(""), 20, 30), (0, Hit::Whole));
        assert_eq!(cache.for_write(&rules(""), 50, 60), 1);
    }

    #[test]
    fn what_a_write_makes_old_is_forgotten_but_in_its_own_segment() {
        let mut cache = cache(&[
            (Clean, 20, 30),
            (Clean, 20, 30),
            (Clean, 10, 20),
            (Clean, 30, 40),
            (Reading, 20, 30),
            (Writing, 20, 30),
            (Clean, 29, 40),
        ]);
        cache.forget(0, 20, 30);
        let states: Vec<State> = cache.segments.iter().map(|segment| segment.state).collect();
        assert_eq!(states, [Clean, Empty, Clean, Clean, Reading, Writing, Empty]);
    }

    #[test]
    fn the_oldest_blocks_make_room() {
        for (start, end, blocks, left) in
            [(0, 100, 50, 50), (0, 50, 50, 0), (60, 100, 50, 60), (10, 20, 50, 10)]
        {
            let mut segment = segment((Clean, start, end));
            segment.wrap(blocks);
            assert_eq!((segment.start, segment.end), (left, end));
        }
    }

    #[test]
    fn a_new_cache_is_empty() {
        let cache = Cache::new(&rules("write_segments = 2"));
        assert_eq!(cache.segments, vec![segment((Empty, 0, 0)); 2]);
        assert_eq!(
            (cache.for_read(&rules(""), 0, 8), cache.for_write(&rules(""), 0, 8)),
            ((0, Hit::No), 0)
        );
    }
}
