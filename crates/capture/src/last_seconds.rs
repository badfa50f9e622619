//! The flight recorder: the 1986 paper's circular buffer. The requests of the last so many seconds
//! are kept in memory, and nothing is written until it matters.

use model::record::{Commands, Request};
use std::collections::VecDeque;
use std::time::Duration;
use trace::intake::{Rows, RowsError};

/// Parts of the time that is kept, by which it is known when rows had to go.
const PARTS: i64 = 1024;

/// Rows that are allocated together: what is kept takes memory, and not what might be.
const CHUNK_ROWS: usize = 1024;

/// Rows in order, the first of which go.
#[derive(Debug, Default)]
struct Queue {
    chunks: VecDeque<Vec<Request>>,
    /// Rows of the first chunk that have gone.
    gone: usize,
    /// An empty chunk, for the next one.
    spare: Option<Vec<Request>>,
}

impl Queue {
    fn front(&self) -> Option<&Request> {
        self.chunks.front()?.get(self.gone)
    }

    fn pop_front(&mut self) -> Option<Request> {
        let row = *self.front()?;
        self.gone += 1;
        if self.gone == CHUNK_ROWS {
            self.gone = 0;
            self.spare = self.chunks.pop_front().map(|mut chunk| {
                chunk.clear();
                chunk
            });
        }
        Some(row)
    }

    fn push_back(&mut self, row: Request) {
        if self.chunks.back().is_none_or(|last| last.len() == CHUNK_ROWS) {
            let room = self.spare.take().unwrap_or_else(|| Vec::with_capacity(CHUNK_ROWS));
            self.chunks.push_back(room);
        }
        self.chunks.iter_mut().next_back().into_iter().for_each(|last| last.push(row));
    }

    fn iter(&self) -> impl Iterator<Item = &Request> {
        self.chunks.iter().flatten().skip(self.gone)
    }

    fn into_rows(self) -> impl Iterator<Item = Request> {
        self.chunks.into_iter().flatten().skip(self.gone)
    }
}

/// The last requests.
#[derive(Debug)]
pub struct LastSeconds {
    kept: Queue,
    /// How many are kept.
    count: usize,
    keep_ns: i64,
    rows_most: usize,
    /// The last arrival, or the moment that was reached without one.
    last_ns: i64,
    /// Rows that had to go for others: the part of time in which they arrived, and how many.
    crowded_out: VecDeque<(i64, u64)>,
}

impl LastSeconds {
    /// Keeps so long, in so much memory.
    pub fn new(keep: Duration, memory_bytes: u64) -> Self {
        let rows_most = (memory_bytes as usize / std::mem::size_of::<Request>()).max(1);
        let keep_ns = i64::try_from(keep.as_nanos()).unwrap_or(i64::MAX);
        let (kept, crowded_out) = (Queue::default(), VecDeque::new());
        Self { kept, count: 0, keep_ns, rows_most, last_ns: i64::MIN, crowded_out }
    }

    /// How long they are kept.
    pub fn keep(&self) -> Duration {
        Duration::from_nanos(self.keep_ns.unsigned_abs())
    }

    /// How many are kept.
    pub fn count(&self) -> u64 {
        self.count as u64
    }

    /// Rows of the time that is kept for which there was no memory, at the least.
    pub fn crowded_out(&self) -> u64 {
        let begin_ns = self.last_ns.saturating_sub(self.keep_ns);
        let is_kept = |part: i64| part.saturating_mul(self.part_ns()) >= begin_ns;
        self.crowded_out.iter().filter(|(part, _)| is_kept(*part)).map(|(_, count)| count).sum()
    }

    /// When the first one of those that are kept arrived; of none, when the time that is kept
    /// begins.
    pub fn since_ns(&self) -> i64 {
        let first_ns = self.rows().find_map(Request::arrival_ns);
        first_ns.unwrap_or_else(|| self.last_ns.saturating_sub(self.keep_ns))
    }

    /// What is kept, in order.
    pub fn rows(&self) -> impl Iterator<Item = &Request> {
        self.kept.iter()
    }

    /// The same, whose memory goes with them.
    pub fn into_rows(self) -> impl Iterator<Item = Request> {
        self.kept.into_rows()
    }

    /// Nothing comes any more that arrived before a moment: what is too old by then goes, whether
    /// others come or not.
    pub fn reach(&mut self, time_ns: i64) {
        self.last_ns = self.last_ns.max(time_ns);
        while self.kept.front().is_some_and(|oldest| self.is_old(oldest)) {
            self.count -= usize::from(self.kept.pop_front().is_some());
        }
    }

