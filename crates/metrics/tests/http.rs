//! The server, spoken to as any client may speak to it.

use metrics::{Format, Hosts, Server, ServerError, Totals, hosts, serve};
use model::record::{Counted, Rollup, RollupKey};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const ANY_PORT: &str = "127.0.0.1:0";

fn server() -> (Server, Arc<Mutex<Totals>>) {
    let totals = Arc::new(Mutex::new(Totals::default()));
    (serve(ANY_PORT.parse().unwrap(), Hosts::Loopback, totals.clone()).unwrap(), totals)
}

/// Everything that comes back; nothing, if the connection is closed at once.
fn ask(address: SocketAddr, request: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    // A server that has heard enough may close before all is said.
    let _ = stream.write_all(request);
    let mut response = Vec::new();
    let _ = stream.read_to_end(&mut response);
    response
}

fn get(address: SocketAddr, path: &str, headers: &str) -> (String, String) {
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n");
    let response = String::from_utf8_lossy(&ask(address, request.as_bytes())).into_owned();
    let (head, body) = response.split_once("\r\n\r\n").unwrap_or((&response, ""));
    (head.to_owned(), body.to_owned())
}

#[test]
fn metrics_come_in_the_format_that_is_asked_for() {
    let (server, totals) = server();
    for (accept, kind, format) in [
        ("", "text/plain; version=0.0.4", Format::Text),
        ("Accept: application/openmetrics-text\r\n", "version=1.0.0", Format::OpenMetrics),
        (
            "Accept: text/plain;q=0.5\r\nAccept: application/vnd.google.protobuf\r\n",
            "encoding=delimited",
            Format::Protobuf,
        ),
    ] {
        let (head, body) = get(server.address(), "/metrics", accept);
        assert!(head.starts_with("HTTP/1.1 200") && head.contains(kind), "{head}");
        let expected = totals.lock().unwrap().text(format);
        assert_eq!(body, String::from_utf8_lossy(&expected));
    }
}

#[test]
fn what_is_added_is_shown() {
    let (server, totals) = server();
    let key = RollupKey { counted: Counted::Requests, ..RollupKey::default() };
    let row = Rollup { count: 3, sum_ns: 3_000, ..Rollup::of(key, 0, 1) };
    totals.lock().unwrap().add(&[row]);
    let (_, body) = get(server.address(), "/metrics?any=query", "");
    assert!(body.contains("lbolt_request_response_seconds_count{} 3"), "{body}");
}

#[test]
fn the_first_page_tells_where_they_are_and_other_paths_do_not_exist() {
    let (server, _) = server();
    let (head, body) = get(server.address(), "/", "");
    assert!(head.starts_with("HTTP/1.1 200") && body.contains("href=\"/metrics\""), "{head}");
    for path in ["/metrics/", "/../etc/passwd", "/%2e%2e/", "//metrics", "/favicon.ico"] {
        let (head, body) = get(server.address(), path, "");
        assert!(head.starts_with("HTTP/1.1 404") && body.contains("/metrics"), "{path}: {head}");
    }
}

