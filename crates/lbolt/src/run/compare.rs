//! The sides of a comparison: runs and fio's results as they are named on the command line, and
//! what they say of themselves.
//!
//! Non-goals: the statistics (`analyze::compare`).

mod lost;

use crate::run::session::Outcome;
use ::verdict::stretches::{Stretches, of_calls};
use analysis::trace::device_name;
use analyze::compare::fio::{Fio, Names};
use analyze::compare::series::{Series, of_run};
use analyze::compare::setting::{Aspect, Difference, differences, machine_percent};
use analyze::compare::{Question, Unit};
use messages::fault::{Fault, failure, of_records};
use model::doubt::Code;
use model::engine::EngineKind;
use model::history::History;
use model::quote;
use model::record::requests::RequestFile;
use model::record::{Context, Subject};
use model::run::{RunDirectory, RunInfo};
use model::text_file::{RUN_BYTES_MAX, read_most};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// One run, or one file of fio's.
pub(crate) enum Source {
    /// A run of ours.
    Run(Box<RunInfo>, Vec<Series>),
    /// A result of fio.
    Fio(String, Fio),
}

/// All that stands for A, or for B.
pub(crate) struct Side {
    pub(crate) sources: Vec<Source>,
    /// As it was named.
    named: String,
}

impl Side {
    /// Reads a side: one run or file, several between commas, or a directory of fio's results.
    /// Errors: a sentence for what is neither a run nor fio's.
    pub(crate) fn read(named: &str, runs_dir: &Path) -> anyhow::Result<Self> {
        let whole = Path::new(named);
        let names: Vec<&str> = match whole.exists() || runs_dir.join(named).exists() {
            true => vec![named],
            false => named.split(',').map(str::trim).filter(|name| !name.is_empty()).collect(),
        };
        let mut sources = Vec::new();
        for name in names {
            sources.extend(sources_of(name, runs_dir)?);
        }
        if sources.is_empty() {
            return Err(failure(Fault::Usage, "one side names no run; name a run for A and for B"));
        }
        // In the order of time: neighbours are then neighbours.
        sources.sort_by(|a, b| a.started().cmp(b.started()));
        Ok(Self { sources, named: named.to_owned() })
    }

    /// A run that is in memory already.
    pub(crate) fn of_run(info: RunInfo, series: Vec<Series>, named: String) -> Self {
        Self { sources: vec![Source::Run(Box::new(info), series)], named }
    }

    /// What a session has just left.
    pub(crate) fn of_outcome(outcome: &Outcome) -> Self {
        let series = of_run(&outcome.samples, &outcome.findings);
        Self::of_run(outcome.info.clone(), series, "this run".to_owned())
    }

    fn infos(&self) -> Vec<&RunInfo> {
        self.sources
            .iter()
            .filter_map(|source| match source {
                Source::Run(info, _) => Some(&**info),
                Source::Fio(..) => None,
            })
            .collect()
    }

    /// Whether it is of the very runs or files that another side is of.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.sources.iter().map(Source::identity).eq(other.sources.iter().map(Source::identity))
    }

    fn is_fio(&self) -> bool {
        self.sources.iter().all(|source| matches!(source, Source::Fio(..)))
    }

    /// The series of each source.
    fn series(&self, names: Names) -> Vec<Vec<Series>> {
        let of = |source: &Source| match source {
            Source::Run(_, series) => series.clone(),
            Source::Fio(_, fio) => fio.series(names),
        };
        self.sources.iter().map(of).collect()
    }

    /// What it is, in a line.
    pub(crate) fn describe(&self) -> String {
        match self.sources.as_slice() {
            [Source::Run(info, _)] => {
                format!(
                    "{}, {} by lbolt {}, {}",
                    self.named, info.experiment, info.version, info.started
                )
            }
            [Source::Fio(_, fio)] => format!("{}, by {}", self.named, fio.version),
            several => format!("{} ({} runs)", self.named, several.len()),
        }
    }
}

impl Source {
    /// What it is, wherever it lies.
    fn identity(&self) -> (&str, &str) {
        match self {
            Self::Run(info, _) => (&info.name, &info.started),
            Self::Fio(path, _) => (path, ""),
        }
    }

