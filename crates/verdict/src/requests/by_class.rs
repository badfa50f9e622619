//! Requests by class: a row is added to its class once, and what is wanted of wider classes is
//! merged from theirs at the end.

use super::traffic::{Share, Traffic};
use hashbrown::HashMap;
use model::record::{Op, Request};
use std::collections::BTreeMap;
use std::hash::Hash;

#[derive(Debug, Clone)]
pub(crate) struct ByClass<K>(HashMap<K, Traffic>);

impl<K> Default for ByClass<K> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<K: Hash + Eq + Copy> ByClass<K> {
    pub(crate) fn of(&mut self, class: K) -> &mut Traffic {
        self.0.entry(class).or_default()
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        self.merge_as(other, |class| *class);
    }

    /// Adds those whose classes have other names here.
    pub(crate) fn merge_as(&mut self, other: &Self, here: impl Fn(&K) -> K) {
        other.0.iter().for_each(|(class, traffic)| self.of(here(class)).merge(traffic));
    }

    /// The traffic of wider classes, in their order; what is in none of them is left out.
    pub(crate) fn by<C: Ord>(&self, wider: impl Fn(&K) -> Option<C>) -> Vec<(C, Traffic)> {
        let mut merged: BTreeMap<C, Traffic> = BTreeMap::new();
        for (class, traffic) in &self.0 {
            if let Some(wider) = wider(class) {
                merged.entry(wider).or_default().merge(traffic);
            }
        }
        merged.into_iter().collect()
    }
}

/// Requests by device and operation.
#[derive(Debug, Clone, Default)]
pub struct ByOperation(pub(super) ByClass<(u32, Op)>);

/// What is known of a device's requests of an operation, or of all.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Figures {
    /// How many tell their response.
    pub responses: u64,
    /// The mean and the greatest response; of none, nothing and 0.
    pub mean_ns: Option<f64>,
    /// The greatest response.
    pub max_ns: u64,
    /// The mean time from the driver's issue to the completion.
    pub service_mean_ns: Option<f64>,
}

impl ByOperation {
    /// Adds a row.
    pub fn add(&mut self, row: &Request) {
        self.0.of((row.device, row.op)).add(&Share::of(row));
    }

    /// The figures of a device and an operation; without one, of all.
    pub fn figures(&self, device: u32, op: Option<Op>) -> Figures {
        let is_it = |class: &(u32, Op)| class.0 == device && op.is_none_or(|op| op == class.1);
        let traffic = self.0.by(|class| is_it(class).then_some(())).pop();
        traffic.map_or_else(Figures::default, |((), traffic)| Figures {
            responses: traffic.responses(),
            mean_ns: traffic.response.as_ref().and_then(|response| response.mean_ns()),
            max_ns: traffic.response.as_ref().map_or(0, |response| response.max_ns()),
            service_mean_ns: traffic.done_mean_ns(),
        })
    }
}
