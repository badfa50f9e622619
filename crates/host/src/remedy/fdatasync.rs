//! Small syncs in the place of a large one.

use super::{AS_IT_IS, Kind, NOTHING, Remedy};
use model::workload::{Dribble, Sending, WriterChange};

pub(super) const REMEDY: Remedy = Remedy {
    name: "fdatasync-often",
    meaning: "the writer calls fdatasync after every 256 KiB",
    kind: Kind::Writer,
    writer: WriterChange {
        dribble: Some(Dribble { every_bytes: 256 << 10, by: Sending::Fdatasync }),
        ..AS_IT_IS
    },
    in_program: Some("call fdatasync(fd) after every 256 KiB"),
    ..NOTHING
};
