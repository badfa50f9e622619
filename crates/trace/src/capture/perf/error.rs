//! Why perf shows no tracepoints, as a clause with its remedy.

use crate::capture::DeviceError;
use rustix::io::Errno;
use std::io;

/// Why there is no capture by perf. A clause with its remedy.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what each is")]
pub enum PerfError {
    #[error(
        "read the formats of the tracepoints: {0}; run as root, or mount a readable tracefs (mount \
         -t tracefs tracefs /sys/kernel/tracing)"
    )]
    Tracefs(#[source] io::Error),
    #[error(
        "trace block:{0}: the kernel does not have this tracepoint; use Linux 4.14 or later with \
         CONFIG_EVENT_TRACING"
    )]
    NoTracepoint(&'static str),
    #[error("trace block:{name}: its format has no {what}; report this with the kernel version")]
    Format { name: &'static str, what: &'static str },
    #[error("read the list of CPUs from {0}: {1}; mount /sys")]
    Cpus(&'static str, #[source] io::Error),
    #[error(
        "trace by perf: not permitted; run as root or with CAP_PERFMON, outside containers that \
         forbid perf_event_open, on a kernel whose lockdown is at most integrity"
    )]
    NotPermitted,
    #[error("trace by perf: {0} file descriptors exceed the limit; raise it (ulimit -n)")]
    TooManyFiles(usize),
    #[error(
        "trace by perf: a buffer of {0} bytes per CPU exceeds the limit; use a smaller \
         --ring-size, run with CAP_IPC_LOCK, or raise kernel.perf_event_mlock_kb"
    )]
    NoMemory(usize),
    #[error(transparent)]
    Device(#[from] DeviceError),
    #[error("trace by perf: {what}: {source}; report this with the kernel's version")]
    Other { what: &'static str, source: io::Error },
}

impl PerfError {
    /// Whether a user with more rights could.
    pub(crate) fn is_of_rights(&self) -> bool {
        match self {
            Self::NotPermitted => true,
            Self::Tracefs(source) => source.kind() == io::ErrorKind::PermissionDenied,
            _ => false,
        }
    }
}

/// What a refused tracepoint means.
pub(super) fn of_opening(descriptors: usize) -> impl Fn(io::Error) -> PerfError {
    move |source| match errno(&source) {
        Some(Errno::PERM | Errno::ACCESS) => PerfError::NotPermitted,
        Some(Errno::MFILE | Errno::NFILE) => PerfError::TooManyFiles(descriptors),
        _ => other("a tracepoint")(source),
    }
}

/// What a refused ring means: the kernel says EPERM where too much memory is locked.
pub(super) fn of_the_ring(bytes: usize) -> impl Fn(io::Error) -> PerfError {
    move |source| match errno(&source) {
        Some(Errno::PERM | Errno::NOMEM | Errno::AGAIN) => PerfError::NoMemory(bytes),
        _ => other("a ring")(source),
    }
}

pub(super) fn other(what: &'static str) -> impl Fn(io::Error) -> PerfError {
    move |source| PerfError::Other { what, source }
}

fn errno(error: &io::Error) -> Option<Errno> {
    Errno::from_io_error(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_are_sorted_by_their_remedy() {
        let of = |errno: Errno| io::Error::from_raw_os_error(errno.raw_os_error());
        for (error, remedy) in [
            (of_opening(18)(of(Errno::ACCESS)), "CAP_PERFMON"),
            (of_opening(18)(of(Errno::MFILE)), "18 file descriptors"),
            (of_opening(18)(of(Errno::INVAL)), "a tracepoint: Invalid argument"),
            (of_the_ring(4096)(of(Errno::PERM)), "--ring-size"),
            (other("x")(of(Errno::BADF)), "x: Bad file descriptor"),
        ] {
            assert!(error.to_string().contains(remedy), "{error}");
        }
    }
}
