//! Parquet files of records, of ours and as other programs write them: read, or refused. Bytes are
//! mostly changed where they stand, for whatever is put in or taken out moves all that a footer
//! tells of, and only the footer is then seen.

use libfuzzer_sys::Corpus;
use model::record::requests::RequestFile;
use model::record::{Finding, Record, RecordError, Request, Sample, read_bytes};
use std::path::Path;

/// What is read of a file of requests by most commands: some columns, where others are as by
/// default.
const SOME: &[&str] = &["device", "op", "completed_ns", "command"];

/// All rows of a file of requests, whole and by parts.
pub(crate) fn requests(bytes: &[u8]) -> Corpus {
    // Whatever is wrong with them is an error.
    let _ = read_requests(bytes);
    Corpus::Keep
}

fn read_requests(bytes: &[u8]) -> Result<(), RecordError> {
    let file = RequestFile::of_bytes(Path::new("fuzz"), bytes.to_vec().into())?;
    let _ = (file.provenance(), file.missing_columns());
    let mut reader = file.read_all()?;
    let mut rows = 0;
    while let Some(batch) = reader.next_batch()? {
        batch.for_each_chunk(|chunk| chunk.iter().for_each(check));
        rows += batch.len() as u64;
    }
    assert_eq!(rows, file.rows(), "rows that the footer does not tell of");
    let mut of_groups = 0;
    for group in 0..file.groups() {
        let _ = file.completed_ns_max(group);
        let mut reader = file.read(group..group + 1, SOME)?;
        while let Some(batch) = reader.next_batch()? {
            of_groups += batch.rows().count() as u64;
        }
    }
    assert_eq!(rows, of_groups, "the groups do not make up the whole");
    Ok(())
}

/// Every analysis adds and subtracts these.
fn check(row: &Request) {
    let times = [row.queued_ns, row.started_ns, row.issued_ns, row.completed_ns];
    let all = || times.iter().flatten();
    for (one, other) in all().flat_map(|one| all().map(move |other| (one, other))) {
        assert!(one.checked_sub(*other).is_some(), "times too far apart: {row:?}");
    }
    let end = row.offset_bytes.unwrap_or(0).checked_add(u64::from(row.length_bytes));
    assert!(end.is_some(), "an end beyond all bytes: {row:?}");
}

/// All rows of a file of samples, and as if it were one of findings.
pub(crate) fn samples(bytes: &[u8]) -> Corpus {
    fn rows<R: Record>(bytes: &[u8]) -> Result<Vec<R>, RecordError> {
        read_bytes(Path::new("fuzz"), bytes.to_vec().into())
    }
    for sample in rows::<Sample>(bytes).unwrap_or_default() {
        let _ = (sample.latency(), sample.service());
    }
    let _ = rows::<Finding>(bytes);
    Corpus::Keep
}

/// Changes a few bytes where they stand: a bit, a byte, a number of Thrift's that grows, a piece
/// from elsewhere.
pub(crate) fn mutate(bytes: &mut [u8], seed: u32) {
    let mut state = u64::from(seed) << 1 | 1;
    let mut next = |end: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 16) as usize % end.max(1)
    };
    let length = bytes.len();
    for _ in 0..=next(4) {
        // Every other change is in the footer, which the end tells the length of.
        let footer = bytes.last_chunk::<8>().map_or(0, |tail| {
            u32::from_le_bytes([tail[0], tail[1], tail[2], tail[3]]) as usize + 8
        });
        let from = if next(2) == 0 { 0 } else { length.saturating_sub(footer) };
        let at = from + next(length - from);
        let other = next(length);
        let Some(byte) = bytes.get(at).copied() else { return };
        match next(5) {
            0 => bytes[at] = byte ^ 1 << next(8),
            1 => bytes[at] = next(256) as u8,
            2 => bytes[at] = [0, 1, 0x7f, 0x80, 0xfe, 0xff][next(6)],
            3 => bytes[at] = byte.wrapping_add(2).wrapping_sub(next(2) as u8 * 4),
            _ => {
                let piece = next(16).min(length - at).min(length - other);
                bytes.copy_within(other..other + piece, at);
            }
        }
    }
}
