//! Johnson, Smith & Wilson 1986: the ten counts beside the model's, the spike at a sync, and what
//! would have helped.

use super::scenario::{self, PATH};
use super::{
    COUNTS, Evaluation, Inputs, REMEDIES, Responses, SECONDS, Scenario, evaluate, published,
};
use crate::Failure;
use crate::comparison::{Comparison, finding, subject};
use model::record::Finding;
use rayon::prelude::*;
use report::Sheet;
use report::listing::Listing;
use sim::profile::{Leaf, Profile, Source, Value, plain};

/// The paper's counts.
pub const TABLE: &str = include_str!("../../../../papers/response-times-1986.csv");
/// The input that the counts hardly constrain, on which the tail and the remedies depend.
const BURST: &str = "load.writes_per_sync";

/// The mean over seeds of what a remedy comes to.
struct Mean {
    remedy: &'static str,
    /// Writes of a sync.
    burst: f64,
    of: Vec<Evaluation>,
}

/// The counts and the remedies, each the mean of so many seeds.
pub fn compare(seeds: u64) -> Result<Comparison, Failure> {
    let scenario = Scenario::read(scenario::TEXT)?;
    let theirs = published(TABLE)?;
    let profile = &scenario.profile;
    let bursts = bursts(profile, scenario.inputs.writes_per_sync);
    let remedies = bursts.iter().flat_map(|burst| REMEDIES.iter().map(move |r| (*burst, *r)));
    let cases: Vec<_> = remedies.collect();
    let tasks: Vec<(usize, u64)> =
        (0..cases.len()).flat_map(|case| (1..=seeds).map(move |seed| (case, seed))).collect();
    let done = tasks.par_iter().with_max_len(1).map(|(case, seed)| {
        let (burst, remedy) = &cases[*case];
        let inputs = Inputs { writes_per_sync: *burst, ..scenario.inputs };
        evaluate(&scenario, &inputs, &theirs, remedy, *seed)
    });
    let done = done.collect::<Result<Vec<_>, Failure>>()?;
    let of_case = |(case, (burst, remedy)): (usize, &(f64, _))| {
        let (remedy, _): &(&'static str, _) = remedy;
        let of = tasks.iter().zip(&done).filter(|((of, _), _)| *of == case);
        Mean { remedy, burst: *burst, of: of.map(|(_, found)| found.clone()).collect() }
    };
    let means: Vec<Mean> = cases.iter().enumerate().map(of_case).collect();
    let fitted = means.iter().position(|mean| mean.burst == scenario.inputs.writes_per_sync);
    let at = fitted.unwrap_or(0);
    let base = &means[at];
    let findings = [
        count_findings(base, &theirs),
        means.iter().flat_map(remedy_findings).collect(),
        (0..SECONDS).map(|second| second_finding(base, second)).collect(),
    ];
    let sheets = vec![
        counts(base, &theirs),
        inputs(profile),
        after_sync(base),
        remedies_table(&means, scenario.inputs.writes_per_sync),
    ];
    Ok(Comparison { sheets, findings: findings.concat() })
}

/// The fitted burst, and the ends of its range.
fn bursts(profile: &Profile, fitted: f64) -> Vec<f64> {
    let leaf = profile.leaves().find(|(key, _)| *key == BURST).map(|(_, leaf)| leaf);
    let number = |value: Option<&Value>| {
        value.and_then(|v| v.as_float().or_else(|| v.as_integer().map(|whole| whole as f64)))
    };
    let ends = leaf.map(|leaf| [number(leaf.low.as_ref()), number(leaf.high.as_ref())]);
    let mut bursts: Vec<f64> = ends.into_iter().flatten().flatten().chain([fitted]).collect();
    bursts.sort_by(f64::total_cmp);
    bursts.dedup();
    bursts
}

impl Mean {
    fn mean(&self, of: impl Fn(&Evaluation) -> f64) -> f64 {
        self.of.iter().map(of).sum::<f64>() / self.of.len().max(1) as f64
    }

    fn share_percent(&self, tick: usize) -> f64 {
        self.mean(|e| 100.0 * e.counts[tick] as f64 / e.counts.iter().sum::<u64>().max(1) as f64)
    }
}

fn count_findings(base: &Mean, theirs: &[u64; COUNTS]) -> Vec<Finding> {
    let whole: u64 = theirs.iter().sum();
    let of_tick = |tick: usize| {
        let subject = subject("1986", &[("ticks", &tick.to_string())]);
        let printed = 100.0 * theirs[tick] as f64 / whole as f64;
        [
            finding(&subject, "published_share_percent", printed, "section 2.4"),
            finding(&subject, "model_share_percent", base.share_percent(tick), "fitted"),
        ]
    };
    let subject = subject("1986", &[("group", "all")]);
    let distance = base.mean(|e| e.distance);
    let whole = [
        finding(&subject, "total_variation_distance", distance, "fitted with five inputs"),
        finding(&subject, "parameters_count", Inputs::NAMES.len() as f64, "fitted"),
    ];
    (0..COUNTS).flat_map(of_tick).chain(whole).collect()
}

/// A kind of request: its name, and its responses.
type Kind = (&'static str, fn(&Evaluation) -> Responses);
/// A figure of responses: the quantity, and its value in ms.
type Figure = (&'static str, fn(Responses) -> f64);

const KINDS: [Kind; 2] = [("read", |e| e.reads), ("write", |e| e.writes)];
const FIGURES: [Figure; 3] = [
    ("simulated_mean_ns", |r| r.mean_ms),
    ("simulated_p99_ns", |r| r.p99_ms),
    ("simulated_max_ns", |r| r.max_ms),
];

fn remedy_findings(mean: &Mean) -> Vec<Finding> {
    let of_kind = |(op, of): Kind| {
        let keys =
            [("op", op), ("remedy", mean.remedy), ("writes_per_sync", &mean.burst.to_string())];
        let subject = subject("1986", &keys);
        FIGURES
            .map(|(name, ms)| finding(&subject, name, 1e6 * mean.mean(|e| ms(of(e))), "simulated"))
    };
    KINDS.into_iter().flat_map(of_kind).collect()
}

fn second_finding(base: &Mean, second: usize) -> Finding {
    let subject = subject("1986", &[("second", &second.to_string())]);
    let ns = 1e6 * base.mean(|e| e.reads_after_sync_ms[second]);
    finding(&subject, "read_after_sync_mean_ns", ns, "simulated")
}

fn counts(base: &Mean, theirs: &[u64; COUNTS]) -> Sheet {
    let whole: u64 = theirs.iter().sum();
    let percent = |value: f64| format!("{value:.2} %");
    let shares = |tick: usize| 100.0 * theirs[tick] as f64 / whole as f64;
    let ticks: Vec<usize> = (0..COUNTS).collect();
    Listing::of(&ticks)
        .label("ticks", usize::to_string)
        .figure("paper", "responses", |tick| theirs[*tick].to_string())
        .figure("paper", "share", |tick| percent(shares(*tick)))
        .figure("model", "share", |tick| percent(base.share_percent(*tick)))
        .sheet("1986: responses by ticks of 1/60 s, as shares of the ten counts")
        .with_notes([format!(
            "The total-variation distance is {:.4} (mean over seeds: {}). This is a fit of {} \
             inputs that the paper does not print. In three hours {:.0} responses take more than \
             300 ticks; the paper mentions such responses and does not count them.",
            base.mean(|e| e.distance),
            base.of.len(),
            Inputs::NAMES.len(),
            base.mean(|e| e.above_300_ticks as f64)
        )])
}

/// What was fitted, and how far each may be off by itself.
fn inputs(profile: &Profile) -> Sheet {
    let is_fitted = |leaf: &&(&str, &Leaf)| matches!(leaf.1.source, Some(Source::Fitted(_)));
    let leaves: Vec<(&str, &Leaf)> = profile.leaves().collect();
    let fitted: Vec<&(&str, &Leaf)> =
        leaves.iter().filter(is_fitted).filter(|(_, leaf)| &*leaf.file == PATH).collect();
    let bound = |bound: &Option<Value>| bound.as_ref().map_or_else(String::new, plain);
    Listing::of(&fitted)
        .label("input", |(key, _)| (*key).to_owned())
        .figure("", "value", |(_, leaf)| plain(&leaf.value))
        .figure("distance ≤ 0.05", "from", |(_, leaf)| bound(&leaf.low))
        .figure("distance ≤ 0.05", "to", |(_, leaf)| bound(&leaf.high))
        .sheet("1986: the inputs that were fitted")
        .with_notes([format!(
            "Each range holds while the other inputs stay as they are ({PATH} says more). The \
             RA81's track skew was fitted to the tables of 1983, not to these counts."
        )])
}

fn after_sync(base: &Mean) -> Sheet {
    const SHOWN: [usize; 8] = [0, 1, 2, 3, 5, 10, 20, 29];
    let ms = |second: usize| format!("{:.0} ms", base.mean(|e| e.reads_after_sync_ms[second]));
    Listing::of(&SHOWN)
        .label("second", usize::to_string)
        .figure("", "reads", |second| ms(*second))
        .sheet("1986: mean read response by whole seconds since a sync (the spike of Figure 7)")
}

fn remedies_table(means: &[Mean], fitted: f64) -> Sheet {
    let ms = |of: fn(&Evaluation) -> f64| move |mean: &Mean| format!("{:.0}", mean.mean(of));
    Listing::of(means)
        .label("writes per sync", |mean| mean.burst.to_string())
        .label("", |mean| mean.remedy.to_owned())
        .figure("reads", "mean", ms(|e| e.reads.mean_ms))
        .figure("reads", "p99", ms(|e| e.reads.p99_ms))
        .figure("reads", "max", ms(|e| e.reads.max_ms))
        .figure("writes", "mean", ms(|e| e.writes.mean_ms))
        .figure("writes", "p99", ms(|e| e.writes.p99_ms))
        .figure("writes", "max", ms(|e| e.writes.max_ms))
        .sheet("1986: what would have helped: response times in ms")
        .with_notes([format!(
            "The fit has {fitted} writes per sync. The ten counts hardly constrain this number, \
             and the figures depend on it: trust their directions, not their sizes. The trace \
             hplajw (lbolt simulate … --model hp-9000-845) is the check on a system where the \
             number is known."
        )])
}
