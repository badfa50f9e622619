//! The capture of requests in the kernel: each step of each request as an [`crate::event::Event`].
//!
//! Programs at the block layer's tracepoints (block.bpf.c) put a record of each step into a ring of
//! the CPU's own, which user space empties by itself, woken by nobody. Source: the tracepoints of
//! Linux 5.10 to 7.2; times are CLOCK_MONOTONIC in ns; identities are the kernel's pointers to
//! the requests. Which programs a kernel gets is decided in `programs`.
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
//!   file systems' own tracepoints (sync.h), also where these are modules. What they are called is
//!   told when a call or request for them sees it first, and when that has changed (name.h).
//! - *A device above* tells where it hands a bio on (above.h).
//!
//! - *Quick requests* can be summed up in place of being told (summed.h): those that repeat and are
//!   named (repeated.h).
//!
//! - *What is lost* is counted: records, times, and programs left out because they were running
//!   already ([`Losses`]). A kernel may also keep every program from running while a thread of
//!   process 1 is on the CPU, and tells nobody: there a second source sees what happens
//!   ([`second`]).
//!
//! Non-goals: pairing (`pair`), files, which devices there are.

mod bios;
mod decode;
mod filter;
mod flight;
mod ftrace;
mod kernel_ring;
mod mapping;
pub mod perf;
mod programs;
mod raw;
mod repeated;
mod ring;
mod ring_page;
mod second;
mod summed;
mod syscalls;
mod threads;
mod tracer;
mod wait;

pub use filter::{DEVICES_MOST, DeviceError, device_number};
pub use ftrace::{abandoned, instances, remove_abandoned};
pub use repeated::{ONE_OF, REPEATS_BELOW, SUMS_MOST};
pub use summed::Quick;
pub use tracer::{Method, Tracer, TracerError};

use crate::bpf::{Hook, LoadError, Loaded, RunTime};
use crate::event::GoingOn;
use crate::event::Repeated;
use crate::intake::{RowsError, Steps};
use crate::kernel::waiting::Functions;
use crate::kernel::{Kernel, NoTypes};
use aya::maps::{MapError, StackTraceMap};
use bios::EndsOfBios;
use decode::{Decoder, Undecoded};
use flight::OnWay;
use kernel_ring::KernelRing;
use programs::Begun;
use repeated::Repeats;
use ring::{CELL_BYTES, Rings};
use rustix::thread::{MembarrierCommand, membarrier};
use second::Second;
use std::collections::BTreeMap;
use std::time::Duration;
use threads::{Left, Threads};
use wait::Waits;

/// Why there is no capture. A clause with its remedy.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what each is")]
pub enum CaptureError {
    #[error(transparent)]
    Load(LoadError),
    #[error(
        "capture {0} devices: at most {DEVICES_MOST} can be named; leave out --device to \
             capture all"
    )]
    TooManyDevices(usize),
    #[error(transparent)]
    Device(#[from] DeviceError),
    #[error("read the capture: {0}; report this with the kernel's version")]
    Map(#[from] MapError),
    #[error("map the capture's buffers: {0}; give a smaller --ring-size")]
    Rings(rustix::io::Errno),
}

impl CaptureError {
    /// All that the kernel's verifier said, where it refused.
    pub fn log(&self) -> Option<&str> {
        match self {
            Self::Load(refused) => refused.log(),
            _ => None,
        }
    }
}

impl From<LoadError> for CaptureError {
    fn from(refused: LoadError) -> Self {
        Self::Load(refused)
    }
}

impl From<NoTypes> for CaptureError {
    fn from(none: NoTypes) -> Self {
        Self::Load(none.into())
    }
}

/// What is captured, and with how much space.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaptureOptions {
    /// Whole disks and partitions, by the kernel's dev_t ([`device_number`]); all if there are
    /// none.
    pub devices: Vec<u32>,
    /// File systems on several of these devices, which name none (btrfs): their own numbers, for
    /// calls that make their files durable. Without them such calls are left out where devices
    /// are named.
    pub file_systems: Vec<u32>,
    /// Space for records that are not read yet, of all CPUs together; the next smaller number that
    /// can be is taken.
    pub ring_bytes: u32,
    /// Whether calls that make files durable are captured too, and what files are called.
    pub calls: bool,
    /// Whether they are captured at their system calls too.
    pub syscalls: bool,
    /// Whether the stacks of who queues requests are captured too.
    pub stacks: bool,
    /// Another process whose requests are this program's own; 0: none.
    pub own_process: u32,
    /// Whether each request is told step by step as it takes them, and not all at its end: where
    /// requests of one device serve those of another, and it is to be found out which.
    pub by_steps: bool,
    /// Those that repeat can be summed up, if they take less than this from queued to completed,
    /// and less than [`REPEATS_BELOW`]: those that are named ([`Capture::sum_up`]). None: all are
    /// told.
    pub repeats_below: Option<Duration>,
    /// Whether those of different files have different names.
    pub repeats_by_file: bool,
}

