//! Requests by class: a row is added to its class once, and what is wanted of wider classes is
//! merged from theirs at the end.

use super::traffic::{Step, Traffic};
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

/// Requests of one class, for a caller that keeps classes of its own and asks for a few figures.
#[derive(Debug, Clone, Copy, Default)]
pub struct Class {
    responses: u64,
    response_ns: u64,
    max_ns: u64,
    done: u64,
    done_ns: f64,
}

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
    /// Adds a request, whose response begins with the first moment that is known of it; returns
    /// its response and its time from the driver's issue on, where they are known, ns.
    #[inline]
    pub fn add(&mut self, row: &Request) -> (Option<u64>, Option<u64>) {
        let begun_ns = row.arrival_ns().filter(|_| !row.is_orphan());
        let response = Step::response(begun_ns, row).known_ns();
        let done = Step::done(row).known_ns();
        if let Some(response_ns) = response {
            self.responses += 1;
            self.response_ns = self.response_ns.wrapping_add(response_ns);
            self.max_ns = self.max_ns.max(response_ns);
        }
        if let Some(done_ns) = done {
            self.done += 1;
            self.done_ns += done_ns as f64;
        }
        (response, done)
    }

    /// Adds the requests of another class.
    pub fn merge(&mut self, other: &Self) {
        self.responses += other.responses;
        self.response_ns = self.response_ns.wrapping_add(other.response_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
        self.done += other.done;
        self.done_ns += other.done_ns;
    }

    /// The figures of its requests.
    pub fn figures(&self) -> Figures {
        let mean = |ns: f64, count: u64| (count > 0).then(|| ns / count as f64);
        Figures {
            responses: self.responses,
            mean_ns: mean(self.response_ns as f64, self.responses),
            max_ns: self.max_ns,
            service_mean_ns: mean(self.done_ns, self.done),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_completion_whose_request_was_never_seen_has_no_response() {
        let mut class = Class::default();
        let orphan = Request { completed_ns: Some(9), ..Request::default() };
        assert_eq!(class.add(&orphan), (None, None));
        assert_eq!(class.add(&Request { issued_ns: Some(2), ..orphan }), (Some(7), Some(7)));
        let Figures { responses, mean_ns, .. } = class.figures();
        assert_eq!((responses, mean_ns), (1, Some(7.0)));
    }
}
