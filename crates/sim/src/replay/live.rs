//! Requests as they come, one device's: a machine that is asked as time goes on, and says when
//! each request is completed as soon as that is certain.
//!
//! A drive's time for a request is certain when the drive is given it: what comes later does not
//! change it. Until then the request waits in the driver's or the controller's queue.
//!
//! Non-goals: clocks; whoever asks says what time it is.

use super::engine::Engine;
use super::machine::ReplayMachine;
use super::outcome::ReplayError;
use model::record::Request;

/// A machine with one device.
#[derive(Debug)]
pub struct Live {
    engine: Engine,
    /// How many ns of whoever asks one of the model's is.
    slow: f64,
}

impl Live {
    /// A machine at rest.
    pub fn new(machine: ReplayMachine) -> Self {
        Self::slowed(machine, 1.0)
    }

    /// A machine at rest that takes so many times as long as its model for everything.
    pub fn slowed(machine: ReplayMachine, slow: f64) -> Self {
        Self { engine: Engine::noting(machine), slow }
    }

    fn model_ns(&self, at_ns: u64) -> u64 {
        if self.slow == 1.0 { at_ns } else { (at_ns as f64 / self.slow) as u64 }
    }

    /// A moment that the model has reached must be one that has come.
    fn asker_ns(&self, at_ns: u64) -> u64 {
        if self.slow == 1.0 { at_ns } else { (at_ns as f64 * self.slow).ceil() as u64 }
    }

    /// A request comes. No later call may name an earlier moment.
    /// Errors: one past the drive's end.
    pub fn come(&mut self, now_ns: u64, request: Request) -> Result<(), ReplayError> {
        let now_ns = self.model_ns(now_ns);
        self.happen(now_ns);
        if !self.engine.is_served(&request) {
            self.engine.note(request.request_id, now_ns);
            return Ok(());
        }
        let number = self.engine.keep(&request)?;
        self.engine.arrive(number, now_ns);
        Ok(())
    }

    /// When something happens next.
    pub fn next_ns(&self) -> Option<u64> {
        self.engine.events.next_ns().map(|at_ns| self.asker_ns(at_ns))
    }

    /// Lets happen what does up to now; adds the requests whose completion is certain now, by their
    /// `request_id`, and when that is, ns.
    pub fn advance(&mut self, now_ns: u64, known: &mut Vec<(u64, u64)>) {
        self.happen(self.model_ns(now_ns));
        let first = known.len();
        known.append(self.engine.noted());
        for (_, at_ns) in &mut known[first..] {
            *at_ns = self.asker_ns(*at_ns);
        }
    }

    fn happen(&mut self, now_ns: u64) {
        while self.engine.events.next_ns().is_some_and(|next_ns| next_ns <= now_ns) {
            self.engine.step();
        }
        self.engine.give(&mut |_| ());
    }
}

#[cfg(test)]
mod tests {
    use super::super::{each, open};
    use super::*;
    use crate::profile::CATALOG;
    use model::record::Op;
    use proptest::prelude::*;

    fn machine(model: &str) -> ReplayMachine {
        ReplayMachine::of(&CATALOG.load(model).unwrap()).unwrap()
    }

    fn rows(of: &[(u32, u32, bool)]) -> Vec<Request> {
        let mut at_ns = 0;
        let row = |(number, (after_us, place, is_write)): (usize, &(u32, u32, bool))| {
            at_ns += i64::from(*after_us) * 1000;
            Request {
                request_id: number as u64 + 1,
                op: if *is_write { Op::Write } else { Op::Read },
                queued_ns: Some(at_ns),
                offset_bytes: Some(u64::from(*place) * 4096),
                length_bytes: 4096,
                ..Request::default()
            }
        };
        of.iter().enumerate().map(row).collect()
    }

    /// As a device does it: asked at some moments in between, too.
    fn live(model: &str, rows: &[Request], pause_ns: u64) -> Vec<(u64, u64)> {
        let (mut live, mut known) = (Live::new(machine(model)), Vec::new());
        let mut now_ns = 0;
        for row in rows {
            let at_ns = row.queued_ns.unwrap() as u64;
            while now_ns + pause_ns < at_ns {
                now_ns += pause_ns;
                live.advance(now_ns, &mut known);
            }
            now_ns = at_ns;
            live.come(now_ns, *row).unwrap();
        }
        while let Some(next_ns) = live.next_ns() {
            live.advance(next_ns, &mut known);
        }
        known.sort_unstable();
        known
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn a_device_completes_what_a_replay_does_and_when(
            of in proptest::collection::vec((0u32..60_000, 0u32..50_000, any::<bool>()), 1..60),
            pause_us in 50u64..5000,
        ) {
            for model in ["ra81", "atlas10k", "hp-9000-845"] {
                let rows = rows(&of);
                let mut replayed = Vec::new();
                open(machine(model), each(rows.clone()), |row| {
                    replayed.push((row.request_id, row.completed_ns.unwrap() as u64));
                })
                .unwrap();
                replayed.sort_unstable();
                prop_assert_eq!(live(model, &rows, pause_us * 1000), replayed, "{}", model);
            }
        }
    }

    #[test]
    fn what_no_drive_serves_is_completed_as_it_comes() {
        let flush = Request { request_id: 7, op: Op::Discard, ..Request::default() };
        let (mut live, mut known) = (Live::new(machine("ra81")), Vec::new());
        live.come(5, flush).unwrap();
        live.advance(5, &mut known);
        assert_eq!((known, live.next_ns()), (vec![(7, 5)], None));
    }
}
