//! Nothing that holds data is written by accident. Whoever wants to write to a
//! block device shows it to [`examine`] and gets a [`Permit`], without which
//! [`claim`] opens nothing, or a [`Refusal`] that says what holds the device and
//! what would help.
//!
//! Two kinds of reason are kept apart. A device that is *in use* (mounted,
//! swap, held, itself or by what lies above, beneath or beside it) is never
//! written, whatever the user says. A device that merely *bears* something is
//! written when the user named it a second time: the `consent`.
//!
//! What cannot be found out is a refusal, never a permit. The lists of mounts, swap
//! and holders give the words; what no list shows (a mount of a namespace without
//! processes, a ZFS pool, a program with the device open for itself) has claimed the
//! device from the kernel, which then refuses our claim. Who has it open for writing without a
//! claim (a virtual machine, an nbd-server) is found among the processes.
//!
//! Non-goals: asking (there is no prompt), freeing a device for its user,
//! guarding files: those are protected by names of our own. What uses a device without
//! a claim inside of the kernel (an NVMe target), and processes that cannot be seen (of other
//! users where we are not root, or of the machine around a container), are not found.

mod claim;
mod family;
mod files;
mod probe;
mod refusal;

pub use claim::{Claim, claim};
pub use family::Part;
pub use probe::{Blkid, ProbeError, Signature, SignatureProber};
pub use refusal::Refusal;

use crate::device::{DeviceError, DeviceNumber, MountTable, PathFacts, Swap, SwapKind, Tree};
use family::Family;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Leave to write to one block device. Only [`examine`] gives it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Permit {
    device: DeviceNumber,
    overridden: Vec<Signature>,
    /// What shares its blocks, and nobody may have claimed.
    claims: Vec<Part>,
}

impl Permit {
    /// The device that may be written.
    pub fn device(&self) -> DeviceNumber {
        self.device
    }

    /// What it bears, and the user agreed to destroy.
    pub fn overridden(&self) -> &[Signature] {
        &self.overridden
    }
}

/// Follows `path` through its links to a block device: its number, and the node
/// at the end of the links.
/// Errors: there is no such path, or it is no block device.
pub fn resolve(path: &Path) -> Result<(DeviceNumber, PathBuf), Refusal> {
    resolve_in(&Tree::system(), path)
}

/// [`resolve`] in any tree.
/// Errors: as [`resolve`].
pub fn resolve_in(tree: &Tree, path: &Path) -> Result<(DeviceNumber, PathBuf), Refusal> {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    match tree.facts(&absolute) {
        Ok(PathFacts { block: Some(device), canonical, .. }) => Ok((device, canonical)),
        Ok(_) => Err(Refusal::NoBlockDevice { path: path.to_owned() }),
        Err(source) => Err(Refusal::NoSuchPath { path: path.to_owned(), source }),
    }
}

/// Judges whether `device` may be written, with the user's `consent` to the
/// destruction of what one device bears.
/// Errors: a refusal: the device is in use, or bears something without consent to its
/// destruction, or there is no consent at all, or it cannot be found out.
pub fn examine(
    tree: &Tree,
    prober: &dyn SignatureProber,
    device: DeviceNumber,
    consent: Option<DeviceNumber>,
) -> Result<Permit, Refusal> {
    let node = node(tree, device)?;
    let claims = refuse_what_is_in_use(tree, device, &node)?;
    if let Some(other) = consent.filter(|&other| other != device) {
        let other = self::node(tree, other).unwrap_or_else(|_| PathBuf::from(other.to_string()));
        return Err(Refusal::ConsentForAnother { node, other });
    }
    let borne = signatures(tree, prober, device, &node)?;
    match consent {
        Some(_) => Ok(Permit { device, overridden: borne, claims }),
        None if borne.is_empty() => Err(Refusal::NoConsent { node }),
        None => Err(Refusal::Bears { node, signatures: borne }),
    }
}

fn node(tree: &Tree, device: DeviceNumber) -> Result<PathBuf, Refusal> {
    let name = tree.name(device).map_err(cannot_tell(Path::new(&device.to_string())))?;
    Ok(Path::new("/dev").join(name))
}

fn cannot_tell(node: &Path) -> impl Fn(DeviceError) -> Refusal {
    let node = node.to_owned();
    move |source| match source {
        DeviceError::LoopFile { name, source } => {
            Refusal::CannotTellFile { node: node.clone(), name, source }
        }
        source => Refusal::CannotTellUse { node: node.clone(), source },
    }
}

