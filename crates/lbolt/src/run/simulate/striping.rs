//! A trace's devices spread over several drives each: chunks in turn, as RAID 0 has them.
//!
//! A request goes whole to the drive on which it begins, and what has no place to the first: the
//! rows are as many as in the trace, and each is told by its own device in the end.
//!
//! Non-goals: requests cut at chunks, mirrors, parity.

use crate::resolve::change::CHUNK_BYTES;
use model::record::Request;
use std::cell::RefCell;

/// Where the devices' chunks lie.
#[derive(Debug, Default)]
pub(super) struct Striping {
    /// Drives of each device; none and one are one.
    drives: u32,
    /// Devices and their drives behind the first; the last numbers that there are stand for them.
    others: RefCell<Vec<(u32, u32)>>,
}

impl Striping {
    pub(super) fn over(drives: u32) -> Self {
        Self { drives, ..Self::default() }
    }

    /// Makes of a row what its drive gets.
    pub(super) fn spread(&self, row: &mut Request) {
        let Some(offset_bytes) = row.offset_bytes.filter(|_| self.drives > 1) else { return };
        let (chunk, drives) = (offset_bytes / CHUNK_BYTES, u64::from(self.drives));
        let place = chunk / drives * CHUNK_BYTES + offset_bytes % CHUNK_BYTES;
        row.device = self.number(row.device, (chunk % drives) as u32);
        row.offset_bytes = Some(place);
    }

    fn number(&self, device: u32, drive: u32) -> u32 {
        if drive == 0 {
            return device;
        }
        let mut others = self.others.borrow_mut();
        let known = others.iter().position(|other| *other == (device, drive));
        let index = known.unwrap_or_else(|| {
            others.push((device, drive));
            others.len() - 1
        });
        u32::MAX - index as u32
    }

    /// The trace's device that a drive belongs to, and which of its drives it is, from 0.
    pub(super) fn owner(&self, device: u32) -> (u32, u32) {
        let others = self.others.borrow();
        others.get((u32::MAX - device) as usize).copied().unwrap_or((device, 0))
    }

    /// A drive's name, by the name of its device.
    pub(super) fn name(&self, device: u32, name: impl Fn(u32) -> String) -> String {
        match self.owner(device) {
            (device, 0) => name(device),
            (device, drive) => format!("{} drive {}", name(device), drive + 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn places_of_a_device_stay_apart_and_find_back(
            drives in 1u32..9, chunks in proptest::collection::btree_set(0u64..999, 1..50),
            within in 0..CHUNK_BYTES,
        ) {
            let striping = Striping::over(drives);
            let mut seen = std::collections::BTreeSet::new();
            for chunk in chunks {
                let offset_bytes = Some(chunk * CHUNK_BYTES + within);
                let row = Request { device: 7, offset_bytes, ..Request::default() };
                let mut spread = row;
                striping.spread(&mut spread);
                prop_assert!(seen.insert((spread.device, spread.offset_bytes)));
                let (device, drive) = striping.owner(spread.device);
                prop_assert_eq!(device, 7);
                let place = spread.offset_bytes.unwrap();
                let back = place / CHUNK_BYTES * u64::from(drives) + u64::from(drive);
                prop_assert_eq!((back, place % CHUNK_BYTES), (chunk, within));
                if drives == 1 {
                    prop_assert_eq!(spread, row);
                }
            }
        }
    }
}
