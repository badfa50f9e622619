//! The names that a server answers to: `Host` of a request.
//!
//! A web page may point its own name at 127.0.0.1 (DNS rebinding). The browser then takes the
//! answers of a server here for the page's own, and lets the page read them; but it still sends the
//! page's name in `Host`. So a server for this machine alone answers to loopback names only.
//!
//! Non-goals: who may ask (there are no passwords; a service may want a token).

use hyper::HeaderMap;
use hyper::header::{HOST, HeaderValue};
use hyper::http::uri::Authority;
use std::net::IpAddr;

/// The names that a server answers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hosts {
    /// localhost and loopback addresses, with any port: a tunnel has its own.
    Loopback,
    /// Any name: everybody who reaches the address may read what is served, and may have a name for
    /// it that is known only there.
    Any,
}

impl Hosts {
    /// Whether a request may be answered. A request without `Host` may: it is from no browser.
    pub(crate) fn includes(self, headers: &HeaderMap) -> bool {
        self == Self::Any || headers.get_all(HOST).iter().all(is_loopback)
    }
}

fn is_loopback(host: &HeaderValue) -> bool {
    let Ok(authority) = Authority::try_from(host.as_bytes()) else { return false };
    let name = authority.host();
    let address = name.trim_start_matches('[').trim_end_matches(']').parse();
    let is_address = |address: IpAddr| address.to_canonical().is_loopback();
    name.eq_ignore_ascii_case("localhost") || address.is_ok_and(is_address)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(hosts: &[&'static str]) -> HeaderMap {
        hosts.iter().map(|host| (HOST, HeaderValue::from_static(host))).collect()
    }

    #[test]
    fn names_of_this_machine_alone_lead_to_loopback() {
        for (host, is_own) in [
            ("127.0.0.1:9184", true),
            ("127.0.0.1", true),
            ("127.8.9.1:1", true),
            ("localhost", true),
            ("LocalHost:8123", true),
            ("[::1]:9184", true),
            ("[::ffff:127.0.0.1]:80", true),
            ("", false),
            (":80", false),
            ("evil.example", false),
            ("localhost.evil.example:9184", false),
            ("127.0.0.1.evil.example:80", false),
            ("127.0.0.1@evil.example", false),
            ("evil.example:80 127.0.0.1", false),
            ("0.0.0.0:9184", false),
            ("192.168.1.1:9184", false),
            ("[::]:9184", false),
            ("localhost, evil.example", false),
        ] {
            assert_eq!(Hosts::Loopback.includes(&headers(&[host])), is_own, "{host}");
            assert!(Hosts::Any.includes(&headers(&[host])), "{host}");
        }
        assert!(Hosts::Loopback.includes(&HeaderMap::new()), "of HTTP/1.0");
        let two = headers(&["localhost", "evil.example"]);
        assert!(!Hosts::Loopback.includes(&two), "each of several has to be one");
    }
}
