//! A setting in which the two sides of a comparison differ beside their numbers.
//!
//! Non-goals: finding them (`analyze::compare::setting`).

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
