//! The seams: what an experiment may ask of the thing that it measures, and
//! what a measured thing may ask of an experiment.
//!
//! A *job* (one stream of a program, or one compute-and-test loop) never blocks and never spends
//! time of its own: it is a state machine that says what to do next, and its subject does it, on
//! this machine in a thread, in a model in virtual time. Thus an experiment knows neither Linux nor
//! VAX.
//!
//! Methods: `Subject` 5, `Engine` 3, `Clock` 2, `Job` 1. A wish for one more is
//! a reason to think again (fio's engine seam has 29 hooks).

use crate::doubt::Doubt;
use crate::engine::EngineKind;
pub use crate::engine::Operation;
use crate::job_role::JobRole;
use crate::workload::{Arithmetic, IoPriority};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// A clock in nanoseconds: a real one of the host, or a model's virtual time.
pub trait Clock {
    /// Nanoseconds since the clock's own origin; never goes back.
    fn now_ns(&self) -> u64;
    /// The least step that it can tell apart.
    fn precision_ns(&self) -> f64;
}

/// One request of a job to its own file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// Which of the job's outstanding requests it is: below the placement's depth.
    pub token: u32,
    /// What to do.
    pub operation: Operation,
    /// Where in the file, in bytes.
    pub offset_bytes: u64,
    /// How much, in bytes.
    pub length_bytes: u32,
}

/// The completion of a request, as an engine gives it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completion {
    /// The request's token.
    pub token: u32,
    /// Bytes moved, or a negative errno.
    pub result: i64,
}

/// A completion as a job gets it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimedCompletion {
    /// The request's token. A whole word: half of one is stored and then loaded with its padding,
    /// for which the processor stalls for 5 ns in a loop of 20.
    pub token: u64,
    /// Bytes moved, or a negative errno.
    pub result: i64,
    /// When it was found complete, on the experiment's clock: one stamp for all that were found
    /// together, so that none waits for the handling of another.
    pub found_ns: u64,
}

/// What a job wants next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// Send this request.
    Submit(Request),
    /// Compute for so many loops; nothing is looked for meanwhile.
    Compute {
        /// With what: one of the placement's.
        arithmetic: Arithmetic,
        /// How many.
        loops: u32,
    },
    /// Wait until `min` completions are there, or until the clock shows `until_ns`. With a `min`
    /// of 0 only look for what is there already, as the paper's programs test a channel.
    Wait {
        /// How many completions to wait for.
        min: u32,
        /// When to give up waiting (`u64::MAX`: never).
        until_ns: u64,
    },
    /// Note the job's CPU time: what lies between its first mark and its last is its timed part.
    Mark,
    /// Nothing more: the job is over.
    Done,
}

/// A stream of requests as a state machine.
pub trait Job: Send {
    /// What to do next, with at most one completion since the last turn.
    fn turn<C: Clock>(&mut self, clock: &C, completion: Option<TimedCompletion>) -> Turn;
}

/// How requests get to the device. Opening, registration and options belong to
/// each engine's constructor; the file itself is opened by a request, because
/// the published programs time it.
pub trait Engine {
    /// Its name in records.
    fn name(&self) -> &'static str;

    /// Sends a request; a blocking engine serves it at once and adds its completion.
    /// Errors: the kernel's refusal to take requests at all; a request's own error is in its
    /// completion.
    fn submit(
        &mut self,
        request: &Request,
        completions: &mut Vec<Completion>,
    ) -> std::io::Result<()>;

    /// Waits for `min` completions, at the longest for `timeout_ns`, and adds all that are there.
    /// Errors: the kernel's refusal to wait.
    fn reap(
        &mut self,
        min: u32,
        timeout_ns: u64,
        completions: &mut Vec<Completion>,
    ) -> std::io::Result<()>;
}

/// When a write is durable by the way in which it is made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Durability {
    /// Not before something asks for it.
    #[default]
    OnRequest,
    /// With each write, the data: the file is opened with O_DSYNC.
    OpenDsync,
    /// With each write, data and metadata: the file is opened with O_SYNC.
    OpenSync,
    /// With each write, the data: by the call's own flag, RWF_DSYNC.
    CallDsync,
}

