//! What a number of a model before and after a change is about.

use serde::{Deserialize, Serialize};

/// A class of requests, and what was changed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// What is changed, as it was typed.
    pub change: String,
    /// The name of the trace's device.
    pub device: String,
    /// The model that stands for it, without the change.
    pub model: String,
    /// The operation, or `all`; writes also as `async write` and `sync write`.
    pub op: String,
}
