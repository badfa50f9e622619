//! `lbolt compare`: what differs between two runs, beyond the noise.

use super::report::put;
use super::{note, print};
use crate::run::compare::{ComparisonRequest, Ready, Side, Source, ready};
use analyze::compare::series::Series;
use analyze::compare::setting::{Aspect, Difference};
use analyze::compare::{Unit, compare};
use cli::{CompareOptions, Format, ThroughputOptions};
use experiment::throughput::Plan;
use messages::fault::{Fault, failure};
use messages::output::terminal_width;
use model::comparison::{Compared, Comparison, Outcome};
use model::record::{Better, TOOL_VERSION, quantity};
use model::run::RunInfo;
use model::units::counted;
use model::workload::Battery;
use report::compare::About;
use report::setting::Setting;
use serde_json::Value;
use std::path::Path;
use std::time::Duration;

/// The least difference that matters, where nobody says, in per cent.
const EFFECT_PERCENT: f64 = 5.0;

/// Runs the command.
/// Errors: sides that cannot be read or share nothing; a regression, under `--fail-on`.
pub(super) fn run(options: &CompareOptions) -> anyhow::Result<()> {
    let read = |name: &String| Side::read(name, &options.runs_dir);
    let (a, b, is_interleaved) = match options.sides.as_slice() {
        [one] => {
            let (a, b) = of_interleaved(read(one)?)?;
            (a, b, true)
        }
        [a, b] => (read(a)?, read(b)?, false),
        _ => return Err(failure(Fault::Usage, "compare takes two sides")),
    };
    let shown = Shown {
        metric: &options.metric,
        fail_on: options.fail_on,
        across: &options.across,
        shows_all: options.all,
        format: options.format,
        report: options.page.as_deref(),
    };
    show(&a, &b, is_interleaved, &shown)
}

/// How a comparison is requested and shown.
pub(crate) struct Shown<'a> {
    pub(crate) metric: &'a [String],
    pub(crate) fail_on: Option<f64>,
    pub(crate) across: &'a [Aspect],
    pub(crate) shows_all: bool,
    pub(crate) format: Format,
    /// Where its page goes, if it has one.
    pub(crate) report: Option<&'a Path>,
}

impl Shown<'_> {
    /// The usual quantities.
    pub(crate) fn of(fail_on: Option<f64>, format: Format) -> Self {
        Self { metric: &[], fail_on, across: &[], shows_all: false, format, report: None }
    }
}

/// A stored run that is to be run again, and compared with.
pub(crate) struct Base {
    pub(crate) side: Side,
    /// The options that are its plan's.
    pub(crate) options: ThroughputOptions,
}

impl Base {
    /// Reads the run; its plan takes the place of what the options leave out.
    /// Errors: what is no run, or none of the throughput experiment's.
    pub(crate) fn open(run: &str, options: &ThroughputOptions) -> anyhow::Result<Self> {
        let usage =
            |sentence: String| failure(Fault::Usage, format!("--against {run}: {sentence}"));
        let side = Side::read(run, &options.output.runs_dir)?;
        let [Source::Run(info, _)] = side.sources.as_slice() else {
            return Err(usage("name one lbolt run; use `lbolt compare` for other results".into()));
        };
        if info.experiment != "throughput" {
            let sentence =
                format!("it is a {} run; only a throughput run can be repeated", info.experiment);
            return Err(usage(sentence));
        }
        let plan: Plan = serde_json::from_value(info.plan.clone()).map_err(|error| {
            usage(format!(
                "lbolt {TOOL_VERSION} cannot read the plan in its run.json, written by lbolt {} \
                 ({error}); measure it again",
                info.version
            ))
        })?;
        let rows = info.rows.clone();
        Ok(Self { options: again(options, plan, rows), side })
    }
}

