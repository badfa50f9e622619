//! Histories as they are at a moment, for reading, whoever goes on writing them, and rollups that
//! were written as one file: all together, as those of many hosts.
//!
//! All files are open before one is read. If one is gone between its listing and its opening, it is
//! in another that was put together meanwhile: then the directory is listed again.

use super::facts::Hosts;
use super::merge::footer;
use super::name::FileName;
use super::origin::Origins;
use super::{HistoryError, Note};
use crate::named::Named as _;
use crate::record::{Counted, RecordError, Rollup, RollupFile, RollupLevel, RollupRow};
use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// How often a directory is listed that changes meanwhile.
const MOST_LISTINGS: usize = 100;

/// What is requested.
#[derive(Debug, Clone, Default)]
pub struct Query {
    /// Rows whose time ends later than this,
    pub from_unix_ns: i64,
    /// and begins before this.
    pub until_unix_ns: i64,
    /// Of these kinds; of all where empty.
    pub kinds: Vec<Counted>,
    /// Columns that nobody looks at: their values are none, or 0.
    pub without: Vec<&'static str>,
}

impl Query {
    fn takes(&self, row: &RollupRow<'_>) -> bool {
        self.touches((row.from_unix_ns, row.until_unix_ns))
            && (self.kinds.is_empty() || self.kinds.contains(&row.counted))
    }

    fn touches(&self, (from, until): (i64, i64)) -> bool {
        until > self.from_unix_ns && from < self.until_unix_ns
    }
}

/// A history that is open, or several.
#[derive(Debug, Default)]
pub struct History {
    files: Vec<Opened>,
    notes: Vec<Note>,
    origins: Origins,
    hosts: Hosts,
}

#[derive(Debug)]
struct Opened {
    level: RollupLevel,
    file: RollupFile,
    span: (i64, i64),
}

impl Opened {
    fn of(file: RollupFile, name: Option<FileName>) -> Self {
        let footer = file.footer();
        let told = footer.get(footer::LEVEL).and_then(|level| RollupLevel::from_name(level));
        let level = told.or(name.map(|name| name.level.of_rows())).unwrap_or_default();
        let of_name = name.map_or((i64::MIN, i64::MAX), |name| (name.begin_ns(), name.end_ns()));
        Self { level, span: span_of(&file, of_name), file }
    }

    fn origins(&self) -> Origins {
        let told = self.file.footer().remove(footer::ORIGINS);
        told.and_then(|told| Origins::of_told(&told)).unwrap_or_default()
    }
}

/// A part of a history that can be read by itself.
#[derive(Debug, Clone)]
pub struct Part {
    file: usize,
    groups: Range<usize>,
}

impl History {
    /// Opens the history in a directory, or a rollup that is one file. Files of a directory that
    /// cannot be read are passed over, with a note.
    /// Errors: nothing there, a directory that cannot be listed, a file that is no rollup.
    pub fn open(path: &Path) -> Result<Self, HistoryError> {
        if path.is_file() {
            return Ok(Self::of_files(vec![Opened::of(RollupFile::open(path)?, None)], Vec::new()));
        }
        for _ in 0..MOST_LISTINGS {
            if let Some(found) = Self::seen(path)? {
                return Ok(found);
            }
        }
        let problem = "its files change faster than they can be opened; try again".to_owned();
        Err(HistoryError::None { path: path.to_owned(), problem })
    }

    /// Opens several, as one.
    /// Errors: as of [`Self::open`]; the same time of one host in two of them.
    pub fn open_all(paths: &[PathBuf]) -> Result<Self, HistoryError> {
        let mut all = Self::default();
        let mut before: Vec<(&PathBuf, Origins)> = Vec::new();
        for path in paths {
            let one = Self::open(path)?;
            for (earlier, origins) in &mut before {
                if let Err(twice) = origins.clone().add_apart(&one.origins) {
                    let (path, other) = (path.clone(), (*earlier).clone());
                    return Err(HistoryError::Twice { path, other, twice });
                }
            }
            all.origins.merge(&one.origins);
            all.hosts.merge(one.hosts);
            all.files.extend(one.files);
            all.notes.extend(one.notes);
            before.push((path, one.origins));
        }
        let missing = all.origins.missing_parts().into_iter();
        all.notes.extend(missing.map(|(run, parts, all)| Note::MissingParts { run, parts, all }));
        Ok(all)
    }

    fn of_files(files: Vec<Opened>, notes: Vec<Note>) -> Self {
        let mut origins = Origins::default();
        files.iter().for_each(|opened| origins.merge(&opened.origins()));
        let mut hosts = Hosts::default();
        files.iter().for_each(|opened| hosts.merge(hosts_of(&opened.file)));
        Self { files, notes, origins, hosts }
    }

