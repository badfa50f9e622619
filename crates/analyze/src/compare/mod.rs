//! What differs between two sides, beyond the noise: values of each pass (or run) in, one row a
//! finding out.
//!
//! - A side's *units* are what stands for itself: passes of its only run, runs where there are
//!   several, rounds of a run that interleaved both sides. More than a dozen are put together,
//!   neighbours in time, by their median: neighbours resemble each other, and a test that takes
//!   each for itself finds differences in nothing (*batch means*: Law, *Simulation Modeling and
//!   Analysis*, section 9.5.3).
//! - A side's value is the middle of its units ([`rank::middle`]), and the change is from the one
//!   middle to the other, of logarithms, so that it is a ratio. A test ([`test`]) says how likely
//!   it is by chance, and gives its interval.
//! - The probabilities of all rows are corrected by Holm (*A simple sequentially rejective multiple
//!   test procedure*, 1979): one false difference among all of them in one case of twenty.
//! - The *noise floor* of a row is the greater difference between the halves of either side (A/A),
//!   and what the machine itself changed between the runs. What is not above it is not called a
//!   difference.
//! - *No difference* is said only where the interval leaves no space for one that matters.
//! - A row's interval is the one that its verdict rests on: a difference's leaves 0 out after the
//!   correction; that of *no difference* is of the row alone.
//! - Quantities of one cell that went opposite ways are remarked ([`remark`]).
//!
//! Non-goals: reading files, printing.

pub mod fio;
mod number;
pub mod rank;
mod remark;
pub mod series;
pub mod setting;
mod test;
#[cfg(test)]
mod tests;

use crate::statistics::median;
use model::comparison::{Compared, Comparison, INTERVALS, Outcome, SideDoubt};
use model::record::{Better, Subject, quantity};
use number::{Powers, upper_limit};
use rank::{Design, middle};
pub use series::Series;
use std::collections::BTreeMap;
use test::Test;

/// Units that the test is given, of each side.
pub const MOST_UNITS: usize = 12;
/// A recommendation of more would help nobody.
const MOST_NEEDED: usize = 1000;
/// The chance of one false difference among all.
const LEVEL: f64 = 1.0 - crate::statistics::CONFIDENCE;

/// What stands for itself in the test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Passes of one run a side.
    Pass,
    /// Whole runs.
    Run,
    /// Rounds of an interleaved run, a pass of each side.
    Round,
    /// Stretches of a trace.
    Stretch,
    /// Hours of two times, each with the one of the same place in the other.
    Hour,
}

impl Unit {
    /// The plural.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pass => "passes",
            Self::Run => "runs",
            Self::Round => "rounds",
            Self::Stretch => "stretches",
            Self::Hour => "hours",
        }
    }
}

/// How two sides are to be compared.
#[derive(Debug, Clone)]
pub struct Question {
    /// What the sides' units are.
    pub unit: Unit,
    /// The least difference that matters, per cent.
    pub effect_percent: f64,
    /// By how much the machine itself changed between the sides, per cent: a part of the noise
    /// floor.
    pub machine_percent: f64,
    /// Differences that are meant, and forbid nothing.
    pub across: Vec<setting::Aspect>,
    /// Why nothing is comparable, where that is so.
    pub refusal: Option<String>,
}

/// A finding's key on both sides.
type Key = (Subject, String);
/// The series of one key, one for each run of a side.
type OfKey<'a> = Vec<&'a Series>;

/// Compares the runs of A with those of B. The order of the rows is A's.
pub fn compare(a: &[Vec<Series>], b: &[Vec<Series>], question: &Question) -> Compared {
    compare_with(&mut Powers::default(), a, b, question)
}

/// The same, with powers that were reckoned before.
fn compare_with(
    powers: &mut Powers,
    a: &[Vec<Series>],
    b: &[Vec<Series>],
    question: &Question,
) -> Compared {
    let (order, of_a) = by_key(a);
    let (_, of_b) = by_key(b);
    let shared: Vec<(&Key, &OfKey, &OfKey)> =
        order.iter().filter_map(|key| Some((key, of_a.get(key)?, of_b.get(key)?))).collect();
    let mut rows: Vec<(Comparison, Measured)> =
        shared.into_iter().map(|(key, a, b)| row(key, a, b, question)).collect();
    find_floors(&mut rows, question);
    let tested = find_probabilities(&mut rows, question.unit.design());
    holm(&mut rows);
    let mut judged = |(row, measured)| judge(row, &measured, question, powers, tested);
    let mut rows: Vec<Comparison> = rows.into_iter().map(&mut judged).collect();
    remark::opposed(&mut rows);
    Compared {
        rows,
        only_a: of_a.keys().filter(|key| !of_b.contains_key(key)).count(),
        only_b: of_b.keys().filter(|key| !of_a.contains_key(key)).count(),
        tested,
    }
}

