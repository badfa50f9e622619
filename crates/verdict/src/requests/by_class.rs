//! Requests by class: a row is added to its class once, and what is wanted of wider classes is
//! merged from theirs at the end.

use super::traffic::{Share, Traffic};
use hashbrown::HashMap;
use model::record::Request;
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

/// Requests of one class, for a caller that keeps classes of its own.
#[derive(Debug, Clone, Default)]
pub struct Class(Traffic);

/// What is known of a class of requests.
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

impl Class {
    /// Adds a request.
    #[inline]
    pub fn add(&mut self, row: &Request) {
        self.0.add(&Share::of(row));
    }

    /// Adds the requests of another class.
    pub fn merge(&mut self, other: &Self) {
        self.0.merge(&other.0);
    }

    /// The figures of its requests.
    pub fn figures(&self) -> Figures {
        let response = self.0.response.as_ref();
        Figures {
            responses: self.0.responses(),
            mean_ns: response.and_then(|response| response.mean_ns()),
            max_ns: response.map_or(0, |response| response.max_ns()),
            service_mean_ns: self.0.done_mean_ns(),
        }
    }
}
