//! Every sentence that the report can say of experiments, verdicts and doubts, as one golden file
//! that is read whole, as a user reads it.
//!
//! The sentences of models and predictions are in the golden files of `lbolt`.

use crate::common::golden;
use crate::{modern, overhead, paper};
use model::doubt::{Code, Doubt, Value};
use model::engine::EngineKind;
use model::record::subject::{Blame, Commit, Curve, NO_REMEDY, Storm, StormStream, Wait};
use model::record::{EVICTED_PAGE, Finding, Interval, Subject, WAIT_FOR_THREAD, WaitKind};
use model::workload::Access;
use report::Run;

type Case = (&'static str, Vec<Finding>);

#[test]
fn every_sentence_is_one_that_a_user_understands() {
    let mut text = String::new();
    let mut say = |title: &str, said: &str| text.push_str(&format!("== {title}\n{said}\n"));
    say("throughput", &screen(&modern::findings()));
    say("throughput, the paper's", &screen(&paper::findings(&paper::BLOCKS_8K)));
    say("overhead", &screen(&overhead::findings()));
    for (title, findings) in curves().into_iter().chain(commits()).chain(storms()) {
        say(title, &screen(&findings));
    }
    for (title, findings) in verdicts() {
        say(title, &report::verdict::sentences(&findings).join("\n"));
    }
    let doubts: Vec<String> = Code::ALL.iter().map(doubt).collect();
    say("doubts", &doubts.join("\n"));
    golden("sentences.txt", &text);
}

/// What comes before the first table.
fn screen(findings: &[Finding]) -> String {
    let text = Run { findings, rows: &[] }.screen(Some(100), "");
    let sentences = text.lines().take_while(|line| !line.is_empty());
    sentences.map(|line| format!("{line}\n")).collect()
}

pub(crate) fn of(subject: &Subject, quantity: &str, value: f64) -> Finding {
    Finding::new(subject, quantity, Some(value), 5, "")
}

fn within(subject: &Subject, quantity: &str, (low, value, high): (f64, f64, f64)) -> Finding {
    of(subject, quantity, value).within(Interval::Passes, (Some(low), Some(high)))
}

pub(crate) fn curves() -> Vec<Case> {
    let curve = |access, depth| {
        let (direct, engine, target) = (1, EngineKind::IoUring, Some("d".to_owned()));
        Subject::Curve(Curve { access, block_bytes: 4096, depth, direct, engine, target })
    };
    let random = |last: f64| {
        let whole = curve(Access::RandRead, None);
        vec![
            of(&curve(Access::RandRead, Some(1)), "rate_operations_per_s", 9.1e3),
            of(&curve(Access::RandRead, Some(64)), "rate_operations_per_s", last),
            within(&whole, "most_rate_operations_per_s", (85.2e3, 90.7e3, 96.2e3)),
            of(&whole, "knee_rate_operations_per_s", 63.8e3),
            of(&whole, "knee_depth", 8.0),
            of(&whole, "knee_latency_mean_ns", 101e3),
            of(&whole, "knee_latency_p99_ns", 160e3),
        ]
    };
    let read = curve(Access::Read, None);
    let sequential = vec![
        of(&curve(Access::Read, Some(1)), "rate_operations_per_s", 4.9e5),
        within(&read, "most_rate_bytes_per_s", (1.9e9, 2e9, 2.1e9)),
    ];
    vec![
        ("curve", random(9.2e3)),
        ("curve that still rises", random(90.7e3)),
        ("curve of sequential reads", sequential),
    ]
}

pub(crate) fn commits() -> Vec<Case> {
    let commit = |method: &str, rate: (f64, f64, f64)| {
        let subject = Subject::Commit(Commit {
            block_bytes: 4096,
            direct: 0,
            method: method.into(),
            pattern: "overwrite".into(),
            target: Some("d".into()),
            writers: 1,
        });
        [
            within(&subject, "rate_operations_per_s", rate),
            of(&subject, "latency_p50_ns", 95.5e3),
            of(&subject, "latency_p99_ns", 174e3),
        ]
    };
    let (fast, near, slow) = ((9.5e3, 9.94e3, 10.4e3), (9.1e3, 9.7e3, 10.2e3), (80.0, 98.0, 110.0));
    vec![
        ("sync, no difference", [commit("O_DSYNC", fast), commit("fsync", near)].concat()),
        ("sync", [commit("O_DSYNC", fast), commit("fsync", slow)].concat()),
    ]
}

pub(crate) fn storms() -> Vec<Case> {
    let found = |remedy: &str, stream, quantity: &str, value: (f64, f64, f64)| {
        let target = Some("d".to_owned());
        let subject = Subject::Storm(Storm { remedy: remedy.into(), stream, target });
        within(&subject, quantity, value)
    };
    let exactly = |value: f64| (value, value, value);
    let storm = |ratio| {
        vec![
            found(NO_REMEDY, StormStream::ReadInSync, "latency_p99_ns", exactly(3.19e6)),
            found(NO_REMEDY, StormStream::ReadBetween, "latency_p99_ns", exactly(526e3)),
            found(NO_REMEDY, StormStream::Commit, "latency_p99_ns", exactly(9.6e6)),
            found(NO_REMEDY, StormStream::Read, "rate_operations_per_s", exactly(100.0)),
            found(NO_REMEDY, StormStream::Read, "storm_ratio", ratio),
        ]
    };
    let gain = |remedy: &str, recommended: (f64, f64, f64), gain| {
        [
            found(remedy, StormStream::Victims, "gain_ratio", gain),
            found(remedy, StormStream::Victims, "recommended", recommended),
        ]
    };
    let base = storm((4.0, 6.06, 9.0));
    let helped =
        [gain("bfq", exactly(1.0), (0.3, 0.4, 0.5)), gain("wbt", exactly(1.0), (0.4, 0.5, 0.7))]
            .concat();
    let unsure = gain("bfq", (0.0, 0.0, 1.0), (0.4, 0.9, 1.9)).to_vec();
    vec![
        ("storm", base.clone()),
        ("storm that reads do not feel", storm((0.9, 1.1, 1.3))),
        ("storm, too noisy", storm((0.38, 3.03, 24.1))),
        ("storm with remedies", [base.clone(), helped].concat()),
        ("storm, too noisy for remedies", [base, unsure].concat()),
    ]
}

fn of_run(more: &[(&str, f64)]) -> Vec<Finding> {
    let whole = [("verdict_span_ns", 90e9)];
    let all = whole.iter().chain(more);
    all.map(|(quantity, value)| of(&Subject::this_run(), quantity, *value)).collect()
}

fn wait(victim: &str, kind: &str, more: &[(&str, f64)]) -> Vec<Finding> {
    let (device, victim) = ("vda".to_owned(), victim.to_owned());
    let subject = Subject::Wait(Wait { device, victim, wait: kind.into() });
    let all = [("waits_count", 500.0), ("waited_ns", 76e9)];
    all.iter().chain(more).map(|(quantity, value)| of(&subject, quantity, *value)).collect()
}

fn lost(
    (victim, kind): (&str, &str),
    (cause, is_role): (&str, bool),
    more: &[(&str, f64)],
) -> Vec<Finding> {
    let subject = Subject::Blame(Blame {
        cause: cause.into(),
        device: "vda".into(),
        file: None,
        is_role,
        storm: None,
        victim: victim.into(),
        wait: kind.into(),
    });
    let all = [("lost_ns", 24e9), ("lost_percent", 31.4), ("matters", 1.0)];
    all.iter().chain(more).map(|(quantity, value)| of(&subject, quantity, *value)).collect()
}

/// How long an affected wait took, and a calm one.
const TOOK: [(&str, f64); 2] = [("affected_mean_ns", 5.4e6), ("affected_calm_mean_ns", 1.5e6)];
const BEHIND_WRITES: [(&str, f64); 4] =
    [TOOK[0], TOOK[1], ("lost_to_writes_percent", 30.0), ("lost_to_flushes_percent", 1.0)];
const AGAIN: [(&str, f64); 2] = [("affected_mean_ns", 1e6), ("lost_to_reads_percent", 100.0)];
const LITTLE: [(&str, f64); 3] = [("lost_ns", 3e6), ("lost_percent", 0.3), ("matters", 0.0)];
const UNCOMPARED: [(&str, f64); 2] = [("uncompared_count", 22.0), ("uncompared_ns", 40e9)];
const UNPLACED: [(&str, f64); 2] = [("unplaced_waits_ns", 1.5e9), ("unplaced_waits_count", 1.0)];

fn pressure(seen_percent: f64) -> Vec<Finding> {
    let seen = ("io_pressure_seen_percent", seen_percent);
    of_run(&[("io_pressure_ns", 12e9), ("io_pressure_percent", 40.0), seen])
}

pub(crate) fn verdicts() -> Vec<Case> {
    let backend = ("postgres: backend", "fdatasync");
    let (checkpointer, keeper) = (("postgres: checkpointer", true), ("keeper", true));
    let client = format!("{WAIT_FOR_THREAD}postgres: backend");
    let logger = ("logger", WaitKind::Throttling.name());
    let shop = ("shop", EVICTED_PAGE);
    let held = [TOOK[0], ("lock_held_ns", 23e9)];
    let nobody = |cause: &str| [of_run(&[]), lost(backend, (cause, false), &TOOK)].concat();
    let reads = || wait("reader", "read", &[]);
    let parts: [(&'static str, Vec<Vec<Finding>>); 13] = [
        (
            "verdict",
            vec![
                pressure(99.0),
                wait(backend.0, backend.1, &[]),
                lost(backend, checkpointer, &BEHIND_WRITES),
                lost(("pgbench", &client), checkpointer, &BEHIND_WRITES),
            ],
        ),
        ("verdict, a lock", vec![of_run(&[]), lost(backend, keeper, &held)]),
        (
            "verdict, dirty pages",
            vec![of_run(&[("cpu_idle_percent", 1.25)]), lost(logger, ("dd", true), &BEHIND_WRITES)],
        ),
        ("verdict, evicted pages", vec![of_run(&[]), lost(shop, ("backup", true), &AGAIN)]),
        ("verdict, the device", vec![nobody("device")]),
        ("verdict, held back", vec![nobody("held")]),
        ("verdict, memory", vec![nobody("memory")]),
        ("verdict, nobody", vec![of_run(&[])]),
        (
            "verdict, all clear",
            vec![of_run(&[]), reads(), lost(("reader", "read"), ("dd", true), &LITTLE)],
        ),
        ("verdict, no calm", vec![of_run(&[]), wait("redis", "fdatasync", &UNCOMPARED)]),
        ("verdict, pressure unseen", vec![pressure(30.0), reads()]),
        ("verdict, unknown device", vec![of_run(&UNPLACED)]),
        ("verdict, the kernel agrees", vec![pressure(98.0), reads()]),
    ];
    parts.map(|(title, findings)| (title, findings.concat())).into()
}

/// Values that are no numbers.
const TEXTS: [&str; 10] =
    ["device", "by", "side", "reason", "sentence", "what", "disks", "directory", "job", "other"];

/// A doubt with values that fit its places.
fn doubt((code, name, values): &(Code, &'static str, &'static [&'static str])) -> String {
    let mut doubt = Doubt::new(*code, []);
    for value in *values {
        let filled = match (*code, TEXTS.contains(value)) {
            (Code::OtherPrograms, true) => Value::Names(vec!["rustc".into(), "cc1".into()]),
            (_, true) => Value::Text((*value).to_owned()),
            (_, false) => Value::Number(1200.0),
        };
        doubt.values.insert((*value).to_owned(), filled);
    }
    format!("{name}: {}", report::doubt::sentence(&doubt))
}
