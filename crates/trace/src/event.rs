//! What a tracer sees of a request: one event for each step that it takes.
//!
//! An event comes with the request's *identity* (the kernel's pointer to it) where the tracer knows
//! it, and is paired exactly by that; foreign streams without one are paired by what the events
//! say (see `pair`).
//!
//! Non-goals: where events come from (`capture`, `import`).

use model::record::{CallKind, CommandId, FileKey, FileNumber, Flags, Op, Stacks, WaitKind};

/// What a request is about, as far as an event says it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Extent {
    /// What it does.
    pub op: Op,
    /// What else is known of it.
    pub flags: Flags,
    /// Where, from the beginning of the whole device; none for a flush.
    pub offset_bytes: Option<u64>,
    /// How much.
    pub length_bytes: u32,
}

/// Who requested it, taken when it was queued and never at its completion.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Origin {
    /// The thread.
    pub pid: Option<u32>,
    /// The cgroup (version 2) to which its I/O is charged.
    pub cgroup: Option<u64>,
    /// The command.
    pub command: Option<CommandId>,
    /// To which file its data belongs.
    pub file: Option<FileKey>,
    /// By which functions it was queued.
    pub stacks: Stacks,
}

impl Origin {
    /// Nothing is known.
    pub const UNKNOWN: Self = Self {
        pid: None,
        cgroup: None,
        command: None,
        file: None,
        stacks: Stacks { kernel: 0, user: 0 },
    };
}

/// A step in a request's life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// It entered the block layer (blktrace's Q; the 1986 paper's "S"). Only from tracers that
    /// cannot hand its time over at [`Step::Start`].
    Queue(Origin),
    /// A request was allocated for it (blktrace's G).
    Start {
        /// When its first bio entered the block layer, where the tracer could hand it over.
        queued_ns: Option<i64>,
        /// Who requested it.
        origin: Origin,
        /// The place in its hardware queue's tags, by which a flush names the request that it
        /// serves; none where that is not known.
        tag: Option<u64>,
    },
    /// It serves a request of a device that lies on this one: it was sent on from there (the
    /// tracepoint block_bio_remap). Comes behind its start.
    Above {
        /// The upper device, as [`Event::device`].
        device: u32,
        /// Where it was on that device; none of a flush.
        offset_bytes: Option<u64>,
    },
    /// What was known by its bio at its start is known by its request from now on (before Linux
    /// 6.5, where no tracepoint tells of both at the start).
    Became {
        /// Its identity so far.
        bio: u64,
        /// Its place in its hardware queue's tags.
        tag: Option<u64>,
    },
    /// It was handed to the driver (blktrace's D).
    Issue {
        /// Whose flush this is: the tag of the request that it serves.
        serves: Option<u64>,
        /// Whether this is the data of a flush sequence, and not the whole request.
        in_sequence: bool,
        /// Who handed it over, for streams that tell of nothing before: often, but not always, who
        /// asked.
        origin: Origin,
    },
    /// The driver gave it back; it will be issued again.
    Requeue,
    /// It became a part of another request, and is seen no more (of a queued bio: blktrace's M, and
    /// F if it is in front of that request).
    Merge {
        /// Whether the other now begins where this one did.
        in_front: bool,
    },
    /// It is over, and its completion was not seen: its identity is another's from now on.
    Over,
    /// A completion (blktrace's C; the paper's "R").
    Complete {
        /// 0 or errno.
        error: i32,
        /// How many bytes are completed for; none where the tracer does not tell.
        done_bytes: Option<u32>,
        /// How many are still to come: above 0 it was completed in part.
        remaining_bytes: u32,
        /// Whether this is the data of a flush sequence that goes on.
        in_sequence: bool,
        /// What else is known of it, should its begin not have been seen.
        unseen: Option<Unseen>,
    },
}

/// What a tracer that does not see all begins knows of a request that is completed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unseen {
    /// When it was started, which was within the trace.
    pub started_ns: i64,
    /// When it was handed to the driver.
    pub issued_ns: Option<i64>,
    /// Who requested it, if the tracer did not see it.
    pub origin: Origin,
}

impl Step {
    /// The completion of all of it, of which nothing else is told. `error` is 0 or an errno.
    #[inline]
    pub const fn completion(error: i32) -> Self {
        let (done_bytes, remaining_bytes) = (None, 0);
        Self::Complete { error, done_bytes, remaining_bytes, in_sequence: false, unseen: None }
    }

    /// Which comes first of steps with the same time.
    #[inline]
    pub fn rank(&self) -> u8 {
        match self {
            Self::Queue(_) => 0,
            Self::Start { .. } => 1,
            Self::Above { .. } | Self::Became { .. } => 2,
            Self::Merge { .. } => 3,
            Self::Issue { .. } => 4,
            Self::Requeue => 5,
            Self::Complete { .. } => 6,
            Self::Over => 7,
        }
    }
}

