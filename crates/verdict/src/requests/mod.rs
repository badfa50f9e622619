//! Requests, analysed: the one pass over rows behind the summary of a trace, the response times by
//! class, the stretches that `compare` takes and the times that `simulate` holds a model against.
//!
//! A row adds a [`traffic::Share`] to the [`traffic::Traffic`] of each class that it belongs to:
//! counts, sums and a histogram, which merge. Flush sequences are put together again on the way
//! ([`sequences`]).
//!
//! Non-goals: which classes there are beyond device and operation (`response`, `compare`).

mod by_class;
mod counts;
pub(crate) mod sequences;
mod summary;
mod summed;
mod traffic;

pub(crate) use by_class::ByClass;
pub use by_class::{Class, Figures};
pub(crate) use counts::zero_finding;
pub use counts::{RowCounts, count_findings};
pub use summary::TraceSummary;
pub use summed::summed_findings;
pub(crate) use traffic::{Share, SmallTraffic, Tally, Traffic, at_quantile, found, is_response};
