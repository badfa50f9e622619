//! Requests that are quicker than a threshold, as sums by device, operation and time, in place of
//! rows: most of them the kernel itself has summed up (`trace::capture::QuickRequests`); those that
//! it tells singly (of stacked devices, of flush sequences, by perf) are added here.
//!
//! What failed, what lbolt itself requested, and what nobody saw begin or end stays a row. So do
//! the parts of flush sequences but for the quick ones, which nobody waits for by themselves: they
//! are in no sum either, as in a rollup.
//!
//! Times are told to the second or so, and where a capture goes on for long to 2, 4, 8 … seconds:
//! memory is bounded.
//!
//! Non-goals: what the sums mean (`verdict::requests`).

use model::record::requests::Provenance;
use model::record::{Commands, Flags, Op, Request, Summed};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;
use trace::capture::{Quick, QuickRequests};
use trace::intake::{Refused, Rows, RowsError, one_by_one};

/// Sums that are kept; with more, neighbours in time are put together.
const SUMS_MOST: usize = 2048;
/// An interval at first.
const WIDTH_NS: i64 = 1_000_000_000;

/// Requests that were completed within a time.
#[derive(Debug, Clone)]
struct Cell {
    from_ns: i64,
    until_ns: i64,
    quick: Quick,
}

impl Cell {
    fn of(quick: Quick, (from_ns, until_ns): (i64, i64)) -> Self {
        Self { from_ns, until_ns, quick }
    }

    fn merge(&mut self, other: &Self) {
        self.from_ns = self.from_ns.min(other.from_ns);
        self.until_ns = self.until_ns.max(other.until_ns);
        self.quick.merge(&other.quick);
    }
}

/// The sums of a capture.
#[derive(Debug)]
pub(super) struct QuickSums {
    slower_than_ns: i64,
    width_ns: i64,
    sums: BTreeMap<(i64, u32, Op), Cell>,
    /// What the kernel had summed up when it was last read, and when that was.
    seen: QuickRequests,
    seen_ns: i64,
    /// Requests in the sums, and those of them that the kernel told singly.
    count: u64,
    told_count: u64,
}

impl QuickSums {
    /// Of requests that take less than this.
    pub(super) fn new(slower_than: Duration) -> Self {
        Self {
            slower_than_ns: i64::try_from(slower_than.as_nanos()).unwrap_or(i64::MAX),
            width_ns: WIDTH_NS,
            sums: BTreeMap::new(),
            seen: QuickRequests::new(),
            seen_ns: 0,
            count: 0,
            told_count: 0,
        }
    }

    /// Requests in the sums so far.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// Requests that came as rows and are none.
    pub(super) fn told_count(&self) -> u64 {
        self.told_count
    }

    /// What the kernel has summed up until a moment, since the capture began.
    pub(super) fn reach(&mut self, now_ns: i64, now: QuickRequests) {
        for ((device, op), quick) in &now {
            let before = self.seen.get(&(*device, *op));
            let new = before.map_or_else(|| quick.clone(), |before| quick.since(before));
            if new.responses.count() > 0 {
                self.count += new.responses.count();
                self.add((*device, *op), &Cell::of(new, (self.seen_ns, now_ns)));
            }
        }
        (self.seen, self.seen_ns) = (now, now_ns);
    }

    /// The kernel counts anew from now on.
    pub(super) fn begin(&mut self, now_ns: i64) {
        self.seen.clear();
        self.seen_ns = now_ns;
    }

