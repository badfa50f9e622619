//! What the part that serves a device tells the part that holds it, and is told.

use host::served::{Lateness, Way};
use messages::fault::Failure;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What the part tells.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) enum Told {
    /// The device is there, and nobody can use it yet.
    Made { path: PathBuf },
    /// It is served, less the way.
    Serving { way: Way },
    /// How late it was since the last time.
    Lateness { lateness: Lateness },
    /// It could not be.
    Failed(Failure),
}

/// What the part is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Order {
    /// Somebody else holds the device now: serve it.
    Serve,
    /// Tell how late it was since the last time.
    Report,
    /// Complete requests as they come, or as the model does again: as new.
    Hurry(bool),
}
