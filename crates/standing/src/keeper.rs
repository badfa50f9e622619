//! What is kept of a watch: the rows of each minute, put together, into the history.
//!
//! A minute is written when it is over. What becomes known of it later, requests that took long and
//! its verdict, goes into the file of the next one, as rows of its own time. A minute that could
//! not be written is kept in memory and offered again with the next.
//!
//! Non-goals: how the history is kept (`model::history`).

use super::Second;
use ::capture::{host_facts, models};
use ::verdict::watched::Span;
use model::history::{HistoryError, Store};
use model::record::{Counted, Rollup, RollupKey, operations};
use model::units::counted;
use std::collections::BTreeMap;

const MINUTE_NS: u64 = 60_000_000_000;
/// Files that are kept of a minute: those with most bytes.
const FILES_MOST: usize = 20;
/// Rows that are held where they cannot be written; what is beyond them is counted.
const ROWS_MOST: usize = 200_000;

/// The rows of the span that goes on.
pub struct Keeper {
    store: Store,
    sums: BTreeMap<(i64, RollupKey), Rollup>,
    span: Option<Span>,
    /// Rows for which there was no room, by the time that they are of.
    left_out: BTreeMap<(i64, i64), u64>,
    /// All of them since the beginning.
    left_out_in_all: u64,
    /// Whether the last one could be written.
    is_refused: bool,
}

impl Keeper {
    /// Keeps them there.
    pub fn new(store: Store) -> Self {
        let (sums, span) = (BTreeMap::new(), None);
        let (left_out, left_out_in_all, is_refused) = (BTreeMap::new(), 0, false);
        Self { store, sums, span, left_out, left_out_in_all, is_refused }
    }

    /// Takes what has come. Says what became of a span that is over, if it is worth a word; and a
    /// row of what there was no room for.
    pub fn take(&mut self, second: &Second) -> (Option<String>, Option<Rollup>) {
        let over = self.span.replace(second.span).filter(|span| span.number != second.span.number);
        let said = over.and_then(|span| self.write(&span));
        let left_out = second.rows.iter().filter(|row| !self.add(row)).count() as u64;
        let span = (second.span.from_unix_ns, second.span.until_unix_ns);
        (said, (left_out > 0).then(|| not_kept(span, left_out)))
    }

    /// Whether there was room for it.
    fn add(&mut self, row: &Rollup) -> bool {
        if row.operation == operations::OUTSTANDING && row.counted == Counted::Watch {
            return true;
        }
        let key = (row.from_unix_ns, row.key());
        if let Some(sum) = self.sums.get_mut(&key) {
            sum.merge(row);
        } else if self.sums.len() < ROWS_MOST {
            self.sums.insert(key, row.clone());
        } else {
            *self.left_out.entry((row.from_unix_ns, row.until_unix_ns)).or_default() += 1;
            self.left_out_in_all += 1;
            return false;
        }
        true
    }

    /// Writes what there is of the span that goes on. Says what became of it.
    /// Errors: what could not be written is lost, or there was no room for something before: a
    /// sentence.
    pub fn end(&mut self) -> Result<Option<String>, String> {
        let Some(span) = self.span else { return Ok(None) };
        let written = self.written(&span).map_err(|error| {
            let rows = counted(self.sums.len() as u64, "row{s}");
            let since_ns = self.sums.keys().map(|(from_unix_ns, _)| *from_unix_ns).min();
            let span_ns = span.until_unix_ns.saturating_sub(since_ns.unwrap_or(span.from_unix_ns));
            let minutes = counted(span_ns.unsigned_abs().div_ceil(MINUTE_NS), "minute{s}");
            format!("failed to {error}; {rows} of the last {minutes} are lost")
        });
        if self.left_out_in_all == 0 {
            return written;
        }
        let (Ok(said) | Err(said)) = written.map_err(Some);
        let rows = counted(self.left_out_in_all, "row{s}");
        let lost =
            format!("{rows} could not be kept: memory holds {ROWS_MOST} until they are written");
        Err(said.into_iter().chain([lost]).collect::<Vec<_>>().join("; "))
    }

    fn write(&mut self, span: &Span) -> Option<String> {
        self.written(span).unwrap_or_else(|error| {
            let is_new = !std::mem::replace(&mut self.is_refused, true);
            is_new.then(|| {
                format!(
                    "failed to {error}; rows are kept in memory, and writing is retried every \
                     minute"
                )
            })
        })
    }

