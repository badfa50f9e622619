//! What Prometheus' own programs make of it: promtool's checks, and a server that fetches it.

use crate::documents::queries;
use crate::planted::second;
use metrics::{Format, Hosts, Server, Totals, serve};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

fn is_missing(program: &str) -> bool {
    let is_there = Command::new(program).arg("--version").output().is_ok();
    if !is_there {
        println!("skipped: needs {program}, of Debian's package prometheus");
    }
    !is_there
}

fn planted() -> Totals {
    let mut totals = Totals::default();
    (0..3).for_each(|number| totals.add(&second(number)));
    totals
}

/// What the program says and whether it is content, being given this.
fn told(command: &mut Command, input: &[u8]) -> (String, bool) {
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = piped.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
    (text.concat(), output.status.success())
}

#[test]
fn promtool_finds_no_fault_with_the_text() {
    if is_missing("promtool") {
        return;
    }
    for totals in [Totals::default(), planted()] {
        let text = totals.text(Format::Text);
        let (said, is_fine) = told(Command::new("promtool").args(["check", "metrics"]), &text);
        assert!(is_fine && said.is_empty(), "{said}");
    }
}

/// promtool reads OpenMetrics only if every sample has its moment, to make blocks of it.
#[test]
fn promtool_reads_open_metrics() {
    if is_missing("promtool") {
        return;
    }
    let text = String::from_utf8(planted().text(Format::OpenMetrics).into()).unwrap();
    let dated =
        |line: &str| if line.starts_with('#') { line.to_owned() } else { format!("{line} 1.0") };
    let lines: Vec<_> = text.lines().map(dated).collect();
    let directory = tempfile::tempdir().unwrap();
    let (from, to) = (directory.path().join("metrics"), directory.path().join("blocks"));
    let make = |text: String| {
        std::fs::write(&from, text).unwrap();
        let mut promtool = Command::new("promtool");
        promtool.args(["tsdb", "create-blocks-from", "openmetrics"]).args([&from, &to]);
        told(&mut promtool, b"")
    };
    let (said, is_fine) = make(lines.join("\n") + "\n");
    assert!(is_fine, "{said}");
    // It would have told us.
    let (_, is_fine) = make(lines.join("\n").replace("# EOF", ""));
    assert!(!is_fine);
}

/// A Prometheus server, which ends with this.
struct Prometheus {
    child: Child,
    address: SocketAddr,
    _directory: tempfile::TempDir,
}

impl Prometheus {
    fn start(of: &Server, options: &[&str]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        // Nobody else is given a port of this address meanwhile.
        let free = TcpListener::bind("127.0.0.4:0").unwrap().local_addr().unwrap();
        let config = format!(
            "global: {{scrape_interval: 500ms, scrape_timeout: 500ms}}\nscrape_configs:\n  \
             - {{job_name: lbolt, static_configs: [{{targets: ['{}']}}]}}\n",
            of.address()
        );
        let path = directory.path().join("prometheus.yml");
        std::fs::write(&path, config).unwrap();
        let log = std::fs::File::create(directory.path().join("log")).unwrap();
        let child = Command::new("prometheus")
            .arg(format!("--config.file={}", path.display()))
            .arg(format!("--storage.tsdb.path={}", directory.path().join("data").display()))
            .arg(format!("--web.listen-address={free}"))
            .args(options)
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        Self { child, address: free, _directory: directory }
    }

    /// What a query gives: nothing yet while the server is starting.
    fn ask(&self, query: &str) -> Vec<Value> {
        let encoded: String = query.bytes().map(|byte| format!("%{byte:02x}")).collect();
        let path = format!("/api/v1/query?query={encoded}");
        let request = format!("GET {path} HTTP/1.0\r\nHost: here\r\n\r\n");
        let mut response = String::new();
        if let Ok(mut stream) = TcpStream::connect(self.address) {
            stream.write_all(request.as_bytes()).unwrap();
            stream.read_to_string(&mut response).unwrap();
        }
        let body = response.split_once("\r\n\r\n").map_or("", |(_, body)| body);
        let Ok(told) = serde_json::from_str::<Value>(body) else { return Vec::new() };
        assert_eq!(told["status"], "success", "{query}: {told}");
        told["data"]["result"].as_array().cloned().unwrap_or_default()
    }

