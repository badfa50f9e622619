//! Sends the totals to a receiver of OTLP over HTTP: once a minute, from a thread of its own.
//!
//! Totals are cumulative, so an export that failed loses nothing: the next one has it too. After a
//! failure the next attempt comes sooner, after 5 s and then after twice as long each time. The
//! first failure is said, the others are counted (`lbolt_otlp_exports_failed_total`).
//!
//! Source: opentelemetry.io/docs/specs/otlp, *OTLP/HTTP*; …/specs/otel/protocol/exporter for the
//! path `/v1/metrics` and the times.
//!
//! Non-goals: encryption, passwords and proxies (an `OpenTelemetry` Collector on this machine has
//! them); gRPC; compression.

use crate::otlp::{Span, request};
use crate::totals::Shared;
use model::record::{Counted, Rollup, RollupKey, operations};
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceResponse;
use prost::Message as _;
use std::io;
use std::str::FromStr;
use std::sync::PoisonError;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use ureq::http::Uri;
use ureq::{Agent, Error};

/// Where metrics go below an address.
const PATH: &str = "/v1/metrics";
/// How much of an answer is read.
const ANSWER_BYTES: u64 = 64 << 10;

/// A receiver's address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint(String);

/// What is wrong with an address. Completes "failed to …".
#[derive(Debug, thiserror::Error)]
pub enum EndpointError {
    /// Not of HTTP.
    #[error(
        "export metrics to {0}: the address must be like http://127.0.0.1:4318; for https, use an \
         OpenTelemetry Collector on this machine"
    )]
    Scheme(String),
    /// Of HTTP, and not an address.
    #[error("export metrics to {0}: not an address; use an address like http://127.0.0.1:4318")]
    Address(String),
}

impl FromStr for Endpoint {
    type Err = EndpointError;

    fn from_str(text: &str) -> Result<Self, EndpointError> {
        let shown = || model::text::visible(&harmless(text)).into_owned();
        let uri: Uri = text.parse().map_err(|_| EndpointError::Address(shown()))?;
        if uri.scheme_str() != Some("http") {
            return Err(EndpointError::Scheme(shown()));
        }
        let is_name = |host: &str| !host.is_empty() && !text.contains('@');
        let is_plain =
            uri.query().is_none() && uri.authority().is_some_and(|of| is_port(of.as_str()));
        if !is_plain || !uri.host().is_some_and(is_name) {
            return Err(EndpointError::Address(shown()));
        }
        let base = text.trim_end_matches('/');
        let path = if base.ends_with(PATH) { "" } else { PATH };
        Ok(Self(format!("{base}{path}")))
    }
}

/// An address that may be none, without what may be a name and a password, or a key in a query.
fn harmless(text: &str) -> String {
    let (scheme, rest) = text.split_once("://").unwrap_or(("", text));
    let between = if scheme.is_empty() { "" } else { "://" };
    let rest = rest.rsplit_once('@').map_or(rest.to_owned(), |(_, host)| format!("…@{host}"));
    let end = rest.find(['?', '#']);
    let end = end.map_or(rest.clone(), |end| format!("{}…", &rest[..=end]));
    format!("{scheme}{between}{end}")
}

/// Whether what is behind the host is a port, if there is anything.
fn is_port(authority: &str) -> bool {
    let behind = authority.rsplit(']').next().unwrap_or_default();
    behind.split_once(':').is_none_or(|(_, port)| port.parse::<u16>().is_ok_and(|port| port > 0))
}

/// How often is sent, and how long is waited.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    /// From one export to the next.
    pub every: Duration,
    /// From a failure to the next attempt; twice as long after each one more.
    pub again: Duration,
    /// For an answer.
    pub answer: Duration,
    /// For the last export, at the end.
    pub last: Duration,
}

impl Default for Pace {
    /// The defaults of `OpenTelemetry`'s own exporters.
    fn default() -> Self {
        let [every, again, answer, last] = [60, 5, 10, 2].map(Duration::from_secs);
        Self { every, again, answer, last }
    }
}

/// Why an export failed.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error("{0}")]
    Http(#[from] Error),
    #[error("{0}")]
    Network(io::Error),
    #[error("no answer")]
    Silence,
    #[error("the receiver answered with status {0}")]
    Status(u16),
    #[error("the receiver rejected {0} data points: {1}")]
    Rejected(i64, String),
}

