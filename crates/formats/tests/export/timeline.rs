//! The timeline is JSON, and in each lane requests lie one after the other with their phases
//! inside.

use super::{export, some_of_everything};
use model::record::requests::Provenance;
use model::record::{Commands, Op, Request};
use serde_json::Value;
use std::collections::BTreeMap;

fn events(rows: &[Request], commands: &Commands, provenance: &Provenance) -> Vec<Value> {
    let directory = tempfile::tempdir().unwrap();
    let (path, _) = export("perfetto", rows, commands, provenance, directory.path());
    let trace: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    trace["traceEvents"].as_array().unwrap().clone()
}

fn of_kind<'a>(events: &'a [Value], kind: &str) -> Vec<&'a Value> {
    events.iter().filter(|event| event["ph"] == kind).collect()
}

fn ns(value: &Value) -> i64 {
    (value.as_f64().unwrap() * 1000.0).round() as i64
}

#[test]
fn slices_of_a_lane_nest_and_the_counter_counts() {
    // Three outstanding at a time.
    let rows: Vec<Request> = (0..50)
        .map(|n| super::request(n, Op::Read, n, 8, [10, 11, 13, 38].map(|us| us + 10 * n as i64)))
        .collect();
    let events = events(&rows, &Commands::default(), &Provenance::default());
    let mut lanes: BTreeMap<i64, Vec<(i64, i64)>> = BTreeMap::new();
    for slice in of_kind(&events, "X") {
        let from = ns(&slice["ts"]);
        lanes
            .entry(slice["tid"].as_i64().unwrap())
            .or_default()
            .push((from, from + ns(&slice["dur"])));
    }
    assert_eq!(lanes.len(), 3);
    assert_eq!(lanes.values().map(Vec::len).sum::<usize>(), 50 * 4);
    for slices in lanes.values() {
        for (n, one) in slices.iter().enumerate() {
            for other in &slices[n + 1..] {
                let is_apart = one.1 <= other.0 || other.1 <= one.0;
                let is_inside = one.0 <= other.0 && other.1 <= one.1;
                assert!(is_apart || is_inside, "{one:?} {other:?}");
            }
        }
    }
    let counter = of_kind(&events, "C");
    let depths = counter.iter().map(|event| event["args"]["requests"].as_i64().unwrap());
    assert_eq!(depths.clone().max(), Some(3));
    assert_eq!(depths.clone().next_back(), Some(0));
    assert!(counter.windows(2).all(|pair| ns(&pair[0]["ts"]) <= ns(&pair[1]["ts"])));
}

#[test]
fn every_request_is_there_with_what_is_known_of_it() {
    let (rows, commands, provenance) = some_of_everything();
    let events = events(&rows, &commands, &provenance);
    let with_args = events.iter().filter(|event| event["args"]["request"].is_u64());
    assert_eq!(with_args.count(), rows.len() - 1);
    let of = |id: u64| events.iter().find(|event| event["args"]["request"] == id).unwrap();
    assert_eq!(of(1)["args"]["error"], 5);
    assert_eq!(of(2)["args"]["command"], "jbd2/sda1-8");
    assert_eq!(of(3)["args"]["parent"], 2);
    assert_eq!((&of(6)["ph"], &of(6)["name"]), (&"i".into(), &"read: never completed".into()));
    assert_eq!(of(9)["name"], "read: completion of nothing");
    let names = of_kind(&events, "M").into_iter().filter(|event| event["name"] == "process_name");
    let names: Vec<_> = names.map(|event| event["args"]["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["web.0", "dev-253-0"]);
}
