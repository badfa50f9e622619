//! A history as it is at a moment, for reading, whoever goes on writing it.
//!
//! All files are open before one is read. If one is gone between its listing and its opening, it is
//! in another that was put together meanwhile: then the directory is listed again.

use super::merge::footer;
use super::name::FileName;
use super::{HistoryError, Level, Note};
use crate::record::{RecordError, Watched, WatchedFile, WatchedRow, Watching};
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
    pub kinds: Vec<Watching>,
}

impl Query {
    fn takes(&self, row: &WatchedRow<'_>) -> bool {
        self.touches((row.from_unix_ns, row.until_unix_ns))
            && (self.kinds.is_empty() || self.kinds.contains(&row.watching))
    }

    fn touches(&self, (from, until): (i64, i64)) -> bool {
        until > self.from_unix_ns && from < self.until_unix_ns
    }
}

/// A history that is open.
#[derive(Debug)]
pub struct History {
    path: PathBuf,
    files: Vec<Opened>,
    notes: Vec<Note>,
}

#[derive(Debug)]
struct Opened {
    name: FileName,
    file: WatchedFile,
    span: (i64, i64),
}

/// A part of a history that can be read by itself.
#[derive(Debug, Clone)]
pub struct Part {
    file: usize,
    groups: Range<usize>,
}

impl History {
    /// Opens the history in a directory. Files that cannot be read are passed over, with a note.
    /// Errors: no such directory, or one that cannot be listed.
    pub fn open(path: &Path) -> Result<Self, HistoryError> {
        for _ in 0..MOST_LISTINGS {
            if let Some(found) = Self::seen(path)? {
                return Ok(found);
            }
        }
        let problem = "its files change faster than they can be opened".to_owned();
        Err(HistoryError::None { path: path.to_owned(), problem })
    }

    /// All files as they are listed; none where one has gone since.
    fn seen(path: &Path) -> Result<Option<Self>, HistoryError> {
        let names = listed(path)?;
        let (mut files, mut notes) = (Vec::new(), Vec::new());
        let mut sources = BTreeSet::new();
        for name in &names {
            match WatchedFile::open(&path.join(name.to_string())) {
                Ok(file) => {
                    let told = file.footer().remove(footer::SOURCES).unwrap_or_default();
                    sources.extend(told.split_whitespace().filter_map(FileName::parse));
                    files.push(Opened { name: *name, span: span_of(&file, *name), file });
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
        files.retain(|opened| !sources.contains(&opened.name));
        Ok(Some(Self { path: path.to_owned(), files, notes }))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What there is to say of files that could not be read.
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }

    /// From when until when it has rows; none where it has none.
    pub fn span(&self) -> Option<(i64, i64)> {
        let spans = self.files.iter().map(|opened| opened.span);
        spans.reduce(|all, span| (all.0.min(span.0), all.1.max(span.1)))
    }

    /// How fine the rows of a time are at the least; none where there are none.
    pub fn level(&self, query: &Query) -> Option<Level> {
        let files = self.files.iter().filter(|opened| query.touches(opened.span));
        files.map(|opened| opened.name.level).max()
    }

    /// The parts that can hold what is requested, in the order of their time.
    pub fn parts(&self, query: &Query) -> Vec<Part> {
        let of_file = |(place, opened): (usize, &Opened)| {
            let touches =
                |group: &usize| opened.file.span(*group).is_none_or(|span| query.touches(span));
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
        mut take: impl FnMut(&WatchedRow<'_>),
    ) -> Result<(), Note> {
        let Some(opened) = self.files.get(part.file) else { return Ok(()) };
        let take = |row: &WatchedRow<'_>| {
            if query.takes(row) {
                take(row);
            }
        };
        let with_files = query.kinds.is_empty() || query.kinds.contains(&Watching::File);
        let done = opened.file.each(part.groups.clone(), with_files, take);
        done.map_err(|error| Note::Unread(error.to_string()))
    }

    /// Reads all that is requested, in no order of time, and what there is to say.
    pub fn read(&self, query: &Query) -> (Vec<Watched>, Vec<Note>) {
        let (mut rows, mut notes) = (Vec::new(), self.notes.clone());
        for part in self.parts(query) {
            let before = rows.len();
            let done = self.each(&part, query, |row| rows.push(row.to_watched()));
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

/// From when until when a file has rows: as its footer says, or as its name does.
pub(super) fn span_of(file: &WatchedFile, name: FileName) -> (i64, i64) {
    let told = file.footer();
    let number = |key: &str| told.get(key)?.parse::<i64>().ok();
    let told = number(footer::FROM).zip(number(footer::UNTIL));
    told.unwrap_or((name.begin_ns(), name.end_ns()))
}
