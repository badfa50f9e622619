//! The writer's own priority; bfq and mq-deadline heed it, and only for requests of its own.

use super::{AS_IT_IS, Kind, NOTHING, Remedy};
use model::workload::{IoPriority, WriterChange};

pub(super) const REMEDY: Remedy = Remedy {
    name: "ioprio-idle",
    meaning: "the writer's requests wait until the disk is idle (ioprio)",
    kind: Kind::Priority,
    writer: WriterChange { priority: Some(IoPriority::Idle), ..AS_IT_IS },
    in_program: Some("start the writer with: ionice -c idle"),
    ..NOTHING
};
