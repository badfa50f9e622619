//! Times of files are written with something else, and not by themselves.

use super::{Kind, MountOption, NOTHING, Remedy};

pub(super) const REMEDY: Remedy = Remedy {
    name: "lazytime",
    meaning: "keep file timestamps in memory (mount -o lazytime)",
    kind: Kind::Mount,
    mount: Some(MountOption { set: "lazytime", otherwise: "nolazytime" }),
    by_hand: Some("add lazytime to the file system's options in /etc/fstab"),
    ..NOTHING
};
