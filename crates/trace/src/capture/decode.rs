//! From the rings' bytes to events: the kernel's numbers become the model's names.
//!
//! Source: block/blk-core.c (`blk_errors`) and include/linux/blk_types.h of Linux 5.10 to 7.2;
//! which number an operation has and where the flags have their bits, the kernel's types say.
//!
//! Non-goals: which events belong together (`pair`). So [`Flags::MERGED`] is not set here, but
//! where the programs have compared: a request is known to be merged when it is issued with more
//! than it was started with.

use super::raw::{self, Complete, Issue, Name, Start, Step as RawStep, Sync, kind};
use super::syscalls;
use crate::event::{
    Durability, DurabilityEvent, Event, Extent, Finished, NameEvent, Naming, Origin, Stage, Step,
    Unseen,
};
use crate::intake::{KERNEL, RowsError, SeenThread, Steps};
use crate::kernel::Kernel;
use model::record::{CallKind, CommandId, FileKey, FileKind, FileNumber, Flags, Op, Stacks};
use rustix::io::Errno;

const SECTOR_BYTES: u64 = 512;
/// What the kernel writes where there is no place.
const NO_SECTOR: u64 = u64::MAX;

/// The part of a request's command flags that is its operation.
const OPERATION: u32 = 0xff;

/// Operations by their names in the kernel, where their numbers stand: these differ by kernel (7 is
/// a write of the same block, or an append to a zone). What is not here is [`Op::Other`].
const OPERATIONS: [(&str, Op); 8] = [
    ("REQ_OP_READ", Op::Read),
    ("REQ_OP_WRITE", Op::Write),
    ("REQ_OP_FLUSH", Op::Flush),
    ("REQ_OP_DISCARD", Op::Discard),
    ("REQ_OP_SECURE_ERASE", Op::Discard),
    ("REQ_OP_ZONE_APPEND", Op::Write),
    // Before Linux 5.18.
    ("REQ_OP_WRITE_SAME", Op::Write),
    // Zeroes that are not sent.
    ("REQ_OP_WRITE_ZEROES", Op::Discard),
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

/// The bits of the command flags by their names in the kernel (enum req_flag_bits).
const BITS: [&str; 8] = [
    "__REQ_SYNC",
    "__REQ_META",
    "__REQ_IDLE",
    "__REQ_FUA",
    "__REQ_PREFLUSH",
    "__REQ_RAHEAD",
    "__REQ_BACKGROUND",
    "__REQ_SWAP",
];
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
    /// The bits of the command flags, each as a mask; 0 of one that the kernel does not name.
    masks: [u32; BITS.len()],
    /// The number of each operation.
    operations: [Option<u64>; OPERATIONS.len()],
    /// Our processes in the first PID namespace; 0 is none.
    own_tgids: [u32; 2],
    /// Who may begin requests without being seen.
    unseen: Option<UnseenBegins>,
}

/// Begins that no program sees.
#[derive(Debug, Clone, Copy)]
struct UnseenBegins {
    /// The process in which no program runs, and its name; none: it may be others, too.
    by: Option<(u32, [u8; 16])>,
    /// From then on, all else is seen to begin.
    from_ns: i64,
}

impl Decoder {
    /// For the running kernel.
    pub(super) fn new(kernel: &Kernel, own_tgids: [u32; 2]) -> Self {
        Self::by(|name| kernel.enumerator(name), own_tgids)
    }

    /// `value` tells what an enumerator is.
    fn by(value: impl Fn(&str) -> Option<u64>, own_tgids: [u32; 2]) -> Self {
        let mask = |name| mask(value(name)?);
        Self {
            masks: BITS.map(|name| mask(name).unwrap_or(0)),
            operations: OPERATIONS.map(|(name, _)| value(name)),
            own_tgids,
            unseen: None,
        }
    }

    /// From this moment on, what is not seen to begin was requested by this process.
    pub(super) fn see_no_begins_of(&mut self, pid: u32, command: &[u8], from_ns: i64) {
        let mut name = [0; 16];
        name.iter_mut().zip(command).for_each(|(into, byte)| *into = *byte);
        self.unseen = Some(UnseenBegins { by: Some((pid, name)), from_ns });
    }

