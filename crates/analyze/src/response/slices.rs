//! Equal slices of what has no known end: a device's places, a trace's time. As soon as something lies beyond the last
//! of them, neighbours are put together and every slice is twice as wide; so there are always as many at the most, and
//! which slice something is in depends on the whole and not on the order.

use crate::traffic::{SmallTraffic, Times};
use model::record::Request;
use std::ops::Range;

/// Requests by slices.
#[derive(Debug)]
pub(super) struct Slices {
    width: u64,
    most: u64,
    /// The slice of the last one: times come in order.
    last: (Range<u64>, usize),
    slices: Vec<SmallTraffic>,
}

impl Slices {
    pub(super) fn new(width: u64, most: u64) -> Self {
        Self { width: width.max(1), most: most.max(1), last: (0..0, 0), slices: Vec::new() }
    }

    #[inline]
    pub(super) fn add(&mut self, place: u64, row: &Request, times: &Times) {
        if !self.last.0.contains(&place) {
            self.last = self.find(place);
        }
        if let Some(traffic) = self.slices.get_mut(self.last.1) {
            traffic.add_timed(row, times);
        }
    }

    /// The slice of a place, which is there then.
    fn find(&mut self, place: u64) -> (Range<u64>, usize) {
        let mut slice = place / self.width;
        while slice >= self.most {
            self.widen();
            slice /= 2;
        }
        let start = slice * self.width;
        self.slice(slice as usize);
        (start..start.saturating_add(self.width), slice as usize)
    }

    fn slice(&mut self, slice: usize) -> Option<&mut SmallTraffic> {
        if self.slices.len() <= slice {
            self.slices.resize_with(slice + 1, SmallTraffic::default);
        }
        self.slices.get_mut(slice)
    }

    fn widen(&mut self) {
        self.width = self.width.saturating_mul(2);
        self.last = (0..0, 0);
        let both = |pair: &[SmallTraffic]| {
            let mut sum = SmallTraffic::default();
            pair.iter().for_each(|traffic| sum.merge(traffic));
            sum
        };
        self.slices = self.slices.chunks(2).map(both).collect();
    }

    /// Adds slices of the same thing that began with the same width.
    pub(super) fn merge(&mut self, mut other: Self) {
        while self.width < other.width {
            self.widen();
        }
        while other.width < self.width {
            other.widen();
        }
        for (slice, theirs) in other.slices.iter().enumerate() {
            if let Some(own) = self.slice(slice) {
                own.merge(theirs);
            }
        }
    }

    /// The slices that hold something, in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Range<u64>, &SmallTraffic)> {
        let range = |slice: usize| {
            let start = slice as u64 * self.width;
            start..start.saturating_add(self.width)
        };
        let all = self.slices.iter().enumerate().filter(|(_, traffic)| !traffic.is_empty());
        all.map(move |(slice, traffic)| (range(slice), traffic))
    }
}
