//! What differs between the sides beside their numbers: the machine, the kernel, the plan, the
//! sizes. Some differences forbid a comparison, others are what it is made for.
//!
//! Non-goals: the numbers.

use super::{OfKey, Series};
use model::run::RunInfo;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

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
    pub name: String,
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

/// What a run says of itself in one respect.
struct Fact {
    aspect: Option<Aspect>,
    name: String,
    /// What is compared.
    value: String,
    /// The same, with the device or the directory that it is of.
    shown: String,
}

/// A fact that stands in one place of run.json: of what kind, its name, and where it is read.
type Plain = (Option<Aspect>, &'static str, fn(&RunInfo) -> Option<String>);

const PLAIN: &[Plain] = &[
    (Some(Aspect::Machine), "CPU", |r| text(r.machine.get("cpu_model"))),
    (Some(Aspect::Machine), "CPUs", |r| text(r.machine.get("cpus_allowed"))),
    (Some(Aspect::Machine), "memory", memory),
    (Some(Aspect::Kernel), "kernel", |r| text(r.machine.get("kernel"))),
    (Some(Aspect::Plan), "final fdatasync", |r| text(r.plan.get("final_fdatasync"))),
    (None, "lbolt", |r| Some(r.version.clone())),
    (None, "C library", |r| text(r.machine.get("c_library"))),
    (None, "target", targets),
    (None, "CPU governor", |r| text(r.machine.get("cpu_governor"))),
];

/// Facts of a device: their names, and where they stand in its description.
const OF_DEVICE: &[(&str, &str)] = &[
    ("device model", "model"),
    ("write cache", "write_cache"),
    ("rotational", "rotational"),
    ("scheduler", "scheduler"),
];

/// Facts of where a target lies.
const OF_PLACE: &[(&str, &str)] =
    &[("file system", "file_system"), ("mount options", "mount_options")];

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

fn list<'a>(value: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    value.get(key).and_then(Value::as_array).into_iter().flatten()
}

/// Where the run's targets lie.
fn places(run: &RunInfo) -> Vec<&Value> {
    let of_systems = list(&run.plan, "systems").flat_map(|system| list(system, "places"));
    of_systems.chain(list(&run.plan, "places")).collect()
}

/// The devices under test with their descriptions. Where a run does not say which they are: all but
/// loop devices, which come and go.
fn devices(run: &RunInfo) -> Vec<(String, &Value)> {
    let name = |device: &Value| text(device.get("name"));
    let all = || list(&run.machine, "devices").filter_map(|d| Some((name(d)?, d)));
    let tested: Vec<&str> =
        places(run).iter().flat_map(|p| list(p, "devices")).filter_map(Value::as_str).collect();
    let is_meant = |(name, _): &(String, &Value)| match tested.is_empty() {
        true => !name.starts_with("loop"),
        false => tested.contains(&name.as_str()),
    };
    all().filter(is_meant).collect()
}

/// One fact of several holders: their values, and the values with their holders.
fn of_several<'a>(name: &str, holders: impl Iterator<Item = (String, &'a Value)>) -> Option<Fact> {
    let told: Vec<(String, String)> =
        holders.filter_map(|(holder, value)| Some((text(Some(value))?, holder))).collect();
    let values: Vec<&str> = told.iter().map(|(value, _)| value.as_str()).collect();
    let shown: Vec<String> = told.iter().map(|(value, of)| format!("{value} ({of})")).collect();
    let (name, value, shown) = (name.to_owned(), values.join(", "), shown.join(", "));
    (!told.is_empty()).then_some(Fact { aspect: None, name, value, shown })
}

/// All that a run says of itself.
fn facts<'a>(run: &'a RunInfo) -> Vec<Fact> {
    let plain = PLAIN.iter().filter_map(|(aspect, name, read)| {
        let value = read(run)?;
        Some(Fact { aspect: *aspect, name: (*name).to_owned(), shown: value.clone(), value })
    });
    let (devices, places) = (devices(run), places(run));
    let of_place = |place: &&Value| text(place.get("mount_point")).unwrap_or_default();
    let of_places = OF_PLACE.iter().filter_map(|(name, key)| {
        of_several(name, places.iter().filter_map(|p| Some((of_place(p), p.get(*key)?))))
    });
    let of_devices = OF_DEVICE.iter().filter_map(|(name, key)| {
        of_several(name, devices.iter().filter_map(|(of, d)| Some((of.clone(), d.get(*key)?))))
    });
    let queue = |(of, device): &(String, &'a Value)| {
        Some((of.clone(), device.get("settings")?.as_object()?))
    };
    let queues: Vec<(String, &Map<String, Value>)> = devices.iter().filter_map(queue).collect();
    let known: BTreeSet<&String> = queues.iter().flat_map(|(_, s)| s.keys()).collect();
    let of_queues = known.into_iter().filter_map(|key| {
        of_several(key, queues.iter().filter_map(|(of, s)| Some((of.clone(), s.get(key)?))))
    });
    let sysctls = run.machine.get("sysctls").and_then(Value::as_object).into_iter().flatten();
    let sysctls = sysctls.filter_map(|(name, value)| {
        let value = text(Some(value))?;
        Some(Fact { aspect: None, name: name.clone(), shown: value.clone(), value })
    });
    plain.chain(of_places).chain(of_devices).chain(of_queues).chain(sysctls).collect()
}

