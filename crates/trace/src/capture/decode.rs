//! From the ring's bytes to events: the kernel's numbers become the model's names.
//!
//! Source: block/blk-core.c (`blk_errors`) and include/linux/blk_types.h of Linux 6.18; where the
//! flags have their bits, the running kernel's own types say.
//!
//! Non-goals: which events belong together (`pair`). So [`Flags::MERGED`] is not set here: a
//! request is known to be merged when it is issued with more than it was started with.

use super::raw::{self, Complete, Issue, Start, Step as RawStep, kind};
use crate::event::{Event, Extent, Origin, Step};
use crate::intake::{RowsError, Steps};
use model::record::{Flags, Op};
use rustix::io::Errno;

const SECTOR_BYTES: u64 = 512;
/// What the kernel writes where there is no place.
const NO_SECTOR: u64 = u64::MAX;

/// The part of a request's command flags that is its operation.
const OPERATION: u32 = 0xff;

/// Operations by their numbers; what is not here is [`Op::Other`]. These numbers are the same in
/// all kernels that have the tracepoints.
const OPERATIONS: [(u32, Op); 7] = [
    (0, Op::Read),
    (1, Op::Write),
    (2, Op::Flush),
    (3, Op::Discard),
    // Secure erase; append to a zone; zeroes that are not sent.
    (5, Op::Discard),
    (7, Op::Write),
    (9, Op::Discard),
];

/// What a blk_status_t means; what is not here is EIO, as in the kernel. From 14 on kernels
/// differ, but for 19.
const ERRORS: [(i32, Errno); 14] = [
    (1, Errno::OPNOTSUPP),
    (2, Errno::TIMEDOUT),
    (3, Errno::NOSPC),
    (4, Errno::NOLINK),
    (5, Errno::REMOTEIO),
    (6, Errno::BADE),
    (7, Errno::NODATA),
    (8, Errno::ILSEQ),
    (9, Errno::NOMEM),
    (10, Errno::IO),
    (11, Errno::REMCHG),
    (12, Errno::AGAIN),
    (13, Errno::BUSY),
    (19, Errno::INVAL),
];

/// `struct bits` of block.bpf.c, by its words.
pub(super) const BITS: usize = 8;
const SYNC: usize = 0;
const META: usize = 1;
const IDLE: usize = 2;
const FUA: usize = 3;
const PREFLUSH: usize = 4;
const READAHEAD: usize = 5;
const BACKGROUND: usize = 6;
const SWAP: usize = 7;

/// Flags that are a bit of the command flags.
const PLAIN: [(usize, Flags); 7] = [
    (SYNC, Flags::SYNC),
    (META, Flags::META),
    (FUA, Flags::FUA),
    (PREFLUSH, Flags::PREFLUSH),
    (READAHEAD, Flags::READAHEAD),
    (BACKGROUND, Flags::BACKGROUND),
    (SWAP, Flags::SWAP),
];

/// Why a record became no event.
#[derive(Debug)]
pub(super) enum Undecoded {
    /// It is none of the ring's. They are counted and never guessed at.
    Malformed,
    /// Where the events go refused one.
    Refused(RowsError),
}

impl From<RowsError> for Undecoded {
    fn from(refused: RowsError) -> Self {
        Self::Refused(refused)
    }
}
use Undecoded::Malformed;

/// What is known of this kernel and this process when records are read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Decoder {
    /// The bits of the command flags, each as a mask.
    masks: [u32; BITS],
    /// Our process in the first PID namespace.
    own_tgid: u32,
}

impl Decoder {
    /// `bits` are the numbers of the bits, as `struct bits` has them.
    pub(super) fn new(bits: [u64; BITS], own_tgid: u32) -> Self {
        let mask = |bit: u64| u32::try_from(bit).ok().and_then(|bit| 1u32.checked_shl(bit));
        Self { masks: bits.map(|bit| mask(bit).unwrap_or(0)), own_tgid }
    }

