//! Requests on their way, as flight.h keeps them in the kernel: those that are told of at their end,
//! and had none yet when the capture stopped.
//!
//! Non-goals: those that are finished (`ring`).

use super::CaptureError;
use super::decode::Decoder;
use super::raw::{self, Start};
use super::ring::RECORD_BYTES;
use crate::intake::{RowsError, Steps};
use aya::maps::{Array, Map, MapData, MapError};

/// `struct on_way` in words: whose it is, and what is known.
const WORDS: usize = 1 + RECORD_BYTES / 8;
/// FLIGHT_WAYS.
const WAYS: usize = 2;

pub(super) struct OnWay(Array<MapData, [u64; WAYS * WORDS]>);

impl OnWay {
    /// Errors: a map that is none of these.
    pub(super) fn new(map: Map) -> Result<Self, CaptureError> {
        Ok(Self(Array::try_from(map).map_err(CaptureError::Map)?))
    }

    /// Tells what they did so far, in the order in which they began; how many steps that was. No
    /// program runs any more.
    /// Errors: what `steps` refuses.
    pub(super) fn tell(self, decoder: &Decoder, steps: &mut impl Steps) -> Result<u64, RowsError> {
        let sets = self.0.iter().filter_map(Result::<_, MapError>::ok);
        let ways: Vec<_> = sets.flat_map(|set| own(&set)).collect();
        let mut told: Vec<_> =
            ways.iter().map(|start| decoder.finished(start, None, steps)).collect();
        told.sort_by_key(|request| request.start.time_ns);
        told.iter().try_for_each(|request| steps.finished(request))?;
        Ok(told.iter().map(crate::event::Finished::steps).sum())
    }
}

/// What is known of the requests of a set.
fn own(set: &[u64; WAYS * WORDS]) -> Vec<Start> {
    let start = |way: &[u64]| {
        let (owner, known) = way.split_first()?;
        let bytes: Vec<u8> = known.iter().flat_map(|word| word.to_ne_bytes()).collect();
        (*owner != 0).then(|| raw::whole(&bytes)).flatten()
    };
    set.chunks_exact(WORDS).filter_map(start).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_has_what_the_header_says() {
        const HEADER: &str = include_str!("flight.h");
        assert!(HEADER.contains(&format!("#define FLIGHT_WAYS {WAYS}\n")));
        let mut set = [0; WAYS * WORDS];
        assert_eq!(own(&set).len(), 0);
        (set[WORDS], set[WORDS + 2]) = (7, 0xabcd);
        let starts = own(&set);
        assert_eq!(starts.iter().map(|start| start.step.identity).collect::<Vec<_>>(), [0xabcd]);
    }
}
