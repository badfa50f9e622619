//! Whether what must hold of a case holds of its evidence. Each kind of assertion is here once.

mod counts;
mod layers;
#[cfg(test)]
mod tests;

use super::evidence::{End, Evidence, Run};
use super::plan::Case;
use super::table::Kind;
use model::doubt::Code;
use model::record::{Finding, Op, Request, Verdict};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// What became of a case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Outcome {
    Passed,
    /// The kernel lacks something, and this was said.
    Lacks(String),
    Failed(Vec<Fault>),
}

/// An assertion that does not hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Fault {
    pub(super) wanted: String,
    pub(super) measured: String,
}

impl Fault {
    pub(super) fn new(wanted: impl Into<String>, measured: impl Into<String>) -> Self {
        Self { wanted: wanted.into(), measured: measured.into() }
    }
}

/// The published median may be off by so much.
const DELAY_SHARE: f64 = 0.1;
/// What fio's threads are called.
pub(super) const LOAD: &str = "fio";
/// Of a text, so much is shown.
const SHOWN: usize = 400;

/// Judges a case.
pub(super) fn judge(case: &Case, evidence: &Evidence) -> Outcome {
    let Some(sentence) = case.lacks else { return rest(case, evidence) };
    let Some(said) = sentence.find(&evidence.printed()).map(str::to_owned) else {
        let wanted = format!("the sentence \"{}\"", sentence.source());
        return Outcome::Failed(vec![Fault::new(wanted, ended(evidence))]);
    };
    match case.is_rest_held.then(|| rest(case, evidence)) {
        Some(failed @ Outcome::Failed(_)) => failed,
        _ => Outcome::Lacks(said),
    }
}

/// All but what the kernel lacks.
fn rest(case: &Case, evidence: &Evidence) -> Outcome {
    let mut faults = vec![];
    if evidence.end != End::Exit(case.exit) {
        faults.push(Fault::new(format!("exit code {}", case.exit), ended(evidence)));
    }
    let printed = evidence.printed();
    for pattern in case.says.iter().filter(|pattern| pattern.find(&printed).is_none()) {
        faults.push(Fault::new(format!("printed: \"{}\"", pattern.source()), tail(&printed)));
    }
    for said in case.silent.iter().filter_map(|pattern| pattern.find(&printed)) {
        faults.push(Fault::new("not printed", format!("\"{said}\"")));
    }
    // Without a run, the same would be said for each kind.
    let is_there = evidence.end == End::Exit(case.exit) || evidence.run.is_some();
    for kind in case.holds.iter().filter(|_| is_there) {
        match held(*kind, case, evidence) {
            Ok(found) => faults.extend(found),
            Err(missing) => faults.push(Fault::new(missing, "nothing")),
        }
    }
    if faults.is_empty() { Outcome::Passed } else { Outcome::Failed(faults) }
}

/// The faults of one kind.
/// Errors: the evidence that it needs is not there.
fn held(kind: Kind, case: &Case, evidence: &Evidence) -> Result<Vec<Fault>, &'static str> {
    let run = || evidence.run.as_ref().ok_or("a run");
    let fio = || evidence.fio.as_ref().ok_or("fio's report");
    Ok(match kind {
        Kind::Bpf => by_bpf(run()?),
        Kind::Counts | Kind::Bytes => {
            let counters = evidence.counters.as_ref().ok_or("the kernel's counts")?;
            counts::counts(run()?, counters, kind == Kind::Bytes)
        }
        Kind::Layers => {
            let counters = evidence.counters.as_ref().ok_or("the kernel's counts")?;
            let published = evidence.response.as_ref().ok_or("what lbolt response says")?;
            layers::layers(run()?, published, &counters[0])
        }
        Kind::Watched => {
            let counters = evidence.counters.as_ref().ok_or("the kernel's counts")?;
            counts::watched(evidence.history.as_ref().ok_or("a history")?, counters)
        }
        Kind::Summed => counts::summed(run()?),
        Kind::Fio => counts::fio(run()?, fio()?),
        Kind::FioBytes => counts::fio_bytes(run()?, fio()?),
        Kind::Fsyncs => counts::fsyncs(run()?, fio()?),
        Kind::Once => once(run()?),
        Kind::Trusted => trusted(run()?),
        Kind::Delay => delay(run()?, case.delay_ms.ok_or("a delay")?, fio()?.read_p50_ms()),
        Kind::Unchanged | Kind::Changed => {
            let wanted = if kind == Kind::Changed { "changed" } else { "unchanged" };
            let sum = evidence.sum.as_deref().ok_or("a checksum")?;
            let fault = || Fault::new(format!("the device {wanted}"), sum);
            (sum != wanted).then(fault).into_iter().collect()
        }
    })
}

fn ended(evidence: &Evidence) -> String {
    let text = tail(&evidence.printed());
    match evidence.end {
        End::Exit(124) => format!("it did not end in time: {text}"),
        End::Exit(code) => format!("exit code {code}: {text}"),
        End::Setup => format!("the stack could not be set up: {text}"),
    }
}

