//! The thread that encodes and writes a file of requests: neither compression nor a slow disk keeps
//! the rings from being emptied.
//!
//! It takes its orders in their turn, and few of them wait, so that memory is bounded. After an
//! error it takes none, and whoever gives the next one is told. Where there is one CPU, no thread
//! is of use, and the orders are obeyed where they are given.
//!
//! Non-goals: space on the disk, which is seen to before a row is taken.

use super::DirectFile;
use super::survival::{Key, Survival, SurvivalError};
use crate::clock::now_ns;
use model::record::requests::{Part, PartWriter, Provenance};
use model::record::{Commands, Request};
use rustix::time::ClockId;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{JoinHandle, available_parallelism};

/// Orders that wait at the most: batches of what a tenth of a second can bring.
const WAITING: usize = 16;

/// What the thread is to do next.
#[derive(Debug)]
pub(super) enum Order {
    Rows(Part),
    /// The group ends; this is the last row so far, in the order of the file.
    EndOfGroup(Option<Key>),
    /// From now on a kill leaves what there was.
    Survive(Box<Survival>),
    /// Rows that were done with and are in no group, and what is known of the trace.
    Keep(Vec<Request>, Box<(Commands, Provenance)>),
    /// To say that all before it is done.
    Settle(SyncSender<()>),
}

/// How much is written.
#[derive(Debug, Default)]
struct Written {
    rows: AtomicU64,
    bytes: AtomicU64,
}

/// What the thread works on, and gives back at its end.
#[derive(Debug)]
pub(super) struct Work {
    pub(super) file: PartWriter<DirectFile>,
    pub(super) survival: Option<Survival>,
}

/// Where orders are obeyed.
#[derive(Debug)]
enum Running {
    Here(Box<Work>),
    Thread(SyncSender<Order>, JoinHandle<Result<Work, String>>),
}

/// The thread as it is seen by who gives it orders.
#[derive(Debug)]
pub(super) struct Writer {
    /// None when it has ended.
    running: Option<Running>,
    written: Arc<Written>,
    /// Why it has ended before its time.
    why: String,
}

impl Writer {
    /// Errors: a machine that refuses a thread.
    pub(super) fn begin(file: PartWriter<DirectFile>) -> std::io::Result<Self> {
        let work = Work { file, survival: None };
        let written = Arc::new(Written::default());
        let running = match available_parallelism().is_ok_and(|cpus| cpus.get() > 1) {
            false => Running::Here(Box::new(work)),
            true => {
                let (orders, taken) = sync_channel(WAITING);
                let shown = written.clone();
                let run = move || work.run(&taken, &shown);
                let thread = std::thread::Builder::new().name("lbolt-write".into()).spawn(run)?;
                Running::Thread(orders, thread)
            }
        };
        Ok(Self { running: Some(running), written, why: String::new() })
    }

    /// Gives an order; waits where too many wait already.
    /// Errors: why an earlier order failed.
    pub(super) fn order(&mut self, order: Order) -> Result<(), String> {
        let is_taken = match &mut self.running {
            Some(Running::Thread(orders, _)) => orders.send(order).is_ok(),
            Some(Running::Here(work)) => match work.obey(order, &self.written) {
                Ok(()) => true,
                Err(why) => {
                    (self.running, self.why) = (None, why);
                    false
                }
            },
            None => false,
        };
        if is_taken { Ok(()) } else { Err(self.end().err().unwrap_or_default()) }
    }

    /// Waits until all that was ordered is done.
    /// Errors: why an order failed.
    pub(super) fn settle(&mut self) -> Result<(), String> {
        let (done, is_done) = sync_channel(1);
        self.order(Order::Settle(done))?;
        is_done.recv().or_else(|_| self.end().map(drop))
    }

    /// Rows that are written and how many bytes they take: of the two, the rows may be behind.
    pub(super) fn written(&self) -> (u64, u64) {
        let rows = self.written.rows.load(Ordering::Acquire);
        (rows, self.written.bytes.load(Ordering::Relaxed))
    }

    /// Ends it when all that was ordered is done.
    /// Errors: why an order failed.
    pub(super) fn end(&mut self) -> Result<Work, String> {
        let (orders, thread) = match self.running.take() {
            Some(Running::Thread(orders, thread)) => (orders, thread),
            Some(Running::Here(work)) => return Ok(*work),
            None => return Err(self.why.clone()),
        };
        drop(orders);
        let ended = thread.join().unwrap_or_else(|_| Err("its thread has ended".into()));
        ended.inspect_err(|why| self.why.clone_from(why))
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        // Nobody is left to be told of an error.
        let _ = self.end();
    }
}

