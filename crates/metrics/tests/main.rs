//! The crate from outside: over HTTP, by Prometheus' own programs, and its documents.

mod documents;
mod http;
mod planted;
mod prometheus;