/// The end of a text, on one line.
fn tail(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let skipped = line.chars().count().saturating_sub(SHOWN);
    let shown: String = line.chars().skip(skipped).collect();
    if skipped > 0 { format!("…{shown}") } else { shown }
}

fn by_bpf(run: &Run) -> Vec<Fault> {
    let matching = &run.provenance.matching;
    let fault =
        || Fault::new("captured by BPF, matched by identity", format!("matched {matching}"));
    (matching != "by identity").then(fault).into_iter().collect()
}

/// Requests that began before the load's last one ended, and have no end. What somebody else asked
/// for later, as udev does of a device that was written, may be on its way when the capture ends.
fn unanswered(run: &Run) -> u64 {
    let of_load = run.requests.iter().filter(|(_, command)| command == LOAD);
    let Some(end_ns) = of_load.filter_map(|(row, _)| row.completed_ns).max() else {
        return run.provenance.counts.unanswered;
    };
    let began = |row: &Request| row.arrival_ns().is_none_or(|ns| ns <= end_ns);
    let is_open = |row: &Request| row.completed_ns.is_none() && began(row);
    run.requests.iter().filter(|(row, _)| is_open(row)).count() as u64
}

fn once(run: &Run) -> Vec<Fault> {
    let counts = &run.provenance.counts;
    // What a driver is asked past the block layer was never queued; and what was on its way when
    // the capture began, whose time is 0, was queued before.
    let is_unqueued = |row: &Request| {
        let is_of_capture = row.started_ns.or(row.issued_ns).is_none_or(|ns| ns >= 0);
        row.queued_ns.is_none() && is_of_capture && row.parent_id.is_none() && row.op != Op::Other
    };
    let unqueued = run.requests.iter().filter(|(row, _)| is_unqueued(row)).count();
    let amiss = [
        ("lost", counts.lost),
        ("orphaned", counts.orphaned),
        ("unanswered, of the load's time", unanswered(run)),
        ("reused", counts.reused),
        ("ambiguous", counts.ambiguous),
        ("requests without a time of queueing", unqueued as u64),
    ];
    let mut faults: Vec<_> = amiss
        .into_iter()
        .filter(|(_, count)| *count > 0)
        .map(|(what, count)| Fault::new(format!("{what}: 0"), count.to_string()))
        .collect();
    let mut seen = BTreeSet::new();
    let twice = run.requests.iter().filter(|(row, _)| {
        let times = (row.queued_ns, row.started_ns, row.issued_ns, row.completed_ns);
        let what = (row.device, row.op.name(), row.offset_bytes, row.parent_id);
        !seen.insert((what, times))
    });
    let twice = twice.count();
    if twice > 0 {
        faults.push(Fault::new("each request once", format!("{twice} are there again")));
    }
    faults
}

/// Doubts of how fast something was, or how long: in an emulator they are right.
const OF_SPEED: [Code; 10] = [
    Code::WideInterval,
    Code::IntervalExceedsValue,
    Code::FewTicks,
    Code::StolenTime,
    Code::OtherPrograms,
    Code::HarnessShare,
    Code::TotalBelowOwn,
    Code::TaskClocksExceedBusy,
    Code::DepthNotReached,
    Code::RateNotReached,
];

fn trusted(run: &Run) -> Vec<Fault> {
    let is_of_speed = |finding: &Finding| {
        let codes = finding.doubts.iter().map(|doubt| doubt.code);
        !finding.doubts.is_empty() && codes.into_iter().all(|code| OF_SPEED.contains(&code))
    };
    let suspect = run.findings.iter().filter(|finding| finding.verdict == Verdict::Suspect);
    // One doubt stands at many figures.
    let said: BTreeSet<String> = suspect.filter(|one| !is_of_speed(one)).map(said).collect();
    said.into_iter().map(|said| Fault::new("nothing suspect", said)).collect()
}

fn said(finding: &Finding) -> String {
    let sentence = report::doubt::sentences(&finding.doubts);
    if sentence.is_empty() { finding.quantity.clone() } else { sentence }
}

/// The median of reads that lbolt publishes against the device's delay. A busy emulator is late, by
/// fio's own clock too: its median, where that is longer, is the upper end.
fn delay(run: &Run, wanted_ms: f64, fio_ms: f64) -> Vec<Fault> {
    const P50: &str = "response_p50_ns";
    let is_read = |finding: &&Finding| {
        let subject = serde_json::to_value(&finding.subject).unwrap_or_default();
        subject["op"] == Op::Read.name() && subject.get("device").is_some()
    };
    let mut published = run.findings.iter().filter(|one| one.quantity == P50).filter(is_read);
    let range = wanted_ms * (1.0 - DELAY_SHARE)..=wanted_ms.max(fio_ms) * (1.0 + DELAY_SHARE);
    let wanted = format!("p50 of reads {:.1} to {:.1} ms", range.start(), range.end());
    let Some(ms) = published.next().and_then(|one| one.value).map(|ns| ns / 1e6) else {
        return vec![Fault::new(wanted, "none published")];
    };
    let fault = || Fault::new(wanted, format!("{ms:.2} ms"));
    (!range.contains(&ms)).then(fault).into_iter().collect()
}
