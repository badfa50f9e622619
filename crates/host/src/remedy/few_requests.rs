//! A short queue: nobody waits behind many, and nobody orders many.

use super::{AS_IT_IS, Remedy, of_queue};

pub(super) const REMEDY: Remedy = Remedy {
    name: "few-requests",
    meaning: "fewer requests in the disk's queue: 8",
    settings: |place| Ok(vec![of_queue(place, "nr_requests", 8)?]),
    writer: AS_IT_IS,
    in_program: None,
};
