//! What reads and commits suffered beside a storm, under each remedy, and whether a remedy helps.
//!
//! Remedies are held against *none* round by round: the ratio of a percentile under the remedy to
//! that without any, in the same round, with the same places and moments. Over rounds the logarithm
//! of the ratios has a mean and an interval by Student's t, at a level that holds for all remedies
//! together (Bonferroni: 95 % that none of them is outside of its own).
//!
//! The *gain* of a remedy is the mean of that logarithm over the victims (reads and commits), of
//! their tails: the mean of the slowest twentieth, which a single request moves less than it moves
//! a percentile of some hundred. A remedy is recommended if the gain is beyond the noise and worth
//! it, and what it costs the writer and each victim is within bounds ([`GAIN_MOST`],
//! [`WRITER_LEAST`]). Whether one that is not recommended is surely none is published, too: the
//! printed intervals cannot tell, for a recommendation needs more than they do.
//!
//! Non-goals: what happened in a storm (`verdict::response`, from the trace).

pub mod fold;
mod predicted;
mod ranks;
#[cfg(test)]
mod tests;

pub use predicted::predicted;

use crate::statistics::{CONFIDENCE, estimate, student_at};
use crate::throughput::verdict;
use model::histogram::Histogram;
use model::record::subject::{
    GAIN_MOST, NO_REMEDY as NONE, RECOMMENDED_CONFIDENCE, Storm, StormStream, TAIL_SHARE,
    WRITER_LEAST,
};
use model::record::{Finding, Interval, Role, Sample, Subject, Verdict};
use std::collections::BTreeMap;

const PERCENTILES: [(&str, &str, f64); 3] = [
    ("latency_p50_ns", "latency_p50_ratio", 0.5),
    ("latency_p99_ns", "latency_p99_ratio", 0.99),
    ("latency_p999_ns", "latency_p999_ratio", 0.999),
];
const VICTIMS: [StormStream; 2] = [StormStream::Read, StormStream::Commit];

