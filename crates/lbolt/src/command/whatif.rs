//! `lbolt whatif`: a trace on a model before and after a change.

use super::report::kept;
use super::simulate::{arrivals_of, arrive, output_parent, progress, provenance_of, tell, word};
use super::{note, print};
use crate::resolve::change::Change;
use crate::resolve::modelled;
use crate::run::directory::RunPlace;
use crate::run::requests::RequestsRun;
use crate::run::session::{control, run_info};
use crate::run::simulate::whatif::{Compared, compare};
use crate::run::simulate::{Simulated, SimulationRequest, Variant};
use analysis::response::analyse_run;
use analysis::trace::TraceFile;
use capture::gate::Gate;
use cli::{Format, WhatifOptions};
use messages::fault::{Fault, failure, of_records};
use messages::output::terminal_width;
use model::run::{RunDirectory, RunInfo};
use report::visible_findings;
use report::whatif::Shown;
use sim::profile::{Calibrated, Profile};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// The profile of a run's own disk.
const PROFILE: &str = "model.toml";

/// Runs the command.
/// Errors: an unknown change or model, a profile at fault, a trace that cannot be read, a
/// simulation at fault.
pub(super) fn run(options: &WhatifOptions) -> anyhow::Result<()> {
    // What is wrong with a change is told before anything is read.
    if let Some(model) = &options.model {
        variants(model, &options.change)?;
    }
    let control = control()?;
    let place = RunPlace::of(&options.output, "whatif");
    let held_in = (output_parent(&place), "--output");
    let trace = TraceFile::open(&options.trace, held_in, &control)?;
    let model = model(options, &trace)?;
    let variants = variants(&model, &options.change)?;
    let completed = Arc::new(AtomicU64::new(0));
    let requested = SimulationRequest {
        trace: &trace,
        model: &model,
        variants: &variants,
        arrivals: options.replay.arrivals.unwrap_or_else(|| arrivals_of(&trace.provenance())),
        seed: options.replay.seed,
        draws: options.replay.draws,
        compares: true,
        control: control.clone(),
        completed: completed.clone(),
    };
    let mut info = run_info("whatif", place.as_ref(), 0)?;
    info.plan = plan(options, &requested);
    let directory = place.create(&mut info)?;
    let gate = Gate::new(&control);
    let ticker = progress(completed);
    let made = compared(&requested, &directory, &info, &gate);
    drop(ticker);
    let compared = made.inspect_err(|_| {
        // What of it is not ours keeps the directory, and is not ours to complain of.
        let _ = directory.remove();
    })?;
    "finished".clone_into(&mut info.state);
    directory.write_findings(&compared.findings, &info).map_err(of_records)?;
    directory.write_info(&info).map_err(of_records)?;
    let mut text = rendered(&info, &requested, &compared, options)?;
    if options.all && options.output.format == Format::Table {
        text += &responses(directory.path(), &variants, &gate)?;
    }
    let printed = print(&text);
    tell(&compared.sides);
    let paged = kept(directory.path(), &options.output);
    printed.and(paged)
}

/// The model without any change, and with each.
fn variants(model: &str, changes: &[String]) -> anyhow::Result<Vec<Variant>> {
    let profile = modelled::load(model, &[])?;
    modelled::check(&profile)?;
    let mut all = vec![Variant::default()];
    for text in changes {
        let change = Change::parse(text, &profile)?;
        let mut changed = profile.clone();
        change.apply(&mut changed, 0)?;
        modelled::check(&changed)?;
        all.push(Variant::changed(change));
    }
    Ok(all)
}

/// The model that was requested, else that beside the run, else that of the trace itself.
fn model(options: &WhatifOptions, trace: &TraceFile) -> anyhow::Result<String> {
    if let Some(model) = &options.model {
        return Ok(model.clone());
    }
    let beside = options.trace.traces.first().map(|path| match path.is_dir() {
        true => path.join(PROFILE),
        false => path.with_file_name(PROFILE),
    });
    let beside = beside.filter(|path| path.is_file()).map(|path| path.display().to_string());
    let known = beside.or_else(|| trace.provenance().notes.get("model").cloned());
    let model = known.ok_or_else(|| {
        let why = "the model of the trace's device is unknown";
        let remedy = "give --model M; lbolt simulate --list-models lists the models";
        failure(Fault::Usage, format!("{why}: {remedy}"))
    })?;
    note(&format!("the model is {model}; --model selects another"));
    Ok(model)
}

