//! Waits of threads, of the rings' records (wait.h): a stack in parts, then the wait. What a stack
//! is waiting for is found once.
//!
//! Non-goals: which functions tell what (`kernel::waiting`).

use super::decode::{Undecoded, command};
use super::raw::{self, FRAMES_EACH, Frames, Sync, kind};
use crate::event::WaitEvent;
use crate::intake::{KERNEL, Steps};
use crate::kernel::waiting::Functions;
use model::record::{FileNumber, WaitKind};
use std::collections::HashMap;

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
        matches!(raw::kind_of(record), Some(kind::STACK | kind::WAITED))
    }

    /// Takes such a record.
    /// Errors: bytes that are no record.
    pub(super) fn take(&mut self, record: &[u8], steps: &mut impl Steps) -> Result<u64, Undecoded> {
        match raw::kind_of(record) {
            Some(kind::STACK) => self.part(&raw::whole(record).ok_or(Undecoded::Malformed)?),
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
        steps.thread(raw.pid, raw.tgid);
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
            command: command(&raw.command, steps),
            is_for_request,
            stack: number,
        };
        steps.wait(&event);
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