/// What the kernel's block layer says happened, in whatever words or numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A bio entered the block layer.
    Queue,
    /// A request was allocated, or put into a queue.
    Start,
    /// It was handed to the driver.
    Issue,
    /// The driver gave it back.
    Requeue,
    /// It became the end of another.
    BackMerge,
    /// It became the beginning of another.
    FrontMerge,
    /// It was completed.
    Complete,
    /// A bio was completed, which tells something of disks without requests alone.
    BioComplete,
    /// Known, and no step: plugs and unplugs, insertion, splits, remaps, ….
    Nothing,
}

impl Kind {
    /// Whether who was on the CPU then may be who requested it.
    #[inline]
    pub fn tells_who(self) -> bool {
        matches!(self, Self::Queue | Self::Start | Self::Issue)
    }

    /// The step, by whom it was requested, or how it was completed.
    #[inline]
    pub fn step(self, origin: Origin, error: i32) -> Option<Step> {
        Some(match self {
            Self::Queue => Step::Queue(origin),
            Self::Start => Step::Start { queued_ns: None, origin, tag: None },
            Self::Issue => Step::Issue { serves: None, in_sequence: false, origin },
            Self::Requeue => Step::Requeue,
            Self::BackMerge => Step::Merge { in_front: false },
            Self::FrontMerge => Step::Merge { in_front: true },
            Self::Complete | Self::BioComplete => Step::completion(error),
            Self::Nothing => return None,
        })
    }

    /// As [`Step::rank`], and behind all steps what is none.
    #[inline]
    pub fn rank(self) -> u8 {
        self.step(Origin::UNKNOWN, 0).map_or(u8::MAX, |step| step.rank())
    }
}

/// One step of one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// When, in ns of the tracer's clock.
    pub time_ns: i64,
    /// Which request: unique while it lives, and used again afterwards.
    pub identity: Option<u64>,
    /// On which device: the kernel's dev_t of the whole disk.
    pub device: u32,
    /// On which CPU.
    pub cpu: Option<u16>,
    /// What it is about.
    pub extent: Extent,
    /// Which step.
    pub step: Step,
}

/// An event as listings tell it, without what only a tracer in the kernel knows: so short that many
/// can be kept to be sorted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Listed {
    /// As [`Event::time_ns`].
    pub time_ns: i64,
    /// As [`Event::device`].
    pub device: u32,
    /// On which CPU.
    pub cpu: Option<u16>,
    /// What it is about.
    pub extent: Extent,
    /// What happened.
    pub kind: Kind,
    /// The thread that may have requested it, where [`Kind::tells_who`].
    pub pid: Option<u32>,
    /// Its command.
    pub command: Option<CommandId>,
    /// 0 or errno, of a completion.
    pub error: i32,
}

impl Listed {
    /// The event; none of what is no step.
    #[inline]
    pub fn event(&self) -> Option<Event> {
        let Self { time_ns, device, cpu, extent, kind, pid, command, error } = *self;
        let step = kind.step(Origin { pid, command, ..Origin::UNKNOWN }, error)?;
        Some(Event { time_ns, identity: None, device, cpu, extent, step })
    }
}

/// What requests have in common that repeat: a hash of all but their times and places, and perhaps
/// their files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Repeated(pub(crate) u64);

/// All steps of a request that took no others than start, issue and completion, told at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Finished {
    /// Its start; the extent's length is that of its issue.
    pub start: Event,
    /// When it was handed to the driver; none if that was not seen.
    pub issued_ns: Option<i64>,
    /// Whether it was longer then than at its start.
    pub has_grown: bool,
    /// When it was completed; none of one that is still on its way.
    pub completed_ns: Option<i64>,
    /// 0 or errno.
    pub error: i32,
}

impl Finished {
    /// How many steps it tells.
    pub fn steps(&self) -> u64 {
        1 + u64::from(self.issued_ns.is_some()) + u64::from(self.completed_ns.is_some())
    }

    /// The steps one by one, in their order.
    pub fn each(&self) -> impl Iterator<Item = Event> {
        let Event { identity, device, cpu, extent, .. } = self.start;
        let merged = extent.flags.contains(Flags::MERGED) || self.has_grown;
        let grown = Extent { flags: extent.flags.with(Flags::MERGED, merged), ..extent };
        let later = move |time_ns, step| Event { time_ns, identity, device, cpu, extent, step };
        let issue = Step::Issue { serves: None, in_sequence: false, origin: Origin::UNKNOWN };
        let issue = self.issued_ns.map(|ns| Event { extent: grown, ..later(ns, issue) });
        let done_bytes = Some(extent.length_bytes);
        let (error, remaining_bytes, in_sequence, unseen) = (self.error, 0, false, None);
        let complete = Step::Complete { error, done_bytes, remaining_bytes, in_sequence, unseen };
        let complete = self.completed_ns.map(|ns| later(ns, complete));
        std::iter::once(self.start).chain(issue).chain(complete)
    }
}

