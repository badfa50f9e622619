//! `lbolt explore`: what its server answers and refuses, the index that it keeps, and its page in a
//! real browser, where there is one (`viewer/test/explore.test.mjs`).

// Helpers of tests are tests, which clippy.toml cannot know of this file.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use crate::common::{Ended, Lab, QUICK, Running, wait_for};
use crate::page::{BROWSER, LIMIT, packages};
use rustix::process::{Pid, Resource, Rlimit, Signal, getrlimit, prlimit};
use serde_json::{Value, json};
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// A server, and where it is.
struct Served {
    running: Running,
    port: u16,
    token: String,
}

impl Served {
    fn new(lab: &Lab, words: &str) -> Self {
        Self::of(lab, lab.lbolt(&format!("explore {words}")))
    }

    fn of(lab: &Lab, command: Command) -> Self {
        let mut running = lab.start(command);
        let out = running.out_path();
        let line = running.until("its address", || {
            let said = std::fs::read_to_string(&out).unwrap();
            said.ends_with('\n').then_some(said)
        });
        let address = line.trim().strip_prefix("http://127.0.0.1:").unwrap().to_owned();
        let (port, token) = address.split_once('/').unwrap();
        let token = token.trim_end_matches('/').to_owned();
        assert_eq!(token.len(), 32, "{address}");
        Self { running, port: port.parse().unwrap(), token }
    }

    fn url(&self) -> String {
        format!("http://127.0.0.1:{}/{}/", self.port, self.token)
    }

    /// The status, the head and the body of what a request with these headers gets.
    fn send(&self, method: &str, path: &str, headers: &[(&str, &str)]) -> (u16, String, String) {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        let headers: String =
            headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        write!(stream, "{method} {path} HTTP/1.1\r\n{headers}connection: close\r\n\r\n").unwrap();
        let mut said = String::new();
        stream.read_to_string(&mut said).unwrap();
        let (head, body) = said.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, head.to_lowercase(), body.to_owned())
    }

    fn get(&self, what: &str) -> (u16, String, String) {
        let host = format!("127.0.0.1:{}", self.port);
        self.send("GET", &format!("/{}/{what}", self.token), &[("host", &host)])
    }

    /// A connection over which nothing is said.
    fn silent(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_nonblocking(true).unwrap();
        stream
    }

    /// Lets the server have no more descriptors than this.
    fn limit_descriptors(&self, most: u64) {
        let pid = Some(Pid::from_child(&self.running.child));
        let limit = Rlimit { current: Some(most), maximum: getrlimit(Resource::Nofile).maximum };
        prlimit(pid, Resource::Nofile, limit).unwrap();
    }

    /// What the kernel tells of the server's process.
    fn proc(&self, name: &str) -> Vec<PathBuf> {
        let path = format!("/proc/{}/{name}", self.running.child.id());
        std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect()
    }

    /// How long the server's thread ran or wanted to run, in ns: so a busy machine hides nothing.
    fn busy_ns(&self) -> u64 {
        let read = |thread: &Path, name| std::fs::read_to_string(thread.join(name)).unwrap();
        let threads = self.proc("task");
        let is_server = |thread: &&PathBuf| read(thread, "comm").starts_with("lbolt-the trace");
        let text = read(threads.iter().find(is_server).unwrap(), "schedstat");
        text.split(' ').take(2).map(|ns| ns.parse::<u64>().unwrap()).sum()
    }

    /// The answer to a question, as JSON.
    fn ask(&self, what: &str, question: &Value) -> Value {
        let encoded: String =
            question.to_string().bytes().map(|byte| format!("%{byte:02x}")).collect();
        let (status, _, body) = self.get(&format!("{what}?{encoded}"));
        assert_eq!(status, 200, "{body}");
        serde_json::from_str(&body).unwrap()
    }
}

const BEGIN: u64 = 128_166_385_295_514_663;

/// A trace in MSR's format: a reader all the time, and a writer in bursts, on two devices.
fn trace(requests: u64, host: &str) -> String {
    let line = |n: u64| {
        let (at, kind) = (BEGIN + n * 10_000, if n % 1000 < 200 { "Write" } else { "Read" });
        let place = (n * 7919 % 100_000) * 4096;
        let response = if n.is_multiple_of(97) { 400_000 } else { 1000 + n % 31 * 100 };
        format!("{at},{host},{},{kind},{place},{},{response}\n", n % 2, 4096 << (n % 3))
    };
    (0..requests).map(line).collect()
}

