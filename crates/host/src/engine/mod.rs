//! Engines: how a request gets to the kernel, a file each behind the seam; those of two plain calls
//! share one.
//! This file chooses among them, and holds the few words that they share.
//!
//! Non-goals: choosing what to request (jobs do), timing (jobs do).

mod blocking;
mod buffer;
mod copy_file_range;
mod file;
mod io_uring;
mod libaio;
mod mmap;
mod null;
mod plain;
mod posixaio;
mod pvsync2;
mod refusal;
mod splice;
mod stdio;
#[cfg(test)]
mod tests;
mod threads;

pub(crate) use buffer::Buffers;
pub(crate) use file::JobFile;
pub(crate) use refusal::refusal;

use blocking::Blocking;

use model::engine::EngineKind;
use model::seam::{Engine, JobPlacement, Operation};
use std::io;

/// Whoever takes an engine of any kind, so that what it does is compiled for each.
pub(crate) trait Visitor {
    type Output;

    /// Takes the placement's engine, or the refusal to make it.
    fn visit<E: Engine>(self, engine: io::Result<E>) -> Self::Output;
}

/// Makes the placement's engine: the one `match` over all of them.
pub(crate) fn make<V: Visitor>(file: JobFile, placement: &JobPlacement, visitor: V) -> V::Output {
    use EngineKind as Kind;
    match placement.engine {
        Kind::Null => visitor.visit(Ok(null::Null)),
        Kind::Sync => visitor.visit(Blocking::<plain::Sync>::new(file, placement)),
        Kind::Psync => visitor.visit(Blocking::<plain::Psync>::new(file, placement)),
        Kind::Vsync => visitor.visit(Blocking::<plain::Vsync>::new(file, placement)),
        Kind::Pvsync => visitor.visit(Blocking::<plain::Pvsync>::new(file, placement)),
        Kind::Pvsync2 | Kind::Pvsync2Nowait | Kind::Pvsync2Hipri => {
            visitor.visit(Blocking::<pvsync2::Pvsync2>::new(file, placement))
        }
        Kind::StdioQuarter | Kind::StdioHalf | Kind::Stdio | Kind::StdioDouble => {
            visitor.visit(Blocking::<stdio::Stdio>::new(file, placement))
        }
        Kind::Mmap => visitor.visit(Blocking::<mmap::Mmap>::new(file, placement)),
        Kind::Splice => visitor.visit(Blocking::<splice::Splice>::new(file, placement)),
        Kind::CopyFileRange => visitor.visit(copy_file_range::CopyFileRange::new(file, placement)),
        Kind::Libaio => visitor.visit(libaio::Libaio::new(file, placement)),
        Kind::Posixaio => visitor.visit(posixaio::Posixaio::new(file, placement)),
        Kind::Threads => visitor.visit(threads::Threads::new(file, placement)),
        Kind::IoUring
        | Kind::IoUringFixed
        | Kind::IoUringSqpoll
        | Kind::IoUringDefer
        | Kind::IoUringIopoll => {
            let output = visitor.visit(io_uring::IoUring::new(file, placement));
            io_uring::wait_for_poller();
            output
        }
    }
}

/// Whether an operation opens the file, if it succeeds.
fn opens(operation: Operation) -> bool {
    matches!(operation, Operation::OpenRead | Operation::OpenReadWrite | Operation::Create)
}

/// A completion's result: bytes moved, or a negative errno.
#[inline(always)]
fn io_result(moved: rustix::io::Result<usize>) -> i64 {
    match moved {
        Ok(bytes) => bytes as i64,
        Err(errno) => -i64::from(errno.raw_os_error()),
    }
}

/// What the C library's last failed call left in errno.
#[cold]
pub(crate) fn last_errno() -> rustix::io::Errno {
    let error = io::Error::last_os_error();
    rustix::io::Errno::from_io_error(&error).unwrap_or(rustix::io::Errno::IO)
}

/// A time to wait as the C library wants it; none for ever.
fn timespec(timeout_ns: u64) -> Option<libc::timespec> {
    (timeout_ns != u64::MAX).then_some(libc::timespec {
        tv_sec: (timeout_ns / 1_000_000_000) as _,
        tv_nsec: (timeout_ns % 1_000_000_000) as libc::c_long,
    })
}

/// What an engine does when it is asked to wait and nothing is outstanding: there is only
/// time to wait for.
#[inline(always)]
fn sleep(timeout_ns: u64) -> io::Result<()> {
    if timeout_ns == 0 { Ok(()) } else { sleep_some(timeout_ns) }
}

#[cold]
fn sleep_some(timeout_ns: u64) -> io::Result<()> {
    if timeout_ns == u64::MAX {
        return Err(io::Error::other("nothing is outstanding that could be waited for"));
    }
    std::thread::sleep(std::time::Duration::from_nanos(timeout_ns));
    Ok(())
}
