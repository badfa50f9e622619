//! A table of the page, made of the same sheets that the terminal shows.
//!
//! Non-goals: what the cells say.

use crate::grid::Cells;
use crate::sheet::Sheet;
use serde::Serialize;

/// A table with what stands over it and under it.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Table {
    /// Over it and those beside it.
    pub title: String,
    /// Over it alone; may be empty.
    pub heading: String,
    /// The headings and the rows.
    #[serde(flatten)]
    pub(crate) cells: Cells,
    /// Where the first column's texts lead, row by row; an empty text leads nowhere.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<String>,
    /// What the columns mean.
    pub legend: Vec<(String, String)>,
    /// Marks and their reasons.
    pub notes: Vec<(String, String)>,
}

impl Table {
    /// The tables of a sheet; what stands under the sheet stands under the last.
    pub(crate) fn of_sheet(sheet: &Sheet) -> Vec<Self> {
        let of_section = |section: &crate::sheet::Section| Self {
            title: sheet.title.clone(),
            heading: section.heading.clone(),
            cells: section.grid.cells(),
            ..Self::default()
        };
        let mut tables: Vec<Self> = sheet.sections.iter().map(of_section).collect();
        tables.retain(|table| !table.cells.rows.is_empty());
        if let Some(last) = tables.last_mut() {
            let before = sheet.before.iter().chain(&sheet.legend);
            last.legend = before.map(|(name, text)| ((*name).to_owned(), text.clone())).collect();
            let said = sheet.said.iter().map(|note| (String::new(), note.clone()));
            last.notes = sheet.notes.entries().chain(said).collect();
        }
        tables
    }
}
