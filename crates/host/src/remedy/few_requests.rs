//! A short queue: nobody waits behind many, and nobody orders many.

use super::{Kind, NOTHING, Remedy, of_queue};

pub(super) const REMEDY: Remedy = Remedy {
    name: "few-requests",
    meaning: "limit the disk's queue to 8 requests (nr_requests)",
    kind: Kind::QueueLength,
    settings: |place| Ok(vec![of_queue(place, "nr_requests", 8)?]),
    ..NOTHING
};
