//! Waits of threads, and who changed metadata, of the rings' records (wait.h): a stack in parts,
//! then the wait. What a stack is waiting for is found once. Who slept until another one had waited
//! has no stack.
//!
//! Non-goals: which functions tell what (`kernel::waiting`).

use super::decode::{Undecoded, see};
use super::raw::{self, FRAMES_EACH, Frames, Sync, kind};
use crate::event::{JournaledEvent, WaitEvent};
use crate::intake::{KERNEL, SeenThread, Steps};
use crate::kernel::waiting::Functions;
use model::record::{FileNumber, WAIT_LEAST_NS, WaitKind};
use std::collections::HashMap;

/// A thread that sleeps in this system call sleeps for another one of its own: `number_of_futex`.
pub(super) const NUMBER_OF_FUTEX: u64 = libc::SYS_futex as u64;
/// Shorter waits are not told: `wait_ns_least`.
pub(super) const LEAST_NS: u64 = WAIT_LEAST_NS.unsigned_abs();
/// Stacks that are told apart; of more each wait has its kind, and no number.
const STACKS_MOST: usize = 1 << 14;
/// Stacks of which the wait has not come.
const PENDING_MOST: usize = 1 << 10;
/// Numbers of these stacks begin here: those of requests are below.
const FIRST: u32 = 1 << 24;

/// System calls whose first argument is the descriptor of the file that they are for.
const WITH_DESCRIPTOR: [libc::c_long; 26] = [
    libc::SYS_read,
    libc::SYS_write,
    libc::SYS_readv,
    libc::SYS_writev,
    libc::SYS_pread64,
    libc::SYS_pwrite64,
    libc::SYS_preadv,
    libc::SYS_pwritev,
    libc::SYS_preadv2,
    libc::SYS_pwritev2,
    libc::SYS_fsync,
    libc::SYS_fdatasync,
    libc::SYS_sync_file_range,
    libc::SYS_syncfs,
    libc::SYS_ftruncate,
    libc::SYS_fallocate,
    libc::SYS_fadvise64,
    libc::SYS_readahead,
    libc::SYS_getdents64,
    libc::SYS_lseek,
    libc::SYS_close,
    libc::SYS_fstat,
    libc::SYS_sendfile,
    libc::SYS_copy_file_range,
    libc::SYS_fchmod,
    libc::SYS_fsetxattr,
];

/// The words of `with_descriptor`: a bit for each number.
pub(super) type Numbers = [u64; 8];

/// Their values.
pub(super) fn numbers() -> Numbers {
    let mut words = Numbers::default();
    for number in WITH_DESCRIPTOR {
        let word = usize::try_from(number / 64).ok().and_then(|place| words.get_mut(place));
        word.into_iter().for_each(|word| *word |= 1 << (number % 64));
    }
    words
}

/// What is known of stacks so far.
#[derive(Debug, Default)]
pub(super) struct Waits {
    functions: Functions,
    /// Parts by thread, with when its wait began.
    pending: HashMap<u64, (u64, Vec<u64>)>,
    /// What each stack waits for, and its number; and their addresses by number.
    known: HashMap<(Vec<u64>, bool), (Option<WaitKind>, u32)>,
    addresses: Vec<Vec<u64>>,
    own_tgids: [u32; 2],
}

impl Waits {
    /// For the running kernel; waits of these processes are lbolt's own, and not told.
    pub(super) fn new(functions: Functions, own_tgids: [u32; 2]) -> Self {
        Self { functions, own_tgids, ..Self::default() }
    }

    /// Whether a record is of a wait.
    pub(super) fn are_of(record: &[u8]) -> bool {
        let kinds = [kind::STACK, kind::WAITED, kind::JOURNALED, kind::WOKEN];
        raw::kind_of(record).is_some_and(|kind| kinds.contains(&kind))
    }

