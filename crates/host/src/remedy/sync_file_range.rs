//! Dribbling by the writer: it begins, and waits for nothing. Data only: no metadata, no flush.

use super::{AS_IT_IS, Kind, NOTHING, Remedy};
use model::workload::{Dribble, Sending, WriterChange};

pub(super) const REMEDY: Remedy = Remedy {
    name: "sync-file-range",
    meaning: "the writer starts writeback after every 256 KiB",
    kind: Kind::Writer,
    writer: WriterChange {
        dribble: Some(Dribble { every_bytes: 256 << 10, by: Sending::SyncFileRange }),
        ..AS_IT_IS
    },
    in_program: Some("call sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE) after every 256 KiB"),
    ..NOTHING
};
