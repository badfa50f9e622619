//! The formats, and which of them a client asks for.
//!
//! Non-goals: newer names of the same (`escaping`): all our names are of the plain kind.

use crate::family::Family;
use crate::{exposition, protobuf};

/// How metrics are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Prometheus' text, 0.0.4: what everybody reads.
    Text,
    /// OpenMetrics' text, 1.0.0.
    OpenMetrics,
    /// Prometheus' protobuf (`io.prometheus.client`), the only one with native histograms.
    Protobuf,
}

const PROTOBUF: &str = "application/vnd.google.protobuf";
const OPEN_METRICS: &str = "application/openmetrics-text";
/// What a client wants in the least is told in thousandths.
const ALL: u32 = 1000;

impl Format {
    /// How many there are.
    pub(crate) const COUNT: usize = 3;

    /// What the response says that it is.
    pub fn content_type(self) -> &'static str {
        match self {
            Self::Text => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Self::Protobuf => {
                "application/vnd.google.protobuf; \
                 proto=io.prometheus.client.MetricFamily; encoding=delimited"
            }
        }
    }

    /// The format that the client prefers of those that there are: the first of the greatest
    /// weight. Text, if it wants none of them.
    pub fn accepted(accept: &str) -> Self {
        let mut best = (Self::Text, 0);
        for range in accept.split(',') {
            let mut parts = range.split(';').map(str::trim);
            let kind = parts.next().unwrap_or_default();
            let parameters: Vec<_> = parts.filter_map(|part| part.split_once('=')).collect();
            let weight = weight(&parameters);
            if let Some(format) = of(kind, &parameters).filter(|_| weight > best.1) {
                best = (format, weight);
            }
        }
        best.0
    }

    pub(crate) fn write(self, families: &[Family<'_>]) -> Vec<u8> {
        match self {
            Self::Text => exposition::text(families, false).into_bytes(),
            Self::OpenMetrics => exposition::text(families, true).into_bytes(),
            Self::Protobuf => protobuf::delimited(families),
        }
    }
}

fn of(kind: &str, parameters: &[(&str, &str)]) -> Option<Format> {
    let is = |name: &str, value: &str| parameter(parameters, name).is_none_or(|v| v == value);
    match kind.to_ascii_lowercase().as_str() {
        PROTOBUF
            if is("encoding", "delimited") && is("proto", "io.prometheus.client.MetricFamily") =>
        {
            Some(Format::Protobuf)
        }
        OPEN_METRICS if is("version", "1.0.0") || is("version", "0.0.1") => {
            Some(Format::OpenMetrics)
        }
        "text/plain" if is("version", "0.0.4") => Some(Format::Text),
        "*/*" | "text/*" => Some(Format::Text),
        _ => None,
    }
}

fn parameter<'a>(parameters: &[(&str, &'a str)], name: &str) -> Option<&'a str> {
    let found = parameters.iter().find(|(known, _)| known.trim().eq_ignore_ascii_case(name));
    found.map(|(_, value)| value.trim().trim_matches('"'))
}

/// In thousandths. What is no number wants it not at all.
fn weight(parameters: &[(&str, &str)]) -> u32 {
    let told = parameter(parameters, "q").map(|q| q.parse::<f64>().unwrap_or(0.0));
    (told.unwrap_or(1.0).clamp(0.0, 1.0) * f64::from(ALL)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_gets_what_it_prefers() {
        use Format::{OpenMetrics, Protobuf, Text};
        for (accept, format) in [
            ("", Text),
            ("*/*", Text),
            ("text/html,application/xhtml+xml;q=0.9,*/*;q=0.8", Text),
            // Prometheus 2.42, without native histograms and with them.
            (
                "application/openmetrics-text;version=1.0.0,application/openmetrics-text;\
                 version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
                OpenMetrics,
            ),
            (
                "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;\
                 encoding=delimited,application/openmetrics-text;version=1.0.0;q=0.8,\
                 application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;\
                 q=0.5,*/*;q=0.1",
                Protobuf,
            ),
            // Prometheus 3.
            (
                "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,\
                 application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;\
                 encoding=delimited;q=0.6,text/plain;version=0.0.4;q=0.3,*/*;q=0.1",
                Protobuf,
            ),
            ("application/vnd.google.protobuf; encoding=text, text/plain;q=0.1", Text),
            ("APPLICATION/OpenMetrics-Text; Version=\"1.0.0\"", OpenMetrics),
            ("application/openmetrics-text;version=2.0.0", Text),
            ("application/openmetrics-text;q=0", Text),
            ("application/openmetrics-text;q=nonsense", Text),
            ("application/openmetrics-text;q=NaN", Text),
            (";;,=,;q,,q=;\u{7f}", Text),
        ] {
            assert_eq!(Format::accepted(accept), format, "{accept}");
        }
    }
}
