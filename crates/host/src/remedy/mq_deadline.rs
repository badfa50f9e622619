//! Reads first, with a limit for writes: the 1986 paper's second suggestion.

use super::{Kind, NOTHING, Remedy, scheduler};

pub(super) const REMEDY: Remedy = Remedy {
    name: "mq-deadline",
    meaning: "I/O scheduler mq-deadline: reads first, writes wait at most 5 s",
    kind: Kind::Scheduler,
    settings: |place| Ok(vec![scheduler(place, "mq-deadline")?]),
    ..NOTHING
};
