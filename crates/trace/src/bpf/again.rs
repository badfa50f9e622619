//! The second programs of points (twice.h): what they are called, and how often each did what the
//! first one was left out for.
//!
//! Non-goals: when a kernel needs them (`kernel`).

use super::{LoadError, Loaded};
use aya::maps::{HashMap, MapData, MapError};

/// `POINT_NAME` of twice.h.
const NAME_BYTES: usize = 32;

/// A point's name as the key of `made_good`.
type Name = [u8; NAME_BYTES];

/// What the second program of a point is called.
pub(super) fn again(program: &str) -> String {
    format!("{program}_again")
}

/// The point that a program is the second one of.
pub(super) fn first_of(program: &str) -> Option<&str> {
    program.strip_suffix("_again")
}

impl Loaded {
    /// From now on it is counted what the second program of a point does.
    /// Errors: a kernel that refuses.
    pub(super) fn count_made_good(&mut self, point: &str) -> Result<(), LoadError> {
        let map = self.ebpf.map_mut(MAP).ok_or(LoadError::NoProgram(MAP))?;
        let mut counts: HashMap<&mut MapData, Name, u64> =
            HashMap::try_from(map).map_err(|e| refused(&e))?;
        counts.insert(key(point), 0, 0).map_err(|e| refused(&e))
    }

    /// How often the second program of a point did what the first one was left out for.
    pub(crate) fn made_good(&self, point: &str) -> u64 {
        let counts = self.ebpf.map(MAP).and_then(|map| HashMap::<_, Name, u64>::try_from(map).ok());
        counts.and_then(|counts| counts.get(&key(point), 0).ok()).unwrap_or(0)
    }
}

const MAP: &str = "made_good";

fn refused(error: &MapError) -> LoadError {
    LoadError::new(MAP, error)
}

/// Names are shorter (a test of the capture's programs).
fn key(point: &str) -> Name {
    let mut key = [0; NAME_BYTES];
    key.iter_mut().zip(point.bytes().take(NAME_BYTES - 1)).for_each(|(to, from)| *to = from);
    key
}
