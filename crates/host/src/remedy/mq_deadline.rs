//! Reads first, with a limit for writes: the 1986 paper's second suggestion.

use super::{Kind, NOTHING, Remedy, scheduler};

pub(super) const REMEDY: Remedy = Remedy {
    name: "mq-deadline",
    meaning: "the scheduler mq-deadline: reads before writes, which wait 5 s at most",
    kind: Kind::Scheduler,
    settings: |place| Ok(vec![scheduler(place, "mq-deadline")?]),
    ..NOTHING
};
