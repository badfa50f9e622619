//! Requests as other programs write them: the files of `tests/parquet`, made by pyarrow with the
//! script beside them.

// Helpers of tests are tests, which clippy.toml cannot know of this file.
#![allow(clippy::unwrap_used)]

use bytes::Bytes;
use model::record::requests::{COLUMNS, Provenance, RequestFile, RequestWriter};
use model::record::{Commands, Flags, Op, RecordError, Request, Stacks};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const ROWS: u64 = 60;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/parquet")
}

/// The rows as the script makes them, with the names of their commands.
fn wanted() -> Vec<(Request, Option<&'static str>)> {
    let row = |n: u64| {
        let is_flush = n % 5 == 2;
        let ns = n as i64 * 1000;
        let request = Request {
            request_id: n,
            device: if n % 2 == 1 { 259 << 20 } else { 8 << 20 },
            op: Op::ALL[n as usize % 5],
            flags: Flags(n as u16 % 16),
            offset_bytes: (!is_flush).then_some(n * 4096),
            length_bytes: if is_flush { 0 } else { 4096 },
            queued_ns: (n % 7 != 3).then_some(ns),
            started_ns: Some(ns + 10),
            issued_ns: Some(ns + 30),
            completed_ns: (n % 11 != 5).then_some(ns + 500 + n as i64),
            completed_by_ns: None,
            error: if n % 50 == 49 { 5 } else { 0 },
            cpu: Some(n as u16 % 4),
            pid: Some(100 + n as u32 % 3),
            cgroup: None,
            command: None,
            parent_id: (n % 20 == 19).then(|| n - 1),
            file: None,
            stacks: Stacks::default(),
            above_id: None,
        };
        (request, (!n.is_multiple_of(13)).then(|| ["dd", "fio", "postgres"][n as usize % 3]))
    };
    (0..ROWS).map(row).collect()
}

fn rows_of(file: &RequestFile) -> Result<Vec<(Request, Option<String>)>, RecordError> {
    let mut reader = file.read_all()?;
    let mut found = Vec::new();
    while let Some(batch) = reader.next_batch()? {
        for row in batch.rows() {
            let command = row.command.map(|id| reader.commands.name(id).to_owned());
            found.push((Request { command: None, ..row }, command));
        }
    }
    Ok(found)
}

#[test]
fn every_codec_and_every_programs_types_are_read() {
    let wanted: Vec<_> =
        wanted().into_iter().map(|(row, name)| (row, name.map(str::to_owned))).collect();
    let mut read = 0;
    for entry in std::fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let is_other = ["brotli", "empty"].contains(&name.as_str());
        if path.extension().is_none_or(|end| end != "parquet") || is_other {
            continue;
        }
        let file = RequestFile::open(&path).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(rows_of(&file).unwrap(), wanted, "{name}");
        assert!(file.missing_columns().is_empty(), "{name}");
        read += 1;
    }
    assert_eq!(read, 12, "files of tests/parquet");
}

#[test]
fn a_file_whose_rows_were_all_filtered_out_has_none() {
    let file = RequestFile::open(&folder().join("empty.parquet")).unwrap();
    assert_eq!((file.rows(), file.groups()), (0, 1));
    assert_eq!(rows_of(&file).unwrap(), []);
}

#[test]
fn a_codec_that_is_not_read_is_named_with_those_that_are() {
    let error = RequestFile::open(&folder().join("brotli.parquet")).unwrap_err().to_string();
    for word in ["brotli.parquet", "BROTLI", "zstd"] {
        assert!(error.contains(word), "{word}: {error}");
    }
}

/// A changed byte of a page with a checksum is always found.
#[test]
fn a_checksum_finds_every_changed_byte_of_a_page() {
    let bytes = std::fs::read(folder().join("checksums.parquet")).unwrap();
    let whole = RequestFile::of_bytes(Path::new("x"), Bytes::from(bytes.clone())).unwrap();
    let rows = rows_of(&whole).unwrap();
    // A page's data: the last of the queued_ns, which are as they are in the file.
    let needle = 57_000i64.to_le_bytes();
    let at = bytes.windows(8).position(|window| window == needle).unwrap();
    for bit in 0..64 {
        let mut changed = bytes.clone();
        changed[at + bit / 8] ^= 1 << (bit % 8);
        let file = RequestFile::of_bytes(Path::new("x"), Bytes::from(changed)).unwrap();
        let error = rows_of(&file).unwrap_err().to_string();
        assert!(error.contains("checksum"), "{error}");
    }
    assert_eq!(rows.len() as u64, ROWS);
}

/// Our own rows without some columns, through the library that other programs use as well.
fn without(left_out: &[&str]) -> Bytes {
    use parquet::arrow::ArrowWriter;
    use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
    let mut writer = RequestWriter::new(Vec::new()).unwrap();
    for (row, _) in wanted() {
        writer.push(&row, &Commands::default()).unwrap();
    }
    let bytes =
        writer.finish(&Commands::default(), &Provenance::default(), &BTreeMap::new()).unwrap();
    let reader = ParquetRecordBatchReaderBuilder::try_new(Bytes::from(bytes)).unwrap();
    let batch = reader.build().unwrap().next().unwrap().unwrap();
    let is_kept = |place: &usize| !left_out.contains(&batch.schema().field(*place).name().as_str());
    let kept: Vec<usize> = (0..batch.num_columns()).filter(is_kept).collect();
    let batch = batch.project(&kept).unwrap();
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.into_inner().unwrap().into()
}

#[test]
fn what_null_says_no_more_than_unknown_of_may_be_missing_and_nothing_else() {
    for column in COLUMNS {
        let opened = RequestFile::of_bytes(Path::new("x"), without(&[column.name]));
        let read = opened.and_then(|file| Ok((file.missing_columns(), rows_of(&file)?)));
        match read {
            Ok((missing, rows)) => {
                assert!(column.null_is_unknown, "{}", column.name);
                // That an earlier version wrote a file is no news.
                let young = [
                    "completed_by_ns",
                    "file_kind",
                    "file_system",
                    "inode",
                    "generation",
                    "kernel_stack",
                    "user_stack",
                    "above_id",
                ];
                let told = [column.name].into_iter().filter(|name| !young.contains(name));
                assert_eq!(missing, told.collect::<Vec<_>>());
                assert_eq!(rows.len() as u64, ROWS);
            }
            Err(error) => {
                assert!(!column.null_is_unknown, "{error}");
                let error = error.to_string();
                assert!(error.contains(column.name) && error.contains(column.why), "{error}");
            }
        }
    }
    let times = ["queued_ns", "started_ns", "issued_ns"];
    let error = RequestFile::of_bytes(Path::new("x"), without(&times)).unwrap_err().to_string();
    assert!(times.iter().all(|name| error.contains(name)), "{error}");
    // Who does not ask for numbers of requests does not need them.
    let file = RequestFile::of_bytes(Path::new("x"), without(&["request_id"])).unwrap();
    assert!(file.read(0..file.groups(), &["device", "op"]).is_ok());
}