/// What the runs of a side say in one respect: values, and how they are shown.
type Told = BTreeMap<String, String>;

/// What differs between the runs of both sides, or among those of one.
pub fn differences(a: &[&RunInfo], b: &[&RunInfo]) -> Vec<Difference> {
    let mut found: Vec<(Option<Aspect>, String, [Told; 2])> = Vec::new();
    for (side, run) in a.iter().map(|run| (0, run)).chain(b.iter().map(|run| (1, run))) {
        for fact in facts(run) {
            let place = found.iter().position(|(_, name, _)| *name == fact.name);
            let place = place.unwrap_or_else(|| {
                found.push((fact.aspect, fact.name, Default::default()));
                found.len() - 1
            });
            found[place].2[side].insert(fact.value, fact.shown);
        }
    }
    let differs = |(aspect, name, [a, b]): (Option<Aspect>, String, [Told; 2])| {
        let is_same = a.keys().eq(b.keys()) && a.len() <= 1;
        // What one side does not say cannot be held against the other.
        let is_known = !a.is_empty() && !b.is_empty();
        let listed = |told: Told| told.into_values().collect::<Vec<_>>().join(" and ");
        (is_known && !is_same).then(|| Difference { aspect, name, a: listed(a), b: listed(b) })
    };
    found.into_iter().filter_map(differs).collect()
}

/// By how much the machine itself was slower on one side than on the other, per cent, by the cost
/// of a request that goes nowhere: it knows nothing of what was tested. None where versions differ,
/// for then the program itself may cost more.
pub fn machine_percent(a: &RunInfo, b: &RunInfo) -> Option<f64> {
    let costs = |run: &RunInfo| {
        let of = |key: &str| run.calibration.get(key).and_then(Value::as_f64);
        let both = [of("harness_ns_per_operation"), of("harness_at_end_ns_per_operation")];
        both.into_iter().flatten().filter(|ns| *ns > 0.0).collect::<Vec<f64>>()
    };
    let (of_a, of_b) = (costs(a), costs(b));
    let is_known = a.version == b.version && !of_a.is_empty() && !of_b.is_empty();
    let all = || of_a.iter().chain(&of_b).copied();
    let (least, most) = (all().fold(f64::INFINITY, f64::min), all().fold(0.0, f64::max));
    is_known.then(|| 100.0 * (most / least - 1.0))
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn run(machine: Value, plan: Value) -> RunInfo {
        let rest = json!({
            "schema": "lbolt.run/1", "name": "r", "experiment": "throughput", "version": "1",
            "command_line": [], "started": "", "state": "finished", "seed": 1, "rows": [],
            "machine": machine, "plan": plan, "calibration": {},
        });
        serde_json::from_value(rest).unwrap()
    }

    fn told(a: &RunInfo, b: &RunInfo) -> Vec<String> {
        differences(&[a], &[b]).iter().map(ToString::to_string).collect()
    }

    fn tuned(scheduler: &str, wbt: &str, options: &str, dirty: &str) -> RunInfo {
        let device = |name: &str, scheduler: &str| {
            let settings = json!({"wbt_lat_usec": wbt});
            json!({"name": name, "scheduler": scheduler, "settings": settings})
        };
        let machine = json!({
            "kernel": "6.1", "sysctls": {"vm.dirty_ratio": dirty},
            "devices": [device("vda", scheduler), device("vdb", "bfq"), device("loop7", "none")],
        });
        let place = json!({
            "mount_point": "/d", "file_system": "ext4", "mount_options": options,
            "devices": ["vda"],
        });
        run(machine, json!({"systems": [{"target": "/d", "places": [place]}]}))
    }

    #[test]
    fn every_setting_that_differs_is_told_and_none_that_does_not() {
        let before = tuned("none", "2000", "rw,relatime", "20");
        assert_eq!(told(&before, &before), [""; 0]);
        assert_eq!(
            told(&before, &tuned("mq-deadline", "0", "rw,noatime", "5")),
            [
                "mount options: rw,relatime (/d) in A, rw,noatime (/d) in B",
                "scheduler: none (vda) in A, mq-deadline (vda) in B",
                "wbt_lat_usec: 2000 (vda) in A, 0 (vda) in B",
                "vm.dirty_ratio: 20 in A, 5 in B",
            ]
        );
    }

    #[test]
    fn the_devices_under_test_are_compared_by_what_they_are_and_not_by_their_names() {
        let on = |device: &str| {
            let mut run = tuned("none", "0", "rw", "20");
            run.plan["systems"][0]["places"][0]["devices"] = json!([device]);
            run
        };
        assert_eq!(told(&on("vda"), &on("loop7")), [""; 0]);
        assert_eq!(told(&on("vda"), &on("vdb")), ["scheduler: none (vda) in A, bfq (vdb) in B"]);
    }

    #[test]
    fn a_run_of_an_earlier_version_is_compared_in_what_it_says() {
        let old = run(json!({"devices": [{"name": "vda", "scheduler": "bfq"}]}), json!({}));
        let new = run(
            json!({"devices": [
                {"name": "vda", "scheduler": "none", "settings": {"nr_requests": "64"}},
            ]}),
            json!({}),
        );
        assert_eq!(told(&old, &new), ["scheduler: bfq (vda) in A, none (vda) in B"]);
    }
}