    fn started(&self) -> &str {
        match self {
            Self::Run(info, _) => &info.started,
            Self::Fio(path, _) => path,
        }
    }
}

fn sources_of(name: &str, runs_dir: &Path) -> anyhow::Result<Vec<Source>> {
    let in_runs = runs_dir.join(name);
    let path: PathBuf = if in_runs.join("run.json").exists() { in_runs } else { name.into() };
    let usage = |sentence: String| failure(Fault::Usage, sentence);
    if !path.exists() {
        return Err(usage(format!(
            "no run or file {name}; `lbolt runs list` lists the runs of --runs-dir"
        )));
    }
    if path.is_file() {
        return Ok(vec![fio_of(&path)?]);
    }
    if !path.join("run.json").exists() {
        if History::open(&path).is_ok_and(|history| history.span().is_some()) {
            return Err(usage(format!(
                "{name} is a history; compare two of its time ranges with `lbolt history {} \
                 --compare FROM..TO FROM..TO`",
                quote::path(name)
            )));
        }
        let files = fio_files(&path)?;
        if files.is_empty() {
            return Err(usage(format!(
                "{name} is not a run (it has no run.json) and contains no fio results (*.json)"
            )));
        }
        return files.iter().map(|file| fio_of(file)).collect();
    }
    let (run, info) = RunDirectory::open(&path).map_err(|e| usage(format!("failed to {e}")))?;
    let series = series_of(&run, &info)?;
    if series.is_empty() {
        return Err(usage(format!(
            "{name} has no findings: it was interrupted before its first cell was complete; \
             measure it again"
        )));
    }
    Ok(vec![Source::Run(Box::new(info), series)])
}

fn fio_files(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder)
        .map_err(|e| failure(Fault::Usage, format!("failed to list {}: {e}", folder.display())))?;
    let paths = entries.filter_map(Result::ok).map(|entry| entry.path());
    let mut files: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_some_and(|end| end == "json")).collect();
    files.sort();
    Ok(files)
}

fn fio_of(path: &Path) -> anyhow::Result<Source> {
    let shown = path.display();
    let usage = |reason: String| {
        failure(Fault::Usage, format!("{shown} is neither a run nor fio JSON: {reason}"))
    };
    let text = std::fs::File::open(path).and_then(|file| read_most(file, RUN_BYTES_MAX));
    let text = text.map_err(|e| usage(e.to_string()))?;
    let fio = Fio::parse(&text).map_err(|e| usage(format!("failed to {e}")))?;
    Ok(Source::Fio(shown.to_string(), fio))
}

/// The commands whose runs are a trace, without passes: compared by stretches of its time.
const OF_TRACES: [&str; 7] =
    ["record", "import", "watch", "top", "simulate", "synthesize", "replay"];

fn is_trace(info: &RunInfo) -> bool {
    OF_TRACES.contains(&info.experiment.as_str())
}

/// The series of a run of whatever experiment: of its passes, or of the stretches of its trace.
pub(crate) fn series_of(run: &RunDirectory, info: &RunInfo) -> anyhow::Result<Vec<Series>> {
    let usage = |e: &dyn std::fmt::Display| failure(Fault::Usage, format!("failed to {e}"));
    let findings = run.read_findings().map_err(|e| usage(&e))?;
    let samples = match run.path().join("samples.parquet").exists() {
        true => run.read_samples().map_err(|e| usage(&e))?,
        false => vec![],
    };
    let mut series = of_run(&samples, &findings);
    if run.requests().exists() && is_trace(info) {
        let file = RequestFile::open(&run.requests()).map_err(|e| usage(&e))?;
        let mut reader = file.read_all().map_err(|e| usage(&e))?;
        let mut stretches = Stretches::new(file.rows());
        while let Some(batch) = reader.next_batch().map_err(of_records)? {
            batch.rows().for_each(|row| stretches.add(&row));
        }
        let provenance = file.provenance();
        let of_stretches = stretches.series(|device| device_name(device, &provenance));
        let is_known = |s: &Series| {
            of_stretches.iter().any(|o| o.quantity == s.quantity && o.subject == s.subject)
        };
        series.retain(|s| !is_known(s));
        series.extend(of_stretches);
    }
    if is_trace(info) {
        // What a program waited for comes before what a device was given.
        let context = Context::read(run.path()).map_err(of_records)?;
        series.splice(..0, of_calls(&context.calls));
        if run.requests().exists() {
            series.splice(..0, lost::of_run(run)?);
        }
    }
    Ok(series)
}

