//! The device alone orders its requests.

use super::{Kind, NOTHING, Remedy, scheduler};

pub(super) const REMEDY: Remedy = Remedy {
    name: "none-scheduler",
    meaning: "no scheduler: requests go to the device as they come",
    kind: Kind::Scheduler,
    settings: |place| Ok(vec![scheduler(place, "none")?]),
    ..NOTHING
};
