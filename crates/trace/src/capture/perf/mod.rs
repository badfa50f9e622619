//! The capture of requests where BPF may not be loaded or the kernel does not describe its types:
//! the block layer's tracepoints as perf shows them, each step as an [`Event`] without identity,
//! which are paired by place, *inexactly*.
//!
//! Each CPU has a ring, into which all its tracepoints go, and user space empties it by itself.
//! Source: the tracepoints of Linux 4.14 and later (include/trace/events/block.h),
//! perf_event_open(2); times are CLOCK_MONOTONIC in ns.
//!
//! What is less than by BPF, and why:
//!
//! - *No identity*: a tracepoint's record names no request.
//! - *A bio's entry is a record of its own*, so that a request costs four and not three; of a bio
//!   that is split the first part alone has a time of queueing.
//! - *No cgroup, no tag*: a flush is not known to belong to a request; and nothing tells whether a
//!   request went past the page cache ([`model::record::Flags::DIRECT`] is never set).
//! - *The order of CPUs*: each ring is in order; what is younger than [`HELD`] is held back until
//!   no CPU can come with something older.
//! - *Losses* are given by the ring itself when it has space again, and exactly at the stop (since
//!   Linux 6.0; before, what was lost last may not be known).
//! - *A CPU that comes online* is captured from the next emptying on, and it is told which one.
//!
//! Non-goals: pairing (`pair`), files, which devices there are.

mod decode;
mod error;
mod format;
mod ioctl;
mod selection;

pub(super) use crate::event::Kind;
pub(super) use crate::kernel::Tracefs;
pub(super) use decode::{Decoder, Layout, Seen};
pub use error::PerfError;
pub(super) use selection::DeviceSelection;

use super::{CaptureOptions, Drained, Losses};
use crate::clock::now_ns;
use crate::event::Event;
use crate::intake::{RowsError, Steps};
use decode::SAMPLE;
use error::{of_opening, of_the_ring, other};
use perf_event::events::Tracepoint;
use perf_event::{Builder, Clock, Counter, ReadFormat, Sampler};
use rustix::time::ClockId;
use std::collections::BTreeSet;
use std::ffi::CStr;
use std::time::Duration;

/// How long an event is held back. A CPU can be taken away (a virtual one by its host) between the
/// time of a step and its record.
const HELD: Duration = Duration::from_millis(20);

const RECORD_LOST: u32 = 2;
const RECORD_SAMPLE: u32 = 9;

/// The tracepoints. Completions come first: what is seen to begin is seen to end.
const TRACEPOINTS: [(&str, Kind); 8] = [
    ("block_rq_complete", Kind::Complete),
    ("block_bio_complete", Kind::BioComplete),
    ("block_rq_merge", Kind::BackMerge),
    ("block_bio_backmerge", Kind::BackMerge),
    ("block_bio_frontmerge", Kind::FrontMerge),
    ("block_rq_requeue", Kind::Requeue),
    ("block_rq_issue", Kind::Issue),
    ("block_bio_queue", Kind::Queue),
];
/// Those that tell of a start, the first that the kernel has: io_start is of Linux 6.5.
const STARTS: [&str; 2] = ["block_io_start", "block_getrq"];
/// Not in every kernel.
const OPTIONAL: [&str; 1] = ["block_rq_merge"];

/// The tracepoints of a CPU and the ring that they share.
struct Cpu {
    number: usize,
    /// The first of the tracepoints, whose ring it is.
    ring: Sampler,
    others: Vec<Counter>,
    /// As the ring tells it.
    lost: u64,
    /// By the rings that it had before it was offline.
    lost_before: u64,
}

/// The capture by perf; dropping it ends all of it.
pub struct PerfCapture {
    cpus: Vec<Cpu>,
    opening: Opening,
    /// The CPUs that were online and captured when this was last looked at.
    online: Vec<u32>,
    /// Those that came online meanwhile.
    came: BTreeSet<usize>,
    decoder: Decoder,
    /// Not handed over yet.
    held: Vec<Event>,
    is_stopped: bool,
}

shows!(PerfCapture: decoder);

impl PerfCapture {
    /// Opens and enables the tracepoints on every CPU; from now on steps are recorded.
    /// Errors: whatever stands in the way, with its remedy.
    pub fn load(options: &CaptureOptions) -> Result<Self, PerfError> {
        let selection = DeviceSelection::new(&options.devices)?;
        let tracepoints = tracepoints(&Tracefs::open().map_err(PerfError::Tracefs)?, &TRACEPOINTS)?;
        let numbers = aya::util::online_cpus().map_err(|(path, e)| PerfError::Cpus(path, e))?;
        let opening = Opening {
            ids: tracepoints.iter().map(|(id, _)| *id).collect(),
            filter: selection.filter(),
            ring_bytes: ring_bytes(options.ring_bytes, numbers.len()),
            descriptors: tracepoints.len() * numbers.len(),
        };
        let open = |number: &u32| opening.cpu(*number as usize);
        let mut cpus = numbers.iter().map(open).collect::<Result<Vec<_>, _>>()?;
        enable(&mut cpus)?;
        let layouts = tracepoints.into_iter().map(|(_, layout)| layout).collect();
        let decoder = Decoder::new(layouts, selection, std::process::id());
        Ok(Self {
            cpus,
            opening,
            online: numbers,
            came: BTreeSet::new(),
            decoder,
            held: Vec::new(),
            is_stopped: false,
        })
    }

