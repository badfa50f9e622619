//! `lbolt calibrate`: from a device to its profile.

use super::measure::Extent;
use super::report::say_where;
use super::simulate::{arrivals_of, word};
use super::{note, print, print_json};
use crate::resolve::calibrate::{Device, ResolvedCalibration, check_trace, is_trace, resolve};
use crate::run::calibrate::trace::{TraceRequest, run as calibrate_trace};
use crate::run::calibrate::{Calibration, run as calibrate};
use crate::run::directory::RunPlace;
use crate::run::session::{control, run_info};
use analysis::trace::TraceFile;
use analyze::calibrate::{Direction, Judged};
use cli::{CalibrateOptions, Format, TraceOptions};
use messages::fault::{Fault, failure, of_records, unable};
use messages::output::terminal_width;
use model::run::{RunInfo, parent_of};
use model::units::{show_size, show_time_ns};
use model::whole_file::write_new;
use report::calibrated::{Calibrated, Like, Most, Row};
use std::path::Path;

/// Runs the command.
/// Errors: what could not be done, with its exit code.
pub(super) fn run(options: &CalibrateOptions) -> anyhow::Result<()> {
    if is_trace(&options.targets) {
        check_trace(options)?;
        return kept(options, serde_json::Value::Null, || of_trace(options));
    }
    let resolved = resolve(options)?;
    let plan = serde_json::to_value(&resolved.plan).map_err(unable("write the plan"))?;
    if options.measure.dry_run {
        return print_json(&plan);
    }
    note(&announcement(&resolved));
    kept(options, plan, || calibrate(&resolved, &options.limit))
}

/// Calibrates, writes the profile, and keeps all of it as a run; what cannot be done leaves none.
fn kept(
    options: &CalibrateOptions,
    plan: serde_json::Value,
    calibrate: impl FnOnce() -> anyhow::Result<Calibration>,
) -> anyhow::Result<()> {
    let place = RunPlace::at_now(&options.runs_dir, "calibrate");
    let mut info = RunInfo { plan, ..run_info("calibrate", place.as_ref(), options.measure.seed)? };
    let run = place.create(&mut info)?;
    let output = options.output.as_deref().unwrap_or(Path::new("profile.toml"));
    let calibrated = calibrate().and_then(|calibration| {
        write_new(output, &calibration.text).map_err(|error| {
            failure(Fault::Io, format!("failed to write the profile {}: {error}", output.display()))
        })?;
        Ok(calibrated(calibration))
    });
    let calibrated = calibrated.inspect_err(|_| _ = run.remove())?;
    let extent = Extent::of(options.measure.all);
    let printed = print(&rendered(&calibrated, options.format, extent, Some(output)));
    (info.state, info.calibration) = ("finished".into(), calibrated.kept());
    run.write_findings(&[], &info).and_then(|()| run.write_info(&info)).map_err(of_records)?;
    note(&format!("profile: {}", output.display()));
    say_where(run.path());
    printed
}

fn of_trace(options: &CalibrateOptions) -> anyhow::Result<Calibration> {
    let control = control()?;
    let folder = options.output.as_deref().map(parent_of).filter(|path| path.is_dir());
    let held_in = (folder.unwrap_or(Path::new(".")), "--output");
    let (traces, read_as) = (options.targets.clone(), options.read_as.clone());
    let trace = TraceOptions { traces, read_as };
    let trace = TraceFile::open(&trace, held_in, &control)?;
    let arrivals = arrivals_of(&trace.provenance());
    note(&format!("held-out requests are simulated with {} arrivals", word(arrivals)));
    calibrate_trace(&TraceRequest {
        trace: &trace,
        device: options.device.as_deref(),
        arrivals,
        limits: &options.limit,
        control: &control,
    })
}

fn announcement(resolved: &ResolvedCalibration) -> String {
    let (passes, seconds) = (resolved.plan.passes(), resolved.plan.time_ns() as f64 / 1e9);
    let column = &resolved.name;
    let virtually =
        if matches!(resolved.device, Device::Model(_)) { " of virtual time" } else { "" };
    let fills = match resolved.plan.fills {
        true => format!(" after {} are written", show_size(resolved.plan.size_bytes)),
        false => String::new(),
    };
    // A slow device's passes are as long as it needs: how long, its first passes tell.
    let quick = show_time_ns(resolved.plan.quick_ns() as f64);
    format!(
        "{passes} passes on {column}, at least {seconds:.0} s{virtually}{fills}; longer if one \
         request takes more than {quick} by itself"
    )
}