/// Where and how one job runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobPlacement {
    /// What it is for, where jobs of several kinds run at once.
    pub role: Option<JobRole>,
    /// Which of the subject's drives.
    pub drive: usize,
    /// The job's file on that drive; a device has only itself.
    pub file: String,
    /// By which interface.
    pub engine: EngineKind,
    /// Past the page cache.
    pub direct: bool,
    /// When its writes are durable.
    pub durability: Durability,
    /// The most requests outstanding at once.
    pub depth: u32,
    /// The largest request, in bytes.
    pub block_bytes: u32,
    /// Bytes of the file that requests stay within.
    pub file_bytes: u64,
    /// What the job computes with, if it does.
    pub arithmetic: Vec<Arithmetic>,
    /// The CPU that it is bound to; any where absent.
    pub cpu: Option<u32>,
    /// It runs only where nothing else wants the CPU (SCHED_IDLE).
    pub is_background: bool,
    /// How urgent its requests are; as the program's where absent.
    pub priority: Option<IoPriority>,
    /// The cgroup whose limits it has; the program's where absent.
    pub group: Option<PathBuf>,
    /// It runs before everything else, where this machine allows that (SCHED_FIFO).
    pub is_urgent: bool,
}

impl Default for JobPlacement {
    /// A placement that does no I/O.
    fn default() -> Self {
        Self {
            role: None,
            drive: 0,
            file: String::new(),
            engine: EngineKind::Null,
            direct: false,
            durability: Durability::OnRequest,
            depth: 1,
            block_bytes: 4096,
            file_bytes: 0,
            arithmetic: vec![],
            cpu: None,
            is_background: false,
            priority: None,
            group: None,
            is_urgent: false,
        }
    }
}

/// CPU time of the thread that ran a job.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct JobCpu {
    /// In user mode, ns.
    pub user_ns: u64,
    /// In the kernel, ns.
    pub system_ns: u64,
    /// Of both, between the job's first mark and its last, the clock's own cost deducted; none
    /// where it made no two.
    pub timed_ns: Option<u64>,
    /// Of the whole program between the same marks, by its own clock: all of its threads, and those
    /// that the kernel made in it (io_uring's workers); none where there is no such clock.
    pub process_ns: Option<u64>,
}

/// How a device stands to the test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeviceRole {
    /// The device that the file system lies on, or that is the target.
    Tested,
    /// The lowest device that can be seen beneath it (the same one where nothing lies between).
    Lowest,
}

/// A device's counters since boot, by the kernel's own count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceCounters {
    /// Its kernel name.
    pub name: String,
    /// How it stands to the test.
    pub role: DeviceRole,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub write_bytes: u64,
    /// Requests completed, of both directions.
    pub requests: u64,
    /// Flushes of its cache completed; none where the kernel does not count them (before 5.5).
    pub flushes: Option<u64>,
    /// Sum of the times that requests were in flight, ns (counted in ms by the kernel).
    pub in_flight_ns: u64,
}

/// Where CPU time went by a trace of every switch and interrupt, each moment counted once. The
/// counts begin when tracing does.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TracedCpu {
    /// Threads that run jobs, and all that work for them in this program.
    pub job_ns: u64,
    /// This program's other threads.
    pub harness_ns: u64,
    /// Kernel threads, whatever for.
    pub kernel_threads_ns: u64,
    /// Hard and soft interrupts, whoever was running.
    pub interrupt_ns: u64,
    /// Other user programs.
    pub elsewhere_ns: u64,
    /// Idle.
    pub idle_ns: u64,
    /// Events that the trace took.
    pub events: u64,
}

/// By what CPU time is accounted for from a reading of the counters to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accounting {
    /// By the counters that the kernel keeps anyhow.
    Difference,
    /// By a trace of every switch too, which costs time of its own.
    Trace,
}

