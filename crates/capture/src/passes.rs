//! The capture of requests during a run's passes (`--trace`): a session in a thread of its own, in
//! the kernel only around the passes that are to be captured, its rows in the run's own directory
//! and on the run's own clock.
//!
//! Non-goals: what the rows mean (`verdict::joined`), which passes are captured (each experiment
//! says).

use super::{Devices, Options, Session, resolve};
use crate::outcome::{outcome, refused};
use ::verdict::joined::{Captured, Joined};
use ::verdict::requests::TraceSummary;
use messages::fault::of_records;
use messages::output::note;
use model::job_role::JOB_THREAD;
use model::record::requests::RequestFile;
use model::record::{Commands, Finding, Request, Sample};
use model::run::{RunInfo, footer};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use trace::intake::{FanOut, ForEach, Refused, Rows, RowsError};
use trace::output::{OutputError, RequestsFile};

/// Names of threads that the kernel makes to work for a job's io_uring begin so.
const RING_THREAD: &str = "iou-";

/// Of a target whose requests nobody can see.
const NO_DEVICE: &str = "no requests captured: no block device is visible under the target";

/// What the thread is to do.
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

/// What the thread leaves besides its file.
#[derive(Default)]
struct Left {
    findings: Vec<Finding>,
    /// Whether there is a file.
    is_written: bool,
    refused: Option<anyhow::Error>,
}

/// The capture of a run's passes, as the run sees it.
pub struct PassCapture {
    run: PathBuf,
    orders: Sender<Order>,
    replies: Receiver<Captured>,
    thread: JoinHandle<anyhow::Result<Left>>,
    /// Of the pass that is about to run: whether it is captured.
    state: Option<Captured>,
    /// Reasons that the user knows already.
    known: Vec<String>,
    /// Passes that were to be captured, by the place of their samples.
    passes: Vec<(usize, Captured)>,
}

impl PassCapture {
    /// A capture that waits for its first pass. Times are counted from the origin, in
    /// CLOCK_MONOTONIC.
    /// Errors: no thread.
    pub fn new(run: &Path, origin_ns: i64) -> anyhow::Result<Self> {
        let (orders, taken) = channel();
        let (replying, replies) = channel();
        let path = run.join("requests.parquet");
        let work = move || serve(path, origin_ns, &taken, &replying);
        let thread = std::thread::Builder::new().name("lbolt-trace".into()).spawn(work)?;
        let (state, known, passes) = Default::default();
        Ok(Self { run: run.to_owned(), orders, replies, thread, state, known, passes })
    }

    /// A pass is about to begin that is to be captured, or one that is not.
    pub fn pass_starts(&mut self, devices: Option<&[String]>) {
        self.state = match devices {
            None => {
                self.pause();
                None
            }
            Some([]) => Some(Err(NO_DEVICE.into())),
            Some(names) => Some(resolve(names).map_err(|e| e.to_string()).and_then(|devices| {
                if self.known.is_empty() && self.passes.is_empty() {
                    devices.warn_of_own_writes(&self.run);
                }
                self.ask(Order::Begin(Box::new(devices)))
            })),
        };
        if let Some(Err(reason)) = &self.state
            && !self.known.contains(reason)
        {
            note(&format!("{reason}; everything else is measured"));
            self.known.push(reason.clone());
        }
    }

    /// The pass is over; its sample stands there.
    pub fn pass_done(&mut self, place: usize) {
        let captured = match self.state.take() {
            None => return,
            Some(Err(reason)) => Err(reason),
            // What was lost before this pass is in the reply to its beginning.
            Some(Ok(before)) => self.ask(Order::Count).map(|lost| lost.saturating_sub(before)),
        };
        self.passes.push((place, captured));
    }

    /// Nothing is captured until the next pass that is to be.
    pub fn pause(&mut self) {
        // A thread that is gone captures nothing; its reason comes at the end.
        let _ = self.ask(Order::Pause);
    }

