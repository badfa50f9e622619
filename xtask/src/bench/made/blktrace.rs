//! A large trace in blktrace's own format, of two CPUs: a real one several times over, each time
//! later than before, where one lies beside the project; else one made by rule.

use anyhow::{Context as _, ensure};
use std::fs::File;
use std::io::{BufWriter, Read as _, Write};
use std::path::{Path, PathBuf};

/// The real one: 465,219 records of readers of one place, a writer that syncs, and one that does
/// not.
const REAL: [&str; 2] = ["mix.blktrace.0.zst", "mix.blktrace.1"];
/// How often it is repeated.
const TIMES: u64 = 10;
/// Requests of the one that is made, five records each.
const REQUESTS: u64 = 900_000;

/// `struct blk_io_trace` of version 7 (`include/uapi/linux/blktrace_api.h`): its length, and where
/// fields begin.
const RECORD_BYTES: usize = 48;
const SEQUENCE: usize = 4;
const TIME: usize = 8;
const PDU_LENGTH: usize = 46;
const MAGIC: u32 = 0x6561_7407;

/// Makes it in a directory, as `trace`; gives back how many records it has. `data` is where the
/// real one would lie.
pub(in super::super) fn make(data: &Path, directory: &Path) -> anyhow::Result<u64> {
    let files = [0, 1].map(|cpu| directory.join(format!("trace.blktrace.{cpu}")));
    let real = REAL.map(|name| data.join(name));
    if real.iter().any(|path| !path.is_file()) {
        eprintln!("there is no {}: the trace is made by rule", real[0].display());
        return made(&files, REQUESTS);
    }
    repeated(&[read(&real[0])?, read(&real[1])?], &files, TIMES)
}

fn read(path: &Path) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let file = File::open(path)?;
    let is_compressed = path.extension().is_some_and(|extension| extension == "zst");
    let read = match is_compressed {
        true => zstd::Decoder::new(file).and_then(|mut d| d.read_to_end(&mut bytes)),
        false => { file }.read_to_end(&mut bytes),
    };
    read.with_context(|| format!("failed to read {}", path.display()))?;
    Ok(bytes)
}

/// Where the records of a file begin and end.
fn records(bytes: &[u8]) -> anyhow::Result<Vec<std::ops::Range<usize>>> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let head = bytes.get(at..at + RECORD_BYTES).context("a record is cut off")?;
        ensure!(
            head[..4] == MAGIC.to_le_bytes(),
            "what is no record of blktrace's version 7 at byte {at}"
        );
        let more = u16::from_le_bytes([head[PDU_LENGTH], head[PDU_LENGTH + 1]]);
        let end = at + RECORD_BYTES + usize::from(more);
        ensure!(end <= bytes.len(), "a record is cut off");
        found.push(at..end);
        at = end;
    }
    Ok(found)
}

/// Writes the parts so many times, each time behind the last moment of the time before, and counts
/// sequence numbers on. Gives back how many records there are.
fn repeated(parts: &[Vec<u8>; 2], files: &[PathBuf; 2], times: u64) -> anyhow::Result<u64> {
    let parts = [(&parts[0], records(&parts[0])?), (&parts[1], records(&parts[1])?)];
    let time = |bytes: &[u8]| {
        let mut eight = [0; 8];
        eight.copy_from_slice(&bytes[TIME..TIME + 8]);
        u64::from_le_bytes(eight)
    };
    let all = parts.iter().flat_map(|(bytes, found)| found.iter().map(|r| time(&bytes[r.clone()])));
    let span_ns = all.max().unwrap_or(0) + 1_000_000;
    let mut count = 0;
    for ((bytes, found), file) in parts.iter().zip(files) {
        let mut out = BufWriter::with_capacity(1 << 20, File::create(file)?);
        let mut sequence = 0u32;
        for turn in 0..times {
            for range in found {
                let mut record = bytes[range.clone()].to_vec();
                let later = time(&record) + turn * span_ns;
                record[TIME..TIME + 8].copy_from_slice(&later.to_le_bytes());
                sequence += 1;
                record[SEQUENCE..SEQUENCE + 4].copy_from_slice(&sequence.to_le_bytes());
                out.write_all(&record)?;
                count += 1;
            }
        }
        out.flush()?;
    }
    Ok(count)
}

