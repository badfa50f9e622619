//! What is noted of a device in a span, by slices of its time: who was busy there, and how long
//! comparable waits took, by their parts. Slices begin narrow and double their width when more is
//! noted than there is room for: what a book takes depends on what happened in the span alone.
//!
//! Non-goals: what is calm and what is need (`super::weigh`).

use super::actors::RoleId;
use super::disk::{PartNumber, Waited, Watch};
use super::waits::Class;
use hashbrown::HashMap;
use std::ops::Range;

/// The narrowest slice, in ns.
const WIDTH_NS: i64 = 100_000_000;
/// More slices than these are put together by pairs.
const SLICES_MOST: usize = 1 << 16;
/// What is noted takes so much memory at the most, nearly: else slices are put together by pairs.
const BYTES_MOST: usize = 20 << 20;
/// What a cell takes of it, and each of its parts, with what vectors hold ready.
const CELL_BYTES: usize = 112;
const PART_BYTES: usize = 24;

/// Waits of a class that began in a slice.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Cell {
    pub(crate) slice: usize,
    pub(crate) count: u64,
    pub(crate) sum_ns: u64,
    /// In the order of their numbers.
    pub(crate) parts: Vec<(PartNumber, f64)>,
}

impl Cell {
    /// Of a slice, in which none began yet.
    fn of(slice: usize) -> Self {
        Self { slice, ..Self::default() }
    }

    fn bytes(&self) -> usize {
        CELL_BYTES + PART_BYTES * self.parts.len()
    }

    fn add(&mut self, other: &Self) {
        self.count += other.count;
        self.sum_ns += other.sum_ns;
        self.add_parts(&other.parts);
    }

    /// Adds parts that are in the order of their numbers. Says how many are new.
    fn add_parts(&mut self, parts: &[(PartNumber, f64)]) -> usize {
        let (mut place, before) = (0, self.parts.len());
        for (number, ns) in parts {
            while self.parts.get(place).is_some_and(|(known, _)| known < number) {
                place += 1;
            }
            match self.parts.get_mut(place) {
                Some((known, sum)) if known == number => *sum += ns,
                _ => self.parts.insert(place, (*number, *ns)),
            }
        }
        self.parts.len() - before
    }
}

/// The cell of a slice, which is most often one of the last; whether it is new.
fn cell_of(cells: &mut Vec<Cell>, slice: usize) -> (&mut Cell, bool) {
    let place = cells.iter().rposition(|cell| cell.slice <= slice);
    let (place, is_new) = match place {
        Some(place) if cells[place].slice == slice => (place, false),
        Some(place) => (place + 1, true),
        None => (0, true),
    };
    if is_new {
        cells.insert(place, Cell::of(slice));
    }
    (&mut cells[place], is_new)
}

/// The waits of a class.
#[derive(Debug, Default)]
struct Page {
    /// In the order of their slices.
    cells: Vec<Cell>,
    /// The last slice's cell while it is added to, but for its parts, which are here by number:
    /// most waits are of it, and many parts are found quickly so.
    open: Option<Cell>,
    open_parts: Vec<f64>,
    /// What the cells take, but for the open one.
    bytes: usize,
}

impl Page {
    fn add(&mut self, slice: usize, took_ns: u64, parts: &mut [(PartNumber, f64)]) {
        if self.open.as_ref().is_none_or(|open| open.slice < slice) {
            self.settle();
            self.open(slice);
        }
        match &mut self.open {
            Some(open) if open.slice == slice => {
                (open.count, open.sum_ns) = (open.count + 1, open.sum_ns + took_ns);
                let last = parts.iter().map(|(number, _)| usize::from(*number)).max();
                let most = last.map_or(0, |last| last + 1);
                if self.open_parts.len() < most {
                    self.open_parts.resize(most, 0.0);
                }
                for (number, ns) in parts {
                    self.open_parts[usize::from(*number)] += *ns;
                }
            }
            _ => {
                let (cell, is_new) = cell_of(&mut self.cells, slice);
                (cell.count, cell.sum_ns) = (cell.count + 1, cell.sum_ns + took_ns);
                parts.sort_unstable_by_key(|(number, _)| *number);
                self.bytes += PART_BYTES * cell.add_parts(parts);
                self.bytes += if is_new { CELL_BYTES } else { 0 };
            }
        }
    }

    /// Opens the cell of a slice, if that is the last.
    fn open(&mut self, slice: usize) {
        if self.cells.last().is_some_and(|last| last.slice > slice) {
            return;
        }
        let known = self.cells.pop_if(|cell| cell.slice == slice);
        self.bytes -= known.as_ref().map_or(0, Cell::bytes);
        let mut open = known.unwrap_or_else(|| Cell::of(slice));
        for (number, ns) in open.parts.drain(..) {
            let number = usize::from(number);
            if self.open_parts.len() <= number {
                self.open_parts.resize(number + 1, 0.0);
            }
            self.open_parts[number] = ns;
        }
        self.open = Some(open);
    }

