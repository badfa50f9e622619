//! CPU time of the loop devices' workers, which belong to the test bed and not to
//! the file system under test. They run on kernel threads that serve many masters and
//! are named after none of them for long, so that the time is taken from what is executed:
//! the tracepoints `workqueue_execute_start` and `_end`, for the loop driver's own work
//! functions alone, less the time in which `sched_switch` shows the thread off its CPU.
//!
//! Read through perf, which also works under kernel lockdown. The counting of a
//! device's interrupts stays with the rest of total CPU.
//!
//! Non-goals: requests and their latencies (crate `trace`); other workers.

use super::worker_time::{Event, WorkerTime};
use perf_event::events::Tracepoint;
use perf_event::{Builder, Clock, SampleFlag, Sampler};
use rustix::fs::{Mode, OFlags};
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// `_IOW('$', 6, char *)`, include/uapi/linux/perf_event.h.
const PERF_EVENT_IOC_SET_FILTER: libc::Ioctl = 0x4008_2406;
const PERF_RECORD_LOST: u32 = 2;
const PERF_RECORD_SAMPLE: u32 = 9;

/// The loop driver's work functions, drivers/block/loop.c.
const FUNCTIONS: &[&str] = &["loop_workfn", "loop_rootcg_workfn"];
/// The driver's work queues are unbound: their threads' names begin so.
const SWITCH_FILTER: &str = "prev_comm ~ \"kworker/u*\" || next_comm ~ \"kworker/u*\"";

/// Bytes of a buffer, of which there are three a CPU: at 60 to 120 bytes an event, some thousands
/// of events between two drains.
const RING_BYTES: usize = 1 << 20;
/// How often the buffers are drained.
const DRAIN_INTERVAL: Duration = Duration::from_millis(100);

/// What a stream of events says.
#[derive(Debug, Clone, Copy)]
enum Kind {
    Start,
    End,
    /// Offset of `next_pid` in the event's own data.
    Switch(usize),
}

struct Stream {
    kind: Kind,
    sampler: Sampler,
}

struct Shared {
    streams: Vec<Stream>,
    time: WorkerTime,
    /// Events that the kernel had no space for: from then on there is no number.
    is_lossy: bool,
}

/// Counts the workers' time from its making on.
pub(crate) struct LoopWorkers {
    shared: Arc<Mutex<Shared>>,
    is_over: Arc<AtomicBool>,
    drainer: Option<JoinHandle<()>>,
}

fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl LoopWorkers {
    /// Begins to count.
    /// Errors: no right to trace (CAP_PERFMON), no tracefs, or a kernel whose loop driver has other
    /// functions.
    pub(crate) fn start() -> io::Result<Self> {
        let tracefs = Tracefs::open()?;
        let function_filter = function_filter()?;
        let next_pid = tracefs.field_offset("sched/sched_switch", "next_pid")?;
        let sources = [
            ("workqueue/workqueue_execute_start", Kind::Start, function_filter.as_str()),
            ("workqueue/workqueue_execute_end", Kind::End, function_filter.as_str()),
            ("sched/sched_switch", Kind::Switch(next_pid), SWITCH_FILTER),
        ];
        let cpus = super::online_cpus()?;
        let mut streams = Vec::new();
        for (name, kind, filter) in sources {
            let id = tracefs.number(name)?;
            for cpu in &cpus {
                streams.push(Stream { kind, sampler: open(id, *cpu, filter)? });
            }
        }
        for stream in &mut streams {
            stream.sampler.enable()?;
        }
        let shared = Shared { streams, time: WorkerTime::default(), is_lossy: false };
        let shared = Arc::new(Mutex::new(shared));
        let is_over = Arc::new(AtomicBool::new(false));
        let drainer = {
            let (shared, is_over) = (shared.clone(), is_over.clone());
            std::thread::Builder::new().spawn(move || {
                while !is_over.load(Ordering::Relaxed) {
                    std::thread::park_timeout(DRAIN_INTERVAL);
                    lock(&shared).drain();
                }
            })?
        };
        Ok(Self { shared, is_over, drainer: Some(drainer) })
    }

    /// CPU time of the workers so far, ns; none once events were lost.
    pub(crate) fn read_ns(&self) -> Option<u64> {
        let mut shared = lock(&self.shared);
        shared.drain();
        (!shared.is_lossy).then(|| shared.time.total_ns())
    }
}

impl Drop for LoopWorkers {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(drainer) = self.drainer.take() {
            drainer.thread().unpark();
            // A drainer that panicked counts no more; `read_ns` is over by now.
            let _ = drainer.join();
        }
    }
}

