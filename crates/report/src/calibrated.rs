//! A calibration as a first screen: what the device is like, which classes its profile predicts,
//! and what to do with it; and every class as a table.
//!
//! Non-goals: fits.

use crate::listing::Listing;
use crate::number::{show_bytes, show_iops, show_rate};
use crate::screen::Screen;
use crate::sheet::Sheet;
use model::run::RunInfo;
use model::units::{show_change, show_time_ns};
use serde::{Deserialize, Serialize};

/// A class that was held out, in numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Its name.
    pub class: String,
    /// Whether the profile predicts it.
    pub holds: bool,
    /// Measured mean and 99th percentile, ns, and requests a second.
    pub measured: [f64; 3],
    /// How far the prediction of each is off, per cent; none where it is not known.
    pub off_percent: [Option<f64>; 3],
    /// The demerit figure, per cent of the measured mean.
    pub demerit_percent: Option<f64>,
}

/// What a number counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Unit {
    /// Things.
    Count,
    /// Nanoseconds.
    Time,
    /// Bytes.
    Bytes,
    /// Bytes a second.
    BytesPerSecond,
}

impl Unit {
    /// Its sign; none of things.
    pub fn sign(self) -> &'static str {
        match self {
            Self::Count => "",
            Self::Time => "ns",
            Self::Bytes => "B",
            Self::BytesPerSecond => "B/s",
        }
    }
}

/// A number that was found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Known {
    /// What it is.
    pub name: String,
    /// What it counts.
    pub unit: Unit,
    /// The end below of its interval.
    pub low: f64,
    /// It.
    pub value: f64,
    /// The end above.
    pub high: f64,
    /// What it is in truth, where that is known.
    pub truth: Option<f64>,
}

impl Known {
    fn show(&self, number: f64) -> String {
        match self.unit {
            Unit::Count => format!("{number:.0}"),
            Unit::Time => show_time_ns(number),
            Unit::Bytes => show_bytes(number),
            Unit::BytesPerSecond => show_rate(number),
        }
    }

    /// An end of its interval; one that looks like the number itself is none.
    fn end(&self, end: f64) -> String {
        let shown = |number: f64| self.show(number);
        let has_width =
            shown(self.low) != shown(self.value) || shown(self.high) != shown(self.value);
        if has_width { shown(end) } else { "–".to_owned() }
    }

    /// Whether the truth lies within its interval, where it is known; counts are the same or not.
    pub fn holds(&self) -> Option<bool> {
        // What is rounded to whole nanoseconds is no miss.
        let slack = if self.unit == Unit::Time { 1.0 } else { 0.0 };
        self.truth.map(|truth| (self.low - slack..=self.high + slack).contains(&truth))
    }
}

/// The numbers that were found.
fn numbers(known: &[Known]) -> Sheet {
    let listing = Listing::of(known)
        .label("number", |known| known.name.clone())
        .figure("", "found", |known| known.show(known.value))
        .figure("", "from", |known| known.end(known.low))
        .figure("", "to", |known| known.end(known.high));
    let truth = |known: &Known| known.truth.map_or("–".into(), |truth| known.show(truth));
    let has_truth = known.iter().any(|known| known.truth.is_some());
    let listing = if has_truth { listing.figure("", "truth", truth) } else { listing };
    listing.sheet("Parameters, with 95 % intervals (–: none, or narrower than the digits)")
}

/// What requests of one direction are like.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Like {
    /// `Reads` or `Writes`.
    pub name: String,
    /// A random one without its bytes, and a sequential one, ns.
    pub fixed_ns: [f64; 2],
    /// The most that it does, where that is known.
    pub most: Option<Most>,
}

/// The most that a device does.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Most {
    /// Small ones a second.
    pub per_s: f64,
    /// Bytes a second.
    pub bytes_per_s: f64,
    /// How many are served at once.
    pub parallelism: f64,
}

impl Like {
    fn sentence(&self) -> String {
        let most = self.most.map_or_else(String::new, |most| {
            let (per_s, bytes_per_s) = (most.per_s, show_rate(most.bytes_per_s));
            format!(
                "; at most {} and {bytes_per_s}, {:.1} in parallel",
                show_iops(per_s),
                most.parallelism
            )
        });
        let [random_ns, sequential_ns] = self.fixed_ns.map(show_time_ns);
        format!(
            "{}: {random_ns} random, {sequential_ns} sequential, plus the transfer{most}.",
            self.name
        )
    }
}

