//! The tables of the first screen: devices, waits, causes and files, a few rows each.
//!
//! Non-goals: sentences.

use super::rows::{BOUND, Label, bytes, some_time, table};
use super::sentences::Said;
use super::shown::{Shown, has};
use super::told::{Loss, Of, Told, Values};
use super::{layers, stacks};
use crate::grid::{Figures, Grid};
use crate::listing::Listing;
use crate::number::significant;
use crate::requests::{is_news, show_count};
use crate::rows::Column;
use model::circumstance::Circumstance;
use model::record::subject::{Blame, Class, File, Wait};
use model::units::show_time_ns;

/// The tables by name.
pub const TABLES: [&str; 7] = ["device", "layer", "wait", "cause", "file", "call", "stack"];

/// These are shown only where they are requested.
const ON_REQUEST: [&str; 2] = ["call", "stack"];

/// The heading of the parts of calls.
const CALLS: &str = "What a call waits for, on average";

/// Names are cut to so many characters before a column goes.
const NAME_CHARS: usize = 28;

/// The columns that go first where a terminal is narrow; the one without a head is a bound.
const LESS_NEEDED: [&str; 5] = ["waits", "depth", "requests", "fsyncs", ""];
/// Those that go where names are as short as they can be; what sentences tell of goes last.
const NEEDED: [&str; 7] = ["on", "response", "storms", "in calm", "compared", "mean", "p99"];

/// The tables that have rows, with their headings, for a terminal of `width` columns.
pub(super) fn all(told: &Told<'_>, shown: &Shown, width: Option<u16>) -> Vec<(String, Grid)> {
    let tables = [
        counted(format!("Devices{}", of_all(shown)), devices(told, shown)),
        ("Layers: where the time of their requests goes".to_owned(), layers::table(told, shown)),
        counted("Who waited".to_owned(), waits(told, shown)),
        counted("Behind whom".to_owned(), causes(told, shown)),
        counted(files_heading(told) + of_all(shown), files(told, shown)),
        (CALLS.to_owned(), calls(told, shown)),
        (
            "By which functions requests were queued, or threads slept".to_owned(),
            stacks::table(told, shown),
        ),
    ];
    let is_wanted =
        |name: &str| shown.by.as_deref().map_or(!ON_REQUEST.contains(&name), |by| by == name);
    let tables = TABLES.into_iter().zip(tables).filter(|(name, _)| is_wanted(name));
    let with_rows = tables.map(|(_, table)| table).filter(|(_, grid)| grid.rows() > 0);
    // The parts of a call are no names: of many calls there are several tables.
    let fitted = |grid: Grid| {
        let grid = grid.with_labels_cut(width, NAME_CHARS).narrowed(width, &LESS_NEEDED);
        grid.shortened(width).narrowed(width, &NEEDED)
    };
    let fit = |(heading, grid): (String, Grid)| match heading == CALLS {
        true => (heading, grid),
        false => (heading, fitted(grid)),
    };
    with_rows.map(fit).collect()
}

/// A heading that says of how many rows the first ones are shown.
fn counted(heading: String, (grid, all): (Grid, usize)) -> (String, Grid) {
    match grid.rows() {
        rows if rows < all => (format!("{heading}, {rows} of {all}"), grid),
        _ => (heading, grid),
    }
}

/// Behind the heading of a table whose rows are of no role, where roles are selected.
fn of_all(shown: &Shown) -> &'static str {
    if shown.selects_roles() { ", of all roles" } else { "" }
}

const DEVICES: &[Column] = &[
    ("", "requests", "requested_count", show_count),
    ("", "bytes", "requested_bytes", bytes),
    ("", "discarded", "discarded_bytes", bytes),
    ("", "response p50", "response_p50_ns", show_time_ns),
    ("", "p99", "response_p99_ns", show_time_ns),
    ("", "device p50", "done_p50_ns", show_time_ns),
    ("", "p99", "done_p99_ns", show_time_ns),
    ("", "max", "done_max_ns", show_time_ns),
    ("", "depth", "depth_mean", significant),
];

fn devices(told: &Told<'_>, shown: &Shown) -> (Grid, usize) {
    // What mostly serves a device above is shown as a layer of that one.
    let serves = |values: &Values<'_>| {
        values.or_zero("beneath_count") > 0.5 * values.or_zero("requested_count")
    };
    let shows_all = shown.by.is_some() || shown.device.is_some();
    let is_shown = |(of, values): &&Of<'_, Class>| {
        let is_layer = !shows_all && serves(values) && layers::is_layer(told, &of.class);
        shown.has_device(&of.class) && !is_layer
    };
    let mut rows: Vec<_> = told.devices.iter().filter(is_shown).cloned().collect();
    let all = rows.len();
    rows.truncate(shown.rows());
    let is_told = |column: &&Column| match column.2 {
        "discarded_bytes" => rows.iter().any(|(_, values)| values.or_zero(column.2) > 0.0),
        _ => is_news(column, &rows, |(_, values), quantity| values.get(quantity)),
    };
    let columns: Vec<Column> = DEVICES.iter().filter(is_told).copied().collect();
    (table(&rows, &[("device", |of| of.class.clone())], &columns).grid(), all)
}

