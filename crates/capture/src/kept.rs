//! What is known besides the rows, written again and again while a capture goes on: a kill leaves
//! calls, waits and processes as they were a second before, and the sums of quick requests as they
//! were some seconds before. A thread writes it, so that a slow disk holds no capture up.
//!
//! Non-goals: rows (`trace::output`); what the sums are (`quick`).

use super::now_ns;
use model::record::{Context, Summed};
use rustix::time::ClockId;
use std::io;
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// All sums are written anew: the more there are, the less often.
const EVERY: Duration = Duration::from_secs(2);
const FOR_EACH: Duration = Duration::from_micros(200);

/// What writes it.
#[derive(Debug)]
pub(super) struct Kept {
    due: Instant,
    /// What became known and was not taken yet, because the one before is still being written.
    news: Context,
    /// Until it ends; then the thread's CPU time.
    to: Option<SyncSender<Context>>,
    thread: Option<JoinHandle<i64>>,
}

impl Kept {
    /// `write` takes what became known since the last time, and all sums so far, if any.
    /// Errors: no thread can be had.
    pub(super) fn begin(write: impl FnMut(Context) + Send + 'static) -> io::Result<Self> {
        let (to, all) = sync_channel(0);
        let work = move || {
            all.into_iter().for_each(write);
            now_ns(ClockId::ThreadCPUTime)
        };
        let thread = std::thread::Builder::new().name("lbolt-kept".into()).spawn(work)?;
        let news = Context::default();
        Ok(Self { due: Instant::now() + EVERY, news, to: Some(to), thread: Some(thread) })
    }

    /// Writes what became known, and the sums so far, if it is time for them.
    pub(super) fn look(&mut self, news: Context, sums_so_far: impl FnOnce() -> Vec<Summed>) {
        self.news.extend(news);
        let Some(to) = &self.to else { return };
        if Instant::now() >= self.due {
            self.news.summed = sums_so_far();
            let count = u32::try_from(self.news.summed.len()).unwrap_or(u32::MAX);
            self.due = Instant::now() + EVERY + FOR_EACH * count;
        }
        if let Err(TrySendError::Full(news)) = to.try_send(std::mem::take(&mut self.news)) {
            self.news = news;
        }
    }

    /// Writes no more; the CPU time that it took, in ns.
    pub(super) fn end(&mut self) -> i64 {
        drop(self.to.take());
        self.thread.take().map_or(0, |thread| thread.join().unwrap_or(0))
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.end();
    }
}