/// What is estimated over passes, by name.
type PerPass = (&'static str, fn(&Sample) -> f64);

/// Logarithms of ratios, by round.
type Logs = BTreeMap<u64, f64>;

/// Passes of one stream under one remedy, by round.
type Rounds<'a> = BTreeMap<u64, &'a Sample>;

/// The samples of a run.
struct Passes<'a> {
    target: &'a Option<String>,
    /// In the order in which they were first tried.
    remedies: Vec<&'a str>,
    streams: BTreeMap<(&'a str, StormStream), Rounds<'a>>,
    refused: Vec<&'a Sample>,
}

/// All findings, remedies in the order in which they were first tried.
pub fn findings(samples: &[Sample]) -> Vec<Finding> {
    let Some(passes) = Passes::of(samples) else { return vec![] };
    let mut found = Vec::new();
    for remedy in &passes.remedies {
        for ((of, stream), rounds) in &passes.streams {
            if of == remedy {
                found.extend(passes.of_stream(remedy, *stream, rounds));
            }
        }
        found.extend(passes.storm_ratio(remedy));
        found.extend(passes.cpu(remedy));
        found.extend(passes.gain(remedy));
    }
    let refused = |sample: &&Sample| {
        Finding::not_measured(&sample.subject, "rate_operations_per_s", sample.judgement())
    };
    found.extend(passes.refused.iter().map(refused));
    found.extend(ranks::of_halves(&passes));
    found
}

impl<'a> Passes<'a> {
    fn of(samples: &'a [Sample]) -> Option<Self> {
        let (mut remedies, mut refused) = (Vec::new(), Vec::new());
        let mut streams: BTreeMap<_, Rounds<'_>> = BTreeMap::new();
        let mut target = None;
        for sample in samples.iter().filter(|sample| sample.role == Role::Kept) {
            let Subject::Storm(storm) = &sample.subject else { continue };
            target = Some(&storm.target);
            if sample.verdict == Verdict::NotMeasured {
                refused.push(sample);
                continue;
            }
            if !remedies.contains(&storm.remedy.as_str()) {
                remedies.push(&storm.remedy);
            }
            let rounds = streams.entry((storm.remedy.as_str(), storm.stream)).or_default();
            rounds.insert(sample.pass, sample);
        }
        Some(Self { target: target?, remedies, streams, refused })
    }

    fn subject(&self, remedy: &str, stream: StormStream) -> Subject {
        Subject::Storm(Storm { remedy: remedy.into(), stream, target: self.target.clone() })
    }

    /// Those that are held against *none*.
    fn tried(&self) -> usize {
        self.remedies.iter().filter(|remedy| **remedy != NONE).count()
    }

    fn of_stream(&self, remedy: &str, stream: StormStream, rounds: &Rounds<'_>) -> Vec<Finding> {
        let subject = self.subject(remedy, stream);
        let all: Vec<&Sample> = rounds.values().copied().collect();
        let judged = verdict(&all);
        let latency = merged(&all);
        let mut found = Vec::new();
        for (name, _, share) in PERCENTILES {
            let value = latency.quantile_ns(share).map(|ns| ns as f64);
            let value = value.filter(|_| latency.count() as f64 * (1.0 - share) >= 1.0 - 1e-9);
            if let Some(value) = value {
                let method = "histogram of all passes, within 0.4 %";
                let count = latency.count();
                found.push(Finding::new(&subject, name, Some(value), count, method));
            }
        }
        let per_pass: [PerPass; 2] = [
            ("rate_operations_per_s", Sample::operations_per_s),
            ("sync_percent", |s| 100.0 * s.sync_ns as f64 / s.wall_ns.max(1) as f64),
        ];
        for (name, value) in per_pass {
            let values: Vec<f64> = all.iter().map(|sample| value(sample)).collect();
            let method = "mean of the passes, 95 % interval by Student's t";
            let is_shown = name != "sync_percent" || values.iter().any(|value| *value > 0.0);
            let estimated = estimate(&values).filter(|_| is_shown);
            found.extend(estimated.map(|e| e.finding(&subject, name, method)));
        }
        if remedy != NONE {
            found.extend(self.ratios(&subject, stream, rounds));
        }
        found.into_iter().map(|finding| finding.judged(judged.clone())).collect()
    }

    /// Each percentile, and the writer's rate, over those without a remedy.
    fn ratios(&self, subject: &Subject, stream: StormStream, rounds: &Rounds<'_>) -> Vec<Finding> {
        let mut found = Vec::new();
        if stream == StormStream::Write {
            let rate = |sample: &Sample| Some(sample.operations as f64 / sample.wall_ns as f64);
            found.extend(self.ratio(subject, "rate_ratio", &self.logs(stream, rounds, rate)));
        }
        if VICTIMS.contains(&stream) {
            for (_, name, share) in PERCENTILES {
                let of = |sample: &Sample| quantile(sample, share);
                found.extend(self.ratio(subject, name, &self.logs(stream, rounds, of)));
            }
        }
        found
    }

    /// Logarithms of the ratios to *none*, round by round.
    fn logs(
        &self,
        stream: StormStream,
        rounds: &Rounds<'_>,
        of: impl Fn(&Sample) -> Option<f64>,
    ) -> Logs {
        let Some(without) = self.streams.get(&(NONE, stream)) else { return Logs::new() };
        let log = |(round, sample): (&u64, &&Sample)| {
            let ratio = of(sample)? / of(without.get(round)?)?;
            (ratio.is_finite() && ratio > 0.0).then(|| (*round, ratio.ln()))
        };
        rounds.iter().filter_map(log).collect()
    }

    fn ratio(&self, subject: &Subject, name: &str, logs: &Logs) -> Option<Finding> {
        let logs = values(logs);
        let found = estimate(&logs)?;
        let tried = self.tried().max(1);
        let half = half_of_all(&logs, tried, CONFIDENCE);
        let within = half.map(|half| ((found.mean - half).exp(), (found.mean + half).exp()));
        let method = format!(
            "geometric mean of the rounds' ratios to no remedy; 95 % by Student's t for {tried} \
             remedies together (Bonferroni)"
        );
        let found = Finding::new(subject, name, Some(found.mean.exp()), found.count as u64, method);
        Some(found.within(Interval::Comparison, (within.map(|w| w.0), within.map(|w| w.1))))
    }

    /// How much longer the worst reads take that meet a sync.
    fn storm_ratio(&self, remedy: &str) -> Option<Finding> {
        let p99 = |stream| {
            let rounds = self.streams.get(&(remedy, stream))?;
            let all: Vec<&Sample> = rounds.values().copied().collect();
            Some((merged(&all).quantile_ns(0.99)? as f64, all.len()))
        };
        let (inside, count) = p99(StormStream::ReadInSync)?;
        let (outside, _) = p99(StormStream::ReadBetween).filter(|(ns, _)| *ns > 0.0)?;
        let subject = self.subject(remedy, StormStream::Read);
        let method = "99th percentile of the reads that met a sync over that of the others; 95 % \
                      by Student's t of the rounds' logarithms";
        let ratio = inside / outside;
        let half = half_of_all(&self.storm_logs(remedy), 1, CONFIDENCE);
        let within = |sign: f64| half.map(|half| ratio * (sign * half).exp());
        let found = Finding::new(&subject, "storm_ratio", Some(ratio), count as u64, method);
        Some(found.within(Interval::Passes, (within(-1.0), within(1.0))))
    }

    /// The same, round by round, as logarithms.
    fn storm_logs(&self, remedy: &str) -> Vec<f64> {
        let of = |stream| self.streams.get(&(remedy, stream));
        let both = of(StormStream::ReadInSync).zip(of(StormStream::ReadBetween));
        let log = |(inside, outside): (&&Sample, &&Sample)| {
            let ratio = quantile(inside, 0.99)? / quantile(outside, 0.99)?;
            (ratio.is_finite() && ratio > 0.0).then(|| ratio.ln())
        };
        let each = both.into_iter().flat_map(|(inside, outside)| {
            inside.iter().filter_map(|(round, sample)| log((sample, outside.get(round)?)))
        });
        each.collect()
    }

    /// What the machine's CPUs did under a remedy, whoever's time it was.
    fn cpu(&self, remedy: &str) -> Option<Finding> {
        let of = |stream| self.streams.get(&(remedy, stream));
        let streams = [StormStream::Read, StormStream::Commit, StormStream::Write];
        let rounds = streams.into_iter().find_map(of)?;
        let percent = |sample: &&Sample| {
            // A load that is not ours is another program.
            let load_ns = if sample.jobs == 0 { sample.cpu_elsewhere_ns? } else { 0 };
            let all_ns = sample.cpu_user_ns + sample.cpu_system_ns + sample.cpu_other_ns? + load_ns;
            Some(100.0 * all_ns as f64 / sample.wall_ns.max(1) as f64)
        };
        let values: Vec<f64> = rounds.values().map(percent).collect::<Option<_>>()?;
        let subject = self.subject(remedy, StormStream::Victims);
        let method = "mean of the passes, 95 % interval by Student's t";
        Some(estimate(&values)?.finding(&subject, "cpu_machine_percent", method))
    }

    /// What a remedy leaves of the victims' tails, and whether it is recommended.
    fn gain(&self, remedy: &str) -> Vec<Finding> {
        if remedy == NONE {
            return vec![];
        }
        let victims = self.victims(remedy);
        let logs = of_rounds(&victims);
        let subject = self.subject(remedy, StormStream::Victims);
        let Some(gain) = self.ratio(&subject, "gain_ratio", &logs) else { return vec![] };
        let (value, (low, high)) =
            match worth(&victims, &self.writer_logs(remedy), self.tried().max(1)) {
                Worth::Known(true) => (1.0, (1.0, 1.0)),
                Worth::Known(false) => (0.0, (0.0, 0.0)),
                Worth::Unknown => (0.0, (0.0, 1.0)),
            };
        let method = "beyond the noise of all remedies, worth it, and within the writer's cost";
        let recommended = Finding::new(&subject, "recommended", Some(value), gain.count, method);
        vec![gain, recommended.within(Interval::Comparison, (Some(low), Some(high)))]
    }

    /// Logarithms of what a remedy leaves of each victim's tails.
    fn victims(&self, remedy: &str) -> Vec<Logs> {
        let of_victim = |stream: &StormStream| {
            let rounds = self.streams.get(&(remedy, *stream))?;
            let tail = |sample: &Sample| sample.latency()?.tail_mean_ns(TAIL_SHARE);
            let logs = self.logs(*stream, rounds, tail);
            (!logs.is_empty()).then_some(logs)
        };
        VICTIMS.iter().filter_map(of_victim).collect()
    }

    /// Logarithms of what a remedy leaves of the writer's rate; none where there is no writer.
    fn writer_logs(&self, remedy: &str) -> Vec<f64> {
        let rounds = self.streams.get(&(remedy, StormStream::Write));
        let rate = |sample: &Sample| Some(sample.operations as f64 / sample.wall_ns as f64);
        let logs = rounds.map(|rounds| self.logs(StormStream::Write, rounds, rate));
        values(&logs.unwrap_or_default())
    }
}

/// The victims' mean of each round that all of them have.
fn of_rounds(victims: &[Logs]) -> Logs {
    let of = |round: u64| {
        let logs = victims.iter().map(|logs| logs.get(&round).copied());
        Some((round, logs.sum::<Option<f64>>()? / victims.len() as f64))
    };
    victims.first().into_iter().flat_map(Logs::keys).filter_map(|round| of(*round)).collect()
}

fn values(logs: &Logs) -> Vec<f64> {
    logs.values().copied().collect()
}

/// Whether a remedy is worth it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Worth {
    /// It is, or surely is not: what it leaves is too much, or its cost.
    Known(bool),
    /// More rounds may tell.
    Unknown,
}