impl Unit {
    fn design(self) -> Design {
        match self {
            Self::Round | Self::Hour => Design::Pairs,
            Self::Pass | Self::Run | Self::Stretch => Design::Apart,
        }
    }
}

fn by_key(runs: &[Vec<Series>]) -> (Vec<Key>, BTreeMap<Key, OfKey<'_>>) {
    let mut order = Vec::new();
    let mut found: BTreeMap<Key, OfKey> = BTreeMap::new();
    for series in runs.iter().flatten() {
        let key = (series.subject.clone(), series.quantity.clone());
        found
            .entry(key.clone())
            .or_insert_with(|| {
                order.push(key);
                Vec::new()
            })
            .push(series);
    }
    (order, found)
}

/// What a row's verdict rests on, in the scale of the test.
#[derive(Default)]
struct Measured {
    /// The units of A and of B.
    units: [Vec<f64>; 2],
    shift: Option<f64>,
    test: Option<Test>,
    /// The probability with which the interval of a difference may miss it.
    level: f64,
    floor: f64,
    /// How far the halves of each side are apart.
    halves: Vec<f64>,
    /// The scale is that of logarithms; else that of shares of A.
    is_ratio: bool,
    /// Deviation of a unit, its upper limit.
    deviation: Option<f64>,
    /// Values that one unit is made of.
    values_of_unit: usize,
    /// The most values that a side has.
    values: usize,
}

impl Measured {
    /// The interval of the shift at a level.
    fn interval(&self, level: f64) -> Option<(f64, f64)> {
        let [a, b] = &self.units;
        self.test?.interval(a, b, level)
    }

    /// A shift as per cent of A.
    fn percent(&self, shift: f64) -> f64 {
        100.0 * if self.is_ratio { shift.exp_m1() } else { shift }
    }
}

/// Whether the values are ratios to each other.
fn is_ratio(sides: [&[f64]; 2]) -> bool {
    sides.iter().all(|side| side.iter().all(|value| *value > 0.0))
}

fn row(key: &Key, a: &OfKey<'_>, b: &OfKey<'_>, question: &Question) -> (Comparison, Measured) {
    let (mut of_a, mut of_b) = (values(a, question.unit), values(b, question.unit));
    if matches!(question.unit, Unit::Round | Unit::Hour) {
        // A pass without a partner says nothing.
        let pairs = of_a.len().min(of_b.len());
        of_a.truncate(pairs);
        of_b.truncate(pairs);
    }
    let mut row = Comparison {
        subject: key.0.clone(),
        quantity: key.1.clone(),
        unit: quantity(&key.1).map_or("", |q| q.unit).to_owned(),
        a: median(&of_a),
        b: median(&of_b),
        counts: (of_a.len(), of_b.len()),
        difference_percent: None,
        low_percent: None,
        high_percent: None,
        probability: None,
        corrected_probability: None,
        noise_floor_percent: None,
        outcome: Outcome::CannotTell,
        needed: None,
        method: "none".to_owned(),
        reason: None,
        doubts: doubts(a, b),
        remarks: vec![],
    };
    let unlike = question.refusal.clone().or_else(|| setting::unlike(a, b, &question.across));
    let is_unlike = unlike.is_some();
    if is_unlike {
        (row.outcome, row.reason) = (Outcome::NotComparable, unlike);
    }
    if let (Unit::Stretch, [_], [_], false) = (question.unit, &*of_a, &*of_b, is_unlike) {
        hold_intervals(&mut row, [a, b].map(interval), question.effect_percent);
        return (row, Measured::default());
    }
    let measured = measure(&mut row, (&of_a, &of_b), question);
    (row, measured)
}

/// The interval of a side's only value.
fn interval(runs: &OfKey<'_>) -> Option<(f64, f64)> {
    runs.first()?.interval
}

