//! What is fuzzed, and what each begins with: the fixtures of crate trace, by the format that each
//! is of, and files of records.

use super::target::Target;
use anyhow::{Context as _, ensure};
use formats::import::{self, FORMATS, Input, Units};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

/// What lies between the files of a trace; as in `fuzz/src/import.rs`.
const NEXT_FILE: &[u8] = b"\n<next file>\n";

/// Every format, guessing, decompressing, and records.
/// Errors: a fixture that cannot be read or is of no format; a format without a fixture.
pub(super) fn targets(root: &Path) -> anyhow::Result<Vec<Target>> {
    let named = |name: &str| Target { name: name.to_owned(), is_binary: false, seeds: Vec::new() };
    let mut formats: Vec<Target> = FORMATS.iter().map(|format| named(format.name())).collect();
    let (mut guess, mut input) = (named("guess"), named("input"));
    (guess.is_binary, input.is_binary) = (true, true);
    for (name, files) in fixtures(&root.join("crates/formats/tests/import/fixtures"))? {
        let format = format(&name, &files)?;
        let contents: Result<Vec<_>, _> = files.iter().map(std::fs::read).collect();
        let bytes = contents?.join(NEXT_FILE);
        input.seeds.extend(compressed(&name, &bytes)?);
        guess.seeds.push((name.clone(), bytes.clone()));
        let target = formats.iter_mut().find(|target| target.name == format);
        let target = target.with_context(|| format!("{format} is no format"))?;
        target.is_binary |= !is_text(&bytes);
        target.seeds.push((name, bytes));
    }
    for target in &formats {
        ensure!(!target.seeds.is_empty(), "{} has no fixture", target.name);
    }
    let records = super::records::targets(root)?;
    Ok(formats.into_iter().chain([guess, input]).chain(records).collect())
}

/// The files of each fixture: one, or those of a directory together.
fn fixtures(directory: &Path) -> anyhow::Result<Vec<(String, Vec<PathBuf>)>> {
    let within = |directory: &Path| -> anyhow::Result<Vec<PathBuf>> {
        let entries = std::fs::read_dir(directory);
        let entries = entries.with_context(|| format!("failed to read {}", directory.display()))?;
        let paths: Result<Vec<_>, _> = entries.map(|entry| Ok(entry?.path())).collect();
        let mut paths = paths.map_err(|error: std::io::Error| error)?;
        paths.sort();
        Ok(paths)
    };
    let each = |path: PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok((name, if path.is_dir() { within(&path)? } else { vec![path] }))
    };
    within(directory)?.into_iter().map(each).collect()
}

/// The format of a fixture: guessed, or else the one whose name it bears.
fn format(name: &str, files: &[PathBuf]) -> anyhow::Result<&'static str> {
    let inputs: Result<Vec<Input>, _> = files.iter().map(|file| Input::open(file)).collect();
    let guessed = import::guess_together(&mut inputs?, &Units::default());
    let stem = name.split('.').next().unwrap_or_default();
    Ok(guessed.or_else(|_| import::named(stem))?.name())
}

fn is_text(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_ok() && !bytes.contains(&0)
}

/// The bytes in every compression that is known by its beginning, and as they are.
fn compressed(name: &str, bytes: &[u8]) -> anyhow::Result<Vec<(String, Vec<u8>)>> {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(bytes)?;
    let mut bzip2 = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::default());
    bzip2.write_all(bytes)?;
    let mut xz = Vec::new();
    liblzma::bufread::XzEncoder::new(bytes, 0).read_to_end(&mut xz)?;
    let zstd = zstd::encode_all(bytes, 0)?;
    let all = [
        ("plain", bytes.to_vec()),
        ("gz", gzip.finish()?),
        ("bz2", bzip2.finish()?),
        ("xz", xz),
        ("zst", zstd),
    ];
    Ok(all.into_iter().map(|(end, bytes)| (format!("{name}.{end}"), bytes)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_is_a_target_with_seeds_of_its_own() {
        let targets = targets(&crate::root()).unwrap();
        assert_eq!(targets.len(), FORMATS.len() + 4);
        assert!(targets.iter().all(|target| !target.seeds.is_empty()));
        let binary: Vec<&str> =
            targets.iter().filter(|t| t.is_binary).map(|t| t.name.as_str()).collect();
        let importers = ["blktrace", "srt", "vscsi", "lbolt86-packed", "guess", "input"];
        assert_eq!(binary[..6], importers);
        assert_eq!(binary[6..], ["parquet-requests", "parquet-samples"]);
        let blktrace = &targets[0].seeds[0].1;
        assert!(blktrace.windows(NEXT_FILE.len()).any(|window| window == NEXT_FILE));
    }

    #[test]
    fn the_target_takes_files_apart_where_seeds_put_them_together() {
        let target = std::fs::read_to_string(crate::root().join("fuzz/src/import.rs")).unwrap();
        let mark = format!("NEXT_FILE: &[u8] = b\"{}\";", NEXT_FILE.escape_ascii());
        assert!(target.contains(&mark), "{mark}");
    }

    #[test]
    fn what_is_compressed_is_read_as_it_was() {
        for (name, bytes) in compressed("x", b"abc").unwrap() {
            let mut input = Input::from_bytes(&name, bytes).unwrap();
            assert_eq!(input.is_compressed(), name != "x.plain", "{name}");
            assert_eq!(input.head().unwrap(), (&b"abc"[..], true), "{name}");
        }
    }
}
