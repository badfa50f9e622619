//! `lbolt rollup`, and histories of several hosts: what is counted is what `response` counts, once,
//! however it was cut and put together.

// Helpers of tests are tests, which clippy.toml cannot know of this file.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use crate::common::{Ended, Lab, key};
use crate::several::make_run;
use model::histogram::SparseHistogram;
use model::history::{History, Query};
use model::record::requests::{Provenance, RequestWriter};
use model::record::{Commands, Counted, Request, Rollup, RollupKey, RollupLevel, operations};
use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

const S: u64 = 1_000_000_000;

/// Two machines' runs, which overlap.
fn lab() -> Lab {
    let lab = Lab::new();
    make_run(&lab.path("host1"), 190, 1, Some(1000));
    make_run(&lab.path("host2"), 65, 2, Some(1030));
    lab
}

/// Two requests, four years apart.
fn make_long(path: &Path) {
    let mut writer = RequestWriter::new(std::fs::File::create(path).unwrap()).unwrap();
    let commands = Commands::default();
    for (request_id, begin_ns) in [(0, 0), (1, 4 * 366 * 86_400 * S as i64)] {
        let (queued_ns, completed_ns) = (Some(begin_ns), Some(begin_ns + 1000));
        let row = Request { request_id, queued_ns, completed_ns, ..Request::default() };
        writer.push(&row, &commands).unwrap();
    }
    let provenance = Provenance { started_unix_ns: Some(0), ..Provenance::default() };
    writer.finish(&commands, &provenance, &BTreeMap::new()).unwrap();
}

fn fine(lab: &Lab, words: &str) -> Ended {
    let ended = lab.run(words);
    assert_eq!(ended.code, 0, "{words}: {}", ended.err);
    ended
}

pub(crate) fn rows(lab: &Lab, file: &str) -> Vec<Rollup> {
    let history = History::open(&lab.path(file)).unwrap();
    let query = Query { from_unix_ns: i64::MIN, until_unix_ns: i64::MAX, ..Query::default() };
    let (rows, notes) = history.read(&query);
    assert!(notes.is_empty(), "{notes:?}");
    rows
}

/// Rows without what says where they come from, by key and time.
pub(crate) fn sums(rows: &[Rollup]) -> BTreeMap<(RollupKey, i64), Rollup> {
    let mut sums: BTreeMap<(RollupKey, i64), Rollup> = BTreeMap::new();
    for row in rows {
        let row = Rollup { part: None, level: RollupLevel::Minute, ..row.clone() };
        let key = (row.key(), row.from_unix_ns);
        match sums.get_mut(&key) {
            Some(sum) => sum.merge(&row),
            None => drop(sums.insert(key, row)),
        }
    }
    sums
}

fn total(rows: &[Rollup], is_of: impl Fn(&Rollup) -> bool, of: impl Fn(&Rollup) -> i64) -> i64 {
    rows.iter().filter(|row| is_of(row)).map(of).sum()
}

