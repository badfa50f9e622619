//! Cells of time in which requests of the same class, place and response time are one number: so a
//! long trace is counted by tens of numbers for each thousand of its requests.
//!
//! A cell ends where the trace's time is divided evenly, and where its requests are: so an idle
//! hour is one cell, and a storm is many. Places are divided in the same way.
//!
//! Non-goals: what is selected of them (`count`).

use super::classes::{Class, Classes};
use super::rows::{NO_PLACE, Rows, sectors};
use super::scale::bin;
use hashbrown::HashMap;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::ops::Range;
use verdict::parts::in_parts;

/// Divisions of the time, and of the requests: together up to twice as many cells.
const CELLS: usize = 512;
/// Divisions of a device's places, and of its requests.
const PLACES: usize = 64;
/// The place bin of what has no place.
pub(super) const NOWHERE: u8 = u8::MAX;
/// Rows that tell where a device's requests lie.
const SAMPLED: usize = 1 << 18;

/// A cell of time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Cell {
    pub(super) from_ns: i64,
    pub(super) until_ns: i64,
    pub(super) rows: Range<usize>,
    /// Where its groups are.
    pub(super) groups: Range<usize>,
}

/// Requests of a cell that are of one class, place bin and response bin.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Group {
    pub(super) class: u16,
    pub(super) place: u8,
    pub(super) response: u8,
    pub(super) requests: u32,
    pub(super) sectors: u64,
    /// The fine number of the longest response time.
    pub(super) longest: u16,
}

/// All cells of a trace.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Groups {
    pub(super) cells: Vec<Cell>,
    pub(super) all: Vec<Group>,
    /// Of each device where its place bins begin, and where the last one ends.
    pub(super) places: Vec<Vec<u32>>,
}

impl Groups {
    /// The cells of rows; none of a trace without any.
    pub(super) fn of(rows: &Rows, classes: &Classes, ends: &[(u32, u32)]) -> Self {
        let places = places(rows, classes, ends);
        let edges = edges(rows);
        let cell = |times: &[i64]| match times {
            [from_ns, until_ns] => Some((*from_ns, *until_ns)),
            _ => None,
        };
        let times: Vec<(i64, i64)> = edges.windows(2).filter_map(cell).collect();
        let work = |own: &mut Vec<(usize, Vec<Group>)>, part: usize| {
            if let Some((from_ns, until_ns)) = times.get(part) {
                let range = rows.within(*from_ns, *until_ns);
                own.push((part, grouped(rows, range, &classes.all, &places)));
            }
        };
        let mut found: Vec<(usize, Vec<Group>)> =
            in_parts(times.len(), Vec::new, work).into_iter().flatten().collect();
        found.sort_unstable_by_key(|(part, _)| *part);
        let mut groups = Self { cells: Vec::new(), all: Vec::new(), places };
        for ((_, own), (from_ns, until_ns)) in found.into_iter().zip(times) {
            let start = groups.all.len();
            groups.all.extend(own);
            let (rows, all) = (rows.within(from_ns, until_ns), start..groups.all.len());
            groups.cells.push(Cell { from_ns, until_ns, rows, groups: all });
        }
        groups
    }

    /// The cells that a time meets.
    pub(super) fn within(&self, from_ns: i64, until_ns: i64) -> &[Cell] {
        let from = self.cells.partition_point(|cell| cell.until_ns <= from_ns);
        let until = self.cells.partition_point(|cell| cell.from_ns < until_ns);
        self.cells.get(from..until.max(from)).unwrap_or_default()
    }

    /// The groups of a cell.
    pub(super) fn of_cell(&self, cell: &Cell) -> &[Group] {
        self.all.get(cell.groups.clone()).unwrap_or_default()
    }
}

