//! Streams in whatever disorder, sorted on disk: what memory does not hold lies in a file as sorted
//! runs, which are merged at the end.
//!
//! Non-goals: which traces are read so. It takes a second reading, so only those are that turned
//! out to be in more disorder than the buffers can put in order ([`OutOfOrder`]).
#![allow(unsafe_code, reason = "items are written as they lie; each block says why it may")]

use super::reorder::Ordered;
use super::{Intake, RowsError};
use crate::event::Event;
use model::record::Request;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{Error, ErrorKind, Result};
use std::os::fd::AsRawFd as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Items that are sorted in memory, and that the windows of all runs have together.
const RUN: usize = 128 * 1024;
/// Items that are read at once of a run at the least.
const WINDOW: usize = 64;

/// A trace is in more disorder than the buffers can put in order.
#[derive(Debug, thiserror::Error)]
#[error("put the trace in order of time: it is in more disorder than fits into memory")]
pub struct OutOfOrder;

#[derive(Debug, thiserror::Error)]
#[error("sort the trace on disk: {0}")]
struct NotSorted(Error);

fn not_sorted(error: Error) -> RowsError {
    RowsError(Box::new(NotSorted(error)))
}

/// What is sorted on disk of a trace.
#[derive(Debug)]
pub(super) struct OnDisk {
    events: DiskSort<Event>,
    rows: DiskSort<Request>,
}

impl OnDisk {
    pub(super) fn event(&mut self, event: &Event) -> std::result::Result<(), RowsError> {
        self.events.push(event).map_err(not_sorted)
    }

    pub(super) fn row(&mut self, row: &Request) -> std::result::Result<(), RowsError> {
        self.rows.push(row).map_err(not_sorted)
    }
}

impl Intake<'_> {
    /// Ends with [`OutOfOrder`] as soon as something comes too late to be put in order: who can
    /// read the trace again does so, and sorts it on disk.
    pub fn refuse_disorder(&mut self) {
        self.refuses_disorder = true;
    }

    /// Sorts all of the trace in two files before it is paired, whatever the disorder; ends with an
    /// error as soon as `stop` is set.
    pub fn sort_on_disk(&mut self, [events, rows]: [File; 2], stop: &Arc<AtomicBool>) {
        let events = DiskSort::new(events, RUN, stop);
        self.on_disk = Some(Box::new(OnDisk { events, rows: DiskSort::new(rows, RUN, stop) }));
    }

    /// An event comes after a later one of the same source. It is counted, unless all are sorted.
    /// Errors: [`OutOfOrder`].
    pub fn out_of_order(&mut self) -> std::result::Result<(), RowsError> {
        self.counts_mut().out_of_order += u64::from(self.on_disk.is_none());
        if self.refuses_disorder { Err(RowsError(Box::new(OutOfOrder))) } else { Ok(()) }
    }

    pub(super) fn check_order(&self) -> std::result::Result<(), RowsError> {
        match self.refuses_disorder && self.in_order.late() + self.listed.late() > 0 {
            true => Err(RowsError(Box::new(OutOfOrder))),
            false => Ok(()),
        }
    }

    pub(super) fn held_on_disk(&self) -> usize {
        self.on_disk.as_ref().map_or(0, |on_disk| on_disk.events.len() + on_disk.rows.len())
    }

    /// Pairs what was sorted.
    pub(super) fn pair_from_disk(&mut self) -> std::result::Result<(), RowsError> {
        let Some(on_disk) = &mut self.on_disk else { return Ok(()) };
        let mut events = on_disk.events.merged().map_err(not_sorted)?;
        while let Some(event) = events.next().map_err(not_sorted)? {
            self.pair(&event);
            self.collect()?;
        }
        Ok(())
    }

    /// Lets the rows go that were sorted.
    pub(super) fn rows_from_disk(&mut self) -> std::result::Result<(), RowsError> {
        let Some(mut on_disk) = self.on_disk.take() else { return Ok(()) };
        let mut rows = on_disk.rows.merged().map_err(not_sorted)?;
        while let Some(row) = rows.next().map_err(not_sorted)? {
            self.put_in_order(&row)?;
        }
        Ok(())
    }
}