    /// Takes such a record.
    /// Errors: bytes that are no record.
    pub(super) fn take(&mut self, record: &[u8], steps: &mut impl Steps) -> Result<u64, Undecoded> {
        match raw::kind_of(record) {
            Some(kind::STACK) => self.part(&raw::whole(record).ok_or(Undecoded::Malformed)?),
            Some(kind::JOURNALED) => {
                self.journaled(&raw::whole(record).ok_or(Undecoded::Malformed)?, steps);
            }
            Some(kind::WOKEN) => {
                self.woken(&raw::whole(record).ok_or(Undecoded::Malformed)?, steps)
            }
            _ => self.wait(&raw::whole(record).ok_or(Undecoded::Malformed)?, steps),
        }
        Ok(0)
    }

    fn part(&mut self, raw: &Frames) {
        if self.pending.len() >= PENDING_MOST {
            self.pending.clear();
        }
        let (since_ns, stack) = self.pending.entry(raw.step.sector).or_default();
        if *since_ns != raw.step.identity {
            (*since_ns, *stack) = (raw.step.identity, Vec::new());
        }
        let before = FRAMES_EACH.saturating_mul(raw.step.command_flags as usize);
        let left = (raw.step.length_bytes as usize).saturating_sub(before);
        if stack.len() == before {
            stack.extend(raw.addresses.iter().take(left));
        }
    }

    fn wait(&mut self, raw: &Sync, steps: &mut impl Steps) {
        let stack = self.pending.remove(&u64::from(raw.pid));
        if self.is_own(raw.tgid) {
            return;
        }
        let of_wait = stack.filter(|(since_ns, _)| *since_ns == raw.step.identity);
        let is_for_request = raw.step.marks & raw::MARK_FOR_REQUEST != 0;
        let (kind, number) = match of_wait {
            Some((_, stack)) => self.of_stack(stack, is_for_request),
            None => (is_for_request.then_some(WaitKind::Other), 0),
        };
        let Some(kind) = kind else { return };
        let name = see(raw, steps);
        let (holder, of) = (raw.step.sector as u32, (raw.step.sector >> 32) as u32);
        // Of the lock that it waited for before, if this is another wait.
        let holder = if kind == WaitKind::Lock { holder } else { 0 };
        if holder != 0 {
            steps.thread(SeenThread { pid: holder, process: of, ..SeenThread::default() });
        }
        steps.stack(KERNEL, number);
        let event = WaitEvent {
            begin_ns: raw.step.identity as i64,
            end_ns: raw.step.time_ns as i64,
            kind,
            file: FileNumber {
                file_system: raw.step.device,
                inode: raw.inode,
                generation: raw.generation,
            },
            pid: raw.pid,
            command: name,
            is_for_request,
            holder,
            is_in_transaction: raw.step.marks & raw::MARK_IN_TRANSACTION != 0,
            stack: number,
        };
        steps.wait(&event);
    }

    fn woken(&self, raw: &Sync, steps: &mut impl Steps) {
        let (waker, of) = (raw.step.sector as u32, (raw.step.sector >> 32) as u32);
        if self.is_own(raw.tgid) || self.is_own(of) {
            return;
        }
        let name = see(raw, steps);
        steps.thread(SeenThread { pid: waker, process: of, ..SeenThread::default() });
        let is_usual = raw.step.marks & raw::MARK_USUAL != 0;
        let event = WaitEvent {
            begin_ns: raw.step.identity as i64,
            end_ns: raw.transaction as i64,
            kind: if is_usual { WaitKind::Usual } else { WaitKind::Thread },
            file: FileNumber::default(),
            pid: raw.pid,
            command: name,
            is_for_request: false,
            holder: waker,
            is_in_transaction: false,
            stack: 0,
        };
        steps.wait(&event);
    }

    fn journaled(&self, raw: &Sync, steps: &mut impl Steps) {
        if self.is_own(raw.tgid) {
            return;
        }
        let name = see(raw, steps);
        let event = JournaledEvent {
            begin_ns: raw.step.identity as i64,
            end_ns: raw.step.time_ns as i64,
            file_system: raw.step.device,
            pid: raw.pid,
            command: name,
            blocks: raw.step.sector,
        };
        steps.journaled(&event);
    }

