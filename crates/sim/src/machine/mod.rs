//! Whole machines: a processor, an operating system, controllers, buses and drives.

pub mod bsd;

use crate::profile::{Profile, ProfileError};
use crate::subject::Machine;

/// What one run of a machine may have otherwise than its profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// How many drives are used.
    pub drives: usize,
    /// Bytes of a file system's block, where not the profile's.
    pub block_bytes: Option<u64>,
    /// For all that happens by chance.
    pub seed: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self { drives: 1, block_bytes: None, seed: 1 }
    }
}

/// Puts a machine together.
///
/// # Errors
/// A profile that is of no machine, or is at fault.
pub fn build(profile: &Profile, options: Options) -> Result<Box<dyn Machine>, ProfileError> {
    Ok(Box::new(bsd::BsdMachine::new(profile, options)?))
}
