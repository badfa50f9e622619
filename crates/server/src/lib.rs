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
pub use http_body_util::Full;
pub use hyper::body::{Bytes, Incoming};
pub use hyper::{HeaderMap, Method, Request, Response, StatusCode, Uri, header};
pub use server::{Server, Service, serve};
