//! What a request gets: `/metrics`, a plain page at `/`, and nothing else.
//!
//! Non-goals: connections and their limits (`server`).

use crate::format::Format;
use crate::metric::METRICS;
use crate::totals::Shared;
use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{ACCEPT, ALLOW, CONTENT_TYPE, HeaderValue, VARY};
use hyper::{HeaderMap, Method, Request, Response, StatusCode};
use std::sync::PoisonError;

const TEXT: &str = "text/plain; charset=utf-8";
const HTML: &str = "text/html; charset=utf-8";

/// What the request gets. Of one for the head alone, hyper leaves the rest out.
pub(crate) fn respond<B>(request: &Request<B>, totals: &Shared) -> Response<Full<Bytes>> {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        let mut response =
            plain(StatusCode::METHOD_NOT_ALLOWED, TEXT, "GET and HEAD are all that there is.\n");
        response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        return response;
    }
    match request.uri().path() {
        "/metrics" => metrics(request.headers(), totals),
        "/" => plain(StatusCode::OK, HTML, page()),
        _ => plain(StatusCode::NOT_FOUND, TEXT, "Not here: metrics are at /metrics.\n"),
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
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>lbolt</title>\n\
         <h1>lbolt {}</h1>\n\
         <p>{} metrics of what the disks here do, and for whom, are at \
         <a href=\"/metrics\">/metrics</a>.</p></html>\n",
        env!("CARGO_PKG_VERSION"),
        METRICS.len(),
    )
}
