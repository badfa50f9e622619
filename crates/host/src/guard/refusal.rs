//! Why a device is not written: sentences for the user, with the remedy.

use super::{Part, ProbeError, Signature};
use crate::device::{DeviceError, DeviceNumber};
use model::quote;
use std::fmt::Write as _;
use std::path::PathBuf;

/// A refusal, as a sentence: what holds the device, and what would help.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what each is")]
pub enum Refusal {
    #[error("{path} is refused: it cannot be examined ({source}); name a block device")]
    NoSuchPath { path: PathBuf, source: std::io::Error },
    /// A file, a directory, a character device…
    #[error("{path} is refused: it is not a block device; name one, such as /dev/sdb")]
    NoBlockDevice { path: PathBuf },
    /// Mounted, itself or something of its family. Never overridden.
    #[error("{node} is refused: {part} is mounted at {}{}; unmount it or choose another device",
        mount_point.display(), seen_from(*pid_seen_in))]
    Mounted {
        node: PathBuf,
        part: Part,
        mount_point: PathBuf,
        /// A process that sees it there; none when we see it ourselves.
        pid_seen_in: Option<u32>,
    },
    /// Swap, itself or something of its family. Never overridden.
    #[error(
        "{node} is refused: {part} is in use as swap; \
        run swapoff {} or choose another device",
        quote::word(path)
    )]
    Swap { node: PathBuf, part: Part, path: PathBuf },
    /// A loop device over a swap file. Never overridden.
    #[error(
        "{node} is refused: its backing file is in use as swap; \
        run swapoff {} or choose another device",
        quote::word(path)
    )]
    SwapFile { node: PathBuf, path: PathBuf },
    /// Built into something else. Never overridden.
    #[error("{node} is refused: {part} is held by {by}; release it or choose another device")]
    Held { node: PathBuf, part: Part, by: String },
    /// A process has it open for writing, without a claim. Never overridden.
    #[error(
        "{node} is refused: {part} is open for writing by {command} (process {pid}); \
        stop that process or choose another device"
    )]
    OpenForWriting { node: PathBuf, part: Part, command: String, pid: u32 },
    #[error(
        "{node} is refused: --destroy names another device, {other}; to write to {node}, give \
         --destroy {node}"
    )]
    ConsentForAnother { node: PathBuf, other: PathBuf },
    /// It bears nothing that is known, but was not named a second time.
    #[error(
        "{node} is refused: writing needs consent; if its data may be destroyed, give --destroy \
         {node}"
    )]
    NoConsent { node: PathBuf },
    /// It bears data and was not named a second time.
    #[error(
        "{node} is refused: it contains {}; if its data may be destroyed, give --destroy {node}",
        listed(signatures)
    )]
    Bears { node: PathBuf, signatures: Vec<Signature> },
    #[error(
        "{node} is refused: cannot tell whether it is in use (failed to {source}); \
        choose another device"
    )]
    CannotTellUse { node: PathBuf, source: DeviceError },
    #[error("{node} is refused: cannot tell whether it holds data ({source})")]
    CannotTellData { node: PathBuf, source: ProbeError },
    #[error(
        "{node} is refused: cannot tell whether {name} uses the same file or {node} itself \
         ({source}); run as root or release {name}"
    )]
    CannotTellFile { node: PathBuf, name: String, source: std::io::Error },
    #[error(
        "{node} is refused: {part} is claimed by the kernel or by a program that no list names: a \
         mount in a namespace without processes, a lazy unmount, an external journal, swap, or an \
         exclusive open; release it (fuser -v may name the program) or choose another device"
    )]
    Busy { node: PathBuf, part: Part },
    #[error(
        "{node} is refused: cannot tell whether {part} is in use ({source}); run as root or \
        choose another device"
    )]
    CannotClaim { node: PathBuf, part: Part, source: std::io::Error },
    #[error(
        "{node} is refused: it is no longer device {expected}, which was examined; \
        try again"
    )]
    Replaced { node: PathBuf, expected: DeviceNumber },
    #[error(
        "{node} is refused: it cannot be opened for writing ({source}); \
        check its permissions and whether it is read-only"
    )]
    Open { node: PathBuf, source: std::io::Error },
}

impl Refusal {
    /// What uses the device, and what to do so that it does not: completes "the device …". None
    /// where nothing was found to use it.
    pub(crate) fn use_and_release(&self) -> Option<String> {
        let text = match self {
            Self::Mounted { mount_point, pid_seen_in, .. } => {
                let (at, word) = (mount_point.display(), quote::word(mount_point));
                let enter = pid_seen_in.map(|pid| format!("nsenter -t {pid} -m "));
                let (seen, enter) = (seen_from(*pid_seen_in), enter.unwrap_or_default());
                format!("is mounted at {at}{seen}; run `{enter}umount {word}`")
            }
            Self::Swap { path, .. } => {
                format!("is in use as swap; run `swapoff {}`", quote::word(path))
            }
            Self::Held { by, .. } => format!("is held by {by}; release it"),
            Self::OpenForWriting { command, pid, .. } => {
                format!("is open for writing by {command} (process {pid}); end that process")
            }
            _ => return None,
        };
        Some(text)
    }
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
