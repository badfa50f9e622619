//! What is watched, as metrics for Prometheus: totals since the start (`Totals`), written as text,
//! as OpenMetrics or as protobuf with native histograms (`Format`), and a small server that shows
//! them (`serve`).
//!
//! Non-goals: what is kept on disk (the history), names of files and single requests (too many
//! series), encryption and passwords (a reverse proxy's), pushing.
#![forbid(unsafe_code)]

mod address;
mod exposition;
mod family;
mod format;
mod http;
mod metric;
mod names;
mod protobuf;
mod responses;
mod totals;

pub use address::{PublicAddress, hosts};
pub use format::Format;
pub use http::serve;
pub use metric::{Kind, METRICS, Metric, Unit};
pub use server::{Hosts, Server, ServerError};
pub use totals::{Limits, Shared, Totals};
