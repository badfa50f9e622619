//! The clerk: a thread that takes what comes, asks the timing, and completes each request when it
//! is due. Waking takes a while (a virtual machine's idle CPU: 100 us and more), so it sleeps until
//! so much earlier, and then looks at the clock ([`Waking`]).

use super::lateness::{Count, Lateness};
use super::real_time::be_prompt;
use super::way::Way;
use super::{Came, Timing, Wanted};
use rustix::time::{ClockId, clock_gettime};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How much later than it was to this thread wakes: mean and mean deviation, as TCP's timer has
/// them (RFC 6298).
#[derive(Debug, Clone, Copy)]
struct Waking {
    mean_ns: f64,
    deviation_ns: f64,
}

impl Waking {
    const FIRST: Self = Self { mean_ns: 60e3, deviation_ns: 20e3 };
    /// Looking at the clock takes a CPU: not for longer than that, ns.
    const MOST_NS: f64 = 500e3;

    /// It woke so much later than it was to.
    fn add(&mut self, late_ns: u64) {
        let off_ns = (late_ns as f64).min(Self::MOST_NS) - self.mean_ns;
        self.mean_ns += off_ns / 8.0;
        self.deviation_ns += (off_ns.abs() - self.deviation_ns) / 4.0;
    }

    /// How much earlier to wake, ns.
    fn margin_ns(&self) -> u64 {
        (self.mean_ns + 4.0 * self.deviation_ns).clamp(0.0, Self::MOST_NS) as u64
    }
}

/// CLOCK_MONOTONIC, ns.
pub(super) fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    let whole = u64::try_from(now.tv_sec).unwrap_or(0);
    whole * 1_000_000_000 + u64::try_from(now.tv_nsec).unwrap_or(0)
}

/// Answers a request.
pub(super) type Reply = Box<dyn FnOnce() + Send>;

/// A request with its answer.
struct Given {
    came_ns: u64,
    came: Came,
    reply: Reply,
}

/// Something for the clerk.
enum Note {
    Given(Given),
    Serve(Box<dyn Timing>, Way),
}

/// When a request came and was answered while the way was measured, ns.
pub(super) type Stamps = (u64, u64);

/// What others see of the clerk.
pub(super) struct Clerk {
    notes: Sender<Note>,
    inbox: Mutex<Option<Receiver<Note>>>,
    count: Mutex<Count>,
    stamps: Mutex<Vec<Stamps>>,
    /// What a request takes while the way is measured, ns.
    takes_ns: AtomicU64,
    /// The number of the next request.
    next: AtomicU64,
}

