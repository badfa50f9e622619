//! A commit of the journal waits for no data. ext4 has it from its mount on, and refuses to change
//! it later: then it is not measured, with the kernel's own words.

use super::{Kind, MountOption, NOTHING, Remedy};

pub(super) const REMEDY: Remedy = Remedy {
    name: "data-writeback",
    meaning: "journal commits do not wait for file data (mount -o data=writeback)",
    kind: Kind::Mount,
    mount: Some(MountOption { set: "data=writeback", otherwise: "data=ordered" }),
    by_hand: Some("add data=writeback to the file system's options in /etc/fstab"),
    ..NOTHING
};