impl Work {
    fn run(mut self, orders: &Receiver<Order>, written: &Written) -> Result<Self, String> {
        let mut spent_ns = 0;
        for order in orders {
            self.obey(order, written)?;
            let now_ns = now_ns(ClockId::ThreadCPUTime).unsigned_abs();
            SPENT_NS
                .fetch_add(now_ns - std::mem::replace(&mut spent_ns, now_ns), Ordering::Relaxed);
        }
        Ok(self)
    }

    fn obey(&mut self, order: Order, written: &Written) -> Result<(), String> {
        self.work(order)?;
        written.bytes.store(self.file.anticipated_bytes(), Ordering::Relaxed);
        written.rows.store(self.file.rows(), Ordering::Release);
        Ok(())
    }

    fn work(&mut self, order: Order) -> Result<(), String> {
        match order {
            Order::Rows(part) => self.file.write(part).map_err(|e| e.to_string()),
            Order::EndOfGroup(last) => self.end_group(last),
            Order::Survive(survival) => {
                self.survival = Some(*survival);
                Ok(())
            }
            Order::Keep(rows, known) => {
                let (commands, provenance) = *known;
                self.keep(|survival| survival.add(&rows, &commands, &provenance))
            }
            Order::Settle(done) => {
                // Who has asked may be gone.
                let _ = done.send(());
                Ok(())
            }
        }
    }

    fn end_group(&mut self, last: Option<Key>) -> Result<(), String> {
        self.file.write(Part::EndOfGroup).map_err(|e| e.to_string())?;
        if self.survival.is_none() {
            return Ok(());
        }
        let descriptions = self.file.describe_groups().map_err(|e| e.to_string())?;
        self.file.output_mut().write_through().map_err(|e| e.to_string())?;
        self.keep(|survival| survival.groups_ended(&descriptions, last))
    }

    /// Where there is no space for what a kill is to leave, the capture goes on into the space that
    /// it has, and a kill leaves nothing of it.
    fn keep(
        &mut self,
        keep: impl FnOnce(&mut Survival) -> Result<(), SurvivalError>,
    ) -> Result<(), String> {
        let Some(survival) = &mut self.survival else { return Ok(()) };
        let Err(why) = keep(survival) else { return Ok(()) };
        self.survival.take().into_iter().for_each(Survival::end);
        if why.is_full() { Ok(()) } else { Err(why.to_string()) }
    }
}

/// CPU time of all threads of this process that wrote files of requests.
static SPENT_NS: AtomicU64 = AtomicU64::new(0);

/// CPU time that threads of this process have spent on writing files of requests, in ns.
pub fn writers_ns() -> u64 {
    SPENT_NS.load(Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use super::super::RequestsFile;
    use super::*;
    use crate::intake::Rows as _;
    use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
    use std::collections::BTreeMap;

    /// The file lets nothing be written any more, whatever space it has.
    #[test]
    fn an_error_of_the_thread_reaches_the_next_call_and_each_one_after_it() {
        let directory = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let path = directory.path().join("requests.parquet");
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let memory = memfd_create("requests", flags).unwrap();
        let mut file = RequestsFile::over(memory.try_clone().unwrap().into(), &path).unwrap();
        let (commands, known) = (Commands::default(), Provenance::default());
        file.survive(&known, &BTreeMap::new()).unwrap();
        fcntl_add_seals(&memory, SealFlags::WRITE).unwrap();
        let rows = vec![Request::default(); 40_000];
        file.push_all(&rows, &commands).unwrap();
        let kept = file.keep(&[], &commands, &known).and_then(|()| file.settle());
        let why = kept.unwrap_err().to_string();
        assert!(why.contains("requests.parquet: Operation not permitted"), "{why}");
        let again = file.push_all(&rows, &commands).unwrap_err();
        assert_eq!((again.taken < rows.len(), again.why.to_string()), (true, why.clone()));
        let ended = file.finish(&commands, &known, &BTreeMap::new());
        assert_eq!(ended.unwrap_err().to_string(), why);
    }
}
