//! How many devices the rows of a file are of: no more than whoever counts by device can hold.
//!
//! Non-goals: a source that is imported, whose further devices become one (`trace::intake`).

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

/// Devices that the rows of a file are of at the most.
pub const DEVICES_MOST: usize = 6144;
/// What the last of them is called where there are more: it stands for all that came later.
pub fn other_devices() -> String {
    format!("all beyond {} devices", DEVICES_MOST - 1)
}

/// Devices that were met lately.
const RECENT: usize = 64;

/// All devices that were met by the readers of a file.
pub(super) type Known = Arc<Mutex<HashSet<u32>>>;

/// Devices as one reader meets them.
pub(super) struct Devices {
    known: Known,
    recent: [Option<u32>; RECENT],
}

impl Devices {
    pub(super) fn of(known: &Known) -> Self {
        Self { known: known.clone(), recent: [None; RECENT] }
    }

    /// Looks at the devices of some rows.
    /// Errors: more of them in the file than [`DEVICES_MOST`].
    pub(super) fn check(&mut self, devices: &[u32]) -> Result<(), String> {
        for device in devices {
            let slot = (device ^ (device >> 20)) as usize % RECENT;
            if self.recent[slot] != Some(*device) {
                self.recent[slot] = Some(*device);
                let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
                known.insert(*device);
                if known.len() > DEVICES_MOST {
                    return Err(format!("its rows are of more than {DEVICES_MOST} devices"));
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readers_of_a_file_together_meet_no_more_devices_than_there_may_be() {
        let known = Known::default();
        let mut readers = [Devices::of(&known), Devices::of(&known)];
        let half = DEVICES_MOST as u32 / 2;
        let [first, second] = [(0..half), (half..2 * half)].map(Vec::from_iter);
        for _ in 0..2 {
            readers[0].check(&first).unwrap();
            readers[1].check(&second).unwrap();
        }
        let error = readers[0].check(&[5, 2 * half]).unwrap_err();
        assert_eq!(error, "its rows are of more than 6144 devices");
    }
}
