//! System calls as steps of the thread that makes them; the kernel's own threads (flusher, journal)
//! are made of the same steps.

use super::Kind;
use super::journal::Journal;
use model::record::Op;
use model::seam::{Operation, Request};
use std::collections::VecDeque;

/// A step of a thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    /// Requests of its own: of what kind, and where on the drive; one after the other.
    Submit(Kind, VecDeque<(u64, u64)>, Option<usize>),
    /// All dirty pages of a file are submitted.
    WriteBack(usize, Kind),
    /// Its own requests are completed.
    WaitOwn,
    /// Whatever is on its way of a file is completed.
    WaitFile(usize),
    /// There are not too many dirty pages.
    Balance,
    /// The file's metadata are durable, and what the drive holds.
    Commit(usize),
    /// That transaction is durable.
    WaitCommit(u64),
    /// The journal's thread is done.
    CommitEnds,
    /// The call that hands a request over returns: the job takes its next turn.
    Returns(usize),
    /// The job has its answer.
    Complete { job: usize, token: u32, result: i64 },
}

/// A thread.
#[derive(Debug, Default)]
pub(super) struct Thread {
    pub(super) steps: VecDeque<Step>,
    /// Its requests that are not completed.
    pub(super) outstanding: u32,
    /// One of them waits for its place in the queue.
    pub(super) is_in_line: bool,
}

/// Read, and written by a program itself or by the journal.
const fn own(operation: Op) -> Kind {
    Kind { operation, is_sync: true, is_background: false, is_buffered: false, is_idle: false }
}

/// Written back from the page cache.
pub(super) const fn buffered(is_sync: bool, is_background: bool) -> Kind {
    let operation = Op::Write;
    Kind { operation, is_sync, is_background, is_buffered: true, is_idle: false }
}

const FLUSH: Kind = own(Op::Flush);

/// A flush of the drive.
pub(super) fn flush() -> Step {
    Step::Submit(FLUSH, VecDeque::from([(0, 0)]), None)
}

/// The steps of a commit of the journal.
pub(super) fn commit(journal: &mut Journal) -> VecDeque<Step> {
    let [blocks, record] = journal.begin();
    let write = |place| Step::Submit(own(Op::Write), VecDeque::from([place]), None);
    let wait = || Step::WaitOwn;
    let durable = [flush(), wait(), write(record), wait(), flush(), wait()];
    [write(blocks), wait()].into_iter().chain(durable).chain([Step::CommitEnds]).collect()
}

/// How a job calls.
#[derive(Debug, Clone, Copy)]
pub(super) struct Caller {
    pub(super) job: usize,
    pub(super) file: usize,
    pub(super) is_direct: bool,
    pub(super) is_idle: bool,
    /// By io_uring or libaio: all its requests are handed over by one thread, which waits for a
    /// place in the queue for each.
    pub(super) hands_over: bool,
}

/// The steps of a call, whose data lie at `pieces`; none for a call that the model does not know.
pub(super) fn steps(
    caller: Caller,
    request: &Request,
    pieces: VecDeque<(u64, u64)>,
) -> Option<VecDeque<Step>> {
    let Caller { job, file, is_direct, is_idle, hands_over } = caller;
    let of = |kind: Kind| Kind { is_idle, ..kind };
    let length = i64::from(request.length_bytes);
    let write_back = |is_sync| Step::WriteBack(file, of(buffered(is_sync, false)));
    // Where a call hands over, it takes until the queue has the request: a file system's direct
    // requests are never refused for want of a place.
    let direct = |op| match hands_over {
        true => vec![Step::Submit(of(own(op)), pieces, None), Step::Returns(job), Step::WaitOwn],
        false => vec![Step::Returns(job), Step::Submit(of(own(op)), pieces, None), Step::WaitOwn],
    };
    let (mut steps, result) = match request.operation {
        Operation::Read if is_direct => (direct(Op::Read), length),
        Operation::Write if is_direct => (direct(Op::Write), length),
        Operation::Write => (vec![Step::Balance], length),
        Operation::Fsync => (vec![write_back(true), Step::WaitFile(file), Step::Commit(file)], 0),
        Operation::Fdatasync => {
            (vec![write_back(true), Step::WaitFile(file), flush(), Step::WaitOwn], 0)
        }
        Operation::StartWriteback => (vec![write_back(false)], 0),
        Operation::OpenRead | Operation::OpenReadWrite | Operation::Create | Operation::Close => {
            (vec![], 0)
        }
        _ => return None,
    };
    if !steps.contains(&Step::Returns(job)) {
        // Its thread blocks, and its job only waits.
        steps.insert(0, Step::Returns(job));
    }
    steps.push(Step::Complete { job, token: request.token, result });
    Some(steps.into())
}