    fn is_old(&self, row: &Request) -> bool {
        row.arrival_ns().is_some_and(|ns| self.last_ns.saturating_sub(ns) > self.keep_ns)
    }

    fn part_ns(&self) -> i64 {
        (self.keep_ns / PARTS).max(1)
    }

    /// A row had to go that would still be kept.
    fn count_crowded_out(&mut self, row: &Request) {
        let part = row.arrival_ns().unwrap_or(0).div_euclid(self.part_ns());
        match self.crowded_out.back_mut() {
            Some((last, count)) if *last == part => *count += 1,
            _ => self.crowded_out.push_back((part, 1)),
        }
        // A part more, for the window begins within one; rows may be out of order.
        while self.crowded_out.len() > 4 * PARTS as usize {
            self.crowded_out.pop_front();
        }
    }
}

impl Rows for LastSeconds {
    fn push(&mut self, row: &Request, _: &Commands) -> Result<(), RowsError> {
        self.reach(row.arrival_ns().unwrap_or(i64::MIN));
        if self.count >= self.rows_most
            && let Some(oldest) = self.kept.pop_front()
        {
            self.count -= 1;
            self.count_crowded_out(&oldest);
        }
        self.kept.push_back(*row);
        self.count += 1;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROW_BYTES: u64 = std::mem::size_of::<Request>() as u64;

    /// Rows at these seconds, of which the last two seconds are kept.
    fn kept(seconds: &[i64], memory_bytes: u64) -> (Vec<u64>, u64, usize) {
        let mut last = LastSeconds::new(Duration::from_secs(2), memory_bytes);
        for (number, second) in seconds.iter().enumerate() {
            let queued_ns = Some(second * 1_000_000_000);
            let row = Request { request_id: number as u64, queued_ns, ..Request::default() };
            last.push(&row, &Commands::default()).unwrap();
        }
        assert_eq!(last.count, last.rows().count());
        let capacity = last.kept.chunks.iter().map(Vec::capacity).sum();
        let crowded_out = last.crowded_out();
        (last.into_rows().map(|row| row.request_id).collect(), crowded_out, capacity)
    }

    #[test]
    fn the_last_seconds_are_kept_and_a_lack_of_memory_is_counted() {
        let seconds: Vec<i64> = (0..10).collect();
        assert_eq!(kept(&seconds, 1 << 20).0, [7, 8, 9]);
        let (rows, crowded_out, _) = kept(&seconds, 2 * ROW_BYTES);
        assert_eq!((rows, crowded_out), (vec![8, 9], 1));
    }

    #[test]
    fn what_had_to_go_before_the_window_is_not_counted() {
        // A burst at the beginning, of which all but two had to go; nothing had to go since.
        let seconds: Vec<i64> = (0..50).map(|_| 0).chain([100, 101]).collect();
        assert_eq!(kept(&seconds[..50], 2 * ROW_BYTES).1, 48);
        let (rows, crowded_out, _) = kept(&seconds, 2 * ROW_BYTES);
        assert_eq!((rows, crowded_out), (vec![50, 51], 0));
    }

    #[test]
    fn no_more_memory_is_taken_than_was_given_or_than_is_needed() {
        for rows in [1u64, 100, 4097] {
            let seconds: Vec<i64> = vec![1; 2 * rows as usize];
            let (found, _, capacity) = kept(&seconds, rows * ROW_BYTES);
            assert_eq!(found.len() as u64, rows);
            assert!(capacity as u64 <= rows + 2 * CHUNK_ROWS as u64, "{capacity} for {rows}");
        }
        // Nothing comes after a burst.
        let mut last = LastSeconds::new(Duration::from_secs(2), 1_000_000 * ROW_BYTES);
        let row = Request { queued_ns: Some(5_000_000_000), ..Request::default() };
        (0..100_000).for_each(|_| last.push(&row, &Commands::default()).unwrap());
        last.reach(7_000_000_000);
        assert_eq!(last.count(), 100_000, "they are not too old yet");
        last.reach(7_000_000_001);
        let capacity: usize = last.kept.chunks.iter().map(Vec::capacity).sum();
        assert_eq!((last.count(), capacity <= CHUNK_ROWS), (0, true));
        assert_eq!(last.since_ns(), 5_000_000_001, "what else is known of the time is kept");
        // Hours of a row a second, in room for a million.
        let seconds: Vec<i64> = (0..20_000).collect();
        let (found, _, capacity) = kept(&seconds, 1_000_000 * ROW_BYTES);
        assert_eq!((found, capacity <= 2 * CHUNK_ROWS), (vec![19_997, 19_998, 19_999], true));
    }
}
