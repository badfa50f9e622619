//! The tables of the first screen: devices, waits, causes and files, a few rows each.
//!
//! Non-goals: sentences.

use super::told::{Loss, Of, Told, Values};
use super::{layers, stacks};
use crate::grid::{Figures, Grid, Labels};
use crate::number::{show_bytes, significant};
use crate::requests::show_count;
use crate::rows::Column;
use model::circumstance::Circumstance;
use model::record::Finding;
use model::record::subject::{Blame, Class, File, Wait};
use model::units::show_time_ns;

/// What of a trace is shown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Shown {
    /// Rows of each table at the most; none: as many as the screen holds.
    pub top: Option<usize>,
    /// Words that the name of a device, a role and a file are to have; all where none is given.
    pub device: Option<String>,
    /// Of victims and causes.
    pub role: Option<String>,
    /// Processes that have roles of their own: one of these names.
    pub processes: Option<Vec<String>>,
    /// Of files.
    pub file: Option<String>,
    /// Only this table: one of [`TABLES`]; else the first rows of the most important ones.
    pub by: Option<String>,
}

/// Rows of a table where the screen has room for more.
pub(super) const ROWS: usize = 5;

/// The tables by name.
pub const TABLES: [&str; 7] = ["device", "layer", "wait", "cause", "file", "call", "stack"];

/// These are shown only where they are requested.
const ON_REQUEST: [&str; 2] = ["call", "stack"];

impl Shown {
    pub(super) fn has_device(&self, name: &str) -> bool {
        has(name, self.device.as_deref())
    }

    /// Rows of each table.
    pub(super) fn rows(&self) -> usize {
        self.top.unwrap_or(ROWS)
    }

    /// Whether anything is left out by its name.
    pub(super) fn selects(&self) -> bool {
        [&self.device, &self.role, &self.file].into_iter().any(Option::is_some)
            || self.processes.is_some()
    }

    /// Whether those who waited, or for whom, are selected at all.
    pub(super) fn selects_roles(&self) -> bool {
        self.role.is_some() || self.processes.is_some()
    }

    pub(super) fn has_role(&self, names: &[&str]) -> bool {
        let is_process = |name: &&str| {
            self.processes.as_ref().is_none_or(|processes| processes.iter().any(|p| p == name))
        };
        names.iter().any(|name| has(name, self.role.as_deref())) && names.iter().any(is_process)
    }
}

fn has(name: &str, word: Option<&str>) -> bool {
    word.is_none_or(|word| name.contains(word))
}

/// Characters of a name that a table has room for; of a file its end tells more.
const NAME_CHARS: usize = 28;
/// Of what is waited for, too.
const WAIT_CHARS: usize = 22;
const FILE_CHARS: usize = 48;

/// The columns that go first where a terminal is narrow; the one without a head is a bound.
const LESS_NEEDED: [&str; 11] = [
    "depth", "requests", "storms", "in all", "on", "waits", "mean", "fsyncs", "of its", "response",
    "",
];

/// The tables that have rows, with their headings, for a terminal of `width` columns.
pub(super) fn all(told: &Told<'_>, shown: &Shown, width: Option<u16>) -> Vec<(String, Grid)> {
    let tables = [
        ("Devices".to_owned(), devices(told, shown)),
        ("Layers: where the time of their requests goes".to_owned(), layers::table(told, shown)),
        ("Who waited".to_owned(), waits(told, shown)),
        ("Behind whom".to_owned(), causes(told, shown)),
        (files_heading(told), files(told, shown)),
        ("What a call waits for, on average".to_owned(), calls(told, shown)),
        (
            "By which functions requests were queued, or threads slept".to_owned(),
            stacks::table(told, shown),
        ),
    ];
    let is_wanted =
        |name: &str| shown.by.as_deref().map_or(!ON_REQUEST.contains(&name), |by| by == name);
    let tables = TABLES.into_iter().zip(tables).filter(|(name, _)| is_wanted(name));
    let with_rows = tables.map(|(_, table)| table).filter(|(_, grid)| grid.rows() > 0);
    with_rows.map(|(heading, grid)| (heading, grid.narrowed(width, &LESS_NEEDED))).collect()
}

