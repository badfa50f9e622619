//! What is noted of a device by slices of time: who was busy there, and how long comparable waits
//! took, by their parts. Slices begin narrow and double their width when there are too many.
//!
//! Non-goals: what is calm and what is need (`super::blame`).

use super::actors::RoleId;
use super::disk::{Act, Part, Waited, Watch};
use super::waits::Class;
use std::collections::{BTreeMap, HashMap};

/// The narrowest slice, in ns.
const WIDTH_NS: i64 = 100_000_000;
/// More slices than these are put together by pairs.
const SLICES_MOST: usize = 1 << 16;

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

/// What a role did in a slice.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Doing {
    /// How long it had requests in flight.
    pub(crate) busy_ns: i64,
    /// Bytes of the requests that it began.
    pub(crate) bytes: u64,
}

/// The book of a device.
#[derive(Debug)]
pub(crate) struct Book {
    pub(crate) width_ns: i64,
    /// By slice, then by role.
    pub(crate) slices: Vec<Vec<(RoleId, Doing)>>,
    pub(crate) waits: HashMap<Class, BTreeMap<usize, Cell>>,
}

impl Default for Book {
    fn default() -> Self {
        Self { width_ns: WIDTH_NS, slices: Vec::new(), waits: HashMap::new() }
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
        let narrow = std::mem::take(&mut self.slices);
        for (place, doings) in narrow.into_iter().enumerate() {
            for (role, doing) in doings {
                let sum = self.doing(place / 2, role);
                sum.busy_ns += doing.busy_ns;
                sum.bytes += doing.bytes;
            }
        }
        for cells in self.waits.values_mut() {
            let mut wide: BTreeMap<usize, Cell> = BTreeMap::new();
            for (place, cell) in std::mem::take(cells) {
                wide.entry(place / 2).or_default().add(&cell);
            }
            *cells = wide;
        }
    }

    fn doing(&mut self, slice: usize, role: RoleId) -> &mut Doing {
        if self.slices.len() <= slice {
            self.slices.resize_with(slice + 1, Vec::new);
        }
        let doings = &mut self.slices[slice];
        let place = doings.iter().position(|(known, _)| *known == role).unwrap_or_else(|| {
            doings.push((role, Doing::default()));
            doings.len() - 1
        });
        &mut doings[place].1
    }

    /// A request of a role began.
    pub(crate) fn began(&mut self, time_ns: i64, role: RoleId, length_bytes: u32) {
        let slice = self.slice(time_ns);
        self.doing(slice, role).bytes += u64::from(length_bytes);
    }
}

impl Watch<Class> for Book {
    fn busy(&mut self, from_ns: i64, for_ns: i64, acts: &mut dyn Iterator<Item = Act>) {
        let mut roles: Vec<RoleId> = acts.map(|act| act.role).collect();
        roles.sort_unstable();
        roles.dedup();
        let (mut from_ns, end_ns) = (from_ns.max(0), from_ns.saturating_add(for_ns));
        while from_ns < end_ns {
            let slice = self.slice(from_ns);
            let next_ns = (slice as i64 + 1).saturating_mul(self.width_ns).min(end_ns);
            roles.iter().for_each(|role| self.doing(slice, *role).busy_ns += next_ns - from_ns);
            from_ns = next_ns;
        }
    }

    fn waited(&mut self, wait: Waited<Class>) {
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
        book.began(5, act.role, 4096);
        [0, WIDTH_NS, 2 * WIDTH_NS].into_iter().for_each(|begin_ns| book.waited(wait(begin_ns)));
        let doing = |busy_ns, bytes| vec![(act.role, Doing { busy_ns, bytes })];
        assert_eq!(book.slices, [doing(10, 4096), doing(20, 0)]);
        assert_eq!(book.waits[&class].len(), 3);
        // A century later.
        book.waited(wait(3_000_000_000_000_000_000));
        assert!(book.width_ns > WIDTH_NS && book.slices.len() == 1);
        assert_eq!(book.slices[0], doing(30, 4096));
        let whole = &book.waits[&class][&0];
        assert_eq!((whole.count, whole.sum_ns, whole.parts[0].1), (3.0, 30.0, 30.0));
    }
}
