//! Small syncs in the place of a large one.

use super::{AS_IT_IS, Kind, NOTHING, Remedy};
use model::workload::{Dribble, Sending, WriterChange};

pub(super) const REMEDY: Remedy = Remedy {
    name: "fdatasync-often",
    meaning: "the writer makes each 256 KiB durable (fdatasync)",
    kind: Kind::Writer,
    writer: WriterChange {
        dribble: Some(Dribble { every_bytes: 256 << 10, by: Sending::Fdatasync }),
        ..AS_IT_IS
    },
    in_program: Some("call fdatasync(fd) after each 256 KiB"),
    ..NOTHING
};
