//! Requests that repeat, as repeated.h keeps them in the kernel: what those of a record are called,
//! and the sums of those that were named.
//!
//! Non-goals: which of them are named, and which together (crate `capture`).

use super::CaptureError;
use super::raw::{self, Start};
use super::ring::now_ns;
use super::summed::{PLACES_OF_ROW, Quick, Sums};
use crate::event::Repeated;
use aya::maps::{Array, Map, MapData};
use model::histogram::{Binned, first_of};
use std::time::Duration;

/// Who takes so long is told in any case.
pub const REPEATS_BELOW: Duration = Duration::from_nanos(1 << 22);
/// So many sums there can be.
pub const SUMS_MOST: usize = PLACES_OF_ROW;
/// REPEATED_BITS.
const BITS: u32 = 10;
/// One record of so many is looked at, for each costs: a prime, so that no rotation hides from it.
pub const ONE_OF: u32 = 17;
/// PI_0 to PI_7.
const PI: [u64; 8] = [
    0x243f_6a88_85a3_08d3,
    0x1319_8a2e_0370_7345,
    0xa409_3822_299f_31d1,
    0x082e_fa98_ec4e_6c89,
    0x4528_21e6_38d0_1377,
    0xbe54_66cf_34e9_0c6d,
    0xc0ac_29b7_c97c_50dd,
    0x3f84_d5b5_b547_0917,
];

/// The hash of repeated.h.
fn hash_of(raw: &Start, by_file: bool) -> Repeated {
    let both = |high: u32, low: u64| u64::from(high) << 32 | low;
    let step = &raw.step;
    let marks = u64::from(step.marks) << 8 | u64::from(raw.file_kind);
    let (inode, generation) = if by_file { (raw.inode, raw.generation) } else { (0, 0) };
    let (first, second) = raw.command.split_at(8);
    let word = |bytes: &[u8]| bytes.first_chunk().map_or(0, |bytes| u64::from_ne_bytes(*bytes));
    let words = [
        both(step.device, step.length_bytes.into()),
        both(step.command_flags, marks),
        both(raw.tgid, raw.pid.into()),
        inode,
        both(generation, raw.file_system.into()),
        raw.cgroup,
        word(first),
        word(second),
    ];
    let products = words.iter().zip(PI).map(|(word, by)| word.wrapping_mul(by));
    Repeated(products.fold(0, u64::wrapping_add))
}

/// Where the kernel looks for it.
fn places_of(of: Repeated) -> [u32; 2] {
    let first = (of.0 >> (u64::BITS - BITS)) as u32;
    [first, first ^ 1]
}

/// Where the bucket begins that a threshold is in: all that is below fills its buckets.
pub(super) fn threshold_ns(below: Duration) -> u64 {
    let ns = below.min(REPEATS_BELOW).as_nanos() as u64;
    first_of(u64::from(Binned::new(ns).bucket())).unwrap_or(0)
}

/// What a place of the names has: whose it is, and which sums it has.
type Name = Option<(Repeated, usize)>;

/// What is named.
pub(super) struct Repeats {
    sums: Sums,
    names: Array<MapData, [u64; 3]>,
    places: Vec<Name>,
    by_file: bool,
    /// Records until the next one that is looked at.
    until: u32,
    /// When the sums were taken last.
    taken_ns: u64,
}

shows!(Repeats: places);

impl Repeats {
    /// `by_file` if those of different files differ.
    /// Errors: a map that is none.
    pub(super) fn new(sums: Sums, names: MapData, by_file: bool) -> Result<Self, CaptureError> {
        let names = Array::try_from(Map::Array(names))?;
        let places = vec![None; 1 << BITS];
        Ok(Self { sums, names, places, by_file, until: ONE_OF, taken_ns: now_ns() })
    }

    /// Looks at a record. Says of one in so many what it is called.
    pub(super) fn see(&mut self, record: &[u8]) -> Option<Repeated> {
        self.until -= 1;
        if self.until > 0 || raw::kind_of(record)? != raw::kind::FINISHED {
            self.until = self.until.max(1);
            return None;
        }
        self.until = ONE_OF;
        Some(hash_of(&raw::whole(record)?, self.by_file))
    }

    /// Sums them up from now on, until a moment at which they were queued, together with all others
    /// that have these sums; whether there is a place for the name.
    pub(super) fn sum_up(&mut self, of: Repeated, sums: usize, until_ns: i64) -> bool {
        let is_its = |place: &u32| match self.places[*place as usize] {
            Some((other, _)) => other == of,
            None => true,
        };
        let Some(place) = places_of(of).into_iter().find(is_its) else { return false };
        // Where the kernel refuses, all are told. Until the moment is written, nothing is summed
        // up: nobody sees a name with another one's sums.
        let until_ns = until_ns.max(0).unsigned_abs();
        let mut write = |until_ns| self.names.set(place, [of.0, sums as u64, until_ns], 0).is_ok();
        let is_named = sums < SUMS_MOST && write(0) && write(until_ns);
        if is_named {
            self.places[place as usize] = Some((of, sums));
        }
        is_named
    }

    /// Tells all from now on that have these sums; some are in a program, and come to the sums that
    /// are taken next.
    pub(super) fn tell(&mut self, sums: usize) {
        for (place, name) in (0..).zip(&mut self.places) {
            if name.is_some_and(|(_, of)| of == sums) && self.names.set(place, [0; 3], 0).is_ok() {
                *name = None;
            }
        }
    }

    /// The moment has passed until which all were named: each place is free.
    pub(super) fn forget(&mut self) {
        self.places.fill(None);
    }

    /// Sums since this was last asked, of those that have any.
    pub(super) fn take(&mut self) -> Vec<(usize, Quick)> {
        let since_ns = std::mem::replace(&mut self.taken_ns, now_ns());
        let taken = (0..SUMS_MOST).map(|number| (number, self.sums.take(number, since_ns)));
        taken.filter(|(_, quick)| quick.responses.count() > 0).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_that_of_the_header() {
        const HEADER: &str = concat!(include_str!("repeated.h"), include_str!("block.h"));
        assert!(HEADER.contains(&format!("#define REPEATED_BITS {BITS}\n")));
        for (number, by) in PI.iter().enumerate() {
            assert!(HEADER.contains(&format!("#define PI_{number} {by:#018x}\n")), "{number}");
        }
    }
}
