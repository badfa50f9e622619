//! A setting in which the two sides of a comparison differ beside their numbers.
//!
//! Non-goals: finding them (`analyze::compare::setting`).

use crate::page::table::Table;

/// What differs, and what it is on either side.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Setting {
    /// What differs.
    pub name: String,
    /// On side A.
    pub a: String,
    /// On side B.
    pub b: String,
}

impl std::fmt::Display for Setting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {} in A, {} in B", self.name, self.a, self.b)
    }
}

/// All of them as a table under a title that other tables may share; none where nothing differs.
pub(crate) fn table(title: &str, settings: &[Setting]) -> Option<Table> {
    settings.first()?;
    let row =
        |setting: &Setting| [&setting.name, &setting.a, &setting.b].map(Clone::clone).to_vec();
    Some(Table {
        title: title.to_owned(),
        heading: "What differs between the sides besides their numbers".into(),
        heads: ["", "A", "B"].map(Into::into).to_vec(),
        // All three are texts.
        labels: 3,
        rows: settings.iter().map(row).collect(),
        ..Table::default()
    })
}
