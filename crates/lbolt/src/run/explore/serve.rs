//! Who may ask, and what he gets: whoever knows the token, from a page of this very server, gets
//! the page and what it asks of the trace, and nothing else.
//!
//! The token is in the address, so other users of this machine do not get at the trace. `Host` is
//! checked (`server::Hosts`), so that no other name leads here, and `Origin`, so that no other page
//! asks in the user's name.
//!
//! Non-goals: connections, their limits and names (crate `server`); other machines (ssh -L brings
//! them).

use super::Explored;
use super::request::request;
use super::trace::trace;
use ::explore::{Brush, Order};
use percent_encoding::percent_decode_str;
use serde::Serialize;
use serde::de::DeserializeOwned;
use server::header::{CONTENT_SECURITY_POLICY, HOST, HeaderMap, HeaderValue, ORIGIN};
use server::{Answer, HTML, Hosts, Server, ServerError, Service, StatusCode, TEXT, Uri, answer};
use std::io::Read as _;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::LazyLock;

/// The page, made by `cargo xtask viewer` from `viewer/`.
const PAGE: &str = include_str!("explore.html");
/// What a browser may do with an answer: as the page itself says of the page, and nothing shows it
/// in a frame, which only a header can say.
static POLICY: LazyLock<Option<HeaderValue>> = LazyLock::new(|| {
    let (_, policy) = PAGE.split_once("http-equiv=\"Content-Security-Policy\" content=\"")?;
    let (policy, _) = policy.split_once('"')?;
    HeaderValue::from_str(&format!("{policy}; frame-ancestors 'none'")).ok()
});
/// Single requests that are listed at once, at the most.
const LISTED: usize = 200;
/// Bytes of the token; twice as many digits.
const TOKEN_BYTES: usize = 16;

const JSON: &str = "application/json";

/// Where the trace is shown.
#[derive(Debug, Clone)]
pub(crate) struct Address {
    port: u16,
    token: String,
}

impl Address {
    /// The address for a browser.
    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/{}/", self.port, self.token)
    }
}

/// Shows the trace on this machine alone, until what it gives is dropped. Port 0 is any free one.
/// Errors: a port that cannot be had; no random numbers.
pub(crate) fn serve(explored: Explored, port: u16) -> anyhow::Result<(Server, Address)> {
    let token = token()?;
    let shown = Shown { explored, token: token.clone() };
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let server = server::serve(address, Hosts::Loopback, shown).map_err(refused)?;
    let port = server.address().port();
    Ok((server, Address { port, token }))
}

fn refused(error: ServerError) -> anyhow::Error {
    use messages::fault::{Fault, failure};
    failure(Fault::Usage, format!("failed to {error}"))
}

/// What nobody guesses.
fn token() -> anyhow::Result<String> {
    let mut bytes = [0_u8; TOKEN_BYTES];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// A trace that is shown.
struct Shown {
    explored: Explored,
    token: String,
}

/// What is answered other than a page or JSON.
type Refusal = (StatusCode, String);

impl Service for Shown {
    const WHAT: &'static str = "the trace";
    const HEADERS: &'static [(&'static str, &'static str)] = &[
        ("cache-control", "no-store"),
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "no-referrer"),
        ("x-frame-options", "DENY"),
        ("cross-origin-resource-policy", "same-origin"),
    ];

    fn answer(&self, uri: &Uri, headers: &HeaderMap) -> Answer {
        let mut answer = match self.asked_for(uri, headers) {
            Ok((content_type, body)) => answer(StatusCode::OK, content_type, body),
            Err((status, sentence)) => answer(status, TEXT, sentence + "\n"),
        };
        answer
            .headers_mut()
            .extend(POLICY.iter().map(|policy| (CONTENT_SECURITY_POLICY, policy.clone())));
        answer
    }
}

impl Shown {
    fn asked_for(&self, uri: &Uri, headers: &HeaderMap) -> Result<(&'static str, String), Refusal> {
        check_origin(headers)?;
        let not_here = || (StatusCode::NOT_FOUND, "Not found.".to_owned());
        let path = uri.path().strip_prefix('/').unwrap_or_default();
        let (token, what) = path.split_once('/').ok_or_else(not_here)?;
        if !is_same(token, &self.token) {
            return Err(not_here());
        }
        let query = uri.query().unwrap_or_default();
        let index = &self.explored.index;
        let bad = |sentence: String| (StatusCode::BAD_REQUEST, sentence);
        match what {
            "" => Ok((HTML, PAGE.to_owned())),
            "trace" => json(&trace(&self.explored)),
            "view" => json(&index.view(&asked(query)?).map_err(bad)?),
            "requests" => {
                let list: List = asked(query)?;
                let most = list.most.min(LISTED);
                json(&index.find(&list.brush, list.order, most).map_err(bad)?)
            }
            "request" => {
                let Row { row } = asked(query)?;
                json(&request(&self.explored, row).map_err(|error| bad(format!("{error:#}")))?)
            }
            _ => Err(not_here()),
        }
    }
}

/// Which single requests are wanted.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    brush: Brush,
    order: Order,
    most: usize,
}

/// Which one is.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    row: u64,
}

/// What is asked: JSON, percent-encoded.
fn asked<T: DeserializeOwned>(query: &str) -> Result<T, Refusal> {
    let bad = |why: String| (StatusCode::BAD_REQUEST, format!("Invalid query: {why}."));
    let text = percent_decode_str(query).decode_utf8().map_err(|error| bad(error.to_string()))?;
    let text = if text.is_empty() { "{}".into() } else { text };
    serde_json::from_str(&text).map_err(|error| bad(error.to_string()))
}

fn json<T: Serialize>(value: &T) -> Result<(&'static str, String), Refusal> {
    let failed = |error: serde_json::Error| {
        (StatusCode::INTERNAL_SERVER_ERROR, format!("Failed to write the answer: {error}."))
    };
    Ok((JSON, serde_json::to_string(value).map_err(failed)?))
}

/// Lets pass what comes from no other page than this server's own.
fn check_origin(headers: &HeaderMap) -> Result<(), Refusal> {
    let forbidden = |sentence: &str| Err((StatusCode::FORBIDDEN, sentence.to_owned()));
    let host = headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let origin = headers.get(ORIGIN).map(HeaderValue::as_bytes);
    if origin.is_some_and(|origin| origin != format!("http://{host}").as_bytes()) {
        return forbidden("Requests from other pages are refused.");
    }
    let site = headers.get("sec-fetch-site");
    let is_other = |site: &HeaderValue| site == "cross-site" || site == "same-site";
    // Following a link is not asking in somebody's name: the token is needed all the same.
    let mode = headers.get("sec-fetch-mode");
    if site.is_some_and(is_other) && mode.is_none_or(|mode| mode != "navigate") {
        return forbidden("Requests from other pages are refused.");
    }
    Ok(())
}

/// Whether two texts are the same, in a time that does not tell where they differ.
fn is_same(a: &str, b: &str) -> bool {
    let differing = a.bytes().zip(b.bytes()).fold(0, |all, (a, b)| all | (a ^ b));
    a.len() == b.len() && differing == 0
}
