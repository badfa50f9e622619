//! `lbolt explore`: what its server answers and refuses, the index that it keeps, and its page in a
//! real browser, where there is one (`viewer/test/explore.test.mjs`).

// Helpers of tests are tests, which clippy.toml cannot know of this file.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use crate::common::{Lab, QUICK, Running};
use crate::page::{BROWSER, packages};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;

/// A server, and where it is.
struct Served {
    running: Running,
    port: u16,
    token: String,
}

impl Served {
    fn new(lab: &Lab, words: &str) -> Self {
        let mut running = lab.start(lab.lbolt(&format!("explore {words}")));
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
    for header in ["nosniff", "no-store", "no-referrer"] {
        assert!(head.contains(header), "{head}");
    }
    assert!(body.contains("default-src 'none'") && body.contains("connect-src 'self'"));
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
    node.args(["--test", "test/explore.test.mjs"]).current_dir(&viewer);
    node.env("LBOLT_EXPLORE", served.url()).env("LBOLT_CHROMIUM", BROWSER);
    let output = node.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    said.lines().filter(|line| line.contains(" ms,")).for_each(|line| println!("{line}"));
    assert!(output.status.success(), "{said}");
}