/// Whether a model is one of `lbolt calibrate`.
fn is_calibrated(profile: &Profile) -> anyhow::Result<bool> {
    let range = Calibrated::read(profile).map_err(modelled::refused)?;
    Ok(range.is_some_and(|range| range.by.starts_with("lbolt calibrate")))
}

fn plan(options: &WhatifOptions, requested: &SimulationRequest<'_>) -> serde_json::Value {
    serde_json::json!({
        "trace": options.trace.traces,
        "model": requested.model,
        "change": options.change,
        "arrivals": word(requested.arrivals),
        "draws": requested.draws,
        "seed": requested.seed,
    })
}

/// What the runs of the variants are called.
fn part(index: usize, variants: usize) -> String {
    match (index, variants) {
        (0, _) => "before".to_owned(),
        (_, 2) => "after".to_owned(),
        (index, _) => format!("after-{index}"),
    }
}

/// Replays all variants, each into a run of its own within the directory.
fn compared(
    requested: &SimulationRequest<'_>,
    directory: &RunDirectory,
    info: &RunInfo,
    gate: &Gate,
) -> anyhow::Result<Compared> {
    let count = requested.variants.len();
    let begun = (0..count).map(|index| {
        let path = directory.path().join(part(index, count));
        let plan = info.plan.clone();
        RequestsRun::begin("whatif", RunPlace::from(path.as_path()), plan, gate.clone())
    });
    let mut runs = begun.collect::<anyhow::Result<Vec<_>>>()?;
    let compared = compare(requested, &mut runs)?;
    for ((run, side), variant) in runs.into_iter().zip(&compared.sides).zip(requested.variants) {
        keep(run, requested, side, variant)?;
    }
    Ok(compared)
}

/// Ends the records of one variant.
fn keep(
    run: RequestsRun,
    requested: &SimulationRequest<'_>,
    side: &Simulated,
    variant: &Variant,
) -> anyhow::Result<()> {
    let mut provenance = provenance_of(requested, side);
    if !variant.change.name.is_empty() {
        provenance.notes.insert("change".into(), variant.change.name.clone());
    }
    for (device, name) in &side.devices {
        provenance.notes.insert(format!("device.{device}"), name.clone());
    }
    let name = |device: u32| {
        let named = side.devices.iter().find(|(number, _)| *number == device);
        named.map_or_else(|| requested.trace.device_name(device), |(_, name)| name.clone())
    };
    let findings = side.findings.clone();
    run.finish("finished", &provenance, &side.commands, name, findings).map(|_| ())
}

fn rendered(
    info: &RunInfo,
    requested: &SimulationRequest<'_>,
    compared: &Compared,
    options: &WhatifOptions,
) -> anyhow::Result<String> {
    let findings = &compared.findings;
    let visible = visible_findings(findings);
    let profile = modelled::load(requested.model, &[])?;
    let before = compared.sides.first().map_or(&[][..], |side| &side.findings);
    let change = |Variant { change, .. }: &Variant| report::whatif::Change {
        name: change.name.clone(),
        notes: change.notes.clone(),
        advice: change.advice.clone(),
        why_idle: change.why_idle(&profile, before),
    };
    let shown = Shown {
        findings: &visible,
        changes: requested.variants.iter().skip(1).map(change).collect(),
        arrivals: arrive(requested.arrivals),
        is_calibrated: is_calibrated(&profile)?,
    };
    Ok(match options.output.format {
        Format::Json => {
            let answer = report::whatif::answer(&shown);
            report::json(&serde_json::to_value(info)?, &answer, findings)?
        }
        Format::Csv => report::csv(findings),
        Format::Markdown => report::whatif::sheet(&shown).markdown(),
        Format::Table if !options.all => report::whatif::screen(&shown, terminal_width()),
        Format::Table => report::whatif::sheet(&shown).text(terminal_width()),
    })
}

/// The tables of `lbolt response` of each variant.
fn responses(path: &Path, variants: &[Variant], gate: &Gate) -> anyhow::Result<String> {
    let mut text = String::new();
    for (index, variant) in variants.iter().enumerate() {
        let run: PathBuf = path.join(part(index, variants.len()));
        let found = visible_findings(&analyse_run(&run, gate)?.findings());
        let head = match index {
            0 => "Before".to_owned(),
            _ => format!("With {}", variant.change.name),
        };
        text += &format!("\n{head}\n\n{}", report::response::table(&found, terminal_width()));
    }
    Ok(text)
}