/// What is compared beside a rate if nobody says: what it costs, and the worst that a user often
/// meets. The cost is a request's: a share of the CPU rises with the rate, and what is faster would
/// look worse.
const HEADLINES: &[&str] = &[
    lost::PERCENT,
    "cpu_operation_ns",
    "cpu_total_operation_ns",
    "latency_p99_ns",
    "sync_latency_p99_ns",
    "routine_operations_per_s",
    "operation_cpu_thread_ns",
    "response_mean_ns",
    "response_p99_ns",
];

/// What is compared of requests besides, where not all of both sides tell their response.
const HEADLINES_OF_DEVICE: &[&str] = &["done_mean_ns", "done_p99_ns"];

/// Whether a quantity is the one that its subject's rate is told in: a curve, a commit and a stream
/// of a storm count requests, all others bytes, and the other of the two would say the same again.
fn is_rate(series: &Series) -> Option<bool> {
    const BY_REQUESTS: &str = "rate_operations_per_s";
    let counts_requests = series.subject.rate() == Some(BY_REQUESTS);
    match series.quantity.as_str() {
        BY_REQUESTS => Some(counts_requests),
        "rate_bytes_per_s" => Some(!counts_requests),
        _ => None,
    }
}

/// How both sides are compared, as requested.
pub(crate) struct ComparisonRequest<'a> {
    pub(crate) metric: &'a [String],
    pub(crate) effect_percent: f64,
    pub(crate) across: &'a [Aspect],
    /// The sides were measured in turn, in one run.
    pub(crate) is_interleaved: bool,
}

/// Both sides, ready to be compared.
pub(crate) struct Ready {
    pub(crate) a: Vec<Vec<Series>>,
    pub(crate) b: Vec<Vec<Series>>,
    pub(crate) question: Question,
    pub(crate) differences: Vec<Difference>,
}

/// Makes both sides ready: the same names, the quantities that were requested.
/// Errors: a metric that no quantity begins with; no finding that both sides have.
pub(crate) fn ready(
    a: &Side,
    b: &Side,
    requested: &ComparisonRequest<'_>,
) -> anyhow::Result<Ready> {
    let names = if a.is_fio() && b.is_fio() { Names::Jobs } else { Names::Programs };
    let (mut of_a, mut of_b) = (a.series(names), b.series(names));
    meet_targets(&mut of_a, &mut of_b);
    let devices = meet_devices(&mut of_a, &mut of_b);
    choose(&mut of_a, &mut of_b, requested.metric)?;
    let mut differences = differences(&a.infos(), &b.infos());
    differences.splice(..0, devices);
    let forbids =
        |d: &&Difference| d.aspect.is_some_and(|aspect| !requested.across.contains(&aspect));
    let forbidden: Vec<String> =
        differences.iter().filter(forbids).map(|d| d.to_string()).collect();
    let unit = match (a.sources.as_slice(), b.sources.as_slice()) {
        _ if requested.is_interleaved => Unit::Round,
        ([Source::Run(a, _)], [Source::Run(b, _)]) if is_trace(a) && is_trace(b) => Unit::Stretch,
        ([Source::Run(..)], [Source::Run(..)]) => Unit::Pass,
        _ => Unit::Run,
    };
    let machine_percent = match (unit, a.infos().as_slice(), b.infos().as_slice()) {
        (Unit::Pass, [of_a], [of_b]) if !a.is_same(b) => machine_percent(of_a, of_b).unwrap_or(0.0),
        _ => 0.0,
    };
    let question = Question {
        unit,
        effect_percent: requested.effect_percent,
        machine_percent,
        across: requested.across.to_vec(),
        refusal: (!forbidden.is_empty()).then(|| forbidden.join("; ")),
    };
    Ok(Ready { a: of_a, b: of_b, question, differences })
}

