//! The capture of requests beside a room's passes: in a thread of its own, in the kernel only
//! around the passes that are to be captured, its rows in the run's own directory and on the run's
//! own clock.
//!
//! Non-goals: what the rows mean (`analyze::joined`), which passes are captured (the rooms say).

use crate::command::note;
use crate::command::record::{note_trace, warn_of_contamination};
use crate::exit::of_records;
use crate::room::record::{
    Completions, Cost, Devices, POLL, Readings, Witness, count_losses, resolve, set_epoch,
    thread_cpu_ns,
};
use crate::room::requests::refusal;
use analyze::joined::{Captured, Joined};
use analyze::requests::TraceSummary;
use host::drive::JOB_THREAD;
use model::record::requests::RequestFile;
use model::record::{Commands, Finding, Request, Sample};
use model::run::{RunInfo, footer};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;
use trace::capture::{CaptureOptions, Method, Tracer};
use trace::intake::{Intake, Rows, RowsError};
use trace::output::RequestsFile;

/// Names of threads that the kernel makes to work for a job's io_uring begin so.
const RING_THREAD: &str = "iou-";

/// What is said of a target whose requests nobody can see.
const NO_DEVICE: &str =
    "no requests to capture: there is no block device beneath the target that can be seen";

/// What the thread is told.
enum Order {
    /// Capture these devices, if they are not captured already.
    Begin(Box<Devices>),
    /// Say how many events were lost since the beginning.
    Count,
    /// Out of the kernel, until the next beginning.
    Pause,
    /// Write the rest; the run is over.
    End(Box<RunInfo>),
}

/// What a capture leaves beside its file.
struct Ended {
    findings: Vec<Finding>,
    /// Whether there is a file.
    is_written: bool,
    refused: Option<anyhow::Error>,
}

/// The capture as its session sees it.
pub(crate) struct Beside {
    run: PathBuf,
    orders: Sender<Order>,
    answers: Receiver<Captured>,
    thread: JoinHandle<anyhow::Result<Ended>>,
    /// Of the pass that is about to run: whether it is captured.
    state: Option<Captured>,
    /// Reasons that were told already.
    told: Vec<String>,
    /// Passes that were to be captured, by the place of their samples.
    passes: Vec<(usize, Captured)>,
}

impl Beside {
    /// A capture that waits for its first pass. Times are counted from the origin, in
    /// CLOCK_MONOTONIC.
    ///
    /// # Errors
    /// No thread.
    pub(crate) fn new(run: &Path, origin_ns: i64) -> anyhow::Result<Self> {
        let (orders, taken) = channel();
        let (answering, answers) = channel();
        let path = run.join("requests.parquet");
        let readings = Arc::new(Readings::default());
        let sink = Sink {
            path,
            file: None,
            summary: TraceSummary::default(),
            completions: Completions::new(readings.clone()),
        };
        let work = Work { origin_ns, readings, ..Work::default() };
        let work = move || work.run(sink, &taken, &answering);
        let thread = std::thread::Builder::new().name("lbolt-trace".into()).spawn(work)?;
        let (state, told, passes) = Default::default();
        Ok(Self { run: run.to_owned(), orders, answers, thread, state, told, passes })
    }

    /// A pass is about to begin that is to be captured, or one that is not.
    pub(crate) fn pass_starts(&mut self, devices: Option<&[String]>) {
        self.state = match devices {
            None => {
                self.pause();
                None
            }
            Some([]) => Some(Err(NO_DEVICE.into())),
            Some(names) => Some(resolve(names).map_err(|e| e.to_string()).and_then(|devices| {
                if self.told.is_empty() && self.passes.is_empty() {
                    warn_of_contamination(&devices, &self.run);
                }
                self.ask(Order::Begin(Box::new(devices)))
            })),
        };
        if let Some(Err(reason)) = &self.state
            && !self.told.contains(reason)
        {
            note(&format!("{reason}; the rest is measured"));
            self.told.push(reason.clone());
        }
    }

    /// The pass is over; its sample stands there.
    pub(crate) fn pass_done(&mut self, place: usize) {
        let captured = match self.state.take() {
            None => return,
            Some(Err(reason)) => Err(reason),
            // What was lost before this pass is in the answer to its beginning.
            Some(Ok(before)) => self.ask(Order::Count).map(|lost| lost.saturating_sub(before)),
        };
        self.passes.push((place, captured));
    }

