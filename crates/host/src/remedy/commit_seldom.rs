//! The journal is committed when a program asks for it, and seldom else.

use super::{Kind, MountOption, NOTHING, Remedy};

pub(super) const REMEDY: Remedy = Remedy {
    name: "commit-seldom",
    meaning: "commit the journal every minute (mount -o commit=60)",
    kind: Kind::Mount,
    mount: Some(MountOption { set: "commit=60", otherwise: "commit=5" }),
    by_hand: Some("add commit=60 to the file system's options in /etc/fstab"),
    ..NOTHING
};
