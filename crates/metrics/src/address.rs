//! Where metrics may be shown, and by which names: on loopback and by loopback names, unless the
//! user allows others to read them.
//!
//! Non-goals: which of a machine's networks are private.

use server::Hosts;
use std::net::SocketAddr;

/// Other machines could read the metrics, and nobody said so. Completes "failed to …".
#[derive(Debug, thiserror::Error)]
#[error(
    "serve metrics at {0}: other machines can reach this address and read names of devices and \
     programs; use 127.0.0.1, or add --listen-public"
)]
pub struct PublicAddress(SocketAddr);

/// The names that metrics at this address are answered to: loopback names, so that no web page
/// reads them; any name with `--listen-public`, because Prometheus on another machine or a reverse
/// proxy on this one may use a name that is not known here.
///
/// # Errors
///
/// Others could reach the address and may not.
pub fn hosts(address: SocketAddr, is_public: bool) -> Result<Hosts, PublicAddress> {
    let is_local = address.ip().to_canonical().is_loopback();
    match (is_public, is_local) {
        (true, _) => Ok(Hosts::Any),
        (false, true) => Ok(Hosts::Loopback),
        (false, false) => Err(PublicAddress(address)),
    }
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
            let of_this_machine = hosts(address, false).ok();
            assert_eq!(of_this_machine, is_local.then_some(Hosts::Loopback), "{address}");
            assert_eq!(hosts(address, true).unwrap(), Hosts::Any);
        }
        let refused = hosts("0.0.0.0:9184".parse().unwrap(), false).unwrap_err();
        assert!(refused.to_string().contains("--listen-public"), "{refused}");
    }
}
