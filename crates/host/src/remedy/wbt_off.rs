//! Without writeback throttling, which some set for the sake of throughput. It counts as set by
//! hand from then on, for which there is no undoing but the device's end.

use super::{Kind, NOTHING, Remedy, of_queue};

pub(super) const REMEDY: Remedy = Remedy {
    name: "wbt-off",
    meaning: "no writeback throttling (wbt_lat_usec 0)",
    kind: Kind::Throttling,
    settings: |place| Ok(vec![of_queue(place, "wbt_lat_usec", 0)?]),
    ..NOTHING
};
