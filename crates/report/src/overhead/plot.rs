//! A plot as the 1980 paper's figures 3 and 4: CPU time per KiB against 1/B, so that the slope is
//! T_call and the intercept T_trans. Drawn by the crate `drawille`; the axes are ours, because
//! those of the plotting crates have no units.

use super::cell::decided;
use super::routine::{Routine, Routines};
use crate::number::{interval, significant};
use crate::words::{hang, name, width};
use drawille::Canvas;
use model::engine::EngineKind;

/// Rows and greatest columns of the canvas, in characters.
const ROWS: u32 = 14;
const COLUMNS_MAX: u16 = 72;
/// A narrower plot shows nothing.
const COLUMNS_MIN: u16 = 24;
/// Dots of a character.
const DOTS: (u32, u32) = (2, 4);
const POINT: char = 'o';
const OWN: &str = "operation_cpu_thread_ns";

/// A point: 1/B in 1/KiB, and ns/KiB.
type Point = (f64, f64);

/// The plot of psync's buffered random reads, or else of the first routine with a line; none
/// without one.
pub(super) fn text(routines: &Routines, limit: Option<u16>) -> Option<String> {
    let groups = routines.groups(has_line);
    let all = || groups.iter().flat_map(|group| group.routines.iter().copied());
    let is_usual = |routine: &&Routine| {
        let key = &routine.key;
        key.engine == EngineKind::Psync
            && key.access == "randread"
            && !key.direct
            && key.channels == 1
    };
    draw(all().find(is_usual).or_else(|| all().next())?, limit)
}

fn has_line(routine: &Routine) -> bool {
    // What the table cannot tell is no line to draw.
    let figure = |quantity| routine.line("thread", quantity).map(decided);
    let is_known = |quantity| figure(quantity).is_some_and(|figure| figure.told().is_some());
    routine.key.computing.is_none() && is_known("t_call_ns") && is_known("t_trans_ns_per_kib")
}

fn points(routine: &Routine) -> Vec<Point> {
    let point = |bytes: u64| {
        let kib = bytes as f64 / 1024.0;
        let ns = routine.at(bytes, OWN)?.value?;
        (kib > 0.0).then_some((1.0 / kib, ns / kib))
    };
    routine.sizes(OWN).filter_map(point).collect()
}

fn draw(routine: &Routine, limit: Option<u16>) -> Option<String> {
    let points = points(routine);
    let figure = |quantity| routine.line("thread", quantity);
    let (call, trans) = (figure("t_call_ns")?, figure("t_trans_ns_per_kib")?);
    let (slope, intercept) = (call.value?, trans.value?);
    // Beyond a break the line is another.
    let from = routine.line_value("thread", "break_bytes").map_or(0.0, |bytes| 1024.0 / bytes);
    let right = points.iter().map(|point| point.0).reduce(f64::max)?;
    let on_line = |x: f64| (x, intercept + slope * x);
    let heights = points.iter().map(|point| point.1).chain([on_line(right).1, on_line(from).1]);
    let top = heights.fold(0.0, f64::max);
    let scale = Scale::new(right, top, limit)?;
    let is_doubted = [call, trans].iter().any(|figure| !figure.doubts().is_empty());
    let doubt = if is_doubted { " (suspect: see table 1)" } else { "" };
    let title = format!(
        "Thread CPU of {} {} {}, in ns per KiB, against 1/B: {POINT} measured, and the \
         line \
         T_trans + T_call / B, whose slope is T_call = {} ns and intercept T_trans = {} \
         ns/KiB{doubt}",
        name(routine.key.engine.name()),
        routine.key.path(),
        name(&routine.key.access),
        interval(slope, call.half_interval()),
        interval(intercept, trans.half_interval()),
    );
    let body = scale.body(&points, (on_line(from), on_line(right)));
    Some(format!("{}\n{body}", hang("", &title, limit)))
}

/// What a plot's corners are worth.
struct Scale {
    right: f64,
    top: f64,
    columns: u32,
    labels: [String; 3],
}

impl Scale {
    fn new(right: f64, top: f64, limit: Option<u16>) -> Option<Self> {
        let is_drawable = |end: f64| end.is_finite() && end > 0.0;
        let labels = [significant(top), significant(top / 2.0), "0".to_owned()];
        let margin = labels.iter().map(|label| width(label)).max()? + 3;
        let free = limit.unwrap_or(100).saturating_sub(u16::try_from(margin).ok()?);
        let columns = u32::from(free.min(COLUMNS_MAX));
        let is_wide = columns >= u32::from(COLUMNS_MIN);
        (is_drawable(right) && is_drawable(top) && is_wide).then_some(Self {
            right,
            top,
            columns,
            labels,
        })
    }

    /// A point's dot from the upper left corner, kept within the frame.
    fn dot(&self, (x, y): Point) -> (u32, u32) {
        let within = |share: f64, dots: u32| {
            (share.clamp(0.0, 1.0) * f64::from(dots.saturating_sub(1))).round() as u32
        };
        let across = within(x / self.right, self.columns * DOTS.0);
        (across, within(1.0 - y / self.top, ROWS * DOTS.1))
    }

    fn body(&self, points: &[Point], (from, to): (Point, Point)) -> String {
        let mut canvas = Canvas::new(self.columns * DOTS.0, ROWS * DOTS.1);
        let ((x1, y1), (x2, y2)) = (self.dot(from), self.dot(to));
        canvas.line(x1, y1, x2, y2);
        let rows = canvas.rows();
        let mut rows: Vec<Vec<char>> = rows.iter().map(|row| row.chars().collect()).collect();
        for point in points {
            let (x, y) = self.dot(*point);
            let row = rows.get_mut((y / DOTS.1) as usize);
            if let Some(place) = row.and_then(|row| row.get_mut((x / DOTS.0) as usize)) {
                *place = POINT;
            }
        }
        let margin = self.labels.iter().map(|label| width(label)).max().unwrap_or(0);
        let mut text = format!("{:>margin$}\n", "ns/KiB");
        for (place, row) in rows.iter().take(ROWS as usize).enumerate() {
            let label = match place as u32 {
                0 => &self.labels[0],
                place if place == ROWS / 2 => &self.labels[1],
                place if place == ROWS - 1 => &self.labels[2],
                _ => "",
            };
            let row: String = row.iter().collect();
            text.push_str(&format!("{label:>margin$} ┤{}\n", row.trim_end()));
        }
        text.push_str(&self.foot(margin));
        text
    }

    /// The horizontal axis.
    fn foot(&self, margin: usize) -> String {
        let columns = self.columns as usize;
        let (half, end) =
            (significant(self.right / 2.0), format!("{} /KiB", significant(self.right)));
        let middle = format!("{half:>0$}", columns / 2 + width(&half) / 2);
        let rest = (columns + 1).saturating_sub(width(&middle));
        let blanks = " ".repeat(margin + 1);
        format!(
            "{blanks}└{}\n{blanks}0{}{end:>rest$}\n",
            "─".repeat(columns),
            middle.get(1..).unwrap_or("")
        )
    }
}
