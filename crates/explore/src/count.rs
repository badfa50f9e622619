//! Counts of what is selected, from rows or from cells.
//!
//! What a dimension is listed by is counted without its own restriction, so that one sees what
//! else could be chosen: so all classes are counted ([`Counts::classes`]), and what is drawn only
//! of those that pass.
//!
//! Non-goals: what is shown of the counts (`view`).

use super::brush::{Brush, DIMENSIONS};
use super::classes::LEFT_OUT;
use super::groups::{Cell, Group, Groups, NOWHERE};
use super::rows::{BLOCK, Block, NO_PLACE, Rows, sectors};
use super::scale::{BINS, NEVER, bin};
use super::{Index, OPERATIONS};
use std::ops::Range;
use verdict::parts::in_parts;

/// Columns of time, at the most.
const COLUMNS: usize = 240;
/// Lines of places.
const LINES: usize = 128;
/// Kinds of operations that are told apart over time: reads, writes, others.
pub(super) const KINDS: usize = 3;

/// Bits of a class: it is counted, it passes, it is of the shown device.
const COUNTED: u8 = 1;
const PASSES: u8 = 2;
const SHOWN: u8 = 4;

/// What is counted of a time.
#[derive(Debug, Clone)]
pub(super) struct Question {
    pub(super) from_ns: i64,
    pub(super) until_ns: i64,
    /// Where columns begin, and where the last one ends.
    pub(super) columns: Vec<i64>,
    /// Bits of each class.
    bits: Vec<u8>,
    /// The kind of each class.
    kinds: Vec<u8>,
    pub(super) shown_device: u16,
    /// Places of it, in units, or in bins of its cells: from, and before.
    places: (u32, u32),
    pub(super) lines: usize,
    pub(super) restricts_places: bool,
    /// Bins of response times: from, and before.
    pub(super) responses: (usize, usize),
}

/// What came of it.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Counts {
    /// Requests and sectors of each column, by kind.
    pub(super) flow: Vec<[(u32, u64); KINDS]>,
    /// By column and bin of response times.
    pub(super) responses: Vec<u32>,
    /// By column and line of places.
    pub(super) places: Vec<u32>,
    /// By class and bin of response times.
    pub(super) classes: Vec<u32>,
    /// Sectors by class.
    pub(super) sectors: Vec<u64>,
    /// The fine number of the longest response time that is known, by class.
    pub(super) longest: Vec<u16>,
}

impl Question {
    pub(super) fn new(
        index: &Index,
        brush: &Brush,
        time_ns: (i64, i64),
        shown_device: u16,
    ) -> Self {
        let all = brush.passes(&index.classes);
        let bits = index.classes.all.iter().zip(&all).map(|(class, dimensions)| {
            let passes = if *dimensions == (1 << DIMENSIONS) - 1 { PASSES } else { 0 };
            COUNTED | passes | if class.device == shown_device { SHOWN } else { 0 }
        });
        // Classes that are left out, or that no row has, have no bits.
        let mut table = vec![0; usize::from(LEFT_OUT) + 1];
        table.iter_mut().zip(bits).for_each(|(to, bits)| *to = bits);
        let kinds = index.classes.all.iter().map(|class| class.op.min(KINDS as u8 - 1)).collect();
        Self {
            from_ns: time_ns.0,
            until_ns: time_ns.1,
            columns: Vec::new(),
            bits: table,
            kinds,
            shown_device,
            places: brush.places(index),
            lines: LINES,
            restricts_places: brush.restricts_places(),
            responses: brush.responses(),
        }
    }

    /// How many columns there are.
    fn width(&self) -> usize {
        self.columns.len().saturating_sub(1)
    }

    fn none(&self) -> Counts {
        let (columns, classes) = (self.width(), self.kinds.len());
        Counts {
            flow: vec![Default::default(); columns],
            responses: vec![0; columns * BINS],
            places: vec![0; columns * self.lines],
            classes: vec![0; classes * BINS],
            sectors: vec![0; classes],
            longest: vec![0; classes],
        }
    }

    fn has_place(&self, place: u32) -> bool {
        (self.places.0..self.places.1).contains(&place)
    }

