//! The first screen of throughput: which rates were reached, which system is faster beyond the
//! intervals, and how near they come to the path's ceiling; then a row a cell, or the paper's table
//! where these are too many.

use super::details;
use super::matrix::{CEILING, Matrix, OF_CEILING};
use super::table;
use crate::answer::{Answer, Bar, Fact};
use crate::number::{CANNOT_TELL, RateUnit, show_rate, significant};
use crate::ranking::{Entrant, unranked};
use crate::screen::{first_of, fitted, joined, paragraphs, short};
use crate::sheet::{NOTHING, Sheet};
use crate::words::name;
use model::record::Verdict;
use model::units::show_time_ns;
use std::cmp::Ordering;

/// The columns that go first where a terminal is narrow.
const LESS_NEEDED: [&str; 13] = [
    "Passes",
    "Test bed",
    "Device bytes",
    "Max",
    "Sync max",
    "IOPS",
    "Total CPU",
    "Ceiling",
    "p50",
    "Sync p50",
    "p99",
    "Thread CPU",
    "Sync p99",
];
/// The columns that are the same in all rows where there is one system with so many drives.
const OF_ONE: [&str; 2] = ["Drives", "System"];

/// Systems that a sentence compares with the first.
const MOST_COMPARED: usize = 2;

/// The screen, of at most so many lines.
pub(super) fn text(matrix: &Matrix, width: Option<u16>, most_lines: usize) -> String {
    if matrix.columns.is_empty() {
        return NOTHING.into();
    }
    let unit = table::rate_unit([matrix]);
    let sentences = paragraphs(&sentences(matrix, unit), width);
    let cells = matrix.places().count();
    let with = |sheet: Sheet| joined([sentences.clone(), sheet.text(width)]);
    let printed = || Some(table::sheet(matrix)).filter(|sheet| sheet.fits(width)).map(with);
    let fits = |text: &String| text.lines().count() <= most_lines;
    let detailed = |rows: usize| with(rows_of(matrix, rows, unit, width));
    let whole = Some(detailed(cells)).filter(fits).or_else(|| printed().filter(fits));
    whole.unwrap_or_else(|| fitted(cells, most_lines, detailed))
}

/// The first cells, a row each.
fn rows_of(matrix: &Matrix, rows: usize, unit: RateUnit, width: Option<u16>) -> Sheet {
    let shown = matrix.first(rows);
    let notes = table::footnotes(&shown);
    let grid = details::grid(&shown, unit, &notes);
    let is_one = matrix.columns.len() == 1;
    let grid = if is_one { grid.without(&OF_ONE) } else { grid };
    let grid = grid.narrowed(width, &LESS_NEEDED).shortened(width);
    let of = match matrix.columns.as_slice() {
        [one] => format!(" of {} with {}", short(&one.target), one.drives_text()),
        _ => String::new(),
    };
    let interval = match shown.has_intervals() {
        true if shown.spans_parameters() => {
            ", ± half the span over samples of the model's uncertain parameters"
        }
        true => ", ± half the 95 % interval",
        false => "",
    };
    let which = first_of("first", rows, matrix.places().count());
    Sheet::of(format!("Rates{of}{interval}{which}"), grid, notes)
}

/// A cell: its row, its column, and its rate.
struct Rate {
    row: usize,
    column: usize,
    /// Its name is the test's, and the system's where there are several.
    entrant: Entrant,
    /// Of its path's ceiling in per cent, and that ceiling; none where the rate is not told.
    of_ceiling: Option<(Entrant, f64)>,
}

impl Rate {
    /// Whether its interval says how fast it is.
    fn is_told(&self) -> bool {
        self.entrant.interval.is_some() && !self.entrant.is_open
    }
}

fn rates(matrix: &Matrix) -> Vec<Rate> {
    let of = |(row, column): (usize, usize)| {
        let cell = matrix.cell(row, column)?;
        let test = short(&name(&matrix.rows[row]));
        let test = match matrix.columns.len() {
            1 => test,
            _ => format!("{test} on {}", system(matrix, column)),
        };
        let entrant = Entrant::of(&test, cell.rate()?)?;
        let entrant = Entrant { name: test.clone(), ..entrant };
        let share = cell.figure(OF_CEILING).and_then(|share| Entrant::of(&test, share));
        let share = share.filter(|share| !share.is_open).map(|of| Entrant { name: test, ..of });
        let of_ceiling = share.zip(cell.value(CEILING));
        Some(Rate { row, column, entrant, of_ceiling })
    };
    matrix.places().filter_map(of).collect()
}

