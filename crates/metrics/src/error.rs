//! What can go wrong with the server, in words that complete "failed to …".
//!
//! Non-goals: what a client does wrong (it gets a status, and nobody else hears of it).

use server::ServerError;
use std::net::SocketAddr;

/// Why there are no metrics.
#[derive(Debug, thiserror::Error)]
pub enum MetricsError {
    /// Others than this machine could read them, and nobody said so.
    #[error(
        "serve metrics at {0}: other machines can reach this address and read names of devices and \
         programs; use 127.0.0.1, or add --listen-public"
    )]
    Public(SocketAddr),
    /// There is no server.
    #[error(transparent)]
    Server(#[from] ServerError),
}
