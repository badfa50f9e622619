//! The overhead experiment's findings: from the samples of all passes to one number a quantity, for
//! each cell (a request size of a routine) and for each routine (a line through its sizes).
//!
//! A *routine* is an interface used in one way: engine, access, path, channels, computing. CPU
//! figures are less the harness's own cost, measured on the null engine in the same shape in the
//! same run; rates are as they were.
//!
//! Non-goals: printing.

mod account;
mod background;
mod loops;
mod passes;
mod routine;
mod speed;
mod total;

use super::{
    CallCost, CannotFit, Drive, Fit, Line, MISFIT_BOUND_PERCENT, Observation, Quantity, Rate,
    Shape, fit,
};
use crate::throughput::Calibration;
use account::{ACCOUNTS, Account, LOOPS, OWN};
use background::Background;
use loops::Loops;
use model::doubt::{Code, Doubt, Judgement, Verdict};
use model::engine::EngineKind;
use model::record::{Finding, Interval, Sample, Subject};
use model::workload::{Account as Passing, Arithmetic};
use passes::Passes;
use routine::{CellPasses, Routine, RoutineCells, routines};
use speed::Speed;
use std::collections::BTreeMap;

/// What the harness's cost depends on: the path, the number of channels, and computing.
type Form = (bool, u64, Option<(Arithmetic, u64)>);

/// What the samples are seen against.
struct Context<'a> {
    background: Background,
    loops: Loops<'a>,
    /// The harness's cost of a request, by the shape of the routine and the account.
    harness: BTreeMap<(Form, &'static str), Quantity>,
    drive: Option<Drive>,
}

/// All findings of a run: calibration first, then each routine's cells and lines. With a drive, the
/// lines of direct requests are read as revolutions too.
pub fn findings(
    samples: &[Sample],
    calibration: &Calibration,
    drive: Option<Drive>,
) -> Vec<Finding> {
    let background = Background::of(samples);
    let loops = Loops::of(samples);
    let routines = routines(samples);
    let mut context = Context { background, loops, harness: BTreeMap::new(), drive };
    for cells in routines.iter().filter(|cells| cells.routine.engine == EngineKind::Null) {
        context.learn_harness(cells);
    }
    let run = Subject::this_run();
    let about_run = calibration.iter().copied().chain(context.background.by_quantity());
    let about_run = about_run.chain(Speed::of(samples).by_quantity());
    let mut found: Vec<Finding> = about_run
        .map(|(name, value)| {
            let method = "calibrated beside the passes";
            Finding::new(&run, name, Some(value), 1, method)
        })
        .collect();
    for cells in &routines {
        found.extend(context.of_routine(cells, &routines));
    }
    found
}