    /// Nothing is captured until the next pass that is to be.
    pub(crate) fn pause(&mut self) {
        // A thread that is gone captures nothing; its reason comes at the end.
        let _ = self.ask(Order::Pause);
    }

    fn ask(&self, order: Order) -> Captured {
        let gone = || "no requests captured: the capture ended before".to_owned();
        self.orders.send(order).map_err(|_| gone())?;
        self.answers.recv().map_err(|_| gone())?
    }

    /// Ends the capture: where the time of the operations in these samples went, and what the trace
    /// holds.
    ///
    /// # Errors
    /// Records that cannot be written or read again.
    pub(crate) fn end(self, samples: &[Sample], info: &RunInfo) -> anyhow::Result<Vec<Finding>> {
        // A thread that is gone has its own error to tell.
        let _ = self.orders.send(Order::End(Box::new(info.clone())));
        let ended = self.thread.join();
        let ended = ended
            .map_err(|_| anyhow::anyhow!("the capture's thread panicked; this is a bug"))??;
        let passes = self.passes.iter();
        let passes = passes.filter_map(|(place, captured)| Some((samples.get(*place)?, captured)));
        let mut joined = Joined::new(passes);
        if ended.is_written {
            let file = RequestFile::open(&self.run.join("requests.parquet")).map_err(of_records)?;
            let mut reader = file.read_all().map_err(of_records)?;
            while let Some(batch) = reader.next_batch().map_err(of_records)? {
                for row in batch.rows() {
                    let name = row.command.map_or("", |command| reader.commands.name(command));
                    joined.add(&row, name);
                }
            }
        }
        match ended.refused {
            Some(error) => Err(error),
            None => Ok([joined.findings(), ended.findings].concat()),
        }
    }
}

/// Whether a thread of lbolt's is a job's, or works for one.
fn is_job(command: &str) -> bool {
    command.starts_with(JOB_THREAD) || command.starts_with(RING_THREAD)
}

/// Where rows go: a file that is made when it is needed, and the figures.
struct Sink {
    path: PathBuf,
    file: Option<RequestsFile>,
    summary: TraceSummary,
    completions: Completions,
}

impl Sink {
    fn file(&mut self) -> Result<&mut RequestsFile, RowsError> {
        let file = match self.file.take() {
            Some(file) => file,
            None => RequestsFile::create(&self.path).map_err(|e| RowsError(Box::new(e)))?,
        };
        Ok(self.file.insert(file))
    }
}

impl Rows for Sink {
    fn push(&mut self, row: &Request, commands: &Commands) -> Result<(), RowsError> {
        self.summary.add(row);
        self.completions.add(row);
        self.file()?.push(row, commands)
    }
}

/// The thread's own: what is in the kernel at the moment, and what all that was there has left.
#[derive(Default)]
struct Work {
    tracer: Option<(Tracer, Witness)>,
    /// The run's time zero, in ns of CLOCK_MONOTONIC.
    origin_ns: i64,
    readings: Arc<Readings>,
    /// What it captures.
    numbers: Vec<u32>,
    witness: Option<Witness>,
    devices: Devices,
    cost: Option<Cost>,
    refused: Option<RowsError>,
}

