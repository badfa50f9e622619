//! What a request gets: `/metrics`, a plain page at `/`, and nothing else.
//!
//! Non-goals: connections, their limits and names (crate `server`).

use crate::format::Format;
use crate::metric::METRICS;
use crate::totals::Shared;
use server::header::{ACCEPT, HeaderValue, VARY};
use server::{
    Answer, HTML, HeaderMap, Hosts, Server, ServerError, Service, StatusCode, TEXT, Uri, answer,
};
use std::net::SocketAddr;
use std::sync::PoisonError;

/// Totals that are shown.
struct Shown(Shared);

impl Service for Shown {
    const WHAT: &'static str = "metrics";

    fn answer(&self, uri: &Uri, headers: &HeaderMap) -> Answer {
        match uri.path() {
            "/metrics" => metrics(headers, &self.0),
            "/" => answer(StatusCode::OK, HTML, page()),
            _ => answer(StatusCode::NOT_FOUND, TEXT, "Not found: metrics are at /metrics.\n"),
        }
    }
}

/// Shows the totals at an address, from a thread of its own, to requests by these names
/// ([`hosts`](crate::hosts)).
///
/// # Errors
///
/// The address cannot be had, or there are no resources for a thread.
pub fn serve(address: SocketAddr, hosts: Hosts, totals: Shared) -> Result<Server, ServerError> {
    server::serve(address, hosts, Shown(totals))
}

fn metrics(headers: &HeaderMap, totals: &Shared) -> Answer {
    // Several headers of the name are one list.
    let accepts = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let format = Format::accepted(&accepts.collect::<Vec<_>>().join(","));
    let body = totals.lock().unwrap_or_else(PoisonError::into_inner).text(format);
    let mut answer = answer(StatusCode::OK, format.content_type(), body);
    answer.headers_mut().insert(VARY, HeaderValue::from_static("Accept"));
    answer
}

fn page() -> String {
    format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>lbolt</title>\n<h1>lbolt \
         {}</h1>\n<p>{} metrics of disk activity and its users are at <a \
         href=\"/metrics\">/metrics</a>.</p></html>\n",
        env!("CARGO_PKG_VERSION"),
        METRICS.len(),
    )
}
