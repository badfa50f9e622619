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
    /// What became known and was not taken yet, because what came before is still being written.
    held: Option<Context>,
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
        Ok(Self { due: Instant::now() + EVERY, held: None, to: Some(to), thread: Some(thread) })
    }

    /// Writes what became known, and the sums so far, if it is time for them. Neither is asked for
    /// while the disk is behind: one is written, one held, and no copies pile up.
    pub(super) fn look(
        &mut self,
        news: impl FnOnce() -> Context,
        sums_so_far: impl FnOnce() -> Vec<Summed>,
    ) {
        let Some(to) = &self.to else { return };
        let next = self.held.take().unwrap_or_else(|| {
            let mut news = news();
            if Instant::now() >= self.due {
                news.summed = sums_so_far();
                let count = u32::try_from(news.summed.len()).unwrap_or(u32::MAX);
                self.due = Instant::now() + EVERY + FOR_EACH * count;
            }
            news
        });
        if let Err(TrySendError::Full(next)) = to.try_send(next) {
            self.held = Some(next);
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

#[cfg(test)]
mod tests {
    use super::*;
    use model::record::Pressure;
    use std::sync::mpsc::channel;

    #[test]
    fn while_a_disk_is_stuck_nothing_is_asked_for_and_later_nothing_is_missing() {
        let (go, stuck) = channel::<()>();
        let (written, all) = channel();
        let mut kept = Kept::begin(move |context| {
            let _ = stuck.recv();
            let _ = written.send(context.pressure.first().map(|one| one.until_ns));
        })
        .unwrap();
        let mut asked = 0;
        let mut look = |kept: &mut Kept| {
            let news = || {
                asked += 1;
                let pressure = vec![Pressure { until_ns: asked, ..Pressure::default() }];
                Context { pressure, ..Context::default() }
            };
            kept.look(news, Vec::new);
            asked
        };
        while look(&mut kept) < 2 {
            std::thread::yield_now();
        }
        (0..1000).for_each(|_| assert_eq!(look(&mut kept), 2));
        drop(go);
        while look(&mut kept) < 4 {
            std::thread::yield_now();
        }
        kept.end();
        let all: Vec<_> = all.iter().flatten().collect();
        assert_eq!(all.get(..3), Some(&[1, 2, 3][..]), "{all:?}");
    }
}
