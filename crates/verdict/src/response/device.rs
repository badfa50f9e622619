//! What one device did: its flow, its depth, its regions and its grids of time.

use super::flow::Flow;
use super::outstanding::Outstanding;
use super::recent::Recent;
use super::slices::Slices;
use super::storms::Grids;
use hashbrown::DefaultHashBuilder;
use indexmap::IndexMap;

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
    /// Whether some of its requests are known as sums alone.
    pub(super) fn is_summed(&self) -> bool {
        self.outstanding.summed > 0
    }

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
    all: IndexMap<u32, Device, DefaultHashBuilder>,
    recent: Recent<u32>,
    /// From when on they are kept over time, ns; none where they are not.
    pub(super) over_time_from_ns: Option<u64>,
}

impl Devices {
    /// The place of a device, which is made if it is new.
    #[inline]
    pub(super) fn place(&mut self, number: u32) -> usize {
        let (all, from_ns) = (&mut self.all, self.over_time_from_ns);
        let look = || {
            let device = all.entry(number);
            let place = device.index();
            device.or_insert_with(|| Device::new(number, from_ns));
            place
        };
        self.recent.place(number, number.into(), look)
    }

    /// Adds one that is not there.
    pub(super) fn push(&mut self, device: Device) {
        self.all.insert(device.number, device);
    }

    pub(super) fn of(&mut self, number: u32) -> &mut Device {
        let place = self.place(number);
        &mut self.all[place]
    }

    pub(super) fn at(&mut self, place: usize) -> Option<&mut Device> {
        self.all.get_index_mut(place).map(|(_, device)| device)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Device> {
        self.all.values()
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Device> {
        self.all.values_mut()
    }

    pub(super) fn sorted(&self) -> Vec<&Device> {
        let mut sorted: Vec<_> = self.all.values().collect();
        sorted.sort_by_key(|device| device.number);
        sorted
    }

    pub(super) fn into_all(self) -> impl Iterator<Item = Device> {
        self.all.into_values()
    }
}
