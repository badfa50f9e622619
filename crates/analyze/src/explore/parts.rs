//! Work in parts, as many at once as there are cores.
//!
//! Non-goals: the order in which parts are done.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Does parts 0 to `count`, each into what a core has begun with; gives what each core came to.
pub(super) fn in_parts<T: Send>(
    count: usize,
    begin: impl Fn() -> T + Sync,
    work: impl Fn(&mut T, usize) + Sync,
) -> Vec<T> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from).min(count.max(1));
    let next = AtomicUsize::new(0);
    let of_core = || {
        let mut own = begin();
        loop {
            let part = next.fetch_add(1, Ordering::Relaxed);
            if part >= count {
                return own;
            }
            work(&mut own, part);
        }
    };
    if cores == 1 {
        return vec![of_core()];
    }
    std::thread::scope(|scope| {
        let cores: Vec<_> = (0..cores).map(|_| scope.spawn(of_core)).collect();
        let ended = cores.into_iter().map(|core| core.join());
        ended.map(|own| own.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
    })
}
