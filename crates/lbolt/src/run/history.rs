//! A history read by all cores: each takes a part of its files, and what they found is put together
//! in the order of these parts.

use model::history::{History, Note, Part, Query};
use model::record::RollupRow;

/// More cores wait for the disk.
const MOST_CORES: usize = 8;

/// Reads what is requested into what `new` makes, and puts that together with `join`; and what
/// there is to say of files that could not be read.
pub(crate) fn gather<T: Send>(
    history: &History,
    query: &Query,
    new: impl Fn() -> T + Sync,
    take: impl Fn(&mut T, &RollupRow<'_>) + Sync,
    join: impl Fn(&mut T, T),
) -> (T, Vec<Note>) {
    let parts = history.parts(query);
    let cores = std::thread::available_parallelism().map_or(1, usize::from).min(MOST_CORES);
    let each = parts.len().div_ceil(cores).max(1);
    let read = |parts: &[Part]| {
        let (mut found, mut notes) = (new(), Vec::new());
        for part in parts {
            let done = history.each(part, query, |row| take(&mut found, row));
            notes.extend(done.err());
        }
        (found, notes)
    };
    let found = std::thread::scope(|scope| {
        let readers: Vec<_> = parts.chunks(each).map(|parts| scope.spawn(|| read(parts))).collect();
        readers.into_iter().map(std::thread::ScopedJoinHandle::join).collect::<Vec<_>>()
    });
    let (mut all, mut notes) = (new(), history.notes().to_vec());
    for found in found {
        match found {
            Ok((found, more)) => {
                join(&mut all, found);
                notes.extend(more);
            }
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
    notes.dedup();
    (all, notes)
}
