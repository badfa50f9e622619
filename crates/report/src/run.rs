//! All tables of a run, of whatever experiments it is.

use crate::experiments::{Experiment, Run};
use crate::{EXPERIMENTS, calibration_line, joined, overhead, requests};
use model::record::Finding;

impl Run<'_> {
    /// For a terminal of `width` columns.
    pub fn table(&self, width: Option<u16>) -> String {
        let own = told(self.findings).map(|experiment| (experiment.table)(self, width));
        let times = joined::is_told(self.findings)
            .then(|| joined::table(self.findings, &EXPERIMENTS, width));
        let requests = of_requests(self.findings).then(|| requests::table(self.findings, width));
        // The overhead experiment's table ends with it.
        let line = (!overhead::EXPERIMENT.is_told(self.findings))
            .then(|| calibration_line(self.findings))
            .flatten();
        joined_texts(own.chain(times).chain(requests).chain(line))
    }

    /// The same as Markdown.
    pub fn markdown(&self) -> String {
        let own = told(self.findings).map(|experiment| (experiment.markdown)(self));
        let times =
            joined::is_told(self.findings).then(|| joined::markdown(self.findings, &EXPERIMENTS));
        let requests = of_requests(self.findings).then(|| requests::markdown(self.findings));
        joined_texts(own.chain(times).chain(requests))
    }
}

/// The experiments that findings tell of.
fn told(findings: &[Finding]) -> impl Iterator<Item = &'static Experiment> {
    EXPERIMENTS.iter().filter(|experiment| experiment.is_told(findings))
}

/// Whether there is a trace.
fn of_requests(findings: &[Finding]) -> bool {
    findings.iter().any(|f| f.quantity == "requests_count")
}

fn joined_texts(texts: impl Iterator<Item = String>) -> String {
    texts.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n")
}
