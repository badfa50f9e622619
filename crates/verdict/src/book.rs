//! What is noted of a device in a span, by slices of its time: who was busy there, and how long
//! comparable waits took, by their parts. Slices begin narrow and double their width when more is
//! noted than there is room for: what a book takes depends on what happened in the span alone.
//!
//! Non-goals: what is calm and what is need (`super::weigh`).

use super::actors::RoleId;
use super::disk::{PartNumber, Waited, Watch};
use super::on_files::OnFiles;
use super::sums::Storm;
use super::waits::Class;
use crate::names::Called;
use hashbrown::HashTable;
use model::histogram::{ListedHistogram, SparseHistogram};
use std::ops::Range;

/// The narrowest slice, in ns.
const WIDTH_NS: i64 = 100_000_000;
/// More slices than these are put together by pairs.
const SLICES_MOST: usize = 1 << 16;
/// What is noted takes so much memory at the most, nearly: else slices are put together by pairs.
const BYTES_MOST: usize = 20 << 20;
/// A wait that goes on for longer is looked at in its first slices alone.
const SPANNED_MOST: u64 = 36_000;
/// What a cell takes of it, and each of its parts, with what vectors hold ready.
const CELL_BYTES: usize = 112;
const PART_BYTES: usize = 24;

/// What a cell of so many parts takes.
fn bytes(parts: usize) -> usize {
    CELL_BYTES + PART_BYTES * parts
}

/// Of a word.
const BITS: usize = u64::BITS as usize;

/// Waits of a class that began in a slice.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Cell<'a> {
    pub(crate) slice: usize,
    pub(crate) count: u64,
    pub(crate) sum_ns: u64,
    /// Its parts in the order of their numbers: these, and how long each took.
    numbers: &'a [PartNumber],
    parts_ns: &'a [f64],
}

impl<'a> Cell<'a> {
    /// Its parts in the order of their numbers.
    #[inline]
    pub(crate) fn parts(&self) -> impl Iterator<Item = (PartNumber, f64)> + use<'a> {
        self.numbers.iter().copied().zip(self.parts_ns.iter().copied())
    }

    /// How long one of them took.
    pub(crate) fn part_ns(&self, number: usize) -> f64 {
        let part = self.parts().find(|(known, _)| usize::from(*known) == number);
        part.map_or(0.0, |(_, ns)| ns)
    }

    /// One without parts.
    #[cfg(test)]
    pub(crate) fn for_test(slice: usize, count: u64, sum_ns: u64) -> Self {
        Self { slice, count, sum_ns, numbers: &[], parts_ns: &[] }
    }

    /// The slices of such a width in which its waits went on, which may be of seconds.
    pub(crate) fn spanned(&self, width_ns: i64) -> Range<usize> {
        let mean_ns = self.sum_ns / self.count.max(1);
        let slices = mean_ns.div_ceil(width_ns.max(1).unsigned_abs()).clamp(1, SPANNED_MOST);
        self.slice..self.slice + slices as usize
    }
}

/// The same as a page keeps it.
#[derive(Debug, Clone, Copy, Default)]
struct Kept {
    slice: usize,
    count: u64,
    sum_ns: u64,
    /// Where its parts end among those of the page.
    parts_end: usize,
}

/// The waits of a class.
#[derive(Debug)]
pub(crate) struct Page {
    class: Class,
    /// In the order of their slices, and the parts of all of them in the same order: cells by the
    /// thousand need no memory of their own each.
    cells: Vec<Kept>,
    numbers: Vec<PartNumber>,
    parts_ns: Vec<f64>,
    /// The last slice's cell while it is added to, but for its parts, which are here by number:
    /// most waits are of it, and many parts are found quickly so.
    open: Option<Kept>,
    open_parts: Vec<f64>,
    /// Which of them there are: a bit each.
    open_numbers: Vec<u64>,
    /// What the cells take, but for the open one.
    bytes: usize,
    /// How long each wait took.
    pub(crate) times: ListedHistogram,
}

impl Page {
    fn new(class: Class) -> Self {
        Self {
            class,
            cells: Vec::new(),
            numbers: Vec::new(),
            parts_ns: Vec::new(),
            open: None,
            open_parts: Vec::new(),
            open_numbers: Vec::new(),
            bytes: 0,
            times: ListedHistogram::default(),
        }
    }

