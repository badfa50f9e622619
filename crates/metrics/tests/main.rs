//! The crate from outside: over HTTP, by Prometheus' own tools, and its documents.

mod http;
