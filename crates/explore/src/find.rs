//! Single requests of a selection: the first ones, or the slowest.
//!
//! Non-goals: what a request went through (the trace's own rows say it, by its number).

use super::Index;
use super::brush::{Brush, numbers};
use super::count::Question;
use super::groups::NOWHERE;
use super::rows::{BLOCK, NO_PLACE, bytes, sectors};
use super::scale::{NEVER, NEVER_FINE, bin, of_fine_ns};
use super::view::operation_name;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::ops::Range;
use verdict::parts::in_parts;

/// Which requests come first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// Those that arrived first.
    First,
    /// Those that took longest.
    Slowest,
}

/// A request, as far as the index knows it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Found {
    /// Its row in the trace's file.
    pub row: u64,
    /// When it arrived.
    pub arrived_ns: i64,
    /// How long it took, to within 0.03 %; none if it was never completed.
    pub response_ns: Option<f64>,
    /// Where it begins; none of what has no place.
    pub place_bytes: Option<u64>,
    /// How long it is.
    pub length_bytes: u64,
    /// Device, role and file, by their numbers.
    pub device: u16,
    /// What it was.
    pub operation: &'static str,
    /// Who made it.
    pub role: u16,
    /// Of which file.
    pub file: u16,
}

/// What a row must be.
struct Wanted {
    question: Question,
    order: Order,
}

impl Wanted {
    fn response(&self, response: u8) -> bool {
        let is_of_order = self.order == Order::First || response != NEVER;
        is_of_order && self.question.has_response(response)
    }
}

impl Index {
    /// Up to so many requests of a selection.
    /// Errors: a sentence, where it names what the trace does not have.
    pub fn find(&self, brush: &Brush, order: Order, most: usize) -> Result<Vec<Found>, String> {
        brush.check(self)?;
        let Some((from_ns, until_ns)) = brush.time_ns(self) else { return Ok(Vec::new()) };
        let shown_device = brush.shown_device.unwrap_or(u16::MAX);
        let mut question = Question::new(self, brush, (from_ns, until_ns), shown_device);
        question.restricts_places &= brush.shown_device.is_some();
        let wanted = Wanted { question, order };
        let rows = self.rows.within(from_ns, until_ns);
        let (ranges, least) = self.candidates(&rows, &wanted, most);
        let mut found = match order {
            Order::First => self.first(&ranges, &wanted, most),
            Order::Slowest => self.slowest(&ranges, &wanted, least, most),
        };
        if found.len() < most && order == Order::Slowest {
            found = self.slowest(&blocks(&rows), &wanted, 0, most);
        }
        Ok(found.into_iter().filter_map(|row| self.found(row)).collect())
    }

    /// Ranges of rows that may have what is wanted, and from which response time on it is: of the
    /// slowest those cells that have the slowest ones.
    fn candidates(
        &self,
        rows: &Range<usize>,
        wanted: &Wanted,
        most: usize,
    ) -> (Vec<Range<usize>>, u8) {
        let Some(groups) = &self.groups else { return (blocks(rows), 0) };
        let cells = groups
            .cells
            .iter()
            .filter(|cell| cell.rows.start < rows.end && cell.rows.end > rows.start);
        let mut counts = [0_u64; NEVER as usize + 1];
        let mut met: Vec<(Range<usize>, u8)> = Vec::new();
        for cell in cells {
            let own = groups.of_cell(cell).iter().filter(|group| {
                wanted.question.wants_class(group.class)
                    && wanted.response(group.response)
                    && (!wanted.question.restricts_places || group.place != NOWHERE)
            });
            let mut slowest = None;
            for group in own {
                counts[usize::from(group.response)] += u64::from(group.requests);
                slowest = slowest.max(Some(group.response));
            }
            let range = cell.rows.start.max(rows.start)..cell.rows.end.min(rows.end);
            met.extend(slowest.map(|slowest| (range, slowest)));
        }
        let mut seen = 0;
        // Cells know places only coarsely, and are cut at the ends of the time: some more are
        // looked at than would do.
        let enough = counts.iter().rposition(|count| {
            seen += count;
            seen >= 4 * most as u64
        });
        let least = match wanted.order {
            Order::First => 0,
            Order::Slowest => enough.unwrap_or(0),
        };
        let is_met = |(_, slowest): &(Range<usize>, u8)| usize::from(*slowest) >= least;
        let ranges = met.into_iter().filter(is_met).flat_map(|(range, _)| blocks(&range));
        (ranges.collect(), least as u8)
    }

