//! What the account itself costs, measured on this machine: two threads wake each other on one CPU,
//! without the account, with it attached, and with it counting. The time is the kernel
//! scheduler's (/proc/thread-self/schedstat: ns on a CPU, and how often), so that other
//! programs on that CPU do not count. The least disturbed rounds are compared.
//!
//! Non-goals: the cost of each kind of event apart; a switch of threads is the dearest.

use rustix::thread::{CpuSet, sched_getcpu, sched_setaffinity};
use std::io;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use trace::account::CpuAccount;

/// Each with the three states one after the other; the median of their differences is taken.
const TRIALS: usize = 7;
/// Many and short: some of them are not disturbed.
const ROUNDS: usize = 25;
const WAKINGS_A_ROUND: usize = 300;

/// What an event costs, in ns, beyond a kernel without the account.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Cost {
    /// While the account is attached but stopped.
    stopped_ns: f64,
    /// While it counts.
    counting_ns: f64,
}

/// Measures what a switch of threads costs with and without the account. Takes about 3 s, in
/// which no other account may be loaded.
pub(super) fn measure() -> Cost {
    let trials: Vec<Cost> = (0..TRIALS).map(|_| trial()).collect();
    let median = |of: fn(&Cost) -> f64| {
        let mut costs: Vec<f64> = trials.iter().map(of).collect();
        costs.sort_by(f64::total_cmp);
        costs[TRIALS / 2]
    };
    Cost { stopped_ns: median(|c| c.stopped_ns), counting_ns: median(|c| c.counting_ns) }
}

fn trial() -> Cost {
    let bare = least_round();
    let mut account = CpuAccount::load().unwrap();
    let stopped = least_round();
    account.start().unwrap();
    let counting = least_round();
    Cost { stopped_ns: stopped - bare, counting_ns: counting - bare }
}

fn least_round() -> f64 {
    (0..ROUNDS).map(|_| round().unwrap()).fold(f64::INFINITY, f64::min)
}

/// CPU time of two threads for each switch to one of them.
fn round() -> io::Result<f64> {
    let cpu = sched_getcpu();
    // They hold no message: who sends waits until it is taken.
    let (to_second, at_second) = sync_channel(0);
    let (to_first, at_first) = sync_channel(0);
    let runs = std::thread::scope(|scope| {
        let first = scope.spawn(move || wake_each_other(cpu, &to_second, &at_first));
        let second = scope.spawn(move || {
            to_first.send(()).ok();
            wake_each_other(cpu, &to_first, &at_second)
        });
        [first, second]
            .map(|thread| thread.join().map_err(|_| io::Error::other("a thread died"))?)
    });
    let [first, second] = runs;
    let (first, second) = (first?, second?);
    Ok((first.ns + second.ns) as f64 / (first.times + second.times).max(1) as f64)
}

/// How long and how often a thread was on a CPU.
struct Runs {
    ns: u64,
    times: u64,
}

impl Runs {
    fn read() -> io::Result<Self> {
        const PATH: &str = "/proc/thread-self/schedstat";
        let text = std::fs::read_to_string(PATH)?;
        let field = |n| text.split_whitespace().nth(n)?.parse().ok();
        let runs = (|| Some(Self { ns: field(0)?, times: field(2)? }))();
        runs.ok_or_else(|| io::ErrorKind::InvalidData.into())
    }
}

/// One of the two: waits to be woken, wakes the other. It ends when the other has ended.
fn wake_each_other(cpu: usize, other: &SyncSender<()>, own: &Receiver<()>) -> io::Result<Runs> {
    let mut one = CpuSet::new();
    one.set(cpu);
    sched_setaffinity(None, &one)?;
    let before = Runs::read()?;
    for _ in 0..WAKINGS_A_ROUND {
        if own.recv().is_err() || other.send(()).is_err() {
            break;
        }
    }
    let after = Runs::read()?;
    Ok(Runs { ns: after.ns - before.ns, times: after.times - before.times })
}
