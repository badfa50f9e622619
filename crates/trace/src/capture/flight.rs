//! Requests on their way, as flight.h keeps them in the kernel: those that are told of at their
//! end, and had none yet when the capture stopped.
//!
//! Non-goals: those that are finished (`ring`).

use super::CaptureError;
use super::decode::Decoder;
use super::mapping::Mapping;
use super::raw::{self, Start};
use super::ring::RECORD_BYTES;
use crate::event::Finished;
use crate::intake::{RowsError, Steps};
use aya::maps::MapData;
use rustix::mm::ProtFlags;
use std::os::fd::AsFd as _;
use std::sync::atomic::Ordering;

/// `struct on_way`: where its parts are, in bytes.
const QUEUED_AT: usize = 16;
const ISSUED_AT: usize = 24;
const KNOWN_AT: usize = 64;
const PLACE_BYTES: usize = KNOWN_AT + RECORD_BYTES;
/// FLIGHT_BITS and FLIGHT_WAYS.
const BITS: u32 = 12;
const WAYS: usize = 2;
const PLACES: usize = WAYS << BITS;

/// The table as the programs write it. The map lives as long as the programs do that use it.
#[derive(Debug)]
pub(super) struct OnWay {
    places: Mapping,
    _map: MapData,
}

impl OnWay {
    /// Errors: a map that cannot be mapped.
    pub(super) fn new(map: MapData) -> Result<Self, CaptureError> {
        let places = Mapping::new(map.fd().as_fd(), PLACES * PLACE_BYTES, ProtFlags::READ);
        Ok(Self { places: places.map_err(CaptureError::Rings)?, _map: map })
    }

    /// How many there are. Each place is looked at.
    pub(super) fn count(&self) -> u64 {
        (0..PLACES).filter(|place| self.owner(*place) != 0).count() as u64
    }

    /// When the first of them was queued. Each place is looked at; one that is taken meanwhile may
    /// be missed, and is a late one.
    pub(super) fn first_ns(&self) -> Option<i64> {
        let taken = (0..PLACES).filter(|place| self.owner(*place) != 0);
        let queued = taken.map(|place| self.word(place, QUEUED_AT) as i64);
        queued.filter(|ns| *ns > 0).min()
    }

    fn owner(&self, place: usize) -> u64 {
        self.places.word(place * PLACE_BYTES).load(Ordering::Acquire)
    }

    fn word(&self, place: usize, at: usize) -> u64 {
        self.places.word(place * PLACE_BYTES + at).load(Ordering::Relaxed)
    }

    fn known(&self, place: usize) -> Option<Start> {
        let words = (KNOWN_AT..PLACE_BYTES).step_by(8).map(|at| self.word(place, at));
        let bytes: Vec<u8> = words.flat_map(u64::to_ne_bytes).collect();
        let start: Start = raw::whole(&bytes)?;
        Some(Start { tag: self.word(place, ISSUED_AT), ..start })
    }

    /// Tells what they did so far, in the order in which they began; how many steps that was. No
    /// program runs any more.
    /// Errors: what `steps` refuses.
    pub(super) fn tell(self, decoder: &Decoder, steps: &mut impl Steps) -> Result<u64, RowsError> {
        let taken = (0..PLACES).filter(|place| self.owner(*place) != 0);
        let known: Vec<Start> = taken.filter_map(|place| self.known(place)).collect();
        let told = known.iter().map(|start| decoder.finished(start, None, steps));
        let mut told: Vec<Finished> = told.collect();
        told.sort_by_key(|request| request.start.time_ns);
        told.iter().try_for_each(|request| steps.finished(request))?;
        Ok(told.iter().map(Finished::steps).sum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_that_of_the_header() {
        const HEADER: &str = include_str!("flight.h");
        assert!(HEADER.contains(&format!("#define FLIGHT_BITS {BITS}\n")));
        assert!(HEADER.contains(&format!("#define FLIGHT_WAYS {WAYS}\n")));
    }
}
