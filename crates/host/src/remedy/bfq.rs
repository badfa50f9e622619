//! Budgets for processes, in sectors.

use super::{Kind, NOTHING, Remedy, scheduler};

pub(super) const REMEDY: Remedy = Remedy {
    name: "bfq",
    meaning: "I/O scheduler bfq: gives each process a share of the device",
    kind: Kind::Scheduler,
    settings: |place| Ok(vec![scheduler(place, "bfq")?]),
    ..NOTHING
};
