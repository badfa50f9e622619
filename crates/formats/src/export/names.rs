//! Devices in formats that know them by name or by small numbers: a device has the name that is
//! noted with the rows (`device.NUMBER`), else one made of its number, and counts in the order in
//! which devices are met.

use model::record::major_minor;
use model::record::requests::Provenance;
use std::collections::HashMap;

/// The devices met so far.
#[derive(Debug, Default)]
pub(super) struct Names {
    met: HashMap<u32, (usize, String)>,
}

impl Names {
    /// A device's place among those met, its name, and whether it is met for the first time.
    pub(super) fn of(&mut self, device: u32, provenance: &Provenance) -> (usize, &str, bool) {
        let next = self.met.len();
        let entry = self.met.entry(device);
        let (place, name) = entry.or_insert_with(|| (next, name(device, provenance)));
        (*place, name, *place == next)
    }
}

/// The name that is noted, or `dev-MAJOR-MINOR`.
pub(super) fn name(device: u32, provenance: &Provenance) -> String {
    let noted = provenance.notes.get(&format!("device.{device}")).cloned();
    let (major, minor) = major_minor(device);
    noted.unwrap_or_else(|| format!("dev-{major}-{minor}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_keeps_its_place_and_has_the_name_that_is_noted() {
        let mut provenance = Provenance::default();
        provenance.notes.insert("device.7".into(), "web.0".into());
        let mut names = Names::default();
        assert_eq!(names.of(7 << 20 | 1, &provenance), (0, "dev-7-1", true));
        assert_eq!(names.of(7, &provenance), (1, "web.0", true));
        assert_eq!(names.of(7 << 20 | 1, &provenance), (0, "dev-7-1", false));
    }
}