/// The one with the greatest rate: of those whose rates are told, where there are any.
fn fastest<'r>(rates: impl Iterator<Item = &'r Rate>) -> Option<&'r Rate> {
    let order = |rate: &Rate| (rate.is_told(), rate.entrant.value);
    rates.max_by(|a, b| order(a).partial_cmp(&order(b)).unwrap_or(Ordering::Equal))
}

fn system(matrix: &Matrix, column: usize) -> String {
    short(&name(&table::column_name(matrix, column)))
}

/// All that it says, without a table.
pub(super) fn all_sentences(matrix: &Matrix) -> Vec<String> {
    sentences(matrix, table::rate_unit([matrix]))
}

fn sentences(matrix: &Matrix, unit: RateUnit) -> Vec<String> {
    let rates = rates(matrix);
    let compared = (1..matrix.columns.len()).filter_map(|column| against(matrix, &rates, column));
    let compared = compared.take(MOST_COMPARED);
    let span = span(matrix, &rates, unit).into_iter();
    span.chain(syncs(matrix, &rates)).chain(compared).chain(of_ceiling(&rates, unit)).collect()
}

/// How fast files are read and written, each on the system that is fastest at it; without a table.
pub(super) fn answer(matrix: &Matrix) -> Answer {
    let unit = table::rate_unit([matrix]);
    let show = |rate: f64| unit.text(rate);
    let rates = rates(matrix);
    let own =
        |way: &'static str| rates.iter().filter(move |rate| matrix.rows[rate.row].starts_with(way));
    let entrants: Vec<Entrant> = rates.iter().map(|rate| rate.entrant.clone()).collect();
    let unranked = unranked(&entrants);
    let told = |(way, verb): (&'static str, &str)| {
        let rate = fastest(own(way))?;
        let system = system(matrix, rate.column);
        let number = match unranked {
            Some(_) => format!("{}{}", show(rate.entrant.value), rate.entrant.mark()),
            None => rate.entrant.text(show),
        };
        Some(format!("{number} {verb} on {system}"))
    };
    let told: Vec<String> =
        [("read", "reading"), ("write", "writing")].into_iter().filter_map(told).collect();
    let headline = fastest(own("read")).map(|rate| {
        let what = format!("reading cold files on {}", system(matrix, rate.column));
        let number =
            if rate.entrant.is_open { CANNOT_TELL.to_owned() } else { show(rate.entrant.value) };
        (format!("{number}{}", rate.entrant.mark()), what)
    });
    // Of the test that is fastest, each system.
    let bars = |(way, verb): (&'static str, &str)| -> Vec<Bar> {
        let row = fastest(own(way)).map(|rate| rate.row);
        let of_test = own(way).filter(|rate| Some(rate.row) == row);
        let bar = |rate: &Rate| {
            let label = format!("{verb} {}", system(matrix, rate.column));
            let value = Some(rate.entrant.value).filter(|_| !rate.entrant.is_open);
            Bar::of(&label, value, show)
        };
        of_test.filter_map(bar).collect()
    };
    let several = match unranked {
        _ if matrix.columns.len() < 2 => String::new(),
        Some(why) => format!("; {why}: not ranked"),
        None => ", the fastest systems here".to_owned(),
    };
    let sentence = format!("{} (cold files{several}).", told.join(", "));
    Answer {
        headline: headline.unwrap_or_default(),
        bars: [("read", "read"), ("write", "write")].into_iter().flat_map(bars).collect(),
        sentences: if told.is_empty() { vec![] } else { vec![sentence] },
        table: None,
        facts: facts(matrix, &rates),
    }
}

/// The fastest way to read and to write on each system.
fn facts(matrix: &Matrix, rates: &[Rate]) -> Vec<Fact> {
    let of = |column: usize, way: &'static str| {
        let own = rates.iter().filter(|rate| rate.column == column);
        let own = own.filter(|rate| matrix.rows[rate.row].starts_with(way));
        let best = fastest(own)?;
        let what = format!("cold {way}s, {}", system(matrix, column));
        Some(Fact::rate(&what, best.entrant.clone(), show_rate))
    };
    let ways = |column| ["read", "write"].into_iter().filter_map(move |way| of(column, way));
    (0..matrix.columns.len()).rev().flat_map(ways).collect()
}