    /// Whether requests of a class are selected.
    pub(super) fn wants_class(&self, class: u16) -> bool {
        let bits = self.bits[usize::from(class)];
        bits & PASSES != 0 && (!self.restricts_places || bits & SHOWN != 0)
    }

    /// Whether requests at a place are.
    pub(super) fn wants_place(&self, place: u32) -> bool {
        !self.restricts_places || place != NO_PLACE && self.has_place(place)
    }

    pub(super) fn has_response(&self, response: u8) -> bool {
        (self.responses.0..self.responses.1).contains(&usize::from(response))
    }
}

impl Counts {
    /// Adds what passed the restrictions of place and response time, and of the classes where
    /// `column` and `line` are given.
    fn add(&mut self, question: &Question, alike: &Group, cell: Option<(usize, Option<usize>)>) {
        let (class, bin) = (usize::from(alike.class), usize::from(alike.response));
        if let Some(count) = self.classes.get_mut(class * BINS + bin) {
            *count += alike.requests;
        }
        if let Some(sum) = self.sectors.get_mut(class) {
            *sum += alike.sectors;
        }
        if let Some(longest) = self.longest.get_mut(class).filter(|_| alike.response != NEVER) {
            *longest = alike.longest.max(*longest);
        }
        let Some((column, line)) = cell else { return };
        let kind = question.kinds.get(class).map_or(0, |kind| usize::from(*kind));
        if let Some((requests, sum)) = self.flow.get_mut(column).and_then(|of| of.get_mut(kind)) {
            *requests += alike.requests;
            *sum += alike.sectors;
        }
        if let Some(count) = self.responses.get_mut(column * BINS + bin) {
            *count += alike.requests;
        }
        let line = line.filter(|line| *line < question.lines);
        if let Some(line) = line
            && let Some(count) = self.places.get_mut(column * question.lines + line)
        {
            *count += alike.requests;
        }
    }

    /// All requests, whatever their class.
    fn total(&self) -> u64 {
        self.classes.iter().map(|count| u64::from(*count)).sum()
    }
}

/// What all parts counted.
fn merged(parts: Vec<Counts>) -> Counts {
    fn add<T: Copy>(own: &mut [T], theirs: &[T], both: impl Fn(T, T) -> T) {
        own.iter_mut().zip(theirs).for_each(|(own, theirs)| *own = both(*own, *theirs));
    }
    let merged = parts.into_iter().reduce(|mut all, part| {
        add(&mut all.responses, &part.responses, |a, b| a + b);
        add(&mut all.places, &part.places, |a, b| a + b);
        add(&mut all.classes, &part.classes, |a, b| a + b);
        add(&mut all.sectors, &part.sectors, |a, b| a + b);
        add(&mut all.longest, &part.longest, u16::max);
        let (own, theirs) = (all.flow.as_flattened_mut(), part.flow.as_flattened());
        add(own, theirs, |a, b| (a.0 + b.0, a.1 + b.1));
        all
    });
    merged.unwrap_or_default()
}

/// What was counted, and of what.
pub(super) struct Counted {
    pub(super) question: Question,
    pub(super) counts: Counts,
    /// Where lines of places begin, and where the last one ends, in units.
    pub(super) lines: Vec<u32>,
    /// Whether requests were counted one by one.
    pub(super) is_of_rows: bool,
}

/// Counts what is selected; `most` is how many rows are counted one by one.
pub(super) fn count(index: &Index, brush: &Brush, most: usize) -> Option<Counted> {
    let (from_ns, until_ns) = brush.time_ns(index)?;
    let shown_device = brush.shown_device.unwrap_or_else(|| busiest(index, brush));
    let mut question = Question::new(index, brush, (from_ns, until_ns), shown_device);
    let rows = index.rows.within(from_ns, until_ns);
    let Some(groups) = index.groups.as_ref().filter(|_| rows.len() > most) else {
        return Some(of_rows(index, question, rows));
    };
    let cells = groups.within(from_ns, until_ns);
    if let Some((first, last)) = cells.first().zip(cells.last()) {
        (question.from_ns, question.until_ns) = (first.from_ns, last.until_ns);
    }
    let fine = question.clone();
    let counted = of_cells(groups, question, cells);
    // Cells know places coarsely. What they select may be few enough to be counted one by one.
    if fine.restricts_places && counted.counts.total() <= most as u64 {
        let rows = index.rows.within(fine.from_ns, fine.until_ns);
        return Some(of_rows(index, fine, rows));
    }
    Some(counted)
}

