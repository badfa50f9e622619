//! The crate from outside: over HTTP, by Prometheus' own programs, and its documents.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test")]

mod documents;
mod http;
mod kubernetes;
mod otlp;
mod planted;
mod prometheus;
mod unit;
mod worst;