    /// Whether a row is none, because it is in the sums, or a quick part.
    fn takes(&mut self, row: &Request) -> bool {
        let begun_ns = row.queued_ns.or(row.started_ns);
        // What is a part begins where the driver got it.
        let begun_ns = begun_ns.or(row.issued_ns.filter(|_| row.parent_id.is_some()));
        let (Some(begun_ns), Some(end_ns)) = (begun_ns, row.completed_ns) else { return false };
        let took_ns = end_ns.saturating_sub(begun_ns);
        let is_quick = (0..self.slower_than_ns).contains(&took_ns);
        if !is_quick || row.error != 0 || row.flags.contains(Flags::OWN) {
            return false;
        }
        self.told_count += 1;
        if row.parent_id.is_none() {
            self.count += 1;
            let until = |step_ns: Option<i64>| {
                step_ns.map_or(0, |ns| ns.saturating_sub(begun_ns).max(0).unsigned_abs())
            };
            let mut quick = Quick {
                bytes: row.length_bytes.into(),
                admission_ns: until(row.started_ns),
                queue_ns: until(row.issued_ns),
                ..Quick::default()
            };
            quick.responses.record(took_ns.unsigned_abs());
            self.add((row.device, row.op), &Cell::of(quick, (end_ns, end_ns)));
        }
        true
    }

    fn add(&mut self, (device, op): (u32, Op), cell: &Cell) {
        let place = cell.until_ns.div_euclid(self.width_ns);
        let known = self.sums.entry((place, device, op));
        known.and_modify(|known| known.merge(cell)).or_insert_with(|| cell.clone());
        while self.sums.len() > SUMS_MOST && self.width_ns < i64::MAX / 2 {
            self.width_ns *= 2;
            for ((place, device, op), cell) in std::mem::take(&mut self.sums) {
                let known = self.sums.entry((place.div_euclid(2), device, op));
                known.and_modify(|known| known.merge(&cell)).or_insert(cell);
            }
        }
    }

    /// The sums, in the order of time.
    pub(super) fn take(&mut self) -> Vec<Summed> {
        let summed = |((_, device, op), cell): ((i64, u32, Op), Cell)| {
            let Cell { from_ns, until_ns, quick } = cell;
            let Quick { bytes, admission_ns, queue_ns, responses, busy: _ } = quick;
            let summed = Summed { device: device.into(), op, from_ns, until_ns, ..<_>::default() };
            Summed { bytes, admission_ns, queue_ns, ..summed }.with_responses(&responses)
        };
        std::mem::take(&mut self.sums).into_iter().map(summed).collect()
    }
}

/// Gives on what is no quick request.
pub(super) struct Slow<R> {
    pub(super) rows: R,
    pub(super) sums: Option<Rc<RefCell<QuickSums>>>,
}

impl<R: Rows> Rows for Slow<R> {
    fn push(&mut self, row: &Request, commands: &Commands) -> Result<(), RowsError> {
        match &self.sums {
            Some(sums) if sums.borrow_mut().takes(row) => Ok(()),
            _ => self.rows.push(row, commands),
        }
    }

    fn push_all(&mut self, rows: &[Request], commands: &Commands) -> Result<(), Refused> {
        match self.sums {
            Some(_) => one_by_one(self, rows, commands),
            None => self.rows.push_all(rows, commands),
        }
    }

    /// What is done and still to be put in order: of a killed capture quick rows are left, too.
    fn keep(
        &mut self,
        done: &[Request],
        commands: &Commands,
        provenance: &Provenance,
    ) -> Result<(), RowsError> {
        self.rows.keep(done, commands, provenance)
    }

    fn keeps_all(&self) -> bool {
        self.rows.keeps_all()
    }

