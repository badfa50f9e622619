//! The tables of the first screen: devices, waits, causes and files, a few rows each.
//!
//! Non-goals: sentences.

use super::told::{Told, Values};
use super::{layers, stacks};
use crate::grid::{Entry, Figures, Grid, Labels};
use crate::number::{show_bytes, significant};
use model::circumstance::Circumstance;
use model::record::Finding;
use model::record::subject::Blame;
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
pub(super) fn all(
    told: &Told<'_>,
    findings: &[Finding],
    shown: &Shown,
    width: Option<u16>,
) -> Vec<(String, Grid)> {
    let tables = [
        ("Devices".to_owned(), devices(told, findings, shown)),
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

pub(super) fn column(head: &str, texts: Vec<String>) -> Figures {
    let entries = texts.into_iter().map(|text| Entry { text, mark: String::new() }).collect();
    Figures { group: String::new(), head: head.to_owned(), entries }
}

fn time(ns: Option<f64>) -> String {
    ns.map_or_else(String::new, show_time_ns)
}

/// Nothing where there is none.
fn some_time(ns: f64) -> String {
    if ns > 0.0 { show_time_ns(ns) } else { String::new() }
}

pub(super) fn bytes(bytes: f64) -> String {
    if bytes > 0.0 { show_bytes(bytes) } else { String::new() }
}

fn devices(told: &Told<'_>, findings: &[Finding], shown: &Shown) -> Grid {
    let mut names: Vec<&str> = Vec::new();
    let of = |finding: &Finding| match finding.subject.by_class() {
        Some(("device", class)) => Some(class.to_owned()),
        _ => None,
    };
    for finding in findings {
        match finding.subject.by_class() {
            Some(("device", class)) if shown.has_device(class) && !names.contains(&class) => {
                names.push(class);
            }
            _ => {}
        }
    }
    let value = |name: &str, quantity: &str| {
        let is_it = |finding: &&Finding| {
            finding.quantity == quantity && of(finding).as_deref() == Some(name)
        };
        findings.iter().find(is_it).and_then(|finding| finding.value)
    };
    // What mostly serves a device above is shown as a layer of that one.
    let serves = |name: &str| {
        let beneath = value(name, "beneath_count").unwrap_or(0.0);
        beneath > 0.5 * value(name, "requested_count").unwrap_or(0.0)
    };
    if shown.by.is_none() && shown.device.is_none() {
        names.retain(|name| !(serves(name) && layers::is_layer(told, name)));
    }
    names.truncate(shown.rows());
    let figures = |head: &str, quantity: &str, show: &dyn Fn(f64) -> String| {
        let text = |name: &&str| value(name, quantity).map_or_else(String::new, show);
        column(head, names.iter().map(text).collect())
    };
    let count = |value: f64| format!("{value:.0}");
    let labels = vec![Labels { head: "device", texts: texts(&names) }];
    let figures = vec![
        figures("requests", "requested_count", &count),
        figures("bytes", "requested_bytes", &|value| bytes(value)),
        figures("response p50", "response_p50_ns", &show_time_ns),
        figures("p99", "response_p99_ns", &show_time_ns),
        figures("depth", "depth_mean", &significant),
    ];
    Grid::new(labels, figures)
}

fn texts(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn waits(told: &Told<'_>, shown: &Shown) -> Grid {
    let is_shown = |(wait, _): &&(&model::record::subject::Wait, Values<'_>)| {
        shown.has_device(&wait.device) && shown.has_role(&[&wait.victim])
    };
    let rows: Vec<_> = told.waits.iter().filter(is_shown).take(shown.rows()).collect();
    let lost = |wait: &model::record::subject::Wait| -> f64 {
        let of = told.losses.iter().filter(|loss| loss.is_in(wait));
        of.fold(0.0, |sum, loss| sum + loss.lost_ns())
    };
    let mut labels = vec![
        Labels { head: "who", texts: rows.iter().map(|(w, _)| cut(&w.victim)).collect() },
        Labels {
            head: "for",
            texts: rows.iter().map(|(w, _)| cut_to(WAIT_CHARS, &w.wait)).collect(),
        },
    ];
    labels.extend(on(rows.iter().map(|(wait, _)| wait.device.as_str())));
    let of = |quantity: &str, show: &dyn Fn(Option<f64>) -> String| -> Vec<String> {
        rows.iter().map(|(_, values)| show(values.get(quantity))).collect()
    };
    let count = |value: Option<f64>| value.map_or_else(String::new, |value| format!("{value:.0}"));
    let figures = vec![
        column("waits", of("waits_count", &count)),
        column("mean", of("waited_mean_ns", &time)),
        column("in calm", of("calm_mean_ns", &time)),
        column("in all", of("waited_ns", &time)),
        column("lost", rows.iter().map(|(w, _)| some_time(lost(w))).collect()),
    ];
    Grid::new(labels, figures)
}

/// On which device each row is, where not all are on one.
fn on<'d>(mut devices: impl Iterator<Item = &'d str> + Clone) -> Option<Labels> {
    let texts = devices.clone().map(cut).collect();
    let first = devices.next()?;
    devices.any(|device| device != first).then_some(Labels { head: "on", texts })
}

fn causes(told: &Told<'_>, shown: &Shown) -> Grid {
    let is_shown = |loss: &&super::told::Loss<'_>| {
        let of = loss.of;
        shown.has_device(&of.device)
            && loss.is_of(shown)
            && loss.values.or_zero("lost_percent") >= 1.0
    };
    let rows: Vec<_> = told.losses.iter().filter(is_shown).take(shown.rows()).collect();
    let cause = |of: &Blame| match Circumstance::of_name(&of.cause).filter(|_| !of.is_role) {
        Some(circumstance) => format!("({})", circumstance.short()),
        None => cut(&of.cause),
    };
    let mut labels = vec![
        Labels { head: "behind", texts: rows.iter().map(|loss| cause(loss.of)).collect() },
        Labels { head: "who", texts: rows.iter().map(|loss| cut(&loss.of.victim)).collect() },
        Labels {
            head: "for",
            texts: rows.iter().map(|loss| cut_to(WAIT_CHARS, &loss.of.wait)).collect(),
        },
    ];
    labels.extend(on(rows.iter().map(|loss| loss.of.device.as_str())));
    let percent =
        |value: Option<f64>| value.map_or_else(String::new, |value| format!("{value:.0} %"));
    let lost = |loss: &&&super::told::Loss<'_>| {
        let finding = loss.values.finding("lost_ns");
        let half = finding.and_then(|found| Some((found.high? - found.low?) / 2.0));
        half.map_or_else(String::new, |half| format!("± {}", show_time_ns(half)))
    };
    let figures = vec![
        column("lost", rows.iter().map(|loss| time(Some(loss.lost_ns()))).collect()),
        column("", rows.iter().map(|loss| lost(&loss)).collect()),
        column("of its", rows.iter().map(|l| percent(l.values.get("lost_percent"))).collect()),
        column("storms", rows.iter().map(|l| l.storms_ns.len().to_string()).collect()),
    ];
    Grid::new(labels, figures)
}

