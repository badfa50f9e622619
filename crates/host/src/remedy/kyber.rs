//! Token pools by kind of request, sized by the latencies that are met.

use super::{Kind, NOTHING, Remedy, scheduler};

pub(super) const REMEDY: Remedy = Remedy {
    name: "kyber",
    meaning: "the scheduler kyber: keeps reads below a latency by holding writes back",
    kind: Kind::Scheduler,
    settings: |place| Ok(vec![scheduler(place, "kyber")?]),
    ..NOTHING
};