/// A calibration as it is printed; where its profile was just written, what may come next.
pub(super) fn rendered(
    calibrated: &Calibrated,
    format: Format,
    extent: Extent,
    profile: Option<&Path>,
) -> String {
    match (format, extent, profile) {
        (Format::Json, ..) => format!("{:#}\n", json(calibrated)),
        (Format::Csv, ..) => csv(&calibrated.classes),
        (Format::Markdown, ..) => calibrated.sheets()[0].markdown(),
        (Format::Table, Extent::Screen, Some(profile)) => {
            let below = format!(
                "Next: lbolt simulate TRACE --model {}; --all prints every class",
                model::quote::path(profile)
            );
            calibrated.screen(below, terminal_width())
        }
        (Format::Table, ..) => {
            calibrated.sheets().map(|table| table.text(terminal_width())).join("\n")
        }
    }
}

/// What is kept of a calibration.
fn calibrated(calibration: Calibration) -> Calibrated {
    Calibrated {
        classes: calibration.judged.iter().map(row).collect(),
        likes: likes(&calibration),
        numbers: calibration.known,
        doubts: calibration.doubts,
        profile: calibration.text,
    }
}

fn likes(calibration: &Calibration) -> Vec<Like> {
    let like = |name: &str, of: &Direction| Like {
        name: name.to_owned(),
        fixed_ns: [of.random.fixed_ns.value, of.sequential.fixed_ns.value],
        most: of.ceiling.as_ref().map(|most| Most {
            per_s: most.per_s.value,
            bytes_per_s: most.bytes_per_s.value,
            parallelism: most.parallelism.value,
        }),
    };
    let write = calibration.fit.write.as_ref().map(|write| like("Writes", write));
    [like("Reads", &calibration.fit.read)].into_iter().chain(write).collect()
}

fn row(judged: &Judged) -> Row {
    Row {
        class: judged.name.clone(),
        holds: judged.holds(),
        measured: judged.measured,
        off_percent: judged.off_percent(),
        demerit_percent: judged.demerit.map(|demerit| demerit * 100.0),
    }
}

fn json(calibrated: &Calibrated) -> serde_json::Value {
    let rows = calibrated.classes.iter().map(|row| {
        serde_json::json!({
            "class": row.class,
            "holds": row.holds,
            "mean_ns": row.measured[0],
            "p99_ns": row.measured[1],
            "requests_per_s": row.measured[2],
            "mean_off_percent": row.off_percent[0],
            "p99_off_percent": row.off_percent[1],
            "rate_off_percent": row.off_percent[2],
            "demerit_percent": row.demerit_percent,
        })
    });
    let classes: Vec<serde_json::Value> = rows.collect();
    let known = calibrated.numbers.iter().map(|known| {
        serde_json::json!({
            "name": known.name,
            "unit": known.unit.sign(),
            "low": known.low,
            "value": known.value,
            "high": known.high,
            "truth": known.truth,
            "holds": known.holds(),
        })
    });
    let known: Vec<serde_json::Value> = known.collect();
    serde_json::json!({
        "schema": "lbolt.calibration/1",
        "answer": report::answer(calibrated.sentences()),
        "classes": classes,
        "numbers": known,
        "doubts": calibrated.doubts,
    })
}

fn csv(rows: &[Row]) -> String {
    let head = "class,holds,mean_ns,p99_ns,requests_per_s,mean_off_percent,p99_off_percent,\
                rate_off_percent\n";
    let lines = rows.iter().map(|row| {
        let [mean, p99, rate] = row.measured;
        let off = row.off_percent.map(|off| off.map_or_else(String::new, |off| off.to_string()));
        format!("{},{},{mean},{p99},{rate},{}\n", row.class, row.holds, off.join(","))
    });
    std::iter::once(head.to_owned()).chain(lines).collect()
}