    /// Puts the open cell to the others.
    fn settle(&mut self) {
        let Some(mut open) = self.open.take() else { return };
        let count = self.open_parts.iter().filter(|ns| **ns > 0.0).count();
        open.parts.reserve_exact(count);
        for (number, ns) in self.open_parts.iter_mut().enumerate().filter(|(_, ns)| **ns > 0.0) {
            open.parts.push((number as PartNumber, std::mem::take(ns)));
        }
        self.bytes += open.bytes();
        self.cells.push(open);
    }
}

/// The book of a device.
#[derive(Debug)]
pub(crate) struct Book {
    pub(crate) time_ns: Range<i64>,
    pub(crate) width_ns: i64,
    /// How long roles had requests in flight, by role and slice.
    pub(crate) busy_ns: Vec<Vec<i64>>,
    waits: HashMap<Class, Page>,
    /// What the pages take.
    bytes: usize,
    bytes_most: usize,
}

impl Book {
    /// Of a span in which nothing was noted yet.
    pub(crate) fn new(time_ns: Range<i64>) -> Self {
        let mut book = Self {
            time_ns,
            width_ns: WIDTH_NS,
            busy_ns: Vec::new(),
            waits: HashMap::new(),
            bytes: 0,
            bytes_most: BYTES_MOST,
        };
        while book.slices() > SLICES_MOST {
            book.width_ns = book.width_ns.saturating_mul(2);
        }
        book
    }

    /// Puts what is open to the rest.
    pub(crate) fn settle(&mut self) {
        self.waits.values_mut().for_each(Page::settle);
        self.bytes = self.waits.values().map(|page| page.bytes).sum();
    }

    /// Classes with their cells, in an order that depends on nothing but the classes; of what was
    /// settled.
    pub(crate) fn waits(&self) -> Vec<(&Class, &[Cell])> {
        let pages = self.waits.iter().map(|(class, page)| (class, page.cells.as_slice()));
        let mut waits: Vec<_> = pages.collect();
        waits.sort_unstable_by_key(|(class, _)| **class);
        waits
    }

    /// Slices in which waits can begin.
    pub(crate) fn slices(&self) -> usize {
        let whole_ns = self.time_ns.end.saturating_sub(self.time_ns.start).max(0) as u64;
        usize::try_from(whole_ns.div_ceil(self.width_ns.max(1) as u64)).unwrap_or(usize::MAX)
    }

    /// The slice of a moment; what is before the span is in its first.
    fn slice(&self, time_ns: i64) -> usize {
        let since_ns = time_ns.saturating_sub(self.time_ns.start).max(0);
        usize::try_from(since_ns / self.width_ns).unwrap_or(usize::MAX)
    }

    /// When a slice begins.
    pub(crate) fn begin_ns(&self, slice: usize) -> i64 {
        let since_ns = i64::try_from(slice).unwrap_or(i64::MAX).saturating_mul(self.width_ns);
        self.time_ns.start.saturating_add(since_ns)
    }

    fn widen(&mut self) {
        self.settle();
        self.width_ns = self.width_ns.saturating_mul(2);
        for slices in &mut self.busy_ns {
            *slices = slices.chunks(2).map(|pair| pair.iter().sum()).collect();
        }
        self.bytes = 0;
        for page in self.waits.values_mut() {
            let mut wide: Vec<Cell> = Vec::with_capacity(page.cells.len() / 2 + 1);
            for cell in std::mem::take(&mut page.cells) {
                cell_of(&mut wide, cell.slice / 2).0.add(&cell);
            }
            page.bytes = wide.iter().map(Cell::bytes).sum();
            self.bytes += page.bytes;
            page.cells = wide;
        }
    }
}

impl Watch<Class> for Book {
    /// A wait may reach into the slice behind its own; what comes later tells nothing of it.
    fn busy(&mut self, from_ns: i64, until_ns: i64, role: RoleId) {
        let end_ns = self.begin_ns(self.slices() + 1).min(until_ns);
        let mut from_ns = from_ns.max(self.time_ns.start);
        if from_ns >= end_ns {
            return;
        }
        let (role, last) = (usize::from(role.0), self.slice(end_ns - 1));
        if self.busy_ns.len() <= role {
            self.busy_ns.resize_with(role + 1, Vec::new);
        }
        if self.busy_ns[role].len() <= last {
            self.busy_ns[role].resize(last + 1, 0);
        }
        while from_ns < end_ns {
            let slice = self.slice(from_ns);
            let next_ns = self.begin_ns(slice + 1).min(end_ns);
            self.busy_ns[role][slice] += next_ns - from_ns;
            from_ns = next_ns;
        }
    }

