//! Why it cannot be told which way a number goes: the model's own error against the trace, its
//! uncertain parameters, or chance; and what would tell, which is another thing for each.
//!
//! Method: an interval is taken apart into logarithms as `analyze::whatif` puts it together: the
//! error, twice, lies on one side of it, the span over parameters and chance on both.

use super::Row;
use crate::figure::Figure;
use crate::number::{ratio_says_nothing, says_nothing, significant};

/// What makes it so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Cause {
    /// The model's own error against the trace.
    Misfit,
    /// The model's uncertain parameters.
    Parameters,
    /// Too few requests.
    Chance,
}

impl Cause {
    /// What would tell.
    pub(super) fn remedy(self, is_calibrated: bool) -> &'static str {
        match (self, is_calibrated) {
            (Self::Misfit, false) => {
                "A model that fits the trace may tell: `lbolt calibrate` makes one of the traced \
                 device, `lbolt simulate` shows how well a model fits."
            }
            (Self::Misfit, true) => {
                "A model that fits the trace may tell: calibrate the device that was traced, in \
                 the state in which it was traced; `lbolt simulate` shows how well a model fits."
            }
            (Self::Parameters, false) => {
                "A model with narrower bounds may tell: `lbolt calibrate` fits one to a device."
            }
            (Self::Parameters, true) => {
                "A model with narrower bounds may tell: calibrate again with more --runs."
            }
            (Self::Chance, _) => "A longer trace may tell: it has more requests.",
        }
    }
}

/// A number that cannot be told.
pub(super) struct Undecided {
    pub(super) cause: Cause,
    pub(super) why: String,
}

/// Why it cannot be told which way a number goes; none where it can, and where it surely changes
/// little.
pub(super) fn undecided(row: &Row<'_>) -> Option<Undecided> {
    let (low, high) = Figure::of(row.ratio).ends()?;
    let misfit = row.error.map_or(0.0, f64::ln);
    // The interval without the error.
    let (own_low, own_high) =
        (low * (-2.0 * misfit.min(0.0)).exp(), high * (-2.0 * misfit.max(0.0)).exp());
    if let Some(spans) = ratio_says_nothing(low, high) {
        let ratio = row.after / row.before;
        let spread = (ratio / own_low).ln().max((own_high / ratio).ln());
        let parameters = (spread.powi(2) - row.chance.powi(2)).max(0.0).sqrt();
        let cause = match 2.0 * misfit.abs() {
            error if error >= parameters.max(row.chance) => Cause::Misfit,
            _ if parameters >= row.chance => Cause::Parameters,
            _ => Cause::Chance,
        };
        let why = match cause {
            Cause::Misfit => format!("{}, so the interval {spans}", off(row)),
            _ => format!("the interval {spans}, more than 4"),
        };
        return Some(Undecided { cause, why });
    }
    // What is claimed: of a wide interval its nearer end, else the number itself.
    let claimed = match at_least(low, high) {
        Some(_) => own_low.ln().abs().min(own_high.ln().abs()),
        None => (row.after / row.before).ln().abs(),
    };
    let is_sure = low > 1.0 || high < 1.0;
    (is_sure && misfit.abs() > claimed).then(|| {
        let why = format!("{}, more than the change", off(row));
        Undecided { cause: Cause::Misfit, why }
    })
}

/// `the model's mean is 12 % above the trace's`.
fn off(row: &Row<'_>) -> String {
    let percent = 100.0 * (row.error.unwrap_or(1.0) - 1.0);
    let side = if percent < 0.0 { "below" } else { "above" };
    format!("the model's {} is {:.0} % {side} the trace's", row.statistic, percent.abs())
}

/// So many times the other at the least are worth a word.
const LEAST_TIMES: f64 = 1.1;

/// What a wide interval on one side of 1 says: `at least 55.0× higher, at most 1359×`.
pub(super) fn at_least(low: f64, high: f64) -> Option<String> {
    says_nothing(low, high)?;
    let (least, most, way) =
        if low > 1.0 { (low, high, "higher") } else { (1.0 / high, 1.0 / low, "lower") };
    let [from, to] = [least, most].map(significant);
    (least >= LEAST_TIMES).then(|| format!("at least {from}× {way}, at most {to}×"))
}