impl Default for Clerk {
    fn default() -> Self {
        let (notes, inbox) = channel();
        let inbox = Mutex::new(Some(inbox));
        let (count, stamps) = (Mutex::default(), Mutex::default());
        let (takes_ns, next) = (AtomicU64::new(0), AtomicU64::new(0));
        Self { notes, inbox, count, stamps, takes_ns, next }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Clerk {
    /// Takes a request over, and gives it the next number.
    pub(super) fn give(
        &self,
        came_ns: u64,
        wanted: Wanted,
        (at, length): (u64, u32),
        reply: Reply,
    ) {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let came = Came { number, wanted, offset_bytes: at, length_bytes: length };
        // The clerk ends with the process.
        let _ = self.notes.send(Note::Given(Given { came_ns, came, reply }));
    }

    pub(super) fn serve(&self, timing: Box<dyn Timing>, way: Way) {
        let _ = self.notes.send(Note::Serve(timing, way));
    }

    pub(super) fn lateness(&self) -> Lateness {
        std::mem::take(&mut *locked(&self.count)).lateness()
    }

    /// From now on a request takes so long, while the way is measured.
    pub(super) fn take_for(&self, takes_ns: u64) {
        self.takes_ns.store(takes_ns, Ordering::Relaxed);
    }

    /// The stamps since the last call.
    pub(super) fn take_stamps(&self) -> Vec<Stamps> {
        std::mem::take(&mut *locked(&self.stamps))
    }

    /// The clerk's work, until there is nobody who could give it any.
    pub(super) fn work(&self) {
        be_prompt();
        let Some(inbox) = locked(&self.inbox).take() else { return };
        let Some(mut desk) = self.complete_at_once(&inbox) else { return };
        let mut waking = Waking::FIRST;
        loop {
            if let Ok(note) = inbox.try_recv() {
                desk.heed(note, &self.count);
                continue;
            }
            let now = now_ns();
            desk.advance(now);
            if desk.complete(now, &self.count) {
                continue;
            }
            let wait_ns = desk.next_ns().map(|next_ns| next_ns.saturating_sub(now));
            let waited = match wait_ns {
                Some(wait_ns) if wait_ns <= waking.margin_ns() => {
                    std::hint::spin_loop();
                    continue;
                }
                Some(wait_ns) => {
                    let sleep_ns = wait_ns - waking.margin_ns();
                    let waited = inbox.recv_timeout(Duration::from_nanos(sleep_ns));
                    if waited.is_err() {
                        waking.add(now_ns().saturating_sub(now + sleep_ns));
                    }
                    waited
                }
                None => inbox.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            match waited {
                Ok(note) => desk.heed(note, &self.count),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    /// Sleeps, and looks at the clock for the rest, as before a completion that is due.
    fn pass_time(&self) {
        let takes_ns = self.takes_ns.load(Ordering::Relaxed);
        let until_ns = now_ns() + takes_ns;
        if takes_ns > 0 {
            let sleep_ns = takes_ns.saturating_sub(Waking::FIRST.margin_ns());
            std::thread::sleep(Duration::from_nanos(sleep_ns));
            while now_ns() < until_ns {
                std::hint::spin_loop();
            }
        }
    }

    /// Until there is a timing.
    fn complete_at_once(&self, inbox: &Receiver<Note>) -> Option<Desk> {
        loop {
            match inbox.recv().ok()? {
                Note::Serve(timing, way) => return Some(Desk::new(timing, way)),
                Note::Given(Given { came_ns, reply, .. }) => {
                    self.pass_time();
                    locked(&self.stamps).push((came_ns, now_ns()));
                    reply();
                }
            }
        }
    }
}

/// A request that is not completed yet.
struct Open {
    /// When it came to the modelled device, ns.
    arrived_ns: u64,
    /// What of the way is still to come, ns: among others, and alone.
    out_ns: [u64; 2],
    reply: Reply,
}

/// What the clerk has before it.
struct Desk {
    timing: Box<dyn Timing>,
    way: Way,
    open: HashMap<u64, Open>,
    /// When requests are to be answered, ns, their numbers, and what is taken off for the way.
    due: BinaryHeap<Reverse<(u64, u64, u64)>>,
    known: Vec<(u64, u64)>,
    /// No call of the timing names an earlier moment, ns.
    last_ns: u64,
}

impl Desk {
    fn new(timing: Box<dyn Timing>, way: Way) -> Self {
        let (open, due) = (HashMap::new(), BinaryHeap::new());
        Self { timing, way, open, due, known: vec![], last_ns: 0 }
    }

    fn heed(&mut self, note: Note, count: &Mutex<Count>) {
        match note {
            Note::Given(given) => self.take(given),
            Note::Serve(timing, way) => self.change(timing, way, count),
        }
    }

    fn take(&mut self, given: Given) {
        let Given { came_ns, came, reply } = given;
        let [busy, alone] = [false, true].map(|is_alone| self.way.of(came.wanted, is_alone));
        let part = if self.open.is_empty() { alone } else { busy };
        let arrived_ns = came_ns.saturating_sub(part.in_ns(came.length_bytes));
        let out_ns = [busy, alone].map(|part| part.out_ns(came.length_bytes));
        self.last_ns = self.last_ns.max(arrived_ns);
        self.timing.come(self.last_ns, &came);
        let open = Open { arrived_ns, out_ns, reply };
        self.open.insert(came.number, open);
    }

    /// Another timing: what the old one has not completed is completed now.
    fn change(&mut self, timing: Box<dyn Timing>, way: Way, count: &Mutex<Count>) {
        for (_, open) in self.open.drain() {
            (open.reply)();
        }
        self.due.clear();
        (self.timing, self.way) = (timing, way);
        *locked(count) = Count::default();
    }

    fn advance(&mut self, now_ns: u64) {
        self.last_ns = self.last_ns.max(now_ns);
        self.timing.advance(self.last_ns, &mut self.known);
        for (number, at_ns) in self.known.drain(..) {
            let is_alone = usize::from(self.open.len() == 1);
            let out_ns = self.open.get(&number).map_or(0, |open| open.out_ns[is_alone]);
            self.due.push(Reverse((at_ns.saturating_sub(out_ns), number, out_ns)));
        }
    }

    /// Completes what is due; says whether anything was.
    fn complete(&mut self, now_ns: u64, count: &Mutex<Count>) -> bool {
        let mut is_any = false;
        while let Some(Reverse((due_ns, number, out_ns))) = self.due.peek().copied() {
            if due_ns > now_ns {
                break;
            }
            self.due.pop();
            is_any = true;
            let Some(open) = self.open.remove(&number) else { continue };
            // The answer's own time is of the way, as it was measured.
            let done_ns = self::now_ns() + out_ns;
            (open.reply)();
            let modelled_ns = due_ns + out_ns;
            let is_too_quick = due_ns < open.arrived_ns;
            locked(count).add(open.arrived_ns, modelled_ns, done_ns, is_too_quick);
        }
        is_any
    }

    /// When there is something to do.
    fn next_ns(&self) -> Option<u64> {
        let due_ns = self.due.peek().map(|Reverse((due_ns, ..))| *due_ns);
        [due_ns, self.timing.next_ns()].into_iter().flatten().min()
    }
}