/// The classes, worst first, so many at the most.
fn classes(rows: &[Row], most: usize, title: impl Into<String>) -> Sheet {
    let worst = |row: &Row| row.off_percent.iter().flatten().fold(0.0, |a: f64, b| a.max(b.abs()));
    let mut rows: Vec<&Row> = rows.iter().collect();
    rows.sort_by(|a, b| a.holds.cmp(&b.holds).then(worst(b).total_cmp(&worst(a))));
    rows.truncate(most);
    let off = |which: usize| {
        move |row: &&Row| {
            row.off_percent[which].map_or("–".into(), |off| show_change(off, 0) + " %")
        }
    };
    Listing::of(&rows)
        .label("class", |row| row.class.clone())
        .label("predicted", |row| if row.holds { "yes" } else { "no" }.into())
        .figure("measured", "mean", |row| show_time_ns(row.measured[0]))
        .figure("measured", "p99", |row| show_time_ns(row.measured[1]))
        .figure("off", "mean", off(0))
        .figure("off", "p99", off(1))
        .figure("off", "rate", off(2))
        .figure("off", "demerit", |row| {
            row.demerit_percent.map_or("–".into(), |demerit| format!("{demerit:.0} %"))
        })
        .sheet(title)
}

/// A calibration, as it is printed and as its run keeps it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Calibrated {
    /// The classes that were held out.
    pub classes: Vec<Row>,
    /// What the device is like.
    pub likes: Vec<Like>,
    /// The numbers that were found.
    pub numbers: Vec<Known>,
    /// What is to be said of it besides.
    pub doubts: Vec<String>,
    /// The profile, as it was written.
    pub profile: String,
}

/// Where run.json keeps it.
const KEPT: &str = "calibrated";

impl Calibrated {
    /// That of a run, where it is a calibration's.
    pub fn of(info: &RunInfo) -> Option<Self> {
        Self::deserialize(info.calibration.get(KEPT)?).ok()
    }

    /// As run.json keeps it.
    pub fn kept(&self) -> serde_json::Value {
        serde_json::json!({ KEPT: self })
    }

    /// All tables.
    pub fn sheets(&self) -> [Sheet; 2] {
        let title = "Held-out classes: prediction against measurement";
        [classes(&self.classes, usize::MAX, title), numbers(&self.numbers)]
    }

    /// What the device is like, how well its profile predicts it, and what is doubted.
    pub fn sentences(&self) -> Vec<String> {
        let rows = &self.classes;
        let held = rows.iter().filter(|row| row.holds).count();
        let judged = format!(
            "The profile predicts {held} of {} held-out classes (mean within 15 %, p99 within \
             30 %, rate within 10 %).",
            rows.len()
        );
        let truths: Vec<bool> = self.numbers.iter().filter_map(Known::holds).collect();
        let within = truths.iter().filter(|holds| **holds).count();
        let within = (!truths.is_empty())
            .then(|| format!("The true value lies in {within} of {} intervals.", truths.len()));
        let likes = self.likes.iter().map(Like::sentence);
        let doubts = self.doubts.iter().map(|doubt| format!("! {doubt}."));
        std::iter::once(judged).chain(within).chain(likes).chain(doubts).collect()
    }

    /// The first screen.
    pub fn screen(&self, below: String, width: Option<u16>) -> String {
        let title = format!("The least well predicted of {} classes", self.classes.len());
        let numbers = (!self.numbers.is_empty()).then(|| numbers(&self.numbers));
        let tables = std::iter::once(classes(&self.classes, ROWS, title)).chain(numbers);
        // A class without its middle is another one: columns go first.
        let (sentences, tables, less_needed) = (self.sentences(), tables.collect(), &LESS_NEEDED);
        Screen { sentences, tables, less_needed, below, ..Screen::default() }.text(width)
    }
}

/// The columns that go first where a terminal is narrow.
const LESS_NEEDED: [&str; 3] = ["off rate", "measured p99", "off demerit"];
/// Rows of the first screen's table.
const ROWS: usize = 8;
