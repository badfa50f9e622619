//! Whole machines, put together from their profiles' parts. What a machine's operating system does with a request is
//! told by its key `operating_system.model`; each has a folder of its own here.

use crate::profile::{Profile, ProfileError};
use crate::subject::Machine;

/// What a machine is made with beside its profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Drives that run at once.
    pub drives: u32,
    /// The seed of whatever is random in it.
    pub seed: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self { drives: 1, seed: 1 }
    }
}

type Builder = fn(&Profile, &Options) -> Result<Box<dyn Machine>, ProfileError>;

/// Operating systems by the word in profiles.
const OPERATING_SYSTEMS: &[(&str, Builder)] = &[];

/// Makes a machine.
///
/// # Errors
/// A profile of something else, or one that cannot be.
pub fn build(profile: &Profile, options: &Options) -> Result<Box<dyn Machine>, ProfileError> {
    if profile.kind != "machine" {
        let reason = format!("is a {}, and no machine that could run programs", profile.kind);
        return Err(ProfileError::new(profile.name(), "kind", reason));
    }
    let builder = profile.reader().below("operating_system").one_of("model", OPERATING_SYSTEMS)?;
    builder(profile, options)
}
