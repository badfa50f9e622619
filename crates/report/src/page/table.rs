//! A table of the page, made of the same sheets and listings that the terminal shows.
//!
//! Non-goals: what the cells say.

use crate::grid::Cells;
use crate::listing::Listing;
use crate::sheet::Sheet;
use serde::Serialize;

/// A table with what stands over it and under it.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Table {
    /// Over it and those beside it.
    pub title: String,
    /// Over it alone; may be empty.
    pub heading: String,
    /// Headings that neighbours share, each with the number of its columns; empty where there are
    /// none.
    pub groups: Vec<(String, usize)>,
    /// The columns' headings.
    pub heads: Vec<String>,
    /// How many columns are labels; the others are numbers.
    pub labels: usize,
    /// Whether the last column is a remark.
    pub has_remarks: bool,
    /// A text for each column.
    pub rows: Vec<Vec<String>>,
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
            ..section.grid.cells().into()
        };
        let mut tables: Vec<Self> = sheet.sections.iter().map(of_section).collect();
        tables.retain(|table| !table.rows.is_empty());
        if let Some(last) = tables.last_mut() {
            let before = sheet.before.iter().chain(&sheet.legend);
            last.legend = before.map(|(name, text)| ((*name).to_owned(), text.clone())).collect();
            last.notes = sheet.notes.entries().collect();
        }
        tables
    }

    /// A listing as a table.
    pub(crate) fn of_listing(listing: &Listing) -> Self {
        let notes = listing.notes.iter().map(|note| (String::new(), note.clone())).collect();
        Self { title: listing.title.clone(), notes, ..listing.grid().cells().into() }
    }
}

impl From<Cells> for Table {
    fn from(cells: Cells) -> Self {
        let Cells { groups, heads, labels, has_remarks, rows } = cells;
        Self { groups, heads, labels, has_remarks, rows, ..Self::default() }
    }
}
