//! Rows of requests from a run, and into a file that lbolt reads.

use model::record::requests::{Provenance, RequestFile, RequestWriter};
use model::record::{Commands, Flags, Request};
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

/// Writes rows as a file of requests, all on one device.
pub(super) fn write(path: &Path, rows: &[Request]) -> anyhow::Result<()> {
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
pub(super) fn quickened(rows: &[Request], factor: f64) -> Vec<Request> {
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
        write(&folder.path().join("requests.parquet"), &quick).unwrap();
        let back = read(folder.path()).unwrap();
        assert_eq!(back, quick);
        assert_eq!((back[2].queued_ns, back[2].completed_ns), (Some(20), Some(25)));
    }
}
