//! What can go wrong with the server, in words that complete "failed to …".
//!
//! Non-goals: what a client does wrong (it gets a status, and nobody else hears of it).

use std::io;
use std::net::SocketAddr;

/// Why there are no metrics.
#[derive(Debug, thiserror::Error)]
pub enum MetricsError {
    /// Others than this machine could read them, and nobody said so.
    #[error(
        "show metrics at {0}: other machines can reach it, and the names of this one's devices \
         and programs would be theirs to read; use 127.0.0.1, or add --listen-public"
    )]
    Public(SocketAddr),
    /// Another program has the address.
    #[error(
        "show metrics at {0}: the address is in use; choose another port, or end what listens \
         there (ss -ltnp tells who)"
    )]
    InUse(SocketAddr),
    /// The address is of no interface here.
    #[error(
        "show metrics at {0}: this machine has no such address; `ip address` lists those that \
         it has"
    )]
    NoSuchAddress(SocketAddr),
    /// The port needs a privilege.
    #[error("show metrics at {0}: not permitted; use a port from 1024 on")]
    NotPermitted(SocketAddr),
    /// Something else.
    #[error("show metrics at {address}: {source}")]
    Listen {
        /// Where.
        address: SocketAddr,
        /// What the kernel says.
        source: io::Error,
    },
    /// There is no thread for the server.
    #[error("start a thread that shows metrics: {0}")]
    Thread(io::Error),
}

impl MetricsError {
    /// What a refusal of an address means.
    pub(crate) fn listening(address: SocketAddr, source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::AddrInUse => Self::InUse(address),
            io::ErrorKind::AddrNotAvailable => Self::NoSuchAddress(address),
            io::ErrorKind::PermissionDenied => Self::NotPermitted(address),
            _ => Self::Listen { address, source },
        }
    }
}
