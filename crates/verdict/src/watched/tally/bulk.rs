//! Which files are committed to, and written in bulk beside that, as a trace of the last ten to
//! twenty minutes would tell it ([`crate::bulk`]).
//!
//! What is counted as it ends is known before the verdict has it in the order of its arrival: so
//! the first of these writes are their role's, too.
//!
//! Non-goals: whose files they are (`crate::actors`).

use crate::bulk::{Work, Written};
use crate::{Actors, RoleId};
use hashbrown::HashMap;
use model::heaviest::Heaviest;
use model::record::{FileKey, FileKind, FileNumber, LARGE_WRITE_BYTES, Op, Request};

/// Files that are remembered: those with most bytes and calls.
const FILES_MOST: usize = 4096;
/// How much a call weighs beside bytes.
const BYTES_OF_CALL: u64 = 256 << 10;
/// After so long what was before is forgotten.
const LATELY_NS: i64 = 600_000_000_000;

/// What was written lately.
#[derive(Debug)]
pub(super) struct WrittenLately {
    /// Within the time that goes on, since when that is, and within the one before.
    now: Heaviest<FileNumber, Written>,
    since_ns: Option<i64>,
    before: Heaviest<FileNumber, Written>,
    /// Bytes of the last file: requests come in runs.
    last: Option<(FileNumber, Written)>,
    /// What was told last, and whose.
    told: Vec<(FileNumber, RoleId, Work)>,
}

impl Default for WrittenLately {
    fn default() -> Self {
        Self {
            now: Heaviest::new(FILES_MOST),
            since_ns: None,
            before: Heaviest::new(FILES_MOST),
            last: None,
            told: Vec::new(),
        }
    }
}

impl WrittenLately {
    /// Takes requests that are like one, of so many bytes together.
    pub(super) fn add(&mut self, like: &Request, bytes: u64) {
        let is_known = |file: &FileKey| file.kind == FileKind::Regular && file.number.inode != 0;
        let is_written = like.op == Op::Write && like.is_asked();
        let Some(file) = like.file.filter(|file| is_written && is_known(file)) else { return };
        let large_bytes = if like.length_bytes >= LARGE_WRITE_BYTES { bytes } else { 0 };
        let written = Written { bytes, large_bytes, calls: 0 };
        match &mut self.last {
            Some((last, sum)) if *last == file.number => *sum += written,
            _ => {
                self.settle();
                self.last = Some((file.number, written));
            }
        }
    }

    fn settle(&mut self) {
        let Some((file, written)) = self.last.take() else { return };
        *self.now.add(file, written.bytes) += written;
    }

    /// Takes a call that makes a file durable.
    pub(super) fn call(&mut self, file: FileNumber) {
        self.now.add(file, BYTES_OF_CALL).calls += 1;
    }

    /// The files that are committed to or written in bulk, if they or their owners are others than
    /// last time.
    pub(super) fn changed(
        &mut self,
        now_ns: i64,
        actors: &Actors,
        path: &dyn Fn(FileNumber) -> Option<String>,
    ) -> Option<Vec<(FileNumber, Work)>> {
        self.settle();
        let since_ns = *self.since_ns.get_or_insert(now_ns);
        if now_ns.saturating_sub(since_ns) >= LATELY_NS {
            self.before = std::mem::replace(&mut self.now, Heaviest::new(FILES_MOST));
            self.since_ns = Some(now_ns);
        }
        let mut written: HashMap<FileNumber, Written> = HashMap::new();
        for (file, of) in self.before.iter().chain(self.now.iter()) {
            *written.entry(*file).or_default() += *of;
        }
        let found = actors.work_among(written.into_iter(), path);
        let files = || found.iter().map(|(file, _, work)| (*file, *work)).collect();
        let files = (found != self.told).then(files);
        self.told = found;
        files
    }
}
