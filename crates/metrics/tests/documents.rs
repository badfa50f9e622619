//! The dashboard and the page about metrics say what there is.

use metrics::{Kind, METRICS};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

fn document(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name);
    std::fs::read_to_string(path).unwrap()
}

/// What the dashboard asks, with the titles of its panels.
pub(crate) fn queries() -> Vec<(String, String)> {
    let dashboard: Value = serde_json::from_str(&document("dashboard.json")).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let of = |panel: &Value| -> Vec<(String, String)> {
        let title = panel["title"].as_str().unwrap().to_owned();
        let targets = panel["targets"].as_array().cloned().unwrap_or_default();
        let expression = |target: &Value| target["expr"].as_str().unwrap().to_owned();
        targets.iter().map(|target| (title.clone(), expression(target))).collect()
    };
    panels.iter().flat_map(of).collect()
}

/// Names of samples, each with the labels that it has.
fn samples() -> BTreeMap<String, BTreeSet<&'static str>> {
    let mut names = BTreeMap::new();
    for metric in METRICS {
        let labels: BTreeSet<_> = metric.labels.iter().copied().collect();
        if metric.kind == Kind::Histogram {
            for end in ["_count", "_sum"] {
                names.insert(format!("{}{end}", metric.name), labels.clone());
            }
            let bucket = labels.iter().copied().chain(["le"]).collect();
            names.insert(format!("{}_bucket", metric.name), bucket);
        }
        names.insert(metric.sample_name(), labels);
    }
    names
}

/// Names of ours in a text, each with what is between the braces behind it.
fn used(text: &str) -> Vec<(String, String)> {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.match_indices("lbolt_")
        .map(|(at, _)| {
            let name: String = text[at..].chars().take_while(|c| is_of_name(*c)).collect();
            let behind = text[at + name.len()..].strip_prefix('{');
            let labels = behind.and_then(|text| text.split_once('}')).map_or("", |(in_, _)| in_);
            (name, labels.to_owned())
        })
        .collect()
}

#[test]
fn the_dashboard_asks_for_what_there_is() {
    let samples = samples();
    let queries = queries();
    assert!(queries.len() >= 20, "{}", queries.len());
    for (title, query) in &queries {
        let names = used(query);
        assert!(!names.is_empty(), "{title}: {query}");
        for (name, selected) in names {
            let labels = samples.get(&name).unwrap_or_else(|| panic!("{title}: {name}"));
            let selected = selected.split(',').filter_map(|one| one.split_once('='));
            for (label, _) in selected {
                assert!(labels.contains(label), "{title}: {name} has no {label}");
            }
        }
    }
    let text = document("dashboard.json");
    assert!(used(&text).iter().all(|(name, _)| samples.contains_key(name)));
}

#[test]
fn panels_have_numbers_of_their_own_and_do_not_overlap() {
    let dashboard: Value = serde_json::from_str(&document("dashboard.json")).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let ids: BTreeSet<_> = panels.iter().map(|panel| panel["id"].as_u64()).collect();
    assert_eq!(ids.len(), panels.len());
    let mut fields = BTreeSet::new();
    for panel in panels {
        let place = |name: &str| panel["gridPos"][name].as_u64().unwrap();
        for x in place("x")..place("x") + place("w") {
            for y in place("y")..place("y") + place("h") {
                assert!(x < 24 && fields.insert((x, y)), "{}", panel["title"]);
            }
        }
    }
}

#[test]
fn the_page_describes_every_metric_and_no_other() {
    let page = document("metrics.md");
    let described: BTreeSet<String> = used(&page).into_iter().map(|(name, _)| name).collect();
    let samples = samples();
    for name in &described {
        assert!(samples.contains_key(name), "{name} is described and is not there");
    }
    for metric in METRICS {
        let name = metric.sample_name();
        let row = page.lines().find(|line| line.starts_with(&format!("| `{name}` |")));
        let row = row.unwrap_or_else(|| panic!("{name} is not described"));
        let missing = metric.labels.iter().find(|label| !row.contains(&format!("`{label}`")));
        assert_eq!(missing, None, "{name}");
    }
}
