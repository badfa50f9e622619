//! The capture of requests in the kernel: each step of each request as an [`crate::event::Event`].
//!
//! Programs at the block layer's tracepoints (block.bpf.c) put a record of each step into a ring of
//! the CPU's own, which user space empties by itself, woken by nobody. Source: the tracepoints of
//! Linux 6.5 and later; times are CLOCK_MONOTONIC in ns; identities are the kernel's pointers to
//! the requests.
//!
//! What is where it is, and why:
//!
//! - *A bio's entry makes no record.* Its time is kept in a table in the kernel and handed over to
//!   the request that is allocated for it; a time that is not found any more is counted and left
//!   out, never guessed. So a request costs three records, not four.
//! - *Who requested it* is the thread that queued the bio; the command is that of the thread for
//!   which the
//!   request was allocated, which is the same but on zoned devices.
//! - *Nothing is translated in the kernel.* Records have the kernel's numbers, and at loading
//!   the programs tell what they mean on this kernel (the bits of the command flags).
//! - *Errors* come with the completion: block_rq_error is fired just after block_rq_complete, with
//!   the same status, when that is not 0, so that it says nothing new and is not attached. Merged
//!   bios (block_bio_backmerge) leave a slot of the table behind, which is the oldest soon.
//! - *A flush* is issued with no start, by the kernel itself, and names the request that it is for
//!   by its tag; its place is none.
//! - *Devices without requests* (device mapper, md, zram): the bio is the request. One that is
//!   handed on to another device as it is (RAID 0, multipath) is completed there and stays open
//!   here.
//! - *A disk* is requested with all of its partitions; a partition with the flushes of its whole
//!   disk. A command to what is no disk is not captured.
//! - *The cgroup* is what the bio is charged to, if the block controller is of version 2; else the
//!   thread's own of version 2, unless that is the root.
//!
//! - *Files* are found by who is told of a bio's end (file.h), calls that make them durable by the
//!   file systems' own tracepoints (sync.h), where these are a part of the kernel and no modules.
//!
//! - *What is lost* is counted: records, times, and programs left out because they were running
//!   already ([`Losses`]). A kernel may also keep every program from running while a thread of
//!   process 1 is on the CPU, and tells nobody: there a second source sees what happens
//!   ([`second`]).
//!
//! Non-goals: pairing (`pair`), files, which devices there are.

mod bio_flag;
mod decode;
mod filter;
mod ftrace;
pub mod perf;
mod raw;
mod ring;
mod ring_page;
mod second;
mod symbols;
mod syscalls;
mod tracer;

pub use filter::{DEVICES_MOST, DeviceError, device_number};
pub use ftrace::{abandoned, remove_abandoned};
pub use tracer::{Method, Tracer, TracerError};

use crate::bpf::{Hook, LoadError, Loaded, RunTime, whoami};
use crate::intake::{RowsError, Steps};
use aya::EbpfLoader;
use aya::maps::{Array, Map, MapData, MapError, StackTraceMap};
use decode::{BITS, Decoder, Undecoded};
use filter::Filter;
use ring::{CELL_BYTES, Rings, Shape};
use rustix::thread::{MembarrierCommand, membarrier};
use second::Second;
use std::collections::BTreeMap;
use std::os::fd::AsFd as _;

/// The object that block.bpf.c is compiled to.
const OBJECT: &[u8] = aya::include_bytes_aligned!("block.bpf.o");

/// Whether this machine's processors see each other's stores in the order in which they are made
/// (x86's "total store order"; Intel's manual, volume 3A, 9.2).
const STORES_IN_ORDER: u32 = cfg!(target_arch = "x86_64") as u32;

/// The first kernel that has all tracepoints (block_io_start is the youngest).
const SINCE: &str = "6.5";

/// All programs of the capture. Completions come first: what is seen to begin is seen to end.
const HOOKS: [Hook; 8] = [
    Hook::required("block_rq_complete").since(SINCE),
    Hook::required("block_bio_complete").since(SINCE),
    Hook::required("block_rq_merge").since(SINCE),
    Hook::required("block_rq_requeue").since(SINCE),
    Hook::required("block_rq_issue").since(SINCE),
    Hook::required("block_io_start").since(SINCE),
    Hook::required("block_split").since(SINCE),
    Hook::required("block_bio_queue").since(SINCE),
];