/// Where CPU time went since boot, by kind. What a subject cannot tell is none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CpuCounters {
    /// CPUs on line.
    pub cpus: u32,
    /// Idle time summed over CPUs, waiting for I/O included.
    pub idle_ns: u64,
    /// How far `idle_ns` can be off, by the grain of its source.
    pub idle_grain_ns: u64,
    /// Time that the hypervisor gave to others, summed over CPUs.
    pub stolen_ns: u64,
    /// This whole program by its own clock: its threads, the ended ones too, and those that the
    /// kernel made in it (io_uring's workers).
    pub process_ns: Option<u64>,
    /// This program's threads that run no job (progress, signals).
    pub harness_ns: u64,
    /// Threads of jobs outside their jobs: buffers, rings, waiting for the start.
    pub setup_ns: u64,
    /// Other user programs.
    pub elsewhere_ns: Option<u64>,
    /// The same by the program's name, where the subject tells.
    pub elsewhere_by: BTreeMap<String, u64>,
    /// Kernel threads.
    pub kernel_threads_ns: Option<u64>,
    /// Whether a test bed works beneath the device (a loop device's workers).
    pub has_test_bed: bool,
    /// The test bed's own workers, which are kernel threads too.
    pub test_bed_ns: Option<u64>,
    /// The same by a trace, where there is one.
    pub traced: Option<TracedCpu>,
}

/// A subject's counters at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counters {
    /// When, on the experiment's clock.
    pub at_ns: u64,
    /// Each device once a role.
    pub devices: Vec<DeviceCounters>,
    /// CPU by kind.
    pub cpu: CpuCounters,
}

/// What a prepared subject says of itself.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PreparedTarget {
    /// Drives that can run at once.
    pub drives: usize,
    /// Bytes that each drive has space for.
    pub capacity_bytes: u64,
    /// It is one file that cannot be created or removed (a device).
    pub is_device: bool,
    /// Cold passes start from an unmounted file system rather than from advice to the cache.
    pub remounts: bool,
    /// The tested block devices, by their kernel names; none where none can be seen.
    pub devices: Vec<String>,
    /// The root directory of a file system that was made for the test, as this process names it,
    /// until it is remounted.
    pub mounted: Option<PathBuf>,
    /// Reasons to doubt whatever is measured here, for the footnotes.
    pub doubts: Vec<Doubt>,
}

/// Why a subject did not do what it was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SubjectError {
    /// This machine cannot do it: the cell is *not measured*, with this reason.
    #[error("{0}")]
    Unavailable(String),
    /// It was tried and failed: an I/O error.
    #[error("{0}")]
    Failed(String),
    /// The guard refuses to write there: it came into use since it was examined.
    #[error("{0}")]
    Refused(String),
    /// The user stopped it.
    #[error("interrupted")]
    Interrupted,
}

/// What is measured: this machine's storage, or a model of some machine's.
pub trait Subject {
    /// Makes a fresh place to work in.
    /// Errors: what the machine refuses, is missing or fails.
    fn prepare(&mut self) -> Result<PreparedTarget, SubjectError>;

    /// Runs the jobs at once, one for each placement, to their ends, and gives them back in order.
    /// Errors: a failure of the interface; errors of single requests are the job's to judge.
    fn run<J: Job>(
        &mut self,
        jobs: Vec<(JobPlacement, J)>,
    ) -> Result<Vec<(J, JobCpu)>, SubjectError>;

    /// Empties every cache that the subject owns of what lies on `files` (placement drive, name).
    /// Errors: what the machine refuses or fails.
    fn make_cold(&mut self, files: &[(usize, String)]) -> Result<(), SubjectError>;

    /// Reads the counters, and says by what CPU time is to be accounted for from here on.
    /// Errors: a counter that cannot be read; `Unavailable` where the trace is requested and
    /// refused.
    fn counters(&mut self, accounting: Accounting) -> Result<Counters, SubjectError>;

    /// Removes all that `prepare` and `run` made. Dropping the subject does the same.
    /// Errors: what could not be removed.
    fn clean_up(&mut self) -> Result<(), SubjectError>;
}
