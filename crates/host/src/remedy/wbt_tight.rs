//! Writeback throttling with a close aim. It counts as set by hand from then on, for which there
//! is no undoing but the device's end.

use super::{Kind, NOTHING, Remedy, of_queue};

pub(super) const REMEDY: Remedy = Remedy {
    name: "wbt-tight",
    meaning: "throttle writeback to keep read latency at 1 ms (wbt_lat_usec)",
    kind: Kind::Throttling,
    settings: |place| Ok(vec![of_queue(place, "wbt_lat_usec", 1000)?]),
    ..NOTHING
};
