//! Equal slices of what has no known end: a device's places, a trace's time. As soon as something
//! lies beyond the last of them, neighbours are put together and every slice is twice as wide; so
//! there are always as many at the most, and which slice something is in depends on the whole and
//! not on the order.

use crate::requests::{Share, SmallTraffic, Tally};
use std::ops::Range;

/// What a slice holds, and what is still to be added to it.
#[derive(Debug, Clone, Default)]
struct Slice {
    tally: Tally,
    traffic: SmallTraffic,
}

impl Slice {
    fn settle(&mut self) {
        self.traffic.settle(&self.tally);
        self.tally.clear();
    }
}

fn shift_of(width: u64) -> Option<u32> {
    width.is_power_of_two().then(|| width.trailing_zeros())
}

#[derive(Debug)]
pub(super) struct Slices {
    width: u64,
    /// The power of two that the width is, if it is one: a shift is quicker than a division.
    shift: Option<u32>,
    most: usize,
    /// The slice of the last one: times come in order.
    last: (Range<u64>, usize),
    slices: Vec<Slice>,
}

impl Slices {
    pub(super) fn new(width: u64, most: usize) -> Self {
        let width = width.max(1);
        Self {
            width,
            shift: shift_of(width),
            most: most.max(1),
            last: (0..0, 0),
            slices: Vec::new(),
        }
    }

    #[inline(always)]
    pub(super) fn add(&mut self, place: u64, share: &Share) {
        let slice = match self.slice_of(place) {
            Some(slice) => slice,
            None => self.widen_for(place),
        };
        if let Some(slice) = self.slices.get_mut(slice)
            && slice.tally.add(share)
        {
            slice.settle();
        }
    }

    /// The slice that a place is in; none of a place for which all are to be widened first.
    #[inline(always)]
    pub(super) fn slice_of(&mut self, place: u64) -> Option<usize> {
        if self.last.0.contains(&place) {
            return Some(self.last.1);
        }
        let slice = self.shift.map_or_else(|| place / self.width, |shift| place >> shift);
        let slice = usize::try_from(slice).ok().filter(|slice| *slice < self.most)?;
        if self.slices.len() <= slice {
            self.slices.resize_with(slice + 1, Slice::default);
        }
        let start = slice as u64 * self.width;
        self.last = (start..start.saturating_add(self.width), slice);
        Some(slice)
    }

    /// Widens all until each is as wide.
    pub(super) fn widen_to(&mut self, width: u64) {
        while self.width < width {
            self.widen();
        }
    }

    /// Widens all until a place is in one of them.
    pub(super) fn widen_for(&mut self, place: u64) -> usize {
        loop {
            if let Some(slice) = self.slice_of(place) {
                return slice;
            }
            self.widen();
        }
    }

    /// What is known of the slice that a place is in.
    pub(super) fn traffic_of(&mut self, place: u64) -> &mut SmallTraffic {
        let slice = match self.slice_of(place) {
            Some(slice) => slice,
            None => self.widen_for(place),
        };
        &mut self.slices[slice].traffic
    }

    /// Adds what was put together elsewhere of one slice.
    pub(super) fn settle_into(&mut self, slice: usize, tally: &Tally) {
        if let Some(slice) = self.slices.get_mut(slice) {
            slice.traffic.settle(tally);
        }
    }

    /// Adds what is still to be added; before anything is known.
    pub(super) fn settle(&mut self) {
        self.slices.iter_mut().for_each(Slice::settle);
    }

    fn widen(&mut self) {
        self.settle();
        self.width = self.width.saturating_mul(2);
        self.shift = shift_of(self.width);
        self.last = (0..0, 0);
        let both = |pair: &[Slice]| {
            let mut sum = Slice::default();
            pair.iter().for_each(|slice| sum.traffic.merge(&slice.traffic));
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
        other.settle();
        if self.slices.len() < other.slices.len() {
            self.slices.resize_with(other.slices.len(), Slice::default);
        }
        for (own, theirs) in self.slices.iter_mut().zip(&other.slices) {
            own.traffic.merge(&theirs.traffic);
        }
    }

    /// The slices that hold something, in order; they are settled.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Range<u64>, &SmallTraffic)> {
        let range = |slice: usize| {
            let start = slice as u64 * self.width;
            start..start.saturating_add(self.width)
        };
        let all = self.slices.iter().map(|slice| &slice.traffic).enumerate();
        let told = all.filter(|(_, traffic)| !traffic.is_empty());
        told.map(move |(slice, traffic)| (range(slice), traffic))
    }
}
