//! The flight recorder: the 1986 paper's circular buffer. The requests of the last so many seconds are kept in memory,
//! and nothing is written until it matters.

use model::record::{Commands, Request};
use std::collections::VecDeque;
use std::time::Duration;
use trace::intake::{Rows, RowsError};

/// The last requests.
#[derive(Debug)]
pub(crate) struct Flight {
    kept: VecDeque<Request>,
    keep_ns: i64,
    rows_most: usize,
    /// The last arrival.
    last_ns: i64,
    /// Rows that would still be kept if there were more memory.
    pub(crate) crowded_out: u64,
}

impl Flight {
    /// Keeps so long, in so much memory.
    pub(crate) fn new(keep: Duration, memory_bytes: u64) -> Self {
        let rows_most = memory_bytes as usize / std::mem::size_of::<Request>();
        Self {
            kept: VecDeque::new(),
            keep_ns: i64::try_from(keep.as_nanos()).unwrap_or(i64::MAX),
            rows_most: rows_most.max(1),
            last_ns: i64::MIN,
            crowded_out: 0,
        }
    }

    /// How many are kept.
    pub(crate) fn rows(&self) -> u64 {
        self.kept.len() as u64
    }

    /// What is kept, in order.
    pub(crate) fn into_rows(self) -> impl Iterator<Item = Request> {
        self.kept.into_iter()
    }

    fn is_old(&self, row: &Request) -> bool {
        row.arrival_ns().is_some_and(|ns| self.last_ns.saturating_sub(ns) > self.keep_ns)
    }
}

impl Rows for Flight {
    fn push(&mut self, row: &Request, _: &Commands) -> Result<(), RowsError> {
        self.last_ns = self.last_ns.max(row.arrival_ns().unwrap_or(i64::MIN));
        while self.kept.front().is_some_and(|oldest| self.is_old(oldest)) {
            self.kept.pop_front();
        }
        if self.kept.len() >= self.rows_most {
            self.kept.pop_front();
            self.crowded_out += 1;
        }
        self.kept.push_back(*row);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(memory_bytes: u64) -> (Vec<u64>, u64) {
        let mut flight = Flight::new(Duration::from_secs(2), memory_bytes);
        for n in 0..10 {
            let queued_ns = Some(n as i64 * 1_000_000_000);
            let row = Request { request_id: n, queued_ns, ..Request::default() };
            flight.push(&row, &Commands::default()).unwrap();
        }
        let crowded_out = flight.crowded_out;
        (flight.into_rows().map(|row| row.request_id).collect(), crowded_out)
    }

    #[test]
    fn the_last_seconds_are_kept_and_a_lack_of_memory_is_counted() {
        assert_eq!(kept(1 << 20), (vec![7, 8, 9], 0));
        let (rows, crowded_out) = kept(2 * std::mem::size_of::<Request>() as u64);
        assert_eq!(rows, [8, 9]);
        assert!(crowded_out > 0);
    }
}
