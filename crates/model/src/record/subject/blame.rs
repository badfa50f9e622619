//! What the verdict's numbers are about.
//!
//! Non-goals: the verdict (`analyze::verdict`).

use serde::{Deserialize, Serialize};

/// See [`super::Subject::Wait`].
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wait {
    /// At which device.
    pub device: String,
    /// Who waited: a role.
    pub victim: String,
    /// For what: `fsync`, `read`…
    pub wait: String,
}

/// See [`super::Subject::Blame`].
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Blame {
    /// What made it wait: a role, `device` (it stood still), `held` (no request was there) or
    /// `throttled` (a limit of its cgroup).
    pub cause: String,
    /// At which device.
    pub device: String,
    /// Whether the cause is a role.
    pub is_role: bool,
    /// Which of the pair's storms, from 1; none of the pair as a whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storm: Option<u64>,
    /// Who waited: a role.
    pub victim: String,
    /// For what: `fsync`, `read`…
    pub wait: String,
}

/// See [`super::Subject::Stack`].
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stack {
    /// On which device.
    pub device: String,
    /// The kernel's functions, the outermost first, with `;` between them; may be empty.
    pub kernel: String,
    /// Who queued requests by it: a role.
    pub role: String,
    /// The program's own functions, likewise.
    pub user: String,
}

/// See [`super::Subject::File`].
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    /// On which device.
    pub device: String,
    /// Its name, or what is known of it.
    pub file: String,
}

/// See [`super::Subject::Layer`].
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Layer {
    /// The device at the top.
    pub device: String,
    /// The one whose time it is: the top itself, or one beneath it.
    pub layer: String,
}