impl RowsError {
    /// Whether it is [`OutOfOrder`].
    pub fn is_disorder(&self) -> bool {
        self.0.is::<OutOfOrder>()
    }
}

impl Ordered for Event {
    type Key = (i64, u8, u16);
    fn key(&self) -> Self::Key {
        (self.time_ns, self.step.rank(), self.cpu.unwrap_or(u16::MAX))
    }
}

/// Sorts items; what is equal stays in the order in which it came.
#[derive(Debug)]
struct DiskSort<T> {
    file: File,
    /// What is in no run yet, and how much makes one.
    rest: Vec<T>,
    most: usize,
    /// Where the runs end in the file, counted in items.
    ends: Vec<u64>,
    stop: Arc<AtomicBool>,
}

impl<T: Ordered> DiskSort<T> {
    fn new(file: File, most: usize, stop: &Arc<AtomicBool>) -> Self {
        Self { file, rest: Vec::new(), most, ends: Vec::new(), stop: stop.clone() }
    }

    fn len(&self) -> usize {
        self.rest.len() + self.ends.last().copied().unwrap_or(0) as usize
    }

    fn push(&mut self, item: &T) -> Result<()> {
        self.rest.push(*item);
        if self.rest.len() < self.most { Ok(()) } else { self.end_run() }
    }

    fn end_run(&mut self) -> Result<()> {
        check(&self.stop)?;
        self.rest.sort_by_key(T::key);
        let begin = self.ends.last().copied().unwrap_or(0);
        write_at(&self.file, &self.rest, begin)?;
        self.ends.push(begin + self.rest.len() as u64);
        self.rest.clear();
        Ok(())
    }

    /// All in order; it is empty from then on.
    fn merged(&mut self) -> Result<Merged<T>> {
        self.end_run()?;
        self.rest = Vec::new();
        let ends = std::mem::take(&mut self.ends);
        let window = (self.most / ends.len()).max(WINDOW);
        let begins = [0].into_iter().chain(ends.iter().copied());
        let run = |(next, end)| Run { next, end, window: Vec::new() };
        let runs = begins.zip(ends.iter().copied()).map(run).collect();
        let (file, stop) = (self.file.try_clone()?, self.stop.clone());
        let mut merged = Merged { file, runs, heads: BinaryHeap::new(), window, stop };
        (0..ends.len()).try_for_each(|run| merged.take_head(run))?;
        Ok(merged)
    }
}

/// A run that is read: where what is not in the window begins, and where the run ends.
struct Run<T> {
    next: u64,
    end: u64,
    /// The last one comes first.
    window: Vec<T>,
}

/// Runs that are merged.
struct Merged<T: Ordered> {
    file: File,
    runs: Vec<Run<T>>,
    /// Of each run that has one the key of its first item.
    heads: BinaryHeap<Reverse<(T::Key, usize)>>,
    window: usize,
    stop: Arc<AtomicBool>,
}

impl<T: Ordered> Merged<T> {
    fn take_head(&mut self, number: usize) -> Result<()> {
        let Some(run) = self.runs.get_mut(number) else { return Ok(()) };
        if run.window.is_empty() && run.next < run.end {
            check(&self.stop)?;
            let count = (run.end - run.next).min(self.window as u64);
            read_at(&self.file, &mut run.window, run.next, count as usize)?;
            run.window.reverse();
            run.next += count;
        }
        self.heads.extend(run.window.last().map(|head| Reverse((head.key(), number))));
        Ok(())
    }

    fn next(&mut self) -> Result<Option<T>> {
        let Some(Reverse((_, number))) = self.heads.pop() else { return Ok(None) };
        let item = self.runs.get_mut(number).and_then(|run| run.window.pop());
        self.take_head(number)?;
        Ok(item)
    }
}

