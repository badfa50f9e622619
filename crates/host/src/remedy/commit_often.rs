//! The journal is committed each second: each commit is smaller.

use super::{Kind, MountOption, NOTHING, Remedy};

pub(super) const REMEDY: Remedy = Remedy {
    name: "commit-often",
    meaning: "commit the journal every second (mount -o commit=1)",
    kind: Kind::Mount,
    mount: Some(MountOption { set: "commit=1", otherwise: "commit=5" }),
    by_hand: Some("add commit=1 to the file system's options in /etc/fstab"),
    ..NOTHING
};
