//! Which part of its waiting each role lost to others, or to nobody, and how sure that is.
//!
//! - A loss beyond calm has an interval.
//! - Of waits without calm, any part may be lost: the interval holds none and all of them.
//! - Waits that are lost whole are counted. They have no interval, and another trace of the same
//!   load has another number of them, so two such numbers that differ prove nothing.
//!
//! Non-goals: who is to blame (`verdict`), comparing (`analyze::compare`).

use analysis::response::analyse_run;
use analyze::compare::series::Series;
use capture::gate::Gate;
use model::named::Named;
use model::record::subject::{Blame, Wait};
use model::record::{Finding, Subject, WAIT_FOR_THREAD, WaitKind, is_among_others};
use model::run::RunDirectory;
use std::collections::{BTreeMap, BTreeSet};

/// What of its waiting a role lost.
pub(super) const PERCENT: &str = "lost_percent";

/// Roles with less than this part of all waiting are left out, and a role that lost less than this
/// part of its own whole keeps its interval.
const LEAST_WAITING: f64 = 0.01;
/// A role's loss is unknown if more than this part of its waiting can be compared with nothing.
const UNKNOWN_MOST: f64 = 0.5;

/// The series of the roles of a run's trace. What one waited for a thread is what that one lost.
pub(super) fn of_run(run: &RunDirectory) -> anyhow::Result<Vec<Series>> {
    Ok(of_findings(&analyse_run(run.path(), &Gate::default())?.findings()))
}

/// What a role waited and lost, in ns.
#[derive(Debug, Default)]
struct Lost {
    waited_ns: f64,
    /// All that is known, or estimated.
    lost_ns: f64,
    /// The sum of the squares of half the intervals.
    half_ns2: f64,
    /// What is lost whole.
    whole_ns: f64,
    /// What is estimated without calm, and may be nothing.
    estimated_ns: f64,
    /// What of that is surely of the waits without calm.
    told_ns: f64,
    /// The waits without calm.
    unknown_ns: f64,
}

impl Lost {
    fn add_loss(&mut self, loss: &Finding, is_whole: bool, is_compared: bool, is_mixed: bool) {
        let lost_ns = loss.value.unwrap_or(0.0);
        self.lost_ns += lost_ns;
        match loss.low.zip(loss.high) {
            Some((low, high)) => self.half_ns2 += ((high - low) / 2.0).powi(2),
            None if is_whole => self.whole_ns += lost_ns,
            None if is_compared => {}
            // No wait took longer than in calm.
            None if lost_ns < 0.0 => self.half_ns2 += lost_ns.powi(2),
            None => {
                self.estimated_ns += lost_ns;
                // Of sizes with calm and without it in one it is not known how much is of which.
                self.told_ns += if is_mixed { 0.0 } else { lost_ns };
            }
        }
    }

    fn series(&self, role: &str) -> Series {
        let percent = |ns: f64| 100.0 * ns.clamp(0.0, self.waited_ns) / self.waited_ns;
        let half_ns = self.half_ns2.sqrt();
        let is_vague = self.whole_ns > half_ns.max(LEAST_WAITING * self.waited_ns);
        let untold_ns = (self.unknown_ns - self.told_ns).max(0.0);
        let is_known = untold_ns <= UNKNOWN_MOST * self.waited_ns;
        let low = percent(self.lost_ns - half_ns - self.whole_ns - self.estimated_ns);
        let high = percent(self.lost_ns + half_ns + self.whole_ns + untold_ns);
        Series {
            subject: Subject::class("role", role),
            quantity: PERCENT.to_owned(),
            values: is_known.then(|| percent(self.lost_ns)).into_iter().collect(),
            interval: (is_known && !is_vague).then_some((low, high)),
            ..Series::default()
        }
    }
}