#[test]
fn a_trace_answers_as_the_analysis_does() {
    let lab = Lab::new();
    lab.file("t.csv", trace(5000, "db"));
    assert_eq!(lab.run("import t.csv -o t").code, 0);
    let served = Served::new(&lab, "t");
    let trace = served.ask("trace", &json!({}));
    assert_eq!(trace["requests"], 5000);
    let whole = served.ask("view", &json!({}));
    assert_eq!((&whole["requests"], &whole["one_by_one"]), (&json!(5000), &json!(true)));
    let writes = served.ask("view", &json!({"operations": [1]}));
    assert_eq!(writes["requests"], 1000);
    // The same as `response` says, which counts by other code.
    let report = lab.measure("response t");
    let class = [("class", "write"), ("by", "direction")];
    assert_eq!(report.of(&class, "requested_count"), 1000.0);
    let median = whole["times"]["p50_ns"].as_f64().unwrap();
    let of_analysis = report.of(&[("class", "all"), ("by", "whole")], "response_p50_ns");
    assert!((median / of_analysis - 1.0).abs() < 0.06, "{median} {of_analysis}");
    let slow = served.ask("requests", &json!({"brush": {}, "order": "slowest", "most": 9}));
    let first = &slow.as_array().unwrap()[0];
    assert!((first["response_ns"].as_f64().unwrap() / 4e7 - 1.0).abs() < 0.001, "{first}");
    let one = served.ask("request", &json!({"row": first["row"]}));
    let (begin, end) = (&one["steps"][0]["from_ns"], &one["steps"][0]["until_ns"]);
    assert_eq!(end.as_i64().unwrap() - begin.as_i64().unwrap(), 40_000_000, "{one}");
    served.running.signal(Signal::INT);
    let ended = served.running.wait();
    assert_eq!(ended.code, 0, "{}", ended.err);
}

#[test]
fn who_does_not_know_the_token_or_comes_from_elsewhere_gets_nothing() {
    let lab = Lab::new();
    lab.file("t.csv", trace(10, "db"));
    let served = Served::new(&lab, "t.csv");
    let own = format!("127.0.0.1:{}", served.port);
    let (page, other) = (format!("/{}/", served.token), format!("/{}/", "0".repeat(32)));
    let view = format!("{page}view");
    let origin = format!("http://{own}");
    let to = |path: &str, headers: &[(&str, &str)]| served.send("GET", path, headers).0;
    assert_eq!(to(&page, &[("host", &own)]), 200);
    assert_eq!(to(&view, &[("host", &own), ("origin", &origin)]), 200);
    assert_eq!(to(&page, &[("host", "localhost:9")]), 200, "through a tunnel");
    for path in ["/", &other, "/x/y", &page[..page.len() - 1]] {
        assert_eq!(to(path, &[("host", &own)]), 404, "{path}");
    }
    for what in ["requests.parquet", "../run.json", "trace/", "%2e%2e/run.json"] {
        assert_eq!(to(&format!("{page}{what}"), &[("host", &own)]), 404, "{what}");
    }
    for (name, value) in [
        ("origin", "http://evil.example"),
        ("origin", "null"),
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-site", "same-site"),
    ] {
        assert_eq!(to(&view, &[("host", &own), (name, value)]), 403, "{name}: {value}");
    }
    for host in ["evil.example", "evil.example:80", "127.0.0.1.evil.example:80", ""] {
        assert_eq!(to(&page, &[("host", host)]), 403, "{host}");
    }
    assert_eq!(served.send("POST", &view, &[("host", &own)]).0, 405);
    for question in
        ["%7b", "{\"colour\":1}", "{\"devices\":[9]}", "%ff", "[]", "{\"from_ns\":1e99}"]
    {
        let question = question.replace('"', "%22").replace(['{', '}'], "");
        let (status, _, body) = served.get(&format!("view?%7b{question}%7d"));
        assert_eq!(status, 400, "{question}: {body}");
        assert!(body.len() < 300 && body.ends_with(".\n") || body.starts_with("there is no"));
    }
    assert_eq!(served.get("request?%7b%22row%22:10%7d").0, 400);
    let (_, head, body) = served.get("");
    for header in [
        "nosniff",
        "no-store",
        "no-referrer",
        "content-security-policy: default-src 'none'; script-src 'sha256-",
        "; frame-ancestors 'none'\r\n",
        "x-frame-options: deny",
    ] {
        assert!(head.contains(header), "{head}");
    }
    assert!(body.contains("default-src 'none'") && body.contains("connect-src 'self'"));
}