/// The options that make a stored plan again; what was typed now counts before it.
fn again(typed: &ThroughputOptions, plan: Plan, rows: Vec<String>) -> ThroughputOptions {
    let mut again = typed.clone();
    if again.targets.is_empty() {
        again.targets = plan.systems.into_iter().map(|system| system.target).collect();
    }
    again.stored = Some(Battery { rows, programs: plan.programs });
    again.size = Some(plan.file_bytes);
    again.size_reason = Some("as in the earlier run".to_owned());
    again.warmup = typed.warmup.or(Some(plan.warmup));
    match plan.until {
        // Also what was stored before there was an `until`.
        None if typed.precision.is_none() && typed.max_time.is_none() => {
            again.runs = typed.runs.or(Some(plan.runs));
        }
        None => {}
        Some(until) => {
            let is_exact = until.precision_percent.is_none() && typed.precision.is_none();
            again.runs = typed.runs.or(is_exact.then_some(plan.runs));
            again.precision = typed.precision.or(until.precision_percent);
            // Who gives a number of passes does not mean another run's time.
            let stored = Duration::from_nanos(until.max_time_ns);
            again.max_time = typed.max_time.or(typed.runs.is_none().then_some(stored));
        }
    }
    again.no_cold = !plan.is_cold;
    again.no_sync = !plan.final_sync;
    again.no_ceiling = typed.no_ceiling || !plan.ceiling;
    again.measure.seed = plan.seed;
    again
}

/// Compares and prints.
/// Errors: sides that share nothing; a regression, under `--fail-on`.
pub(crate) fn show(
    a: &Side,
    b: &Side,
    is_interleaved: bool,
    shown: &Shown<'_>,
) -> anyhow::Result<()> {
    let effect_percent = shown.fail_on.unwrap_or(EFFECT_PERCENT);
    let requested = ComparisonRequest {
        metric: shown.metric,
        effect_percent,
        across: shown.across,
        is_interleaved,
    };
    let ready = ready(a, b, &requested)?;
    let compared = compare(&ready.a, &ready.b, &ready.question);
    let about = About { shows_all: shown.shows_all, ..about(a, b, &ready) };
    let printed = print(&match shown.format {
        Format::Table => report::compare::table(&compared, &about, terminal_width()),
        Format::Markdown => report::compare::markdown(&compared, &about),
        Format::Csv => report::compare::csv(&compared),
        Format::Json => report::compare::json(&compared, &about)?,
    });
    let paged = match shown.report {
        Some(path) => put(&report::page::of_comparison(&compared, &about), path),
        None => Ok(()),
    };
    let judged = shown.fail_on.map_or(Ok(()), |percent| fail_on(&compared, percent));
    judged.and(printed).and(paged)
}

/// The two targets of a run that interleaved them.
pub(crate) fn of_interleaved(side: Side) -> anyhow::Result<(Side, Side)> {
    let usage = |sentence: &str| failure(Fault::Usage, sentence);
    let lone = "a single run can be compared only if it interleaved two targets (lbolt throughput \
                A B --abab); name two runs";
    let mut sources = side.sources.into_iter();
    let (Some(Source::Run(info, series)), None) = (sources.next(), sources.next()) else {
        return Err(usage(lone));
    };
    if info.plan.get("interleaved").and_then(Value::as_bool) != Some(true) {
        return Err(usage(lone));
    }
    let systems = info.plan.get("systems").and_then(Value::as_array);
    let columns: Vec<String> = systems
        .into_iter()
        .flatten()
        .filter_map(|system| Some(system.get("column")?.as_str()?.to_owned()))
        .collect();
    let [a, b] = columns.as_slice() else { return Err(usage(lone)) };
    let of = |column: &String| {
        let is_of = |s: &&Series| s.subject.target() == Some(column);
        let bare = |s: &Series| Series { subject: s.subject.clone().without_target(), ..s.clone() };
        let series = series.iter().filter(is_of).map(bare).collect();
        Side::of_run(with_system(&info, column), series, column.clone())
    };
    Ok((of(a), of(b)))
}

/// The run as if it had had that system alone: where the two lie is a difference of the sides.
fn with_system(info: &RunInfo, column: &str) -> RunInfo {
    let mut info = info.clone();
    if let Some(systems) = info.plan.get_mut("systems").and_then(Value::as_array_mut) {
        systems.retain(|system| system.get("column").and_then(Value::as_str) == Some(column));
    }
    info
}

fn about(a: &Side, b: &Side, ready: &Ready) -> About {
    let mut notes = Vec::new();
    let question = &ready.question;
    let is_same = question.unit != Unit::Round && a.is_same(b);
    if is_same {
        let note = "A and B are the same: nothing differs between them, and a row that cannot tell \
                    shows how coarse its values are";
        notes.push(note.to_owned());
    }
    if question.unit == Unit::Pass && !is_same {
        let is_throughput = |source: &Source| match source {
            Source::Run(info, _) => info.experiment == "throughput",
            Source::Fio(..) => false,
        };
        // Other experiments cannot be interleaved.
        let can_interleave = a.sources.iter().chain(&b.sources).all(is_throughput);
        notes.push(format!(
            "one run per side, one after the other: drift of the machine counts as a difference; \
             use {}several runs per side to exclude drift",
            if can_interleave { "--abab or " } else { "" }
        ));
    }
    if question.machine_percent >= 1.0 {
        notes.push(format!(
            "the machine's speed varied by up to {:.0} % between these runs (harness cost per \
             request): the noise floor is at least as high",
            question.machine_percent
        ));
    }
    About {
        a: a.describe(),
        b: b.describe(),
        units: question.unit.name().to_owned(),
        effect_percent: question.effect_percent,
        differences: ready.differences.iter().map(setting).collect(),
        notes,
        shows_all: false,
    }
}

