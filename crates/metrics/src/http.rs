//! What a request gets: `/metrics`, a plain page at `/`, and nothing else.
//!
//! Non-goals: connections, their limits and names (crate `server`).

use crate::error::MetricsError;
use crate::format::Format;
use crate::metric::METRICS;
use crate::totals::Shared;
use server::header::{ACCEPT, ALLOW, CONTENT_TYPE, HeaderValue, VARY};
use server::{
    Bytes, Full, HeaderMap, Hosts, Incoming, Method, Request, Response, Server, Service, StatusCode,
};
use std::net::SocketAddr;
use std::sync::PoisonError;

const TEXT: &str = "text/plain; charset=utf-8";
const HTML: &str = "text/html; charset=utf-8";

/// Totals that are shown.
struct Shown(Shared);

impl Service for Shown {
    const WHAT: &'static str = "metrics";

    fn respond(&self, request: &Request<Incoming>) -> Response<Full<Bytes>> {
        respond(request, &self.0)
    }
}

/// Shows the totals at an address, from a thread of its own, to requests by these names
/// ([`hosts`](crate::hosts)).
///
/// # Errors
///
/// The address cannot be had, or there are no resources for a thread.
pub fn serve(address: SocketAddr, hosts: Hosts, totals: Shared) -> Result<Server, MetricsError> {
    Ok(server::serve(address, hosts, Shown(totals))?)
}

/// What the request gets. Of one for the head alone, hyper leaves the rest out.
fn respond<B>(request: &Request<B>, totals: &Shared) -> Response<Full<Bytes>> {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        let mut response =
            plain(StatusCode::METHOD_NOT_ALLOWED, TEXT, "Only GET and HEAD are allowed.\n");
        response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        return response;
    }
    match request.uri().path() {
        "/metrics" => metrics(request.headers(), totals),
        "/" => plain(StatusCode::OK, HTML, page()),
        _ => plain(StatusCode::NOT_FOUND, TEXT, "Not found: metrics are at /metrics.\n"),
    }
}

fn metrics(headers: &HeaderMap, totals: &Shared) -> Response<Full<Bytes>> {
    // Several headers of the name are one list.
    let accepts = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let format = Format::accepted(&accepts.collect::<Vec<_>>().join(","));
    let body = totals.lock().unwrap_or_else(PoisonError::into_inner).text(format);
    let mut response = plain(StatusCode::OK, format.content_type(), body);
    response.headers_mut().insert(VARY, HeaderValue::from_static("Accept"));
    response
}

fn plain(
    status: StatusCode,
    content_type: &'static str,
    body: impl Into<Bytes>,
) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body.into()));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
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
