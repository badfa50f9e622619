//! Devices that are told apart, as many as whoever counts by device can hold: each costs 170 kB
//! there. A source of more has something else in its field of the device.
//!
//! Non-goals: what devices are called.

use model::record::Request;
use model::record::requests::other_devices;
use std::collections::HashSet;

/// Devices that are told apart at the most. The largest trace that is published (Tencent's) has
/// 5584.
pub const DEVICES_MOST: usize = model::record::requests::DEVICES_MOST - 1;
/// All beyond these are one, with this number.
pub const OTHER_DEVICES: u32 = u32::MAX;

#[derive(Debug, Default)]
pub(super) struct Devices {
    /// That of the last row: rows come in runs.
    last: Option<u32>,
    known: HashSet<u32>,
    has_others: bool,
}

impl Devices {
    /// Brings a row of a device beyond the last to the one that stands for all of these.
    #[inline]
    pub(super) fn bound(&mut self, row: &mut Request) {
        if self.last != Some(row.device) {
            row.device = self.look(row.device);
            self.last = Some(row.device);
        }
    }

    fn look(&mut self, device: u32) -> u32 {
        let is_known = device != OTHER_DEVICES
            && (self.known.contains(&device)
                || self.known.len() < DEVICES_MOST && self.known.insert(device));
        self.has_others |= !is_known;
        if is_known { device } else { OTHER_DEVICES }
    }

    /// The note of a device that is none; none where there is none of the kind.
    pub(super) fn note(&self) -> Option<(String, String)> {
        let note = || (format!("device.{OTHER_DEVICES}"), other_devices());
        self.has_others.then(note)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_without_end_are_one_from_some_number_on() {
        let mut devices = Devices::default();
        let mut of = |device: u32| {
            let mut row = Request { device, ..Request::default() };
            devices.bound(&mut row);
            row.device
        };
        let most = DEVICES_MOST as u32;
        assert!((0..most).all(|device| of(7 * device) == 7 * device));
        assert_eq!(
            [1, 1, 7, 2, 7 * most].map(&mut of),
            [u32::MAX, u32::MAX, 7, u32::MAX, u32::MAX]
        );
        assert_eq!(devices.known.len(), DEVICES_MOST);
        assert!(devices.note().unwrap().1.contains("6143 devices"));
    }
}
