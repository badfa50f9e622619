//! What it means when an engine cannot be made or used, by errno, and the remedy: such a cell is
//! *not measured*, with this sentence. The errnos are those of the man pages io_uring_setup(2),
//! io_uring_register(2), io_setup(2), pthread_create(3) and pipe(2).
//!
//! Non-goals: refusals of single requests (the experiment says those, with
//! `EngineFacts::unsupported`).

use super::io_uring::Mode;
use model::engine::EngineKind;
use model::seam::{JobPlacement, SubjectError};
use model::units::show_size;
use rustix::process::{Resource, getrlimit};
use std::io;

/// An errno of some engines, and what it means.
struct Refusal {
    errnos: &'static [i32],
    engines: &'static [EngineKind],
    sentence: fn(&JobPlacement, &io::Error) -> String,
}

const RINGS: &[EngineKind] = &[
    EngineKind::IoUring,
    EngineKind::IoUringFixed,
    EngineKind::IoUringSqpoll,
    EngineKind::IoUringDefer,
    EngineKind::IoUringIopoll,
];

/// Rows of refusals: errnos, engines, and the sentence of a placement and an error.
macro_rules! refusals {
    ($($(#[$doc:meta])* const $table:ident {
        $([$($errno:ident)+] $engines:expr => |$placement:ident, $error:ident| $sentence:expr;)*
    })*) => {$(
        $(#[$doc])*
        const $table: &[Refusal] = &[$(Refusal {
            errnos: &[$(libc::$errno),+],
            engines: $engines,
            sentence: |$placement, $error| $sentence,
        }),*];
    )*};
}

refusals! {
    /// The first row that fits is the one.
    const REFUSALS {
        // Registered buffers are pinned; before kernel 5.12 the rings themselves counted too.
        [ENOMEM] RINGS => |placement, error| locked_memory(placement, error);
        [EPERM EACCES ENOSYS] RINGS => |_placement, error| format!(
            "the kernel refuses io_uring ({error}); set sysctl kernel.io_uring_disabled (now {}) \
             to 0 and, in a container, allow it in the seccomp profile, or use --ioengine libaio \
             or threads",
            sysctl("kernel/io_uring_disabled")
        );
        [EINVAL] RINGS => |placement, error| format!(
            "the kernel refuses this kind of ring ({error}): {} needs Linux {}, but this is {}; \
             use --ioengine io_uring or libaio",
            placement.engine.name(),
            Mode::of(placement.engine).map_or("", |mode| mode.kernel),
            sysctl("kernel/osrelease")
        );
        [EAGAIN] &[EngineKind::Libaio] => |placement, error| format!(
            "the kernel has no space for {} more asynchronous requests ({error}): sysctl \
             fs.aio-max-nr is {} for all programs; raise it, or give a smaller --iodepth or \
             --numjobs",
            placement.depth,
            sysctl("fs/aio-max-nr")
        );
        [ENOSYS EPERM] &[EngineKind::Libaio] => |_placement, error| format!(
            "the kernel refuses io_setup(2) ({error}): it was built without CONFIG_AIO, or a \
             seccomp profile forbids it; use --ioengine io_uring or threads"
        );
        [EAGAIN] &[EngineKind::Threads, EngineKind::IoUringSqpoll] => |placement, error| format!(
            "failed to start a thread for each of {} requests ({error}); raise `ulimit -u` or \
             sysctl kernel.threads-max (now {}), or give a smaller --iodepth",
            placement.depth,
            sysctl("kernel/threads-max")
        );
    }
    /// Refusals that mean the same with every engine.
    const ANY {
        [EMFILE ENFILE] &[] => |placement, error| format!(
            "{}: {error}; raise `ulimit -n` or give a smaller --numjobs",
            placement.engine.name()
        );
        [ENOMEM] &[] => |placement, _error| no_memory(placement);
    }
}

/// The kernel's own value of a setting, for a sentence.
fn sysctl(name: &str) -> String {
    let read = std::fs::read_to_string(format!("/proc/sys/{name}"));
    read.map_or_else(|_| "not there".into(), |text| text.trim().into())
}

fn locked_memory(placement: &JobPlacement, error: &io::Error) -> String {
    let limit = getrlimit(Resource::Memlock).current;
    let bytes = u64::from(placement.depth) * u64::from(placement.block_bytes);
    format!(
        "{} cannot lock its buffers of {} in memory ({error}): RLIMIT_MEMLOCK (`ulimit -l`) is {}; \
         raise it, or \
         give a smaller --iodepth or --bs",
        placement.engine.name(),
        show_size(bytes),
        limit.map_or_else(|| "unlimited".into(), show_size)
    )
}

fn no_memory(placement: &JobPlacement) -> String {
    format!(
        "not enough memory for {} requests of {} bytes; give a smaller --iodepth or --bs",
        placement.depth, placement.block_bytes
    )
}

/// An interface that the kernel refuses is *not measured*, with the reason; all else failed.
pub(crate) fn refusal(placement: &JobPlacement, error: &io::Error) -> SubjectError {
    let Some(errno) = error.raw_os_error() else {
        return match error.kind() {
            io::ErrorKind::OutOfMemory => SubjectError::Unavailable(no_memory(placement)),
            _ => SubjectError::Failed(format!("{}: {error}", placement.engine.name())),
        };
    };
    let own = REFUSALS.iter().filter(|refusal| refusal.engines.contains(&placement.engine));
    match own.chain(ANY).find(|refusal| refusal.errnos.contains(&errno)) {
        Some(refusal) => SubjectError::Unavailable((refusal.sentence)(placement, error)),
        None => SubjectError::Failed(format!("{}: {error}", placement.engine.name())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(engine: EngineKind, errno: i32) -> String {
        let placement =
            JobPlacement { engine, depth: 8, block_bytes: 1 << 20, ..JobPlacement::default() };
        match refusal(&placement, &io::Error::from_raw_os_error(errno)) {
            SubjectError::Unavailable(sentence) => sentence,
            other => panic!("{engine:?} {errno}: {other}"),
        }
    }

    #[test]
    fn every_refusal_names_its_cause_and_the_remedy() {
        use EngineKind as Kind;
        for (engine, errno, words) in [
            (Kind::IoUring, libc::EPERM, &["io_uring_disabled", "--ioengine"][..]),
            (Kind::IoUringFixed, libc::ENOMEM, &["RLIMIT_MEMLOCK", "ulimit -l", "8m"]),
            (Kind::IoUringDefer, libc::EINVAL, &["6.1", "io_uring_defer"]),
            (Kind::Libaio, libc::EAGAIN, &["fs.aio-max-nr", "--iodepth"]),
            (Kind::Libaio, libc::ENOSYS, &["CONFIG_AIO"]),
            (Kind::Threads, libc::EAGAIN, &["ulimit -u", "threads-max"]),
            (Kind::Splice, libc::EMFILE, &["ulimit -n"]),
            (Kind::Psync, libc::ENOMEM, &["not enough memory for 8 requests"]),
        ] {
            let sentence = said(engine, errno);
            assert!(words.iter().all(|word| sentence.contains(word)), "{sentence}");
        }
        let failure = refusal(&JobPlacement::default(), &io::Error::from_raw_os_error(libc::EIO));
        assert!(matches!(failure, SubjectError::Failed(_)));
    }

    #[test]
    fn every_ring_has_its_mode() {
        assert!(RINGS.iter().all(|kind| Mode::of(*kind).is_some()));
    }
}
