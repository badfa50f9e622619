//! When the requests of a trace are due: as they came, each after the one before it, or after what
//! their process waited for.

use super::{Due, Happened};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

/// Longer than that nobody thinks, ns (as in `sim::replay::dependent`).
pub const THINK_MAX_NS: u64 = 1_000_000_000;

/// What the trace tells of a request's times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Followed {
    /// When it came, ns from the first one.
    pub came_ns: u64,
    /// When it was completed, ns from there; none where the trace does not tell.
    pub completed_ns: Option<u64>,
    /// Who made it.
    pub pid: Option<u32>,
    /// Nobody waits for it.
    pub is_background: bool,
}

/// Why requests cannot follow each other. Completes "failed to …".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FollowError {
    /// The trace does not tell when a request was completed.
    #[error(
        "replay with closed arrivals: request {place} of the trace has no completion time; use \
         --arrivals open"
    )]
    NoCompletion {
        /// Its place among all.
        place: usize,
    },
}

/// So many times the rate: times are divided by it.
fn scaled(time_ns: u64, factor: f64) -> u64 {
    if factor == 1.0 { time_ns } else { (time_ns as f64 / factor) as u64 }
}

/// Each comes when it came, whatever became of those before.
pub fn open(trace: &[Followed], factor: f64) -> Vec<Due> {
    trace.iter().map(|row| Due::At(scaled(row.came_ns, factor))).collect()
}

/// Each comes its think time after the completion of the one before it.
/// Errors: a request whose completion is not known.
pub fn closed(trace: &[Followed], factor: f64) -> Result<Vec<Due>, FollowError> {
    let mut before: Option<u64> = None;
    let due = |(place, row): (usize, &Followed)| {
        let completed_ns = row.completed_ns.ok_or(FollowError::NoCompletion { place })?;
        let follows_ns = before.replace(completed_ns);
        Ok(match follows_ns {
            None => Due::At(scaled(row.came_ns, factor)),
            Some(follows_ns) => Due::After {
                request: place as u32 - 1,
                of: Happened::Completed,
                think_ns: scaled(row.came_ns.saturating_sub(follows_ns), factor),
                not_before_ns: 0,
            },
        })
    };
    trace.iter().enumerate().map(due).collect()
}

/// What a process has seen in the trace so far.
#[derive(Debug, Default)]
struct Process {
    /// The last thing: when in the trace, of which request, and what.
    last: Option<(u64, u32, Happened)>,
    /// Completions that it will see: when in the trace, of which request.
    awaited: BinaryHeap<Reverse<(u64, u32)>>,
}

/// Each comes after the last thing of its process before it: that its previous request came, or
/// that one of its requests was completed. What comes later than anybody thinks was caused by
/// something else, and comes when it came, or that time after if that is later.
pub fn dependent(trace: &[Followed], factor: f64) -> Vec<Due> {
    let mut processes: HashMap<Option<u32>, Process> = HashMap::new();
    let due = |(place, row): (usize, &Followed)| {
        let process = processes.entry(row.pid).or_default();
        while let Some(&Reverse((at_ns, of))) = process.awaited.peek() {
            if at_ns > row.came_ns {
                break;
            }
            process.awaited.pop();
            process.last = Some((at_ns, of, Happened::Completed));
        }
        let follows = process.last.replace((row.came_ns, place as u32, Happened::Came));
        if let (Some(completed_ns), false) = (row.completed_ns, row.is_background) {
            process.awaited.push(Reverse((completed_ns, place as u32)));
        }
        let came_ns = scaled(row.came_ns, factor);
        let Some((at_ns, request, of)) = follows else { return Due::At(came_ns) };
        let think_ns = row.came_ns.saturating_sub(at_ns);
        let is_caused = think_ns <= THINK_MAX_NS;
        Due::After {
            request,
            of,
            think_ns: scaled(think_ns.min(THINK_MAX_NS), factor),
            not_before_ns: if is_caused { 0 } else { came_ns },
        }
    };
    trace.iter().enumerate().map(due).collect()
}
