//! One total of a request's CPU time, of the passes with nothing beside them. It is no less than
//! what the clocks of all threads that worked in the program say: no interrupt of an idle CPU and
//! no kernel thread is in these. It is no more than the difference over all CPUs, which holds the
//! ways into and out of idle, too. So its interval goes from the one's lower to the other's upper
//! bound, and its value is the middle.
//!
//! Non-goals: the accounts of passes that something ran beside (idle-priority loops, the tracer):
//! they tell whether the total is right, and change it a little.

use super::account::{DIFFERENCE, OWN};
use super::passes::{mean, of, of_quickest};
use super::routine::{CellPasses, RoutineCells};
use super::{Context, finding, less_harness, less_than_own, too_wide};
use crate::overhead::Quantity;
use model::record::{Finding, Sample, Subject};
use model::workload::Account as Passing;

const METHOD: &str = "at least the clocks of all threads that worked in the program, at most the \
    difference over all CPUs, of the third of passes during which the core was quickest";
/// Where only the difference is known.
const METHOD_BY_DIFFERENCE: &str = "the difference over all CPUs";

/// In ns a request, and as a multiple of the submitting thread's.
pub(super) fn findings(
    context: &Context<'_>,
    cells: &RoutineCells<'_>,
    subject: &Subject,
    cell: &CellPasses<'_>,
) -> Vec<Finding> {
    let own = |sample: &Sample| context.raw(OWN, sample, None).filter(|own| *own > 0.0);
    let passes = || cell.kept(Passing::Difference);
    let highest = of_quickest(passes(), |sample| context.raw(DIFFERENCE, sample, None));
    let Some(high) = mean(&highest.kept) else { return vec![] };
    let low = mean(&of_quickest(passes(), tasks_ns).kept);
    let harness = context.harness(&cells.routine, OWN);
    let net = |ns: Quantity| harness.map_or(ns, |harness| ns.less(&harness));
    let total = between(low.map(net), net(high));
    let method = if low.is_some() { METHOD } else { METHOD_BY_DIFFERENCE };
    let most = context.over(DIFFERENCE, cell, own);
    let least = mean(&of(passes(), |sample| Some(tasks_ns(sample)? / own(sample)?)).kept);
    let ratio = most.map(|most| between(least, most));
    // What holds less than its part is no upper bound.
    let judged =
        highest.judged().with(too_wide(&total)).with(most.as_ref().and_then(less_than_own));
    let say = |name, value: Quantity, method: &str| {
        let found = finding(subject, name, Some(value), highest.kept.len(), method);
        found.judged(judged.clone())
    };
    let mut found =
        vec![say("operation_cpu_total_ns", total, &format!("{method}{}", less_harness(harness)))];
    let same = "of the same passes, as they were";
    found.extend(ratio.map(|ratio| say("cpu_total_ratio", ratio, same)));
    found
}

/// The clocks of all threads that worked in the program, in ns a request.
pub(super) fn tasks_ns(sample: &Sample) -> Option<f64> {
    let operations = Some(sample.operations as f64).filter(|operations| *operations > 0.0)?;
    Some(sample.overhead().cpu_tasks_ns? as f64 / operations)
}

/// What lies from one estimate to the other, their errors included.
fn between(low: Option<Quantity>, high: Quantity) -> Quantity {
    let Some(low) = low else { return high };
    let least = low.interval.0.min(high.interval.0);
    let most = low.interval.1.max(high.interval.1);
    Quantity {
        value: (low.value + high.value) / 2.0,
        // A quarter of a 95 % interval, nearly.
        standard_error: (most - least) / 4.0,
        degrees: f64::INFINITY,
        interval: (least, most),
    }
}