    /// What is not seen to begin may be anybody's from now on: steps were lost.
    pub(super) fn forget_who_is_unseen(&mut self) {
        self.unseen.iter_mut().for_each(|unseen| unseen.by = None);
    }

    /// The events of a record, in their order; how many they are.
    /// Errors: bytes that are no record.
    #[inline]
    pub(super) fn decode(&self, bytes: &[u8], steps: &mut impl Steps) -> Result<u64, Undecoded> {
        match raw::kind_of(bytes).ok_or(Malformed)? {
            kind::START => {
                let raw: Start = raw::whole(bytes).ok_or(Malformed)?;
                let start = self.start(&raw, unless_zero(raw.tag), steps);
                steps.event(start)?;
            }
            kind::FINISHED => {
                let raw: Start = raw::whole(bytes).ok_or(Malformed)?;
                let finished = self.finished(&raw, Some(raw.step.time_ns as i64), steps);
                steps.finished(&finished)?;
                return Ok(finished.steps());
            }
            kind::WHOLE_START => {
                let raw: Start = raw::whole(bytes).ok_or(Malformed)?;
                let start = self.start(&raw, unless_zero(raw.tag), steps);
                steps.event(start)?;
                let origin = Origin::default();
                let step = Step::Issue { serves: None, in_sequence: false, origin };
                steps.event(Event { step, ..start })?;
                return Ok(2);
            }
            kind::ISSUE => {
                let raw: Issue = raw::whole(bytes).ok_or(Malformed)?;
                let (serves, in_sequence) = (unless_zero(raw.serves), is_in_sequence(&raw.step));
                let origin = Origin::default();
                let step = Step::Issue { serves, in_sequence, origin };
                steps.event(self.event(&raw.step, step))?;
            }
            kind::ABOVE => {
                let raw: Issue = raw::whole(bytes).ok_or(Malformed)?;
                let device = u32::try_from(raw.serves).map_err(|_| Malformed)?;
                let is_placed = self.extent(&raw.step).op != Op::Flush;
                let offset_bytes =
                    is_placed.then(|| raw.step.sector.checked_mul(SECTOR_BYTES)).flatten();
                steps.event(self.event(&raw.step, Step::Above { device, offset_bytes }))?;
            }
            kind::BECAME => {
                let raw: Issue = raw::whole(bytes).ok_or(Malformed)?;
                let (bio, tag) = (raw.step.sector, unless_zero(raw.serves));
                steps.event(self.event(&raw.step, Step::Became { bio, tag }))?;
            }
            kind::REQUEUE => {
                let raw: RawStep = raw::whole(bytes).ok_or(Malformed)?;
                steps.event(self.event(&raw, Step::Requeue))?;
            }
            kind::OVER => {
                let raw: RawStep = raw::whole(bytes).ok_or(Malformed)?;
                steps.event(self.event(&raw, Step::Over))?;
            }
            kind::MERGE => {
                let raw: RawStep = raw::whole(bytes).ok_or(Malformed)?;
                steps.event(self.event(&raw, Step::Merge { in_front: false }))?;
            }
            kind::COMPLETE => {
                let raw: Complete = raw::whole(bytes).ok_or(Malformed)?;
                let complete = self.complete(&raw, steps);
                steps.event(complete)?;
            }
            kind::SYNC_BEGIN
            | kind::SYNC_END
            | kind::COMMIT
            | kind::CHANGED
            | kind::CALLED
            | kind::RETURNED => {
                let raw: Sync = raw::whole(bytes).ok_or(Malformed)?;
                let event = self.durability(&raw, steps).ok_or(Malformed)?;
                steps.durability(event);
            }
            kind::NAMED => {
                let raw: Name = raw::whole(bytes).ok_or(Malformed)?;
                steps.name(&name(&raw));
            }
            _ => return Err(Malformed),
        }
        Ok(1)
    }

