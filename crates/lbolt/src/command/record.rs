//! `lbolt record`: captures requests while a command runs, for a time, or until ^C; or keeps the
//! last of them in memory until something happens.

use super::render::render;
use super::{note as say, print, print_json, throughput};
use crate::cli::RecordOptions;
use crate::exit::{Fault, failure};
use crate::room::record::{
    Captured, Completions, Devices, End, Flight, Live, Load, Plan, Trigger, areas, capture,
    measure_slowdown, resolve,
};
use crate::room::requests::{RequestsRun, Taken, refusal};
use crate::run_place::RunPlace;
use crate::session::control;
use crate::ticker::Ticker;
use clap::ValueEnum;
use host::device::Tree;
use host::drive::Control;
use model::record::Finding;
use model::record::requests::Provenance;
use serde_json::{Value, json};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;
use trace::capture::{CaptureOptions, default_ring_bytes};
use trace::intake::{Intake, Rows};

/// Runs the command.
///
/// # Errors
/// What could not be done, with its exit code.
pub fn run(options: &RecordOptions) -> anyhow::Result<()> {
    let devices = resolve(&options.devices)?;
    let plan = Plan {
        capture: CaptureOptions {
            devices: devices.numbers.clone(),
            ring_bytes: options.ring_size.unwrap_or_else(default_ring_bytes),
        },
        method: options.method.into(),
        duration: options.duration,
    };
    let place = throughput::run_path(&options.output, "record");
    if options.dry_run {
        return print_json(&describe(options, &devices));
    }
    warn_of_contamination(&devices, &std::path::absolute(&place)?);
    let control = control()?;
    let mut load = Load::new(&options.command);
    let slowdown = match options.measure_overhead {
        true => Some(measure_slowdown(&plan, &devices, &mut load, &control)?),
        false => None,
    };
    match options.keep {
        Some(_) => fly(options, &plan, &devices, &place, &control, &mut load),
        None => write(options, &plan, &devices, &place, &control, &mut load, slowdown),
    }
}

/// Every request goes to the disk as it comes.
fn write(
    options: &RecordOptions,
    plan: &Plan,
    devices: &Devices,
    place: &RunPlace,
    control: &Arc<Control>,
    load: &mut Load,
    slowdown: Option<Finding>,
) -> anyhow::Result<()> {
    let mut run = RequestsRun::begin("record", place, describe(options, devices), None)?;
    let path = std::path::absolute(run.path())?;
    let mut known = Provenance::default();
    note_trace(&mut known, devices, &BTreeSet::new(), &[]);
    run.survive(&known)?;
    let live = Arc::new(Live::default());
    run.completions = Some(Completions::new(live.readings.clone()));
    let ticker = progress(&live);
    let mut intake = Intake::new(&mut run, "capture");
    intake.keep_done();
    let captured = capture(plan, devices, &mut intake, load, control, &live, || None);
    drop(ticker);
    let Captured { end, mut cost, witness, refused } = match captured {
        Ok(captured) => captured,
        Err(error) => {
            drop(intake);
            run.discard();
            return Err(error);
        }
    };
    let (mut provenance, commands, refused) = intake.end(refused);
    cost.written();
    let mut more: Vec<Finding> =
        cost.findings(&provenance.counts).into_iter().chain(slowdown).collect();
    note_trace(&mut provenance, devices, run.cgroups(), &more);
    let completions = run.completions.take().unwrap_or_default();
    more.extend(witness.findings(devices, |device| completions.of(device)));
    let (state, ended) = refused.map_or(("finished", Ok(())), |error| {
        let (state, error) = refusal(error);
        (state, Err(error))
    });
    let taken = run.finish(state, &provenance, &commands, |d| devices.name(d), more)?;
    // The records are whole now, however long the command still takes.
    load.end(&end);
    let printed = conclude(options, &taken, &provenance, &path);
    ended?;
    load.complaint(&end).map_or(printed, |sentence| Err(failure(Fault::Io, sentence)))
}

