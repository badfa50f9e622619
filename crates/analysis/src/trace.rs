//! A trace as it is named on the command line: a run, its requests.parquet, or another program's
//! files.

use crate::import::{Foreign, of_import, progress, read_in_order};
use crate::verdict::context_of;
use capture::Devices;
use capture::gate::Gate;
use cli::TraceOptions;
use formats::export::FileRows;
use host::drive::Control;
use host::scratch::nameless_in;
use messages::fault::{Fault, failure, of_records};
use messages::output::note;
use model::record::Context;
use model::record::requests::{Provenance, RequestFile, STEPS};
use model::run::RunDirectory;
use model::units::{counted, show_time_ns};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use trace::intake::{FanOut, RowsError};
use trace::output::{Left, OutputError, RequestsFile};

/// What could not be read of a foreign trace, behind its number.
pub const REJECTED: &str = "unreadable line{s} or record{s} {was|were} skipped";

/// A run's file.
pub(crate) const REQUESTS: &str = "requests.parquet";

/// The files that a trace is.
pub fn files_of(traces: &[PathBuf]) -> impl Iterator<Item = PathBuf> {
    traces.iter().map(|trace| match trace.is_dir() {
        true => trace.join(REQUESTS),
        false => trace.clone(),
    })
}

/// The file of ours that a trace is, or has in its directory; none of a foreign one.
/// Errors: a directory that holds no trace.
pub fn parquet_of(trace: &TraceOptions) -> anyhow::Result<Option<PathBuf>> {
    let [one] = trace.traces.as_slice() else { return Ok(None) };
    let of_run = one.join(REQUESTS);
    let refused = |path: &Path, why: &dyn std::fmt::Display| {
        failure(Fault::Usage, format!("failed to read {}: {why}", path.display()))
    };
    let is_run = one.is_dir() && of_run.try_exists().map_err(|e| refused(&of_run, &e))?;
    let is_run = is_run || one.is_dir() && recover(one, &of_run)?;
    if one.is_dir() && !is_run {
        let what = match one.join("run.json").exists() {
            true => "is a run without requests; record one with `lbolt record`",
            false => {
                "is a directory but not a run; name a run, its requests.parquet, or the files of a \
                 trace"
            }
        };
        return Err(refused(one, &format!("it {what}")));
    }
    let path = if is_run { of_run } else { one.clone() };
    match is_parquet(&path) {
        Ok(true) if trace.read_as.input_format.is_none() => Ok(Some(path)),
        Err(error) if is_run => Err(refused(&path, &error)),
        Ok(false) if is_run => Err(refused(&path, &"it is not Parquet; the run may be incomplete")),
        // A foreign trace, or what is to be told of as one.
        _ => Ok(None),
    }
}

/// Puts a trace together whose capture was killed; whether there is one.
fn recover(run: &Path, requests: &Path) -> anyhow::Result<bool> {
    let usage = |sentence| failure(Fault::Usage, sentence);
    let Some(left) = Left::find(requests).map_err(of_records)? else { return Ok(false) };
    let is_being_written = RunDirectory::open(run).is_ok_and(|(run, _)| run.is_being_written());
    if is_being_written {
        return Err(usage(format!(
            "failed to read {}: it is still being recorded; wait for its end or stop it with \
             Ctrl-C",
            run.display()
        )));
    }
    let rows = left.put_together(requests).map_err(of_records)?;
    note(&format!(
        "{}: its capture was killed; {rows} requests were recovered into {}",
        run.display(),
        requests.display()
    ));
    Ok(true)
}

/// Whether a file begins as every Parquet file does. A pipe is none, and nothing is taken out of
/// it.
fn is_parquet(path: &Path) -> std::io::Result<bool> {
    if !std::fs::metadata(path)?.is_file() {
        return Ok(false);
    }
    let mut magic = [0; 4];
    match std::fs::File::open(path)?.read_exact(&mut magic) {
        Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => Ok(false),
        read => read.map(|()| magic == *b"PAR1"),
    }
}

/// Opens a file of requests, and says what it does not tell.
/// Errors: a file that cannot be read.
pub fn open_requests(path: &Path) -> anyhow::Result<RequestFile> {
    let file = RequestFile::open(path);
    let file = file.map_err(|error| failure(Fault::Usage, format!("failed to {error}")))?;
    let shown = path.display();
    let missing = file.missing_columns();
    if !missing.is_empty() {
        note(&format!(
            "{shown} lacks the columns {}: they are unknown in every \
                       request",
            missing.join(", ")
        ));
    }
    let provenance = file.provenance();
    if !provenance.unknown.is_empty() {
        let names = if provenance.origin.is_empty() { " and the names of its devices" } else { "" };
        note(&format!(
            "{shown} was rewritten by {}: the number of lost events{names} is unknown",
            file.written_by()
        ));
    }
    Ok(file)
}

/// Says of a trace whose quick requests have no rows that nothing is known of each of them: for
/// those whose result does not say so.
fn note_only_slow(file: &RequestFile, path: &Path) {
    let summed = file.provenance().summed_count();
    if summed > 0 {
        note(&format!(
            "{} has no rows of {} that the watch had summed up",
            path.display(),
            counted(summed, "request{s}")
        ));
    }
    if let Some(slower_than_ns) = file.provenance().slower_than_ns() {
        note(&format!(
            "{} has only the requests that took {} or longer (record --slower-than)",
            path.display(),
            show_time_ns(slower_than_ns as f64)
        ));
    }
}

