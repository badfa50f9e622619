//! The second source: the kernel's own tracer, in the threads of process 1.
//!
//! Some kernels run no BPF program while a thread of the machine's first process is on the CPU, and
//! count no missed run; perf counts there, and writes no sample. What an interrupt completes then
//! is seen by no program, whatever the tracepoint and however many programs are attached; ftrace
//! sees it. So it was with Linux 6.18 in a virtual machine: of 364,346 completions two programs saw
//! the same 364,333, with `recursion_misses` 0, and 13 were completed in threads of process 1
//! (docs/principles.md, 10).
//!
//! At 280,000 requests a second, a tracepoint that ftrace records costs 4 to 5 % of them where a
//! request starts or is issued, whether its threads are chosen by its filter or by `set_event_pid`,
//! which looks at each switch and wakeup of the machine besides; and nothing that could be measured
//! where it is completed, which most often is elsewhere. So the kernel's own tracer tells of
//! completions and merges alone, and of bios where these are all there is. When a request that
//! process 1 itself requests was started and issued, the kernel has noted in it (`start_time_ns`,
//! `io_start_time_ns`): a program reads that when it is completed.
//!
//! Whether this kernel is one of them is tried out once: a program counts how often process 1 gives
//! its CPU up. Where programs run, there is no second source, and nothing that it costs.
//!
//! Non-goals: a request that process 1 requests, and that is completed while it is on the CPU: no
//! program sees anything of it; which request a step belongs to (`pair`); other processes, of which
//! no such thing is known: a completion that is lost elsewhere is counted when the request's
//! identity is used again.

use super::ftrace::Instance;
use super::{CaptureError, CaptureOptions, Decoder};
use crate::bpf::{Hook, LoadError, Loaded};
use crate::intake::{RowsError, Steps};
use crate::process;
use aya::maps::Array;
use std::io;
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Counts how often it sees process 1, while the capture is loaded.
const SEE_PROCESS_1: Hook = Hook::at_a_switch("see_process_1");

/// The machine's first process, in the first PID namespace.
const PROCESS: u32 = 1;
/// How long process 1 is waited for.
const PATIENCE: Duration = Duration::from_millis(300);
/// How often its threads are looked for.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// What was found out of this kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    /// No program runs in process 1.
    Blind,
    Sees,
    /// Process 1 did not run when it was tried out.
    Unknown,
    /// It is in another PID namespace.
    Hidden,
}

/// What became of the second source.
#[derive(Debug)]
pub(super) enum Second {
    /// It is open, for this reason; when its threads were looked for.
    Open(Box<Instance>, &'static str, Instant),
    /// Programs run in process 1: it is not needed.
    NotNeeded,
    /// There is none, with the reason.
    Missing(String),
}

impl Second {
    /// Opens it where it is needed.
    /// Errors: a kernel that refuses the program by which that is found out.
    pub(super) fn open(
        loaded: &mut Loaded,
        own_tgid: u32,
        options: &CaptureOptions,
    ) -> Result<Self, CaptureError> {
        static VERDICT: OnceLock<Verdict> = OnceLock::new();
        let verdict = match VERDICT.get() {
            Some(verdict) => *verdict,
            None => {
                let found = try_out(loaded, own_tgid)?;
                *VERDICT.get_or_init(|| found)
            }
        };
        let why = match verdict {
            Verdict::Sees => return Ok(Self::NotNeeded),
            Verdict::Hidden => {
                return Ok(Self::Missing("process 1 is in another PID namespace".into()));
            }
            Verdict::Blind => "where no BPF program runs",
            Verdict::Unknown => "where it is not known whether BPF programs run",
        };
        Ok(match Instance::new(PROCESS, options) {
            Ok(instance) => Self::Open(Box::new(instance), why, Instant::now()),
            Err(refused) => Self::Missing(format!("failed to {refused}")),
        })
    }

    /// From now on, what no program saw begin was requested by process 1.
    pub(super) fn tell(&self, decoder: &mut Decoder) {
        if !matches!(self, Self::NotNeeded) {
            let name = std::fs::read(format!("/proc/{PROCESS}/comm")).unwrap_or_default();
            decoder.see_no_begins_of(PROCESS, name.trim_ascii_end(), super::ring::now_ns() as i64);
        }
    }

    /// Hands over what it saw; how many steps.
    pub(super) fn drain(&mut self, steps: &mut impl Steps) -> Result<u64, RowsError> {
        let Self::Open(instance, _, looked) = self else { return Ok(0) };
        if looked.elapsed() >= LOOK_EVERY {
            *looked = Instant::now();
            // A thread that is not found is one whose lost completions are counted.
            let _ = instance.follow_threads();
        }
        let events: Vec<_> = instance.take(steps).collect();
        let count = events.len() as u64;
        events.into_iter().try_for_each(|event| steps.second(event))?;
        Ok(count)
    }

    /// Steps for which it had no space.
    pub(super) fn lost(&self) -> u64 {
        match self {
            Self::Open(instance, ..) => instance.lost(),
            _ => 0,
        }
    }

    /// No more is recorded.
    pub(super) fn stop(&mut self) -> io::Result<()> {
        match self {
            Self::Open(instance, ..) => instance.stop(),
            _ => Ok(()),
        }
    }

    pub(super) fn describe(&self) -> String {
        match self {
            Self::Open(_, why, _) => format!("ftrace, in the threads of process 1, {why}"),
            Self::NotNeeded => "not needed: BPF programs run in process 1".into(),
            Self::Missing(reason) => format!("none: {reason}"),
        }
    }
}

/// Waits for process 1 to run: does a program see what the process's own counters see?
fn try_out(loaded: &mut Loaded, own_tgid: u32) -> Result<Verdict, CaptureError> {
    if own_tgid != std::process::id() {
        return Ok(Verdict::Hidden);
    }
    loaded.attach(&SEE_PROCESS_1)?;
    let before = process::switches(PROCESS).unwrap_or(0);
    make_an_orphan();
    let began = Instant::now();
    let ran = loop {
        std::thread::sleep(Duration::from_millis(1));
        let ran = process::switches(PROCESS).is_ok_and(|now| now > before);
        if ran || began.elapsed() > PATIENCE {
            break ran;
        }
    };
    loaded.remove(&SEE_PROCESS_1)?;
    Ok(match (process_1_switches(loaded)?, ran) {
        (1.., _) => Verdict::Sees,
        (0, true) => Verdict::Blind,
        (0, false) => Verdict::Unknown,
    })
}

/// How often the program saw process 1 so far.
fn process_1_switches(loaded: &Loaded) -> Result<u64, CaptureError> {
    let map = loaded.ebpf.map("process_1").ok_or(LoadError::NoProgram("process_1"))?;
    Ok(Array::try_from(map)?.get(&0, 0)?)
}

/// A process whose parent ends is given to process 1, most of which run at once to hear of its end.
fn make_an_orphan() {
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", ": &"]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // Without a shell process 1 may run for other reasons.
    let _ = shell.status();
}