/// The device with most requests, of those that are chosen.
fn busiest(index: &Index, brush: &Brush) -> u16 {
    let mut requests = vec![0_u64; index.classes.devices.len()];
    // A sample tells: the answer names the device in any case.
    let step = (index.rows.len() >> 16).max(1);
    for class in index.rows.classes.iter().step_by(step) {
        let device = index.classes.all.get(usize::from(*class)).map(|class| class.device);
        if let Some(count) = device.and_then(|device| requests.get_mut(usize::from(device))) {
            *count += 1;
        }
    }
    let is_chosen = |device: &u16| brush.devices.is_empty() || brush.devices.contains(device);
    let devices = (0..requests.len() as u16).rev().filter(is_chosen);
    devices.max_by_key(|device| requests[usize::from(*device)]).unwrap_or(0)
}

/// Counts rows one by one.
fn of_rows(index: &Index, mut question: Question, rows: Range<usize>) -> Counted {
    question.columns = evenly(question.from_ns, question.until_ns);
    let lines = lines_of_rows(index, &question);
    question.lines = lines.len().saturating_sub(1);
    let (first, last) = (rows.start / BLOCK, rows.end.div_ceil(BLOCK));
    let work = |counts: &mut Counts, part: usize| {
        let block = index.rows.block(first + part);
        let range = block.start.max(rows.start)..block.end.min(rows.end);
        of_block(&index.rows, (first + part, range), &question, &lines, counts);
    };
    let parts = in_parts(last.saturating_sub(first), || question.none(), work);
    Counted { counts: merged(parts), question, lines, is_of_rows: true }
}

/// Columns of even width, at the most one for each nanosecond.
fn evenly(from_ns: i64, until_ns: i64) -> Vec<i64> {
    let span_ns = until_ns.abs_diff(from_ns).max(1);
    let columns = span_ns.min(COLUMNS as u64);
    let edge = |n: u64| {
        from_ns.saturating_add_unsigned(
            (u128::from(span_ns) * u128::from(n) / u128::from(columns)) as u64,
        )
    };
    (0..=columns).map(edge).collect()
}

/// Lines of even height, over the places that requests of the shown device have.
fn lines_of_rows(index: &Index, question: &Question) -> Vec<u32> {
    let known = index.ends.get(usize::from(question.shown_device)).copied().unwrap_or((0, 1));
    let (from, until) = if question.restricts_places { question.places } else { known };
    let height = u64::from(until.saturating_sub(from));
    let lines = height.min(LINES as u64);
    let edge = |n: u64| from + (height * n / lines.max(1)) as u32;
    (0..=lines).map(edge).collect()
}

/// Counts rows of a block.
fn of_block(
    rows: &Rows,
    (block, range): (usize, Range<usize>),
    question: &Question,
    lines: &[u32],
    counts: &mut Counts,
) {
    let Some(mesh) = rows.blocks.get(block).map(|block| Mesh::new(block, question, lines)) else {
        return;
    };
    let mut one = |row: usize| {
        let (class, longest) = (rows.classes[row], rows.responses[row]);
        let response = bin(longest);
        let bits = question.bits[usize::from(class)];
        let is_out = question.restricts_places && bits & SHOWN == 0;
        if bits & COUNTED == 0 || is_out || !question.has_response(response) {
            return;
        }
        let cell = (bits & PASSES != 0).then(|| {
            let line = (bits & SHOWN != 0).then(|| mesh.line(rows.places[row])).flatten();
            (mesh.column(rows.times[row]), line)
        });
        let sectors = u64::from(sectors(rows.lengths[row]));
        let alone = Group { class, place: NOWHERE, response, requests: 1, sectors, longest };
        counts.add(question, &alone, cell);
    };
    if !question.restricts_places {
        return range.for_each(one);
    }
    // Few rows are at the places that are wanted: only these are looked at further.
    let places = rows.places.get(range.clone()).unwrap_or_default();
    let (from, height) = (question.places.0, question.places.1 - question.places.0);
    for (row, place) in range.zip(places) {
        if place.wrapping_sub(from) < height {
            one(row);
        }
    }
}