/// Where each side has one target, the targets are what is compared, and no part of a cell's name:
/// one beside those that both sides have, as a survey's directory beside the fresh file systems.
fn meet_targets(a: &mut [Vec<Series>], b: &mut [Vec<Series>]) {
    let (of_a, of_b) = (targets(a), targets(b));
    let has_one = of_a.len() <= 1 && of_b.len() <= 1;
    let (only_a, only_b) = (&of_a - &of_b, &of_b - &of_a);
    let met: BTreeSet<String> = match (only_a.len(), only_b.len()) {
        _ if has_one => &of_a | &of_b,
        (1, 1) => &only_a | &only_b,
        _ => return,
    };
    for series in a.iter_mut().chain(b.iter_mut()).flatten() {
        if series.subject.target().is_some_and(|target| met.contains(target)) {
            series.subject = series.subject.clone().without_target();
        }
    }
}

/// What traces of different devices differ in, before all else. Of one device, the same on both
/// sides, its requests are all requests, and are compared once.
fn meet_devices(a: &mut [Vec<Series>], b: &mut [Vec<Series>]) -> Option<Difference> {
    let (of_a, of_b) = (devices(a), devices(b));
    if of_a == of_b && of_a.len() == 1 {
        for series in a.iter_mut().chain(b.iter_mut()) {
            let by_op: BTreeSet<Subject> = series.iter().map(|s| s.subject.clone()).collect();
            let is_time = |of: &str| ["response_", "done_"].iter().any(|part| of.starts_with(part));
            series.retain(|s| match &s.subject {
                Subject::DeviceOp(of) if is_time(&s.quantity) => {
                    !by_op.contains(&Subject::class("op", &of.op))
                }
                _ => true,
            });
        }
    }
    let listed = |of: &BTreeSet<String>| of.iter().cloned().collect::<Vec<_>>().join(", ");
    (of_a != of_b && !of_a.is_empty() && !of_b.is_empty()).then(|| Difference {
        aspect: None,
        name: "traced devices".to_owned(),
        a: listed(&of_a),
        b: listed(&of_b),
    })
}

fn devices(runs: &[Vec<Series>]) -> BTreeSet<String> {
    let of_device = |series: &Series| match &series.subject {
        Subject::DeviceOp(of) => Some(of.device.clone()),
        _ => None,
    };
    runs.iter().flatten().filter_map(of_device).collect()
}

fn targets(runs: &[Vec<Series>]) -> BTreeSet<String> {
    runs.iter().flatten().filter_map(|series| series.subject.target().map(str::to_owned)).collect()
}

/// What all of whose requests tell their response.
fn whose_responses_are_known(runs: &[Vec<Series>]) -> BTreeSet<Subject> {
    let is_untold =
        |series: &&Series| series.doubts.iter().any(|d| d.code == Code::ResponsesUntold);
    let all = || runs.iter().flatten().filter(|series| series.quantity == "response_mean_ns");
    let untold: BTreeSet<&Subject> =
        all().filter(is_untold).map(|series| &series.subject).collect();
    let told = all().filter(|series| !series.values.is_empty());
    told.map(|series| series.subject.clone()).filter(|of| !untold.contains(of)).collect()
}

