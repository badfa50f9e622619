//! The ten questions of docs/guide/fleet-queries.md, each asked of a fleet with planted outliers:
//! DuckDB answers what was planted, and counts what `lbolt fleet` counts. And the script for Spark:
//! it knows the columns, and on a Spark that is there it counts what lbolt counts.

// Helpers of tests are tests, which clippy.toml cannot know of this file.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use crate::common::{Lab, tool};
use crate::rollup::{rows as rows_of, sums};
use crate::several::make_run;
use crate::sql::python;
use model::record::{Counted, Kind, Record, Rollup, from_json};
use serde_json::Value;

const PAGE: &str = include_str!("../../../docs/guide/fleet-queries.md");

/// The questions in their order.
fn questions() -> Vec<&'static str> {
    let blocks = PAGE.split("```sql\n").skip(1);
    blocks.map(|block| block.split_once("```").unwrap().0).collect()
}

#[test]
fn ten_questions_to_a_fleet_are_answered_by_duckdb() {
    let Some(python) = python() else { return };
    let lab = Lab::new();
    let run = |words: &str| {
        let ended = lab.run(words);
        assert_eq!(ended.code, 0, "{words}: {}", ended.err);
        ended.out
    };
    run("synthesize --hosts 24 --days 7 --seed 5 -o fleet");
    lab.file("fleet.sql", run("sql --rollups fleet"));
    let fleet: Value = serde_json::from_str(&run("fleet fleet --all --format json")).unwrap();
    let mut command = lab.command(&python);
    command.args(["-c", include_str!("common/sql.py"), "fleet.sql"]).args(questions());
    let ended = lab.end(command);
    assert_eq!(ended.code, 0, "{}", ended.err);
    let answers: Vec<Vec<Value>> = serde_json::from_str(&ended.out).unwrap();
    assert_eq!(answers.len(), 10);
    assert!(answers.iter().all(|rows| !rows.is_empty()));
    let first = |question: usize| &answers[question - 1][0];
    let text = |question: usize, column: &str| first(question)[column].as_str().unwrap();

    let lines = fleet["rows"].as_array().unwrap();
    for (ours, theirs) in lines.iter().zip(&answers[0]) {
        assert_eq!(ours["host"], theirs["host"]);
        let (ours, theirs) = (&ours["lost_ns"], &theirs["lost_s"]);
        let (ours, theirs) = (ours.as_f64().unwrap(), theirs.as_f64().unwrap() * 1e9);
        assert!((ours - theirs).abs() < 1.0, "{ours} {theirs}");
    }
    assert_eq!(answers[0].len(), 20);
    // What planted.json says of this seed.
    assert_eq!(text(1, "host"), "sim-0014");
    assert_eq!(text(2, "cause"), "<device>");
    assert_eq!(text(3, "model"), "Sim NVMe A");
    let of = |row: &Value, column: &str| row[column].as_str().map(str::to_owned);
    let worst: Vec<_> = answers[3].iter().take(2).map(|row| of(row, "firmware")).collect();
    assert!(worst.contains(&Some("A2.0".into())), "{worst:?}");
    assert_eq!((text(5, "role"), text(5, "cause")), ("db", "<device>"));
    assert_eq!(answers[5].len(), 7, "a row a day");
    let day = |place: usize| answers[5][place]["lost_s"].as_f64().unwrap();
    assert!(day(6) > 10.0 * day(0).abs(), "since the fifth day");
    let backup = answers[6].iter().find(|row| row["cause"] == "backup").unwrap();
    assert!([2.0, 3.0].contains(&backup["hour"].as_f64().unwrap()), "{backup}");
    assert_eq!(text(10, "host"), "sim-0014");
    let p99 = |row: &Value| row["p99_ms"].as_f64().unwrap();
    assert!(answers[8].windows(2).all(|pair| p99(&pair[0]) >= p99(&pair[1])));
    lab.assert_clean();
}

