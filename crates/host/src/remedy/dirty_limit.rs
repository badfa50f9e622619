//! The writer is held to the speed of the disk.

use super::{Kind, NOTHING, PAGES_LEAST, Remedy, of_vm};

pub(super) const REMEDY: Remedy = Remedy {
    name: "dirty-limit",
    meaning: "block the writer at a quarter of a period's dirty pages",
    kind: Kind::DirtyPages,
    settings: |place| {
        Ok(vec![
            of_vm("dirty_background_bytes", (place.dirty_bytes / 8).max(PAGES_LEAST)),
            of_vm("dirty_bytes", (place.dirty_bytes / 4).max(2 * PAGES_LEAST)),
        ])
    },
    ..NOTHING
};
