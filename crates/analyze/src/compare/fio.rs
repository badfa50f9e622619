//! The results of fio (`--output-format=json`): its jobs as series, under lbolt's names for what
//! they measure. Source: fio's HOWTO, section "JSON output", and files of fio 3.33.
//!
//! A file holds one value a quantity, so that a file is a run. Latencies are `lat_ns`, submission
//! included, as lbolt's are; fio gives the percentiles of `clat_ns` alone, which are the same where
//! submitting takes no time (every blocking interface).
//!
//! Non-goals: fio's normal output, its logs (`lbolt import` reads them), steady-state data.

use super::Series;
use model::doubt::{Code, Doubt};
use model::record::Subject;
use model::record::subject::Cell;
use model::units::{parse_size, show_size};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Why a text is not fio's result. Completes "failed to …".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what each is")]
pub enum FioError {
    #[error("read it as JSON: {0}")]
    NoJson(String),
    #[error(
        "find fio's jobs in it: there is no list \"jobs\"; fio writes it with --output-format=json"
    )]
    NoJobs,
}

/// How its jobs are to be called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Names {
    /// By the job's name.
    Jobs,
    /// As lbolt calls a program that does the same: `randread_4k_iodepth32_direct`.
    Programs,
}

/// A result of fio.
#[derive(Debug, Clone, PartialEq)]
pub struct Fio {
    /// fio's version.
    pub version: String,
    document: Value,
}

impl Fio {
    /// Reads a file's text. What stands before the first brace (fio's warnings) is passed over.
    /// Errors: a text that is no JSON, or not fio's.
    pub fn parse(text: &str) -> Result<Self, FioError> {
        let text = text.find('{').and_then(|start| text.get(start..)).unwrap_or(text);
        let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
        let document = match values.next() {
            Some(Ok(document)) => document,
            Some(Err(error)) => return Err(FioError::NoJson(error.to_string())),
            None => return Err(FioError::NoJson("it is empty".to_owned())),
        };
        if !document.get("jobs").is_some_and(Value::is_array) {
            return Err(FioError::NoJobs);
        }
        let version = document.get("fio version").and_then(Value::as_str).unwrap_or("fio");
        Ok(Self { version: version.to_owned(), document })
    }

    /// Its jobs as series. Jobs of one name (`numjobs` without `group_reporting`) are one.
    pub fn series(&self, names: Names) -> Vec<Series> {
        let empty = Vec::new();
        let jobs = self.document.get("jobs").and_then(Value::as_array).unwrap_or(&empty);
        let global = self.document.get("global options");
        let jobs: Vec<Job> = jobs.iter().map(|job| Job { job, global }).collect();
        let mut groups: Vec<(String, Vec<&Job>)> = Vec::new();
        for job in &jobs {
            let name = job.name(names);
            match groups.iter_mut().find(|(known, _)| *known == name) {
                Some((_, of_name)) => of_name.push(job),
                None => groups.push((name, vec![job])),
            }
        }
        groups.iter().flat_map(|(name, jobs)| of_group(name, jobs)).collect()
    }
}

struct Job<'a> {
    job: &'a Value,
    global: Option<&'a Value>,
}

/// fio's directions of data.
const DIRECTIONS: [&str; 3] = ["read", "write", "trim"];

