//! Nothing is read that nobody requested: what is random gains, what is read in order loses.

use super::{Kind, NOTHING, Remedy, of_queue};

pub(super) const REMEDY: Remedy = Remedy {
    name: "read-ahead-off",
    meaning: "buffered reads use no read-ahead (read_ahead_kb 0)",
    kind: Kind::ReadAhead,
    settings: |place| Ok(vec![of_queue(place, "read_ahead_kb", 0)?]),
    ..NOTHING
};