/// What tells of calls that make files durable, where the kernel has these file systems. Ends come
/// first, as completions do.
const OF_CALLS: [Hook; 10] = [
    Hook::optional("ext4_sync_file_exit"),
    Hook::optional("ext4_sync_file_enter"),
    Hook::optional("jbd2_end_commit"),
    Hook::optional("jbd2_commit_logging"),
    Hook::optional("jbd2_commit_flushing"),
    Hook::optional("jbd2_commit_locking"),
    Hook::optional("jbd2_start_commit"),
    // Its end is told by no tracepoint.
    Hook::optional("xfs_file_fsync"),
    Hook::optional("xfs_dir_fsync"),
    Hook::optional("writeback_mark_inode_dirty"),
];

/// The same by system calls, which every one of the machine pays for.
const OF_SYSCALLS: [Hook; 2] = [Hook::optional("sys_exit"), Hook::optional("sys_enter")];

/// Runs only while the capture is loaded, to learn where this kernel has its flags.
const FIND_BITS: Hook =
    Hook { program: "find_bits", ..Hook::required("sched_switch").since(SINCE) };

/// Why there is no capture. A clause with its remedy.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what each is")]
pub enum CaptureError {
    #[error(transparent)]
    Load(#[from] LoadError),
    #[error("capture {0} devices: at most {DEVICES_MOST} can be named; name none for all of them")]
    TooManyDevices(usize),
    #[error(transparent)]
    Device(#[from] DeviceError),
    #[error("read the capture: {0}; report this with the kernel's version")]
    Map(#[from] MapError),
    #[error("map the capture's rings: {0}; a smaller --ring-size may fit")]
    Rings(rustix::io::Errno),
}

/// Stacks that are kept, by a hash: what has the place of another has none.
const STACKS_MOST: u32 = 1 << 14;

/// What is captured, and with how much space.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaptureOptions {
    /// Whole disks and partitions, by the kernel's dev_t ([`device_number`]); all if there are
    /// none.
    pub devices: Vec<u32>,
    /// Space for records that are not read yet, of all CPUs together; the next smaller number that
    /// can be is taken.
    pub ring_bytes: u32,
    /// Whether calls that make files durable are captured too.
    pub calls: bool,
    /// Whether they are captured at their system calls too.
    pub syscalls: bool,
    /// Whether the stacks of who queues requests are captured too.
    pub stacks: bool,
    /// Another process whose requests are this program's own; 0: none.
    pub own_process: u32,
}

impl Default for CaptureOptions {
    fn default() -> Self {
        Self {
            devices: Vec::new(),
            ring_bytes: default_ring_bytes(),
            calls: false,
            syscalls: false,
            stacks: false,
            own_process: 0,
        }
    }
}

/// Room that lasts for some polls of a fast device on every CPU.
pub fn default_ring_bytes() -> u32 {
    cpus().saturating_mul(2 << 20).max(16 << 20)
}

/// One more than the highest number of a CPU that is online.
fn cpus() -> u32 {
    let highest = aya::util::online_cpus().ok().and_then(|cpus| cpus.into_iter().max());
    highest.unwrap_or(0) + 1
}

/// What was found in the ring.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Drained {
    /// Events handed over.
    pub events: u64,
    /// Bytes of their records.
    pub bytes: u64,
    /// Records that are not understood; above 0 is a fault of the program.
    pub malformed: u64,
}

/// What the capture could not keep, since it was loaded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Losses {
    /// Records for which the ring had no space, by CPU.
    pub records: Vec<u64>,
    /// Requests whose time of queueing was not found any more, by CPU.
    pub queue_times: Vec<u64>,
    /// Steps at which a program was left out, because on that CPU it was running already; by the
    /// program's name, which is its tracepoint's.
    pub runs: BTreeMap<String, u64>,
    /// Steps in process 1 for which the second source had no space.
    pub second: u64,
}

/// The capture in the kernel; dropping it detaches and removes all of it.
pub struct Capture {
    loaded: Loaded,
    rings: Rings,
    decoder: Decoder,
    second: Second,
    attached: Vec<Hook>,
    /// Counted until the stop.
    runs_left_out: Option<BTreeMap<String, u64>>,
}

impl std::fmt::Debug for Capture {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Capture").field("decoder", &self.decoder).finish_non_exhaustive()
    }
}

