//! What is selected of a trace: a part of each of its dimensions. What is not named is not
//! restricted.
//!
//! Non-goals: how it is counted.

use super::classes::{Class, Classes};
use super::rows::NO_PLACE;
use super::scale::{self, BINS};
use super::{Index, OPERATIONS};
use serde::{Deserialize, Serialize};

/// What is selected, as it is requested and as it is answered.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Brush {
    /// Arrivals from this moment of the trace on, ns; none: from the first.
    pub from_ns: Option<i64>,
    /// Arrivals before this moment.
    pub until_ns: Option<i64>,
    /// Places of the shown device from here on, bytes.
    pub place_from_bytes: Option<u64>,
    /// Places before this one.
    pub place_until_bytes: Option<u64>,
    /// Response times from this one on, ns.
    pub response_from_ns: Option<f64>,
    /// Response times below this one.
    pub response_until_ns: Option<f64>,
    /// Devices, by their place in the trace's list; empty: all. So with the others.
    pub devices: Vec<u16>,
    /// Operations, by their place in [`OPERATIONS`].
    pub operations: Vec<u16>,
    /// Roles.
    pub roles: Vec<u16>,
    /// Files.
    pub files: Vec<u16>,
    /// The device whose places are shown; none: the one with most requests. Restricted places are
    /// of it.
    pub shown_device: Option<u16>,
}

/// The dimensions by which requests are listed.
pub(super) const DIMENSIONS: usize = 4;

/// The numbers of a class in the order of the dimensions.
pub(super) fn numbers(class: Class) -> [u16; DIMENSIONS] {
    [class.device, u16::from(class.op), class.role, class.file]
}

impl Brush {
    /// What is chosen of each dimension.
    pub(super) fn chosen(&self) -> [&[u16]; DIMENSIONS] {
        [&self.devices, &self.operations, &self.roles, &self.files]
    }

    /// Of each class which dimensions let it pass, as bits.
    pub(super) fn passes(&self, classes: &Classes) -> Vec<u8> {
        let chosen = self.chosen();
        let bits = |class: &Class| {
            let numbers = numbers(*class);
            let pass = |of: &usize| chosen[*of].is_empty() || chosen[*of].contains(&numbers[*of]);
            (0..DIMENSIONS).filter(pass).map(|of| 1 << of).sum()
        };
        classes.all.iter().map(bits).collect()
    }

    /// Whether places are restricted.
    pub(super) fn restricts_places(&self) -> bool {
        self.place_from_bytes.is_some() || self.place_until_bytes.is_some()
    }

    /// Whether response times are restricted.
    pub(super) fn restricts_responses(&self) -> bool {
        self.response_from_ns.is_some() || self.response_until_ns.is_some()
    }

    /// Its time within the trace's; none of a trace without rows.
    pub(super) fn time_ns(&self, index: &Index) -> Option<(i64, i64)> {
        let (first_ns, end_ns) = index.span_ns()?;
        let from_ns = self.from_ns.map_or(first_ns, |ns| ns.clamp(first_ns, end_ns - 1));
        let until_ns = self.until_ns.map_or(end_ns, |ns| ns.clamp(from_ns + 1, end_ns));
        Some((from_ns, until_ns))
    }

    /// Its places, in units: from, and before.
    pub(super) fn places(&self, index: &Index) -> (u32, u32) {
        let unit = |bytes: u64| u32::try_from(bytes >> index.place_shift).unwrap_or(NO_PLACE);
        let from = self.place_from_bytes.map_or(0, unit).min(NO_PLACE - 1);
        let last = self.place_until_bytes.map_or(NO_PLACE, |bytes| unit(bytes.saturating_sub(1)));
        (from, last.saturating_add(1).max(from + 1))
    }

    /// Its bins of response times: from, and before.
    pub(super) fn responses(&self) -> (usize, usize) {
        let from = self.response_from_ns.map_or(0, |ns| usize::from(scale::bin_of(ns)));
        // A bin's own end belongs to the next one.
        let last = |ns: f64| usize::from(scale::bin_of(ns * (1.0 - 1e-6)));
        let until = self.response_until_ns.map_or(BINS, |ns| last(ns) + 1);
        (from, until.max(from + 1))
    }

    /// Whether it names what the trace does not have.
    /// Errors: a sentence that says what.
    pub(super) fn check(&self, index: &Index) -> Result<(), String> {
        let classes = &index.classes;
        let most =
            [classes.devices.len(), OPERATIONS.len(), classes.roles.len(), classes.files.len()];
        let names = ["device", "operation", "role", "file"];
        let shown = self.shown_device.as_slice();
        let named = self.chosen().into_iter().chain([shown]);
        for ((chosen, most), name) in
            named.zip(most.into_iter().chain([most[0]])).zip(names.into_iter().chain([names[0]]))
        {
            if let Some(number) = chosen.iter().find(|number| usize::from(**number) >= most) {
                return Err(format!("there is no {name} {number}: there are {most}"));
            }
        }
        Ok(())
    }
}
