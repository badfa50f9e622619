//! Damaged files of records: an error that names the file, or rows, and never a panic.

// Helpers of tests are tests, which clippy.toml cannot know of this file.
#![allow(clippy::unwrap_used)]

use bytes::Bytes;
use model::record::requests::{Provenance, RequestFile, RequestWriter};
use model::record::{Commands, Finding, RecordError, Request, Sample, read, read_bytes, write};
use std::collections::BTreeMap;
use std::path::Path;

/// Changes of each file.
const CHANGES: u64 = 800;

/// Numbers that look random and are the same in every run (splitmix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }
}

/// Files to change: ours, and those that pyarrow made.
fn seeds() -> Vec<(String, Vec<u8>)> {
    let mut commands = Commands::default();
    let mut writer = RequestWriter::new(Vec::new()).unwrap();
    for n in 0..300u64 {
        let ns = n as i64 * 1000;
        let row = Request {
            request_id: n,
            offset_bytes: (n % 9 != 0).then_some(n * 4096),
            length_bytes: 4096,
            queued_ns: Some(ns),
            issued_ns: Some(ns + 30),
            completed_ns: (n % 40 != 7).then_some(ns + 900),
            command: Some(commands.number(format!("job{}", n % 3).as_bytes())),
            ..Request::default()
        };
        writer.push(&row, &commands).unwrap();
    }
    let ours = writer.finish(&commands, &Provenance::default(), &BTreeMap::new()).unwrap();
    let mut seeds = vec![("ours".to_owned(), ours)];
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/parquet");
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|end| end == "parquet") {
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            seeds.push((name, std::fs::read(path).unwrap()));
        }
    }
    seeds.sort();
    seeds
}

fn samples() -> Vec<u8> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("samples.parquet");
    let sample = |n: u64| Sample {
        program: format!("p{}", n % 3),
        bytes: n << 20,
        depth_achieved: n.is_multiple_of(2).then_some(n as f64),
        latency_buckets: (0..n).collect(),
        latency_counts: (0..n).map(|n| n * n).collect(),
        ..Sample::default()
    };
    let samples: Vec<Sample> = (0..20).map(sample).collect();
    write(&path, &samples, &BTreeMap::new()).unwrap();
    assert_eq!(read::<Sample>(&path).unwrap(), samples);
    std::fs::read(path).unwrap()
}

fn read_requests(bytes: Vec<u8>) -> Result<u64, RecordError> {
    let file = RequestFile::of_bytes(Path::new("some.parquet"), Bytes::from(bytes))?;
    let mut reader = file.read_all()?;
    let mut rows = 0;
    while let Some(batch) = reader.next_batch()? {
        batch.for_each_chunk(|chunk| rows += chunk.len() as u64);
    }
    assert_eq!(rows, file.rows());
    Ok(rows)
}

fn read_samples(bytes: Vec<u8>) -> Result<u64, RecordError> {
    read_bytes::<Sample>(Path::new("some.parquet"), Bytes::from(bytes))
        .map(|rows| rows.len() as u64)
}

/// Changes up to three bytes; every other time within the last kilobytes, where the footer is.
fn change(bytes: &[u8], random: &mut Random) -> Vec<u8> {
    let mut changed = bytes.to_vec();
    for _ in 0..=random.below(3) {
        let from = if random.below(2) == 0 { 0 } else { bytes.len().saturating_sub(4096) };
        let at = from + random.below(bytes.len() - from);
        changed[at] = match random.below(3) {
            0 => changed[at] ^ 1 << random.below(8),
            1 => [0, 0x7f, 0x80, 0xff][random.below(4)],
            _ => random.next() as u8,
        };
    }
    changed
}

/// How often changed bytes were refused, read, and stopped the library.
fn attack(name: &str, bytes: &[u8], read: impl Fn(Vec<u8>) -> Result<u64, RecordError>) -> u64 {
    let mut random = Random(bytes.len() as u64);
    let mut stopped = 0;
    for number in 0..CHANGES {
        if let Err(error) = read(change(bytes, &mut random)) {
            let error = error.to_string();
            assert!(error.contains("some.parquet"), "{name}, change {number}: {error}");
            stopped += u64::from(error.contains("its decoder stopped"));
        }
    }
    stopped
}

#[test]
fn changed_bytes_are_an_error_or_rows_and_never_a_panic() {
    let stopped: u64 = seeds().iter().map(|(name, bytes)| attack(name, bytes, read_requests)).sum();
    // Else this would not show that a panic is caught.
    assert!(stopped > 0, "none of the changes makes the library panic");
    attack("samples", &samples(), read_samples);
}

#[test]
fn a_file_that_is_cut_anywhere_is_an_error() {
    let (_, bytes) = seeds().swap_remove(0);
    for length in 0..bytes.len() {
        let error = read_requests(bytes[..length].to_vec()).unwrap_err().to_string();
        assert!(error.contains("damaged or incomplete"), "{length}: {error}");
    }
}

#[test]
fn findings_are_not_samples_even_if_nothing_says_so() {
    let path = Path::new("some.parquet");
    let error = read_bytes::<Finding>(path, Bytes::from(samples())).unwrap_err().to_string();
    assert!(error.contains("lbolt.samples") && error.contains("lbolt.findings"), "{error}");
    let (_, none) = seeds().into_iter().find(|(name, _)| name == "none.parquet").unwrap();
    let error = read_bytes::<Finding>(path, Bytes::from(none)).unwrap_err().to_string();
    assert!(error.contains("no lbolt schema"), "{error}");
}
