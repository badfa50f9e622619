//! A title, tables, and what stands under them: a legend of the columns, and the footnotes of all.
//! Non-goals: what the tables hold.

use crate::footnote::Footnotes;
use crate::grid::{Grid, escape_markdown};
use crate::number::{CANNOT_TELL, WOULD_TELL};
use crate::words::{facts, hang};

/// What the papers print where there is no number.
pub(crate) const NOT_MEASURED: &str = "n.m.";

/// What stands for a table without columns.
pub(crate) const NOTHING: &str = "Nothing was measured.\n";

/// A table of a sheet, under a heading of its own if the sheet has several.
#[derive(Debug)]
pub(crate) struct Section {
    pub(crate) heading: String,
    pub(crate) grid: Grid,
}

/// What is printed in one piece.
#[derive(Debug, Default)]
pub struct Sheet {
    pub(crate) title: String,
    /// What must be known before the tables: a name and a sentence.
    pub(crate) before: Vec<(&'static str, String)>,
    pub(crate) sections: Vec<Section>,
    /// What the columns mean: a name and a sentence.
    pub(crate) legend: Vec<(&'static str, String)>,
    pub(crate) notes: Footnotes,
    /// Paragraphs under all.
    pub(crate) said: Vec<String>,
    /// What would tell where a cell cannot; empty: more passes.
    pub(crate) would_tell: String,
}

impl Sheet {
    pub(crate) fn of(title: String, grid: Grid, notes: Footnotes) -> Self {
        let sections = vec![Section { heading: String::new(), grid }];
        Self { title, sections, notes, ..Self::default() }
    }

    /// With more paragraphs under all.
    pub fn with_notes(mut self, notes: impl IntoIterator<Item = String>) -> Self {
        self.said.extend(notes);
        self
    }

    /// The table of a sheet that has one.
    pub(crate) fn grid(&self) -> Option<&Grid> {
        self.sections.first().map(|section| &section.grid)
    }

    /// For a terminal of `limit` columns.
    pub fn text(&self, limit: Option<u16>) -> String {
        if self.is_empty() {
            return NOTHING.into();
        }
        let below = [
            facts(&self.legend, limit),
            self.notes.text(limit)
                + &self
                    .explanation()
                    .map(|(word, text)| hang(&word, text, limit))
                    .collect::<String>(),
            self.said.iter().map(|note| hang("", note, limit)).collect(),
        ];
        let tables = self.sections.iter().map(|Section { heading, grid }| match heading.as_str() {
            "" => grid.text(limit),
            heading => format!("{}{}", hang("", heading, limit), grid.text(limit)),
        });
        let below = below.into_iter().filter(|text| !text.is_empty());
        let before = Some(facts(&self.before, limit)).filter(|text| !text.is_empty());
        let body: Vec<String> = before.into_iter().chain(tables).chain(below).collect();
        format!("{}\n{}", hang("", &self.title, limit), body.join("\n"))
    }

    /// The same as Markdown.
    pub fn markdown(&self) -> String {
        if self.is_empty() {
            return NOTHING.into();
        }
        let below = [
            listed(&self.legend),
            self.notes.markdown()
                + &self
                    .explanation()
                    .map(|(word, text)| format!("- {word}{}\n", escape_markdown(text)))
                    .collect::<String>(),
            markdown_paragraphs(self.said.clone()).join("\n"),
        ];
        let tables = self.sections.iter().map(|Section { heading, grid }| match heading.as_str() {
            "" => grid.markdown(),
            heading => format!("{}\n\n{}", escape_markdown(heading), grid.markdown()),
        });
        let below = below.into_iter().filter(|text| !text.is_empty());
        let before = Some(listed(&self.before)).filter(|text| !text.is_empty());
        let body: Vec<String> = before.into_iter().chain(tables).chain(below).collect();
        format!("**{}**\n\n{}", escape_markdown(self.title.trim()), body.join("\n"))
    }

    pub(crate) fn rows(&self) -> usize {
        self.sections.iter().map(|section| section.grid.rows()).sum()
    }

    /// Whether none of its tables becomes several for a terminal of `limit` columns.
    pub(crate) fn fits(&self, limit: Option<u16>) -> bool {
        self.sections.iter().all(|section| section.grid.fits(limit))
    }

    fn is_empty(&self) -> bool {
        self.sections.iter().all(|section| section.grid.is_empty())
    }

    /// What `n.m.` means, where a cell says it and no footnote says why; and what would tell where
    /// one says that it cannot.
    fn explanation(&self) -> impl Iterator<Item = (String, &str)> {
        let bare = |section: &Section| section.grid.has_bare(NOT_MEASURED);
        let open = |section: &Section| section.grid.says(CANNOT_TELL);
        let would_tell = if self.would_tell.is_empty() { WOULD_TELL } else { &self.would_tell };
        let lines = [
            (NOT_MEASURED, "not measured", self.sections.iter().any(bare)),
            (CANNOT_TELL, would_tell, self.sections.iter().any(open)),
        ];
        let told = lines.into_iter().filter(|(.., is_told)| *is_told);
        told.map(|(word, text, _)| (format!("{word} "), text))
    }
}

/// Sentences as Markdown, a paragraph each, in which names of others are text.
pub(crate) fn markdown_paragraphs(sentences: impl IntoIterator<Item = String>) -> Vec<String> {
    sentences.into_iter().map(|sentence| escape_markdown(&sentence) + "\n").collect()
}

/// The lines of a legend.
pub(crate) fn lines<'a>(
    lines: impl IntoIterator<Item = &'a (&'static str, &'static str)>,
) -> Vec<(&'static str, String)> {
    lines.into_iter().map(|(name, text)| (*name, (*text).to_owned())).collect()
}

/// Names and sentences as a Markdown list.
fn listed(pairs: &[(&str, String)]) -> String {
    let line = |(name, text): &(&str, String)| {
        format!("- {}: {}\n", escape_markdown(name), escape_markdown(text))
    };
    pairs.iter().map(line).collect()
}
