//! What the reading of records is fuzzed with: files of ours in each codec, and those that pyarrow
//! made.

use super::target::Target;
use anyhow::Context as _;
use bytes::Bytes;
use model::record::requests::{Provenance, RequestWriter};
use model::record::{Commands, Op, Request, Sample, write};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;
use std::collections::BTreeMap;
use std::path::Path;

/// Small files are changed where it matters more often.
const REQUESTS: u64 = 60;
const SAMPLES: u64 = 6;
/// Rows of a group in files that are written anew.
const GROUP_ROWS: usize = 25;

/// Requests, and samples for the other records, which are read alike.
/// Errors: a file that cannot be made or read.
pub(super) fn targets(root: &Path) -> anyhow::Result<[Target; 2]> {
    let mut of_requests = in_each_codec(&requests()?)?;
    of_requests.extend(of_pyarrow(&root.join("crates/model/tests/parquet"))?);
    let of_samples = in_each_codec(&samples()?)?;
    let target = |name: &str, seeds| Target { name: name.to_owned(), is_binary: true, seeds };
    Ok([target("parquet-requests", of_requests), target("parquet-samples", of_samples)])
}

fn requests() -> anyhow::Result<Vec<u8>> {
    let mut commands = Commands::default();
    let mut writer = RequestWriter::new(Vec::new())?;
    for n in 0..REQUESTS {
        let ns = n as i64 * 1000;
        let row = Request {
            request_id: n,
            device: 8 << 20,
            op: Op::ALL[n as usize % Op::ALL.len()],
            offset_bytes: (!n.is_multiple_of(9)).then_some(n * 4096),
            length_bytes: 4096,
            queued_ns: (!n.is_multiple_of(7)).then_some(ns),
            issued_ns: Some(ns + 30),
            completed_ns: (n % 20 != 7).then_some(ns + 900 + n as i64),
            error: i32::from(n % 30 == 3),
            pid: Some(100 + n as u32 % 3),
            command: Some(commands.number(format!("job{}", n % 3).as_bytes())),
            parent_id: (n % 10 == 9).then(|| n - 1),
            ..Request::default()
        };
        writer.push(&row, &commands)?;
    }
    let provenance = Provenance { origin: "capture".into(), ..Provenance::default() };
    Ok(writer.finish(&commands, &provenance, &BTreeMap::new())?)
}

fn samples() -> anyhow::Result<Vec<u8>> {
    let sample = |n: u64| Sample {
        program: format!("p{}", n % 2),
        wall_ns: n << 20,
        depth_achieved: n.is_multiple_of(2).then_some(n as f64),
        latency_buckets: (0..n).collect(),
        latency_counts: (0..n).map(|n| n + 1).collect(),
        ..Sample::default()
    };
    let rows: Vec<Sample> = (0..SAMPLES).map(sample).collect();
    let directory = tempfile::tempdir()?;
    let path = directory.path().join("samples.parquet");
    write(&path, &rows, &BTreeMap::new())?;
    Ok(std::fs::read(path)?)
}

/// A file as it is, and written anew by each codec. Without one, a change is seen by what decodes
/// pages and not by what decompresses them.
fn in_each_codec(bytes: &[u8]) -> anyhow::Result<Vec<(String, Vec<u8>)>> {
    use Compression::{GZIP, LZ4, LZ4_RAW, SNAPPY, UNCOMPRESSED};
    let mut files = vec![("ours".to_owned(), bytes.to_vec())];
    for codec in [UNCOMPRESSED, SNAPPY, LZ4, LZ4_RAW, GZIP(Default::default())] {
        let reader = ParquetRecordBatchReaderBuilder::try_new(Bytes::copy_from_slice(bytes))?;
        let properties = WriterProperties::builder()
            .set_compression(codec)
            .set_max_row_group_row_count(Some(GROUP_ROWS))
            .build();
        let mut writer =
            ArrowWriter::try_new(Vec::new(), reader.schema().clone(), Some(properties))?;
        for batch in reader.build()? {
            writer.write(&batch?)?;
        }
        let name = codec.to_string().to_lowercase().replace(|c: char| !c.is_alphanumeric(), "-");
        files.push((format!("ours-{name}"), writer.into_inner()?));
    }
    Ok(files)
}

fn of_pyarrow(folder: &Path) -> anyhow::Result<Vec<(String, Vec<u8>)>> {
    let read = || std::fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect();
    let paths: std::io::Result<Vec<_>> = read();
    let paths = paths.with_context(|| format!("failed to read {}", folder.display()))?;
    let files = paths.iter().filter(|path| path.extension().is_some_and(|end| end == "parquet"));
    let mut seeds: Vec<(String, Vec<u8>)> = files
        .map(|path| {
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            Ok((name, std::fs::read(path)?))
        })
        .collect::<std::io::Result<_>>()?;
    seeds.sort();
    Ok(seeds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::record::read_bytes;
    use model::record::requests::RequestFile;

    #[test]
    fn every_seed_is_read() {
        let [of_requests, of_samples] = targets(&crate::root()).unwrap();
        assert!(of_requests.seeds.len() > 12 && of_samples.seeds.len() == 6);
        for (name, bytes) in of_requests.seeds {
            let file = RequestFile::of_bytes(Path::new(&name), Bytes::from(bytes));
            match file {
                Ok(file) => assert_eq!(file.rows(), if name == "empty" { 0 } else { REQUESTS }),
                Err(error) => assert!(name == "brotli", "{error}"),
            }
        }
        for (name, bytes) in of_samples.seeds {
            let rows = read_bytes::<Sample>(Path::new(&name), Bytes::from(bytes)).unwrap();
            assert_eq!(rows.len() as u64, SAMPLES);
        }
    }
}
