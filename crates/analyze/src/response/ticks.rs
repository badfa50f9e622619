//! Responses counted in ticks of 1/60 s, as the 1986 paper printed them (section 2.4): `lbolt`, the kernel's clock after
//! which this program is named, went up by one at each.

use std::collections::BTreeMap;

/// Ticks a second.
const RATE: u128 = 60;

/// So many responses took so many ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "both are what the paper's line says")]
pub struct TickCount {
    pub ticks: u64,
    pub responses: u64,
}

/// The counts.
#[derive(Debug, Default)]
pub(super) struct Ticks(BTreeMap<u64, u64>);

impl Ticks {
    /// To the nearest tick: a difference of two times in ticks is read back as it was.
    pub(super) fn add(&mut self, response_ns: u64) {
        let half = 500_000_000;
        let ticks = (u128::from(response_ns) * RATE + half) / 1_000_000_000;
        *self.0.entry(u64::try_from(ticks).unwrap_or(u64::MAX)).or_default() += 1;
    }

    pub(super) fn counts(&self) -> Vec<TickCount> {
        self.0
            .iter()
            .map(|(ticks, responses)| TickCount { ticks: *ticks, responses: *responses })
            .collect()
    }
}