fn of_findings(findings: &[Finding]) -> Vec<Series> {
    let tells = |f: &&Finding| {
        f.value.is_some() && ["calm_mean_ns", "affected_calm_mean_ns"].contains(&&*f.quantity)
    };
    let compared: BTreeSet<&Subject> = findings.iter().filter(tells).map(|f| &f.subject).collect();
    let is_own = |wait: &str| !wait.starts_with(WAIT_FOR_THREAD);
    // As `verdict` has it: only those above a threshold are known, and there is no calm.
    let is_whole = |wait: &str| WaitKind::from_name(wait).is_some();
    let mut roles: BTreeMap<&str, Lost> = BTreeMap::new();
    for finding in findings {
        let value = finding.value.unwrap_or(0.0);
        let is_compared = compared.contains(&finding.subject);
        match (&finding.subject, finding.quantity.as_str()) {
            (Subject::Wait(of), _) if is_among_others(&of.wait) => {}
            (Subject::Wait(of), "waited_ns") if is_own(&of.wait) => {
                let role = roles.entry(&of.victim).or_default();
                role.waited_ns += value;
                if !is_compared && !is_whole(&of.wait) {
                    role.unknown_ns += value;
                }
            }
            // Some sizes of waits have calm, others not.
            (Subject::Wait(of), "uncompared_ns") if is_own(&of.wait) && is_compared => {
                roles.entry(&of.victim).or_default().unknown_ns += value;
            }
            (Subject::Blame(of), "lost_ns") if of.storm.is_none() && is_own(&of.wait) => {
                let role = roles.entry(&of.victim).or_default();
                let Blame { device, victim, wait, .. } = of.clone();
                let is_mixed = compared.contains(&Subject::Wait(Wait { device, victim, wait }));
                role.add_loss(finding, is_whole(&of.wait), is_compared, is_mixed);
            }
            _ => {}
        }
    }
    let least_ns = LEAST_WAITING * roles.values().map(|role| role.waited_ns).sum::<f64>();
    let shown = roles.into_iter().filter(|(_, role)| role.waited_ns > least_ns);
    shown.map(|(name, role)| role.series(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use analyze::compare::{Question, Unit, compare};
    use model::comparison::{Comparison, Outcome};
    use model::record::{EVICTED_PAGE, Interval};

    /// What waits of `db` came to: in all, in calm, without calm.
    fn waits(
        wait: &str,
        waited_ns: f64,
        calm: Option<f64>,
        uncompared: Option<f64>,
    ) -> Vec<Finding> {
        let (device, victim, wait) = ("sda".into(), "db".into(), wait.into());
        let subject = Subject::Wait(Wait { device, victim, wait });
        let found = |name: &str, value| Finding::new(&subject, name, value, 9, "counted");
        let uncompared = uncompared.map(|ns| found("uncompared_ns", Some(ns)));
        let known = [found("waited_ns", Some(waited_ns)), found("calm_mean_ns", calm)];
        known.into_iter().chain(uncompared).collect()
    }

    /// What they lost: with its interval, or as `affected` tells it.
    fn loss(wait: &str, ns: f64, ends: Option<(f64, f64)>, affected: &[&str]) -> Vec<Finding> {
        let subject = Subject::Blame(Blame {
            cause: "dd".into(),
            device: "sda".into(),
            file: None,
            is_role: true,
            storm: None,
            victim: "db".into(),
            wait: wait.into(),
        });
        let found = |name: &str, value| Finding::new(&subject, name, Some(value), 9, "lost");
        let whole = found("lost_ns", ns).within(Interval::Comparison, ends.unzip());
        std::iter::once(whole).chain(affected.iter().map(|name| found(name, 1.0))).collect()
    }

    const WITH_CALM: &[&str] = &["affected_mean_ns", "affected_calm_mean_ns"];

    fn series(all: &[Vec<Finding>]) -> Series {
        let [series] = &of_findings(&all.concat())[..] else { panic!("one role: {all:?}") };
        series.clone()
    }

    fn told(series: &Series) -> (Option<f64>, Option<(f64, f64)>) {
        (series.values.first().copied(), series.interval)
    }

    fn row(a: Series, b: Series) -> Comparison {
        let question = Question {
            unit: Unit::Stretch,
            effect_percent: 5.0,
            machine_percent: 0.0,
            across: vec![],
            refusal: None,
        };
        compare(&[vec![a]], &[vec![b]], &question).rows.remove(0)
    }

    /// Reads of 1000 ns, 100 of them lost, from 80 to 120.
    fn known() -> Series {
        let ends = Some((80.0, 120.0));
        series(&[waits("read", 1000.0, Some(1.0), None), loss("read", 100.0, ends, WITH_CALM)])
    }

    #[test]
    fn a_loss_that_calm_tells_has_its_interval() {
        assert_eq!(told(&known()), (Some(10.0), Some((8.0, 12.0))));
        let none = series(&[waits("read", 1000.0, Some(1.0), None)]);
        assert_eq!(told(&none), (Some(0.0), Some((0.0, 0.0))));
        assert_eq!(row(none, known()).outcome, Outcome::Worse);
        // Calm waits that are all the same leave nothing to chance.
        let exact = [waits("read", 1000.0, Some(1.0), None), loss("read", 100.0, None, WITH_CALM)];
        assert_eq!(series(&exact).interval, Some((10.0, 10.0)));
    }

    /// They are among its reads.
    #[test]
    fn evicted_pages_are_not_waited_for_twice() {
        let ends = Some((80.0, 120.0));
        let lost = loss(EVICTED_PAGE, 100.0, ends, &["affected_mean_ns"]);
        let again = [waits(EVICTED_PAGE, 500.0, None, None), lost].concat();
        let all = [waits("read", 1000.0, Some(1.0), None), again];
        assert_eq!(told(&series(&all)), (Some(10.0), Some((8.0, 12.0))));
    }

    #[test]
    fn few_waits_without_calm_have_lost_nobody_knows_what() {
        for uncompared in [Some(1000.0), None] {
            let few = series(&[waits("fsync", 1000.0, None, uncompared)]);
            assert_eq!(told(&few), (None, None));
            let row = row(few, known());
            assert_eq!((row.outcome, row.a), (Outcome::NotComparable, None), "{row:?}");
            assert_eq!(row.reason.as_deref(), Some("not measured in A"));
        }
        // A part of them is lost or not.
        let some = series(&[waits("read", 1000.0, Some(1.0), Some(300.0))]);
        assert_eq!(told(&some), (Some(0.0), Some((0.0, 30.0))));
        assert_eq!(row(some, known()).outcome, Outcome::CannotTell);
        // An estimate may be nothing, and may be all of them.
        let estimate = loss("read", 800.0, None, &[]);
        let estimate = series(&[waits("read", 1000.0, None, Some(1000.0)), estimate]);
        assert_eq!(told(&estimate), (Some(80.0), Some((0.0, 100.0))));
        assert_eq!(row(estimate, known()).outcome, Outcome::CannotTell);
        // Sizes with calm lost 200, one without it is estimated at 100 of its 300: of one cause.
        let mixed = waits("read", 1000.0, Some(1.0), Some(300.0));
        let mixed = series(&[mixed, loss("read", 300.0, None, &[])]);
        assert_eq!(told(&mixed), (Some(30.0), Some((0.0, 60.0))));
    }

    #[test]
    fn what_is_lost_whole_is_no_interval_without_width() {
        let throttled = |ns: f64| {
            let wait = WaitKind::Throttling.name();
            let lost = [waits(wait, ns, None, None), loss(wait, ns, None, &["affected_mean_ns"])];
            series(&[waits("read", 10_000.0 - ns, Some(1.0), None), lost.concat()])
        };
        let row = row(throttled(1230.0), throttled(1231.0));
        assert_eq!((row.outcome, row.low_percent), (Outcome::CannotTell, None), "{row:?}");
        let reason = "each trace has one value, without an interval; 4 traces per side may tell";
        assert_eq!(row.reason.as_deref(), Some(reason));
        // A little of it leaves a role its interval, and is in it.
        assert_eq!(throttled(50.0).interval, Some((0.0, 1.0)));
    }
}