#[test]
fn a_rollup_counts_what_response_counts_by_the_minutes_of_the_wall_clock() {
    let lab = lab();
    fine(&lab, "rollup host1 -o one.parquet");
    let rows = rows(&lab, "one.parquet");
    let report = lab.run("response host1 --format json").report();
    let is_request = |row: &Rollup| row.counted == Counted::Requests;
    let whole = |quantity: &str| report.of(&[("by", "whole"), ("class", "all")], quantity) as i64;
    assert_eq!(total(&rows, is_request, |row| row.count as i64), whole("requested_count"));
    assert_eq!(
        total(&rows, is_request, |row| row.lent().moved_bytes() as i64),
        whole("requested_bytes")
    );
    // It began at 16:40 past midnight, and took 190 s.
    let begins: std::collections::BTreeSet<i64> =
        rows.iter().filter(|row| is_request(row)).map(|row| row.from_unix_ns).collect();
    let minutes: Vec<i64> = (16..20).map(|minute| minute * 60 * S as i64).collect();
    assert_eq!(begins.into_iter().collect::<Vec<_>>(), minutes);
    let is_watched = |row: &Rollup| row.operation == operations::WATCHED;
    let watched_ns = total(&rows, is_watched, |row| row.sum_ns as i64);
    assert!((watched_ns - 190 * S as i64).abs() < S as i64 / 10, "{watched_ns}");
    let is_lost = |row: &Rollup| row.counted == Counted::Lost && row.cause.as_deref() == Some("dd");
    let lost_ns = total(&rows, is_lost, |row| row.lost_ns) as f64;
    let blame = [("victim", "postgres"), ("cause", "dd")];
    let of_whole = report.of(&blame, "lost_ns");
    assert!((lost_ns / of_whole - 1.0).abs() < 0.01, "{lost_ns} {of_whole}");
    assert!(rows.iter().all(|row| row.host.as_deref() == Some("host1")));
    // Each request is in one class of sizes and in one of origins, as `response` has them.
    let mut classes: BTreeMap<&str, u64> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.counted == Counted::Class) {
        *classes.entry(row.class.as_deref().unwrap()).or_default() += row.count;
    }
    assert!(classes.len() >= 3, "{classes:?}");
    for (class, count) in classes {
        let (by, class) = class.split_once(' ').unwrap();
        let of_class = report.of(&[("by", by), ("class", class)], "requested_count");
        assert_eq!(count as f64, of_class, "{by} {class}");
    }
}

#[test]
fn a_history_of_a_trace_says_how_often_much_was_lost_and_within_which_bounds() {
    let lab = lab();
    fine(&lab, "rollup host1 -o one.parquet");
    let shown = fine(&lab, "history one.parquet --format json").out;
    let shown: serde_json::Value = serde_json::from_str(&shown).unwrap();
    let is_it = |loss: &&serde_json::Value| loss["victim"] == "postgres" && loss["cause"] == "dd";
    let loss = shown["losses"].as_array().unwrap().iter().find(is_it).unwrap();
    let number = |name: &str| loss[name].as_f64().unwrap();
    let report = lab.run("response host1 --format json").report();
    let pair = [("victim", "postgres"), ("cause", "dd")];
    let of_whole = report.of(&pair, "lost_ns");
    assert!((number("lost_ns") / of_whole - 1.0).abs() < 0.01, "{loss} {of_whole}");
    // Calm waits of the trace are all as long: nothing tells of chance.
    assert!(loss["lost_low_ns"].is_null() && loss["lost_high_ns"].is_null(), "{loss}");
    let has =
        |finding: &serde_json::Value, (name, value): (&str, &str)| key(finding, name) == value;
    let of_pair = report.findings().iter().filter(|f| f["quantity"] == "affected_from_ns");
    let storms = of_pair.filter(|f| pair.iter().all(|of| has(f, *of))).count();
    println!("{storms} {loss}");
    assert_eq!(number("storms"), storms as f64);
}

#[test]
fn parts_are_the_whole_in_any_order_and_a_missing_one_is_told() {
    let lab = lab();
    fine(&lab, "rollup host1 -o whole.parquet");
    for part in 1..=3 {
        fine(&lab, &format!("rollup host1 --part {part}/3 -o part{part}.parquet"));
    }
    let some = fine(&lab, "rollup part3.parquet part1.parquet -o some.parquet");
    assert!(some.err.contains("run host1 of host1 lacks parts: 2/3"), "{}", some.err);
    fine(&lab, "rollup part3.parquet part1.parquet part2.parquet -o all.parquet");
    let [whole, all] = ["whole.parquet", "all.parquet"].map(|file| sums(&rows(&lab, file)));
    assert_eq!(whole, all);
    // Who may read the trace may read what is made of it.
    let mode_of = |path: &str| lab.path(path).metadata().unwrap().permissions().mode() & 0o777;
    lab.allow_path(&lab.path("host1/requests.parquet"), 0o600);
    fine(&lab, "rollup host1 -o own.parquet");
    assert_eq!(mode_of("own.parquet"), 0o600);
    // An hour of minutes is the hour of the whole.
    fine(&lab, "rollup all.parquet --level hour -o hour.parquet");
    fine(&lab, "rollup host1 --level hour -o at_once.parquet");
    let [hour, at_once] = ["hour.parquet", "at_once.parquet"].map(|file| rows(&lab, file));
    assert!(hour.iter().all(|row| row.level == RollupLevel::Hour));
    let without_part = |rows: &[Rollup]| sums(rows).into_values().collect::<Vec<_>>();
    assert_eq!(without_part(&hour), without_part(&at_once));
    let count = |rows: &[Rollup]| total(rows, |_| true, |row| row.count as i64);
    assert_eq!(count(&hour), count(&whole.into_values().collect::<Vec<_>>()));
}

