//! Bucher & Hayes, "I/O Performance Measurement on Cray-1 and CDC 7600 Computers" (CPEUG 1980):
//! table 1, the greatest rates (equations 3 and 4) and figures 1 to 4, computed on modelled
//! machines and read off as the paper did.
//!
//! What is an input: T_call and T_trans, which the compute-and-test loop gives back. What emerges:
//! S and the greatest rates from the geometry, and M from whether the next call comes within a
//! sector's time, wherever T_call was printed and a call is one system call. What is fitted: the
//! rest, by parameters of the profiles that say so.
//!
//! A row's program has one channel; [`points`] takes any number.

mod buffers;
mod comparison;
mod figure;
mod line;
mod measure;
mod table;

pub use comparison::{TABLE, compare};
pub use figure::{Figure, Series, figures};
pub use line::Line;
pub use measure::{Point, Reading, Test, Waiting, overhead, point, points, reading};
pub use table::{Condition, Missed, Published, table};

use crate::machine::supercomputer::Parameters;
use crate::{CATALOG, Failure};
use model::workload::Arithmetic;

fn misread(reason: impl Into<String>) -> Failure {
    Failure::Table { table: "table 1 of 1980", reason: reason.into() }
}

/// Where a modelled value comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Label {
    /// From published parameters and the geometry, by the model's physics.
    Emerges,
    /// From a parameter that was fitted to this very value.
    Fitted,
    /// It was put in, and the experiment gives it back.
    Input,
}

impl Label {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Emerges => "emerges",
            Self::Fitted => "fitted",
            Self::Input => "input",
        }
    }
}

/// A condition of a row, with what the model gives under it.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// Under which condition, and what the paper printed.
    pub condition: Condition,
    /// The points.
    pub points: Vec<Point>,
    /// S and M through them. Where there is one point, S is the printed one.
    pub reading: Reading,
    /// The parameter that decides with T_call how much is missed, by its key in the profile: when
    /// the operating system lets the program go on, or the drive's seek at random addresses.
    pub latency_key: &'static str,
    /// Its kind of source there: fitted (to this condition, then) or assumed.
    pub latency_source: &'static str,
}

impl Outcome {
    /// The model's M less the printed one; 0 where at least that many are printed and found.
    pub fn error(&self) -> f64 {
        match self.condition.missed {
            Missed::Is(missed) => self.reading.missed_per_call - missed,
            Missed::AtLeast(missed) => (self.reading.missed_per_call - missed).min(0.0),
        }
    }
}

/// A row of table 1 beside the model's.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// As it was printed.
    pub published: Published,
    /// By condition.
    pub outcomes: Vec<Outcome>,
    /// What S is.
    pub sectors_label: Label,
    /// What M is.
    pub missed_label: Label,
    /// T_call and T_trans as the compute-and-test loop gives them back, us.
    pub t_call_us: f64,
    /// … and T_trans.
    pub t_trans_us: f64,
    /// What these are: inputs where they were printed, else fitted.
    pub overhead_label: Label,
}

impl Row {
    /// The model's S: of the first condition with several sizes.
    pub fn sectors_per_revolution(&self) -> f64 {
        self.outcomes.first().map_or(0.0, |outcome| outcome.reading.sectors_per_revolution)
    }
}

/// The parameters of a model's machine.
pub fn parameters(model: &str) -> Result<Parameters, Failure> {
    Ok(Parameters::read(&CATALOG.load(model)?)?.0)
}

/// The kind of source of a model's number.
fn source(model: &str, key: &str) -> Result<&'static str, Failure> {
    let profile = CATALOG.load(model)?;
    let leaf = profile.leaves().find(|(found, _)| *found == key).map(|(_, leaf)| leaf);
    Ok(leaf.and_then(|leaf| leaf.source.as_ref()).map_or("none", |source| source.kind()))
}

/// A parameter that was fitted or assumed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Free {
    /// Of which model.
    pub model: &'static str,
    /// Its key in the profile.
    pub key: String,
    /// Fitted, or assumed.
    pub kind: &'static str,
    /// To what, or why.
    pub why: String,
}

/// The models' parameters that nobody published, those that a part gives to several machines once
/// for each.
pub fn free_parameters() -> Result<Vec<Free>, Failure> {
    let mut free = Vec::new();
    for model in table::MODELS.map(|(_, model)| model) {
        let profile = CATALOG.load(model)?;
        for (key, leaf) in profile.leaves() {
            let is_number = leaf
                .value
                .as_str()
                .is_none_or(|text| text.starts_with(|c: char| c.is_ascii_digit()));
            let source =
                leaf.source.as_ref().filter(|source| is_number && source.kind() != "published");
            if let Some(source) = source {
                let (kind, why) = (source.kind(), source.text().to_owned());
                free.push(Free { model, key: key.to_owned(), kind, why });
            }
        }
    }
    Ok(free)
}

