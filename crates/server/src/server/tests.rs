//! Clients that keep connections without using them. The limits of number are met over real
//! connections; those of time on a clock that goes on by itself when nobody has anything to do.

use super::*;
use crate::connections::{ANSWERING, WAITING};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream as Client;
use std::sync::OnceLock;
use std::time::Instant;

/// More than the kernel keeps of any answer for a client that does not read.
const LONG: usize = 64 << 20;
/// Clients that keep a connection each, and those of long answers.
const MANY: usize = 1000;
const DEAF: usize = 10 * ANSWERING;
const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";

/// Answers with so many bytes, and counts the answers that are in memory.
struct Bodies {
    bytes: usize,
    held: Arc<()>,
}

/// The bytes of an answer, and what tells that it is in memory.
struct Body {
    zeros: &'static [u8],
    _held: Arc<()>,
}

impl AsRef<[u8]> for Body {
    fn as_ref(&self) -> &[u8] {
        self.zeros
    }
}

impl Service for Bodies {
    const WHAT: &'static str = "tests";

    fn answer(&self, _: &Uri, _: &HeaderMap) -> Answer {
        static ZEROS: OnceLock<Vec<u8>> = OnceLock::new();
        let zeros = &ZEROS.get_or_init(|| vec![0; LONG])[..self.bytes];
        Response::new(Full::new(Bytes::from_owner(Body { zeros, _held: self.held.clone() })))
    }
}

/// A server, and what its answers hold: as many more than one as are in memory.
fn serving(bytes: usize) -> (Server, Arc<()>) {
    let held = Arc::new(());
    let service = Bodies { bytes, held: held.clone() };
    (serve("127.0.0.1:0".parse().unwrap(), Hosts::Loopback, service).unwrap(), held)
}

fn said(address: SocketAddr, bytes: &[u8]) -> Client {
    let mut client = Client::connect(address).unwrap();
    client.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    client.write_all(bytes).unwrap();
    client
}

/// Clients that have said this much, the oldest first.
fn many(count: usize, address: SocketAddr, bytes: &[u8]) -> Vec<Client> {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).unwrap();
    (0..count).map(|_| said(address, bytes)).collect()
}

/// The bytes of the body that a client gets until its connection ends.
fn body(mut client: &Client) -> usize {
    let mut response = Vec::new();
    client.read_to_end(&mut response).unwrap();
    let end = response.windows(4).position(|four| four == b"\r\n\r\n").unwrap();
    assert!(response.starts_with(b"HTTP/1.1 200"));
    response.len() - end - 4
}

fn is_open(client: &Client) -> bool {
    client.set_nonblocking(true).unwrap();
    client.peek(&mut [0]).is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
}

fn wait_for(what: &str, is_so: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(60), "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn clients_that_say_nothing_or_half_a_request_keep_nobody_out() {
    for bytes in [&b""[..], b"G", b"GET / HTTP/1.1\r\nHost: loc"] {
        let (server, _) = serving(10);
        let silent = many(MANY, server.address(), bytes);
        let began = Instant::now();
        assert_eq!(body(&said(server.address(), REQUEST)), 10);
        println!("answered in {:?} beside {MANY} others", began.elapsed());
        let open: Vec<bool> = silent.iter().map(is_open).collect();
        let count = open.iter().filter(|is_open| **is_open).count();
        assert!(count <= WAITING, "{count}");
        // So the others were not closed because their time was over.
        assert!(open[MANY - 1] && !open[0], "the newest stays");
    }
}

#[test]
fn a_connection_is_closed_when_its_request_is_answered() {
    let (server, held) = serving(10);
    let answered = many(MANY, server.address(), REQUEST);
    assert_eq!(body(&said(server.address(), REQUEST)), 10);
    assert!(answered.iter().all(|client| body(client) == 10));
    wait_for("the end of all answers", || Arc::strong_count(&held) == 2);
}

