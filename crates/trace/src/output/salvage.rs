//! A file of requests out of what a killed capture left (`survival`): its groups get a footer,
//! behind a last group of the rows that were in none yet.
//!
//! It can be interrupted and begun anew at any moment: what is written goes behind the groups, the
//! file gets its name when it is whole, and the logs go last.
//!
//! Non-goals: whether the writer is dead (the caller knows).

use super::log::records;
use super::survival::{BESIDES, GROUPS, RECENT, remove};
use super::{OutputError, besides, partial};
use model::held::Held;
use model::record::requests::{CALLS_SAVED, Groups, KILLED, Piece, Provenance, RequestFile};
use model::record::{Commands, Context, RecordError, Request};
use rustix::fs::OFlags;
use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::os::unix::fs::{FileExt, MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

/// What a killed capture left.
#[derive(Debug)]
pub struct Left {
    groups: Groups,
    /// Rows of the logs, some of which may be in a group too.
    recent: HashMap<u64, Request>,
    commands: Commands,
    footer: BTreeMap<String, String>,
    /// What is known besides, where that was kept.
    context: Option<Context>,
}

impl Left {
    /// Looks for what a killed capture left of the file at `path`; none if there is nothing of it.
    /// Errors: a log that cannot be read.
    pub fn find(path: &Path) -> Result<Option<Self>, OutputError> {
        let read = |name: &str| match std::fs::read(path.with_extension(name)) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
            read => read.map_err(|e| OutputError::refused(&path.with_extension(name), e)),
        };
        let log = read(GROUPS)?;
        let mut records_of_groups = records(&log);
        let Some(first) = records_of_groups.next().filter(|_| partial(path).exists()) else {
            return Ok(None);
        };
        let begun = Piece::read(first, path).map_err(|e| OutputError::refused(path, e))?;
        let mut left = Self {
            groups: Groups::default(),
            recent: HashMap::new(),
            commands: Commands::default(),
            footer: begun.footer,
            context: besides::read(&read(BESIDES)?),
        };
        // One that is not whole was being written when its writer was killed.
        let mut are_whole = records_of_groups.map(|description| left.groups.add(description));
        while are_whole.next() == Some(true) {}
        drop(are_whole);
        let mut counted = 0;
        for name in RECENT {
            let log = read(name)?;
            for record in records(&log) {
                let Ok(piece) = Piece::read(record, path) else { break };
                left.add(piece, &mut counted);
            }
        }
        Ok(Some(left))
    }

    /// `counted` is how many events the counts so far are of: of two, the later has more.
    fn add(&mut self, piece: Piece, counted: &mut u64) {
        let events = Provenance::from_footer(&piece.footer).counts.events;
        if events >= *counted {
            *counted = events;
            // What is known of the run stands in the first piece alone.
            let said = piece.footer.into_iter().filter(|(_, value)| !value.is_empty());
            self.footer.extend(said);
        }
        for mut row in piece.rows {
            let name = |id| piece.commands.name(id).as_bytes();
            row.command = row.command.map(|id| self.commands.number(name(id)));
            self.recent.insert(row.request_id, row);
        }
    }

    /// How many requests it is, at the least: those in groups, and rows of the logs that were first
    /// seen after these.
    pub fn rows(&self) -> u64 {
        let last = self.groups.request_id_max();
        let behind = self.recent.keys().filter(|id| Some(**id) > last).count();
        self.groups.rows() + behind as u64
    }

    /// Puts the file together; how many requests it has.
    /// Errors: a file that cannot be read or written, or is another user's.
    pub fn put_together(mut self, path: &Path) -> Result<u64, OutputError> {
        let shown = path;
        // The directory that is looked at is the one that is written, whatever its name is by then.
        let held = Held::open(model::run::parent_of(path));
        let held = held.map_err(|why| OutputError::refused(shown, why))?;
        let path = &held.at(path.file_name().unwrap_or_default());
        let put = |left: &mut Self| -> Result<u64, String> {
            let partial = partial(path);
            // A footer behind the groups alone, so that they can be read.
            left.write(&partial, &[])?;
            left.forget_what_is_in_groups(&partial).map_err(|e| e.to_string())?;
            let mut rest: Vec<Request> = left.recent.drain().map(|(_, row)| row).collect();
            rest.sort_by_key(|row| (row.arrival_ns(), row.request_id));
            let rows = left.write(&partial, &rest)?;
            if let Some(context) = &left.context {
                let written = context.write(&held.at("."), &left.of_run());
                written.map_err(|e| e.to_string())?;
            }
            std::fs::rename(&partial, path).map_err(|e| e.to_string())?;
            Ok(rows)
        };
        let rows = put(&mut self).map_err(|why| OutputError::refused(shown, why))?;
        remove(path);
        Ok(rows)
    }

    /// Writes these rows behind the groups, and the footer; how many rows there are then.
    fn write(&self, partial: &Path, rest: &[Request]) -> Result<u64, String> {
        let mut provenance = Provenance::from_footer(&self.footer);
        provenance.notes.insert(KILLED.to_owned(), WHAT_IS_MISSING.to_owned());
        provenance.counts.requests = self.groups.rows() + rest.len() as u64;
        if self.context.is_some() {
            provenance.notes.insert(CALLS_SAVED.to_owned(), WHICH_CALLS.to_owned());
        }
        let tail = self.groups.clone().tail(rest, &self.commands, &provenance, &self.of_run());
        let tail = tail.map_err(|e| e.to_string())?;
        let written = || -> std::io::Result<()> {
            let file = own(partial)?;
            // Without a group it was in the writer's memory.
            file.write_all_at(MAGIC, 0)?;
            file.write_all_at(&tail.bytes, tail.offset_bytes)?;
            file.set_len(tail.offset_bytes + tail.bytes.len() as u64)?;
            file.sync_data()
        };
        written().map_err(|e| e.to_string())?;
        Ok(tail.rows)
    }

    /// What the footer says of the run.
    fn of_run(&self) -> BTreeMap<String, String> {
        let of_trace = Provenance::default().to_footer();
        let is_the_runs = |key: &str| {
            !key.starts_with(NOTE)
                && !key.starts_with(COUNT)
                && !of_trace.contains_key(key)
                && !OF_FILE.contains(&key)
        };
        let more = self.footer.iter().filter(|(key, _)| is_the_runs(key));
        more.map(|(key, value)| (key.clone(), value.clone())).collect()
    }

    fn forget_what_is_in_groups(&mut self, partial: &Path) -> Result<(), RecordError> {
        if self.recent.is_empty() {
            return Ok(());
        }
        let file = RequestFile::open(partial)?;
        let mut reader = file.read(0..file.groups(), &["request_id"])?;
        while let Some(batch) = reader.next_batch()? {
            for row in batch.rows() {
                self.recent.remove(&row.request_id);
            }
        }
        Ok(())
    }
}