/// The parts of a call from its begin to its end, as `analyze::verdict` finds them.
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
    let is_shown = |(wait, values): &&(&model::record::subject::Wait, Values<'_>)| {
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

fn files(told: &Told<'_>, shown: &Shown) -> Grid {
    let is_shown = |(file, _): &&(&model::record::subject::File, Values<'_>)| {
        shown.has_device(&file.device) && has(&file.file, shown.file.as_deref())
    };
    let rows: Vec<_> = told.files.iter().filter(is_shown).take(shown.rows()).collect();
    let texts = rows.iter().map(|(file, _)| cut_path(&file.file)).collect();
    let mut labels = vec![Labels { head: "file", texts }];
    labels.extend(on(rows.iter().map(|(file, _)| file.device.as_str())));
    let of = |quantity: &str, show: &dyn Fn(f64) -> String| -> Vec<String> {
        let text =
            |(_, values): &&(_, Values<'_>)| values.get(quantity).map_or_else(String::new, show);
        rows.iter().map(text).collect()
    };
    let figures = vec![
        column("read", of("file_read_bytes", &bytes)),
        column("written", of("file_write_bytes", &bytes)),
        column("fsyncs", of("file_calls_count", &|value| format!("{value:.0}"))),
        column("mean", of("file_calls_mean_ns", &show_time_ns)),
    ];
    Grid::new(labels, figures)
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
    let stacks = if told.stacks.is_empty() { "" } else { "--by stack by which functions, " };
    let top = if has_more { "--top N shows more rows, " } else { "" };
    let calls = if has_calls { "--by call what a call waits for, " } else { "" };
    format!("{top}{calls}{stacks}--all every table.")
}