/// The fastest and the slowest test, and how many are doubted.
fn span(matrix: &Matrix, rates: &[Rate], unit: RateUnit) -> Option<String> {
    let show = |rate: f64| unit.text(rate);
    let is_any_told = rates.iter().any(Rate::is_told);
    let told = rates.iter().filter(|rate| rate.is_told() || !is_any_told);
    let mut told: Vec<&Rate> = told.collect();
    told.sort_by(|a, b| a.entrant.value.total_cmp(&b.entrant.value));
    let (slowest, fastest) = (told.first()?, told.last()?);
    let text = |rate: &Rate, verb: &str| {
        let share = rate.of_ceiling.as_ref().map_or_else(String::new, |(share, ceiling)| {
            format!(", {} of its ceiling of {}", percent(share.value), show(*ceiling))
        });
        format!("{} {verb} {}{share}", rate.entrant.name, rate.entrant.text(show))
    };
    let doubted = doubted(matrix, rates);
    let entrants: Vec<Entrant> = told.iter().map(|rate| rate.entrant.clone()).collect();
    if let Some(why) = unranked(&entrants) {
        let [low, high] = [slowest, fastest].map(|end| show(end.entrant.value));
        let count = told.len();
        return Some(format!("{count} cells reach {low} to {high}; {why}: not ranked.{doubted}"));
    }
    Some(match told.as_slice() {
        [_] => format!("{}.{doubted}", text(slowest, "reaches")),
        _ => {
            format!("{}; {}.{doubted}", text(fastest, "is fastest at"), text(slowest, "slowest at"))
        }
    })
}

/// How long syncs take in the test in which they take longest.
fn syncs(matrix: &Matrix, rates: &[Rate]) -> Option<String> {
    let of = |rate: &Rate, quantity: &str| matrix.cell(rate.row, rate.column)?.value(quantity);
    let p99 = |rate: &&Rate| of(rate, "sync_latency_p99_ns");
    let slower = |a: &&Rate, b: &&Rate| p99(a).partial_cmp(&p99(b)).unwrap_or(Ordering::Equal);
    let slowest = rates.iter().filter(|rate| p99(rate).is_some()).max_by(slower)?;
    let time = |quantity| of(slowest, quantity).map(show_time_ns);
    let share = of(slowest, "sync_percent")
        .map_or_else(String::new, |share| format!("; syncs take {} of its time", percent(share)));
    Some(format!(
        "p99 sync latency is {} in {} (p50 {}, max {}){share}.",
        time("sync_latency_p99_ns")?,
        slowest.entrant.name,
        time("sync_latency_p50_ns")?,
        time("sync_latency_max_ns")?,
    ))
}

fn percent(value: f64) -> String {
    format!("{} %", significant(value))
}

/// How many cells are suspect, are not told or were not measured.
fn doubted(matrix: &Matrix, rates: &[Rate]) -> String {
    let cells = matrix.places().count();
    let suspect = |rate: &&Rate| {
        let cell = matrix.cell(rate.row, rate.column);
        cell.is_some_and(|cell| cell.verdict() == Verdict::Suspect)
    };
    let open = rates.iter().filter(|rate| rate.entrant.is_open).count();
    let counts = [
        (rates.iter().filter(suspect).count(), "suspect"),
        (open, "not known yet (too wide an interval)"),
        (cells - rates.len(), "not measured"),
    ];
    let counts = counts.into_iter().filter(|(count, _)| *count > 0);
    let are = |count| if count == 1 { "is" } else { "are" };
    let texts = counts.map(|(count, what)| format!("{count} {} {what}", are(count)));
    let texts: Vec<String> = texts.collect();
    match texts.as_slice() {
        // The rate itself says it.
        _ if cells == 1 => String::new(),
        [] => String::new(),
        texts => format!(" Of {cells} cells {}.", texts.join(", ")),
    }
}

/// A system against the first one, test by test.
fn against(matrix: &Matrix, rates: &[Rate], column: usize) -> Option<String> {
    let of = |row: usize, column: usize| {
        rates.iter().find(|rate| (rate.row, rate.column) == (row, column)).map(|r| &r.entrant)
    };
    let pairs = (0..matrix.rows.len()).filter_map(|row| Some((row, of(row, column)?, of(row, 0)?)));
    let have_intervals = |(_, this, first): &(usize, &Entrant, &Entrant)| {
        this.interval.is_some() && first.interval.is_some()
    };
    let pairs = pairs.filter(have_intervals);
    let pairs: Vec<(usize, &Entrant, &Entrant)> = pairs.collect();
    let times = |(row, this, first): &(usize, &Entrant, &Entrant)| {
        let faster = this.times(first).map(|times| (*row, times, true));
        faster.or_else(|| first.times(this).map(|times| (*row, times, false)))
    };
    let sure: Vec<(usize, f64, bool)> = pairs.iter().filter_map(times).collect();
    let faster = sure.iter().filter(|(.., is_faster)| *is_faster).count();
    let (slower, unsure) = (sure.len() - faster, pairs.len() - sure.len());
    let greatest = sure.iter().max_by(|a, b| a.1.total_cmp(&b.1)).map(|(row, times, is_faster)| {
        let how = if *is_faster { "faster" } else { "slower" };
        let test = short(&name(&matrix.rows[*row]));
        format!(" The largest difference is {test}: at least {}× {how}.", significant(*times))
    });
    let (this, first) = (system(matrix, column), system(matrix, 0));
    let of = match pairs.len() {
        0 => return None,
        1 => "the test that both have".to_owned(),
        many => format!("{many} tests"),
    };
    if sure.is_empty() {
        return Some(match pairs.len() {
            1 => format!("{this} and {first} cannot be told apart in {of}."),
            _ => format!("{this} and {first} cannot be told apart in any of {of}."),
        });
    }
    let ways = [(faster, "faster"), (slower, "slower")].into_iter().filter(|(count, _)| *count > 0);
    let ways: Vec<String> = ways
        .map(|(count, way)| match pairs.len() {
            1 => format!("{way} than {first} in {of}"),
            _ => format!("{way} than {first} in {count} of {of}"),
        })
        .collect();
    let unsure = match unsure {
        0 => String::new(),
        unsure => format!("; in {unsure} they cannot be told apart"),
    };
    Some(format!("{this} is {}{unsure}.{}", ways.join(" and "), greatest.unwrap_or_default()))
}

