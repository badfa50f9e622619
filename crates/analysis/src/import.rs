//! Foreign traces being read: opened, distinguished, and how far they are.

use crate::inputs::entries;
use capture::gate::Gate;
use cli::{ReadAs, TraceOptions};
use formats::import::{self, Format, ImportError, Input, Units};
use host::drive::Control;
use host::scratch::nameless_in;
use messages::fault::{Fault, failure, of_records, unable};
use messages::output::note;
use messages::ticker::Ticker;
use model::record::Commands;
use model::record::requests::Provenance;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use trace::intake::{Intake, Rows, RowsError};

/// The files of a foreign trace, opened to be read once.
pub struct Foreign {
    /// The files.
    pub inputs: Vec<Input>,
    /// The format that was requested, or the one that all files are of.
    pub format: &'static Format,
    order: Order,
}

/// What is done with a trace in more disorder than fits into memory.
enum Order {
    /// It cannot be read again: what comes too late is counted.
    Counted,
    /// It is read again.
    Refused,
    /// It is sorted in these files.
    Sorted([File; 2]),
}

impl Foreign {
    /// Reads the trace into rows; none if it has to be read again, in order. What was put into the
    /// rows until then is to be forgotten. The second value says what the rows refused.
    /// Errors: a file that cannot be read or is of no format.
    #[allow(clippy::type_complexity, reason = "what an intake ends with")]
    pub fn read(
        mut self,
        rows: impl Rows,
        control: &Control,
    ) -> Result<Option<(Provenance, Commands, Option<RowsError>)>, ImportError> {
        let mut intake = Intake::new(rows, &format!("import:{}", self.format.name()));
        match self.order {
            Order::Counted => {}
            Order::Refused => intake.refuse_disorder(),
            Order::Sorted(files) => intake.sort_on_disk(files, &control.stop),
        }
        let refused = match import::read(&mut self.inputs, Some(self.format), &mut intake) {
            Ok(_) => None,
            Err(ImportError::Rows(error)) => Some(error),
            Err(error) => return Err(error),
        };
        let (provenance, commands, refused) = intake.end(refused);
        let is_disorder = refused.as_ref().is_some_and(RowsError::is_disorder);
        Ok((!is_disorder).then_some((provenance, commands, refused)))
    }
}

/// Opens all files before anything is made, and reads them by `read`: once, or a second time,
/// sorted in a directory, if that returns none ([`Foreign::read`]). Of blktrace's files of all CPUs
/// the name before `.blktrace.` will do.
/// Errors: a file that cannot be read; an unknown format; files of none, or of several; those of
/// `read`; a directory that takes no file.
pub fn read_in_order<T>(
    trace: &TraceOptions,
    directory: &Path,
    control: &Control,
    mut read: impl FnMut(Foreign) -> anyhow::Result<Option<T>>,
) -> anyhow::Result<T> {
    let files: Vec<PathBuf> = trace.traces.iter().flat_map(|name| files_of_cpus(name)).collect();
    let (inputs, format) = open(&files, trace, control)?;
    let can_again = files.iter().all(|file| file.is_file());
    let order = if can_again { Order::Refused } else { Order::Counted };
    if trace.read_as.input_format.is_none() {
        say_format(format, trace);
    }
    if let Some(done) = read(Foreign { inputs, format, order })? {
        return Ok(done);
    }
    note("the trace is not in order of time: it is read again and sorted on disk");
    let sort = format!("sort the trace in {}", directory.display());
    let file = || nameless_in(directory).map_err(unable(&sort));
    let order = Order::Sorted([file()?, file()?]);
    let (inputs, format) = open(&files, trace, control)?;
    read(Foreign { inputs, format, order })?.ok_or_else(|| of_records(sort))
}

fn open(
    files: &[PathBuf],
    trace: &TraceOptions,
    control: &Control,
) -> anyhow::Result<(Vec<Input>, &'static Format)> {
    let opened = files.iter().map(|file| Input::open_until(file, control.stop.clone()));
    let opened = opened.collect::<Result<Vec<_>, _>>();
    let mut inputs = opened.map_err(|e| failure(Fault::Usage, format!("failed to {e}")))?;
    let ReadAs { input_format, time_unit, size_unit } = &trace.read_as;
    let units = Units::of(time_unit.as_deref(), size_unit.as_deref()).map_err(of_import)?;
    let format = match input_format {
        Some(name) => import::named(name).and_then(|format| format.with(&units)),
        None => import::guess_together(&mut inputs, &units),
    };
    Ok((inputs, format.map_err(of_import)?))
}

fn say_format(format: &Format, trace: &TraceOptions) {
    let ReadAs { time_unit, size_unit, .. } = &trace.read_as;
    let given = [("times", time_unit), ("offsets and lengths", size_unit)];
    let given =
        given.iter().filter_map(|(what, unit)| Some(format!("{what} in {}", unit.as_ref()?)));
    let given: Vec<String> = given.collect();
    let how = if given.is_empty() { format.meaning().to_owned() } else { given.join(", ") };
    note(&format!("read as {}: {how}", format.name()));
}

/// Whether a name stands for blktrace's files of all CPUs.
pub fn is_of_cpus(name: &Path) -> bool {
    files_of_cpus(name) != [name]
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
