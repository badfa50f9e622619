//! Two systems in turn (ABAB): every pass of a program on the one is followed by the same pass on
//! the other, so that what the machine does by itself meanwhile it does to both.
//!
//! Files are laid out anew up to [`LAYOUTS`] times meanwhile: where a file's blocks and its pages
//! in the cache happen to lie makes it faster or slower than its twin as long as it lies there (5
//! to 8 % were seen of cached reads in two equal directories), and is no difference of the two
//! systems (Mytkowicz et al., *Producing wrong data without doing anything obviously wrong!*,
//! ASPLOS 2009).
//!
//! Non-goals: more than two; comparing (`analyze::compare`).

use super::{Calibration, Met, Observer, PassStart, Plan, SystemName, SystemRun};
use crate::until::Until;
use model::record::{Role, Sample};
use model::seam::{Clock, Subject, SubjectError};
use model::workload::Program;
use std::cell::RefCell;

/// Layouts of a program's files, spread over the rounds: as many as the comparison has units.
const LAYOUTS: u32 = 12;

/// Whether the files are laid out anew before a kept round of so many.
fn is_laid_anew(round: u32, rounds: u32) -> bool {
    let layout = |round: u32| u64::from(round) * u64::from(LAYOUTS) / u64::from(rounds.max(1));
    round > 0 && layout(round) != layout(round - 1)
}

/// An observer that two runs share.
struct Shared<'a, 'b>(&'a RefCell<&'b mut dyn Observer>);

impl Observer for Shared<'_, '_> {
    fn pass_starts(&mut self, pass: &PassStart<'_>) {
        self.0.borrow_mut().pass_starts(pass);
    }

    fn pass_done(&mut self, sample: Sample) {
        self.0.borrow_mut().pass_done(sample);
    }

    /// A cell of the one is whole when that of the other is: said once, for both.
    fn cell_done(&mut self) {}
}

/// Runs the plan on two systems in turn and tells the observer of every pass. What cannot be run on
/// the one is still run on the other.
/// Errors: as `run_system`.
pub fn run_in_turn<A: Subject, B: Subject>(
    (subject_a, name_a): (&mut A, &SystemName),
    (subject_b, name_b): (&mut B, &SystemName),
    plan: &Plan,
    calibration: &Calibration,
    clock: &dyn Clock,
    observer: &mut dyn Observer,
) -> Met {
    let shared = RefCell::new(observer);
    let (mut of_a, mut of_b) = (Shared(&shared), Shared(&shared));
    let mut a = SystemRun::new(subject_a, name_a, plan, calibration, clock, &mut of_a);
    let mut b = SystemRun::new(subject_b, name_b, plan, calibration, clock, &mut of_b);
    let outcome = all(&mut a, &mut b, plan, || shared.borrow_mut().cell_done());
    // Both, whatever the first meets.
    let (met_a, met_b) = (a.bench.end(Ok(())), b.bench.end(outcome));
    Ok([met_a?, met_b?].concat())
}

fn all<A: Subject, B: Subject>(
    a: &mut SystemRun<'_, A>,
    b: &mut SystemRun<'_, B>,
    plan: &Plan,
    cell_done: impl Fn(),
) -> Result<(), SubjectError> {
    let (has_a, has_b) = (a.is_prepared()?, b.is_prepared()?);
    for program in &plan.programs {
        let mut measured_a = if has_a { a.make_ready(program) } else { Ok(()) };
        let mut measured_b = if has_b { b.make_ready(program) } else { Ok(()) };
        let began_ns = a.bench.clock.now_ns();
        for number in 0..plan.warmup + plan.runs {
            let is_over = |until: Until| {
                let gone_ns = a.bench.clock.now_ns().saturating_sub(began_ns);
                number >= plan.warmup + until.fewest && gone_ns >= until.max_time_ns
            };
            if plan.until.is_some_and(is_over) {
                break;
            }
            if is_laid_anew(number.saturating_sub(plan.warmup), plan.runs) {
                // Both are gone before either is made again: alone, each would get its own pages
                // back.
                measured_a = measured_a.and_then(|()| a.take_away(program, has_a));
                measured_b = measured_b.and_then(|()| b.take_away(program, has_b));
                measured_a = measured_a.and_then(|()| a.lay_anew(program, has_a));
                measured_b = measured_b.and_then(|()| b.lay_anew(program, has_b));
            }
            measured_a = go_on(a, program, number, has_a, measured_a);
            measured_b = go_on(b, program, number, has_b, measured_b);
        }
        a.settle(program, Role::Kept, measured_a)?;
        b.settle(program, Role::Kept, measured_b)?;
        cell_done();
    }
    if has_a {
        a.all_ceilings()?;
    }
    if has_b {
        b.all_ceilings()?;
    }
    cell_done();
    Ok(())
}

/// The next pass, unless something went wrong before it.
fn go_on<S: Subject>(
    run: &mut SystemRun<'_, S>,
    program: &Program,
    number: u32,
    is_there: bool,
    so_far: Result<(), SubjectError>,
) -> Result<(), SubjectError> {
    match so_far {
        Ok(()) if is_there => run.counted_pass(program, number).map(|_| ()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layouts_are_spread_over_the_rounds_and_the_first_is_there() {
        let anew = |rounds| (0..rounds).filter(|round| is_laid_anew(*round, rounds)).count();
        assert_eq!([1, 2, 10, 12].map(anew), [0, 1, 9, 11]);
        let rounds: Vec<u32> = (0..240).filter(|round| is_laid_anew(*round, 240)).collect();
        assert_eq!(rounds, (1..12).map(|layout| layout * 20).collect::<Vec<_>>());
    }
}
