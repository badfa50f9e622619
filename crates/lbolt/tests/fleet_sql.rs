//! The ten questions of docs/guide/fleet-queries.md, each asked of a fleet with planted outliers:
//! DuckDB answers what was planted, and counts what `lbolt fleet` counts.

// Helpers of tests are tests, which clippy.toml cannot know of this file.
#![allow(clippy::unwrap_used)]

use crate::common::Lab;
use crate::sql::python;
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