    /// The rows of a range that are wanted and took so long at least.
    fn wanted<'a>(
        &'a self,
        range: &Range<usize>,
        wanted: &'a Wanted,
        least: u8,
    ) -> impl Iterator<Item = (usize, u16)> + 'a {
        let of = |column: &'a [u16]| column.get(range.clone()).unwrap_or_default();
        let places = self.rows.places.get(range.clone()).unwrap_or_default();
        let columns = of(&self.rows.classes).iter().zip(of(&self.rows.responses)).zip(places);
        let is_wanted = move |class: u16, response: u16, place: u32| {
            bin(response) >= least
                && wanted.response(bin(response))
                && wanted.question.wants_class(class)
                && wanted.question.wants_place(place)
        };
        (range.start..).zip(columns).filter_map(move |(row, ((class, response), place))| {
            is_wanted(*class, *response, *place).then_some((row, *response))
        })
    }

    fn first(&self, ranges: &[Range<usize>], wanted: &Wanted, most: usize) -> Vec<usize> {
        let rows = ranges.iter().flat_map(|range| self.wanted(range, wanted, 0));
        rows.map(|(row, _)| row).take(most).collect()
    }

    fn slowest(
        &self,
        ranges: &[Range<usize>],
        wanted: &Wanted,
        least_bin: u8,
        most: usize,
    ) -> Vec<usize> {
        // By response time, and of equal ones the first.
        type Slowest = Vec<(Reverse<u16>, usize)>;
        let cut = |own: &mut Slowest| {
            own.sort_unstable();
            own.truncate(most);
        };
        let work = |own: &mut Slowest, part: usize| {
            let mut least = own.get(most.saturating_sub(1)).map_or(0, |(response, _)| response.0);
            for (row, response) in
                ranges.get(part).map(|r| self.wanted(r, wanted, least_bin)).into_iter().flatten()
            {
                if response > least || own.len() < most {
                    own.push((Reverse(response), row));
                }
                if own.len() >= 2 * most {
                    cut(own);
                    least = own.last().map_or(0, |(response, _)| response.0);
                }
            }
            cut(own);
        };
        let mut all: Slowest =
            in_parts(ranges.len(), Vec::new, work).into_iter().flatten().collect();
        cut(&mut all);
        all.into_iter().map(|(_, row)| row).collect()
    }

    fn found(&self, row: usize) -> Option<Found> {
        let rows = &self.rows;
        let class = *self.classes.all.get(usize::from(*rows.classes.get(row)?))?;
        let [device, op, role, file] = numbers(class);
        let place = *rows.places.get(row)?;
        let response = *rows.responses.get(row)?;
        Some(Found {
            row: rows.number(row),
            arrived_ns: rows.arrived_ns(row),
            response_ns: of_fine_ns(response).filter(|_| response != NEVER_FINE),
            place_bytes: (place != NO_PLACE).then(|| self.place_bytes(place)),
            length_bytes: bytes(u64::from(sectors(*rows.lengths.get(row)?))),
            device,
            operation: operation_name(op),
            role,
            file,
        })
    }
}

/// A range cut into parts of the size of a block.
fn blocks(range: &Range<usize>) -> Vec<Range<usize>> {
    let starts = range.clone().step_by(BLOCK);
    starts.map(|start| start..(start + BLOCK).min(range.end)).collect()
}