    /// Opens the tracepoints on CPUs that are online since the last time: the kernel takes them
    /// away from one that goes offline. Where that is refused it is tried again the next time.
    fn follow_cpus(&mut self) {
        let Ok(mut online) = aya::util::online_cpus() else { return };
        if online == self.online {
            return;
        }
        let known = std::mem::take(&mut self.online);
        online.retain(|number| known.contains(number) || self.take_in(*number as usize).is_ok());
        self.online = online;
    }

    fn take_in(&mut self, number: usize) -> Result<(), PerfError> {
        self.came.insert(number);
        let mut cpu = self.opening.cpu(number)?;
        enable(std::slice::from_mut(&mut cpu))?;
        match self.cpus.iter_mut().find(|cpu| cpu.number == number) {
            Some(before) => {
                before.count_lost();
                cpu.lost_before = before.lost + before.lost_before;
                *before = cpu;
            }
            None => self.cpus.push(cpu),
        }
        Ok(())
    }

    /// Hands over what the rings hold, in the order of its time; of the last moment, only after the
    /// stop.
    /// Errors: what `steps` refuses; what was not handed over then stays.
    pub fn drain(&mut self, steps: &mut impl Steps) -> Result<Drained, RowsError> {
        let until_ns = match self.is_stopped {
            true => i64::MAX,
            false => now_ns(ClockId::Monotonic) - HELD.as_nanos() as i64,
        };
        let mut drained = Drained::default();
        for cpu in &mut self.cpus {
            cpu.take(&mut self.decoder, &mut self.held, steps, &mut drained);
        }
        if !self.is_stopped {
            self.follow_cpus();
        }
        // Each ring is a run, which this sort makes use of.
        self.held.sort_by_key(|event| (event.time_ns, event.step.rank(), event.cpu));
        let ready = self.held.partition_point(|event| event.time_ns <= until_ns);
        let mut done = Ok(());
        for event in &self.held[..ready] {
            done = steps.event(*event);
            if done.is_err() {
                break;
            }
            drained.events += 1;
        }
        self.held.drain(..drained.events as usize);
        done.map(|()| drained)
    }

    /// What could not be kept; until the stop, what the rings have told so far.
    pub fn losses(&self) -> Losses {
        let on_new_cpus = self.came.iter().map(|cpu| (*cpu, None)).collect();
        let mut losses = Losses { on_new_cpus, ..Losses::default() };
        for cpu in &self.cpus {
            losses.records.resize(losses.records.len().max(cpu.number + 1), 0);
            losses.records[cpu.number] = cpu.lost + cpu.lost_before;
        }
        losses
    }

    /// No more is recorded, and what is in the rings can be drained.
    /// Errors: a kernel that refuses.
    pub fn stop(&mut self) -> Result<(), PerfError> {
        for place in (0..self.cpus.first().map_or(0, Cpu::tracepoints)).rev() {
            for cpu in &mut self.cpus {
                cpu.counter(place).disable().map_err(other("to be disabled"))?;
            }
        }
        self.cpus.iter_mut().for_each(Cpu::count_lost);
        self.is_stopped = true;
        Ok(())
    }
}

impl Cpu {
    fn tracepoints(&self) -> usize {
        1 + self.others.len()
    }

    /// The tracepoint at this place of their table.
    fn counter(&mut self, place: usize) -> &mut Counter {
        match place {
            0 => self.ring.as_counter_mut(),
            _ => &mut self.others[place - 1],
        }
    }

    /// Empties the ring.
    fn take(
        &mut self,
        decoder: &mut Decoder,
        events: &mut Vec<Event>,
        steps: &mut impl Steps,
        drained: &mut Drained,
    ) {
        while let Some(record) = self.ring.next_record() {
            let bytes = record.to_contiguous();
            drained.bytes += bytes.len() as u64;
            match record.ty() {
                RECORD_SAMPLE => {
                    let decoded = decoder.decode(&bytes, steps, events);
                    drained.malformed += u64::from(decoded.is_err());
                }
                RECORD_LOST => self.lost += lost(&bytes).unwrap_or(0),
                _ => {}
            }
        }
    }

    /// What the tracepoints themselves count as lost, where the kernel does; the rings tell of the
    /// last losses only when there is more to tell.
    fn count_lost(&mut self) {
        let counters = std::iter::once(self.ring.as_counter_mut()).chain(&mut self.others);
        let told = counters.filter_map(|counter| counter.read_full().ok()?.lost());
        self.lost = self.lost.max(told.sum());
    }
}

