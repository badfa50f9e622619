//! Fewer and larger reads of what is read in order.

use super::{Kind, NOTHING, Remedy, of_queue};

pub(super) const REMEDY: Remedy = Remedy {
    name: "read-ahead-large",
    meaning: "buffered reads use up to 2 MiB of read-ahead (read_ahead_kb 2048)",
    kind: Kind::ReadAhead,
    settings: |place| Ok(vec![of_queue(place, "read_ahead_kb", 2048)?]),
    ..NOTHING
};
