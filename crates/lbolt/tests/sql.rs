//! `lbolt sql`: by its views, run by DuckDB over our records, is counted what `lbolt response`
//! finds (`common/summaries.sql`), and what is known of a week of 1992.

// Helpers of tests are tests, which clippy.toml cannot know of this file.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod made;

use crate::common::{Lab, tool};
use made::make_trace;
use model::histogram::{SmallHistogram, SparseHistogram};
use model::units::{show_about, show_size};
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

type Rows = Vec<Value>;

/// A Python that has DuckDB: the one that `make test` sets up, or the machine's own.
pub(crate) fn python() -> Option<String> {
    let ours = Path::new(env!("CARGO_TARGET_TMPDIR")).join("../python/bin/python3");
    let found = [ours.display().to_string(), "python3".to_owned()]
        .into_iter()
        .find(|python| tool(python, &["-c", "import duckdb"]).is_some());
    if found.is_none() {
        println!("skipped: needs python3 with the module duckdb");
    }
    found
}

/// What DuckDB returns for queries, over the views of a run.
fn ask(lab: &Lab, python: &str, run: &str, queries: &[&str]) -> Vec<Rows> {
    let text = lab.run(&format!("sql --requests {run}"));
    assert_eq!(text.code, 0, "{}", text.err);
    lab.file("run.sql", format!("{}\n{}", text.out, include_str!("common/summaries.sql")));
    let mut command = lab.command(python);
    command.args(["-c", include_str!("common/sql.py"), "run.sql"]).args(queries);
    let ended = lab.end(command);
    assert_eq!(ended.code, 0, "{}", ended.err);
    serde_json::from_str(&ended.out).unwrap()
}

fn number(row: &Value, column: &str) -> Option<f64> {
    assert!(row.get(column).is_some(), "no {column} in {row}");
    row[column].as_f64()
}

fn text<'a>(row: &'a Value, column: &str) -> &'a str {
    row[column].as_str().unwrap_or_default()
}

/// A sum over its count.
fn mean(row: &Value, sum: &str, count: &str) -> Option<f64> {
    number(row, count)
        .filter(|count| *count > 0.0)
        .and_then(|count| Some(number(row, sum)? / count))
}

/// A part's sum over the responses; none where no request tells it.
fn part_mean(row: &Value, part: &str) -> Option<f64> {
    let is_told = number(row, &format!("{part}_count")) > Some(0.0);
    mean(row, &format!("{part}_sum_ns"), "response_count").filter(|_| is_told)
}

/// The device's part of the responses; where some requests tell none, the mean of all that tell
/// their device time.
fn device_mean(row: &Value) -> Option<f64> {
    match number(row, "device_count") == number(row, "served_count") {
        true => part_mean(row, "device"),
        false => mean(row, "device_sum_ns", "device_count"),
    }
}

/// The mean response of a row is the sum of those of its parts and of the rest. Whether it tells
/// them.
fn means_add_up(row: &Value) -> bool {
    let of = |part: &str| part_mean(row, part).unwrap_or(0.0);
    let response = mean(row, "response_sum_ns", "response_count");
    let rest = mean(row, "rest_sum_ns", "response_count");
    let Some((response, rest)) = response.zip(rest) else { return false };
    let is_split = ["admission", "scheduler"].iter().any(|part| part_mean(row, part).is_some());
    let queue = if is_split { of("admission") + of("scheduler") } else { of("wait") };
    let sum = queue + of("served") + rest;
    assert!((sum - response).abs() <= 1e-9 * response && rest >= 0.0, "{sum} of {response}: {row}");
    true
}

/// The findings of a run, by what they are of.
struct Findings(HashMap<(String, String, String), Option<f64>>);

impl Findings {
    fn of(lab: &Lab, run: &str) -> Self {
        let report = lab.measure(&format!("response {run}"));
        let key = |f: &Value| {
            let subject = &f["subject"];
            let by = subject["by"].as_str().unwrap_or("run").to_owned();
            (by, text(subject, "class").to_owned(), text(f, "quantity").to_owned())
        };
        Self(report.findings().iter().map(|f| (key(f), f["value"].as_f64())).collect())
    }

