//! A comparison: what a finding is on two sides, what differs, and what that is worth.
//!
//! Non-goals: reckoning it (`analyze::compare`), printing it (`report::compare`).

use crate::doubt::Doubt;
use crate::named::named;
use crate::record::Subject;

named! {
    /// What a row comes to.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Outcome[6] {
        /// B is worse than A.
        Worse = "worse",
        /// B is better than A.
        Better = "better",
        /// B differs from A, in a quantity of which neither more nor less is better.
        Differs = "differs",
        /// If there is a difference, it is smaller than the noise or than what matters.
        NoDifference = "no difference beyond noise",
        /// There are too few values to say.
        CannotTell = "cannot tell",
        /// The two are not of the same thing.
        NotComparable = "not comparable",
    }
}

/// What a reader must know of a row besides its verdict. The sentence is made in `report`.
#[derive(Debug, Clone, PartialEq)]
pub enum Remark {
    /// Other quantities of the same subject that surely went the other way.
    Opposed(Vec<String>),
}

/// A doubt of one side's values.
#[derive(Debug, Clone, PartialEq)]
pub struct SideDoubt {
    /// Which: `A` or `B`.
    pub side: &'static str,
    /// What is to be doubted.
    pub doubt: Doubt,
}

/// The method of a row that has one value of each side, as of whole traces: the intervals of both
/// values are compared, without a correction.
pub const INTERVALS: &str = "intervals";

/// One finding of both sides.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// What it is about, as canonical JSON.
    pub subject: Subject,
    /// The quantity's name.
    pub quantity: String,
    /// The quantity's unit.
    pub unit: String,
    /// The middle of A's units (the median of the averages of their pairs).
    pub a: Option<f64>,
    /// The middle of B's units.
    pub b: Option<f64>,
    /// How many values of A, and of B.
    pub counts: (usize, usize),
    /// By how much `b` is more than `a`, per cent of `a`.
    pub difference_percent: Option<f64>,
    /// Lower end of the interval that the verdict rests on: 95 % of this row alone for *no
    /// difference* and of [`INTERVALS`], otherwise corrected for the number of rows.
    pub low_percent: Option<f64>,
    /// Upper end.
    pub high_percent: Option<f64>,
    /// How likely so great a difference is by chance.
    pub probability: Option<f64>,
    /// The same, corrected for the number of comparisons.
    pub corrected_probability: Option<f64>,
    /// What differs between the halves of a side, per cent.
    pub noise_floor_percent: Option<f64>,
    /// The verdict.
    pub outcome: Outcome,
    /// How many values a side would tell, where these cannot.
    pub needed: Option<usize>,
    /// How it was found.
    pub method: String,
    /// Why there is no verdict, where that is not for the number of values.
    pub reason: Option<String>,
    /// What is to be doubted of the values themselves.
    pub doubts: Vec<SideDoubt>,
    /// What else a reader must know.
    pub remarks: Vec<Remark>,
}

impl Comparison {
    /// Whether the values themselves are doubted. Nothing may be decided by such a row.
    pub fn is_suspect(&self) -> bool {
        !self.doubts.is_empty()
    }

    /// Whether both sides have a value.
    pub fn is_measured(&self) -> bool {
        self.a.is_some() && self.b.is_some()
    }
}

/// All rows, and what is only on one side.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Compared {
    /// A row for each finding that both sides have.
    pub rows: Vec<Comparison>,
    /// Findings that only A has.
    pub only_a: usize,
    /// Findings that only B has.
    pub only_b: usize,
    /// How many rows were tested: what the correction is for.
    pub tested: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn comparison(a: Option<f64>, b: Option<f64>, doubts: Vec<SideDoubt>) -> Comparison {
        Comparison {
            subject: Subject::this_run(),
            quantity: "rate_bytes_per_s".into(),
            unit: "B/s".into(),
            a,
            b,
            counts: (1, 1),
            difference_percent: None,
            low_percent: None,
            high_percent: None,
            probability: None,
            corrected_probability: None,
            noise_floor_percent: None,
            outcome: Outcome::CannotTell,
            needed: None,
            method: String::new(),
            reason: None,
            doubts,
            remarks: vec![],
        }
    }

    #[test]
    fn outcomes_have_their_words_worst_first() {
        assert_eq!(
            Outcome::ALL.map(Outcome::name),
            [
                "worse",
                "better",
                "differs",
                "no difference beyond noise",
                "cannot tell",
                "not comparable"
            ]
        );
    }

    #[test]
    fn a_row_is_measured_on_both_sides_and_suspect_by_one() {
        let one = Some(1.0);
        for (a, b, is_measured) in
            [(None, None, false), (one, None, false), (None, one, false), (one, one, true)]
        {
            assert_eq!(comparison(a, b, vec![]).is_measured(), is_measured, "{a:?} {b:?}");
        }
        let doubt = SideDoubt { side: "A", doubt: Doubt::refused("hot") };
        assert!(comparison(one, one, vec![doubt]).is_suspect());
        assert!(!comparison(one, None, vec![]).is_suspect());
    }
}