/// The last requests are kept in memory, and written when what is waited for happens.
fn fly(
    options: &RecordOptions,
    plan: &Plan,
    devices: &Devices,
    place: &RunPlace,
    control: &Arc<Control>,
    load: &mut Load,
) -> anyhow::Result<()> {
    let keep = options.keep.unwrap_or_default();
    // Now, and not when it matters: an output that cannot be written is to be known before.
    let mut run = RequestsRun::begin("record", place, describe(options, devices), None)?;
    let path = std::path::absolute(run.path())?;
    let mut flight = Flight::new(keep, options.keep_size);
    let live = Arc::new(Live::default());
    let ticker = progress(&live);
    let signalled = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(signal_hook::consts::SIGUSR1, signalled.clone())?;
    let happened: RefCell<Option<String>> = RefCell::new(None);
    let mut trigger = options.when.clone().map(Trigger::new);
    let mut intake = Intake::new(&mut flight, "capture");
    intake.watch(|row| {
        if let Some(found) = trigger.as_mut().and_then(|trigger| trigger.see(row)) {
            happened.borrow_mut().get_or_insert(found);
        }
    });
    let is_triggered = || {
        let signal = || signalled.load(Ordering::Relaxed).then(|| "SIGUSR1".to_owned());
        happened.borrow().clone().or_else(signal)
    };
    let captured = capture(plan, devices, &mut intake, load, control, &live, is_triggered);
    drop(ticker);
    let Captured { end, mut cost, refused, .. } = match captured {
        Ok(captured) => captured,
        Err(error) => {
            drop(intake);
            run.discard();
            return Err(error);
        }
    };
    let (mut provenance, commands, _) = intake.end(refused);
    cost.written();
    let End::Trigger(why) = &end else {
        run.discard();
        load.end(&end);
        return Err(nothing_happened(&end));
    };
    if flight.crowded_out() > 0 {
        say(&format!(
            "{} requests of the last {keep:?} did not fit into --keep-size: the records begin \
             later",
            flight.crowded_out()
        ));
    }
    provenance.notes.insert("trigger".to_owned(), why.clone());
    provenance
        .notes
        .insert("counts".to_owned(), "of the whole flight, but for the rows".to_owned());
    let costs = cost.findings(&provenance.counts);
    let kept = flight.rows();
    let refused = flight.into_rows().try_for_each(|row| run.push(&row, &commands)).err();
    note_trace(&mut provenance, devices, run.cgroups(), &costs);
    let counts = &mut provenance.counts;
    counts.requests = run.rows.load(Ordering::Relaxed);
    counts.unwritten = kept - counts.requests;
    let (state, ended) = refused.map_or(("finished", Ok(())), |error| {
        let (state, error) = refusal(error);
        (state, Err(error))
    });
    let taken = run.finish(state, &provenance, &commands, |d| devices.name(d), costs)?;
    say(&format!("written because {why}"));
    let printed = conclude(options, &taken, &provenance, &path);
    load.end(&end);
    ended.and(printed)
}

/// What the user is told at the end.
fn conclude(
    options: &RecordOptions,
    taken: &Taken,
    provenance: &Provenance,
    path: &Path,
) -> anyhow::Result<()> {
    let printed = print(&render(&taken.info, &taken.findings, options.output.format)?);
    if provenance.counts.lost > 0 {
        say(&format!(
            "{} events were lost: {}",
            provenance.counts.lost,
            match provenance.notes.contains_key("lost.runs") {
                true =>
                    "the kernel left runs of the tracer out (note lost.runs), or its buffer was \
                     full (--ring-size)",
                false => "the kernel's buffer was full. A larger one: --ring-size",
            }
        ));
    }
    say(&format!("records: {}", path.display()));
    printed
}

/// A flight recorder that was ended before anything happened leaves no records.
fn nothing_happened(end: &End) -> anyhow::Error {
    let (fault, why) = match end {
        End::Signal => (Fault::Interrupted, "interrupted"),
        End::Command => (Fault::Io, "the command ended"),
        End::Time | End::Trigger(_) => (Fault::Io, "the time was over"),
    };
    failure(
        fault,
        format!("{why} before anything happened that was waited for; nothing was written"),
    )
}

/// The costs, and the names of the devices and of the cgroups that asked, stand with the trace,
/// too.
pub(crate) fn note_trace(
    provenance: &mut Provenance,
    devices: &Devices,
    cgroups: &BTreeSet<u64>,
    costs: &[Finding],
) {
    if !cgroups.is_empty() {
        let paths = host::cgroup::paths(&Tree::system());
        for (number, path) in paths.into_iter().filter(|(number, _)| cgroups.contains(number)) {
            provenance.notes.insert(format!("cgroup.{number}"), path);
        }
    }
    for (number, name) in devices.names() {
        provenance.notes.insert(format!("device.{number}"), name.to_owned());
    }
    areas::note(provenance, devices);
    for cost in costs {
        if let Some(value) = cost.value {
            provenance.notes.insert(format!("cost.{}", cost.quantity), value.to_string());
        }
    }
}

/// What run.json says was planned.
fn describe(options: &RecordOptions, devices: &Devices) -> Value {
    json!({
        "devices": devices.describe(),
        "command": options.command,
        "duration_ns": options.duration.map(|d| d.as_nanos() as u64),
        "method": options.method.to_possible_value().map(|method| method.get_name().to_owned()),
        "ring_bytes": options.ring_size.unwrap_or_else(default_ring_bytes),
        "keep_ns": options.keep.map(|d| d.as_nanos() as u64),
    })
}

/// The records' own writes, where they go to what is captured.
pub(crate) fn warn_of_contamination(devices: &Devices, path: &Path) {
    let directory = path.ancestors().find(|p| p.is_dir()).unwrap_or(Path::new("/"));
    if let Some(name) = devices.beneath(directory) {
        say(&format!(
            "the records go to {}, on {name}, which is captured: lbolt's own writes are flagged \
             and left out of \
             the figures, but they compete with what is traced; another --output avoids that",
            directory.display()
        ));
    }
}

/// Requests so far, their rate, what was lost, and the time.
fn progress(live: &Arc<Live>) -> Ticker {
    let live = live.clone();
    let began = Instant::now();
    let (mut last, mut last_requests) = (began, 0);
    Ticker::new(move || {
        let requests = live.requests.load(Ordering::Relaxed);
        let rate = (requests - last_requests) as f64 / last.elapsed().as_secs_f64().max(1e-3);
        (last, last_requests) = (Instant::now(), requests);
        let lost = live.lost.load(Ordering::Relaxed);
        let seconds = began.elapsed().as_secs();
        format!("{seconds} s: {requests} requests, {rate:.0} a second, {lost} events lost")
    })
}
