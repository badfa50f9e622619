//! The event queue: what is to happen when. Events of one moment happen in the order in which they
//! were scheduled, so that a simulation is the same each time.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// Events by their time.
#[derive(Debug, Clone)]
pub struct EventQueue<E> {
    events: BinaryHeap<Scheduled<E>>,
    scheduled: u64,
}

/// An event: by its time, and then by how many were scheduled before, which no two share.
#[derive(Debug, Clone)]
struct Scheduled<E> {
    key: (u64, u64),
    event: E,
}

/// The earliest is the greatest, which a heap gives first.
impl<E> Ord for Scheduled<E> {
    fn cmp(&self, other: &Self) -> Ordering {
        other.key.cmp(&self.key)
    }
}

impl<E> PartialOrd for Scheduled<E> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<E> PartialEq for Scheduled<E> {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl<E> Eq for Scheduled<E> {}

impl<E> Default for EventQueue<E> {
    fn default() -> Self {
        Self { events: BinaryHeap::new(), scheduled: 0 }
    }
}

impl<E> EventQueue<E> {
    /// Adds an event.
    pub fn schedule(&mut self, at_ns: u64, event: E) {
        self.events.push(Scheduled { key: (at_ns, self.scheduled), event });
        self.scheduled += 1;
    }

    /// Takes the earliest event with its time.
    pub fn pop(&mut self) -> Option<(u64, E)> {
        self.events.pop().map(|Scheduled { key: (at_ns, _), event }| (at_ns, event))
    }

    /// When the earliest event happens.
    pub fn next_ns(&self) -> Option<u64> {
        self.events.peek().map(|scheduled| scheduled.key.0)
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