    fn get(&self, by: &str, class: &str, quantity: &str) -> Option<f64> {
        let key = (by.to_owned(), class.to_owned(), quantity.to_owned());
        *self.0.get(&key).unwrap_or_else(|| panic!("no {quantity} of {by} {class}"))
    }

    fn classes(&self, by: &str) -> usize {
        self.0.keys().filter(|(b, _, quantity)| b == by && quantity == "requested_count").count()
    }

    fn hold(&self, by: &str, class: &str, quantity: &str, sql: Option<f64>) {
        let ours = self.get(by, class, quantity);
        let is_same = match (ours, sql) {
            (Some(ours), Some(sql)) => (ours - sql).abs() <= 1e-12 * ours.abs(),
            (ours, sql) => ours == sql,
        };
        assert!(is_same, "{quantity} of {by} {class}: {ours:?} here, {sql:?} in SQL");
    }
}

/// Which percentiles there are.
const QUANTILES: [(&str, f64); 7] = [
    ("response_p25_ns", 0.25),
    ("response_p50_ns", 0.5),
    ("response_p75_ns", 0.75),
    ("response_p90_ns", 0.9),
    ("response_p99_ns", 0.99),
    ("response_p999_ns", 0.999),
    ("response_p9999_ns", 0.9999),
];

/// All that the summaries hold, and how their classes are named in findings.
struct Sql {
    summaries: Rows,
    histograms: BTreeMap<(String, String), (Vec<u64>, Vec<u64>)>,
    region_widths: BTreeMap<u64, u64>,
    start_width: u64,
    span_ns: f64,
    depths: Rows,
    flows: Rows,
}

/// A class's key in SQL: what it is by, and its device and name.
fn key(row: &Value) -> (String, String) {
    let device = row["device"].as_u64().map_or(String::new(), |device| format!("{device} "));
    (text(row, "classed_by").to_owned(), device + text(row, "class"))
}

impl Sql {
    fn of(lab: &Lab, python: &str, run: &str) -> Self {
        let tables = [
            "FROM summaries",
            "FROM histograms ORDER BY bucket",
            "FROM region_widths",
            "FROM start_widths",
            "FROM spans",
            "FROM depth_summaries",
            "FROM flow_summaries",
        ];
        let tables: [Rows; 7] = ask(lab, python, run, &tables).try_into().unwrap();
        let [summaries, buckets, regions, starts, spans, depths, flows] = tables;
        let mut histograms = BTreeMap::new();
        for row in &buckets {
            let (places, counts): &mut (Vec<u64>, Vec<u64>) =
                histograms.entry(key(row)).or_default();
            places.push(row["bucket"].as_u64().unwrap());
            counts.push(row["bucket_count"].as_u64().unwrap());
        }
        let width = |r: &Value| (r["device"].as_u64().unwrap(), r["width_bytes"].as_u64().unwrap());
        Self {
            summaries,
            histograms,
            region_widths: regions.iter().map(width).collect(),
            start_width: starts[0]["width_ns"].as_u64().unwrap(),
            span_ns: number(&spans[0], "last_ns").unwrap() - number(&spans[0], "first_ns").unwrap(),
            depths,
            flows,
        }
    }

    /// The class's name in findings.
    fn label(&self, row: &Value, device: &dyn Fn(u64) -> String) -> String {
        let class = text(row, "class");
        let start = || class.parse::<u64>().unwrap();
        let of_device = row["device"].as_u64();
        match text(row, "classed_by") {
            "device" => device(start()),
            "device and direction" => format!("{} {class}", device(of_device.unwrap())),
            "size" if class != "0" => format!("to {}", show_size(start())),
            "region" => {
                let end = start() + self.region_widths[&of_device.unwrap()];
                format!(
                    "{} {} to {}",
                    device(of_device.unwrap()),
                    show_size(start()),
                    show_size(end)
                )
            }
            "start" => {
                let end = (start() + self.start_width) as f64;
                format!("{} to {}", show_about(start() as f64), show_about(end))
            }
            _ => class.to_owned(),
        }
    }