impl Job<'_> {
    /// An option of the job, or of all.
    fn option(&self, name: &str) -> Option<&str> {
        let own = self.job.get("job options").and_then(|options| options.get(name));
        own.or_else(|| self.global?.get(name))?.as_str()
    }

    fn size(&self, name: &str) -> Option<u64> {
        parse_size(self.option(name)?).ok()
    }

    fn number(&self, path: &[&str]) -> Option<f64> {
        let found = path.iter().try_fold(self.job, |value, key| value.get(*key))?;
        found.as_f64().filter(|value| value.is_finite())
    }

    /// The access in lbolt's words.
    fn access(&self) -> &str {
        match self.option("rw").or_else(|| self.option("readwrite")).unwrap_or("read") {
            "readwrite" => "rw",
            "randrw" => "randrw",
            other => other.split(':').next().unwrap_or(other),
        }
    }

    fn is_direct(&self) -> bool {
        self.option("direct") == Some("1") || self.option("buffered") == Some("0")
    }

    fn count(&self, option: &str) -> u64 {
        self.option(option).and_then(|n| n.parse().ok()).unwrap_or(1)
    }

    fn block_bytes(&self) -> u64 {
        self.size("bs").or_else(|| self.size("blocksize")).unwrap_or(4096)
    }

    fn name(&self, names: Names) -> String {
        let own = self.job.get("jobname").and_then(Value::as_str).unwrap_or("job").to_owned();
        if names == Names::Jobs {
            return own;
        }
        let mut name = format!("{}_{}", self.access(), show_size(self.block_bytes()));
        for (option, value) in
            [("iodepth", self.count("iodepth")), ("numjobs", self.count("numjobs"))]
        {
            if value > 1 {
                name += &format!("_{option}{value}");
            }
        }
        name += if self.is_direct() { "_direct" } else { "" };
        for option in ["fsync", "fdatasync"] {
            match self.option(option) {
                Some(writes) if writes != "0" && self.access().contains('w') => {
                    name += &format!("_{option}{writes}");
                }
                _ => (),
            }
        }
        name
    }

    fn shape(&self) -> BTreeMap<&'static str, String> {
        let mut shape = BTreeMap::from([
            ("access", self.access().to_owned()),
            ("block_bytes", self.block_bytes().to_string()),
            ("jobs", self.count("numjobs").to_string()),
            ("depth", self.count("iodepth").to_string()),
            ("direct", u8::from(self.is_direct()).to_string()),
        ]);
        if let Some(size) = self.size("size") {
            shape.insert("file_bytes", size.to_string());
        }
        shape
    }

    /// The directions in which it moved anything.
    fn directions(&self) -> impl Iterator<Item = &'static str> + '_ {
        let moved = |d: &&str| self.number(&[d, "total_ios"]).is_some_and(|ios| ios > 0.0);
        DIRECTIONS.into_iter().filter(moved)
    }
}