fn is_open(stream: &TcpStream) -> bool {
    stream.peek(&mut [0]).is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
}

#[test]
fn a_server_with_few_descriptors_closes_the_oldest_connection_for_a_new_one() {
    let lab = Lab::new();
    lab.file("t.csv", trace(10, "db"));
    let served = Served::new(&lab, "t.csv");
    let used = served.proc("fd").len() as u64;
    served.limit_descriptors(used + 8);
    wait_for("a hundred clients before a silent one's time is over", || {
        let began = Instant::now();
        let silent: Vec<TcpStream> = (0..100).map(|_| served.silent()).collect();
        assert_eq!(served.get("trace").0, 200);
        let are_open = [0, 99].map(|place| is_open(&silent[place]));
        let is_early = began.elapsed() < Duration::from_secs(5);
        is_early.then(|| assert_eq!(are_open, [false, true]))
    });
}

#[test]
fn a_server_without_descriptors_waits_and_goes_on() {
    let lab = Lab::new();
    lab.file("t.csv", trace(10, "db"));
    let served = Served::new(&lab, "t.csv");
    assert_eq!(served.get("trace").0, 200);
    served.limit_descriptors(0);
    let mut stream = served.silent();
    write!(stream, "GET /{}/ HTTP/1.1\r\nhost: localhost\r\n\r\n", served.token).unwrap();
    // It tries seldom; but each time a busy machine may let it wait for a CPU.
    wait_for("a second in which it rests", || {
        let (watched, before) = (Duration::from_secs(1), served.busy_ns());
        std::thread::sleep(watched);
        (Duration::from_nanos(served.busy_ns() - before) < watched / 2).then_some(())
    });
    assert!(is_open(&stream), "nothing is answered yet");
    served.limit_descriptors(1000);
    stream.set_nonblocking(false).unwrap();
    let mut said = String::new();
    stream.read_to_string(&mut said).unwrap();
    assert!(said.starts_with("HTTP/1.1 200"), "{said}");
}

/// `explore --open` with a desktop that notes what `ps` shows of it; and what that is.
fn opened(lab: &Lab) -> (Served, String) {
    lab.directory("bin");
    lab.script("bin/xdg-open", "tr '\\0' '\\n' <\"/proc/$$/cmdline\" >seen && mv seen opened");
    let path = std::env::var("PATH").unwrap();
    let mut command = lab.lbolt("explore t.csv --open");
    command.env("PATH", format!("{}:{path}", lab.path("bin").display()));
    command.env("TMPDIR", lab.path("d"));
    let mut served = Served::of(lab, command);
    let seen = lab.path("opened");
    let text = served.running.until("the desktop", || std::fs::read_to_string(&seen).ok());
    std::fs::remove_file(seen).unwrap();
    (served, text)
}

#[test]
fn opening_shows_the_token_to_nobody_and_leaves_nothing() {
    let lab = Lab::new();
    lab.file("t.csv", trace(10, "db"));
    let (served, seen) = opened(&lab);
    assert!(!seen.contains(&served.token), "{seen}");
    let file = Path::new(seen.lines().last().unwrap());
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(file), mode(file.parent().unwrap())), (0o600, 0o700));
    let page = std::fs::read_to_string(file).unwrap();
    assert!(page.contains(&format!("http-equiv=\"refresh\" content=\"0; url={}\"", served.url())));
    // A browser says that it comes from elsewhere, and to look at the page.
    let headers =
        [("host", "127.0.0.1"), ("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate")];
    assert_eq!(served.send("GET", &format!("/{}/", served.token), &headers).0, 200);
    served.running.signal(Signal::INT);
    assert_eq!(served.running.wait().code, 0);
    assert!(!file.exists());
    lab.assert_clean();
}