    fn settle(&mut self) -> Result<(), RowsError> {
        self.rows.settle()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::histogram::SparseHistogram;

    const S: i64 = 1_000_000_000;

    fn row(op: Op, queued_ns: i64, took_ns: i64) -> Request {
        Request {
            device: 7,
            op,
            length_bytes: 4096,
            queued_ns: Some(queued_ns),
            started_ns: Some(queued_ns + took_ns / 8),
            issued_ns: Some(queued_ns + took_ns / 4),
            completed_ns: Some(queued_ns + took_ns),
            ..Request::default()
        }
    }

    fn told(rows: &[Request]) -> (Vec<Request>, QuickSums) {
        let sums = Rc::new(RefCell::new(QuickSums::new(Duration::from_micros(100))));
        let mut slow = Slow { rows: Vec::new(), sums: Some(sums.clone()) };
        rows.iter().for_each(|row| slow.push(row, &Commands::default()).unwrap());
        let Slow { rows, sums: shared } = slow;
        drop(shared);
        (rows, Rc::into_inner(sums).unwrap().into_inner())
    }

    #[test]
    fn a_quick_request_is_in_a_sum_or_a_row_and_never_in_both() {
        let quick = row(Op::Read, S, 99_999);
        let slow = row(Op::Read, S, 100_000);
        let failed = Request { error: 5, ..quick };
        let own = Request { flags: Flags::OWN, ..quick };
        let orphan = Request { queued_ns: None, started_ns: None, issued_ns: None, ..quick };
        let lost = Request { completed_ns: None, ..quick };
        let part = Request {
            parent_id: Some(3),
            queued_ns: None,
            started_ns: None,
            ..row(Op::Write, S, 10)
        };
        let (rows, mut sums) = told(&[quick, slow, failed, own, orphan, lost, part, quick]);
        assert_eq!(rows, [slow, failed, own, orphan, lost]);
        assert_eq!((sums.count(), sums.told_count()), (2, 3));
        let [summed] = &sums.take()[..] else { panic!() };
        assert_eq!((summed.from_ns, summed.until_ns), (S + 99_999, S + 99_999));
        assert_eq!(summed.admission_ns, 2 * 12_499);
        assert_eq!((summed.device, summed.op, summed.count, summed.bytes), (7, Op::Read, 2, 8192));
        assert_eq!((summed.queue_ns, summed.sum_ns), (2 * 24_999, 2 * 99_999));
        assert_eq!((summed.min_ns, summed.max_ns), (99_999, 99_999));
        assert_eq!((summed.counts.as_slice(), sums.take().len()), (&[2][..], 0));
    }

    #[test]
    fn of_the_kernels_sums_what_is_new_is_added_where_it_was_read() {
        let kernel = |times: &[u64]| {
            let mut quick = Quick { bytes: 10 * times.len() as u64, ..Quick::default() };
            times.iter().for_each(|ns| quick.responses.record(*ns));
            QuickRequests::from([((7, Op::Write), quick)])
        };
        let mut sums = QuickSums::new(Duration::from_millis(1));
        sums.reach(S, kernel(&[50, 900]));
        sums.reach(2 * S, kernel(&[50, 900]));
        sums.reach(3 * S + 5, kernel(&[50, 900, 70, 7000]));
        sums.begin(3 * S + 7);
        sums.reach(4 * S, kernel(&[20]));
        assert_eq!((sums.count(), sums.told_count()), (5, 0));
        let rows = sums.take();
        let shown: Vec<_> = rows
            .iter()
            .map(|row| (row.from_ns, row.until_ns, row.count, row.bytes, row.sum_ns, row.min_ns))
            .collect();
        let expected = [
            (0, S, 2, 20, 950, 50),
            (2 * S, 3 * S + 5, 2, 20, 7070, 70),
            (3 * S + 7, 4 * S, 1, 10, 20, 20),
        ];
        assert_eq!(shown, expected);
    }

    #[test]
    fn hours_are_told_in_bounded_memory_to_the_last_request() {
        let rows: Vec<_> = (0..10_000).map(|second| row(Op::Read, second * S, 5_000)).collect();
        let (left, mut sums) = told(&rows);
        assert!(left.is_empty());
        assert_eq!(sums.width_ns, 8 * S);
        let summed = sums.take();
        assert!(summed.len() <= SUMS_MOST);
        assert_eq!(summed.iter().map(|row| row.count).sum::<u64>(), 10_000);
        assert!(summed.iter().all(|row| row.until_ns - row.from_ns == 7 * S));
        let mut all = SparseHistogram::default();
        assert!(summed.iter().all(|row| row.add_responses(&mut all)));
        assert_eq!((all.count(), all.sum_ns()), (10_000, 50_000_000));
    }
}
