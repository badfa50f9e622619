//! What is kept of rows that others wrote, at the most: whatever a file names, memory is bounded.
//!
//! Non-goals: the sentence of a refusal (`lbolt::run::fleet`).

/// Hosts, lines or other names that a table is kept of at the most: each has some hundred bytes to
/// some kilobytes there, and none that is known has a tenth of it.
pub const NAMES_MOST: usize = 1 << 16;

/// What rows name more of than is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bound {
    /// How many are kept.
    pub most: usize,
    /// Of what: `hosts`.
    pub of: &'static str,
}

impl Bound {
    /// The first bound that its count is beyond: the count, the bound, and what is counted.
    pub(crate) fn exceeded<const N: usize>(
        counts: [(usize, usize, &'static str); N],
    ) -> Option<Self> {
        let beyond = counts.into_iter().find(|(count, most, _)| count > most);
        beyond.map(|(_, most, of)| Self { most, of })
    }
}