#[test]
fn hosts_are_told_apart_and_each_time_is_counted_once() {
    let lab = lab();
    let said = fine(&lab, "rollup host1 host2 -o fleet.parquet").out;
    assert!(said.contains("fleet.parquet: 2 hosts, 1970-01-01 00:16Z to"), "{said}");
    let by_host = fine(&lab, "history fleet.parquet --by host --format csv").out;
    let lines: Vec<&str> = by_host.lines().skip(1).collect();
    assert_eq!(lines.len(), 2, "{by_host}");
    let field = |host: &str, name: &str| -> f64 {
        let place = by_host.lines().next().unwrap().split(',').position(|of| of == name).unwrap();
        let line = lines.iter().find(|line| line.contains(&format!(",{host},"))).unwrap();
        line.split(',').nth(place).unwrap().parse().unwrap()
    };
    // Each is held against its own time.
    assert!((field("host1", "watched_s") - 190.0).abs() < 0.1, "{by_host}");
    assert!((field("host2", "watched_s") - 65.0).abs() < 0.1, "{by_host}");
    assert!(field("host2", "p99_ns") > 1.5 * field("host1", "p99_ns"), "{by_host}");
    let devices = fine(&lab, "history fleet.parquet --by device").out;
    assert!(devices.contains("host1:sda") && devices.contains("host2:sda"), "{devices}");
    assert!(devices.contains("2 hosts, watched from"), "{devices}");
    let times = fine(&lab, "history fleet.parquet").out;
    assert!(times.contains("host1: postgres < dd") || times.contains("host2: postgres < dd"));
    // The same as two files, and as a directory of them.
    fine(&lab, "rollup host1 -o a.parquet");
    fine(&lab, "rollup host2 -o b.parquet");
    assert_eq!(fine(&lab, "history b.parquet a.parquet --by host --format csv").out, by_host);
    std::fs::create_dir(lab.path("all")).unwrap();
    for file in ["a.parquet", "b.parquet"] {
        std::fs::rename(lab.path(file), lab.path("all").join(file)).unwrap();
    }
    assert_eq!(fine(&lab, "history all --by host --format csv").out, by_host);
    fine(&lab, "rollup all -o again.parquet");
    assert_eq!(fine(&lab, "history again.parquet --by host --format csv").out, by_host);
    // A host that is called otherwise, as machines made of one image are.
    fine(&lab, "rollup all/a.parquet --host web-7 -o web-7.parquet");
    let renamed = fine(&lab, "history web-7.parquet --by host --format csv").out;
    assert!(renamed.contains("web-7") && !renamed.contains("host1"), "{renamed}");
    for (words, sentence) in [
        (
            "history fleet.parquet --compare 1970-01-01T00:17..1970-01-01T00:18 \
             1970-01-01T00:18..1970-01-01T00:19",
            "the histories are of several hosts; name the histories of one host",
        ),
        ("history all/a.parquet fleet.parquet", "run host1 of host1, 1970-01-01 00:16Z to"),
        ("rollup host1 all/a.parquet -o c.parquet", "is already present; leave out one of them"),
        ("history host1", "it contains none; name the directory of a `lbolt watch`, or a file"),
        ("history fleet.parquet --incidents", "a file has no incidents; name the directory"),
        ("rollup fleet.parquet --host web -o c.parquet", "fleet.parquet has 2; leave them out"),
        ("rollup all --host web -o c.parquet", "is already present as run host1 of web"),
        ("rollup host1 host2 --host web -o c.parquet", "is already present as run host1 of web"),
    ] {
        let refused = lab.run(words);
        assert_eq!(refused.code, 2, "{words}: {}", refused.err);
        let said = refused.err.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains(sentence), "{words}: {said}");
        assert!(!lab.path("c.parquet").exists());
    }
}