/// blktrace's actions queue, get a request, insert, issue, complete, each with the category that
/// goes with it (its bit is 16 higher), and how much later each comes.
const STEPS: [(u32, u32, u64); 5] =
    [(1, 1 << 2, 0), (4, 1 << 4, 500), (12, 1 << 3, 900), (7, 1 << 6, 1500), (8, 1 << 7, 90_000)];
/// The category of reads.
const READ: u32 = 1;

/// Writes so many requests, every second on the other CPU, one after the other on each.
fn made(files: &[PathBuf; 2], requests: u64) -> anyhow::Result<u64> {
    for (cpu, file) in (0u32..).zip(files) {
        let mut out = BufWriter::with_capacity(1 << 20, File::create(file)?);
        let mut sequence = 0u32;
        for request in (u64::from(cpu)..requests).step_by(2) {
            for (action, category, later_ns) in STEPS {
                sequence += 1;
                let mut record = Vec::with_capacity(RECORD_BYTES);
                record.extend(MAGIC.to_le_bytes());
                record.extend(sequence.to_le_bytes());
                record.extend((request * 50_000 + later_ns).to_le_bytes());
                record.extend((request * 7919 % (1 << 28) * 8).to_le_bytes());
                record.extend(4096u32.to_le_bytes());
                record.extend((action | (category | READ) << 16).to_le_bytes());
                record.extend((1000 + cpu).to_le_bytes());
                record.extend((8u32 << 20).to_le_bytes());
                record.extend(cpu.to_le_bytes());
                record.extend([0; 4]);
                out.write_all(&record)?;
            }
        }
        out.flush()?;
    }
    Ok(requests * STEPS.len() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use formats::import::{self, Input};
    use trace::intake::Intake;

    fn imported(
        files: &[PathBuf; 2],
    ) -> (Vec<model::record::Request>, model::record::requests::Counts) {
        let mut inputs = [Input::open(&files[0]).unwrap(), Input::open(&files[1]).unwrap()];
        let mut rows: Vec<model::record::Request> = Vec::new();
        let mut intake = Intake::new(&mut rows, "test");
        assert_eq!(import::read(&mut inputs, None, &mut intake).unwrap().name(), "blktrace");
        let (provenance, _) = intake.finish().unwrap();
        (rows, provenance.counts)
    }

    #[test]
    fn what_is_made_is_a_trace_whose_requests_are_completed() {
        let directory = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let files = [0, 1].map(|cpu| directory.path().join(format!("a.blktrace.{cpu}")));
        assert_eq!(made(&files, 1000).unwrap(), 5000);
        let (rows, counts) = imported(&files);
        assert_eq!((rows.len(), counts.unanswered, counts.rejected, counts.lost), (1000, 0, 0, 0));
    }

    #[test]
    fn a_repeated_trace_is_the_same_requests_again_and_later() {
        let directory = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let files = [0, 1].map(|cpu| directory.path().join(format!("a.blktrace.{cpu}")));
        made(&files, 100).unwrap();
        let parts = files.each_ref().map(|file| std::fs::read(file).unwrap());
        assert_eq!(repeated(&parts, &files, 3).unwrap(), 1500);
        let (rows, counts) = imported(&files);
        assert_eq!((rows.len(), counts.unanswered, counts.out_of_order), (300, 0, 0));
        assert!(rows.windows(2).all(|two| two[0].arrival_ns() <= two[1].arrival_ns()));
        assert!(records(&parts[0][..47]).is_err());
        assert!(records(b"no trace at all").is_err());
    }
}