    /// All files as they are listed; none where one has gone since.
    fn seen(path: &Path) -> Result<Option<Self>, HistoryError> {
        let names = listed(path)?;
        let (mut files, mut notes) = (Vec::new(), Vec::new());
        let mut sources = BTreeSet::new();
        for name in &names {
            match RollupFile::open(&path.join(name.to_string())) {
                Ok(file) => {
                    let told = file.footer().remove(footer::SOURCES).unwrap_or_default();
                    sources.extend(told.split_whitespace().filter_map(FileName::parse));
                    files.push((*name, Opened::of(file, Some(*name))));
                }
                Err(RecordError::Io { source, .. }) if source.kind() == ErrorKind::NotFound => {
                    return Ok(None);
                }
                Err(error) => notes.push(Note::Unread(error.to_string())),
            }
        }
        // A directory is not listed in one moment: a file may come behind the place where its
        // listing is, and those that it is made of go before.
        if listed(path)? != names {
            return Ok(None);
        }
        files.retain(|(name, _)| !sources.contains(name));
        let files = files.into_iter().map(|(_, opened)| opened).collect();
        Ok(Some(Self::of_files(files, notes)))
    }

    /// What there is to say of files that could not be read.
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }

    /// Its files, each row in one of them.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.files.iter().map(|opened| opened.file.path())
    }

    /// Whose rows it has.
    pub fn origins(&self) -> &Origins {
        &self.origins
    }

    /// What is known of these hosts besides.
    pub fn hosts(&self) -> &Hosts {
        &self.hosts
    }

    /// From when until when it has rows; none where it has none.
    pub fn span(&self) -> Option<(i64, i64)> {
        let spans = self.files.iter().map(|opened| opened.span);
        spans.reduce(|all, span| (all.0.min(span.0), all.1.max(span.1)))
    }

    /// How fine the rows of a time are at the least; none where there are none.
    pub fn level(&self, query: &Query) -> Option<RollupLevel> {
        let files = self.files.iter().filter(|opened| query.touches(opened.span));
        files.map(|opened| opened.level).max()
    }

    /// The parts that can hold what is requested, in the order of their time.
    pub fn parts(&self, query: &Query) -> Vec<Part> {
        let of_file = |(place, opened): (usize, &Opened)| {
            let touches = |group: &usize| {
                let is_wanted = |kind| query.kinds.is_empty() || query.kinds.contains(&kind);
                opened.file.span(*group).is_none_or(|span| query.touches(span))
                    && opened.file.only_kind(*group).is_none_or(is_wanted)
            };
            let groups = (0..opened.file.groups()).filter(touches);
            let groups: Vec<usize> = groups.collect();
            groups.into_iter().map(move |group| Part { file: place, groups: group..group + 1 })
        };
        let files = self.files.iter().enumerate();
        files.filter(|(_, opened)| query.touches(opened.span)).flat_map(of_file).collect()
    }

    /// Reads the rows of a part. Its damage is a note, and the rest can be read.
    pub fn each(
        &self,
        part: &Part,
        query: &Query,
        mut take: impl FnMut(&RollupRow<'_>),
    ) -> Result<(), Note> {
        let Some(opened) = self.files.get(part.file) else { return Ok(()) };
        let take = |row: &RollupRow<'_>| {
            if query.takes(row) {
                take(row);
            }
        };
        let done = opened.file.each(part.groups.clone(), &query.without, take);
        done.map_err(|error| Note::Unread(error.to_string()))
    }

    /// Reads all that is requested, in no order of time, and what there is to say.
    pub fn read(&self, query: &Query) -> (Vec<Rollup>, Vec<Note>) {
        let (mut rows, mut notes) = (Vec::new(), self.notes.clone());
        for part in self.parts(query) {
            let before = rows.len();
            let done = self.each(&part, query, |row| rows.push(row.to_rollup()));
            if let Err(note) = done {
                rows.truncate(before);
                if !notes.contains(&note) {
                    notes.push(note);
                }
            }
        }
        (rows, notes)
    }
}

fn listed(path: &Path) -> Result<BTreeSet<FileName>, HistoryError> {
    let none = |problem: std::io::Error| HistoryError::None {
        path: path.to_owned(),
        problem: problem.to_string(),
    };
    let mut names = BTreeSet::new();
    for entry in std::fs::read_dir(path).map_err(none)? {
        let name = entry.map_err(none)?.file_name();
        names.extend(name.to_str().and_then(FileName::parse));
    }
    Ok(names)
}

/// What a file says of the hosts of its rows.
pub(super) fn hosts_of(file: &RollupFile) -> Hosts {
    let told = file.footer().remove(footer::HOSTS);
    told.and_then(|told| Hosts::of_told(&told)).unwrap_or_default()
}

/// From when until when a file has rows: as its footer says, or as its name does.
pub(super) fn span_of(file: &RollupFile, of_name: (i64, i64)) -> (i64, i64) {
    let told = file.footer();
    let number = |key: &str| told.get(key)?.parse::<i64>().ok();
    number(footer::FROM).zip(number(footer::UNTIL)).unwrap_or(of_name)
}