    fn of_stack(&mut self, stack: Vec<u64>, is_for_request: bool) -> (Option<WaitKind>, u32) {
        let key = (stack, is_for_request);
        if let Some(known) = self.known.get(&key) {
            return *known;
        }
        let kind = self.functions.kind_of(&key.0, is_for_request);
        if self.known.len() >= STACKS_MOST {
            return (kind, 0);
        }
        self.addresses.push(key.0.clone());
        let found = (kind, FIRST - 1 + self.addresses.len() as u32);
        self.known.insert(key, found);
        found
    }

    /// What functions wait for, by their names.
    pub(super) fn kind_of<'n>(&self, functions: impl Iterator<Item = &'n str>) -> Option<WaitKind> {
        self.functions.kind_of_names(functions)
    }

    /// Whether it is a process of lbolt's own.
    pub(super) fn is_own(&self, process: u32) -> bool {
        self.own_tgids.contains(&process)
    }

    /// The addresses of a stack, the innermost first; none of a number that is none of these.
    pub(super) fn frames(&self, stack: u32) -> Option<&[u64]> {
        self.addresses.get(stack.checked_sub(FIRST)? as usize).map(Vec::as_slice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::intake::Collected;
    use proptest::prelude::*;

    const THROTTLED: u64 = 0x2050;
    const SYMBOLS: &str = "2000 t balance_dirty_pages\n2100 T vfs_write\n2200 T other\n";

    fn step(kind: u8, marks: u8, since_ns: u64, sector: u64, part: (u32, u32)) -> Vec<u8> {
        let mut bytes = Vec::new();
        for word in [9_000_000, since_ns, sector] {
            bytes.extend(u64::to_ne_bytes(word));
        }
        for word in [part.0, part.1, 7] {
            bytes.extend(u32::to_ne_bytes(word));
        }
        bytes.extend(1_u16.to_ne_bytes());
        bytes.extend([kind, marks]);
        bytes
    }

    /// A part of the stack of thread 4711, of so many functions.
    fn part(since_ns: u64, number: u32, all: u32, address: u64) -> Vec<u8> {
        let mut bytes = step(kind::STACK, 0, since_ns, 4711, (all, number));
        (0..FRAMES_EACH).for_each(|_| bytes.extend(address.to_ne_bytes()));
        bytes
    }

    fn waited(since_ns: u64, tgid: u32, marks: u8) -> Vec<u8> {
        let mut bytes = step(kind::WAITED, marks, since_ns, 0, (0, 0));
        [12, 0, 0].iter().for_each(|word| bytes.extend(u64::to_ne_bytes(*word)));
        [4711, tgid, 0, 3].iter().for_each(|word| bytes.extend(u32::to_ne_bytes(*word)));
        bytes.extend(*b"logger\0\0\0\0\0\0\0\0\0\0");
        bytes
    }

    fn taken(records: &[Vec<u8>]) -> (Waits, Vec<WaitEvent>) {
        let mut waits = Waits::new(Functions::found(SYMBOLS.as_bytes()), [99, 0]);
        let mut steps = Collected::default();
        for record in records {
            assert!(Waits::are_of(record));
            waits.take(record, &mut steps).unwrap();
        }
        (waits, steps.waits)
    }

    #[test]
    fn a_wait_has_the_stack_that_was_told_before_it_and_each_stack_is_one() {
        let parts = |since_ns| [part(since_ns, 0, 12, 0x2250), part(since_ns, 1, 12, THROTTLED)];
        let of = |since_ns| [&parts(since_ns)[..], &[waited(since_ns, 4700, 1)]].concat();
        let (waits, events) = taken(&[of(1_000_000), of(5_000_000)].concat());
        let [first, second] = &events[..] else { panic!("{events:?}") };
        let told = (first.kind, first.begin_ns, first.end_ns, first.pid, first.is_for_request);
        assert_eq!(told, (WaitKind::Throttling, 1_000_000, 9_000_000, 4711, true));
        assert_eq!(first.file, FileNumber { file_system: 7, inode: 12, generation: 3 });
        assert_eq!(first.stack, second.stack);
        let frames = waits.frames(first.stack).unwrap();
        assert_eq!((frames.len(), frames[0], frames[11]), (12, 0x2250, THROTTLED));
        assert_eq!(waits.frames(7), None, "a stack of a request");
    }

    #[test]
    fn who_changed_metadata_and_who_held_a_lock_is_told() {
        let mut journaled = waited(5_000_000, 4700, 0);
        // Its kind, and the step's sector.
        journaled[38] = kind::JOURNALED;
        journaled[16..24].copy_from_slice(&u64::to_ne_bytes(30));
        let mut locked = waited(1_000_000, 4700, raw::MARK_IN_TRANSACTION);
        let holder = u64::from(4800_u32) << 32 | 4801;
        locked[16..24].copy_from_slice(&u64::to_ne_bytes(holder));
        let mut waits = Waits::new(Functions::found(SYMBOLS.as_bytes()), [99, 0]);
        let mut steps = Collected::default();
        for record in [&part(1_000_000, 0, 2, 0x2150), &locked, &journaled] {
            assert!(Waits::are_of(record));
            waits.take(record, &mut steps).unwrap();
        }
        let told = steps.waits.iter().map(|wait| (wait.kind, wait.holder, wait.is_in_transaction));
        assert_eq!(told.collect::<Vec<_>>(), [(WaitKind::Lock, 4801, true)]);
        let [event] = &steps.journaled[..] else { panic!("{:?}", steps.journaled) };
        assert_eq!((event.begin_ns, event.end_ns, event.blocks), (5_000_000, 9_000_000, 30));
        assert_eq!((event.file_system, event.pid), (7, 4711));
    }

    #[test]
    fn who_slept_while_another_one_waited_is_told_with_it() {
        let mut woken = waited(2_000_000, 4700, 0);
        woken[38] = kind::WOKEN;
        woken[16..24].copy_from_slice(&u64::to_ne_bytes(u64::from(99_u32) << 32 | 4801));
        // The transaction's place.
        woken[48..56].copy_from_slice(&u64::to_ne_bytes(8_000_000));
        let of = |own: u32| {
            let mut waits = Waits::new(Functions::default(), [own, 0]);
            let mut steps = Collected::default();
            waits.take(&woken, &mut steps).unwrap();
            steps.waits
        };
        let [wait] = &of(1)[..] else { panic!() };
        assert_eq!((wait.kind, wait.pid, wait.holder), (WaitKind::Thread, 4711, 4801));
        assert_eq!((wait.begin_ns, wait.end_ns), (2_000_000, 8_000_000));
        assert_eq!(of(99), [], "behind lbolt itself");
        assert_eq!(of(4700), []);
    }

    #[test]
    fn lbolts_own_waits_and_those_of_no_storage_are_none_and_a_lost_stack_is_other() {
        let (_, events) = taken(&[part(5, 0, 3, THROTTLED), waited(5, 99, 1)]);
        assert_eq!(events, []);
        let (_, events) = taken(&[part(5, 0, 3, 0x2250), waited(5, 4700, 0)]);
        assert_eq!(events, [], "a sleep that has nothing to do with storage");
        // The stack is that of another wait, or a part of it was lost.
        for parts in [vec![part(4, 0, 3, THROTTLED)], vec![part(5, 1, 12, THROTTLED)]] {
            let (_, events) = taken(&[parts, vec![waited(5, 4700, 1)]].concat());
            assert_eq!(events[0].kind, WaitKind::Other);
        }
    }

    proptest! {
        #[test]
        fn whatever_comes_is_taken_or_refused(
            records in prop::collection::vec(
                (prop::collection::vec(any::<u8>(), 0..128), any::<bool>()), 0..20),
        ) {
            let mut waits = Waits::new(Functions::found(SYMBOLS.as_bytes()), [99, 0]);
            for (mut record, is_stack) in records {
                if let Some(place) = record.get_mut(38) {
                    *place = if is_stack { kind::STACK } else { kind::WAITED };
                    let _ = waits.take(&record, &mut Collected::default());
                }
            }
        }
    }
}