fn of_group(name: &str, jobs: &[&Job<'_>]) -> Vec<Series> {
    let directions: BTreeSet<&str> = jobs.iter().flat_map(|job| job.directions()).collect();
    let all: Vec<&str> = directions.into_iter().collect();
    let subject = |op: Option<&str>| {
        let (op, program) = (op.map(str::to_owned), name.to_owned());
        Subject::Cell(Cell { drives: 1, op, program, target: None })
    };
    let mut values: Vec<(Subject, &'static str, f64)> = Vec::new();
    let mut add = |op: Option<&str>, found: Vec<(&'static str, f64)>| {
        values.extend(found.into_iter().map(|(quantity, value)| (subject(op), quantity, value)));
    };
    add(None, figures(jobs, &all));
    add(None, cpu(jobs));
    if let [job] = jobs {
        add(None, sync_latencies(job));
    }
    if all.len() > 1 {
        all.iter().for_each(|direction| add(Some(direction), figures(jobs, &[direction])));
    }
    let failed = |job: &&&Job| job.number(&["error"]).is_some_and(|error| error != 0.0);
    let error = || Doubt::new(Code::FioError, [("job", name.into())]);
    let has_failed = jobs.iter().any(|job| failed(&job));
    let doubts: Vec<Doubt> = has_failed.then(error).into_iter().collect();
    let series = |(subject, quantity, value): (Subject, &str, f64)| Series {
        subject,
        quantity: quantity.to_owned(),
        values: vec![value],
        shape: jobs.first().map(|job| job.shape()).unwrap_or_default(),
        doubts: doubts.clone(),
        ..Series::default()
    };
    values.into_iter().map(series).collect()
}

/// Rates and latencies in these directions together.
fn figures(jobs: &[&Job<'_>], directions: &[&str]) -> Vec<(&'static str, f64)> {
    let sum = |key: &str| -> f64 {
        let all = jobs.iter().flat_map(|job| directions.iter().map(move |d| (job, d)));
        all.filter_map(|(job, d)| job.number(&[d, key])).sum()
    };
    let mut found =
        vec![("rate_bytes_per_s", sum("bw_bytes")), ("rate_operations_per_s", sum("iops"))];
    found.extend(mean_latency(jobs, directions).map(|ns| ("latency_mean_ns", ns)));
    // Percentiles of several histograms cannot be put together.
    if let ([job], [direction]) = (jobs, directions) {
        let percentiles = [
            ("latency_p50_ns", "50.000000"),
            ("latency_p99_ns", "99.000000"),
            ("latency_p999_ns", "99.900000"),
        ];
        let of = |key: &str| {
            let of = |kind| job.number(&[direction, kind, "percentile", key]);
            of("lat_ns").or_else(|| of("clat_ns"))
        };
        found.extend(percentiles.iter().filter_map(|(name, key)| Some((*name, of(key)?))));
        found.extend(job.number(&[direction, "lat_ns", "max"]).map(|ns| ("latency_max_ns", ns)));
    }
    found.retain(|(_, value)| *value > 0.0);
    found
}

/// The latencies of the syncs between writes (`fsync=N`, `fdatasync=N`), from issue to completion.
fn sync_latencies(job: &Job<'_>) -> Vec<(&'static str, f64)> {
    const FIGURES: [(&str, &[&str]); 5] = [
        ("sync_latency_mean_ns", &["mean"]),
        ("sync_latency_p50_ns", &["percentile", "50.000000"]),
        ("sync_latency_p99_ns", &["percentile", "99.000000"]),
        ("sync_latency_p999_ns", &["percentile", "99.900000"]),
        ("sync_latency_max_ns", &["max"]),
    ];
    let of = |path: &[&str]| job.number(&[&["sync", "lat_ns"], path].concat());
    let found = FIGURES.iter().filter_map(|(name, path)| Some((*name, of(path)?)));
    found.filter(|(_, value)| *value > 0.0).collect()
}

fn mean_latency(jobs: &[&Job<'_>], directions: &[&str]) -> Option<f64> {
    let all = jobs.iter().flat_map(|job| directions.iter().map(move |d| (job, d)));
    let means = all.filter_map(|(job, d)| {
        Some((job.number(&[d, "lat_ns", "mean"])?, job.number(&[d, "lat_ns", "N"])?))
    });
    let (sum, count) = means.fold((0.0, 0.0), |(s, c), (mean, n)| (s + mean * n, c + n));
    (count > 0.0).then(|| sum / count)
}

/// The jobs' own CPU time: its share of one CPU, and what a request took. fio averages over the
/// jobs of a group.
fn cpu(jobs: &[&Job<'_>]) -> Vec<(&'static str, f64)> {
    let is_grouped = jobs.iter().any(|job| job.option("group_reporting").is_some());
    let of_group = jobs.first().map_or(1, |job| job.count("numjobs"));
    let per_entry = if is_grouped { of_group as f64 } else { 1.0 };
    let share = |job: &&Job| {
        let both = job.number(&["usr_cpu"])? + job.number(&["sys_cpu"])?;
        Some(both).filter(|share| *share > 0.0)
    };
    // A group's run time is the sum of its jobs'.
    let ns = |job: &&Job| Some(share(job)? / 100.0 * job.number(&["job_runtime"])? * 1e6);
    let count =
        |job: &&Job| DIRECTIONS.iter().filter_map(|d| job.number(&[d, "total_ios"])).sum::<f64>();
    let (shares, requests): (Vec<f64>, f64) =
        (jobs.iter().filter_map(share).collect(), jobs.iter().map(count).sum());
    let ns: Option<f64> = jobs.iter().map(ns).sum();
    let of_request = ns.filter(|_| requests > 0.0).map(|ns| ns / requests);
    let total = per_entry * shares.iter().sum::<f64>();
    let all = (!shares.is_empty()).then_some(("cpu_percent", total));
    all.into_iter().chain(of_request.map(|ns| ("cpu_operation_ns", ns))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: &str = r#"note: both iodepth >= 1
    {"fio version": "fio-3.33", "global options": {"bs": "8k", "direct": "1"}, "jobs": [
      {"jobname": "x", "error": 0, "usr_cpu": 10.0, "sys_cpu": 20.0, "job_runtime": 2000,
       "job options": {"rw": "randread", "iodepth": "4"},
       "read": {"bw_bytes": 1000, "iops": 10.0, "total_ios": 100,
                "lat_ns": {"mean": 50.0, "N": 100, "max": 90},
                "clat_ns": {"percentile": {"50.000000": 40, "99.000000": 80}}}},
      {"jobname": "x", "error": 5, "usr_cpu": 10.0, "sys_cpu": 20.0, "job_runtime": 2000,
       "job options": {"rw": "randread", "iodepth": "4"},
       "read": {"bw_bytes": 3000, "iops": 30.0, "total_ios": 300,
                "lat_ns": {"mean": 70.0, "N": 300, "max": 95}}}]}"#;

    fn value(series: &[Series], quantity: &str) -> Option<f64> {
        series.iter().find(|s| s.quantity == quantity)?.values.first().copied()
    }

    #[test]
    fn jobs_of_one_name_are_one() {
        let fio = Fio::parse(TWO).unwrap();
        let found = fio.series(Names::Programs);
        assert_eq!(value(&found, "rate_bytes_per_s"), Some(4000.0));
        assert_eq!(value(&found, "latency_mean_ns"), Some(65.0));
        assert_eq!(value(&found, "cpu_percent"), Some(60.0));
        // Two jobs used 30 % of 2 s each, for 400 requests.
        assert_eq!(value(&found, "cpu_operation_ns"), Some(3e6));
        // Two histograms have no common percentile.
        assert_eq!(value(&found, "latency_p99_ns"), None);
        assert_eq!(found[0].subject.get("program").unwrap(), "randread_8k_iodepth4_direct");
        assert_eq!(fio.series(Names::Jobs)[0].subject.get("program").unwrap(), "x");
        assert_eq!(found[0].doubts.len(), 1);
        assert!(found.iter().all(|s| model::record::quantity(&s.quantity).is_some()));
    }

    /// As fio 3.33 writes it.
    #[test]
    fn syncs_have_latencies_of_their_own() {
        let text = r#"{"fio version": "fio-3.33", "global options": {"bs": "4k"}, "jobs": [
          {"jobname": "x", "job options": {"rw": "randwrite", "fsync": "1"},
           "write": {"total_ios": 3, "iops": 1.0, "bw_bytes": 4096},
           "sync": {"total_ios": 0, "lat_ns": {"min": 5, "max": 90, "mean": 40.5, "N": 3,
             "percentile": {"50.000000": 30, "99.000000": 88, "99.900000": 89}}}}]}"#;
        let found = Fio::parse(text).unwrap().series(Names::Programs);
        let of = |figure: &str| value(&found, &format!("sync_latency_{figure}_ns"));
        let figures = ["mean", "p50", "p99", "p999", "max"].map(of);
        assert_eq!(figures, [40.5, 30.0, 88.0, 89.0, 90.0].map(Some));
        assert_eq!(found[0].subject.get("program").unwrap(), "randwrite_4k_fsync1");
        // A job without syncs tells nothing of them.
        let without = Fio::parse(TWO).unwrap().series(Names::Jobs);
        assert!(without.iter().all(|s| !s.quantity.starts_with("sync")));
    }

    #[test]
    fn what_is_not_fios_is_refused() {
        assert!(matches!(Fio::parse(""), Err(FioError::NoJson(_))));
        assert!(matches!(Fio::parse("{\"jobs\": "), Err(FioError::NoJson(_))));
        assert_eq!(Fio::parse("{}"), Err(FioError::NoJobs));
        assert_eq!(Fio::parse("{\"jobs\": []}").unwrap().series(Names::Jobs), []);
        assert_eq!(Fio::parse("{\"jobs\": [3]}").unwrap().series(Names::Jobs), []);
    }
}
