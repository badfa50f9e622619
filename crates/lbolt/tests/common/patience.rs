//! How long tests wait: until something is there, or nobody works on it any more.

use std::process::Child;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// No test waits longer than this for anything: what hangs is to be found, and what is slow beside
/// twenty other programs is not to be taken for it.
pub(super) const PATIENCE: Duration = Duration::from_secs(300);

/// Nor longer than so many times that for what gets on: a loop that never ends works, too.
const MOST: u32 = 4;

/// Waits until something is there.
pub(crate) fn wait_for<T>(what: &str, look: impl FnMut() -> Option<T>) -> T {
    wait_while_it_works(what, || 0, look)
}

/// Waits until something is there, as long as who makes it gets on: on a machine with much else to
/// do, work takes many times as long.
pub(super) fn wait_while_it_works<T>(
    what: &str,
    mut cpu_ticks: impl FnMut() -> u64,
    mut look: impl FnMut() -> Option<T>,
) -> T {
    let (began, mut worked, mut ticks) = (Instant::now(), Instant::now(), 0);
    loop {
        if let Some(found) = look() {
            return found;
        }
        if worked.elapsed() >= PATIENCE {
            let now = cpu_ticks();
            let gets_on = now > ticks && began.elapsed() < MOST * PATIENCE;
            assert!(gets_on, "waited in vain for {what}");
            (worked, ticks) = (Instant::now(), now);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Whether a child ends soon. Who cleans up asks this and goes on: one that the kernel holds, on a
/// frozen file system say, may end only by what is cleaned up next.
pub(crate) fn ends(child: &mut Child) -> bool {
    let began = Instant::now();
    while child.try_wait().is_ok_and(|status| status.is_none()) {
        if began.elapsed() >= PATIENCE / 10 {
            return false;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    true
}

/// Says that it is over when it is dropped, as it is by a panic, too: a thread of a scope that goes
/// on until then is waited for.
pub(crate) struct Over<'a>(pub(crate) &'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The CPU time of a process and of those that it has started, in ticks; 0 where it is gone.
pub(crate) fn cpu_ticks(pid: u32) -> u64 {
    let read = |name: &str| std::fs::read_to_string(format!("/proc/{pid}/{name}"));
    let stat = read("stat").unwrap_or_default();
    // Behind the name in brackets: state, …; utime and stime are the 14th and 15th of all.
    let fields = stat.rsplit(") ").next().unwrap_or_default().split(' ').skip(11).take(2);
    let own: u64 = fields.filter_map(|ticks| ticks.parse::<u64>().ok()).sum();
    let children = read(&format!("task/{pid}/children")).unwrap_or_default();
    let children = children.split_whitespace().filter_map(|child| child.parse().ok());
    own + children.map(cpu_ticks).sum::<u64>()
}
