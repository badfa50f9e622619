//! The thread of the kernel that polls a ring for requests, after its ring.
//!
//! The kernel ends it 20 to 100 ms after the ring is closed (`io_ring_exit_work`,
//! io_uring/io_uring.c). Until then it takes a CPU from whatever is measured next.

use std::time::{Duration, Instant};

/// Its name before its maker's number (`io_sq_offload_create`, io_uring/sqpoll.c).
const NAME: &str = "iou-sqp-";
/// The longest that is waited for its end.
const PATIENCE: Duration = Duration::from_secs(2);

/// Waits until no ring that this thread made is polled.
pub(crate) fn wait_for_poller() {
    let begun = Instant::now();
    while is_there() && begun.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Whether a ring that this thread made is polled.
pub(crate) fn is_there() -> bool {
    let name = format!("{NAME}{}", rustix::thread::gettid().as_raw_nonzero());
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let mut names = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("comm")).ok());
    names.any(|known| known.trim_end() == name)
}