/// A column of texts.
fn column(head: &str, texts: Vec<String>) -> Figures {
    Figures::plain("", head, texts.into_iter())
}

/// A label of rows: its head, and its text of what a row is of.
pub(super) type Label<T> = (&'static str, fn(&T) -> String);

/// Labels that are left out where all rows have the same.
const WHERE: [&str; 2] = ["of", "on"];
/// The head of the column of bounds: half the interval of what stands before it.
const BOUND: &str = "";

/// A table of some rows, by the columns' quantities.
pub(super) fn grid<T>(rows: &[Of<'_, T>], labels: &[Label<T>], columns: &[Column]) -> Grid {
    let label = |(head, text): &Label<T>| Labels {
        head,
        texts: rows.iter().map(|(of, _)| text(of)).collect(),
    };
    let tells = |labels: &Labels| {
        !WHERE.contains(&labels.head) || labels.texts.iter().any(|text| *text != labels.texts[0])
    };
    let figures = |(group, head, quantity, show): &Column| {
        let text = |(_, values): &Of<'_, T>| match (values.finding(quantity), *head) {
            (Some(found), BOUND) => half(found).map(|ns| format!("± {}", show(ns))),
            (found, _) => found.and_then(|found| found.value).map(show),
        };
        Figures::plain(group, head, rows.iter().map(|row| text(row).unwrap_or_default()))
    };
    let labels = labels.iter().map(label).filter(tells).collect();
    Grid::new(labels, columns.iter().map(figures).collect())
}

fn half(finding: &Finding) -> Option<f64> {
    Some((finding.high? - finding.low?) / 2.0)
}

/// Nothing where there is none.
pub(super) fn some_time(ns: f64) -> String {
    if ns > 0.0 { show_time_ns(ns) } else { String::new() }
}

pub(super) fn bytes(bytes: f64) -> String {
    if bytes > 0.0 { show_bytes(bytes) } else { String::new() }
}

const DEVICES: &[Column] = &[
    ("", "requests", "requested_count", show_count),
    ("", "bytes", "requested_bytes", bytes),
    ("", "response p50", "response_p50_ns", show_time_ns),
    ("", "p99", "response_p99_ns", show_time_ns),
    ("", "depth", "depth_mean", significant),
];

fn devices(told: &Told<'_>, shown: &Shown) -> Grid {
    // What mostly serves a device above is shown as a layer of that one.
    let serves = |values: &Values<'_>| {
        values.or_zero("beneath_count") > 0.5 * values.or_zero("requested_count")
    };
    let shows_all = shown.by.is_some() || shown.device.is_some();
    let is_shown = |(of, values): &&Of<'_, Class>| {
        let is_layer = !shows_all && serves(values) && layers::is_layer(told, &of.class);
        shown.has_device(&of.class) && !is_layer
    };
    let rows: Vec<_> = told.devices.iter().filter(is_shown).take(shown.rows()).cloned().collect();
    grid(&rows, &[("device", |of| of.class.clone())], DEVICES)
}

const WAITS: &[Column] = &[
    ("", "waits", "waits_count", show_count),
    ("", "mean", "waited_mean_ns", show_time_ns),
    ("", "in calm", "calm_mean_ns", show_time_ns),
    ("", "in all", "waited_ns", show_time_ns),
];

fn waits(told: &Told<'_>, shown: &Shown) -> Grid {
    let is_shown = |(wait, _): &&Of<'_, Wait>| {
        shown.has_device(&wait.device) && shown.has_role(&[&wait.victim])
    };
    let rows: Vec<_> = told.waits.iter().filter(is_shown).take(shown.rows()).cloned().collect();
    let lost = |(wait, _): &Of<'_, Wait>| {
        let of = told.losses.iter().filter(|loss| loss.is_in(wait));
        some_time(of.fold(0.0, |sum, loss| sum + loss.lost_ns()))
    };
    let labels: &[Label<Wait>] = &[
        ("who", |wait| cut(&wait.victim)),
        ("for", |wait| cut_to(WAIT_CHARS, &wait.wait)),
        ("on", |wait| cut(&wait.device)),
    ];
    grid(&rows, labels, WAITS).with_figures(column("lost", rows.iter().map(lost).collect()))
}

