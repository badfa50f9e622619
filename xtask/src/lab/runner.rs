//! Runs the plans: some guests at once, each watched and judged as its cases end. A guest that dies
//! is booted once more at the case where it died, which is counted; a failed assertion never is.

use super::cache::{Boot, Cache};
use super::evidence::Evidence;
use super::judge::{Fault, Outcome, judge};
use super::matrix::{self, All};
use super::plan::{Case, Plan};
use super::results::Row;
use super::table::Machine;
use super::vm::{End, Place};
use crate::command::{in_turn, stop_flag};
use anyhow::Context as _;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// So many deaths at one case are its fault.
const DEATHS: usize = 2;
/// So many deaths of a guest end its plan.
const DEATHS_OF_A_PLAN: usize = 6;

/// What all guests share.
pub(super) struct Runner<'a> {
    cache: &'a Cache,
    machine: &'a Machine,
    lbolt: PathBuf,
    stop: Arc<AtomicBool>,
    /// Guests that were booted again.
    again: AtomicUsize,
    ended: AtomicUsize,
}

impl Drop for Runner<'_> {
    fn drop(&mut self) {
        _ = std::fs::remove_file(&self.lbolt);
    }
}

impl<'a> Runner<'a> {
    pub(super) fn new(
        cache: &'a Cache,
        machine: &'a Machine,
        lbolt: PathBuf,
    ) -> anyhow::Result<Self> {
        let (stop, again, ended) = (stop_flag()?, AtomicUsize::new(0), AtomicUsize::new(0));
        Ok(Self { cache, machine, lbolt, stop, again, ended })
    }

    /// What each kernel is booted from; one that cannot be had is left out, which is said.
    pub(super) fn boots<'p>(&self, plans: &'p [Plan]) -> BTreeMap<&'p str, Boot> {
        let mut boots = BTreeMap::new();
        let mut tried = BTreeSet::new();
        for kernel in plans.iter().map(|plan| plan.kernel) {
            if tried.insert(&kernel.name) {
                match self.cache.boot(kernel, self.machine) {
                    Ok(boot) => _ = boots.insert(kernel.name.as_str(), boot),
                    Err(error) => {
                        println!("lab: skipped: kernel {} cannot be had: {error:#}", kernel.name);
                    }
                }
            }
        }
        boots
    }

    /// Runs the plans, so many at once.
    /// Errors: a guest cannot be started.
    pub(super) fn run(
        &self,
        plans: &[Plan],
        boots: &BTreeMap<&str, Boot>,
        jobs: usize,
    ) -> anyhow::Result<All> {
        let plans: Vec<_> =
            plans.iter().filter(|plan| boots.contains_key(plan.kernel.name.as_str())).collect();
        let total = plans.iter().map(|plan| plan.cases().count()).sum();
        // In the order of the table, whichever guest ended first.
        let rows = in_turn(jobs, &plans, |_, plan| {
            let boot = boots.get(plan.kernel.name.as_str()).context("a kernel without boot")?;
            Turn { runner: self, plan, boot, total }.run()
        })?;
        let rows = rows.into_iter().flatten().collect();
        Ok(All { rows, again: self.again.load(Ordering::Relaxed), is_stopped: self.is_stopped() })
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// A plan that runs.
struct Turn<'a> {
    runner: &'a Runner<'a>,
    plan: &'a Plan<'a>,
    boot: &'a Boot,
    total: usize,
}

