//! Sums of quick requests, written again and again while a capture goes on: a kill leaves them as
//! they were some seconds before. A thread writes them, so that a slow disk holds no capture up.
//!
//! Non-goals: rows (`trace::output`); what the sums are (`quick`).

use super::now_ns;
use model::record::Summed;
use rustix::time::ClockId;
use std::io;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// All are written anew: the more there are, the less often.
const EVERY: Duration = Duration::from_secs(2);
const FOR_EACH: Duration = Duration::from_micros(200);

/// What writes them.
#[derive(Debug)]
pub(super) struct KeptSums {
    due: Instant,
    /// Until it ends; then the thread's CPU time.
    to: Option<SyncSender<Vec<Summed>>>,
    thread: Option<JoinHandle<i64>>,
}

impl KeptSums {
    /// Errors: no thread can be had.
    pub(super) fn begin(write: impl FnMut(Vec<Summed>) + Send + 'static) -> io::Result<Self> {
        let (to, all) = sync_channel(0);
        let work = move || {
            all.into_iter().for_each(write);
            now_ns(ClockId::ThreadCPUTime)
        };
        let thread = std::thread::Builder::new().name("lbolt-sums".into()).spawn(work)?;
        Ok(Self { due: Instant::now() + EVERY, to: Some(to), thread: Some(thread) })
    }

    /// Writes the sums so far, if it is time.
    pub(super) fn look(&mut self, so_far: impl FnOnce() -> Vec<Summed>) {
        let Some(to) = self.to.as_ref().filter(|_| Instant::now() >= self.due) else { return };
        let sums = so_far();
        let count = u32::try_from(sums.len()).unwrap_or(u32::MAX);
        self.due = Instant::now() + EVERY + FOR_EACH * count;
        // While the ones before are still being written, these are not: the next ones have them.
        let _ = to.try_send(sums);
    }

    /// Writes no more; the CPU time that it took, in ns.
    pub(super) fn end(&mut self) -> i64 {
        drop(self.to.take());
        self.thread.take().map_or(0, |thread| thread.join().unwrap_or(0))
    }
}

impl Drop for KeptSums {
    fn drop(&mut self) {
        self.end();
    }
}
