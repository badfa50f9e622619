//! Requests that repeat, as repeated.h keeps them in the kernel: which ones come often, and the
//! sums of those that were named.
//!
//! Non-goals: which of them may be summed up (crate `standing`).

use super::CaptureError;
use super::raw::{self, Start};
use super::ring::now_ns;
use super::summed::{PLACES_OF_ROW, Quick, Sums};
use crate::event::Repeated;
use aya::maps::{Array, Map, MapData};
use hashbrown::HashMap;
use std::time::Duration;

/// Who takes so long is told, of those that repeat: a power of two, so that the last bucket is
/// whole.
pub(super) const BELOW: Duration = Duration::from_nanos(1 << 22);
/// REPEATED_BITS.
const BITS: u32 = 6;
/// One record of so many is looked at, for each costs: a prime, so that no rotation hides from it.
const ONE_OF: u32 = 17;
/// So many of these between two emptyings of the rings come often.
const OFTEN: u32 = 15;
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
fn hash_of(raw: &Start) -> Repeated {
    let both = |high: u32, low: u64| u64::from(high) << 32 | low;
    let step = &raw.step;
    let marks = u64::from(step.marks) << 8 | u64::from(raw.file_kind);
    let (first, second) = raw.command.split_at(8);
    let word = |bytes: &[u8]| bytes.first_chunk().map_or(0, |bytes| u64::from_ne_bytes(*bytes));
    let words = [
        both(step.device, step.length_bytes.into()),
        both(step.command_flags, marks),
        both(raw.tgid, raw.pid.into()),
        raw.inode,
        both(raw.generation, raw.file_system.into()),
        raw.cgroup,
        word(first),
        word(second),
    ];
    let products = words.iter().zip(PI).map(|(word, by)| word.wrapping_mul(by));
    Repeated(products.fold(0, u64::wrapping_add))
}

/// Where the kernel looks for it.
fn place_of(of: Repeated) -> u32 {
    (of.0 >> (u64::BITS - BITS)) as u32
}

/// A place among the sums.
#[derive(Debug, Clone, Copy, Default)]
struct Place {
    /// Whose it is.
    of: Option<Repeated>,
    /// It is named no more, and its sums were not read since.
    is_left: bool,
}

/// What comes often, and what is named.
pub(super) struct Repeats {
    sums: Sums,
    names: Array<MapData, [u64; 3]>,
    places: [Place; PLACES_OF_ROW],
    /// Those of the rings' records since they were last emptied; and the last one, for they come
    /// in runs.
    seen: HashMap<Repeated, u32>,
    last: Option<(Repeated, u32)>,
    /// Records until the next one that is looked at.
    until: u32,
    /// When the sums were taken last.
    taken_ns: u64,
}

shows!(Repeats: places);

impl Repeats {
    /// Errors: a map that is none.
    pub(super) fn new(sums: Sums, names: MapData) -> Result<Self, CaptureError> {
        let names = Array::try_from(Map::Array(names))?;
        let places = Default::default();
        let (seen, taken_ns) = (HashMap::new(), now_ns());
        Ok(Self { sums, names, places, seen, last: None, until: ONE_OF, taken_ns })
    }

    /// The rings are emptied anew.
    pub(super) fn begin(&mut self) {
        self.seen.clear();
        self.last = None;
    }

    /// Looks at a record. Says when it is of those that come often, once in an emptying.
    pub(super) fn see(&mut self, record: &[u8]) -> Option<Repeated> {
        self.until -= 1;
        if self.until > 0 || raw::kind_of(record)? != raw::kind::FINISHED {
            self.until = self.until.max(1);
            return None;
        }
        self.until = ONE_OF;
        let of = hash_of(&raw::whole(record)?);
        if self.last.is_none_or(|(last, _)| last != of) {
            self.seen.extend(self.last.take());
            self.last = Some((of, self.seen.get(&of).copied().unwrap_or(0)));
        }
        let (_, count) = self.last.as_mut()?;
        *count = count.saturating_add(1);
        (*count == OFTEN).then_some(of)
    }

    /// Sums them up from now on, until a moment at which they were queued; whether there is a
    /// place for it.
    pub(super) fn sum_up(&mut self, of: Repeated, until_ns: i64) -> bool {
        let is_taken =
            |place: &Place| place.of.is_some_and(|other| place_of(other) == place_of(of));
        let known = self.places.iter().position(|place| place.of == Some(of) && !place.is_left);
        let free = || {
            let free = self.places.iter().position(|place| place.of.is_none());
            free.filter(|_| !self.places.iter().any(is_taken))
        };
        let Some(place) = known.or_else(free) else { return false };
        let words = [of.0, place as u64, until_ns.max(0).unsigned_abs()];
        // Where the kernel refuses, all are told.
        let is_named = self.names.set(place_of(of), words, 0).is_ok();
        if is_named {
            self.places[place] = Place { of: Some(of), is_left: false };
        }
        is_named
    }

    /// Tells them from now on.
    pub(super) fn tell(&mut self, of: Repeated) {
        let places = self.places.iter_mut().filter(|place| place.of == Some(of));
        for place in places {
            if self.names.set(place_of(of), [0; 3], 0).is_ok() {
                place.is_left = true;
            }
        }
    }

    /// Sums since this was last asked. Who was told to be told has its place until then: until a
    /// program is out of it.
    pub(super) fn take(&mut self) -> Vec<(Repeated, Quick)> {
        let mut taken = Vec::new();
        let now = now_ns();
        let since = (std::mem::replace(&mut self.taken_ns, now), now);
        for (number, place) in self.places.iter_mut().enumerate() {
            let Some(of) = place.of else { continue };
            if place.is_left {
                *place = Place::default();
            }
            let quick = self.sums.take(number, since);
            if quick.responses.count() > 0 {
                taken.push((of, quick));
            }
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_that_of_the_header() {
        const HEADER: &str = include_str!("repeated.h");
        assert!(HEADER.contains(&format!("#define REPEATED_BITS {BITS}\n")));
        for (number, by) in PI.iter().enumerate() {
            assert!(HEADER.contains(&format!("#define PI_{number} {by:#018x}\n")), "{number}");
        }
    }
}
