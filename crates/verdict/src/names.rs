//! What files were called when something was asked of them.
//!
//! A name counts as true where requests and calls saw it ([`NamedFile::since_ns`]); one that was
//! found by looking, before or after, is shown for want of a better one and counts as not known.
//!
//! Segments of a log or of a relation are one file here.
//!
//! Non-goals: how names are seen and found (`trace`, `host::file_name`).

use hashbrown::HashMap;
use indexmap::IndexSet;
use model::record::{FileKey, FileKind, FileNumber, NamedFile, Request};

/// A file as tables tell it from others, at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Called {
    /// By a name that was true then, by its number.
    Name(u32),
    /// By a name that it had at another time.
    Found(u32),
    /// A regular file of that file system of which no name is known.
    Nameless(u32),
    /// What is no regular file, of that file system.
    Other(FileKind, u32),
}

impl Called {
    /// Whether it is known what it was.
    pub fn is_known(self) -> bool {
        matches!(self, Self::Name(_) | Self::Other(..))
    }
}

/// The names of a trace's files.
#[derive(Debug, Default)]
pub struct FileNames {
    texts: IndexSet<String>,
    /// The names that a file had, each from when on, in the order of time.
    of: HashMap<FileNumber, Vec<(Option<i64>, u32)>>,
}

impl FileNames {
    /// Of these files.
    pub fn new(files: &[NamedFile]) -> Self {
        let mut names = Self::default();
        for file in files {
            let Some(path) = &file.path else { continue };
            let (number, _) = names.texts.insert_full(without_segment(path));
            names.of.entry(file.number()).or_default().push((file.since_ns, number as u32));
        }
        names.of.values_mut().for_each(|of| of.sort_by_key(|(since_ns, _)| *since_ns));
        names
    }

    /// What a file was called at a moment.
    pub fn at(&self, file: &FileKey, time_ns: i64) -> Called {
        let FileKey { kind, number } = file;
        if *kind != FileKind::Regular {
            return Called::Other(*kind, number.file_system);
        }
        let Some(of) = self.of.get(number) else { return Called::Nameless(number.file_system) };
        // None is before all moments.
        let until = of.partition_point(|(since_ns, _)| *since_ns <= Some(time_ns));
        match until.checked_sub(1).and_then(|last| of.get(last)).or(of.first()) {
            Some((Some(since_ns), name)) if *since_ns <= time_ns => Called::Name(*name),
            Some((_, name)) => Called::Found(*name),
            None => Called::Nameless(number.file_system),
        }
    }

    /// The last name of a file that is known; none where there is none.
    pub fn of_number(&self, number: FileNumber) -> Option<String> {
        let (_, name) = self.of.get(&number)?.last()?;
        self.texts.get_index(*name as usize).cloned()
    }

    /// What a request's file was called when it started: that is when its name is looked at.
    pub fn of_request(&self, row: &Request) -> Option<Called> {
        let time_ns = row.started_ns.or(row.arrival_ns())?;
        Some(self.at(&row.file?, time_ns))
    }

    /// What tables call it; `device` is the name of a file system's device.
    pub fn text(&self, called: Called, device: &dyn Fn(u32) -> String) -> String {
        match called {
            Called::Name(name) | Called::Found(name) => {
                self.texts.get_index(name as usize).cloned().unwrap_or_default()
            }
            Called::Nameless(file_system) => without_name(FileKind::Regular, &device(file_system)),
            Called::Other(kind, file_system) => without_name(kind, &device(file_system)),
        }
    }
}

/// What tables call what has no name.
pub fn without_name(kind: FileKind, file_system: &str) -> String {
    match kind {
        FileKind::Journal => format!("journal of {file_system}"),
        FileKind::Metadata => format!("metadata of {file_system}"),
        FileKind::Device => format!("{file_system} itself, or its metadata"),
        FileKind::Regular => format!("files without a name on {file_system}"),
    }
}

/// Files of a log-structured merge tree, each of which lives until it is compacted.
/// Source: RocksDB's filename.cc, LevelDB's.
const OF_A_TREE: [&str; 3] = ["log", "sst", "ldb"];

