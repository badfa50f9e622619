//! On which files the waits were of which time was lost.
//!
//! The rule. What a victim lost to a cause in a slice is divided among the files for which its
//! comparable waits in it went, by what those of each file took beyond calm. A wait's file is that
//! of its request, of its call, or of what its thread waited for; what has none, or is more than
//! there is room for, is of a file that is not known. Sums of a minute are whole numbers, so that
//! those of all minutes are the same however a trace is cut; of a minute and a pair the largest are
//! kept.
//!
//! Limits: who waits for a thread, or reads evicted pages, has no file here; nor has the watch.
//!
//! Non-goals: what files are called ([`crate::names`]), how much was lost (`super::blame`).

use super::Ledger;
use super::book::Cell;
use super::sums::{Cause, Victim};
use super::waits::Class;
use crate::merge::{Merge as _, merged};
use crate::names::Called;
use model::record::{FileKey, FileKind, FileNumber, Request};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Classes, slices and files that are noted of a device's minute; the first ones are.
const NOTED_MOST: usize = 1 << 16;
/// Files that are kept of a class, a cause and a minute: those with the most of the loss.
const KEPT_MOST: usize = 32;

/// Waits of a class that began in a slice and were for a file.
type Place = (Class, usize, Called);

/// How many there were, and how long.
type Sum = (u64, u64);

/// For which files waits were, by slices of a book.
#[derive(Debug, Default)]
pub(crate) struct OnFiles {
    noted: BTreeMap<Place, Sum>,
    /// The last one: waits come in runs.
    last: Option<(Place, Sum)>,
}

impl OnFiles {
    pub(crate) fn add(&mut self, place: Place, ns: u64) {
        match &mut self.last {
            Some((last, sum)) if *last == place => sum.merge((1, ns)),
            _ => {
                self.settle();
                self.last = Some((place, (1, ns)));
            }
        }
    }

    /// Puts the last one to the others.
    pub(crate) fn settle(&mut self) {
        let Some((place, sum)) = self.last.take() else { return };
        if self.noted.len() < NOTED_MOST || self.noted.contains_key(&place) {
            self.noted.entry(place).or_default().merge(sum);
        }
    }

    /// Puts neighbouring slices together.
    pub(crate) fn widen(&mut self) {
        self.settle();
        for ((class, slice, called), sum) in std::mem::take(&mut self.noted) {
            self.noted.entry((class, slice / 2, called)).or_default().merge(sum);
        }
    }

    /// What of a cell's time beyond so much for each wait was of which file, in parts of all of it;
    /// of what was settled.
    pub(crate) fn parts(&self, class: &Class, cell: &Cell<'_>, calm_ns: f64) -> Vec<(Called, f64)> {
        let beyond = |(count, ns): Sum| (ns as f64 - count as f64 * calm_ns).max(0.0);
        let first = (*class, cell.slice, Called::Name(0));
        let noted = self.noted.range(first..);
        let noted = noted.take_while(|((of, slice, _), _)| of == class && *slice == cell.slice);
        let (mut count, mut sum_ns) = (cell.count, cell.sum_ns);
        let mut parts: Vec<(Called, f64)> = Vec::new();
        for ((.., called), sum) in noted {
            (count, sum_ns) = (count.saturating_sub(sum.0), sum_ns.saturating_sub(sum.1));
            parts.push((*called, beyond(*sum)));
        }
        // The rest is of a file that is not known.
        let all_ns = parts.iter().map(|(_, ns)| ns).sum::<f64>() + beyond((count, sum_ns));
        parts.retain(|(_, ns)| *ns > 0.0);
        parts.iter_mut().for_each(|(_, ns)| *ns /= all_ns);
        parts
    }
}

/// What was lost to a cause where waits took longer than in calm: in all, and by file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct LostOn {
    all_ns: u64,
    files: BTreeMap<Called, u64>,
}

merged!(LostOn { all_ns, files });

impl LostOn {
    /// The files, each with its part of the loss.
    pub(crate) fn parts(&self) -> impl Iterator<Item = (Called, f64)> {
        let whole = self.all_ns.max(1) as f64;
        self.files.iter().map(move |(called, ns)| (*called, (*ns as f64 / whole).min(1.0)))
    }
}

/// The same of a class while it is weighed.
#[derive(Debug, Default)]
pub(crate) struct WeighedFiles {
    all_ns: BTreeMap<Cause, f64>,
    files: BTreeMap<(Cause, Called), f64>,
    /// Of the cell that is weighed.
    parts: Vec<(Called, f64)>,
}

impl WeighedFiles {
    /// From here on a cell is weighed whose time is of these files.
    pub(crate) fn begin(&mut self, parts: Vec<(Called, f64)>) {
        self.parts = parts;
    }

