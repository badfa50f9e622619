//! The event queue: what is to happen when. Events of one moment happen in the order in which they
//! were scheduled, so that a simulation is the same each time.

use std::collections::BTreeMap;

/// Events by their time.
#[derive(Debug, Clone)]
pub struct EventQueue<E> {
    /// By time, and then by how many were scheduled before.
    events: BTreeMap<(u64, u64), E>,
    scheduled: u64,
}

impl<E> Default for EventQueue<E> {
    fn default() -> Self {
        Self { events: BTreeMap::new(), scheduled: 0 }
    }
}

impl<E> EventQueue<E> {
    /// Adds an event.
    pub fn schedule(&mut self, at_ns: u64, event: E) {
        self.events.insert((at_ns, self.scheduled), event);
        self.scheduled += 1;
    }

    /// Takes the earliest event with its time.
    pub fn pop(&mut self) -> Option<(u64, E)> {
        self.events.pop_first().map(|((at_ns, _), event)| (at_ns, event))
    }

    /// When the earliest event happens.
    pub fn next_ns(&self) -> Option<u64> {
        self.events.first_key_value().map(|((at_ns, _), _)| *at_ns)
    }

    /// Whether nothing is to happen.
    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_by_time_and_then_in_the_order_of_scheduling() {
        let mut queue = EventQueue::default();
        for (at_ns, event) in [(5, 'c'), (3, 'a'), (5, 'd'), (3, 'b')] {
            queue.schedule(at_ns, event);
        }
        assert_eq!(queue.next_ns(), Some(3));
        let order: String = std::iter::from_fn(|| queue.pop().map(|(_, event)| event)).collect();
        assert_eq!(order, "abcd");
        assert!(queue.is_empty());
    }
}
