//! OTLP's protobuf of the totals (`ExportMetricsServiceRequest`): cumulative sums, gauges, and
//! response times as exponential histograms. Names are those of Prometheus' samples, so a metric
//! has one name by whichever way it comes.
//!
//! An exponential histogram of scale 3 has the same buckets as a native one of schema 3
//! (`responses`), but counts them by their lower bound: its bucket i is the native bucket i + 1.
//!
//! Source: opentelemetry.io/docs/specs/otel/metrics/data-model, *ExponentialHistogram*.
//!
//! Non-goals: sending (`push`); exemplars; delta temporality.

use crate::family::{Family, Series, Value};
use crate::metric::{Kind, Metric, Unit};
use crate::responses::{Responses, SCHEMA};
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::common::v1::{
    AnyValue, InstrumentationScope, KeyValue, any_value::Value as Any,
};
use opentelemetry_proto::tonic::metrics::v1::{
    AggregationTemporality, ExponentialHistogram, ExponentialHistogramDataPoint, Gauge,
    Metric as Message, NumberDataPoint, ResourceMetrics, ScopeMetrics, Sum,
    exponential_histogram_data_point::Buckets, metric::Data, number_data_point::Value as Number,
};
use opentelemetry_proto::tonic::resource::v1::Resource;

/// The time that totals are of, in nanoseconds since 1970.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Span {
    pub(crate) from_unix_ns: u64,
    pub(crate) until_unix_ns: u64,
}

/// All families as one request; `host` is the machine's name.
pub(crate) fn request(
    families: &[Family<'_>],
    host: &str,
    span: Span,
) -> ExportMetricsServiceRequest {
    let version = env!("CARGO_PKG_VERSION");
    let resource = [("service.name", "lbolt"), ("service.version", version), ("host.name", host)];
    let scope = InstrumentationScope {
        name: "lbolt".to_owned(),
        version: version.to_owned(),
        ..InstrumentationScope::default()
    };
    let metrics = families.iter().map(|family| message(family, span)).collect();
    let scope_metrics =
        vec![ScopeMetrics { scope: Some(scope), metrics, ..ScopeMetrics::default() }];
    let attributes = resource.map(attribute).into();
    let resource = Some(Resource { attributes, ..Resource::default() });
    let of_host = ResourceMetrics { resource, scope_metrics, ..ResourceMetrics::default() };
    ExportMetricsServiceRequest { resource_metrics: vec![of_host] }
}

fn message(family: &Family<'_>, span: Span) -> Message {
    let metric = family.metric;
    let numbers = || family.series.iter().filter_map(|series| number(series, metric, span));
    let times = || family.series.iter().filter_map(|series| times(series, metric, span));
    let aggregation_temporality = AggregationTemporality::Cumulative.into();
    let data = match metric.kind {
        Kind::Counter => Data::Sum(Sum {
            data_points: numbers().collect(),
            aggregation_temporality,
            is_monotonic: true,
        }),
        Kind::Gauge | Kind::Info => Data::Gauge(Gauge { data_points: numbers().collect() }),
        Kind::Histogram => Data::ExponentialHistogram(ExponentialHistogram {
            data_points: times().collect(),
            aggregation_temporality,
        }),
    };
    Message {
        name: metric.sample_name(),
        description: metric.help.to_owned(),
        // Of things there is no unit: "1" would make Prometheus say `_ratio`.
        unit: match metric.unit {
            Unit::None => "",
            Unit::Seconds => "s",
            Unit::Bytes => "By",
        }
        .to_owned(),
        data: Some(data),
        ..Message::default()
    }
}

fn number(series: &Series<'_>, metric: &'static Metric, span: Span) -> Option<NumberDataPoint> {
    let Value::Number(value) = series.value else { return None };
    Some(NumberDataPoint {
        attributes: series.labels(metric).map(attribute).collect(),
        // What is at the moment has no begin.
        start_time_unix_nano: if metric.kind == Kind::Counter { span.from_unix_ns } else { 0 },
        time_unix_nano: span.until_unix_ns,
        value: Some(Number::AsDouble(value)),
        ..NumberDataPoint::default()
    })
}

fn times(
    series: &Series<'_>,
    metric: &'static Metric,
    span: Span,
) -> Option<ExponentialHistogramDataPoint> {
    let Value::Responses(responses) = series.value else { return None };
    Some(ExponentialHistogramDataPoint {
        attributes: series.labels(metric).map(attribute).collect(),
        start_time_unix_nano: span.from_unix_ns,
        time_unix_nano: span.until_unix_ns,
        count: responses.count(),
        sum: Some(responses.sum()),
        scale: SCHEMA,
        zero_count: responses.zero(),
        positive: Some(buckets(responses)),
        ..ExponentialHistogramDataPoint::default()
    })
}

/// From the first bucket with a time to the last one, with all between them.
fn buckets(responses: &Responses) -> Buckets {
    let (mut first, mut bucket_counts) = (None, Vec::new());
    for span in responses.spans() {
        match first {
            None => first = Some(span.offset - 1),
            Some(_) => bucket_counts.extend((0..span.offset).map(|_| 0)),
        }
        bucket_counts.extend(span.counts);
    }
    Buckets { offset: first.unwrap_or_default(), bucket_counts }
}

fn attribute((key, value): (&str, &str)) -> KeyValue {
    let value = Some(AnyValue { value: Some(Any::StringValue(value.to_owned())) });
    KeyValue { key: key.to_owned(), value, ..KeyValue::default() }
}
