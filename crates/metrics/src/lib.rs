//! What is watched, as metrics: totals since the start (`Totals`). A small server shows them to
//! Prometheus (`serve`) as text, as OpenMetrics or as protobuf with native histograms (`Format`).
//! An export sends them to a receiver of OTLP (`Export`).
//!
//! Non-goals: what is kept on disk (the history), names of files and single requests (too many
//! series), encryption and passwords (a reverse proxy's, a collector's).
#![forbid(unsafe_code)]

mod address;
mod exposition;
mod family;
mod format;
mod http;
mod metric;
mod names;
mod otlp;
mod protobuf;
mod push;
mod responses;
mod totals;

pub use address::{PublicAddress, hosts};
pub use format::Format;
pub use http::serve;
pub use metric::{Kind, METRICS, Metric, Unit};
pub use push::{Endpoint, EndpointError, Export, Pace};
pub use server::{Hosts, Server, ServerError};
pub use totals::{Limits, Shared, Totals};
