//! What an experiment is to the report: whether a subject is of it, its tables, and the labels of
//! its cells where a table says where their time went.

use crate::chart::Chart;
use crate::screen::{joined, paragraphs};
use crate::sheet::{NOTHING, Sheet};
use model::record::{Finding, Subject};
use model::units::show_size;

/// What an experiment's first screen is.
pub(crate) enum Screen {
    /// Its answer and a table.
    Sheet(fn(&Run<'_>) -> Sheet),
    /// Drawn for a terminal of a width in columns, within a number of lines.
    Drawn(fn(&Run<'_>, Option<u16>, usize) -> String),
}

/// All tables, where there is more than the sheets.
pub(crate) struct Whole {
    /// For a terminal of a width in columns.
    pub(crate) text: fn(&Run<'_>, Option<u16>) -> String,
    pub(crate) markdown: fn(&Run<'_>) -> String,
}

/// A row of the table of experiments.
pub(crate) struct Experiment {
    /// Its name on the page.
    pub(crate) name: &'static str,
    /// Its heading there.
    pub(crate) title: &'static str,
    /// Its answer, a paragraph each.
    pub(crate) sentences: fn(&Run<'_>) -> Vec<String>,
    /// All its tables.
    pub(crate) sheets: fn(&Run<'_>) -> Vec<Sheet>,
    /// Its charts, of all runs that measured it.
    pub(crate) charts: fn(&[Named<'_>]) -> Vec<Chart>,
    /// Whether a subject is a cell of it.
    pub(crate) is_cell: fn(&Subject) -> bool,
    pub(crate) screen: Screen,
    /// None: its sheets.
    pub(crate) whole: Option<Whole>,
    /// The table of where its cells' time went; none where several streams share a pass, whose
    /// time is nobody's alone.
    pub(crate) time: Option<TimeTable>,
}

/// A table of where the time of an experiment's cells went.
pub(crate) struct TimeTable {
    pub(crate) title: &'static str,
    /// What names a cell there: headings, and the subject's keys.
    pub(crate) labels: &'static [(&'static str, &'static str)],
}

impl Experiment {
    /// Whether any of its cells was measured, or was to be.
    pub(crate) fn has_findings(&self, findings: &[Finding]) -> bool {
        findings.iter().any(|finding| finding.is_rate() && (self.is_cell)(&finding.subject))
    }

    /// All tables for a terminal of `width` columns.
    pub(crate) fn table(&self, run: &Run<'_>, width: Option<u16>) -> String {
        match &self.whole {
            Some(whole) => (whole.text)(run, width),
            None => self.each(run, |sheet| sheet.text(width)),
        }
    }

    /// All tables as Markdown.
    pub(crate) fn markdown(&self, run: &Run<'_>) -> String {
        match &self.whole {
            Some(whole) => (whole.markdown)(run),
            None => self.each(run, Sheet::markdown),
        }
    }

    fn each(&self, run: &Run<'_>, text: impl Fn(&Sheet) -> String) -> String {
        (self.sheets)(run).iter().map(text).collect::<Vec<_>>().join("\n")
    }

    /// The answer and the main table, for a terminal of `width` columns, in `lines` lines.
    pub(crate) fn first(&self, run: &Run<'_>, width: Option<u16>, lines: usize) -> String {
        match self.screen {
            Screen::Drawn(draw) => draw(run, width, lines),
            Screen::Sheet(sheet) => match sheet(run) {
                sheet if sheet.rows() == 0 => NOTHING.into(),
                sheet => {
                    let sentences = paragraphs(&(self.sentences)(run), width);
                    joined([sentences, sheet.text(width)])
                }
            },
        }
    }
}

/// What a run leaves to be printed.
pub struct Run<'a> {
    /// All findings.
    pub findings: &'a [Finding],
    /// Names in the order of the throughput matrix's rows.
    pub rows: &'a [String],
}

/// A run by its name; nothing where there is only one.
pub(crate) struct Named<'a> {
    pub(crate) name: &'a str,
    pub(crate) run: Run<'a>,
}

impl Named<'_> {
    /// A name within this run.
    pub(crate) fn within(&self, name: &str) -> String {
        match (self.name, name) {
            ("", name) => name.to_owned(),
            (run, "") => run.to_owned(),
            (run, name) => format!("{run}: {name}"),
        }
    }
}

/// What a label says of a subject.
pub(crate) fn label(subject: &Subject, key: &str) -> String {
    let text = subject.get(key).unwrap_or_default();
    match key {
        "block_bytes" => text.parse().map_or(text, show_size),
        "direct" if text == "1" => "O_DIRECT".into(),
        "direct" => "buffered".into(),
        _ => text,
    }
}
