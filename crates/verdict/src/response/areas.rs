//! Requests by the named areas of their devices: partitions, and what a file system keeps where.

use crate::requests::{Share, SmallTraffic};
use hashbrown::HashMap;
use model::record::Request;
use model::record::requests::{AREA_KINDS, Area, Provenance};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Where the areas of a kind lie.
#[derive(Debug, Default)]
struct Map {
    /// By device: the areas in order, each with the place of its name.
    devices: HashMap<u32, Vec<(std::ops::Range<u64>, usize)>>,
    names: Vec<(u32, String)>,
}

impl Map {
    fn of(provenance: &Provenance, kind: &str) -> Self {
        let mut map = Self::default();
        for (device, areas) in provenance.areas(kind) {
            let mut places: BTreeMap<String, usize> = BTreeMap::new();
            let mut place = |Area { bytes, name }: Area| {
                let next = map.names.len();
                let place = *places.entry(name.clone()).or_insert(next);
                if place == next {
                    map.names.push((device, name));
                }
                (bytes, place)
            };
            let placed = areas.into_iter().map(&mut place).collect();
            map.devices.insert(device, placed);
        }
        map
    }

    /// The place of the name; the one behind the last for what is in no area of a device that has
    /// some.
    #[inline]
    fn place(&self, device: u32, offset: u64) -> Option<usize> {
        let areas = self.devices.get(&device)?;
        let behind = areas.partition_point(|(bytes, _)| bytes.start <= offset);
        let area = behind.checked_sub(1).and_then(|place| areas.get(place));
        let area = area.filter(|(bytes, _)| bytes.contains(&offset));
        Some(area.map_or(self.names.len(), |(_, place)| *place))
    }
}

/// The maps of all kinds.
#[derive(Debug, Clone, Default)]
pub struct AreaMaps(Arc<[Map; AREA_KINDS.len()]>);

impl AreaMaps {
    /// As the trace's notes tell them.
    pub fn of(provenance: &Provenance) -> Self {
        Self(Arc::new(AREA_KINDS.map(|kind| Map::of(provenance, kind))))
    }

    fn tell(&self) -> bool {
        self.0.iter().any(|map| !map.devices.is_empty())
    }
}

/// What there is of an area: the kind, the device (none for what is in no area), the area's name.
type OfArea<'a> = (&'static str, Option<u32>, &'a str, &'a SmallTraffic);

#[derive(Debug, Default)]
pub(super) struct Areas {
    maps: AreaMaps,
    is_known: bool,
    traffic: [Vec<SmallTraffic>; AREA_KINDS.len()],
    /// Those of other traces.
    others: BTreeMap<(&'static str, Option<u32>, String), SmallTraffic>,
}

impl Areas {
    pub(super) fn new(maps: AreaMaps) -> Self {
        let is_known = maps.tell();
        Self { maps, is_known, ..Self::default() }
    }

    /// Whether any are known: most traces have none.
    #[inline]
    pub(super) fn are_known(&self) -> bool {
        self.is_known
    }

    pub(super) fn add(&mut self, row: &Request, share: &Share) {
        let Some(offset) = row.offset_bytes else { return };
        for (map, traffic) in self.maps.0.iter().zip(&mut self.traffic) {
            if let Some(place) = map.place(row.device, offset) {
                at(traffic, place).add(share);
            }
        }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        if !self.is_known {
            (self.maps, self.is_known) = (other.maps.clone(), other.is_known);
        }
        for (own, theirs) in self.traffic.iter_mut().zip(&other.traffic) {
            for (place, theirs) in theirs.iter().enumerate() {
                at(own, place).merge(theirs);
            }
        }
    }

    /// Adds what another trace has of an area; `device` is its number here.
    pub(super) fn add_other(&mut self, (kind, device, name, traffic): OfArea<'_>) {
        self.others.entry((kind, device, name.to_owned())).or_default().merge(traffic);
    }

    /// What there is by area.
    pub(super) fn iter(&self) -> impl Iterator<Item = OfArea<'_>> {
        let others = self.others.iter();
        let others = others.map(|((kind, of, name), traffic)| (*kind, *of, name.as_str(), traffic));
        self.own().chain(others)
    }

    fn own(&self) -> impl Iterator<Item = OfArea<'_>> {
        let kinds = AREA_KINDS.iter().zip(self.maps.0.iter()).zip(&self.traffic);
        kinds.flat_map(|((kind, map), traffic)| {
            let told = traffic.iter().enumerate().filter(|(_, traffic)| !traffic.is_empty());
            told.map(move |(place, traffic)| match map.names.get(place) {
                Some((device, name)) => (*kind, Some(*device), name.as_str(), traffic),
                None => (*kind, None, "elsewhere", traffic),
            })
        })
    }
}

fn at(traffic: &mut Vec<SmallTraffic>, place: usize) -> &mut SmallTraffic {
    if traffic.len() <= place {
        traffic.resize_with(place + 1, SmallTraffic::default);
    }
    &mut traffic[place]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_in_the_area_that_it_begins_in() {
        let area = |start, end, name: &str| Area { bytes: start..end, name: name.into() };
        let mut provenance = Provenance::default();
        let areas =
            [area(100, 200, "journal"), area(200, 300, "inodes"), area(400, 500, "journal")];
        provenance.note_areas("structure", 1, &areas);
        let mut all = Areas::new(AreaMaps::of(&provenance));
        for (device, offset) in
            [(1, 99), (1, 100), (1, 199), (1, 200), (1, 450), (1, 300), (1, 900), (2, 100)]
        {
            let row = Request { device, offset_bytes: Some(offset), ..Request::default() };
            all.add(&row, &Share::of(&row));
        }
        let mut whole = Areas::default();
        whole.merge(&all);
        for areas in [&all, &whole] {
            let found: Vec<_> = areas
                .iter()
                .map(|(kind, _, name, t)| (kind, name.to_owned(), t.requested()))
                .collect();
            let of = |name: &str, requested| ("structure", name.to_owned(), requested);
            assert_eq!(found, [of("journal", 3), of("inodes", 1), of("elsewhere", 3)]);
        }
    }
}