/// What uses a device, and what releases it: sentences. None where nothing is known to use it.
pub fn user(tree: &Tree, path: &Path) -> Option<String> {
    let device = tree.device_at(path)?;
    refuse_what_is_in_use(tree, device, path).err()?.use_and_release()
}

/// Mounts first, then swap, then holders, then processes: the reason nearest to the user's data
/// is the one that helps. Gives what is to be claimed beside the device.
fn refuse_what_is_in_use(
    tree: &Tree,
    device: DeviceNumber,
    node: &Path,
) -> Result<Vec<Part>, Refusal> {
    let cannot_tell = cannot_tell(node);
    let mounts = tree.mount_table().map_err(&cannot_tell)?;
    let family = Family::of(tree, &mounts, device).map_err(&cannot_tell)?;
    let swaps = tree.swaps().map_err(&cannot_tell)?;
    let btrfs = tree.btrfs().map_err(&cannot_tell)?;
    refuse_mounted(&family, &mounts, node)?;
    refuse_swap(tree, &family, &swaps, node)?;
    let of_btrfs = |part: &Part| btrfs.iter().find(|b| b.members.contains(&part.device));
    let holder = |part: &Part| of_btrfs(part).map(|b| format!("the btrfs file system {}", b.uuid));
    let by_btrfs = family.parts.iter().find_map(|part| Some((part.clone(), holder(part)?)));
    if let Some((part, by)) = by_btrfs.or_else(|| family.holds.first().cloned()) {
        return Err(Refusal::Held { node: node.to_owned(), part, by });
    }
    refuse_open_for_writing(tree, &family, node)?;
    Ok(family.claims)
}

/// Half a second in all: some have a device open for a moment only, to look at it.
const TRIES: u32 = 50;
const PAUSE: Duration = Duration::from_millis(10);

fn refuse_open_for_writing(tree: &Tree, family: &Family, node: &Path) -> Result<(), Refusal> {
    let devices: Vec<DeviceNumber> = family.parts.iter().map(|part| part.device).collect();
    let mut left = TRIES;
    while let Some(writer) = tree.writer(&devices).map_err(cannot_tell(node))? {
        let part = family.parts.iter().find(|part| part.device == writer.device);
        if let Some(part) = part.filter(|_| left == 0) {
            return Err(Refusal::OpenForWriting {
                node: node.to_owned(),
                part: part.clone(),
                command: writer.command,
                pid: writer.pid,
            });
        }
        left = left.saturating_sub(1);
        std::thread::sleep(PAUSE);
    }
    Ok(())
}

fn refuse_mounted(family: &Family, mounts: &MountTable, node: &Path) -> Result<(), Refusal> {
    for part in &family.parts {
        if let Some(mount) = mounts.on(part.device) {
            return Err(Refusal::Mounted {
                node: node.to_owned(),
                part: part.clone(),
                mount_point: mount.mount_point.clone(),
                pid_seen_in: mount.pid_seen_in,
            });
        }
    }
    Ok(())
}

fn refuse_swap(tree: &Tree, family: &Family, swaps: &[Swap], node: &Path) -> Result<(), Refusal> {
    let node = || node.to_owned();
    for swap in swaps {
        let device = tree.swap_device(swap);
        if let Some(part) = family.parts.iter().find(|part| Some(part.device) == device) {
            let path = swap.path.clone();
            return Err(Refusal::Swap { node: node(), part: part.clone(), path });
        }
        if swap.kind == SwapKind::File && family.files.iter().any(|f| f.is(tree, &swap.path)) {
            return Err(Refusal::SwapFile { node: node(), path: swap.path.clone() });
        }
    }
    Ok(())
}

/// What the prober finds, and partitions that the kernel knows even where their
/// table is unreadable by now.
fn signatures(
    tree: &Tree,
    prober: &dyn SignatureProber,
    device: DeviceNumber,
    node: &Path,
) -> Result<Vec<Signature>, Refusal> {
    let mut found = prober
        .signatures(device, node)
        .map_err(|source| Refusal::CannotTellData { node: node.to_owned(), source })?;
    let partitions = tree.partitions(device).map_err(cannot_tell(node))?;
    let told = found.iter().any(|s| matches!(s, Signature::PartitionTable(_)));
    if !partitions.is_empty() && !told {
        found.push(Signature::PartitionTable("unnamed".to_owned()));
    }
    Ok(found)
}

#[cfg(test)]
mod tests;
