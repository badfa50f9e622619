//! Budgets for processes, in sectors.

use super::{AS_IT_IS, Remedy, scheduler};

pub(super) const REMEDY: Remedy = Remedy {
    name: "bfq",
    meaning: "the scheduler bfq: a share of the device for each process",
    settings: |place| Ok(vec![scheduler(place, "bfq")?]),
    writer: AS_IT_IS,
    in_program: None,
};
