//! What can go wrong with the server, in words that complete "failed to …".
//!
//! Non-goals: what a client does wrong (it gets a status, and nobody else hears of it).

use std::io;
use std::net::SocketAddr;

/// Why there is no server. The first field is what it was to show.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// Another program has the address.
    #[error(
        "serve {0} at {1}: the address is in use; choose another port, or stop the process that \
         listens there (see ss -ltnp)"
    )]
    InUse(&'static str, SocketAddr),
    /// The address is of no interface here.
    #[error(
        "serve {0} at {1}: this machine does not have the address; `ip address` lists its addresses"
    )]
    NoSuchAddress(&'static str, SocketAddr),
    /// The port needs a privilege.
    #[error("serve {0} at {1}: not permitted; use a port from 1024")]
    NotPermitted(&'static str, SocketAddr),
    /// Something else.
    #[error("serve {what} at {address}: {source}")]
    Listen {
        /// What was to be shown.
        what: &'static str,
        /// Where.
        address: SocketAddr,
        /// What the kernel says.
        source: io::Error,
    },
    /// There is no thread for the server.
    #[error("start a thread that serves {0}: {1}")]
    Thread(&'static str, io::Error),
}

impl ServerError {
    /// What a refusal of an address means.
    pub(crate) fn listening(what: &'static str, address: SocketAddr, source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::AddrInUse => Self::InUse(what, address),
            io::ErrorKind::AddrNotAvailable => Self::NoSuchAddress(what, address),
            io::ErrorKind::PermissionDenied => Self::NotPermitted(what, address),
            _ => Self::Listen { what, address, source },
        }
    }
}
