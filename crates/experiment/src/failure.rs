//! Why a job ended early, and whether that is a failure or only something that cannot be had
//! there: a refusal of the kernel or the file system makes a cell *not measured*.

use model::seam::{JobPlacement, Operation, SubjectError};
use model::workload::EngineKind;

/// How Linux refuses what it does not serve (include/uapi/asm-generic/errno-base.h, errno.h).
const EINVAL: i32 = 22;
const ENODEV: i32 = 19;
const ENOSYS: i32 = 38;
const EOPNOTSUPP: i32 = 95;

/// Interfaces that a file system or device without them refuses by these errors too: copying within
/// a device, mapping and splicing what cannot be.
const REFUSE_ALL: [EngineKind; 3] =
    [EngineKind::CopyFileRange, EngineKind::Mmap, EngineKind::Splice];

/// Why a stream ended early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StreamError {
    pub(crate) operation: Operation,
    pub(crate) offset_bytes: u64,
    /// A positive errno, or 0 for fewer bytes than requested.
    pub(crate) errno: i32,
}

impl StreamError {
    /// The error as the subject's: what was done where, by whom, and what it met.
    pub(crate) fn on(&self, placement: &JobPlacement, program: &str) -> SubjectError {
        let verb = match self.operation {
            Operation::Read => "reading",
            Operation::Write => "writing",
            Operation::Copy => "copying",
            Operation::Fdatasync => "fdatasync",
            Operation::Fsync => "fsync",
            Operation::SyncFileRange | Operation::StartWriteback => "sync_file_range",
            Operation::OpenRead | Operation::OpenReadWrite => "opening",
            Operation::Create => "creating",
            Operation::Close => "closing",
            Operation::Unlink => "removing",
        };
        let file = if placement.file.is_empty() { "the device" } else { &placement.file };
        let drive = placement.drive + 1;
        let cause = match self.errno {
            0 => "fewer bytes than requested (the end of the file, or no space)".to_owned(),
            errno => std::io::Error::from_raw_os_error(errno).to_string(),
        };
        let sentence = format!(
            "{program}: {verb} {file} of drive {drive} at byte {}: {cause}",
            self.offset_bytes
        );
        let refused = format!("{program}: {verb} is refused ({cause})");
        let meaning = placement.engine.facts().unsupported;
        match self.errno {
            // What a file system or device does not serve at all is nothing that failed.
            EOPNOTSUPP | ENOSYS => SubjectError::Unavailable(format!("{refused}; {meaning}")),
            EINVAL | ENODEV if REFUSE_ALL.contains(&placement.engine) => {
                SubjectError::Unavailable(format!("{refused}; {meaning}"))
            }
            EINVAL if placement.direct => SubjectError::Unavailable(format!(
                "{refused}; it does not accept direct requests of {}; leave out --direct or give a \
                 larger --bs",
                model::units::show_size(u64::from(placement.block_bytes))
            )),
            _ => SubjectError::Failed(sentence),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_served_at_all_is_not_measured_and_not_a_failure() {
        let said = |engine, direct, errno| {
            let placement = JobPlacement { engine, direct, ..JobPlacement::default() };
            StreamError { operation: Operation::Read, offset_bytes: 0, errno }.on(&placement, "p")
        };
        for (engine, direct, errno, words) in [
            (EngineKind::Pvsync2Nowait, false, EOPNOTSUPP, "use pvsync2"),
            (EngineKind::IoUringIopoll, true, EOPNOTSUPP, "poll_queues"),
            (EngineKind::Psync, true, EINVAL, "leave out --direct"),
            (EngineKind::CopyFileRange, false, EINVAL, "cannot copy"),
            (EngineKind::Mmap, false, ENODEV, "cannot map"),
        ] {
            let SubjectError::Unavailable(sentence) = said(engine, direct, errno) else {
                panic!("{engine:?} {errno} is a refusal")
            };
            assert!(sentence.contains(words), "{sentence}");
        }
        assert!(matches!(said(EngineKind::Psync, false, EINVAL), SubjectError::Failed(_)));
    }
}
