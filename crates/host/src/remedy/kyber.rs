//! Token pools by kind of request, sized by the latencies that are met.

use super::{Kind, NOTHING, Remedy, scheduler};

pub(super) const REMEDY: Remedy = Remedy {
    name: "kyber",
    meaning: "I/O scheduler kyber: holds writes back to keep read latency low",
    kind: Kind::Scheduler,
    settings: |place| Ok(vec![scheduler(place, "kyber")?]),
    ..NOTHING
};