#[test]
fn what_cannot_be_rolled_up_is_told_in_a_sentence_and_leaves_nothing() {
    let lab = lab();
    make_run(&lab.path("undated"), 10, 1, None);
    make_long(&lab.path("long.parquet"));
    fine(&lab, "rollup host2 -o taken.parquet");
    let before = std::fs::read(lab.path("taken.parquet")).unwrap();
    for (words, sentence) in [
        ("rollup nowhere -o x.parquet", "nowhere"),
        ("rollup undated -o x.parquet", "does not record its start time"),
        ("rollup long.parquet -o x.parquet", "spans more than three years"),
        ("rollup host1 --part 4/3 -o x.parquet", "is not a part; write K/N"),
        ("rollup host1 host2 --part 1/3 -o x.parquet", "--part selects minutes of one trace"),
        ("rollup host1 --level week -o x.parquet", "minute, hour, day"),
        ("rollup host1 -o taken.parquet", "taken.parquet"),
        ("rollup host1 -o nowhere/x.parquet", "nowhere/x.parquet"),
    ] {
        let refused = lab.run(words);
        assert!([1, 2].contains(&refused.code), "{words}: {} {}", refused.code, refused.err);
        assert!(refused.err.contains(sentence), "{words}: {}", refused.err);
        assert!(!lab.path("x.parquet").exists(), "{words}");
    }
    assert_eq!(std::fs::read(lab.path("taken.parquet")).unwrap(), before);
    let bytes = std::fs::read(lab.path("taken.parquet")).unwrap();
    let at = bytes.windows(14).position(|part| part == b"lbolt.rollup/1").unwrap();
    lab.file("later.parquet", [&bytes[..at + 13], b"2", &bytes[at + 14..]].concat());
    for words in ["history later.parquet", "rollup later.parquet -o x.parquet"] {
        let refused = lab.run(words);
        assert_eq!(refused.code, 2, "{words}: {}", refused.err);
        let sentence = "it holds lbolt.rollup/2, not lbolt.rollup/1; use the newer";
        assert!(refused.err.contains(sentence), "{words}: {}", refused.err);
    }
    assert!(!lab.path("x.parquet").exists());
    fine(&lab, "rollup undated --started 2026-11-25T10:00:30Z -o x.parquet");
    let rows = rows(&lab, "x.parquet");
    let begin = rows.iter().map(|row| row.from_unix_ns).min().unwrap();
    let of_day = begin.rem_euclid(86_400 * S as i64);
    assert!((of_day - 36_000 * S as i64) < 31 * S as i64, "{of_day}");
}

/// DuckDB counts the histograms by the views of `lbolt sql`; here they are put together as rows.
#[test]
fn sql_of_a_rollup_says_what_its_rows_say() {
    let Some(python) = crate::sql::python() else { return };
    let lab = lab();
    fine(&lab, "rollup host1 host2 --level hour -o hours.parquet");
    let views = fine(&lab, "sql --rollups hours.parquet").out;
    lab.file("views.sql", views);
    let mut command = lab.command(&python);
    command.args(["-c", include_str!("common/sql.py"), "views.sql"]).args([
        "SELECT * FROM response_hours ORDER BY host, operation",
        "SELECT host, CAST(SUM(lost_ns) AS BIGINT) AS lost_ns FROM losses WHERE cause = 'dd' \
         GROUP BY host ORDER BY host",
    ]);
    let ended = lab.end(command);
    assert_eq!(ended.code, 0, "{}", ended.err);
    let answers: Vec<Vec<serde_json::Value>> = serde_json::from_str(&ended.out).unwrap();
    let mut responses: BTreeMap<(String, String), SparseHistogram> = BTreeMap::new();
    let mut lost: BTreeMap<String, i64> = BTreeMap::new();
    for row in rows(&lab, "hours.parquet") {
        let host = row.host.clone().unwrap();
        match row.counted {
            Counted::Requests => {
                let of_row: SparseHistogram = row.responses().unwrap();
                responses.entry((host, row.operation.clone())).or_default().merge(&of_row);
            }
            Counted::Lost if row.cause.as_deref() == Some("dd") => {
                *lost.entry(host).or_default() += row.lost_ns;
            }
            _ => {}
        }
    }
    assert_eq!((answers[0].len(), responses.len()), (4, 4), "{:?}", answers[0]);
    for (row, ((host, operation), responses)) in answers[0].iter().zip(&responses) {
        assert_eq!(
            (row["host"].as_str(), row["operation"].as_str()),
            (Some(&**host), Some(&**operation))
        );
        assert_eq!(row["responses"].as_f64(), Some(responses.count() as f64));
        for (name, quantile) in [("p50_ns", 0.5), ("p99_ns", 0.99)] {
            let (sql, ours) =
                (row[name].as_f64().unwrap(), responses.quantile_ns(quantile).unwrap());
            // The greatest response is known exactly here, and by its bucket there.
            assert!((sql / ours as f64 - 1.0).abs() < 0.07, "{name}: {sql} {ours}");
        }
    }
    let in_sql: Vec<_> =
        answers[1].iter().map(|row| row["lost_ns"].as_f64().unwrap() as i64).collect();
    assert_eq!(in_sql, lost.into_values().collect::<Vec<_>>());
    for (words, sentence) in [
        ("sql --rollups host1", "is neither a rollup nor a history"),
        ("sql --rollups nowhere", "does not exist"),
    ] {
        let refused = lab.run(words);
        assert!(refused.code == 2 && refused.err.contains(sentence), "{words}: {}", refused.err);
    }
}

