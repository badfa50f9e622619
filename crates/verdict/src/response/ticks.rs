//! Responses counted in ticks of 1/60 s, as the 1986 paper printed them (section 2.4): `lbolt`, the
//! kernel's clock after which this program is named, went up by one at each.

use crate::merge::merged;
use std::collections::BTreeMap;

const RATE: u128 = 60;
/// What is counted in an array: nearly all.
const FEW: u64 = 64;

/// So many responses took so many ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "both are what the paper's line says")]
pub struct TickCount {
    pub ticks: u64,
    pub responses: u64,
}

#[derive(Debug)]
pub(super) struct Ticks {
    few: [u64; FEW as usize],
    many: BTreeMap<u64, u64>,
}

impl Default for Ticks {
    fn default() -> Self {
        Self { few: [0; FEW as usize], many: BTreeMap::new() }
    }
}

merged!(Ticks { few, many });

impl Ticks {
    /// To the nearest tick: a difference of two times in ticks is read back as it was.
    #[inline]
    pub(super) fn add(&mut self, response_ns: u64) {
        let half = 500_000_000;
        let ticks = match response_ns.checked_mul(RATE as u64) {
            Some(sixtieths) => sixtieths.saturating_add(half) / 1_000_000_000,
            None => ((u128::from(response_ns) * RATE + u128::from(half)) / 1_000_000_000) as u64,
        };
        match self.few.get_mut(ticks as usize) {
            Some(count) => *count += 1,
            None => *self.many.entry(ticks).or_default() += 1,
        }
    }

    pub(super) fn counts(&self) -> Vec<TickCount> {
        let few = (0..).zip(self.few.iter().copied()).filter(|(_, count)| *count > 0);
        let all = few.chain(self.many.iter().map(|(ticks, count)| (*ticks, *count)));
        all.map(|(ticks, responses)| TickCount { ticks, responses }).collect()
    }
}