/// A difference between the sides as it is shown.
fn setting(of: &Difference) -> Setting {
    Setting { name: of.name.clone(), a: of.a.clone(), b: of.b.clone() }
}

/// Whether a row is worse by so much or more: that it is worse is sure, by how much is its
/// estimate. What has no percentage, since A is 0, is worse by more than any.
fn is_regression(row: &Comparison, percent: f64) -> bool {
    row.outcome == Outcome::Worse
        && row.difference_percent.is_none_or(|difference| difference.abs() >= percent)
}

/// Whether a row may be worse by so much or more and nobody knows: what B did not measure, what
/// cannot be compared, and what cannot tell and whose interval does not exclude it. A quantity that
/// is neither better nor worse never is.
fn is_open(row: &Comparison, percent: f64) -> bool {
    let worst = match quantity(&row.quantity).and_then(|quantity| quantity.better) {
        None => return false,
        Some(Better::Lower) => row.high_percent,
        Some(Better::Higher) => row.low_percent.map(|low| -low),
    };
    match row.outcome {
        Outcome::NotComparable => row.a.is_some(),
        Outcome::CannotTell => worst.is_none_or(|worst| worst >= percent),
        _ => false,
    }
}

/// Whether a row can be better or worse, of what is measured on both sides.
fn is_judged(row: &Comparison) -> bool {
    row.is_measured() && quantity(&row.quantity).is_some_and(|quantity| quantity.better.is_some())
}

/// `1 finding is`, `3 of 7 findings are`.
fn are_of(count: usize, all: usize) -> String {
    let is = if count == 1 { "is" } else { "are" };
    format!("{count} of {} {is}", counted(all as u64, "finding{s}"))
}

/// What is suspect decides nothing: a doubted number must fail no build. It is said, so that nobody
/// takes the exit code for a clean one; and where nothing else could decide, none is clean.
fn fail_on(compared: &Compared, percent: f64) -> anyhow::Result<()> {
    let count = |is: &dyn Fn(&Comparison) -> bool| compared.rows.iter().filter(|r| is(r)).count();
    let is_worse = |row: &Comparison| is_regression(row, percent);
    let measured = count(&Comparison::is_measured);
    let (judged, suspect) = (count(&is_judged), count(&|row| is_judged(row) && row.is_suspect()));
    if suspect > 0 {
        let worse = count(&|row| is_worse(row) && row.is_suspect());
        let worse = counted(worse as u64, "of them {is|are} worse by");
        let suspect = are_of(suspect, judged);
        note(&format!(
            "{suspect} suspect and not counted in the exit code: {worse} {percent} % or more"
        ));
    }
    let sure = count(&|row| is_worse(row) && !row.is_suspect());
    if sure > 0 {
        let sentence = format!("{} worse by {percent} % or more", are_of(sure, measured));
        return Err(failure(Fault::Worse, sentence));
    }
    // What was not measured has doubts that say why.
    let missing = count(&|row| !row.is_measured() && is_open(row, percent));
    let open = count(&|row| row.is_measured() && !row.is_suspect() && is_open(row, percent));
    let of_measured = counted(measured as u64, "finding{s}");
    let parts = [
        (open > 0)
            .then(|| format!("{open} of {of_measured} may be; the verdicts say what would tell")),
        (judged > 0 && suspect == judged).then(|| {
            format!("0 of {} could decide: all are suspect", counted(judged as u64, "finding{s}"))
        }),
        (missing > 0).then(|| {
            let findings = counted(missing as u64, "finding{s}");
            format!("B lacks {findings} that A measured; --all shows why")
        }),
        (measured == 0).then(|| "no finding is measured on both sides".to_owned()),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    if parts.is_empty() {
        return Ok(());
    }
    let sentence =
        format!("no finding is surely worse by {percent} % or more, but {}", parts.join("; and "));
    Err(failure(Fault::Unsure, sentence))
}