const CAUSES: &[Column] = &[
    ("", "lost", "lost_ns", show_time_ns),
    ("", BOUND, "lost_ns", show_time_ns),
    ("", "of its", "lost_percent", |percent| format!("{percent:.0} %")),
];

fn causes(told: &Told<'_>, shown: &Shown) -> Grid {
    let is_shown = |loss: &&Loss<'_>| {
        shown.has_device(&loss.of.device)
            && loss.is_of(shown)
            && loss.values.or_zero("lost_percent") >= 1.0
    };
    let losses: Vec<_> = told.losses.iter().filter(is_shown).take(shown.rows()).collect();
    let rows: Vec<_> = losses.iter().map(|loss| (loss.of, loss.values.clone())).collect();
    let labels: &[Label<Blame>] = &[
        ("behind", |of| match Circumstance::of_name(&of.cause).filter(|_| !of.is_role) {
            Some(circumstance) => format!("({})", circumstance.short()),
            None => cut(&of.cause),
        }),
        ("who", |of| cut(&of.victim)),
        ("for", |of| cut_to(WAIT_CHARS, &of.wait)),
        ("on", |of| cut(&of.device)),
    ];
    let storms = losses.iter().map(|loss| loss.storms_ns.len().to_string());
    grid(&rows, labels, CAUSES).with_figures(column("storms", storms.collect()))
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
    let rows: Vec<_> = told.waits.iter().filter(is_shown).take(shown.rows()).collect();
    let mut labels: Vec<String> = PARTS.iter().map(|(part, _)| (*part).to_owned()).collect();
    labels.push("calls of a commit".to_owned());
    let figures = rows.iter().map(|(wait, values)| {
        let mut texts: Vec<String> =
            PARTS.iter().map(|(_, quantity)| some_time(values.or_zero(quantity))).collect();
        texts.push(values.get("calls_of_commit").map_or_else(String::new, significant));
        Figures { group: cut(&wait.victim), ..column(&wait.wait, texts) }
    });
    let figures: Vec<Figures> = figures.collect();
    let texts = if figures.is_empty() { Vec::new() } else { labels };
    Grid::new(vec![Labels { head: "part", texts }], figures)
}

/// The shares that are known stand above the table, and are never rounded up to all.
fn files_heading(told: &Told<'_>) -> String {
    let of = [("files_known_percent", "bytes"), ("file_calls_known_percent", "fsyncs")];
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

const FILES: &[Column] = &[
    ("", "read", "file_read_bytes", bytes),
    ("", "written", "file_write_bytes", bytes),
    ("", "fsyncs", "file_calls_count", show_count),
    ("", "mean", "file_calls_mean_ns", show_time_ns),
];

fn files(told: &Told<'_>, shown: &Shown) -> Grid {
    let is_shown = |(of, _): &&Of<'_, File>| {
        shown.has_device(&of.device) && has(&of.file, shown.file.as_deref())
    };
    let rows: Vec<_> = told.files.iter().filter(is_shown).take(shown.rows()).cloned().collect();
    grid(&rows, &[("file", |of| cut_path(&of.file)), ("on", |of| cut(&of.device))], FILES)
}

/// A name's beginning.
pub(super) fn cut(name: &str) -> String {
    cut_to(NAME_CHARS, name)
}

fn cut_to(chars: usize, name: &str) -> String {
    match name.char_indices().nth(chars) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.to_owned(),
    }
}

/// A path's end.
fn cut_path(path: &str) -> String {
    let count = path.chars().count();
    match count.checked_sub(FILE_CHARS) {
        Some(over) if over > 0 => format!("…{}", path.chars().skip(over).collect::<String>()),
        _ => path.to_owned(),
    }
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
