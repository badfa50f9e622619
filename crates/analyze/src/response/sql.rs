//! What the analysis finds, as standard SQL: for traces that are summarised where they lie, by an
//! engine that is there already (Spark, DuckDB). A test of `lbolt` holds the two to the same
//! figures.
//!
//! Non-goals: running it, and storms.

/// Views of the requests: response time and its parts, origin, size, depth, gaps, seeks.
pub const VIEWS: &str = include_str!("views.sql");

/// Views of these views: counts, sums and histograms by what requests have in common.
pub const SUMMARIES: &str = include_str!("summaries.sql");