fn check(stop: &AtomicBool) -> Result<()> {
    match stop.load(Ordering::Relaxed) {
        true => Err(Error::other("interrupted")),
        false => Ok(()),
    }
}

/// Writes items as they lie in memory: this process alone reads them again.
fn write_at<T: Copy>(file: &File, items: &[T], place: u64) -> Result<()> {
    let (begin, length) = (items.as_ptr().cast::<u8>(), size_of_val(items));
    let from = place * size_of::<T>() as u64;
    let mut done = 0;
    while done < length {
        let at = libc::off_t::try_from(from + done as u64).map_err(Error::other)?;
        // SAFETY: `done` is less than the length, so these are bytes of `items`, which the kernel
        // only reads.
        let count =
            unsafe { libc::pwrite(file.as_raw_fd(), begin.add(done).cast(), length - done, at) };
        done += moved(count)?;
    }
    Ok(())
}

/// Reads so many items that were written from that place on.
fn read_at<T: Copy>(file: &File, items: &mut Vec<T>, place: u64, count: usize) -> Result<()> {
    items.clear();
    items.reserve_exact(count);
    let (begin, length) = (items.as_mut_ptr().cast::<u8>(), count * size_of::<T>());
    let from = place * size_of::<T>() as u64;
    let mut done = 0;
    while done < length {
        let at = libc::off_t::try_from(from + done as u64).map_err(Error::other)?;
        // SAFETY: there is room for `count` items, and `done` is less than their length.
        let count =
            unsafe { libc::pread(file.as_raw_fd(), begin.add(done).cast(), length - done, at) };
        done += moved(count)?;
    }
    // SAFETY: so many were filled with what `write_at` took of items of this type: each is one, as
    // the file has no name and nobody else writes it.
    unsafe { items.set_len(count) };
    Ok(())
}

/// How many bytes were moved; none if a signal came between.
fn moved(count: isize) -> Result<usize> {
    match usize::try_from(count) {
        Ok(0) => Err(ErrorKind::UnexpectedEof.into()),
        Ok(count) => Ok(count),
        Err(_) => match Error::last_os_error() {
            error if error.kind() == ErrorKind::Interrupted => Ok(0),
            error => Err(error),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A number, and which one it was.
    #[derive(Debug, Clone, Copy, PartialEq)]
    struct Item(u8, usize);

    impl Ordered for Item {
        type Key = u8;
        fn key(&self) -> u8 {
            self.0
        }
    }

    proptest! {
        #[test]
        fn all_are_in_order_and_what_is_equal_as_it_came(
            keys in prop::collection::vec(any::<u8>(), 0..600), most in 1usize..90,
        ) {
            let file = tempfile::tempfile().unwrap();
            let mut sort = DiskSort::new(file, most, &Arc::default());
            let items: Vec<Item> = keys.iter().enumerate().map(|(n, key)| Item(*key, n)).collect();
            items.iter().for_each(|item| sort.push(item).unwrap());
            prop_assert_eq!(sort.len(), items.len());
            let mut merged = sort.merged().unwrap();
            let found: Vec<Item> = std::iter::from_fn(|| merged.next().unwrap()).collect();
            let mut wanted = items;
            wanted.sort_by_key(|item| item.0);
            prop_assert_eq!(found, wanted);
        }
    }

    #[test]
    fn who_wants_to_stop_need_not_wait_for_the_end() {
        let stop = Arc::new(AtomicBool::new(false));
        let mut sort = DiskSort::new(tempfile::tempfile().unwrap(), 2, &stop);
        sort.push(&Item(1, 0)).unwrap();
        stop.store(true, Ordering::Relaxed);
        assert_eq!(sort.push(&Item(0, 1)).unwrap_err().to_string(), "interrupted");
    }
}