/// A stage of a journal's commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// It begins.
    Started,
    /// It waits for changes that are under way.
    Locking,
    /// It writes the files' data that must come first.
    Flushing,
    /// It writes the journal.
    Logging,
    /// It is durable.
    Ended,
}

impl Stage {
    /// All, in their order.
    pub const ALL: [Self; 5] =
        [Self::Started, Self::Locking, Self::Flushing, Self::Logging, Self::Ended];
}

/// What a tracer sees of calls that make a file durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// A call began.
    Begin {
        /// What it asks for.
        kind: CallKind,
    },
    /// A call ended.
    End {
        /// 0 or errno.
        error: u32,
        /// The transactions of the file's last change: for all metadata, and for data.
        transactions: Option<(u32, u32)>,
    },
    /// A system call began; of msync and sync no file is known yet.
    Called {
        /// What it asks for.
        kind: CallKind,
    },
    /// It ended.
    Returned {
        /// 0 or errno.
        error: u32,
    },
    /// The thread changed the file's data.
    Changed,
    /// A commit came to a stage.
    Commit {
        /// The transaction's number.
        transaction: u64,
        /// The stage.
        stage: Stage,
    },
}

/// One step of a call or of a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DurabilityEvent {
    /// When, in ns of the tracer's clock.
    pub time_ns: i64,
    /// The file; of a commit its file system alone.
    pub file: FileNumber,
    /// The thread.
    pub pid: u32,
    /// Its name.
    pub command: Option<CommandId>,
    /// Which step.
    pub step: Durability,
}

/// A wait of a thread that has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WaitEvent {
    /// When the thread left its CPU, in ns of the tracer's clock.
    pub begin_ns: i64,
    /// When it came back.
    pub end_ns: i64,
    /// What it waited for.
    pub kind: WaitKind,
    /// The file that its system call was for; zeroes where that is not known.
    pub file: FileNumber,
    /// The thread.
    pub pid: u32,
    /// Its name.
    pub command: Option<CommandId>,
    /// Whether the kernel counts it as a wait for a request.
    pub is_for_request: bool,
    /// The thread that held the lock which was found taken; 0: not known.
    pub holder: u32,
    /// Whether it held a transaction of a journal open meanwhile.
    pub is_in_transaction: bool,
    /// The number of its stack; 0: none.
    pub stack: u32,
}

/// Blocks of metadata that a thread changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JournaledEvent {
    /// When the first of these handles ended, in ns of the tracer's clock.
    pub begin_ns: i64,
    /// When it was told.
    pub end_ns: i64,
    /// The device number of the journal's file system.
    pub file_system: u32,
    /// The thread.
    pub pid: u32,
    /// Its name.
    pub command: Option<CommandId>,
    /// How many.
    pub blocks: u64,
}

/// A wait that goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GoingOn {
    /// When the thread left its CPU, in ns of the tracer's clock.
    pub begin_ns: i64,
    /// When it was looked at.
    pub now_ns: i64,
    /// What it waits for.
    pub kind: WaitKind,
    /// The thread.
    pub pid: u32,
    /// Its process.
    pub process: u32,
    /// Its name.
    pub command: String,
}

/// All waits of a thread that have ended while it was captured, however short.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WaitTotals {
    /// How many.
    pub count: u64,
    /// How long they took, in ns.
    pub sum_ns: u64,
    /// Those for a request, as the kernel counts it, in ns.
    pub for_requests_ns: u64,
}

/// A part of what a file is called, as a tracer tells it before what is asked for the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NameEvent<'a> {
    /// When, in ns of the tracer's clock.
    pub time_ns: i64,
    /// The file.
    pub file: FileNumber,
    /// The same in all parts that belong together.
    pub telling: u64,
    /// Which part of them, from 0 on.
    pub part: u32,
    /// What it tells.
    pub naming: Naming<'a>,
}

/// What a part of a name tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Naming<'a> {
    /// A component of the path, or a part of one; the path's last component comes first.
    Part {
        /// Its bytes.
        text: &'a [u8],
        /// Whether the component goes on in the next part.
        goes_on: bool,
    },
    /// The parts so far are the path within the file system.
    Whole {
        /// Whether the file was removed, and is only open.
        is_deleted: bool,
    },
}
