//! Without writeback throttling, which some set for the sake of throughput. It counts as set by
//! hand from then on, for which there is no undoing but the device's end.

use super::{AS_IT_IS, Remedy, of_queue};

pub(super) const REMEDY: Remedy = Remedy {
    name: "wbt-off",
    meaning: "no throttling of writeback (wbt_lat_usec)",
    settings: |place| Ok(vec![of_queue(place, "wbt_lat_usec", 0)?]),
    writer: AS_IT_IS,
    in_program: None,
};