    /// What is less than nothing is chance.
    pub(crate) fn lose(&mut self, cause: Cause, ns: f64) {
        if ns <= 0.0 {
            return;
        }
        *self.all_ns.entry(cause).or_default() += ns;
        for (called, part) in &self.parts {
            *self.files.entry((cause, *called)).or_default() += part * ns;
        }
    }

    /// Adds what was lost of a victim's class.
    pub(crate) fn tell(&self, victim: Victim, lost: &mut BTreeMap<(Victim, Cause), LostOn>) {
        for (cause, all_ns) in &self.all_ns {
            let of_cause = self.files.iter().filter(|((by, _), _)| by == cause);
            let mut files: Vec<(Called, u64)> =
                of_cause.map(|((_, called), ns)| (*called, ns.round() as u64)).collect();
            files.sort_unstable_by_key(|(called, ns)| (Reverse(*ns), *called));
            files.truncate(KEPT_MOST);
            let files = files.into_iter().filter(|(_, ns)| *ns > 0).collect();
            let one = LostOn { all_ns: all_ns.round() as u64, files };
            lost.entry((victim, *cause)).or_default().merge(one);
        }
    }
}

impl Ledger {
    /// Notes for which file a request is waited for; one that a limit held back is noted where it
    /// is queued.
    pub(super) fn note_request(
        &mut self,
        row: &Request,
        class: Class,
        (begin_ns, end_ns): (i64, i64),
        is_held_back: bool,
    ) {
        if !self.known.of_files {
            return;
        }
        if let Some(called) = self.known.file_names.of_request(row) {
            let queue = self.known.queues.get(&row.device).copied().filter(|_| !is_held_back);
            let device = self.device(queue.unwrap_or(row.device));
            device.book.note_file(class, (begin_ns, end_ns), called);
        }
    }

    /// The same of a call, or of a wait of a thread; of no file there is nothing to note.
    pub(super) fn note_file(
        &mut self,
        number: FileNumber,
        class: Class,
        (begin_ns, end_ns): (i64, i64),
    ) {
        if !self.known.of_files || number.inode == 0 || !self.time_ns.contains(&begin_ns) {
            return;
        }
        let key = FileKey { kind: FileKind::Regular, number };
        let called = self.known.file_names.at(&key, begin_ns);
        let queue = self.known.queues.get(&class.device).copied().unwrap_or(class.device);
        self.device(queue).book.note_file(class, (begin_ns, end_ns), called);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::actors::RoleId;
    use crate::waits::Kind;

    const CLASS: Class = Class { device: 1, role: RoleId(3), kind: Kind::Read, size: 0 };

    fn noted(sums: &[(usize, u32, u64, u64)]) -> OnFiles {
        let mut files = OnFiles::default();
        for (slice, name, count, ns) in sums {
            (0..*count).for_each(|_| files.add((CLASS, *slice, Called::Name(*name)), *ns));
        }
        files.settle();
        files
    }

    /// Many short waits for one file are no loss beside one long wait for another.
    #[test]
    fn what_is_beyond_calm_is_divided() {
        let files = noted(&[(2, 0, 1000, 50), (2, 1, 1, 10_050), (3, 0, 5, 1000)]);
        let cell = Cell::for_test(2, 1001, 60_050);
        assert_eq!(files.parts(&CLASS, &cell, 50.0), [(Called::Name(1), 1.0)]);
        let whole: f64 = files.parts(&CLASS, &cell, 0.0).iter().map(|(_, part)| part).sum();
        assert!((whole - 1.0).abs() < 1e-12, "{whole}");
        // As much again of a file that is not known.
        let cell = Cell::for_test(2, 1002, 70_100);
        assert_eq!(files.parts(&CLASS, &cell, 50.0), [(Called::Name(1), 0.5)]);
    }

    #[test]
    fn wider_slices_hold_the_same_files() {
        let mut files = noted(&[(2, 0, 1, 100), (3, 0, 1, 100), (4, 1, 1, 9)]);
        files.widen();
        let of = |slice| files.parts(&CLASS, &Cell::for_test(slice, 2, 400), 0.0);
        assert_eq!(
            (of(1), of(2)),
            (vec![(Called::Name(0), 0.5)], vec![(Called::Name(1), 9.0 / 400.0)])
        );
    }

    #[test]
    fn the_files_with_most_of_a_loss_are_kept() {
        let (mut weighed, mut lost) = (WeighedFiles::default(), BTreeMap::new());
        let cause = Cause::first();
        weighed.begin((0..100).map(|name| (Called::Name(name), 0.01)).collect());
        weighed.lose(cause, 1e6);
        weighed.begin(vec![(Called::Name(77), 1.0)]);
        weighed.lose(cause, 5e6);
        weighed.lose(cause, -1e9);
        weighed.tell(Victim::of(&CLASS), &mut lost);
        let of = &lost[&(Victim::of(&CLASS), cause)];
        assert_eq!((of.all_ns, of.files.len()), (6_000_000, KEPT_MOST));
        assert_eq!(of.files[&Called::Name(77)], 5_010_000);
    }
}
