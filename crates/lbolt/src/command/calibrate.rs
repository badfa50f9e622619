//! `lbolt calibrate`: from a device to its profile.

use super::simulate::{arrivals_of, word};
use super::{note, print, print_json};
use crate::cli::{CalibrateOptions, Format, TraceOptions};
use crate::print::exit::{Fault, failure, unable};
use crate::print::output::terminal_width;
use crate::resolve::calibrate::{Device, ResolvedCalibration, check_trace, is_trace, resolve};
use crate::run::calibrate::trace::{TraceRequest, run as calibrate_trace};
use crate::run::calibrate::{Calibration, run as calibrate};
use crate::run::session::control;
use crate::run::trace::TraceFile;
use analyze::calibrate::{Direction, Judged};
use model::run::parent_of;
use model::whole_file::write_new;
use report::calibrated::{Like, Most, Row, listing, numbers, screen};
use std::path::Path;

/// Runs the command.
/// Errors: what could not be done, with its exit code.
pub(super) fn run(options: &CalibrateOptions) -> anyhow::Result<()> {
    let calibration = match is_trace(&options.targets) {
        true => of_trace(options)?,
        false => {
            let resolved = resolve(options)?;
            if options.dry_run {
                return print_json(
                    &serde_json::to_value(&resolved.plan).map_err(unable("write the plan"))?,
                );
            }
            note(&announcement(&resolved));
            calibrate(&resolved, &options.limit)?
        }
    };
    let output = options.output.as_deref().unwrap_or(Path::new("profile.toml"));
    write_new(output, &calibration.text).map_err(|error| {
        failure(Fault::Io, format!("failed to write the profile {}: {error}", output.display()))
    })?;
    let printed = print(&rendered(&calibration, options, output)?);
    note(&format!("profile: {}", output.display()));
    printed
}

fn of_trace(options: &CalibrateOptions) -> anyhow::Result<Calibration> {
    check_trace(options)?;
    let control = control()?;
    let folder = options.output.as_deref().map(parent_of).filter(|path| path.is_dir());
    let held_in = (folder.unwrap_or(Path::new(".")), "--output");
    let input_format = options.input_format.clone();
    let trace = TraceOptions { traces: options.targets.clone(), input_format };
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
    format!("{passes} passes on {column}, about {seconds:.0} s{virtually}")
}

fn rendered(
    calibration: &Calibration,
    options: &CalibrateOptions,
    output: &Path,
) -> anyhow::Result<String> {
    let rows: Vec<Row> = calibration.judged.iter().map(row).collect();
    Ok(match options.format {
        Format::Json => format!("{:#}\n", json(&rows, calibration)),
        Format::Csv => csv(&rows),
        Format::Markdown => listing(&rows).markdown(),
        Format::Table if options.all => {
            let tables = [listing(&rows), numbers(&calibration.known)];
            tables.map(|table| table.text(terminal_width())).join("\n")
        }
        Format::Table => {
            let below = format!(
                "Next: lbolt simulate TRACE --model {}; --all prints every class",
                model::text::visible(&output.display().to_string())
            );
            let doubts = &calibration.doubts;
            screen(
                (&rows, &likes(calibration), &calibration.known),
                doubts,
                below,
                terminal_width(),
            )
        }
    })
}

fn likes(calibration: &Calibration) -> Vec<Like> {
    let like = |name: &'static str, of: &Direction| Like {
        name,
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

fn json(rows: &[Row], calibration: &Calibration) -> serde_json::Value {
    let rows = rows.iter().map(|row| {
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
    let known = calibration.known.iter().map(|known| {
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
        "classes": classes,
        "numbers": known,
        "doubts": calibration.doubts,
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