/// Whether a remedy of so many is worth it: by the logarithms of what it leaves of each victim's
/// tails, round by round, and of what it leaves of the writer's rate.
fn worth(victims: &[Logs], writer: &[f64], tried: usize) -> Worth {
    let span = |logs: &[f64], confidence: f64| {
        let mean = estimate(logs)?.mean;
        let half = half_of_all(logs, tried, confidence)?;
        Some((mean - half, mean, mean + half))
    };
    let gain = values(&of_rounds(victims));
    let is_better = span(&gain, RECOMMENDED_CONFIDENCE)
        .is_some_and(|(_, mean, high)| high < 0.0 && mean <= GAIN_MOST.ln());
    let is_harmful = victims
        .iter()
        .any(|logs| span(&values(logs), RECOMMENDED_CONFIDENCE).is_some_and(|(low, ..)| low > 0.0));
    let keeps_rate = estimate(writer).is_none_or(|rate| rate.mean.exp() >= WRITER_LEAST);
    // By the intervals that are printed.
    let leaves_much = span(&gain, CONFIDENCE).is_some_and(|(low, ..)| low > GAIN_MOST.ln());
    let costs_much = span(writer, CONFIDENCE).is_some_and(|(.., high)| high < WRITER_LEAST.ln());
    match is_better && !is_harmful && keeps_rate {
        true => Worth::Known(true),
        false if is_harmful || leaves_much || costs_much => Worth::Known(false),
        false => Worth::Unknown,
    }
}

/// As it is published: for rounds that go on until it is narrow.
pub fn half_of(logs: &[f64], tried: usize) -> Option<f64> {
    half_of_all(logs, tried.max(1), CONFIDENCE)
}

/// Half of the interval of the mean that holds for so many of its kind together; none for one
/// value.
fn half_of_all(logs: &[f64], count: usize, confidence: f64) -> Option<f64> {
    let found = estimate(logs)?;
    let n = found.count as f64;
    let t = student_at(n - 1.0, 1.0 - (1.0 - confidence) / count as f64)?;
    Some(t * found.deviation? / n.sqrt())
}

fn quantile(sample: &Sample, share: f64) -> Option<f64> {
    sample.latency()?.quantile_ns(share).map(|ns| ns as f64)
}

fn merged(samples: &[&Sample]) -> Histogram {
    let latencies = samples.iter().filter_map(|sample| sample.latency());
    latencies.fold(Histogram::default(), |mut all, one| {
        all.merge(&one);
        all
    })
}