/// The mean of the waits that have calm of their kind, of which the mean in calm is.
const COMPARED: &str = "compared_mean_ns";

const WAITS: &[Column] = &[
    ("", "waits", "waits_count", show_count),
    ("", "mean", "waited_mean_ns", show_time_ns),
    ("", "compared", COMPARED, show_time_ns),
    ("", "in calm", "calm_mean_ns", show_time_ns),
    ("", "p99", "waited_p99_ns", show_time_ns),
    ("", "longest", "waited_max_ns", show_time_ns),
    ("", "in all", "waited_ns", show_time_ns),
];

/// The first rows, and in their places those of which the sentences tell.
fn chosen<T>(all: impl Iterator<Item = T>, is_said: impl Fn(&T) -> bool, rows: usize) -> Vec<T> {
    let all: Vec<T> = all.collect();
    let mut room = rows.saturating_sub(all.iter().filter(|row| is_said(row)).count());
    let mut is_chosen = |row: &T| {
        let is_said = is_said(row);
        let has_room = is_said || room > 0;
        room -= usize::from(has_room && !is_said);
        has_room
    };
    all.into_iter().filter(|row| is_chosen(row)).collect()
}

fn waits(told: &Told<'_>, shown: &Shown) -> (Grid, usize) {
    let is_shown = |(wait, _): &&Of<'_, Wait>| {
        shown.has_device(&wait.device) && shown.has_role(&[&wait.victim])
    };
    let said = Said::of(told, shown);
    let is_said = |(wait, _): &&Of<'_, Wait>| said.has_wait(wait);
    let of_shown = || told.waits.iter().filter(is_shown);
    let rows = chosen(of_shown(), is_said, shown.rows());
    let rows: Vec<_> = rows.into_iter().cloned().collect();
    let lost = |(wait, values): &Of<'_, Wait>| {
        // Waits that were no longer than in calm lost nothing: what is left is chance.
        let [mean, compared, calm] =
            ["waited_mean_ns", COMPARED, "calm_mean_ns"].map(|of| values.get(of));
        let is_shorter = calm.zip(compared.or(mean)).is_some_and(|(calm, mean)| mean <= calm);
        // What a sentence tells of stands here, too.
        if is_shorter && !said.has_wait(wait) {
            return String::new();
        }
        let of = told.losses.iter().filter(|loss| loss.is_in(wait));
        some_time(of.fold(0.0, |sum, loss| sum + loss.lost_ns()))
    };
    let labels: &[Label<Wait>] = &[
        ("who", |wait| wait.victim.clone()),
        ("for", |wait| wait.wait.clone()),
        ("on", |wait| wait.device.clone()),
    ];
    // Beside the mean in calm stands that of the same waits, where others have none.
    let has_others = |(_, values): &Of<'_, Wait>| {
        values.get(COMPARED).is_some_and(|ns| values.get("waited_mean_ns") != Some(ns))
    };
    let has_others = rows.iter().any(has_others);
    let is_told = |column: &&Column| column.2 != COMPARED || has_others;
    let columns: Vec<Column> = WAITS.iter().filter(is_told).copied().collect();
    (table(&rows, labels, &columns).figure("", "lost", lost).grid(), of_shown().count())
}

const CAUSES: &[Column] = &[
    ("", "lost", "lost_ns", show_time_ns),
    ("", BOUND, "lost_ns", show_time_ns),
    ("", "of its", "lost_percent", |percent| format!("{} %", significant(percent))),
    ("", "waits", "affected_count", |count| match count {
        0.0 => "<1".to_owned(),
        count => show_count(count),
    }),
    ("", "mean", "affected_mean_ns", show_time_ns),
    ("", "in calm", "affected_calm_mean_ns", some_time),
];

fn causes(told: &Told<'_>, shown: &Shown) -> (Grid, usize) {
    let said = Said::of(told, shown);
    let is_shown = |loss: &&Loss<'_>| {
        shown.has_device(&loss.of.device)
            && loss.is_of(shown)
            && loss.lost_ns() >= 1.0
            && (loss.values.or_zero("lost_percent") >= 1.0 || said.has(loss))
    };
    let is_said = |loss: &&Loss<'_>| said.has(loss);
    let of_shown = || told.losses.iter().filter(is_shown);
    let losses = chosen(of_shown(), is_said, shown.rows());
    let rows: Vec<_> = losses.iter().map(|loss| (loss.of, loss.values.clone())).collect();
    let labels: &[Label<Blame>] = &[
        ("behind", |of| match Circumstance::of_name(&of.cause).filter(|_| !of.is_role) {
            Some(circumstance) => format!("({})", circumstance.short()),
            None => of.cause.clone(),
        }),
        ("who", |of| of.victim.clone()),
        ("for", |of| of.wait.clone()),
        ("on", |of| of.device.clone()),
    ];
    let storms = losses.iter().map(|loss| loss.storms_ns.len().to_string());
    let grid = table(&rows, labels, CAUSES).with(Figures::plain("", "storms", storms)).grid();
    (grid, of_shown().count())
}