/// A row, computed. Rows are independent of each other.
pub fn row(published: &Published) -> Result<Row, Failure> {
    let mut bench = Bench::new(published)?;
    let conditions = published.conditions()?;
    let outcomes = conditions.iter().map(|c| bench.outcome(c)).collect::<Result<Vec<_>, _>>()?;
    let testing = Waiting::Computing(Arithmetic::Scalar, table::SHORT_LOOP_NS);
    let costs = bench.points(testing, false, (published.least_sectors(), u64::MAX))?;
    let costs = overhead(&costs);
    let modelled = bench.parameters.routines[bench.routine].row(published.is_write);
    let label = |is_fitted| if is_fitted { Label::Fitted } else { Label::Emerges };
    Ok(Row {
        outcomes,
        sectors_label: label(modelled.is_spacing_fitted),
        missed_label: label(!modelled.is_published),
        t_call_us: costs.map_or(f64::NAN, |line| line.slope),
        t_trans_us: costs.map_or(f64::NAN, |line| line.intercept),
        overhead_label: match published.t_call_us {
            Some(_) => Label::Input,
            None => Label::Fitted,
        },
        published: published.clone(),
    })
}

/// A row's machine at work: what it was measured at is kept.
struct Bench<'a> {
    published: &'a Published,
    parameters: Parameters,
    routine: usize,
    known: Vec<(Waiting, bool, Point)>,
}

impl<'a> Bench<'a> {
    fn new(published: &'a Published) -> Result<Self, Failure> {
        let parameters = parameters(published.model()?)?;
        let (routine, library) = (published.routine.as_str(), published.library.as_str());
        let place = parameters.routine(routine, library, published.is_write);
        let routine =
            place.ok_or_else(|| misread(format!("there is no model of {routine} {library}")))?;
        Ok(Self { published, parameters, routine, known: vec![] })
    }

    /// The points of the paper's buffer sizes within bounds.
    fn points(
        &mut self,
        waiting: Waiting,
        is_random: bool,
        (from, to): (u64, u64),
    ) -> Result<Vec<Point>, Failure> {
        let is_write = self.published.is_write;
        let test = Test { routine: self.routine, is_write, waiting, is_random, channels: 1 };
        let mut points = Vec::new();
        let sizes = self.published.buffer_sectors().iter();
        for sectors in sizes.filter(|sectors| (from..=to).contains(sectors)) {
            let is_it = |known: &&(Waiting, bool, Point)| {
                known.0 == waiting && known.1 == is_random && known.2.buffer_sectors == *sectors
            };
            let known = self.known.iter().find(is_it).map(|known| known.2);
            let found = match known {
                Some(known) => known,
                None => point(&self.parameters, &test, *sectors)?,
            };
            self.known.push((waiting, is_random, found));
            points.push(found);
        }
        Ok(points)
    }

    fn outcome(&mut self, condition: &Condition) -> Result<Outcome, Failure> {
        let points = self.points(condition.waiting, condition.is_random, condition.sectors)?;
        let reading = match points[..] {
            [only] => {
                let sectors_per_revolution =
                    self.published.sectors_per_revolution.unwrap_or(f64::NAN);
                let missed = only.revolutions - 1.1 / sectors_per_revolution;
                let missed_per_call = missed * only.buffer_sectors as f64;
                Some(Reading { sectors_per_revolution, missed_per_call })
            }
            _ => reading(&points),
        };
        let reading = reading.ok_or_else(|| misread("a condition without sizes"))?;
        let latency_key = match (condition.waiting, self.published.is_write) {
            _ if condition.is_random => "drive.seek.points_ms",
            (Waiting::ForAnswer, false) => "system.wake_after_read",
            (Waiting::ForAnswer, true) => "system.wake_after_write",
            (Waiting::Computing(..), false) => "system.status_after_read",
            (Waiting::Computing(..), true) => "system.status_after_write",
        };
        let latency_source = source(self.published.model()?, latency_key)?;
        Ok(Outcome { condition: *condition, points, reading, latency_key, latency_source })
    }
}

/// The greatest rate of sequential access, of equation 3 or 4.
#[derive(Debug, Clone, PartialEq)]
pub struct Rate {
    /// On which machine.
    pub model: &'static str,
    /// As it was printed, kword/s.
    pub published_kwords_per_s: f64,
    /// The model's, kword/s: buffers of a cylinder, one ahead of the other without a pause between
    /// calls.
    pub model_kwords_per_s: f64,
}

/// R_max of both computers: a cylinder in eleven revolutions.
pub fn rates() -> Result<Vec<Rate>, Failure> {
    let of = |model, published_kwords_per_s, buffer_sectors| -> Result<Rate, Failure> {
        let mut parameters = parameters(model)?;
        // What the calls cost is no part of these equations.
        for row in parameters.routines.iter_mut().map(|routine| &mut routine.read) {
            row.sizes.iter_mut().for_each(|size| size.t_call_ns = 0.0);
        }
        let test = Test {
            routine: 0,
            is_write: false,
            waiting: Waiting::ForAnswer,
            is_random: false,
            channels: 1,
        };
        let rate = point(&parameters, &test, buffer_sectors)?.rate_words_per_s;
        Ok(Rate { model, published_kwords_per_s, model_kwords_per_s: rate / 1e3 })
    };
    Ok(vec![of("cray1-cos-dd19", 502.7, 180)?, of("cdc7600-ltss-819", 558.5, 200)?])
}
