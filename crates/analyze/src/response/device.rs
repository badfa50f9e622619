//! What one device did: its flow, its depth, its regions and its grids of time.

use super::flow::Flow;
use super::outstanding::Outstanding;
use super::recent::Recent;
use super::slices::Slices;
use super::storms::Grids;

/// Slices of a device at the most, and the width that they begin with.
const REGIONS: usize = 32;
const REGION_BYTES: u64 = 1 << 20;

/// When a trace's requests arrived and were completed, in ns from its begin.
#[derive(Debug, Clone, Copy)]
pub(super) struct Times {
    pub(super) first_ns: i64,
    pub(super) arrived_ns: i64,
    pub(super) last_ns: i64,
}

impl Times {
    pub(super) fn span_ns(self) -> f64 {
        (i128::from(self.last_ns) - i128::from(self.first_ns)) as f64
    }
}

#[derive(Debug)]
pub(super) struct Device {
    pub(super) number: u32,
    /// Its trace's, where there are several.
    pub(super) times: Option<Times>,
    pub(super) outstanding: Outstanding,
    pub(super) flow: Flow,
    pub(super) regions: Slices,
    pub(super) grids: Grids,
}

impl Device {
    pub(super) fn new(number: u32, over_time_from_ns: Option<u64>) -> Self {
        Self {
            number,
            times: None,
            outstanding: Outstanding::kept_over_time(over_time_from_ns),
            flow: Flow::default(),
            regions: Slices::new(REGION_BYTES, REGIONS),
            grids: Grids::default(),
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Devices {
    places: hashbrown::HashMap<u32, usize>,
    all: Vec<Device>,
    recent: Recent<u32>,
    /// From when on they are kept over time, ns; none where they are not.
    pub(super) over_time_from_ns: Option<u64>,
}

impl Devices {
    /// The place of a device, which is made if it is new.
    #[inline]
    pub(super) fn place(&mut self, number: u32) -> usize {
        let (places, all, from_ns) = (&mut self.places, &mut self.all, self.over_time_from_ns);
        let look = || {
            *places.entry(number).or_insert_with(|| {
                all.push(Device::new(number, from_ns));
                all.len() - 1
            })
        };
        self.recent.place(number, number.into(), look)
    }

    /// Adds one that is not there.
    pub(super) fn push(&mut self, device: Device) {
        self.places.insert(device.number, self.all.len());
        self.all.push(device);
    }

    pub(super) fn of(&mut self, number: u32) -> &mut Device {
        let place = self.place(number);
        &mut self.all[place]
    }

    pub(super) fn at(&mut self, place: usize) -> Option<&mut Device> {
        self.all.get_mut(place)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Device> {
        self.all.iter()
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Device> {
        self.all.iter_mut()
    }

    pub(super) fn sorted(&self) -> Vec<&Device> {
        let mut sorted: Vec<_> = self.all.iter().collect();
        sorted.sort_by_key(|device| device.number);
        sorted
    }

    pub(super) fn into_all(self) -> Vec<Device> {
        self.all
    }
}