/// The parts of a call from its begin to its end, as `verdict` finds them.
const PARTS: [(&str, &str); 9] = [
    ("its own data written", "call_data_ns"),
    ("waiting for the commit", "call_commit_wait_ns"),
    ("commit: others' data, the log", "call_commit_ns"),
    ("commit: flush before", "call_preflush_ns"),
    ("commit: last block", "call_commit_block_ns"),
    ("commit: flush after", "call_postflush_ns"),
    ("its own flush", "call_flush_ns"),
    ("the rest", "call_rest_ns"),
    ("in all", "waited_mean_ns"),
];

/// A column for each kind of call, a row for each part.
fn calls(told: &Told<'_>, shown: &Shown) -> Grid {
    let is_shown = |(wait, values): &&Of<'_, Wait>| {
        values.get("call_rest_ns").is_some()
            && shown.has_device(&wait.device)
            && shown.has_role(&[&wait.victim])
    };
    let kinds: Vec<_> = told.waits.iter().filter(is_shown).take(shown.rows()).collect();
    let parts: Vec<usize> = if kinds.is_empty() { vec![] } else { (0..=PARTS.len()).collect() };
    let name = |part: &usize| PARTS.get(*part).map_or("calls of a commit", |(name, _)| name);
    let listing = Listing::of(&parts).label("part", |part| name(part).to_owned());
    let listing = kinds.iter().fold(listing, |listing, (wait, values)| {
        listing.figure(&wait.victim, &wait.wait, |part| match PARTS.get(*part) {
            Some((_, quantity)) => some_time(values.or_zero(quantity)),
            None => values.get("calls_of_commit").map_or_else(String::new, significant),
        })
    });
    listing.grid()
}

/// The shares that are known stand above the table, and are never rounded up to all.
fn files_heading(told: &Told<'_>) -> String {
    let of = [
        ("files_known_percent", "bytes"),
        ("file_calls_known_percent", "fsyncs"),
        ("file_lost_known_percent", "lost time"),
    ];
    let known = of.iter().filter_map(|(quantity, of)| {
        let percent = (10.0 * told.run.get(quantity)?).floor() / 10.0;
        Some(format!("{} % of {of}", significant(percent)))
    });
    let known: Vec<String> = known.collect();
    match known.is_empty() {
        true => "Files".to_owned(),
        false => format!("Files (name at the time known for {})", known.join(" and ")),
    }
}

/// What was lost in waits for a file.
const FILE_LOST: &str = "file_lost_ns";

const FILES: &[Column] = &[
    ("", "read", "file_read_bytes", bytes),
    ("", "written", "file_write_bytes", bytes),
    ("", "fsyncs", "file_calls_count", show_count),
    ("", "mean", "file_calls_mean_ns", show_time_ns),
    ("", "lost", FILE_LOST, some_time),
];

fn files(told: &Told<'_>, shown: &Shown) -> (Grid, usize) {
    let is_shown = |(of, _): &&Of<'_, File>| {
        shown.has_device(&of.device) && has(&of.file, shown.file.as_deref())
    };
    let said = Said::of(told, shown);
    let is_said = |(of, _): &&Of<'_, File>| {
        let is_it =
            |loss: &&Loss<'_>| loss.file() == Some(of.file.as_str()) && loss.of.device == of.device;
        told.losses.iter().filter(is_it).any(|loss| said.has(loss))
    };
    let of_shown = || told.files.iter().filter(is_shown);
    let rows = chosen(of_shown(), is_said, shown.rows());
    let rows: Vec<_> = rows.into_iter().cloned().collect();
    let is_told = |column: &&Column| {
        column.2 != FILE_LOST || rows.iter().any(|(_, values)| values.or_zero(FILE_LOST) > 0.0)
    };
    let columns: Vec<Column> = FILES.iter().filter(is_told).copied().collect();
    let labels: &[Label<File>] = &[("file", |of| of.file.clone()), ("on", |of| of.device.clone())];
    (table(&rows, labels, &columns).grid(), of_shown().count())
}

/// What else there is to see.
pub(super) fn below(told: &Told<'_>, shown: &Shown) -> String {
    let has_more = told.waits.len() > shown.rows() || told.files.len() > shown.rows();
    let has_calls = told.waits.iter().any(|(_, values)| values.get("call_rest_ns").is_some());
    let stacks = if told.stacks.is_empty() { "" } else { "--by stack the functions, " };
    let top = if has_more { "--top N shows more rows, " } else { "" };
    let calls = if has_calls { "--by call what a call waits for, " } else { "" };
    format!("{top}{calls}{stacks}--all shows every table.")
}