    /// The cells that are settled.
    pub(crate) fn cells(&self) -> impl Iterator<Item = Cell<'_>> {
        self.cells.iter().scan(0, |begin, kept| {
            let parts = std::mem::replace(begin, kept.parts_end)..kept.parts_end;
            let Kept { slice, count, sum_ns, .. } = *kept;
            let (numbers, parts_ns) = (&self.numbers[parts.clone()], &self.parts_ns[parts]);
            Some(Cell { slice, count, sum_ns, numbers, parts_ns })
        })
    }

    /// Adds so many waits, which took so long together.
    fn add(&mut self, slice: usize, (count, took_ns): (u64, u64), parts: &mut [(PartNumber, f64)]) {
        if self.open.is_none_or(|open| open.slice < slice) {
            self.settle();
            self.open(slice);
        }
        match &mut self.open {
            Some(open) if open.slice == slice => {
                (open.count, open.sum_ns) = (open.count + count, open.sum_ns + took_ns);
                self.add_to_open(parts.iter().copied());
            }
            _ => {
                parts.sort_unstable_by_key(|(number, _)| *number);
                self.add_late(slice, (count, took_ns), parts);
            }
        }
    }

    fn add_to_open(&mut self, parts: impl Iterator<Item = (PartNumber, f64)>) {
        for (number, ns) in parts {
            let number = usize::from(number);
            if self.open_parts.len() <= number {
                self.open_parts.resize(number + 1, 0.0);
                self.open_numbers.resize(number / BITS + 1, 0);
            }
            self.open_parts[number] += ns;
            self.open_numbers[number / BITS] |= 1 << (number % BITS);
        }
    }

    /// Adds to the cell of an earlier slice, which is most often one of the last.
    fn add_late(
        &mut self,
        slice: usize,
        (count, took_ns): (u64, u64),
        parts: &[(PartNumber, f64)],
    ) {
        let place = self.cells.iter().rposition(|cell| cell.slice <= slice);
        let (place, is_new) = match place {
            Some(place) if self.cells[place].slice == slice => (place, false),
            Some(place) => (place + 1, true),
            None => (0, true),
        };
        let begin = place.checked_sub(1).map_or(0, |before| self.cells[before].parts_end);
        if is_new {
            self.cells.insert(place, Kept { slice, parts_end: begin, ..Kept::default() });
            self.bytes += CELL_BYTES;
        }
        let (mut at, mut end, before) = (begin, self.cells[place].parts_end, self.numbers.len());
        for (number, ns) in parts {
            while at < end && self.numbers[at] < *number {
                at += 1;
            }
            if at < end && self.numbers[at] == *number {
                self.parts_ns[at] += ns;
            } else {
                self.numbers.insert(at, *number);
                self.parts_ns.insert(at, *ns);
                end += 1;
            }
        }
        let more = self.numbers.len() - before;
        self.cells[place..].iter_mut().for_each(|cell| cell.parts_end += more);
        self.bytes += PART_BYTES * more;
        let cell = &mut self.cells[place];
        (cell.count, cell.sum_ns) = (cell.count + count, cell.sum_ns + took_ns);
    }

    /// Opens the cell of a slice, if that is the last.
    fn open(&mut self, slice: usize) {
        if self.cells.last().is_some_and(|last| last.slice > slice) {
            return;
        }
        let known = self.cells.pop_if(|cell| cell.slice == slice);
        if known.is_some() {
            let begin = self.cells.last().map_or(0, |last| last.parts_end);
            let (numbers, parts_ns) =
                (self.numbers.split_off(begin), self.parts_ns.split_off(begin));
            self.bytes -= bytes(numbers.len());
            self.add_to_open(numbers.into_iter().zip(parts_ns));
        }
        self.open = Some(known.unwrap_or(Kept { slice, ..Kept::default() }));
    }

    /// Puts the open cell to the others.
    fn settle(&mut self) {
        let Some(open) = self.open.take() else { return };
        let before = self.numbers.len();
        for (word, bits) in self.open_numbers.iter_mut().enumerate() {
            let mut left = std::mem::take(bits);
            while left != 0 {
                let number = word * BITS + left.trailing_zeros() as usize;
                left &= left - 1;
                let ns = std::mem::take(&mut self.open_parts[number]);
                if ns > 0.0 {
                    self.numbers.push(number as PartNumber);
                    self.parts_ns.push(ns);
                }
            }
        }
        self.bytes += bytes(self.numbers.len() - before);
        self.cells.push(Kept { parts_end: self.numbers.len(), ..open });
    }

    /// Puts neighbours together.
    fn widen(&mut self) {
        let mut wide = Self::new(self.class);
        wide.numbers.reserve_exact(self.numbers.len());
        wide.parts_ns.reserve_exact(self.numbers.len());
        std::mem::swap(&mut wide.times, &mut self.times);
        std::mem::swap(&mut wide.open_parts, &mut self.open_parts);
        std::mem::swap(&mut wide.open_numbers, &mut self.open_numbers);
        for cell in self.cells() {
            if wide.open.is_none_or(|open| open.slice < cell.slice / 2) {
                wide.settle();
                wide.open = Some(Kept { slice: cell.slice / 2, ..Kept::default() });
            }
            if let Some(open) = &mut wide.open {
                (open.count, open.sum_ns) = (open.count + cell.count, open.sum_ns + cell.sum_ns);
            }
            wide.add_to_open(cell.parts());
        }
        wide.settle();
        *self = wide;
    }
}

