//! The device alone orders its requests.

use super::{AS_IT_IS, Remedy, scheduler};

pub(super) const REMEDY: Remedy = Remedy {
    name: "none-scheduler",
    meaning: "no scheduler: requests go to the device as they come",
    settings: |place| Ok(vec![scheduler(place, "none")?]),
    writer: AS_IT_IS,
    in_program: None,
};
