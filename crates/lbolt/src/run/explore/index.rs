//! The index of a trace: read where it was kept beside the trace, else made of its rows and kept.
//!
//! Non-goals: what is in it (`explore`).

use ::explore::{Builder, Files, Index};
use analysis::trace::{TraceFile, device_name};
use capture::gate::{Gate, Interrupted};
use messages::fault::{Fault, failure, of_records};
use messages::output::note;
use model::record::Context;
use model::record::requests::{OF_FILE, RequestFile, STEPS};
use model::run::INDEX_FILE;
use model::whole_file::write_whole;
use std::fs::File;
use std::io::{BufReader, BufWriter, ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// What a row's number is kept in.
const ROWS_MOST: u64 = u32::MAX as u64 - 1;
/// Bytes that are read or written at once.
const AT_ONCE: usize = 1 << 20;

/// What the index is made of.
const OF_INDEX: &[&[&str]] = &[
    &["device", "op", "flags", "offset_bytes", "length_bytes", "pid", "command", "parent_id"],
    STEPS,
    OF_FILE,
];

/// A trace with its index.
pub(crate) struct Explored {
    pub(super) index: Index,
    pub(super) file: RequestFile,
    /// What it is called.
    pub(super) title: String,
    /// A foreign trace as a file without a name: it goes when this does.
    _held: Option<File>,
}

impl Explored {
    /// Opens a trace. `path` is its file of requests, if it has one of its own.
    /// Errors: a trace that cannot be read, or is too long; interruption.
    pub(crate) fn open(
        trace: TraceFile,
        path: Option<&Path>,
        title: String,
        gate: &Gate,
    ) -> anyhow::Result<Self> {
        let (file, context, held) = trace.into_parts();
        if file.rows() > ROWS_MOST {
            let sentence = format!(
                "failed to explore {} requests: the limit is {ROWS_MOST}; explore a shorter trace",
                file.rows()
            );
            return Err(failure(Fault::Usage, sentence));
        }
        let kept = path.map(|path| (path.with_file_name(INDEX_FILE), key(path, &file)));
        let known = kept.as_ref().and_then(|(kept, key)| read(kept, key));
        let index = match known {
            Some(index) => index,
            None => {
                let index = built(&file, &context, gate)?;
                if let Some((kept, key)) = &kept {
                    keep(&index, kept, key);
                }
                index
            }
        };
        Ok(Self { index, file, title, _held: held })
    }

    /// How many requests it has.
    pub(crate) fn requests(&self) -> u64 {
        self.index.rows() - self.index.left_out()
    }
}

/// What tells whether an index is still that of its trace: the size and the last change of the
/// files that it is made of.
fn key(requests: &Path, file: &RequestFile) -> String {
    let of = |path: PathBuf| {
        let Ok(known) = path.metadata() else { return "-".to_owned() };
        let changed = known.modified().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
        format!("{}@{}", known.len(), changed.map_or(0, |since| since.as_nanos()))
    };
    let names = ["files.parquet", "processes.parquet", "calls.parquet"];
    let beside = names.map(|name| of(requests.with_file_name(name)));
    let version = env!("CARGO_PKG_VERSION");
    format!("{version} {} {} {}", file.rows(), of(requests.to_owned()), beside.join(" "))
}

/// The index that was kept, if it is still that of its trace.
fn read(kept: &Path, key: &str) -> Option<Index> {
    // Something else of that name may make its reader wait for ever.
    let is_file = kept.metadata().is_ok_and(|known| known.is_file());
    let file = is_file.then(|| File::open(kept).ok())??;
    let mut input = BufReader::with_capacity(AT_ONCE, file);
    Index::read(key, &mut input).ok()
}

/// Keeps it, where that can be: a trace that may only be read is indexed each time.
fn keep(index: &Index, kept: &Path, key: &str) {
    let written = write_whole(kept, |file| {
        let mut output = BufWriter::with_capacity(AT_ONCE, file);
        let written = index.write(key, &mut output).map_err(std::io::Error::other);
        written.and_then(|()| output.flush())
    });
    let size = || kept.metadata().map_or(0.0, |known| known.len() as f64);
    match written {
        Ok(()) => note(&format!("index: {} ({})", kept.display(), report::show_bytes(size()))),
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {}
        Err(error) => note(&format!(
            "failed to store the index in {}: {error}; the next opening builds it again",
            kept.display()
        )),
    }
}

fn built(file: &RequestFile, context: &Context, gate: &Gate) -> anyhow::Result<Index> {
    let provenance = file.provenance();
    let name = |device| device_name(device, &provenance);
    let is_sorted = provenance.knows("unsorted") && provenance.counts.unsorted == 0;
    let place_bytes_max = file.offset_bytes_max();
    let mut builder = Builder::new(context, Files::new(context, &name), is_sorted, place_bytes_max);
    let stopped = |_: Interrupted| failure(Fault::Interrupted, "interrupted; no index was written");
    let mut reader = file.read(0..file.groups(), &OF_INDEX.concat()).map_err(of_records)?;
    while let Some(batch) = reader.next_batch().map_err(of_records)? {
        let commands = &reader.commands;
        batch.for_each_chunk(|rows| rows.iter().for_each(|row| builder.add(row, commands)));
        gate.pass(batch.len()).map_err(stopped)?;
    }
    Ok(builder.finish())
}