impl Context<'_> {
    /// What the null engine's passes say of the harness.
    fn learn_harness(&mut self, cells: &RoutineCells<'_>) {
        for account in ACCOUNTS {
            let all = cells.cells.values();
            let passes = all.map(|cell| self.values(account, cells, cell));
            let values = passes.flat_map(|passes| passes.kept).collect::<Vec<f64>>();
            if let Some(mean) = passes::mean(&values) {
                self.harness.insert((cells.routine.form(), account.name), mean);
            }
        }
    }

    /// The harness's cost in a routine's shape, by the account that is fit to measure it.
    fn harness(&self, routine: &Routine, account: &Account) -> Option<Quantity> {
        if routine.engine == EngineKind::Null || !account.is_cpu {
            return None;
        }
        let name = if account.name == LOOPS.name { LOOPS.name } else { OWN.name };
        self.harness.get(&(routine.form(), name)).copied()
    }

    /// A pass's time by an account, in ns a request, as it was.
    fn raw(
        &self,
        account: &Account,
        sample: &Sample,
        t_loop: Option<&loops::LoopTime>,
    ) -> Option<f64> {
        let ns = (account.total_ns)(sample, &self.background, t_loop)?;
        let operations = sample.operations as f64;
        (operations > 0.0).then_some(ns / operations)
    }

    /// A cell's values by an account, one a pass, in ns a request; where they grow as the core
    /// slows, of its quicker passes.
    fn values(&self, account: &Account, of: &RoutineCells<'_>, cell: &CellPasses<'_>) -> Passes {
        let t_loop = self.loops.of_routine(&of.routine);
        let value = |sample: &Sample| self.raw(account, sample, t_loop.as_ref());
        let kept = cell.kept(account.passes);
        match account.follows_speed {
            true => passes::of_quickest(kept, value),
            false => passes::of(kept, value),
        }
    }

    fn of_routine(&self, cells: &RoutineCells<'_>, all: &[RoutineCells<'_>]) -> Vec<Finding> {
        let mut found = Vec::new();
        for (block_bytes, cell) in &cells.cells {
            found.extend(self.of_cell(cells, *block_bytes, cell, all));
        }
        found.extend(self.loop_time(cells));
        for account in ACCOUNTS {
            found.extend(self.line(account, cells, all));
        }
        found
    }

    /// One request size of a routine.
    fn of_cell(
        &self,
        cells: &RoutineCells<'_>,
        block_bytes: u64,
        cell: &CellPasses<'_>,
        all: &[RoutineCells<'_>],
    ) -> Vec<Finding> {
        let subject = cells.routine.cell_subject(block_bytes);
        let mut found = rates(&subject, cell);
        for account in ACCOUNTS {
            let passes = self.values(account, cells, cell);
            let refusal =
                cell.refused(account.passes).filter(|_| account.is_named_after_its_passes);
            if let Some(judged) = refusal.filter(|_| passes.kept.is_empty()) {
                found.push(Finding::not_measured(&subject, account.quantity, judged));
            }
            let Some(mean) = passes::mean(&passes.kept) else { continue };
            let harness = self.harness(&cells.routine, account);
            let mean = self.with_loop_error(account, cells, cell, mean);
            let net = harness.map_or(mean, |harness| mean.less(&harness));
            let mut judged = passes.judged().with(too_wide(&net));
            if account.name == LOOPS.name {
                judged = judged.worse(self.loop_doubts(cells, block_bytes, &mean, all));
            }
            let over_own = self.over(account, cell, |sample| self.raw(OWN, sample, None));
            judged = judged.with(over_own.as_ref().and_then(less_than_own));
            let ratios = [
                (account.over_own, over_own),
                (account.over_tasks, self.over(account, cell, total::tasks_ns)),
            ];
            for (quantity, ratio) in ratios {
                let Some((quantity, ratio)) = quantity.zip(ratio) else { continue };
                let method = "of the same passes, as they were";
                found.push(finding(&subject, quantity, Some(ratio), passes.kept.len(), method));
            }
            let value = (judged.verdict != Verdict::NotMeasured).then_some(net);
            let method = format!("{}{}", method(account), less_harness(harness));
            let count = passes.kept.len();
            found.push(finding(&subject, account.quantity, value, count, &method).judged(judged));
        }
        found.extend(total::findings(self, cells, &subject, cell));
        found
    }

    /// A T_OH is as sure as t_loop, of which it takes away many.
    fn with_loop_error(
        &self,
        account: &Account,
        cells: &RoutineCells<'_>,
        cell: &CellPasses<'_>,
        mean: Quantity,
    ) -> Quantity {
        let t_loop = self.loops.of_routine(&cells.routine).filter(|_| account.name == LOOPS.name);
        let per_request =
            |s: &Sample| Some(s.overhead().loop_count? as f64 / s.operations.max(1) as f64);
        let loops = passes::mean(&passes::of(cell.kept(account.passes), per_request).kept);
        match t_loop.zip(loops) {
            Some((t_loop, loops)) => {
                let error = mean.standard_error.hypot(loops.value * t_loop.ns.standard_error);
                Quantity::new(mean.value, error, mean.degrees)
            }
            None => mean,
        }
    }

    /// A total over another time of the same passes, whatever the core's speed was.
    fn over(
        &self,
        account: &Account,
        cell: &CellPasses<'_>,
        other: impl Fn(&Sample) -> Option<f64>,
    ) -> Option<Quantity> {
        account.over_own?;
        let ratio = |sample: &Sample| {
            let other = other(sample).filter(|other| *other > 0.0)?;
            Some(self.raw(account, sample, None)? / other)
        };
        passes::mean(&passes::of(cell.kept(account.passes), ratio).kept)
    }

    /// What is to be doubted of a T_OH: the loop's own time, and loops of another length.
    fn loop_doubts(
        &self,
        cells: &RoutineCells<'_>,
        block_bytes: u64,
        mean: &Quantity,
        all: &[RoutineCells<'_>],
    ) -> Judgement {
        let wandered = self.loops.doubt(&cells.routine);
        let twin = loops::twins(&cells.routine, all).find_map(|twin| {
            let cell = twin.cells.get(&block_bytes)?;
            let other = passes::mean(&self.values(LOOPS, twin, cell).kept)?;
            loops::disagreement(&cells.routine, mean, &twin.routine, &other)
        });
        // What two lengths find differently is neither's to say.
        twin.map_or_else(Judgement::default, Judgement::not_measured).with(wandered)
    }

    /// t_loop of a routine that computes.
    fn loop_time(&self, cells: &RoutineCells<'_>) -> Option<Finding> {
        let t_loop = self.loops.of_routine(&cells.routine)?;
        let judged = Judgement::default().with(self.loops.doubt(&cells.routine));
        let subject = cells.routine.subject(LOOPS.name);
        let found = finding(&subject, "loop_ns", Some(t_loop.ns), t_loop.count, loops::METHOD);
        Some(found.judged(judged))
    }

    /// The line through a routine's sizes by an account.
    fn line(
        &self,
        account: &Account,
        cells: &RoutineCells<'_>,
        all: &[RoutineCells<'_>],
    ) -> Vec<Finding> {
        let subject = cells.routine.subject(account.name);
        let by_size = cells.cells.iter().map(|(bytes, cell)| {
            let passes = self.values(account, cells, cell);
            (*bytes, passes)
        });
        let by_size: Vec<(u64, Passes)> =
            by_size.filter(|(_, passes)| !passes.kept.is_empty()).collect();
        if by_size.is_empty() {
            return self.refused_line(account, cells, &subject);
        }
        let observations: Vec<Observation> = by_size
            .iter()
            .flat_map(|(bytes, passes)| {
                let of = |value: &f64| Observation { block_bytes: *bytes, value_ns: *value };
                passes.kept.iter().map(of)
            })
            .collect();
        let of_sizes = by_size.iter().map(|(_, passes)| passes.judged());
        let mut judged = of_sizes.fold(Judgement::default(), Judgement::worse);
        if account.name == LOOPS.name {
            let doubts = by_size.iter().filter_map(|(bytes, passes)| {
                Some(self.loop_doubts(cells, *bytes, &passes::mean(&passes.kept)?, all))
            });
            judged = doubts.fold(judged, Judgement::worse);
        }
        if judged.verdict == Verdict::NotMeasured {
            return vec![no_line(account, &subject, judged)];
        }
        match fit(&observations) {
            // Too few sizes were requested: there is nothing to say.
            Err(CannotFit::TooFewSizes { .. }) => vec![],
            Err(error) => {
                vec![no_line(account, &subject, Judgement::not_measured(error.doubt()))]
            }
            Ok(fitted) => {
                let harness = self.harness(&cells.routine, account);
                let net = harness.map_or_else(|| fitted.clone(), |harness| fitted.less(&harness));
                self.line_findings(account, cells, &subject, &net, harness, judged)
            }
        }
    }

    /// A routine that was refused at every size has no line, and the reason for it.
    fn refused_line(
        &self,
        account: &Account,
        cells: &RoutineCells<'_>,
        subject: &Subject,
    ) -> Vec<Finding> {
        let is_first = matches!(account.name, "wall" | "thread")
            && cells.routine.computing.is_none()
            || account.name == LOOPS.name && cells.routine.computing.is_some();
        let refused = cells.cells.values().find_map(|cell| cell.refused(account.passes));
        let refused = refused.filter(|_| is_first);
        refused.map(|judged| no_line(account, subject, judged)).into_iter().collect()
    }

    fn line_findings(
        &self,
        account: &Account,
        cells: &RoutineCells<'_>,
        subject: &Subject,
        fit: &Fit,
        harness: Option<Quantity>,
        judged: Judgement,
    ) -> Vec<Finding> {
        let count = fit.passes;
        let known = |value: f64| Some(Quantity::known(value));
        let say = |name, value: Option<Quantity>, method: &str| {
            finding(subject, name, value, count, method).judged(judged.clone())
        };
        let mut found = vec![say("fit_misfit_percent", known(fit.misfit_percent), "greatest")];
        let noise = fit.noise_percent.map(Quantity::known);
        found.extend(noise.map(|noise| say("fit_noise_percent", Some(noise), "pooled")));
        if let Shape::DoesNotApply(doubt) = &fit.shape {
            let judged = Judgement::not_measured(doubt.clone());
            found.push(no_line(account, subject, judged));
            return found;
        }
        let speed = if account.follows_speed { AT_BEST } else { "" };
        let method = format!("{}{speed}{}", line_method(fit), less_harness(harness));
        let judged = judged.clone().with(misfit(fit));
        let say = |name, value: Option<Quantity>, method: &str| {
            finding(subject, name, value, count, method).judged(judged.clone())
        };
        if let Shape::TwoLines { large, .. } | Shape::ThreeLines { large, .. } = &fit.shape {
            found.push(say("break_bytes", known(large.from_bytes as f64), &method));
        }
        let (Some(small), Some(large)) = (fit.small_blocks(), fit.large_blocks()) else {
            return found;
        };
        let values = match account.is_cpu {
            true => cpu_values(small, large),
            false => rate_values(small, large),
        };
        let rotation = self.drive.filter(|_| !account.is_cpu && cells.routine.direct);
        let turns = rotation.map(|drive| drive.rotation(small)).map(|rotation| {
            vec![
                ("sectors_per_revolution", rotation.sectors_per_revolution),
                ("revolutions_missed", Some(rotation.missed_revolutions_per_call)),
            ]
        });
        let all = values.into_iter().chain(turns.into_iter().flatten());
        found.extend(all.filter_map(|(name, value)| Some(say(name, Some(value?), &method))));
        found
    }
}

/// How a time that follows the core's speed is given.
const AT_BEST: &str = ", of the third of passes during which the core was quickest";

fn method(account: &Account) -> String {
    format!("{}{}", account.method, if account.follows_speed { AT_BEST } else { "" })
}

/// A value of which not even the first digit is known.
fn too_wide(value: &Quantity) -> Option<Doubt> {
    let (low, high) = value.interval;
    let is_wide = value.standard_error > 0.0 && (high - low) / 2.0 > value.value.abs();
    is_wide.then(|| Doubt::new(Code::IntervalExceedsValue, []))
}

/// A total holds the thread's own time: less than that, by more than chance and a tenth, is none.
fn less_than_own(over_own: &Quantity) -> Option<Doubt> {
    let is_less = over_own.value < 0.9 && over_own.interval.1 < 1.0;
    let percent = 100.0 * over_own.value;
    is_less.then(|| Doubt::new(Code::TotalBelowOwn, [("percent", percent.into())]))
}

/// A line that misses a size by more than is allowed and than chance explains, though not so surely
/// that it would be refused.
fn misfit(fit: &Fit) -> Option<Doubt> {
    let is_beyond_chance = fit.lack_of_fit.is_some_and(|test| test.is_significant());
    (is_beyond_chance && fit.misfit_percent > MISFIT_BOUND_PERCENT).then(|| {
        let noise = fit.noise_percent.unwrap_or(0.0);
        let values = [("percent", fit.misfit_percent.into()), ("noise_percent", noise.into())];
        Doubt::new(Code::LineMissesSize, values)
    })
}

fn cpu_values(small: &Line, large: &Line) -> Vec<(&'static str, Option<Quantity>)> {
    let cost = CallCost::from(small);
    let is_two = small != large;
    vec![
        ("t_call_ns", Some(cost.call_ns)),
        ("t_trans_ns_per_kib", Some(cost.transfer_ns_per_kib)),
        ("t_trans_large_ns_per_kib", is_two.then(|| CallCost::from(large).transfer_ns_per_kib)),
    ]
}

fn rate_values(small: &Line, large: &Line) -> Vec<(&'static str, Option<Quantity>)> {
    // One call's latency shows in the small requests, and the rate in the large ones.
    let (latency, rate) = (Rate::from(small), Rate::from(large));
    // No size reaches half of R_inf where the line meets zero bytes at or below zero time.
    let half = rate.half_rate_bytes.filter(|half| small == large && half.value > 0.0);
    vec![
        ("latency_zero_ns", Some(latency.latency_ns)),
        ("rate_asymptotic_bytes_per_s", rate.asymptotic_bytes_per_s),
        ("half_rate_bytes", half),
    ]
}

fn line_method(fit: &Fit) -> String {
    let lines = match fit.shape {
        Shape::TwoLines { .. } => "two lines",
        Shape::ThreeLines { .. } => "three lines",
        _ => "one line",
    };
    format!("{lines} by weighted least squares over {} sizes", fit.sizes)
}

fn less_harness(harness: Option<Quantity>) -> String {
    harness.map_or_else(String::new, |h| format!(", less the harness's {:.1} ns", h.value))
}

/// The first quantity of a line that there is not.
fn no_line(account: &Account, subject: &Subject, judged: Judgement) -> Finding {
    let name = if account.is_cpu { "t_call_ns" } else { "rate_asymptotic_bytes_per_s" };
    Finding::not_measured(subject, name, judged)
}

/// R(B,N), latencies.
fn rates(subject: &Subject, cell: &CellPasses<'_>) -> Vec<Finding> {
    if let Some(judged) = cell.refused(Passing::Difference) {
        return vec![Finding::not_measured(subject, "routine_bytes_per_s", judged)];
    }
    let per_second = |of: fn(&Sample) -> f64| {
        move |sample: &Sample| {
            (sample.wall_ns > 0).then(|| of(sample) / sample.wall_ns as f64 * 1e9)
        }
    };
    type Value = Box<dyn Fn(&Sample) -> Option<f64>>;
    let quantities: [(&str, Value); 4] = [
        ("routine_bytes_per_s", Box::new(per_second(|s| s.bytes as f64))),
        ("routine_operations_per_s", Box::new(per_second(|s| s.operations as f64))),
        ("operation_latency_p50_ns", Box::new(|s| Some(s.latency()?.quantile_ns(0.5)? as f64))),
        ("operation_latency_p99_ns", Box::new(|s| Some(s.latency()?.quantile_ns(0.99)? as f64))),
    ];
    let found = quantities.into_iter().filter_map(|(name, value)| {
        let passes = passes::of(cell.kept(Passing::Difference), value);
        let mean = passes::mean(&passes.kept)?;
        let method = "mean of the passes with nothing else running";
        let found = finding(subject, name, Some(mean), passes.kept.len(), method);
        Some(found.judged(passes.judged()))
    });
    found.collect()
}

fn finding(
    subject: &Subject,
    name: &str,
    value: Option<Quantity>,
    count: usize,
    method: &str,
) -> Finding {
    let finite = |bound: f64| Some(bound).filter(|bound| bound.is_finite());
    let interval = value.filter(|v| v.standard_error > 0.0).map(|v| v.interval);
    let within = interval.map_or((None, None), |(low, high)| (finite(low), finite(high)));
    let value = value.map(|quantity| quantity.value);
    Finding { verdict: Verdict::Ok, ..Finding::new(subject, name, value, count as u64, method) }
        .within(Interval::Passes, within)
}
