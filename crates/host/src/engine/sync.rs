//! read(2) and write(2) at the position of the file, which is what the programs of
//! Kridle & McKusick (1983, appendix A) call. Requests come in order from the start of the
//! file; a new round begins at its start again, for which the position goes back.

use super::blocking::Calls;
use rustix::fd::BorrowedFd;
use rustix::fs::{SeekFrom, seek};

/// The calls of the `sync` engine.
pub(crate) struct Sync;

/// The one step that a stream in order does not take by itself.
#[inline(always)]
fn rewind(file: BorrowedFd<'_>, offset_bytes: u64) -> rustix::io::Result<()> {
    if offset_bytes == 0 { seek(file, SeekFrom::Start(0)).map(|_| ()) } else { Ok(()) }
}

impl Calls for Sync {
    const NAME: &'static str = "sync";

    #[inline(always)]
    fn read(
        file: BorrowedFd<'_>,
        buffer: &mut [u8],
        offset_bytes: u64,
    ) -> rustix::io::Result<usize> {
        rewind(file, offset_bytes)?;
        rustix::io::read(file, buffer)
    }

    #[inline(always)]
    fn write(file: BorrowedFd<'_>, buffer: &[u8], offset_bytes: u64) -> rustix::io::Result<usize> {
        rewind(file, offset_bytes)?;
        rustix::io::write(file, buffer)
    }
}
