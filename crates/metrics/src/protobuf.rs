//! Prometheus' protobuf (`io.prometheus.client.MetricFamily`, each after its length), with classic
//! and native buckets in one histogram. A server that knows no native ones takes the classic ones.
//!
//! The messages are those of the published schema, as far as they are used here. prometheus-client
//! has them too, but makes them of the schema as it is built: with its compiler, 90 s longer.
//!
//! Non-goals: reading; summaries, exemplars, moments.

use crate::family::{Family, Series, Value};
use crate::metric::{Kind, Metric};
use crate::responses::{Responses, SCHEMA};
use prost::Message;

/// How near to nothing the bucket of nothing reaches: what Prometheus' own clients say.
const ZERO_THRESHOLD: f64 = 2.938_735_877_055_719e-39;

/// `MetricFamily`.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct MetricFamily {
    #[prost(string, tag = "1")]
    pub(crate) name: String,
    #[prost(string, tag = "2")]
    pub(crate) help: String,
    #[prost(enumeration = "MetricType", tag = "3")]
    pub(crate) kind: i32,
    #[prost(message, repeated, tag = "4")]
    pub(crate) metric: Vec<Sample>,
    #[prost(string, tag = "5")]
    pub(crate) unit: String,
}

/// `MetricType`, those that are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, prost::Enumeration)]
#[repr(i32)]
pub(crate) enum MetricType {
    Counter = 0,
    Gauge = 1,
    Histogram = 4,
}

/// `Metric`.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Sample {
    #[prost(message, repeated, tag = "1")]
    pub(crate) label: Vec<LabelPair>,
    #[prost(message, optional, tag = "2")]
    pub(crate) gauge: Option<Number>,
    #[prost(message, optional, tag = "3")]
    pub(crate) counter: Option<Number>,
    #[prost(message, optional, tag = "7")]
    pub(crate) histogram: Option<Histogram>,
}

/// `LabelPair`.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct LabelPair {
    #[prost(string, tag = "1")]
    pub(crate) name: String,
    #[prost(string, tag = "2")]
    pub(crate) value: String,
}

/// `Counter` and `Gauge`.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Number {
    #[prost(double, tag = "1")]
    pub(crate) value: f64,
}

/// `Histogram`.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Histogram {
    #[prost(uint64, tag = "1")]
    pub(crate) sample_count: u64,
    #[prost(double, tag = "2")]
    pub(crate) sample_sum: f64,
    #[prost(message, repeated, tag = "3")]
    pub(crate) bucket: Vec<Bucket>,
    #[prost(sint32, tag = "5")]
    pub(crate) schema: i32,
    #[prost(double, tag = "6")]
    pub(crate) zero_threshold: f64,
    #[prost(uint64, tag = "7")]
    pub(crate) zero_count: u64,
    #[prost(message, repeated, tag = "12")]
    pub(crate) positive_span: Vec<BucketSpan>,
    #[prost(sint64, repeated, tag = "13")]
    pub(crate) positive_delta: Vec<i64>,
}

/// `Bucket`.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Bucket {
    #[prost(uint64, tag = "1")]
    pub(crate) cumulative_count: u64,
    #[prost(double, tag = "2")]
    pub(crate) upper_bound: f64,
}

/// `BucketSpan`.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct BucketSpan {
    #[prost(sint32, tag = "1")]
    pub(crate) offset: i32,
    #[prost(uint32, tag = "2")]
    pub(crate) length: u32,
}

/// All families, each after its length.
pub(crate) fn delimited(families: &[Family<'_>]) -> Vec<u8> {
    let mut to = Vec::new();
    for family in families {
        to.extend(message(family).encode_length_delimited_to_vec());
    }
    to
}

fn message(family: &Family<'_>) -> MetricFamily {
    let Metric { kind, unit, help, .. } = *family.metric;
    let kind = match kind {
        Kind::Counter => MetricType::Counter,
        Kind::Gauge | Kind::Info => MetricType::Gauge,
        Kind::Histogram => MetricType::Histogram,
    };
    MetricFamily {
        name: family.metric.sample_name(),
        help: help.to_owned(),
        kind: kind.into(),
        metric: family.series.iter().map(|series| sample(series, family.metric)).collect(),
        unit: unit.name().unwrap_or_default().to_owned(),
    }
}

fn sample(series: &Series<'_>, metric: &'static Metric) -> Sample {
    let pair = |(name, value): (&str, &str)| LabelPair { name: name.into(), value: value.into() };
    let mut sample =
        Sample { label: series.labels(metric).map(pair).collect(), ..Sample::default() };
    match series.value {
        Value::Number(value) if metric.kind == Kind::Counter => {
            sample.counter = Some(Number { value });
        }
        Value::Number(value) => sample.gauge = Some(Number { value }),
        Value::Responses(responses) => sample.histogram = Some(histogram(responses)),
    }
    sample
}

fn histogram(responses: &Responses) -> Histogram {
    let bucket = |(upper_bound, cumulative_count)| Bucket { cumulative_count, upper_bound };
    let spans = responses.spans();
    // Each count is told by how much it differs from the one before.
    let mut last = 0;
    let delta = |count: &u64| {
        let count = i64::try_from(*count).unwrap_or(i64::MAX);
        count - std::mem::replace(&mut last, count)
    };
    Histogram {
        sample_count: responses.count(),
        sample_sum: responses.sum(),
        bucket: responses.cumulative().map(bucket).collect(),
        schema: SCHEMA,
        zero_threshold: ZERO_THRESHOLD,
        zero_count: responses.zero(),
        positive_span: spans
            .iter()
            .map(|span| BucketSpan { offset: span.offset, length: span.counts.len() as u32 })
            .collect(),
        positive_delta: spans.iter().flat_map(|span| &span.counts).map(delta).collect(),
    }
}
