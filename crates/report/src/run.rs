//! All tables of a run, of whatever experiments it is.

use crate::experiments::{Experiment, Run};
use crate::grid::escape_markdown;
use crate::requests::VERDICT_SPAN;
use crate::screen::{LINES, joined, limited, paragraphs};
use crate::sheet::markdown_paragraphs;
use crate::statement::Statement;
use crate::verdict::{self, Shown};
use crate::words::{clean, hang};
use crate::{EXPERIMENTS, calibration_line, joined as times, overhead, requests, survey};

impl Run<'_> {
    /// For a terminal of `width` columns. Of a survey of several volumes: those of each.
    pub fn table(&self, width: Option<u16>) -> String {
        let on = |name: &str| hang("", &format!("On {name}:"), width);
        if let Some(all) = self.by_volume(|name, run| joined([on(name), run.table(width)])) {
            return all;
        }
        let verdict = paragraphs(&self.verdict(), width);
        let own = self.told().map(|experiment| experiment.table(self, width));
        let times = times::table(self.findings, &EXPERIMENTS, width);
        let requests = self.has_trace().then(|| requests::table(self.findings, width));
        // The overhead experiment's table ends with it.
        let is_said = overhead::EXPERIMENT.has_findings(self.findings);
        let line = if is_said { None } else { calibration_line(self.findings) };
        joined(std::iter::once(verdict).chain(own).chain([times]).chain(requests).chain(line))
    }

    /// The answer and the main tables, at most 40 lines for a terminal of `width` columns; `below`
    /// says what else there is.
    pub fn screen(&self, width: Option<u16>, below: &str) -> String {
        let limit = limited(width);
        let below = hang("", below, limit);
        let lines = |text: &str| text.lines().count() + 1;
        let room = LINES + 1 - lines(&below);
        let times = times::table(self.findings, &EXPERIMENTS, limit);
        let times = Some(times).filter(|text| lines(text) <= room / 2).unwrap_or_default();
        let room = if times.is_empty() { room - 1 } else { room - 1 - lines(&times) };
        let own = self.told().map(|experiment| experiment.first(self, limit, room));
        joined(own.chain([times, below]))
    }

    /// All tables as Markdown.
    pub fn markdown(&self) -> String {
        let on = |name: &str| format!("## {}\n", escape_markdown(&clean(name)));
        if let Some(all) = self.by_volume(|name, run| joined([on(name), run.markdown()])) {
            return all;
        }
        let verdict = markdown_paragraphs(self.verdict()).into_iter();
        let own = verdict.chain(self.told().map(|experiment| experiment.markdown(self)));
        let times = times::markdown(self.findings, &EXPERIMENTS);
        let requests = self.has_trace().then(|| requests::markdown(self.findings));
        joined(own.chain([times]).chain(requests))
    }

    /// What is drawn of each volume, and then of all of them; none where there are not several.
    fn by_volume(&self, drawn: impl Fn(&str, &Run<'_>) -> String) -> Option<String> {
        let volumes = survey::volumes(self.findings);
        let rest = survey::of_no_volume(self.findings, &volumes);
        let rest = (!rest.is_empty()).then(|| ("all volumes".to_owned(), rest));
        let drawn =
            |(name, findings): &survey::Volume| drawn(name, &Run { findings, rows: self.rows });
        (!volumes.is_empty()).then(|| joined(volumes.iter().chain(&rest).map(drawn)))
    }

    /// What it answers: of each experiment, and of its trace where that was judged.
    pub fn answer(&self) -> Vec<Statement<'_>> {
        let own = survey::answer(self).unwrap_or_else(|| {
            self.told().flat_map(|experiment| (experiment.sentences)(self)).collect()
        });
        let of_trace = self.is_judged().then(|| verdict::answer(self.findings, &Shown::default()));
        let known = requests::known_of_devices(self.findings).filter(|_| !self.is_judged());
        let of_trace = of_trace.into_iter().flatten().chain(known.map(Statement::from));
        own.into_iter().map(Statement::from).chain(of_trace).collect()
    }

    /// Who waited for whom, where that was judged.
    fn verdict(&self) -> Vec<String> {
        if self.is_judged() { verdict::sentences(self.findings) } else { Vec::new() }
    }

    fn is_judged(&self) -> bool {
        self.findings.iter().any(|finding| finding.quantity == VERDICT_SPAN)
    }

    /// The experiments that it tells of.
    fn told(&self) -> impl Iterator<Item = &'static Experiment> {
        EXPERIMENTS.iter().filter(|experiment| experiment.has_findings(self.findings))
    }

    fn has_trace(&self) -> bool {
        self.findings.iter().any(|finding| finding.quantity == "requests_count")
    }
}