impl Capture {
    /// Loads and attaches the programs; from now on steps are recorded.
    /// Errors: whatever stands in the way, with its remedy.
    pub fn load(options: &CaptureOptions) -> Result<Self, CaptureError> {
        let filter = Filter::new(&options.devices)?;
        let possible = aya::util::nr_cpus().ok().and_then(|count| u32::try_from(count).ok());
        let shape = Shape::new(cpus(), possible.unwrap_or(0), options.ring_bytes);
        let waiting_calls = syscalls::numbers();
        let stacks_wanted = u32::from(options.stacks);
        let (symbols, throttled_flag) = (symbols::read(), bio_flag::throttled());
        let mut loader = EbpfLoader::new();
        loader
            .override_global("filters_used", &filter.used, true)
            .override_global("filters", &filter.words, true)
            .override_global("cells_cpus", &shape.cpus, true)
            .override_global("cells_each", &shape.each, true)
            .override_global("stores_in_order", &STORES_IN_ORDER, true)
            .override_global("symbols", &symbols, true)
            .override_global("throttled_flag", &throttled_flag, true)
            .override_global("waiting_calls", &waiting_calls, true)
            .override_global("stacks_wanted", &stacks_wanted, true)
            .map_max_entries("stacks", if options.stacks { STACKS_MOST } else { 1 })
            .map_max_entries("rings", shape.rings)
            .map_max_entries("cells", shape.cells());
        let mut loaded = Loaded::with(OBJECT, loader)?;
        let own_tgid = whoami::find_self(&mut loaded)?;
        let decoder = Decoder::new(find_bits(&mut loaded)?, [own_tgid, options.own_process]);
        let rings = (array(&mut loaded, "rings")?, array(&mut loaded, "cells")?);
        let rings = Rings::map(rings.0.fd().as_fd(), rings.1.fd().as_fd(), shape);
        let rings = rings.map_err(CaptureError::Rings)?;
        // First, for the same reason as completions: what is seen to begin is seen to end.
        let switches = |loaded: &Loaded| Ok(learnt(loaded)?[PROCESS_1_SWITCHES]);
        let second = Second::open(&mut loaded, own_tgid, options, switches)?;
        let mut attached = Vec::new();
        let of_calls = OF_CALLS.iter().filter(|_| options.calls);
        let of_syscalls = OF_SYSCALLS.iter().filter(|_| options.calls && options.syscalls);
        for hook in HOOKS.iter().chain(of_calls).chain(of_syscalls) {
            if loaded.attach(hook)? {
                attached.push(*hook);
            }
        }
        Ok(Self { loaded, rings, decoder, second, attached, runs_left_out: None })
    }

    /// Hands over what the rings hold, in the order of time. Before the stop, the last millisecond
    /// stays.
    /// Errors: what `steps` refuses; the rest stays in the rings.
    pub fn drain(&mut self, steps: &mut impl Steps) -> Result<Drained, RowsError> {
        let mut drained = Drained::default();
        let decoder = self.decoder;
        // What the rings hand over is no younger than what the second source handed over before.
        let until_ns = self.runs_left_out.is_none().then(ring::now_ns);
        drained.events += self.second.drain(steps)?;
        let records = self.rings.drain(until_ns, |record| {
            match decoder.decode(record, steps) {
                Ok(events) => drained.events += events,
                Err(Undecoded::Malformed) => drained.malformed += 1,
                Err(Undecoded::Refused(refused)) => return Err(refused),
            }
            Ok(())
        })?;
        drained.bytes = records * CELL_BYTES as u64;
        Ok(drained)
    }

    /// The addresses of a stack, the innermost first; none where it is not known.
    pub fn frames(&self, stack: u32) -> Vec<u64> {
        let map = self.loaded.ebpf.map("stacks");
        let stacks = map.and_then(|map| StackTraceMap::try_from(map).ok());
        let number = stack.checked_sub(1);
        let trace = stacks.zip(number).and_then(|(stacks, number)| stacks.get(&number, 0).ok());
        trace.map_or_else(Vec::new, |trace| trace.frames().iter().map(|frame| frame.ip).collect())
    }

    /// The second source, in words: what sees the steps for which no program runs.
    pub fn second_source(&self) -> String {
        self.second.describe()
    }

    /// What could not be kept.
    /// Errors: a kernel that refuses.
    pub fn losses(&self) -> Result<Losses, CaptureError> {
        let (records, queue_times) = self.rings.lost().unzip();
        Ok(Losses {
            records,
            queue_times,
            runs: self.runs_left_out.clone().map_or_else(|| self.loaded.runs_left_out(), Ok)?,
            second: self.second.lost(),
        })
    }