/// A trace whose rows can be read again and again: a file of ours, or what a foreign trace was
/// turned into, which has no name and goes when this does, or when the process does.
pub struct TraceFile {
    file: RequestFile,
    context: Context,
    _held: Option<File>,
}

impl TraceFile {
    /// Opens a trace; a foreign one is turned into a file in a directory, named with what chooses
    /// another one.
    /// Errors: a trace that cannot be read; a directory that takes no file; interruption.
    pub fn open(
        trace: &TraceOptions,
        held_in: (&Path, &str),
        control: &Arc<Control>,
    ) -> anyhow::Result<Self> {
        if let Some(path) = parquet_of(trace)? {
            let (file, context) = (open_requests(&path)?, context_of(&path)?);
            note_only_slow(&file, &path);
            return Ok(Self { file, context, _held: None });
        }
        let held = imported(trace, held_in, control)?;
        let path = PathBuf::from(format!("/proc/self/fd/{}", held.as_raw_fd()));
        let file = RequestFile::open(&path).map_err(of_records)?;
        Ok(Self { file, context: Context::default(), _held: Some(held) })
    }

    /// Its file, and what the run keeps besides.
    pub fn into_parts(self) -> (RequestFile, Context, Option<File>) {
        (self.file, self.context, self._held)
    }

    /// The last moment that it tells of, in ns from its beginning.
    /// Errors: a file that cannot be read.
    pub fn end_ns(&self) -> anyhow::Result<i64> {
        let mut ends = (0..self.file.groups()).map(|group| self.group_end_ns(group));
        ends.try_fold(0, |last_ns, end_ns| Ok(last_ns.max(end_ns?)))
    }

    /// By the file's own statistics, else by its rows.
    fn group_end_ns(&self, group: usize) -> anyhow::Result<i64> {
        let known = self.file.arrivals_ns(group).zip(self.file.completed_ns_max(group));
        if let Some(((_, arrived_ns), completed_ns)) = known {
            return Ok(arrived_ns.max(completed_ns));
        }
        let mut reader = self.file.read(group..group + 1, STEPS).map_err(of_records)?;
        let mut last_ns = 0;
        while let Some(batch) = reader.next_batch().map_err(of_records)? {
            let times = batch.rows().flat_map(|row| row.arrival_ns().max(row.completed_ns));
            last_ns = times.fold(last_ns, i64::max);
        }
        Ok(last_ns)
    }

    /// The rows, from the first on.
    /// Errors: a file that cannot be read.
    pub fn rows(&self) -> anyhow::Result<FileRows> {
        self.rows_with(&[])
    }

    /// The same with these columns alone, for who asks for no others.
    /// Errors: a file that cannot be read.
    pub fn rows_with(&self, columns: &[&'static str]) -> anyhow::Result<FileRows> {
        FileRows::new(&self.file, columns).map_err(of_records)
    }

    /// A device's name, as it is noted with the rows.
    pub fn device_name(&self, device: u32) -> String {
        device_name(device, &self.provenance())
    }

    /// Where the rows come from.
    pub fn provenance(&self) -> Provenance {
        self.file.provenance()
    }
}

/// A foreign trace as a file of requests without a name.
fn imported(
    trace: &TraceOptions,
    (directory, choice): (&Path, &str),
    control: &Arc<Control>,
) -> anyhow::Result<File> {
    let refused = |why: String| {
        let what = format!("store the trace's requests in {}: {why}", directory.display());
        of_records(format!(
            "{what}; nothing was written; free some space there or choose another {choice}"
        ))
    };
    let kept = |error: OutputError| {
        refused(match error {
            OutputError::Full { .. } => "no space is left".to_owned(),
            OutputError::Refused { why, .. } => why,
        })
    };
    let told = |error: anyhow::Error| match control.is_stopped() {
        true => failure(Fault::Interrupted, "interrupted; nothing was written"),
        false => error,
    };
    let of_rows = |error: RowsError| match error.0.downcast::<OutputError>() {
        Ok(error) => kept(*error),
        Err(other) => of_records(RowsError(other)),
    };
    let once = |foreign: Foreign| {
        let held = nameless_in(directory).map_err(|e| refused(e.to_string()))?;
        let own = held.try_clone().map_err(|e| refused(e.to_string()))?;
        let mut file = RequestsFile::over(own, directory).map_err(kept)?;
        let gate = Gate::new(control);
        let ticker = progress(&foreign.inputs, gate.clone());
        let read = foreign.read(FanOut(gate, &mut file), control);
        drop(ticker);
        let Some((provenance, commands, refused)) = read.map_err(|e| told(of_import(e)))? else {
            return Ok(None);
        };
        refused.map_or(Ok(()), |error| Err(told(of_rows(error))))?;
        if provenance.counts.rejected > 0 {
            note(&counted(provenance.counts.rejected, REJECTED));
        }
        file.finish(&commands, &provenance, &BTreeMap::new()).map_err(kept)?;
        Ok(Some(held))
    };
    read_in_order(trace, directory, control, once)
}

/// A device's name, as it is noted with the rows; else its numbers.
pub fn device_name(device: u32, provenance: &Provenance) -> String {
    let noted = provenance.notes.get(&format!("device.{device}")).cloned();
    noted.unwrap_or_else(|| Devices::default().name(device))
}