fn choose(a: &mut [Vec<Series>], b: &mut [Vec<Series>], metric: &[String]) -> anyhow::Result<()> {
    let (of_a, of_b) = (whose_responses_are_known(a), whose_responses_are_known(b));
    let is_headline = |series: &Series| {
        let is_known = of_a.contains(&series.subject) && of_b.contains(&series.subject);
        let quantity = series.quantity.as_str();
        HEADLINES.contains(&quantity) || (!is_known && HEADLINES_OF_DEVICE.contains(&quantity))
    };
    let is_wanted = |series: &Series| {
        // The null engine measures the harness, and nothing of either side.
        let is_harness = series.subject.engine() == Some(EngineKind::Null);
        let by_name = |m: &String| m == "all" || series.quantity.starts_with(m.as_str());
        !is_harness
            && match metric {
                [] => is_rate(series).unwrap_or_else(|| is_headline(series)),
                some => some.iter().any(by_name),
            }
    };
    let keys = |runs: &[Vec<Series>]| -> BTreeSet<(Subject, String)> {
        let all = runs.iter().flatten();
        all.map(|s| (s.subject.clone(), s.quantity.clone())).collect()
    };
    let has_shared = !keys(a).is_disjoint(&keys(b));
    for runs in [&mut *a, &mut *b] {
        runs.iter_mut().for_each(|series| series.retain(is_wanted));
    }
    if !keys(a).is_disjoint(&keys(b)) {
        return Ok(());
    }
    let shown = |runs: &[Vec<Series>]| -> String {
        let names: BTreeSet<String> = runs.iter().flatten().map(|s| s.subject.text()).collect();
        names.into_iter().take(3).collect::<Vec<_>>().join(", ")
    };
    let sentence = match (has_shared, metric.is_empty()) {
        (true, false) => format!(
            "the sides have no common quantity that starts with {}; docs/records.md lists the \
             quantities, and --metric all compares them all",
            metric.join(" or ")
        ),
        (true, true) => {
            "the sides have none of the default quantities in common; --metric all compares all \
             quantities"
                .to_owned()
        }
        (false, _) => format!(
            "the sides have no finding in common: A has {}, B has {}",
            or_nothing(shown(a)),
            or_nothing(shown(b))
        ),
    };
    Err(failure(Fault::Usage, sentence))
}

fn or_nothing(text: String) -> String {
    if text.is_empty() { "nothing to compare".to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::record::subject::Commit;

    fn survey(volume: &str) -> Vec<Vec<Series>> {
        let of = |subject: Subject, quantity: &str| Series {
            subject,
            quantity: quantity.into(),
            values: vec![1.0, 2.0, 3.0],
            ..Series::default()
        };
        let commit = Subject::Commit(Commit {
            block_bytes: 4096,
            direct: 0,
            method: "fdatasync".into(),
            pattern: "overwrite".into(),
            target: Some(volume.into()),
            writers: 1,
        });
        let cell = |target: &str| of(Subject::cell(target, "read", 1), "rate_bytes_per_s");
        let again = of(Subject::cell(volume, "read", 1), "rate_operations_per_s");
        let bytes = of(commit.clone(), "rate_bytes_per_s");
        let commits = of(commit, "rate_operations_per_s");
        vec![vec![cell("ext4:4k"), cell(volume), again, commits, bytes]]
    }

    /// Traces of a device each: by operation, and by device.
    fn trace(device: &str) -> Vec<Vec<Series>> {
        let of = |subject: Subject| Series {
            subject,
            quantity: "response_mean_ns".into(),
            values: vec![1.0, 2.0, 3.0],
            ..Series::default()
        };
        vec![vec![of(Subject::class("op", "read")), of(Subject::device_op(device, "read"))]]
    }

    #[test]
    fn one_device_is_compared_once_and_two_are_said_to_differ() {
        let (mut a, mut b) = (trace("sda"), trace("sda"));
        assert_eq!(meet_devices(&mut a, &mut b), None);
        assert_eq!((a[0].len(), b[0].len()), (1, 1));
        let (mut a, mut b) = (trace("sda"), trace("sdb"));
        let said = meet_devices(&mut a, &mut b).unwrap().to_string();
        assert_eq!(said, "traced devices: sda in A, sdb in B");
        assert_eq!((a[0].len(), b[0].len()), (2, 2));
    }

    #[test]
    fn surveys_of_two_volumes_are_compared_in_every_question() {
        let (mut a, mut b) = (survey("/a"), survey("/b"));
        meet_targets(&mut a, &mut b);
        choose(&mut a, &mut b, &[]).unwrap();
        let names = |side: &[Vec<Series>]| -> Vec<String> {
            side[0].iter().map(|s| format!("{:?} {}", s.subject.target(), s.quantity)).collect()
        };
        let expected = [
            "Some(\"ext4:4k\") rate_bytes_per_s",
            "None rate_bytes_per_s",
            "None rate_operations_per_s",
        ];
        assert_eq!(names(&a), expected);
        assert_eq!(names(&b), expected);
        // Two that differ on a side are not taken for each other.
        let (mut a, mut b) = (survey("/a"), survey("/b"));
        a[0].extend(survey("/c").remove(0));
        meet_targets(&mut a, &mut b);
        assert!(targets(&a).contains("/a") && targets(&b).contains("/b"));
    }
}
