//! Exports as a receiver of OTLP gets them: held against Prometheus' text to the last count, and
//! receivers that fail in each way.

use crate::planted::second;
use metrics::{Endpoint, Export, Format, Pace, Shared, Totals};
use opentelemetry_proto::tonic::collector::metrics::v1::{
    ExportMetricsPartialSuccess, ExportMetricsServiceRequest, ExportMetricsServiceResponse,
};
use opentelemetry_proto::tonic::common::v1::{KeyValue, any_value::Value as Any};
use opentelemetry_proto::tonic::metrics::v1::{
    ExponentialHistogramDataPoint, metric::Data, number_data_point::Value as Number,
};
use prost::Message;
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const SOON: Duration = Duration::from_secs(20);

/// What came: the request's head, and its body.
type Request = (String, Vec<u8>);

/// A receiver that answers each request in this way, and tells what came.
fn receiver(answer: impl Fn() -> Vec<u8> + Send + 'static) -> (SocketAddr, Receiver<Request>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (came, requests) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            while let Some(request) = read(&mut stream) {
                let answer = answer();
                if came.send(request).is_err() || stream.write_all(&answer).is_err() {
                    break;
                }
            }
        }
    });
    (address, requests)
}

fn read(stream: &mut TcpStream) -> Option<Request> {
    let mut bytes = Vec::new();
    let mut part = [0; 4096];
    loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            let head = String::from_utf8(bytes[..end].to_vec()).unwrap().to_lowercase();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            let mut body = bytes[end + 4..].to_vec();
            let missing = length.unwrap().parse::<usize>().unwrap() - body.len();
            let mut rest = vec![0; missing];
            stream.read_exact(&mut rest).ok()?;
            body.extend(rest);
            return Some((head, body));
        }
        match stream.read(&mut part).ok()? {
            0 => return None,
            count => bytes.extend(&part[..count]),
        }
    }
}

fn answered(status: &str, body: &[u8]) -> Vec<u8> {
    let head = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n", body.len());
    [head.as_bytes(), body].concat()
}

fn planted() -> Shared {
    let totals = Shared::new(Mutex::new(Totals::default()));
    (0..3).for_each(|number| totals.lock().unwrap().add(&second(number)));
    totals
}

/// Begins; what is said is kept.
fn begin(url: &str, totals: &Shared, pace: Pace) -> (Export, Arc<Mutex<Vec<String>>>) {
    let said = Arc::new(Mutex::new(Vec::new()));
    let say = {
        let said = said.clone();
        move |text: &str| said.lock().unwrap().push(text.to_owned())
    };
    let to: Endpoint = url.parse().unwrap();
    (Export::begin(to, "db1".to_owned(), totals.clone(), pace, say).unwrap(), said)
}

fn quick() -> Pace {
    let [every, again, last] = [40, 10, 1_000].map(Duration::from_millis);
    Pace { every, again, answer: SOON, last }
}

fn text(totals: &Shared) -> String {
    let text = totals.lock().unwrap().text(Format::Text);
    String::from_utf8(text.to_vec()).unwrap()
}

fn failures(totals: &Shared) -> u64 {
    let name = "lbolt_otlp_exports_failed_total ";
    text(totals).lines().find_map(|line| line.strip_prefix(name)?.parse().ok()).unwrap()
}