    fn written(&mut self, span: &Span) -> Result<Option<String>, HistoryError> {
        let mut rows: Vec<Rollup> = self.sums.values().cloned().collect();
        keep_largest_files(&mut rows);
        rows.extend(self.left_out.iter().map(|(span, rows)| not_kept(*span, *rows)));
        if rows.is_empty() {
            return Ok(None);
        }
        self.store.know_models(models());
        self.store.know_host(host_facts());
        let added = self.store.add(&rows, span.from_unix_ns, span.until_unix_ns);
        drop(rows);
        // An hour that is put together takes as much as the watch itself, for half a second.
        host::memory::give_back();
        let notes = added?.into_iter().map(|note| note.to_string());
        self.sums.clear();
        let was_refused = std::mem::replace(&mut self.is_refused, false);
        let left_out: u64 = std::mem::take(&mut self.left_out).into_values().sum();
        let again = was_refused.then(|| match left_out {
            0 => "writing the history works again; no rows are missing".to_owned(),
            rows => format!("writing the history works again; {rows} rows are missing"),
        });
        let said: Vec<String> = notes.chain(again).collect();
        Ok((!said.is_empty()).then(|| said.join("; ")))
    }
}

/// A time of which so many rows are missing.
fn not_kept((from_unix_ns, until_unix_ns): (i64, i64), rows: u64) -> Rollup {
    let (counted, operation) = (Counted::Watch, operations::NOT_KEPT.to_owned());
    let key = RollupKey { counted, operation, ..RollupKey::default() };
    let sum_ns = until_unix_ns.saturating_sub(from_unix_ns).max(0).unsigned_abs();
    Rollup { count: rows, sum_ns, ..Rollup::of(key, from_unix_ns, until_unix_ns) }
}

/// Of files only those with most bytes.
fn keep_largest_files(rows: &mut Vec<Rollup>) {
    let of_file = |row: &Rollup| row.counted == Counted::File;
    let mut bytes: Vec<u64> = rows.iter().filter(|row| of_file(row)).map(|row| row.bytes).collect();
    if bytes.len() <= FILES_MOST {
        return;
    }
    bytes.sort_unstable_by(|a, b| b.cmp(a));
    let least = bytes.get(FILES_MOST - 1).copied().unwrap_or(0);
    rows.retain(|row| !of_file(row) || row.bytes >= least.max(1));
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE_NS: i64 = super::MINUTE_NS as i64;

    fn second(minute: i64, roles: u64) -> Second {
        let (from_unix_ns, until_unix_ns) = (minute * MINUTE_NS, (minute + 1) * MINUTE_NS);
        let span = Span {
            number: minute as u64,
            from_ns: from_unix_ns,
            until_ns: until_unix_ns,
            from_unix_ns,
            until_unix_ns,
        };
        let row = |role: u64| {
            let role = Some(role.to_string());
            let key = RollupKey { role, ..RollupKey::default() };
            Rollup { count: 1, ..Rollup::of(key, from_unix_ns, until_unix_ns) }
        };
        Second { rows: (0..roles).map(row).collect(), span, going_on: Vec::new() }
    }

    #[test]
    fn what_there_was_no_room_for_is_told_in_the_history() {
        let directory = tempfile::tempdir().unwrap();
        let mut keeper = Keeper::new(Store::open(directory.path(), 1 << 30).unwrap());
        let most = ROWS_MOST as u64;
        assert_eq!(keeper.take(&second(0, most)), (None, None));
        assert_eq!(keeper.take(&second(0, most)), (None, None), "the same roles again");
        let (_, not_kept) = keeper.take(&second(0, most + 3));
        assert_eq!(not_kept.map(|row| row.count), Some(3));
        // A minute later all is well, and what was lost is lost.
        assert_eq!(keeper.take(&second(1, 1)), (None, None));
        let lost = "3 rows could not be kept: memory holds 200000 until they are written";
        assert_eq!(keeper.end(), Err(lost.to_owned()));
        let history = model::history::History::open(directory.path()).unwrap();
        let kinds = vec![Counted::Watch];
        let query = model::history::Query { until_unix_ns: i64::MAX, kinds, ..Default::default() };
        let (rows, notes) = history.read(&query);
        assert!(notes.is_empty(), "{notes:?}");
        let shown: Vec<_> = rows.iter().map(|row| (row.count, row.sum_ns)).collect();
        assert_eq!(shown, [(3, MINUTE_NS as u64)]);
    }
}
