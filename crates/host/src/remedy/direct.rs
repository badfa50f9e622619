//! No dirty pages: each write goes to the disk when it is made.

use super::{AS_IT_IS, Kind, NOTHING, Remedy};
use model::workload::WriterChange;

pub(super) const REMEDY: Remedy = Remedy {
    name: "direct",
    meaning: "the writer bypasses the page cache (O_DIRECT)",
    kind: Kind::Writer,
    writer: WriterChange { direct: true, ..AS_IT_IS },
    in_program: Some("open the file with O_DIRECT"),
    ..NOTHING
};
