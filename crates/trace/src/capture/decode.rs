//! From the rings' bytes to events: the kernel's numbers become the model's names.
//!
//! Source: block/blk-core.c (`blk_errors`) and include/linux/blk_types.h of Linux 5.10 to 7.2; which
//! number an operation has and where the flags have their bits, the running kernel's types say.
//!
//! Non-goals: which events belong together (`pair`). So [`Flags::MERGED`] is not set here: a
//! request is known to be merged when it is issued with more than it was started with.

use super::raw::{self, Complete, Issue, Start, Step as RawStep, Sync, kind};
use super::syscalls;
use crate::event::{Durability, DurabilityEvent, Event, Extent, Origin, Stage, Step};
use crate::intake::{KERNEL, RowsError, Steps};
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
}

impl Decoder {
    /// For the running kernel.
    pub(super) fn new(kernel: &Kernel, own_tgids: [u32; 2]) -> Self {
        Self::by(|name| kernel.enumerator(name), own_tgids)
    }

    /// `value` tells what an enumerator is.
    fn by(value: impl Fn(&str) -> Option<u64>, own_tgids: [u32; 2]) -> Self {
        let mask = |name| 1u32.checked_shl(u32::try_from(value(name)?).ok()?);
        Self {
            masks: BITS.map(|name| mask(name).unwrap_or(0)),
            operations: OPERATIONS.map(|(name, _)| value(name)),
            own_tgids,
        }
    }

    /// The events of a record, in their order; how many they are.
    /// Errors: bytes that are no record.
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
            kind::MERGE => {
                let raw: RawStep = raw::whole(bytes).ok_or(Malformed)?;
                steps.event(self.event(&raw, Step::Merge { in_front: false }))?;
            }
            kind::COMPLETE => {
                let raw: Complete = raw::whole(bytes).ok_or(Malformed)?;
                steps.event(self.complete(&raw))?;
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
        steps.thread(raw.pid, raw.tgid);
        Some(DurabilityEvent {
            time_ns: raw.step.time_ns as i64,
            file: FileNumber {
                file_system: raw.step.device,
                inode: raw.inode,
                generation: raw.generation,
            },
            pid: raw.pid,
            command: command(&raw.command, steps),
            step,
        })
    }

    fn start(&self, raw: &Start, steps: &mut impl Steps) -> Event {
        let stacks = Stacks { kernel: raw.kernel_stack, user: raw.user_stack };
        let origin = Origin {
            pid: (raw.pid != 0).then_some(raw.pid),
            cgroup: unless_zero(raw.cgroup),
            command: command(&raw.command, steps),
            file: file(raw),
            stacks,
        };
        steps.thread(raw.pid, raw.tgid);
        steps.stack(raw.tgid, raw.user_stack);
        steps.stack(KERNEL, raw.kernel_stack);
        let queued_ns = unless_zero(raw.queued_ns).map(|ns| ns as i64);
        let step = Step::Start { queued_ns, origin, tag: unless_zero(raw.tag) };
        let mut event = self.event(&raw.step, step);
        let is_own = raw.tgid != 0 && self.own_tgids.contains(&raw.tgid);
        let is_throttled = raw.step.marks & raw::MARK_THROTTLED != 0;
        let flags = event.extent.flags.with(Flags::OWN, is_own);
        event.extent.flags = flags.with(Flags::THROTTLED, is_throttled);
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
        let number = Some(u64::from(raw.command_flags & OPERATION));
        let op = self.operations.iter().position(|known| *known == number);
        let op = op.map_or(Op::Other, |place| OPERATIONS[place].1);
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
            Op::Read => raw.marks & raw::MARK_ANONYMOUS != 0,
            _ => false,
        };
        plain.with(Flags::DIRECT, is_direct)
    }
}