fn wait_for(is: impl Fn() -> bool) {
    let began = Instant::now();
    while !is() {
        assert!(began.elapsed() < SOON);
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn labels(attributes: &[KeyValue]) -> String {
    let escaped = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"");
    let label = |one: &KeyValue| match one.value.as_ref().unwrap().value.as_ref().unwrap() {
        Any::StringValue(value) => format!("{}=\"{}\"", one.key, escaped(value)),
        other => panic!("{other:?}"),
    };
    attributes.iter().map(label).collect::<Vec<_>>().join(",")
}

/// Each series by its name and labels, as the text has it.
fn series(body: &[u8]) -> (BTreeMap<String, f64>, Vec<ExponentialHistogramDataPoint>) {
    let request = ExportMetricsServiceRequest::decode(body).unwrap();
    let metrics = &request.resource_metrics[0].scope_metrics[0].metrics;
    let (mut values, mut histograms) = (BTreeMap::new(), Vec::new());
    for metric in metrics {
        let name = |end: &str, labels: &str| match labels.is_empty() && end.is_empty() {
            true => metric.name.clone(),
            false => format!("{}{end}{{{labels}}}", metric.name),
        };
        let points = match metric.data.as_ref().unwrap() {
            Data::Sum(sum) => {
                assert!(sum.is_monotonic && sum.aggregation_temporality == 2, "{}", metric.name);
                assert!(sum.data_points.iter().all(|point| point.start_time_unix_nano > 0));
                &sum.data_points
            }
            Data::Gauge(gauge) => &gauge.data_points,
            Data::ExponentialHistogram(times) => {
                assert_eq!(times.aggregation_temporality, 2);
                for point in &times.data_points {
                    let labels = labels(&point.attributes);
                    values.insert(name("_count", &labels), point.count as f64);
                    values.insert(name("_sum", &labels), point.sum.unwrap());
                }
                histograms.extend(times.data_points.clone());
                continue;
            }
            other => panic!("{other:?}"),
        };
        for point in points {
            let Some(Number::AsDouble(value)) = point.value else { panic!("{}", metric.name) };
            assert!(point.time_unix_nano >= point.start_time_unix_nano);
            values.insert(name("", &labels(&point.attributes)), value);
        }
    }
    (values, histograms)
}

#[test]
fn an_export_is_prometheus_text_to_the_last_count() {
    let (address, requests) = receiver(|| answered("200 OK", b""));
    let totals = planted();
    let (export, said) = begin(&format!("http://{address}"), &totals, quick());
    let (head, body) = requests.recv_timeout(SOON).unwrap();
    assert!(head.starts_with("post /v1/metrics http/1.1"), "{head}");
    assert!(head.contains("content-type: application/x-protobuf"), "{head}");
    let (values, histograms) = series(&body);
    let text = text(&totals);
    let samples = text.lines().filter(|line| !line.starts_with('#') && !line.contains("_bucket"));
    let expected: BTreeMap<String, f64> = samples
        .map(|line| line.rsplit_once(' ').unwrap())
        .map(|(name, value)| (name.to_owned(), value.parse().unwrap()))
        .collect();
    assert!(expected.len() > 15 && histograms.len() == 2, "{}", expected.len());
    assert_eq!(values, expected);
    drop(export);
    assert_eq!((failures(&totals), said.lock().unwrap().len()), (0, 0));
    let request = ExportMetricsServiceRequest::decode(body.as_slice()).unwrap();
    let resource = request.resource_metrics[0].resource.as_ref().unwrap();
    let told = labels(&resource.attributes);
    assert!(told.starts_with("service.name=\"lbolt\"") && told.contains("host.name=\"db1\""));
}

#[test]
fn buckets_are_right_within_four_thousandths() {
    let (address, requests) = receiver(|| answered("200 OK", b""));
    let _export = begin(&format!("http://{address}/"), &planted(), quick());
    let (_, histograms) = series(&requests.recv_timeout(SOON).unwrap().1);
    for (histogram, most_ms) in histograms.iter().zip([100u64, 10]) {
        let buckets = histogram.positive.as_ref().unwrap();
        let in_all: u64 = buckets.bucket_counts.iter().sum();
        assert_eq!(in_all + histogram.zero_count, histogram.count);
        assert_eq!((histogram.scale, histogram.count), (3, 3 * most_ms));
        let mut so_far = 0;
        for (place, count) in (buckets.offset..).zip(&buckets.bucket_counts) {
            so_far += count;
            let end = (f64::from(place + 1) / 8.0).exp2();
            let below =
                |end: f64| (1..=most_ms).filter(|ms| *ms as f64 / 1e3 <= end).count() as u64 * 3;
            let range = below(end * 0.996)..=below(end * 1.004);
            assert!(range.contains(&so_far), "{so_far} up to {end} s: {range:?}");
        }
    }
}

#[test]
fn a_failure_is_said_once_counted_and_retried() {
    let rejected = || {
        let error_message = "full\x1b[31m".to_owned();
        let partial = ExportMetricsPartialSuccess { rejected_data_points: 7, error_message };
        ExportMetricsServiceResponse { partial_success: Some(partial) }.encode_to_vec()
    };
    // Nobody listens there, and no other test is given it.
    let free = SocketAddr::from(([127, 0, 0, 1], 1));
    // It accepts, and says nothing.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    for (address, expected) in [
        (receiver(|| answered("500 Internal Server Error", b"")).0, "status 500"),
        (receiver(|| answered("302 Found\r\nLocation: http://192.0.2.1/", b"")).0, "status 302"),
        (receiver(move || answered("200 OK", &rejected())).0, "rejected 7 data points: full\\x1b"),
        (receiver(|| b"\x16\x03\x01 no HTTP\r\n\r\n".to_vec()).0, "failed to export"),
        (receiver(|| answered("200 OK", &vec![1; 1 << 20])).0, "failed to export"),
        (free, "refused"),
        (silent.local_addr().unwrap(), "no answer"),
    ] {
        let totals = planted();
        let pace = match expected {
            "no answer" => Pace { answer: Duration::from_millis(300), ..quick() },
            _ => quick(),
        };
        let (export, said) = begin(&format!("http://{address}"), &totals, pace);
        wait_for(|| failures(&totals) >= 3);
        let began = Instant::now();
        drop(export);
        assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
        let said = said.lock().unwrap();
        assert!(said.len() == 1 && said[0].contains(expected), "{expected}: {said:?}");
        assert!(said[0].contains("; lbolt retries"), "{said:?}");
    }
}