/// All of a tracepoint before any of the next.
fn enable(cpus: &mut [Cpu]) -> Result<(), PerfError> {
    for place in 0..cpus.first().map_or(0, Cpu::tracepoints) {
        for cpu in &mut *cpus {
            cpu.counter(place).enable().map_err(other("to be enabled"))?;
        }
    }
    Ok(())
}

/// How many a record says that were lost: after the event's number, u64.
fn lost(bytes: &[u8]) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(8..16)?.try_into().ok()?))
}

/// What is the same on all CPUs.
struct Opening {
    ids: Vec<u64>,
    filter: Option<std::ffi::CString>,
    ring_bytes: usize,
    descriptors: usize,
}

impl Opening {
    fn cpu(&self, number: usize) -> Result<Cpu, PerfError> {
        let failed = of_opening(self.descriptors);
        let mut counters = Vec::with_capacity(self.ids.len());
        for id in &self.ids {
            counters.push(open(*id, number, self.filter.as_deref()).map_err(&failed)?);
        }
        let first = counters.remove(0);
        let ring = first.sampled(self.ring_bytes).map_err(of_the_ring(self.ring_bytes))?;
        for counter in &counters {
            ioctl::set_output(counter, ring.as_counter()).map_err(other("to share a ring"))?;
        }
        Ok(Cpu { number, ring, others: counters, lost: 0, lost_before: 0 })
    }
}

/// One tracepoint on one CPU, not enabled yet. Kernels before 6.0 do not count what each lost.
fn open(id: u64, cpu: usize, filter: Option<&CStr>) -> std::io::Result<Counter> {
    let build = |format| {
        Builder::new(Tracepoint::with_id(id))
            .any_pid()
            .one_cpu(cpu)
            .include_kernel()
            .sample_period(1)
            .sample(SAMPLE)
            .read_format(format)
            .clockid(Clock::MONOTONIC)
            .enabled(false)
            .build()
    };
    let counter = match build(ReadFormat::LOST) {
        Err(e) if e.kind() == std::io::ErrorKind::InvalidInput => build(ReadFormat::empty())?,
        built => built?,
    };
    if let Some(filter) = filter {
        ioctl::set_filter(&counter, filter)?;
    }
    Ok(counter)
}

/// Those of the tracepoints that this kernel has, with one that tells of starts: their numbers, and
/// where they have their fields.
pub(super) fn tracepoints(
    tracefs: &Tracefs,
    wanted: &[(&'static str, Kind)],
) -> Result<Vec<(u64, Layout)>, PerfError> {
    let read = |name, file| tracefs.read(name, file).map_err(PerfError::Tracefs);
    let mut found = Vec::new();
    for &(name, kind) in wanted {
        match (read(name, "id")?, read(name, "format")?) {
            (Some(id), Some(format)) => found.push(tracepoint(name, kind, &id, &format)?),
            _ if OPTIONAL.contains(&name) => {}
            _ => return Err(PerfError::NoTracepoint(name)),
        }
    }
    for name in STARTS {
        if let (Some(id), Some(format)) = (read(name, "id")?, read(name, "format")?) {
            found.push(tracepoint(name, Kind::Start, &id, &format)?);
            return Ok(found);
        }
    }
    Err(PerfError::NoTracepoint(STARTS[1]))
}

fn tracepoint(
    name: &'static str,
    kind: Kind,
    id: &str,
    format: &str,
) -> Result<(u64, Layout), PerfError> {
    let number: u16 =
        id.trim().parse().map_err(|_| PerfError::Format { name, what: "number of 16 bits" })?;
    let layout =
        Layout::new(kind, number, format).map_err(|what| PerfError::Format { name, what })?;
    Ok((number.into(), layout))
}

/// Each CPU's share, which is made a power of two of pages.
fn ring_bytes(selection: u32, cpus: usize) -> usize {
    let share = selection as usize / cpus.max(1);
    share.clamp(rustix::param::page_size(), 1 << 30).next_power_of_two()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ring_is_a_cpus_share() {
        let page = rustix::param::page_size();
        assert_eq!(ring_bytes(16 << 20, 2), 8 << 20);
        assert_eq!(ring_bytes(16 << 20, 3), 8 << 20);
        assert_eq!(ring_bytes(0, 128), page);
        assert_eq!(ring_bytes(u32::MAX, 0), 1 << 30);
    }

    #[test]
    fn losses_are_told_by_the_ring() {
        let bytes = [7u64, 133].map(u64::to_ne_bytes).concat();
        assert_eq!(lost(&bytes), Some(133));
        assert_eq!(lost(&bytes[..15]), None);
    }

    #[test]
    fn a_tracepoint_without_a_number_is_refused() {
        for bad in ["", "x", "65536", "-1"] {
            let refused = tracepoint("block_rq_issue", Kind::Issue, bad, "").unwrap_err();
            assert!(refused.to_string().contains("block_rq_issue: its format has no number"));
        }
        let refused = tracepoint("block_rq_issue", Kind::Issue, "7\n", "").unwrap_err();
        assert!(refused.to_string().contains("has no dev"), "{refused}");
    }
}
