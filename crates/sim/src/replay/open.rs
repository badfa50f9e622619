//! Open replay: requests come when they came in the trace, whatever becomes of those before.

use super::engine::Engine;
use super::machine::ReplayMachine;
use super::outcome::{Outcome, ReplayError};
use model::record::Request;

/// Replays rows, sorted by arrival, on a machine; gives each out when it and all before it are
/// completed, with its times of the simulation. `next` makes the next row in the place that it is
/// given and says whether there was one: a row is moved as seldom as can be ([`super::each`] takes
/// rows from an iterator).
/// Errors: a row that no drive of this machine could serve, or that stands out of order; a
/// simulation that broke its own laws.
pub fn open(
    machine: ReplayMachine,
    mut next: impl FnMut(&mut Request) -> bool,
    mut sink: impl FnMut(&Request),
) -> Result<Outcome, ReplayError> {
    let mut engine = Engine::new(machine);
    let (mut now_ns, mut row) = (0, Request::default());
    while next(&mut row) {
        if !engine.is_served(&row) {
            continue;
        }
        now_ns = in_order(&row, now_ns)?;
        while engine.events.next_ns().is_some_and(|next_ns| next_ns <= now_ns) {
            engine.step();
        }
        engine.give(&mut sink);
        let number = engine.keep(&row)?;
        engine.arrive(number, now_ns);
    }
    while engine.step().is_some() {}
    engine.give(&mut sink);
    engine.finish()
}

/// When a row came, from the run's start on, ns.
pub(super) fn arrival_ns(row: &Request) -> u64 {
    row.arrival_ns().and_then(|at_ns| u64::try_from(at_ns).ok()).unwrap_or(0)
}

/// When a row came, unless that was before the row that stands before it.
pub(super) fn in_order(row: &Request, last_ns: u64) -> Result<u64, ReplayError> {
    let at_ns = arrival_ns(row);
    match last_ns.checked_sub(at_ns) {
        Some(early_ns) if early_ns > 0 => {
            Err(ReplayError::Unsorted { request_id: row.request_id, early_ns })
        }
        _ => Ok(at_ns),
    }
}
