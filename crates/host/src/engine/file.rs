//! The file of one job: where it is, how it is opened, and the open descriptor. Opening,
//! closing and removing are the same plain calls with every engine; fsync and fdatasync with those
//! that have no call of their own for them.
//!
//! Non-goals: reading and writing (engines do).

use super::io_result;
use model::seam::{Durability, JobPlacement, Operation};
use rustix::fs::{AtFlags, Mode, OFlags};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::sync::Arc;

/// The file of one job: where it is, how it is opened, and the open descriptor.
#[derive(Debug)]
pub(crate) struct JobFile {
    directory: Arc<OwnedFd>,
    path: PathBuf,
    flags: OFlags,
    is_writable: bool,
    open: Option<OwnedFd>,
}

impl JobFile {
    /// A file at `path` relative to `directory` (or absolute).
    pub(crate) fn new(directory: Arc<OwnedFd>, path: PathBuf, placement: &JobPlacement) -> Self {
        let direct = if placement.direct { OFlags::DIRECT } else { OFlags::empty() };
        let durable = match placement.durability {
            Durability::OpenDsync => OFlags::DSYNC,
            Durability::OpenSync => OFlags::SYNC,
            Durability::OnRequest | Durability::CallDsync => OFlags::empty(),
        };
        let flags = OFlags::CLOEXEC | direct | durable;
        Self { directory, path, flags, is_writable: true, open: None }
    }

    /// The same file, which no job opens for writing, whatever it asks for.
    pub(crate) fn read_only(self) -> Self {
        Self { is_writable: false, ..self }
    }

    /// The open file; EBADF where it is not open.
    pub(crate) fn fd(&self) -> rustix::io::Result<BorrowedFd<'_>> {
        self.open.as_ref().map(AsFd::as_fd).ok_or(rustix::io::Errno::BADF)
    }

    /// Serves what is neither read nor write: gives the completion's result.
    #[cold]
    pub(crate) fn serve(&mut self, operation: Operation) -> i64 {
        let done = match operation {
            Operation::OpenRead => self.open(OFlags::RDONLY),
            Operation::OpenReadWrite => self.open(OFlags::RDWR),
            Operation::Create => self.open(OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC),
            Operation::Close => {
                self.open = None;
                Ok(())
            }
            Operation::Unlink => {
                match rustix::fs::unlinkat(&self.directory, &self.path, AtFlags::empty()) {
                    Err(rustix::io::Errno::NOENT) => Ok(()),
                    other => other,
                }
            }
            Operation::Fdatasync => self.fd().and_then(rustix::fs::fdatasync),
            Operation::Fsync => self.fd().and_then(rustix::fs::fsync),
            Operation::SyncFileRange => self.fd().and_then(|file| sync_file_range(file, WAIT)),
            Operation::StartWriteback => self.fd().and_then(|file| sync_file_range(file, START)),
            Operation::Read | Operation::Write | Operation::Copy => {
                Err(rustix::io::Errno::OPNOTSUPP)
            }
        };
        io_result(done.map(|()| 0))
    }

    fn open(&mut self, access: OFlags) -> rustix::io::Result<()> {
        if access != OFlags::RDONLY && !self.is_writable {
            return Err(rustix::io::Errno::PERM);
        }
        let mode = Mode::from_raw_mode(0o666);
        let open = rustix::fs::openat(&self.directory, &self.path, access | self.flags, mode)?;
        self.open = Some(open);
        Ok(())
    }
}

/// Only begin to write dirty pages.
const START: libc::c_uint = libc::SYNC_FILE_RANGE_WRITE;
/// And wait for them.
const WAIT: libc::c_uint =
    libc::SYNC_FILE_RANGE_WAIT_BEFORE | START | libc::SYNC_FILE_RANGE_WAIT_AFTER;

/// sync_file_range(2) over the whole file.
#[allow(unsafe_code, reason = "a system call; the block carries its safety argument")]
fn sync_file_range(file: BorrowedFd<'_>, flags: libc::c_uint) -> rustix::io::Result<()> {
    use std::os::fd::AsRawFd as _;
    // SAFETY: the call takes a descriptor that is open as long as it is borrowed, and numbers;
    // it touches no memory of this process.
    let done = unsafe { libc::sync_file_range(file.as_raw_fd(), 0, 0, flags) };
    if done == 0 { Ok(()) } else { Err(super::last_errno()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_only_file_is_opened_by_no_job_for_writing() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("precious"), "mine").unwrap();
        let directory = Arc::new(OwnedFd::from(std::fs::File::open(folder.path()).unwrap()));
        let file = || JobFile::new(directory.clone(), "precious".into(), &JobPlacement::default());
        assert_eq!(file().serve(Operation::OpenReadWrite), 0);
        let mut guarded = file().read_only();
        assert_eq!(guarded.serve(Operation::OpenRead), 0);
        for writing in [Operation::OpenReadWrite, Operation::Create] {
            assert_eq!(guarded.serve(writing), -i64::from(libc::EPERM));
        }
        assert_eq!(std::fs::read(folder.path().join("precious")).unwrap(), b"mine");
    }
}
