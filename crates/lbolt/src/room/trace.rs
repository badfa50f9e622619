//! A trace as it is named on the command line: a run, its requests.parquet, or another program's files.

use crate::exit::{Fault, failure};
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// The file of ours that a trace is, or has in its directory; none of a foreign one.
///
/// # Errors
/// A directory that holds no trace.
pub(crate) fn parquet_of(
    traces: &[PathBuf],
    from: Option<&str>,
) -> anyhow::Result<Option<PathBuf>> {
    let [one] = traces else { return Ok(None) };
    let of_run = one.join("requests.parquet");
    if one.is_dir() && !of_run.exists() {
        let what = match one.join("run.json").exists() {
            true => "is a run without requests; `lbolt record` makes one with them",
            false => {
                "is a directory and no run; name a run, its requests.parquet, or a trace's files"
            }
        };
        return Err(failure(Fault::Usage, format!("failed to read {}: it {what}", one.display())));
    }
    let path = if of_run.exists() { of_run } else { one.clone() };
    Ok((from.is_none() && is_parquet(&path)).then_some(path))
}

/// What every Parquet file begins with.
fn is_parquet(path: &Path) -> bool {
    let mut magic = [0; 4];
    let read = std::fs::File::open(path).and_then(|mut f| f.read_exact(&mut magic));
    read.is_ok() && magic == *b"PAR1"
}

/// Columns of the terminal; none where the output is no terminal.
pub(crate) fn terminal_width() -> Option<u16> {
    let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok()?;
    (size.ws_col > 0).then_some(size.ws_col)
}
