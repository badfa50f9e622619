//! Writeback throttling with a close aim. It counts as set by hand from then on, for which there
//! is no undoing but the device's end.

use super::{AS_IT_IS, Remedy, of_queue};

pub(super) const REMEDY: Remedy = Remedy {
    name: "wbt-tight",
    meaning: "writeback throttled until reads take 1 ms (wbt_lat_usec)",
    settings: |place| Ok(vec![of_queue(place, "wbt_lat_usec", 1000)?]),
    writer: AS_IT_IS,
    in_program: None,
};