/// How many tests reach the ceiling, and which stays farthest below it.
fn of_ceiling(rates: &[Rate], unit: RateUnit) -> Option<String> {
    let known: Vec<&(Entrant, f64)> =
        rates.iter().filter_map(|rate| rate.of_ceiling.as_ref()).collect();
    let is_below = |share: &Entrant| share.interval.is_some_and(|(_, high)| high < 100.0);
    let below: Vec<&(Entrant, f64)> =
        known.iter().copied().filter(|(share, _)| is_below(share)).collect();
    let at = |(share, ceiling): &(Entrant, f64)| {
        format!("at {} of {}", share.text(percent), unit.text(*ceiling))
    };
    let farthest = below.iter().min_by(|a, b| a.0.value.total_cmp(&b.0.value));
    let farthest = farthest
        .map_or_else(String::new, |of| format!("; {} is furthest below it, {}", of.0.name, at(of)));
    let the_ceiling = "ceiling, the highest rate of its path in this run";
    let their_ceiling = "their ceiling, the highest rate of their path in this run";
    if known.iter().all(|(share, _)| share.interval.is_none()) {
        return None;
    }
    let the_test = match (rates, known.as_slice()) {
        ([_, _, ..], [(share, _)]) => share.name.as_str(),
        _ => "The test",
    };
    Some(match (below.as_slice(), known.len()) {
        ([], 1) => format!("{the_test} is not surely below its {the_ceiling}."),
        ([], many) => format!("None of {many} tests is surely below its {the_ceiling}."),
        ([of], 1) => format!("{the_test} stays {}, its {the_ceiling}.", at(of)),
        (below, many) if below.len() == many => {
            format!("All {many} tests stay below {their_ceiling}{farthest}.")
        }
        (below, many) => {
            let open = many - below.len();
            let stay = match below {
                [_] => format!("1 of {many} tests surely stays below its {the_ceiling}"),
                _ => format!("{} of {many} tests surely stay below {their_ceiling}", below.len()),
            };
            format!("{stay}; of {open} that cannot be told{farthest}.")
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::record::{Finding, Interval, Subject};

    /// A volume by itself and among others is told by one number, and a bar is drawn of no other.
    #[test]
    fn a_rate_that_is_told_goes_before_a_greater_one_that_is_not() {
        let cell = |program: &str, (low, rate, high): (f64, f64, f64)| {
            let subject = Subject::cell("/a", program, 1);
            let found = Finding::new(&subject, "rate_bytes_per_s", Some(rate), 3, "mean");
            found.within(Interval::Passes, (Some(low), Some(high)))
        };
        let of = |findings: &[Finding]| answer(&Matrix::from_findings(findings, &[]));
        let facts = |answer: &Answer| answer.facts.iter().map(Fact::shown).collect::<Vec<_>>();
        let open = cell("read_seq", (0.0, 3e8, 6e8));
        let both = of(&[open.clone(), cell("read_rand", (1.9e8, 2e8, 2.1e8))]);
        assert_eq!(
            (both.headline.0.as_str(), facts(&both)),
            ("200 MB/s", vec!["200 MB/s".to_owned()])
        );
        assert_eq!(both.bars.iter().map(|bar| bar.value).collect::<Vec<_>>(), [2e8]);
        let none = of(&[open]);
        assert_eq!(
            (none.headline.0.as_str(), facts(&none)),
            (CANNOT_TELL, vec![CANNOT_TELL.to_owned()])
        );
        assert!(none.bars.is_empty() && none.sentences[0].contains("cannot tell yet"));
    }
}
