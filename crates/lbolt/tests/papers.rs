//! `lbolt papers`: the published tables come back as near as was promised of them, each time the
//! same.

// Helpers of tests are tests, which clippy.toml cannot know of this file.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use crate::common::{Lab, Report, golden};
use papers::quantities::QUANTITIES;

/// Every quantity is in the table, with its unit and of such a subject.
fn assert_known(report: &Report) {
    for finding in report.findings() {
        let keys: Vec<_> = finding["subject"].as_object().unwrap().keys().collect();
        let is_it = |known: &&model::record::Quantity| {
            finding["quantity"] == known.name
                && finding["unit"] == known.unit
                && known.subjects.iter().any(|subject| keys == *subject)
        };
        assert!(QUANTITIES.iter().any(|known| is_it(&known)), "{finding}");
    }
}

#[test]
fn the_tables_of_1983_come_back() {
    let lab = Lab::new();
    let report = lab.measure("papers 1983");
    assert_known(&report);
    let all = |quantity: &str| report.of(&[("paper", "1983"), ("group", "all")], quantity);
    assert_eq!(all("cells_count"), 93.0);
    assert!(all("error_median_percent") <= 4.0, "{}", all("error_median_percent"));
    assert!(all("error_mean_percent") <= 6.0, "{}", all("error_mean_percent"));
    assert!(all("within_15_percent") >= 92.0, "{}", all("within_15_percent"));
    assert!(all("cpu_error_mean_percent") <= 5.0, "{}", all("cpu_error_mean_percent"));
    assert!(all("parameters_count") <= 42.0);
    let emulex = report.of(&[("group", "Emulex SC750 and SC780")], "error_median_percent");
    assert!(emulex <= 3.0, "{emulex}");
    // Starred cells are shown, and far off, as the paper suspected.
    let starred = report.findings().iter().filter(|finding| {
        finding["quantity"] == "error_percent" && finding["verdict"] == "suspect"
    });
    assert_eq!(starred.filter(|finding| finding["value"].as_f64().unwrap() > 35.0).count(), 3);
}

/// The first screen of these words: no larger than a screen, and as it was.
fn assert_screen(lab: &Lab, words: &str, name: &str) {
    let text = lab.run(words).out;
    assert!(text.lines().count() <= 40, "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    golden(name, &text);
}

#[test]
fn the_first_screen_says_how_many_cells_agree() {
    let lab = Lab::new();
    assert_screen(&lab, "papers 1980", "papers-1980.txt");
    assert_screen(&lab, "papers --seeds 1", "papers.txt");
    let all = lab.run("papers 1980 --all").out;
    assert!(all.starts_with("1980, Table 1: I/O routines") && all.contains("Figure 4: "), "{all}");
}

#[test]
fn the_table_of_1980_comes_back() {
    let lab = Lab::new();
    let report = lab.measure("papers 1980");
    assert_known(&report);
    let missed = report.findings().iter().filter(|f| f["quantity"] == "model_missed_per_call");
    let emerging: Vec<_> = missed.filter(|f| f["method"] == "emerges").collect();
    assert_eq!(emerging.len(), 35);
    assert!(emerging.iter().all(|finding| finding["verdict"] == "ok"));
    let fitted = report.of(&[("paper", "1980"), ("group", "all")], "parameters_count");
    assert_eq!(fitted, 42.0);
    for (machine, words_per_s) in [("cray1-cos-dd19", 502.7e3), ("cdc7600-ltss-819", 558.5e3)] {
        let found = report.of(&[("machine", machine)], "model_words_per_s");
        assert!((found - words_per_s).abs() < 100.0, "{machine}: {found}");
    }
}

#[test]
fn the_counts_of_1986_come_back_by_five_inputs() {
    let lab = Lab::new();
    let report = lab.measure("papers 1986 --seeds 2");
    assert_known(&report);
    let all = |quantity: &str| report.of(&[("paper", "1986"), ("group", "all")], quantity);
    assert!(all("total_variation_distance") <= 0.05, "{}", all("total_variation_distance"));
    assert_eq!(all("parameters_count"), 5.0);
    // Whoever wants only reads to be quick dribbles the writes.
    let mean = |remedy: &str| {
        let keys = [("op", "read"), ("remedy", remedy), ("writes_per_sync", "220")];
        report.of(&keys, "simulated_mean_ns")
    };
    let dribbled = mean("dribbled: at most 5 asynchronous writes a second to a drive");
    assert!(dribbled < 0.7 * mean("as it was"));
    let lines = lab.run("papers 1986 --seeds 1 --format csv");
    assert_eq!(lines.out, lab.run("papers 1986 --seeds 1 --format csv").out);
}