/// Two values whose intervals are apart differ; those of whole traces have nothing else.
fn hold_intervals(row: &mut Comparison, ends: [Option<(f64, f64)>; 2], effect_percent: f64) {
    let percent = |a: f64, b: f64| (a > 0.0).then(|| 100.0 * (b / a - 1.0));
    row.method = INTERVALS.to_owned();
    row.difference_percent = row.a.zip(row.b).and_then(|(a, b)| percent(a, b));
    let [Some(of_a), Some(of_b)] = ends else {
        let lone = match ends {
            [None, None] => "each trace",
            [None, _] => "A",
            _ => "B",
        };
        let why = "has one value, without an interval; 4 traces per side may tell";
        row.reason = Some(format!("{lone} {why}"));
        return;
    };
    let ends = percent(of_a.1, of_b.0).zip(percent(of_a.0, of_b.1));
    (row.low_percent, row.high_percent) = ends.unzip();
    row.outcome = match ends {
        _ if of_b.0 > of_a.1 => direction(&row.quantity, 1.0),
        _ if of_b.1 < of_a.0 => direction(&row.quantity, -1.0),
        Some((low, high)) if low >= -effect_percent && high <= effect_percent => {
            Outcome::NoDifference
        }
        _ if of_a == of_b && of_a.0 == of_a.1 => Outcome::NoDifference,
        _ => {
            let half = (of_a.1 - of_a.0 + of_b.1 - of_b.0) / 2.0;
            let (a, b) = (row.a.unwrap_or(0.0), row.b.unwrap_or(0.0));
            let longer = match wider(half, b - a, effect_percent / 100.0 * a).ceil() {
                times if times > 1.0 && times <= MOST_NEEDED as f64 => {
                    format!("traces about {times} times as long")
                }
                _ => "longer traces".to_owned(),
            };
            let overlap = format!("the 95 % intervals of A and B overlap; {longer} may tell");
            row.reason = Some(overlap);
            Outcome::CannotTell
        }
    };
}

/// The values of a side: those of its only run, or one of each run.
fn values(runs: &OfKey<'_>, unit: Unit) -> Vec<f64> {
    match (unit, runs.as_slice()) {
        (Unit::Run, _) => runs.iter().filter_map(|series| median(&series.values)).collect(),
        (_, [one]) => one.values.clone(),
        _ => Vec::new(),
    }
}

fn doubts(a: &OfKey<'_>, b: &OfKey<'_>) -> Vec<SideDoubt> {
    let of_side = |side: &'static str, runs: &OfKey<'_>| {
        let doubts = runs.iter().flat_map(|series| series.doubts.clone());
        doubts.map(|doubt| SideDoubt { side, doubt }).collect::<Vec<_>>()
    };
    let mut found = [of_side("A", a), of_side("B", b)].concat();
    found.dedup();
    found
}

/// Neighbours put together, so that at most [`MOST_UNITS`] remain.
fn blocks(values: &[f64]) -> Vec<f64> {
    let count = values.len().min(MOST_UNITS);
    let ends = |i: usize| i * values.len() / count.max(1);
    (0..count).filter_map(|i| median(values.get(ends(i)..ends(i + 1))?)).collect()
}

fn measure(row: &mut Comparison, (a, b): (&[f64], &[f64]), question: &Question) -> Measured {
    let of_ratios = is_ratio([a, b]);
    // The middle that is printed: change and interval are shares of the same number.
    let base = middle(&blocks(a)).unwrap_or(0.0);
    if a.is_empty() || b.is_empty() {
        let side = if a.is_empty() { "A" } else { "B" };
        row.reason.get_or_insert_with(|| format!("not measured in {side}"));
        row.outcome = Outcome::NotComparable;
        return Measured::default();
    }
    if !of_ratios && base <= 0.0 {
        let all_equal = a.iter().chain(b).all(|value| *value == base);
        if all_equal && row.outcome != Outcome::NotComparable {
            row.outcome = Outcome::NoDifference;
        } else {
            let reason = "A is not above 0, so a change is no percentage of it";
            row.reason.get_or_insert_with(|| reason.to_owned());
            row.outcome = Outcome::NotComparable;
        }
        return Measured::default();
    }
    let scale = |value: &f64| if of_ratios { value.ln() } else { value / base };
    let back = |value: f64| if of_ratios { value.exp() } else { value * base };
    let scaled = |values: &[f64]| blocks(&values.iter().map(scale).collect::<Vec<_>>());
    let units = [scaled(a), scaled(b)];
    let design = question.unit.design();
    let middles = units.each_ref().map(|units| middle(units).map(back));
    let halves = units.each_ref().map(|units| halves_differ(design, units));
    let measured = Measured {
        shift: test::shift(&units[0], &units[1]),
        halves: halves.into_iter().flatten().collect(),
        is_ratio: of_ratios,
        deviation: deviation(design, &units[0], &units[1]),
        values_of_unit: a.len().max(b.len()).div_ceil(MOST_UNITS),
        values: a.len().min(b.len()),
        units,
        ..Measured::default()
    };
    [row.a, row.b] = middles;
    // From the two numbers that are printed.
    row.difference_percent = row.a.zip(row.b).map(|(a, b)| 100.0 * (b / a - 1.0));
    measured
}