    /// The events of a record, in their order; how many they are.
    ///
    /// # Errors
    /// Bytes that are no record.
    #[inline]
    pub(super) fn decode(&self, bytes: &[u8], steps: &mut impl Steps) -> Result<u64, Undecoded> {
        match raw::kind_of(bytes).ok_or(Malformed)? {
            kind::START => {
                let raw: Start = raw::whole(bytes).ok_or(Malformed)?;
                let start = self.start(&raw, steps);
                steps.event(start)?;
            }
            kind::WHOLE_START => {
                let raw: Start = raw::whole(bytes).ok_or(Malformed)?;
                let start = self.start(&raw, steps);
                steps.event(start)?;
                let step = Step::Issue { serves: None, in_sequence: false };
                steps.event(Event { step, ..start })?;
                return Ok(2);
            }
            kind::ISSUE => {
                let raw: Issue = raw::whole(bytes).ok_or(Malformed)?;
                let (serves, in_sequence) = (unless_zero(raw.serves), is_in_sequence(&raw.step));
                steps.event(self.event(&raw.step, Step::Issue { serves, in_sequence }))?;
            }
            kind::REQUEUE => {
                let raw: RawStep = raw::whole(bytes).ok_or(Malformed)?;
                steps.event(self.event(&raw, Step::Requeue))?;
            }
            kind::MERGE => {
                let raw: RawStep = raw::whole(bytes).ok_or(Malformed)?;
                steps.event(self.event(&raw, Step::Merge { in_front: false }))?;
            }
            kind::COMPLETE => {
                let raw: Complete = raw::whole(bytes).ok_or(Malformed)?;
                steps.event(self.complete(&raw))?;
            }
            _ => return Err(Malformed),
        }
        Ok(1)
    }

    fn start(&self, raw: &Start, steps: &mut impl Steps) -> Event {
        let end = raw.command.iter().position(|byte| *byte == 0).unwrap_or(raw.command.len());
        let origin = Origin {
            pid: (raw.pid != 0).then_some(raw.pid),
            cgroup: unless_zero(raw.cgroup),
            command: (end > 0).then(|| steps.command(&raw.command[..end])),
        };
        let queued_ns = unless_zero(raw.queued_ns).map(|ns| ns as i64);
        let step = Step::Start { queued_ns, origin, tag: unless_zero(raw.tag) };
        let mut event = self.event(&raw.step, step);
        let is_own = raw.tgid != 0 && raw.tgid == self.own_tgid;
        event.extent.flags = event.extent.flags.with(Flags::OWN, is_own);
        event
    }

    fn complete(&self, raw: &Complete) -> Event {
        let (done_bytes, remaining_bytes) = match raw.done_bytes {
            raw::ALL_BYTES => (None, 0),
            done => (Some(done), raw.step.length_bytes.saturating_sub(done)),
        };
        let error = errno(raw.status);
        let in_sequence = is_in_sequence(&raw.step);
        self.event(&raw.step, Step::Complete { error, done_bytes, remaining_bytes, in_sequence })
    }

    fn event(&self, raw: &RawStep, step: Step) -> Event {
        Event {
            time_ns: raw.time_ns as i64,
            identity: Some(raw.identity),
            device: raw.device,
            cpu: Some(raw.cpu),
            extent: self.extent(raw),
            step,
        }
    }

    fn extent(&self, raw: &RawStep) -> Extent {
        let number = raw.command_flags & OPERATION;
        let op = OPERATIONS.iter().find(|(known, _)| *known == number);
        let op = op.map_or(Op::Other, |(_, op)| *op);
        let has_place = op != Op::Flush && raw.sector != NO_SECTOR;
        let offset_bytes = has_place.then(|| raw.sector.checked_mul(SECTOR_BYTES)).flatten();
        let flags = self.flags(raw, op);
        Extent { op, flags, offset_bytes, length_bytes: raw.length_bytes }
    }

    fn flags(&self, raw: &RawStep, op: Op) -> Flags {
        let has = |bit: usize| raw.command_flags & self.masks[bit] != 0;
        let plain =
            PLAIN.iter().fold(Flags::default(), |all, (bit, flag)| all.with(*flag, has(*bit)));
        // A journal's writes have the same bits as a program's, and are marked as meta.
        let is_direct = match op {
            Op::Write => has(SYNC) && has(IDLE) && !has(META),
            Op::Read => raw.marks & raw::MARK_ANONYMOUS != 0,
            _ => false,
        };
        plain.with(Flags::DIRECT, is_direct)
    }
}

fn is_in_sequence(raw: &RawStep) -> bool {
    raw.marks & raw::MARK_IN_SEQUENCE != 0
}

fn unless_zero(number: u64) -> Option<u64> {
    (number != 0).then_some(number)
}

/// The errno of a blk_status_t.
fn errno(status: i32) -> i32 {
    match status {
        0 => 0,
        // Not a status: kernels before 5.16 gave the errno itself.
        ..0 => status.saturating_neg(),
        _ => {
            let known = ERRORS.iter().find(|(number, _)| *number == status);
            known.map_or(Errno::IO, |(_, errno)| *errno).raw_os_error()
        }
    }
}