/// Exports that go on until this is dropped; the last one comes then.
#[derive(Debug)]
pub struct Export {
    stop: Option<Sender<()>>,
    /// Closed when the thread ends.
    ended: Receiver<()>,
    last: Duration,
}

impl Export {
    /// Begins to export these totals, which begin now. `host` is the machine's name; `say` is told
    /// of the first failure.
    ///
    /// # Errors
    ///
    /// A thread that cannot be made.
    pub fn begin(
        to: Endpoint,
        host: String,
        totals: Shared,
        pace: Pace,
        say: impl Fn(&str) + Send + 'static,
    ) -> io::Result<Self> {
        let config = Agent::config_builder()
            .timeout_global(Some(pace.answer))
            .http_status_as_error(false)
            .max_redirects(0)
            .proxy(None)
            .user_agent(concat!("lbolt/", env!("CARGO_PKG_VERSION")));
        let agent = Agent::new_with_config(config.build());
        let from_unix_ns = unix_ns();
        let (stop, stopped) = channel();
        let (ends, ended) = channel();
        let exporter = Exporter { to, host, totals, agent, from_unix_ns, failures: 0, pace };
        let work = move || {
            exporter.work(&stopped, say);
            drop(ends);
        };
        std::thread::Builder::new().name("lbolt-otlp".into()).spawn(work)?;
        Ok(Self { stop: Some(stop), ended, last: pace.last })
    }
}

impl Drop for Export {
    /// A receiver that does not answer is left alone, with the thread that waits for it.
    fn drop(&mut self) {
        self.stop = None;
        let _ = self.ended.recv_timeout(self.last);
    }
}

struct Exporter {
    to: Endpoint,
    host: String,
    totals: Shared,
    agent: Agent,
    from_unix_ns: u64,
    failures: u64,
    pace: Pace,
}

impl Exporter {
    fn work(mut self, stopped: &Receiver<()>, say: impl Fn(&str)) {
        let mut wait = self.pace.every;
        loop {
            let is_last = stopped.recv_timeout(wait) != Err(RecvTimeoutError::Timeout);
            match self.export() {
                Ok(()) => wait = self.pace.every,
                Err(why) => {
                    self.count_failure();
                    if self.failures == 1 {
                        say(&format!(
                            "failed to export metrics to {}: {why}; lbolt retries",
                            self.to.0
                        ));
                    }
                    let is_again = wait < self.pace.every;
                    wait = if is_again { 2 * wait } else { self.pace.again };
                    wait = wait.min(self.pace.every);
                }
            }
            if is_last {
                return;
            }
        }
    }

    fn export(&self) -> Result<(), Failure> {
        let until_unix_ns = unix_ns().max(self.from_unix_ns);
        let span = Span { from_unix_ns: self.from_unix_ns, until_unix_ns };
        let body = {
            let totals = self.totals.lock().unwrap_or_else(PoisonError::into_inner);
            request(&totals.families(), &self.host, span)
        };
        let post = self.agent.post(&self.to.0).content_type("application/x-protobuf");
        let mut answer = post.send(&body.encode_to_vec()).map_err(|error| match error {
            Error::Timeout(_) => Failure::Silence,
            Error::Io(error) => Failure::Network(error),
            other => other.into(),
        })?;
        if !answer.status().is_success() {
            return Err(Failure::Status(answer.status().as_u16()));
        }
        let bytes = answer.body_mut().with_config().limit(ANSWER_BYTES).read_to_vec()?;
        // What is not understood is a success: the status says so.
        let answer = ExportMetricsServiceResponse::decode(bytes.as_slice()).unwrap_or_default();
        match answer.partial_success.filter(|partial| partial.rejected_data_points > 0) {
            None => Ok(()),
            Some(partial) => Err(Failure::Rejected(
                partial.rejected_data_points,
                crate::names::harmless(&partial.error_message),
            )),
        }
    }

    fn count_failure(&mut self) {
        self.failures += 1;
        let operation = operations::NOT_EXPORTED.to_owned();
        let key = RollupKey { counted: Counted::Watch, operation, ..RollupKey::default() };
        let row = Rollup { count: 1, ..Rollup::of(key, 0, 0) };
        self.totals.lock().unwrap_or_else(PoisonError::into_inner).add(&[row]);
    }
}

fn unix_ns() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_nanos().try_into().unwrap_or(u64::MAX)
}
