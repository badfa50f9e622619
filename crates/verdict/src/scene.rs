//! A device's time as its waits are weighed in it: how far each slice was from calm for a waiter,
//! and whose each part of a wait is.
//!
//! Non-goals: what was lost (`super::weigh`).

use super::actors::{Actors, JOURNAL, RoleId};
use super::book::{Book, Cell};
use super::calm::{OwnPart, OwnParts};
use super::disk::{HELD, Part, PartNumber, THROTTLED};
use super::run_queue::{Queued, RunQueue};
use model::record::Op;

/// What is known of a device's time.
pub(crate) struct Scene<'a> {
    pub(crate) book: &'a Book,
    /// What a number stands for in the book.
    pub(crate) part: &'a dyn Fn(PartNumber) -> Part,
    pub(crate) actors: &'a Actors,
    /// The part of all CPUs' time that was stolen, by slice of the book.
    stolen: Vec<f64>,
    /// Who waited for a CPU.
    queue: RunQueue,
    /// How long roles were busy, all together, by slice; journals act for everybody.
    all_ns: Vec<i64>,
}

impl<'a> Scene<'a> {
    pub(crate) fn new(
        book: &'a Book,
        actors: &'a Actors,
        part: &'a dyn Fn(PartNumber) -> Part,
        (stolen, queue): (Vec<f64>, RunQueue),
    ) -> Self {
        let mut all_ns = Vec::new();
        for (role, busy_ns) in book.busy_ns.iter().enumerate() {
            if all_ns.len() < busy_ns.len() {
                all_ns.resize(busy_ns.len(), 0);
            }
            if role != usize::from(JOURNAL.0) {
                all_ns.iter_mut().zip(busy_ns).for_each(|(sum, ns)| *sum += ns);
            }
        }
        Self { book, part, actors, stolen, queue, all_ns }
    }

    /// For which part of a slice others were busy.
    fn others(&self, slice: usize, waiter: RoleId) -> f64 {
        let own_ns = self.book.busy_ns.get(usize::from(waiter.0)).and_then(|of| of.get(slice));
        let own_ns = own_ns.filter(|_| waiter != JOURNAL).copied().unwrap_or(0);
        let all_ns = self.all_ns.get(slice).copied().unwrap_or(0);
        ((all_ns - own_ns) as f64 / self.book.width_ns as f64).min(1.0)
    }

    /// How many of a cell's waits went on at once, in the mean (Little's law).
    pub(crate) fn at_once(&self, cell: &Cell<'_>) -> f64 {
        let slices = cell.spanned(self.book.width_ns).len() as f64;
        cell.sum_ns as f64 / (slices * self.book.width_ns as f64)
    }

    fn stolen(&self, slice: usize) -> f64 {
        self.stolen.get(slice).copied().unwrap_or(0.0)
    }

    /// For which part of the time others were busy while waits of a slice went on, and how far that
    /// is from calm: CPUs may have been stolen, or waited for. A wait may reach into the next
    /// slice.
    pub(crate) fn unrest(&self, slice: usize, waiter: RoleId) -> (f64, f64) {
        let others = self.others(slice, waiter).max(self.others(slice + 1, waiter));
        let of = |slice| self.stolen(slice).max(self.queue.unrest(slice, waiter));
        (others, others.max(of(slice)).max(of(slice + 1)))
    }

    /// What of a slice's excess stolen CPU time can explain: of the waits' time no larger part than
    /// was stolen of all CPUs' time while they went on. Where a limit held them back it is the
    /// limit that took the time.
    pub(crate) fn stolen_of(&self, cell: &Cell<'_>, excess_ns: f64) -> f64 {
        let spanned = cell.spanned(self.book.width_ns);
        let slices = spanned.len() as f64;
        let stolen = spanned.map(|slice| self.stolen(slice)).sum::<f64>() / slices;
        let most_ns = stolen * (cell.sum_ns as f64 - cell.part_ns(THROTTLED));
        excess_ns.clamp(-most_ns, most_ns)
    }

    /// The parts of a cell's time. What a waiter waited for a CPU is a part of its own, and no
    /// longer of what held it back for a reason that is not known; what those waited who serve the
    /// device, no longer of its own time there.
    pub(crate) fn parts<'s, 'c>(
        &'s self,
        cell: &Cell<'c>,
        waiter: RoleId,
    ) -> impl Iterator<Item = (PartNumber, f64)> + use<'s, 'a, 'c> {
        let queued = self.queue.of(cell, waiter);
        let of_queue = move |number: PartNumber, ns: f64| match queued {
            None => 0.0,
            Some(queued) if usize::from(number) == HELD => ns * queued.held,
            Some(queued) => match (self.part)(number) {
                Part::Act(act) if is_other(act.role, waiter) => 0.0,
                Part::Act(_) | Part::Stalled => ns * queued.served,
                Part::Held | Part::Throttled => 0.0,
            },
        };
        let parts = cell.parts().map(move |(number, ns)| (number, ns - of_queue(number, ns)));
        let all_ns = |queued: Queued| {
            let of_parts = cell.parts().map(|(number, ns)| of_queue(number, ns));
            (queued.number, of_parts.sum())
        };
        parts.chain(queued.map(all_ns))
    }

    /// Whose a part of a wait is: somebody else's request or, without any operation, CPU time; or
    /// the waiter's own affair.
    pub(crate) fn whose(
        &self,
        number: PartNumber,
        waiter: RoleId,
    ) -> Result<(RoleId, Option<Op>), OwnPart> {
        if let Some(holder) = self.queue.holder(number) {
            let is_own = self.queue.are_one(holder, waiter);
            return if is_own { Err(OwnPart::Own) } else { Ok((holder, None)) };
        }
        match (self.part)(number) {
            Part::Act(act) if is_other(act.role, waiter) => Ok((act.role, Some(act.op))),
            Part::Act(_) => Err(OwnPart::Own),
            Part::Held => Err(OwnPart::Held),
            Part::Stalled => Err(OwnPart::Stalled),
            Part::Throttled => Err(OwnPart::Throttled),
        }
    }

    /// Whether a part of a wait is a role's own request.
    pub(crate) fn is_request_of(&self, number: PartNumber, role: RoleId) -> bool {
        let is_queue = self.queue.holder(number).is_some();
        !is_queue && matches!((self.part)(number), Part::Act(act) if act.role == role)
    }

    pub(crate) fn own_parts(&self, cell: &Cell<'_>, waiter: RoleId) -> OwnParts {
        let mut parts_ns = OwnParts::default();
        for (number, ns) in self.parts(cell, waiter) {
            if let Err(own) = self.whose(number, waiter) {
                parts_ns[own as usize] += ns.round() as u64;
            }
        }
        parts_ns
    }
}

/// Whether requests of a role are somebody else's to a waiter.
fn is_other(role: RoleId, waiter: RoleId) -> bool {
    role != waiter && role != JOURNAL
}
