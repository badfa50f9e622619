//! Where metrics may be shown: on this machine, unless somebody said otherwise.
//!
//! Non-goals: which of a machine's networks are private.

use crate::error::MetricsError;
use std::net::SocketAddr;

/// Whether this machine alone can reach the address, or others may (`--listen-public`).
///
/// # Errors
///
/// [`MetricsError::Public`] if others could reach it and may not.
pub fn check_address(address: SocketAddr, is_public_allowed: bool) -> Result<(), MetricsError> {
    let is_loopback = address.ip().to_canonical().is_loopback();
    (is_loopback || is_public_allowed).then_some(()).ok_or(MetricsError::Public(address))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn others_reach_all_but_loopback() {
        for (address, is_local) in [
            ("127.0.0.1:9184", true),
            ("127.9.8.7:0", true),
            ("[::1]:9184", true),
            ("[::ffff:127.0.0.1]:9184", true),
            ("0.0.0.0:9184", false),
            ("[::]:9184", false),
            ("[::ffff:10.0.0.1]:9184", false),
            ("192.168.1.1:80", false),
            ("[fe80::1]:80", false),
        ] {
            let address: SocketAddr = address.parse().unwrap();
            assert_eq!(check_address(address, false).is_ok(), is_local, "{address}");
            assert!(check_address(address, true).is_ok());
        }
        let refused = check_address("0.0.0.0:9184".parse().unwrap(), false).unwrap_err();
        assert!(refused.to_string().contains("--listen-public"), "{refused}");
    }
}