    /// What each program has cost while runs were counted ([`crate::bpf::RunCounting`]); nothing
    /// after the stop.
    pub fn run_times(&self) -> Vec<RunTime> {
        self.loaded.run_times()
    }

    /// Detaches: no more is recorded, and what is in the ring can be drained.
    /// Errors: a kernel that refuses.
    pub fn stop(&mut self) -> Result<(), CaptureError> {
        self.runs_left_out = Some(self.loaded.runs_left_out()?);
        for hook in std::mem::take(&mut self.attached).iter().rev() {
            self.loaded.remove(hook)?;
        }
        // A second source that cannot be closed is closed when it is dropped.
        let _ = self.second.stop();
        // Waits until no CPU is in any of the programs. Where it is not granted, so long as
        // none takes.
        if membarrier(MembarrierCommand::Global).is_err() {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        Ok(())
    }
}

/// An array that both sides share.
fn array(loaded: &mut Loaded, name: &'static str) -> Result<MapData, CaptureError> {
    match loaded.ebpf.take_map(name) {
        Some(Map::Array(map)) => Ok(map),
        _ => Err(LoadError::NoProgram(name).into()),
    }
}

/// The words of block.bpf.c's `struct bits`: bits of the command flags, and then how often process
/// 1 was seen.
type Learnt = [u64; BITS + 1];
const PROCESS_1_SWITCHES: usize = BITS;

/// What the program at the switches of threads has learnt so far.
fn learnt(loaded: &Loaded) -> Result<Learnt, CaptureError> {
    let map = loaded.ebpf.map(".bss").ok_or(LoadError::NoProgram("bits"))?;
    Ok(Array::try_from(map)?.get(&0, 0)?)
}

/// Where this kernel has the bits of the command flags.
fn find_bits(loaded: &mut Loaded) -> Result<[u64; BITS], CaptureError> {
    loaded.run_at_a_switch(&FIND_BITS)?;
    let learnt = learnt(loaded)?;
    Ok(std::array::from_fn(|word| learnt[word]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_the_header_are_those_read_here() {
        const PROGRAM: &str =
            concat!(include_str!("block.bpf.c"), include_str!("sync.h"), include_str!("syscall.h"));
        assert!(PROGRAM.contains(&format!("#define FILTERS {DEVICES_MOST}\n")));
        assert!(
            PROGRAM.contains("u64 sync, meta, idle, fua, preflush, readahead, background, swap;")
        );
        for hook in HOOKS.iter().chain(&OF_CALLS).chain(&OF_SYSCALLS).chain([&FIND_BITS]) {
            let section = format!("SEC(\"tp_btf/{}\") int {}(", hook.tracepoint, hook.program);
            assert!(PROGRAM.contains(&section), "{section}");
        }
    }

    fn are_loaded(ids: &[u32]) -> usize {
        let loaded = aya::programs::loaded_programs().filter_map(Result::ok);
        loaded.into_iter().filter(|program| ids.contains(&program.id())).count()
    }

    #[test]
    fn nothing_remains_in_the_kernel() {
        let load = || match Capture::load(&CaptureOptions::default()) {
            Ok(capture) => Some(capture),
            Err(CaptureError::Load(e @ (LoadError::NotPermitted | LoadError::NoTypes(_)))) => {
                println!("skipped: failed to {e}");
                None
            }
            Err(e) => panic!("failed to {e}"),
        };
        let (Some(dropped), Some(mut stopped)) = (load(), load()) else { return };
        let ids = |capture: &Capture| -> Vec<u32> {
            let programs = capture.loaded.ebpf.programs();
            programs.filter_map(|(_, program)| Some(program.info().ok()?.id())).collect()
        };
        let ids = [ids(&dropped), ids(&stopped)].concat();
        assert_eq!(ids.len(), 2 * HOOKS.len());
        assert_eq!(are_loaded(&ids), 2 * HOOKS.len());
        drop(dropped);
        stopped.stop().unwrap();
        // The kernel lets go of a program when no CPU can be in it any more.
        let is_gone = |_: &u32| {
            std::thread::sleep(std::time::Duration::from_millis(10));
            are_loaded(&ids) == 0
        };
        assert!((0..500).any(|time| is_gone(&time)));
    }
}