/// What is known of the hosts of a rollup: host, kernel, firmware and model of its devices.
fn known(lab: &Lab, path: &str) -> Vec<[String; 4]> {
    let rows = rows(lab, path);
    let history = History::open(&lab.path(path)).unwrap();
    let mut known: Vec<[String; 4]> = rows
        .iter()
        .filter(|row| row.counted == Counted::Requests)
        .map(|row| {
            let facts = history.hosts().of(row.host.as_deref(), row.run.as_deref());
            let kernel = facts.and_then(|facts| facts.kernel.clone());
            let firmware = facts.and_then(|facts| facts.firmware.values().next().cloned());
            let known = [row.host.clone(), kernel, firmware, row.model.clone()];
            known.map(Option::unwrap_or_default)
        })
        .collect();
    known.sort();
    known.dedup();
    known
}

#[test]
fn a_foreign_trace_is_of_the_host_that_is_named_and_never_of_this_machine() {
    let lab = Lab::new();
    let text = "128166385295514663,db,0,Read,4096,4096,1000\n".repeat(50);
    for name in ["web1.csv", "web2.csv"] {
        lab.file(name, &text);
    }
    let unnamed = |host: &str| [host.to_owned(), String::new(), String::new(), String::new()];
    fine(&lab, "rollup web1.csv web2.csv -o both.parquet");
    assert_eq!(known(&lab, "both.parquet"), [unnamed("web1"), unnamed("web2")]);
    let named = ["db1", "6.12", "1.2", "Disk9"].map(str::to_owned);
    let words = "--host db1 --model Disk9 --firmware 1.2 --kernel 6.12";
    fine(&lab, &format!("rollup web1.csv {words} -o db1.parquet"));
    assert_eq!(known(&lab, "db1.parquet"), std::slice::from_ref(&named));
    // A rollup that says it not yet, and a run.
    fine(&lab, "rollup web1.csv -o web1.parquet");
    fine(&lab, &format!("rollup web1.parquet {words} -o again.parquet"));
    assert_eq!(known(&lab, "again.parquet"), std::slice::from_ref(&named));
    fine(&lab, &format!("import web1.csv {words} -o named"));
    fine(&lab, "rollup named -o of-run.parquet");
    assert_eq!(known(&lab, "of-run.parquet"), [named]);
    fine(&lab, "import web1.csv -o unnamed");
    fine(&lab, "rollup unnamed -o unnamed.parquet");
    assert_eq!(known(&lab, "unnamed.parquet"), [unnamed("unnamed")]);
    let refused = lab.run("rollup both.parquet --model Disk9 -o of-two.parquet");
    refused.assert_refused(2, &["--model", "has 2", "leave them out"]);
}
