//! The directory of a history, as its one writer sees it: files that are whole and on the disk, or
//! not there.
//!
//! Non-goals: which files there are to be (`super::store`).

use super::HistoryError;
use super::name::FileName;
use crate::held::{Held, shown};
use crate::record::said_by_the_file_system;
use parquet::errors::ParquetError;
use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;

/// What the name of a file ends in while it is being written.
pub const PARTIAL: &str = ".partial";

/// What is done to the file system, one at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    Create,
    Write,
    Sync,
    Rename,
    SyncDirectory,
    Remove,
}

/// What a test does before a step: looks, or lets it fail.
#[cfg(test)]
pub(super) type Before = Box<dyn FnMut(Step, &Path) -> std::io::Result<()> + Send>;

/// The directory, locked.
pub(super) struct Disk {
    held: Held,
    #[cfg(test)]
    pub(super) before: Option<Before>,
}

/// Puts an error of a step into words.
fn io(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> HistoryError {
    let path = shown(path);
    move |source| HistoryError::Io { action, path, source }
}

impl Disk {
    /// Makes the directory if it is not there, and takes its lock.
    /// Errors: what the file system refuses; a directory that another process writes.
    pub(super) fn open(path: &Path) -> Result<Self, HistoryError> {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(path)
            .map_err(io("make the directory", path))?;
        let held = Held::open(path).map_err(io("open the directory", path))?;
        match held.file().try_lock() {
            Err(TryLockError::WouldBlock) => {
                return Err(HistoryError::Taken { path: path.to_owned() });
            }
            // Where locks are not to be had (NFS), a second watcher is the user's own concern.
            Err(TryLockError::Error(_)) | Ok(()) => {}
        }
        Ok(Self {
            held,
            #[cfg(test)]
            before: None,
        })
    }

    pub(super) fn path(&self) -> &Path {
        self.held.path()
    }

    /// The names of its files, with their sizes.
    pub(super) fn list(&self) -> Result<Vec<(String, u64)>, HistoryError> {
        let list = || -> std::io::Result<Vec<_>> {
            let mut found = Vec::new();
            for entry in std::fs::read_dir(self.held.at("."))? {
                let entry = entry?;
                let metadata = entry.metadata()?;
                if metadata.is_file() {
                    found.push((entry.file_name().to_string_lossy().into_owned(), metadata.len()));
                }
            }
            Ok(found)
        };
        list().map_err(io("list", self.path()))
    }

    #[cfg_attr(
        not(test),
        expect(
            clippy::unnecessary_wraps,
            clippy::unused_self,
            reason = "only tests let a step fail"
        )
    )]
    fn step(&mut self, step: Step) -> std::io::Result<()> {
        #[cfg(test)]
        if let Some(before) = &mut self.before {
            return before(step, self.held.path());
        }
        let _ = step;
        Ok(())
    }

    /// Writes a file that takes no more than `left` bytes, and gives its size. It is there and on
    /// the disk, or not there at all.
    /// Errors: what the file system refuses; more bytes than are left.
    pub(super) fn write(
        &mut self,
        name: FileName,
        left: u64,
        fill: impl FnOnce(&mut Limited<'_>) -> Result<(), ParquetError>,
    ) -> Result<u64, HistoryError> {
        let path = self.held.at(name.to_string());
        let partial = self.held.at(format!("{name}{PARTIAL}"));
        let written = self.write_partial(&partial, left, fill).and_then(|bytes| {
            self.step(Step::Rename)
                .and_then(|()| std::fs::rename(&partial, &path))
                .map_err(io("write", &path))?;
            Ok(bytes)
        });
        if written.is_err() {
            // The first error is told; what may be left is removed when the store is opened.
            let _ = std::fs::remove_file(&partial);
        }
        written
    }

    fn write_partial(
        &mut self,
        partial: &Path,
        left: u64,
        fill: impl FnOnce(&mut Limited<'_>) -> Result<(), ParquetError>,
    ) -> Result<u64, HistoryError> {
        let refused = || io("write", partial);
        self.step(Step::Create).map_err(refused())?;
        // There is one writer: what is there was left by an earlier failure.
        let _ = std::fs::remove_file(partial);
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(partial);
        let file = file.map_err(refused())?;
        let mut limited = Limited { file: &file, disk: self, left, written: 0, is_over: false };
        let filled = fill(&mut limited);
        let (written, is_over) = (limited.written, limited.is_over);
        match filled {
            _ if is_over => return Err(HistoryError::NoRoom { path: self.path().to_owned() }),
            Err(error) => return Err(of_parquet(error, partial)),
            Ok(()) => {}
        }
        self.step(Step::Sync).and_then(|()| file.sync_all()).map_err(refused())?;
        Ok(written)
    }

    /// Sees to it that names outlive a loss of power.
    pub(super) fn sync(&mut self) -> Result<(), HistoryError> {
        let synced = self.step(Step::SyncDirectory).and_then(|()| self.held.file().sync_all());
        synced.map_err(io("write to the disk", self.path()))
    }

    /// Removes a file; one that is gone is fine.
    pub(super) fn remove(&mut self, name: &str) -> Result<(), HistoryError> {
        let path = self.held.at(name);
        match self.step(Step::Remove).and_then(|()| std::fs::remove_file(&path)) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(io("remove", &path)(error)),
            _ => Ok(()),
        }
    }
}

fn of_parquet(error: ParquetError, path: &Path) -> HistoryError {
    match said_by_the_file_system(error) {
        Ok(source) => io("write", path)(source),
        Err(source) => HistoryError::Parquet { path: path.to_owned(), source },
    }
}

/// A file that is being written, and may have no more than so many bytes.
pub(super) struct Limited<'a> {
    file: &'a File,
    disk: &'a mut Disk,
    left: u64,
    written: u64,
    is_over: bool,
}

impl Write for Limited<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if self.written + bytes.len() as u64 > self.left {
            self.is_over = true;
            return Err(ErrorKind::QuotaExceeded.into());
        }
        self.disk.step(Step::Write)?;
        let written = self.file.write(bytes)?;
        self.written += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.file.flush()
    }
}