/// The book of a device.
#[derive(Debug)]
pub(crate) struct Book {
    pub(crate) time_ns: Range<i64>,
    pub(crate) width_ns: i64,
    /// How long roles had requests in flight, by role and slice.
    pub(crate) busy_ns: Vec<Vec<i64>>,
    /// For which files waits were.
    pub(crate) on_files: OnFiles,
    /// When it stood still, in the order of time.
    stalled_ns: Vec<(i64, i64)>,
    pages: Vec<Page>,
    /// Where the page of a class is.
    places: HashTable<usize>,
    /// The slice of the last wait, and its times: most are of the same.
    last: (Range<i64>, usize),
    /// The page of the last wait.
    last_place: usize,
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
            on_files: OnFiles::default(),
            stalled_ns: Vec::new(),
            pages: Vec::new(),
            places: HashTable::new(),
            last: (0..0, 0),
            last_place: 0,
            bytes: 0,
            bytes_most: BYTES_MOST,
        };
        while book.slices() > SLICES_MOST {
            book.width_ns = book.width_ns.saturating_mul(2);
        }
        book
    }

    /// A storm as the times in it at which the device stood still, each with its part of what was
    /// lost; as it is where none is known.
    pub(crate) fn stalls_in(&self, storm: Storm) -> Vec<Storm> {
        let clipped = self.stalled_ns.iter().map(|(from_ns, until_ns)| Storm {
            from_ns: storm.from_ns.max(*from_ns),
            until_ns: storm.until_ns.min(*until_ns),
            lost_ns: 0,
        });
        let mut stalls: Vec<Storm> = clipped.filter(|of| of.from_ns < of.until_ns).collect();
        let length_ns = |of: &Storm| (of.until_ns - of.from_ns) as f64;
        let all_ns: f64 = stalls.iter().map(length_ns).sum();
        for stall in &mut stalls {
            stall.lost_ns = (storm.lost_ns as f64 * length_ns(stall) / all_ns).round() as u64;
        }
        if stalls.is_empty() { vec![storm] } else { stalls }
    }

    /// Puts what is open to the rest.
    pub(crate) fn settle(&mut self) {
        self.on_files.settle();
        self.pages.iter_mut().for_each(Page::settle);
        self.bytes = self.pages.iter().map(|page| page.bytes).sum();
    }

    /// Classes with their pages, in an order that depends on nothing but the classes; of what was
    /// settled.
    pub(crate) fn waits(&self) -> Vec<(&Class, &Page)> {
        let mut waits: Vec<_> = self.pages.iter().map(|page| (&page.class, page)).collect();
        waits.sort_unstable_by_key(|(class, _)| **class);
        waits
    }

    /// The place of a class's page, which is made if it is new.
    #[inline]
    fn place(&mut self, class: Class) -> usize {
        if self.pages.get(self.last_place).is_some_and(|page| page.class == class) {
            return self.last_place;
        }
        self.last_place = self.look_up(class);
        self.last_place
    }

    fn look_up(&mut self, class: Class) -> usize {
        let (hash, pages) = (class.mixed(), &mut self.pages);
        if let Some(place) = self.places.find(hash, |place| pages[*place].class == class) {
            return *place;
        }
        pages.push(Page::new(class));
        let rehash = |place: &usize| pages[*place].class.mixed();
        *self.places.insert_unique(hash, pages.len() - 1, rehash).get()
    }

    /// How long each of some waits took that come as a sum.
    pub(crate) fn count(&mut self, class: Class, times: &SparseHistogram) {
        let place = self.place(class);
        self.pages[place].times.merge(times);
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

    /// The slice of a wait's begin. A thread may wait for a request of the span only after it,
    /// where others are known for a slice more.
    #[inline]
    fn slice_of_wait(&mut self, begin_ns: i64) -> usize {
        if !self.last.0.contains(&begin_ns) {
            let slice = self.slice(begin_ns).min(self.slices());
            self.last = (self.begin_ns(slice)..self.begin_ns(slice.saturating_add(1)), slice);
            return slice;
        }
        self.last.1
    }

    /// A wait of a class is for a file.
    pub(crate) fn note_file(&mut self, class: Class, (begin_ns, end_ns): (i64, i64), file: Called) {
        let slice = self.slice_of_wait(begin_ns);
        let took_ns = end_ns.saturating_sub(begin_ns).max(0).unsigned_abs();
        self.on_files.add((class, slice, file), took_ns);
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
        self.last = (0..0, 0);
        self.on_files.widen();
        self.pages.iter_mut().for_each(Page::widen);
        self.bytes = self.pages.iter().map(|page| page.bytes).sum();
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

    fn stalled(&mut self, from_ns: i64, until_ns: i64) {
        self.stalled_ns.push((from_ns, until_ns));
    }

    fn waited(&mut self, wait: &mut Waited<Class>) {
        let slice = self.slice_of_wait(wait.begin_ns);
        let place = self.place(wait.class);
        let page = &mut self.pages[place];
        let before = page.bytes;
        if !wait.is_sum {
            page.times.record(wait.times.1);
        }
        page.add(slice, wait.times, &mut wait.parts);
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
    use std::collections::BTreeMap;

    fn wait(class: Class, begin_ns: i64, parts: &[PartNumber]) -> Waited<Class> {
        let parts: Vec<_> = parts.iter().map(|part| (*part, 10.0)).collect();
        Waited { class, begin_ns, times: (1, 10 * parts.len() as u64), is_sum: false, parts }
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
        assert_eq!(book.waits()[0].1.cells().count(), 3);
        book.bytes_most = 4 * PART_BYTES + 3 * CELL_BYTES;
        book.waited(&mut wait(CLASS, from_ns + 5 * WIDTH_NS, &[4]));
        assert_eq!(book.width_ns, WIDTH_NS, "what is open is not counted");
        book.waited(&mut wait(CLASS, from_ns + 4 * WIDTH_NS, &[4]));
        assert_eq!(book.width_ns, 2 * WIDTH_NS);
        assert_eq!(book.busy_ns[3], [WIDTH_NS + 20]);
        book.settle();
        let [(_, page)] = book.waits()[..] else { panic!() };
        let cells: Vec<_> = page.cells().collect();
        assert_eq!((cells[0].count, cells[0].sum_ns), (2, 30));
        assert!(cells[0].parts().eq([(3, 20.0), (5, 10.0)]));
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
            type Parts = BTreeMap<PartNumber, f64>;
            type Told = (usize, u64, Vec<(PartNumber, f64)>);
            let mut page = Page::new(CLASS);
            let mut cells: BTreeMap<usize, (u64, Parts)> = BTreeMap::new();
            for (slice, parts, is_looked_at) in waits {
                let parts: Vec<_> = parts.into_iter().map(|(of, ns)| (of, f64::from(ns))).collect();
                let (count, sums) = cells.entry(slice).or_default();
                *count += 1;
                parts.iter().for_each(|(of, ns)| *sums.entry(*of).or_default() += ns);
                let mut backwards: Vec<_> = parts.into_iter().rev().collect();
                page.add(slice, (1, 10), &mut backwards);
                if is_looked_at {
                    page.settle();
                }
            }
            page.settle();
            for _ in 0..3 {
                let told = |(slice, (count, parts)): (&usize, &(u64, Parts))| {
                    (*slice, *count, parts.iter().map(|(of, ns)| (*of, *ns)).collect())
                };
                let expected: Vec<Told> = cells.iter().map(told).collect();
                let taken: usize = expected.iter().map(|(.., parts)| bytes(parts.len())).sum();
                prop_assert_eq!(page.bytes, taken);
                prop_assert!(page.cells().all(|cell| cell.sum_ns == 10 * cell.count));
                let told = |cell: Cell<'_>| (cell.slice, cell.count, cell.parts().collect());
                prop_assert_eq!(page.cells().map(told).collect::<Vec<Told>>(), expected);
                page.widen();
                for (slice, (count, parts)) in std::mem::take(&mut cells) {
                    let (sum, sums) = cells.entry(slice / 2).or_default();
                    *sum += count;
                    parts.iter().for_each(|(of, ns)| *sums.entry(*of).or_default() += ns);
                }
            }
        }
    }

    #[test]
    fn what_ends_late_is_of_the_slice_in_which_it_began() {
        let mut page = Page::new(CLASS);
        for slice in [4, 2, 3, 2, 9, 0] {
            page.add(slice, (1, 1), &mut []);
        }
        page.settle();
        let told: Vec<_> = page.cells().map(|cell| (cell.slice, cell.count)).collect();
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
