//! Dribbling by the kernel: the 1986 paper's first suggestion.

use super::{Kind, NOTHING, PAGES_LEAST, Remedy, of_vm};

pub(super) const REMEDY: Remedy = Remedy {
    name: "dirty-early",
    meaning: "start writeback at a sixteenth of a period's dirty pages, or after 1 s",
    kind: Kind::DirtyPages,
    settings: |place| {
        Ok(vec![
            of_vm("dirty_background_bytes", (place.dirty_bytes / 16).max(PAGES_LEAST)),
            of_vm("dirty_expire_centisecs", 100),
            of_vm("dirty_writeback_centisecs", 50),
        ])
    },
    ..NOTHING
};