    fn number(&self, query: &str) -> Option<f64> {
        self.ask(query).first()?["value"][1].as_str()?.parse().ok()
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Counts seconds, quickly, until the server has fetched so many states.
fn fetched(options: &[&str]) -> (Prometheus, Server) {
    let totals = Arc::new(Mutex::new(Totals::default()));
    totals.lock().unwrap().add(&second(0));
    let server = serve("127.0.0.1:0".parse().unwrap(), Hosts::Loopback, totals.clone()).unwrap();
    let prometheus = Prometheus::start(&server, options);
    let began = Instant::now();
    let is_up = || prometheus.number("count_over_time(up[1m])").is_some_and(|count| count >= 8.0);
    let mut number = 1;
    while !is_up() {
        assert!(began.elapsed() < Duration::from_secs(60), "Prometheus fetched nothing");
        totals.lock().unwrap().add(&second(number));
        number += 1;
        std::thread::sleep(Duration::from_millis(100));
    }
    // All that it has by now is of the last state.
    let count = number as f64;
    while prometheus.number("lbolt_watched_seconds_total") != Some(count) {
        assert!(began.elapsed() < Duration::from_secs(90), "Prometheus fetches no more");
        std::thread::sleep(Duration::from_millis(100));
    }
    (prometheus, server)
}

/// Every query of the dashboard, with what is chosen there. The heat map has two, of which one is
/// of the histograms that the server does not keep.
fn dashboard_of(prometheus: &Prometheus) {
    let mut heat_maps = 0;
    for (title, query) in queries() {
        let query = query
            .replace("$__rate_interval", "1m")
            .replace("$__range", "1m")
            .replace("$device", ".*")
            .replace("$role", ".*");
        let is_there = !prometheus.ask(&query).is_empty();
        let is_heat_map = title.starts_with("fsync");
        assert!(is_there || is_heat_map, "{title}: {query}");
        heat_maps += usize::from(is_there && is_heat_map);
    }
    assert_eq!(heat_maps, 1);
}

#[test]
fn a_server_keeps_classic_histograms() {
    if is_missing("prometheus") {
        return;
    }
    let (prometheus, _server) = fetched(&[]);
    let number = |query: &str| prometheus.number(query).unwrap_or(f64::NAN);
    let seconds = number("lbolt_watched_seconds_total");
    assert_eq!(number("lbolt_request_response_seconds_count"), 100.0 * seconds);
    // 1 to 67 ms are at most 2^26 − 1 ns, 67.1 ms.
    let bucket = "lbolt_request_response_seconds_bucket{le=\"0.067108863\"}";
    assert_eq!(number(bucket), 67.0 * seconds);
    let sum = number("lbolt_request_response_seconds_sum");
    assert!((sum / seconds - 5.05).abs() < 1e-9, "{sum}");
    assert_eq!(number("sum(lbolt_lost_seconds_total)"), 0.25 * seconds);
    let role = r#"lbolt_request_bytes_total{role="post\"gres\\:\\n backend é"}"#;
    assert_eq!(number(role), 409_600.0 * seconds);
    dashboard_of(&prometheus);
}

#[test]
fn a_server_keeps_native_histograms() {
    if is_missing("prometheus") {
        return;
    }
    let (prometheus, _server) = fetched(&["--enable-feature=native-histograms"]);
    let number = |query: &str| prometheus.number(query).unwrap_or(f64::NAN);
    let seconds = number("lbolt_watched_seconds_total");
    assert_eq!(number("histogram_count(lbolt_request_response_seconds)"), 100.0 * seconds);
    let sum = number("histogram_sum(lbolt_request_response_seconds)");
    assert!((sum / seconds - 5.05).abs() < 1e-9, "{sum}");
    for (quantile, of_reads) in [(0.5, 0.050), (0.99, 0.099), (0.1, 0.010)] {
        let query = format!("histogram_quantile({quantile}, lbolt_request_response_seconds)");
        let found = number(&query);
        assert!((found / of_reads - 1.0).abs() < 0.06, "{quantile}: {found}");
    }
    let part = number("histogram_fraction(0, 0.0625, lbolt_request_response_seconds)");
    assert!((part - 0.62).abs() < 0.01, "{part}");
    dashboard_of(&prometheus);
}