/// The test of each row and its probability; how many rows are tested.
fn find_probabilities(rows: &mut [(Comparison, Measured)], design: Design) -> usize {
    let is_tested = |(row, measured): &(Comparison, Measured)| {
        row.outcome != Outcome::NotComparable && measured.shift.is_some()
    };
    let tested = rows.iter().filter(|row| is_tested(row)).count();
    let least = LEVEL / tested.max(1) as f64;
    for (row, measured) in rows.iter_mut().filter(|(_, measured)| measured.shift.is_some()) {
        let [a, b] = &measured.units;
        let counts = (a.len().min(b.len()), a.len().max(b.len()));
        let test = Test::of(design, counts, least);
        (row.method, row.probability) = (test.name().to_owned(), Some(test.probability(a, b)));
        (measured.test, measured.level) = (Some(test), LEVEL);
        show(row, measured, LEVEL);
    }
    tested
}

/// Shows the interval at this level.
fn show(row: &mut Comparison, measured: &Measured, level: f64) {
    let interval = measured.interval(level);
    row.low_percent = interval.map(|(low, _)| measured.percent(low));
    row.high_percent = interval.map(|(_, high)| measured.percent(high));
}

/// How far a side's halves are apart: its first and its second half in time, or the odd and the
/// even rounds where the sides were interleaved.
fn halves_differ(design: Design, units: &[f64]) -> Option<f64> {
    let half = units.len() / 2;
    let (first, second): (Vec<f64>, Vec<f64>) = match design {
        Design::Apart => (units[..half].to_vec(), units[units.len() - half..].to_vec()),
        Design::Pairs => {
            let every = |start| units.iter().skip(start).step_by(2).copied().collect::<Vec<_>>();
            (every(0), every(1))
        }
    };
    Some((median(&first)? - median(&second)?).abs())
}

/// The deviation of a unit, its upper limit, from both sides; of pairs, of the differences over the
/// root of two, so that it is that of one value.
fn deviation(design: Design, a: &[f64], b: &[f64]) -> Option<f64> {
    let squares = |values: &[f64]| {
        let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
        values.iter().map(|v| (v - mean).powi(2)).sum::<f64>()
    };
    let (sum, degrees) = match design {
        Design::Apart => (squares(a) + squares(b), (a.len() + b.len()) as f64 - 2.0),
        Design::Pairs => {
            let differences: Vec<f64> = a.iter().zip(b).map(|(a, b)| b - a).collect();
            (squares(&differences) / 2.0, differences.len() as f64 - 1.0)
        }
    };
    (degrees > 0.0).then(|| upper_limit((sum / degrees).sqrt(), degrees)).flatten()
}

/// The share of a quantity's halves that differ by no more than its floor.
const FLOOR_QUANTILE: f64 = 0.9;

/// The noise floor of each row. Passes of one run a side are of two moments, and a cell's own
/// halves are only tenths of a second apart: there, what most cells of the quantity differ by from
/// half to half counts too.
fn find_floors(rows: &mut [(Comparison, Measured)], question: &Question) {
    let of_machine = (question.machine_percent / 100.0).ln_1p();
    let mut pools: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for (row, measured) in rows.iter().filter(|_| question.unit == Unit::Pass) {
        pools.entry(row.quantity.clone()).or_default().extend(&measured.halves);
    }
    let quantile = |pool: &Vec<f64>| {
        let mut sorted = pool.clone();
        sorted.sort_by(f64::total_cmp);
        sorted.get((FLOOR_QUANTILE * sorted.len() as f64) as usize).copied()
    };
    let pooled: BTreeMap<String, f64> =
        pools.iter().filter_map(|(name, pool)| Some((name.clone(), quantile(pool)?))).collect();
    for (row, measured) in rows {
        let least = pooled.get(&row.quantity).copied().unwrap_or(0.0);
        // What wanders within the sides and what changed between them can come together.
        measured.floor =
            of_machine + measured.halves.iter().fold(least, |most, half| most.max(*half));
        let floor = if measured.is_ratio { measured.floor.exp_m1() } else { measured.floor };
        row.noise_floor_percent = (!measured.halves.is_empty()).then_some(100.0 * floor);
    }
}

