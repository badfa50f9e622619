//! Work in parts, as many at once as there are cores: the one place that shares work out.
//!
//! Non-goals: what the parts are.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread::Builder;

/// By its name in the crate rayon, which whoever gives a program some of the cores sets (schedulers
/// of clusters).
const THREADS: &str = "RAYON_NUM_THREADS";

/// As many as are to be used: all, unless [`THREADS`] says how many.
fn cores() -> usize {
    let given = std::env::var(THREADS).ok().and_then(|text| text.trim().parse().ok());
    let given = given.filter(|threads| *threads > 0);
    given.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from))
}

/// Does parts 0 to `count`, each into what a core has begun with; gives what each core came to.
/// Which core does which part is chance.
pub fn in_parts<T: Send>(
    count: usize,
    begin: impl Fn() -> T + Sync,
    work: impl Fn(&mut T, usize) + Sync,
) -> Vec<T> {
    let cores = cores().min(count.max(1));
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
    std::thread::scope(|scope| {
        // Where there are no resources for one thread more, those that are there do its parts.
        let other = |_| Builder::new().spawn_scoped(scope, of_core).ok();
        let others: Vec<_> = (1..cores).map_while(other).collect();
        let mut ended = vec![of_core()];
        let joined = others.into_iter().map(|core| core.join());
        ended
            .extend(joined.map(|own| own.unwrap_or_else(|panic| std::panic::resume_unwind(panic))));
        ended
    })
}

/// Does `count` pieces, as many at once as there are cores, and gives `take` what they come to, the
/// first one first.
/// Errors: the first that a piece meets; no more pieces begin then.
pub fn in_order<T: Send, E: Send>(
    count: usize,
    work: impl Fn(usize) -> Result<T, E> + Sync,
    take: &mut impl FnMut(T),
) -> Result<(), E> {
    let cores = cores();
    let next = AtomicUsize::new(0);
    let (done, results) = mpsc::channel();
    std::thread::scope(|scope| {
        let mut threads = 0;
        for _ in 0..cores.min(count) {
            let (done, next, work) = (done.clone(), &next, &work);
            let spawned = Builder::new().spawn_scoped(scope, move || {
                loop {
                    let place = next.fetch_add(1, Ordering::Relaxed);
                    if place >= count {
                        break;
                    }
                    let result = work(place);
                    let is_over = result.is_err();
                    // Nobody takes it where another one failed.
                    if done.send((place, result)).is_err() || is_over {
                        break;
                    }
                }
            });
            threads += usize::from(spawned.is_ok());
        }
        drop(done);
        if threads == 0 {
            return (0..count).try_for_each(|place| work(place).map(&mut *take));
        }
        let mut early = BTreeMap::new();
        let mut wanted = 0;
        for (place, result) in results {
            early.insert(place, result?);
            while let Some(result) = early.remove(&wanted) {
                take(result);
                wanted += 1;
            }
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_their_order_and_an_error_ends_it() {
        let mut taken = Vec::new();
        let work = |place: usize| {
            std::thread::sleep(std::time::Duration::from_micros(7 * (100 - place as u64)));
            Ok::<_, ()>(place)
        };
        in_order(100, work, &mut |place| taken.push(place)).unwrap();
        assert_eq!(taken, (0..100).collect::<Vec<_>>());
        let failing = |place: usize| if place == 5 { Err(place) } else { Ok(place) };
        assert_eq!(in_order(1000, failing, &mut |_| {}), Err(5));
        assert_eq!(in_order(0, failing, &mut |_| {}), Ok(()));
    }
}
