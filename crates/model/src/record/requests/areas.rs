//! Areas of devices that have a name: partitions, and what a file system keeps where. They are told
//! by notes of the provenance, `KIND.DEVICE`, so that whoever analyses the rows later knows what
//! lay where when they were captured.
//!
//! The text of a note: an area a line, its first byte, the first behind it, and its name.
//!
//! Non-goals: areas that move; areas within files.

use super::provenance::Provenance;
use std::fmt::Write as _;
use std::ops::Range;

/// An area of a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Area {
    /// From its first byte to the first behind it.
    pub bytes: Range<u64>,
    /// What it is called.
    pub name: String,
}

/// What kinds of areas there are: the key of their notes, and what requests are classed by.
pub const AREA_KINDS: [&str; 2] = ["partition", "structure"];

impl Provenance {
    /// Notes a device's areas of a kind; none are no note.
    pub fn note_areas(&mut self, kind: &str, device: u32, areas: &[Area]) {
        let mut text = String::new();
        for area in areas {
            let name = area.name.replace('\n', " ");
            let _ = writeln!(text, "{} {} {name}", area.bytes.start, area.bytes.end);
        }
        if !text.is_empty() {
            self.notes.insert(format!("{kind}.{device}"), text);
        }
    }

    /// The areas of a kind by device, as they are noted; lines that are none are passed over.
    pub fn areas(&self, kind: &str) -> Vec<(u32, Vec<Area>)> {
        let prefix = format!("{kind}.");
        let of = |(key, text): (&String, &String)| {
            let device = key.strip_prefix(&prefix)?.parse().ok()?;
            let mut areas: Vec<Area> = text.lines().filter_map(area).collect();
            areas.sort_by_key(|area| area.bytes.start);
            Some((device, areas))
        };
        self.notes.iter().filter_map(of).collect()
    }
}

fn area(line: &str) -> Option<Area> {
    let mut words = line.splitn(3, ' ');
    let bytes = words.next()?.parse().ok()?..words.next()?.parse().ok()?;
    Some(Area { bytes, name: words.next()?.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn areas_are_noted_and_come_back_in_order() {
        let area = |start, end, name: &str| Area { bytes: start..end, name: name.into() };
        let mut provenance = Provenance::default();
        let areas = [area(4096, 8192, "vda 2"), area(0, 4096, "vda1")];
        provenance.note_areas("partition", 7, &areas);
        provenance.note_areas("structure", 7, &[]);
        let found = provenance.areas("partition");
        assert_eq!(found, [(7, vec![area(0, 4096, "vda1"), area(4096, 8192, "vda 2")])]);
        assert!(provenance.areas("structure").is_empty());
        provenance.notes.insert("structure.9".into(), "nonsense\n1 2\n5 6 x".into());
        assert_eq!(provenance.areas("structure"), [(9, vec![area(5, 6, "x")])]);
    }
}
