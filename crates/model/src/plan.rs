//! What the plans of all experiments say of the systems that are measured: which they are, and
//! where they lie. A plan is printed by `--dry-run`, kept in run.json, and read back by
//! `--against`.
//!
//! Non-goals: what is done on them (each experiment's `Plan`).

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Where something that is tested lies.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TargetFacts {
    /// Where its file system is mounted; none of a device that is tested itself.
    pub mount_point: Option<PathBuf>,
    /// `ext4`, `btrfs`, …
    pub file_system: Option<String>,
    /// The mount's options, then the file system's.
    pub mount_options: Option<String>,
    /// The device's name, and those at the bottom of what it lies on.
    pub devices: Vec<String>,
}

/// A system that is measured.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SystemPlan {
    /// The column: `ext4:4k`, a directory, a device.
    pub column: String,
    /// The target as it was requested.
    pub target: String,
    /// Drives that run at once.
    pub drives: usize,
    /// `directory`, `block device`, `fresh file system` or `model`.
    pub kind: String,
    /// Bytes of each drive's image, where it is made for the run.
    pub image_bytes: Option<u64>,
    /// Where it lies on this machine; a model lies nowhere.
    #[serde(default)]
    pub places: Vec<TargetFacts>,
}
