//! The kernel looks for old dirty pages often; how many there may be stays as it is.

use super::{Kind, NOTHING, Remedy, of_vm};

pub(super) const REMEDY: Remedy = Remedy {
    name: "writeback-often",
    meaning: "run writeback every half second, and write pages that are dirty for 1 s",
    kind: Kind::DirtyPages,
    settings: |_| {
        Ok(vec![of_vm("dirty_expire_centisecs", 100), of_vm("dirty_writeback_centisecs", 50)])
    },
    ..NOTHING
};