impl Work {
    /// Does what it is told until the run is over.
    fn run(
        mut self,
        mut sink: Sink,
        orders: &Receiver<Order>,
        answers: &Sender<Captured>,
    ) -> anyhow::Result<Ended> {
        let mut intake = Intake::new(&mut sink, "capture");
        set_epoch(&mut intake);
        intake.set_zero(self.origin_ns);
        intake.set_jobs(is_job);
        let info = loop {
            // What is not in the kernel needs no emptying, and is not to wake beside a pass.
            let patience = if self.tracer.is_some() { POLL } else { Duration::MAX };
            let answer = match orders.recv_timeout(patience) {
                Ok(Order::Begin(devices)) => self.begin(*devices, &mut intake),
                Ok(Order::Count) => Ok(self.lost()),
                Ok(Order::Pause) => {
                    self.pause(&mut intake);
                    Ok(0)
                }
                Ok(Order::End(info)) => break Some(info),
                Err(RecvTimeoutError::Disconnected) => break None,
                Err(RecvTimeoutError::Timeout) => {
                    self.take(&mut intake);
                    continue;
                }
            };
            // Nobody who does not listen has asked.
            let _ = answers.send(answer);
        };
        self.pause(&mut intake);
        let (mut provenance, commands, refused) = intake.end(self.refused);
        let (Some(mut cost), Some(info)) = (self.cost, info) else {
            return Ok(Ended { findings: vec![], is_written: false, refused: None });
        };
        cost.written();
        let costs = cost.findings(&provenance.counts);
        note_trace(&mut provenance, &self.devices, sink.summary.cgroups(), &costs);
        let devices = &self.devices;
        let mut findings = sink.summary.findings(&provenance, |device| devices.name(device));
        findings.extend(costs);
        let held = |device| sink.completions.of(device);
        findings.extend(self.witness.iter().flat_map(|w| w.findings(devices, held)));
        sink.file().map_err(|e| refusal(e).1)?;
        if let Some(file) = sink.file {
            file.finish(&commands, &provenance, &footer(&info)).map_err(of_records)?;
        }
        let refused = refused.map(|error| refusal(error).1);
        Ok(Ended { findings, is_written: true, refused })
    }

    /// Into the kernel; what was lost since it is there.
    fn begin(&mut self, devices: Devices, intake: &mut Intake) -> Captured {
        if self.refused.is_some() {
            return Err("no requests captured: their records took no more".into());
        }
        if self.tracer.is_some() && self.numbers == devices.numbers {
            return Ok(self.lost());
        }
        // Two systems in turn have devices of their own.
        self.pause(intake);
        self.numbers.clone_from(&devices.numbers);
        let before_ns = thread_cpu_ns();
        let options =
            CaptureOptions { devices: devices.numbers.clone(), ..CaptureOptions::default() };
        let (tracer, _) = Tracer::load(&options, Method::Bpf)
            .map_err(|e| format!("no requests captured: failed to {e}"))?;
        intake.note("method", tracer.name().to_owned());
        let witness = Witness::begin(&devices, self.origin_ns, self.readings.clone());
        self.devices.add(devices);
        match &mut self.cost {
            Some(cost) => cost.leave_out(thread_cpu_ns() - before_ns),
            None => self.cost = Some(Cost::begin()),
        }
        self.tracer = Some((tracer, witness));
        Ok(self.lost())
    }

    fn lost(&self) -> u64 {
        let losses = self.tracer.as_ref().and_then(|(tracer, _)| tracer.losses().ok());
        losses.map_or(0, |losses| losses.records.iter().sum::<u64>() + losses.runs + losses.second)
    }

    /// Empties the rings.
    fn take(&mut self, intake: &mut Intake) {
        let Some((tracer, _)) = &mut self.tracer else { return };
        match tracer.drain(intake) {
            Ok(drained) => intake.counts_mut().rejected += drained.malformed,
            Err(refused) => self.refused = Some(refused),
        }
        match &mut self.cost {
            _ if self.refused.is_some() => self.tracer = None,
            Some(cost) => cost.poll(tracer),
            None => {}
        }
    }

    /// Out of the kernel, with what is in the rings.
    fn pause(&mut self, intake: &mut Intake) {
        let Some((mut tracer, mut witness)) = self.tracer.take() else { return };
        if let Some(cost) = &mut self.cost {
            cost.end(&tracer);
        }
        witness.end();
        if let Some(second) = tracer.second_source() {
            intake.note("second_source", second);
        }
        let before_ns = thread_cpu_ns();
        let stopped = tracer.stop();
        if let Some(cost) = &mut self.cost {
            cost.leave_out(thread_cpu_ns() - before_ns);
        }
        // What is in flight now is answered while nobody looks.
        if let Err(refused) = tracer.drain(intake).and_then(|_| intake.interrupt()) {
            self.refused = Some(refused);
        }
        if let Err(error) = stopped.and_then(|()| count_losses(&tracer, intake)) {
            intake.note("lost.unknown", format!("failed to {error}"));
        }
        match &mut self.witness {
            Some(all) => all.add(witness),
            None => self.witness = Some(witness),
        }
    }
}
