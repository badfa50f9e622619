//! A process: one job, the calls that it has requested, and where it stands in the present one.

use crate::controller::Transfer;
use model::seam::{Completion, Request};
use std::collections::VecDeque;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sleep {
    /// The transfer of that buffer.
    Slot(usize),
    AnyBuffer,
    /// The last transfer of that drive.
    Drive(usize),
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum State {
    #[default]
    Idle,
    Ready,
    Running,
    Asleep(Sleep),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// The program makes the call.
    Enter,
    Begin,
    /// The next block.
    Next,
    /// The block's address is looked up.
    Map,
    Fetch,
    Ahead,
    Await,
    Copied,
    Allocate,
    /// It is allocated, and gets a buffer to be cleared.
    Allocated,
    /// An indirect block is allocated, and written at once.
    Indirect,
    /// That is waited for.
    AwaitIndirect,
    /// A buffer for a block that the file has.
    Take,
    Fill,
    /// It is full, or as full as it gets.
    Filled,
    /// The file's blocks are given back, group by group.
    Free,
    /// The new inode is written, and the directory.
    Inode(u8),
    /// Those are waited for.
    AwaitInode(u8),
    Flush,
    Finish,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Call {
    pub(super) request: Request,
    pub(super) stage: Stage,
    /// Where the next byte goes to or comes from.
    pub(super) offset_bytes: u64,
    /// Where the call ends.
    pub(super) end_bytes: u64,
    /// The buffer at hand.
    pub(super) slot: usize,
    /// How many groups' maps are done.
    pub(super) groups: usize,
}

impl Call {
    pub(super) fn new(request: Request) -> Self {
        let offset_bytes = request.offset_bytes;
        Self {
            request,
            stage: Stage::Enter,
            offset_bytes,
            end_bytes: offset_bytes + u64::from(request.length_bytes),
            slot: 0,
            groups: 0,
        }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Waiting {
    /// Nothing: it is its turn, or its job is over.
    #[default]
    No,
    TimedCompletion,
    /// Nothing any more.
    Over,
}

#[derive(Debug, Default)]
pub(super) struct Process {
    pub(super) drive: usize,
    pub(super) name: String,
    /// Its file, by its number; none while it is not there.
    pub(super) file: Option<usize>,
    pub(super) state: State,
    pub(super) call: Option<Call>,
    pub(super) requests: VecDeque<Request>,
    pub(super) completions: VecDeque<Completion>,
    pub(super) waiting: Waiting,
    /// Tells a timer that is past from one that counts.
    pub(super) timer: u64,
    /// The block that it read last (`i_lastr`).
    pub(super) last_read: u64,
    /// Transfers for the driver, each to be paid for.
    pub(super) pending: VecDeque<Transfer>,
    /// The one that was paid for.
    pub(super) charged: Option<Transfer>,
    /// Since when it has had the processor, ns.
    pub(super) quantum_from_ns: u64,
    /// CPU time at the first mark and at the last, ns.
    pub(super) marks: Option<(u64, u64)>,
    pub(super) cpu_before: crate::processor::ProcessTime,
}
