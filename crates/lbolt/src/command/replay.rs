//! `lbolt replay`: the requests of a trace made again, on a device or a file.

use super::report::kept;
use super::{note, print};
use crate::resolve::replay::{ReplayTarget, resolve};
use crate::run::directory::RunPlace;
use crate::run::replay::{Made, Plan, PlanRequest, make, of_plan, plan};
use crate::run::requests::RequestsRun;
use crate::run::session::control;
use analysis::trace::TraceFile;
use analyze::replay::Bounds;
use capture::gate::Gate;
use capture::outcome::outcome;
use cli::{Format, ReplayOptions};
use host::clock::HostClock;
use host::drive::Control;
use messages::fault::{Fault, failure};
use messages::output::terminal_width;
use messages::ticker::Ticker;
use model::record::requests::Provenance;
use model::record::{Commands, Finding};
use model::run::parent_of;
use model::units::{counted, show_size};
use report::replayed;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Runs the command.
/// Errors: a target that cannot be replayed on; a trace that cannot be read; an unfaithful replay.
pub(super) fn run(options: &ReplayOptions) -> anyhow::Result<()> {
    // What is wrong with the target is told before anything is read.
    let target = resolve(&options.target, options.destroy.as_deref())?;
    let control = control()?;
    let place = RunPlace::of(&options.output, "replay");
    let beside = parent_of(place.as_ref());
    let beside = if beside.is_dir() { beside } else { Path::new(".") };
    let trace = TraceFile::open(&options.trace, (beside, "--output"), &control)?;
    let planned = plan(&PlanRequest {
        trace: &trace,
        target: &target,
        device: options.device.as_deref(),
        arrivals: options.arrivals,
        scale: options.scale,
        runtime_ns: options.runtime.map(ns),
        depth: options.iodepth,
        wraps: options.wrap,
        control: &control,
    })?;
    announce(&planned, &target);
    let mut run = RequestsRun::begin("replay", &place, record(options), Gate::new(&control))?;
    let path = run.path().to_owned();
    let mut provenance = provenance(&planned, &target, &trace);
    let changed = of_plan(&planned);
    let made = match made(planned, &target, &control, &mut provenance) {
        Ok(made) => made,
        Err(error) => {
            run.discard();
            return Err(error);
        }
    };
    let (state, ended) = outcome(made.write(&mut run.rows()).err());
    provenance.counts.requests = run.written();
    let (p50_ns, p99_ns) = (ns(options.lateness_p50), ns(options.lateness_p99));
    let mut findings = made.findings(&target.name, Bounds { p50_ns, p99_ns });
    findings.extend(changed);
    let name = |_: u32| target.name.clone();
    let taken = run.finish(state, &provenance, &Commands::default(), name, findings.clone())?;
    let info = serde_json::to_value(taken.info)?;
    let printed = print(&rendered(&info, &findings, options)?);
    let paged = kept(&path, &options.output);
    ended.and(printed).and(paged).and(judged(&findings))
}

fn ns(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// What run.json says of the options.
fn record(options: &ReplayOptions) -> serde_json::Value {
    serde_json::json!({
        "trace": options.trace.traces,
        "target": options.target,
        "arrivals": super::simulate::word(options.arrivals),
        "scale": options.scale,
        "runtime_ns": options.runtime.map(ns),
        "iodepth": options.iodepth,
        "device": options.device,
        "wrap": options.wrap,
        "writes": options.destroy.is_some(),
        "lateness_p50_ns": ns(options.lateness_p50),
        "lateness_p99_ns": ns(options.lateness_p99),
    })
}

/// What is about to be done.
fn announce(plan: &Plan, target: &ReplayTarget) {
    let requests = plan.requests.len();
    let (device, name) = (&plan.device, &target.name);
    let of = match plan.devices {
        0 | 1 => String::new(),
        several => format!(" of device {device}, one of {several}"),
    };
    note(&format!(
        "{requests} requests{of} on {name} ({}), at most {} outstanding",
        show_size(target.size_bytes),
        plan.depth
    ));
    if plan.hole_reads > 0 {
        note(&format!(
            "{} of {name} were never written: {} of the reads reach no device; fill the file first",
            counted(target.holes.bytes(), "byte{s}"),
            plan.hole_reads
        ));
    }
    if plan.fua > 0 {
        note(&format!("{} FUA writes of the trace are replayed as ordinary writes", plan.fua));
    }
}

fn provenance(plan: &Plan, target: &ReplayTarget, trace: &TraceFile) -> Provenance {
    let mut provenance = Provenance {
        origin: "replay".into(),
        matching: "by identity".into(),
        ..Provenance::default()
    };
    let mut notes = |key: &str, value: &str| provenance.notes.insert(key.into(), value.to_owned());
    notes("device.0", &target.name);
    notes("trace", trace.provenance().origin_name());
    notes("replayed_device", &plan.device);
    notes("times", "queued_ns: due; issued_ns: handed over; completed_ns: found complete");
    provenance
}

/// The requests, made.
fn made(
    plan: Plan,
    target: &ReplayTarget,
    control: &Arc<Control>,
    provenance: &mut Provenance,
) -> anyhow::Result<Made> {
    let clock = HostClock::new();
    clock.name().clone_into(&mut provenance.clock);
    let now_ns = jiff::Timestamp::now().as_nanosecond();
    provenance.started_unix_ns = i64::try_from(now_ns).ok();
    let (began, shown) = (std::time::Instant::now(), control.clone());
    let _ticker = Ticker::new(move || {
        let mib = shown.bytes.load(Ordering::Relaxed) >> 20;
        format!("{mib} MiB in {:.0} s", began.elapsed().as_secs_f64())
    });
    make(plan, target, &clock, control)
}

fn rendered(
    info: &serde_json::Value,
    findings: &[Finding],
    options: &ReplayOptions,
) -> anyhow::Result<String> {
    let shown = report::visible_findings(findings);
    Ok(match options.output.format {
        Format::Json => report::json(info, &replayed::answer(findings), findings)?,
        Format::Csv => report::csv(findings),
        Format::Markdown => replayed::markdown(&shown),
        Format::Table => replayed::screen(&shown, options.all, terminal_width()),
    })
}

/// An unfaithful replay is no result, and neither is one in which requests failed.
fn judged(findings: &[Finding]) -> anyhow::Result<()> {
    if let Some(why) = replayed::unfaithful(findings) {
        return Err(failure(Fault::NotSteady, format!("the replay was unfaithful: {why}")));
    }
    let failed = findings.iter().find(|finding| finding.quantity == "replay_failed_count");
    match failed.and_then(|finding| finding.value) {
        Some(failed) if failed > 0.0 => Err(failure(
            Fault::Io,
            format!(
                "{failed:.0} requests failed on the target; see the \
                                            kernel log (dmesg)"
            ),
        )),
        _ => Ok(()),
    }
}
