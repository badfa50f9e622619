//! hplajw as its description in ../shared/data/README.md says: records of 14 big-endian words
//! behind a text.

use model::record::{Flags, Op, Request};
use std::path::PathBuf;

/// The trace's requests by arrival; none, with a sentence, where the file is absent.
pub(crate) fn hplajw() -> Option<Vec<Request>> {
    let path = "../../../shared/data/hplajw/ajw.1week.srt";
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(path);
    let Ok(bytes) = std::fs::read(&path) else {
        println!("skipped: {} is absent", path.display());
        return None;
    };
    let start = bytes.iter().position(|byte| *byte == 0x0c).unwrap() + 1;
    let mut rows: Vec<Request> = bytes[start..].chunks_exact(56).map(row).collect();
    rows.sort_by_key(|row| row.queued_ns);
    for (number, row) in rows.iter_mut().enumerate() {
        row.request_id = number as u64;
    }
    Some(rows)
}

fn row(record: &[u8]) -> Request {
    let word = |at: usize| {
        let bytes: [u8; 4] = record[4 * at..4 * at + 4].try_into().unwrap();
        i64::from(u32::from_be_bytes(bytes))
    };
    assert_eq!((word(0), word(1) & 0xffff), (56, 1));
    let (queued_ns, flags) = (word(2) * 1_000_000_000 + word(3) * 1000, word(11));
    let is_read = flags & 1 != 0;
    Request {
        device: (word(8) >> 8 & 0xff) as u32,
        op: if is_read { Op::Read } else { Op::Write },
        flags: Flags::default().with(Flags::BACKGROUND, !is_read && flags & 0x100 != 0),
        offset_bytes: Some(word(7) as u64 * 256),
        length_bytes: word(6) as u32,
        queued_ns: Some(queued_ns),
        issued_ns: Some(queued_ns + word(4) * 1000),
        completed_ns: Some(queued_ns + word(5) * 1000),
        ..Request::default()
    }
}