    /// Percentiles of a class by the counts alone. Classes of which there are many are counted by
    /// 32 an octave here.
    fn hold_percentiles(&self, row: &Value, label: &str, findings: &Findings) {
        let by = text(row, "classed_by");
        let (places, counts) = self.histograms.get(&key(row)).cloned().unwrap_or_default();
        let exact = |column| row[column].as_u64().unwrap_or(0);
        let (sum, min, max) =
            (exact("response_sum_ns"), exact("response_min_ns"), exact("response_max_ns"));
        let fine = SparseHistogram::from_parts(&places, &counts, sum, min, max).unwrap();
        let coarse = SmallHistogram::from_parts(&places, &counts, sum, min, max).unwrap();
        assert_eq!(Some(fine.count()), row["response_count"].as_u64());
        for (quantity, quantile) in QUANTILES {
            let of_counts = fine.quantile_ns(quantile).map(|ns| ns as f64);
            let is_coarse = matches!(by, "process" | "cgroup" | "region" | "start");
            let of_coarse = coarse.quantile_ns(quantile).map(|ns| ns as f64);
            let sql = if is_coarse { of_coarse } else { of_counts };
            findings.hold(by, label, quantity, sql);
        }
    }

    fn hold_classes(&self, findings: &Findings, device: &dyn Fn(u64) -> String, silent: &[&str]) {
        let of_whole = self.summaries.iter().find(|row| row["classed_by"] == "whole").unwrap();
        let mut counted: BTreeMap<&str, usize> = BTreeMap::new();
        let told = |row: &&Value| !silent.contains(&text(row, "classed_by"));
        for row in self.summaries.iter().filter(told) {
            let by = text(row, "classed_by");
            let label = self.label(row, device);
            *counted.entry(by).or_default() += 1;
            let share = number(row, "took_sum_ns").unwrap_or(0.0)
                / number(of_whole, "took_sum_ns").unwrap()
                * 100.0;
            let rate = number(row, "requested_count").unwrap() / self.span_ns * 1e9;
            for (quantity, sql) in [
                ("requested_count", number(row, "requested_count")),
                ("completed_count", number(row, "completed_count")),
                ("requested_bytes", number(row, "requested_bytes")),
                ("failed_count", number(row, "failed_count")),
                ("requested_per_s", Some(rate)),
                ("response_mean_ns", mean(row, "response_sum_ns", "response_count")),
                ("response_max_ns", number(row, "response_max_ns")),
                ("wait_mean_ns", part_mean(row, "wait")),
                ("admission_mean_ns", part_mean(row, "admission")),
                ("scheduler_mean_ns", part_mean(row, "scheduler")),
                ("response_known_count", number(row, "response_count")),
                ("device_known_count", number(row, "device_count")),
                ("device_mean_ns", device_mean(row)),
                ("rest_mean_ns", mean(row, "rest_sum_ns", "response_count")),
                ("done_count", number(row, "done_count")),
                ("done_mean_ns", mean(row, "done_sum_ns", "done_count")),
                ("done_max_ns", number(row, "done_max_ns")),
                ("time_percent", Some(share)),
            ] {
                findings.hold(by, &label, quantity, sql);
            }
            self.hold_percentiles(row, &label, findings);
        }
        let of_requests = |key: &&(String, String, String)| key.2 == "requested_count";
        for (by, class, _) in findings.0.keys().filter(of_requests) {
            assert!(counted.contains_key(by.as_str()), "{by} {class} is not in SQL");
        }
        for (by, count) in counted {
            // Those that nobody is in are in these tables here, and have no row in SQL.
            let is_table = by.ends_with("outstanding");
            let classes = findings.classes(by);
            assert!(if is_table { count <= classes } else { count == classes }, "{by}: {count}");
        }
    }

