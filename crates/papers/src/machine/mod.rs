//! Whole machines, put together from their profiles' parts, each behind [`Machine`]; a family of
//! machines has a folder of its own here.

pub mod bsd;
pub mod supercomputer;

use sim::profile::{Profile, ProfileError};
use sim::subject::Machine;

/// What a machine is made with besides its profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Drives that run at once.
    pub drives: usize,
    /// Bytes of a file system's block, where not the profile's.
    pub block_bytes: Option<u64>,
    /// The seed of whatever is random in it.
    pub seed: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self { drives: 1, block_bytes: None, seed: 1 }
    }
}

type Builder = fn(&Profile, Options) -> Result<Box<dyn Machine>, ProfileError>;

/// The families of machines that run programs, each by the table that its profiles alone have.
const FAMILIES: &[(&str, Builder)] =
    &[("file_system", bsd::build), ("routines", supercomputer::build)];

/// Makes a machine.
/// Errors: a profile of something else, or one that cannot be.
pub fn build(profile: &Profile, options: Options) -> Result<Box<dyn Machine>, ProfileError> {
    let reader = profile.reader();
    let family = FAMILIES.iter().find(|(table, _)| reader.below(table).has_any());
    let (_, builder) = family.ok_or_else(|| {
        let reason = format!(
            "this {} runs no programs, having neither a file system nor I/O routines; lbolt \
             simulate replays traces on it",
            profile.kind
        );
        ProfileError::new(profile.name(), "kind", reason)
    })?;
    builder(profile, options)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CATALOG;

    #[test]
    fn what_runs_no_programs_is_refused() {
        let error = build(&CATALOG.load("eagle").unwrap(), Options::default()).err().unwrap();
        assert!(error.reason.contains("lbolt simulate replays"), "{error}");
        assert!(build(&CATALOG.load("cray1-cos-dd19").unwrap(), Options::default()).is_ok());
    }
}
