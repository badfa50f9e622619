//! What is noted of a device by slices of time: who was busy there, and how long comparable waits
//! took, by their parts. Slices begin narrow and double their width when there are too many.
//!
//! Non-goals: what is calm and what is need (`super::blame`).

use super::actors::RoleId;
use super::disk::{Act, Part, Waited, Watch};
use super::waits::Class;
use std::collections::BTreeMap;

/// The narrowest slice, in ns.
const WIDTH_NS: i64 = 100_000_000;
/// More slices than these are put together by pairs.
const SLICES_MOST: usize = 1 << 21;

/// Waits of a class that began in a slice.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Cell {
    pub(crate) count: f64,
    pub(crate) sum_ns: f64,
    pub(crate) parts: Vec<(Part, f64)>,
}

impl Cell {
    pub(crate) fn add(&mut self, other: &Self) {
        self.count += other.count;
        self.sum_ns += other.sum_ns;
        other.parts.iter().for_each(|(part, ns)| self.add_part(*part, *ns));
    }

    fn add_part(&mut self, part: Part, ns: f64) {
        match self.parts.iter_mut().find(|(known, _)| *known == part) {
            Some((_, sum)) => *sum += ns,
            None => self.parts.push((part, ns)),
        }
    }
}

/// The book of a device.
#[derive(Debug)]
pub(crate) struct Book {
    pub(crate) width_ns: i64,
    /// How long roles had requests in flight, by slice.
    pub(crate) busy_ns: Vec<Vec<(RoleId, i64)>>,
    /// In an order, so that sums come out the same to the last digit.
    pub(crate) waits: BTreeMap<Class, BTreeMap<usize, Cell>>,
    /// Memory for those who are busy at a moment.
    roles: Vec<RoleId>,
}

impl Default for Book {
    fn default() -> Self {
        Self { width_ns: WIDTH_NS, busy_ns: Vec::new(), waits: BTreeMap::new(), roles: Vec::new() }
    }
}

impl Book {
    /// The slice of a moment; what is before the run's start is in the first.
    fn slice(&mut self, time_ns: i64) -> usize {
        let slice = |width_ns: i64| usize::try_from(time_ns / width_ns).unwrap_or(0);
        while slice(self.width_ns) >= SLICES_MOST {
            self.widen();
        }
        slice(self.width_ns)
    }

    fn widen(&mut self) {
        self.width_ns = self.width_ns.saturating_mul(2);
        let narrow = std::mem::take(&mut self.busy_ns);
        for (place, roles) in narrow.into_iter().enumerate() {
            roles.into_iter().for_each(|(role, ns)| *self.busy_of(place / 2, role) += ns);
        }
        for cells in self.waits.values_mut() {
            let mut wide: BTreeMap<usize, Cell> = BTreeMap::new();
            for (place, cell) in std::mem::take(cells) {
                wide.entry(place / 2).or_default().add(&cell);
            }
            *cells = wide;
        }
    }

    fn busy_of(&mut self, slice: usize, role: RoleId) -> &mut i64 {
        if self.busy_ns.len() <= slice {
            self.busy_ns.resize_with(slice + 1, Vec::new);
        }
        let roles = &mut self.busy_ns[slice];
        let place = roles.iter().position(|(known, _)| *known == role).unwrap_or_else(|| {
            roles.push((role, 0));
            roles.len() - 1
        });
        &mut roles[place].1
    }
}

impl Watch<Class> for Book {
    fn busy(&mut self, from_ns: i64, for_ns: i64, acts: &mut dyn Iterator<Item = Act>) {
        let mut roles = std::mem::take(&mut self.roles);
        roles.clear();
        roles.extend(acts.map(|act| act.role));
        roles.sort_unstable();
        roles.dedup();
        let (mut from_ns, end_ns) = (from_ns.max(0), from_ns.saturating_add(for_ns));
        while from_ns < end_ns {
            let slice = self.slice(from_ns);
            let next_ns = (slice as i64 + 1).saturating_mul(self.width_ns).min(end_ns);
            roles.iter().for_each(|role| *self.busy_of(slice, *role) += next_ns - from_ns);
            from_ns = next_ns;
        }
        self.roles = roles;
    }

    fn waited(&mut self, wait: &Waited<Class>) {
        let slice = self.slice(wait.begin_ns);
        let cell = self.waits.entry(wait.class).or_default().entry(slice).or_default();
        cell.count += 1.0;
        cell.sum_ns += (wait.end_ns - wait.begin_ns) as f64;
        wait.parts.iter().for_each(|(part, ns)| cell.add_part(*part, *ns));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::waits::Kind;
    use model::record::Op;

    #[test]
    fn wider_slices_hold_the_same() {
        let class = Class { device: 1, role: RoleId(3), kind: Kind::Read, size: 0 };
        let act = Act { role: RoleId(3), op: Op::Read };
        let mut book = Book::default();
        let wait = |begin_ns| Waited {
            class,
            begin_ns,
            end_ns: begin_ns + 10,
            parts: vec![(Part::Act(act), 10.0)],
        };
        book.busy(WIDTH_NS - 10, 30, &mut [act, act].into_iter());
        [0, WIDTH_NS, 2 * WIDTH_NS].into_iter().for_each(|begin_ns| book.waited(&wait(begin_ns)));
        let busy = |ns| vec![(act.role, ns)];
        assert_eq!(book.busy_ns, [busy(10), busy(20)]);
        assert_eq!(book.waits[&class].len(), 3);
        // A century later.
        book.waited(&wait(3_000_000_000_000_000_000));
        assert!(book.width_ns > WIDTH_NS);
        assert_eq!(book.busy_ns, [busy(30)]);
        let whole = &book.waits[&class][&0];
        assert_eq!((whole.count, whole.sum_ns, whole.parts[0].1), (3.0, 30.0, 30.0));
    }
}