/// PostgreSQL's log is a folder of segments, its relations are cut into files of a GiB.
/// Source: PostgreSQL's xlog_internal.h and md.c.
pub fn without_segment(path: &str) -> String {
    let path = path.strip_suffix(" (deleted)").unwrap_or(path);
    let Some((folder, name)) = path.rsplit_once('/') else { return path.to_owned() };
    let is_hex = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if folder.ends_with("pg_wal") && name.len() == 24 && is_hex(name) {
        return format!("{folder}/*");
    }
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    match name.split_once('.') {
        Some((number, kind)) if is_number(number) && OF_A_TREE.contains(&kind) => {
            format!("{folder}/*.{kind}")
        }
        Some((relation, segment)) if is_number(relation) && is_number(segment) => {
            format!("{folder}/{relation}")
        }
        _ => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(inode: u64, generation: u64, since_ns: Option<i64>, path: &str) -> NamedFile {
        let path = Some(path.to_owned());
        NamedFile { file_system: 9, inode, generation, path, since_ns, ..NamedFile::default() }
    }

    fn key(inode: u64, generation: u32) -> FileKey {
        let number = FileNumber { file_system: 9, inode, generation };
        FileKey { kind: FileKind::Regular, number }
    }

    #[test]
    fn a_file_has_the_name_that_it_had_at_the_moment() {
        let names = FileNames::new(&[
            named(5, 1, Some(100), "/f"),
            named(5, 1, Some(200), "/g"),
            named(5, 2, Some(300), "/h"),
            named(6, 1, None, "/found"),
            NamedFile { file_system: 9, inode: 7, ..NamedFile::default() },
        ]);
        let at = |file, time_ns| {
            let called = names.at(&file, time_ns);
            (names.text(called, &|_| "vda".to_owned()), called.is_known())
        };
        assert_eq!(at(key(5, 1), 100), ("/f".to_owned(), true));
        assert_eq!(at(key(5, 1), 199), ("/f".to_owned(), true));
        assert_eq!(at(key(5, 1), 900), ("/g".to_owned(), true));
        assert_eq!(at(key(5, 2), 900), ("/h".to_owned(), true), "another file of the same inode");
        assert_eq!(at(key(5, 1), 99), ("/f".to_owned(), false), "before anybody saw it");
        assert_eq!(at(key(6, 1), 900), ("/found".to_owned(), false));
        let nameless = ("files without a name on vda".to_owned(), false);
        assert_eq!(at(key(7, 0), 900), nameless);
        assert_eq!(at(key(8, 0), 900), nameless);
        let journal = FileKey { kind: FileKind::Journal, ..key(0, 0) };
        assert_eq!(at(journal, 0), ("journal of vda".to_owned(), true));
    }

    #[test]
    fn a_requests_file_is_what_it_was_called_at_its_start() {
        let names = FileNames::new(&[named(5, 1, Some(100), "/f"), named(5, 1, Some(200), "/g")]);
        let row = Request {
            queued_ns: Some(190),
            started_ns: Some(201),
            file: Some(key(5, 1)),
            ..Request::default()
        };
        let of = |row| names.of_request(&row).map(|called| names.text(called, &|_| String::new()));
        assert_eq!(of(row), Some("/g".to_owned()));
        assert_eq!(of(Request { started_ns: None, ..row }), Some("/f".to_owned()));
        assert_eq!(of(Request { file: None, ..row }), None);
    }

    #[test]
    fn segments_of_a_log_or_a_relation_are_one_file() {
        for (path, file) in [
            ("/data/pg_wal/0000000100000000000000A3", "/data/pg_wal/*"),
            ("/data/pg_wal/archive_status", "/data/pg_wal/archive_status"),
            ("/data/base/5/16401.12", "/data/base/5/16401"),
            ("/data/base/5/16401_fsm", "/data/base/5/16401_fsm"),
            ("/var/log/a.1 (deleted)", "/var/log/a.1"),
            ("/srv/rocks/000123.sst", "/srv/rocks/*.sst"),
            ("/srv/rocks/000009.log (deleted)", "/srv/rocks/*.log"),
            ("/srv/rocks/MANIFEST-000004", "/srv/rocks/MANIFEST-000004"),
            ("plain", "plain"),
        ] {
            assert_eq!(without_segment(path), file);
        }
    }
}