/// Where cells begin, and where the last one ends. Requests of one moment are of one cell.
fn edges(rows: &Rows) -> Vec<i64> {
    let Some((from_ns, until_ns)) = rows.span_ns() else { return Vec::new() };
    let width_ns = until_ns.abs_diff(from_ns) as f64 / CELLS as f64;
    let by_time = (1..CELLS).map(|n| from_ns + (n as f64 * width_ns) as i64);
    let by_count = (1..CELLS).map(|n| rows.arrived_ns(rows.len() * n / CELLS));
    let edges: BTreeSet<i64> = by_time.chain(by_count).chain([from_ns, until_ns]).collect();
    edges.into_iter().collect()
}

/// Of each device the places that its requests have: from, and before.
pub(super) fn ends(rows: &Rows, classes: &Classes) -> Vec<(u32, u32)> {
    let mut ends = vec![(NO_PLACE, 0); classes.devices.len()];
    for (class, place) in rows.classes.iter().zip(&rows.places) {
        let class = classes.all.get(usize::from(*class)).filter(|_| *place != NO_PLACE);
        if let Some((first, end)) = class.and_then(|of| ends.get_mut(usize::from(of.device))) {
            *first = (*first).min(*place);
            *end = (*end).max(*place + 1);
        }
    }
    ends.into_iter().map(|(first, end)| (first.min(end), end)).collect()
}

/// Of each device where its place bins begin, and where the last one ends.
fn places(rows: &Rows, classes: &Classes, ends: &[(u32, u32)]) -> Vec<Vec<u32>> {
    let mut sampled = vec![Vec::new(); ends.len()];
    let step = rows.len().div_ceil(SAMPLED).max(1);
    for (class, place) in rows.classes.iter().zip(&rows.places).step_by(step) {
        let class = classes.all.get(usize::from(*class)).filter(|_| *place != NO_PLACE);
        if let Some(of) = class.and_then(|of| sampled.get_mut(usize::from(of.device))) {
            of.push(*place);
        }
    }
    ends.iter().zip(sampled).map(|(ends, sample)| divided(ends.0, ends.1, sample)).collect()
}

/// Even divisions from first to end, and those of a sample.
fn divided(first: u32, end: u32, mut sample: Vec<u32>) -> Vec<u32> {
    if first >= end {
        return Vec::new();
    }
    sample.sort_unstable();
    let evenly = |n: usize| first + (u64::from(end - first) * n as u64 / PLACES as u64) as u32;
    let of_sample = |n: usize| sample.get(sample.len() * n / PLACES).copied();
    let inner = (1..PLACES).map(evenly).chain((1..PLACES).filter_map(of_sample));
    let edges: BTreeSet<u32> = inner.chain([first, end]).collect();
    edges.into_iter().collect()
}

/// The place bin of a place.
fn place_bin(edges: &[u32], place: u32) -> u8 {
    match place {
        NO_PLACE => NOWHERE,
        place => edges.partition_point(|edge| *edge <= place).saturating_sub(1) as u8,
    }
}

/// The groups of rows, in the order of their keys.
fn grouped(rows: &Rows, range: Range<usize>, classes: &[Class], places: &[Vec<u32>]) -> Vec<Group> {
    let mut found: HashMap<(u16, u8, u8), Group> = HashMap::new();
    for row in range {
        let class = rows.classes[row];
        // What is left out has no class.
        let Some(of_class) = classes.get(usize::from(class)) else { continue };
        let edges = places.get(usize::from(of_class.device)).map_or(&[][..], Vec::as_slice);
        let (place, response) = (place_bin(edges, rows.places[row]), bin(rows.responses[row]));
        let new = || Group { class, place, response, ..Group::default() };
        let group = found.entry((class, place, response)).or_insert_with(new);
        group.requests += 1;
        group.sectors += u64::from(sectors(rows.lengths[row]));
        group.longest = rows.responses[row].max(group.longest);
    }
    let mut groups: Vec<Group> = found.into_values().collect();
    groups.sort_unstable_by_key(|group| (group.class, group.place, group.response));
    groups
}
