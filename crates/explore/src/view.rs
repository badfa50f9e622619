//! What is shown of a selection: its flow and its response times and places over time, and what it
//! is made of, dimension by dimension.
//!
//! Non-goals: drawing.

use super::brush::{Brush, DIMENSIONS, numbers};
use super::count::{Counted, Counts, KINDS, count, kind_name};
use super::rows::bytes;
use super::scale::{self, BINS, NEVER};
use super::{Index, OPERATIONS, ROWS_AT_ONCE};
use model::record::Op;
use serde::Serialize;
use std::collections::BTreeMap;

/// Lines of each list, at the most; what is chosen is listed in any case.
const LINES: usize = 16;

/// A selection, counted.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct View {
    /// Requests of the selection.
    pub requests: u64,
    /// Bytes that they read and wrote; of a selection of discards alone, what they discarded.
    pub bytes: u64,
    /// Those of which the trace does not tell how long they took.
    pub unanswered: u64,
    /// What was counted: the selection, moved to the borders of cells where these were counted.
    pub brush: Brush,
    /// Whether requests were counted one by one.
    pub one_by_one: bool,
    /// Where columns of time begin, ns, and where the last one ends.
    pub times_ns: Vec<i64>,
    /// Requests and bytes over time by kind of operation.
    pub flow: Vec<Flow>,
    /// Response times over time; their edges in ns.
    pub responses: Heat,
    /// Places of the shown device over time; their edges in bytes.
    pub places: Heat,
    /// Response times of all of it.
    pub times: Times,
    /// What it is made of.
    pub lists: Lists,
}

/// Requests of a kind over time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Flow {
    /// read, write or other.
    pub operation: &'static str,
    /// Requests in each column.
    pub requests: Vec<u32>,
    /// Their bytes.
    pub bytes: Vec<u64>,
}

/// Counts by time and something else.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Heat {
    /// Where lines begin, and where the last one ends.
    pub edges: Vec<f64>,
    /// Column by column, in each from the first line on.
    pub counts: Vec<u32>,
}

/// Response times in numbers; none where nothing was completed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Times {
    /// Median, to within [`scale::within_percent`].
    pub p50_ns: Option<f64>,
    /// 99th percentile, to within as much.
    pub p99_ns: Option<f64>,
    /// The longest, to within 0.03 %.
    pub max_ns: Option<f64>,
}

/// What a selection is made of, each dimension counted without its own restriction.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Lists {
    /// By device.
    pub devices: List,
    /// By operation.
    pub operations: List,
    /// By role.
    pub roles: List,
    /// By file.
    pub files: List,
}

/// A dimension's lines, those of most requests first.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct List {
    /// The first ones.
    pub lines: Vec<Line>,
    /// How many more there are.
    pub more: usize,
}

/// Requests that one thing has in common.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Line {
    /// Its number in the dimension.
    pub number: u16,
    /// How many.
    pub requests: u64,
    /// Bytes that they read and wrote; of the line of discards, what they discarded.
    pub bytes: u64,
    /// Their response times.
    pub times: Times,
}

impl Index {
    /// Counts a selection.
    /// Errors: a sentence, where it names what the trace does not have.
    pub fn view(&self, brush: &Brush) -> Result<View, String> {
        self.view_of(brush, ROWS_AT_ONCE)
    }

    /// The same, with so many rows counted one by one at the most.
    pub(super) fn view_of(&self, brush: &Brush, most: usize) -> Result<View, String> {
        brush.check(self)?;
        let counted = count(self, brush, most);
        let counted = counted.ok_or("the trace has no requests".to_owned())?;
        let passes = brush.passes(&self.classes);
        let all = selected(self, &counted.counts, &passes, (1 << DIMENSIONS) - 1, |_| Some(0));
        let whole = all.get(&0).cloned().unwrap_or_default();
        Ok(View {
            requests: whole.requests(),
            bytes: whole.bytes(are_discards(brush.chosen()[OPERATION])),
            unanswered: u64::from(whole.responses[usize::from(NEVER)]),
            brush: effective(self, brush, &counted),
            one_by_one: counted.is_of_rows,
            times_ns: counted.question.columns.clone(),
            flow: (0..KINDS).map(|kind| flow(&counted.counts, kind)).collect(),
            responses: responses(&counted),
            places: places(self, &counted),
            times: whole.times(),
            lists: lists(self, brush, &counted.counts, &passes),
        })
    }
}

/// The dimension of operations.
const OPERATION: usize = 1;

/// Whether these operations, by their numbers, are discards and nothing else.
fn are_discards(operations: &[u16]) -> bool {
    let is_discard = |op: &u16| OPERATIONS.get(usize::from(*op)) == Some(&Op::Discard);
    !operations.is_empty() && operations.iter().all(is_discard)
}

/// Requests that are put together.
#[derive(Debug, Clone)]
struct Sum {
    responses: Vec<u32>,
    /// Read and written, and discarded.
    sectors: u64,
    discarded: u64,
    longest: u16,
}

impl Default for Sum {
    fn default() -> Self {
        Self { responses: vec![0; BINS], sectors: 0, discarded: 0, longest: 0 }
    }
}

impl Sum {
    fn requests(&self) -> u64 {
        self.responses.iter().map(|count| u64::from(*count)).sum()
    }

    fn bytes(&self, are_discards: bool) -> u64 {
        bytes(if are_discards { self.discarded } else { self.sectors })
    }