#[test]
fn the_script_for_spark_knows_the_columns_of_a_rollup() {
    let lab = Lab::new();
    let ended = lab.run("fleet --spark-script");
    assert_eq!((ended.code, ended.err.as_str()), (0, ""));
    assert!(ended.out.lines().count() <= 150, "a file to be read");
    let declared = |name: &str| -> Vec<String> {
        let (_, from) = ended.out.split_once(&format!("\n{name} = ")).unwrap();
        let end = [".split()", "]"].iter().filter_map(|end| from.find(end)).min().unwrap();
        let names = from[..end].split(|c: char| !(c.is_alphanumeric() || c == '_'));
        names.filter(|name| !name.is_empty()).map(str::to_owned).collect()
    };
    let of = |wanted: &[Kind]| -> Vec<String> {
        let columns = Rollup::columns().into_iter();
        let columns = columns.filter(|column| wanted.contains(&column.kind));
        columns.map(|column| column.name.to_owned()).collect()
    };
    let sorted = |mut names: Vec<String>| {
        names.sort();
        names
    };
    assert_eq!(sorted(declared("WORDS")), sorted(of(&[Kind::Text])));
    assert_eq!(sorted(declared("NUMBERS")), sorted(of(&[Kind::U64, Kind::I64])));
    assert_eq!(sorted(declared("LISTS")), sorted(of(&[Kind::List])));
    let refused = lab.run("fleet --spark-script fleet");
    assert_eq!(refused.code, 2, "{}", refused.out);
}

/// A Python with Spark, where there is a Java to run it.
fn with_spark() -> Option<String> {
    let python = python()?;
    let has_both = tool("java", &["-version"]).is_some()
        && tool(&python, &["-c", "import pyspark, pandas, pyarrow"]).is_some();
    if !has_both {
        println!("skipped: needs java, and python3 with the modules pyspark, pandas and pyarrow");
    }
    has_both.then_some(python)
}

#[test]
fn a_rollup_by_spark_is_that_of_one_machine_however_often_it_is_written() {
    let Some(python) = with_spark() else { return };
    let lab = Lab::new();
    make_run(&lab.path("host1"), 190, 1, Some(1000));
    make_run(&lab.path("host2"), 65, 2, Some(1030));
    let script = lab.run("fleet --spark-script");
    lab.file("lbolt_spark.py", script.out);
    let mut command = lab.command(&python);
    command.args(["-c", include_str!("common/spark.py"), env!("CARGO_BIN_EXE_lbolt"), "rows.json"]);
    command.args([lab.path("host1"), lab.path("host2")]).env("PYSPARK_PYTHON", &python);
    let ended = lab.end(command);
    assert_eq!(ended.code, 0, "{}", ended.err);
    let ended = lab.run("rollup host1 host2 -o all.parquet");
    assert_eq!(ended.code, 0, "{}", ended.err);

    let spark: Vec<Value> =
        serde_json::from_slice(&std::fs::read(lab.path("rows.json")).unwrap()).unwrap();
    assert!(spark.iter().any(|row| row["part"].is_string()), "a trace was several tasks");
    let columns = Rollup::columns();
    let as_list = |row: &Value| columns.iter().map(|of| row[of.name].clone()).collect();
    let rows: Value = spark.iter().map(as_list).collect::<Vec<Value>>().into();
    let rows: Vec<Rollup> = from_json(&rows).unwrap();
    assert_eq!(sums(&rows), sums(&rows_of(&lab, "all.parquet")));
    let lost: Vec<Value> =
        serde_json::from_slice(&std::fs::read(lab.path("lost.json")).unwrap()).unwrap();
    for of in &lost {
        let host = of["host"].as_str().map(str::to_owned);
        let all = rows.iter().filter(|row| row.counted == Counted::Lost && row.host == host);
        assert_eq!(Some(all.map(|row| row.lost_ns).sum::<i64>()), of["lost_ns"].as_i64());
    }
}
