//! From events in any order to the time that workers spent on their CPUs: a pure
//! reckoning. A worker's time runs from the start of its work to the end, less what lies
//! between being switched out and being switched in again.

use std::collections::BTreeMap;

/// What happened to a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Event {
    Start { at_ns: u64, thread: u32 },
    End { at_ns: u64, thread: u32 },
    Switch { at_ns: u64, from: u32, to: u32 },
}

impl Event {
    /// By time; at the same moment in an order in which no time is counted twice.
    fn key(&self) -> (u64, u8) {
        match self {
            Self::End { at_ns, .. } => (*at_ns, 0),
            Self::Switch { at_ns, .. } => (*at_ns, 1),
            Self::Start { at_ns, .. } => (*at_ns, 2),
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct WorkerTime {
    waiting: Vec<Event>,
    /// Threads at work: since when on a CPU, or none while switched out.
    at_work: BTreeMap<u32, Option<u64>>,
    total_ns: u64,
}

impl WorkerTime {
    /// Takes an event, to be accounted for when it is settled.
    pub(super) fn add(&mut self, event: Event) {
        self.waiting.push(event);
    }

    /// Accounts for all events up to a moment, before which no more will come.
    pub(super) fn settle(&mut self, until_ns: u64) {
        self.waiting.sort_by_key(Event::key);
        let settled = self.waiting.partition_point(|event| event.key().0 <= until_ns);
        let events: Vec<Event> = self.waiting.drain(..settled).collect();
        events.into_iter().for_each(|event| self.account(event));
    }

    fn account(&mut self, event: Event) {
        match event {
            Event::Start { at_ns, thread } => {
                self.at_work.insert(thread, Some(at_ns));
            }
            Event::End { at_ns, thread } => {
                self.stop(thread, at_ns);
                self.at_work.remove(&thread);
            }
            Event::Switch { at_ns, from, to } => {
                self.stop(from, at_ns);
                if let Some(since) = self.at_work.get_mut(&to) {
                    *since = Some(at_ns);
                }
            }
        }
    }

    /// The thread leaves its CPU, if it was at work on one.
    fn stop(&mut self, thread: u32, at_ns: u64) {
        if let Some(since) = self.at_work.get_mut(&thread).and_then(Option::take) {
            self.total_ns += at_ns.saturating_sub(since);
        }
    }

    /// Time on a CPU so far, of all that is settled; a stay that goes on is counted at its end.
    pub(super) fn total_ns(&self) -> u64 {
        self.total_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Thread 1 works from 10 to 100 and is off its CPU from 30 to 80: 40 ns.
    /// Thread 2 works from 40 to 70 in between: 30 ns. Thread 3 never works for us.
    const EVENTS: [Event; 8] = [
        Event::Start { at_ns: 10, thread: 1 },
        Event::Switch { at_ns: 30, from: 1, to: 2 },
        Event::Start { at_ns: 40, thread: 2 },
        Event::End { at_ns: 70, thread: 2 },
        Event::Switch { at_ns: 75, from: 2, to: 3 },
        Event::Switch { at_ns: 80, from: 3, to: 1 },
        Event::End { at_ns: 100, thread: 1 },
        Event::End { at_ns: 110, thread: 9 },
    ];

    proptest! {
        /// Any interleaving of the buffers, and any moments of settling, give the same time.
        #[test]
        fn order_of_arrival_does_not_matter(
            order in Just((0..EVENTS.len()).collect::<Vec<_>>()).prop_shuffle(),
        ) {
            let mut time = WorkerTime::default();
            for index in order { time.add(EVENTS[index]); }
            time.settle(50);
            time.settle(1000);
            prop_assert_eq!(time.total_ns(), 70);
        }
    }

    #[test]
    fn what_goes_on_is_counted_when_it_ends() {
        let mut time = WorkerTime::default();
        EVENTS.iter().take(2).for_each(|event| time.add(*event));
        time.settle(1000);
        assert_eq!(time.total_ns(), 20);
    }
}
