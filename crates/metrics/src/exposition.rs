//! The two texts: Prometheus' of version 0.0.4 and OpenMetrics' of version 1.0.0. They differ in
//! the names of counters' and infos' families, in units, and in the last line.
//!
//! Non-goals: moments, exemplars; native histograms, which neither has.

use crate::family::{Family, Series, Value};
use crate::metric::{Kind, Metric};
use crate::responses::Responses;
use std::fmt::Write as _;

/// Prometheus' own.
pub(crate) fn text(families: &[Family<'_>]) -> String {
    let mut to = String::new();
    for family in families {
        let kind = match family.metric.kind {
            Kind::Counter => "counter",
            Kind::Gauge | Kind::Info => "gauge",
            Kind::Histogram => "histogram",
        };
        head(&mut to, &family.metric.sample_name(), kind, family.metric);
        samples(&mut to, family);
    }
    to
}

/// OpenMetrics'.
pub(crate) fn open_metrics(families: &[Family<'_>]) -> String {
    let mut to = String::new();
    for family in families {
        let Metric { name, kind, unit, .. } = family.metric;
        let kind = match kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Info => "info",
            Kind::Histogram => "histogram",
        };
        head(&mut to, name, kind, family.metric);
        if let Some(unit) = unit.name() {
            line(&mut to, format_args!("# UNIT {name} {unit}"));
        }
        samples(&mut to, family);
    }
    to.push_str("# EOF\n");
    to
}

fn head(to: &mut String, name: &str, kind: &str, metric: &Metric) {
    line(to, format_args!("# HELP {name} {}", metric.help));
    line(to, format_args!("# TYPE {name} {kind}"));
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

/// Labels with their values, between commas.
fn labels(series: &Series<'_>, metric: &'static Metric) -> String {
    let mut to = String::new();
    for (name, value) in series.labels(metric) {
        if !to.is_empty() {
            to.push(',');
        }
        to.push_str(name);
        to.push_str("=\"");
        escape(&mut to, value);
        to.push('"');
    }
    to
}

/// What would end a value or a line is escaped, in the same way in both texts.
fn escape(to: &mut String, value: &str) {
    for character in value.chars() {
        match character {
            '\\' => to.push_str("\\\\"),
            '"' => to.push_str("\\\""),
            '\n' => to.push_str("\\n"),
            other => to.push(other),
        }
    }
}

fn line(to: &mut String, line: std::fmt::Arguments<'_>) {
    // Writing into a String cannot fail.
    let _ = to.write_fmt(line);
    to.push('\n');
}