/// Corrects the probabilities of the rows that are comparable, and sets the level of the interval
/// that agrees with it: it leaves 0 out where the corrected probability is small enough.
fn holm(rows: &mut [(Comparison, Measured)]) {
    let mut tested: Vec<&mut (Comparison, Measured)> = rows
        .iter_mut()
        .filter(|(row, _)| row.outcome != Outcome::NotComparable && row.probability.is_some())
        .collect();
    let of = |row: &Comparison| row.probability.unwrap_or(1.0);
    tested.sort_by(|(a, _), (b, _)| of(a).total_cmp(&of(b)));
    let count = tested.len();
    let (mut least, mut sure) = (0.0f64, 0);
    for (position, (row, measured)) in tested.into_iter().enumerate() {
        least = least.max(of(row) * (count - position) as f64).min(1.0);
        row.corrected_probability = Some(least);
        // The first that is not sure ends the series: all after it are held to its level.
        measured.level = LEVEL / (count - sure) as f64;
        sure += usize::from(least <= LEVEL);
    }
}

fn judge(
    mut row: Comparison,
    measured: &Measured,
    question: &Question,
    powers: &mut Powers,
    tested: usize,
) -> Comparison {
    let (Some(corrected), Some(shift)) = (row.corrected_probability, measured.shift) else {
        return row;
    };
    let effect = (question.effect_percent / 100.0).ln_1p();
    show(&mut row, measured, measured.level);
    let interval = measured.interval(measured.level);
    let is_sure = corrected <= LEVEL && interval.is_some_and(|(low, high)| low > 0.0 || high < 0.0);
    if is_sure && shift.abs() > measured.floor {
        row.outcome = direction(&row.quantity, shift);
        return row;
    }
    if measured.interval(LEVEL).is_some_and(|(low, high)| low >= -effect && high <= effect) {
        row.outcome = Outcome::NoDifference;
        show(&mut row, measured, LEVEL);
        return row;
    }
    row.outcome = Outcome::CannotTell;
    let mut by_power = |design: Design| {
        let power = powers.at(design, tested);
        let units = match measured.deviation {
            Some(deviation) => power.needed(effect, deviation),
            None => power.fewest(),
        };
        units.map(|units| units * measured.values_of_unit)
    };
    // Two runs of two moments stay of two moments, however long they are.
    if measured.floor > effect && matches!(question.unit, Unit::Pass | Unit::Stretch) {
        // Other experiments cannot be interleaved.
        let is_cell = matches!(row.subject, Subject::Cell(_)) && question.unit == Unit::Pass;
        let rounds = is_cell.then(|| by_power(Design::Pairs)).flatten();
        row.reason = Some(floor_reason(rounds, question));
        return row;
    }
    let needed = by_power(question.unit.design());
    let needed = needed.map(|needed| needed.max(by_width(measured, interval, effect)));
    row.needed = needed.filter(|needed| *needed <= MOST_NEEDED);
    if row.needed.is_none() {
        let unit = question.unit.name();
        row.reason = Some(format!("more than {MOST_NEEDED} {unit} would be needed to tell"));
    }
    row
}

/// Why more passes of the same two runs would not tell, and how many rounds of both in turn would.
fn floor_reason(rounds: Option<usize>, question: &Question) -> String {
    let effect = question.effect_percent;
    let rounds = rounds.filter(|rounds| *rounds <= MOST_NEEDED);
    let rounds =
        rounds.map_or_else(String::new, |rounds| format!("about {rounds} rounds of --abab, or "));
    match question.unit {
        Unit::Stretch => format!(
            "within one trace the load itself changes by more than {effect} %; longer traces of a \
             steady load may tell"
        ),
        _ => format!(
            "without any change the numbers differ by more than {effect} % (noise); {rounds}at \
             least 4 runs per side may tell"
        ),
    }
}

/// How many times as many values make half an interval so narrow that it leaves out either 0 or
/// what matters.
fn wider(half: f64, shift: f64, effect: f64) -> f64 {
    (half / shift.abs().max(effect - shift.abs())).powi(2)
}

/// How many values make the interval, and the noise floor, narrow enough ([`wider`]); more than
/// there are, since these did not.
fn by_width(measured: &Measured, interval: Option<(f64, f64)>, effect: f64) -> usize {
    let (Some((low, high)), Some(shift)) = (interval, measured.shift) else { return 0 };
    let wider = wider(((high - low) / 2.0).max(measured.floor), shift, effect);
    // A number of no use is not turned into an integer.
    let needed = (measured.values as f64 * wider).min(1e6).ceil() as usize;
    needed.max(measured.values + 1)
}

fn direction(name: &str, shift: f64) -> Outcome {
    let is_more = shift > 0.0;
    match quantity(name).and_then(|q| q.better) {
        None => Outcome::Differs,
        Some(Better::Higher) if is_more => Outcome::Better,
        Some(Better::Lower) if !is_more => Outcome::Better,
        Some(_) => Outcome::Worse,
    }
}
