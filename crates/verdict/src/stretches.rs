//! The series of a trace: its requests, and its calls that made files durable, in stretches of
//! equal number, in the order of their arrival.

use crate::requests::{ByClass, Share, Traffic, is_response};
use analyze::compare::MOST_UNITS;
use analyze::compare::series::Series;
use model::histogram::{Buckets, ByOctave, Store};
use model::record::{Call, Flags, Op, Request, Subject};

/// Requests by stretch and operation.
#[derive(Debug)]
pub struct Stretches {
    length: u64,
    rows: u64,
    traffic: ByClass<(u64, u32, Op)>,
}

/// Stretches of a trace: a dozen, so that each is long against what makes neighbours alike.
const STRETCHES: u64 = MOST_UNITS as u64;

/// A figure of a stretch's requests.
type Figure = fn(&Traffic) -> Option<f64>;

const QUANTITIES: [(&str, Figure); 8] = [
    ("response_mean_ns", |traffic| traffic.response.as_ref()?.mean_ns()),
    ("response_p50_ns", |traffic| quantile_ns(traffic.response.as_ref(), 0.5)),
    ("response_p90_ns", |traffic| quantile_ns(traffic.response.as_ref(), 0.9)),
    ("response_p99_ns", |traffic| quantile_ns(traffic.response.as_ref(), 0.99)),
    ("done_mean_ns", |traffic| traffic.done()?.mean_ns()),
    ("done_p50_ns", |traffic| quantile_ns(traffic.done().as_ref(), 0.5)),
    ("done_p90_ns", |traffic| quantile_ns(traffic.done().as_ref(), 0.9)),
    ("done_p99_ns", |traffic| quantile_ns(traffic.done().as_ref(), 0.99)),
];

fn quantile_ns<S: Store>(times: Option<&Buckets<S>>, quantile: f64) -> Option<f64> {
    Some(times?.quantile_ns(quantile)? as f64)
}

/// The series of calls, in the order of their begins; none without any whose end is known.
pub fn of_calls(calls: &[Call]) -> Vec<Series> {
    let time = |call: &Call| u64::try_from(call.end_ns?.checked_sub(call.begin_ns)?).ok();
    let times: Vec<u64> = calls.iter().filter_map(time).collect();
    let stretches = times.chunks(times.len().div_ceil(MOST_UNITS).max(1)).map(|stretch| {
        let mut traffic = Traffic::default();
        let response = traffic.response.insert(Buckets::default());
        stretch.iter().for_each(|ns| response.record(*ns));
        traffic
    });
    let stretches: Vec<Traffic> = stretches.collect();
    let of_time = QUANTITIES.into_iter().filter(|(quantity, _)| is_response(quantity));
    let series = of_time.map(|(quantity, value)| Series {
        subject: Subject::class("all", "calls"),
        quantity: quantity.to_owned(),
        values: stretches.iter().filter_map(value).collect(),
        ..Series::default()
    });
    series.filter(|series| !series.values.is_empty()).collect()
}

impl Stretches {
    /// Of a trace of so many rows.
    pub fn new(rows: u64) -> Self {
        Self { length: rows.div_ceil(STRETCHES).max(1), rows: 0, traffic: ByClass::default() }
    }

    /// Adds the next row.
    pub fn add(&mut self, row: &Request) {
        let stretch = self.rows / self.length;
        self.rows += 1;
        if !row.flags.contains(Flags::OWN) && row.is_asked() {
            self.traffic.of((stretch, row.device, row.op)).add(&Share::of(row));
        }
    }

    /// The series of all requests, of each operation, and of each of a device; `name` is that of a
    /// device.
    pub fn series(&self, name: impl Fn(u32) -> String) -> Vec<Series> {
        let mut ops = Op::ALL;
        ops.sort_by_key(|op| op.name());
        let all = std::iter::once((None, None)).chain(ops.map(|op| (None, Some(op))));
        let devices = self.traffic.by(|(_, device, _)| Some(*device)).into_iter();
        let of_devices = devices.flat_map(|(device, _)| ops.map(|op| (Some(device), Some(op))));
        let series = all.chain(of_devices).flat_map(|(device, op)| {
            let is_in = |(_, of_device, of_op): &(u64, u32, Op)| {
                op.is_none_or(|op| op == *of_op) && device.is_none_or(|of| of == *of_device)
            };
            let stretches = self.traffic.by(|class| is_in(class).then_some(class.0));
            let mut whole = Traffic::<ByOctave<128>>::default();
            stretches.iter().for_each(|(_, traffic)| whole.merge(traffic));
            let doubts = whole.doubts();
            let subject = match (device, op) {
                (Some(device), Some(op)) => Subject::device_op(&name(device), op.name()),
                (_, Some(op)) => Subject::class("op", op.name()),
                _ => Subject::class("all", "all"),
            };
            QUANTITIES.map(|(quantity, value)| Series {
                subject: subject.clone(),
                quantity: quantity.to_owned(),
                values: stretches.iter().filter_map(|(_, traffic)| value(traffic)).collect(),
                doubts: doubts.iter().filter(|_| is_response(quantity)).cloned().collect(),
                ..Series::default()
            })
        });
        series.filter(|series| !series.values.is_empty()).collect()
    }
}