    /// A step of a call or of a commit.
    fn durability(&self, raw: &Sync, steps: &mut impl Steps) -> Option<DurabilityEvent> {
        let has = |mark| raw.step.marks & mark != 0;
        let kind = match has(raw::MARK_DATASYNC) {
            _ if has(raw::MARK_UNTOLD) => CallKind::Untold,
            true => CallKind::Fdatasync,
            false => CallKind::Fsync,
        };
        let step = match raw.step.kind {
            kind::SYNC_BEGIN => Durability::Begin { kind },
            kind::CHANGED => Durability::Changed,
            kind::CALLED => Durability::Called { kind: syscalls::kind(raw.result)? },
            kind::RETURNED => Durability::Returned { error: raw.result },
            kind::SYNC_END => Durability::End {
                error: raw.result,
                transactions: unless_zero(raw.transaction)
                    .map(|both| (both as u32, (both >> 32) as u32)),
            },
            _ => Durability::Commit {
                transaction: raw.transaction,
                stage: *Stage::ALL.get(raw.result as usize)?,
            },
        };
        let name = see(raw, steps);
        Some(DurabilityEvent {
            time_ns: raw.step.time_ns as i64,
            file: FileNumber {
                file_system: raw.step.device,
                inode: raw.inode,
                generation: raw.generation,
            },
            pid: raw.pid,
            command: name,
            step,
        })
    }

    fn start(&self, raw: &Start, tag: Option<u64>, steps: &mut impl Steps) -> Event {
        let stacks = Stacks { kernel: raw.kernel_stack, user: raw.user_stack };
        let name = command(&raw.command, steps);
        let origin = Origin {
            pid: (raw.pid != 0).then_some(raw.pid),
            cgroup: unless_zero(raw.cgroup),
            command: name,
            file: file(raw),
            stacks,
        };
        steps.stack(raw.tgid, raw.user_stack);
        steps.stack(KERNEL, raw.kernel_stack);
        let queued_ns = unless_zero(raw.queued_ns).map(|ns| ns as i64);
        let step = Step::Start { queued_ns, origin, tag };
        let mut event = self.event(&raw.step, step);
        let is_own = raw.tgid != 0 && self.own_tgids.contains(&raw.tgid);
        let is_throttled = raw.step.marks & raw::MARK_THROTTLED != 0;
        let Extent { op, flags, .. } = event.extent;
        // What is written back may be charged to another one's cgroup.
        let is_its_own = op == Op::Read || flags.contains(Flags::DIRECT);
        let cgroup = origin.cgroup.filter(|_| is_its_own);
        steps.thread(SeenThread { pid: raw.pid, process: raw.tgid, name, cgroup });
        let flags = flags.with(Flags::OWN, is_own);
        let flags = flags.with(Flags::THROTTLED, is_throttled);
        let is_refaulted = op == Op::Read && raw.step.marks & raw::MARK_REFAULTED != 0;
        let is_by_itself = is_refaulted && raw.step.marks & raw::MARK_BY_ITSELF != 0;
        let flags = flags.with(Flags::REFAULTED, is_refaulted);
        event.extent.flags = flags.with(Flags::EVICTED_ITSELF, is_by_itself);
        event
    }

    /// A request that waited in the kernel's memory until its end, or still waits there.
    pub(super) fn finished(
        &self,
        raw: &Start,
        completed_ns: Option<i64>,
        steps: &mut impl Steps,
    ) -> Finished {
        let mut start = self.start(raw, None, steps);
        start.time_ns = raw.queued_ns.wrapping_add(raw.started_after_ns.into()) as i64;
        Finished {
            start,
            issued_ns: unless_zero(raw.tag).map(|ns| ns as i64),
            has_grown: raw.step.marks & raw::MARK_GREW != 0,
            completed_ns,
            error: errno(raw.status.into()),
        }
    }

    fn complete(&self, raw: &Complete, steps: &mut impl Steps) -> Event {
        let (done_bytes, remaining_bytes) = match raw.done_bytes {
            raw::ALL_BYTES => (None, 0),
            done => (Some(done), raw.step.length_bytes.saturating_sub(done)),
        };
        let error = errno(raw.status);
        let in_sequence = is_in_sequence(&raw.step);
        let unseen = self.unseen_begin(raw, steps);
        let step = Step::Complete { error, done_bytes, remaining_bytes, in_sequence, unseen };
        self.event(&raw.step, step)
    }

