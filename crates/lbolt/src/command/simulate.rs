//! `lbolt simulate`: what the requests of a trace would have gone through on a modelled disk
//! subsystem.

use super::report::kept;
use super::{note, print};
use crate::resolve::modelled;
use crate::run::directory::RunPlace;
use crate::run::requests::RequestsRun;
use crate::run::session::control;
use crate::run::simulate::{Simulated, SimulationRequest, simulate, variants};
use analysis::trace::TraceFile;
use capture::gate::Gate;
use cli::{Arrivals, Format, SimulateOptions};
use messages::fault::{Fault, failure};
use messages::output::terminal_width;
use messages::ticker::Ticker;
use model::record::Finding;
use model::record::requests::Provenance;
use model::run::parent_of;
use papers::CATALOG;
use report::listing::Listing;
use report::visible_findings;
use sim::profile::{Leaf, Profile, plain};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Runs the command.
/// Errors: an unknown model, a profile at fault, a trace that cannot be read, a simulation at
/// fault.
pub(super) fn run(options: &SimulateOptions) -> anyhow::Result<()> {
    if options.list_models {
        return print(&listed()?);
    }
    let model = options.model.as_deref().unwrap_or_default();
    let variants = variants(&options.set)?;
    // What is wrong with a variant is told before anything is read.
    let profiles = variants.iter().map(|variant| modelled::load(model, &variant.set));
    let profiles: Vec<Profile> = profiles.collect::<Result<_, _>>()?;
    if let (true, Some(profile)) = (options.show_model, profiles.first()) {
        return print(&shown(profile, options.output.format));
    }
    profiles.iter().try_for_each(modelled::check)?;
    let control = control()?;
    let place = RunPlace::of(&options.output, "simulate");
    let held_in = (output_parent(&place), "--output");
    let trace = TraceFile::open(&options.trace, held_in, &control)?;
    let provenance = trace.provenance();
    if options.replay.arrivals.is_none() && provenance.origin.is_empty() {
        note(
            "the trace does not record who waited for whom, so requests arrive at their recorded \
             times; --arrivals changes this",
        );
    }
    let completed = Arc::new(AtomicU64::new(0));
    let requested = SimulationRequest {
        trace: &trace,
        model,
        variants: &variants,
        arrivals: options.replay.arrivals.unwrap_or_else(|| arrivals_of(&provenance)),
        seed: options.replay.seed,
        draws: options.replay.draws,
        compares: false,
        control: control.clone(),
        completed: completed.clone(),
    };
    let plan = serde_json::json!({
        "trace": options.trace.traces,
        "model": model,
        "set": options.set,
        "variants_count": variants.len(),
        "arrivals": word(requested.arrivals),
        "draws": options.replay.draws,
        "seed": options.replay.seed,
    });
    let mut run = RequestsRun::begin("simulate", &place, plan, Gate::new(&control))?;
    let path = run.path().to_owned();
    let ticker = progress(completed);
    let simulated = simulate(&requested, &mut run);
    drop(ticker);
    let simulated = match simulated {
        Ok(simulated) => simulated,
        Err(error) => {
            run.discard();
            return Err(error);
        }
    };
    let info = keep(run, &requested, &simulated)?;
    let printed = print(&rendered(&info, &simulated, &arrive(requested.arrivals), options)?);
    tell(&simulated);
    let paged = kept(&path, &options.output);
    printed.and(paged)
}

/// Where a foreign trace is held meanwhile.
pub(super) fn output_parent(place: &RunPlace) -> &Path {
    let parent = parent_of(place.as_ref());
    if parent.is_dir() { parent } else { Path::new(".") }
}

/// What the reader of each variant is to know besides.
pub(super) fn tell(simulated: &[Simulated]) {
    for one in simulated {
        let head = if one.label.is_empty() { String::new() } else { format!("{}: ", one.label) };
        one.said.iter().for_each(|sentence| note(&format!("{head}{sentence}")));
    }
}

/// A closed trace says so of itself; where it is told who waited for what, that is kept to.
pub(super) fn arrivals_of(provenance: &Provenance) -> Arrivals {
    let is_noted = |key: &str| provenance.notes.contains_key(key);
    match () {
        () if is_noted("closed") => Arrivals::Closed,
        () if is_noted("waits") || provenance.origin == "capture" => Arrivals::Dependent,
        () => Arrivals::Open,
    }
}

pub(super) fn word(arrivals: Arrivals) -> &'static str {
    match arrivals {
        Arrivals::Open => "open",
        Arrivals::Closed => "closed",
        Arrivals::Dependent => "dependent",
    }
}