impl Default for CaptureOptions {
    fn default() -> Self {
        Self {
            devices: Vec::new(),
            file_systems: Vec::new(),
            ring_bytes: default_ring_bytes(),
            calls: false,
            syscalls: false,
            stacks: false,
            own_process: 0,
            by_steps: false,
            repeats_below: None,
            repeats_by_file: false,
        }
    }
}

/// Room that lasts for some polls of a fast device on every CPU.
pub fn default_ring_bytes() -> u32 {
    cpus().saturating_mul(2 << 20).max(16 << 20)
}

/// One more than the highest number of a CPU that this machine has, be it online or not: it may
/// come online at any time.
fn cpus() -> u32 {
    let present = std::fs::read_to_string("/sys/devices/system/cpu/present").ok();
    let highest = present.as_deref().and_then(highest);
    // Without /sys/devices/system/cpu/present, as on no kernel that is known.
    highest.or_else(|| aya::util::online_cpus().ok()?.into_iter().max()).unwrap_or(0) + 1
}

/// The last number of a list of ranges, "0-3,8-11".
fn highest(ranges: &str) -> Option<u32> {
    ranges.trim().rsplit(['-', ',']).next()?.parse().ok()
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
    /// Steps for which the ring had no space, by CPU: a record may be of several.
    pub records: Vec<u64>,
    /// Steps on CPUs of which nothing is captured, because they came meanwhile; none if they are
    /// not counted.
    pub on_new_cpus: BTreeMap<usize, Option<u64>>,
    /// Requests whose time of queueing was not found any more, by CPU.
    pub queue_times: Vec<u64>,
    /// Steps at which a program was left out, because on that CPU it was running already; by the
    /// program's name, which is its tracepoint's.
    pub runs: BTreeMap<String, u64>,
    /// Steps in process 1 for which the second source had no space.
    pub second: u64,
}

/// Where the programs leave their records.
#[derive(Debug)]
enum Records {
    /// In rings of ours, one for each CPU.
    Own(Rings),
    /// In the kernel's.
    Kernel(Box<KernelRing>),
}

impl Records {
    fn drain<E>(
        &mut self,
        until_ns: Option<u64>,
        each: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<u64, E> {
        match self {
            Self::Own(rings) => rings.drain(until_ns, each),
            Self::Kernel(ring) => ring.drain(until_ns, each),
        }
    }

    /// How many CPUs have room for records.
    fn cpus(&self) -> usize {
        match self {
            Self::Own(rings) => rings.cpus(),
            Self::Kernel(_) => usize::MAX,
        }
    }

    /// By CPU: records, and times of queueing.
    fn lost(&self) -> (Vec<u64>, Vec<u64>) {
        match self {
            Self::Own(rings) => rings.lost().unzip(),
            Self::Kernel(ring) => ring.lost().unzip(),
        }
    }
}

/// The capture in the kernel; dropping it detaches and removes all of it.
pub struct Capture {
    loaded: Loaded,
    records: Records,
    decoder: Decoder,
    /// Requests that are told of when they are finished; none where all are told by steps.
    on_way: Option<OnWay>,
    /// Sums of those that repeat; none where all are told.
    repeats: Option<Repeats>,
    ends_of_bios: EndsOfBios,
    second: Second,
    attached: Vec<Hook>,
    /// Why it is not the quicker build of the programs; none if it is.
    plain: Option<LoadError>,
    untold: Vec<String>,
    waits: Waits,
    /// Why programs are left out without which it captures nonetheless.
    refused: Vec<LoadError>,
    /// Waits that went on at the stop.
    threads: Threads,
    /// What is told when the rings are emptied the next time.
    left: Left,
    /// Counted until the stop.
    runs_left_out: Option<BTreeMap<String, u64>>,
}

shows!(Capture: decoder);

impl Capture {
    /// Loads and attaches the programs; from now on steps are recorded.
    /// Errors: whatever stands in the way, with its remedy.
    pub fn load(options: &CaptureOptions) -> Result<Self, CaptureError> {
        let kernel = Kernel::look()?;
        let functions = if options.calls { Functions::read() } else { Functions::default() };
        let (begun, plain) = programs::load(&kernel, &functions, options)?;
        let Begun { mut loaded, records, own_tgid, starts, maps, on_way, repeats } = begun;
        let own_tgids = [own_tgid, options.own_process];
        let mut decoder = Decoder::new(&kernel, own_tgids);
        if repeats.is_some() {
            summed::leave_out(&mut loaded, own_tgids)?;
        }
        // First, for the same reason as completions: what is seen to begin is seen to end.
        let second = Second::open(&mut loaded, own_tgid, options)?;
        let mut attached = programs::attach(&mut loaded, &kernel, options, starts)?;
        let mut untold = kernel.untold(options.calls);
        let (hooks, refused) = programs::attach_waits(&mut loaded, options);
        attached.extend(hooks);
        untold.extend(refused.iter().map(|(what, why)| format!("{what}: failed to {why}")));
        second.tell(&mut decoder);
        let ends_of_bios = EndsOfBios::of(&attached, &mut loaded)?;
        drop(maps);
        let threads = Threads::of(&mut loaded, options.calls);
        let waits = Waits::new(functions, own_tgids);
        Ok(Self {
            loaded,
            records,
            decoder,
            on_way,
            repeats,
            ends_of_bios,
            second,
            attached,
            plain,
            untold,
            refused: refused.into_iter().map(|(_, why)| why).collect(),
            waits,
            threads,
            left: Left::default(),
            runs_left_out: None,
        })
    }