impl Turn<'_> {
    fn run(&self) -> anyhow::Result<Vec<Row>> {
        let at = guest(self.runner.cache.at(), self.plan);
        if at.exists() {
            std::fs::remove_dir_all(&at)?;
        }
        let mut rows: BTreeMap<PathBuf, Row> = BTreeMap::new();
        let mut deaths: Vec<PathBuf> = vec![];
        while deaths.len() < DEATHS_OF_A_PLAN && !self.runner.is_stopped() {
            let ended: BTreeSet<_> = rows.keys().cloned().collect();
            let is_wanted = |case: &Case| !ended.contains(&case.place);
            let Some(first) = self.plan.cases().find(|case| is_wanted(case)) else { break };
            if deaths.iter().filter(|place| **place == first.place).count() >= DEATHS {
                self.note(&mut rows, first, dead("the guest died twice"));
                continue;
            }
            if !deaths.is_empty() {
                self.runner.again.fetch_add(1, Ordering::Relaxed);
            }
            self.say(&format!(
                "boots ({} cases)",
                self.plan.cases().filter(|c| is_wanted(c)).count()
            ));
            let place = Place::make(at.clone(), self.plan, &self.runner.lbolt, &is_wanted)?;
            if let End::Died(why) = self.boot(&place, &mut rows)? {
                self.say(&format!("died: {why}"));
                let left = self.plan.cases().find(|case| !rows.contains_key(&case.place));
                deaths.extend(left.map(|case| case.place.clone()));
            }
        }
        if !self.runner.is_stopped() {
            let left = self.plan.cases().filter(|case| !rows.contains_key(&case.place));
            for case in left.collect::<Vec<_>>() {
                self.note(&mut rows, case, dead("the guest died too often"));
            }
        }
        Ok(self.plan.cases().filter_map(|case| rows.remove(&case.place)).collect())
    }

    /// Boots it, and judges the cases as they end.
    fn boot(&self, place: &Place, rows: &mut BTreeMap<PathBuf, Row>) -> anyhow::Result<End> {
        let out = place.out();
        let mut look = || {
            let before = rows.len();
            for case in self.plan.cases() {
                let evidence = out.join(&case.place);
                if !rows.contains_key(&case.place) && evidence.join("code").exists() {
                    self.note(rows, case, judged(case, &evidence));
                }
            }
            rows.len() > before
        };
        let Self { runner, plan, boot, .. } = self;
        let is_stopped = || runner.is_stopped();
        let end = place.run(boot, runner.machine, plan.guest, &is_stopped, &mut look)?;
        look();
        Ok(end)
    }

    fn note(&self, rows: &mut BTreeMap<PathBuf, Row>, case: &Case, outcome: Outcome) {
        let count = self.runner.ended.fetch_add(1, Ordering::Relaxed) + 1;
        let word = match &outcome {
            Outcome::Passed => "passed",
            Outcome::Lacks(_) => "lacks",
            Outcome::Failed(_) => "FAILED",
        };
        self.say(&format!("{}: {}: {word} ({count} of {})", case.stack, case.name, self.total));
        if let Outcome::Failed(faults) = &outcome {
            eprint!("{}", matrix::faults(faults));
        }
        rows.insert(case.place.clone(), row(case, outcome));
    }

    fn say(&self, what: &str) {
        eprintln!("lab: {}: {what}", self.plan.name());
    }
}

fn row(case: &Case, outcome: Outcome) -> Row {
    Row {
        kernel: case.kernel.to_owned(),
        stack: case.stack.clone(),
        case: case.name.clone(),
        outcome,
        why: case.why.iter().map(|why| (*why).to_owned()).collect(),
    }
}

/// Where a plan's guest is.
fn guest(at: &Path, plan: &Plan) -> PathBuf {
    at.join("guests").join(plan.name().replace(' ', "-"))
}

/// The cases whose evidence the last guests left, judged again.
pub(super) fn judged_again(at: &Path, plans: &[Plan]) -> Vec<Row> {
    let of = |plan: &Plan| {
        let out = guest(at, plan).join("share/out");
        let ended = plan.cases().filter(|case| out.join(&case.place).join("code").exists());
        ended.map(|case| row(case, judged(case, &out.join(&case.place)))).collect::<Vec<_>>()
    };
    plans.iter().flat_map(of).collect()
}

fn judged(case: &Case, evidence: &Path) -> Outcome {
    match Evidence::read(evidence) {
        Ok(evidence) => judge(case, &evidence),
        Err(error) => Outcome::Failed(vec![Fault::new("evidence", format!("{error:#}"))]),
    }
}

fn dead(why: &str) -> Outcome {
    Outcome::Failed(vec![Fault::new("the case's end", why)])
}
