//! A small HTTP server of one thread, whose connections are few and short: for metrics, and for a
//! trace that is explored. It holds hyper and tokio, so that nothing else needs to know them.
//!
//! Non-goals: what a request gets (who serves says it), encryption, passwords.
#![forbid(unsafe_code)]

mod connections;
mod error;
mod hosts;
mod server;

pub use error::ServerError;
pub use hosts::Hosts;
pub use hyper::body::Bytes;
pub use hyper::{HeaderMap, StatusCode, Uri, header};
pub use server::{Answer, HTML, Server, Service, TEXT, answer, serve};