    fn waited(&mut self, wait: &mut Waited<Class>) {
        let slice = self.slice(wait.begin_ns);
        let took_ns = wait.end_ns.saturating_sub(wait.begin_ns).max(0).unsigned_abs();
        let page = self.waits.entry(wait.class).or_default();
        let before = page.bytes;
        page.add(slice, took_ns, &mut wait.parts);
        self.bytes = self.bytes + page.bytes - before;
        // Of one slice nothing more can be put together.
        while self.bytes > self.bytes_most && self.slices() > 1 {
            self.widen();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::waits::Kind;
    use proptest::prelude::*;

    fn wait(class: Class, begin_ns: i64, parts: &[PartNumber]) -> Waited<Class> {
        let parts: Vec<_> = parts.iter().map(|part| (*part, 10.0)).collect();
        Waited { class, begin_ns, end_ns: begin_ns + 10 * parts.len() as i64, parts }
    }

    const CLASS: Class = Class { device: 1, role: RoleId(3), kind: Kind::Read, size: 0 };

    #[test]
    fn wider_slices_hold_the_same() {
        let from_ns = 7_000_000_000;
        let mut book = Book::new(from_ns..from_ns + 10 * WIDTH_NS);
        book.busy(from_ns - 50, from_ns + WIDTH_NS + 20, RoleId(3));
        assert_eq!(book.busy_ns[3], [WIDTH_NS, 20], "what was before the span is not told");
        for (slice, parts) in [(0, &[3, 5][..]), (1, &[3]), (2, &[3])] {
            book.waited(&mut wait(CLASS, from_ns + slice * WIDTH_NS, parts));
        }
        book.settle();
        assert_eq!(book.waits()[0].1.len(), 3);
        book.bytes_most = 4 * PART_BYTES + 3 * CELL_BYTES;
        book.waited(&mut wait(CLASS, from_ns + 5 * WIDTH_NS, &[4]));
        assert_eq!(book.width_ns, WIDTH_NS, "what is open is not counted");
        book.waited(&mut wait(CLASS, from_ns + 4 * WIDTH_NS, &[4]));
        assert_eq!(book.width_ns, 2 * WIDTH_NS);
        assert_eq!(book.busy_ns[3], [WIDTH_NS + 20]);
        book.settle();
        let [(_, cells)] = book.waits()[..] else { panic!() };
        assert_eq!((cells[0].count, cells[0].sum_ns), (2, 30));
        assert_eq!(cells[0].parts, [(3, 20.0), (5, 10.0)]);
        assert_eq!(cells.iter().map(|cell| cell.slice).collect::<Vec<_>>(), [0, 1, 2]);
    }

    proptest! {
        /// Whatever order waits end in, and whenever the book is looked at.
        #[test]
        fn a_page_holds_what_its_cells_would(
            waits in prop::collection::vec(
                (0usize..6, prop::collection::btree_map(3u16..9, 1u32..1000, 1..5), any::<bool>()),
                0..80,
            ),
        ) {
            let (mut page, mut cells) = (Page::default(), Vec::new());
            for (slice, parts, is_looked_at) in waits {
                let parts: Vec<_> = parts.into_iter().map(|(of, ns)| (of, f64::from(ns))).collect();
                let (cell, _) = cell_of(&mut cells, slice);
                cell.count += 1;
                cell.sum_ns += 10;
                cell.add_parts(&parts);
                let mut backwards: Vec<_> = parts.into_iter().rev().collect();
                page.add(slice, 10, &mut backwards);
                if is_looked_at {
                    page.settle();
                }
            }
            page.settle();
            prop_assert_eq!(page.bytes, cells.iter().map(Cell::bytes).sum::<usize>());
            prop_assert_eq!(page.cells, cells);
        }
    }

    #[test]
    fn what_ends_late_is_of_the_slice_in_which_it_began() {
        let mut cells = Vec::new();
        for slice in [4, 2, 3, 2, 9, 0] {
            cell_of(&mut cells, slice).0.count += 1;
        }
        let told: Vec<_> = cells.iter().map(|cell| (cell.slice, cell.count)).collect();
        assert_eq!(told, [(0, 1), (2, 2), (3, 1), (4, 1), (9, 1)]);
    }

    #[test]
    fn a_span_without_end_has_slices_of_a_bounded_number() {
        let mut book = Book::new(0..i64::MAX);
        assert!(book.slices() <= SLICES_MOST);
        book.busy(0, i64::MAX, RoleId(0));
        book.waited(&mut wait(CLASS, i64::MAX - 100, &[3]));
        assert!(book.busy_ns[0].len() <= SLICES_MOST);
    }
}
