//! `lbolt profile`: what a trace's requests are in numbers, as TOML. `lbolt synthesize`: a trace
//! made of such numbers.

use super::report::kept;
use super::{note, print};
use crate::render::render;
use crate::run::directory::RunPlace;
use crate::run::profile::profile;
use crate::run::requests::RequestsRun;
use crate::run::session::control;
use crate::run::synthetic_fleet::make;
use analysis::trace::TraceFile;
use capture::gate::Gate;
use capture::outcome::outcome;
use cli::{ProfileOptions, SynthesizeOptions};
use experiment::synthesis::fleet::Load;
use experiment::synthesis::{self, Extent, Synthesis};
use host::drive::Control;
use messages::fault::{Fault, failure, of_records};
use model::history::DAY_NS;
use model::mix::Profile;
use model::quote;
use model::record::Commands;
use model::record::requests::Provenance;
use model::text::visible;
use model::whole_file::write_new;
use std::io::Read as _;
use std::path::Path;
use trace::intake::Rows as _;

/// No profile is longer, bytes.
const PROFILE_BYTES_MAX: u64 = 1 << 20;
/// No trace is made of more requests.
const REQUESTS_MAX: f64 = 1e9;

/// Runs `lbolt profile`.
/// Errors: a trace that cannot be read; a file that cannot be written, or is there already.
pub(super) fn run(options: &ProfileOptions) -> anyhow::Result<()> {
    let control = control()?;
    let beside = options.output.as_deref().and_then(Path::parent);
    let beside = beside.filter(|path| path.is_dir()).unwrap_or(Path::new("."));
    let trace = TraceFile::open(&options.trace, (beside, "--output"), &control)?;
    let text = profile(&trace, options.device.as_deref(), &control)?.text();
    let text = text.map_err(of_records)?;
    let Some(path) = &options.output else { return print(&text) };
    let refused = |e: std::io::Error| {
        let what = format!("failed to write {}: {e}", path.display());
        failure(Fault::Usage, format!("{what}; choose another --output"))
    };
    write_new(path, &text).map_err(refused)?;
    note(&format!("profile: {}", visible(&path.display().to_string())));
    Ok(())
}

/// Reads a profile.
/// Errors: a file that cannot be read, or is none.
fn read(path: &Path) -> anyhow::Result<Profile> {
    let usage = |e: &dyn std::fmt::Display| {
        failure(Fault::Usage, format!("failed to read {}: {e}", path.display()))
    };
    let mut text = String::new();
    let file = std::fs::File::open(path).map_err(|e| usage(&e))?;
    file.take(PROFILE_BYTES_MAX + 1).read_to_string(&mut text).map_err(|e| usage(&e))?;
    if text.len() as u64 > PROFILE_BYTES_MAX {
        return Err(usage(&"it is not a profile: it is larger than 1 MiB"));
    }
    Profile::parse(&text)
        .map_err(|e| failure(Fault::Usage, format!("{}: failed to {e}", path.display())))
}

/// Makes a simulated fleet.
/// Errors: a profile at fault; too few hosts; what the file system refuses; interruption.
fn fleet(options: &SynthesizeOptions, hosts: u32, control: &Control) -> anyhow::Result<()> {
    let profile = options.profile.as_deref().map(read).transpose()?;
    let load = profile.map_or_else(Load::default, |profile| Load::of(&profile));
    let days = i64::from(options.days);
    let today = jiff::Timestamp::now().as_second().div_euclid(86_400);
    let extent = synthesis::fleet::Extent {
        hosts: usize::try_from(hosts)?,
        days,
        from_unix_ns: (today - days) * DAY_NS,
        seed: options.seed,
        is_calm: options.calm,
    };
    let place = RunPlace::of(&options.output, "synthesize");
    let made = make(&place, load, extent, control)?;
    let path = made.path.display().to_string();
    let path = visible(&path);
    let planted = match made.planted.len() {
        0 => "nothing is planted".to_owned(),
        _ => {
            let keys = made.planted.iter().map(|of| format!("{} {}", of.common, of.key));
            format!("planted: {}", keys.collect::<Vec<_>>().join(", "))
        }
    };
    print(&format!(
        "{path}: a simulated fleet of {hosts} hosts, {days} days by hours. Nobody watched these \
         hosts.\n{planted} ({path}/planted.json).\nNext: lbolt fleet {}\n",
        quote::path(&made.path)
    ))
}

/// Runs `lbolt synthesize`.
/// Errors: a profile at fault; records that cannot be written; interruption.
pub(super) fn synthesize(options: &SynthesizeOptions) -> anyhow::Result<()> {
    let control = control()?;
    if let Some(hosts) = options.hosts {
        return fleet(options, hosts, &control);
    }
    let path = options.profile.as_deref().unwrap_or(Path::new(""));
    let profile = read(path)?;
    let lengths = match (options.runtime, options.number_ios) {
        (Some(runtime), _) => runtime.as_secs_f64() / profile.length_s,
        (_, Some(requests)) => requests as f64 / profile.requests as f64,
        _ => 1.0,
    };
    if lengths * profile.requests as f64 > REQUESTS_MAX {
        let sentence = "the profile's rate gives more than 1,000,000,000 requests; give a shorter \
                        --runtime";
        return Err(failure(Fault::Usage, sentence));
    }
    let place = RunPlace::of(&options.output, "synthesize");
    let plan = serde_json::json!({
        "profile": options.profile,
        "lengths": lengths,
        "seed": options.seed,
    });
    let mut run = RequestsRun::begin("synthesize", &place, plan, Gate::new(&control))?;
    let path = run.path().to_owned();
    let commands = Commands::default();
    let mut made = Synthesis::new(&profile, Extent { lengths, seed: options.seed });
    let mut rows = run.rows();
    let refusal = made.try_for_each(|row| rows.push(&row, &commands)).err();
    drop(rows);
    let (state, ended) = outcome(refusal);
    let mut provenance = Provenance {
        origin: "synthesize".into(),
        clock: "virtual".into(),
        matching: "in one record".into(),
        ..Provenance::default()
    };
    provenance.counts.requests = run.written();
    let mut notes = |key: &str, value: &str| provenance.notes.insert(key.into(), value.to_owned());
    notes("device.0", &profile.device);
    notes("trace", &profile.source);
    notes("times", "completions are drawn from the profile: nothing was measured");
    let name = |_: u32| profile.device.clone();
    let taken = run.finish(state, &provenance, &commands, name, vec![])?;
    let printed = print(&render(&taken.info, (&taken.findings, &[]), options.output.format)?);
    note("completions are drawn from the profile's response times: nothing was measured");
    let paged = kept(&path, &options.output);
    ended.and(printed).and(paged)
}
