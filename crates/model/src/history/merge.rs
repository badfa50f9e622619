//! Rows of several files as those of one: put in order, and added up where they become coarser.

use super::Level;
use crate::record::{Watched, WatchedKey, WatchedRow, WatchedWriter};
use parquet::errors::ParquetError;
use std::collections::BTreeMap;
use std::io::Write;

/// Numbers that a group of rows holds in memory at the most, and rows beyond which it is ended.
const GROUP_NUMBERS: usize = 400_000;
/// What a row takes besides its histogram.
const ROW_NUMBERS: usize = 24;

/// What the footer of a history's file says.
pub(super) mod footer {
    /// The least begin of its rows.
    pub(in crate::history) const FROM: &str = "lbolt.history.from_unix_ns";
    /// The greatest end of its rows.
    pub(in crate::history) const UNTIL: &str = "lbolt.history.until_unix_ns";
    /// The files whose rows are in it, between blanks.
    pub(in crate::history) const SOURCES: &str = "lbolt.history.sources";
}

/// A file that is being made of rows.
pub(super) struct Folder<W: Write + Send> {
    writer: WatchedWriter<W>,
    step_ns: Option<i64>,
    /// By key, and then by time: what is alike stands together, and is smaller so.
    rows: BTreeMap<(WatchedKey, i64, i64), Watched>,
    numbers: usize,
    span: Option<(i64, i64)>,
}

impl<W: Write + Send> Folder<W> {
    pub(super) fn new(output: W, level: Level) -> Result<Self, ParquetError> {
        Ok(Self {
            writer: WatchedWriter::new(output)?,
            step_ns: level.step_ns(),
            rows: BTreeMap::new(),
            numbers: 0,
            span: None,
        })
    }

    /// Adds a row.
    pub(super) fn push(&mut self, row: &WatchedRow<'_>) {
        let (from, until) = (row.from_unix_ns, row.until_unix_ns);
        self.span = Some(
            self.span
                .map_or((from, until), |(least, greatest)| (least.min(from), greatest.max(until))),
        );
        let time = match self.step_ns {
            None => (from, until),
            Some(step) => (from.div_euclid(step), 0),
        };
        let mut mine = row.to_watched();
        if self.step_ns.is_some() {
            mine.coarsen();
        }
        let numbers = ROW_NUMBERS + 2 * mine.buckets.len();
        self.numbers += numbers;
        match self.rows.entry((row.key(), time.0, time.1)) {
            std::collections::btree_map::Entry::Vacant(entry) => {
                entry.insert(mine);
            }
            std::collections::btree_map::Entry::Occupied(mut entry) => {
                self.numbers -= numbers.min(self.numbers);
                entry.get_mut().merge(&mine);
            }
        }
    }

    /// Ends a group of rows where it is large enough.
    pub(super) fn end_part(&mut self) -> Result<(), ParquetError> {
        if self.numbers > GROUP_NUMBERS { self.end_group() } else { Ok(()) }
    }

    fn end_group(&mut self) -> Result<(), ParquetError> {
        self.numbers = 0;
        let mut rows: Vec<Watched> = std::mem::take(&mut self.rows).into_values().collect();
        if let Some(step_ns) = self.step_ns {
            of_one_time(&mut rows, step_ns);
        }
        if rows.is_empty() { Ok(()) } else { self.writer.write_group(&rows) }
    }

    /// Ends the file, whose rows are those of these files.
    pub(super) fn finish(mut self, sources: &str) -> Result<(), ParquetError> {
        self.end_group()?;
        let (from, until) = self.span.unwrap_or_default();
        let told = [
            (footer::FROM, from.to_string()),
            (footer::UNTIL, until.to_string()),
            (footer::SOURCES, sources.to_owned()),
        ];
        let told = told.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
        self.writer.finish(told).map(|_| ())
    }
}

/// Rows that were added up by a time are all of that part of it that was watched: one that is of a
/// few minutes would seem to tell of these alone.
fn of_one_time(rows: &mut [Watched], step_ns: i64) {
    let mut spans: BTreeMap<i64, (i64, i64)> = BTreeMap::new();
    for row in rows.iter() {
        let span = (row.from_unix_ns, row.until_unix_ns);
        let all = spans.entry(row.from_unix_ns.div_euclid(step_ns)).or_insert(span);
        *all = (all.0.min(span.0), all.1.max(span.1));
    }
    for row in rows {
        if let Some(span) = spans.get(&row.from_unix_ns.div_euclid(step_ns)) {
            (row.from_unix_ns, row.until_unix_ns) = *span;
        }
    }
}
