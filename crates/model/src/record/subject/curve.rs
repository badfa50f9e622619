//! What a number of a curve of latency against rate is about.

use crate::engine::EngineKind;
use crate::workload::Access;
use serde::{Deserialize, Serialize};

/// A curve, or a point of it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Curve {
    /// What the requests do.
    pub access: Access,
    /// Bytes a request.
    pub block_bytes: u64,
    /// Requests outstanding; none of the curve as a whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depth: Option<u64>,
    /// 1 with O_DIRECT.
    pub direct: u64,
    /// By which interface.
    pub engine: EngineKind,
    /// The system's name; none where sides of different targets are compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
}
