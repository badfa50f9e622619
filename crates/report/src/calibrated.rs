//! A calibration as a first screen: what the device is like, which classes its profile predicts,
//! and what to do with it; and every class as a table.
//!
//! Non-goals: fits.

use crate::listing::{FigureColumn, Listing};
use crate::number::show_bytes;
use crate::screen::Screen;
use model::units::show_time_ns;

/// A class that was held out, in numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Its name.
    pub class: String,
    /// Whether the profile predicts it.
    pub holds: bool,
    /// Measured mean and 99th percentile, ns, and requests a second.
    pub measured: [f64; 3],
    /// How far the prediction of each is off, per cent; none where it is not known.
    pub off_percent: [Option<f64>; 3],
}

/// What requests of one direction are like.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Like {
    /// `reads` or `writes`.
    pub name: &'static str,
    /// A random one without its bytes, and a sequential one, ns.
    pub fixed_ns: [f64; 2],
    /// The most small ones a second.
    pub per_s: f64,
    /// The most bytes a second.
    pub bytes_per_s: f64,
    /// How many are served at once.
    pub parallelism: f64,
}

impl Like {
    fn sentence(&self) -> String {
        format!(
            "{}: {} a random one and {} a sequential one, and their bytes; {:.1} at once; at most \
             {:.0} and {} a second.",
            self.name,
            show_time_ns(self.fixed_ns[0]),
            show_time_ns(self.fixed_ns[1]),
            self.parallelism,
            self.per_s,
            show_bytes(self.bytes_per_s),
        )
    }
}

/// The classes, worst first.
pub fn listing(rows: &[Row]) -> Listing {
    let worst = |row: &Row| row.off_percent.iter().flatten().fold(0.0, |a: f64, b| a.max(b.abs()));
    let mut rows: Vec<&Row> = rows.iter().collect();
    rows.sort_by(|a, b| a.holds.cmp(&b.holds).then(worst(b).total_cmp(&worst(a))));
    let column = |group: &str, head: &str, text: &dyn Fn(&Row) -> String| FigureColumn {
        group: group.to_owned(),
        head: head.to_owned(),
        texts: rows.iter().map(|row| text(row)).collect(),
    };
    let off = |which: usize| {
        move |row: &Row| row.off_percent[which].map_or("–".into(), |off| format!("{off:+.0} %"))
    };
    Listing {
        title: "Classes that no fit has seen: the prediction against what was measured".into(),
        labels: vec![
            ("class", rows.iter().map(|row| row.class.clone()).collect()),
            ("predicted", rows.iter().map(|r| if r.holds { "yes" } else { "no" }.into()).collect()),
        ],
        figures: vec![
            column("measured", "mean", &|row| show_time_ns(row.measured[0])),
            column("measured", "p99", &|row| show_time_ns(row.measured[1])),
            column("off", "mean", &off(0)),
            column("off", "p99", &off(1)),
            column("off", "rate", &off(2)),
        ],
        ..Listing::default()
    }
}

/// The first screen.
pub fn screen(
    (rows, likes): (&[Row], &[Like]),
    doubts: &[String],
    below: String,
    width: Option<u16>,
) -> String {
    let held = rows.iter().filter(|row| row.holds).count();
    let judged = format!(
        "The profile predicts {held} of {} classes that it was not fitted to (mean within 15 %, \
         p99 within 30 %, rate within 10 %).",
        rows.len()
    );
    let likes = likes.iter().map(Like::sentence);
    let doubts = doubts.iter().map(|doubt| format!("! {doubt}."));
    let mut table = listing(rows);
    table.labels[0].1.truncate(ROWS);
    table.labels[1].1.truncate(ROWS);
    table.figures.iter_mut().for_each(|column| column.texts.truncate(ROWS));
    table.title = format!("Off by most, of {} classes", rows.len());
    Screen {
        sentences: std::iter::once(judged).chain(likes).chain(doubts).collect(),
        tables: vec![table],
        below,
        ..Screen::default()
    }
    .text(width)
}

/// Rows of the first screen's table.
const ROWS: usize = 8;
