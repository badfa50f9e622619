//! Token pools by kind of request, sized by the latencies that are met.

use super::{AS_IT_IS, Remedy, scheduler};

pub(super) const REMEDY: Remedy = Remedy {
    name: "kyber",
    meaning: "the scheduler kyber: keeps reads below a latency by holding writes back",
    settings: |place| Ok(vec![scheduler(place, "kyber")?]),
    writer: AS_IT_IS,
    in_program: None,
};
