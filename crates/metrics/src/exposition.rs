//! The two texts: Prometheus' of version 0.0.4 and OpenMetrics' of version 1.0.0. They differ in
//! the names of counters' and infos' families, in units, and in the last line.
//!
//! Non-goals: moments, exemplars; native histograms, which neither has.

use crate::family::{Family, Series, Value};
use crate::metric::{Kind, Metric};
use crate::responses::Responses;
use std::fmt::Write as _;

/// In the one or the other.
pub(crate) fn text(families: &[Family<'_>], is_open: bool) -> String {
    let mut to = String::new();
    for family in families {
        let Metric { kind, unit, help, .. } = family.metric;
        let name = if is_open { family.metric.name } else { &family.metric.sample_name() };
        let kind = match kind {
            Kind::Counter => "counter",
            Kind::Info if is_open => "info",
            Kind::Gauge | Kind::Info => "gauge",
            Kind::Histogram => "histogram",
        };
        line(&mut to, format_args!("# HELP {name} {help}"));
        line(&mut to, format_args!("# TYPE {name} {kind}"));
        if let Some(unit) = unit.name().filter(|_| is_open) {
            line(&mut to, format_args!("# UNIT {name} {unit}"));
        }
        samples(&mut to, family);
    }
    if is_open {
        to.push_str("# EOF\n");
    }
    to
}

fn samples(to: &mut String, family: &Family<'_>) {
    let name = family.metric.sample_name();
    for series in &family.series {
        let labels = labels(series, family.metric);
        match series.value {
            Value::Number(value) if labels.is_empty() => line(to, format_args!("{name} {value}")),
            Value::Number(value) => line(to, format_args!("{name}{{{labels}}} {value}")),
            Value::Responses(responses) => histogram(to, &name, &labels, responses),
        }
    }
}

fn histogram(to: &mut String, name: &str, labels: &str, responses: &Responses) {
    let comma = if labels.is_empty() { "" } else { "," };
    for (bound, count) in responses.cumulative() {
        line(to, format_args!("{name}_bucket{{{labels}{comma}le=\"{bound}\"}} {count}"));
    }
    let count = responses.count();
    line(to, format_args!("{name}_bucket{{{labels}{comma}le=\"+Inf\"}} {count}"));
    line(to, format_args!("{name}_count{{{labels}}} {count}"));
    line(to, format_args!("{name}_sum{{{labels}}} {}", responses.sum()));
}

/// Labels with their values, between commas. What would end a value or a line is escaped, in the
/// same way in both texts.
fn labels(series: &Series<'_>, metric: &'static Metric) -> String {
    let escaped = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    let label = |(name, value)| format!("{name}=\"{}\"", escaped(value));
    series.labels(metric).map(label).collect::<Vec<_>>().join(",")
}

fn line(to: &mut String, line: std::fmt::Arguments<'_>) {
    // Writing into a String cannot fail.
    let _ = to.write_fmt(line);
    to.push('\n');
}
