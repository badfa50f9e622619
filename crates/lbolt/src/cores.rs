//! Independent pieces of work on all cores.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

/// Does the work on every item, as many at once as there are cores; the results are in the items'
/// order.
pub(crate) fn map<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let next = AtomicUsize::new(0);
    let (sender, receiver) = mpsc::channel();
    let mut done: Vec<(usize, R)> = std::thread::scope(|scope| {
        for _ in 0..cores.min(items.len()) {
            let (sender, next, work) = (sender.clone(), &next, &work);
            scope.spawn(move || {
                loop {
                    let place = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(place) else { break };
                    if sender.send((place, work(item))).is_err() {
                        break;
                    }
                }
            });
        }
        drop(sender);
        receiver.iter().collect()
    });
    done.sort_by_key(|(place, _)| *place);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn results_are_in_order() {
        let items: Vec<u64> = (0..1000).collect();
        assert_eq!(super::map(&items, |item| item * 2), (0..2000).step_by(2).collect::<Vec<_>>());
        assert!(super::map(&[] as &[u64], |item| *item).is_empty());
    }
}