/// Opens a file of this user's for writing. In a directory of somebody else's another file may have
/// its name: a link, or one more name of a file that lies elsewhere.
/// Errors: it is no file of this user's alone; a refusal of the file system.
fn own(path: &Path) -> std::io::Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    let flags = i32::try_from(flags.bits()).unwrap_or(0);
    let file = std::fs::OpenOptions::new().write(true).custom_flags(flags).open(path)?;
    let metadata = file.metadata()?;
    let is_own = metadata.uid() == rustix::process::geteuid().as_raw();
    match metadata.is_file() && metadata.nlink() == 1 && is_own {
        true => Ok(file),
        false => Err(std::io::Error::other(
            "the killed capture belongs to another user; that user must read the run first",
        )),
    }
}

/// What a Parquet file begins with.
const MAGIC: &[u8] = b"PAR1";

/// Keys of counts begin so, and those of notes.
const COUNT: &str = "lbolt.count.";
const NOTE: &str = "lbolt.note.";
/// What each file of records says of itself.
const OF_FILE: [&str; 2] = ["lbolt.schema", "lbolt.version"];

const WHAT_IS_MISSING: &str = "the capture was killed: requests in flight, and requests completed \
                               in its last second, are missing";
const WHICH_CALLS: &str = "calls and waits that ended before the last second, and calls in \
                           progress then, were saved; stacks and the pressure of cgroups were not";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_file_that_has_another_name_or_is_another_s_is_written() {
        let root = tempfile::tempdir().unwrap();
        let path = |name: &str| root.path().join(name);
        std::fs::write(path("precious"), "mine").unwrap();
        std::os::unix::fs::symlink(path("precious"), path("link")).unwrap();
        assert!(own(&path("precious")).is_ok() && own(&path("link")).is_err());
        std::fs::hard_link(path("precious"), path("twin")).unwrap();
        assert!(own(&path("twin")).unwrap_err().to_string().contains("another user"));
        if rustix::process::geteuid().is_root() {
            std::fs::write(path("theirs"), "theirs").unwrap();
            std::os::unix::fs::chown(path("theirs"), Some(65534), None).unwrap();
            assert!(own(&path("theirs")).unwrap_err().to_string().contains("another user"));
        }
    }
}