#[test]
fn a_receiver_that_comes_back_gets_what_it_missed() {
    // Nobody else is given a port of this address meanwhile.
    let listener = TcpListener::bind("127.0.0.2:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let totals = planted();
    let (_export, said) = begin(&format!("http://{address}"), &totals, quick());
    wait_for(|| failures(&totals) >= 2);
    totals.lock().unwrap().add(&second(3));
    let listener = TcpListener::bind(address).unwrap();
    let next = || {
        let (mut stream, _) = listener.accept().unwrap();
        series(&read(&mut stream).unwrap().1).0
    };
    let is_of_now = |of: &BTreeMap<String, f64>| of["lbolt_watched_seconds_total"] == 4.0;
    // What was about to be sent may come first, and has no answer.
    let values = (0..2).map(|_| next()).find(is_of_now).unwrap();
    assert_eq!(said.lock().unwrap().len(), 1);
    assert!(values["lbolt_otlp_exports_failed_total"] >= 2.0);
}

#[test]
fn the_end_sends_the_last_totals_and_waits_for_nobody() {
    let (address, requests) = receiver(|| answered("200 OK", b""));
    let totals = planted();
    let (export, _) = begin(&format!("http://{address}"), &totals, Pace::default());
    totals.lock().unwrap().add(&second(3));
    drop(export);
    let (values, _) = series(&requests.recv_timeout(SOON).unwrap().1);
    assert_eq!(values["lbolt_watched_seconds_total"], 4.0);
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", silent.local_addr().unwrap());
    let (began, pace) = (Instant::now(), Pace::default());
    let answer = pace.answer;
    drop(begin(&url, &totals, pace));
    assert!(began.elapsed() < answer, "{:?}", began.elapsed());
}

#[test]
fn an_address_that_is_none_is_refused_in_a_sentence() {
    for good in ["http://127.0.0.1:4318", "http://collector", "http://[::1]:4318/a/", "HTTP://h:1"]
    {
        assert!(good.parse::<Endpoint>().is_ok(), "{good}");
    }
    let one: Endpoint = "http://h:9090/api/v1/otlp".parse().unwrap();
    assert_eq!(Ok(one), "http://h:9090/api/v1/otlp/v1/metrics".parse::<Endpoint>().map_err(drop));
    for (bad, expected) in [
        ("https://h:4318", "Collector"),
        ("ftp://h", "http://127.0.0.1:4318"),
        ("127.0.0.1:4318", "http://127.0.0.1:4318"),
        ("localhost", "http://127.0.0.1:4318"),
        ("", "not an address"),
        ("http://", "not an address"),
        ("http://h:99999", "not an address"),
        ("http://h:", "not an address"),
        ("http://:1", "not an address"),
        ("http://h/?a=b", "not an address"),
        ("http://me:secret@h", "http://…@h: not an address"),
        ("https://me:secret@h/x", "https://…@h/x: the address"),
        ("me:secret@h:4318", "…@h:4318: the address"),
        ("http://me:sec/ret?secret#@h", "http://…@h: not an address"),
        ("http://me: secret@h", "http://…@h: not an address"),
        ("http://h/?key=secret", "http://h/?…: not an address"),
        ("https://h/a#secret", "https://h/a#…: "),
        ("http://a b", "not an address"),
        ("http://h\n\x1b[31m", "not an address"),
        ("/v1/metrics", "http://127.0.0.1:4318"),
    ] {
        let error = bad.parse::<Endpoint>().unwrap_err().to_string();
        assert!(error.starts_with("export metrics to ") && error.contains(expected), "{error}");
        assert!(!error.contains(['\n', '\x1b']) && !error.contains("secret"), "{error}");
    }
}
