//! The block layer's tracepoints as perf shows them in the threads of one process: a second source, for a process
//! during which the first one is blind.
//!
//! An event of perf that belongs to a thread costs nothing while another thread is on the CPU. A thread that the process
//! makes later inherits the events; so there is an event for each thread, tracepoint and CPU, and a ring for each CPU.
//!
//! Source: perf_event_open(2), `inherit` and `inherit_thread`.
//!
//! Non-goals: which request a step belongs to (`pair`); bios of devices with requests, of which the requests tell.

use super::asked::Asked;
use super::decode::{Decoder, Kind};
use super::tracefs::Tracefs;
use super::{Cpu, Opening, PerfError, Threads, disable, enable, tracepoints};
use crate::capture::{CaptureOptions, Drained};
use crate::event::{Event, Step};
use crate::intake::Steps;

/// A ring's room: for some thousand steps, which come in bursts of a device's whole queue.
const RING_BYTES: usize = 256 << 10;

/// Completions come first: what is seen to begin is seen to end.
const TRACEPOINTS: [(&str, Kind); 6] = [
    ("block_rq_complete", Kind::Complete),
    ("block_bio_complete", Kind::BioComplete),
    ("block_rq_merge", Kind::BackMerge),
    ("block_rq_requeue", Kind::Requeue),
    ("block_rq_issue", Kind::Issue),
    ("block_bio_queue", Kind::Queue),
];

/// The steps in one process; dropping it ends all of it.
pub(in crate::capture) struct ProcessCapture {
    cpus: Vec<Cpu>,
    decoder: Decoder,
    events: Vec<Event>,
}

impl std::fmt::Debug for ProcessCapture {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("ProcessCapture").finish_non_exhaustive()
    }
}

impl ProcessCapture {
    /// Opens and enables the tracepoints for every thread of a process on every CPU.
    ///
    /// # Errors
    /// Whatever stands in the way, with its remedy.
    pub(in crate::capture) fn load(
        process: u32,
        options: &CaptureOptions,
    ) -> Result<Self, PerfError> {
        let asked = Asked::new(&options.devices)?;
        let tracefs = Tracefs::open().map_err(PerfError::Tracefs)?;
        let tracepoints = tracepoints(&tracefs, &TRACEPOINTS)?;
        let numbers = aya::util::online_cpus().map_err(|(path, e)| PerfError::Cpus(path, e))?;
        let threads = threads(process).map_err(super::other("the threads of a process"))?;
        let opening = Opening {
            ids: tracepoints.iter().map(|(id, _)| *id).collect(),
            filter: asked.filter(),
            ring_bytes: RING_BYTES,
            descriptors: tracepoints.len() * numbers.len() * threads.len(),
        };
        let open = |number: &u32| opening.cpu(*number as usize, &threads);
        let mut cpus = numbers.iter().map(open).collect::<Result<Vec<_>, _>>()?;
        enable(&mut cpus)?;
        let layouts = tracepoints.into_iter().map(|(_, layout)| layout).collect();
        let decoder = Decoder::new(layouts, asked, std::process::id());
        Ok(Self { cpus, decoder, events: Vec::new() })
    }

    /// The steps since the last time, in the order of their time.
    pub(in crate::capture) fn take(
        &mut self,
        names: &mut impl Steps,
        drained: &mut Drained,
    ) -> impl Iterator<Item = Event> {
        for cpu in &mut self.cpus {
            cpu.take(&mut self.decoder, &mut self.events, names, drained);
        }
        // The bios of a device with requests.
        self.events.retain(|event| !matches!(event.step, Step::Queue(_)));
        self.events.sort_by_key(|event| (event.time_ns, event.step.rank(), event.cpu));
        self.events.drain(..)
    }

    /// Steps for which a ring had no room: until the stop, those that the rings have told of.
    pub(in crate::capture) fn lost(&self) -> u64 {
        self.cpus.iter().map(|cpu| cpu.lost).sum()
    }

    /// No more is recorded.
    ///
    /// # Errors
    /// A kernel that refuses.
    pub(in crate::capture) fn stop(&mut self) -> Result<(), PerfError> {
        disable(&mut self.cpus)
    }
}

/// The threads that a process has now.
fn threads(process: u32) -> std::io::Result<Vec<Threads>> {
    let mut threads = Vec::new();
    for entry in std::fs::read_dir(format!("/proc/{process}/task"))? {
        let number = entry?.file_name().to_str().and_then(|name| name.parse().ok());
        threads.extend(number.map(Threads::Of));
    }
    Ok(threads)
}
