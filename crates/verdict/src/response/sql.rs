//! What is derived of requests, as standard SQL: for traces that are asked where they lie, by an
//! engine that is there already (Spark, DuckDB). A test of `lbolt` counts by them what the analysis
//! counts, and holds the two to the same figures.
//!
//! Non-goals: running it, and what the analysis sums up (that is quicker here, by far).

/// Views of the requests: response time and its parts, origin, size.
pub const VIEWS: &str = include_str!("views.sql");