#[test]
fn the_head_comes_alone_and_nothing_can_be_sent() {
    let (server, totals) = server();
    let head = ask(server.address(), b"HEAD /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
    let head = String::from_utf8(head).unwrap();
    let length = totals.lock().unwrap().text(Format::Text).len();
    assert!(head.contains(&format!("content-length: {length}\r\n")), "{head}");
    assert!(head.ends_with("\r\n\r\n"), "{head}");
    for method in ["POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PATCH", "BREW"] {
        let head = "HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\n";
        let request = format!("{method} /metrics {head}12345");
        let response = String::from_utf8(ask(server.address(), request.as_bytes())).unwrap();
        assert!(response.starts_with("HTTP/1.1 405"), "{method}: {response}");
        assert!(response.contains("allow: GET, HEAD"), "{response}");
    }
}

#[test]
fn bad_requests_are_refused_and_the_server_goes_on() {
    let (server, _) = server();
    let long = format!("GET /{} HTTP/1.1\r\nHost: here\r\n\r\n", "a".repeat(1 << 20));
    let wide = format!("GET / HTTP/1.1\r\nX: {}\r\n\r\n", "b".repeat(1 << 20));
    let many = format!("GET / HTTP/1.1\r\n{}\r\n", "A: b\r\n".repeat(2_000));
    let garbage: Vec<u8> = (0..=255).cycle().take(100_000).collect();
    for request in [
        long.as_bytes(),
        wide.as_bytes(),
        many.as_bytes(),
        &garbage,
        b"\r\n\r\n\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET /metrics HTTP/9.9\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"",
    ] {
        let mut stream = TcpStream::connect(server.address()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let _ = stream.write_all(request);
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let mut response = Vec::new();
        let _ = stream.read_to_end(&mut response);
        let response = String::from_utf8_lossy(&response);
        assert!(response.is_empty() || response.starts_with("HTTP/1.1 4"), "{response}");
    }
    assert!(get(server.address(), "/metrics", "").0.starts_with("HTTP/1.1 200"));
}

/// The status of what a request for metrics gets by these names.
fn status(address: SocketAddr, names: &[&str]) -> u16 {
    let names: String = names.iter().map(|name| format!("Host: {name}\r\n")).collect();
    let response = ask(address, format!("GET /metrics HTTP/1.1\r\n{names}\r\n").as_bytes());
    String::from_utf8(response).unwrap().split(' ').nth(1).unwrap().parse().unwrap()
}

#[test]
fn a_page_whose_name_leads_here_reads_no_metrics() {
    let (server, totals) = server();
    let own = server.address().to_string();
    for names in [&[own.as_str()][..], &["localhost:1"], &["[::1]:9184"], &[]] {
        assert_eq!(status(server.address(), names), 200, "{names:?}");
    }
    let two = [own.as_str(), "evil.example"];
    for names in [&["evil.example:9184"][..], &["127.0.0.1.evil.example"], &two, &[""]] {
        assert_eq!(status(server.address(), names), 403, "{names:?}");
    }
    let refused = ask(server.address(), b"GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n");
    let refused = String::from_utf8(refused).unwrap();
    assert!(refused.contains("127.0.0.1") && !refused.contains("<h1>"), "{refused}");
    // Where others may read them, Prometheus has a name for this machine that only it knows.
    let public = hosts(ANY_PORT.parse().unwrap(), true).unwrap();
    let public = serve(ANY_PORT.parse().unwrap(), public, totals).unwrap();
    assert_eq!(status(public.address(), &["db1.example:9184"]), 200);
}

#[test]
fn twenty_silent_connections_do_not_blind_a_scrape() {
    let (server, _) = server();
    for bytes in [&b""[..], b"GET /met"] {
        let silent: Vec<_> =
            (0..20).map(|_| TcpStream::connect(server.address()).unwrap()).collect();
        silent.iter().for_each(|mut stream| stream.write_all(bytes).unwrap());
        assert!(get(server.address(), "/metrics", "").0.starts_with("HTTP/1.1 200"));
        // It did not have to wait for their end.
        for stream in &silent {
            stream.set_nonblocking(true).unwrap();
            let heard = stream.peek(&mut [0]).unwrap_err();
            assert_eq!(heard.kind(), std::io::ErrorKind::WouldBlock);
        }
    }
}

#[test]
fn an_address_that_cannot_be_had_is_an_error_that_says_what_to_do() {
    let (server, totals) = server();
    let again = serve(server.address(), Hosts::Loopback, totals.clone()).unwrap_err();
    let is_it = |address: &SocketAddr| *address == server.address();
    assert!(matches!(&again, ServerError::InUse(_, address) if is_it(address)), "{again}");
    assert!(again.to_string().contains("choose another port"), "{again}");
    let elsewhere = serve("192.0.2.1:0".parse().unwrap(), Hosts::Any, totals).unwrap_err();
    assert!(matches!(elsewhere, ServerError::NoSuchAddress(..)), "{elsewhere}");
    assert!(hosts("192.0.2.1:0".parse().unwrap(), false).is_err());
}

#[test]
fn the_end_of_the_server_frees_its_address_and_ends_its_connections() {
    // Nobody else is given a port of this address meanwhile.
    let totals = Arc::new(Mutex::new(Totals::default()));
    let server = serve("127.0.0.3:0".parse().unwrap(), Hosts::Loopback, totals.clone()).unwrap();
    let address = server.address();
    let mut open = TcpStream::connect(address).unwrap();
    open.write_all(b"GET /").unwrap();
    assert!(get(address, "/", "").0.starts_with("HTTP/1.1 200"));
    let began = Instant::now();
    drop(server);
    assert!(began.elapsed() < Duration::from_secs(5), "a silent client's time would be over");
    assert_eq!(Arc::strong_count(&totals), 1, "nobody has the totals any more");
    let _server = serve(address, Hosts::Loopback, totals).unwrap();
}