#[test]
fn clients_that_do_not_read_their_answers_keep_nobody_out_and_little_in_memory() {
    let (server, held) = serving(LONG);
    let _deaf = many(DEAF, server.address(), REQUEST);
    let began = Instant::now();
    assert_eq!(body(&said(server.address(), REQUEST)), LONG, "the whole of it");
    println!("answered in {:?} beside {DEAF} others", began.elapsed());
    // This test's, the service's, and one of each answer.
    let held = Arc::strong_count(&held);
    assert!(held > 2 && held <= 2 + ANSWERING, "{held}");
}

#[test]
fn clients_that_say_nothing_cut_off_no_answer() {
    let (server, _) = serving(LONG);
    let slow = said(server.address(), REQUEST);
    slow.peek(&mut [0]).unwrap();
    let silent = many(MANY, server.address(), b"");
    wait_for("the oldest to be closed", || !is_open(&silent[0]));
    assert_eq!(body(&slow), LONG);
}

/// Makes its first answer when the test lets it.
struct Gated(Arc<Mutex<()>>);

impl Service for Gated {
    const WHAT: &'static str = "tests";

    fn answer(&self, _: &Uri, _: &HeaderMap) -> Answer {
        drop(self.0.lock());
        Response::default()
    }
}

#[test]
fn requests_that_come_all_at_once_are_all_answered() {
    let gate = Arc::new(Mutex::new(()));
    let address = "127.0.0.1:0".parse().unwrap();
    let server = serve(address, Hosts::Loopback, Gated(gate.clone())).unwrap();
    let closed = gate.lock().unwrap();
    // While the first one is answered, the others come.
    let clients = many(4 * WAITING, server.address(), REQUEST);
    drop(closed);
    assert!(clients.iter().all(|client| body(client) == 0));
}

/// What a client does of a server of long answers, on a clock that waits for nobody.
fn in_virtual_time<F: Future>(client: impl FnOnce(SocketAddr) -> F) -> F::Output {
    let runtime = Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let listener = listen("127.0.0.1:0".parse().unwrap()).unwrap();
        let address = listener.local_addr().unwrap();
        let service = Bodies { bytes: LONG, held: Arc::default() };
        let (hosts, connections) = (Hosts::Loopback, Mutex::default());
        tokio::spawn(accept(listener, Arc::new(Serving { service, hosts, connections })));
        client(address).await
    })
}

/// How long the connection lasts, while the client does something every so often.
async fn lasts(client: &TcpStream, every: Duration, act: impl Fn(&TcpStream)) -> Duration {
    let alive = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let began = tokio::time::Instant::now();
    client.writable().await.unwrap();
    while alive() < 2 {
        tokio::time::sleep(every).await;
    }
    // One task is that which accepts.
    while alive() > 1 {
        act(client);
        tokio::time::sleep(every).await;
    }
    began.elapsed()
}

#[test]
fn a_request_that_comes_byte_by_byte_has_a_time_as_a_whole() {
    let lasted = in_virtual_time(|address| async move {
        let client = TcpStream::connect(address).await.unwrap();
        client.try_write(b"GET / HTTP/1.1\r\nHost: ").unwrap();
        let drip = |client: &TcpStream| {
            let _ = client.try_write(b"a");
        };
        lasts(&client, Duration::from_millis(100), drip).await
    });
    assert!(lasted >= TO_ASK && lasted < TO_ASK + Duration::from_secs(1), "{lasted:?}");
}

#[test]
fn an_answer_that_is_read_bit_by_bit_has_a_time_as_a_whole() {
    let lasted = in_virtual_time(|address| async move {
        let client = TcpStream::connect(address).await.unwrap();
        client.try_write(REQUEST).unwrap();
        let sip = |client: &TcpStream| {
            let _ = client.try_read(&mut [0; 64 << 10]);
        };
        lasts(&client, Duration::from_millis(500), sip).await
    });
    assert!(lasted >= TO_END && lasted < TO_END + Duration::from_secs(2), "{lasted:?}");
}

#[test]
fn a_request_that_is_too_long_is_refused() {
    let (server, _) = serving(10);
    let mut request = b"GET / HTTP/1.1\r\nHost: localhost\r\nX: ".to_vec();
    request.resize(LONGEST, b'x');
    let mut response = String::new();
    said(server.address(), &request).read_to_string(&mut response).unwrap();
    assert!(response.starts_with("HTTP/1.1 431"), "{response}");
}
