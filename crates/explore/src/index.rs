//! The whole trace, and how it comes to be: row by row.
//!
//! Non-goals: what is counted of it (`count`).

use super::ROWS_AT_ONCE;
use super::classes::{Classes, Classifier, Files, LEFT_OUT};
use super::groups::{Groups, ends};
use super::rows::{BLOCK, NO_PLACE, Row, Rows, length, response};
use model::record::{Commands, Context, Flags, Request};

/// A trace in memory.
#[derive(Debug, Clone, PartialEq)]
pub struct Index {
    pub(super) rows: Rows,
    pub(super) classes: Classes,
    /// Of each device the places that its requests have, in units: from, and before.
    pub(super) ends: Vec<(u32, u32)>,
    /// Where there are more rows than are counted one by one.
    pub(super) groups: Option<Groups>,
    /// Bytes of a unit of place are this power of two.
    pub(super) place_shift: u8,
    pub(super) left_out: u64,
    pub(super) from_issue: u64,
}

impl Index {
    /// Rows of the trace, with those that are left out.
    pub fn rows(&self) -> u64 {
        self.rows.len() as u64
    }

    /// Rows that are nobody's request: lbolt's own, and parts of others.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Requests whose times are device times: they tell when they were issued, and nothing before.
    pub fn from_issue(&self) -> u64 {
        self.from_issue
    }

    /// From the first arrival to behind the last one; none of a trace without rows.
    pub fn span_ns(&self) -> Option<(i64, i64)> {
        self.rows.span_ns()
    }

    /// Its devices by their numbers.
    pub fn devices(&self) -> &[u32] {
        &self.classes.devices
    }

    /// What its roles are called.
    pub fn roles(&self) -> &[String] {
        &self.classes.roles
    }

    /// What its files are called.
    pub fn files(&self) -> &[String] {
        &self.classes.files
    }

    /// A unit of place, in bytes.
    pub(super) fn place_bytes(&self, place: u32) -> u64 {
        u64::from(place) << self.place_shift
    }
}

/// An index on its way.
#[allow(missing_debug_implementations, reason = "it holds a table of names that has none")]
pub struct Builder<'a> {
    classifier: Classifier<'a>,
    rows: Rows,
    /// Rows that are in no block yet: all of them, where they may not be in order.
    pending: Vec<Row>,
    is_sorted: bool,
    place_shift: u8,
    left_out: u64,
    from_issue: u64,
    number: u32,
}

impl<'a> Builder<'a> {
    /// Begins. `is_sorted` says that rows come in the order of their arrival; `place_bytes_max` is
    /// the greatest place that there is, if that is known.
    pub fn new(
        context: &Context,
        files: Files<'a>,
        is_sorted: bool,
        place_bytes_max: Option<u64>,
    ) -> Self {
        // Without a known end, places are in units of 64 KiB: enough for 256 TiB.
        let bits = place_bytes_max.map_or(48, |bytes| u64::BITS - bytes.leading_zeros());
        let place_shift = bits.saturating_sub(u32::BITS).max(9) as u8;
        Self {
            classifier: Classifier::new(context, files),
            rows: Rows { numbers: (!is_sorted).then(Vec::new), ..Rows::default() },
            pending: Vec::new(),
            is_sorted,
            place_shift,
            left_out: 0,
            from_issue: 0,
            number: 0,
        }
    }

    /// Adds the next row of the file.
    pub fn add(&mut self, row: &Request, commands: &Commands) {
        let is_request = row.parent_id.is_none() && !row.flags.contains(Flags::OWN);
        let last_ns = self.pending.last().map_or(i64::MIN, |row| row.arrived_ns);
        let last_ns = self.rows.blocks.last().map_or(last_ns, |block| last_ns.max(block.last_ns));
        let arrived_ns = row.arrival_ns().unwrap_or(last_ns);
        let class = match is_request {
            true => self.classifier.class(row, commands),
            false => LEFT_OUT,
        };
        self.left_out += u64::from(class == LEFT_OUT);
        let is_from_issue = row.queued_ns.or(row.started_ns).is_none() && row.issued_ns.is_some();
        self.from_issue += u64::from(class != LEFT_OUT && is_from_issue);
        let place = row.offset_bytes.map_or(NO_PLACE, |bytes| {
            u32::try_from(bytes >> self.place_shift).unwrap_or(NO_PLACE).min(NO_PLACE - 1)
        });
        self.pending.push(Row {
            // Where the file says that its rows are in order, they are taken at its word.
            arrived_ns: if self.is_sorted { arrived_ns.max(last_ns) } else { arrived_ns },
            place,
            // A completion whose request was never seen took nobody knows how long.
            response: response(arrived_ns, row.completed_ns.filter(|_| !row.is_orphan())),
            length: length(row.length_bytes),
            class,
            number: self.number,
        });
        self.number = self.number.saturating_add(1);
        if self.is_sorted && self.pending.len() == BLOCK {
            self.rows.push_block(&self.pending);
            self.pending.clear();
        }
    }

    /// The index of all rows that came.
    pub fn finish(mut self) -> Index {
        if !self.is_sorted {
            self.pending.sort_by_key(|row| row.arrived_ns);
        }
        self.pending.chunks(BLOCK).for_each(|rows| self.rows.push_block(rows));
        let classes = self.classifier.finish();
        let ends = ends(&self.rows, &classes);
        let is_long = self.rows.len() > ROWS_AT_ONCE;
        let groups = is_long.then(|| Groups::of(&self.rows, &classes, &ends));
        Index {
            rows: self.rows,
            classes,
            ends,
            groups,
            place_shift: self.place_shift,
            left_out: self.left_out,
            from_issue: self.from_issue,
        }
    }
}
