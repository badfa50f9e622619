//! A history read by all cores: each takes parts of its files, and what they found is put together
//! in the order of these parts.

use ::verdict::parts::in_order;
use model::history::{History, Note, Part, Query};
use model::record::RollupRow;
use std::convert::Infallible;

/// Pieces that parts are put together to: a day of minutes takes as long as a month of hours, and
/// each piece costs a little.
const PIECES: usize = 64;

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
    let pieces: Vec<&[Part]> = parts.chunks(parts.len().div_ceil(PIECES).max(1)).collect();
    let read = |place: usize| {
        let (mut found, mut notes) = (new(), Vec::new());
        for part in pieces[place] {
            let done = history.each(part, query, |row| take(&mut found, row));
            notes.extend(done.err());
        }
        Ok::<_, Infallible>((found, notes))
    };
    let (mut all, mut notes) = (new(), history.notes().to_vec());
    let Ok(()) = in_order(pieces.len(), read, &mut |(found, more)| {
        join(&mut all, found);
        notes.extend(more);
    });
    notes.dedup();
    (all, notes)
}
