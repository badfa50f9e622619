//! Budgets for processes, in sectors.

use super::{Kind, NOTHING, Remedy, scheduler};

pub(super) const REMEDY: Remedy = Remedy {
    name: "bfq",
    meaning: "the scheduler bfq: a share of the device for each process",
    kind: Kind::Scheduler,
    settings: |place| Ok(vec![scheduler(place, "bfq")?]),
    ..NOTHING
};
