//! Rows of requests from a run, and into a file that lbolt reads.

use super::super::turn::Turn;
use anyhow::bail;
use model::record::requests::{Provenance, RequestFile, RequestWriter};
use model::record::{Commands, Flags, Op, Request};
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

const COLUMNS: [&str; 12] = [
    "request_id",
    "device",
    "op",
    "flags",
    "offset_bytes",
    "length_bytes",
    "queued_ns",
    "started_ns",
    "issued_ns",
    "completed_ns",
    "pid",
    "parent_id",
];

/// The requests of a run in the order of their coming, without parts of others and without lbolt's
/// own.
pub(super) fn read(run: &Path) -> anyhow::Result<Vec<Request>> {
    let file = RequestFile::open(&run.join("requests.parquet"))?;
    let mut reader = file.read(0..file.groups(), &COLUMNS)?;
    let mut rows = Vec::new();
    while let Some(batch) = reader.next_batch()? {
        let is_own = |row: &Request| row.flags.contains(Flags::OWN) || row.parent_id.is_some();
        rows.extend(batch.rows().filter(|row| !is_own(row) && row.arrival_ns().is_some()));
    }
    rows.sort_by_key(Request::arrival_ns);
    Ok(rows)
}

/// RUN TO FACTOR MIB: the program's requests of a run, in the first MiB of its device, as a run of
/// their own, their times divided by a factor.
pub(in super::super) fn pick(words: &[&str], _: &mut Turn) -> anyhow::Result<()> {
    let [run, to, factor, mib] = words else { bail!("pick RUN TO FACTOR MIB") };
    let (mut rows, mib) = (read(Path::new(run))?, mib.parse()?);
    rows.retain(|row| is_programs(row, mib));
    write(Path::new(to), &quickened(&rows, factor.parse()?))
}

/// The length of all requests of the programs that are traced.
const LENGTH_BYTES: u32 = 4096;

/// Whether a program made it: what looks at a device that has changed reads elsewhere.
pub(super) fn is_programs(row: &Request, mib: u64) -> bool {
    let is_in_area = row.offset_bytes.is_none_or(|place| place < mib << 20);
    let has_length = matches!(row.op, Op::Read | Op::Write) && row.length_bytes == LENGTH_BYTES;
    row.completed_ns.is_some() && is_in_area && (has_length || row.op == Op::Flush)
}

/// From its coming to its completion.
pub(super) fn response_ns(row: &Request) -> Option<f64> {
    Some((row.completed_ns? - row.arrival_ns()?) as f64)
}

/// Writes rows, all on one device, as a new directory with a file of requests.
pub(super) fn write(directory: &Path, rows: &[Request]) -> anyhow::Result<()> {
    std::fs::create_dir_all(directory)?;
    let path = directory.join("requests.parquet");
    let mut writer = RequestWriter::new(BufWriter::new(File::create(path)?))?;
    let commands = Commands::default();
    for row in rows {
        writer.push(&Request { device: 0, command: None, ..*row }, &commands)?;
    }
    let mut provenance = Provenance { origin: "bench".into(), ..Provenance::default() };
    provenance.notes.insert("device.0".into(), "bench".into());
    writer.finish(&commands, &provenance, &Default::default())?;
    Ok(())
}

/// Rows whose times are divided by a factor, from the first one's coming on.
fn quickened(rows: &[Request], factor: f64) -> Vec<Request> {
    let began_ns = rows.first().and_then(Request::arrival_ns).unwrap_or(0);
    let scaled = |at_ns: Option<i64>| at_ns.map(|ns| ((ns - began_ns) as f64 / factor) as i64);
    let quickened = |row: &Request| Request {
        queued_ns: scaled(row.queued_ns),
        started_ns: scaled(row.started_ns),
        issued_ns: scaled(row.issued_ns),
        completed_ns: scaled(row.completed_ns),
        ..*row
    };
    rows.iter().map(quickened).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_program_did_not_make_is_left_out() {
        let row = |op, offset_bytes, length_bytes| Request {
            op,
            offset_bytes,
            length_bytes,
            queued_ns: Some(0),
            completed_ns: Some(9),
            ..Request::default()
        };
        for (row, expected) in [
            (row(Op::Read, Some(4096), 4096), true),
            (row(Op::Read, Some(4096), 512), false),
            (row(Op::Read, Some(300 << 20), 4096), false),
            (row(Op::Flush, None, 0), true),
            (Request { completed_ns: None, ..row(Op::Write, Some(0), 4096) }, false),
        ] {
            assert_eq!(is_programs(&row, 300), expected, "{row:?}");
        }
    }

    #[test]
    fn what_is_written_is_read_back_and_times_can_be_divided() {
        let folder = tempfile::tempdir().unwrap();
        let row = |n: i64| Request {
            request_id: n as u64,
            flags: Flags::BACKGROUND,
            offset_bytes: Some(4096),
            length_bytes: 4096,
            queued_ns: Some(1000 + n * 100),
            completed_ns: Some(1000 + n * 100 + 50),
            pid: Some(3),
            ..Request::default()
        };
        let rows: Vec<Request> = (0..3).map(row).collect();
        let quick = quickened(&rows, 10.0);
        write(folder.path(), &quick).unwrap();
        let back = read(folder.path()).unwrap();
        assert_eq!(back, quick);
        assert_eq!((back[2].queued_ns, back[2].completed_ns), (Some(20), Some(25)));
    }
}