impl Shared {
    /// Takes all events out of the buffers and accounts for those before this moment: what comes
    /// later on one CPU may still be overtaken by another CPU's earlier event.
    fn drain(&mut self) {
        let until_ns = crate::clock::clock_ns(rustix::time::ClockId::Monotonic);
        for Stream { kind, sampler } in &mut self.streams {
            while let Some(record) = sampler.next_record() {
                match record.ty() {
                    PERF_RECORD_SAMPLE => {
                        if let Some(event) = parse(*kind, &record.to_contiguous()) {
                            self.time.add(event);
                        }
                    }
                    PERF_RECORD_LOST => self.is_lossy = true,
                    _ => {}
                }
            }
        }
        self.time.settle(until_ns);
    }
}

/// One event on one CPU: thread, time, and the event's own data.
fn open(id: u64, cpu: usize, filter: &str) -> io::Result<Sampler> {
    let mut builder = Builder::new(Tracepoint::with_id(id));
    builder
        .any_pid()
        .one_cpu(cpu)
        .include_kernel()
        .sample_period(1)
        .sample(SampleFlag::TID | SampleFlag::TIME | SampleFlag::RAW)
        .clockid(Clock::MONOTONIC)
        .enabled(false);
    let counter = builder.build()?;
    let filter = std::ffi::CString::new(filter)?;
    // SAFETY: the ioctl reads the zero-terminated string, which lives until it returns.
    if unsafe { libc::ioctl(counter.as_raw_fd(), PERF_EVENT_IOC_SET_FILTER, filter.as_ptr()) } < 0 {
        return Err(io::Error::last_os_error());
    }
    counter.sampled(RING_BYTES)
}

/// Where the event's own data begin in a sample, by PERF_SAMPLE_TID, _TIME and _RAW: pid u32, tid
/// u32, time u64, size u32; and in them `common_pid`, the thread's number in the whole machine,
/// where tid is its number in our namespace.
const DATA: usize = 20;
const COMMON_PID: usize = 4;

fn parse(kind: Kind, bytes: &[u8]) -> Option<Event> {
    let u32_at = |at: usize| Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let thread = u32_at(DATA + COMMON_PID)?;
    let at_ns = u64::from_ne_bytes(bytes.get(8..16)?.try_into().ok()?);
    Some(match kind {
        Kind::Start => Event::Start { at_ns, thread },
        Kind::End => Event::End { at_ns, thread },
        Kind::Switch(next_pid) => {
            Event::Switch { at_ns, from: thread, to: u32_at(DATA + next_pid)? }
        }
    })
}

/// The filter that lets only the loop driver's work through, by the addresses of its functions.
fn function_filter() -> io::Result<String> {
    let symbols = std::fs::read_to_string("/proc/kallsyms")?;
    let terms: Vec<String> = symbols
        .lines()
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            let (address, _, name) = (words.next()?, words.next()?, words.next()?);
            let is_known = FUNCTIONS.contains(&name) && address.bytes().any(|b| b != b'0');
            is_known.then(|| format!("function == 0x{address}"))
        })
        .collect();
    if terms.is_empty() {
        return Err(io::Error::other("the kernel shows no address of the loop driver's functions"));
    }
    Ok(terms.join(" || "))
}

/// The tracing file system, mounted detached: seen by nobody else, gone with its descriptor.
struct Tracefs(OwnedFd);

impl Tracefs {
    fn open() -> io::Result<Self> {
        let context = fsopen("tracefs", FsOpenFlags::FSOPEN_CLOEXEC)?;
        fsconfig_create(&context)?;
        Ok(Self(fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::empty())?))
    }

    fn read(&self, path: &str) -> io::Result<String> {
        let file =
            rustix::fs::openat(&self.0, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
        io::read_to_string(std::fs::File::from(file))
    }

    /// A tracepoint's number.
    fn number(&self, event: &str) -> io::Result<u64> {
        let text = self.read(&format!("events/{event}/id"))?;
        text.trim().parse().map_err(|_| super::malformed(event))
    }

    /// Where a field lies in a tracepoint's data: `field:pid_t next_pid; offset:56; size:4; …`.
    fn field_offset(&self, event: &str, field: &str) -> io::Result<usize> {
        let format = self.read(&format!("events/{event}/format"))?;
        let line = format.lines().find(|line| line.contains(&format!(" {field};")));
        line.and_then(|line| line.split("offset:").nth(1)?.split(';').next()?.parse().ok())
            .ok_or_else(|| super::malformed(event))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_read_by_its_layout() {
        let mut bytes = Vec::new();
        for word in [7u32, 8] {
            bytes.extend(word.to_ne_bytes());
        }
        bytes.extend(1234u64.to_ne_bytes());
        for word in [12u32, 0, 9, 42] {
            bytes.extend(word.to_ne_bytes());
        }
        assert_eq!(parse(Kind::Start, &bytes), Some(Event::Start { at_ns: 1234, thread: 9 }));
        let switch = Event::Switch { at_ns: 1234, from: 9, to: 42 };
        assert_eq!(parse(Kind::Switch(8), &bytes), Some(switch));
        assert_eq!(parse(Kind::Switch(10), &bytes), None);
        assert_eq!(parse(Kind::End, &bytes[..10]), None);
    }
}
