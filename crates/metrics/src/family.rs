//! A metric with its series, as the writers of all formats take it.
//!
//! Non-goals: adding up (`totals`); any format.

use crate::metric::Metric;
use crate::responses::Responses;
use std::sync::Arc;

/// A metric and its series, in the order of their labels.
#[derive(Debug)]
pub(crate) struct Family<'a> {
    pub(crate) metric: &'static Metric,
    pub(crate) series: Vec<Series<'a>>,
}

/// A value with what tells it apart: as many labels as the metric names.
#[derive(Debug)]
pub(crate) struct Series<'a> {
    pub(crate) labels: &'a [Arc<str>],
    pub(crate) value: Value<'a>,
}

/// What is shown.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Value<'a> {
    Number(f64),
    Responses(&'a Responses),
}

impl<'a> Series<'a> {
    /// Its labels with their names; one without a value is none.
    pub(crate) fn labels(&self, metric: &'static Metric) -> impl Iterator<Item = (&str, &'a str)> {
        let labels = metric.labels.iter().copied().zip(self.labels.iter().map(|value| &**value));
        labels.filter(|(_, value)| !value.is_empty())
    }
}
