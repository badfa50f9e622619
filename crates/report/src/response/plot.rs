//! Small plots in text: bars of counts, and box plots on a logarithmic axis (Chambers, Cleveland,
//! Kleiner & Tukey 1983: a box from quartile to quartile with the median in it, whiskers, and the
//! outermost value beyond).

use model::units::show_time_ns;

const COLUMNS: usize = 30;
const EIGHTHS: [char; 8] = ['▏', '▎', '▍', '▌', '▋', '▊', '▉', '█'];

/// Bars whose lengths are the logarithms of the counts, so that few can be seen beside many.
pub(super) fn bars(counts: &[f64]) -> Vec<String> {
    let length = |count: f64| (count + 1.0).ln();
    let most = counts.iter().copied().map(length).fold(0.0, f64::max);
    let bar = |count: &f64| {
        let eighths = (length(*count) / most * (COLUMNS * 8) as f64).round() as usize;
        let rest = (eighths % 8).checked_sub(1).and_then(|rest| EIGHTHS.get(rest));
        "█".repeat(eighths / 8) + &rest.map_or_else(String::new, char::to_string)
    };
    counts.iter().map(|count| if most > 0.0 { bar(count) } else { String::new() }).collect()
}

/// The five numbers of a box plot and the greatest value, in ns.
#[derive(Debug, Clone, Copy)]
pub(super) struct BoxPlot {
    pub(super) whisker_low_ns: f64,
    pub(super) q1_ns: f64,
    pub(super) median_ns: f64,
    pub(super) q3_ns: f64,
    pub(super) whisker_high_ns: f64,
    pub(super) max_ns: f64,
}

/// Box plots on one axis: what the axis says, and each plot; none where there is nothing to see.
pub(super) fn boxes(plots: &[Option<BoxPlot>]) -> Option<(String, Vec<String>)> {
    let told = || plots.iter().flatten();
    let low = told().map(|plot| plot.whisker_low_ns.max(1.0)).fold(f64::INFINITY, f64::min);
    let high = told().map(|plot| plot.max_ns).fold(0.0, f64::max);
    if high <= low {
        return None;
    }
    let place = |ns: f64| {
        let share = (ns.max(low) / low).ln() / (high / low).ln();
        ((share * (COLUMNS - 1) as f64).round() as usize).min(COLUMNS - 1)
    };
    let axis = format!("{} to {}, log", show_time_ns(low), show_time_ns(high));
    let draw = |plot: &Option<BoxPlot>| plot.map_or_else(String::new, |plot| drawn(&plot, place));
    Some((axis, plots.iter().map(draw).collect()))
}

fn drawn(plot: &BoxPlot, place: impl Fn(f64) -> usize) -> String {
    let mut line = [' '; COLUMNS];
    let mut fill = |from: f64, to: f64, with: char| {
        let range = place(from)..=place(to).max(place(from));
        line.iter_mut()
            .enumerate()
            .filter(|(at, _)| range.contains(at))
            .for_each(|(_, c)| *c = with);
    };
    fill(plot.max_ns, plot.max_ns, '·');
    fill(plot.whisker_low_ns, plot.whisker_high_ns, '─');
    fill(plot.q1_ns, plot.q3_ns, '▒');
    fill(plot.median_ns, plot.median_ns, '█');
    line.iter().collect::<String>().trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_box_plot_has_its_parts_in_their_places() {
        let plot = BoxPlot {
            whisker_low_ns: 1e3,
            q1_ns: 1e5,
            median_ns: 1e6,
            q3_ns: 1e7,
            whisker_high_ns: 1e8,
            max_ns: 1e9,
        };
        let (axis, plots) = boxes(&[Some(plot), None]).unwrap();
        assert_eq!(axis, "1.00 µs to 1.00 s, log");
        assert_eq!(plots, ["──────────▒▒▒▒▒█▒▒▒▒─────    ·", ""]);
        assert!(boxes(&[None]).is_none());
    }

    #[test]
    fn bars_are_as_long_as_the_logarithms() {
        assert_eq!(bars(&[999_999.0, 999.0, 0.0]), ["█".repeat(30), "█".repeat(15), String::new()]);
        assert_eq!(bars(&[0.0]), [""]);
    }
}