    /// What was asked for and this kernel does not tell, as sentences.
    pub fn untold(&self) -> &[String] {
        &self.untold
    }

    /// Why the programs are those that run on any kernel, and not the quicker ones; none if they
    /// are the quicker ones.
    pub fn why_plain(&self) -> Option<&LoadError> {
        self.plain.as_ref()
    }

    /// Requests that have begun and are not finished, of those that are told of at their end.
    pub fn on_way(&self) -> u64 {
        self.on_way.as_ref().map_or(0, OnWay::count)
    }

    /// Sums up those of a name that are queued until a moment of CLOCK_MONOTONIC, in ns, from now
    /// on, but for those that are slow, fail or were throttled: into these of [`SUMS_MOST`]
    /// sums. Says whether it does: there are not many places for names.
    pub fn sum_up(&mut self, of: Repeated, sums: usize, until_ns: i64) -> bool {
        self.repeats.as_mut().is_some_and(|repeats| repeats.sum_up(of, sums, until_ns))
    }

    /// Tells singly from now on what has these sums.
    pub fn tell_singly(&mut self, sums: usize) {
        self.repeats.iter_mut().for_each(|repeats| repeats.tell(sums));
    }

    /// The moment has passed until which all were named.
    pub fn forget_names(&mut self) {
        self.repeats.iter_mut().for_each(Repeats::forget);
    }

    /// Sums of those that repeat, since this was last asked.
    pub fn take_summed(&mut self) -> Vec<(usize, Quick)> {
        self.repeats.as_mut().map_or_else(Vec::new, Repeats::take)
    }

    /// Hands over what the rings hold, in the order of time. Before the stop, the last millisecond
    /// stays.
    /// Errors: what `steps` refuses; the rest stays in the rings.
    pub fn drain(&mut self, steps: &mut impl Steps) -> Result<Drained, RowsError> {
        let mut drained = Drained::default();
        // What the rings hand over is no younger than what the second source handed over before,
        // and what is lost of it is counted by now.
        let until_ns = self.runs_left_out.is_none().then(ring::now_ns);
        if self.records.lost().0.iter().any(|lost| *lost > 0) {
            self.decoder.forget_who_is_unseen();
        }
        let (decoder, waits, ends) = (self.decoder, &mut self.waits, &mut self.ends_of_bios);
        let repeats = &mut self.repeats;
        drained.events += self.second.drain(steps)?;
        let records = self.records.drain(until_ns, |record| {
            ends.see(record);
            if let Some(name) = repeats.as_mut().and_then(|repeats| repeats.see(record)) {
                steps.is_called(name);
            }
            let decoded = match Waits::are_of(record) {
                true => waits.take(record, steps),
                false => decoder.decode(record, steps),
            };
            match decoded {
                Ok(events) => drained.events += events,
                Err(Undecoded::Malformed) => drained.malformed += 1,
                Err(Undecoded::Refused(refused)) => return Err(refused),
            }
            Ok(())
        })?;
        drained.bytes = records * CELL_BYTES as u64;
        steps.still_to_come(|| self.on_way.as_ref()?.first_ns());
        // One that is refused is tried again.
        if self.runs_left_out.is_none()
            && let Ok(Some(hook)) = self.ends_of_bios.attach(&mut self.loaded)
        {
            self.attached.push(hook);
        }
        if self.runs_left_out.is_some()
            && let Some(on_way) = self.on_way.take()
        {
            drained.events += on_way.tell(&self.decoder, steps)?;
        }
        std::mem::take(&mut self.left).tell(steps);
        Ok(drained)
    }

    /// The addresses of a stack, the innermost first; none where it is not known.
    pub fn frames(&self, stack: u32) -> Vec<u64> {
        if let Some(frames) = self.waits.frames(stack) {
            return frames.to_vec();
        }
        let map = self.loaded.ebpf.map("stacks");
        let stacks = map.and_then(|map| StackTraceMap::try_from(map).ok());
        let number = stack.checked_sub(1);
        let trace = stacks.zip(number).and_then(|(stacks, number)| stacks.get(&number, 0).ok());
        trace.map_or_else(Vec::new, |trace| trace.frames().iter().map(|frame| frame.ip).collect())
    }

