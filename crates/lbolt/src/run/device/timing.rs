//! A modelled drive's times as those of a device of this machine.

use host::served::{Came, Timing, Wanted};
use model::record::{Op, Request};
use sim::replay::Live;

/// A model as a timing.
pub(super) struct ModelTiming {
    live: Live,
    /// What is known before the model was asked: of requests that it refuses.
    refused: Vec<(u64, u64)>,
}

impl ModelTiming {
    pub(super) fn new(live: Live) -> Self {
        Self { live, refused: vec![] }
    }
}

impl Timing for ModelTiming {
    fn come(&mut self, now_ns: u64, came: &Came) {
        let is_flush = came.wanted == Wanted::Flush;
        let request = Request {
            request_id: came.number,
            op: match came.wanted {
                Wanted::Read => Op::Read,
                Wanted::Write => Op::Write,
                Wanted::Flush => Op::Flush,
            },
            offset_bytes: (!is_flush).then_some(came.offset_bytes),
            length_bytes: came.length_bytes,
            queued_ns: Some(0),
            ..Request::default()
        };
        // The device is no larger than the drive: nothing is refused that a user could ask for.
        if self.live.come(now_ns, request).is_err() {
            self.refused.push((came.number, now_ns));
        }
    }

    fn next_ns(&self) -> Option<u64> {
        match self.refused.first() {
            Some((_, at_ns)) => Some(*at_ns),
            None => self.live.next_ns(),
        }
    }

    fn advance(&mut self, now_ns: u64, known: &mut Vec<(u64, u64)>) {
        known.append(&mut self.refused);
        self.live.advance(now_ns, known);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resolve::modelled::load;
    use sim::replay::ReplayMachine;

    fn timing(slow: f64) -> ModelTiming {
        let machine = ReplayMachine::of(&load("ra81", &[]).unwrap()).unwrap();
        ModelTiming::new(Live::slowed(machine, slow))
    }

    fn came(number: u64, offset_bytes: u64) -> Came {
        Came { number, wanted: Wanted::Read, offset_bytes, length_bytes: 4096 }
    }

    /// Drives a timing as a device does.
    fn completions(mut timing: ModelTiming, at: &[(u64, u64)]) -> Vec<(u64, u64)> {
        let mut known = Vec::new();
        for (number, (at_ns, offset_bytes)) in at.iter().enumerate() {
            timing.come(*at_ns, &came(number as u64, *offset_bytes));
        }
        while let Some(next_ns) = timing.next_ns() {
            timing.advance(next_ns, &mut known);
        }
        known
    }

    #[test]
    fn a_slower_device_takes_as_many_times_as_long() {
        let at = [(1_000_000_000, 100 << 20), (1_000_000_000, 9 << 20), (1_000_000_000, 300 << 20)];
        let quick = completions(timing(1.0), &at);
        assert_eq!(quick.len(), 3);
        let at = at.map(|(at_ns, offset)| (at_ns * 10, offset));
        let slow = completions(timing(10.0), &at);
        for ((number, quick_ns), (same, slow_ns)) in quick.iter().zip(&slow) {
            assert_eq!(number, same);
            assert!(slow_ns.abs_diff(quick_ns * 10) < 100, "{quick_ns} {slow_ns}");
        }
    }

    #[test]
    fn what_the_model_refuses_is_completed_all_the_same() {
        let known = completions(timing(1.0), &[(5, 1 << 40), (5, 0)]);
        assert_eq!(known.iter().map(|(number, _)| *number).collect::<Vec<_>>(), [0, 1]);
        assert_eq!(known[0].1, 5);
    }
}