fn command(bytes: &[u8; 16], steps: &mut impl Steps) -> Option<CommandId> {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    (end > 0).then(|| steps.command(&bytes[..end]))
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
mod tests {
    use super::*;
    use crate::intake::Collected;
    use model::record::CommandId;
    use proptest::prelude::*;

    /// The bits as Linux 6.18 has them.
    const BITS_6_18: [u64; BITS.len()] = [11, 12, 15, 17, 18, 19, 20, 24];
    /// The operations as it has them, by their places; it has no WRITE_SAME.
    const OPERATIONS_6_18: [Option<u64>; OPERATIONS.len()] =
        [Some(0), Some(1), Some(2), Some(3), Some(5), Some(7), None, Some(9)];

    fn of_6_18(name: &str) -> Option<u64> {
        let bit = BITS.iter().position(|known| *known == name).map(|place| BITS_6_18[place]);
        let op = || OPERATIONS.iter().position(|(known, _)| *known == name);
        bit.or_else(|| OPERATIONS_6_18[op()?])
    }

    fn decoder() -> Decoder {
        Decoder::by(of_6_18, [OWN, 0])
    }
    const OWN: u32 = 4711;

    /// None of what is malformed.
    fn decode(bytes: &[u8]) -> Option<Vec<Event>> {
        let mut steps = Collected::default();
        let told = decoder().decode(bytes, &mut steps).ok()?;
        assert_eq!(told, (steps.events.len() + steps.durability.len()) as u64);
        Some(steps.events)
    }

    /// A step's bytes, written as event.h declares them.
    fn step(kind: u8, sector: u64, command_flags: u32, marks: u8) -> Vec<u8> {
        let mut bytes = Vec::new();
        for word in [1_000u64, 0xffff_8881_0000_0040, sector] {
            bytes.extend(word.to_ne_bytes());
        }
        for half in [4096u32, command_flags, 7 << 20 | 3] {
            bytes.extend(half.to_ne_bytes());
        }
        bytes.extend(5u16.to_ne_bytes());
        bytes.extend([kind, marks]);
        bytes
    }

    fn start(kind: u8, command_flags: u32, tgid: u32, command: &[u8]) -> Vec<u8> {
        let mut bytes = step(kind, 8, command_flags, 0);
        for word in [900u64, 0x77, 0] {
            bytes.extend(word.to_ne_bytes());
        }
        bytes.extend(4712u32.to_ne_bytes());
        bytes.extend(tgid.to_ne_bytes());
        bytes.extend(12u64.to_ne_bytes());
        for half in [3u32, 7 << 20, 1, 41, 0, 0] {
            bytes.extend(half.to_ne_bytes());
        }
        let mut name = [0; 16];
        name[..command.len()].copy_from_slice(command);
        bytes.extend(name);
        bytes
    }

    fn complete(done_bytes: u32, status: i32) -> Vec<u8> {
        let mut bytes = step(kind::COMPLETE, 8, 0, 0);
        bytes.extend(done_bytes.to_ne_bytes());
        bytes.extend(status.to_ne_bytes());
        bytes
    }

    /// The bytes of a record of an issue, or of those that are like it.
    fn issue(kind: u8, sector: u64, command_flags: u32, serves: u64) -> Vec<u8> {
        let mut bytes = step(kind, sector, command_flags, 0);
        bytes.extend(serves.to_ne_bytes());
        bytes
    }

    #[test]
    fn a_number_means_what_the_running_kernel_calls_it() {
        // Linux 5.10: 7 is a write of the same block; 6.18: an append to a zone; both write.
        let of_5_10 = |name: &str| match name {
            "REQ_OP_WRITE_SAME" => Some(7),
            "REQ_OP_ZONE_APPEND" => Some(13),
            _ => of_6_18(name),
        };
        let op = |decoder: Decoder, number: u32| {
            let mut steps = Collected::default();
            decoder.decode(&step(kind::MERGE, 8, number, 0), &mut steps).unwrap();
            steps.events[0].extent.op
        };
        let old = Decoder::by(of_5_10, [OWN, 0]);
        assert_eq!([op(old, 7), op(old, 13), op(decoder(), 7)], [Op::Write; 3]);
        assert_eq!([op(decoder(), 13), op(decoder(), 34)], [Op::Other; 2]);
    }

    #[test]
    fn where_a_bio_came_from_and_what_it_became_are_told_after_its_start() {
        let of = |bytes: Vec<u8>| decode(&bytes).unwrap()[0].step;
        let above = |offset_bytes| Step::Above { device: 9 << 20 | 1, offset_bytes };
        assert_eq!(of(issue(kind::ABOVE, 16, 1, 9 << 20 | 1)), above(Some(8192)));
        assert_eq!(of(issue(kind::ABOVE, 16, 2, 9 << 20 | 1)), above(None));
        assert_eq!(decode(&issue(kind::ABOVE, 16, 1, 1 << 32)), None, "no device");
        let became = Step::Became { bio: 0xffff_8881_0000_1000, tag: Some(5) };
        assert_eq!(of(issue(kind::BECAME, 0xffff_8881_0000_1000, 1, 5)), became);
    }

    #[test]
    fn a_start_tells_who_asked_and_for_what() {
        let events = decode(&start(kind::START, 1 | 1 << 11 | 1 << 15, OWN, b"fio")).unwrap();
        let number = FileNumber { file_system: 7 << 20, inode: 12, generation: 3 };
        let file = Some(FileKey { kind: FileKind::Regular, number });
        let stacks = Stacks { kernel: 41, user: 0 };
        let origin = Origin {
            pid: Some(4712),
            command: Some(CommandId(0)),
            file,
            stacks,
            ..Origin::UNKNOWN
        };
        let expected = Event {
            time_ns: 1_000,
            identity: Some(0xffff_8881_0000_0040),
            device: 7 << 20 | 3,
            cpu: Some(5),
            extent: Extent {
                op: Op::Write,
                flags: Flags::SYNC | Flags::DIRECT | Flags::OWN,
                offset_bytes: Some(4096),
                length_bytes: 4096,
            },
            step: Step::Start { queued_ns: Some(900), origin, tag: Some(0x77) },
        };
        assert_eq!(events, [expected]);
    }

    const FILE: FileNumber = FileNumber { file_system: 7 << 20 | 3, inode: 12, generation: 3 };

    /// A call's, a stage's or a change's bytes, as event.h declares them.
    fn sync(kind: u8, marks: u8, transaction: u64, result: u32) -> Vec<u8> {
        let mut bytes = step(kind, 0, 0, marks);
        for word in [12u64, transaction, 0] {
            bytes.extend(word.to_ne_bytes());
        }
        for word in [4712u32, 4710, result, 3] {
            bytes.extend(word.to_ne_bytes());
        }
        bytes.extend(*b"postgres\0\0\0\0\0\0\0\0");
        bytes
    }

    #[test]
    fn calls_commits_and_changes_are_steps_of_their_own() {
        let told = |bytes: &[u8]| {
            let mut steps = Collected::default();
            let told = decoder().decode(bytes, &mut steps);
            told.ok().map(|_| steps.durability[0])
        };
        let begin = told(&sync(kind::SYNC_BEGIN, raw::MARK_DATASYNC, 0, 0)).unwrap();
        assert_eq!((begin.file, begin.pid), (FILE, 4712));
        assert_eq!(begin.step, Durability::Begin { kind: CallKind::Fdatasync });
        let untold = told(&sync(kind::SYNC_BEGIN, raw::MARK_UNTOLD, 0, 0)).unwrap();
        assert_eq!(untold.step, Durability::Begin { kind: CallKind::Untold });
        let end = told(&sync(kind::SYNC_END, 0, 7 << 32 | 8, 5)).unwrap();
        assert_eq!(end.step, Durability::End { error: 5, transactions: Some((8, 7)) });
        let stage = told(&sync(kind::COMMIT, 0, 41, 4)).unwrap();
        assert_eq!(stage.step, Durability::Commit { transaction: 41, stage: Stage::Ended });
        assert_eq!(told(&sync(kind::COMMIT, 0, 41, 5)), None, "there is no such stage");
        assert_eq!(told(&sync(kind::CHANGED, 0, 0, 0)).unwrap().step, Durability::Changed);
        let called = told(&sync(kind::CALLED, 0, 0, 2)).unwrap();
        assert_eq!(called.step, Durability::Called { kind: CallKind::SyncFileRange });
        assert_eq!(told(&sync(kind::CALLED, 0, 0, 6)), None, "there is no such call");
        let returned = told(&sync(kind::RETURNED, 0, 0, 5)).unwrap();
        assert_eq!(returned.step, Durability::Returned { error: 5 });
    }

    #[test]
    fn a_bio_is_started_and_issued_at_once() {
        let events = decode(&start(kind::WHOLE_START, 0, 1, b"0123456789abcdef")).unwrap();
        assert_eq!(events.len(), 2);
        assert!(matches!(events[0].step, Step::Start { .. }));
        assert_eq!(
            events[1],
            Event {
                step: Step::Issue { serves: None, in_sequence: false, origin: Origin::default() },
                ..events[0]
            }
        );
        assert!(!events[0].extent.flags.contains(Flags::OWN));
    }

    #[test]
    fn a_flush_has_no_place_and_names_whom_it_serves() {
        let mut bytes = step(kind::ISSUE, 0, 2 | 1 << 18, 0);
        bytes.extend(0x77u64.to_ne_bytes());
        let events = decode(&bytes).unwrap();
        let origin = Origin::default();
        assert_eq!(events[0].step, Step::Issue { serves: Some(0x77), in_sequence: false, origin });
        assert_eq!(events[0].extent.op, Op::Flush);
        assert_eq!(events[0].extent.offset_bytes, None);
        assert_eq!(events[0].extent.flags, Flags::PREFLUSH);
    }

    #[test]
    fn a_completion_tells_what_is_still_to_come() {
        let of = |done, status| decode(&complete(done, status)).unwrap()[0].step;
        let step = |error, done_bytes, remaining_bytes| Step::Complete {
            error,
            done_bytes,
            remaining_bytes,
            in_sequence: false,
        };
        assert_eq!(of(4096, 0), step(0, Some(4096), 0));
        assert_eq!(of(512, 0), step(0, Some(512), 3584));
        assert_eq!(of(u32::MAX - 1, 0), step(0, Some(u32::MAX - 1), 0));
        assert_eq!(of(u32::MAX, 10), step(5, None, 0));
    }

    #[test]
    fn statuses_are_the_kernels() {
        for (status, expected) in
            [(0, 0), (1, 95), (3, 28), (7, 61), (9, 12), (12, 11), (19, 22), (14, 5), (200, 5)]
        {
            assert_eq!(errno(status), expected, "{status}");
        }
        assert_eq!(errno(-5), 5);
        assert_eq!(errno(i32::MIN), i32::MAX);
    }

    #[test]
    fn flags_are_where_the_kernel_has_them() {
        let flags = |command_flags, marks| {
            decode(&step(kind::MERGE, 8, command_flags, marks)).unwrap()[0].extent.flags
        };
        for (bit, flag) in PLAIN {
            assert_eq!(flags(1 | 1 << BITS_6_18[bit], 0), flag);
        }
        // A journal's write is synchronous and idle too.
        assert_eq!(flags(1 | 1 << 11 | 1 << 15 | 1 << 12, 0), Flags::SYNC | Flags::META);
        assert_eq!(flags(0, raw::MARK_ANONYMOUS), Flags::DIRECT);
        assert_eq!(flags(1, raw::MARK_ANONYMOUS), Flags::default());
        // A kernel that known nonsense gives no flags.
        let lost = Decoder::by(|name| of_6_18(name).filter(|_| !name.starts_with("__")), [OWN, 0]);
        let mut seen = Collected::default();
        lost.decode(&step(kind::MERGE, 8, u32::MAX, 0), &mut seen).unwrap();
        assert_eq!(seen.events[0].extent.flags, Flags::default());
    }

    #[test]
    fn operations_and_places() {
        let extent =
            |sector, flags| decode(&step(kind::REQUEUE, sector, flags, 0)).unwrap()[0].extent;
        for (number, (_, op)) in OPERATIONS_6_18.into_iter().zip(OPERATIONS) {
            let Some(number) = number else { continue };
            assert_eq!(extent(8, number as u32).op, op);
        }
        assert_eq!(extent(8, 34).op, Op::Other);
        assert_eq!(extent(u64::MAX, 0).offset_bytes, None);
        assert_eq!(extent(u64::MAX / 2, 0).offset_bytes, None);
    }

    #[test]
    fn what_is_no_record_is_refused() {
        for kind in [0, 11, 255] {
            assert_eq!(decode(&step(kind, 8, 0, 0)), None);
        }
        for whole in [start(kind::START, 0, 1, b"a"), complete(1, 0), step(kind::MERGE, 8, 0, 0)] {
            for length in 0..whole.len() {
                assert_eq!(decode(&whole[..length]), None);
            }
            // What is left of its cell is nothing.
            assert_eq!(decode(&[&whole[..], &[7]].concat()), decode(&whole));
        }
    }

    proptest! {
        #[test]
        fn garbage_is_refused_or_read_but_never_more(
            bytes in prop::collection::vec(any::<u8>(), 0..128),
        ) {
            let events = decode(&bytes).map_or(0, |events| events.len());
            prop_assert!(events <= 2);
        }

        #[test]
        fn any_name_is_kept_to_its_end(name in prop::collection::vec(1u8.., 0..=16)) {
            let mut steps = Collected::default();
            let bytes = start(kind::START, 0, 1, &name);
            decoder().decode(&bytes, &mut steps).unwrap();
            let Step::Start { origin, .. } = steps.events[0].step else { panic!() };
            prop_assert_eq!(origin.command.is_some(), !name.is_empty());
            if let Some(command) = origin.command {
                prop_assert_eq!(steps.commands.name(command), String::from_utf8_lossy(&name));
            }
        }
    }
}