#[test]
fn what_a_killed_command_opened_is_removed() {
    let lab = Lab::new();
    lab.file("t.csv", trace(10, "db"));
    let (served, seen) = opened(&lab);
    let file = Path::new(seen.lines().last().unwrap());
    assert!(file.exists());
    served.running.signal(Signal::KILL);
    served.running.wait();
    wait_for("its removal", || (!file.exists()).then_some(()));
    wait_for("its note's", || lab.leftovers().is_empty().then_some(()));
    lab.assert_clean();
}

#[test]
fn the_index_is_kept_beside_the_trace_and_made_anew_where_the_trace_is_another() {
    let lab = Lab::new();
    lab.file("t.csv", trace(100, "db"));
    assert_eq!(lab.run("import t.csv -o t").code, 0);
    let index = lab.path("t/requests.index");
    let opened = || {
        let served = Served::new(&lab, "t");
        let said = std::fs::read_to_string(served.running.err_path()).unwrap();
        (served.ask("view", &json!({}))["requests"].as_u64().unwrap(), said.contains("index: "))
    };
    assert_eq!(opened(), (100, true));
    assert_eq!(opened(), (100, false), "read again");
    let whole = std::fs::read(&index).unwrap();
    std::fs::write(&index, &whole[..whole.len() / 2]).unwrap();
    assert_eq!(opened(), (100, true), "damaged");
    lab.file("u.csv", trace(70, "db"));
    assert_eq!(lab.run("import u.csv -o u").code, 0);
    std::fs::copy(lab.path("u/requests.parquet"), lab.path("t/requests.parquet")).unwrap();
    assert_eq!(opened(), (70, true), "of another trace");
    assert_eq!(lab.run("runs rm t").code, 0, "it is the run's own, and goes with it");
    assert!(!lab.path("t").exists());
}

#[test]
fn what_cannot_be_explored_is_refused_in_a_sentence() {
    let lab = Lab::new();
    lab.run("explore nothing").assert_refused(2, &["nothing"]);
    lab.run("explore").assert_refused_by_usage("<TRACE>");
    lab.run("explore t --port 70000").assert_refused_by_usage("--port");
    lab.measure(&format!("throughput d --rw read {QUICK} -o run"));
    lab.run("explore run").assert_refused(2, &["is a run without requests"]);
    lab.file("t.csv", trace(3, "db"));
    let first = Served::new(&lab, "t.csv");
    let again = lab.run(&format!("explore t.csv --port {}", first.port));
    again.assert_refused(2, &["the address is in use", "another port"]);
}

#[test]
fn a_trace_of_one_request_and_one_of_lbolt_alone_can_be_explored() {
    let lab = Lab::new();
    lab.file("one.csv", trace(1, "db"));
    let served = Served::new(&lab, "one.csv");
    assert_eq!(served.ask("view", &json!({}))["requests"], 1);
    assert!(!lab.path("requests.index").exists(), "a foreign trace is read anew each time");
}

/// The page in the browser, on a trace whose names attack.
#[test]
fn the_explorer_holds_in_a_browser() {
    if !Path::new(BROWSER).exists() {
        return println!("skipped: needs {BROWSER}");
    }
    let viewer = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../viewer");
    if let Err(sentence) = packages::install(&viewer) {
        return println!("skipped: {sentence}");
    }
    let lab = Lab::new();
    lab.file("t.csv", trace(20_000, "<img src=x onerror=taken=1>"));
    assert_eq!(lab.run("import t.csv -o t").code, 0);
    let served = Served::new(&lab, "t");
    let mut node = Command::new("node");
    node.args(["--test", LIMIT, "test/explore.test.mjs"]).current_dir(&viewer);
    node.env("LBOLT_EXPLORE", served.url()).env("LBOLT_CHROMIUM", BROWSER);
    let Ended { code, out, err } = lab.end(node);
    out.lines().filter(|line| line.contains(" ms,")).for_each(|line| println!("{line}"));
    assert_eq!(code, 0, "{out}{err}");
}
