//! `lbolt report`: the page of runs, as one HTML file; and the page of a run that has just ended.

use super::response::progress;
use super::{note, print_line};
use crate::run::directory::open;
use crate::run::session::control;
use analysis::inputs::expanded;
use analysis::page::{Opened, write, write_page};
use capture::gate::Gate;
use cli::{OutputOptions, ReportOptions};
use messages::fault::{Fault, failure, of_records};
use model::run::{REPORT_FILE, RunDirectory};
use report::page::Page;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Runs the command.
/// Errors: what is no run or cannot be read; a page that cannot be written.
pub(super) fn run(options: &ReportOptions) -> anyhow::Result<()> {
    let control = control()?;
    let gate = Gate::new(&control);
    let ticker = progress(gate.clone());
    let read = |run: &PathBuf| {
        let (directory, info) = open(&options.runs_dir, run)?;
        Opened::read(directory, info, &gate)
    };
    let runs =
        expanded(&options.runs)?.iter().map(read).collect::<anyhow::Result<Vec<Opened>>>()?;
    drop(ticker);
    let path = match (&options.output, runs.as_slice()) {
        (Some(path), _) => path.clone(),
        (None, [one]) => one.path().join(REPORT_FILE),
        (None, _) => PathBuf::from(REPORT_FILE),
    };
    if path.is_dir() {
        let sentence = format!("--output {} is a directory; name a file", path.display());
        return Err(failure(Fault::Usage, sentence));
    }
    let bytes = write(runs, &path)?;
    let size = report::show_bytes(bytes as f64);
    let printed = print_line(&format!("page: {} ({size})", path.display()));
    if options.open {
        open_page(&path);
    }
    printed
}

/// Says where a run's records are.
pub(super) fn say_where(run: &Path) {
    note(&format!("records: {}", run.display()));
}

/// Says where a run's records are; makes its page, where that was requested.
/// Errors: a page that cannot be written.
pub(super) fn kept(run: &Path, output: &OutputOptions) -> anyhow::Result<()> {
    say_where(run);
    if output.report {
        let (path, bytes) = page_of(run)?;
        note(&format!("page: {} ({})", path.display(), report::show_bytes(bytes as f64)));
    }
    Ok(())
}

/// Makes the page of a run, in its directory; gives its path and its size in bytes.
/// Errors: a run that cannot be read; a page that cannot be written.
pub(super) fn page_of(run: &Path) -> anyhow::Result<(PathBuf, usize)> {
    let (directory, info) = RunDirectory::open(run).map_err(of_records)?;
    let control = control()?;
    let opened = Opened::read(directory, info, &Gate::new(&control))?;
    let path = run.join(REPORT_FILE);
    let bytes = write(vec![opened], &path)?;
    Ok((path, bytes))
}

/// Writes a page where it was requested, and says so.
/// Errors: a page that cannot be written.
pub(super) fn put(page: &Page, path: &Path) -> anyhow::Result<()> {
    let bytes = write_page(page, path)?;
    note(&format!("page: {} ({})", path.display(), report::show_bytes(bytes as f64)));
    Ok(())
}

/// Hands the page to the desktop. It is written in any case.
fn open_page(path: &Path) {
    open_in_browser(path.as_os_str(), "open the file in a browser, on any machine");
}

/// Hands a page to the desktop. That no browser came is a remark, with what to do instead.
pub(super) fn open_in_browser(page: &OsStr, instead: &str) {
    let quiet = || Stdio::null();
    let mut opener = Command::new("xdg-open");
    opener.arg(page).stdin(quiet()).stdout(quiet()).stderr(quiet());
    let why = match opener.status() {
        Ok(status) if status.success() => return,
        Ok(_) => "xdg-open found no browser".to_owned(),
        Err(error) => format!("failed to run xdg-open: {error}"),
    };
    note(&format!("not opened: {why}; {instead}"));
}