/// How times of a block and places become columns and lines.
struct Mesh {
    first: f64,
    of_unit: f64,
    columns: usize,
    low: u32,
    of_place: f64,
}

impl Mesh {
    fn new(block: &Block, question: &Question, lines: &[u32]) -> Self {
        let span_ns = question.until_ns.abs_diff(question.from_ns) as f64;
        let of_ns = question.width() as f64 / span_ns;
        let (low, high) = (lines.first().copied().unwrap_or(0), lines.last().copied().unwrap_or(0));
        Self {
            first: (block.first_ns as f64 - question.from_ns as f64) * of_ns,
            of_unit: of_ns * (1_u64 << block.shift) as f64,
            columns: question.width(),
            low,
            of_place: question.lines as f64 / f64::from(high.saturating_sub(low).max(1)),
        }
    }

    fn column(&self, time: u32) -> usize {
        ((self.first + f64::from(time) * self.of_unit) as usize).min(self.columns - 1)
    }

    fn line(&self, place: u32) -> Option<usize> {
        let from_low = place.checked_sub(self.low).filter(|_| place != NO_PLACE)?;
        Some((f64::from(from_low) * self.of_place) as usize)
    }
}

/// Counts cells.
fn of_cells(groups: &Groups, mut question: Question, cells: &[Cell]) -> Counted {
    let edges = groups.places.get(usize::from(question.shown_device));
    let edges = edges.map_or(&[][..], Vec::as_slice);
    let (first, until) = bins_met(edges, question.places);
    question.places = (first as u32, until as u32);
    question.lines = until - first;
    let lines = edges.get(first..=until).unwrap_or_default().to_vec();
    let columns = columns_of(cells, question.from_ns, question.until_ns);
    question.columns = columns.iter().map(|column| column.0).chain([question.until_ns]).collect();
    let work = |counts: &mut Counts, part: usize| {
        let own = columns.get(part).and_then(|(_, own)| cells.get(own.clone()));
        for group in own.unwrap_or_default().iter().flat_map(|cell| groups.of_cell(cell)) {
            let bits = question.bits[usize::from(group.class)];
            let is_shown = bits & SHOWN != 0;
            let is_there = group.place != NOWHERE && question.has_place(u32::from(group.place));
            if question.restricts_places && !(is_shown && is_there)
                || !question.has_response(group.response)
            {
                continue;
            }
            let line = (is_shown && is_there).then(|| usize::from(group.place) - first);
            let cell = (bits & PASSES != 0).then_some((part, line));
            counts.add(&question, group, cell);
        }
    };
    let parts = in_parts(columns.len(), || question.none(), work);
    Counted { counts: merged(parts), question, lines, is_of_rows: false }
}

/// The bins of places that a range meets.
fn bins_met(edges: &[u32], (from, until): (u32, u32)) -> (usize, usize) {
    let bins = edges.len().saturating_sub(1);
    let first = edges.partition_point(|edge| *edge <= from).saturating_sub(1);
    let end = edges.partition_point(|edge| *edge < until);
    (first.min(bins), end.min(bins).max(first.min(bins)))
}

/// Columns of whole cells: each begins with the first cell behind an even division.
fn columns_of(cells: &[Cell], from_ns: i64, until_ns: i64) -> Vec<(i64, Range<usize>)> {
    let mut columns: Vec<(i64, Range<usize>)> = Vec::new();
    let divisions = evenly(from_ns, until_ns);
    let division = |ns: i64| divisions.partition_point(|edge| *edge <= ns);
    for (number, cell) in cells.iter().enumerate() {
        match columns.last_mut() {
            Some((begun_ns, own)) if division(*begun_ns) == division(cell.from_ns) => {
                own.end = number + 1;
            }
            _ => columns.push((cell.from_ns, number..number + 1)),
        }
    }
    columns
}

/// The kind of an operation over time.
pub(super) fn kind_name(kind: usize) -> &'static str {
    match kind {
        0 | 1 => OPERATIONS[kind].name(),
        _ => "other",
    }
}
