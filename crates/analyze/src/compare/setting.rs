//! What differs between the sides beside their numbers: the machine, the kernel, the plan, the sizes.
//! Some differences forbid a comparison, others are what it is made for.
//!
//! Non-goals: the numbers.

use super::{OfKey, Series};
use model::run::RunInfo;
use serde_json::Value;
use std::collections::BTreeSet;

/// In what two runs can differ so that their numbers are not comparable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Aspect {
    /// Processor, CPUs, memory.
    Machine,
    /// The kernel.
    Kernel,
    /// Sizes of files and requests.
    Size,
    /// What else is done: access, jobs, depth, path, caches, fdatasync.
    Plan,
}

impl Aspect {
    /// All, with their names.
    pub const ALL: [(Self, &'static str); 4] = [
        (Self::Machine, "machine"),
        (Self::Kernel, "kernel"),
        (Self::Size, "size"),
        (Self::Plan, "plan"),
    ];
}

/// A difference between the sides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// What kind; none where it never forbids.
    pub aspect: Option<Aspect>,
    /// What differs.
    pub name: &'static str,
    /// On side A.
    pub a: String,
    /// On side B.
    pub b: String,
}

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {} in A, {} in B", self.name, self.a, self.b)
    }
}

/// A fact of a run: of what kind, its name, and where it is read.
type Fact = (Option<Aspect>, &'static str, fn(&RunInfo) -> Option<String>);

const FACTS: &[Fact] = &[
    (Some(Aspect::Machine), "CPU", |r| text(r.machine.get("cpu_model"))),
    (Some(Aspect::Machine), "CPUs", |r| text(r.machine.get("cpus_allowed"))),
    (Some(Aspect::Machine), "memory", memory),
    (Some(Aspect::Kernel), "kernel", |r| text(r.machine.get("kernel"))),
    (Some(Aspect::Plan), "final fdatasync", |r| text(r.plan.get("final_fdatasync"))),
    (None, "lbolt", |r| Some(r.version.clone())),
    (None, "target", targets),
    (None, "schedulers", schedulers),
];

fn text(value: Option<&Value>) -> Option<String> {
    match value? {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

/// In whole GiB: another kernel keeps a few MiB more for itself.
fn memory(run: &RunInfo) -> Option<String> {
    let bytes = run.machine.get("memory_bytes")?.as_f64()?;
    Some(format!("{:.0}g", bytes / f64::from(1 << 30)))
}

fn targets(run: &RunInfo) -> Option<String> {
    let of_systems = run.plan.get("systems").and_then(Value::as_array);
    let systems = of_systems.into_iter().flatten().filter_map(|s| text(s.get("target")));
    let all: Vec<String> = systems.chain(text(run.plan.get("target"))).collect();
    (!all.is_empty()).then(|| all.join(", "))
}

fn schedulers(run: &RunInfo) -> Option<String> {
    let devices = run.machine.get("devices")?.as_array()?;
    let one = |device: &Value| {
        let name = text(device.get("name")).filter(|name| !name.starts_with("loop"))?;
        Some(format!("{name} {}", text(device.get("scheduler"))?))
    };
    Some(devices.iter().filter_map(one).collect::<Vec<_>>().join(", "))
}

/// What differs between the runs of both sides, or among those of one.
pub fn differences(a: &[&RunInfo], b: &[&RunInfo]) -> Vec<Difference> {
    let differs = |(aspect, name, fact): &Fact| {
        let of = |runs: &[&RunInfo]| runs.iter().filter_map(|r| fact(r)).collect::<BTreeSet<_>>();
        let (of_a, of_b) = (of(a), of(b));
        let is_same = of_a == of_b && of_a.len() <= 1;
        // What one side does not say cannot be held against the other.
        let is_told = !of_a.is_empty() && !of_b.is_empty();
        let listed = |set: BTreeSet<String>| set.into_iter().collect::<Vec<_>>().join(" and ");
        (is_told && !is_same).then(|| Difference {
            aspect: *aspect,
            name,
            a: listed(of_a),
            b: listed(of_b),
        })
    };
    FACTS.iter().filter_map(differs).collect()
}

/// By how much the machine itself was slower on one side than on the other, per cent, by the cost
/// of a request that goes nowhere: it knows nothing of what was tested. None where versions differ, for
/// then the program itself may cost more.
pub fn machine_percent(a: &RunInfo, b: &RunInfo) -> Option<f64> {
    let costs = |run: &RunInfo| {
        let of = |key: &str| run.calibration.get(key).and_then(Value::as_f64);
        let both = [of("harness_ns_per_operation"), of("harness_at_end_ns_per_operation")];
        both.into_iter().flatten().filter(|ns| *ns > 0.0).collect::<Vec<f64>>()
    };
    let (of_a, of_b) = (costs(a), costs(b));
    let is_told = a.version == b.version && !of_a.is_empty() && !of_b.is_empty();
    let all = || of_a.iter().chain(&of_b).copied();
    let (least, most) = (all().fold(f64::INFINITY, f64::min), all().fold(0.0, f64::max));
    is_told.then(|| 100.0 * (most / least - 1.0))
}

/// Of which kind a part of a cell's shape is.
fn aspect_of(name: &str) -> Aspect {
    match name {
        "block_bytes" | "file_bytes" => Aspect::Size,
        _ => Aspect::Plan,
    }
}

/// In what the cells of both sides differ, in words; none where they are alike, as far as both say.
pub(super) fn unlike(a: &OfKey<'_>, b: &OfKey<'_>, across: &[Aspect]) -> Option<String> {
    let first: &Series = a.first()?;
    let others = a.iter().skip(1).chain(b.iter());
    let mut found: Vec<String> = Vec::new();
    for other in others {
        for (name, value) in &first.shape {
            let theirs = other.shape.get(name).filter(|theirs| *theirs != value);
            if let Some(theirs) = theirs.filter(|_| !across.contains(&aspect_of(name))) {
                found.push(format!("{name} {value} and {theirs}"));
            }
        }
    }
    found.dedup();
    (!found.is_empty()).then(|| found.join(", "))
}