    fn hold_depths(&self, findings: &Findings, device: &dyn Fn(u64) -> String) {
        let sum =
            |column: &str| self.depths.iter().filter_map(|row| number(row, column)).sum::<f64>();
        let most = |column: &str| {
            self.depths.iter().filter_map(|row| number(row, column)).fold(0.0, f64::max)
        };
        findings.hold("run", "", "depth_mean", Some(sum("depth_time_ns") / self.span_ns));
        let seen = sum("found_sum") / sum("arrivals_count");
        findings.hold("run", "", "depth_at_arrival_mean", Some(seen));
        findings.hold("run", "", "depth_max", Some(most("depth_max")));
        for row in &self.depths {
            let name = device(row["device"].as_u64().unwrap());
            let share = |column| Some(number(row, column)? / self.span_ns);
            let hold = |quantity, sql| findings.hold("device", &name, quantity, sql);
            hold("depth_mean", share("depth_time_ns"));
            hold("busy_percent", share("busy_ns").map(|share| share * 100.0));
            hold("depth_at_arrival_mean", mean(row, "found_sum", "arrivals_count"));
            hold("depth_max", number(row, "depth_max"));
        }
    }

    fn hold_flows(&self, findings: &Findings, device: &dyn Fn(u64) -> String) {
        for row in &self.flows {
            let number_of = row["device"].as_u64().unwrap();
            let name = device(number_of);
            let hold = |quantity, sql| findings.hold("device", &name, quantity, sql);
            let sequential = mean(row, "sequential_count", "seeks_count");
            hold("sequential_percent", sequential.map(|share| share * 100.0));
            hold("seek_mean_bytes", mean(row, "seek_sum_bytes", "seeks_count"));
            let key = ("seek".to_owned(), format!("{number_of} {number_of}"));
            let (places, counts) = &self.histograms[&key];
            let exact = |column| row[column].as_u64().unwrap();
            let (min, max) = (exact("seek_min_bytes"), exact("seek_max_bytes"));
            let seeks = SparseHistogram::from_parts(places, counts, 0, min, max).unwrap();
            assert_eq!(Some(seeks.count()), row["seeks_count"].as_u64());
            hold("seek_p50_bytes", seeks.quantile_ns(0.5).map(|bytes| bytes as f64));
            let (gap, squares) = (
                mean(row, "gap_sum_ns", "gaps_count").unwrap(),
                mean(row, "gap_squares", "gaps_count"),
            );
            let sql = (squares.unwrap() - gap * gap).sqrt() / gap;
            let ours = findings.get("device", &name, "arrival_variation_ratio").unwrap();
            assert!((sql / ours - 1.0).abs() < 1e-9, "{name}: {ours} here, {sql} in SQL");
        }
    }
}

#[test]
fn of_a_made_trace_sql_finds_what_we_find() {
    let Some(python) = python() else { return };
    let lab = Lab::new();
    make_trace(&lab.path("made.parquet"));
    let (sql, findings) =
        (Sql::of(&lab, &python, "made.parquet"), Findings::of(&lab, "made.parquet"));
    assert_eq!(findings.get("run", "", "late_count"), Some(0.0));
    let behind = findings.get("background writes outstanding", "1 to 4", "requested_count");
    assert!(behind > Some(100.0));
    let device = |device: u64| format!("disk{device}");
    let told = sql.summaries.iter().filter(|row| means_add_up(row)).count();
    assert!(told > 60, "{told} classes tell their parts");
    sql.hold_classes(&findings, &device, &[]);
    sql.hold_depths(&findings, &device);
    sql.hold_flows(&findings, &device);
}

/// Gaps between the starts of bursts of disk 0's asynchronous writes; a pause of more than a second
/// begins a new one.
const BURSTS: &str = "
SELECT gap_s, COUNT(*) AS bursts
FROM (
    SELECT ROUND((arrival_ns - LAG(arrival_ns) OVER (PARTITION BY run, device ORDER BY \
    arrival_ns)) / 1e9) AS gap_s
    FROM (
        SELECT run, device, arrival_ns,
            arrival_ns - LAG(arrival_ns) OVER (PARTITION BY run, device ORDER BY arrival_ns) AS \
            pause_ns
        FROM requested
        WHERE device = 0 AND origin = 'writeback'
    ) AS writes
    WHERE pause_ns > 1000000000 OR pause_ns IS NULL
) AS starts
GROUP BY gap_s";

