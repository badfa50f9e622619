//! What a number of the sync experiment is about.

use serde::{Deserialize, Serialize};

/// A way to make a write durable.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Commit {
    /// Bytes a write.
    pub block_bytes: u64,
    /// 1 with O_DIRECT.
    pub direct: u64,
    /// How it is made durable.
    pub method: String,
    /// `append` or `overwrite`.
    pub pattern: String,
    /// The system's name; none where sides of different targets are compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// Writers at once.
    pub writers: u64,
}
