//! `lbolt fleet`: which of many hosts lost most, to what, and since when.

use super::print;
use super::report::put;
use crate::resolve::history::Known;
use crate::run::fleet::{Inputs, gather};
use crate::run::session::{control, reading_control};
use ::verdict::fleet::Asked;
use cli::{FleetOptions, Format};
use messages::fault::{Fault, failure};
use messages::output::{note, terminal_width};
use model::run::REPORT_FILE;
use report::fleet::About;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// For users' own Spark.
const SPARK_SCRIPT: &str = include_str!("../../../../packaging/lbolt_spark.py");

/// Runs the command.
/// Errors: nothing that can be read; a time that is none; interruption.
pub(super) fn run(options: &FleetOptions) -> anyhow::Result<()> {
    if options.spark_script {
        return print(SPARK_SCRIPT);
    }
    host::memory::keep_freed();
    // A page is written whole, or not at all.
    let control = if options.page.is_some() { control()? } else { reading_control()? };
    let inputs = Inputs::open(&options.paths, &control)?;
    let Some(span_unix_ns) = inputs.span() else {
        inputs.notes().iter().for_each(|said| note(said));
        let sentence = "failed to read a fleet: the inputs contain no history and no rollup; \
                        `lbolt watch` and `lbolt rollup` create them";
        return Err(failure(Fault::Usage, sentence));
    };
    let now_unix_ns = i64::try_from(jiff::Timestamp::now().as_nanosecond()).unwrap_or(i64::MAX);
    let known = Known { span_unix_ns, now_unix_ns };
    let place_ns = |point| known.place_ns(point);
    let from_unix_ns = options.from.map_or(span_unix_ns.0, place_ns).max(span_unix_ns.0);
    let until_unix_ns = options.to.map_or(span_unix_ns.1, place_ns).min(span_unix_ns.1);
    let change_unix_ns = options.before_after.map(place_ns);
    let refused = |why: &str| failure(Fault::Usage, format!("failed to select a time: {why}"));
    if from_unix_ns >= until_unix_ns {
        return Err(refused("nothing was watched from --from to --to; choose a time within it"));
    }
    if change_unix_ns.is_some_and(|at| at <= from_unix_ns || at >= until_unix_ns) {
        return Err(refused("--before-after is not within the time that was watched"));
    }
    let (by, is_drawn) = (options.by, options.page.is_some());
    let asked = Asked { from_unix_ns, until_unix_ns, by, change_unix_ns, is_drawn };
    let (fleet, mut places, notes) = gather(&inputs, asked, &control)?;
    if let Some(path) = &options.page {
        places.iter_mut().for_each(|place| place.page = address(&place.path, path));
    }
    let width = terminal_width();
    let about = About { places, notes, shows_all: options.all, width };
    let printed = print(&match options.format {
        Format::Table => report::fleet::table(&fleet, &about),
        Format::Json => report::fleet::json(&fleet, &about)?,
        Format::Markdown => report::fleet::markdown(&fleet, &about),
        Format::Csv => {
            about.notes.iter().for_each(|said| note(said));
            report::fleet::csv(&fleet, &about)
        }
    });
    let paged = options.page.as_ref().map_or(Ok(()), |path| {
        let words: Vec<String> = std::env::args_os().map(|word| shown(&word)).collect();
        put(&report::fleet::page(&fleet, &about, &words), path)
    });
    printed.and(paged)
}

fn shown(word: &OsStr) -> String {
    word.to_string_lossy().into_owned()
}

/// The address of a host's own page, as the fleet's page at `page` names it; empty where none lies
/// in the history, or beside the rollup under its name.
fn address(host: &Path, page: &Path) -> String {
    let own = if host.is_dir() { host.join(REPORT_FILE) } else { host.with_extension("html") };
    let whole = |path: &Path| std::fs::canonicalize(path).ok();
    let (Some(own), true) = (whole(&own), own.is_file()) else { return String::new() };
    let directory = page.parent().filter(|directory| !directory.as_os_str().is_empty());
    let Some(directory) = whole(directory.unwrap_or(Path::new("."))) else { return String::new() };
    match own.strip_prefix(&directory) {
        Ok(below) => format!("./{}", escaped(below)),
        Err(_) => format!("file://{}", escaped(&own)),
    }
}

/// A path in an address: all but plain characters by their numbers.
fn escaped(path: &Path) -> String {
    let of = |byte: &u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'/' => {
            char::from(*byte).to_string()
        }
        other => format!("%{other:02X}"),
    };
    path.as_os_str().as_bytes().iter().map(of).collect()
}