/// What was requested of disk 0, by direction and by whether somebody waits.
const DISK_0: &str = "
SELECT op, COUNT(*) AS requests, AVG(response_ns) / 1e6 AS mean_ms, MAX(response_ns) / 1e6 AS \
max_ms,
    PERCENTILE_DISC(0.99) WITHIN GROUP (ORDER BY response_ns) / 1e6 AS p99_ms
FROM requested
WHERE device = 0 AND (op = 'read' OR (flags & 32) <> 0)
GROUP BY op ORDER BY op";

const SERVICE: &str = "SELECT AVG(device_ns) / 1e6 AS mean_ms, STDDEV(device_ns) / 1e6 AS \
    deviation_ms FROM done WHERE device = 0";

const BEHIND: &str = "
SELECT class, requested_count, response_sum_ns / 1e6 / response_count AS mean_ms, wait_sum_ns / \
1e6 / wait_count AS queue_ms
FROM summaries
WHERE classed_by = 'background writes outstanding'
ORDER BY requested_count DESC";

/// data/README.md of the shared data, figure by figure.
#[test]
fn of_a_week_of_1992_sql_finds_what_is_known_and_what_we_find() {
    let (Some(trace), Some(python)) = (hplajw(), python()) else { return };
    let lab = Lab::new();
    assert_eq!(lab.run(&format!("import {} -o run", trace.display())).code, 0);
    let queries = [BURSTS, DISK_0, SERVICE, BEHIND, "FROM depth_summaries WHERE device = 0"];
    let results: [Rows; 5] = ask(&lab, &python, "run", &queries).try_into().unwrap();
    let [bursts, disk, service, behind, depth] = results;
    let gaps = |seconds: f64| {
        let row = bursts.iter().find(|row| number(row, "gap_s") == Some(seconds));
        row.and_then(|row| row["bursts"].as_u64())
    };
    assert_eq!((gaps(30.0), gaps(60.0), gaps(90.0)), (Some(315), Some(119), Some(56)));
    let near = |row: &Value, column: &str, known: f64, half: f64| {
        assert!((number(row, column).unwrap() - known).abs() <= half, "{column} {known}: {row}");
    };
    let [reads, writes] = disk.as_slice() else { panic!("{disk:?}") };
    for (row, requests, mean_ms, mean_half, p99_ms, max_ms) in [
        (reads, 10_887.0, 39.1, 0.05, 199.0, 573.0),
        (writes, 15_981.0, 268.0, 0.5, 1648.0, 6781.0),
    ] {
        near(row, "requests", requests, 0.0);
        near(row, "mean_ms", mean_ms, mean_half);
        near(row, "p99_ms", p99_ms, 0.5);
        near(row, "max_ms", max_ms, 0.5);
    }
    near(&service[0], "mean_ms", 25.35, 0.005);
    near(&service[0], "deviation_ms", 9.21, 0.005);
    near(&depth[0], "depth_max", 104.0, 0.0);
    let known = [
        ("0", 12_103.0, 30.7, 3.5),
        ("5 to 19", 339.0, 106.0, 76.7),
        ("1 to 4", 313.0, 79.3, 47.9),
        ("20 and more", 285.0, 129.5, 100.3),
    ];
    assert_eq!(behind.len(), known.len());
    for (row, (class, requests, mean_ms, queue_ms)) in behind.iter().zip(known) {
        assert_eq!(text(row, "class"), class);
        near(row, "requested_count", requests, 0.0);
        near(row, "mean_ms", mean_ms, 0.05);
        near(row, "queue_ms", queue_ms, 0.05);
    }
    let (sql, findings) = (Sql::of(&lab, &python, "run"), Findings::of(&lab, "run"));
    // The trace tells of nobody.
    sql.hold_classes(&findings, &|device| device.to_string(), &["process", "cgroup"]);
    sql.hold_depths(&findings, &|device| device.to_string());
    sql.hold_flows(&findings, &|device| device.to_string());
}

/// The week of 1992, where it lies beside the project.
fn hplajw() -> Option<PathBuf> {
    let name = "data/hplajw/ajw.1week.srt";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared").join(name);
    let found = path.canonicalize().ok();
    if found.is_none() {
        println!("skipped: needs {name} beside the project");
    }
    found
}