    /// What the kernel has noted of a request, should nobody have seen it begin.
    fn unseen_begin(&self, raw: &Complete, steps: &mut impl Steps) -> Option<Unseen> {
        let UnseenBegins { by, from_ns } = self.unseen?;
        let (started_ns, completed_ns) = (raw.started_ns as i64, raw.step.time_ns as i64);
        if !(from_ns..=completed_ns).contains(&started_ns) {
            return None;
        }
        let origin = by.map_or(Origin::UNKNOWN, |(pid, name)| {
            let command = command(&name, steps);
            steps.thread(SeenThread { pid, process: pid, name: command, cgroup: None });
            Origin { pid: Some(pid), command, ..Origin::UNKNOWN }
        });
        // The kernel may have read its clock some time before either (blk_time_get_ns).
        let issued_ns =
            unless_zero(raw.issued_ns).map(|ns| (ns as i64).clamp(started_ns, completed_ns));
        Some(Unseen { started_ns, issued_ns, origin })
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

    /// What the kernel's number of an operation stands for, flags beside it.
    pub(super) fn operation(&self, command_flags: u32) -> Op {
        let number = Some(u64::from(command_flags & OPERATION));
        let op = self.operations.iter().position(|known| *known == number);
        op.map_or(Op::Other, |place| OPERATIONS[place].1)
    }

    fn extent(&self, raw: &RawStep) -> Extent {
        let op = self.operation(raw.command_flags);
        // What fsync asks for where there is nothing to write: a write of nothing that flushes
        // first.
        let is_empty = raw.length_bytes == 0 && raw.command_flags & self.masks[PREFLUSH] != 0;
        let op = if op == Op::Write && is_empty { Op::Flush } else { op };
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
            Op::Read => raw.marks & raw::MARK_DIRECT != 0,
            _ => false,
        };
        let has_grown = raw.kind == kind::ISSUE && raw.marks & raw::MARK_GREW != 0;
        plain.with(Flags::DIRECT, is_direct).with(Flags::MERGED, has_grown)
    }
}

/// A bit of the command flags by its number in the kernel.
pub(super) fn mask(bit: u64) -> Option<u32> {
    1u32.checked_shl(u32::try_from(bit).ok()?)
}

/// The number of a thread's name.
fn command(bytes: &[u8; 16], steps: &mut impl Steps) -> Option<CommandId> {
    let name = until_zero(bytes);
    (!name.is_empty()).then(|| steps.command(name))
}

/// Whose step it is, which is told; the number of the thread's name.
pub(super) fn see(raw: &Sync, steps: &mut impl Steps) -> Option<CommandId> {
    let name = command(&raw.command, steps);
    let cgroup = unless_zero(raw.cgroup);
    steps.thread(SeenThread { pid: raw.pid, process: raw.tgid, name, cgroup });
    name
}

/// Kinds of files by their numbers in event.h, from 1 on.
const FILE_KINDS: [FileKind; 4] =
    [FileKind::Regular, FileKind::Journal, FileKind::Metadata, FileKind::Device];

/// To which file a request's data belongs.
fn file(raw: &Start) -> Option<FileKey> {
    let kind = *FILE_KINDS.get((raw.file_kind as usize).checked_sub(1)?)?;
    let number =
        FileNumber { file_system: raw.file_system, inode: raw.inode, generation: raw.generation };
    Some(FileKey { kind, number })
}

/// A part of what a file is called.
fn name(raw: &Name) -> NameEvent<'_> {
    let Name { step, inode, generation, part, text } = raw;
    let has = |mark| step.marks & mark != 0;
    let naming = match has(raw::MARK_WHOLE) {
        true => Naming::Whole { is_deleted: has(raw::MARK_DELETED) },
        false => Naming::Part { text: until_zero(text), goes_on: has(raw::MARK_MORE) },
    };
    NameEvent {
        time_ns: step.time_ns as i64,
        file: FileNumber { file_system: step.device, inode: *inode, generation: *generation },
        telling: step.identity,
        part: *part,
        naming,
    }
}

fn until_zero(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    &bytes[..end]
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

#[cfg(test)]
mod tests;