/// When requests arrive, which decides much of what comes out.
pub(super) fn arrive(arrivals: Arrivals) -> String {
    let when = match arrivals {
        Arrivals::Open => "at its time in the trace",
        Arrivals::Closed => "its think time after the completion of the request before it",
        Arrivals::Dependent => {
            "as long after the completion that its process waited for as in the trace"
        }
    };
    format!("Arrivals are {}: each request comes {when} (--arrivals).", word(arrivals))
}

pub(super) fn progress(completed: Arc<AtomicU64>) -> Ticker {
    let began = std::time::Instant::now();
    Ticker::new(move || {
        let rows = completed.load(Ordering::Relaxed);
        format!("{rows} requests, {:.0} a second", rows as f64 / began.elapsed().as_secs_f64())
    })
}

/// What a run says of where its simulated rows come from.
pub(super) fn provenance_of(requested: &SimulationRequest<'_>, of: &Simulated) -> Provenance {
    let of_trace = requested.trace.provenance();
    let mut provenance = Provenance {
        origin: "simulate".into(),
        clock: "virtual".into(),
        matching: "simulated".into(),
        started_unix_ns: of_trace.started_unix_ns,
        ..Provenance::default()
    };
    let notes = of_trace.notes.clone().into_iter().filter(|(key, _)| key.starts_with("device."));
    provenance.notes.extend(notes);
    provenance.notes.insert("model".into(), requested.model.to_owned());
    provenance.notes.insert("trace".into(), of_trace.origin_name().to_owned());
    provenance.counts.requests = of.served();
    provenance
}

/// Ends the run's records; gives what run.json says.
fn keep(
    run: RequestsRun,
    requested: &SimulationRequest<'_>,
    simulated: &[Simulated],
) -> anyhow::Result<serde_json::Value> {
    let none = || failure(Fault::Io, "nothing was simulated");
    let (first, rest) = simulated.split_first().ok_or_else(none)?;
    let others = rest.iter().flat_map(|one| one.findings.iter().cloned());
    let findings: Vec<Finding> = first.findings.iter().cloned().chain(others).collect();
    let provenance = provenance_of(requested, first);
    let name = |device: u32| requested.trace.device_name(device);
    let taken = run.finish("finished", &provenance, &first.commands, name, findings)?;
    Ok(serde_json::to_value(taken.info)?)
}

fn rendered(
    info: &serde_json::Value,
    simulated: &[Simulated],
    arrivals: &str,
    options: &SimulateOptions,
) -> anyhow::Result<String> {
    let all: Vec<Finding> = simulated.iter().flat_map(|one| one.findings.iter().cloned()).collect();
    let shown = simulated.iter().map(|one| (one.label.as_str(), visible_findings(&one.findings)));
    let shown: Vec<(&str, Vec<Finding>)> = shown.collect();
    let named: Vec<(&str, &[Finding])> = shown.iter().map(|(l, f)| (*l, f.as_slice())).collect();
    let sheet = || report::simulated::sheet(&named).with_notes([arrivals.to_owned()]);
    Ok(match options.output.format {
        Format::Json => report::json(info, &report::simulated::answer(&named, arrivals), &all)?,
        Format::Csv => report::csv(&all),
        Format::Markdown => sheet().markdown(),
        Format::Table if !options.all => {
            report::simulated::screen(&named, arrivals, terminal_width())
        }
        Format::Table => sheet().text(terminal_width()),
    })
}

/// A name and a path a line.
/// Each model with what it stands for.
fn listed() -> anyhow::Result<String> {
    let width = CATALOG.profiles().map(|known| known.name.len()).max().unwrap_or(0);
    let line = |name: &str| {
        let profile = modelled::load(name, &[])?;
        Ok(format!("{name:width$}  {:10}  {}\n", profile.kind, profile.title))
    };
    CATALOG.profiles().map(|known| line(known.name)).collect()
}

/// Each number with its unit and its source.
fn shown(profile: &Profile, format: Format) -> String {
    let leaves: Vec<_> = profile.leaves().collect();
    let value = |(_, leaf): &(&str, &Leaf)| {
        let bounds = [&leaf.low, &leaf.high].map(|bound| bound.as_ref().map(plain));
        let interval = match bounds {
            [Some(low), Some(high)] => format!(" [{low}, {high}]"),
            _ => String::new(),
        };
        format!("{}{interval}", plain(&leaf.value))
    };
    let sheet = Listing::of(&leaves)
        .label("key", |(key, _)| (*key).to_owned())
        .figure("", "value", value)
        .remark("source", |(_, leaf)| match &leaf.source {
            Some(source) => format!("{}: {}", source.kind(), source.text()),
            None => String::new(),
        })
        .sheet(format!("{}: {}", profile.name(), profile.title));
    match format {
        Format::Markdown => sheet.markdown(),
        _ => sheet.text(None),
    }
}