    /// What the kernel's verifier said of programs without which it captures nonetheless.
    pub fn refused_log(&self) -> Option<&str> {
        self.plain.iter().chain(&self.refused).find_map(LoadError::log)
    }

    /// Whether it tells of waits.
    pub fn tells_waits(&self) -> bool {
        self.attached.iter().any(programs::is_of_waits)
    }

    /// Waits that have gone on for so long now, in ns.
    pub fn going_on(&self, least_ns: u64) -> Vec<GoingOn> {
        self.threads.going_on(&self.waits, least_ns)
    }

    /// The second source, in words: what sees the steps for which no program runs.
    pub fn second_source(&self) -> String {
        self.second.describe()
    }

    /// What could not be kept.
    /// Errors: a kernel that refuses.
    pub fn losses(&self) -> Result<Losses, CaptureError> {
        let (mut records, queue_times) = self.records.lost();
        let known = self.records.cpus().min(records.len());
        let new = (known..).zip(records.split_off(known)).filter(|(_, lost)| *lost > 0);
        Ok(Losses {
            records,
            on_new_cpus: new.map(|(cpu, lost)| (cpu, Some(lost))).collect(),
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
            if hook.is_twice {
                self.loaded.remove_again(hook)?;
            }
            self.loaded.remove(hook)?;
        }
        self.ends_of_bios.remove_unused(&mut self.loaded)?;
        self.left = self.threads.left(&self.waits);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Step, Unseen};

    #[test]
    fn the_highest_cpu_is_the_last_of_the_list() {
        for (list, wanted) in [("0-3\n", Some(3)), ("0", Some(0)), ("0,2-5,9\n", Some(9))] {
            assert_eq!(highest(list), wanted);
        }
        assert_eq!(highest("\n"), None);
        // A CPU that is offline now counts, too.
        let online = aya::util::online_cpus().unwrap();
        assert!(online.iter().all(|cpu| *cpu < cpus()));
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
        let programs = |hook: &Hook| 1 + usize::from(hook.is_twice);
        let attached = dropped.attached.iter().chain(&stopped.attached).map(programs).sum();
        let ids = [ids(&dropped), ids(&stopped)].concat();
        // Some wait, loaded, for the first disk that needs them.
        assert_eq!(are_loaded(&ids), ids.len());
        assert!(ids.len() >= attached, "{:?}", stopped.attached);
        drop(dropped);
        stopped.stop().unwrap();
        // The kernel lets go of a program when no CPU can be in it any more.
        let is_gone = |_: &u32| {
            std::thread::sleep(std::time::Duration::from_millis(10));
            are_loaded(&ids) == 0
        };
        assert!((0..6000).any(|time| is_gone(&time)));
    }

    /// As of a request that process 1 requests, where no program runs in it.
    #[test]
    fn root_what_the_kernel_notes_tells_of_a_request_that_was_not_seen_to_begin() {
        let mut capture = match Capture::load(&CaptureOptions::default()) {
            Ok(capture) => capture,
            Err(e) => return println!("skipped: failed to {e}"),
        };
        let is_unseen = |hook: &Hook| ["block_io_start", "block_rq_issue"].contains(&hook.program);
        for hook in capture.attached.extract_if(.., |hook| is_unseen(hook)) {
            if hook.is_twice {
                capture.loaded.remove_again(&hook).unwrap();
            }
            capture.loaded.remove(&hook).unwrap();
        }
        let began_ns = ring::now_ns() as i64;
        capture.decoder.see_no_begins_of(1, b"init", began_ns);
        let mut file = tempfile::tempfile_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        // A completion that interrupts process 1 is itself not seen by such a kernel.
        for _ in 0..20 {
            std::io::Write::write_all(&mut file, &[1; 4096]).unwrap();
            file.sync_all().unwrap();
        }
        capture.stop().unwrap();
        let mut steps = crate::intake::Collected::default();
        capture.drain(&mut steps).unwrap();
        let told = steps.events.iter().filter_map(|event| match event.step {
            Step::Complete { unseen: Some(unseen), .. } => Some((event.time_ns, unseen)),
            _ => None,
        });
        let told: Vec<_> = told.collect();
        println!("{told:?}");
        assert!(!told.is_empty());
        for (completed_ns, Unseen { started_ns, issued_ns, origin }) in told {
            let issued_ns = issued_ns.unwrap_or(started_ns);
            assert!([began_ns, started_ns, issued_ns, completed_ns].is_sorted());
            assert_eq!(origin.pid, Some(1));
        }
    }
}