/// Two runs have clocks and numbers of their own: of both, each is what it is alone.
#[test]
fn runs_are_told_apart() {
    let Some(python) = python() else { return };
    let lab = Lab::new();
    make_trace(&lab.path("one.parquet"));
    std::fs::copy(lab.path("one.parquet"), lab.path("two.parquet")).unwrap();
    let query = "SELECT * EXCLUDE (run) FROM depth_summaries ORDER BY run, device";
    let alone = ask(&lab, &python, "one.parquet", &[query]).remove(0);
    for both in ["one.parquet two.parquet", "*.parquet"] {
        assert_eq!(ask(&lab, &python, both, &[query])[0], [&alone[..], &alone].concat(), "{both}");
    }
}

/// No window is over a whole trace: every one is over what one device did, or what one class holds.
#[test]
fn no_window_is_global() {
    let lab = Lab::new();
    let views = lab.run("sql").out;
    let windows: Vec<&str> = views.split("PARTITION BY").skip(1).collect();
    assert!(!windows.is_empty());
    for window in windows {
        let first = window.split(',').next().unwrap_or_default().trim();
        assert!(first == "run" || first.ends_with(".run"), "PARTITION BY {first}");
    }
    assert!(!views.contains("OVER (ORDER") && !views.contains("OVER ()"));
}

/// Names of devices, and what a run keeps beside its requests.
#[test]
fn devices_have_names_and_calls_and_files_are_views() {
    let Some(python) = python() else { return };
    let lab = Lab::new();
    std::fs::create_dir(lab.path("run")).unwrap();
    make_trace(&lab.path("run/requests.parquet"));
    let call = |inode| model::record::Call { inode, ..Default::default() };
    let context = model::record::Context {
        calls: vec![call(5), call(6)],
        ..model::record::Context::default()
    };
    context.write(&lab.path("run"), &BTreeMap::new()).unwrap();
    let queries = [
        "SELECT DISTINCT device_name FROM requested ORDER BY 1",
        "SELECT COUNT(*) AS calls, MAX(inode) AS inode FROM calls WHERE run IN (SELECT run FROM \
         requests)",
    ];
    let rows = ask(&lab, &python, "run/requests.parquet", &queries);
    let names: Vec<&str> = rows[0].iter().map(|row| text(row, "device_name")).collect();
    assert_eq!(names, ["disk5", "disk70", "disk9"]);
    assert_eq!(
        (number(&rows[1][0], "calls"), number(&rows[1][0], "inode")),
        (Some(2.0), Some(6.0))
    );
}

#[test]
fn the_view_of_the_requests_is_the_engines_own_and_what_is_none_is_refused() {
    let lab = Lab::new();
    lab.file("trace.csv", "no Parquet");
    make_trace(&lab.path("it's.parquet"));
    let first = |words: &str| {
        let ended = lab.run(words);
        assert_eq!(ended.code, 0, "{}", ended.err);
        ended.out.split(';').nth(1).unwrap().trim_start().to_owned()
    };
    let begin = "CREATE OR REPLACE TEMPORARY VIEW requests AS\nSELECT *,";
    assert_eq!(
        first("sql --requests it's.parquet s3://fleet/*/requests.parquet"),
        format!(
            "{begin} filename AS run FROM read_parquet(['it''s.parquet', \
             's3://fleet/*/requests.parquet'], filename = true)"
        )
    );
    assert_eq!(
        first("sql --engine spark --requests it's.parquet hdfs://fleet"),
        format!(
            "{begin} CAST(X'697427732E70617271756574' AS STRING) AS run FROM \
             parquet.`it's.parquet`\nUNION ALL\nSELECT *, _metadata.file_path AS run FROM \
             parquet.`hdfs://fleet`"
        )
    );
    for (words, hint) in [
        ("sql --requests not-there", "not-there does not exist"),
        ("sql --requests trace.csv", "lbolt import"),
        ("sql --requests d", "is a directory but not a run"),
    ] {
        lab.run(words).assert_refused(2, &[hint]);
    }
    lab.run("sql tables").assert_refused_by_usage("tables");
    lab.run("sql --engine spark").assert_refused_by_usage("--requests");
}