    fn times(&self) -> Times {
        let completed = self.responses.get(..usize::from(NEVER)).unwrap_or_default();
        let total: u64 = completed.iter().map(|count| u64::from(*count)).sum();
        let at = |share: f64| {
            let rank = ((total as f64 * share).ceil() as u64).max(1);
            let mut seen = 0;
            let bin = completed.iter().position(|count| {
                seen += u64::from(*count);
                seen >= rank
            });
            bin.map(scale::middle_ns)
        };
        let max_ns = scale::of_fine_ns(self.longest).filter(|_| total > 0);
        Times { p50_ns: at(0.5), p99_ns: at(0.99), max_ns }
    }
}

/// Classes put together by a key, of those that the wanted dimensions let pass.
fn selected(
    index: &Index,
    counts: &Counts,
    passes: &[u8],
    wanted: u8,
    key: impl Fn(usize) -> Option<u16>,
) -> BTreeMap<u16, Sum> {
    let mut sums: BTreeMap<u16, Sum> = BTreeMap::new();
    let classes = counts.classes.chunks(BINS).zip(&counts.sectors).zip(&counts.longest);
    for (class, (((responses, sectors), longest), passes)) in classes.zip(passes).enumerate() {
        let is_there = responses.iter().any(|count| *count > 0);
        let Some(key) = key(class).filter(|_| is_there && passes & wanted == wanted) else {
            continue;
        };
        let sum = sums.entry(key).or_default();
        sum.responses.iter_mut().zip(responses).for_each(|(own, count)| *own += count);
        let op = index.classes.all.get(class).map(|class| u16::from(class.op));
        let to = match are_discards(op.as_slice()) {
            true => &mut sum.discarded,
            false => &mut sum.sectors,
        };
        *to += sectors;
        sum.longest = sum.longest.max(*longest);
    }
    sums
}

fn lists(index: &Index, brush: &Brush, counts: &Counts, passes: &[u8]) -> Lists {
    let of = |dimension: usize| {
        let others = ((1 << DIMENSIONS) - 1) & !(1 << dimension);
        let key = |class: usize| Some(numbers(*index.classes.all.get(class)?)[dimension]);
        let chosen = brush.chosen()[dimension];
        let mut sums = selected(index, counts, passes, others, key);
        for number in chosen {
            sums.entry(*number).or_default();
        }
        list(sums, chosen, dimension == OPERATION)
    };
    Lists { devices: of(0), operations: of(1), roles: of(2), files: of(3) }
}

fn list(sums: BTreeMap<u16, Sum>, chosen: &[u16], by_operation: bool) -> List {
    let mut lines: Vec<Line> = sums
        .into_iter()
        .map(|(number, sum)| Line {
            number,
            requests: sum.requests(),
            bytes: sum.bytes(by_operation && are_discards(&[number])),
            times: sum.times(),
        })
        .collect();
    let is_chosen = |line: &Line| chosen.contains(&line.number);
    lines.sort_by_key(|line| (!is_chosen(line), std::cmp::Reverse(line.requests)));
    let kept = LINES.max(chosen.len());
    let more = lines.len().saturating_sub(kept);
    lines.truncate(kept);
    lines.sort_by_key(|line| std::cmp::Reverse(line.requests));
    List { lines, more }
}

fn flow(counts: &Counts, kind: usize) -> Flow {
    let of = |column: &[(u32, u64); KINDS]| column[kind];
    Flow {
        operation: kind_name(kind),
        requests: counts.flow.iter().map(|column| of(column).0).collect(),
        bytes: counts.flow.iter().map(|column| bytes(of(column).1)).collect(),
    }
}

/// The bins of response times that hold something, or that were selected.
fn responses(counted: &Counted) -> Heat {
    let counts = &counted.counts.responses;
    let of_bin = |bin: usize| counts.iter().skip(bin).step_by(BINS).any(|count| *count > 0);
    let is_used = |bin: &usize| of_bin(*bin);
    let completed = 0..usize::from(NEVER);
    let (first, last) = match (completed.clone().find(is_used), completed.rev().find(is_used)) {
        (Some(first), Some(last)) => (first, last),
        _ => return Heat::default(),
    };
    let columns = counts.chunks(BINS);
    Heat {
        edges: (first..=last + 1).map(scale::from_ns).collect(),
        counts: columns.flat_map(|column| &column[first..=last]).copied().collect(),
    }
}

fn places(index: &Index, counted: &Counted) -> Heat {
    let edge = |unit: &u32| index.place_bytes(*unit) as f64;
    Heat { edges: counted.lines.iter().map(edge).collect(), counts: counted.counts.places.clone() }
}

/// What was counted, as a selection.
fn effective(index: &Index, brush: &Brush, counted: &Counted) -> Brush {
    let question = &counted.question;
    let (from, until) = question.responses;
    let restricted = brush.restricts_responses();
    let lines = brush.restricts_places().then_some(&counted.lines);
    let place = |unit: Option<&u32>| unit.map(|unit| index.place_bytes(*unit));
    Brush {
        from_ns: Some(question.from_ns),
        until_ns: Some(question.until_ns),
        place_from_bytes: place(lines.and_then(|lines| lines.first())),
        place_until_bytes: place(lines.and_then(|lines| lines.last())),
        response_from_ns: restricted.then(|| if from == 0 { 0.0 } else { scale::from_ns(from) }),
        response_until_ns: (restricted && until < BINS).then(|| scale::from_ns(until)),
        shown_device: Some(question.shown_device),
        ..brush.clone()
    }
}

/// The name of an operation by its number.
pub(super) fn operation_name(number: u16) -> &'static str {
    OPERATIONS.get(usize::from(number)).map_or("", |op| op.name())
}
