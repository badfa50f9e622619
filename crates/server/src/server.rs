//! A server of one thread, for as long as its `Server` lives.
//!
//! A connection is for one request: with its limits of size, of time and of number (`connections`),
//! no client can take more than a little of the machine that is watched, nor keep others out.
//!
//! Non-goals: what a request gets; other methods of transport than plain HTTP.

use crate::connections::Connections;
use crate::error::ServerError;
use crate::hosts::Hosts;
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode, Uri};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;

/// Connections that the kernel holds until they are accepted. Many may come while an answer is
/// made, and a client that finds no room tries again only after a second.
const BACKLOG: u32 = 1024;
/// Bytes of an answer that the kernel holds for a connection until the client reads them, even
/// after the connection was closed. The kernel takes twice as much memory.
const SEND_BUFFER: u32 = 128 << 10;
/// How long a client may take to send its request, from the connection's begin to the last byte.
const TO_ASK: Duration = Duration::from_secs(5);
/// How long a connection lasts at most, even if the client has not read the whole answer by then.
const TO_END: Duration = Duration::from_secs(30);
/// Bytes of a request.
const LONGEST: usize = 16 << 10;
/// How long until the next try to accept, if that was refused and there is no connection to close.
const PAUSE: Duration = Duration::from_millis(100);
/// The answer to a request by another name than those of [`Hosts`].
const OTHER_HOST: &str =
    "This server answers only if the Host header is 127.0.0.1, [::1] or localhost.\n";
/// The answer to a request that wants to change something.
const OTHER_METHOD: &str = "Only GET and HEAD are allowed.\n";

/// A server that runs; it ends when this is dropped.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    stop: Option<oneshot::Sender<Infallible>>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Where it listens: with the port, if any would do.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Nobody can send what is infallible: the end of the sender is the signal.
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// What a request gets. Requests come one after the other.
pub trait Service: Send + Sync + 'static {
    /// What it shows, in a word or two, for errors and for the thread's name.
    const WHAT: &'static str;
    /// Headers of each answer, the server's own included.
    const HEADERS: &'static [(&'static str, &'static str)] = &[];

    /// The answer to a GET. Of a request for the head alone, the rest is left out of what this
    /// gives.
    fn answer(&self, uri: &Uri, headers: &HeaderMap) -> Answer;
}

/// An answer.
pub type Answer = Response<Full<Bytes>>;

/// The types of plain text and of pages.
pub const TEXT: &str = "text/plain; charset=utf-8";
/// See [`TEXT`].
pub const HTML: &str = "text/html; charset=utf-8";

/// An answer of this type.
pub fn answer(status: StatusCode, content_type: &'static str, body: impl Into<Bytes>) -> Answer {
    let mut answer = Response::new(Full::new(body.into()));
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    answer
}

/// Serves at an address, from a thread of its own, requests by these names.
///
/// # Errors
///
/// The address cannot be had, or there are no resources for a thread.
pub fn serve<S: Service>(
    address: SocketAddr,
    hosts: Hosts,
    service: S,
) -> Result<Server, ServerError> {
    let refused = |source| ServerError::listening(S::WHAT, address, source);
    let runtime =
        Builder::new_current_thread().enable_io().enable_time().build().map_err(refused)?;
    let listener = {
        let _inside = runtime.enter();
        listen(address).map_err(refused)?
    };
    let bound = listener.local_addr().map_err(refused)?;
    let (stop, stopped) = oneshot::channel();
    let serving = Arc::new(Serving { service, hosts, connections: Mutex::default() });
    let thread = std::thread::Builder::new()
        .name(format!("lbolt-{}", S::WHAT))
        .spawn(move || run(&runtime, listener, serving, stopped))
        .map_err(|source| ServerError::Thread(S::WHAT, source))?;
    Ok(Server { address: bound, stop: Some(stop), thread: Some(thread) })
}

fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    // Connections of an earlier server do not block the address.
    socket.set_reuseaddr(true)?;
    // Accepted connections inherit it.
    socket.set_send_buffer_size(SEND_BUFFER)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Until the other end of the channel is no more. All connections end with the runtime.
fn run<S: Service>(
    runtime: &Runtime,
    listener: TcpListener,
    serving: Arc<Serving<S>>,
    stopped: oneshot::Receiver<Infallible>,
) {
    runtime.spawn(accept(listener, serving));
    let _ = runtime.block_on(stopped);
}

async fn accept<S: Service>(listener: TcpListener, serving: Arc<Serving<S>>) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                let task = tokio::spawn(converse(stream, serving.clone()));
                serving.connections().open(task.abort_handle());
            }
            // No descriptor is left: a closed connection gives one back.
            Err(_) if serving.connections().close_oldest() => {}
            Err(_) => tokio::time::sleep(PAUSE).await,
        }
        // Closed connections end, and requests that have come are read, before the next connection
        // is accepted: it might close the one whose request has come.
        tokio::task::yield_now().await;
    }
}

async fn converse<S: Service>(stream: TcpStream, serving: Arc<Serving<S>>) {
    let task = tokio::task::id();
    let service = service_fn(|request| {
        serving.connections().answer(task);
        let response = serving.respond(&request);
        async { Ok::<_, Infallible>(response) }
    });
    let conversation = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(TO_ASK)
        .max_buf_size(LONGEST)
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), service);
    // What goes wrong with one connection is its client's affair.
    let _ = tokio::time::timeout(TO_END, conversation).await;
}

/// What all connections share.
struct Serving<S> {
    service: S,
    hosts: Hosts,
    connections: Mutex<Connections>,
}

impl<S: Service> Serving<S> {
    fn connections(&self) -> MutexGuard<'_, Connections> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn respond(&self, request: &Request<Incoming>) -> Answer {
        let mut answer = if !self.hosts.includes(request.headers()) {
            answer(StatusCode::FORBIDDEN, TEXT, OTHER_HOST)
        } else if matches!(*request.method(), Method::GET | Method::HEAD) {
            self.service.answer(request.uri(), request.headers())
        } else {
            let mut refusal = answer(StatusCode::METHOD_NOT_ALLOWED, TEXT, OTHER_METHOD);
            refusal.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
            refusal
        };
        for (name, value) in S::HEADERS {
            let name = HeaderName::from_static(name);
            answer.headers_mut().insert(name, HeaderValue::from_static(value));
        }
        answer
    }
}

#[cfg(test)]
mod tests;
