//! Why a device is not written: sentences for the user, with the remedy.

use super::{Part, ProbeError, Signature};
use crate::device::{DeviceError, DeviceNumber};
use std::fmt::Write as _;
use std::path::PathBuf;

/// A refusal, as a sentence: what holds the device, and what would help.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// A path that leads nowhere.
    #[error("{path} is refused: it cannot be examined ({source}); name a block device")]
    NoSuchPath {
        /// The path as typed.
        path: PathBuf,
        /// The file system's refusal.
        source: std::io::Error,
    },
    /// A file, a directory, a character device…
    #[error("{path} is refused: it is no block device; name one, such as /dev/sdb")]
    NoBlockDevice {
        /// The path as typed.
        path: PathBuf,
    },
    /// Mounted, itself or something of its family. Never overridden.
    #[error("{node} is refused: {part} is mounted at {}{}; unmount it or choose another device",
        mount_point.display(), seen_from(*pid_seen_in))]
    Mounted {
        /// The device asked for.
        node: PathBuf,
        /// What is mounted.
        part: Part,
        /// Where.
        mount_point: PathBuf,
        /// A process that sees it there; none when we see it ourselves.
        pid_seen_in: Option<u32>,
    },
    /// Swap, itself or something of its family. Never overridden.
    #[error(
        "{node} is refused: {part} is in use as swap; \
        run swapoff {path} or choose another device"
    )]
    Swap {
        /// The device asked for.
        node: PathBuf,
        /// What is swap.
        part: Part,
        /// The swap area's node.
        path: PathBuf,
    },
    /// A loop device over a swap file. Never overridden.
    #[error(
        "{node} is refused: its backing file is in use as swap; \
        run swapoff {path} or choose another device"
    )]
    SwapFile {
        /// The device asked for.
        node: PathBuf,
        /// The swap file.
        path: PathBuf,
    },
    /// Built into something else. Never overridden.
    #[error("{node} is refused: {part} is held by {by}; take that down or choose another device")]
    Held {
        /// The device asked for.
        node: PathBuf,
        /// What is held.
        part: Part,
        /// By what.
        by: String,
    },
    /// The user agreed to destroy another device than the one to be written.
    #[error(
        "{node} is refused: --destroy names {other}, which is another device; \
        to write to {node}, say --destroy {node}"
    )]
    ConsentForAnother {
        /// The device asked for.
        node: PathBuf,
        /// The device named by the consent.
        other: PathBuf,
    },
    /// It bears nothing that is known, but was not named a second time.
    #[error(
        "{node} is refused: writing to a device needs it named a second time; \
        if nothing on it is needed, say --destroy {node}"
    )]
    NoConsent {
        /// The device asked for.
        node: PathBuf,
    },
    /// It bears data and was not named a second time.
    #[error(
        "{node} is refused: it bears {}; if that may be destroyed, say --destroy {node}",
        listed(signatures)
    )]
    Bears {
        /// The device asked for.
        node: PathBuf,
        /// What it bears.
        signatures: Vec<Signature>,
    },
    /// sysfs or procfs do not say whether it is in use.
    #[error(
        "{node} is refused: cannot tell whether it is in use (failed to {source}); \
        choose another device"
    )]
    CannotTellUse {
        /// The device asked for.
        node: PathBuf,
        /// What could not be had.
        source: DeviceError,
    },
    /// The prober does not say whether it bears something.
    #[error("{node} is refused: cannot tell whether it holds data ({source})")]
    CannotTellData {
        /// The device asked for.
        node: PathBuf,
        /// Why not, and the remedy.
        source: ProbeError,
    },
    /// Some loop device does not tell its file, which may be the one asked for.
    #[error(
        "{node} is refused: cannot tell whether {name} lies on the same file or on it ({source}); \
        run as root, or take {name} down"
    )]
    CannotTellFile {
        /// The device asked for.
        node: PathBuf,
        /// The loop device.
        name: String,
        /// The kernel's refusal.
        source: std::io::Error,
    },
    /// The kernel refused the exclusive open.
    #[error(
        "{node} is refused: {part} is claimed by the kernel or another program, though no list \
        shows by whom: a mount in a namespace without processes, a file system unmounted lazily, \
        an external journal, swap, or a program that has it open for itself; release it (fuser -v \
        may name the program) or choose another device"
    )]
    Busy {
        /// The device asked for.
        node: PathBuf,
        /// What is claimed.
        part: Part,
    },
    /// A device that shares blocks with it cannot be opened to see whether it is claimed.
    #[error(
        "{node} is refused: cannot tell whether {part} is in use ({source}); run as root or \
        choose another device"
    )]
    CannotClaim {
        /// The device asked for.
        node: PathBuf,
        /// What cannot be opened.
        part: Part,
        /// The kernel's refusal.
        source: std::io::Error,
    },
    /// The node is not the one that was examined.
    #[error(
        "{node} is refused: it is no longer device {expected}, which was examined; \
        try again"
    )]
    Replaced {
        /// The node.
        node: PathBuf,
        /// What it was.
        expected: DeviceNumber,
    },
    /// It cannot be opened for writing.
    #[error(
        "{node} is refused: it cannot be opened for writing ({source}); \
        check its permissions and whether it is read-only"
    )]
    Open {
        /// The node.
        node: PathBuf,
        /// The kernel's refusal.
        source: std::io::Error,
    },
}

fn seen_from(pid: Option<u32>) -> String {
    pid.map(|pid| format!(" (seen from process {pid})")).unwrap_or_default()
}

/// `a, b and c`.
fn listed(signatures: &[Signature]) -> String {
    let mut text = String::new();
    for (place, signature) in signatures.iter().enumerate() {
        let joint = match place {
            0 => "",
            _ if place + 1 == signatures.len() => " and ",
            _ => ", ",
        };
        // Writing to a String cannot fail.
        let _ = write!(text, "{joint}{signature}");
    }
    text
}
