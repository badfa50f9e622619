//! Devices that a format knows by name: each becomes a number, in the order in which they are met,
//! and the names are noted with the rows. Formats that number their devices keep their own numbers.
//! Names beyond [`DEVICES_MOST`] are of one device, which the intake notes.

use hashbrown::{DefaultHashBuilder, HashTable};
use std::hash::{BuildHasher as _, Hasher as _};
use trace::intake::{DEVICES_MOST, Intake, OTHER_DEVICES};

#[derive(Debug, Default)]
pub(super) struct Devices {
    /// By name, of which the parts are found without putting them together first: in some traces
    /// devices alternate from line to line.
    numbers: HashTable<Device>,
    hasher: DefaultHashBuilder,
}

#[derive(Debug)]
struct Device {
    hash: u64,
    name: Box<[u8]>,
    number: u32,
}

impl Devices {
    #[inline]
    pub(super) fn number(&mut self, parts: &[&[u8]]) -> u32 {
        let mut state = self.hasher.build_hasher();
        parts.iter().for_each(|part| state.write(part));
        let hash = state.finish();
        match self.numbers.find(hash, |device| is_joined(&device.name, parts)) {
            Some(device) => device.number,
            None => self.add(hash, parts),
        }
    }

    fn add(&mut self, hash: u64, parts: &[&[u8]]) -> u32 {
        if self.numbers.len() >= DEVICES_MOST {
            return OTHER_DEVICES;
        }
        let number = self.numbers.len() as u32;
        let device = Device { hash, name: parts.join(&b'.').into(), number };
        self.numbers.insert_unique(hash, device, |device| device.hash);
        number
    }

    pub(super) fn note(&self, intake: &mut Intake) {
        for Device { name, number, .. } in &self.numbers {
            let name = String::from_utf8_lossy(name).into_owned();
            intake.note(&format!("device.{number}"), name);
        }
    }
}

/// Whether a name is those parts, with points between them.
#[inline]
fn is_joined(name: &[u8], parts: &[&[u8]]) -> bool {
    let mut rest = name.iter();
    for (position, part) in parts.iter().enumerate() {
        if position > 0 && rest.next() != Some(&b'.') {
            return false;
        }
        // Names are so short that a call to compare them would cost more.
        if !part.iter().all(|byte| rest.next() == Some(byte)) {
            return false;
        }
    }
    rest.len() == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_keeps_its_number() {
        let mut devices = Devices::default();
        let numbers = [b"a", b"b", b"a", b"a"].map(|name| devices.number(&[name, b"0"]));
        assert_eq!(numbers, [0, 1, 0, 0]);
        assert_eq!(devices.number(&[b"a", b"01"]), 2);
    }

    #[test]
    fn names_without_end_are_one_device_from_some_number_on() {
        let mut devices = Devices::default();
        let mut of = |number: usize| devices.number(&[number.to_string().as_bytes()]) as usize;
        assert_eq!((of(0), (1..DEVICES_MOST).map(&mut of).max()), (0, Some(DEVICES_MOST - 1)));
        let other = OTHER_DEVICES as usize;
        assert_eq!([DEVICES_MOST, DEVICES_MOST + 1, 5].map(&mut of), [other, other, 5]);
        assert!(devices.numbers.len() == DEVICES_MOST);
    }
}
