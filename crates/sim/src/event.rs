//! The event queue: what is to happen when. Events of one moment happen in the order in which they
//! were scheduled, so that a simulation is the same each time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Events by their time.
#[derive(Debug, Clone)]
pub struct EventQueue<E> {
    heap: BinaryHeap<Reverse<Scheduled<E>>>,
    scheduled: u64,
}

#[derive(Debug, Clone)]
struct Scheduled<E> {
    at_ns: u64,
    number: u64,
    event: E,
}

impl<E> Scheduled<E> {
    fn key(&self) -> (u64, u64) {
        (self.at_ns, self.number)
    }
}

impl<E> PartialEq for Scheduled<E> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl<E> Eq for Scheduled<E> {}

impl<E> PartialOrd for Scheduled<E> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<E> Ord for Scheduled<E> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

impl<E> Default for EventQueue<E> {
    fn default() -> Self {
        Self { heap: BinaryHeap::new(), scheduled: 0 }
    }
}

impl<E> EventQueue<E> {
    /// Adds an event.
    pub fn schedule(&mut self, at_ns: u64, event: E) {
        self.heap.push(Reverse(Scheduled { at_ns, number: self.scheduled, event }));
        self.scheduled += 1;
    }

    /// Takes the earliest event with its time.
    pub fn pop(&mut self) -> Option<(u64, E)> {
        self.heap.pop().map(|Reverse(next)| (next.at_ns, next.event))
    }

    /// When the earliest event happens.
    pub fn next_ns(&self) -> Option<u64> {
        self.heap.peek().map(|Reverse(next)| next.at_ns)
    }

    /// Whether nothing is to happen.
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
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
