//! The device alone orders its requests.

use super::{Kind, NOTHING, Remedy, scheduler};

pub(super) const REMEDY: Remedy = Remedy {
    name: "none-scheduler",
    meaning: "no I/O scheduler: requests go to the device in arrival order",
    kind: Kind::Scheduler,
    settings: |place| Ok(vec![scheduler(place, "none")?]),
    ..NOTHING
};
