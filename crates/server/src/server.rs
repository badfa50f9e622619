//! A server of one thread, for as long as its `Server` lives.
//!
//! A connection is for one request: with its limits of size, of time and of number, no client can
//! take more than a little of the machine that is watched.
//!
//! Non-goals: what a request gets; other methods of transport than plain HTTP.

use crate::error::ServerError;
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{Semaphore, oneshot};

/// Connections at a time; more of them wait in the kernel.
const CONNECTIONS: usize = 4;
/// How long a client may take to send its request.
const TO_ASK: Duration = Duration::from_secs(5);
/// How long a connection lasts at the most.
const TO_END: Duration = Duration::from_secs(30);
/// Bytes of a request.
const LONGEST: usize = 16 << 10;
/// After a refusal to accept (there are no descriptors), how long until the next try.
const PAUSE: Duration = Duration::from_millis(100);

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

    /// Of a request for the head alone, the rest is left out of what this gives.
    fn respond(&self, request: &Request<Incoming>) -> Response<Full<Bytes>>;
}

/// Serves at an address, from a thread of its own.
///
/// # Errors
///
/// The address cannot be had, or there are no resources for a thread.
pub fn serve<S: Service>(address: SocketAddr, service: S) -> Result<Server, ServerError> {
    let refused = |source| ServerError::listening(S::WHAT, address, source);
    let runtime =
        Builder::new_current_thread().enable_io().enable_time().build().map_err(refused)?;
    let listener = std::net::TcpListener::bind(address).map_err(refused)?;
    listener.set_nonblocking(true).map_err(refused)?;
    let bound = listener.local_addr().map_err(refused)?;
    let listener = {
        let _inside = runtime.enter();
        TcpListener::from_std(listener).map_err(refused)?
    };
    let (stop, stopped) = oneshot::channel();
    let service = Arc::new(service);
    let thread = std::thread::Builder::new()
        .name(format!("lbolt-{}", S::WHAT))
        .spawn(move || run(&runtime, listener, service, stopped))
        .map_err(|source| ServerError::Thread(S::WHAT, source))?;
    Ok(Server { address: bound, stop: Some(stop), thread: Some(thread) })
}

/// Until the other end of the channel is no more. All connections end with the runtime.
fn run<S: Service>(
    runtime: &Runtime,
    listener: TcpListener,
    service: Arc<S>,
    stopped: oneshot::Receiver<Infallible>,
) {
    runtime.spawn(accept(listener, service));
    let _ = runtime.block_on(stopped);
}

async fn accept<S: Service>(listener: TcpListener, service: Arc<S>) {
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    // Nobody closes the semaphore.
    while let Ok(place) = places.clone().acquire_owned().await {
        match listener.accept().await {
            Err(_) => tokio::time::sleep(PAUSE).await,
            Ok((stream, _)) => {
                let service = service.clone();
                tokio::spawn(async move {
                    // What goes wrong with one connection is its client's affair.
                    let _ = tokio::time::timeout(TO_END, converse(stream, &*service)).await;
                    drop(place);
                });
            }
        }
    }
}

async fn converse<S: Service>(stream: TcpStream, service: &S) -> Result<(), hyper::Error> {
    let service = service_fn(|request| {
        let response = service.respond(&request);
        async { Ok::<_, Infallible>(response) }
    });
    http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(TO_ASK)
        .max_buf_size(LONGEST)
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), service)
        .await
}
