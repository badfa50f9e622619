//! What of a trace is shown: how many rows, and of which devices, roles and files.
//!
//! Non-goals: the tables.

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
    /// Only this table: one of [`super::TABLES`]; else the first rows of the most important ones.
    pub by: Option<String>,
}

/// Rows of a table where the screen has room for more.
pub(super) const ROWS: usize = 5;

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

pub(super) fn has(name: &str, word: Option<&str>) -> bool {
    word.is_none_or(|word| name.contains(word))
}
