//! The paper's figures as points: the model's beside the lines that the text gives.

use super::measure::{Test, Waiting, points};
use super::table::SHORT_LOOP_NS;
use super::{Line, misread, parameters};
use crate::Failure;
use model::workload::Arithmetic;

/// A figure.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// Its number in the paper.
    pub number: u32,
    /// What it shows.
    pub title: &'static str,
    /// The unit of the ordinate; the abscissa is 1/B.
    pub unit: &'static str,
    /// Its curves.
    pub series: Vec<Series>,
}

/// A curve.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// What of.
    pub label: &'static str,
    /// The model's points: 1/B and the ordinate.
    pub points: Vec<(f64, f64)>,
    /// The line that the paper gives; none where it prints no numbers.
    pub published: Option<Line>,
    /// The line through the model's points.
    pub model: Option<Line>,
}

struct Curve {
    figure: u32,
    label: &'static str,
    model: &'static str,
    routine: &'static str,
    library: &'static str,
    is_write: bool,
    arithmetic: Option<Arithmetic>,
    is_random: bool,
    from_sectors: u64,
    to_sectors: u64,
    published: Option<(f64, f64)>,
}

const CRAY: &[u64] = &[1, 2, 3, 9, 18, 36, 90, 180];
const CDC: &[u64] = &[1, 2, 3, 10, 20, 40, 60, 100, 200];

/// N_revs of a buffered routine on the Cray.
const BUFFERED: Curve = Curve {
    figure: 1,
    label: "BUFFER OUT",
    model: "cray1-ctss-dd19",
    routine: "BUFFER OUT",
    library: "CFTLIB",
    is_write: true,
    arithmetic: None,
    is_random: false,
    from_sectors: 1,
    to_sectors: u64::MAX,
    published: Some((1.1 / 18.0, 3.0)),
};
const READING: Curve =
    Curve { label: "BUFFER IN", routine: "BUFFER IN", is_write: false, ..BUFFERED };
const CDC_DISK: Curve = Curve {
    figure: 2,
    label: "RDISK, sequential",
    model: "cdc7600-ltss-819",
    routine: "RDISK",
    library: "FTWLIB",
    is_write: false,
    published: Some((1.1 / 20.0, 1.0)),
    ..BUFFERED
};
const CRAY_DISK: Curve = Curve {
    figure: 3,
    label: "scalar",
    routine: "RDISK",
    is_write: false,
    arithmetic: Some(Arithmetic::Scalar),
    published: Some((6.0, 660.0)),
    ..BUFFERED
};

const CURVES: &[Curve] = &[
    BUFFERED,
    Curve {
        label: "BUFFER IN, B >= 18",
        from_sectors: 18,
        published: Some((1.1 / 18.0, 2.0)),
        ..READING
    },
    Curve {
        label: "BUFFER IN, B <= 16",
        to_sectors: 16,
        published: Some((1.1 / 18.0, 1.0)),
        ..READING
    },
    CDC_DISK,
    Curve {
        label: "RDISK, random",
        is_random: true,
        published: Some((1.1 / 20.0, 1.4)),
        ..CDC_DISK
    },
    CRAY_DISK,
    Curve { label: "vector", arithmetic: Some(Arithmetic::Vector), published: None, ..CRAY_DISK },
    Curve {
        figure: 4,
        label: "sequential",
        arithmetic: Some(Arithmetic::Scalar),
        published: Some((46.0, 1050.0)),
        ..CDC_DISK
    },
    Curve {
        figure: 4,
        label: "random",
        arithmetic: Some(Arithmetic::Scalar),
        is_random: true,
        published: None,
        ..CDC_DISK
    },
];

/// Number, title and unit.
const FIGURES: [(u32, &str, &str); 4] = [
    (1, "Revolutions per sector for BUFFER IN/OUT (Cray-1, CTSS, CFTLIB)", "revolutions"),
    (2, "Revolutions per sector for WDISK/RDISK (7600)", "revolutions"),
    (3, "Overhead CPU time per sector for RDISK (Cray-1, CTSS, CFTLIB)", "us"),
    (4, "Overhead CPU time per sector for WDISK/RDISK (7600)", "us"),
];

/// Figures 1 to 4.
pub fn figures() -> Result<Vec<Figure>, Failure> {
    let figure = |(number, title, unit): (u32, &'static str, &'static str)| {
        let curves = CURVES.iter().filter(|curve| curve.figure == number);
        let series = curves.map(series).collect::<Result<Vec<_>, _>>()?;
        Ok(Figure { number, title, unit, series })
    };
    FIGURES.into_iter().map(figure).collect()
}

fn series(curve: &Curve) -> Result<Series, Failure> {
    let parameters = parameters(curve.model)?;
    let routine = parameters.routine(curve.routine, curve.library, curve.is_write);
    let test = Test {
        routine: routine.ok_or_else(|| misread(format!("{} has no model", curve.routine)))?,
        is_write: curve.is_write,
        waiting: match curve.arithmetic {
            Some(arithmetic) => Waiting::Computing(arithmetic, SHORT_LOOP_NS),
            None => Waiting::ForAnswer,
        },
        is_random: curve.is_random,
        channels: 1,
    };
    let all = if curve.model.starts_with("cdc") { CDC } else { CRAY };
    let is_wanted = |sectors: &u64| (curve.from_sectors..=curve.to_sectors).contains(sectors);
    let sizes: Vec<u64> = all.iter().copied().filter(is_wanted).collect();
    let points: Vec<(f64, f64)> = points(&parameters, &test, &sizes)?
        .iter()
        .map(|p| (1.0 / p.buffer_sectors as f64, p.overhead_us.unwrap_or(p.revolutions)))
        .collect();
    Ok(Series {
        label: curve.label,
        published: curve.published.map(|(intercept, slope)| Line { intercept, slope }),
        model: Line::through(&points),
        points,
    })
}
