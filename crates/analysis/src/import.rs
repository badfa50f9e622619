//! Foreign traces being read: opened, distinguished, and how far they are.

use crate::inputs::entries;
use capture::gate::Gate;
use cli::TraceOptions;
use formats::import::{self, Format, ImportError, Input, Units};
use host::drive::Control;
use messages::fault::{Fault, failure, of_records};
use messages::output::note;
use messages::ticker::Ticker;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

/// Opens all files before anything is made, with the format that was requested, or the one that all
/// files are of. Of blktrace's files of all CPUs the name before `.blktrace.` will do.
/// Errors: a file that cannot be read; an unknown format; files of none, or of several.
pub fn open(
    trace: &TraceOptions,
    control: &Control,
) -> anyhow::Result<(Vec<Input>, &'static Format)> {
    let files = trace.traces.iter().flat_map(|name| files_of_cpus(name));
    let opened = files.map(|file| Input::open_until(&file, control.stop.clone()));
    let opened = opened.collect::<Result<Vec<_>, _>>();
    let mut inputs = opened.map_err(|e| failure(Fault::Usage, format!("failed to {e}")))?;
    let units = Units::of(trace.time_unit.as_deref(), trace.size_unit.as_deref());
    let units = units.map_err(of_import)?;
    let format = match trace.input_format.as_deref() {
        Some(name) => import::named(name).and_then(|format| format.with(&units)),
        None => import::guess_together(&mut inputs, &units),
    };
    let format = format.map_err(of_import)?;
    if trace.input_format.is_none() {
        let (time, size) = (trace.time_unit.as_deref(), trace.size_unit.as_deref());
        let given = [("times", time), ("offsets and lengths", size)];
        let given = given.iter().filter_map(|(what, unit)| Some(format!("{what} in {}", (*unit)?)));
        let given: Vec<String> = given.collect();
        let how = if given.is_empty() { format.meaning().to_owned() } else { given.join(", ") };
        note(&format!("read as {}: {how}", format.name()));
    }
    Ok((inputs, format))
}

/// blktrace's files `NAME.blktrace.CPU`, compressed or not, if there is no file of that name
/// itself; else the name.
fn files_of_cpus(name: &Path) -> Vec<PathBuf> {
    let base = name.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let base = base.strip_suffix(".blktrace").unwrap_or(&base);
    let begin = format!("{base}.blktrace.");
    let folder = name.parent().filter(|folder| !folder.as_os_str().is_empty());
    let cpu = |path: &PathBuf| {
        let name = path.file_name()?.to_str()?.strip_prefix(&begin)?.to_owned();
        let (cpu, end) = name.split_once('.').unwrap_or((&name, ""));
        let is_known = ["", "gz", "bz2", "xz", "zst"].contains(&end);
        cpu.parse::<u32>().ok().filter(|_| is_known)
    };
    if name.exists() || base.is_empty() {
        return vec![name.to_owned()];
    }
    let mut found: Vec<(u32, PathBuf)> = entries(folder.unwrap_or(Path::new(".")))
        .into_iter()
        .filter_map(|path| Some((cpu(&path)?, path)))
        .collect();
    found.sort();
    // What lies there compressed too is one file.
    found.dedup_by_key(|(cpu, _)| *cpu);
    match found.is_empty() {
        true => vec![name.to_owned()],
        false => found.into_iter().map(|(_, path)| path).collect(),
    }
}

/// What the user can mend is a usage error; what the disk refuses is not.
pub fn of_import(error: ImportError) -> anyhow::Error {
    let fault = match error {
        ImportError::Input(_) | ImportError::Rows(_) => Fault::Io,
        _ => Fault::Usage,
    };
    match fault {
        Fault::Io => of_records(error),
        _ => failure(fault, format!("failed to {error}")),
    }
}

/// How much of the files was read, and how many requests came of it.
pub fn progress(inputs: &[Input], gate: Gate) -> Ticker {
    let total: u64 = inputs.iter().map(Input::length_bytes).sum();
    let taken: Vec<_> = inputs.iter().map(Input::taken_bytes).collect();
    let began = std::time::Instant::now();
    Ticker::reading(move || {
        let taken: u64 = taken.iter().map(|bytes| bytes.load(Ordering::Relaxed)).sum();
        let rows = gate.rows();
        let rate = rows as f64 / began.elapsed().as_secs_f64();
        format!("{} read, {rows} requests, {rate:.0} a second", part(taken, total))
    })
}

/// How much of so many bytes was taken; of a pipe, or a file that grows, which have no end yet, how
/// many.
fn part(taken: u64, total: u64) -> String {
    match taken <= total && total > 0 {
        true => format!("{:3.0} %", 100.0 * taken as f64 / total as f64),
        false => format!("{} MiB", taken >> 20),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_what_has_no_end_yet_is_no_percentage() {
        assert_eq!(part(1 << 20, 4 << 20), " 25 %");
        assert_eq!(part(5 << 20, 0), "5 MiB");
        assert_eq!(part(5 << 20, 4 << 20), "5 MiB");
        assert_eq!(part(0, 0), "0 MiB");
    }
}
