//! Rows of several files as those of one: put in order, and added up where they become coarser.

use super::facts::{HostFacts, Hosts};
use super::name::{DAY_NS, HOUR_NS};
use super::origin::{Origin, Origins, Twice};
use crate::record::{Counted, Rollup, RollupKey, RollupLevel, RollupRow, RollupWriter};
use parquet::errors::ParquetError;
use std::collections::{BTreeMap, HashSet};
use std::io::Write;

/// Numbers that a group of rows holds in memory at the most, and rows beyond which it is ended.
const GROUP_NUMBERS: usize = 1_600_000;
/// Kinds of rows that few ask for: where there are many rows, they are in groups of their own,
/// which need not be read.
const APART: [Counted; 2] = [Counted::File, Counted::Class];
/// Of fewer rows a second group takes more than it saves.
const FEW: usize = 2_000;
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
    /// By what its rows are added up.
    pub(in crate::history) const LEVEL: &str = "lbolt.rollup.level";
    /// Of which hosts and runs it is, and from when until when: a JSON list.
    pub(in crate::history) const ORIGINS: &str = "lbolt.rollup.origins";
    /// What is known of these hosts besides: a JSON list.
    pub(in crate::history) const HOSTS: &str = "lbolt.rollup.hosts";
}

/// Models of devices by their names.
pub type Models = BTreeMap<String, String>;

/// A file that is being made of rows.
pub struct Folder<W: Write + Send> {
    writer: RollupWriter<W>,
    level: RollupLevel,
    /// Of rows that do not say whose they are.
    origin: Origin,
    /// Of the source whose rows come, and of those before it.
    of_source: Origins,
    origins: Origins,
    hosts: Hosts,
    /// The hosts that rows are of.
    names: HashSet<String>,
    /// The models of a source's devices, by name.
    models: Models,
    /// By key, and then by time: what is alike stands together, and is smaller so.
    rows: BTreeMap<(RollupKey, i64, i64), Rollup>,
    numbers: usize,
    span: Option<(i64, i64)>,
}

impl<W: Write + Send> Folder<W> {
    /// Begins a file whose rows are added up by a level. `origin` is whose rows are that do not
    /// say it.
    /// Errors: what the output or Parquet refuses.
    pub fn new(output: W, level: RollupLevel, origin: &Origin) -> Result<Self, ParquetError> {
        Ok(Self {
            writer: RollupWriter::new(output)?,
            level,
            origin: origin.clone(),
            of_source: Origins::default(),
            origins: Origins::default(),
            hosts: Hosts::default(),
            names: HashSet::new(),
            models: Models::new(),
            rows: BTreeMap::new(),
            numbers: 0,
            span: None,
        })
    }

    /// The same, where the models of devices are known.
    pub(super) fn with_models(self, models: Models) -> Self {
        Self { models, ..self }
    }

    /// Another source begins: `origin` is whose its rows are that do not say it, and `models` those
    /// of their devices.
    /// Errors: what the source before it had was there already.
    pub fn begin_source(&mut self, origin: &Origin, models: Models) -> Result<(), Box<Twice>> {
        self.origin = origin.clone();
        self.models = models;
        self.origins.add_apart(&std::mem::take(&mut self.of_source))
    }

    /// What is known of the host of the source that has begun.
    pub fn know_host(&mut self, facts: HostFacts) {
        self.hosts.know(&self.origin, facts);
    }

    /// What is known of another host.
    pub fn know(&mut self, origin: &Origin, facts: HostFacts) {
        self.hosts.know(origin, facts);
    }

    /// What a file says of the hosts of its rows.
    pub fn know_hosts(&mut self, hosts: Hosts) {
        self.hosts.merge(hosts);
    }

    /// Whose rows it has, of sources that have ended.
    pub fn origins(&self) -> &Origins {
        &self.origins
    }

    /// How many hosts it has rows of; and in how many runs and parts of them.
    pub fn counts(&self) -> (usize, usize) {
        (self.names.len(), self.origins.count() + self.of_source.count())
    }

    /// From when until when it has rows; none where it has none.
    pub fn span(&self) -> Option<(i64, i64)> {
        self.span
    }

    /// Adds a row.
    pub fn push(&mut self, row: &RollupRow<'_>) {
        let (from, until) = (row.from_unix_ns, row.until_unix_ns);
        self.span = Some(
            self.span
                .map_or((from, until), |(least, greatest)| (least.min(from), greatest.max(until))),
        );
        let model = row.model.or_else(|| self.models.get(row.device?).map(String::as_str));
        let row = self.origin.complete(RollupRow { model, ..*row });
        self.of_source.add(&row);
        if let Some(host) = row.host.filter(|host| !self.names.contains(*host)) {
            self.names.insert(host.to_owned());
        }
        let mut mine = row.to_rollup();
        mine.level = mine.level.max(self.level);
        let time = match step_ns(self.level) {
            None => (from, until),
            Some(step) => (from.div_euclid(step), 0),
        };
        if self.level > RollupLevel::Minute {
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
    /// Errors: what the output or Parquet refuses.
    pub fn end_part(&mut self) -> Result<(), ParquetError> {
        if self.numbers > GROUP_NUMBERS { self.end_group() } else { Ok(()) }
    }

    fn end_group(&mut self) -> Result<(), ParquetError> {
        self.numbers = 0;
        let mut rows: Vec<Rollup> = std::mem::take(&mut self.rows).into_values().collect();
        if let Some(step_ns) = step_ns(self.level) {
            of_one_time(&mut rows, step_ns);
        }
        let kinds: &[Counted] = if rows.len() < FEW { &[] } else { &APART };
        let apart =
            kinds.iter().map(|kind| rows.extract_if(.., |row| row.counted == *kind).collect());
        let apart: Vec<Vec<Rollup>> = apart.collect();
        let groups = std::iter::once(rows).chain(apart);
        groups.filter(|rows| !rows.is_empty()).try_for_each(|rows| self.writer.write_group(&rows))
    }

    /// Ends the file, whose rows are those of these files of a history, and gives the output back.
    /// Errors: what the output or Parquet refuses.
    pub fn finish(mut self, sources: &str) -> Result<W, ParquetError> {
        self.end_group()?;
        self.origins.merge(&self.of_source);
        let (from, until) = self.span.unwrap_or_default();
        let told = [
            (footer::FROM, from.to_string()),
            (footer::UNTIL, until.to_string()),
            (footer::SOURCES, sources.to_owned()),
            (footer::LEVEL, self.level.name().to_owned()),
            (footer::ORIGINS, self.origins.told()),
        ];
        let hosts = self.hosts.told().map(|hosts| (footer::HOSTS, hosts));
        let told = told.into_iter().chain(hosts);
        let told = told.map(|(key, value)| (key.to_owned(), value)).collect();
        self.writer.finish(told)
    }
}

/// The time that rows of one key are added up by; none where they stay as they are.
fn step_ns(level: RollupLevel) -> Option<i64> {
    match level {
        RollupLevel::Minute => None,
        RollupLevel::Hour => Some(HOUR_NS),
        RollupLevel::Day => Some(DAY_NS),
    }
}

/// Rows that were added up by a time are all of that part of it that was watched: one that is of a
/// few minutes would seem to tell of these alone.
fn of_one_time(rows: &mut [Rollup], step_ns: i64) {
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