    fn ask(&self, order: Order) -> Captured {
        let gone = || "no requests captured: the capture had already ended".to_owned();
        self.orders.send(order).map_err(|_| gone())?;
        self.replies.recv().map_err(|_| gone())?
    }

    /// Ends the capture: where the time of the operations in these samples went, and what the trace
    /// holds.
    /// Errors: records that cannot be written or read again.
    pub fn end(self, samples: &[Sample], info: &RunInfo) -> anyhow::Result<Vec<Finding>> {
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

/// A file that is made when it is needed.
struct LazyFile {
    path: PathBuf,
    file: Option<RequestsFile>,
}

impl LazyFile {
    fn file(&mut self) -> Result<&mut RequestsFile, OutputError> {
        let file = match self.file.take() {
            Some(file) => file,
            None => RequestsFile::create(&self.path)?,
        };
        Ok(self.file.insert(file))
    }
}

impl Rows for LazyFile {
    fn push(&mut self, row: &Request, commands: &Commands) -> Result<(), RowsError> {
        self.file()?.push(row, commands)
    }

    fn push_all(&mut self, rows: &[Request], commands: &Commands) -> Result<(), Refused> {
        let file = self.file().map_err(|why| Refused { taken: 0, why: why.into() })?;
        file.push_all(rows, commands)
    }

    fn settle(&mut self) -> Result<(), RowsError> {
        self.file.as_mut().map_or(Ok(()), Rows::settle)
    }
}

/// The thread's work: captures as it is ordered until the run is over.
fn serve(
    path: PathBuf,
    origin_ns: i64,
    orders: &Receiver<Order>,
    replies: &Sender<Captured>,
) -> anyhow::Result<Left> {
    let mut file = LazyFile { path, file: None };
    let mut summary = TraceSummary::default();
    let summed = ForEach::new(|row| summary.add(row));
    let options = Options { zero_ns: Some(origin_ns), ..Options::default() };
    let mut session = Session::new(options, FanOut(&mut file, summed));
    session.set_jobs(is_job);
    let info = session.run(|session| obey(session, orders, replies));
    let mut ended = session.end();
    let Some(info) = info.filter(|_| ended.has_begun) else { return Ok(Left::default()) };
    ended.note(summary.cgroups());
    let name = |device| ended.devices.name(device);
    let findings = [summary.findings(&ended.provenance, name), ended.costs, ended.checks].concat();
    file.file().map_err(refused)?;
    if let Some(file) = file.file {
        let footer = footer(&info);
        file.finish(&ended.commands, &ended.provenance, &footer).map_err(of_records)?;
    }
    let refused = outcome(ended.refused).1.err();
    Ok(Left { findings, is_written: true, refused })
}

/// Does what it is told until the rings are to be emptied. When the run is over: what run.json says
/// of it, or nothing if nobody gives orders any more.
fn obey(
    session: &mut Session<'_>,
    orders: &Receiver<Order>,
    replies: &Sender<Captured>,
) -> Option<Option<Box<RunInfo>>> {
    loop {
        let reply = match orders.recv_timeout(session.patience()) {
            Ok(Order::Begin(devices)) => begin(session, &devices),
            Ok(Order::Count) => Ok(session.lost()),
            Ok(Order::Pause) => {
                session.pause();
                Ok(0)
            }
            Ok(Order::End(info)) => return Some(Some(info)),
            Err(RecvTimeoutError::Disconnected) => return Some(None),
            Err(RecvTimeoutError::Timeout) => return None,
        };
        // Nobody who does not listen has asked.
        let _ = replies.send(reply);
    }
}

/// Into the kernel; how many events were lost since it is there.
fn begin(session: &mut Session<'_>, devices: &Devices) -> Captured {
    if session.is_refused() {
        return Err("no requests captured: their records could not be written".into());
    }
    let limits = session.resume(devices);
    let limits = limits.map_err(|e| format!("no requests captured: failed to {e}"))?;
    limits.sentences().for_each(|sentence| note(&sentence));
    Ok(session.lost())
}
