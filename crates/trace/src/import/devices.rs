//! Devices that a format knows by name: each becomes a number, in the order in which they are met, and the
//! names are noted with the rows. Formats that number their devices keep their own numbers.

use crate::intake::Intake;
use std::collections::HashMap;

/// Names that are noted at the most.
const NOTED: usize = 1000;

/// The numbers of devices by name.
#[derive(Debug, Default)]
pub(super) struct Devices {
    numbers: HashMap<Box<[u8]>, u32>,
    /// The last one asked for: devices come in runs.
    last: Option<(Vec<u8>, u32)>,
}

impl Devices {
    /// The number of a device whose name has these parts.
    #[inline]
    pub(super) fn number(&mut self, parts: &[&[u8]]) -> u32 {
        match &self.last {
            Some((name, number)) if is_joined(name, parts) => *number,
            _ => self.number_of_another(parts),
        }
    }

    /// Without an allocation for a name that is known: in some traces devices alternate from line to line.
    fn number_of_another(&mut self, parts: &[&[u8]]) -> u32 {
        let mut name = self.last.take().map_or_else(Vec::new, |(name, _)| name);
        name.clear();
        for (position, part) in parts.iter().enumerate() {
            if position > 0 {
                name.push(b'.');
            }
            name.extend_from_slice(part);
        }
        let next = self.numbers.len() as u32;
        let known = self.numbers.get(name.as_slice()).copied();
        let number = known.unwrap_or_else(|| {
            self.numbers.insert(name.as_slice().into(), next);
            next
        });
        self.last = Some((name, number));
        number
    }

    /// Notes the names with the rows.
    pub(super) fn note(&self, intake: &mut Intake) {
        for (name, number) in self.numbers.iter().filter(|(_, number)| (**number as usize) < NOTED)
        {
            intake.note(&format!("device.{number}"), String::from_utf8_lossy(name).into_owned());
        }
    }
}

/// Whether a name is those parts, with points between them.
fn is_joined(name: &[u8], parts: &[&[u8]]) -> bool {
    let mut rest = Some(name);
    for (position, part) in parts.iter().enumerate() {
        if position > 0 {
            rest = rest.and_then(|r| r.strip_prefix(b"."));
        }
        rest = rest.and_then(|r| r.strip_prefix(*part));
    }
    rest.is_some_and(<[u8]>::is_empty)
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
}
