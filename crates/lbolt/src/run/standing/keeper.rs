//! What is kept of a watch: the rows of each minute, put together, into the history.
//!
//! A minute is written when it is over. What becomes known of it later, requests that took long and
//! its verdict, goes into the file of the next one, as rows of its own time. A minute that could
//! not be written is kept in memory and offered again with the next.
//!
//! Non-goals: how the history is kept (`model::history`).

use super::Second;
use analyze::watched::Span;
use model::history::Store;
use model::record::{Watched, WatchedKey, Watching, operations};
use std::collections::BTreeMap;

/// Files that are kept of a minute: those with most bytes.
const FILES_MOST: usize = 20;
/// Rows that are held where they cannot be written; what is beyond them is counted.
const ROWS_MOST: usize = 200_000;

/// The rows of the span that goes on.
pub(crate) struct Keeper {
    store: Store,
    sums: BTreeMap<(i64, WatchedKey), Watched>,
    span: Option<Span>,
    /// Rows for which there was no room.
    left_out: u64,
    /// Whether the last one could be written.
    is_refused: bool,
}

impl Keeper {
    /// Keeps them there.
    pub(crate) fn new(store: Store) -> Self {
        let (sums, span) = (BTreeMap::new(), None);
        Self { store, sums, span, left_out: 0, is_refused: false }
    }

    /// Takes what has come. Says what became of a span that is over, if it is worth a word.
    pub(crate) fn take(&mut self, second: &Second) -> Option<String> {
        let over = self.span.replace(second.span).filter(|span| span.number != second.span.number);
        let said = over.and_then(|span| self.write(&span));
        for row in &second.rows {
            self.add(row);
        }
        said
    }

    fn add(&mut self, row: &Watched) {
        if row.operation == operations::OUTSTANDING && row.watching == Watching::Watch {
            return;
        }
        let key = (row.from_unix_ns, row.key());
        if let Some(sum) = self.sums.get_mut(&key) {
            sum.merge(row);
        } else if self.sums.len() < ROWS_MOST {
            self.sums.insert(key, row.clone());
        } else {
            self.left_out += 1;
        }
    }

    /// Writes what there is of the span that goes on.
    pub(crate) fn end(&mut self) -> Option<String> {
        let span = self.span?;
        self.write(&span)
    }

    fn write(&mut self, span: &Span) -> Option<String> {
        let mut rows: Vec<Watched> = self.sums.values().cloned().collect();
        keep_largest_files(&mut rows);
        if rows.is_empty() {
            return None;
        }
        match self.store.add(&rows, span.from_unix_ns, span.until_unix_ns) {
            Ok(notes) => {
                let notes = notes.iter().map(ToString::to_string);
                self.sums.clear();
                let was_refused = std::mem::replace(&mut self.is_refused, false);
                let again = was_refused.then(|| match std::mem::take(&mut self.left_out) {
                    0 => "the history is written again; nothing of it is missing".to_owned(),
                    rows => format!("the history is written again; {rows} rows of it are missing"),
                });
                let said: Vec<String> = notes.chain(again).collect();
                (!said.is_empty()).then(|| said.join("; "))
            }
            Err(error) => {
                let is_new = !std::mem::replace(&mut self.is_refused, true);
                is_new.then(|| {
                    format!("failed to {error}; it is held in memory and offered again each minute")
                })
            }
        }
    }
}

/// Of files only those with most bytes.
fn keep_largest_files(rows: &mut Vec<Watched>) {
    let of_file = |row: &Watched| row.watching == Watching::File;
    let mut bytes: Vec<u64> = rows.iter().filter(|row| of_file(row)).map(|row| row.bytes).collect();
    if bytes.len() <= FILES_MOST {
        return;
    }
    bytes.sort_unstable_by(|a, b| b.cmp(a));
    let least = bytes.get(FILES_MOST - 1).copied().unwrap_or(0);
    rows.retain(|row| !of_file(row) || row.bytes >= least.max(1));
}
