//! t_loop, the time of one compute-and-test loop, from the runs of the loop without I/O before and
//! after each group of passes; and the two tests of it: it must not wander, and loops of another
//! length must find the same overhead (Bucher & Hayes 1980, section 2: loops of several lengths,
//! "occasional skewed values … were discarded").

use super::routine::{Routine, RoutineCells};
use crate::overhead::Quantity;
use crate::statistics::median;
use model::doubt::{Code, Doubt};
use model::record::{Role, Sample};

/// A run whose loop took more than this above the quickest is skewed.
const SKEWED_SHARE: f64 = 0.02;
/// Fewer sound runs than this share of all: the loop's time wandered.
const SOUND_SHARE_MIN: f64 = 0.5;
/// Two lengths may differ in T_OH by this share of it before chance is asked about.
const LENGTHS_SHARE: f64 = 0.05;

pub(super) const METHOD: &str = "thread CPU time of the loop without I/O, before and after each \
    group of passes, runs more than 2 % above the quickest discarded";

/// t_loop.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct LoopTime {
    pub(super) ns: Quantity,
    /// Runs that it rests on, and all.
    pub(super) count: usize,
    all: usize,
}

/// The runs of the loop without I/O.
pub(super) struct Loops<'a>(Vec<(Routine, &'a Sample)>);

impl<'a> Loops<'a> {
    pub(super) fn of(samples: &'a [Sample]) -> Self {
        let is_loop =
            |s: &&Sample| s.role == Role::Calibration && s.overhead().loop_count.unwrap_or(0) > 0;
        Self(samples.iter().filter(is_loop).map(|s| (Routine::of(s), s)).collect())
    }

    fn values(&self, routine: &Routine) -> Vec<f64> {
        let own = self.0.iter().filter(|(of, _)| of == routine);
        own.filter_map(|(_, s)| {
            Some(s.overhead().cpu_timed_ns? as f64 / s.overhead().loop_count? as f64)
        })
        .collect()
    }

    pub(super) fn of_routine(&self, routine: &Routine) -> Option<LoopTime> {
        routine.computing.as_ref()?;
        let values = self.values(routine);
        let quickest = values.iter().copied().reduce(f64::min)?;
        let is_sound = |value: &f64| *value <= quickest * (1.0 + SKEWED_SHARE);
        let sound: Vec<f64> = values.iter().copied().filter(is_sound).collect();
        let ns = super::passes::mean(&sound)?;
        Some(LoopTime { ns, count: sound.len(), all: values.len() })
    }

    /// Why the loop's time is not to be trusted, if so.
    pub(super) fn doubt(&self, routine: &Routine) -> Option<Doubt> {
        let time = self.of_routine(routine)?;
        let share = time.count as f64 / time.all as f64;
        (share < SOUND_SHARE_MIN).then(|| {
            let middle = median(&self.values(routine)).unwrap_or(0.0);
            let values = [
                ("skewed", (time.all - time.count).into()),
                ("runs", time.all.into()),
                ("percent", (100.0 * (middle / time.ns.value - 1.0)).into()),
            ];
            Doubt::new(Code::LoopWandered, values)
        })
    }
}

/// The same routine with tests twice or half as far apart.
pub(super) fn twins<'r, 's: 'r>(
    routine: &'r Routine,
    all: &'r [RoutineCells<'s>],
) -> impl Iterator<Item = &'r RoutineCells<'s>> {
    let of = |interval: &u64| Some((routine.computing.as_ref()?.0, *interval));
    let wanted: Vec<Routine> = routine
        .computing
        .iter()
        .flat_map(|(_, interval)| [interval.saturating_mul(2), interval / 2])
        .filter_map(|interval| Some(Routine { computing: Some(of(&interval)?), ..routine.clone() }))
        .collect();
    all.iter().filter(move |cells| wanted.contains(&cells.routine))
}

/// The doubt where two lengths find another overhead.
pub(super) fn disagreement(
    routine: &Routine,
    own: &Quantity,
    twin: &Routine,
    other: &Quantity,
) -> Option<Doubt> {
    let distance = (own.value - other.value).abs();
    let is_far = distance > LENGTHS_SHARE * own.value.abs().max(other.value.abs());
    let interval = |routine: &Routine| routine.computing.as_ref().map_or(0, |(_, ns)| *ns / 1000);
    (is_far && !own.agrees_with(other)).then(|| {
        let values = [
            ("t_oh_ns", own.value.into()),
            ("interval_us", interval(routine).into()),
            ("other_t_oh_ns", other.value.into()),
            ("other_interval_us", interval(twin).into()),
        ];
        Doubt::new(Code::LoopsDisagree, values)
    })
}
